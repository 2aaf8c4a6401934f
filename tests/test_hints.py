"""Names and habits of other libraries: the message says what takes their place here.

The rows are mistakes that users of gymnax, brax, PureJaxRL, Gymnasium and Stable Baselines3 ask about.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import adapters, hints, spaces, wrappers
from funcenv.envs import CartPole, FrozenLake
from funcenv.scene import palette
from funcenv.train import dqn, ppo
from tests.support.tiny_envs import Tiny


class Windy(Tiny):
    """An environment whose parameter lacks an annotation."""

    wind = 0.5


class ByHand(Tiny):
    """An environment whose constructor assigns, as Gymnasium's do."""

    def __init__(self, wind):
        self.wind = wind


class Model:
    """A model of Stable Baselines3."""

    def predict(self, observation):
        return 0, None


class Network:
    """A module of flax, without its parameters."""

    def apply(self, params, observation):
        return observation


def env():
    return CartPole()


def state():
    return env().reset(funcenv.key(0))[0]


def timestep():
    return env().reset(funcenv.key(0))[1]


def vector():
    return funcenv.FuncVectorEnv(env(), 2)


def unpacked(values):
    observation, reward, terminated, truncated, info = values
    return observation


def batch_of_states():
    return jax.vmap(CartPole().reset)(jax.random.split(funcenv.key(0), 3))[0]


def trajectory():
    return funcenv.rollout(vector(), POLICY, funcenv.key(0), 2)[1]


def stateful(id="CartPole-v1"):
    env = adapters.make(id)
    env.reset(seed=0)
    return env


def stateful_vector():
    envs = adapters.make_vec("CartPole-v1", 2)
    envs.reset(seed=0)
    return envs


POLICY = funcenv.random_policy(CartPole())

