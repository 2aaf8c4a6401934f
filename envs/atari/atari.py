"""A game of the Atari 2600, played by ALE's emulator as a pure function.

M. G. Bellemare, Y. Naddaf, J. Veness and M. Bowling, "The Arcade Learning Environment", JAIR 47, 2013. The ids and
parameters are those of Gymnasium's `AtariEnv` (`ale_py/env.py`), and frames equal its frames bit for bit. `ale-py` is
under the GPL-2.0, and not installed with funcenv: `pip install "funcenv[atari]"`.

What differs from Gymnasium: the state of the emulator is a value in `state`, so that one can return to it, and branch
from it. Sticky actions and the random number of skipped frames are drawn from the key of a step instead of by ALE.

The memory of the console and ALE's random numbers outlast a reset, and many games read either. As in Gymnasium, a reset
with a new key (there: a seed) begins as if the game had just been loaded, and any other reset follows the episode
before it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8, UInt32

from funcenv._jax import Shape
from funcenv.checks import require_below_one, require_one_of, require_size
from funcenv.envs.atari.ale_view import AleView
from funcenv.envs.atari.batch import Console, advance, console, restart
from funcenv.envs.atari.emulator import Cartridge, require_game
from funcenv.envs.atari.games import MAX_NUM_FRAMES
from funcenv.envs.atari.palettes import palette
from funcenv.func_env import FuncEnv
from funcenv.host import host_call
from funcenv.scene import Camera, Scene, Sprite, rgba
from funcenv.scene.color import pack_words, unpack_words
from funcenv.spaces import Box, Discrete
from funcenv.stateful import StatefulAttribute, constant
from funcenv.struct import NDArray, PyTreeNode, field

_OBS_TYPES = ("rgb", "grayscale", "ram")
_PAL_HEIGHT = 250  # screen height of the European television standard [pixels]
_KEYS = {"UP": "up", "DOWN": "down", "LEFT": "left", "RIGHT": "right", "FIRE": "space"}
# ALE's actions in the order of their numbers.
ACTION_NAMES = (
    *("NOOP", "FIRE", "UP", "RIGHT", "LEFT", "DOWN", "UPRIGHT", "UPLEFT", "DOWNRIGHT", "DOWNLEFT"),
    *("UPFIRE", "RIGHTFIRE", "LEFTFIRE", "DOWNFIRE", "UPRIGHTFIRE", "UPLEFTFIRE", "DOWNRIGHTFIRE", "DOWNLEFTFIRE"),
)
# The action for [fire][down, none, up][left, none, right].
_PUSHED = np.array(
    [
        [
            [ACTION_NAMES.index((up + across + fire) or "NOOP") for across in ("LEFT", "", "RIGHT")]
            for up in ("DOWN", "", "UP")
        ]
        for fire in ("", "FIRE")
    ],
    np.int32,
)


class AtariState(PyTreeNode):
    """The emulator, and what it shows."""

    emulator: UInt32[Array, "words"]  # ALE's own serialized state, with a checksum; a row of `emulator.py`
    screen: UInt32[Array, "words"]  # indices of colours, four in each word
    ram: UInt32[Array, "32"]  # the memory of the console, four bytes in each word
    reward: Float[Array, ""]  # points of the last step
    lives: Int[Array, ""]  # lives that are left; 0 in games without lives
    frame: Int[Array, ""]  # number of frames since the reset
    total_frames: Int[Array, ""]  # the same with the episodes that came before
    terminal: Bool[Array, ""]  # true if the game is over
    truncated: Bool[Array, ""]  # true if the episode has lasted for `max_num_frames_per_episode`
    last_action: Int[Array, ""]  # ALE's number of the action in the last frame, which a sticky action repeats
    last_strength: Float[Array, ""]  # turn of the knob in that frame


class Atari(FuncEnv[AtariState, Array, Array]):
    """Play a game of the Atari 2600 from its screen.

    Observation: uint8 `[210, 160, 3]`: the screen. Some games have other heights. With `obs_type="grayscale"` it is
    uint8 `[210, 160]`, and with `obs_type="ram"` the memory, uint8 `[128]`.

    Action: int32 `[]`: an index into `action_names`, 0 for none. Anything else depends on the game: fire, and the
    directions of the joystick, with and without fire. Only actions that do something in the game are among them, unless
    `full_action_space=True`. With `continuous=True`, it is float32 `[3]`: how far the joystick is pushed, from 0 to 1,
    the angle in which it is pushed, counted from the right over the top [rad], and fire. Where it reaches
    `continuous_action_threshold` to a side, it is one of the 18 actions; a knob turns by as much as it is pushed. The
    action is held for `frameskip` frames.

    Reward: the points that the game gives during the frames of the step.

    Termination: the game is over, mostly because no life is left. Episodes are truncated after
    `max_num_frames_per_episode` frames.

    Initial state: the game after a reset. The first episode always begins alike. Later ones depend on the episode
    before (`initial_after`), as in ALE, because the console keeps its memory.

    Args:
        game: the name of the game, in snake_case.
        mode: a mode of the game; None for its first.
        difficulty: a difficulty of the game; None for its first.
        obs_type: "rgb", "grayscale" or "ram".
        frameskip: the number of frames of a step, or a pair (low, high) to draw it from low to high - 1.
        repeat_action_probability: the probability that a frame repeats the action of the frame before it.
        full_action_space: whether all 18 actions can be played.
        continuous: whether an action is a push of the joystick instead of a number.
        continuous_action_threshold: how far the joystick is pushed to a side before it counts.
        max_num_frames_per_episode: episodes are truncated after so many frames; None for no limit.
        num_threads: at most so many threads play a batch; None for one on each CPU.

    Raises:
        ModuleNotFoundError: ale-py is not installed.
        ValueError: there is no such game, mode, difficulty or observation, or a number is out of its range.

    >>> import funcenv
    >>> env = funcenv.make("ALE/Pong-v5")
    >>> state, timestep = env.reset(funcenv.key(0))
    >>> timestep.observation.shape
    (210, 160, 3)
    """

    game: str = field(pytree_node=False, default="pong")
    mode: int | None = field(pytree_node=False, default=None)
    difficulty: int | None = field(pytree_node=False, default=None)
    obs_type: str = field(pytree_node=False, default="rgb")
    frameskip: int | tuple[int, int] = field(pytree_node=False, default=4)  # frames of a step
    repeat_action_probability: float = 0.25  # probability of a sticky action
    full_action_space: bool = field(pytree_node=False, default=False)
    max_num_frames_per_episode: int | None = field(pytree_node=False, default=MAX_NUM_FRAMES)
    continuous: bool = field(pytree_node=False, default=False, kw_only=True)
    continuous_action_threshold: float = field(default=0.5, kw_only=True)
    num_threads: int | None = field(pytree_node=False, default=None, kw_only=True)

    fixed_start = True
    differentiable = False
    calls_host = True

    def __post_init__(self) -> None:
        require_game(self.game)
        require_one_of("obs_type", self.obs_type, _OBS_TYPES)
        require_below_one(repeat_action_probability=self.repeat_action_probability)
        _skip_range(self.frameskip)
        for name in ("max_num_frames_per_episode", "num_threads"):
            if getattr(self, name) is not None:
                require_size(name, getattr(self, name))
        console(self.cartridge)

    @property
    def cartridge(self) -> Cartridge:
        """The game and its switches."""
        return Cartridge(self.game, self.mode, self.difficulty, self.max_num_frames_per_episode)

    @property
    def console(self) -> Console:
        """Properties of the game that ALE reports: actions, modes, difficulties and screen."""
        return console(self.cartridge)

    @property
    def action_set(self) -> tuple[int, ...]:
        """ALE's number of each action."""
        is_full = self.full_action_space or self.continuous
        return tuple(range(len(ACTION_NAMES))) if is_full else self.console.minimal_actions

    @property
    def action_names(self) -> tuple[str, ...]:
        """ALE's name of each action, or the names of the numbers of a continuous one."""
        return ("push", "angle", "fire") if self.continuous else tuple(self.get_action_meanings())

    def get_action_meanings(self) -> list[str]:
        """Return ALE's name of each of its actions, under Gymnasium's name for it."""
        return [ACTION_NAMES[number] for number in self.action_set]

    def get_keys_to_action(self) -> dict[Any, Any]:
        """Return the keys of the joystick: the arrows and the space bar, which are held together."""
        meanings = self.get_action_meanings()
        keys = [tuple(key for name, key in _KEYS.items() if name in meaning) for meaning in meanings]
        actions = [_push(meaning) for meaning in meanings] if self.continuous else range(len(meanings))
        return dict(zip(keys, actions, strict=True))

    @property
    def stateful_attributes(self) -> dict[str, StatefulAttribute]:
        """The attributes that code for Gymnasium's `AtariEnv` reads: `ale`, `_frameskip` and `_obs_type`."""
        return {
            "ale": StatefulAttribute(lambda view: AleView(self, lambda: view.state)),
            "_frameskip": constant(lambda: self.frameskip),
            "_obs_type": constant(lambda: self.obs_type),
        }

    @property
    def render_fps(self) -> float:
        """Steps in a second of a television with 60 frames."""
        low, high = _skip_range(self.frameskip)
        return 60 / ((low + high) / 2)

    @property
    def remembers(self) -> bool:
        """True: the console keeps its memory when it is reset."""
        return True

    def initial(self, key: jax.Array) -> AtariState:
        """Return the state after the game was loaded, and reset."""
        del key
        return self._started({name: jnp.asarray(value) for name, value in self.console.start.items()})

    def initial_after(self, last: AtariState, key: jax.Array) -> AtariState:
        """Return the state after a reset that follows an episode."""
        del key
        return self._started(self._call(restart, last.emulator))

    def _started(self, start: dict[str, Any]) -> AtariState:
        start["reward"] = start["reward"].astype(float)
        return AtariState(**start, last_action=jnp.zeros((), jnp.int32), last_strength=jnp.ones((), float))

    def _call(self, function: Callable[..., Any], *args: Any) -> dict[str, Any]:
        """Call `advance` or `restart` on the host."""
        result = {name: Shape(array.shape, array.dtype) for name, array in self.console.start.items()}
        following: dict[str, Any] = host_call(
            functools.partial(function, self.cartridge, self.num_threads), result, *args
        )
        return following

    def transition(self, state: AtariState, action: Array, key: jax.Array) -> AtariState:
        """Play the frames of a step; a game that is over stays as it is."""
        skip_key, sticky_key = jax.random.split(key)
        low, high = _skip_range(self.frameskip)
        num_frames = jax.random.randint(skip_key, (), low, high + 1, jnp.int32) if low < high else jnp.int32(low)
        if self.continuous:
            chosen, strength = self._pushed(action), action[0].astype(state.last_strength.dtype)
        else:
            chosen, strength = jnp.asarray(self.action_set, jnp.int32)[action], jnp.ones_like(state.last_strength)
        sticks = jax.random.bernoulli(sticky_key, jnp.asarray(self.repeat_action_probability, float), (high,))
        played, strengths, last, last_strength = [], [], state.last_action, state.last_strength
        for frame in range(high):
            last = jnp.where(sticks[frame], last, chosen)
            last_strength = jnp.where(sticks[frame], last_strength, strength)
            played.append(last)
            strengths.append(last_strength)
        return self.play(state, jnp.stack(played), num_frames, jnp.stack(strengths))

    def play(
        self,
        state: AtariState,
        actions: Int[Array, "frames"],
        num_frames: Int[Array, ""],
        strengths: Float[Array, "frames"] | None = None,
    ) -> AtariState:
        """Return the state after some frames with given actions.

        Args:
            state: the state before them.
            actions: ALE's number of the action in each frame.
            num_frames: how many of them are played.
            strengths: of the turn of a knob in each frame, from 0 to 1; None for 1.
        """
        if strengths is None:
            strengths = jnp.ones(actions.shape, float)
        following = self._call(advance, state.emulator, actions, strengths, jnp.asarray(num_frames, jnp.int32))
        is_over = state.terminal | state.truncated
        following["screen"] = jnp.where(is_over, state.screen, following["screen"])  # ALE draws no more frames
        following["reward"] = following["reward"].astype(float)
        last = jnp.maximum(num_frames - 1, 0)
        return AtariState(
            **following,
            last_action=jnp.where(is_over, state.last_action, actions[last]),
            last_strength=jnp.where(is_over, state.last_strength, strengths[last]),
        )

    def _pushed(self, action: Float[Array, "3"]) -> Int[Array, ""]:
        """Return ALE's number of the action for a push of the joystick."""
        threshold = jnp.asarray(self.continuous_action_threshold, action.dtype)
        across, upright = action[0] * jnp.cos(action[1]), action[0] * jnp.sin(action[1])
        column, row = (
            (push > threshold).astype(jnp.int32) - (push < -threshold).astype(jnp.int32) for push in (across, upright)
        )
        return jnp.asarray(_PUSHED)[(action[2] > threshold).astype(jnp.int32), row + 1, column + 1]

    def observation(self, state: AtariState, key: jax.Array) -> Array:
        """Return the screen or the memory."""
        del key
        if self.obs_type == "ram":
            return _bytes(state.ram)
        return self.image(state) if self.obs_type == "rgb" else self.gray_image(state)

    def image(self, state: AtariState) -> UInt8[Array, "height width 3"]:
        """Return the screen in colours."""
        words = pack_words(*self.colors.T.astype(np.uint32))
        return unpack_words(jnp.asarray(words)[self._indices(state)])

    def gray_image(self, state: AtariState) -> UInt8[Array, "height width"]:
        """Return the screen in grey levels."""
        return jnp.asarray(self.gray_levels)[self._indices(state)]

    @property
    def colors(self) -> NDArray:
        """The colour of each index, uint8 `[256, 3]`."""
        return palette(is_pal=self.console.screen_shape[0] == _PAL_HEIGHT)[0]

    @property
    def gray_levels(self) -> NDArray:
        """The grey level of each index, uint8 `[256]`."""
        return palette(is_pal=self.console.screen_shape[0] == _PAL_HEIGHT)[1]

    def _indices(self, state: AtariState) -> UInt8[Array, "height width"]:
        return _bytes(state.screen).reshape(self.console.screen_shape)

    def reward(self, state: AtariState, action: Array, next_state: AtariState) -> Float[Array, ""]:
        """Return the points of the step."""
        del state, action
        return next_state.reward

    def terminal(self, state: AtariState) -> Bool[Array, ""]:
        """Return whether the game is over."""
        return state.terminal

    def truncated(self, state: AtariState) -> Bool[Array, ""]:
        """Return whether the episode has lasted for the maximal number of frames."""
        return state.truncated

    def state_info(self, state: AtariState) -> dict[str, Any]:
        """Return the lives that are left, the frames since the reset, and those since the game was loaded."""
        return {"lives": state.lives, "episode_frame_number": state.frame, "frame_number": state.total_frames}

    @property
    def observation_space(self) -> Box:
        """The screens or the memory."""
        height, width = self.console.screen_shape
        shapes = {"rgb": (height, width, 3), "grayscale": (height, width), "ram": (128,)}
        return Box(0, 255, shapes[self.obs_type], np.uint8)

    @property
    def action_space(self) -> Box | Discrete:
        """The numbers of the actions, or the pushes of the joystick."""
        if self.continuous:
            low, high = np.array([0, -np.pi, 0], np.float32), np.array([1, np.pi, 1], np.float32)
            return Box(low, high, (3,), np.float32)
        return Discrete(len(self.action_set))

    def scene(self, state: AtariState) -> Scene:
        """Draw the screen, whose pixels are wide."""
        height, width = self.console.screen_shape
        image = self.image(state)
        opaque = jnp.concatenate([image, jnp.full((height, width, 1), 255, jnp.uint8)], axis=-1)
        size = (4 / 3 * height, float(height))
        return Scene(Camera((0.0, 0.0), *size), (Sprite((0.0, 0.0), size, opaque),), background=rgba("#000000"))


