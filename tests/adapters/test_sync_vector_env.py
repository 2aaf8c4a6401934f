"""Batches of handwritten environments, compared with Gymnasium's."""

import types

import gymnasium
import numpy as np
import pytest

from funcenv import adapters
from funcenv.adapters.gymnasium import HandwrittenGymnasiumEnv
from funcenv.adapters.spaces.utils import is_space_dtype_shape_equiv
from funcenv.vector import AutoresetMode
from tests.support.documented_envs import GridWorldEnv, PointEnv


class Talkative(GridWorldEnv):
    """A grid world with infos of every kind, some of them in some steps only."""

    def _get_info(self):
        info = {**super()._get_info(), "cell": int(self._agent[0]), "place": {"x": float(self._agent[0])}, "name": "a"}
        return {**info, "far": True, "array": self._agent.copy()} if self._agent.sum() > 3 else info


@pytest.mark.parametrize("mode", AutoresetMode)
def test_a_batch_is_gymnasiums(mode):
    def limited():
        return adapters.wrappers.TimeLimit(Talkative(), 5)

    envs = adapters.SyncVectorEnv([limited] * 3, autoreset_mode=mode)
    reference = gymnasium.vector.SyncVectorEnv(
        [lambda: HandwrittenGymnasiumEnv(limited())] * 3, autoreset_mode=gymnasium.vector.AutoresetMode(mode.value)
    )
    assert_same(envs.reset(seed=7), reference.reset(seed=7))
    generator, ended = np.random.default_rng(0), np.zeros(3, bool)
    for _ in range(14):
        if mode is AutoresetMode.DISABLED and ended.any():
            mask = {"reset_mask": ended}
            assert_same(envs.reset(options=dict(mask)), reference.reset(options=dict(mask)))
        actions = generator.integers(0, 4, 3)
        step, expected = envs.step(actions), reference.step(actions)
        assert_same(step, expected)
        ended = step[2] | step[3]
    assert envs.np_random_seed == reference.np_random_seed == (7, 8, 9)
    envs.np_random = [np.random.default_rng(i) for i in range(3)]
    assert envs.np_random_seed == (-1, -1, -1) and envs.np_random[2].random() == np.random.default_rng(2).random()


def assert_same(one, other):
    if isinstance(one, dict):
        assert one.keys() == other.keys()
        for key in one:
            assert_same(one[key], other[key])
    elif isinstance(one, tuple):
        for part, expected in zip(one, other, strict=True):
            assert_same(part, expected)
    else:
        one, other = np.asarray(one), np.asarray(other)
        assert one.dtype.kind == other.dtype.kind and one.shape == other.shape
        for row, expected in zip(one.ravel(), other.ravel(), strict=True) if one.dtype == object else [(one, other)]:
            assert_same(row, expected) if isinstance(row, dict) else np.testing.assert_array_equal(row, expected)


def test_observations_do_not_change_later():
    envs = adapters.SyncVectorEnv([PointEnv] * 2)
    first = envs.reset(seed=0)[0]
    kept = first.copy()
    envs.step(envs.action_space.sample())
    assert (first == kept).all()


def test_attributes_and_calls():
    envs = adapters.SyncVectorEnv([GridWorldEnv, lambda: GridWorldEnv()])
    envs.set_attr("size", (3, 4))
    assert envs.get_attr("size") == (3, 4) == envs.call("size")
    envs.set_attr("size", 5)
    assert envs.get_attr("size") == (5, 5)
    envs.reset(seed=0)
    assert envs.call("_get_info")[0]["distance"] > 0
    assert [frame.shape for frame in envs.render()] == [(5, 5, 3)] * 2
    with pytest.raises(ValueError, match="needs one value, or a list of num_envs=2, got 3"):
        envs.set_attr("size", [1, 2, 3])


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="at least one environment"):
        adapters.SyncVectorEnv([])
    with pytest.raises(ValueError, match="must have one observation_space"):
        adapters.SyncVectorEnv([GridWorldEnv, lambda: GridWorldEnv(size=3)])
    envs = adapters.SyncVectorEnv([GridWorldEnv] * 2)
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="one row for each of num_envs=2, got 3"):
        envs.step([0, 1, 2])

    class Own(adapters.Space):
        pass

    class Unusual(PointEnv):
        def __init__(self):
            super().__init__()
            self.action_space = Own()

    with pytest.raises(TypeError, match="action_space that cannot be batched"):
        adapters.SyncVectorEnv([Unusual])


