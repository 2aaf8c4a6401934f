"""Interactive play in a window or in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Any

import numpy as np

from funcenv.adapters.env import Env
from funcenv.adapters.playing.loop import Callback, NoKeys, control_lines, default_keys, run
from funcenv.adapters.playing.terminal import TerminalScreen
from funcenv.adapters.playing.typed_keys import HeldKeys
from funcenv.adapters.playing.window import PlayWindow
from funcenv.adapters.rendering.display import can_open_window, require_pygame
from funcenv.adapters.rendering.window import window_title
from funcenv.adapters.wrappers.wrapper import Wrapper
from funcenv.checks import require_positive
from funcenv.keyboard import Keymap

_DEFAULT_FPS = 30
_HELD_SECONDS = 0.25  # time for which a typed key counts as held where a terminal does not report its release


def play(
    env: Any,
    keys_to_action: Mapping[Any, Any] | None = None,
    fps: float | None = None,
    zoom: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
    noop: Any = 0,
    wait_on_player: bool = False,
    wait_for_start: bool = False,
    policy: Callable[[Any], Any] | None = None,
    speed: float = 1.0,
) -> None:
    """Play in a window until it is closed or escape is pressed.

    The function is Gymnasium's `play` with four differences: `seed` is for the first episode only, the callback always
    receives observations, a key pressed for less than a frame counts, and the window shows the score and the keys.
    Enter pauses a game, minus and plus change its speed, unless these keys play an action.

    Args:
        env: Environment with `render_mode="rgb_array"` or "rgb_array_list", or with none if it can render images; it
            may be Gymnasium's.
        keys_to_action: Mapping from keys that are pressed together to an action: `{"a": 0, "wd": 1, ("left", "space"):
            2}`. A string stands for the keys that type its characters. A tuple contains characters, names ("left",
            "right", "up", "down", "space", "return") or key codes. The default is the result of the environment's
            `get_keys_to_action()`.
        fps: Steps per second; by default the environment's `metadata["render_fps"]`.
        zoom: Initial size of the window relative to a frame; the user may resize the window.
        callback: Function called after every step with the previous observation, the observation, the action, the
            reward, terminated, truncated and info; with `done` in place of the two flags if the environment has old
            Gym's interface. `PlayPlot(...).callback` plots figures of each step.
        seed: Seed of the first episode.
        noop: Action for no key and for unknown combinations. In a `Box`, 0 stands for zeros. The environment's own keys
            may define another action for no key, which replaces 0.
        wait_on_player: Whether to step only when a key is pressed, for turn-based games.
        wait_for_start: Whether every episode begins when a key is pressed.
        policy: Function that plays in place of the keys, `policy(observation) -> action`; you watch, pause it and
            change its speed. `funcenv.train.stateful_policy` makes one of a trained agent.
        speed: Speed at the beginning, relative to `fps`.

    Raises:
        ValueError: The render mode is another, a key or action is invalid, `zoom` or `fps` is not above 0, or neither
            the caller nor the environment names keys.
        TypeError: A key has an unknown form.
        ModuleNotFoundError: pygame is not installed.
        RuntimeError: There is no display; `play_in_terminal` needs none.

    >>> from funcenv.adapters import make
    >>> play(make("CartPole-v1", render_mode="ansi"))
    Traceback (most recent call last):
        ...
    ValueError: play needs an environment made with render_mode="rgb_array", got 'ansi'
    """
    env = _in_mode("rgb_array", env)
    keymap, fps = _prepare("play", "rgb_array", env, keys_to_action, fps, noop, policy)
    require_pygame()
    if not can_open_window():
        raise RuntimeError(
            "there is no display, which a window needs; play in this terminal with funcenv play --terminal, "
            "or with play_in_terminal in Python"
        )
    require_positive(speed=speed)
    keys = _key_lines(env, keymap, wait_on_player)
    with closing(PlayWindow(window_title(env), fps, 1.0 if zoom is None else zoom, keys)) as screen:
        run(env, screen, keymap, seed, callback, wait_on_player, wait_for_start, policy, speed)


def play_in_terminal(
    env: Any,
    keys_to_action: Mapping[Any, Any] | None = None,
    fps: float | None = None,
    callback: Callback | None = None,
    seed: int | None = None,
    noop: Any = 0,
    wait_on_player: bool = False,
    wait_for_start: bool = False,
    policy: Callable[[Any], Any] | None = None,
    speed: float = 1.0,
) -> None:
    """Play in a terminal, for example over SSH, until escape is pressed.

    Most terminals do not report how long a key is held. Unless the game waits for the player, a key that is typed
    therefore counts as held for a quarter of a second, which the repetition of the keyboard prolongs. If no key plays
    what one of the keys plays, as in CartPole, it counts until another one is typed. Terminals with Kitty's keyboard
    protocol report releases, so that keys are held exactly.

    Args:
        env: Environment with `render_mode="ansi"` or "ansi_list".
        keys_to_action: As for `play`.
        fps: As for `play`.
        callback: As for `play`.
        seed: As for `play`.
        noop: As for `play`.
        wait_on_player: As for `play`; each typed key then plays one step.
        wait_for_start: As for `play`.
        policy: As for `play`.
        speed: As for `play`.

    Raises:
        ValueError: As for `play`.
        TypeError: As for `play`.
        RuntimeError: Standard input or output is not a terminal.
    """
    env = _in_mode("ansi", env)
    keymap, fps = _prepare("playing in a terminal", "ansi", env, keys_to_action, fps, noop, policy)
    require_positive(speed=speed)
    keys = _key_lines(env, keymap, wait_on_player)
    held = None if wait_on_player else HeldKeys(_HELD_SECONDS if keymap.rests else None, keymap.plays)
    with closing(TerminalScreen(fps, held, keys)) as screen:
        run(env, screen, keymap, seed, callback, wait_on_player, wait_for_start, policy, speed)


class _InMode(Wrapper[Any, Any, Any, Any]):
    """A wrapper that renders an environment without a render mode in a given one."""

    render_mode: str | None = None

    def __init__(self, env: Env[Any, Any], mode: str) -> None:
        super().__init__(env)
        self.render_mode = mode

    def render(self, mode: str | None = None) -> Any:
        """Render in the mode."""
        return super().render(mode or self.render_mode)


def _in_mode(mode: str, env: Any) -> Any:
    """Return the environment, rendered in `mode` if it has no render mode and can do so."""
    if not isinstance(env, Env) or env.render_mode is not None:
        return env
    modes = env.metadata.get("render_modes", env.metadata.get("render.modes", []))
    return _InMode(env, mode) if mode in modes else env


def _key_lines(env: Any, keymap: Keymap | NoKeys, wait_on_player: bool) -> list[list[str]]:
    """Return what each key plays, and which keys control the game."""
    names = env.get_wrapper_attr("action_names") if env.has_wrapper_attr("action_names") else ()
    start = int(getattr(env.action_space, "start", 0))
    played = keymap.lines(names, start, with_noop=not wait_on_player)
    return [played, control_lines(keymap, wait_on_player)]


def _prepare(
    name: str,
    mode: str,
    env: Any,
    keys_to_action: Mapping[Any, Any] | None,
    fps: float | None,
    noop: Any,
    policy: Callable[[Any], Any] | None,
) -> tuple[Keymap | NoKeys, float]:
    """Check the arguments of a game, and return its keymap and its steps per second."""
    if env.render_mode not in (mode, f"{mode}_list"):
        raise ValueError(f'{name} needs an environment made with render_mode="{mode}", got {env.render_mode!r}')
    fps = env.metadata.get("render_fps", _DEFAULT_FPS) if fps is None else fps
    require_positive(fps=fps)
    if policy is not None:
        return NoKeys(), float(fps)
    if keys_to_action is None:
        keys_to_action = default_keys(env)
        default_noop = keys_to_action.pop((), noop)
        noop = default_noop if np.ndim(noop) == 0 and noop == 0 else noop
    return Keymap(keys_to_action, noop, env.action_space), float(fps)
