"""The games of MinAtar against steps that the package `minatar` took (tests/reference/make_minatar.py)."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import Asterix, Breakout, Freeway, Seaquest, SpaceInvaders
from funcenv.envs.arcade.asterix import Arrival
from funcenv.envs.arcade.seaquest import Arrivals
from funcenv.wrappers import PixelObservation
from tests.support.sources import ROOT

GAMES = {
    "asterix": Asterix,
    "breakout": Breakout,
    "freeway": Freeway,
    "seaquest": Seaquest,
    "space_invaders": SpaceInvaders,
}
ARRIVALS = "enemy_right", "is_submarine", "enemy_row", "diver_right", "diver_row"  # in Seaquest


def pack_bricks(given):
    """Return the fields of states of Breakout, whose bricks are bits."""
    bricks = given.pop("bricks")[:, 1:4].reshape(-1, 30)
    return given | {"wall": (bricks << np.arange(30)).sum(1)}


def pack_invaders(given):
    """Return the fields of states of Space Invaders, whose bullets are places and whose aliens are bits."""
    boards = [given.pop(name) > 0 for name in ("aliens", "bullets", "alien_bullets")]
    packed = [pack_boards(*each) for each in zip(*boards, strict=True)]
    return given | {name: np.array([fields[name] for fields in packed]) for name in packed[0]}


def pack_boards(aliens, bullets, alien_bullets):
    """Return the places of bullets, and the bits of aliens in 4 rows and 6 columns, from boards of 10 x 10 cells."""
    later, earlier, *_ = [*np.argwhere(bullets)[::-1], (-1, 0), (-1, 0)]  # the lower bullet is the later one
    of_alien = [*np.argwhere(alien_bullets), (10, 0)][0]
    rows = aliens.any(axis=1)
    top = next(row for row in range(10) if rows[row] and rows[(row + np.arange(4)) % 10].sum() == rows.sum())
    left = aliens.any(axis=0).argmax()
    formation = np.roll(aliens, (-top, -left), (0, 1))[:4, :6]
    places = {"bullet": later, "old_bullet": earlier, "alien_bullet": of_alien}
    fields = {f"{name}_{axis}": cell[i] for name, cell in places.items() for i, axis in enumerate(("row", "column"))}
    bits = (formation.reshape(24) << np.arange(24)).sum()
    return fields | {"aliens": bits, "formation_row": top, "formation_column": left}


PACKED = {Breakout: pack_bricks, SpaceInvaders: pack_invaders}


@functools.cache
def recorded(name):
    """Return the recorded arrays of a game, each with a leading axis for the steps."""
    with np.load(ROOT / "tests" / "reference" / "minatar.npz") as stored:
        return {key.partition("/")[2]: stored[key] for key in stored if key.startswith(f"{name}/")}


def fields(env, arrays, when):
    """Return the fields of recorded states by name, with a leading axis."""
    given = {key.partition("/")[2]: value for key, value in arrays.items() if key.startswith(f"{when}/")}
    return PACKED.get(type(env), lambda given: given)(given)


def states(env, arrays, when):
    """Return recorded states, with a leading axis."""
    first = env.initial(jax.random.key(0))
    count, given = len(arrays["action"]), fields(env, arrays, when)
    same = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *leaf.shape)), first)
    return same.replace(**{key: jnp.asarray(value, getattr(first, key).dtype) for key, value in given.items()})


def in_order(state):
    """Return states of Seaquest whose lists are sorted, without what is not there."""
    lists = {}
    for kind in ("enemy", "diver", "bullet"):
        names = [name for name, leaf in vars(state).items() if name.startswith(f"{kind}_") and leaf.ndim == 2]
        present = np.asarray(getattr(state, f"{kind}_present"))
        shown = [np.where(present, getattr(state, name), 0).astype(int) for name in names]
        if kind == "enemy":  # a fish does not shoot
            wait, submarine = names.index("enemy_shot_wait"), names.index("enemy_is_submarine")
            shown[wait] = shown[wait] * shown[submarine]
        order = np.lexsort(shown)
        lists |= {name: np.take_along_axis(array, order, 1) for name, array in zip(names, shown, strict=True)}
    return state.replace(**lists)


@pytest.mark.parametrize("name", GAMES)
def test_every_step_is_that_of_minatar(name):
    """From the same state, with the same action and the same random numbers: state, reward, end and observation."""
    env, arrays = GAMES[name](), recorded(name)
    action = jnp.asarray(arrays["action"], jnp.int32)
    before, after = states(env, arrays, "before"), states(env, arrays, "after")

    drawn = None  # by the game, in each step
    if name == "freeway":
        drawn = jnp.asarray(after.car_speed)
    if name == "asterix":
        lane = jnp.asarray(arrays["lane"], jnp.int32)
        drawn = Arrival(lane, jnp.asarray(arrays["new_to_right"]), jnp.asarray(arrays["new_is_gold"]))
    if name == "seaquest":
        drawn = Arrivals(*(jnp.asarray(arrays[key], int if "row" in key else bool) for key in ARRIVALS))

    def play(state, action, drawn):
        if drawn is None:
            return env.play(state, action, jax.random.key(0))
        return env.play_with(state, action, drawn)

    played, seen = jax.jit(jax.vmap(lambda *each: (state := play(*each), env.observation(state, None))))(
        before, action, drawn
    )
    np.testing.assert_array_equal(played.reward, arrays["reward"])
    np.testing.assert_array_equal(seen, arrays["observation"] > 0)
    assert (played.over.sum() > 3) and (played.reward.sum() > 20)
    if name == "seaquest":
        played, after = in_order(played), in_order(after)
    present = arrays.get("after/present")
    # Boards that are packed are compared as observations: a formation without its first row also begins a row lower.
    for key in (name for name in vars(after) if f"after/{name}" in arrays and name not in ("aliens",)):
        mine, theirs = np.asarray(getattr(played, key)), np.asarray(getattr(after, key))
        if key in ("thing_column", "to_right", "is_gold") and name == "asterix":  # of what is there
            mine, theirs = mine[present > 0], theirs[present > 0]
        np.testing.assert_array_equal(mine, theirs, err_msg=key)


@pytest.mark.parametrize("name", GAMES)
def test_random_players_reach_what_they_reach_in_minatar(name):
    """The file holds means of the package, of 10,000 episodes (50 for Freeway) with sticky actions."""
    env, (mean, error) = GAMES[name](), recorded(name)["random_return"]
    played = funcenv.evaluate(env, funcenv.random_policy(env), 400, jax.random.key(0), max_steps=2600)
    own_error = float(played.std_return) / 20
    assert abs(float(played.mean_return) - mean) < 3 * np.hypot(error, own_error) + 1e-9


def test_actions_stick():
    env = Breakout(sticky_action_probability=0.25)
    state = env.initial(jax.random.key(0))
    keys = jax.random.split(jax.random.key(1), 2000)
    columns = jax.jit(jax.vmap(lambda key: env.transition(state, 2, key).paddle))(keys)
    assert abs((np.asarray(columns) == 4).mean() - 0.25) < 0.05


def test_a_game_that_is_over_stays_as_it_is():
    env = Breakout()
    over = env.initial(jax.random.key(0)).replace(over=jnp.ones((), bool), reward=jnp.ones((), float))
    after, timestep = jax.jit(env.step)(over, 1, jax.random.key(0))
    assert timestep.terminated and timestep.reward == 0
    jax.tree.map(np.testing.assert_array_equal, after.replace(reward=over.reward), over)


def test_without_difficulty_ramping_games_stay_slow():
    name = "space_invaders"
    arrays = recorded(name)
    env = SpaceInvaders(difficulty_ramping=False)
    before = states(env, arrays, "before")
    after = jax.jit(jax.vmap(lambda s, a: env.play(s, a, jax.random.key(0))))(
        before, jnp.asarray(arrays["action"], jnp.int32)
    )
    np.testing.assert_array_equal(after.move_interval, before.move_interval)
    assert (arrays["after/move_interval"] != arrays["before/move_interval"]).any()


def test_pixels():
    env = PixelObservation(funcenv.make("MinAtar/Freeway-v1"), 84, 84)
    assert jax.jit(env.reset)(jax.random.key(0))[1].observation.shape == (84, 84, 3)


def test_keys_and_names():
    env = funcenv.make("MinAtar/SpaceInvaders-v1")
    assert env.action_names == ("noop", "left", "right", "fire")
    assert env.get_keys_to_action() == {(): 0, ("left",): 1, ("right",): 2, ("space",): 3}


def test_an_impossible_probability_is_refused():
    with pytest.raises(ValueError, match="sticky_action_probability must be at least 0 and below 1, got 1.0"):
        Freeway(sticky_action_probability=1.0)


def test_a_probability_may_be_an_integer():
    env = Breakout(sticky_action_probability=0)
    state = jax.jit(env.transition)(env.initial(jax.random.key(0)), 1, jax.random.key(0))
    assert state.last_action == env.actions[1]


@pytest.mark.parametrize("game", GAMES.values())
def test_an_episode_begins_without_the_last_action_of_the_one_before(game):
    """The package's `reset` keeps it, and a sticky action may repeat it."""
    last = game().initial(jax.random.key(0)).replace(last_action=jnp.int32(game().actions[1]))
    assert not game().remembers and game().initial_after(last, jax.random.key(1)).last_action == 0
