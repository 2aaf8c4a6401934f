"""`make_vec`: the compiled vector environment, compared with Gymnasium's loop over single ones."""

import pickle

import gymnasium
import jax
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import FlattenObservation, NormalizeObservation, RecordEpisodeStatistics

import funcenv.adapters.gymnasium  # noqa: F401  (it registers)
from funcenv import spaces
from funcenv.adapters.gymnasium import GymnasiumVectorEnv
from funcenv.envs import CartPole
from tests.support.programs import window_of
from tests.support.tiny_envs import Echo

MODES = [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP]


def make(id, num_envs=3, **kwargs):
    return gymnasium.make_vec(f"funcenv/{id}", num_envs=num_envs, **kwargs)


def loop(id, mode, **kwargs):
    """Return Gymnasium's own vector environment over funcenv's single ones."""
    return SyncVectorEnv([lambda: gymnasium.make(f"funcenv/{id}", **kwargs)] * 3, autoreset_mode=mode)


def trace(envs, wrap=lambda envs: envs, num_steps=25):
    envs = wrap(envs)
    envs.reset(seed=4)
    envs.action_space.seed(0)
    rows = []
    for _ in range(num_steps):
        observations, rewards, terminations, truncations, infos = envs.step(envs.action_space.sample())
        infos.get("episode", {}).pop("t", None), infos.get("episode", {}).pop("_t", None)
        rows.append((observations, rewards, terminations, truncations, plain(infos)))
    return rows


def plain(value):
    """Convert arrays of objects to lists, which can be compared leaf by leaf."""
    if isinstance(value, dict):
        return {name: plain(part) for name, part in value.items()}
    return list(value) if isinstance(value, np.ndarray) and value.dtype == object else value


def assert_alike(ours, theirs):
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-5, 1e-5), ours, theirs)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
@pytest.mark.parametrize("id", ["CartPole-v1", "Blackjack-v1", "FrozenLake-v1"])
def test_it_is_gymnasiums_loop_in_one_program(id, mode):
    ours, theirs = make(id, autoreset_mode=mode), loop(id, mode)
    assert isinstance(ours, gymnasium.vector.VectorEnv) and type(ours) is GymnasiumVectorEnv
    assert ours.metadata["autoreset_mode"] is mode and ours.autoreset_mode is mode
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(ours, name) == getattr(theirs, name), name
    rows = trace(ours)
    assert_alike(rows, trace(theirs))
    assert rows[0][0] in ours.observation_space and any(row[2].any() for row in rows)
    assert jax.tree.map(lambda leaf: leaf.dtype, rows[0][0]) == jax.tree.map(
        lambda leaf: leaf.dtype, ours.observation_space.sample()
    )


@pytest.mark.parametrize("wrap", [RecordEpisodeStatistics, NormalizeObservation, FlattenObservation])
def test_gymnasiums_vector_wrappers(wrap):
    mode = AutoresetMode.NEXT_STEP
    id = "FrozenLake-v1" if wrap is FlattenObservation else "CartPole-v1"
    assert_alike(trace(make(id), wrap), trace(loop(id, mode), wrap))


def test_the_spec_remakes_it_with_limit_and_parameters():
    envs = make("CartPole-v1", gravity=1.6, max_episode_steps=4, autoreset_mode=AutoresetMode.SAME_STEP)
    again = gymnasium.make_vec(envs.spec)
    assert again.num_envs == 3 and again.func_env == envs.func_env and again.func_env.max_episode_steps == 4
    assert again.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert again.func_env.unwrapped.gravity == 1.6
    assert make("CartPole-v1").func_env.max_episode_steps == 500  # as registered
    assert type(make("CliffWalking-v1").func_env).__name__ == "CliffWalking"  # which has none
    assert type(gymnasium.make_vec("funcenv/CartPole-v1", 2, vectorization_mode="sync")) is SyncVectorEnv
    with pytest.raises(TypeError, match="gravty"):
        make("CartPole-v1", gravty=1.6)


def test_a_copy_goes_on_alike():
    envs = make("Blackjack-v1", autoreset_mode=AutoresetMode.SAME_STEP)
    envs.reset(seed=0)
    envs.action_space.seed(1)
    envs.step(envs.action_space.sample())
    other = pickle.loads(pickle.dumps(envs))
    assert other.spec == envs.spec and other.metadata == envs.metadata
    for _ in range(5):
        ours, theirs = (one.step(one.action_space.sample()) for one in (envs, other))
        assert_alike(ours[:4], theirs[:4])


def test_jax_arrays_stay_jax_arrays():
    envs = make("CartPole-v1", output="jax")
    observations, _ = envs.reset(seed=0)
    assert isinstance(observations, jax.Array) and envs.metadata["jax"]
    assert isinstance(envs.step(np.ones(3, int))[1], jax.Array)


def test_members_that_vary_in_size():
    space = spaces.Dict(a=spaces.Text(3), b=spaces.Sequence(spaces.Discrete(3), max_length=2))
    envs = GymnasiumVectorEnv(Echo(space), 2)
    assert envs.reset(seed=0)[0] in envs.observation_space
    envs.action_space.seed(0)
    for _ in range(3):
        actions = envs.action_space.sample()
        said = envs.step(actions)[0]
        assert said in envs.observation_space
        assert jax.tree.structure(said) == jax.tree.structure(actions)
        assert jax.tree.all(jax.tree.map(lambda a, b: a == b, said, actions))


def test_errors():
    with pytest.raises(ValueError, match="AutoresetMode"):
        GymnasiumVectorEnv(CartPole(), 2, autoreset_mode="Sometimes")


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.value)
def test_lists_of_frames_are_those_of_gymnasiums_loop(mode):
    kwargs = {"render_mode": "rgb_array_list", "render_height": 8, "max_episode_steps": 3}
    ours, theirs = make("CartPole-v1", autoreset_mode=mode, **kwargs), loop("CartPole-v1", mode, **kwargs)
    for script in ("r.s.ss.", "sss.", "ssssssss.", "rss."):
        for call in script:
            if call == ".":
                frames, expected = ours.render(), theirs.render()
                assert [len(rows) for rows in frames] == [len(rows) for rows in expected]
                jax.tree.map(np.testing.assert_array_equal, frames, expected)
            else:
                for envs in (ours, theirs):
                    envs.reset(seed=1) if call == "r" else envs.step(np.array([0, 1, 1]))


def test_it_can_be_used_after_close_as_gymnasiums(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    envs, other = make("CartPole-v1", render_mode="human"), make("CartPole-v1")
    for one in (envs, other):
        one.reset(seed=0)
        one.close()
        assert one.closed
    assert_alike(envs.step(np.ones(3, int)), other.step(np.ones(3, int)))
    assert window_of(envs) is not None and not window_of(envs).was_closed
    envs.close()
