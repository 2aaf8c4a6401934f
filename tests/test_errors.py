"""Errors teach: each names the rule that was broken, the value that broke it, and the remedy.

The table provokes errors as users do. `tests/static/test_messages.py` checks the form of every message in the source.
"""

import pathlib
import re
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import adapters, checker, spaces, wrappers
from funcenv.envs import Acrobot, CartPole, FrozenLake, Pendulum, generate_random_map
from funcenv.train import presets, run
from funcenv.train.algorithms.ppo import Config
from tests.support.tiny_envs import Tiny

ROOT = pathlib.Path(__file__).parent.parent


class Line(Tiny):
    """What the broken ones below are made of."""

    def initial(self, key):
        return jax.random.normal(key, (), float)

    def transition(self, state, action, key):
        return state + 1

    def reward(self, state, action, next_state):
        return 1.0

    def terminal(self, state):
        return state > 3


class VectorReward(Line):
    def reward(self, state, action, next_state):
        return jnp.zeros(2)


class IntegerFlag(Line):
    def terminal(self, state):
        return jnp.where(state > 3, 1, 0)


class Unfinished(funcenv.FuncEnv):
    pass


def stepped(env):
    state, _ = env.reset(funcenv.key(0))
    return env.step(state, 0, funcenv.key(1))


def named_terminated():
    return types.new_class(
        "Boat", (funcenv.FuncEnv,), {}, lambda body: body.update(terminated=lambda self, state: False)
    )


def array_default():
    def define(body):
        body.update(weights=jnp.zeros(3), __annotations__={"weights": jax.Array})

    return types.new_class("Boat", (Line,), {}, define)


class Windy(Line):
    wind = 0.5


funcenv.register("test/Windy-v0", Windy)


def start(env):
    return env.reset(funcenv.key(0))[0]


def play(policy):
    return funcenv.rollout(vector(), policy, funcenv.key(0), 2)


def overridden():
    return types.new_class("Mine", (Line,), {}, lambda body: body.update(step=lambda self: None))


def cartpole():
    return CartPole()


def playing(**kwargs):
    env = adapters.make("CartPole-v1", **kwargs)
    env.reset(seed=0)
    return env


def ended():
    env = playing(max_episode_steps=1)
    env.step(0)
    return env


def closed():
    env = playing()
    env.close()
    return env


def vector(num_envs=3, **kwargs):
    return funcenv.FuncVectorEnv(cartpole(), num_envs, **kwargs)


def vstate(venv):
    return venv.reset(funcenv.key(0))[0]


def stateful_vector():
    envs = adapters.make_vec("CartPole-v1", num_envs=2)
    envs.reset(seed=0)
    return envs


POLICY = funcenv.random_policy(Line())

