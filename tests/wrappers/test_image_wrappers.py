"""Wrappers of image observations, against Gymnasium's."""

import gymnasium
import gymnasium.wrappers as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
import funcenv.adapters
from funcenv.envs import CartPole, FrozenLake, Pendulum
from funcenv.scene import rasterize
from funcenv.spaces import Dict
from funcenv.wrappers import (
    AddRenderObservation,
    AddWhiteNoise,
    FrameStackObservation,
    GrayscaleObservation,
    ObstructView,
    PixelObservation,
    ResizeObservation,
    TimeAwareObservation,
    TimeLimit,
)
from tests.support.tiny_envs import Counter, Screen


class Shown(gymnasium.Wrapper):
    """Gymnasium's CartPole, which shows a given image in every state."""

    def __init__(self, image):
        super().__init__(gymnasium.make("CartPole-v1", render_mode="rgb_array"))
        self.image = image
        self.observation_space = gymnasium.spaces.Box(0, 255, image.shape, np.uint8)

    def reset(self, **kwargs):
        return self.image, super().reset(**kwargs)[1]

    def render(self):
        return self.image


def observed(env, seed=0):
    return np.asarray(jax.jit(env.reset)(funcenv.key(seed))[1].observation)


def noise_image(shape=(40, 60, 3), seed=0):
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


@pytest.mark.parametrize("keep_dim", [False, True])
def test_grayscale_as_gymnasium(keep_dim, same_space):
    image = noise_image()
    ours = GrayscaleObservation(Screen(CartPole(), image), keep_dim)
    theirs = reference.GrayscaleObservation(Shown(image), keep_dim)
    np.testing.assert_array_equal(observed(ours), theirs.reset()[0])
    same_space(ours.observation_space, theirs.observation_space)


def test_grayscale_of_every_colour():
    """Gymnasium's float64 sum is below the integer that it stands for, and rounded down, for 63 colours."""
    levels = np.arange(256, dtype=np.uint8)
    gray = jax.jit(lambda image: GrayscaleObservation(Screen(CartPole(), image)).outer_observation(image))
    weights = np.array([0.2125, 0.7154, 0.0721])
    different = 0
    for red in levels:
        image = np.stack(np.broadcast_arrays(red, levels[:, None], levels[None]), -1)
        below = np.asarray(gray(image), int) - np.sum(image * weights, axis=-1).astype(np.uint8)
        assert set(np.unique(below)) <= {0, 1}
        different += below.sum()
    assert different == 63


def test_an_image_with_the_observation_as_gymnasium(same_space):
    theirs = reference.AddRenderObservation(
        gymnasium.make("Pendulum-v1", render_mode="rgb_array"), render_only=False, render_key="image", obs_key="rest"
    )
    ours = AddRenderObservation(Pendulum(), False, "image", "rest", height=500, width=500)
    same_space(ours.observation_space, theirs.observation_space)
    timed = reference.AddRenderObservation(
        reference.TimeAwareObservation(gymnasium.make("Pendulum-v1", render_mode="rgb_array"), flatten=False), False
    )
    mine = TimeAwareObservation(TimeLimit(Pendulum(), 200), flatten=False)
    mine = AddRenderObservation(mine, False, height=500, width=500)
    assert list(mine.observation_space.spaces) == list(timed.observation_space.spaces)


@pytest.mark.parametrize("env", [CartPole(), FrozenLake()], ids=["CartPole", "FrozenLake"])
def test_the_image_is_what_render_shows(env):
    shown = AddRenderObservation(env, render_only=False)
    state, timestep = jax.jit(shown.reset)(funcenv.key(0))
    face = funcenv.adapters.FunctionalEnv(env, render_mode="rgb_array")
    face.reset(seed=0)
    height, width, _ = shape = face.render().shape
    assert timestep.observation["pixels"].shape == shape == shown.observation_space["pixels"].shape
    expected = jax.jit(lambda state: rasterize(env.scene(state), height, width))(state)
    np.testing.assert_array_equal(timestep.observation["pixels"], expected)
    np.testing.assert_array_equal(timestep.observation["state"], env.observation(state, funcenv.key(1)))
    assert isinstance(shown.observation_space, Dict)


def test_only_the_image():
    env = AddRenderObservation(CartPole(), height=8, width=12)
    np.testing.assert_array_equal(observed(env), observed(PixelObservation(CartPole(), 8, 12)))


