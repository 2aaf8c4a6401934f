"""Training by stable-baselines3 or SBX, whose loop is in Python: a turn goes on with the same agent.

With `options["evaluate"]`, the result has the mean return of 20 episodes.
"""

import importlib
import importlib.metadata

import gymnasium
import torch
from protocol import serve
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.evaluation import evaluate_policy

MODULES = {"stable-baselines3": ("stable_baselines3", "stable-baselines3"), "sbx": ("sbx", "sbx-rl")}


def prepare(options):
    torch.set_num_threads(1)
    module, package = MODULES[options["library"]]
    settings, seed = dict(options["settings"]), options.get("seed", 0)
    env = make_vec_env(options["env"], settings.pop("num_envs", 1), seed=seed)
    algorithm = getattr(importlib.import_module(module), options["algorithm"])
    model = algorithm("MlpPolicy", env, seed=seed, device="cpu", **settings)

    def work():
        model.learn(options["steps"], reset_num_timesteps=False)
        if not options.get("evaluate"):
            return None
        return {"return": evaluate_policy(model, gymnasium.make(options["env"]), n_eval_episodes=20, warn=False)[0]}

    return work, {"steps": options["steps"], "version": importlib.metadata.version(package)}


serve(prepare)
