"""Remedies in messages about missing names: what takes the place of the names of other libraries."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn


def functional_wrapper(name: str) -> str:
    """Return the remedy for a stateful wrapper that exists as a functional one only."""
    return (
        f"funcenv.wrappers.{name} is functional and goes inside: "
        f"adapters.FunctionalEnv(funcenv.wrappers.{name}(funcenv.make(id), ...))"
    )


_STATEFUL = "funcenv.adapters.make(id) gives the stateful interface, which has it"
_IN_TIMESTEP = "a time step has it, which reset and step return beside the state: state, timestep = env.reset(key)"

IN_TIMESTEP = {
    **dict.fromkeys(("obs", "observation", "reward", "done", "terminated", "truncated", "info"), _IN_TIMESTEP),
    "env_state": "step takes the state that reset of the same environment, with the same wrappers, has returned",
}
"""Names of a time step that users look for in a state, as brax's states have them, and what wrappers look for there."""

OF_ENV = {
    **dict.fromkeys(("close", "metadata", "render_mode", "spec", "np_random", "get_wrapper_attr"), _STATEFUL),
    "render": "draw a state with funcenv.scene.rasterize(env.scene(state), 400, 600), record episodes with "
    "funcenv.record, or open a window with funcenv.adapters.make(id, render_mode='human')",
    "seed": "keys are the source of randomness: env.reset(funcenv.key(seed))",
    "default_params": "the parameters are fields of the environment: env.replace(name=...) changes them",
    **dict.fromkeys(("step_env", "step_auto_reset"), "write env.step(state, action, key), which resets nothing"),
    "reset_env": "write env.reset(key)",
    **dict.fromkeys(("num_actions", "action_dim"), "write env.action_space.n, or env.action_space.shape of a Box"),
    "action_size": "write env.action_space.shape",
    **dict.fromkeys(("observation_size", "obs_shape", "obs_size"), "write env.observation_space.shape"),
    **dict.fromkeys(("observation_spec", "action_spec"), "write env.observation_space; funcenv.to_dm_env has specs"),
    **dict.fromkeys(("single_action_space", "single_observation_space"), "a FuncVectorEnv has it; leave single_ out"),
    "num_envs": "one environment is not a batch; funcenv.FuncVectorEnv(env, num_envs) is",
}
"""Names that users look for in a functional environment."""

OF_VECTOR_ENV = {
    "action_space": "policies act for one environment, whose space is single_action_space",
    "observation_space": "policies see one environment, whose space is single_observation_space",
    "envs": "there is one environment, env, whose states are stacked",
    **dict.fromkeys(
        ("render", "close", "step_async", "step_wait", "get_attr", "call", "metadata"),
        "funcenv.adapters.make_vec(id, num_envs) gives the stateful interface, which has it",
    ),
    "seed": "keys are the source of randomness: venv.reset(funcenv.key(seed))",
}
"""Names that users look for in a functional vector environment."""

OF_TIMESTEP = {
    "obs": "write timestep.observation",
    "state": "reset and step return the state first: state, timestep = env.reset(key)",
    **dict.fromkeys(
        ("step_type", "discount", "last", "first", "mid"),
        "timestep.terminated and timestep.truncated say how an episode ended; funcenv.to_dm_env has it",
    ),
}
"""Names that users look for in a time step."""

OF_TRAJECTORY = {
    **{
        name: f"write trajectory.timestep.{name}, an array [num_steps, num_envs, ...]"
        for name in ("observation", "reward", "done", "terminated", "truncated", "info", "final_observation")
    },
    **dict.fromkeys(("obs", "observations"), "write trajectory.timestep.observation"),
    **dict.fromkeys(("next_obs", "next_observation"), "write trajectory.timestep.final_observation"),
    **dict.fromkeys(("rewards", "dones"), "write trajectory.timestep.reward and trajectory.timestep.done"),
    "actions": "write trajectory.action",
}
"""Names that users look for in the trajectory of a rollout."""

OF_SPACE = {
    **dict.fromkeys(
        ("seed", "np_random"), "a space holds no generator; draw members with space.sample(funcenv.key(0))"
    ),
    "n": "only Discrete and MultiBinary have n; a Box has a shape",
    **dict.fromkeys(("minimum", "maximum"), "the bounds of a Box are low and high"),
    "num_values": "write n",
    "num_categories": "write n",
}
"""Names that users look for in a space."""

