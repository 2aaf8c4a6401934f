"""Training by Rejax, on the environment that it brings, in one compiled program."""

import importlib.metadata

import jax
import rejax
from protocol import serve


def prepare(options):
    settings = {**options["settings"], "eval_freq": options["steps"], "skip_initial_evaluation": True}
    algorithm = rejax.get_algo(options["algorithm"]).create(
        env=options["env"], total_timesteps=options["steps"], **settings
    )
    # `create` does not take the widths of every network. Nothing is evaluated.
    networks = {name: getattr(algorithm, name, None) for name in ("agent", "actor", "critic")}
    widths = tuple(options["widths"])
    networks = {name: network.clone(hidden_layer_sizes=widths) for name, network in networks.items() if network}
    algorithm = algorithm.replace(**networks, eval_callback=lambda algorithm, state, key: ())
    program = jax.jit(algorithm.train).lower(jax.random.PRNGKey(0)).compile()

    def work():
        jax.block_until_ready(program(jax.random.PRNGKey(0)))

    return work, {"steps": options["steps"], "version": importlib.metadata.version("rejax")}


serve(prepare)
