"""Steps of Gymnasium's CartPole in numpy, called from Python."""

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from protocol import serve


def prepare(options):
    envs = CartPoleVectorEnv(options["num_envs"])
    actions = np.random.default_rng(0).integers(0, 2, (64, options["num_envs"]))
    envs.reset(seed=0)

    def work():
        for number in range(options["steps"]):
            observations = envs.step(actions[number % 64])[0]
        return float(np.abs(observations).mean())

    return work, {"steps": options["steps"], "version": gymnasium.__version__}


serve(prepare)
