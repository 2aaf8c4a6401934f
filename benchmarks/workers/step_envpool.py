"""Steps of envpool (C++) from Python, with one thread and actions that are drawn before the clock starts."""

import importlib.metadata
import warnings

warnings.simplefilter("ignore")

import envpool  # noqa: E402
import numpy as np  # noqa: E402
from protocol import serve  # noqa: E402


def prepare(options):
    num_envs = options["num_envs"]
    envs = envpool.make(options["env"], env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=0)
    space, generator = envs.action_space, np.random.default_rng(0)
    if hasattr(space, "n"):
        actions = generator.integers(0, space.n, (64, num_envs))
    else:
        actions = generator.uniform(space.low, space.high, (64, num_envs, *space.shape)).astype(space.dtype)
    envs.reset()

    def work():
        episodes = 0
        for number in range(options["num_steps"]):
            _, _, terminated, truncated, _ = envs.step(actions[number % 64])
            episodes += int(np.count_nonzero(terminated | truncated))
        return {"episodes": episodes}

    version = importlib.metadata.version("envpool")
    return work, {"steps": num_envs * options["num_steps"], "version": version}


serve(prepare)
