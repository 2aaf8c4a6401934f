"""The usual preprocessing of Atari games."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from funcenv.checks import require_size
from funcenv.func_env import Action, AnyEnv, first_state, next_state, placeholder_outcome
from funcenv.scene.color import gray_levels
from funcenv.spaces import Box
from funcenv.struct import PyTreeNode, field
from funcenv.wrappers._spaces import first_env, require_image, require_lives
from funcenv.wrappers.repeat_action import Repeat, RepeatWrapper, repeat
from funcenv.wrappers.resize_observation import resize


class AtariPreprocessingState(PyTreeNode):
    """The inner state, the two frames that the observation shows, and the outcome of the last action."""

    env_state: Any
    newest: UInt8[Array, "..."]  # the frame after the last repeat, grey if observations are
    previous: UInt8[Array, "..."]  # the frame after the repeat before it; black after a reset
    lives: Int[Array, ""]  # the number of lives, or 0 where it does not matter
    life_lost: Bool[Array, ""]  # true if a life was lost in the last step and this ends the episode
    reward: Float[Array, ""]  # the sum over the skipped frames
    info: dict[str, Any]  # the transition info of the last frame


class _Seen(NamedTuple):
    """The fields of the state that each repeat updates."""

    previous: UInt8[Array, "..."]
    newest: UInt8[Array, "..."]
    lives: Int[Array, ""]
    life_lost: Bool[Array, ""]


class AtariPreprocessing(RepeatWrapper[AtariPreprocessingState, Action, Array]):
    """Prepares Atari games, or other games on a screen, for an agent, as Machado et al. recommend.

    "Revisiting the Arcade Learning Environment", JAIR 61, 2018. At a reset, it plays "no operation" for a random number
    of frames. A step repeats the action, and the observation is the pixel-wise maximum of the last two frames, grey and
    resized. Frames, rewards and ends equal those of Gymnasium's wrapper, bit for bit. As there, an
    episode that ends before the last repeat shows frames of the step before it.

    The keys of the repeats are those of `RepeatAction`. Put `FrameStackObservation` and `ClipReward` outside, and
    `StickyAction` inside.

    Args:
        env: an environment whose observations are images, uint8 `[height, width, 3]`, or `[height, width]` for grey
            observations. If it has a parameter `frameskip`, that must be 1.
        noop_max: at a reset, action 0 is played for 1 to so many frames; 0 for none. It must be called "NOOP".
        frame_skip: the number of frames of a step.
        screen_size: the width and the height of observations, or a pair (width, height).
        terminal_on_life_loss: whether the loss of a life ends an episode. The number of lives is the entry "lives" of
            the environment's `state_info`. After a reset, a new game begins.
        grayscale_obs: whether observations are grey, with the luminance of ALE's grey palettes.
        grayscale_newaxis: whether grey observations have an axis of length 1 for the channel.
        scale_obs: whether observations are float32 from 0 to 1 rather than uint8 from 0 to 255.

    Raises:
        TypeError: An argument is not an integer, or observations are not a `Box`.
        ValueError: The environment skips frames itself, shows no images or has no "lives" or no action "NOOP", or a
            number is too small.

    >>> import funcenv
    >>> env = funcenv.wrappers.PixelObservation(funcenv.make("CartPole-v1"), 105, 160)
    >>> env = AtariPreprocessing(env, noop_max=0)
    >>> env.observation_space
    Box(0, 255, (84, 84), uint8)
    """

    noop_max: int = field(pytree_node=False, default=30)
    frame_skip: int = field(pytree_node=False, default=4)
    screen_size: int | tuple[int, int] = field(pytree_node=False, default=84)
    terminal_on_life_loss: bool = field(pytree_node=False, default=False)
    grayscale_obs: bool = field(pytree_node=False, default=True)
    grayscale_newaxis: bool = field(pytree_node=False, default=False)
    scale_obs: bool = field(pytree_node=False, default=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, minimum in (("noop_max", 0), ("frame_skip", 1)):
            object.__setattr__(self, name, require_size(name, getattr(self, name), minimum))
        _image_shape(self.screen_size)
        env = first_env(self.env)
        self._require_screen(env)
        skip = getattr(env.unwrapped, "frameskip", 1)
        if self.frame_skip > 1 and skip != 1:
            raise ValueError(
                f"the environment skips frames itself, frameskip={skip!r}; make it with frameskip=1, or "
                "pass frame_skip=1 to the wrapper"
            )
        if self.noop_max > 0 and (env.action_names or ("",))[0].upper() != "NOOP":
            raise ValueError(
                f"with noop_max={self.noop_max}, action 0 must do nothing, and be called 'NOOP' in action_names, got "
                f"action_names={env.action_names!r}; pass noop_max=0 for other environments"
            )
        if self.terminal_on_life_loss:
            require_lives(env)

    @property
    def _num_repeats(self) -> int:
        return self.frame_skip

    def initial(self, key: jax.Array) -> AtariPreprocessingState:
        """Return the state after some frames without an operation."""
        _, wait_key, frame_key = self._reset_keys(key)
        env_state = first_state(self.env, key)
        if self.noop_max > 0:
            env_state = self._wait(env_state, self.num_noops(key), wait_key)
        reward, info = placeholder_outcome(self.env, env_state)
        frame = self._frame(env_state, frame_key)
        return AtariPreprocessingState(
            env_state=env_state,
            newest=frame,
            previous=jnp.zeros_like(frame),
            lives=self._lives(env_state),
            life_lost=jnp.zeros((), bool),
            reward=reward,
            info=info,
        )

    def num_noops(self, key: jax.Array) -> Int[Array, ""]:
        """Return for how many frames `initial(key)` plays "no operation"."""
        if self.noop_max == 0:
            return jnp.zeros((), jnp.int32)
        return jax.random.randint(self._reset_keys(key)[0], (), 1, self.noop_max + 1, jnp.int32)

    def _reset_keys(self, key: jax.Array) -> jax.Array:
        return jax.random.split(self.extra_key(key), 3)

    def _wait(self, env_state: Any, num_noops: Int[Array, ""], key: jax.Array) -> Any:
        """Play action 0 for some frames; begin a new episode where one ends."""
        noop = jax.tree.map(jnp.zeros_like, self.env.action_space.abstract_member())

        def play(number: Any, env_state: Any) -> Any:
            step_key, restart_key = jax.random.split(jax.random.fold_in(key, number))
            following = next_state(self.env, env_state, noop, step_key)
            is_over = self.env.terminal(following) | self.env.truncated(following)
            return jax.lax.cond(is_over, lambda: first_state(self.env, restart_key), lambda: following)

        return jax.lax.fori_loop(0, num_noops, play, env_state)

    def transition(self, state: AtariPreprocessingState, action: Action, key: jax.Array) -> AtariPreprocessingState:
        """Repeat the action until the last frame, the end of the episode, or the loss of a life."""
        seen = _Seen(state.previous, self._pool(state.newest, state.previous), state.lives, state.life_lost)
        keys = key, self.extra_key(key)
        last = repeat(self.env, state.env_state, action, keys, self.frame_skip, seen, self._observe)
        return AtariPreprocessingState(
            env_state=last.env_state, reward=last.reward, info=last.info, **last.seen._asdict()
        )

    def _observe(self, seen: _Seen, repeat: Repeat) -> tuple[_Seen, Bool[Array, ""]]:
        """Look at the last two frames, unless the episode ends there, and count the lives."""
        lives = self._lives(repeat.env_state)
        life_lost = lives < seen.lives
        ends = repeat.done | life_lost

        def look(instead: Any) -> Any:
            return jnp.where(ends, instead, self._frame(repeat.env_state, repeat.observation_key))

        previous, newest = jax.lax.switch(
            jnp.maximum(repeat.number - (self.frame_skip - 3), 0),  # 1 for the last frame but one, 2 for the last
            (
                lambda: (seen.previous, seen.newest),
                lambda: (look(seen.previous), seen.newest),
                lambda: (seen.previous, look(seen.newest)),
            ),
        )
        return _Seen(previous, newest, lives, life_lost), ends

    def observation(self, state: AtariPreprocessingState, key: jax.Array) -> Array:
        """Return the picture of the two frames."""
        del key
        return self.picture(state.newest, state.previous)

    def picture(self, newest: UInt8[Array, "..."], previous: UInt8[Array, "..."]) -> Array:
        """Return the observation of two frames: their maximum, resized."""
        image = resize(self._pool(newest, previous), _image_shape(self.screen_size))
        if self.scale_obs:
            image = jnp.asarray(np.arange(256, dtype=np.float32) / 255)[image]  # XLA would not round as a division does
        return image[..., None] if self.grayscale_obs and self.grayscale_newaxis else image

    def terminal(self, state: AtariPreprocessingState) -> Bool[Array, ""]:
        """Return whether the game is over, or a life was lost if that ends an episode."""
        return self.env.terminal(state.env_state) | state.life_lost

    @property
    def observation_space(self) -> Box:
        """Images of the size of the screen."""
        channels = (3,) if not self.grayscale_obs else (1,) if self.grayscale_newaxis else ()
        shape = (*_image_shape(self.screen_size), *channels)
        return Box(0, 1, shape, np.float32) if self.scale_obs else Box(0, 255, shape, np.uint8)

    def _require_screen(self, env: AnyEnv) -> None:
        is_gray = len(env.observation_space.shape or ()) == 2
        require_image(self, env.observation_space, channels=None if is_gray and self.grayscale_obs else (3,))

    def frame(self, screen: UInt8[Array, "..."]) -> UInt8[Array, "..."]:
        """Return a screen of the environment, grey if observations are."""
        return gray_levels(screen, "ALE") if self.grayscale_obs and screen.ndim == 3 else screen

    @property
    def frame_space(self) -> Box:
        """The space of these frames."""
        shape = require_image(self, self.env.observation_space).shape
        return Box(0, 255, shape[:2] if self.grayscale_obs else shape, np.uint8)

    def _frame(self, env_state: Any, key: jax.Array) -> UInt8[Array, "..."]:
        return self.frame(self.env.observation(env_state, key))

    def _pool(self, newest: UInt8[Array, "..."], previous: UInt8[Array, "..."]) -> UInt8[Array, "..."]:
        return newest if self.frame_skip == 1 else jnp.maximum(newest, previous)

    def _lives(self, env_state: Any) -> Int[Array, ""]:
        if not self.terminal_on_life_loss:
            return jnp.zeros((), jnp.int32)
        return jnp.asarray(self.env.state_info(env_state)["lives"], jnp.int32)


def _image_shape(screen_size: Any) -> tuple[int, int]:
    """Return the height and the width of images, from a side or a pair (width, height)."""
    sides = screen_size if isinstance(screen_size, tuple) else (screen_size, screen_size)
    if len(sides) != 2:
        raise ValueError(f"screen_size must be an integer or a pair (width, height), got {screen_size!r}")
    width, height = (require_size("a side of screen_size", side) for side in sides)
    return height, width