@pytest.mark.parametrize("grayscale", [False, True])
def test_noise_is_drawn_as_gymnasium_draws_it(grayscale):
    """The same share of pixels changes, and the levels of the noise have the same distribution."""
    image = np.full((200, 300, 3), 255, np.uint8)  # which no noise contains
    theirs = reference.AddWhiteNoise(Shown(image), 0.25, grayscale)
    theirs.reset(seed=0)
    ours, theirs = observed(AddWhiteNoise(Screen(CartPole(), image), 0.25, grayscale)), theirs.render()
    for frame in (ours, theirs):
        noisy = (frame != 255).any(-1)
        assert abs(noisy.mean() - 0.25) < 0.01
        assert (frame[~noisy] == 255).all()
        assert (frame[..., 0] == frame[..., 2])[noisy].all() == grayscale
    levels = [np.sort(frame[(frame != 255).any(-1)].ravel()) for frame in (ours, theirs)]
    quantiles = [np.quantile(level, [0, 0.1, 0.5, 0.9, 1]) for level in levels]
    np.testing.assert_allclose(*quantiles, atol=4)


@pytest.mark.parametrize("width", [1, 8, 9])
def test_patches_cover_as_much_as_gymnasiums(width):
    image = np.full((90, 130, 3), 255, np.uint8)
    theirs = reference.ObstructView(Shown(image), 0.5, width)
    theirs.reset(seed=0)
    shares = [(theirs.render() != 255).any(-1).mean() for _ in range(40)]
    env = ObstructView(Screen(CartPole(), image), 0.5, width)
    draw = jax.jit(jax.vmap(lambda key: (env.reset(key)[1].observation != 255).any(-1)))
    hidden = np.asarray(draw(jax.random.split(funcenv.key(0), 40)))
    assert abs(hidden.mean() - np.mean(shares)) < 5 * np.std(shares) / np.sqrt(40) + 2e-3
    if width == 8:  # one patch far from the border, whose rows and columns are those of Gymnasium
        alone = ObstructView(Screen(CartPole(), image), 8 * 8 / image[..., 0].size, 8)
        rows, columns = np.nonzero((observed(alone) != 255).any(-1))
        assert np.ptp(rows) <= 7 and np.ptp(columns) <= 7 and len(rows) <= 64


def test_noise_is_drawn_anew_and_repeats_with_the_key():
    env = FrameStackObservation(AddWhiteNoise(Screen(CartPole(), noise_image()), 0.5), 2)
    state, timestep = env.reset(funcenv.key(0))
    _, later = env.step(state, 0, funcenv.key(1))
    assert not np.array_equal(later.observation[0], later.observation[1])
    np.testing.assert_array_equal(timestep.observation, env.reset(funcenv.key(0))[1].observation)


def test_the_noise_probability_is_a_parameter():
    env = AddWhiteNoise(Screen(CartPole(), noise_image()), 0.5)
    share = jax.jit(
        lambda p: (env.replace(probability_of_noise_per_pixel=p).reset(funcenv.key(0))[1].observation).mean()
    )
    assert share(0.0) == jnp.asarray(noise_image()).mean()


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (GrayscaleObservation, ValueError, r"GrayscaleObservation needs images, .*\(height, width, 3\).*Box\("),
        (lambda env: ResizeObservation(env, (4, 4)), ValueError, r"needs images, a Box\(0, 255, \(height, width\["),
        (lambda env: AddWhiteNoise(env, 0.5), ValueError, r"AddWhiteNoise needs images"),
        (lambda env: ObstructView(env, 0.5, 3), ValueError, r"put PixelObservation or AddRenderObservation inside"),
        (
            lambda env: GrayscaleObservation(AddRenderObservation(env, False, height=4, width=4)),
            TypeError,
            r"needs images, a Box of uint8, got Dict",
        ),
        (lambda env: AddWhiteNoise(image_of(env), 1.0), ValueError, r"at least 0 and below 1, got 1.0"),
        (lambda env: ObstructView(image_of(env), -0.1, 3), ValueError, r"at least 0 and below 1, got -0.1"),
        (lambda env: ObstructView(image_of(env), 0.1, 0), ValueError, r"obstruction_width must be at least 1, got 0"),
        (lambda env: ResizeObservation(image_of(env), [4, 4]), TypeError, r"shape must be a tuple"),
        (lambda env: ResizeObservation(image_of(env), (4, 4, 3)), ValueError, r"shape must be a tuple"),
        (lambda env: ResizeObservation(image_of(env), (4, 0)), ValueError, r"must be at least 1, got 0"),
        (
            lambda env: AddRenderObservation(AddRenderObservation(env, False, height=4, width=4), False),
            ValueError,
            r"render_key='pixels' is a key of .* already; choose another",
        ),
    ],
)
def test_wrong_arguments_are_refused(build, error, message):
    with pytest.raises(error, match=message):
        build(CartPole())


def image_of(env):
    return PixelObservation(env, 8, 8)


def test_an_environment_without_a_scene_is_refused():
    with pytest.raises(TypeError, match="AddRenderObservation needs an environment that draws itself, and Counter"):
        AddRenderObservation(Counter())
