"""Images as observations: the encoder is a convolution, and every algorithm learns from images."""

import dataclasses

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.scene import Camera, Rectangle, Scene
from funcenv.spaces import Box, Discrete
from funcenv.train import dqn, ppo, pqn, recurrent_ppo, reinforce, sac, simba, td3, tqc
from funcenv.train.agents.features import Views, channels_last, is_board, is_image
from funcenv.train.agents.hyperspherical import HypersphericalTorso
from funcenv.train.agents.networks import BoardEncoder, ImageEncoder
from funcenv.train.loop import Learner
from funcenv.wrappers import (
    FrameStackObservation,
    GrayscaleObservation,
    PixelObservation,
    RepeatAction,
    ResizeObservation,
)
from tests.support.rotation import rotated
from tests.support.tiny_envs import Tiny
from tests.support.training import learned


def test_which_spaces_hold_images():
    assert is_image(Box(0, 255, (8, 8), np.uint8))
    assert is_image(Box(0, 255, (2, 8, 8, 3), np.uint8))
    assert not is_image(Box(0, 255, (8,), np.uint8))
    assert not is_image(Box(0, 1, (8, 8), np.float32))
    assert not is_image(Discrete(3))


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 3), (2, 5, 6), (2, 5, 6, 3)])
def test_channels_are_colours_of_frames(shape):
    image = np.arange(np.prod(shape)).reshape(shape).astype(np.uint8)
    channels = channels_last(jnp.asarray(image))
    assert channels.shape[:2] == (5, 6)
    frames = image.reshape(-1, 5, 6, 3) if shape[-1] == 3 else image.reshape(-1, 5, 6, 1)
    np.testing.assert_array_equal(channels, np.concatenate(list(frames), axis=-1))


@pytest.mark.parametrize(("height", "width"), [(12, 18), (10, 17)])
def test_the_encoder_is_a_convolution_with_strides(height, width):
    """Compare with flax's own convolution, with the same weights, padded with zeros at the right and bottom."""
    image = np.random.default_rng(0).integers(0, 256, (3, height, width, 2)).astype(np.uint8)
    encoder = ImageEncoder(patch_sizes=(3, 2), patch_channels=(4, 5))
    ours, params = encoder.init_with_output(jax.random.key(0), jnp.asarray(image))
    x = jnp.asarray(image / 255, jnp.float32)
    for number, (size, channels) in enumerate(((3, 4), (2, 5))):
        layer = params["params"][f"Dense_{number}"]
        kernel = layer["kernel"].reshape(size, size, x.shape[-1], channels)
        fill = [(0, -x.shape[1] % size), (0, -x.shape[2] % size)]
        convolution = nn.Conv(channels, (size, size), strides=size, padding=fill)
        x = nn.relu(convolution.apply({"params": {"kernel": kernel, "bias": layer["bias"]}}, x))
    np.testing.assert_allclose(ours, x.reshape(3, -1), rtol=1e-4, atol=1e-5)


def test_which_spaces_hold_boards():
    assert is_board(Box(False, True, (8, 8, 119), bool))
    assert not is_board(Box(False, True, (8, 8), bool))
    assert not is_board(Box(0, 1, (8, 8, 119), np.int8))
    assert not is_board(Discrete(3))


@pytest.mark.parametrize("strides", [(1, 1), (2, 1), (1, 2)])
def test_the_encoder_of_boards_is_a_convolution_with_windows_that_overlap(strides):
    """Compare with flax's own convolution, with the same weights, padded with a ring of zeros."""
    board = np.random.default_rng(0).random((3, 7, 10, 4)) < 0.3
    encoder = BoardEncoder(channels=(4, 5), strides=strides)
    ours, params = encoder.init_with_output(jax.random.key(0), jnp.asarray(board))
    x = jnp.asarray(board, jnp.float32)
    for number, (channels, stride) in enumerate(zip((4, 5), strides, strict=True)):
        layer = params["params"][f"Dense_{number}"]
        kernel = layer["kernel"].reshape(3, 3, x.shape[-1], channels)
        convolution = nn.Conv(channels, (3, 3), strides=stride, padding=((1, 1), (1, 1)))
        x = nn.relu(convolution.apply({"params": {"kernel": kernel, "bias": layer["bias"]}}, x))
    np.testing.assert_allclose(ours, x.reshape(3, -1), rtol=1e-4, atol=1e-5)