OF_PACKAGE = {
    "make_vec": "write funcenv.FuncVectorEnv(funcenv.make(id), num_envs), or funcenv.adapters.make_vec(id, num_envs)",
    **dict.fromkeys(
        ("Env", "VectorEnv", "SyncVectorEnv", "AsyncVectorEnv"),
        "the stateful interface is in funcenv.adapters, and the functional one is FuncEnv",
    ),
    **dict.fromkeys(("gym", "gymnasium"), "write: from funcenv.adapters import gym, or gymnasium"),
    "vector": "the functional one is funcenv.FuncVectorEnv, and the stateful ones are in funcenv.adapters.vector",
    "evaluate_policy": "write funcenv.evaluate(env, policy, num_episodes, key)",
    "learn": "write funcenv.train.run.start(funcenv.train.ppo.Config(env_id=...), folder)",
    **dict.fromkeys(("create", "get_environment", "make_env"), "write funcenv.make(id)"),
    "vmap": "write jax.vmap(env.step), or funcenv.FuncVectorEnv(env, num_envs)",
    "jit": "write jax.jit(env.step)",
}
"""Names that users look for in the package itself."""

OF_WRAPPERS = {
    **dict.fromkeys(("LogWrapper", "RecordEpisodeStatistics", "Monitor", "EpisodeWrapper"), "write EpisodeStatistics"),
    **dict.fromkeys(("FlattenObservationWrapper", "FlattenObs"), "write FlattenObservation"),
    **dict.fromkeys(
        ("RecordVideo", "Recorder", "HumanRendering"),
        "it is stateful: see funcenv.adapters.wrappers and funcenv.record",
    ),
    **dict.fromkeys(
        ("VecNormalize", "NormalizeVecObservation", "NormalizeVecReward", "NormalizeVecObsEnvState"),
        "write NormalizeObservation or NormalizeReward",
    ),
    **dict.fromkeys(("FrameStack", "VecFrameStack"), "write FrameStackObservation"),
    **dict.fromkeys(
        ("AutoResetWrapper", "AutoReset"), "FuncVectorEnv resets by itself; Autoreset wraps one environment"
    ),
    **dict.fromkeys(
        ("VmapWrapper", "VecEnv", "DummyVecEnv", "SubprocVecEnv"), "write funcenv.FuncVectorEnv(env, num_envs)"
    ),
    "GrayScaleObservation": "write GrayscaleObservation",
    "ClipActionWrapper": "write ClipAction",
}
"""Names that users look for among the functional wrappers."""

OF_ENVS = dict.fromkeys(("make", "create", "get_environment", "load"), "write funcenv.make(id)")
"""Names that users look for in the package of environments."""

_BATCH = "funcenv.adapters.make_vec(id, num_envs) steps a batch in one program; those of vector take functions"
OF_ADAPTERS = {
    **dict.fromkeys(("AsyncVectorEnv", "DummyVecEnv", "SubprocVecEnv", "ShmemVecEnv"), _BATCH),
    **dict.fromkeys(("gym", "gymnasium"), "import it first: from funcenv.adapters import gym, or gymnasium"),
}
"""Names that users look for in the package of stateful interfaces."""

OF_ADAPTERS_VECTOR = {"make": _BATCH, "VectorEnvWrapper": "write VectorWrapper"}
"""Names that users look for in the module of stateful vector interfaces."""

_NORMALIZE = "write NormalizeObservation or NormalizeReward"
OF_ADAPTERS_WRAPPERS = {
    **dict.fromkeys(("FrameStack", "VecFrameStack", "LazyFrames"), "write FrameStackObservation"),
    "Monitor": "write RecordEpisodeStatistics, and RecordVideo for videos",
    **dict.fromkeys(("VecNormalize", "NormalizeObs"), _NORMALIZE),
    "AutoResetWrapper": "write Autoreset",
    "GrayScaleObservation": "write GrayscaleObservation",
    "PixelObservationWrapper": "write AddRenderObservation",
    "VectorListInfo": "write vector.DictInfoToList",
}
"""Names that users look for among the stateful wrappers."""

OF_VECTOR_INTERFACE = {
    **dict.fromkeys(("seed", "env_method"), "seeds are given to reset, and methods to call: envs.reset(seed=0)"),
    "env_is_wrapped": "wrappers are layers of the one environment, envs.func_env",
    "envs": "there is one program for the batch; envs.func_env is the environment in it",
}
"""Names that users look for in a stateful vector environment."""

