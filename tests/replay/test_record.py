"""What `record` plays, against `evaluate` and against a loop of single steps."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole
from funcenv.replay import record
from funcenv.replay.scene_stack import is_constant, take_steps
from funcenv.wrappers import TimeLimit


class Blind(CartPole):
    """Draws nothing."""

    scene = funcenv.FuncEnv.scene


def lean(observation, key):
    """Push to where the pole leans, but sometimes at random."""
    return jnp.where(jax.random.uniform(key) < 0.2, 0, (observation[2] > 0).astype(jnp.int32))


def test_the_episodes_are_those_of_evaluate():
    env, key = funcenv.make("CartPole-v1", max_episode_steps=40), funcenv.key(5)
    replay = record(env, lean, key, num_episodes=6)
    evaluation = funcenv.evaluate(env, lean, 6, key)
    np.testing.assert_array_equal(replay.episode_return, evaluation.episode_return)
    assert [episode.num_steps for episode in replay.episodes] == evaluation.episode_length.tolist()
    assert [episode.terminated for episode in replay.episodes] == evaluation.terminated.tolist()
    assert [episode.truncated for episode in replay.episodes] == evaluation.truncated.tolist()


def test_scenes_and_rewards_are_those_of_the_states_along_the_way():
    env, key = funcenv.make("Pendulum-v1"), funcenv.key(0)
    (episode,) = record(env, funcenv.random_policy(env), key, max_steps=7).episodes
    reset_key, _ = jax.random.split(key)
    venv = funcenv.FuncVectorEnv(env, 1, funcenv.AutoresetMode.DISABLED)
    vstate, _ = venv.reset(reset_key)
    for step in range(8):
        expected = env.scene(jax.tree.map(lambda leaf: leaf[0], vstate.env_state)).canonical()
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5),
            take_steps(episode.scenes, step),
            expected,
        )
        if step < 7:
            action = jax.tree.map(lambda leaf, step=step: leaf[step : step + 1], episode.action)
            vstate, timestep = venv.step(vstate, action)
            np.testing.assert_allclose(episode.reward[step], timestep.reward[0], rtol=1e-5)
    assert not episode.terminated and not episode.truncated


def test_an_episode_longer_than_a_call_is_whole():
    env = TimeLimit(CartPole(theta_threshold_radians=1e9, x_threshold=1e9), max_episode_steps=300)
    (episode,) = record(env, lambda observation, key: jnp.int32(1), funcenv.key(0)).episodes
    assert (episode.num_steps, episode.episode_return, episode.truncated) == (300, 300.0, True)
    assert len(episode.scenes.camera.width) == 301
    assert record(env, lean, funcenv.key(0), max_steps=270).episodes[0].num_steps == 270


def test_what_does_not_move_is_kept_once():
    env = funcenv.make("FrozenLake-v1")
    (episode,) = record(env, funcenv.random_policy(env), funcenv.key(0)).episodes
    assert all(is_constant(leaf) for leaf in jax.tree.leaves(episode.scenes.backdrop))
    moving = [leaf for leaf in jax.tree.leaves(episode.scenes) if not is_constant(leaf)]
    assert moving and all((leaf != leaf[:1]).any() for leaf in moving)


def test_a_batch_of_environments_is_played_side_by_side():
    lengths = jnp.array([0.5, 1.5])
    env = jax.vmap(lambda length: CartPole(length=length))(lengths)
    both = record(env, lean, funcenv.key(1), num_episodes=2)
    venv = funcenv.FuncVectorEnv(env, 2, funcenv.AutoresetMode.DISABLED)
    first = venv.reset(jax.random.split(funcenv.key(1))[0])[0].env_state
    for i, length in enumerate(lengths):
        alone = CartPole(length=length).scene(jax.tree.map(lambda leaf, i=i: leaf[i], first)).canonical()
        jax.tree.map(
            lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6),
            take_steps(both.episodes[i].scenes, 0),
            alone,
        )


def test_new_parameters_of_a_policy_compile_nothing():
    traces = []

    def linear(weights, observation, key):
        traces.append(weights)
        return (observation @ weights > 0).astype(jnp.int32)

    env = funcenv.make("CartPole-v1")
    record(env, jax.tree_util.Partial(linear, jnp.full(4, 1.0)), funcenv.key(0))
    before = len(traces)
    record(env, jax.tree_util.Partial(linear, jnp.full(4, 2.0)), funcenv.key(0))
    assert len(traces) == before > 0


def test_an_environment_without_a_scene_says_so():
    assert not funcenv.replay.can_draw(funcenv.wrappers.TimeLimit(Blind(), max_episode_steps=5))
    assert funcenv.replay.can_draw(CartPole())
    with pytest.raises(NotImplementedError, match="Blind draws nothing"):
        record(Blind(), lean, funcenv.key(0))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"num_episodes": 0}, ValueError, "num_episodes must be at least 1"),
        ({"max_steps": 0}, ValueError, "max_steps must be at least 1"),
        ({"fps": -1.0}, ValueError, "fps must be a finite number above 0"),
        ({"key": jax.random.PRNGKey}, TypeError, "key"),
    ],
)
def test_bad_arguments(arguments, error, message):
    arguments = {"key": funcenv.key(0), **arguments}
    with pytest.raises(error, match=message):
        record(CartPole(), lean, **arguments)


@pytest.mark.parametrize("name", ["episode.avi", "nowhere/episode.gif", "."])
def test_where_it_cannot_be_written_is_said_before_it_is_played(name, tmp_path):
    def never(observation, key):
        raise AssertionError("played")

    with pytest.raises((ValueError, OSError), match="choose one of these suffixes|does not exist|is saved as"):
        record(CartPole(), never, funcenv.key(0), save=tmp_path / name)


def test_recording_saves_where_it_is_told(tmp_path):
    record(CartPole(), lean, funcenv.key(0), max_steps=5, save=tmp_path / "episode.html")
    assert [path.name for path in tmp_path.iterdir()] == ["episode.html"]
