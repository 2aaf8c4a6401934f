"""PPO in funcenv from a new train state to the last update, without a run folder."""

import jax
import numpy as np
from protocol import serve

import funcenv
from funcenv.train import ppo
from funcenv.train.loop import MAX_UPDATES_PER_CALL, Learner


def prepare(options):
    config = ppo.Config(**options["config"])
    threshold = options["threshold"]
    learner = Learner(ppo, config)
    first = learner.init(funcenv.key(config.seed))
    learner.advance(first, 0)  # compiles

    def work():
        state, chunks = first, []
        while learner.num_updates_done(state) < config.num_updates:
            state, metrics = learner.advance(state, MAX_UPDATES_PER_CALL)
            chunks.append(metrics)
        steps, returns = (np.concatenate([chunk[name] for chunk in chunks]) for name in ("env_steps", "mean_return"))
        reached = [int(steps[row.argmax(), 0]) if row.any() else None for row in (returns >= threshold).T]
        evaluations = []
        if options.get("evaluate"):
            for index in range(config.num_seeds):
                agent = learner.agent(state, index)
                evaluations.append(float(funcenv.evaluate(learner.env, agent, 100, funcenv.key(1)).mean_return))
        return {"final_return": returns[-1].tolist(), "steps_to_threshold": reached, "evaluation": evaluations}

    steps = config.num_updates * config.batch_size * config.num_seeds
    return work, {"steps": steps, "version": funcenv.__version__, "jax": jax.__version__}


serve(prepare)
