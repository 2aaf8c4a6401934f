"""`reset` and `step` are composed from the six functions, and refuse results of the wrong kind."""

import decimal
import functools
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.envs import CartPole
from funcenv.spaces import Box, Discrete
from funcenv.wrappers import TimeAwareObservation, TimeLimit
from tests.support.tiny_envs import Tiny


class CountState(funcenv.PyTreeNode):
    count: jax.Array
    noise: jax.Array


class Count(Tiny):
    """An environment that draws in all three functions with a key, and returns Python scalars where it can."""

    observation_space = Box(-jnp.inf, jnp.inf, (2,))
    action_space = Discrete(3)

    def initial(self, key):
        return CountState(count=0, noise=jax.random.normal(key))

    def transition(self, state, action, key):
        return CountState(count=state.count + action, noise=jax.random.normal(key))

    def observation(self, state, key):
        return jnp.stack([state.count.astype(jnp.float32), jax.random.normal(key)])

    def reward(self, state, action, next_state):
        return 0.5

    def terminal(self, state):
        return state.count >= 4

    def state_info(self, state):
        return {"noise": state.noise}

    def transition_info(self, state, action, next_state):
        return {"moved": action != 0}


def test_reset_and_step_have_one_structure_and_no_weak_types():
    env = Count()
    state, first = env.reset(funcenv.key(0))
    next_state, second = env.step(state, jnp.int32(1), funcenv.key(1))
    for before, after in zip(jax.tree.leaves((state, first)), jax.tree.leaves((next_state, second)), strict=True):
        assert (before.shape, before.dtype, before.weak_type) == (after.shape, after.dtype, after.weak_type)
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert not any(leaf.weak_type for leaf in jax.tree.leaves((state, first)))


def test_an_environment_defines_six_functions_and_two_spaces_and_the_rest_has_defaults():
    contract = {"initial", "transition", "observation", "reward", "terminal", "truncated"}
    contract |= {"observation_space", "action_space"}
    composed = {"reset", "step", "observe"}
    optional = {"state_info", "transition_info", "initial_after", "stateful_attributes", "unwrapped"}
    own = {name for name in vars(funcenv.FuncEnv) if not name.startswith("_")}
    assert own - {"replace"} == contract | composed | optional
    env = Count()
    traits = env.fixed_start, env.differentiable, env.calls_host, env.remembers, env.reward_range
    assert traits == (False, None, False, False, (-np.inf, np.inf))
    assert env.stateful_attributes == {} and env.unwrapped is env
    assert (env.render_fps, env.action_names, env.get_keys_to_action(), env.image_size) == (30, (), {}, None)


def test_reset_has_no_reward_and_ends_nothing():
    _, timestep = Count().reset(funcenv.key(0))
    assert timestep.reward == 0 and not timestep.terminated and not timestep.truncated and not timestep.info["moved"]


def test_every_function_gets_a_key_of_its_own():
    env = Count()
    state, timestep = env.reset(funcenv.key(0))
    next_state, next_timestep = env.step(state, jnp.int32(1), funcenv.key(0))
    draws = [state.noise, timestep.observation[1], next_timestep.observation[1]]
    assert state.noise != timestep.observation[1]
    assert next_state.noise != next_timestep.observation[1]
    assert len({float(draw) for draw in draws}) >= 2


def test_observe_repeats_the_observation_of_the_call_with_that_key():
    env, key = Count(), funcenv.key(3)
    state, timestep = env.reset(key)
    np.testing.assert_array_equal(env.observe(state, key).observation, timestep.observation)
    state, timestep = env.step(state, jnp.int32(2), key)
    again = env.observe(state, key)
    np.testing.assert_array_equal(again.observation, timestep.observation)
    assert again.reward == 0


def test_step_compiles_once():
    env, traces = Count(), []

    @jax.jit
    def step(state, action, key):
        traces.append(1)
        return env.step(state, action, key)

    state, _ = jax.jit(env.reset)(funcenv.key(0))
    for i in range(5):
        state, _ = step(state, jnp.int32(1), funcenv.key(i))
    assert len(traces) == 1


