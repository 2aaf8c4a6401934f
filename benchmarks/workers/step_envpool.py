"""Steps of envpool (C++) from Python, with one thread."""

import importlib.metadata
import warnings

warnings.simplefilter("ignore")

import envpool  # noqa: E402
import stepping  # noqa: E402
from protocol import serve  # noqa: E402


def prepare(options):
    num_envs, version = options["num_envs"], importlib.metadata.version("envpool")
    envs = envpool.make(options["env"], env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=0)
    return stepping.vector(envs, envs.action_space, num_envs, options["num_steps"], version)


serve(prepare)
