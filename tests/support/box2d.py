"""What the tests of Box2D's worlds share: replays in a process of their own, and states with other numbers."""

import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).parents[1] / "envs" / "box2d"
# no fused multiply-add; and quick compilation, which changes no bit
FLAGS = "--xla_cpu_max_isa=AVX --xla_backend_optimization_level=0 --xla_cpu_use_fusion_emitters=false"


def replay(player, kind, in_kernels=False):
    """Replay what Gymnasium recorded by a script of this folder, and return the lines that it prints, one a record.

    Bodies are stepped by the kernels of `funcenv.physics.stepping`, as on a user's CPU, or else by the plain program.
    """
    environment = {**os.environ, "XLA_FLAGS": FLAGS, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    environment["FUNCENV_NO_FAST_PATH"] = "0" if in_kernels else "1"
    environment.pop("JAX_NUMPY_RANK_PROMOTION", None)
    result = subprocess.run([sys.executable, FOLDER / player, kind], env=environment, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()


def in_kernels_and_plainly(*kinds):
    """Return parameters `kind` and `in_kernels`: the first kind in kernels, and the others of the product rotate."""
    cases = [(kind, in_kernels) for kind in kinds for in_kernels in (True, False)]
    marks = [[], *[[pytest.mark.exhaustive]] * (len(cases) - 1)]
    return [pytest.param(*case, marks=rotates) for case, rotates in zip(cases, marks, strict=True)]


def assert_replays(player, kind, verdict, in_kernels=False):
    """Assert that each of at least three records of Gymnasium's ends with the verdict."""
    lines = replay(player, kind, in_kernels)
    assert len(lines) >= 3
    assert all(line.endswith(f" {verdict}") for line in lines), "\n".join(lines)


def placed(state, **numbers):
    """Return the state with numbers of the first moving body changed."""
    world = state.world
    return state.replace(world=world.replace(**{n: getattr(world, n).at[0].set(v) for n, v in numbers.items()}))
