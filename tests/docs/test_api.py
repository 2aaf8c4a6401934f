"""The API pages hold every public name, once."""

import importlib
import importlib.util
import types

PACKAGES = (
    "funcenv",
    "funcenv.spaces",
    "funcenv.wrappers",
    "funcenv.scene",
    "funcenv.replay",
    "funcenv.physics",
    "funcenv.random",
    "funcenv.interop",
    "funcenv.bench",
    "funcenv.checker",
    "funcenv.verify",
    "funcenv.datasets",
    "funcenv.envs",
    "funcenv.adapters",
    "funcenv.adapters.rendering",
    "funcenv.adapters.wrappers",
    "funcenv.adapters.gymnasium",
)
# Modules that are read by their own names, and what of them is public.
MODULES = {
    "funcenv.train.algorithms.ppo": (
        "Agent",
        "Batch",
        "Config",
        "TrainState",
        "init",
        "make_agent",
        "update",
    ),
    "funcenv.train.algorithms.dqn": ("Config", "Model", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.pqn": ("Batch", "Config", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.sac": ("Agent", "Config", "Model", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.simba": ("Agent", "Config", "Model", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.td3": ("Agent", "Config", "Model", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.tqc": ("Agent", "Config", "Model", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.ars": (
        "Agent",
        "Config",
        "Policy",
        "TrainState",
        "ascent",
        "init",
        "make_agent",
        "make_policy",
        "score",
        "update",
    ),
    "funcenv.train.algorithms.reinforce": ("Agent", "Config", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.q_learning": ("Agent", "Config", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.bc": ("Agent", "Config", "TrainState", "init", "make_agent", "update"),
    "funcenv.train.algorithms.iql": ("Agent", "Config", "Model", "TrainState", "init", "make_agent", "update"),
    "funcenv.interop.dm_env": ("DmEnv", "to_dm_env"),
    "funcenv.interop.minari": ("from_minari", "to_minari"),
    "funcenv.interop.pettingzoo": ("PettingZooEnv", "to_pettingzoo"),
    "funcenv.interop.torchrl": ("to_torchrl",),
    "funcenv.goals": ("GoalEnv", "require_goals"),
    "funcenv.multi_agent": ("MultiAgentEnv",),
    "funcenv.train.updates.collector": ("Collector", "CollectorConfig", "Experience"),
    "funcenv.train.updates.learned": ("Annealed", "Clipped", "Learned", "flat_optimizer"),
    "funcenv.train.updates.blocks": ("BlockConfig", "rows_of_envs"),
    "funcenv.train.updates.epochs": ("Minibatches", "scan_minibatches"),
    "funcenv.train.shares": ("mean_over_rows", "on_shares", "sum_over_rows"),
    "funcenv.train.agents.agent": ("ActorCriticAgent", "Agent", "NetworkAgent"),
    "funcenv.train.updates.returns": ("NStepReturn", "lambda_returns", "n_step_return"),
    "funcenv.train.updates.replay_buffer": ("ReplayBuffer", "Steps", "Transition"),
    "funcenv.train.agents.q_agent": ("EpsilonGreedy", "QAgent", "epsilon_greedy", "value_of"),
    "funcenv.train.agents.networks": (
        "ActorCritic",
        "BoardEncoder",
        "ImageEncoder",
        "QNetwork",
        "make_actor_critic",
        "make_q_network",
    ),
    "funcenv.train.algorithm": ("Algorithm", "REQUIRED_METRICS", "TrainState", "algorithm_names", "find_algorithm"),
    "funcenv.train.loop": ("Learner", "MAX_UPDATES_PER_CALL", "train"),
    "funcenv.train.runs.run": ("RunResult", "load", "make_folder", "new_folder", "read_config", "resume", "start"),
    "funcenv.train": ("load_policy", "stateful_policy"),
    "funcenv.train.runs.policy": ("load_agents",),
    "funcenv.train.reports.aggregate": (
        "bootstrap_interval",
        "interquartile_mean",
        "performance_profile",
        "probability_of_improvement",
    ),
    "funcenv.train.runs.logs": ("LogOptions",),
    "funcenv.train.runs.exported": ("export_program", "policy_spec"),
    "funcenv.train.benchmark": ("Plan", "Progress", "read_benchmark", "run_benchmark", "summarize"),
    "funcenv.train.suites": ("Reference", "find_suite", "references"),
    "funcenv.train.sweeps": ("SweepResult", "grid", "sweep", "sweepable"),
    "funcenv.train.reports.comparison": ("Method", "RunRecord", "compare", "group_runs", "read_run"),
    "funcenv.train.runs.metrics": ("read_metrics",),
    "funcenv.train.presets": ("preset",),
    "funcenv.checks": (
        "require_at_least",
        "require_finite",
        "require_integer",
        "require_ordered",
        "require_positive",
        "require_probability",
        "require_size",
    ),
    "funcenv.names": ("UntrustedCodeError",),
    "funcenv.traits": ("Traits",),
    "funcenv.drawable": ("Drawable",),
    "funcenv.policy": ("AdaptsEnv", "DerivesKeys", "Policy"),
    "funcenv.stateful": ("StatefulAttribute", "StatefulView", "constant"),
    "funcenv.host": ("Pool", "from_words", "host_call", "to_words"),
    "funcenv.vector": ("call_key",),
    "funcenv._compile.cuda_graph": ("CudaGraphJit",),
    "funcenv.adapters.wrappers.record_video": ("capped_cubic_video_schedule",),
    "funcenv.cli": ("COMMANDS", "EXIT_STATUSES", "UsageError", "main"),
}


def resolve(path):
    """Return what a module defines under a name, even if a submodule has the same name."""
    module, _, name = path.rpartition(".")
    return getattr(importlib.import_module(module), name)


def test_every_public_name_is_documented(documented):
    objects = [resolve(path) for path in documented]
    wanted = {f"{package}.{name}" for package in PACKAGES for name in importlib.import_module(package).__all__}
    wanted |= {f"{module}.{name}" for module, names in MODULES.items() for name in names}
    missing = []
    for path in sorted(wanted):
        found = resolve(path)
        if not any(found is one for one in objects) and not isinstance(found, types.ModuleType):
            missing.append(path)
    assert not missing, f"add `::: {missing[0]}` and so on to a page of docs/api: {missing}"


def test_a_function_is_not_mistaken_for_the_module_of_its_name(documented):
    modules = [path for path in documented if find_module(path)]
    assert set(modules) == {"funcenv.adapters.gymnasium.spaces", "funcenv.scene.palette"}  # these are the modules


def find_module(path):
    try:
        return importlib.util.find_spec(path) is not None
    except ModuleNotFoundError:  # its parent is a module, and no package
        return False


def test_nothing_is_documented_twice(documented):
    objects = [resolve(path) for path in documented]
    assert len(objects) == len({id(one) for one in objects})