TABLE = [
    # functional environments, as if they were those of Gymnasium, gymnax or brax
    (lambda: env().render(), AttributeError, "funcenv.record"),
    (lambda: env().close(), AttributeError, "funcenv.adapters.make(id)"),
    (lambda: env().seed(3), AttributeError, "env.reset(funcenv.key(seed))"),
    (lambda: env().metadata, AttributeError, "funcenv.adapters.make(id)"),
    (lambda: env().default_params, AttributeError, "env.replace(name=...)"),
    (lambda: env().step_env, AttributeError, "env.step(state, action, key)"),
    (lambda: env().reset_env, AttributeError, "env.reset(key)"),
    (lambda: env().num_actions, AttributeError, "env.action_space.n"),
    (lambda: env().observation_size, AttributeError, "env.observation_space.shape"),
    (lambda: env().num_envs, AttributeError, "FuncVectorEnv"),
    (lambda: env().gravty, AttributeError, "did you mean gravity?"),
    (lambda: funcenv.make("CartPole-v1").render(), AttributeError, "funcenv.record"),
    (lambda: env().action_space(None), TypeError, "properties without parameters"),
    (lambda: env().action_space.sample(), TypeError, "space.sample(funcenv.key(0))"),
    (lambda: env().action_space.seed(0), AttributeError, "space.sample(funcenv.key(0))"),
    (lambda: env().observation_space.n, AttributeError, "a Box has a shape"),
    (lambda: env().step(funcenv.key(0), state(), 0), TypeError, "env.step(state, action, key)"),
    (lambda: env().step(env().reset(funcenv.key(0)), 0, funcenv.key(1)), TypeError, "state, timestep = env.reset(key)"),
    (lambda: env().reset(3), TypeError, "Write funcenv.key(3)"),
    (lambda: unpacked(timestep()), TypeError, "timestep.observation, timestep.reward"),
    (lambda: timestep().obs, AttributeError, "timestep.observation"),
    (lambda: timestep().discount, AttributeError, "timestep.terminated"),
    (lambda: state().obs, AttributeError, "state, timestep = env.reset(key)"),
    (lambda: state().done, AttributeError, "state, timestep = env.reset(key)"),
    (lambda: vector().action_space, AttributeError, "single_action_space"),
    (lambda: vector().observation_space, AttributeError, "single_observation_space"),
    (lambda: vector().close(), AttributeError, "funcenv.adapters.make_vec"),
    (lambda: CartPole().step(vector().reset(funcenv.key(0))[0], 0, funcenv.key(1)), TypeError, "venv.step"),
    (lambda: CartPole().step(batch_of_states(), 0, funcenv.key(1)), ValueError, "jax.vmap or a FuncVectorEnv"),
    (lambda: funcenv.make("CartPole-v1").step(state(), 0, funcenv.key(1)), AttributeError, "with the same wrappers"),
    (lambda: timestep()["reward"], TypeError, "write .reward"),
    (lambda: batch_of_states()[0], TypeError, "jax.tree.map(lambda leaf: leaf[0], ...)"),
    (lambda: env().reset(np.random.default_rng(0)), TypeError, "Write funcenv.key(seed)"),
    # rollouts
    (lambda: trajectory().reward, AttributeError, "trajectory.timestep.reward"),
    (lambda: trajectory().obs, AttributeError, "trajectory.timestep.observation"),
    (lambda: trajectory().next_obs, AttributeError, "trajectory.timestep.final_observation"),
    (lambda: funcenv.evaluate(env(), POLICY, funcenv.key(0), 10), TypeError, "num_episodes before the key"),
    (lambda: funcenv.rollout(vector(), POLICY, 10, funcenv.key(0)), TypeError, "the key before num_steps"),
    (lambda: funcenv.evaluate(env(), "runs/first", 10, funcenv.key(0)), TypeError, "load_policy('runs/first')"),
    (lambda: funcenv.evaluate(env(), Model(), 10, funcenv.key(0)), TypeError, "funcenv.adapters.gymnasium"),
    (lambda: funcenv.evaluate(env(), Network(), 10, funcenv.key(0)), TypeError, "network.apply(params, observation)"),
    (lambda: funcenv.evaluate(stateful(), POLICY, 10, funcenv.key(0)), TypeError, "get_wrapper_attr('func_env')"),
    (lambda: funcenv.rollout(vector(), lambda o, k: [0], funcenv.key(0), 2), TypeError, "jnp.array"),
    (lambda: funcenv.rollout(vector(), funcenv.key(0), POLICY, 2), TypeError, "the policy before the key"),
    (lambda: funcenv.rollout(vector(), lambda o, k: (0, 0.5), funcenv.key(0), 2), TypeError, "the action alone"),
    # constructors and settings
    (lambda: Windy(wind=1.0), TypeError, "wind: float = ..."),
    (lambda: CartPole(gravty=1.0), TypeError, "did you mean gravity?"),
    (lambda: ByHand(0.5), AttributeError, "wind: float = ..."),
    (lambda: funcenv.FuncVectorEnv(env()), TypeError, "funcenv.FuncVectorEnv(env, num_envs)"),
    (lambda: funcenv.make("CartPole-v1", "human"), TypeError, "render_mode=..."),
    (lambda: funcenv.make("CartPole-v1", max_steps_in_episode=100), TypeError, "write max_episode_steps"),
    (lambda: funcenv.make("CartPole-v1", episode_length=100), TypeError, "write max_episode_steps"),
    (lambda: funcenv.make("CartPole-v1", auto_reset=True), TypeError, "resets by itself"),
    (lambda: funcenv.make("CartPole-v1", seed=3), TypeError, "env.reset(funcenv.key(seed))"),
    (lambda: funcenv.make(CartPole), TypeError, "build it as CartPole()"),
    (lambda: wrappers.FrameStackObservation(env(), num_stack=4), TypeError, "stack_size"),
    (lambda: jax.vmap(lambda on: FrozenLake(is_slippery=on))(jnp.arange(2) > 0), ValueError, "outside of vmap and jit"),
    (lambda: jax.vmap(lambda name: FrozenLake(map_name=name))(jnp.arange(2)), ValueError, "outside of vmap and jit"),
    (lambda: ppo.Config(lr=1e-3), TypeError, "did you mean learning_rate?"),
    (lambda: ppo.Config(n_steps=8), TypeError, "did you mean num_steps?"),
    (lambda: ppo.Config(ent_coef=0.1), TypeError, "did you mean entropy_coefficient?"),
    (lambda: ppo.Config(NUM_ENVS=4), TypeError, "did you mean num_envs?"),
    (lambda: ppo.Config(batch_size=4), TypeError, "did you mean num_minibatches?"),
    (lambda: dqn.Config(batch_size=4), TypeError, "did you mean minibatch_size?"),
    (lambda: dqn.Config(exploration_fraction=0.1), TypeError, "did you mean epsilon_fraction?"),
    # names of the package
    (lambda: funcenv.make_vec("CartPole-v1", 2), AttributeError, "funcenv.adapters.make_vec"),
    (lambda: funcenv.train("CartPole-v1"), TypeError, "run.start(ppo.Config(env_id=...), folder)"),
    (lambda: funcenv.train.PPO, AttributeError, "modules in small letters"),
    (lambda: funcenv.CartPole, AttributeError, "funcenv.envs.CartPole"),
    (lambda: funcenv.TimeLimit, AttributeError, "funcenv.wrappers.TimeLimit"),
    (lambda: ppo.train, AttributeError, "run.start(ppo.Config(env_id=...), folder)"),
    (lambda: ppo.make_train, AttributeError, "run.start(ppo.Config(env_id=...), folder)"),
    (lambda: funcenv.create, AttributeError, "write funcenv.make(id)"),
    (lambda: funcenv.envs.get_environment, AttributeError, "write funcenv.make(id)"),
    (lambda: funcenv.vmap, AttributeError, "jax.vmap(env.step)"),
    (lambda: funcenv.gymnasium, AttributeError, "from funcenv.adapters import"),
    (lambda: funcenv.evaluate_policy, AttributeError, "funcenv.evaluate(env, policy"),
    (lambda: funcenv.envs.Cartpole, AttributeError, "did you mean CartPole?"),
    (lambda: wrappers.LogWrapper, AttributeError, "write EpisodeStatistics"),
    (lambda: wrappers.FrameStack, AttributeError, "write FrameStackObservation"),
    (lambda: wrappers.VecNormalize, AttributeError, "NormalizeReward"),
    (lambda: wrappers.VmapWrapper, AttributeError, "funcenv.FuncVectorEnv"),
    (lambda: palette.GRASS, AttributeError, "write LEAF"),
    (lambda: palette.CRIMSON, AttributeError, "the colours are: PAPER, "),
    (lambda: spaces.Descrete, AttributeError, "did you mean Discrete?"),
    # ids
    (lambda: funcenv.make("Breakout-MinAtar"), ValueError, "MinAtar/Breakout-v1 is that game"),
    (lambda: funcenv.make("Catch-bsuite"), ValueError, "'gymnax/Catch-bsuite'"),
    (lambda: funcenv.make("halfcheetah"), ValueError, "did you mean HalfCheetah-v5? 'brax/halfcheetah'"),
    (lambda: funcenv.make("Craftax-Symbolic-v1"), ValueError, "'craftax/Craftax-Symbolic-v1'"),
    (lambda: funcenv.make("Snake-v1"), ValueError, "'jumanji/Snake-v1'"),
    (lambda: funcenv.make("CartPole-v1", num_envs=4), TypeError, "funcenv.FuncVectorEnv(env, num_envs)"),
    (lambda: funcenv.register("hints/Pole-v0", CartPole()), TypeError, "register(id, CartPole)"),
    # stateful environments
    (lambda: adapters.make("CartPole-v1").reset(funcenv.key(0)), TypeError, "env.reset(seed=0)"),
    (lambda: adapters.make("CartPole-v1", autoreset=True), TypeError, "make_vec"),
    (lambda: adapters.make("CartPole-v1", new_step_api=True), TypeError, "funcenv.adapters.gym"),
    (lambda: adapters.make_vec("CartPole-v1", 2, asynchronous=True), TypeError, "vectorization_mode"),
    (lambda: stateful().gravty, AttributeError, "did you mean gravity?"),
    (lambda: stateful().render(mode="human"), TypeError, "render_mode='human'"),
    (lambda: stateful().step((np.int64(0), None)), ValueError, "pass the action alone"),
    (lambda: stateful().step(np.array([1])), ValueError, "write int(action[0])"),
    (lambda: stateful("Pendulum-v1").step(0.5), ValueError, "np.reshape(action, (1,))"),
    (lambda: stateful("Pendulum-v1").step(np.zeros((3, 1))), ValueError, "pass one row, action[0]"),
    (lambda: jax.jit(stateful().step)(0), TypeError, "inside jax.jit"),
    (lambda: jax.jit(stateful("Pendulum-v1").step)(jnp.zeros(1)), TypeError, "inside jax.jit"),
    (lambda: jax.jit(lambda: stateful().reset(seed=0))(), TypeError, "inside jax.jit"),
    (lambda: stateful_vector().step(np.zeros((2, 1), int)), ValueError, "np.reshape(action, (2,))"),
    (lambda: stateful_vector().seed(3), AttributeError, "envs.reset(seed=0)"),
    (lambda: stateful_vector().env_method, AttributeError, "call"),
    (lambda: adapters.AsyncVectorEnv, AttributeError, "funcenv.adapters.make_vec"),
    (lambda: adapters.vector.VectorEnvWrapper, AttributeError, "write VectorWrapper"),
    (lambda: adapters.vector.make, AttributeError, "funcenv.adapters.make_vec"),
    (lambda: adapters.wrappers.FrameStack, AttributeError, "write FrameStackObservation"),
    (lambda: adapters.wrappers.Monitor, AttributeError, "write RecordEpisodeStatistics"),
    (lambda: adapters.wrappers.GrayScaleObservation, AttributeError, "write GrayscaleObservation"),
]


