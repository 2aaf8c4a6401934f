"""Atari games against ALE itself, through Gymnasium."""

import pickle
import sys
import types

import ale_py
import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from gymnasium.wrappers import AtariPreprocessing as Preprocessing

import funcenv
import funcenv.adapters.gymnasium  # registers the ids
from funcenv import adapters
from funcenv.envs import Atari
from funcenv.envs.atari.batch import console
from funcenv.envs.atari.games import GAMES, game_ids
from funcenv.envs.atari.palettes import palette
from funcenv.registry import all_specs
from funcenv.wrappers import AtariPreprocessing, FireReset, FrameStackObservation

# Screens of four heights, paddles, scores below 0, random hardware, and lives.
GAMES_PLAYED = (
    "pong",
    "breakout",
    "seaquest",
    "ms_pacman",
    "space_invaders",
    "montezuma_revenge",
    "skiing",
    "air_raid",
)
play = jax.jit(lambda env, state, actions: env.play(state, actions, actions.shape[0]))


def reference(game="pong", **kwargs):
    """Return Gymnasium's environment, without sticky actions."""
    env = ale_py.AtariEnv(game, **{"repeat_action_probability": 0.0, **kwargs})
    env.reset()
    return env


def ours(game="pong", **kwargs):
    return Atari(game, **{"repeat_action_probability": 0.0, **kwargs})


@jax.jit
def rollout(env, actions):
    """Return the time steps of a reset and of some actions, stacked."""
    state, first = env.reset(jax.random.key(0))
    last, rest = jax.lax.scan(lambda state, action: env.step(state, action, jax.random.key(0)), state, actions)
    return last, first, rest


def assert_same(timestep, number, played):
    observation, reward, terminated, truncated, info = played
    np.testing.assert_array_equal(timestep.observation[number], observation)
    assert timestep.reward[number] == reward
    assert (timestep.terminated[number], timestep.truncated[number]) == (terminated, truncated)
    assert timestep.info["lives"][number] == info["lives"]
    assert timestep.info["episode_frame_number"][number] == info["episode_frame_number"]


@pytest.mark.parametrize("game", GAMES_PLAYED)
def test_screens_rewards_and_ends_are_those_of_gymnasium(game):
    theirs, env = reference(game), ours(game)
    assert env.observation_space.shape == theirs.observation_space.shape
    assert env.action_space.n == theirs.action_space.n
    assert env.get_action_meanings() == theirs.get_action_meanings()
    actions = np.random.default_rng(0).integers(env.action_space.n, size=60, dtype=np.int32)
    _, first, rest = jax.device_get(rollout(env, actions))
    np.testing.assert_array_equal(first.observation, theirs.unwrapped.ale.getScreenRGB())
    for number, action in enumerate(actions):
        assert_same(rest, number, theirs.step(action))


