"""One page that plays episodes: text, style and program are files in `player/`; here they meet the data."""

from __future__ import annotations

import functools
import html
import importlib.resources
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcenv.replay.encode import Encoder
from funcenv.scene.font import glyphs

if TYPE_CHECKING:
    from funcenv.replay.replay import Episode

_SCRIPTS = ("data.js", "shapes.js", "texels.js", "traces.js", "player.js")


def build(episodes: Sequence[Episode], fps: float, title: str) -> str:
    """The page, as text."""
    parts = {
        "title": html.escape(title),
        "style": _asset("player.css"),
        "script": "\n".join(_asset(name) for name in _SCRIPTS),
        "data": _for_script(_data(episodes, fps, title)),
    }
    page = _asset("player.html")
    before, *rest = page.split("{{")
    return before + "".join(parts[name] + text for name, text in (part.split("}}", 1) for part in rest))


def _data(episodes: Sequence[Episode], fps: float, title: str) -> dict[str, Any]:
    encoder = Encoder()
    structures: list[dict[str, Any]] = []
    written = []
    for episode in episodes:
        structure, leaves = encoder.scene(episode.scenes)
        if structure not in structures:
            structures.append(structure)
        written.append(
            {
                "title": episode.title,
                "scene": structures.index(structure),
                "leaves": leaves,
                "steps": episode.num_steps,
                "reward": encoder.array(_column(episode.reward)),
                "return": episode.episode_return if np.isfinite(episode.episode_return) else None,
                "actions": encoder.actions(episode.action, episode.action_space, episode.num_steps),
                "end": "terminated" if episode.terminated else "truncated" if episode.truncated else "stopped",
            }
        )
    return {
        "title": title,
        "fps": fps,
        "scenes": structures,
        "episodes": written,
        "blobs": encoder.blobs,
        "font": _font(),
    }


def _column(reward: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """`[num_steps, 1]`, with a row even where there is no step."""
    column = np.asarray(reward, np.float32).reshape(-1, 1)
    return column if len(column) else np.zeros((1, 1), np.float32)


def _for_script(data: dict[str, Any]) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@functools.cache
def _font() -> str:
    """Two hexadecimal digits for each row of each character, whose bits are its columns, the leftmost the highest."""
    bits = glyphs().astype(np.int64) @ (1 << np.arange(4, -1, -1))
    return "".join(f"{row:02x}" for row in bits.reshape(-1))


@functools.cache
def _asset(name: str) -> str:
    return (importlib.resources.files("funcenv.replay") / "player" / name).read_text(encoding="utf-8")
