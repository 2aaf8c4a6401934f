"""PPO on CartPole on a number of devices. The clock is the CPU time of the busiest thread.

A turn is one update. On a machine that is busy with other programs, its devices take turns too, so that wall time does
not show what an update would take on free cores.
"""

import pathlib

from protocol import serve

TASKS = pathlib.Path("/proc/self/task")


def thread_seconds():
    """Return the CPU seconds of each thread of this process, on Linux."""
    return {task.name: int((task / "schedstat").read_text().split()[0]) / 1e9 for task in TASKS.iterdir()}


def prepare(options):
    import jax

    import funcenv
    from funcenv.train import ppo
    from funcenv.train.loop import Learner

    sizes = {"num_envs": 64, "num_steps": 64, "hidden_sizes": (options["width"],) * 2, "total_timesteps": 4096 * 1000}
    learner = Learner(ppo, ppo.Config(**sizes, deterministic_reductions=options["deterministic"]))
    state = learner.init(funcenv.key(0))

    def work():
        nonlocal state
        before = thread_seconds()
        state, _ = learner.advance(state, 1)
        jax.block_until_ready(state)
        return {"cpu": max(seconds - before.get(thread, 0.0) for thread, seconds in thread_seconds().items())}

    return work, {"steps": 4096}


serve(prepare)
