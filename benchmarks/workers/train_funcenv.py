"""Training by funcenv from a new train state to the last update, without a run folder.

The settings are those of `options["settings"]`, over those of the preset with `options["is_preset"]`. With
`options["threshold"]`, the result says at which step each seed reached it; with `options["evaluate"]`, it has the mean
return of 100 episodes of each agent.
"""

from protocol import serve

import funcenv
from funcenv.train.algorithm import find_algorithm
from funcenv.train.loop import Learner
from funcenv.train.presets import PRESETS


def prepare(options):
    algorithm, env_id = options["algorithm"], options["env"]
    settings = {"total_timesteps": options["steps"]} if "steps" in options else {}
    settings |= PRESETS[algorithm, env_id] if options.get("is_preset") else {}
    settings |= {name: tuple(one) if isinstance(one, list) else one for name, one in options["settings"].items()}
    config = find_algorithm(algorithm).Config(env_id=env_id, **settings)
    learner = Learner(algorithm, config)
    first = learner.init(funcenv.key(config.seed))
    learner.advance(first, 0)  # compiles

    def work():
        state, metrics = learner.advance_to(first, config.num_updates)
        steps, returns = metrics["env_steps"], metrics["mean_return"]
        result = {"mean_return": returns[-1].tolist()}
        if "threshold" in options:
            reached = (returns >= options["threshold"]).T
            result["steps_to_threshold"] = [int(steps[row.argmax(), 0]) if row.any() else None for row in reached]
        if options.get("evaluate"):
            agents = [learner.agent(state, index) for index in range(config.num_seeds)]
            played = [funcenv.evaluate(learner.env, agent, 100, funcenv.key(1)) for agent in agents]
            result["evaluation"] = [float(one.mean_return) for one in played]
        return result

    steps = config.num_updates * config.batch_size * getattr(config, "num_seeds", 1)
    return work, {"steps": steps, "version": funcenv.__version__}


serve(prepare)