@pytest.mark.dear
@pytest.mark.exhaustive
@pytest.mark.parametrize("game", (*GAMES_PLAYED, "qbert", "enduro"))
def test_ten_thousand_frames_are_those_of_gymnasium(game):
    """Whole games of random actions, one after the other: every screen that is shown, and what belongs to it."""
    theirs, env = reference(game), ours(game)
    step, reset = jax.jit(env.step), jax.jit(lambda key, last: env.reset(key, after=last))
    key, rng = jax.random.key(0), np.random.default_rng(1)
    state, _ = reset(key, None)
    is_over = False
    for _ in range(10_000 // 4):
        if is_over:
            state, timestep = reset(key, state)
            np.testing.assert_array_equal(timestep.observation, theirs.reset()[0])
        action = int(rng.integers(env.action_space.n))
        state, timestep = step(state, action, key)
        played = theirs.step(action)
        np.testing.assert_array_equal(timestep.observation, played[0])
        assert (timestep.reward, timestep.terminated, timestep.truncated) == played[1:4]
        assert timestep.info["lives"] == played[4]["lives"]
        is_over = played[2] or played[3]


@pytest.mark.parametrize("game", ["amidar", "qbert", "tetris"])
def test_a_game_is_played_again_from_its_first_state(game):
    """ALE does not serialize everything of the first states of these games, so an emulator that has played differs."""
    env, key = ours(game), jax.random.key(0)
    step, (first, _) = jax.jit(env.step), jax.jit(env.reset)(key)
    episodes = []
    for _ in range(2):
        state, screens = first, []
        for action in (1, 2, 3, 1, 0) * 3:
            state, timestep = step(state, action, key)
            screens.append(np.asarray(timestep.observation))
        episodes.append(screens)
    np.testing.assert_array_equal(*episodes)


@pytest.mark.parametrize(
    "arguments",
    [
        {"obs_type": "ram", "mode": 1, "difficulty": 3, "frameskip": 3},
        {"obs_type": "grayscale", "full_action_space": True, "max_num_frames_per_episode": 90, "frameskip": 7},
        {"game": "air_raid", "obs_type": "grayscale"},  # a television of Europe
    ],
)
def test_every_argument_of_gymnasium(arguments):
    """The second one is truncated in the middle of a step, and stays as it is."""
    theirs, env = reference(**arguments), ours(**arguments)
    assert env.observation_space.shape == theirs.observation_space.shape
    actions = np.random.default_rng(0).integers(env.action_space.n, size=16, dtype=np.int32)
    _, _, rest = jax.device_get(rollout(env, actions))
    for number, action in enumerate(actions):
        assert_same(rest, number, theirs.step(action))
    assert rest.truncated[-1] == ("max_num_frames_per_episode" in arguments)


@pytest.mark.parametrize("game", ["breakout", "space_invaders"])
def test_continuous_actions_are_those_of_gymnasium(game):
    """A push that goes beyond the threshold to a side is an action; a knob turns by as much as it is pushed."""
    arguments = {"obs_type": "ram", "continuous": True, "continuous_action_threshold": 0.3}
    theirs, env = reference(game, frameskip=4, **arguments), ours(game, **arguments)
    np.testing.assert_array_equal(env.action_space.low, theirs.action_space.low)
    np.testing.assert_array_equal(env.action_space.high, theirs.action_space.high)
    theirs.action_space.seed(0)
    actions = np.array([theirs.action_space.sample() for _ in range(300)])
    pushes = np.cos(actions[:, 1]) * actions[:, 0], np.sin(actions[:, 1]) * actions[:, 0], actions[:, 2]
    assert (np.abs(np.abs(pushes) - 0.3) > 1e-6).all()  # none is at the threshold, where rounding decides
    _, _, rest = jax.device_get(rollout(env, actions))
    for number, action in enumerate(actions):
        assert_same(rest, number, theirs.step(action))
    assert rest.reward.sum() > 0


def test_the_strength_of_a_sticky_action_sticks():
    env = Atari("breakout", obs_type="ram", continuous=True, repeat_action_probability=1 - 1e-7, frameskip=1)
    state = env.initial(jax.random.key(0)).replace(last_action=jnp.int32(3), last_strength=jnp.asarray(0.25))
    after = jax.jit(env.transition)(state, jnp.array([1.0, jnp.pi, 0.0], jnp.float32), jax.random.key(0))
    expected = play(env, state, jnp.array([3]))
    assert after.last_strength == 0.25 and after.last_action == 3
    assert not (after.emulator == expected.emulator).all()  # which turned the knob by a whole step


def test_keys_of_continuous_actions_push_the_joystick():
    env = ours("space_invaders", continuous=True)
    assert env.action_names == ("push", "angle", "fire")
    for keys, action in env.get_keys_to_action().items():
        assert env.action_space.contains(action)
        pushed = jax.jit(env.transition)(env.initial(None), jnp.asarray(action), jax.random.key(0)).last_action
        meaning = env.get_action_meanings()[int(pushed)]
        assert {key for name, key in (("UP", "up"), ("LEFT", "left"), ("FIRE", "space")) if name in meaning} == (
            set(keys) - {"down", "right"}
        )


def test_a_game_ends_as_in_gymnasium():
    theirs, env = reference("breakout", frameskip=20, obs_type="ram"), ours("breakout", frameskip=20, obs_type="ram")
    actions = np.arange(60, dtype=np.int32) % 2  # nobody holds the paddle under the ball
    _, _, rest = jax.device_get(rollout(env, actions))
    for number, action in enumerate(actions):
        assert_same(rest, number, theirs.step(action))
    assert rest.terminated[-1] and not rest.terminated[10] and len(set(rest.info["lives"])) == 6


def test_a_thousand_branches_of_a_search_are_their_replays():
    """Each plays other actions from the same state; ALE plays them from the beginning."""
    env, start = ours(frameskip=4, obs_type="ram"), np.zeros(40, np.int32)
    start[::3] = 2
    state, _, _ = rollout(env, start)
    branches = np.random.default_rng(0).integers(6, size=(1000, 2), dtype=np.int32)

    def search(state, actions):
        return jax.lax.scan(lambda state, action: env.step(state, action, jax.random.key(0)), state, actions)

    states, found = jax.jit(jax.vmap(search, (None, 0)))(state, branches)
    theirs = reference(obs_type="ram")
    for action in start:
        theirs.step(action)
    saved = theirs.clone_state(include_rng=True)
    for branch, actions in enumerate(branches):
        theirs.restore_state(saved)
        for number, action in enumerate(actions):
            ram, reward, *_ = theirs.step(action)
            np.testing.assert_array_equal(found.observation[branch, number], ram)
            assert found.reward[branch, number] == reward
        if branch % 100 == 0:
            image = env.image(jax.tree.map(lambda leaf, branch=branch: leaf[branch], states))
            np.testing.assert_array_equal(image, theirs.ale.getScreenRGB())


def test_a_batch_plays_as_each_game_alone():
    env = Atari("pong", obs_type="ram")
    actions = np.random.default_rng(0).integers(6, size=(5, 20), dtype=np.int32)  # more games than emulators are kept

    def step(state, actions, key):
        return jax.vmap(env.step)(state, actions, jax.random.split(key, 20))

    start = jax.vmap(env.reset)(jax.random.split(jax.random.key(0), 20))[0]
    keys = jax.random.split(jax.random.key(1), 5)
    play = jax.jit(lambda start, actions, keys: jax.lax.scan(lambda s, each: step(s, *each), start, (actions, keys)))
    states, timesteps = play(start, actions, keys)
    alone, step_alone = env.reset(jax.random.key(0))[0], jax.jit(env.step)
    for number, key in enumerate(keys):
        alone, timestep = step_alone(alone, actions[number, 19], jax.random.split(key, 20)[19])
        np.testing.assert_array_equal(timesteps.observation[number, 19], timestep.observation)
    jax.tree.map(lambda many, one: np.testing.assert_array_equal(many[19], one), states, alone)


def test_states_are_saved_and_restored():
    env, step = ours(obs_type="ram"), jax.jit(ours(obs_type="ram").step)
    state, _ = env.reset(jax.random.key(0))
    stored = pickle.dumps(jax.device_get(state))
    for _ in range(3):
        after, expected = step(pickle.loads(stored), 2, jax.random.key(0))
        step(after, 3, jax.random.key(0))  # the emulator is elsewhere now
        again, timestep = step(state, 2, jax.random.key(0))
        jax.tree.map(np.testing.assert_array_equal, (after, expected), (again, timestep))


def test_actions_stick_as_machado_et_al_define():
    """Each frame repeats the action of the frame before with the probability, also across steps and skipped frames."""
    env = Atari("pong", repeat_action_probability=0.25, frameskip=(2, 5), obs_type="ram")
    state = jax.jit(env.initial)(jax.random.key(0))

    def after(key):  # the first frames after a reset, where the last action is 0
        following = env.transition(state, 2, key)
        return following.last_action, following.frame

    last, frames = jax.jit(jax.vmap(after))(jax.random.split(jax.random.key(0), 600))
    last, frames = np.asarray(last), np.asarray(frames)
    assert set(frames) == {2, 3, 4} and set(last) == {0, env.action_set[2]}
    for count in (2, 3, 4):
        share, chance = (last[frames == count] == 0).mean(), 0.25**count
        assert abs(share - chance) < 5 * np.sqrt(chance / (frames == count).sum())
    assert np.abs(np.bincount(frames)[2:] - 200).max() < 60


def test_given_frames_are_played():
    """`play` takes the action of every single frame, as ALE's `act` does."""
    theirs, env = reference(), ours()
    actions = np.random.default_rng(3).integers(18, size=50, dtype=np.int32)
    total = sum(theirs.ale.act(int(action)) for action in actions)
    state = play(env, env.initial(jax.random.key(0)), jnp.asarray(actions))
    np.testing.assert_array_equal(env.image(state), theirs.ale.getScreenRGB())
    np.testing.assert_array_equal(env.gray_image(state), theirs.ale.getScreenGrayscale())
    assert state.reward == total and state.frame == 50


def test_every_id_of_gymnasium_is_there():
    """The games and their parameters are listed here, so that ALE need not be installed to look up an id."""
    theirs = {id: spec.kwargs for id, spec in gymnasium.registry.items() if spec.entry_point == "ale_py.env:AtariEnv"}
    assert len(theirs) == 352
    found = {id: funcenv.spec(id) for id in theirs}
    for id, kwargs in theirs.items():
        parameters = {**{entry: getattr(Atari, entry, None) for entry in kwargs}, **found[id].kwargs}
        assert {**parameters, "full_action_space": False} == kwargs, id
        assert found[id].entry_point == "funcenv.envs.atari.atari:Atari"
    assert dict(game_ids()).keys() == theirs.keys()


def test_the_listed_id_is_one_of_the_family():
    """So what visits the registry visits the class of all games."""
    assert funcenv.make("ALE/Pong-v5") == Atari(**dict(game_ids())["ALE/Pong-v5"])
    assert [id for id, spec in funcenv.registry.items() if spec.load() is Atari] == ["ALE/Pong-v5"]
    unlisted = all_specs().keys() - funcenv.registry.keys()
    assert dict(game_ids()).keys() - unlisted == {"ALE/Pong-v5"}
    assert f"and {len(unlisted)} more, such as ALE/" in funcenv.pprint_registry()


@pytest.mark.parametrize("part", [pytest.param(part, marks=pytest.mark.exhaustive) for part in range(8)])
def test_every_game_shows_the_colours_of_ale(part):
    for game in GAMES[part::8]:
        theirs, env = reference(game), ours(game)
        for number in range(80):
            theirs.ale.act(number % 18)
        colors, grays = palette(env.console.screen_shape[0] == 250)
        screen = theirs.ale.getScreen()
        np.testing.assert_array_equal(colors[screen], theirs.ale.getScreenRGB(), err_msg=game)
        np.testing.assert_array_equal(grays[screen], theirs.ale.getScreenGrayscale(), err_msg=game)


def test_stacks_of_wrappers_and_vectors():
    env = funcenv.make("BreakoutNoFrameskip-v4", obs_type="grayscale")
    env = FrameStackObservation(AtariPreprocessing(FireReset(env), noop_max=3, terminal_on_life_loss=True), 4)
    venv = funcenv.FuncVectorEnv(env, 3)
    vstate, timestep = jax.jit(venv.reset)(jax.random.key(0))
    vstate, timestep = jax.jit(venv.step)(vstate, jnp.zeros(3, jnp.int32))
    assert timestep.observation.shape == (3, 4, 84, 84)
    assert set(np.asarray(timestep.info["episode_frame_number"])) <= {7, 8, 9}


def test_keys_hold_the_joystick():
    keys = ours("seaquest").get_keys_to_action()
    assert keys[()] == 0 and keys[("up", "left", "space")] == ours("seaquest").action_names.index("UPLEFTFIRE")
    assert len(keys) == 18


def test_the_stateful_environment():
    env = adapters.make("ALE/Pong-v5", render_mode="rgb_array", render_height=210)
    observation, info = env.reset(seed=0)
    assert observation.shape == (210, 160, 3) and info["lives"] == 0
    assert env.render().shape == (210, 280, 3)  # as on a television
    assert env.unwrapped.get_wrapper_attr("get_action_meanings")()[0] == "NOOP"


@pytest.mark.parametrize("grayscale", [False, True])
def test_the_preprocessing_of_gymnasium_runs_over_it(grayscale, monkeypatch):
    """Its frames are those that it makes over ALE, and those that our preprocessing makes."""
    same_size = types.SimpleNamespace(resize=lambda image, size, interpolation: image, INTER_AREA=3)  # for OpenCV
    monkeypatch.setitem(sys.modules, "cv2", same_size)
    arguments = {"noop_max": 0, "screen_size": (160, 210), "terminal_on_life_loss": True, "grayscale_obs": grayscale}
    over_ale = Preprocessing(ale_py.AtariEnv("breakout", frameskip=1, repeat_action_probability=0.0), **arguments)
    over_ours = Preprocessing(gymnasium.make("funcenv/BreakoutNoFrameskip-v4"), **arguments)
    env = AtariPreprocessing(funcenv.make("BreakoutNoFrameskip-v4"), **arguments)
    state, timestep = env.reset(jax.random.key(0))
    images = [over_ale.reset()[0], over_ours.reset()[0], timestep.observation]
    step, done = jax.jit(env.step), False
    for number in range(60):
        for image in images[1:]:
            np.testing.assert_array_equal(images[0], image)
        if done:
            break
        images[0], *expected, _ = over_ale.step(number % 2)
        images[1], *found, _ = over_ours.step(number % 2)
        state, timestep = step(state, number % 2, jax.random.key(0))
        images[2], done = timestep.observation, expected[1]
        assert expected == found == [timestep.reward, timestep.terminated, timestep.truncated]
    assert done


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"game": "Pong"}, ValueError, "ALE has no game 'Pong'; did you mean 'pong'"),
        ({"mode": 7}, ValueError, "pong has no mode 7; choose one of 0, 1"),
        ({"difficulty": 9}, ValueError, "pong has no difficulty 9; choose one of 0, 1, 2, 3"),
        ({"obs_type": "gray"}, ValueError, "obs_type must be one of rgb, grayscale, ram, got 'gray'; try 'grayscale'"),
        ({"frameskip": 0}, ValueError, "frameskip must be at least 1, got 0"),
        ({"frameskip": (4, 4)}, ValueError, "the low bound of frameskip must be below the high one"),
        ({"frameskip": (0, 4)}, ValueError, "a bound of frameskip must be at least 1, got 0"),
        ({"frameskip": (1, 2, 3)}, ValueError, "frameskip must be an integer or a pair"),
        ({"frameskip": 2.0}, TypeError, "frameskip must be an integer"),
        ({"repeat_action_probability": 1.0}, ValueError, "at least 0 and below 1"),
        ({"max_num_frames_per_episode": 0}, ValueError, "max_num_frames_per_episode must be at least 1"),
    ],
)
def test_wrong_arguments_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Atari(**arguments)


