"""Laws of the frames of toy text."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import Blackjack, BlackjackState, CliffWalking, FrozenLake, Taxi
from funcenv.envs.toy_text.blackjack import Hand
from funcenv.scene import palette
from tests.support.frames import center_of, draw_frames, find_color, member, pixel_grid

STANDS = [(0, 0), (0, 4), (4, 0), (4, 3)]  # R G Y B: row, column


def every_state(env: Any) -> Any:
    return jax.vmap(env.decode)(jnp.arange(env.observation_space.n, dtype=jnp.int32))


def stacked(*states: Any) -> Any:
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *states)


def chosen(tree: Any, indices: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf[np.asarray(indices)], tree)


class Board:
    """Frames of a board, and the tiles in them."""

    def __init__(self, env: Any, rows: int, columns: int, pixels: int) -> None:
        self.env = env
        self.shape = rows * pixels, columns * pixels
        self.states = every_state(env)
        self.x, self.y, self.size = pixel_grid(env, member(self.states, 0), *self.shape)

    def draw(self, states: Any) -> Any:
        return draw_frames(self.env, states, *self.shape)

    def tile_of(self, pixels: Any) -> tuple[int, int]:
        """Row and column of the tile that some pixels are on."""
        x, y = center_of(pixels, self.env, member(self.states, 0))
        return int(np.floor(-y)), int(np.floor(x))

    def tile(self, row: int, column: int) -> Any:
        """Which pixels lie within a tile, or on its edge: `[height, width]`."""
        reach = 0.5 + self.size
        return (np.abs(-self.y - row - 0.5)[:, None] < reach) & (np.abs(self.x - column - 0.5) < reach)


class TestFrozenLake:
    @pytest.mark.parametrize(
        "env", [FrozenLake(), FrozenLake(map_name="8x8"), FrozenLake(desc=["SFH", "GHG"])], ids=["4x4", "8x8", "own"]
    )
    def test_the_walker_and_the_holes_are_on_their_tiles(self, env: Any) -> None:
        board = Board(env, env.nrow, env.ncol, pixels=20)
        frames = board.draw(board.states)
        assert len(np.unique(frames.reshape(len(frames), -1), axis=0)) == env.nrow * env.ncol
        walkers, waves = find_color(frames, palette.SKIN, 8), find_color(frames, palette.BLUE, 25)
        water = find_color(frames, palette.NAVY)
        for number in range(env.nrow * env.ncol):
            row, column = divmod(number, env.ncol)
            is_hole = env.tiles[row][column] == "H"
            assert board.tile_of(walkers[number]) == (row, column)
            assert waves[number].any() == is_hole, "in the water"
            assert water[0 if number else 1][board.tile(row, column)].any() == is_hole  # with the walker elsewhere

    def test_flags_are_on_the_goals(self) -> None:
        board = Board(FrozenLake(desc=["SFG", "FFF", "GFS"]), 3, 3, pixels=30)
        red = find_color(board.draw(chosen(board.states, [4])), palette.RED, 10)[0]
        for number in range(9):
            row, column = divmod(number, 3)
            assert (red[board.tile(row, column)].sum() > 6) == (number in (2, 4, 6))  # the walker's coat is red, too

    def test_maps_without_holes_can_be_drawn(self) -> None:
        board = Board(FrozenLake(desc=["SG"]), 1, 2, pixels=20)
        first, second = board.draw(board.states)
        assert (first != second).any()


class TestCliffWalking:
    def test_the_walker_is_on_its_tile_and_the_cliff_is_dark(self) -> None:
        board = Board(CliffWalking(), 4, 12, pixels=24)
        frames = board.draw(board.states)
        walkers, grey = find_color(frames, palette.SKIN), frames.mean(-1)
        for number in range(48):
            row, column = divmod(number, 12)
            is_cliff = row == 3 and 0 < column < 11
            assert is_cliff or board.tile_of(walkers[number]) == (row, column)
            assert (grey[0 if number else 1][board.tile(row, column)].mean() < 130) == is_cliff

    def test_a_fall_leaves_a_mark(self) -> None:
        board = Board(CliffWalking(), 4, 12, pixels=24)
        walked = board.env.decode(36)
        frames = board.draw(stacked(walked, walked.replace(fell=jnp.ones((), bool))))
        changed = (frames[0] != frames[1]).any(-1)
        assert changed.sum() > 20
        assert not changed[~board.tile(3, 0)].any()


@pytest.fixture(scope="module")
def board() -> Board:
    return Board(Taxi(), 5, 5, pixels=24)


class TestTaxi:
    def test_all_500_states_look_different(self) -> None:
        small = Board(Taxi(), 5, 5, pixels=12)  # a quarter of the pixels, a quarter of the time
        frames = small.draw(small.states)
        assert len(np.unique(frames.reshape(500, -1), axis=0)) == 500

    def test_a_drive_changes_two_tiles(self, board: Board) -> None:
        frames = board.draw(chosen(board.states, np.arange(25) * 20 + 1))
        start = board.tile(0, 0)
        for place in range(1, 25):
            changed, end = (frames[0] != frames[place]).any(-1), board.tile(*divmod(place, 5))
            assert changed[start].any()
            assert changed[end].any()
            assert not changed[~(start | end)].any()

    @pytest.mark.parametrize("place", [12, 7])
    def test_the_passenger_is_at_a_stand_or_in_the_taxi(self, board: Board, place: int) -> None:
        frames = board.draw(chosen(board.states, place * 20 + np.arange(5) * 4 + 1))
        for passenger, head in enumerate(find_color(frames, palette.SKIN, 8)):
            expected = STANDS[passenger] if passenger < 4 else divmod(place, 5)
            assert board.tile_of(head) == expected

    def test_the_destination_is_marked(self, board: Board) -> None:
        frames = board.draw(chosen(board.states, 12 * 20 + 4 * 4 + np.arange(4)))
        ink = find_color(frames, palette.INK, 20)
        counts = np.array([[frame[board.tile(*stand)].sum() for stand in STANDS] for frame in ink])
        np.testing.assert_array_equal(counts.argmax(0), np.arange(4))

    def test_a_delivery_is_marked(self, board: Board) -> None:
        state = board.env.decode((4 * 5 + 3) * 20 + 4 * 4 + 3)
        delivered, timestep = board.env.step(state, 5, funcenv.key(0))
        assert timestep.terminated
        frames = board.draw(stacked(delivered, delivered.replace(delivered=~delivered.delivered)))
        marked, plain = find_color(frames, palette.GREEN)[:, board.tile(*STANDS[3])].sum(1)
        assert marked > 20
        assert plain == 0

    def test_the_taxi_covers_nothing_on_a_stand(self, board: Board) -> None:
        """Letter, flag and a waiting passenger are in the upper half of a tile."""
        for number, (row, column) in enumerate(STANDS):
            away = chosen(
                board.states, [12 * 20 + number * 4 + (number + 1) % 4, 12 * 20 + (number + 1) % 4 * 4 + number]
            )
            here = away.replace(row=jnp.full(2, row), column=jnp.full(2, column))
            before, after = board.draw(away), board.draw(here)
            upper = board.tile(row, column) & (board.y > -row - 0.44)[:, None]
            assert upper.sum() > 50 and (before[:, upper] == after[:, upper]).all()

    def test_walls_stand_where_moves_are_blocked(self, board: Board) -> None:
        ink = find_color(board.draw(chosen(board.states, [12 * 20 + 4 * 4 + 1])), palette.INK)[0]
        masks = jax.vmap(board.env.action_mask)(board.states)
        for place in range(25):
            row, column = divmod(place, 5)
            east = board.tile(row, column) & (np.abs(board.x - column - 1) < 0.8 * board.size)
            assert column == 4 or (ink[east].mean() > 0.75) == (masks[place * 20, 2] == 0)

    def test_rain_falls_if_it_rains(self, board: Board) -> None:
        rainy = Board(Taxi(is_rainy=True), 5, 5, pixels=24)
        dry, wet = (drawn.draw(chosen(drawn.states, [240]))[0] for drawn in (board, rainy))
        assert (dry != wet).any(-1).sum() > 50


def hands(player: Any, dealer: Any, over: bool = False) -> BlackjackState:
    """Return a state with these cards, the dealer's first one face up."""
    player, dealer = (list(map(jnp.int32, cards)) for cards in (player, dealer))
    return BlackjackState(Hand.of(*player), Hand.of(*dealer), dealer[0], jnp.array(over))


