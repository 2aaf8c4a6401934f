"""The contract of every registered environment."""

import functools
import pickle
import re

import jax
import numpy as np

import funcenv
from funcenv.checker import find_problems
from tests.support import environments
from tests.support.recording import HALF, NUM_ENVS

HEADINGS = ("Observation", "Action", "Reward", "Termination", "Initial state")


def test_tracing_finds_nothing(case):
    """Key reuse, strict promotion, 64 bits, kinds that scan can carry, parameters in batches, the scene, pickling."""
    _assert_no_findings(case, run=False)


def test_checker_finds_nothing(compiled_case):
    """All of that, and: compiled as called plainly, batched as alone, pure, members of the spaces, finite gradients."""
    _assert_no_findings(compiled_case, run=True)


def _assert_no_findings(case, run):
    findings = find_problems(case.build(), funcenv.key(0), run=run)
    assert findings == [], "\n".join(map(str, findings))


DIFFERENTIABLE = {"CartPole-v0", "CartPole-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Acrobot-v1"}
DIFFERENTIABLE |= {"Pendulum-v1", "GoalReacher-v0"}


def test_gradients_are_declared_where_they_were():
    """The checker tries the gradients that are declared, and finds nothing where a declaration is gone."""
    assert {id for id in environments.ids() if environments.bare(id).differentiable} == DIFFERENTIABLE


def test_two_builds_are_one_program(case):
    """Registered parameters are values: jit finds the program that it compiled for an equal environment."""
    first, second = case.build(), case.build()
    assert jax.tree.structure(first) == jax.tree.structure(second)
    assert pickle.loads(pickle.dumps(first.observation_space)) == second.observation_space
    assert pickle.loads(pickle.dumps(first.action_space)) == second.action_space


def test_an_environment_lives_alike_in_a_batch_and_alone(recording, request):
    """This includes the ends of its episodes."""
    row = NUM_ENVS - 1
    is_heavy = environments.is_heavy(request.node.callspec.params["recording"])
    close = functools.partial(_assert_close, atol=CONTACT_TOLERANCE if is_heavy else 1e-5)
    alone = jax.tree.map(lambda *halves: np.concatenate(halves), *recording.halves)
    seen = jax.tree.map(lambda leaf: leaf[:, row], recording.timesteps)
    assert seen.done.sum() > 10
    jax.tree.map(close, seen.observation, alone.observation)
    jax.tree.map(close, seen.final_observation, alone.timestep.observation)
    jax.tree.map(close, seen.final_info, alone.timestep.info)
    for name in ("reward", "terminated", "truncated"):
        close(getattr(seen, name), getattr(alone.timestep, name))


CONTACT_TOLERANCE = 5e-3  # contacts of rigid bodies amplify rounding, which the two programs do differently
# As a part of all levels of pictures. CarRacing draws positions of 200 m that differ by up to 0.3 mm.
MAX_ROUNDED_LEVELS, MAX_MOVED_LEVELS = 1e-5, 1e-4
# As a part of all numbers: a touch may begin or end a step earlier in one program, and then they part until the episode
# ends. It is rounding: without fused multiply-add (--xla_cpu_max_isa=AVX) the two programs agree in every bit.
MAX_PARTED = 0.03


def _assert_close(seen, expected, atol):
    assert seen.dtype == expected.dtype
    if seen.dtype == np.uint8:  # a level of a picture may be rounded up in one program and down in another
        differences = np.abs(np.int16(seen) - np.int16(expected))
        limit = MAX_MOVED_LEVELS if atol == CONTACT_TOLERANCE else MAX_ROUNDED_LEVELS
        assert differences.max() <= 1 and differences.mean() <= limit
    else:
        parted = ~np.isclose(seen, expected, rtol=1e-4, atol=atol, equal_nan=True)
        assert parted.mean() <= (MAX_PARTED if atol == CONTACT_TOLERANCE else 0), np.argwhere(parted)[:5]


def test_equal_keys_give_equal_bits(recording):
    jax.tree.map(np.testing.assert_array_equal, (recording.first, recording.timesteps), recording.again)


def test_keys_tell_environments_apart(recording):
    """Some leaf of an observation, an info or an action differs between two environments of the batch."""
    seen = jax.tree.leaves((recording.timesteps, recording.actions))
    assert any((leaf[:, 0] != leaf[:, 1]).any() for leaf in seen)


def test_observations_are_members_and_numbers_are_finite(recording):
    for half in recording.halves:
        assert half.is_inside.all()
        floats = [leaf for leaf in jax.tree.leaves(half) if leaf.dtype.kind == "f"]
        assert all(np.isfinite(leaf).all() for leaf in floats)


def test_an_episode_resumes_from_a_pickled_state(recording):
    """The second half of the run is the same bit for bit, whether its first state was stored or not."""
    assert jax.tree.structure(recording.resumed) == jax.tree.structure(recording.halves[1])
    jax.tree.map(np.testing.assert_array_equal, recording.resumed, recording.halves[1])
    assert len(recording.resumed.timestep.reward) == HALF


def test_rewards_and_ends_of_a_goal_environment_are_those_of_its_goals(goal_env_id):
    """They are, for each step and for all of them at once; the goal of an episode never changes."""
    env = funcenv.make(goal_env_id).unwrapped
    venv = funcenv.FuncVectorEnv(env, NUM_ENVS)
    _, trajectory, _ = funcenv.rollout(venv, funcenv.random_policy(env), funcenv.key(0), num_steps=64)
    steps = trajectory.timestep
    goals = [steps.final_observation[name] for name in ("achieved_goal", "desired_goal")]
    for name, seen in [("reward", steps.reward), ("terminated", steps.terminated), ("truncated", steps.truncated)]:
        compute = getattr(env, f"compute_{name}")
        np.testing.assert_array_equal(jax.vmap(jax.vmap(compute))(*goals, steps.final_info), seen)
        np.testing.assert_array_equal(compute(*goals, steps.final_info), seen)
    np.testing.assert_array_equal(env.is_success(*goals), steps.final_info["is_success"])
    np.testing.assert_array_equal(steps.observation["desired_goal"][:-1], goals[1][1:])


def test_documented(env_id):
    """The class documents its observations, actions, rewards, terminations and first states, as its spaces are."""
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
    """An id is truncated after as many steps as the docstring says, if it says so."""
    text = " ".join(type(funcenv.make(env_id).unwrapped).__doc__.split())
    for limit in re.findall(rf"`{env_id}` is truncated after (\d+) steps", text):
        assert int(limit) == funcenv.spec(env_id).max_episode_steps


def _sections(docstring):
    """Return the text under each heading: `Heading: text`, indented as the docstring is, up to the next empty line."""
    found = re.findall(r"^    (\w[\w ]*): (.*?)\n\s*\n", docstring, re.M | re.S)
    return {heading: " ".join(text.split()) for heading, text in found}


def _assert_declares(section, space, env_id):
    """Assert that a section names the dtype and shape of every leaf of a space, as in "float32 `[4]`"."""
    for leaf in jax.tree.leaves(jax.eval_shape(space.sample, funcenv.key(0))):
        kind = f"{leaf.dtype} `{list(leaf.shape)}`"
        assert kind in section, f"{space} of {env_id} holds {kind}, but its docstring says: {section}"
