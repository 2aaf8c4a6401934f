"""Steps of one environment from Python, with a reset after each episode."""

import importlib.metadata

import gymnasium
from protocol import serve


def make(kind, env_id):
    if kind == "funcenv":
        import funcenv
        from funcenv.adapters import FunctionalEnv

        return FunctionalEnv(funcenv.make(env_id))
    if kind == "funcenv in gymnasium":
        import funcenv.adapters.gymnasium

        funcenv.adapters.gymnasium.register_envs()
        return gymnasium.make(f"funcenv/{env_id}")
    return gymnasium.make(f"phys2d/{env_id}" if kind == "phys2d" else env_id)


def prepare(options):
    env, num_steps = make(options["kind"], options["env"]), options["num_steps"]
    env.reset(seed=0)
    space = gymnasium.make(options["env"]).action_space  # the same actions for every kind
    space.seed(0)
    actions = [space.sample() for _ in range(1024)]

    def work():
        env.reset(seed=0)
        episodes = 0
        for i in range(num_steps):
            _, _, terminated, truncated, _ = env.step(actions[i % 1024])
            if terminated or truncated:
                env.reset()
                episodes += 1
        return {"episodes": episodes}

    return work, {"steps": num_steps, "version": importlib.metadata.version("gymnasium")}


serve(prepare)
