"""Drawable: what windows, videos, replays and players show of an environment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from funcenv.struct import NDArray

if TYPE_CHECKING:
    from funcenv.scene import Scene

State = TypeVar("State")
Action = TypeVar("Action")


class Drawable(Generic[State, Action]):
    """The visible part of an environment, all of it optional. No reward and no transition depends on it.

    `scene`, and `text` where characters suit the environment, draw a state. `host_image`, `host_rgbd` and `image_size`
    are for environments whose images come from another library. The rest is for a person who watches or plays.

    >>> import funcenv
    >>> env = funcenv.make("CartPole-v1")
    >>> env.render_fps, env.action_names, env.get_keys_to_action()
    (50, ('push left', 'push right'), {('left',): 0, ('right',): 1})
    """

    def scene(self, state: State) -> Scene:
        """Return a drawing of the state, with the same number of shapes for every state so that it can be traced."""
        del state
        raise NotImplementedError(f"{type(self).__name__} draws nothing: define scene(state) to draw it")

    def host_image(self, state: State, size: tuple[int, int]) -> NDArray | None:
        """Return an image that a library draws in place of the scene, or None for the scene; it is never traced.

        Args:
            state: a state whose leaves are NumPy arrays.
            size: height and width of the image, uint8 `[height, width, 3]`.
        """
        del state, size
        return None

    def host_rgbd(self, state: State, size: tuple[int, int]) -> tuple[NDArray, NDArray]:
        """Return `host_image` and the depth of its pixels, where `draws_depth` is true; it is never traced.

        Args:
            state: a state whose leaves are NumPy arrays.
            size: height and width of the image, uint8 `[height, width, 3]`, and the depth, float32 `[height, width]`.
        """
        del state, size
        raise NotImplementedError(f"{type(self).__name__} draws no depth; ask draws_depth first")

    @property
    def draws_images(self) -> bool:
        """True if `host_image` draws every state, although there is no scene."""
        return False

    @property
    def draws_depth(self) -> bool:
        """True if a library draws the images, and `host_rgbd` returns them with their depth."""
        return False

    @property
    def why_undrawn(self) -> str:
        """The reason why there are no images, with the remedy, for messages."""
        return f"{type(self).__name__} draws nothing until it defines scene(state)"

    @property
    def image_size(self) -> tuple[int, int] | None:
        """Height and width of images for which no size is asked; None if they follow from the scene."""
        return None

    def text(self, state: State, action: Action | None = None) -> str:
        """Return a text rendering of the state for a terminal, where characters suit the environment.

        This is the one function that is never traced.

        Args:
            state: a state whose leaves are NumPy arrays.
            action: the action that led to the state, None after `reset`.
        """
        del state, action
        raise NotImplementedError(f"{type(self).__name__} has no text: define text(state, action) to give it one")

    @property
    def render_fps(self) -> float:
        """The number of steps a second that a window or a video shows. A class attribute can set it."""
        return 30

    @property
    def action_names(self) -> tuple[str, ...]:
        """The meanings of the actions of a `Discrete` space, or of the numbers of a `Box` action; empty by default.

        `funcenv play` and replays show these names. A class attribute `action_names = ("left", "right")` can set it.
        """
        return ()

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the keys with which a person plays the actions, such as `{("left",): 0}`; none by default.

        A key is a letter, or a tuple of names of keys that are held together; `()` stands for no key.
        """
        return {}
