"""Pictures as observations: they are what `rasterize` draws of the state, alone, stacked and in batches."""

import gymnasium
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.envs import CartPole, Pendulum
from funcenv.scene import rasterize
from funcenv.vector import FuncVectorEnv
from funcenv.wrappers import FrameStackObservation, GrayscaleObservation, PixelObservation, TimeLimit, TransformReward


@pytest.mark.parametrize("grayscale", [False, True])
def test_space_as_gymnasium(same_space, grayscale):
    """Of AddRenderObservation, resized, and grey if wanted."""
    theirs = gymnasium.make("CartPole-v1", render_mode="rgb_array")
    theirs = gymnasium.wrappers.AddRenderObservation(theirs, render_only=True)
    ours = PixelObservation(CartPole(), *theirs.observation_space.shape[:2])
    same_space(ours.observation_space, theirs.observation_space)
    theirs.close()
    small = PixelObservation(CartPole(), 12, 16, grayscale).observation_space
    shape = (12, 16) if grayscale else (12, 16, 3)
    assert repr(small) == repr(gymnasium.spaces.Box(0, 255, shape, np.uint8))


@pytest.mark.parametrize("options", [{}, {"grayscale": True}, {"supersample": 2}])
def test_it_is_the_picture_of_the_state(play, options):
    env = PixelObservation(TimeLimit(CartPole(), 9), 16, 24, **options)
    _, timesteps = play(env, jnp.ones(5, jnp.int32), jax.random.key(0))
    state, first = jax.jit(env.reset)(jax.random.fold_in(jax.random.key(0), 0))
    expected = jax.jit(lambda state: rasterize(env.scene(state), 16, 24, **options))(state)
    assert np.abs(first.observation.astype(int) - expected.astype(int)).max() <= 1
    assert bool(env.observation_space.contains(first.observation))
    assert timesteps.observation.shape == (6, *env.observation_space.shape)
    assert all((timesteps.observation[i] != timesteps.observation[i + 1]).any() for i in range(5))


def test_the_grey_of_grayscale_observation():
    env = CartPole()
    drawn = PixelObservation(env, 24, 36, grayscale=True, standard="BT.709")
    converted = GrayscaleObservation(PixelObservation(env, 24, 36))
    ours, theirs = (jax.jit(each.reset)(jax.random.key(0))[1].observation.astype(int) for each in (drawn, converted))
    other = jax.jit(PixelObservation(env, 24, 36, grayscale=True).reset)(jax.random.key(0))[1].observation.astype(int)
    assert np.abs(ours - theirs).max() <= 1 < np.abs(other - theirs).max()


def test_an_unknown_standard_of_grey():
    with pytest.raises(ValueError, match=r"standard must be one of BT.601, BT.709, ALE, got 'BT.710'; try 'BT.709'"):
        PixelObservation(CartPole(), 8, 8, grayscale=True, standard="BT.710")


def test_everything_else_is_as_before(play):
    key, actions = jax.random.key(1), jnp.arange(40) % 2
    _, seen = play(PixelObservation(TimeLimit(CartPole(), 30), 8, 8), actions, key)
    _, known = play(TimeLimit(CartPole(), 30), actions, key)
    for name in ("reward", "terminated", "truncated"):
        np.testing.assert_array_equal(getattr(seen, name), getattr(known, name))
    assert seen.truncated.any() or seen.terminated.any()


def test_stacked_frames_are_the_last_pictures():
    env = FrameStackObservation(PixelObservation(CartPole(), 8, 12, grayscale=True), 3)
    reset, step = jax.jit(env.reset), jax.jit(env.step)
    draw = jax.jit(lambda state: rasterize(env.scene(state), 8, 12, grayscale=True))
    state, timestep = reset(jax.random.key(2))
    shown = [draw(state)] * 3
    for t in range(4):
        state, timestep = step(state, jnp.int32(1), jax.random.key(t))
        shown.append(draw(state))
        assert timestep.observation.dtype == np.uint8
        assert np.abs(timestep.observation.astype(int) - np.stack(shown[-3:]).astype(int)).max() <= 1


def test_a_batch_shows_each_its_own():
    env = TimeLimit(PixelObservation(CartPole(), 10, 14, grayscale=True), 3)
    venv = FuncVectorEnv(env, 5)

    @jax.jit
    def run(key):
        vstate, first = venv.reset(key)
        _, steps = jax.lax.scan(lambda vstate, _: venv.step(vstate, jnp.ones(5, jnp.int32)), vstate, None, 4)
        return first, steps

    first, steps = run(jax.random.key(0))
    assert first.observation.shape == (5, 10, 14)
    assert steps.truncated[2].all()
    assert len({picture.tobytes() for picture in np.asarray(first.observation)}) > 1
    assert (np.asarray(steps.final_observation[2]) != np.asarray(steps.observation[2])).any()
    reset = jax.jit(FuncVectorEnv(env, 1).reset)
    for i, key in enumerate(jax.random.split(jax.random.key(0), 5)):
        alone = reset(key[None])[1].observation[0]
        assert np.abs(alone.astype(int) - first.observation[i].astype(int)).max() <= 1


def test_pictures_are_drawn_for_new_episodes_only_where_some_begin():
    """A reset that draws is work enough to be done for those that need it alone."""
    assert FuncVectorEnv(PixelObservation(CartPole(), 84, 84, grayscale=True), 8).chosen_reset_strategy() == "lazy"
    assert FuncVectorEnv(CartPole(), 8).chosen_reset_strategy() == "select"


def test_parameters_are_seen():
    """Domain randomisation shows: a longer pole is longer in the picture."""

    def dark(length):
        env = PixelObservation(CartPole(length=length), 40, 40, grayscale=True)
        state = env.initial(jax.random.key(0))
        return env.observation(state, jax.random.key(0))

    short, long = jax.jit(jax.vmap(dark))(jnp.array([0.3, 0.9]))
    assert (short != long).mean() > 0.01


def test_gradients_of_rewards_pass():
    env = TransformReward(PixelObservation(Pendulum(), 6, 6), jnp.negative)

    def reward(action):
        state, _ = env.reset(jax.random.key(0))
        return env.step(state, action, jax.random.key(1))[1].reward

    slope = jax.jit(jax.grad(reward))(jnp.ones(1))
    assert np.isfinite(slope).all()


class Blank(CartPole):
    """Draws nothing."""

    def scene(self, state):
        return funcenv.FuncEnv.scene(self, state)


def test_bad_input():
    with pytest.raises(TypeError, match="needs an environment that draws itself, and Blank draws nothing: define its"):
        PixelObservation(TimeLimit(Blank(), 5), 84, 84)
    with pytest.raises(ValueError, match="height must be at least 1, got 0"):
        PixelObservation(CartPole(), 0, 84)
    with pytest.raises(TypeError, match="width must be an integer, got 84.0"):
        PixelObservation(CartPole(), 84, 84.0)
    with pytest.raises(ValueError, match="supersample must be at least 1, got 0"):
        PixelObservation(CartPole(), 84, 84, supersample=0)
    with pytest.raises(TypeError, match="PixelObservation wraps a FuncEnv"):
        PixelObservation("CartPole-v1", 84, 84)