def test_boards_reach_a_convolution_unless_there_is_none():
    """A network has the encoder that the observations call for, and without channels boards are vectors."""
    config = ppo.Config(env_id="MinAtar/Breakout-v1", num_envs=2, num_steps=4, num_minibatches=1, total_timesteps=8)
    assert isinstance(config.make_network(config.make_env()).encoder, BoardEncoder)
    flat = dataclasses.replace(config, board_channels=(), board_strides=())
    shapes = {
        name: {leaf.shape for leaf in jax.tree.leaves(Learner(ppo, one).init(jax.random.key(0)).network.params)}
        for name, one in {"board": config, "flat": flat}.items()
    }
    assert (1, 9 * 4, 16) in shapes["board"] and (1, 5 * 5 * 16, 64) in shapes["board"]
    assert (1, 10 * 10 * 4, 64) in shapes["flat"]


def test_every_convolution_of_boards_has_a_stride():
    with pytest.raises(ValueError, match="board_channels and board_strides must have one number"):
        ppo.Config(env_id="MinAtar/Breakout-v1", board_channels=(16, 32))


class Side(Tiny):
    """A black square on the left or on the right, which the action must name."""

    is_continuous: bool = funcenv.field(pytree_node=False, default=False)
    observation_space = Box(0, 1, ())

    @property
    def action_space(self):
        return Box(-1.0, 1.0, (1,)) if self.is_continuous else Discrete(2)

    def initial(self, key):
        return jax.random.bernoulli(key).astype(jnp.float32)

    def transition(self, state, action, key):
        return self.initial(key)

    def observation(self, state, key):
        return jnp.zeros((), jnp.float32)

    def reward(self, state, action, next_state):
        if self.is_continuous:
            return 0.5 + action[0] * (state - 0.5)
        return (action == state.astype(jnp.int32)).astype(jnp.float32)

    def scene(self, state):
        return Scene(Camera((0.0, 0.0), 2.0, 2.0), (Rectangle((state - 0.5, 0.0), (0.8, 0.8), (0.0, 0.0, 0.0, 1.0)),))


def make_side(frames, is_continuous):
    return FrameStackObservation(PixelObservation(Side(is_continuous), 8, 8, grayscale=True), frames)


def make_image(grayscale):
    return PixelObservation(Side(False), 16, 24, grayscale=grayscale)


SIDE, CONTINUOUS, PLAIN = "test/Side-v0", "test/SideContinuous-v0", "test/SidePlain-v0"
COLOURED, GREY = "test/SideColoured-v0", "test/SideGrey-v0"
funcenv.register(PLAIN, Side, max_episode_steps=8)
for env_id in (COLOURED, GREY):
    funcenv.register(env_id, make_image, kwargs={"grayscale": env_id == GREY}, max_episode_steps=8)
for env_id in (SIDE, CONTINUOUS):
    kwargs = {"frames": 2, "is_continuous": env_id == CONTINUOUS}
    funcenv.register(env_id, make_side, kwargs=kwargs, max_episode_steps=8)

CONFIG = ppo.Config(
    env_id="test/Side-v0",
    num_envs=16,
    num_steps=16,
    total_timesteps=256 * 12,
    num_seeds=2,
    hidden_sizes=(16,),
    activation="relu",
    patch_sizes=(4,),
    patch_channels=(4,),
    learning_rate=5e-3,
    gamma=0.5,
    normalize_reward=False,
)


@pytest.mark.dear
def test_ppo_learns_from_the_image():
    """Learn to get 8; an agent without the image gets 4."""
    learner = Learner(ppo, CONFIG)
    state, metrics = learner.advance(learner.init(funcenv.key(0)), CONFIG.num_updates)
    assert metrics["mean_return"][0].max() < 5.5
    assert metrics["mean_return"][-1].min() > 7.0
    agent = learner.agent(state)
    evaluation = funcenv.evaluate(learner.env, agent, 8, funcenv.key(1))
    assert evaluation.episode_return.mean() == 8
    observation = learner.env.reset(funcenv.key(0))[1].observation
    both = agent.policy_and_value(agent.features(observation))
    np.testing.assert_allclose(both[1], agent.value(agent.features(observation)), rtol=1e-5)
    np.testing.assert_allclose(both[0].logits, agent.policy(agent.features(observation)).logits, rtol=1e-5)


