"""The parts that native games with a paddle share: the knob, frames, sticky actions and screens.

These games are computed by JAX alone. Their rules were found by observing the memory and the screen of the originals in
the Arcade Learning Environment (ALE), to which they were fitted until they followed them frame by frame. No ROM and no
emulator is needed.

A game defines `start`, `play_frame`, `memory`, `boxes` and `backdrop_boxes`. A frame is 1/60 s.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, UInt8

from funcenv.checks import require_below_one, require_one_of, require_size
from funcenv.envs.atari.palettes import palette
from funcenv.func_env import FuncEnv
from funcenv.scene import Camera, Rectangle, Scene, Text, digits
from funcenv.scene.color import pack_words, unpack_words
from funcenv.spaces import Box, Discrete
from funcenv.struct import NDArray, PyTreeNode, field
from funcenv.trees import select

SCREEN_HEIGHT, SCREEN_WIDTH = 210, 160
PIXEL_WIDTH = 4 / 3 * SCREEN_HEIGHT / SCREEN_WIDTH  # A television's pixels are wider than high; their height is 1.
MAX_NUM_FRAMES = 108_000  # An episode lasts half an hour at most.
_OBS_TYPES = ("ram", "rgb", "grayscale")
# ALE turns a knob from one stop to the other. Its position is a resistance [ohm].
KNOB_STOPS = (27_450, 790_196)
KNOB_MIDDLE = 408_823
KNOB_STEP = 23_000  # turn of the knob in a frame [ohm]
# The rows of three columns of each digit: bits 4, 2 and 1 are the left, the middle and the right column.
_DIGITS = (
    (7, 5, 5, 5, 7),
    (2, 2, 2, 2, 2),
    (7, 1, 7, 4, 7),
    (7, 1, 3, 1, 7),
    (5, 5, 7, 1, 1),
    (7, 4, 7, 1, 7),
    (4, 4, 7, 5, 7),
    (7, 1, 1, 1, 1),
    (7, 5, 7, 5, 7),
    (7, 5, 7, 1, 1),
)
DIGIT_ROWS, DIGIT_COLUMNS = 5, 3


class PaddleGameState(PyTreeNode):
    """The state of a game, which a subclass extends."""

    knob: Int[Array, ""]  # its position, within KNOB_STOPS [ohm]
    last_action: Int[Array, ""]  # the action of the last frame, which a sticky action repeats
    reward: Float[Array, ""]  # reward of the last step
    frame: Int[Array, ""]  # number of frames since the reset
    over: Bool[Array, ""]  # true if the game is over


class Pixels(NamedTuple):
    """A rectangle of pixels in one colour, or a number in it."""

    row: Any  # top row; it is cut at the window
    column: Any  # left column
    height: int
    width: int
    color: int  # an index into the palette
    shown: Any = True
    number: Any = None  # drawn in the rectangle in large digits, instead of filling it
    num_digits: int = 0
    pads: bool = False  # true to draw zeros in front of the number
    window: tuple[int, int] = (0, SCREEN_HEIGHT)  # the first row and the row after the last one


class PaddleGame(FuncEnv[Any, Int[Array, ""], Array]):
    """A game of 60 frames a second, played with a knob and a button."""

    frameskip: int = field(pytree_node=False, default=4)  # frames of a step
    repeat_action_probability: float = 0.25  # probability of a sticky action, in each frame
    obs_type: str = field(pytree_node=False, default="ram")  # "ram", "rgb" or "grayscale"
    max_num_frames_per_episode: int | None = field(
        pytree_node=False, default=MAX_NUM_FRAMES
    )  # frames after which a game is truncated, or None

    action_names: ClassVar[tuple[str, ...]] = ()
    memory_bounds: ClassVar[tuple[tuple[int, int], ...]] = ()  # bounds of each number of the memory
    background_color: ClassVar[int] = 0
    differentiable = False
    fixed_start = True

    def __post_init__(self) -> None:
        require_size("frameskip", self.frameskip)
        require_below_one(repeat_action_probability=self.repeat_action_probability)
        require_one_of("obs_type", self.obs_type, _OBS_TYPES)
        if self.max_num_frames_per_episode is not None:
            require_size("max_num_frames_per_episode", self.max_num_frames_per_episode)

    def start(self) -> Any:
        """Return the state after a reset."""
        raise NotImplementedError(f"{type(self).__name__} must define start()")

    def play_frame(self, state: Any, action: Int[Array, ""]) -> Any:
        """Return the state one frame later, with the points of this frame as its reward."""
        raise NotImplementedError(f"{type(self).__name__} must define play_frame(state, action)")

    def memory(self, state: Any) -> tuple[Array, ...]:
        """Return the numbers of an observation, scalars or arrays."""
        raise NotImplementedError(f"{type(self).__name__} must define memory(state)")

    def boxes(self, state: Any) -> tuple[Pixels, ...]:
        """Return what moves on the screen."""
        raise NotImplementedError(f"{type(self).__name__} must define boxes(state)")

    def backdrop_boxes(self) -> tuple[Pixels, ...]:
        """Return what does not move."""
        return ()

    def initial(self, key: jax.Array) -> Any:
        """Return the state after a reset."""
        del key
        return self.start()

    def transition(self, state: Any, action: Int[Array, ""], key: jax.Array) -> Any:
        """Play the frames of a step; a game that is over stays as it is."""
        sticks = jax.random.bernoulli(key, jnp.asarray(self.repeat_action_probability, float), (self.frameskip,))

        def play(carried: tuple[Any, Float[Array, ""]], stick: Bool[Array, ""]) -> tuple[Any, None]:
            old, points = carried
            played = jnp.where(stick, old.last_action, action).astype(jnp.int32)
            new = self.play_frame(old, played).replace(last_action=played, frame=old.frame + 1)
            new = select(old.over, old, new)
            return (new, points + jnp.where(old.over, 0, new.reward).astype(points.dtype)), None

        (last, points), _ = jax.lax.scan(play, (state, jnp.zeros_like(state.reward)), sticks)
        return last.replace(reward=points)

    def observation(self, state: Any, key: jax.Array) -> Array:
        """Return the memory or the screen."""
        del key
        if self.obs_type == "ram":
            return jnp.concatenate([jnp.ravel(part).astype(jnp.int32) for part in self.memory(state)])
        return self.image(state) if self.obs_type == "rgb" else self.gray_image(state)

    def image(self, state: Any) -> UInt8[Array, "210 160 3"]:
        """Return the screen in colours."""
        return unpack_words(self.paint(state, pack_words(*palette(False)[0].T.astype(np.uint32))))

    def gray_image(self, state: Any) -> UInt8[Array, "210 160"]:
        """Return the screen in grey levels."""
        return self.paint(state, palette(False)[1])

    def paint(self, state: Any, values: NDArray) -> Array:
        """Return the screen, given the values of the 256 colours."""
        screen = jnp.full((SCREEN_HEIGHT, SCREEN_WIDTH), values[self.background_color])
        for box in (*self.backdrop_boxes(), *self.boxes(state)):
            screen = jnp.where(_covered(box), values[box.color], screen)
        return screen

    def scene(self, state: Any) -> Scene:
        """Draw the screen, whose pixels are wide."""
        width = PIXEL_WIDTH * SCREEN_WIDTH
        return Scene(
            Camera((width / 2, SCREEN_HEIGHT / 2), width, float(SCREEN_HEIGHT)),
            tuple(_shape(box) for box in self.boxes(state)),
            backdrop=tuple(_shape(box) for box in self.backdrop_boxes()),
            background=color_rgba(self.background_color),
        )

    def reward(self, state: Any, action: Int[Array, ""], next_state: Any) -> Float[Array, ""]:
        """Return the points of the step."""
        del state, action
        return next_state.reward

    def terminal(self, state: Any) -> Bool[Array, ""]:
        """Return whether the game is over."""
        return state.over

    def truncated(self, state: Any) -> Bool[Array, ""]:
        """Return whether the episode has lasted for the maximal number of frames."""
        if self.max_num_frames_per_episode is None:
            return jnp.zeros((), bool)
        return state.frame >= self.max_num_frames_per_episode

    @property
    def render_fps(self) -> float:
        """Steps in a second of a television with 60 frames."""
        return 60 / self.frameskip

    @property
    def observation_space(self) -> Box:
        """The numbers of the memory, or the screens."""
        if self.obs_type == "ram":
            low, high = np.array(self.memory_bounds, np.int32).T
            return Box(low, high, (len(low),), np.int32)
        channels = (3,) if self.obs_type == "rgb" else ()
        return Box(0, 255, (SCREEN_HEIGHT, SCREEN_WIDTH, *channels), np.uint8)

    @property
    def action_space(self) -> Discrete:
        """The numbers of the actions."""
        return Discrete(len(self.action_names))

    def is_pressed(self, action: Int[Array, ""], name: str) -> Bool[Array, ""]:
        """Return whether an action includes FIRE, RIGHT or LEFT."""
        pressed = jnp.zeros((), bool)
        for number, meaning in enumerate(self.action_names):
            if name in meaning:
                pressed = pressed | (action == number)
        return pressed

    def turned(self, knob: Int[Array, ""], action: Int[Array, ""]) -> Int[Array, ""]:
        """Return the position of the knob after a frame."""
        turn = self.is_pressed(action, "LEFT").astype(jnp.int32) - self.is_pressed(action, "RIGHT").astype(jnp.int32)
        return jnp.clip(knob + turn * KNOB_STEP, *KNOB_STOPS)


def digit_cells(number: Int[Array, ""], num_digits: int, pads: bool = False) -> Bool[Array, "5 columns"]:
    """Return the cells of the digits of a number, with a column between two of them.

    Args:
        number: at least 0.
        num_digits: the number of digits.
        pads: whether zeros in front are shown.

    >>> "".join(".#"[bit] for bit in digit_cells(jnp.int32(7), 1)[0].astype(int).tolist())
    '###'
    """
    font = jnp.asarray(_DIGITS, jnp.int32)
    columns = []
    for place in reversed(range(num_digits)):
        rows = font[number // 10**place % 10]
        shown = True if pads or place == 0 else number >= 10**place
        bits = jnp.right_shift(rows[:, None], jnp.arange(DIGIT_COLUMNS - 1, -1, -1, dtype=jnp.int32)[None]) & 1
        columns += [(bits > 0) & shown, jnp.zeros((DIGIT_ROWS, 1), bool)]
    return jnp.concatenate(columns[:-1], axis=1)


def _covered(box: Pixels) -> Bool[Array, "210 160"]:
    """Return which pixels of the screen a box covers."""
    rows, columns = jnp.arange(SCREEN_HEIGHT, dtype=jnp.int32), jnp.arange(SCREEN_WIDTH, dtype=jnp.int32)
    if box.number is not None:
        cells = digit_cells(box.number, box.num_digits, box.pads)
        scale = box.height // cells.shape[0], box.width // cells.shape[1]
        pixels = jnp.repeat(jnp.repeat(cells, scale[0], axis=0), scale[1], axis=1)
        bottom, right = SCREEN_HEIGHT - box.row - box.height, SCREEN_WIDTH - box.column - box.width
        return jnp.pad(pixels, ((box.row, bottom), (box.column, right))) & box.shown
    in_rows = (rows >= jnp.maximum(box.row, box.window[0])) & (rows < jnp.minimum(box.row + box.height, box.window[1]))
    in_columns = (columns >= box.column) & (columns < box.column + box.width)
    return (in_rows & box.shown)[:, None] & in_columns[None]


def _shape(box: Pixels) -> Rectangle | Text:
    """Return the shape of a box, in units of the height of a pixel, from the bottom."""
    if box.number is not None:
        middle = PIXEL_WIDTH * (box.column + box.width / 2), SCREEN_HEIGHT - box.row - box.height / 2
        codes = digits(box.number, box.num_digits)
        if box.pads:
            codes = jnp.maximum(codes, ord("0"))  # a blank comes before the digits
        return Text(middle, codes, float(0.9 * box.height), color_rgba(box.color))
    first = jnp.asarray(jnp.maximum(box.row, box.window[0]), float)
    last = jnp.asarray(jnp.minimum(box.row + box.height, box.window[1]), float)
    center = PIXEL_WIDTH * (jnp.asarray(box.column, float) + box.width / 2), SCREEN_HEIGHT - (first + last) / 2
    size = PIXEL_WIDTH * box.width, jnp.maximum(last - first, 0.0)
    return Rectangle(center, size, (*color_rgba(box.color)[:3], jnp.asarray(box.shown, float)))


def color_rgba(color: int) -> tuple[float, float, float, float]:
    """Return a colour of the palette, from 0 to 1, opaque."""
    red, green, blue = (float(value) / 255 for value in palette(False)[0][color])
    return red, green, blue, 1.0


def as_state(values: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a state: integers as int32, booleans as bool."""
    kinds = {int: jnp.int32, bool: jnp.bool_}
    return {name: jnp.asarray(value, kinds[type(value)]) for name, value in values.items()}
