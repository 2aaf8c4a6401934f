"""The cost of each part of a step of one environment, and its memory."""

import dataclasses

import jax
from protocol import serve

import funcenv
from funcenv.bench import break_down, describe_engine, footprint


def prepare(options):
    env, num_envs = funcenv.make(options["env"]), options["num_envs"]
    venv = funcenv.FuncVectorEnv(env, num_envs)

    def work():
        breakdown = break_down(env, num_envs, seconds=options["part_seconds"], rounds=options["part_rounds"])
        return {
            "breakdown": dataclasses.asdict(breakdown),
            "footprint": dataclasses.asdict(footprint(venv)),
            "engine": describe_engine(venv),
        }

    return work, {"steps": 1, "version": funcenv.__version__, "jax": jax.__version__}


serve(prepare)
