"""Each check of a stateful environment, on an environment with exactly that fault."""

import copy
import sys
import warnings

import numpy as np
import pytest

import funcenv
from funcenv import adapters, spaces
from funcenv.adapters import EnvCheckError, Space, check_env
from tests.support import environments


class Good(adapters.Env):
    """An environment without faults; each environment below adds one."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}
    reward_range = (0.0, 1.0)

    def __init__(self, render_mode=None):
        self.action_space = Space(spaces.Box(-1, 1, (1,)))
        self.observation_space = Space(spaces.Dict(at=spaces.Box(-5, 5, (2,)), side=spaces.Discrete(2)))
        self.render_mode = render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 2)
        return self.look(), self.info()

    def step(self, action):
        self.place = np.clip(self.place + 0.1 * action + 0.1 * self.np_random.uniform(-1, 1, 2), -5, 5)
        return self.look(), self.pay(), False, False, self.info()

    def look(self):
        return {"at": self.place.astype(np.float32), "side": int(self.place[0] > 0)}

    def pay(self):
        return float(abs(self.place[0]) / 5)

    def info(self):
        return {"distance": np.abs(self.place)}

    def render(self):
        return f"at {self.place}"


def broken(**changes):
    """Return a `Good` with other attributes and methods."""
    return type("Broken", (Good,), changes)()


def with_spaces(action=None, observation=None):
    env = Good()
    if action is not None:
        env.action_space = action
    if observation is not None:
        env.observation_space = observation
    return env


def stepping(change):
    """Return a `Good` whose step returns something else."""
    return broken(step=lambda self, action: change(*Good.step(self, action)))


def resetting(change):
    def reset(self, *, seed=None, options=None):
        return change(*Good.reset(self, seed=seed, options=options))

    return broken(reset=reset)


def looking(change):
    """Return a `Good` with other observations."""
    return broken(look=lambda self: change(Good.look(self)))


def spoiled(space, name, value):
    """Return a space that was changed after it was made."""
    setattr(space, name, value)
    return Space(space)


class NoSuper(Good):
    def reset(self, *, seed=None, options=None):
        self._np_random = self._np_random or np.random.default_rng(0)
        self.place = np.zeros(2)
        return self.look(), {}


class NoGenerator(Good):
    def reset(self, *, seed=None, options=None):
        self.place = np.zeros(2)
        return self.look(), {}

    def step(self, action):
        return self.look(), 0.0, False, False, {}


class SameForAllSeeds(Good):
    def reset(self, *, seed=None, options=None):
        return super().reset(seed=None if seed is None else 1, options=options)


class OwnRandomness(Good):
    def reset(self, *, seed=None, options=None):
        started = super().reset(seed=seed, options=options)
        self.place = np.random.default_rng().uniform(-1, 1, 2)
        return self.look(), started[1]


class Counting(Good):
    """An environment whose results depend on the number of calls."""

    calls, what = 0, "info"

    def step(self, action):
        observation, reward, terminated, truncated, info = super().step(action)
        self.calls += 1
        if self.what == "info":
            info["calls"] = self.calls
        elif self.what == "reward":
            reward = self.calls / 1000
        elif self.what == "terminated":
            terminated = self.calls % 2 == 0
        elif self.what == "generator":
            self.np_random.random(self.calls)
        elif self.what == "observation":
            observation["at"][1] = np.float32(self.calls / 1000)
        elif self.what == "nearly":
            observation["at"][1] = np.float32(observation["at"][1] * (1 + self.calls * 2e-7))
        return observation, reward, terminated, truncated, info


def counting(what):
    return type("Counting", (Counting,), {"what": what})()


class SharedObservation(Good):
    def __init__(self):
        super().__init__()
        self.buffer = np.zeros(2, np.float32)

    def look(self):
        self.buffer[:] = self.place
        return {"at": self.buffer[:], "side": 0}


class SharedInfo(Good):
    kept = {"constant": [1, 2]}

    def info(self):
        return self.kept


class NoSeed(Good):
    def reset(self, *, options=None):
        return super().reset()


class NoOptions(Good):
    def reset(self, *, seed=None):
        return super().reset(seed=seed)


class NoSpaces(adapters.Env):
    pass


class NoObservationSpace(adapters.Env):
    action_space = Space(spaces.Discrete(2))


def take(name, value):
    return lambda observation: {**observation, name: value(observation[name])}


def read_only(array):
    array.flags.writeable = False
    return array


BOX, PARTS = spaces.Box(-1, 1, (2,)), spaces.Tuple([spaces.Discrete(2), spaces.Box(-5, 5, (2,))])

ERRORS = {
    "no action space": (NoSpaces(), "NoSpaces has no action_space; set it in __init__"),
    "no observation space": (NoObservationSpace(), "has no observation_space"),
    "no space at all": (with_spaces(observation=3), "observation_space must be a stateful space, got int"),
    "empty tuple": (with_spaces(observation=Space(spaces.Tuple([]))), "has an empty Tuple"),
    "empty dict": (with_spaces(observation=Space(spaces.Tuple([spaces.Dict()]))), "has an empty Dict"),
    "shape of low": (
        with_spaces(action=spoiled(spaces.Box(-1, 1, (2,)), "low", np.zeros(3))),
        r"low of action_space must have shape \(2,\)",
    ),
    "shape of high": (
        with_spaces(observation=spoiled(spaces.Box(-1, 1, (2,)), "high", np.zeros(3))),
        "high of observation_space must have shape",
    ),
    "low above high": (
        with_spaces(observation=spoiled(spaces.Box(-1, 1, (2,)), "low", np.full(2, 9))),
        "needs low <= high",
    ),
    "no members": (with_spaces(action=spoiled(spaces.Discrete(2), "n", 0)), "at least one member, got n=0"),
    "no members in one": (
        with_spaces(action=spoiled(spaces.MultiDiscrete([2, 3]), "nvec", np.array([2, 0]))),
        "at least one member, got nvec",
    ),
    "no elements": (with_spaces(action=spoiled(spaces.MultiBinary(2), "shape", (0,))), "at least one element"),
    "reset without seed": (
        NoSeed(),
        r"reset must take seed=; write def reset.self, \*, seed=None, options=None., or .* EnvCompatibility",
    ),
    "reset without options": (NoOptions(), "reset must take options="),
    "render modes": (broken(metadata={"render_modes": "ansi"}), "must be a list of strings, got 'ansi'"),
    "render modes that are numbers": (broken(metadata={"render_modes": [3]}), "must be a list of strings"),
    "render mode": (type("Odd", (Good,), {})("telepathy"), r"render_mode must be None or one of \['ansi'\]"),
    "frames a second": (broken(metadata={"render_modes": ["ansi"], "render_fps": 0}), "must be a number above 0"),
    "frames a second in words": (broken(metadata={"render_modes": ["ansi"], "render_fps": "4"}), "must be a number"),
    "reset gives an observation": (
        resetting(lambda observation, info: observation),
        "must return a tuple of observation and info, .*; return observation, info, or wrap",
    ),
    "reset gives three": (resetting(lambda observation, info: (observation, info, 0)), "must return a tuple of"),
    "reset without a dict": (resetting(lambda observation, info: (observation, [])), "info of reset.. must be a dict"),
    "first observation outside": (
        resetting(lambda observation, info: ({"at": np.full(2, 9, np.float32), "side": 0}, info)),
        "observation of reset.. is not in Dict",
    ),
    "no dict": (looking(lambda observation: list(observation.values())), "must be a dict"),
    "other keys": (looking(lambda observation: {"at": observation["at"]}), "must have the keys"),
    "no array": (looking(take("at", list)), "entry 'at' of the observation .* must be an array"),
    "other dtype": (looking(take("at", np.float64)), "must have the dtype of its space, float32, got float64"),
    "no int": (looking(take("side", float)), "entry 'side' .* must be an int"),
    "a bool for an int": (looking(take("side", bool)), "must be an int"),
    "read-only": (looking(take("at", read_only)), "is a read-only array"),
    "no tuple": (
        type("Listing", (Good,), {"look": lambda self: [0, self.place.astype(np.float32)]})(),
        "must be a tuple",
    ),
    "short tuple": (type("Short", (Good,), {"look": lambda self: (0,)})(), "must have 2 entries, got 1"),
    "no array of bits": (type("Bits", (Good,), {"look": lambda self: [0, 1]})(), "must be an array"),
    "no generator": (NoGenerator(), "made no generator; call super"),
    "seed ignored": (NoSuper(), "leaves np_random in one state|reset.seed=123. leave np_random"),
    "same for all seeds": (SameForAllSeeds(), "reset with two seeds leaves np_random in one state"),
    "own randomness": (OwnRandomness(), "the observations of two reset.seed=123. differ"),
    "step without a tuple": (stepping(lambda *result: list(result)), "step.. must return a tuple, got"),
    "step of old": (
        stepping(lambda o, r, d, t, i: (o, r, d, i)),
        "5 values, got 4: .*; return observation, reward, terminated, truncated, info, or .* EnvCompatibility",
    ),
    "step of three": (
        stepping(lambda o, r, d, t, i: (o, r, d)),
        "observation, reward, terminated, truncated and info, got 3 values",
    ),
    "step outside": (
        stepping(lambda o, r, d, t, i: ({"at": np.full(2, 9, np.float32), "side": 0}, r, d, t, i)),
        "the observation of step.. is not in Dict",
    ),
    "flag that is a number": (stepping(lambda o, r, d, t, i: (o, r, 0, t, i)), "terminated of step.. must be a bool"),
    "other flag": (stepping(lambda o, r, d, t, i: (o, r, d, None, i)), "truncated of step.. must be a bool"),
    "reward of words": (stepping(lambda o, r, d, t, i: (o, "1", d, t, i)), "reward of step.. must be a number"),
    "reward of arrays": (stepping(lambda o, r, d, t, i: (o, np.ones(1), d, t, i)), "must be a number, got ndarray"),
    "reward that is a flag": (stepping(lambda o, r, d, t, i: (o, True, d, t, i)), "must be a number"),
    "reward NaN": (broken(pay=lambda self: float("nan")), "must be finite, got nan"),
    "reward infinite": (broken(pay=lambda self: float("inf")), "must be finite, got inf"),
    "reward out of range": (broken(pay=lambda self: 1.5), r"must lie in reward_range, \(0.0, 1.0\), got 1.5"),
    "step without a dict": (stepping(lambda o, r, d, t, i: (o, r, d, t, None)), "info of step.. must be a dict"),
    "step observations differ": (counting("observation"), "observation of the same step .* differ"),
    "step rewards differ": (counting("reward"), "reward of the same step .* differ"),
    "step flags differ": (counting("terminated"), "terminated of the same step .* differ"),
    "step infos differ": (counting("info"), "info of the same step .* differ"),
    "step draws differ": (counting("generator"), "the same step leaves np_random in two states"),
    "observation used again": (SharedObservation(), "observation of reset.. and of step.. number 1 share memory"),
    "info used again": (SharedInfo(), "info of reset.. and of step.. number 1 share memory"),
}
ERRORS["no tuple"][0].observation_space = ERRORS["short tuple"][0].observation_space = Space(PARTS)
ERRORS["no array of bits"][0].observation_space = Space(spaces.MultiBinary(2))


@pytest.mark.parametrize("fault", ERRORS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_broken_rule_is_an_error(fault):
    env, message = ERRORS[fault]
    with pytest.raises(EnvCheckError, match=message):
        check_env(env)


class TakesReturnInfo(Good):
    def reset(self, *, seed=None, options=None, return_info=True):
        return super().reset(seed=seed, options=options)


class SeededByDefault(Good):
    def reset(self, *, seed=4, options=None):
        return super().reset(seed=seed, options=options)


ADVICE = {
    "wrapped": (adapters.Wrapper(Good()), "has wrappers, which may hide faults"),
    "old seed": (broken(seed=lambda self, seed: [seed]), "seed.. belongs to old Gym"),
    "old return_info": (TakesReturnInfo(), "return_info=.* belongs to old Gym"),
    "default seed": (SeededByDefault(), "is 4, so every episode is the same"),
    "one value": (with_spaces(action=Space(spaces.Box([-1, 0], [1, 0]))), "low == high"),
    "unbounded below": (with_spaces(action=Space(spaces.Box(-np.inf, 1, (1,)))), "unbounded below"),
    "unbounded above": (
        type("Far", (Good,), {"look": lambda self: np.zeros(1, np.float32)})(),
        "observation_space has elements that are unbounded above",
    ),
    "large actions": (with_spaces(action=Space(spaces.Box(-2, 2, (1,)))), "which learning code often assumes"),
    "lopsided actions": (with_spaces(action=Space(spaces.Box(-1, 0.5, (1,)))), "RescaleAction rescales it"),
    "no render modes": (broken(metadata={}), 'metadata has no "render_modes"'),
    "no frames a second": (broken(metadata={"render_modes": ["ansi"]}), 'no "render_fps"'),
    "numpy flag": (stepping(lambda o, r, d, t, i: (o, r, np.bool_(d), t, i)), "terminated of step.. is a numpy bool"),
    "truncated at once": (stepping(lambda o, r, d, t, i: (o, r, d, True, i)), "first step truncates the episode"),
    "nearly the same": (counting("nearly"), "observation of the same step .* similar, but not equal"),
}
ADVICE["unbounded above"][0].observation_space = Space(spaces.Box(0, np.inf, (1,)))


@pytest.mark.parametrize("fault", ADVICE)
@pytest.mark.filterwarnings("ignore::UserWarning")  # other advice on the same environment
def test_what_is_doubtful_is_advised_against(fault):
    env, message = ADVICE[fault]
    with pytest.warns(UserWarning, match=message) as caught:
        check_env(env)
    assert {str(one.filename) for one in caught} == {__file__}
    if fault != "nearly the same":  # that one is less and less so
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            check_env(env, warn=False)


def test_nothing_is_said_of_a_sound_environment():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(Good())


@pytest.mark.parametrize("id", environments.sampled(environments.ids()))
@pytest.mark.filterwarnings("ignore:observation_space.* has elements that are unbounded")  # CartPole's velocities
@pytest.mark.filterwarnings("ignore:action_space is not")  # Pendulum's torque, up to 2
@pytest.mark.filterwarnings("ignore:action_space has elements that are unbounded")  # forces of dm_control's lqr
def test_every_shipped_environment_is_sound(id):
    env = adapters.make(id)
    check_env(env)
    observation, _ = env.reset(seed=0)
    assert observation in env.observation_space


class Closing(Good):
    closed = False

    def close(self):
        if self.closed:
            raise RuntimeError("no window to close")
        self.closed = True


class Recipe(adapters.EnvSpec):
    """A specification of a handwritten environment."""

    def make(self, render_mode=None):
        env = self.entry_point(render_mode)
        env.spec = self
        return env


def specified(kind, render_mode=None):
    return Recipe("test/Kind-v0", kind).make(render_mode)


def test_closing_twice_is_allowed():
    check_env(specified(Good))
    with pytest.raises(RuntimeError, match="no window to close"):
        check_env(specified(Closing))
    assert Recipe("test/Kind-v0", Good).make() is not None


@pytest.mark.parametrize(
    ("mode", "frame", "message"),
    [
        ("ansi", 3, "must give a string, got 3"),
        ("human", "a frame", "must show a window and return None"),
        ("rgb_array", None, "must give a uint8 array"),
        ("rgb_array", np.zeros((4, 4, 3)), r"must give a uint8 array .* got ndarray float64\[4, 4, 3\]"),
        ("rgb_array", np.zeros((4, 4), np.uint8), "must give a uint8 array"),
        ("rgb_array", np.zeros((4, 4, 4), np.uint8), "must give a uint8 array"),
        ("depth_array", np.zeros(4), "must give an array .height, width."),
        ("depth_array", "deep", "must give an array .height, width."),
        ("ansi_list", "a", "must give a list of frames"),
        ("ansi_list", ["a", 3], "must give a string, got 3"),
    ],
)
def test_frames_are_checked_in_every_mode(mode, frame, message):
    kind = type(
        "Drawing",
        (Good,),
        {"metadata": {"render_modes": [mode], "render_fps": 4}, "render": lambda self: frame},
    )
    check_env(specified(kind))
    with pytest.raises(EnvCheckError, match=message):
        check_env(specified(kind), skip_render_check=False)
    with pytest.raises(EnvCheckError, match=message):
        check_env(kind(render_mode=mode), skip_render_check=False)


@pytest.mark.parametrize(
    ("mode", "frame"),
    [
        ("ansi", "a"),
        ("human", None),
        ("rgb_array", np.zeros((4, 4, 3), np.uint8)),
        ("depth_array", np.zeros((4, 4))),
        ("ansi_list", ["a", "b"]),
    ],
)
def test_good_frames_pass(mode, frame):
    metadata = {"render_modes": [mode], "render_fps": 4}
    kind = type("Drawing", (Good,), {"metadata": metadata, "render": lambda self: copy.deepcopy(frame)})
    check_env(specified(kind, render_mode=mode), skip_render_check=False)


def test_frames_are_the_users_own():
    frame = np.zeros((4, 4, 3), np.uint8)
    for mode, shown in (("rgb_array", frame), ("rgb_array_list", [frame])):
        metadata = {"render_modes": [mode], "render_fps": 4}
        kind = type("Drawing", (Good,), {"metadata": metadata, "render": lambda self, shown=shown: shown})
        with pytest.raises(EnvCheckError, match=f"two frames of render_mode '{mode}' share memory"):
            check_env(specified(kind), skip_render_check=False)


def test_the_mode_that_was_asked_for_is_the_one_it_has():
    class Stubborn(Good):
        metadata = {"render_modes": ["ansi", "human"], "render_fps": 4}

        def __init__(self, render_mode=None):
            super().__init__("ansi")

    with pytest.raises(EnvCheckError, match="made with render_mode='human', it has 'ansi'"):
        check_env(specified(Stubborn), skip_render_check=False)


def test_windows_are_not_checked_without_a_display(monkeypatch):
    metadata = {"render_modes": ["human"], "render_fps": 4}
    kind = type("Drawing", (Good,), {"metadata": metadata, "render": lambda self: "no window"})
    monkeypatch.setattr(sys, "platform", "linux")
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with pytest.warns(UserWarning, match="'human' was not checked: there is no display"):
        check_env(specified(kind), skip_render_check=False)


def test_other_modes_of_an_environment_without_a_spec_are_not_checked():
    with pytest.warns(UserWarning, match="render modes other than 'ansi' were not checked"):
        check_env(Good(render_mode="ansi"), skip_render_check=False)


def test_only_stateful_environments_are_checked():
    with pytest.raises(TypeError, match="got the pure TimeLimit; use check_func_env"):
        check_env(funcenv.make("CartPole-v1"))
    with pytest.raises(TypeError, match="got int; subclass adapters.Env"):
        check_env(3)


def test_the_compatibility_wrapper_fails_the_check():
    env = adapters.make("CartPole-v1", return_two_dones=False)
    with pytest.raises(EnvCheckError, match="must return a tuple of observation and info"), pytest.warns(UserWarning):
        check_env(env)
