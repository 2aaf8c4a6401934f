"""Names and habits of other libraries: the message says what takes their place here.

The rows are mistakes that users of gymnax, brax, PureJaxRL, Gymnasium and Stable Baselines3 ask about.
"""

import jax
import jax.numpy as jnp
import pytest

import funcenv
from funcenv import adapters, hints, spaces, wrappers
from funcenv.envs import CartPole, FrozenLake
from funcenv.train import dqn, ppo
from tests.support.tiny_envs import Tiny


class Windy(Tiny):
    """An environment whose parameter lacks an annotation."""

    wind = 0.5


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
    # rollouts
    (lambda: funcenv.rollout(vector(), funcenv.key(0), POLICY, 2), TypeError, "the policy before the key"),
    (lambda: funcenv.rollout(vector(), lambda o, k: (0, 0.5), funcenv.key(0), 2), TypeError, "the action alone"),
    # constructors and settings
    (lambda: Windy(wind=1.0), TypeError, "wind: float = ..."),
    (lambda: CartPole(gravty=1.0), TypeError, "did you mean gravity?"),
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
    (lambda: funcenv.gymnasium, AttributeError, "from funcenv.adapters import"),
    (lambda: funcenv.evaluate_policy, AttributeError, "funcenv.evaluate(env, policy"),
    (lambda: funcenv.envs.Cartpole, AttributeError, "did you mean CartPole?"),
    (lambda: wrappers.LogWrapper, AttributeError, "write EpisodeStatistics"),
    (lambda: wrappers.FrameStack, AttributeError, "write FrameStackObservation"),
    (lambda: wrappers.VecNormalize, AttributeError, "NormalizeReward"),
    (lambda: wrappers.VmapWrapper, AttributeError, "funcenv.FuncVectorEnv"),
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
    for package, names in ((funcenv, hints.OF_PACKAGE), (wrappers, hints.OF_WRAPPERS), (funcenv.train, hints.OF_TRAIN)):
        assert not set(names) & set(package.__all__)


def test_the_error_of_a_property_is_not_hidden():
    class Broken(Tiny):
        @property
        def action_space(self):
            return self.nothing

    with pytest.raises(AttributeError, match="Broken has no attribute 'nothing'"):
        Broken().action_space  # noqa: B018