@pytest.mark.parametrize(("call", "error", "remedy"), TABLE)
def test_a_mistake_is_told_its_remedy(call, error, remedy):
    with pytest.raises(error) as caught:
        call()
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert remedy in message, message


@pytest.mark.parametrize("owner", [CartPole(), funcenv.FuncVectorEnv(CartPole(), 2), spaces.Discrete(2)])
def test_hints_are_for_names_that_are_missing(owner):
    for names in (hints.OF_ENV, hints.OF_VECTOR_ENV, hints.OF_SPACE):
        assert all(not hasattr(owner, name) or name in dir(owner) for name in names)


def test_no_hint_is_for_a_name_that_its_package_has():
    for package, names in (
        (funcenv, hints.OF_PACKAGE),
        (wrappers, hints.OF_WRAPPERS),
        (funcenv.train, hints.OF_TRAIN),
        (adapters, hints.OF_ADAPTERS),
        (adapters.vector, hints.OF_ADAPTERS_VECTOR),
        (adapters.wrappers, hints.OF_ADAPTERS_WRAPPERS),
    ):
        assert not set(names) & set(package.__all__)


def test_the_error_of_a_property_is_not_hidden():
    class Broken(Tiny):
        @property
        def action_space(self):
            return self.nothing

    with pytest.raises(AttributeError, match="Broken has no attribute 'nothing'"):
        Broken().action_space  # noqa: B018
