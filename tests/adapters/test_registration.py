"""Creation of stateful environments by id, and serialization of their specifications."""

import copy
import dataclasses
import functools
import json
import pickle
import subprocess
import sys

import jax
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.adapters import EnvSpec, FunctionalEnv, StepCompatibility
from funcenv.envs import CartPole
from funcenv.names import UntrustedCodeError
from funcenv.wrappers import TimeLimit
from tests.support import environments

pytestmark = pytest.mark.usefixtures("separate_registry")


def test_make_wraps_the_functional_environment():
    env = adapters.make("CartPole-v1", gravity=1.6, max_episode_steps=7)
    assert type(env) is FunctionalEnv and env.func_env == funcenv.make("CartPole-v1", gravity=1.6, max_episode_steps=7)
    assert env.render_mode is None and env.unwrapped is env.unwrapped.unwrapped is not env
    observation, info = env.reset(seed=0)
    assert observation in env.observation_space and info == {}


def test_the_spec_records_what_was_asked_for():
    env = adapters.make("CartPole-v1", gravity=1.6, max_episode_steps=7)
    spec = env.spec
    assert (spec.id, spec.kwargs, spec.max_episode_steps, spec.reward_threshold) == (
        "CartPole-v1",
        {"gravity": 1.6},
        7,
        475.0,
    )
    assert spec.make().func_env == env.func_env
    assert spec.make(length=1.0, max_episode_steps=None).func_env == CartPole(gravity=1.6, length=1.0)
    assert spec.make(length=1.0).spec.kwargs == {"gravity": 1.6, "length": 1.0}
    assert adapters.make("CartPole-v1", max_episode_steps=-1).spec.max_episode_steps is None
    assert funcenv.spec("CartPole-v1").kwargs == {}  # the registry is as it was
    assert adapters.make("CartPole-v1").spec == adapters.spec("CartPole-v1")
    assert pickle.loads(pickle.dumps(env)).spec == spec


def test_registered_kwargs_are_kept():
    env = adapters.make("CliffWalkingSlippery-v1")
    assert env.spec.kwargs == {"is_slippery": True} and env.get_wrapper_attr("is_slippery")


@pytest.mark.parametrize(
    ("id", "params", "error", "message"),
    [
        ("CartPol-v1", {}, ValueError, "did you mean CartPole-v1"),
        ("Taxi-v3", {}, ValueError, "Taxi-v3 is deprecated .* use Taxi-v4"),
        ("CartPole-v1", {"gravty": 1.0}, TypeError, "did you mean gravity"),
        ("CartPole-v1", {"render_mode": "telepathy"}, ValueError, "render_mode must be one of"),
        ("CartPole-v1", {"masspole": -1.0}, ValueError, "masspole must be"),
        (3, {}, TypeError, "from an id such as"),
    ],
)
def test_mistakes_are_helped(id, params, error, message):
    with pytest.raises(error, match=message):
        adapters.make(id, **params)


def test_a_spec_of_either_layer_can_be_made():
    for spec in (funcenv.spec("CartPole-v1"), adapters.spec("CartPole-v1")):
        assert adapters.make(spec, gravity=2.0).get_wrapper_attr("gravity") == 2.0
    with pytest.warns(UserWarning, match="using the newest, CartPole-v1"):
        assert adapters.make("CartPole").spec.id == "CartPole-v1"


def test_registering_and_modules_in_ids(tmp_path, monkeypatch):
    (tmp_path / "my_stateful_lab.py").write_text(
        "from funcenv import adapters\n"
        "adapters.register('lab/Slow-v2', 'funcenv.envs:CartPole', max_episode_steps=5, kwargs={'gravity': 1.6})\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    env = adapters.make("my_stateful_lab:lab/Slow-v2")
    assert str(env) == "<TimeLimit<CartPole<lab/Slow-v2>>>" and env.get_wrapper_attr("max_episode_steps") == 5
    assert "lab/Slow-v2" in adapters.pprint_registry(disable_print=True)


@pytest.mark.parametrize("id", environments.ids())
def test_specs_survive_json(id):
    spec = funcenv.spec(id)
    assert funcenv.EnvSpec.from_json(spec.to_json()) == spec and json.loads(spec.to_json())["id"] == id
    stateful = adapters.spec(id)
    assert EnvSpec.from_json(stateful.to_json()) == stateful


def test_nested_kwargs_survive_json_in_another_process():
    spec = adapters.make("Acrobot-v1", avail_torque=(-2.0, 0.0, 2.0), book_or_nips="nips").spec
    again = EnvSpec.from_json(spec.to_json())
    assert again == spec and again.kwargs["avail_torque"] == (-2.0, 0.0, 2.0)
    lake = dataclasses.replace(adapters.spec("FrozenLake-v1"), kwargs={"desc": ["SF", "HG"], "map_name": None})
    code = (
        "import sys\nfrom funcenv.adapters import EnvSpec\n"
        "print(EnvSpec.from_json(sys.stdin.read()).make().observation_space.n)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=lake.to_json(), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["4"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"x": np.zeros(2)}, r"kwargs\['x'\] is array.* has no JSON form"),
        ({"x": {"y": [1, float("inf")]}}, r"kwargs\['x'\]\['y'\]\[1\] is inf"),
        ({"x": {1: 2}}, "of type dict"),
        ({"x": {"__tuple__": 2}}, "of type dict"),
        ({"x": CartPole}, "of type type"),
    ],
)
def test_what_json_cannot_hold_is_named(kwargs, message):
    with pytest.raises(TypeError, match=message):
        funcenv.EnvSpec("a/B-v0", "a:B", kwargs=kwargs).to_json()