def _push(meaning: str) -> NDArray:
    """Return the push of the joystick for one of ALE's actions, as far as it goes.

    >>> _push("UPRIGHTFIRE").round(2).astype(str).tolist()
    ['1.0', '0.79', '1.0']
    """
    across, upright = ("RIGHT" in meaning) - ("LEFT" in meaning), ("UP" in meaning) - ("DOWN" in meaning)
    return np.array([across != 0 or upright != 0, np.arctan2(upright, across), "FIRE" in meaning], np.float32)


def _bytes(words: UInt32[Array, "..."]) -> UInt8[Array, "..."]:
    """Return the bytes of words, along the last axis."""
    return jax.lax.bitcast_convert_type(words, jnp.uint8).reshape(*words.shape[:-1], -1)


def _skip_range(frameskip: Any) -> tuple[int, int]:
    """Return the least and the most frames of a step."""
    if isinstance(frameskip, (tuple, list)):
        if len(frameskip) != 2:
            raise ValueError(f"frameskip must be an integer or a pair (low, high), got {frameskip!r}")
        low, high = (require_size("a bound of frameskip", bound) for bound in frameskip)
        if low >= high:
            raise ValueError(f"the low bound of frameskip must be below the high one, got {frameskip!r}")
        return low, high - 1
    return (require_size("frameskip", frameskip),) * 2