# What is called, the error, and what its message says: the rule, the value, the remedy. A rule that says what would be
# right ("must be at least 1") is the remedy, which is left out then.
TABLE = [
    # keys
    (lambda: Line().reset(jnp.zeros(2, "uint32")), TypeError, "must be a typed key", "uint32[2]", "wrap_key_data"),
    (lambda: funcenv.key(-1), ValueError, "must be a non-negative integer", "-1", ""),
    (lambda: funcenv.key(0.5), TypeError, "must be an integer", "0.5 of type float", ""),
    (lambda: Line().reset(np.float32), TypeError, "must be a typed key", "float32", "funcenv.key(0)"),
    # calls of stateful environments
    (lambda: stateful_vector().step([[0], [0, 1]]), ValueError, "must form one array", "[[0], [0, 1]]", ""),
    (
        lambda: adapters.make_vec("CartPole-v1", num_envs=1.5, vectorization_mode="sync"),
        TypeError,
        "num_envs must be an integer",
        "1.5",
        "",
    ),
    # environments and records
    (overridden, TypeError, "must not be overridden", "Mine.step", "override those"),
    (lambda: stepped(VectorReward()), ValueError, "must return a scalar", "shape (2,)", "index or sum it"),
    (lambda: stepped(IntegerFlag()), TypeError, "must return a bool", "int32", "return a comparison"),
    (lambda: Unfinished().initial(funcenv.key(0)), NotImplementedError, "must define", "Unfinished", "initial(key)"),
    (lambda: Unfinished().action_space, NotImplementedError, "must define", "Unfinished", "property action_space"),
    (lambda: CartPole().replace(gravty=1.0), TypeError, "has no field", "'gravty'", "did you mean gravity?"),
    # the registry
    (lambda: funcenv.make("CartPoel-v1"), ValueError, "no environment", "'CartPoel-v1'", "did you mean CartPole-v1"),
    (
        lambda: funcenv.make("CartPole-v7"),
        ValueError,
        "no environment",
        "'CartPole-v7'",
        "its versions are CartPole-v0",
    ),
    (lambda: funcenv.make("Taxi-v3"), ValueError, "is deprecated", "Taxi-v3", "use Taxi-v4"),
    (lambda: funcenv.make("CartPole-v1", gravty=1), TypeError, "unexpected", "'gravty'", "did you mean gravity"),
    (lambda: funcenv.make("Cart Pole"), ValueError, "has the form [namespace/]Name[-vN]", "'Cart Pole'", ""),
    (lambda: funcenv.spec(3), TypeError, "is a string such as 'CartPole-v1'", "got 3", ""),
    (lambda: funcenv.register("a/B-v0", "module"), ValueError, 'must be "module:attribute"', "'module'", ""),
    (lambda: funcenv.register("CartPole-v1", Line), ValueError, "already", "CartPole-v1", "choose another name"),
    (lambda: funcenv.EnvSpec("a/B-v0", Line).to_json(), TypeError, "no JSON form", "Line", 'as "module:attribute"'),
    (lambda: funcenv.EnvSpec.from_json("[]"), ValueError, "is an object with the fields id", "got []", ""),
    (
        lambda: funcenv.make("CartPole-v1", render_mode="human"),
        TypeError,
        "unexpected keyword argument",
        "'render_mode'",
        "adapters.make('CartPole-v1', render_mode=...)",
    ),
    (lambda: funcenv.make("Lunatic-v9"), ValueError, "no environment", "'Lunatic-v9'", "pprint_registry()"),
    # the habits of other libraries
    (lambda: Line().reset(seed=0), TypeError, "unexpected keyword argument", "'seed'", "env.reset(funcenv.key(0))"),
    (lambda: Line().reset(), TypeError, "missing 1 required", "'key'", "takes a seed is funcenv.adapters"),
    (lambda: Line().reset(0), TypeError, "a key must be a typed key", "got 0", "funcenv.key(0)"),
    (
        lambda: Line().step(0),
        TypeError,
        "missing 2 required",
        "'action' and 'key'",
        "env.step(state, action, funcenv.key",
    ),
    (
        lambda: Line().step(Line().reset(funcenv.key(0))[1], 0, funcenv.key(1)),
        TypeError,
        "step needs a state",
        "got a Timestep",
        "state, timestep = env.reset(key)",
    ),
    (lambda: Line().step(start(Line()), 0.5, funcenv.key(1)), TypeError, "is an integer", "got 0.5", "choose an index"),
    (
        lambda: Line().step(start(Line()), [1], funcenv.key(1)),
        ValueError,
        "has shape ()",
        "got shape (1,)",
        "one action",
    ),
    (lambda: funcenv.FuncVectorEnv("Ring-v1", 4), TypeError, "takes a FuncEnv", "'Ring-v1'", "make('Ring-v1')"),
    (lambda: funcenv.FuncVectorEnv(Line, 4), TypeError, "takes a FuncEnv", "got Line", "Line()"),
    (lambda: vector().reset(seed=0), TypeError, "unexpected keyword argument", "'seed'", "adapters.make_vec"),
    (
        lambda: vector().step(vector().reset(funcenv.key(0))[1], np.zeros(3, int)),
        TypeError,
        "step needs a vector state",
        "got a VectorTimestep",
        "return the state first",
    ),
    (
        lambda: vector().step(vstate(vector()), np.zeros(2, int)),
        ValueError,
        "num_envs=3",
        "(2,)",
        "along the first axis",
    ),
    (lambda: vector().step(vstate(vector()), np.zeros(3)), TypeError, "is an integer", "float", "choose an index"),
    (lambda: funcenv.rollout(Line(), POLICY, funcenv.key(0), 2), TypeError, "FuncVectorEnv", "Line", "num_envs=..."),
    (lambda: funcenv.evaluate(vector(), POLICY, 2, funcenv.key(0)), TypeError, "takes a FuncEnv", "Vector", "venv.env"),
    (lambda: play(lambda observation: 0), TypeError, "takes 1 positional", "", "policy(observation, key)"),
    (lambda: play(lambda observation, key: observation[:, 0]), IndexError, "", "float32[", "mapped over all of them"),
    (lambda: play(lambda observation, key: jnp.zeros(3, int)), ValueError, "has shape ()", "(3,)", "one action"),
    (lambda: Windy().replace(wind=1.0), TypeError, "no annotation", "'wind'", "wind: float = ..."),
    (lambda: funcenv.make("test/Windy-v0", wind=1.0), TypeError, "no annotation", "'wind'", "wind: float = ..."),
    (named_terminated, TypeError, "is never called", "Boat.terminated", "name it terminal"),
    (array_default, TypeError, "all instances would share", "Boat.weights", "default_factory=lambda: ..., ndim=1"),
    (
        lambda: setattr(CartPole(), "gravity", 1.6),
        AttributeError,
        "cannot be changed",
        "CartPole",
        "replace(gravity=...)",
    ),
    # vector environments and rollouts
    (lambda: vector(0), ValueError, "num_envs must be at least 1", "got 0", ""),
    (lambda: vector(2.5), TypeError, "num_envs must be an integer", "2.5", ""),
    (lambda: vector(autoreset_mode="same"), TypeError, "must be one of", "'same'", "AutoresetMode.SAME_STEP"),
    (lambda: vector().reset(), TypeError, "reset needs a key", "", "such as funcenv.key(0)"),
    (lambda: vector().reset(jax.random.split(funcenv.key(0), 2)), ValueError, "one key or 3", "shape (2,)", ""),
    (lambda: vector().reset(vstate=vstate(vector()), mask=np.ones(3)), TypeError, "must be a bool array", "float", ""),
    (lambda: vector().reset(vstate=vstate(vector()), mask=np.ones(2, bool)), ValueError, "shape (3,)", "(2,)", ""),
    (lambda: vector().reset(funcenv.key(0), mask=np.ones(3, bool)), TypeError, "needs vstate=", "mask", ""),
    (
        lambda: funcenv.FuncVectorEnv(CartPole(gravity=jnp.ones(2)), 3),
        ValueError,
        "one value for each of num_envs=3",
        "(2,)",
        "declare it with funcenv.field(ndim=...)",
    ),
    (lambda: funcenv.rollout(vector(), POLICY, funcenv.key(0), 0), ValueError, "num_steps must be", "got 0", ""),
    (lambda: funcenv.evaluate(Line(), POLICY, 0, funcenv.key(0)), ValueError, "num_episodes must be", "got 0", ""),
    # spaces
    (lambda: spaces.Box(1, 0, ()), ValueError, "low <= high", "low=1 and high=0", "swap them"),
    (lambda: spaces.Box(np.nan, 1, ()), ValueError, "must not be NaN", "low=nan", "-inf and inf leave a side open"),
    (lambda: spaces.Box(0, 300, (), np.uint8), ValueError, "holds 0 to 255", "300", "pass a wider dtype"),
    (lambda: spaces.Box([0, 0], 1, (3,)), ValueError, "broadcast to shape (3,)", "shape (2,)", "give one number"),
    (lambda: spaces.Discrete(0), ValueError, "n of Discrete must be at least 1", "got 0", ""),
    (
        lambda: spaces.Discrete(9, start=2**40),
        ValueError,
        "does not fit int32",
        "start=1099511627776",
        "pass a wider dtype",
    ),
    (lambda: spaces.MultiDiscrete([2, 0]), ValueError, "counts of at least 1", "[2 0]", ""),
    (
        lambda: spaces.Discrete(2).sample(funcenv.key(0), mask=np.zeros(2, np.int8)),
        ValueError,
        "must allow",
        "[0 0]",
        "None",
    ),
    (lambda: spaces.Discrete(2).sample(funcenv.key(0), mask=np.ones(3, np.int8)), ValueError, "shape (2,)", "(3,)", ""),
    (
        lambda: spaces.Discrete(2).sample(funcenv.key(0), probability=np.array([0.5, 0.2])),
        ValueError,
        "sum to 1",
        "[0.5 0.2]",
        "divide them by their sum",
    ),
    (lambda: spaces.Box(0, 1, ()).sample(funcenv.key(0), mask=1), ValueError, "neither mask", "Box", "leave them out"),
    (lambda: spaces.Text(3).pack("hello"), ValueError, "at most 3 characters", "'hello'", ""),
    (lambda: spaces.Tuple([3]), TypeError, "must be a funcenv space", "3", ""),
    (lambda: spaces.Discrete(2).union(spaces.Text(3)), TypeError, "differ in kind", "Discrete(2)", "a union needs"),
    (
        lambda: spaces.flatdim(spaces.Sequence(spaces.Discrete(2), 3)),
        ValueError,
        "not to a vector",
        "Sequence",
        "flatten the other parts",
    ),
    # wrappers
    (lambda: wrappers.TimeLimit(CartPole, 5), TypeError, "wraps an environment", "the class CartPole", "call it first"),
    (lambda: wrappers.TimeLimit(3, 5), TypeError, "wraps a FuncEnv", "int", "such as funcenv.make gives"),
    (lambda: wrappers.TimeLimit(cartpole(), 0), ValueError, "must be at least 1", "got 0", "leave the wrapper out"),
    (lambda: wrappers.TimeLimit(cartpole(), 0.5), TypeError, "must be an integer", "0.5", ""),
    (
        lambda: wrappers.TimeLimit(wrappers.Autoreset(cartpole()), 5),
        ValueError,
        "keeps a state for each episode",
        "Autoreset",
        "put Autoreset outside",
    ),
    (
        lambda: wrappers.TimeAwareObservation(cartpole()),
        ValueError,
        "needs a TimeLimit inside",
        "",
        "TimeLimit(env, 500)",
    ),
    (
        lambda: wrappers.RescaleAction(cartpole(), -1.0, 1.0),
        TypeError,
        "needs an environment whose action_space is a Box",
        "Discrete(2)",
        "",
    ),
    (
        lambda: wrappers.ClipReward(cartpole()),
        ValueError,
        "needs min_reward or max_reward",
        "neither",
        "leave the wrapper out",
    ),
    (lambda: wrappers.StickyAction(cartpole(), 1.5), ValueError, "at least 0 and below 1", "1.5", ""),
    (lambda: wrappers.ReshapeObservation(cartpole(), (3,)), ValueError, "must have 4 elements", "(3,)", ""),
    (
        lambda: wrappers.FilterObservation(cartpole(), ["x"]),
        TypeError,
        "needs a Dict or Tuple",
        "Box(",
        "use TransformObservation",
    ),
    (
        lambda: wrappers.MaxAndSkipObservation(cartpole(), 1),
        ValueError,
        "must be at least 2",
        "got 1",
        "leave the wrapper out",
    ),
    (lambda: wrappers.RandomizeParameters(cartpole(), 3), TypeError, "must be a function of a key", "got 3", ""),
    (
        lambda: wrappers.RandomizeParameters(cartpole(), lambda key, env: {}).reset(funcenv.key(0)),
        ValueError,
        "drew no parameter",
        "",
        "return a dict of them",
    ),
    # the environments
    (lambda: CartPole(length=-0.5), ValueError, "must be a finite number above 0", "length", ""),
    (lambda: CartPole(low=0.1, high=-0.1), ValueError, "low must not exceed high", "low=0.1 and high=-0.1", ""),
    (lambda: CartPole(kinematics_integrator="rk4"), ValueError, 'must be "euler" or "semi-implicit"', "'rk4'", ""),
    (lambda: Pendulum(x_init=-1.0), ValueError, "must be at least 0", "-1.0", "half-width"),
    (lambda: Acrobot(avail_torque=(1.0,)), ValueError, "must hold three torques", "(1.0,)", ""),
    (lambda: FrozenLake(map_name="16x16"), ValueError, "must be one of 4x4", "'16x16'", "pass other maps as desc"),
    (lambda: FrozenLake(desc=["SF", "G"]), ValueError, "must have the same length", "2 and 1 letters", ""),
    (lambda: FrozenLake(desc=["SX", "FG"]), ValueError, "holds the letters S (start)", "'X'", ""),
    (lambda: FrozenLake(success_rate=1.5), ValueError, "must lie in", "1.5", ""),
    (lambda: generate_random_map(size=1), ValueError, "a size of at least 2", "got 1", ""),
    # the stateful interface
    (lambda: adapters.make("CartPole-v1").step(0), adapters.ResetNeeded, "before the first step", "", "call reset()"),
    (lambda: ended().step(0), adapters.ResetNeeded, "after an episode's end", "", "call reset()"),
    (lambda: closed().step(0), adapters.ClosedEnvironment, "was closed", "", "make a new one"),
    (lambda: playing().step(7), ValueError, "Discrete(2)", "7", "sample"),
    (lambda: playing().reset(options={"gravty": 1}), ValueError, "not a parameter", "'gravty'", "it has: gravity"),
    (
        lambda: playing().set_wrapper_attr("gravity", "low"),
        ValueError,
        "gravity of CartPole must be a number",
        "'low'",
        "",
    ),
    (
        lambda: playing().set_wrapper_attr("total_mass", 1),
        AttributeError,
        "is not a parameter",
        "",
        "the parameters are",
    ),
    (lambda: adapters.make("CartPole-v1", "photo"), ValueError, "render_mode must be one of", "'photo'", ""),
    (lambda: adapters.make("CartPole-v1", np.array([])), ValueError, "render_mode must be one of", "array([]", ""),
    (
        lambda: adapters.make_vec("CartPole-v1", autoreset_mode=np.array(["a", "b"])),
        ValueError,
        "autoreset_mode must be one of",
        "array(['a', 'b']",
        "",
    ),
    (lambda: funcenv.make(":"), ValueError, "an environment id has the form [module:]", "':'", ""),
    (lambda: funcenv.make(":b"), ValueError, "an environment id has the form [module:]", "':b'", ""),
    (
        lambda: spaces.Sequence(spaces.Discrete(3), 4).pack((1, 2.5)),
        TypeError,
        "an item of Discrete(3) must have arrays of int32",
        "2.5 of float",
        "",
    ),
    (
        lambda: wrappers.AddWhiteNoise(wrappers.PixelObservation(cartpole(), 8, 8), spaces.Box(0, 1)),
        ValueError,
        "probability_of_noise_per_pixel of AddWhiteNoise must be a number",
        "Box(0.0, 1.0, (1,), float32)",
        "",
    ),
    (
        lambda: adapters.make_vec("CartPole-v1", output="list"),
        ValueError,
        "must be one of numpy, jax, torch",
        "'list'",
        "",
    ),
    (lambda: stateful_vector().step(np.array([0, 7])), ValueError, "Discrete(2)", "7", "single_action_space.sample()"),
    (lambda: stateful_vector().reset(seed=[1, 2, 3]), ValueError, "one for each of num_envs=2", "got 3", ""),
    (lambda: stateful_vector().step_wait(), RuntimeError, "nothing to wait for", "step_wait()", "call step_async"),
    (
        lambda: adapters.wrappers.OrderEnforcing(cartpole()),
        TypeError,
        "wraps a stateful Env",
        "CartPole",
        "FunctionalEnv(env)",
    ),
    (lambda: adapters.check_env(cartpole()), TypeError, "checks a stateful Env", "CartPole", "use check_func_env"),
    # the checker
    (
        lambda: checker.find_problems(3, funcenv.key(0)),
        TypeError,
        "takes a FuncEnv",
        "got 3",
        "build it first, as in funcenv.make(id)",
    ),
    (lambda: checker.run_check("CartPole"), ValueError, "names no environment", "'CartPole'", "module:EnvClass"),
    (lambda: checker.run_check("math:pi"), TypeError, "is not an environment", "3.14", "name a FuncEnv class"),
    # training
    (lambda: Config(num_minibatches=7), ValueError, "must divide num_envs * num_steps", "got 7", ""),
    (lambda: Config(total_timesteps=10), ValueError, "must be at least one batch", "got 10", ""),
    (lambda: Config(gamma=1.5), ValueError, "gamma must lie in [0, 1]", "1.5", ""),
    (lambda: Config(activation="sine"), ValueError, "must be one of tanh, relu", "'sine'", ""),
    (lambda: Config(seed=-1), ValueError, "seed must be", "-1", ""),
    (lambda: Config.from_json({"gama": 1}), ValueError, "has no setting", "'gama'", "written by another version"),
    (lambda: run.resume("/nowhere"), FileNotFoundError, "is not a run", "/nowhere", "name a folder"),
    (
        lambda: run.start(presets.preset("CartPole-v1"), ROOT),
        FileExistsError,
        "exists already",
        str(ROOT),
        "choose another",
    ),
]