class Nested(adapters.Env):
    """An environment whose actions are a tuple in a tuple, which it returns."""

    action_space = observation_space = adapters.spaces.Tuple(
        [adapters.spaces.Discrete(9), adapters.spaces.Tuple([adapters.spaces.Box(0, 9), adapters.spaces.Discrete(9)])]
    )

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return (0, (np.zeros(1, np.float32), 0)), {}

    def step(self, action):
        return action, 0.0, False, False, {}


def test_nested_tuples_are_actions():
    envs = adapters.SyncVectorEnv([Nested] * 3)
    envs.reset(seed=0)
    actions = np.arange(3), (np.arange(3.0)[:, None], np.arange(3) + 3)
    observations = envs.step(actions)[0]
    assert_same(observations, (np.arange(3), (np.arange(3.0)[:, None], np.arange(3) + 3)))
    rows = list(adapters.vector.utils.iterate(envs.observation_space, observations))
    assert [row[1][1] for row in rows] == [3, 4, 5] and len(rows) == 3


def test_batches_are_made_and_read_by_gymnasiums_functions():
    ours, theirs = adapters.vector.utils, gymnasium.vector.utils
    spaces = adapters.spaces
    space = spaces.Dict(a=spaces.Discrete(4), b=spaces.Tuple([spaces.Box(0, 1, (2,)), spaces.MultiBinary(3)]), seed=0)
    kinds = gymnasium.spaces
    reference = kinds.Dict(
        a=kinds.Discrete(4, dtype=np.int32), b=kinds.Tuple([kinds.Box(0, 1, (2,)), kinds.MultiBinary(3)])
    )
    members = [space.sample() for _ in range(3)]
    batch = ours.concatenate(space, members, ours.create_empty_array(space, n=3))
    assert_same(batch, theirs.concatenate(reference, members, theirs.create_empty_array(reference, n=3)))
    assert ours.batch_space(space, 3).contains(batch)
    assert_same(ours.batch_space(space, 3).sample(), ours.batch_space(space, 3).sample())
    rows = ours.iterate(ours.batch_space(space, 3), batch)
    for row, member in zip(rows, members, strict=True):
        assert_same(row, member)


def test_arguments_of_the_vector_environment_come_last():
    adapters.register("lab/Nested-v0", Nested)
    envs = adapters.make_vec("lab/Nested-v0", 2, vector_kwargs={"autoreset_mode": AutoresetMode.DISABLED})
    assert envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    del adapters.registry["lab/Nested-v0"]
    assert "lab/Nested-v0" not in adapters.registry
    with pytest.raises(KeyError, match="'lab/Nested-v0' is not registered"):
        del adapters.registry["lab/Nested-v0"]
    adapters.register("lab/Nested-v0", GridWorldEnv)  # another entry point
    del adapters.registry["lab/Nested-v0"]


def test_choices_of_several_kinds_are_a_tuple():
    choice = adapters.spaces.OneOf([adapters.spaces.Discrete(3), adapters.spaces.Box(0, 1)])
    members = [(0, 2), (1, np.ones(1, np.float32))]
    assert_same(adapters.vector.utils.concatenate(choice, members, None), tuple(members))


def test_frames_of_64_bits_stay_so():
    wide = PointEnv()
    wide.observation_space = adapters.spaces.Box(-np.inf, np.inf, (2,), np.float64)
    env = adapters.wrappers.FrameStackObservation(wide, 2)
    observation, _ = env.reset(seed=0)
    assert observation.dtype == np.float64 and observation.shape == (2, 2)


class Wide(adapters.Env):
    """An environment whose observations have bounds of its own."""

    action_space = adapters.spaces.Discrete(2)

    def __init__(self, space):
        self.observation_space = space

    def reset(self, *, seed=None, options=None):
        return self.observation_space.sample(), {}

    def step(self, action):
        return self.observation_space.sample(), 0.0, False, False, {}