_OF_TRAIN_START = "write run.start(ppo.Config(env_id=...), folder), or funcenv train ENV in a shell"
OF_TRAIN = {
    **dict.fromkeys(("train", "learn", "make_train", "start"), _OF_TRAIN_START),
    "a2c": "ppo is its successor; guides/your_own_algorithm.md writes an actor-critic from scratch",
    **dict.fromkeys(("PPO", "DQN", "SAC", "TD3", "A2C"), f"algorithms are modules in small letters; {_OF_TRAIN_START}"),
}
"""Names that users look for in the package for training, and in the modules of algorithms."""

OTHER_ALGORITHMS = {
    **dict.fromkeys(("a2c", "a3c", "trpo", "vpg", "acktr"), "ppo takes its place"),
    **dict.fromkeys(("rainbow", "c51", "qr_dqn", "qrdqn", "ddqn", "apex", "r2d2"), "dqn and pqn take its place"),
    **dict.fromkeys(("ddpg", "crossq", "redq", "d4pg"), "td3 and sac take its place"),
    **dict.fromkeys(("ppo_lstm", "ppo_rnn", "rppo"), "write recurrent_ppo"),
    **dict.fromkeys(("cql", "td3_bc", "awac"), "iql takes its place"),
}
"""Algorithms of other libraries, and what there is."""

_SETTINGS = {
    "num_envs": ("n_envs", "number_of_envs", "nenvs"),
    "num_steps": ("n_steps", "unroll_length", "rollout_length", "horizon", "num_rollout_steps"),
    "total_timesteps": ("total_steps", "num_timesteps", "timesteps", "steps", "n_timesteps", "total_env_steps"),
    "learning_rate": ("lr", "step_size", "alpha"),
    "num_epochs": ("update_epochs", "n_epochs", "epochs", "noptepochs"),
    "minibatch_size": ("batch_size",),
    "num_minibatches": ("batch_size", "n_minibatches", "nminibatches", "num_mini_batch"),
    "gamma": ("discount", "discounting", "discount_factor"),
    "gae_lambda": ("lam", "lambda_", "gae", "lmbda"),
    "clip_epsilon": ("clip_range", "clip_eps", "clip_coef", "clip_param", "clipping_epsilon", "ppo_epsilon"),
    "entropy_coefficient": ("ent_coef", "entropy_coef", "entropy_cost", "ent_weight"),
    "value_coefficient": ("vf_coef", "value_coef", "value_loss_coef", "vf_loss_coeff"),
    "max_grad_norm": ("max_gradient_norm", "grad_clip", "clip_grad"),
    "anneal_learning_rate": ("anneal_lr",),
    "normalize_observation": ("normalize_observations", "norm_obs", "normalize_env", "normalize"),
    "buffer_size": ("replay_size", "buffer", "max_replay_size"),
    "target_rate": ("tau", "polyak", "target_update_rate"),
    "epsilon_end": ("exploration_final_eps", "end_e", "eps_end"),
    "epsilon_fraction": ("exploration_fraction",),
    "hidden_sizes": ("net_arch", "policy_kwargs", "hidden_size", "hidden_dims", "layers"),
    "env_id": ("env", "env_name", "environment", "task"),
    "env_params": ("env_kwargs", "params", "parameters"),
    "seed": ("random_seed", "key", "rng"),
}  # fmt: skip

_LIBRARIES = (
    (r"(\w+)-(bsuite|misc|MinAtar)", "gymnax"),
    (r"ant|halfcheetah|hopper|humanoid|humanoidstandup|inverted_pendulum|pusher|reacher|swimmer|walker2d", "brax"),
    (r"Craftax[\w-]+", "craftax"),
    (r"Navix-[\w-]+", "navix"),
    (r"XLand-MiniGrid[\w-]+|MiniGrid-[\w-]+", "xminigrid"),
    (r"(Snake|Game2048|Maze|Sudoku|TSP|BinPack|Knapsack|PacMan|Tetris|Connector|Minesweeper|Sokoban)-v\d+", "jumanji"),
    (r"tic_tac_toe|connect_four|go_9x9|go_19x19|chess|othello|backgammon|hex|kuhn_poker|2048", "pgx"),
    (r"MPE_\w+|hanabi|overcooked|switch_riddle|storm|coin_game", "jaxmarl"),
    (r"(Cartpole|Walker|Cheetah|Acrobot|Hopper|Finger|Reacher|Humanoid|Pendulum|Ball)[A-Z]\w+", "playground"),
)  # fmt: skip


