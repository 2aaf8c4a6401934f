"""What holds for every registered environment, whoever wrote it."""

import pickle
import re

import jax
import jax.numpy as jnp
import numpy as np

import funcenv
from funcenv.checker import find_problems
from funcenv.vector import call_key

NUM_ENVS, NUM_STEPS = 3, 15
HEADINGS = ("Observation", "Action", "Reward", "Termination", "Initial state")


def test_checker_finds_nothing(stack):
    findings = find_problems(stack(), funcenv.key(0))
    assert findings == [], "\n".join(map(str, findings))


def test_two_builds_are_one_program(stack):
    """Registered parameters are values: jit finds the program that it compiled for an equal environment."""
    first, second = stack(), stack()
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert pickle.loads(pickle.dumps(first.observation_space)) == second.observation_space
    assert pickle.loads(pickle.dumps(first.action_space)) == second.action_space


def test_autoreset(made):
    """Every row of a vector environment lives the life of a single one, through the ends of its episodes."""
    env = _short(made())
    env_keys = jax.random.split(funcenv.key(0), NUM_ENVS)
    actions, timesteps = _in_a_batch(env, env_keys)
    row = NUM_ENVS - 1
    keys = jax.vmap(call_key, in_axes=(None, 0))(env_keys[row], jnp.arange(2 * NUM_STEPS + 1, dtype=jnp.uint32))

    (state, _), count = _reset(env, keys[0]), 1
    for number in range(NUM_STEPS):
        state, expected = _step(env, state, _at(actions, number, row), keys[count])
        count += 1
        observation = expected.observation
        if expected.done:
            state, fresh = _reset(env, keys[count])
            count += 1
            observation = fresh.observation
        seen = _at(timesteps, number, row)
        jax.tree.map(_assert_same, seen.observation, observation)
        jax.tree.map(_assert_same, seen.final_observation, expected.observation)
        jax.tree.map(_assert_same, seen.final_info, expected.info)
        _assert_same(seen.reward, expected.reward)
        assert (seen.terminated, seen.truncated) == (expected.terminated, expected.truncated)
    assert timesteps.done.any()


def test_states_can_be_stored(made):
    """An episode goes on from a pickled state as if nothing had happened."""
    env = _short(made())
    state, _ = _reset(env, funcenv.key(1))
    action = jax.jit(env.action_space.sample)(funcenv.key(2))
    first, second = (
        _step(env, origin, action, funcenv.key(3)) for origin in (state, pickle.loads(pickle.dumps(state)))
    )
    assert jax.tree.structure(first) == jax.tree.structure(second)
    jax.tree.map(np.testing.assert_array_equal, first, second)


def _short(env):
    """With a time limit at which every few steps an episode ends."""
    return funcenv.wrappers.TimeLimit(env.unwrapped, 5)


@jax.jit
def _in_a_batch(env, env_keys):
    venv = funcenv.FuncVectorEnv(env, NUM_ENVS)
    action_keys = jax.random.split(env_keys[0], (NUM_STEPS, NUM_ENVS))
    actions = jax.vmap(jax.vmap(env.action_space.sample))(action_keys)
    vstate, _ = venv.reset(env_keys)
    return actions, jax.lax.scan(venv.step, vstate, actions)[1]


@jax.jit
def _reset(env, key):
    return env.reset(key)


@jax.jit
def _step(env, state, action, key):
    return env.step(state, action, key)


def _at(tree, number, row):
    return jax.tree.map(lambda leaf: leaf[number, row], tree)


def _assert_same(seen, expected):
    assert seen.dtype == expected.dtype
    np.testing.assert_allclose(seen, expected, rtol=1e-4, atol=1e-5)


def test_documented(env_id):
    """The class says what it shows, takes, pays, and how it begins and ends, as its spaces and its spec do."""
    env = funcenv.make(env_id).unwrapped
    sections = _sections(type(env).__doc__)
    assert set(HEADINGS) <= sections.keys(), f"{type(env).__name__} needs the headings {', '.join(HEADINGS)}"
    _assert_declares(sections["Observation"], env.observation_space, env_id)
    if isinstance(env.action_space, funcenv.spaces.Discrete):
        members = range(env.action_space.start, env.action_space.start + env.action_space.n)
        missing = [member for member in members if not re.search(rf"(?<![\w.-]){member}(?![\w.])", sections["Action"])]
        assert not missing or "nything else" in sections["Action"], (
            f"the Action section of {env_id} does not say what {missing} do"
        )
    else:
        _assert_declares(sections["Action"], env.action_space, env_id)


def test_documented_limit(env_id):
    """Where a docstring says after how many steps an id is truncated, the id is."""
    text = " ".join(type(funcenv.make(env_id).unwrapped).__doc__.split())
    for limit in re.findall(rf"`{env_id}` is truncated after (\d+) steps", text):
        assert int(limit) == funcenv.spec(env_id).max_episode_steps


def _sections(docstring):
    """The text under each heading: `Heading: text`, indented as the docstring is, up to the next empty line."""
    found = re.findall(r"^    (\w[\w ]*): (.*?)\n\s*\n", docstring, re.M | re.S)
    return {heading: " ".join(text.split()) for heading, text in found}


def _assert_declares(section, space, env_id):
    """Dtype and shape of every leaf of a space, as in "float32 `[4]`"."""
    for leaf in jax.tree.leaves(jax.eval_shape(space.sample, funcenv.key(0))):
        kind = f"{leaf.dtype} `{list(leaf.shape)}`"
        assert kind in section, f"{space} of {env_id} holds {kind}, but its docstring says: {section}"
