"""Scripts written for each version of old Gym, and the conversion of the results of `step`."""

import numpy as np
import pytest
from gymnasium.utils.step_api_compatibility import step_api_compatibility as reference

from funcenv import adapters, spaces
from funcenv.adapters import Space, StepCompatibility, step_api_compatibility


def trace_today(actions, seed):
    """Return the observations and rewards of the first episode with the current interface."""
    env = adapters.make("CartPole-v1", max_episode_steps=20)
    observation, _ = env.reset(seed=seed)
    rows = [observation.tolist()]
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        rows.append((observation.tolist(), reward, terminated or truncated))
        if terminated or truncated:
            return rows, truncated and not terminated
    raise AssertionError("the episode did not end")


SHORT, LONG = [1] * 25, [0, 1] * 15  # one falls, one is cut off


@pytest.mark.parametrize("actions", [SHORT, LONG])
def test_a_script_for_gym_021(actions):
    env = adapters.make("CartPole-v1", max_episode_steps=20, return_two_dones=False)
    seeds = env.seed(5)
    assert seeds == [5]
    obs = env.reset()
    rows, done, steps = [obs.tolist()], False, iter(actions)
    while not done:
        obs, reward, done, info = env.step(next(steps))
        rows.append((obs.tolist(), reward, done))
        assert ("TimeLimit.truncated" in info) == done
    env.close()
    expected, cut = trace_today(actions, 5)
    assert rows == expected and info["TimeLimit.truncated"] is cut is (actions is LONG)


def test_a_script_for_gym_025_with_two_flags():
    env = adapters.make("CartPole-v1", max_episode_steps=20, return_two_dones=True)
    obs, info = env.reset(seed=5, return_info=True)
    rows = [obs.tolist()]
    for action in LONG:
        obs, reward, terminated, truncated, info = env.step(action)
        assert "TimeLimit.truncated" not in info
        rows.append((obs.tolist(), reward, terminated or truncated))
        if terminated or truncated:
            break
    assert (terminated, truncated) == (False, True) and rows == trace_today(LONG, 5)[0]


def test_seed_is_for_the_next_reset_and_an_explicit_one_goes_first():
    env = StepCompatibility(adapters.make("CartPole-v1"))
    first = env.reset(seed=7).tolist()
    env.seed(7)
    assert env.reset().tolist() == first
    assert env.reset().tolist() != first  # the stream goes on
    env.seed(7)
    assert env.reset(seed=8).tolist() != first
    assert env.reset().tolist() != first  # and the earlier seed is forgotten
    (drawn,) = env.seed()
    again = env.reset().tolist()
    assert env.reset(seed=drawn).tolist() == again
    with pytest.raises(ValueError, match="non-negative"):
        env.seed(-1)


class Drawn(adapters.Env):
    """An environment with two render modes, whose `step` returns four values."""

    metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}
    action_space = observation_space = Space(spaces.Discrete(3))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place += 1
        return self.place, 0.5, self.place == 2, {"TimeLimit.truncated": True} if self.place == 2 else {}

    def render(self):
        return {"ansi": "x", "human": None}[self.render_mode]


def test_render_takes_a_mode():
    env = StepCompatibility(Drawn())
    env.reset()
    assert env.render(mode="ansi") == "x" and env.render("ansi") == "x" and env.render() is None
    assert env.render_mode is None  # the mode was for the call
    with pytest.raises(ValueError, match=r"mode must be one of \['ansi', 'human'\].* got 'rgb_array'"):
        env.render(mode="rgb_array")
    named = Drawn()
    named.render_mode = "ansi"
    assert StepCompatibility(named).render() == "x"


def test_old_code_of_ones_own_gets_two_flags():
    env = StepCompatibility(Drawn(), return_two_dones=True)
    env.reset()
    assert env.step(0) == (1, 0.5, False, False, {}) and env.step(0) == (2, 0.5, False, True, {})