def note_missing_names(module: Any, hints: Mapping[str, str]) -> Any:
    """Let a module answer names that it does not have with a remedy, and return it."""

    def missing(name: str) -> NoReturn:
        known = () if name.startswith("_") else vars(module)
        raise AttributeError(missing_name(f"module {module.__name__!r}", name, hints, known), name=name, obj=module)

    vars(module).setdefault("__getattr__", missing)
    return module


def missing_name(owner: str, name: str, hints: Mapping[str, str], known: Iterable[str] = ()) -> str:
    """Return the message on a name that an owner does not have, with a remedy if there is one.

    Args:
        owner: What was asked, as in `"CartPole"`.
        name: The name.
        hints: Remedies by name.
        known: Names that the owner has, of which a similar one is suggested.

    >>> missing_name("CartPole", "gravty", {}, ["gravity", "length"])
    "CartPole has no attribute 'gravty'; did you mean gravity?"
    """
    remedy = hints.get(name)
    if remedy is None:
        lowered = {one.casefold(): one for one in known if not one.startswith("_")}
        close = difflib.get_close_matches(name.casefold(), lowered, n=1, cutoff=0.75)
        remedy = f"did you mean {lowered[close[0]]}?" if close else None
    return f"{owner} has no attribute {name!r}" + (f"; {remedy}" if remedy else "")


def setting_of(name: str, known: Iterable[str]) -> str | None:
    """Return the setting that a name of another library, or a misspelt one, means.

    >>> known = ["learning_rate", "num_steps", "num_envs"]
    >>> [setting_of(name, known) for name in ("lr", "n_steps", "NUM_ENVS", "learnign_rate", "colour")]
    ['learning_rate', 'num_steps', 'num_envs', 'learning_rate', None]
    """
    known, lowered = list(known), name.lower()
    meant = [own for own, others in _SETTINGS.items() if lowered in (own, *others) and own in known]
    if meant:
        return meant[0]
    return next(iter(difflib.get_close_matches(lowered, known, n=1)), None)


def unknown_setting(owner: str, name: str, known: Iterable[str]) -> str:
    """Return the message on a setting that a configuration does not have.

    >>> unknown_setting("Config", "lr", ["learning_rate", "num_steps"])
    "Config got an unexpected keyword argument 'lr'; did you mean learning_rate?"
    """
    known = list(known)
    close = setting_of(name, known)
    remedy = f"did you mean {close}?" if close else f"it has: {', '.join(known)}"
    return f"{owner} got an unexpected keyword argument {name!r}; {remedy}"


def id_of_library(id: str, namespaces: Iterable[str], known: Iterable[str]) -> str | None:
    """Return what to write in place of an id of another library, or None if it is none.

    Args:
        id: The id, as the other library spells it.
        namespaces: The libraries whose environments can be imported by id.
        known: The ids of this package.

    >>> id_of_library("Breakout-MinAtar", ["gymnax"], ["MinAtar/Breakout-v1"])
    "MinAtar/Breakout-v1 is that game; 'gymnax/Breakout-MinAtar' imports the environment of gymnax"
    >>> id_of_library("ant", ["brax"], ["Ant-v5"])
    "'brax/ant' imports the environment of brax"
    """
    for pattern, library in _LIBRARIES:
        if library in namespaces and re.fullmatch(pattern, id):
            imported = f"{library + '/' + id!r} imports the environment of {library}"
            own = re.sub(r"^(\w+)-MinAtar$", r"MinAtar/\1-v1", id)
            return f"{own} is that game; {imported}" if own in known else imported
    return None


def raise_missing(node: Any, name: str, owner: str, hints: Mapping[str, str]) -> Any:
    """Raise `AttributeError` for a name that an object lacks, or the error of its property with that name."""
    if hasattr(type(node), name):
        return object.__getattribute__(node, name)  # a property failed; its own error is the right one
    if name.startswith("__"):  # asked by Python, NumPy and JAX, which read no message
        raise AttributeError(name)
    raise AttributeError(missing_name(owner, name, hints, dir(node)), name=name, obj=node)