@pytest.mark.parametrize("env_id", [COLOURED, GREY])
def test_the_images_of_an_environment_are_resized_and_not_drawn_again(env_id):
    env = dataclasses.replace(CONFIG, env_id=env_id, pixels=8).make_env()
    shown = funcenv.make(env_id)
    grey = shown if env_id == GREY else GrayscaleObservation(shown)
    expected = FrameStackObservation(ResizeObservation(grey, (8, 8)), 2)
    assert env.observation_space == expected.observation_space
    observations = [made.reset(funcenv.key(3))[1].observation for made in (env, expected)]
    np.testing.assert_array_equal(*observations)


def test_actions_are_repeated_on_request():
    env = dataclasses.replace(CONFIG, env_id=PLAIN, action_repeat=4).make_env()
    played = []
    for made in (env, RepeatAction(funcenv.make(PLAIN), 4)):
        first, _ = made.reset(funcenv.key(3))
        second, before = made.step(first, jnp.int32(1), funcenv.key(4))
        _, after = made.step(second, jnp.int32(1), funcenv.key(5))
        played.append([before.reward, before.truncated, after.truncated])
    assert played[0] == played[1]
    assert played[0][0] > 1 and played[0][1:] == [False, True]  # a time limit of eight steps of the environment
    with pytest.raises(ValueError, match="action_repeat must be at least 1, got 0"):
        dataclasses.replace(CONFIG, action_repeat=0)


def test_every_environment_with_a_scene_is_observed_by_images_on_request():
    config = dataclasses.replace(CONFIG, env_id=PLAIN, pixels=8)
    drawn, wrapped = config.make_env(), make_side(2, False)
    assert drawn.observation_space == wrapped.observation_space
    state, timestep = drawn.reset(funcenv.key(3))
    np.testing.assert_array_equal(timestep.observation, wrapped.reset(funcenv.key(3))[1].observation)
    assert dataclasses.replace(config, frames=3).make_env().observation_space.shape == (3, 8, 8)
    assert dataclasses.replace(config, pixels=0).make_env().observation_space.shape == ()
    with pytest.raises(ValueError, match="pixels must be at least 0, got -1"):
        dataclasses.replace(config, pixels=-1)
    with pytest.raises(ValueError, match="frames"):
        dataclasses.replace(config, frames=0)


def flattened(tree):
    """Return the leaves of a tree with their paths."""
    return [(jax.tree_util.keystr(path), np.asarray(leaf)) for path, leaf in jax.tree_util.tree_leaves_with_path(tree)]


IMAGES = {"hidden_sizes": (16,), "activation": "relu", "patch_sizes": (4,), "patch_channels": (4,), "gamma": 0.5}
ON_POLICY = IMAGES | {"env_id": SIDE, "num_envs": 16, "num_steps": 16, "learning_rate": 1e-2}
OFF_POLICY = {"num_steps": 2, "buffer_size": 2048, "minibatch_size": 64, "learning_starts": 128, "n_step": 1}
OFF_POLICY |= IMAGES | {"num_envs": 16, "learning_rate": 1e-2, "target_rate": 0.1, "total_timesteps": 32 * 80}
TD3 = {"hidden_sizes": (64,), "learning_rate": 1e-3, "total_timesteps": 32 * 160}
HYPERSPHERICAL = "funcenv.train.agents.actor_critics:make_hyperspherical_actor_critics"
CONFIGS = {
    "dqn": dqn.Config(env_id=SIDE, **OFF_POLICY),
    "pqn": pqn.Config(**ON_POLICY, total_timesteps=256 * 12),
    "recurrent_ppo": recurrent_ppo.Config(**ON_POLICY, memory_size=8, total_timesteps=256 * 12),
    "reinforce": reinforce.Config(**ON_POLICY, total_timesteps=256 * 60),
    "sac": sac.Config(env_id=CONTINUOUS, **OFF_POLICY),
    "simba": simba.Config(env_id=CONTINUOUS, **OFF_POLICY, residual_width=16),
    "simba, hyperspherical": simba.Config(env_id=CONTINUOUS, **OFF_POLICY, residual_width=16, network=HYPERSPHERICAL),
    "tqc": tqc.Config(env_id=CONTINUOUS, **OFF_POLICY),
    "td3": td3.Config(env_id=CONTINUOUS, **OFF_POLICY | TD3, policy_delay=1),
}