@pytest.mark.parametrize("terminated", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
def test_one_environment_is_converted_as_by_gymnasium_and_back(terminated, truncated):
    new = (np.ones(2), 1.0, terminated, truncated, {"a": 1})
    old = step_api_compatibility(new, output_truncation_bool=False)
    assert new[4] == {"a": 1}  # Gymnasium changes it
    assert old == reference((new[0], 1.0, terminated, truncated, {"a": 1}), output_truncation_bool=False)
    assert step_api_compatibility(new) is new and step_api_compatibility(old, False) is old
    kept = dict(old[3])
    back = step_api_compatibility(old)
    assert old[3] == kept and back == reference((*old[:3], dict(kept)))
    assert back == (new[0], 1.0, terminated, truncated and not terminated, {"a": 1})


FLAGS = np.array([False, True, False, True]), np.array([False, False, True, True])


@pytest.mark.parametrize("as_list", [False, True])
@pytest.mark.parametrize("flags", [FLAGS, (np.zeros(4, bool),) * 2])
def test_a_batch_is_converted_as_by_gymnasium(flags, as_list):
    def info():
        return [{"n": i} for i in range(4)] if as_list else {"n": np.arange(4)}

    old = step_api_compatibility((np.ones(4), np.ones(4), *flags, info()), False, is_vector_env=True)
    np.testing.assert_equal(old, reference((np.ones(4), np.ones(4), *flags, info()), False, is_vector_env=True))
    kept = str(old)
    new = step_api_compatibility(old, True, is_vector_env=True)
    assert str(old) == kept
    np.testing.assert_equal(new, reference(old, True, is_vector_env=True))


def test_other_numbers_of_values_are_refused():
    with pytest.raises(ValueError, match="got 3"):
        step_api_compatibility((1, 2, 3))


def test_frames_are_listed_for_old_gym_too():
    env = adapters.make("CartPole-v1", "rgb_array_list", return_two_dones=False, render_width=60)
    env.reset()
    env.step(0)
    assert len(env.render()) == 2


class Ancient(adapters.Env):
    """An environment as people wrote them for Gym 0.21: it counts to a limit that a seed determines."""

    metadata = {"render.modes": ["ansi", "human"]}  # noqa: RUF012
    action_space = observation_space = Space(spaces.Discrete(9))
    limit = 3

    def seed(self, seed=None):
        self.limit = seed
        return [seed]

    def reset(self):
        self.place = 0
        return self.place

    def step(self, action):
        self.place += action
        return self.place, 1.0, self.place >= self.limit, {}

    def render(self, mode="human"):
        return f"{mode} {self.place}"


def test_an_environment_of_old_gym_keeps_its_interface():
    env = StepCompatibility(Ancient())
    assert env.reset() == 0 and env.step(2) == (2, 1.0, False, {}) and env.step(2)[:3] == (4, 1.0, True)
    assert env.reset(return_info=True) == (0, {})
    assert env.render(mode="ansi") == "ansi 0" and env.render() == "human 0"
    assert env.seed(5) == [5] and env.reset() == 0 and env.limit == 5
    assert env.reset(seed=7) == 0 and env.limit == 7
    with pytest.raises(TypeError, match="takes no options"):
        env.reset(options={"a": 1})
    two = StepCompatibility(Ancient(), return_two_dones=True)
    two.reset()
    assert two.step(3) == (3, 1.0, True, False, {})


def test_an_environment_that_cannot_be_seeded_is_named():
    class Fixed(Ancient):
        seed = None

    env = StepCompatibility(Fixed())
    assert env.reset() == 0
    with pytest.raises(TypeError, match="cannot be seeded; give it a method seed"):
        env.reset(seed=1)


def test_wrappers_keep_the_interface_of_old_gym(tmp_path):
    inner = adapters.make("CartPole-v1", "rgb_array", max_episode_steps=20, return_two_dones=False, render_width=32)
    wrapped = adapters.wrappers
    env = wrapped.RecordEpisodeStatistics(wrapped.RecordVideo(inner, tmp_path, step_trigger=lambda step: step == 0))
    env = wrapped.OrderEnforcing(wrapped.PassiveEnvChecker(env))
    env.seed(5)
    rows, done = [env.reset().tolist()], False
    while not done:
        observation, reward, done, info = env.step(1)
        rows.append((observation.tolist(), reward, done))
    env.close()
    assert rows == trace_today(SHORT, 5)[0]
    assert info["episode"]["l"] == len(rows) - 1 and not info["TimeLimit.truncated"]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("wrap", "expected"),
    [
        (lambda env: adapters.wrappers.RepeatAction(env, 3), (2, 1.0, True)),
        (lambda env: adapters.wrappers.MaxAndSkipObservation(env, 2), (2, 1.0, True)),
        (lambda env: adapters.wrappers.DelayObservation(env, 1), (0, 0.5, False)),
        (lambda env: adapters.wrappers.StickyAction(env, 0.5), (1, 0.5, False)),
        (adapters.wrappers.Autoreset, (1, 0.5, False)),
    ],
)
def test_a_wrapper_around_an_old_interface_has_it_too(wrap, expected):
    class Numbered(Drawn):
        observation_space = Space(spaces.Box(0, 3, (), np.int32))

    env = wrap(Numbered())
    env.reset(seed=0)
    assert env.step(0)[:3] == expected


def test_autoreset_around_an_old_interface():
    env = adapters.wrappers.Autoreset(Drawn())
    env.reset(seed=0)
    assert [env.step(0)[:3] for _ in range(4)] == [(1, 0.5, False), (2, 0.5, True), (0, 0.0, False), (1, 0.5, False)]
    assert adapters.wrappers.Autoreset(adapters.EnvCompatibility(Drawn())).reset(seed=0) == (0, {})
