"""The HTML page that plays episodes: the text, style and scripts in `player/`, filled with the data."""

from __future__ import annotations

import functools
import html
import importlib.resources
import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcenv.replay.encode import Encoder
from funcenv.replay.episode import Episode
from funcenv.scene.font import glyphs

_SCRIPTS = ("data.js", "shapes.js", "texels.js", "traces.js", "player.js")


def build_html(episodes: Sequence[Episode], fps: float, title: str) -> str:
    """Return the whole page."""
    parts = {
        "title": html.escape(title),
        "style": _asset("player.css"),
        "script": "\n".join(_asset(name) for name in _SCRIPTS),
        "data": _escape_json(_data(episodes, fps, title)),
    }
    before, *rest = _asset("player.html").split("{{")
    return before + "".join(parts[name] + text for name, text in (part.split("}}", 1) for part in rest))


def _data(episodes: Sequence[Episode], fps: float, title: str) -> dict[str, Any]:
    encoder = Encoder()
    structures: list[dict[str, Any]] = []
    encoded = []
    for episode in episodes:
        structure, leaves = encoder.scene(episode.scenes)
        if structure not in structures:
            structures.append(structure)
        rewards = np.resize(np.asarray(episode.reward, np.float32), (max(episode.num_steps, 1), 1))  # at least one, 0
        encoded.append(
            {
                "title": episode.title,
                "scene": structures.index(structure),
                "leaves": leaves,
                "steps": episode.num_steps,
                "reward": encoder.array(rewards),
                "return": episode.episode_return if np.isfinite(episode.episode_return) else None,
                "actions": encoder.actions(episode.action, episode.action_space, episode.num_steps),
                "end": "terminated" if episode.terminated else "truncated" if episode.truncated else "stopped",
            }
        )
    return {
        "title": title,
        "fps": fps,
        "scenes": structures,
        "episodes": encoded,
        "blobs": encoder.blobs,
        "font": _font(),
    }


def _escape_json(data: dict[str, Any]) -> str:
    """Return JSON that cannot end the script element around it."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


@functools.cache
def _font() -> str:
    """Return two hexadecimal digits for each row of each character; the highest bit is the leftmost column."""
    bits = glyphs().astype(np.int64) @ (1 << np.arange(4, -1, -1))
    return "".join(f"{row:02x}" for row in bits.reshape(-1))


@functools.cache
def _asset(name: str) -> str:
    return (importlib.resources.files("funcenv.replay") / "player" / name).read_text(encoding="utf-8")
