"""Play an environment with the keyboard, in a window or in a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from funcenv.adapters.playing.keys import Keymap
from funcenv.adapters.playing.loop import Callback, default_keys, run

_DEFAULT_FPS = 30


def play(
    env: Any,
    keys_to_action: Mapping[Any, Any] | None = None,
    fps: float | None = None,
    zoom: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
    noop: Any = 0,
    wait_on_player: bool = False,
) -> None:
    """Play in a window until it is closed or escape is pressed.

    What Gymnasium's `play` does, save that `seed` is for the first episode, and the others go on from it, that the
    callback always gets observations, that a key pressed for less than a frame counts, and that the window says how
    the game goes.

    Args:
        env: made with `render_mode="rgb_array"` (or "rgb_array_list"); Gymnasium's environments work too.
        keys_to_action: from keys that are pressed together to an action: `{"a": 0, "wd": 1, ("left", "space"): 2}`. A
            string is the keys that type its characters; a tuple holds characters, names ("left", "right", "up",
            "down", "space", "return") or codes. By default what the environment's `get_keys_to_action()` says.
        fps: steps a second; by default the environment's `metadata["render_fps"]`.
        zoom: how much larger than a frame the window is at first; it can be resized.
        callback: called after every step with the observation before and after, the action, the reward, terminated,
            truncated and info. `PlayPlot(...).callback` plots them.
        seed: of the first episode.
        noop: the action for no key, and for combinations that mean nothing. 0 means all zeros in a `Box`; with the
            environment's own keys, it means what the environment has for no key, if anything.
        wait_on_player: take a step only when a key is pressed, for games played in turns.

    Raises:
        ValueError: another render mode, keys or actions that make no sense, a zoom or fps that is not above 0, or no
            keys given and the environment names none.
        TypeError: keys in a form that is not understood.
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: there is no display.

    >>> from funcenv.adapters import make
    >>> play(make("CartPole-v1"))
    Traceback (most recent call last):
        ...
    ValueError: play needs an environment made with render_mode="rgb_array", got None
    """
    if env.render_mode not in ("rgb_array", "rgb_array_list"):
        raise ValueError(f'play needs an environment made with render_mode="rgb_array", got {env.render_mode!r}')
    if zoom is not None and not zoom > 0:
        raise ValueError(f"zoom must be above 0, got {zoom}; 2 doubles the window")
    keymap, fps = _keymap(env, keys_to_action, noop), _fps(env, fps)
    from funcenv.adapters.playing.window import PlayWindow

    window = PlayWindow(str(env), fps, zoom or 1.0)
    try:
        observation, _ = env.reset(seed=seed)
        run(env, window, keymap, observation, callback=callback, wait_on_player=wait_on_player)
    finally:
        window.close()


def play_in_terminal(
    env: Any,
    keys_to_action: Mapping[Any, Any] | None = None,
    fps: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
    noop: Any = 0,
    wait_on_player: bool = False,
) -> None:
    """Play in a terminal, say over SSH, until escape is pressed.

    A terminal does not tell how long a key is held: where the game does not wait, a key counts until the next one.

    Args:
        env: made with `render_mode="ansi"`.
        keys_to_action: as for `play`.
        fps: as for `play`.
        callback: as for `play`.
        seed: as for `play`.
        noop: as for `play`.
        wait_on_player: as for `play`; each key then plays one step.

    Raises:
        ValueError: as from `play`.
        TypeError: as from `play`.
        RuntimeError: standard input or output is no terminal.
    """
    if env.render_mode not in ("ansi", "ansi_list"):
        raise ValueError(
            f'playing in a terminal needs an environment made with render_mode="ansi", got {env.render_mode!r}'
        )
    keymap, fps = _keymap(env, keys_to_action, noop), _fps(env, fps)
    from funcenv.adapters.playing.terminal import TerminalScreen

    screen = TerminalScreen(fps, holds=not wait_on_player, keys="  ".join([*keymap.lines(), "escape: leave"]))
    try:
        observation, _ = env.reset(seed=seed)
        run(env, screen, keymap, observation, callback=callback, wait_on_player=wait_on_player)
    finally:
        screen.close()


def _keymap(env: Any, keys_to_action: Mapping[Any, Any] | None, noop: Any) -> Keymap:
    if keys_to_action is None:
        keys_to_action = default_keys(env)
        own = keys_to_action.pop((), noop)
        noop = own if np.ndim(noop) == 0 and noop == 0 else noop
    return Keymap(keys_to_action, noop, env.action_space)


def _fps(env: Any, fps: float | None) -> float:
    chosen = env.metadata.get("render_fps", _DEFAULT_FPS) if fps is None else fps
    if not chosen > 0:
        raise ValueError(f"fps must be above 0, got {chosen}")
    return float(chosen)
