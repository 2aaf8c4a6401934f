"""Play an environment with the keyboard: the loop, whatever the screen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from funcenv.adapters.playing.keys import Keymap


class Score(NamedTuple):
    """What is written over the picture."""

    episode: int  # the first is 1
    step: int
    episode_return: float
    last: str  # how the episode before ended; empty in the first


class Screen(Protocol):
    """Where a game is shown and its keys are read."""

    def show(self, picture: Any, score: Score) -> None:
        """Show what `env.render()` gave, and wait until the next frame is due."""

    def pressed(self) -> frozenset[str]:
        """The keys that were down at any time since the last call, also those released since."""

    @property
    def is_open(self) -> bool:
        """False once the player has left."""

    def close(self) -> None:
        """Give the screen back."""


Callback = Callable[[Any, Any, Any, float, bool, bool, dict[str, Any]], Any]


def run(
    env: Any,
    screen: Screen,
    keymap: Keymap,
    observation: Any,
    *,
    callback: Callback | None = None,
    wait_on_player: bool = False,
) -> None:
    """Play until the player leaves.

    Args:
        env: it was reset just before.
        screen: where it is shown.
        keymap: what the keys play.
        observation: of that reset.
        callback: called after every step.
        wait_on_player: take a step only when a key is pressed.
    """
    episode, step, episode_return, last, done = 1, 0, 0.0, "", False
    while True:
        screen.show(env.render(), Score(episode, step, episode_return, last))
        pressed = screen.pressed()
        if not screen.is_open:
            return
        if done:
            observation, _ = env.reset()  # with no seed: the stream goes on, and no two episodes are alike
            episode, step, episode_return, done = episode + 1, 0, 0.0, False
        elif pressed & keymap.keys or not wait_on_player:
            action, before = keymap.action(pressed), observation
            observation, reward, terminated, truncated, info = env.step(action)
            step, episode_return, done = step + 1, episode_return + float(reward), terminated or truncated
            if done:
                last = f"{'terminated' if terminated else 'truncated'} after {step}, return {episode_return:g}"
            if callback is not None:
                callback(before, observation, action, reward, terminated, truncated, info)


def default_keys(env: Any) -> dict[Any, Any]:
    """The environment's own keys; `()` among them stands for no key.

    Raises:
        ValueError: it has none.
    """
    if not env.has_wrapper_attr("get_keys_to_action"):
        raise ValueError(
            f"{env} does not say which keys play which action (it has no get_keys_to_action()); "
            'pass play(env, keys_to_action={("left",): 0, ...})'
        )
    return dict(env.get_wrapper_attr("get_keys_to_action")())
