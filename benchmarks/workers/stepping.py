"""Steps of environments from Python, with actions that are drawn before the clock starts."""

import numpy as np


def draw(space, count, num_envs):
    """Draw actions of a space of one environment, `[count, num_envs, ...]`."""
    generator = np.random.default_rng(0)
    if hasattr(space, "n"):
        return generator.integers(0, int(space.n), (count, num_envs))
    shape = (count, num_envs, *space.shape)
    return generator.uniform(np.asarray(space.low), np.asarray(space.high), shape).astype(space.dtype)


def single(env, num_steps, version):
    """Return the work and facts of one environment, which is reset after each episode."""
    actions = list(draw(env.action_space, 1024, 1)[:, 0])
    env.reset(seed=0)
    env.reset()  # compiled by itself

    def work():
        episodes = 0
        for number in range(num_steps):
            _, _, terminated, truncated, _ = env.step(actions[number % 1024])
            if terminated or truncated:
                env.reset()
                episodes += 1
        return {"episodes": episodes}

    return work, {"steps": num_steps, "version": version}


def vector(envs, space, num_envs, num_steps, version):
    """Return the work and facts of a vector environment that resets itself."""
    actions = draw(space, 64, num_envs)
    envs.reset()
    for number in range(max(20, 400 // num_envs)):  # phys2d compiles a program for each number of resets
        envs.step(actions[number % 64])

    def work():
        episodes = 0
        for number in range(num_steps):
            _, _, terminated, truncated, _ = envs.step(actions[number % 64])
            episodes += int(np.count_nonzero(np.asarray(terminated) | np.asarray(truncated)))
        return {"episodes": episodes}

    return work, {"steps": num_envs * num_steps, "version": version}