def test_a_callable_entry_point_has_no_json():
    with pytest.raises(TypeError, match='register it as "module:attribute"'):
        funcenv.EnvSpec("a/B-v0", CartPole).to_json()


@pytest.mark.parametrize("text", ["[]", "{}", '{"id": "A-v0"}', '{"id": "A-v0", "entry_point": "a:B", "oh": 1}'])
def test_other_json_is_refused(text):
    with pytest.raises(ValueError, match="a spec in JSON is an object with the fields id, entry_point"):
        EnvSpec.from_json(text)
    with pytest.raises(ValueError):
        EnvSpec.from_json("not json")


def test_the_core_spec_makes_the_pure_environment():
    spec = funcenv.spec("CartPole-v1")
    assert spec.make(gravity=2.0) == TimeLimit(CartPole(gravity=2.0), 500)
    assert spec.make(max_episode_steps=None) == CartPole()
    with pytest.raises(TypeError, match="did you mean gravity"):
        spec.make(gravty=1.0)


def test_pprint_shows_what_is_set():
    assert adapters.make("CartPole-v1", gravity=1.6).spec.pprint(disable_print=True).splitlines() == [
        "id=CartPole-v1",
        "entry_point=funcenv.envs.classic_control.cartpole:CartPole",
        "max_episode_steps=500",
        "reward_threshold=475.0",
        "kwargs={'gravity': 1.6}",
    ]


def test_old_dialects_are_made_on_request():
    for two in (False, True):
        env = adapters.make("CartPole-v1", return_two_dones=two)
        assert type(env) is StepCompatibility
        env.reset()
        assert len(env.step(0)) == 4 + two
    assert type(adapters.make("CartPole-v1", return_two_dones=None)) is FunctionalEnv


def test_make_vec_gives_the_vector_environment_over_the_same_pure_one():
    envs = adapters.make_vec("CartPole-v1", num_envs=3, autoreset_mode="SameStep", max_episode_steps=5, gravity=1.6)
    assert envs.num_envs == 3 and envs.autoreset_mode is funcenv.AutoresetMode.SAME_STEP
    assert envs.func_env == funcenv.make("CartPole-v1", max_episode_steps=5, gravity=1.6)
    assert envs.spec.make().spec == adapters.make("CartPole-v1", max_episode_steps=5, gravity=1.6).spec
    observations, _ = envs.reset(seed=0)
    singles = [envs.spec.make().reset(seed=seed)[0] for seed in range(3)]
    np.testing.assert_allclose(observations, singles, rtol=1e-6)
    with pytest.raises(TypeError, match="did you mean gravity"):
        adapters.make_vec("CartPole-v1", 2, gravty=1.0)
    with pytest.raises(ValueError, match="output must be one of"):
        adapters.make_vec("CartPole-v1", 2, output="lists")


@pytest.mark.parametrize("id", ["CartPole-v1", funcenv.make("CartPole-v1")], ids=["id", "environment"])
def test_make_vec_takes_a_list_of_numbers(id):
    assert adapters.make_vec(id, 3, gravity=[1, 9.8, 30]).get_attr("gravity") == (1.0, 9.8, 30.0)
    with pytest.raises(ValueError, match=r"has shape \(3,\); a batch of environments needs one value for each of num"):
        adapters.make_vec(id, 4, gravity=[1, 9.8, 30])


