"""The folder of a run: its name, its configuration, and the modules that the configuration names."""

from __future__ import annotations

import contextlib
import datetime
import importlib.metadata
import importlib.util
import itertools
import json
import os
import pathlib
import platform
import shutil
import sys
import sysconfig
from typing import Any

import jax
import jax.numpy as jnp

from funcenv.files import as_file_name, write_text
from funcenv.names import UntrustedCodeError, require_trust
from funcenv.random import impl_name
from funcenv.random import key as new_key
from funcenv.signatures import is_signed, sign
from funcenv.train.algorithm import Algorithm, algorithm_name, algorithm_of, find_algorithm
from funcenv.train.runs.lock import LOCK_FILE
from funcenv.train.runs.versions import warn_of_other_version
from funcenv.train.stored_names import stored_code
from funcenv.verify.outcomes import describe_environment

CONFIG_FILE = "config.json"
CHECKPOINTS = "checkpoints"
SIGNED_AS = "run"
"""The kind under which the contents of `config.json` are signed."""


def new_folder(root: str | os.PathLike[str], config: Any, algorithm: str | Algorithm | None = None) -> pathlib.Path:
    """Return a descriptive name for the folder of a run: `CartPole-v1-ppo-seed0-20260131-120000` in `root`.

    Nothing is written, so two runs that start in the same second have the same name; `make_folder` tells them apart.
    """
    now = datetime.datetime.now().strftime("%Y%m%d-%H%M%S")
    name = algorithm_name(algorithm_of(config) if algorithm is None else algorithm)
    return pathlib.Path(root) / as_file_name(f"{config.env_id}-{name}-seed{config.seed}-{now}")


def make_folder(root: str | os.PathLike[str], config: Any, algorithm: str | Algorithm | None = None) -> pathlib.Path:
    """Make an empty folder for a run, named as by `new_folder`, with `-2`, `-3`, ... where that name is taken."""
    name = new_folder(root, config, algorithm)
    name.parent.mkdir(parents=True, exist_ok=True)
    folder, numbers = name, itertools.count(2)
    while True:
        with contextlib.suppress(FileExistsError):
            folder.mkdir()
            return folder
        folder = name.with_name(f"{name.name}-{next(numbers)}")


def read_config(folder: pathlib.Path, trust_code: bool = False) -> tuple[str, Any, jax.Array]:
    """Return the name of the algorithm, the configuration and the root key of a run.

    A run is data. Code that it names is imported if this user made the run on this machine; a module that cannot be
    found otherwise is then looked up in the folder from which the run imported it.

    Args:
        folder: The folder of the run.
        trust_code: Also import the code that a run of somebody else names.

    Raises:
        FileNotFoundError: The folder holds no run.
        funcenv.names.UntrustedCodeError: The run names code, and somebody else made it.
        ValueError: `config.json` cannot be understood, or a module of the run is gone.
    """
    path = folder / CONFIG_FILE
    if not path.exists():
        raise FileNotFoundError(f"{folder} is not a run: it has no config.json; name a folder that funcenv train wrote")
    try:
        written = json.loads(path.read_text())
        algorithm, is_own = written["algorithm"], is_signed(SIGNED_AS, written)
        if "env_id" not in written["config"]:
            raise ValueError(f"its settings must name an env_id, got {written['config']}")
        names = stored_code(algorithm, written["config"])
        if is_own:
            for module, file in written.get("sources", {}).items():
                _make_importable(module, pathlib.Path(file), folder)
        else:
            require_trust(str(path), names, trust_code)
        config = find_algorithm(algorithm).Config.from_json(written["config"], trust_code=True)
        warn_of_other_version(path, written.get("versions"))
        return algorithm, config, new_key(config.seed, written["key"]["impl"])
    except UntrustedCodeError:
        raise
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{path} cannot be understood: {error}; restore it, or start a new run") from error


def is_own(folder: pathlib.Path) -> bool:
    """Return whether this user made a run on this machine."""
    return is_signed(SIGNED_AS, json.loads((folder / CONFIG_FILE).read_text()))


def write_config(folder: pathlib.Path, description: dict[str, Any]) -> None:
    """Write `config.json`, which is complete or absent if the process is killed."""
    write_text(folder / CONFIG_FILE, json.dumps(description, indent=2) + "\n")


