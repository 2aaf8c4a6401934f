"""The drawing of the hand: its bones from joint to joint, and the goals of its tips, in parallel projection."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from funcenv.envs.mujoco.mujoco_scene import View, in_view
from funcenv.envs.mujoco.named_data import NamedData
from funcenv.envs.robotics.fetch_scene import limbs
from funcenv.scene import Camera, Circle, Repeat, Scene, palette

# Bodies along each finger, from the palm to its tip, without "robot0:".
_FINGERS = tuple((f"{name}proximal", f"{name}middle", f"{name}distal") for name in ("ff", "mf", "rf", "lf"))
_FINGERS += (("thproximal", "thmiddle", "thdistal"),)
_BONE_WIDTH, _PALM_WIDTH, _ARM_WIDTH, _EDGE = 0.017, 0.03, 0.06, 0.003  # [m]
_GOAL_RADIUS, _GOAL_EDGE, _WAY_WIDTH = 0.006, 0.0012, 0.002  # [m]
_COLORS, _GOAL_COLORS = [palette.INK, palette.BLUE], (palette.GREEN, palette.INK)


def draw_hand(
    mjmodel: Any, data: NamedData, tips: Float[Array, "5 3"], goals: Float[Array, "5 3"], view: View
) -> Scene:
    """Return the drawing of a state.

    Args:
        mjmodel: the model of the task.
        data: the numbers of the state, with `xpos`.
        tips: the places of the tips [m].
        goals: where they should be [m].
        view: the camera.
    """
    seen = functools.partial(in_view, view=view)

    def body(name: str) -> jax.Array:
        return jnp.asarray(data.xpos, jnp.float32)[mjmodel.body(f"robot0:{name}").id]

    arm, wrist = seen(jnp.stack([body("forearm"), body("wrist")]))
    chains = [
        seen(jnp.stack([*map(body, names), jnp.asarray(tip, jnp.float32)]))
        for names, tip in zip(_FINGERS, tips, strict=True)
    ]
    roots = jnp.stack([chain[0] for chain in chains])
    ends, wanted = seen(tips), seen(goals)
    layers = [
        _bones(arm[None], wrist[None], _ARM_WIDTH, [palette.STONE]),
        _bones(jnp.broadcast_to(wrist, roots.shape), roots, _PALM_WIDTH, [palette.STONE]),
        *(_bones(chain[:-1], chain[1:], _BONE_WIDTH, _COLORS) for chain in chains),
        _bones(ends, wanted, _WAY_WIDTH, [palette.GREEN]),
    ]
    lines = jax.tree.map(lambda *parts: jnp.concatenate(parts), *(one.shape for layer in layers for one in layer))
    discs = jax.vmap(lambda place: Circle((place[0], place[1]), _GOAL_RADIUS, *_GOAL_COLORS, _GOAL_EDGE))(wanted)
    return Scene(Camera((0.0, 0.0), view.width, view.height), (Repeat(lines), Repeat(discs)), (), palette.PAPER)


def _bones(starts: jax.Array, ends: jax.Array, width: float, colors: list[Any]) -> tuple[Repeat, Repeat]:
    return limbs(starts, ends, np.full(len(starts), width, np.float32), colors, _EDGE)
