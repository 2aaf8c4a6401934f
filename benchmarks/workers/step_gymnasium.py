"""Steps of Gymnasium's environments from Python, with actions that are drawn before the clock starts.

`options["kind"]` is "single" for one NumPy environment, which is reset after each episode, or "vector" for the vector
environment of `gymnasium.make_vec`: written in NumPy for CartPole-v1, and in JAX for phys2d ids.
"""

import warnings

import gymnasium
import numpy as np
from protocol import serve

warnings.simplefilter("ignore")


def draw(space, count, num_envs):
    generator = np.random.default_rng(0)
    if isinstance(space, gymnasium.spaces.Discrete):
        return generator.integers(0, space.n, (count, num_envs))
    return generator.uniform(space.low, space.high, (count, num_envs, *space.shape)).astype(space.dtype)


def prepare_single(options):
    env = gymnasium.make(options["env"])
    actions = list(draw(env.action_space, 1024, 1)[:, 0])
    env.reset(seed=0)

    def work():
        episodes = 0
        for number in range(options["num_steps"]):
            _, _, terminated, truncated, _ = env.step(actions[number % 1024])
            if terminated or truncated:
                env.reset()
                episodes += 1
        return {"episodes": episodes}

    return work, {"steps": options["num_steps"]}


def prepare_vector(options):
    num_envs = options["num_envs"]
    envs = gymnasium.make_vec(options["env"], num_envs=num_envs, vectorization_mode="vector_entry_point")
    actions = draw(envs.single_action_space, 64, num_envs)
    envs.reset(seed=0)
    for number in range(max(20, 400 // num_envs)):  # those in JAX compile a program for each number of resets
        envs.step(actions[number % 64])

    def work():
        episodes = 0
        for number in range(options["num_steps"]):
            _, _, terminated, truncated, _ = envs.step(actions[number % 64])
            episodes += int(np.count_nonzero(np.asarray(terminated) | np.asarray(truncated)))
        return {"episodes": episodes}

    return work, {"steps": num_envs * options["num_steps"]}


def prepare(options):
    work, facts = (prepare_single if options["kind"] == "single" else prepare_vector)(options)
    return work, {**facts, "version": gymnasium.__version__}


serve(prepare)