def extend_config(folder: pathlib.Path, config: Any) -> None:
    """Replace the configuration of a run by one with more steps, and note the change."""
    description = json.loads((folder / CONFIG_FILE).read_text())
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    before = description["config"]["total_timesteps"]
    extended = [*description.get("extended", []), {"from": before, "to": config.total_timesteps, "at": now}]
    _change_config(folder, description, config=config.to_json(), extended=extended)


def note_memory(folder: pathlib.Path, estimate: dict[str, int], limit: int | None) -> None:
    """Note how many bytes each part of a run takes on a device, and how many the device has."""
    description = json.loads((folder / CONFIG_FILE).read_text())
    memory = {"estimate": estimate, "device": limit}
    if description.get("memory") != memory:
        _change_config(folder, description, memory=memory)


def _change_config(folder: pathlib.Path, description: dict[str, Any], **changes: Any) -> None:
    """Write `config.json` with changes; it is signed again if this user had signed it."""
    changed = {**description, **changes}
    write_config(folder, sign(SIGNED_AS, changed) if is_signed(SIGNED_AS, description) else changed)


def holds_files(folder: pathlib.Path) -> bool:
    """Return whether a folder holds more than a lock and files that a killed process has begun to write."""
    return any(".partial" not in path.name and not path.name.startswith(LOCK_FILE) for path in folder.iterdir())


def remove_partial_files(folder: pathlib.Path) -> None:
    """Remove the files that a process has begun to write when it was killed."""
    for path in folder.glob("*.partial*"):
        path.unlink()
    for path in (folder / CHECKPOINTS).glob(".partial-*"):
        shutil.rmtree(path)


def describe_run(algorithm: str | Algorithm, config: Any) -> dict[str, Any]:
    """Return the contents of `config.json`, signed by this user."""
    device = jax.devices()[0]
    packages = ("funcenv", "jax", "jaxlib", "flax", "optax", "orbax-checkpoint", "numpy")
    name, settings = algorithm_name(algorithm), config.to_json()
    contents = {
        "algorithm": name,
        "config": settings,
        "sources": _sources([name, *(value for value in settings.values() if isinstance(value, str))]),
        "environment": describe_environment(config.env_id),
        "key": {"seed": config.seed, "impl": impl_name(new_key(config.seed))},
        "versions": {
            "python": platform.python_version(),
            **{package: importlib.metadata.version(package) for package in packages},
        },
        "device": {
            "platform": device.platform,
            "kind": device.device_kind,
            "count": jax.device_count(),
            "machine": platform.platform(),
        },
        "x64": jnp.zeros(()).dtype == "float64",
        "started": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    return sign(SIGNED_AS, contents)


def _sources(names: list[str]) -> dict[str, str]:
    """Return the files of the modules that a run names and that are not installed, by their outermost modules."""
    installed = [pathlib.Path(sysconfig.get_path(name)).resolve() for name in ("stdlib", "purelib", "platlib")]
    found = {}
    for name in names:
        module = name.rpartition(":")[0] or name
        root = module.partition(".")[0]
        file = getattr(sys.modules.get(root), "__file__", None) if module in sys.modules else None
        path = None if file is None else pathlib.Path(file).resolve()
        if path and root not in ("funcenv", "__main__") and not any(path.is_relative_to(place) for place in installed):
            found[root] = str(path)
    return found


def _make_importable(module: str, file: pathlib.Path, folder: pathlib.Path) -> None:
    """Append the folder of a module to `sys.path`, if the module cannot be found without it.

    The module may not be part of the run: others could have put it there after the run was signed.
    """
    if module in sys.modules or importlib.util.find_spec(module) is not None:
        return
    resolved = file.resolve()
    if not file.is_absolute() or resolved != file or resolved.is_relative_to(folder.resolve()):
        raise ValueError(
            f"the module {module} may not come from {file}, which is a link, a relative path or part of the run; put "
            "its folder on PYTHONPATH"
        )
    if not file.exists():
        raise ValueError(f"the run needs the module {module}, which was {file}; put its folder on PYTHONPATH")
    sys.path.append(str(file.parent.parent if file.name == "__init__.py" else file.parent))