def test_make_vec_takes_a_parameter_for_each_environment():
    envs = adapters.make_vec("CartPole-v1", 2, gravity=np.array([0.5, 9.8]), output="jax")
    np.testing.assert_array_equal(envs.func_env.unwrapped.gravity, [0.5, 9.8])
    observations, _ = envs.reset(seed=0)
    assert isinstance(observations, jax.Array) and observations.shape == (2, 4)


class Corridor(adapters.Env):
    """A stateful environment that is written by hand."""

    metadata = {"render_modes": ["ansi"], "render_fps": 4}  # noqa: RUF012
    action_space = observation_space = adapters.Space(funcenv.spaces.Discrete(9))

    def __init__(self, start=0, render_mode=None):
        self.start, self.render_mode = start, render_mode

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.start, {}

    def step(self, action):
        return 1, 1.0, False, False, {}

    def render(self):
        return "ansi"


def test_an_environment_written_by_hand_is_registered():
    adapters.register("lab/Corridor-v0", Corridor, max_episode_steps=2, kwargs={"start": 3})
    env = adapters.make("lab/Corridor-v0", "ansi")
    assert str(env) == "<TimeLimit<OrderEnforcing<PassiveEnvChecker<Corridor<lab/Corridor-v0>>>>>"
    with pytest.raises(adapters.ResetNeeded):
        env.step(0)
    assert env.reset() == (3, {}) and env.render() == "ansi"
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    again = env.spec.make(start=4, max_episode_steps=None)
    assert again.reset()[0] == 4 and again.render_mode == "ansi" and "TimeLimit" not in str(again)
    old = adapters.make("lab/Corridor-v0", return_two_dones=False)
    assert old.reset() == 3 and len(old.step(0)) == 4
    with pytest.raises(TypeError, match="lab/Corridor-v0 is a Corridor, not a FuncEnv; .*funcenv.adapters.make"):
        funcenv.make("lab/Corridor-v0")
    envs = adapters.make_vec("lab/Corridor-v0", 2)
    assert type(envs) is adapters.SyncVectorEnv and envs.reset()[0].tolist() == [3, 3]
    for mistake in {"output": "jax"}, {"vectorization_mode": "vector_entry_point"}:
        with pytest.raises(ValueError, match="; (leave it out|use)"):
            adapters.make_vec("lab/Corridor-v0", 2, **mistake)
    with pytest.raises(ValueError, match="vectorization_mode must be sync, async or vector_entry_point, got 'fast'"):
        adapters.make_vec("lab/Corridor-v0", 2, vectorization_mode="fast")


def test_entry_points_must_build_environments():
    adapters.register("lab/Number-v0", lambda: 3)
    with pytest.raises(TypeError, match=r"must return a FuncEnv or an adapters\.Env, got 3"):
        adapters.make("lab/Number-v0")
    adapters.register("lab/Blind-v0", lambda: Corridor())
    assert adapters.make("lab/Blind-v0").render_mode is None
    with pytest.raises(TypeError, match="got an unexpected keyword argument 'render_mode'"):
        adapters.make("lab/Blind-v0", "ansi")


def test_additional_wrappers_are_applied_by_kind():
    count = adapters.WrapperSpec("count", "funcenv.adapters.wrappers:RecordEpisodeStatistics", {"buffer_length": 3})
    stack = adapters.WrapperSpec("stack", "funcenv.wrappers:FrameStackObservation", {"stack_size": 2})
    adapters.register("lab/Stack-v0", "funcenv.envs:CartPole", 9, additional_wrappers=[count, stack])
    env = adapters.make("lab/Stack-v0")
    assert str(env) == "<RecordEpisodeStatistics<FrameStackObservation<TimeLimit<CartPole<lab/Stack-v0>>>>>"
    assert str(EnvSpec.from_json(env.spec.to_json()).make()) == str(env) and env.return_queue.maxlen == 3
    assert funcenv.make("lab/Stack-v0") == TimeLimit(CartPole(), 9)  # which knows nothing of them
    envs = adapters.make_vec("lab/Stack-v0", 2)
    assert type(envs) is adapters.SyncVectorEnv and [str(one) for one in envs.envs] == [str(env)] * 2


class Scaled(adapters.RewardWrapper):
    def __init__(self, env, by, **more):
        super().__init__(env)
        self.by, self.more = by, more

    def reward(self, reward):
        return self.by * reward