class TestBlackjack:
    def test_what_is_observed_shows(self) -> None:
        env = Blackjack()
        tables = [
            hands(player, (shown, 9)) for player in ((10, 7), (10, 6), (1, 6), (4, 6, 7)) for shown in range(1, 11)
        ]
        frames = draw_frames(env, stacked(*tables), 100, 120)
        assert len(np.unique(frames.reshape(len(tables), -1), axis=0)) == len(tables)

    def test_what_is_hidden_does_not_show_before_the_end(self) -> None:
        playing = stacked(*(hands((10, 7), (5, hidden)) for hidden in range(1, 11)))
        frames = draw_frames(Blackjack(), playing, 100, 120)
        assert (frames == frames[0]).all()
        over = stacked(*(hands((10, 7), (5, hidden, 10), over=True) for hidden in range(1, 11)))
        ended = draw_frames(Blackjack(), over, 100, 120)
        assert len(np.unique(ended.reshape(10, -1), axis=0)) == 10

    def test_a_usable_ace_shows(self) -> None:
        """Its mark is yellow, and so is nothing else before the end."""
        tables = [hands((1, 6), (5, 9)), hands((10, 7), (5, 9)), hands((1, 6, 10), (5, 9))]
        frames = draw_frames(Blackjack(), stacked(*tables), 200, 240)
        assert find_color(frames, palette.YELLOW).any((1, 2)).tolist() == [True, False, False]

    @pytest.mark.parametrize("rules", [{}, {"natural": True}, {"sab": True}], ids=str)
    def test_the_outcome_shows(self, rules: dict[str, bool]) -> None:
        env = Blackjack(**rules)
        tables = [
            hands(player, dealer)
            for player in ((10, 9), (10, 8), (10, 10), (1, 10), (9, 9), (10, 6))
            for dealer in ((10, 9), (10, 8), (10, 10), (1, 10))
        ]
        key, stick = funcenv.key(0), jnp.int32(0)
        ended, timesteps = jax.jit(jax.vmap(lambda state: env.step(state, stick, key)))(stacked(*tables))
        assert timesteps.terminated.all()
        frames = draw_frames(env, ended, 100, 120)[:, 43:57]  # between the hands
        won, lost = (find_color(frames, color).sum((1, 2)) for color in (palette.YELLOW, palette.RED))
        drawn = find_color(frames, palette.CLOUD).sum((1, 2))
        np.testing.assert_array_equal(won > 100, timesteps.reward > 0)
        np.testing.assert_array_equal(lost > 100, timesteps.reward < 0)
        np.testing.assert_array_equal(drawn > 100, timesteps.reward == 0)

    def test_a_card_more_shows_as_a_card_more(self) -> None:
        tables = [hands((2,) * number, (5, 9)) for number in (2, 3, 4, 5, 6)]
        own = draw_frames(Blackjack(), stacked(*tables), 300, 360)[:, 150:, :250]
        marks = (find_color(own, palette.RED) | find_color(own, palette.INK)).sum((1, 2))
        cards = (marks > 0) & ~find_color(own, palette.BLUE).any((1, 2))
        assert cards.all() and (np.diff(find_color(own, palette.STONE).sum((1, 2))) > 0).all()

    def test_every_card_of_the_player_shows(self) -> None:
        tables = [hands(cards, (5, 9)) for cards in ((10, 7), (9, 8), (7, 10), (2, 5, 10), (5, 2, 10), (3, 4, 10))]
        frames = draw_frames(Blackjack(), stacked(*tables), 100, 120)
        assert len(np.unique(frames.reshape(len(tables), -1), axis=0)) == len(tables)

    def test_cards_are_of_four_suits_and_two_colours(self) -> None:
        scenes = [Blackjack().scene(hands((rank, 5), (rank, 9))) for rank in range(1, 11)]
        pips = np.concatenate([np.asarray(scene.shapes[2].shape.image)[[0, 6]] for scene in scenes])
        assert len(np.unique(pips.reshape(20, -1), axis=0)) == 4
        assert len(np.unique(pips.reshape(-1, 4), axis=0)) == 3  # two inks, and none
