"""The command `funcenv compile ENV`, which compiles programs for later processes, or for accelerators elsewhere."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
import time
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from funcenv import programs
from funcenv.cli.flags import Threads, Word, read
from funcenv.cli.table import UsageError, require_train_packages
from funcenv.counted import counted

DEFAULT_NUM_ENVS = 1024
"""The size of a batch on described devices."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Compile what an environment needs for its first steps or for training, and keep it for later processes.

    With --topology, compile for TPUs or GPUs that need not be here, and write the programs to files.
    """

    env: Annotated[str, Word("ENV")]
    """an id, or module:EnvClass, or module:function"""
    num_envs: int | None = None
    """also compile a vector environment of so many, and its rollouts"""
    algo: str | None = None
    """an algorithm; its training programs are compiled with the settings of its preset, and for one thread"""
    topology: str | None = None
    """accelerators to compile for instead: v5e:1x1 is a TPU v5e, v5e:4x4 a slice of 16, h200 an NVIDIA H200"""
    output: Annotated[str | None, "FOLDER"] = None
    """with --topology: where the programs are written, for funcenv.accelerators.load on such a machine"""


def run(arguments: Sequence[str]) -> int:
    """Compile, print what took how long, and return the exit status."""
    options: Options = read("compile", Options, arguments)
    if options.num_envs is not None and options.num_envs < 1:
        raise UsageError(f"--num-envs must be at least 1, got {options.num_envs}")
    if options.topology is not None:
        return _compile_for_accelerators(options, options.topology)
    if options.output is not None:
        raise UsageError(
            f"--output is for programs of accelerators, got {options.output} alone; give --topology, such as v5e:1x1"
        )
    if options.num_envs is not None and options.algo is not None:
        raise UsageError(
            f"--num-envs and --algo are compiled for other numbers of threads, got {options.num_envs} and "
            f"{options.algo}; leave one of them out"
        )
    before = programs.cache_info()
    if options.algo is not None:
        os.environ.setdefault("PJRT_NPROC", str(Threads.threads))  # as funcenv train; programs differ by it
        _time(f"{options.algo}: first state, updates and evaluation", _train, options.env, options.algo)
    else:
        _time("one environment: reset and step", _step_one, options.env)
    if options.num_envs is not None:
        name = f"{counted(options.num_envs, 'environment')}: reset, step and rollout"
        _time(name, _step_many, options.env, options.num_envs)
    after = programs.cache_info()
    grown = max(after.num_bytes - before.num_bytes, 0) / 2**20
    print(f"{counted(after.programs - before.programs, 'new program')}, {grown:,.1f} MiB, in {after.folder}")
    return 0


def _compile_for_accelerators(options: Options, topology: str) -> int:
    """Compile for described devices, print what each program takes, write it to a file, and return the exit status."""
    from funcenv import accelerators
    from funcenv.checker.check import resolve
    from funcenv.memory import readable_size
    from funcenv.registry import make

    devices = accelerators.describe(topology)
    num_envs = options.num_envs or DEFAULT_NUM_ENVS
    programs = accelerators.ENV_PROGRAMS if options.algo is None else ("update",)
    env = resolve(options.env, make)
    for name in programs:
        start = time.process_time()
        if name == "update":
            compiled = _compile_update(options, devices)
        else:
            compiled = accelerators.compile_env(env, num_envs, devices, name)
        seconds, memory = time.process_time() - start, compiled.memory_analysis()
        held = readable_size(memory.argument_size_in_bytes + memory.temp_size_in_bytes)
        print(f"{name}: {seconds:.1f} CPU-s, {held} on each of {len(devices)} x {devices[0].device_kind}")
        if options.output is not None:
            folder = pathlib.Path(options.output)
            folder.mkdir(parents=True, exist_ok=True)
            accelerators.save(folder / f"{name}{accelerators.SUFFIX}", compiled)
            print(f"written to {folder / f'{name}{accelerators.SUFFIX}'}", flush=True)
    return 0


def _compile_update(options: Options, devices: tuple[Any, ...]) -> Any:
    require_train_packages("compile --algo")
    from funcenv.accelerators import compile_update
    from funcenv.cli.settings import find_algorithm
    from funcenv.train.presets import preset

    algorithm, config = find_algorithm(str(options.algo)), preset(options.env, str(options.algo))
    if options.num_envs is not None:
        config = dataclasses.replace(config, num_envs=options.num_envs)
    return compile_update(algorithm, config, devices)


def _time(name: str, work: Callable[..., None], *args: Any) -> None:
    print(f"{name}: ", end="", flush=True)
    start = time.process_time()
    work(*args)
    print(f"{time.process_time() - start:.1f} CPU-s", flush=True)


def _step_one(name: str) -> None:
    from funcenv import adapters

    with contextlib.closing(adapters.make(name)) as env:
        env.reset(seed=0)
        env.step(env.action_space.sample())
        env.reset()


def _step_many(name: str, num_envs: int) -> None:
    import funcenv
    from funcenv import adapters

    with contextlib.closing(adapters.make_vec(name, num_envs=num_envs)) as env:
        env.reset(seed=0)
        env.step(env.action_space.sample())
    venv = funcenv.FuncVectorEnv(funcenv.make(name), num_envs)
    policy = funcenv.random_policy(venv)
    funcenv.rollout(venv, policy, funcenv.key(0), num_steps=1, collect=None)
    funcenv.evaluate(venv.env, policy, num_envs, funcenv.key(0), max_steps=1)


def _train(name: str, algorithm: str) -> None:
    require_train_packages("compile --algo")
    from funcenv.cli.settings import find_algorithm
    from funcenv.random import key
    from funcenv.replay import can_draw
    from funcenv.train.loop import Learner
    from funcenv.train.presets import preset
    from funcenv.train.runs.agent_replay import RecordOptions, record_agent
    from funcenv.train.runs.best import evaluate_agents

    learner = Learner(find_algorithm(algorithm), preset(name, algorithm))
    state = learner.compile(learner.init(key(0)), donate=True)
    agents = learner.agents(state)
    evaluate_agents(learner, agents, key(0))
    if can_draw(learner.env):
        record_agent(learner, agents, RecordOptions(num_episodes=3))