def test_a_spec_makes_its_wrappers_again():
    env = adapters.wrappers.TimeLimit(adapters.make("CartPole-v1", gravity=1.6, max_episode_steps=None), 7)
    env = Scaled(adapters.wrappers.TransformReward(env, np.negative), 3, size=(1, 2))
    again = adapters.make(env.spec)
    assert str(again) == str(env) and again.spec == env.spec and again.get_wrapper_attr("gravity") == 1.6
    assert again.spec.max_episode_steps == 7 and (again.by, again.more) == (3, {"size": (1, 2)})
    again.reset(seed=0)
    assert again.step(0)[1] == -3
    copied = pickle.loads(pickle.dumps(copy.deepcopy(env)))
    assert copied.spec == env.spec and env.env.spec.additional_wrappers == env.spec.additional_wrappers[:1]


def test_a_spec_with_wrappers_as_json():
    spec = Scaled(adapters.make("CartPole-v1"), by=2.0, size=(1, 2)).spec
    text = spec.to_json()
    assert EnvSpec.from_json(text, trust_code=True) == spec
    with pytest.raises(UntrustedCodeError, match="Scaled"):
        EnvSpec.from_json(text)
    spec = adapters.wrappers.TransformReward(adapters.make("CartPole-v1"), np.negative).spec
    with pytest.raises(TypeError, match=r"kwargs of TransformReward\['func'\] is <ufunc 'negative'>"):
        spec.to_json()


def test_wrappers_that_are_not_recorded_in_full():
    class Local(adapters.Wrapper):
        def __init__(self, env, *more):
            super().__init__(env)

    assert str(adapters.make(Local(adapters.make("CartPole-v1")).spec)) == "<Local<TimeLimit<CartPole<CartPole-v1>>>>"
    spec = Local(adapters.make("CartPole-v1"), 1).spec
    with pytest.raises(ValueError, match="the wrapper Local took arguments without names"):
        adapters.make(spec)
    with pytest.raises(TypeError, match="which has no JSON form; define it in a module"):
        spec.to_json()


def test_wrappers_that_make_applies_are_recorded_once():
    adapters.register("lab/Shown-v0", Corridor, 9)
    env = adapters.make("lab/Shown-v0", "ansi_list")
    assert "RenderCollection" in str(env) and not env.spec.additional_wrappers
    assert str(adapters.make(env.spec)) == str(env.spec.make()) == str(env) != str(env.spec.make(render_mode=None))
    plain = adapters.make("lab/Shown-v0", disable_env_checker=True)
    checked = adapters.wrappers.OrderEnforcing(adapters.wrappers.PassiveEnvChecker(plain))
    assert not checked.spec.disable_env_checker and checked.spec.order_enforce


def test_a_vector_entry_point_makes_batches():
    def build(num_envs, **given):
        assert given == {"start": 4}
        return adapters.SyncVectorEnv([lambda: Corridor(**given)] * num_envs)

    adapters.register("lab/Batch-v0", Corridor, kwargs={"start": 3}, vector_entry_point=build)
    envs = adapters.make_vec("lab/Batch-v0", 5, start=4)
    assert envs.num_envs == 5 and envs.spec.kwargs == {"start": 4} and adapters.make_vec(envs.spec).spec == envs.spec


def test_functional_environments_are_their_own_vector_entry_point():
    envs = adapters.make_vec("CartPole-v1", 3, vectorization_mode="vector_entry_point")
    assert type(envs) is adapters.FunctionalVectorEnv and envs.num_envs == 3
    adapters.register("lab/Single-v0", Corridor)
    with pytest.raises(ValueError, match="lab/Single-v0 was registered without vector_entry_point; use another"):
        adapters.make_vec("lab/Single-v0", 3, vectorization_mode="vector_entry_point")


def test_an_entry_point_may_return_a_wrapper():
    adapters.register("lab/Wrapped-v0", lambda: Scaled(Corridor(), 2), 9)
    env = adapters.make("lab/Wrapped-v0")
    assert env.unwrapped.spec == env.spec and not env.spec.additional_wrappers
    assert str(adapters.make(env.spec)) == str(env)


def test_order_is_enforced_unless_told_otherwise():
    adapters.register("lab/Loose-v0", Corridor, order_enforce=False)
    assert adapters.make("lab/Loose-v0").step(0)[0] == 1


