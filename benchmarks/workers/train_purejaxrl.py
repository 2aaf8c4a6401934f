"""Training by `make_train` of a file of a checkout of PureJaxRL, on gymnax.

`jax.tree_map` is put back, which JAX 0.10 no longer has, and wandb, which the file imports, is not called.
"""

import importlib.metadata
import pathlib
import sys
import types

import jax
from protocol import serve


def prepare(options):
    if not options["checkout"]:
        raise SystemExit("PureJaxRL is no package: name the folder of a checkout by --set checkout=FOLDER")
    folder = pathlib.Path(options["checkout"]) / "purejaxrl"
    sys.path.insert(0, str(folder))
    jax.tree_map = jax.tree.map
    names, program = {"__name__": "purejaxrl"}, (folder / options["file"]).read_text()
    if "import wandb" in program:
        sys.modules["wandb"] = types.ModuleType("wandb")
    exec(compile(program, options["file"], "exec"), names)  # noqa: S102  # It is the program that is measured.
    settings = {"ENV_NAME": options["env"], "TOTAL_TIMESTEPS": options["steps"], **options["settings"]}
    program = jax.jit(names["make_train"](settings)).lower(jax.random.PRNGKey(0)).compile()

    def work():
        jax.block_until_ready(program(jax.random.PRNGKey(0)))

    return work, {"steps": options["steps"], "version": f"gymnax {importlib.metadata.version('gymnax')}"}


serve(prepare)
