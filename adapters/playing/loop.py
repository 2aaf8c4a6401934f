"""The game loop, independent of where the game is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from funcenv.adapters.compat.results import observation_and_info, step_api_compatibility
from funcenv.keyboard import Keymap

_START = "press a key to start"
_NEXT = "press a key for the next episode"
_PAUSED = "paused: press a key to go on"
_PAUSE_KEY, _SLOWER_KEY, _FASTER_KEYS = "return", "-", frozenset({"+", "="})
_CONTROL_KEYS = _FASTER_KEYS | {_PAUSE_KEY, _SLOWER_KEY}
_MIN_SPEED, _MAX_SPEED = 1 / 8, 8.0
_FASTER = 2.0  # factor of one key press
_MAX_SKIPPED = 3  # steps in a row whose frame is left out where drawing takes too long


class Score(NamedTuple):
    """The progress of a game."""

    episode: int  # counted from 1
    step: int
    episode_return: float
    last: str  # how the previous episode ended; empty in the first
    speed: float = 1.0  # relative to the frames per second of the game
    message: str = ""  # what the game waits for; empty while it runs

    @property
    def status(self) -> str:
        """Text about the current episode."""
        speed = "" if self.speed == 1 else f"  speed {self.speed:g}x"
        return f"episode {self.episode}  step {self.step}  return {_short(self.episode_return)}{speed}"

    @property
    def last_status(self) -> str:
        """Text about the previous episode; empty in the first."""
        return self.last and f"last: {self.last}"


class Pressed(NamedTuple):
    """The keys of a player since the last look."""

    down: frozenset[str]  # down at any time, also since before
    new: frozenset[str]  # pressed anew


class Screen(Protocol):
    """A place that shows a game and reads its keys."""

    def show(self, frame: Any, score: Score) -> None:
        """Show an image or a text, then wait until the next frame is due at `score.speed`."""

    def skip(self, score: Score) -> None:
        """Wait until the next frame is due, without showing one."""

    @property
    def is_late(self) -> bool:
        """True if the game is behind its pace."""

    def pressed(self) -> Pressed:
        """Return the keys that were pressed since the last call."""

    @property
    def is_open(self) -> bool:
        """False once the player has left."""

    def close(self) -> None:
        """Release the window or terminal."""


Callback = Callable[..., Any]


class NoKeys:
    """A keymap without any keys, for a game that a policy plays."""

    keys: frozenset[str] = frozenset()
    rests = False

    def plays(self, keys: Iterable[str]) -> bool:
        """Return false, as no keys play an action."""
        del keys
        return False

    def action(self, pressed: Iterable[str]) -> Any:
        """Return the action that leaves all to the policy: none."""
        del pressed

    def lines(self, names: Sequence[str] = (), start: int = 0, *, with_noop: bool = False) -> list[str]:
        """Return no line of text, as no key plays an action."""
        del names, start, with_noop
        return []


def run(
    env: Any,
    screen: Screen,
    keymap: Keymap | NoKeys,
    seed: int | None = None,
    callback: Callback | None = None,
    wait_on_player: bool = False,
    wait_for_start: bool = False,
    policy: Callable[[Any], Any] | None = None,
    speed: float = 1.0,
) -> None:
    """Play until the player leaves.

    Where drawing takes longer than a step, frames are left out, so that the game keeps its pace.

    Args:
        env: Environment, with today's interface or that of old Gym.
        screen: Screen of the game.
        keymap: Mapping from keys to actions.
        seed: Seed of the first episode.
        callback: Function called after every step, with one flag if the environment returns one.
        wait_on_player: Whether to step only when a key is pressed.
        wait_for_start: Whether every episode begins when a key is pressed.
        policy: Function that plays in place of the player: `policy(observation) -> action`, with `NoKeys`.
        speed: Speed at the beginning, relative to the frames per second of the game.
    """
    observation, _ = observation_and_info(env.reset(seed=seed))
    frame, is_drawn, num_skipped = None, False, 0
    score = Score(1, 0, 0.0, "", speed, message=_START if wait_for_start and not wait_on_player else "")
    done = False
    while True:
        if screen.is_late and not (is_drawn or done or score.message or frame is None) and num_skipped < _MAX_SKIPPED:
            num_skipped += 1
            screen.skip(score)
        else:
            frame = frame if is_drawn else _newest(env.render(), frame)
            is_drawn, num_skipped = True, 0
            screen.show(frame, score)
        down, new = screen.pressed()
        if not screen.is_open:
            return
        controls = frozenset() if wait_on_player else (new & _CONTROL_KEYS) - keymap.keys
        score = score._replace(speed=_changed_speed(score.speed, controls))
        if score.message:
            if not new - (controls - {_PAUSE_KEY}):
                continue
            score = score._replace(message="")
        elif _PAUSE_KEY in controls:
            score = score._replace(message=_PAUSED)
            continue
        if done:
            observation, _ = observation_and_info(env.reset())  # without a seed, so that episodes differ
            score, done = Score(score.episode + 1, 0, 0.0, score.last, score.speed), False
        elif down & keymap.keys or not wait_on_player:
            action = policy(observation) if policy is not None else keymap.action(down)
            previous = observation
            result = env.step(action)
            observation, reward, terminated, truncated, _ = step_api_compatibility(result)
            done = terminated or truncated
            score = score._replace(step=score.step + 1, episode_return=score.episode_return + float(reward))
            if done:
                last = _ending(score, terminated)
                score = score._replace(last=last, message=f"{last}: {_NEXT}" if wait_for_start else "")
            if callback is not None:
                callback(previous, observation, action, *result[1:])
        else:
            continue
        is_drawn = False


def control_lines(keymap: Keymap | NoKeys, wait_on_player: bool) -> list[str]:
    """Return a line of text for each key that controls the game itself; keys of the environment take precedence.

    >>> from funcenv.adapters import Space
    >>> from funcenv.spaces import Discrete
    >>> control_lines(Keymap({"-": 0}, 0, Space(Discrete(2))), wait_on_player=False)
    ['enter: pause', '+: faster', 'escape: leave']
    """
    lines = []
    if not wait_on_player:
        controls = {_PAUSE_KEY: "enter: pause", _SLOWER_KEY: "-: slower", "+": "+: faster"}
        lines = [text for key, text in controls.items() if key not in keymap.keys]
    return [*lines, "escape: leave"]


def default_keys(env: Any) -> dict[Any, Any]:
    """Return the environment's own mapping from keys to actions, where the key `()` stands for no key.

    Raises:
        ValueError: The environment has no such mapping.
    """
    keys = dict(env.get_wrapper_attr("get_keys_to_action")()) if env.has_wrapper_attr("get_keys_to_action") else {}
    if not keys:
        raise ValueError(
            f"{env} does not say which keys play which action (it has no get_keys_to_action()); "
            'pass play(env, keys_to_action={("left",): 0, ...})'
        )
    return keys


def _changed_speed(speed: float, keys: frozenset[str]) -> float:
    """Return the speed after the keys that change it."""
    factor = _FASTER ** (bool(keys & _FASTER_KEYS) - (_SLOWER_KEY in keys))
    return min(max(speed * factor, _MIN_SPEED), _MAX_SPEED)


def _ending(score: Score, terminated: bool) -> str:
    """Return how an episode ended."""
    return f"{'terminated' if terminated else 'time limit'} after {score.step}, return {_short(score.episode_return)}"


def _short(value: float) -> str:
    """Return a return with at most one decimal.

    >>> _short(12.0), _short(-3.14159), _short(1234567.0)
    ('12', '-3.1', '1234567')
    """
    return f"{value:.1f}".removesuffix(".0")


def _newest(rendered: Any, before: Any) -> Any:
    """Return what `env.render()` drew: the last frame of a list of them, or the one before if the list is empty."""
    if not isinstance(rendered, list):
        return rendered
    return rendered[-1] if rendered else before