@pytest.mark.parametrize("algorithm", rotated(CONFIGS, ("pqn",)))
def test_every_algorithm_learns_from_the_image(algorithm):
    """Learn to get 8; an agent without the image gets 4."""
    state, mean_return = learned(algorithm.partition(",")[0], CONFIGS[algorithm])
    assert mean_return > 7
    if hasattr(state, "buffer"):  # images are kept as they are, in a byte each
        assert state.buffer.steps.observation.dtype == state.buffer.steps.next_observation.dtype == np.uint8


def test_simba_compresses_what_networks_see_of_the_environment_and_no_actions():
    config = simba.Config(env_id="Pendulum-v1", critic_observation="state", hidden_sizes=(8,), residual_width=8)
    plain = dataclasses.replace(config, network="funcenv.train.agents.actor_critics:make_categorical_actor_critics")
    env = config.make_env()
    networks, others = config.make_network(env), plain.make_network(env)
    features = Views(jnp.array([[-100.0, 0.0, 0.5]]), jnp.array([[30.0, -0.1]]))
    logarithms = Views(*(jnp.sign(one) * jnp.log(1 + jnp.abs(one)) for one in features))
    inputs, seen = (features, jnp.array([[0.9]])), (logarithms, jnp.array([[0.9]]))
    actor = networks.actor.init(jax.random.key(0), features)
    critics = networks.critics.init(jax.random.key(1), *inputs)
    found = networks.actor.apply(actor, features).mean, networks.critics.apply(critics, *inputs)
    expected = others.actor.apply(actor, logarithms).mean, others.critics.apply(critics, *seen)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)
    assert not np.allclose(found[1], others.critics.apply(critics, *inputs))


def test_weights_of_hyperspherical_networks_keep_their_length():
    """Check those of each output before and after a run, in which all parameters change."""
    config = simba.Config(
        **OFF_POLICY | {"total_timesteps": 32 * 10},
        env_id="Pendulum-v1",
        network=HYPERSPHERICAL,
        residual_width=8,
    )
    learner = Learner("simba", config)
    first = learner.init(funcenv.key(0))
    last, _ = learner.advance(first, config.num_updates)
    for model in (first.learned, last.learned):
        for part in (model.actor, model.critics):
            kernels = [leaf for path, leaf in flattened(part.params) if path.endswith("['unit_kernel']")]
            assert len(kernels) >= 5
            for kernel in kernels:
                np.testing.assert_allclose(np.linalg.norm(kernel, axis=-2), 1, rtol=1e-5)
    for before, after in zip(flattened(first.learned.critics), flattened(last.learned.critics), strict=True):
        assert (before[1] != after[1]).any(), before[0]


def test_hyperspherical_networks_see_vectors_of_length_one():
    """A network that adds no element to its features would not tell their size."""
    torso, inputs = HypersphericalTorso(8, (16,)), jnp.array([[0.1, -0.2], [10.0, -20.0]])
    x, params = torso.init_with_output(jax.random.key(0), inputs)
    np.testing.assert_allclose(jnp.linalg.norm(x, axis=-1), 1, rtol=1e-5)
    assert np.abs(x[0] - x[1]).max() > 0.1
    blocks = params["params"]
    kernels = {name: jax.tree.map(lambda leaf: 3 * leaf, layer) for name, layer in blocks.items() if "Dense" in name}
    np.testing.assert_allclose(torso.apply({"params": blocks | kernels}, inputs), x, rtol=1e-5)


def test_hyperspherical_networks_consist_of_residual_blocks():
    with pytest.raises(ValueError, match="residual_width must be at least 1, got 0"):
        simba.Config(env_id="Pendulum-v1", network=HYPERSPHERICAL, residual_width=0).make_network(make_side(2, False))


def test_images_can_be_normalized():
    learner = Learner(ppo, dataclasses.replace(CONFIG, normalize_observation=True, num_seeds=1))
    state, metrics = learner.advance(learner.init(funcenv.key(0)), 2)
    assert state.observation_moments.mean.shape == (1, 8, 8, 2)
    assert np.isfinite(metrics["loss"]).all()


def test_patch_sizes_and_channels_must_match():
    with pytest.raises(ValueError, match=r"one number for each convolution, got \(7, 3\) and \(16,\)"):
        ppo.Config(patch_channels=(16,))