def test_parameters_can_be_batched_and_differentiated():
    gravities = jnp.array([1.6, 9.8, 20.0])
    envs = jax.vmap(lambda gravity: CartPole(gravity=gravity))(gravities)
    state, _ = CartPole().reset(funcenv.key(0))
    states = jax.vmap(lambda env: env.transition(state, 1, funcenv.key(0)))(envs)
    for i, gravity in enumerate(gravities):
        alone = CartPole(gravity=float(gravity)).transition(state, 1, funcenv.key(0))
        np.testing.assert_allclose(states.theta_dot[i], alone.theta_dot, rtol=1e-6)

    slope = jax.grad(lambda env: env.transition(state, 1, funcenv.key(0)).theta_dot)(
        jax.tree.map(jnp.float32, CartPole())
    )
    assert jnp.isfinite(slope.gravity) and slope.gravity != 0


def test_legacy_keys_are_refused():
    with pytest.raises(TypeError, match="typed key"):
        Count().reset(jnp.zeros(2, jnp.uint32))


def test_reset_and_step_cannot_be_overridden():
    with pytest.raises(TypeError, match="must not be overridden"):

        class Bad(funcenv.FuncEnv):
            def step(self, state, action, key):
                return state


@pytest.mark.parametrize(
    ("name", "value", "error", "message"),
    [
        ("reward", jnp.zeros(1), ValueError, "reward must return a scalar"),
        ("terminal", jnp.zeros((), jnp.float32), TypeError, "terminal must return a bool"),
        ("truncated", 1, TypeError, "truncated must return a bool"),
    ],
)
def test_outputs_of_the_wrong_kind_are_named(name, value, error, message):
    bad = type("Bad", (Count,), {name: lambda self, *arguments: value})()
    state, _ = Count().reset(funcenv.key(0))
    with pytest.raises(error, match=message):
        bad.step(state, jnp.int32(0), funcenv.key(0))


def test_missing_functions_say_what_to_define():
    env = funcenv.FuncEnv()
    for call in (lambda: env.initial(funcenv.key(0)), lambda: env.terminal(None), lambda: env.action_space):
        with pytest.raises(NotImplementedError, match="must define"):
            call()
    with pytest.raises(NotImplementedError, match=r"define scene\(state\)"):
        env.scene(None)


@pytest.mark.parametrize(
    "make",
    [
        CartPole,
        lambda **wrong: funcenv.make("CartPole-v1", **wrong),
        lambda **wrong: funcenv.make("CartPole-v1").replace(**wrong),
        lambda **wrong: adapters.make("CartPole-v1", **wrong),
        lambda **wrong: adapters.make_vec("CartPole-v1", 4, **wrong),
    ],
    ids=["class", "make", "replace", "adapters.make", "make_vec"],
)
def test_a_parameter_that_is_no_number_is_refused_however_it_is_set(make):
    with pytest.raises(ValueError, match="gravity of CartPole must be a number, got 'x'"):
        make(gravity="x")
    with pytest.raises(ValueError, match="sutton_barto_reward of CartPole must be True or False, got 'no'"):
        make(sutton_barto_reward="no")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "must be a number, got None"),
        (1j, "must be a real number, got 1j"),
        (np.complex64(1), "must be a real number, got "),
        (jnp.ones((), jnp.complex64), "must be a real number, got "),
        (decimal.Decimal(1), r"must be a number, got Decimal\('1'\); write float\(Decimal\('1'\)\)"),
        (abs, "must be a number, got <built-in function abs>"),
        (np.array(["low"]), "must be a number, got array"),
        (10**40, "must be an integer of 32 bits or a float, got 1000.*; write float"),
        (2**31, "must be an integer of 32 bits or a float, got 2147483648"),
        (-(2**31) - 1, "must be an integer of 32 bits or a float, got -2147483649"),
        (np.int64(2**31), "must be an integer of 32 bits or a float"),
        (np.array([1, 2**40]), "must be an integer of 32 bits or a float"),
        (-1e200, r"must lie within 3.4e\+38 of 0, got -1e\+200; write float"),
        (np.array([1, 1e40]), r"must lie within 3.4e\+38 of 0"),
    ],
)
def test_a_parameter_is_a_real_number_that_jax_can_hold(value, message):
    for make in (CartPole, CartPole().replace):
        with pytest.raises(ValueError, match=f"^gravity of CartPole {message}"):
            make(gravity=value)