SPACES = {
    "Box": lambda kinds: [kinds.Box(-i, i + 1, (2,)) for i in range(3)],
    "Discrete": lambda kinds: [kinds.Discrete(i + 2, start=-i) for i in range(3)],
    "MultiDiscrete": lambda kinds: [kinds.MultiDiscrete([i + 2, 5]) for i in range(3)],
    "MultiBinary": lambda kinds: [kinds.MultiBinary(2)] * 3,
    "Dict": lambda kinds: [kinds.Dict(a=kinds.Box(0, i + 1, (2,)), b=kinds.Discrete(3)) for i in range(3)],
    "Tuple": lambda kinds: [kinds.Tuple((kinds.Discrete(i + 1), kinds.Box(0, 1, ()))) for i in range(3)],
    "Text": lambda kinds: [kinds.Text(i + 1) for i in range(3)],
}


@pytest.mark.parametrize("kind", SPACES)
def test_spaces_with_other_bounds_are_batched_as_in_gymnasium(kind):
    joined = adapters.vector.utils.batch_differing_spaces(SPACES[kind](adapters.spaces))
    reference = gymnasium.vector.utils.batch_differing_spaces(SPACES[kind](gymnasium.spaces))
    assert_same_space(joined, reference)
    envs = adapters.SyncVectorEnv(
        [lambda space=space: Wide(space) for space in SPACES[kind](adapters.spaces)], observation_mode="different"
    )
    assert envs.observation_space == joined and envs.single_observation_space == SPACES[kind](adapters.spaces)[0]
    for _ in range(3):
        assert envs.reset()[0] in joined and envs.step(envs.action_space.sample())[0] in joined


def assert_same_space(one, other):
    assert type(one.pure).__name__ == type(other).__name__ and one.shape == other.shape
    if isinstance(other, gymnasium.spaces.Box):
        assert (one.low == other.low).all() and (one.high == other.high).all()
    elif isinstance(other, gymnasium.spaces.MultiDiscrete):
        assert (one.nvec == other.nvec).all() and (one.start == other.start).all()
    elif isinstance(other, gymnasium.spaces.Dict):
        assert list(one.spaces) == list(other.spaces)
        for name, space in other.items():
            assert_same_space(adapters.spaces.Space(one.pure.spaces[name]), space)
    elif isinstance(other, gymnasium.spaces.Tuple):
        for part, space in zip(one.pure.spaces, other.spaces, strict=True):
            assert_same_space(adapters.spaces.Space(part), space)


def test_spaces_of_other_kinds_shapes_or_parts_are_not_batched():
    kinds = adapters.spaces
    join = adapters.vector.utils.batch_differing_spaces
    with pytest.raises(ValueError, match="at least one space, got an empty list"):
        join([])
    with pytest.raises(TypeError, match="spaces of one kind"):
        join([kinds.Discrete(2), kinds.Box(0, 1, ())])
    with pytest.raises(ValueError, match="spaces of one shape"):
        join([kinds.Box(0, 1, (2,)), kinds.Box(0, 1, (3,))])
    with pytest.raises(ValueError, match="same keys"):
        join([kinds.Dict(a=kinds.Discrete(2)), kinds.Dict(b=kinds.Discrete(2))])
    with pytest.raises(ValueError, match="as many parts"):
        join([kinds.Tuple((kinds.Discrete(2),)), kinds.Tuple((kinds.Discrete(2),) * 2)])


def test_the_observation_mode_says_which_spaces_may_differ():
    box = adapters.spaces.Box
    makers = [lambda high=high: Wide(box(0, high, (2,))) for high in (1, 2)]
    with pytest.raises(ValueError, match="must have one observation_space, .*pass observation_mode='different'"):
        adapters.SyncVectorEnv(makers)
    with pytest.raises(ValueError, match="observation_mode must be 'same', 'different', or the spaces .* got 'both'"):
        adapters.SyncVectorEnv(makers, observation_mode="both")
    given = box(0, 9, (2, 2)), box(0, 9, (2,))
    envs = adapters.SyncVectorEnv(makers, observation_mode=given)
    assert (envs.observation_space, envs.single_observation_space) == given
    with pytest.raises(ValueError, match="other observations than observation_mode"):
        adapters.SyncVectorEnv(makers, observation_mode=(box(0, 9, (2, 3)), box(0, 9, (3,))))