def test_unknown_ids_get_a_suggestion():
    with pytest.raises(ValueError, match="did you mean ALE/Breakout-v5"):
        funcenv.make("ALE/Braekout-v5")
    with pytest.raises(ValueError, match="its versions are Pong-v0, Pong-v4"):
        funcenv.make("Pong-v7")


@pytest.mark.parametrize("kind", ["zeros", "ones", "cut", "one bit", "another game"])
def test_what_is_not_a_state_is_refused(kind):
    env = ours()
    words = np.array(env.initial(jax.random.key(0)).emulator)
    other = np.zeros_like(words)
    foreign = np.asarray(ours("breakout").initial(jax.random.key(0)).emulator)[: len(words)]
    other[: len(foreign)] = foreign
    flipped = words.copy()
    flipped[700] ^= 1
    bad = {
        "zeros": np.zeros_like(words),
        "ones": np.full_like(words, 0xFFFFFFFF),
        "cut": np.where(np.arange(len(words)) < 900, words, 0),
        "one bit": flipped,
        "another game": other,
    }[kind]
    state = env.initial(jax.random.key(0)).replace(emulator=jnp.asarray(bad))
    with pytest.raises(jax.errors.JaxRuntimeError, match="a state is not one of pong with this mode and difficulty"):
        jax.block_until_ready(play(env, state, jnp.zeros(1, jnp.int32)))
    play(env, env.initial(jax.random.key(0)), jnp.zeros(1, jnp.int32))  # it goes on


def test_without_ale_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "ale_py", None)
    console.cache_clear()  # another test may have loaded this game
    funcenv.spec("ALE/Enduro-v5")
    with pytest.raises(ModuleNotFoundError, match=r'Atari games need ale-py: pip install "funcenv\[atari\]"'):
        funcenv.make("ALE/Enduro-v5")


def test_a_probability_may_be_an_integer():
    env = Atari(repeat_action_probability=0, obs_type="ram")
    state = jax.jit(env.transition)(env.initial(None), 2, jax.random.key(0))
    assert state.last_action == env.action_set[2]
