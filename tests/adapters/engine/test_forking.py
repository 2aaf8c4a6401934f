"""Processes that were forked after JAX had started, which would wait for ever, raise an error instead."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="this system does not fork")

FORKED = """
import multiprocessing, pickle, sys, warnings
import funcenv
from funcenv import adapters
import funcenv.adapters.gymnasium, gymnasium
warnings.simplefilter("ignore")  # JAX warns of a fork

def run(call, results):
    try:
        call()
        results.put("done")
    except Exception as error:
        results.put(f"{type(error).__name__}: {error}")

def in_child(call):
    context = multiprocessing.get_context("fork")
    results = context.SimpleQueue()
    child = context.Process(target=run, args=(call, results))
    child.start()
    child.join(60)
    if child.exitcode is None:
        child.kill()
        return "hangs"
    return results.get()

id = "CliffWalking-v1"
print(in_child(lambda: adapters.make(id).reset(seed=0)))
env, envs = adapters.make(id), adapters.make_vec(id, 2)
env.reset(seed=0), envs.reset(seed=0)
venv, key = funcenv.FuncVectorEnv(funcenv.make(id), 2), funcenv.key(0)
policy = funcenv.random_policy(venv)
for call in (
    lambda: adapters.make(id).reset(seed=0),
    lambda: adapters.make_vec(id, 2).reset(seed=0),
    lambda: gymnasium.make("funcenv/" + id).reset(seed=0),
    lambda: gymnasium.make_vec("funcenv/" + id, 2).reset(seed=0),
    lambda: env.step(0),
    lambda: envs.step([0, 0]),
    lambda: envs.step_async([0, 0]),
    lambda: env.action_space.sample(),
    lambda: env.render(),
    lambda: funcenv.rollout(venv, policy, key, 2),
    lambda: funcenv.evaluate(venv.env, policy, 2, key),
):
    print(in_child(call))
try:
    gymnasium.vector.AsyncVectorEnv([lambda: gymnasium.make("funcenv/" + id)] * 2, context="fork").reset(seed=0)
except adapters.ForkedProcess as error:
    print("ForkedProcess:", error)
env.step(0)
"""

SPAWNED = """
import gymnasium
import funcenv.adapters.gymnasium

def make():
    return gymnasium.make("funcenv.adapters.gymnasium:funcenv/FrozenLake-v1")

if __name__ == "__main__":
    one = gymnasium.vector.SyncVectorEnv([make])
    expected = one.reset(seed=3)[0].tolist(), [one.step([2])[0].tolist() for _ in range(3)]
    envs = gymnasium.vector.AsyncVectorEnv([make], context="spawn", shared_memory=False)
    assert expected == (envs.reset(seed=3)[0].tolist(), [envs.step([2])[0].tolist() for _ in range(3)])
    envs.close()
"""


def run(script):
    return subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300)


def test_a_process_forked_after_jax_started_raises_at_its_first_call(tmp_path):
    script = tmp_path / "forked.py"
    script.write_text(FORKED)
    result = run(script)
    assert result.returncode == 0, result.stderr
    before, *after = result.stdout.splitlines()
    assert before == "done"  # JAX had not started yet
    assert len(after) == 12
    for line in after:
        assert line.startswith("ForkedProcess: ") and all(word in line for word in ("spawn", "forkserver", "make_vec"))


@pytest.mark.dear
def test_spawned_processes_play_the_same_episodes(tmp_path):
    script = tmp_path / "spawned.py"
    script.write_text(SPAWNED)
    result = run(script)
    assert result.returncode == 0, result.stderr