def test_spaces_are_compared_by_kind_shape_and_dtype_as_in_gymnasium():
    equivalent = is_space_dtype_shape_equiv
    reference = gymnasium.spaces.utils.is_space_dtype_shape_equiv
    ours, theirs = (
        [space for kind in SPACES if kind != "Text" for space in SPACES[kind](kinds)] + [kinds.Box(0, 1, (3,))]
        for kinds in (adapters.spaces, gymnasium.spaces)
    )
    for i in range(len(ours)):
        for j in range(len(ours)):
            assert equivalent(ours[i], ours[j]) is reference(theirs[i], theirs[j]), (ours[i], ours[j])


def test_rates_count_steps_and_not_resets():
    performance = adapters.utils.performance
    makers = [lambda: adapters.make("CartPole-v1", max_episode_steps=1)] * 2
    times = []

    def clock():
        times.append(len(times))
        return float(times[-1])

    for mode, steps in ((AutoresetMode.NEXT_STEP, 2), (AutoresetMode.SAME_STEP, 4), (AutoresetMode.DISABLED, 4)):
        envs = adapters.SyncVectorEnv(makers, autoreset_mode=mode)
        times.clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(performance, "time", types.SimpleNamespace(time=clock))
            rate = performance.benchmark_vector_step(envs, target_duration=1.5, seed=0)
        assert rate == steps / 2  # two calls, one each second
    assert performance.benchmark_init(makers[0], 0.0) > 0
    env = adapters.make("CartPole-v1", render_mode="ansi")
    env.reset(seed=0)
    assert performance.benchmark_step(env, 0.0, seed=0) > 0 and performance.benchmark_render(env, 0.0) > 0


VARYING = {
    "text": lambda kinds: kinds.Text(5),
    "sequence": lambda kinds: kinds.Sequence(kinds.Discrete(4)),
    "stacked sequence": lambda kinds: kinds.Sequence(kinds.Box(0, 1, (1,)), stack=True),
    "one of": lambda kinds: kinds.OneOf((kinds.Discrete(3), kinds.Box(0, 1, (1,)))),
    "graph": lambda kinds: kinds.Graph(kinds.Box(0, 1, (2,)), kinds.Discrete(3)),
    "dict": lambda kinds: kinds.Dict(a=kinds.Text(3), b=kinds.Dict(c=kinds.Discrete(2))),
    "tuple": lambda kinds: kinds.Tuple((kinds.Box(0, 1, (2,)), kinds.Sequence(kinds.Discrete(2)))),
}


@pytest.mark.parametrize("kind", VARYING)
@pytest.mark.parametrize("n", [1, 3])
def test_batches_of_members_that_vary_in_size(kind, n):
    utils = adapters.vector.utils
    space = VARYING[kind](adapters.spaces)
    space.seed(0)
    batch = utils.batch_space(space, n)
    drawn = batch.sample()
    assert drawn in batch and [member in space for member in utils.iterate(batch, drawn)] == [True] * n
    empty = utils.create_empty_array(space, n)
    assert len(list(utils.iterate(batch, empty))) == n
    members = [space.sample() for _ in range(n)]
    joined = utils.concatenate(space, members, empty)
    assert joined in batch and len(joined if isinstance(joined, tuple) and kind != "tuple" else members) == n
    for member, expected in zip(utils.iterate(batch, joined), members, strict=True):
        assert space.to_jsonable([member]) == space.to_jsonable([expected])
    if kind not in ("dict", "tuple"):
        assert (drawn[0],) * (n + 1) not in batch and (None,) * n not in batch


def test_arrays_of_a_batch_have_the_declared_dtype():
    space = adapters.spaces.Box(-1, 1, (2,), np.float64)
    empty = adapters.vector.utils.create_empty_array(space, 3)
    assert empty.dtype == np.float64 and adapters.vector.utils.create_empty_array(space, None).dtype == np.float64
    members = [space.sample() for _ in range(3)]
    joined = adapters.vector.utils.concatenate(space, members, empty)
    np.testing.assert_array_equal(joined, members)
