"""One algorithm of one library with given settings, on that library's own environment: a worker of `training_speed.py`.

`prepare(options)` of each library makes a function that trains for `options["steps"]` environment steps. Programs are
compiled before the first turn. Libraries with a loop in Python go on with the same agent in each turn.
"""

import importlib.metadata
import pathlib
import sys
import types

from protocol import serve


def funcenv(options):
    import funcenv
    from funcenv.train.algorithm import find_algorithm
    from funcenv.train.loop import MAX_UPDATES_PER_CALL, Learner

    algorithm = options["algorithm"]
    settings = {name: tuple(one) if isinstance(one, list) else one for name, one in options["settings"].items()}
    config = find_algorithm(algorithm).Config(env_id=options["env"], total_timesteps=options["steps"], **settings)
    learner = Learner(algorithm, config)
    first = learner.init(funcenv.key(0))
    learner.advance(first, 0)  # compiles

    def work():
        state = first
        while learner.num_updates_done(state) < config.num_updates:
            state, metrics = learner.advance(state, MAX_UPDATES_PER_CALL)
        return float(metrics["mean_return"][-1, 0])

    return work, config.num_updates * config.batch_size, "funcenv"


def rejax(options):
    import jax
    import rejax

    settings = {**options["settings"], "eval_freq": options["steps"], "skip_initial_evaluation": True}
    algorithm = rejax.get_algo(options["algorithm"]).create(
        env=options["env"], total_timesteps=options["steps"], **settings
    )
    # `create` does not take the widths of every network. Nothing is evaluated.
    networks = {name: getattr(algorithm, name, None) for name in ("agent", "actor", "critic")}
    networks = {
        name: network.clone(hidden_layer_sizes=tuple(options["widths"]))
        for name, network in networks.items()
        if network
    }
    algorithm = algorithm.replace(**networks, eval_callback=lambda algorithm, state, key: ())
    program = jax.jit(algorithm.train).lower(jax.random.PRNGKey(0)).compile()

    def work():
        jax.block_until_ready(program(jax.random.PRNGKey(0)))

    return work, options["steps"], "rejax"


def purejaxrl(options):
    """Compile `make_train` of a file of the checkout.

    `jax.tree_map` is put back, which JAX 0.10 no longer has, and wandb, which the file imports, is not called.
    """
    import jax

    folder = pathlib.Path(options["checkout"]) / "purejaxrl"
    sys.path.insert(0, str(folder))
    jax.tree_map = jax.tree.map
    names, program = {"__name__": "purejaxrl"}, (folder / options["file"]).read_text()
    if "import wandb" in program:
        sys.modules["wandb"] = types.ModuleType("wandb")
    exec(compile(program, options["file"], "exec"), names)  # noqa: S102  # It is the program that is measured.
    train = names["make_train"](
        {"ENV_NAME": options["env"], "TOTAL_TIMESTEPS": options["steps"], **options["settings"]}
    )
    program = jax.jit(train).lower(jax.random.PRNGKey(0)).compile()

    def work():
        jax.block_until_ready(program(jax.random.PRNGKey(0)))

    return work, options["steps"], "gymnax"


def stable_baselines3(options):
    import stable_baselines3
    import torch

    torch.set_num_threads(1)
    return *_in_python(stable_baselines3, options), "stable-baselines3"


def sbx(options):
    import sbx

    return *_in_python(sbx, options), "sbx-rl"


def _in_python(library, options):
    from stable_baselines3.common.env_util import make_vec_env

    settings = dict(options["settings"])
    env = make_vec_env(options["env"], settings.pop("num_envs"), seed=0)
    model = getattr(library, options["algorithm"])("MlpPolicy", env, seed=0, device="cpu", **settings)

    def work():
        model.learn(options["steps"], reset_num_timesteps=False)

    return work, options["steps"]


def prepare(options):
    library = {
        "funcenv": funcenv,
        "rejax": rejax,
        "purejaxrl": purejaxrl,
        "stable-baselines3": stable_baselines3,
        "sbx": sbx,
    }[options["library"]]
    work, steps, package = library(options)
    return work, {"steps": steps, "version": f"{package} {importlib.metadata.version(package)}"}


serve(prepare)
