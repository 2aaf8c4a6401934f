"""Steps of Gymnasium's environments from Python.

`options["kind"]` is "single" for one environment of `gymnasium.make`, or "vector" for the vector environment of
`gymnasium.make_vec`: written in NumPy for CartPole-v1, and in JAX for phys2d ids.
"""

import warnings

import gymnasium
import stepping
from protocol import serve

warnings.simplefilter("ignore")


def prepare(options):
    version = gymnasium.__version__
    if options["kind"] == "single":
        return stepping.single(gymnasium.make(options["env"]), options["num_steps"], version)
    num_envs = options["num_envs"]
    envs = gymnasium.make_vec(options["env"], num_envs=num_envs, vectorization_mode="vector_entry_point")
    return stepping.vector(envs, envs.single_action_space, num_envs, options["num_steps"], version)


serve(prepare)