def test_the_largest_integers_and_all_that_jax_puts_in_place_of_numbers_are_parameters():
    numbers = (2**31 - 1, -(2**31), 3.4e38, np.float64(1), np.ones(3), jnp.ones(()))
    for value in (*numbers, jax.ShapeDtypeStruct((), "float32")):
        assert CartPole(gravity=value).replace(length=1).gravity is value
    assert jax.jit(lambda gravity: CartPole(gravity=gravity).gravity)(2.0) == 2.0
    with jax.enable_x64(True):
        assert CartPole(gravity=2**40).gravity == 2**40 and CartPole(gravity=1e200).gravity == 1e200
        with pytest.raises(ValueError, match="gravity of CartPole must be an integer of 64 bits or a float"):
            CartPole(gravity=2**63)


@pytest.mark.parametrize("value", [None, 1, 0.0, "yes", [True], np.ones(1, bool)])
def test_a_flag_of_an_environment_or_wrapper_is_true_or_false(value):
    for make, name in (
        (CartPole, "sutton_barto_reward of CartPole"),
        (functools.partial(funcenv.make, "FrozenLake-v1"), "is_slippery of FrozenLake"),
        (functools.partial(TimeAwareObservation, TimeLimit(CartPole(), 3)), "normalize_time of TimeAwareObservation"),
    ):
        with pytest.raises(ValueError, match=f"{name} must be True or False, got "):
            make(**{name.partition(" ")[0]: value})
    assert CartPole(sutton_barto_reward=np.True_).sutton_barto_reward


def test_a_list_is_no_array():
    with pytest.raises(ValueError, match=r"must be a number or an array, got \[9.8, 1.6\]; write jnp.array\(\[9.8"):
        CartPole([9.8, 1.6])
    assert str(inspect.signature(CartPole)).startswith("(gravity: 'float' = 9.8, masscart")


@pytest.mark.parametrize("make", [functools.partial(funcenv.make, "CartPole-v1"), CartPole])
def test_a_step_of_a_batch_says_that_it_is_one(make):
    batch = make(gravity=jnp.array([9.8, 1.6]))
    state, _ = batch.reset(funcenv.key(0))
    with pytest.raises(ValueError, match="stack arrays|same shape") as caught:  # JAX's words depend on its version
        batch.step(state, 0, funcenv.key(1))
    note = (
        "this environment is a batch of 2, because its gravity has the shape (2,); step it with FuncVectorEnv(env, nu"
    )
    assert any(one.startswith(note) for one in caught.value.__notes__)
    single = CartPole()
    with pytest.raises(TypeError) as caught:
        single.step(0)
    assert not any("batch" in one for one in caught.value.__notes__)


def test_repr_is_one_line_with_what_differs_from_the_defaults():
    assert repr(CartPole()) == "CartPole()"
    assert repr(CartPole(gravity=1.6)) == "CartPole(gravity=1.6)"
    assert repr(TimeLimit(CartPole(gravity=jnp.float32(1.5)), 3)) == (
        "TimeLimit(env=CartPole(gravity=1.5), max_episode_steps=3)"
    )
    assert repr(CartPole(gravity=np.linspace(1, 2, 8))) == "CartPole(gravity=float64[8])"
    assert "gravity=float32[]" in jax.eval_shape(lambda env: env, CartPole()).__repr__()
