"""The game loop, independent of where the game is shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from funcenv.adapters.playing.keys import Keymap


class Score(NamedTuple):
    """The progress of a game."""

    episode: int  # counted from 1
    step: int
    episode_return: float
    last: str  # how the previous episode ended; empty in the first

    @property
    def status(self) -> str:
        """Text about the current episode."""
        return f"episode {self.episode}  step {self.step}  return {self.episode_return:g}"

    @property
    def last_status(self) -> str:
        """Text about the previous episode; empty in the first."""
        return self.last and f"last: {self.last}"


class Screen(Protocol):
    """A place that shows a game and reads its keys."""

    def show(self, frame: Any, score: Score) -> None:
        """Show a result of `env.render()`, then wait until the next frame is due."""

    def pressed(self) -> frozenset[str]:
        """Return the keys that were down at any time since the last call."""

    @property
    def is_open(self) -> bool:
        """False once the player has left."""

    def close(self) -> None:
        """Release the window or terminal."""


Callback = Callable[[Any, Any, Any, float, bool, bool, dict[str, Any]], Any]


def run(
    env: Any,
    screen: Screen,
    keymap: Keymap,
    seed: int | None = None,
    callback: Callback | None = None,
    wait_on_player: bool = False,
) -> None:
    """Play until the player leaves.

    Args:
        env: Environment.
        screen: Screen of the game.
        keymap: Mapping from keys to actions.
        seed: Seed of the first episode.
        callback: Function called after every step.
        wait_on_player: Whether to step only when a key is pressed.
    """
    observation, _ = env.reset(seed=seed)
    episode, step, episode_return, last, done = 1, 0, 0.0, "", False
    while True:
        screen.show(env.render(), Score(episode, step, episode_return, last))
        pressed = screen.pressed()
        if not screen.is_open:
            return
        if done:
            observation, _ = env.reset()  # without a seed, so that episodes differ
            episode, step, episode_return, done = episode + 1, 0, 0.0, False
        elif pressed & keymap.keys or not wait_on_player:
            action, previous = keymap.action(pressed), observation
            observation, reward, terminated, truncated, info = env.step(action)
            step, episode_return, done = step + 1, episode_return + float(reward), terminated or truncated
            if done:
                last = f"{'terminated' if terminated else 'truncated'} after {step}, return {episode_return:g}"
            if callback is not None:
                callback(previous, observation, action, reward, terminated, truncated, info)


def default_keys(env: Any) -> dict[Any, Any]:
    """Return the environment's own mapping from keys to actions, where the key `()` stands for no key.

    Raises:
        ValueError: The environment has no such mapping.
    """
    if not env.has_wrapper_attr("get_keys_to_action"):
        raise ValueError(
            f"{env} does not say which keys play which action (it has no get_keys_to_action()); "
            'pass play(env, keys_to_action={("left",): 0, ...})'
        )
    return dict(env.get_wrapper_attr("get_keys_to_action")())