@pytest.mark.parametrize(("call", "error", "rule", "value", "remedy"), TABLE)
def test_a_bad_call_is_told_the_rule_the_value_and_the_remedy(call, error, rule, value, remedy):
    with pytest.raises(error) as caught:
        call()
    message = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    for part in rule, value, remedy:
        assert part in message, message
    if not remedy:  # the rule says what would be right
        assert re.search(r"must|needs|takes|one|is a|has the form|holds|at (least|most)", message), message


def test_the_table_is_broad():
    assert len(TABLE) >= 60
    assert sum(bool(row[4]) for row in TABLE) >= 40


@pytest.mark.parametrize(
    ("arguments", "status", "parts"),
    [
        (["trian"], 2, ("there is no command 'trian'", "did you mean train?")),
        (["list", "CartPole-v1"], 2, ("unrecognized arguments", "CartPole-v1", "funcenv list --help")),
        (["check"], 2, ("check needs ENV", "funcenv check ENV ...")),
        (["evaluate"], 2, ("needs RUN, the folder of a run", "funcenv evaluate RUN")),
        (["train", "CartPoel-v1"], 1, ("'CartPoel-v1'", "did you mean CartPole-v1")),
    ],
)
def test_the_command_line_says_it_without_a_traceback(arguments, status, parts, capsys):
    from funcenv.cli import main

    assert main(arguments) == status
    said = capsys.readouterr().err
    assert said.startswith(f"funcenv {arguments[0]}: ") and "Traceback" not in said
    assert all(part in said for part in parts), said
