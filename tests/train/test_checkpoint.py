"""Checkpoints hold every leaf that a train state may have."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

import funcenv
from funcenv.train.runs import checkpoint
from tests.support.environments import first_of_each_class
from tests.support.training import same_states


def test_keys_and_arrays_without_elements_are_restored(tmp_path):
    state = {"boxes": jnp.zeros((4, 0, 3)), "key": jax.random.split(funcenv.key(0), 2), "steps": jnp.int32(3)}
    checkpoint.save(tmp_path, 1, state)
    restored, messages = checkpoint.restore_latest(tmp_path, jax.eval_shape(lambda: state), "threefry2x32")
    assert messages == []
    assert restored["boxes"].shape == (4, 0, 3)
    same_states(restored, state)


SAVE_UNDER_A_LIMIT = """
import gc, pathlib, resource, sys, time
import jax.numpy as jnp
from funcenv.train.runs import checkpoint
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
try:
    checkpoint.save(pathlib.Path(sys.argv[1]), 1, {f"layer_{i}": jnp.arange(64.0) for i in range(40)})
except OSError as error:
    print(error)
gc.collect()
time.sleep(0.2)
"""


@pytest.mark.parametrize("limit", [1000, 2048])
def test_a_limit_of_the_disk_is_one_error_and_the_threads_of_the_library_print_nothing(tmp_path, limit):
    command = [sys.executable, "-c", SAVE_UNDER_A_LIMIT, str(tmp_path), str(limit)]
    environment = {**os.environ, "JAX_ENABLE_COMPILATION_CACHE": "false"}  # the limit would cut its files
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == f"[Errno 27] File too large: '{tmp_path}'\n" and done.stderr == ""


@pytest.mark.dear
def test_states_of_every_environment_can_be_saved(tmp_path):
    """The states are zeros, because their structure and shapes decide; BipedalWalker's have no boxes on grass."""
    shapes = {id: jax.eval_shape(funcenv.make(id).reset, funcenv.key(0)) for id in first_of_each_class()}
    assert any(leaf.size == 0 for leaf in jax.tree.leaves(shapes))
    states = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    checkpoint.save(tmp_path, 1, states)
    restored, _ = checkpoint.restore_latest(tmp_path, shapes, "threefry2x32")
    same_states(restored, states)
