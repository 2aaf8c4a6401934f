"""Exact mode: an environment lives the same life alone and in a large batch, bit for bit."""

import os
import subprocess
import sys

import pytest

from funcenv.verify.record import EXACT_FLAGS
from tests.support import environments

ALONE_AND_TOGETHER = """
import sys, jax, numpy as np, funcenv

id = sys.argv[1]
env = funcenv.make(id)
NUM_ENVS, NUM_STEPS, NUM_COMPARED = 1000, 5 if env.calls_host else 30, 4
keys = jax.random.split(funcenv.key(3), NUM_ENVS)
reset, step = jax.jit(env.reset), jax.jit(env.step)
reset_all, step_all, sample = (jax.jit(jax.vmap(f)) for f in (env.reset, env.step, env.action_space.sample))
MAX_LEVELS = 1 if id == "CarRacing-v3" else 0  # the levels of 255 by which a color may differ


def compare(together, alone):
    for row, single in enumerate(alone):
        for a, b in zip(jax.tree.leaves(together), jax.tree.leaves(single), strict=True):
            if b.dtype == np.uint8:
                np.testing.assert_allclose(np.asarray(a[row], int), np.asarray(b, int), rtol=0, atol=MAX_LEVELS)
            elif not jax.dtypes.issubdtype(b.dtype, jax.dtypes.prng_key):
                np.testing.assert_array_equal(np.asarray(a[row]), np.asarray(b))


together, alone = reset_all(keys), [reset(key) for key in keys[:NUM_COMPARED]]
compare(together, alone)
for number in range(NUM_STEPS):
    step_keys = jax.random.split(jax.random.fold_in(funcenv.key(5), number), NUM_ENVS)
    actions = sample(step_keys)
    together = step_all(together[0], actions, step_keys)
    own = [jax.tree.map(lambda leaf: leaf[row], actions) for row in range(NUM_COMPARED)]
    alone = [step(alone[row][0], own[row], step_keys[row]) for row in range(NUM_COMPARED)]
    compare(together, alone)
"""


IDS = [id for id in environments.ids() if not id.startswith(("dm_control/", "robotics/"))]
IDS += ["dm_control/cheetah-run-v0", "robotics/FetchReach-v4"]  # one of each family


@pytest.mark.dear
@pytest.mark.parametrize("id", environments.rotating(IDS, ("CartPole-v1",)))
def test_a_batch_computes_what_single_environments_do(id):
    environment = {**os.environ, "XLA_FLAGS": EXACT_FLAGS, "FUNCENV_NO_FAST_PATH": "1", "PJRT_NPROC": "2"}
    subprocess.run([sys.executable, "-c", ALONE_AND_TOGETHER, id], env=environment, check=True)