def test_pprint_registry_prints_like_gymnasiums(capsys):
    import gymnasium

    ids = ["CartPole-v1", "Pendulum-v1", "Acrobot-v1", "MountainCar-v0", "Taxi-v4"]
    ours, theirs = ({id: find(id) for id in ids} for find in (adapters.spec, gymnasium.spec))
    for arguments in ({}, {"num_cols": 2}, {"exclude_namespaces": ["toy_text"]}):
        assert adapters.pprint_registry(ours, **arguments) is None
        printed = capsys.readouterr().out
        gymnasium.pprint_registry(theirs, **arguments)
        expected = capsys.readouterr().out
        assert [line.split() for line in printed.splitlines()] == [
            line.split() for line in expected.splitlines() if line
        ]
        assert adapters.pprint_registry(ours, disable_print=True, **arguments) + "\n" == printed or arguments is None


def test_a_functional_environment_is_made_like_an_id():
    stacked = funcenv.wrappers.FrameStackObservation(funcenv.make("CartPole-v1"), 4)
    env = adapters.make(stacked, gravity=1.6, max_episode_steps=2)
    assert env.reset(seed=0)[0].shape == (4, 4)
    assert env.get_wrapper_attr("gravity") == 1.6
    assert [env.step(0)[3] for _ in range(2)] == [False, True]
    envs = adapters.make_vec(stacked, num_envs=3, gravity=np.array([1.6, 9.8, 3.7]))
    assert envs.reset(seed=0)[0].shape == (3, 4, 4)
    assert envs.get_attr("gravity") == (1.6, 9.8, 3.7)
    with pytest.raises(TypeError, match="has a field 'gravty'; did you mean 'gravity'"):
        adapters.make_vec(stacked, gravty=1.6)


def test_functional_wrappers_of_a_vector_environment_stay_inside_the_program():
    stack, count = functools.partial(funcenv.wrappers.FrameStackObservation, stack_size=4), adapters.wrappers.Wrapper
    envs = adapters.make_vec("CartPole-v1", 3, wrappers=[stack, funcenv.wrappers.FlattenObservation])
    assert isinstance(envs, adapters.FunctionalVectorEnv)
    assert envs.reset(seed=0)[0].shape == (3, 16)
    mixed = adapters.make_vec("CartPole-v1", 2, wrappers=[count, stack])
    assert isinstance(mixed, adapters.SyncVectorEnv)
    assert str(mixed.envs[0]) == "<Wrapper<FrameStackObservation<TimeLimit<CartPole<CartPole-v1>>>>>"
    assert isinstance(adapters.make_vec("CartPole-v1", 2, wrappers=None), adapters.FunctionalVectorEnv)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"num_envs": 3, "gravity": 1.6, "render_mode": "rgb_array"},
        {"num_envs": 2, "autoreset_mode": "SameStep", "output": "jax"},
        {"vectorization_mode": "sync", "max_episode_steps": 5},
        {"vectorization_mode": adapters.VectorizeMode.SYNC, "vector_kwargs": {"copy": False}},
        {"num_envs": 2, "vectorization_mode": "sync", "wrappers": [adapters.wrappers.TimeAwareObservation]},
        {"num_envs": 2, "wrappers": [funcenv.wrappers.FlattenObservation]},
    ],
)
def test_the_spec_of_a_vector_environment_makes_it_again(arguments):
    envs = adapters.make_vec("CartPole-v1", **arguments)
    again = adapters.make_vec(envs.spec)
    assert type(again) is type(envs) and again.spec == envs.spec and again.render_mode == envs.render_mode
    for name in ("num_envs", "single_observation_space", "single_action_space"):
        assert getattr(again, name) == getattr(envs, name)
    assert again.metadata["autoreset_mode"] is envs.metadata["autoreset_mode"]
    assert adapters.make_vec(envs.spec, num_envs=5).num_envs == 5
    single = envs.spec.make()
    assert single.spec.kwargs == envs.spec.kwargs and not single.spec.vectorization
    if "wrappers" not in arguments:
        assert adapters.EnvSpec.from_json(envs.spec.to_json()) == envs.spec


def test_an_id_may_have_vector_environments_alone():
    def build(num_envs):
        return adapters.make_vec("CartPole-v1", num_envs)

    adapters.register("lab/VectorOnly-v0", vector_entry_point=build)
    envs = adapters.make_vec("lab/VectorOnly-v0", 3)
    assert envs.spec.id == "lab/VectorOnly-v0" and adapters.make_vec(envs.spec).num_envs == 3
    with pytest.raises(ValueError, match="with a vector_entry_point alone; make a batch of it with make_vec"):
        adapters.make("lab/VectorOnly-v0")
    with pytest.raises(TypeError, match="no entry point; pass entry_point, or vector_entry_point"):
        adapters.register("lab/Nothing-v0")
