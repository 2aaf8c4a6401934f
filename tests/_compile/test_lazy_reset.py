"""Lazy resets: the same lives as with a selection, at a cost that follows the ends of episodes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv import AutoresetMode, FuncEnv, FuncVectorEnv, spaces
from funcenv._compile import lazy_reset
from funcenv._compile.lazy_reset import is_large, replace_in_blocks, replace_one_by_one
from funcenv.envs import Pendulum
from funcenv.host import host_call
from funcenv.wrappers import TimeLimit


class Maze(FuncEnv):
    """A level of walls, grown in a loop of some hundred turns, and a walk through it that soon ends at one."""

    turns: int = funcenv.field(pytree_node=False, default=200)
    limit: int = 5

    @property
    def observation_space(self):
        return spaces.Discrete(1000)

    @property
    def action_space(self):
        return spaces.Discrete(3)

    def initial(self, key):
        def grow(turn, walls):
            return walls ^ (walls << 1) ^ jax.random.bits(jax.random.fold_in(key, turn), (8,))

        return {"walls": jax.lax.fori_loop(0, self.turns, grow, jnp.zeros(8, jnp.uint32)), "place": jnp.int32(0)}

    def transition(self, state, action, key):
        step = jax.random.randint(key, (), 1, 3) + action
        return {"walls": state["walls"], "place": (state["place"] + step) % 256}

    def observation(self, state, key):
        return state["place"] + jax.random.randint(key, (), 0, 2)

    def reward(self, state, action, next_state):
        return next_state["place"].astype(float)

    def terminal(self, state):
        return (state["walls"][state["place"] // 32] >> (state["place"] % 32).astype(jnp.uint32)) & 1 == 1

    def truncated(self, state):
        return state["place"] > self.limit

    def state_info(self, state):
        return {"walls": state["walls"]}


def lived(env, num_envs, mode, strategy):
    venv = FuncVectorEnv(env, num_envs, mode, strategy)
    actions = np.random.default_rng(0).integers(0, 2, (12, num_envs)).astype(np.int32)

    @jax.jit
    def live(venv, key):
        vstate, _ = venv.reset(key)
        return jax.lax.scan(venv.step, vstate, actions)

    return jax.device_get(jax.tree.map(_bits, live(venv, funcenv.key(0))))


def _bits(leaf):
    return jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("num_envs", [1, 37])
def test_lazy_resets_are_the_selected_ones(num_envs, mode):
    env = Maze(turns=3, limit=np.arange(num_envs, dtype=np.int32))  # each with its own parameter
    lazily, selected = (lived(env, num_envs, mode, strategy) for strategy in ("lazy", "select"))
    assert selected[1].done.sum() >= num_envs
    for a, b in zip(*map(jax.tree.leaves, (lazily, selected)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_many_ends_at_once_take_several_turns():
    venv = FuncVectorEnv(Maze(turns=3), 100)
    vstate, _ = venv.reset(funcenv.key(0))
    actions = jnp.full(100, 100, jnp.int32)
    expected = jax.jit(venv.replace(reset_strategy="select").step)(vstate, actions)
    actual = jax.jit(venv.replace(reset_strategy="lazy").step)(vstate, actions)
    assert expected[1].done.all()
    for a, b in zip(*map(jax.tree.leaves, (actual, expected)), strict=True):
        np.testing.assert_array_equal(_bits(a), _bits(b))


@pytest.mark.parametrize("replace", [replace_in_blocks, replace_one_by_one])
@pytest.mark.parametrize("share", [0.0, 0.03, 0.5, 1.0])
@pytest.mark.parametrize("size", [1, 15, 200])
def test_rows_are_replaced_where_flags_are_set(replace, share, size):
    flags = np.random.default_rng(size).random(size) < share
    old = {"a": np.arange(size), "b": np.ones((size, 2), bool)}
    new = jax.jit(
        lambda flags, old: replace(flags, old, lambda rows: {"a": -rows, "b": jnp.zeros((rows.size, 2), bool)})
    )(flags, old)
    np.testing.assert_array_equal(new["a"], np.where(flags, -old["a"], old["a"]))
    np.testing.assert_array_equal(new["b"], old["b"] & ~flags[:, None])


def test_blocks_compute_rows_of_the_mask_alone():
    """A simulator on the host, which is asked for a whole block, need not reset games that go on."""
    asked = []

    def fresh(rows):
        jax.debug.callback(lambda rows: asked.extend(rows.tolist()), rows)
        return -rows

    flags = np.isin(np.arange(100), (3, 40, 77))
    jax.block_until_ready(jax.jit(lambda flags: replace_in_blocks(flags, jnp.arange(100), fresh))(flags))
    jax.effects_barrier()
    assert set(asked) == {3, 40, 77}


class Growing(Maze):
    """A maze of which only resets after an episode are dear."""

    remembers = True

    def initial(self, key):
        return self.replace(turns=1).initial(key) if self.turns > 1 else super().initial(key)

    def initial_after(self, last, key):
        return Maze(self.turns).initial(key)


def test_the_strategy_is_chosen_by_cost():
    assert FuncVectorEnv(Growing(), 9).chosen_reset_strategy() == "lazy"
    assert FuncVectorEnv(Maze(), 9).chosen_reset_strategy() == "lazy"
    assert FuncVectorEnv(Maze(turns=1), 9).chosen_reset_strategy() == "select"
    assert FuncVectorEnv(Maze(limit=np.arange(9, dtype=np.int32)), 9).chosen_reset_strategy() == "lazy"
    assert FuncVectorEnv(Maze(), 9, reset_strategy="select").chosen_reset_strategy() == "select"
    with pytest.raises(ValueError, match="must be .auto., .select. or .lazy., got 'often'"):
        FuncVectorEnv(Maze(), 9, reset_strategy="often")


def test_a_step_without_an_end_resets_nothing():
    """A generator that is asked says so."""
    asked = []

    class Watched(Maze):
        def initial(self, key):
            jax.debug.callback(lambda: asked.append(1))
            return super().initial(key)

    env = TimeLimit(Watched(turns=2, limit=10**6), 3)
    venv = FuncVectorEnv(env, 2, reset_strategy="lazy")
    vstate, _ = jax.jit(venv.reset)(funcenv.key(0))
    state = {**vstate.env_state.env_state, "walls": jnp.zeros((2, 8), jnp.uint32)}
    vstate = vstate.replace(env_state=vstate.env_state.replace(env_state=state))
    step, counts = jax.jit(venv.step), []
    for _ in range(3):
        vstate, _ = step(vstate, jnp.zeros(2, jnp.int32))
        jax.effects_barrier()
        counts.append(len(asked))
    assert counts[0] == counts[1] < counts[2]


@pytest.mark.parametrize("num_envs", [1, 2])
def test_a_host_is_asked_for_new_episodes_alone(num_envs):
    """Also where there is one environment, whose reset a compiler could compute ahead of the loop over rows."""
    asked = []

    def begin(seeds):
        asked.append(len(seeds))
        return np.zeros(len(seeds), np.int32)

    class Hosted(Maze):
        def initial(self, key):
            place = host_call(begin, jax.ShapeDtypeStruct((), np.int32), jax.random.bits(key))
            return {"walls": jnp.zeros(8, jnp.uint32), "place": place}

    venv = FuncVectorEnv(TimeLimit(Hosted(limit=10**6), 5), num_envs)
    assert venv.chosen_reset_strategy() == "lazy"

    @jax.jit
    def live(key):
        vstate, _ = venv.reset(key)
        return jax.lax.scan(venv.step, vstate, jnp.zeros((12, num_envs), jnp.int32))[1].done

    assert live(funcenv.key(0)).sum() == 2 * num_envs
    assert len(asked) == 3


def test_derivatives_are_those_of_the_selection():
    def total(gravity, strategy):
        venv = FuncVectorEnv(TimeLimit(Pendulum(g=gravity), 5), 3, reset_strategy=strategy)
        vstate, _ = venv.reset(funcenv.key(0))
        return jax.lax.scan(venv.step, vstate, jnp.zeros((8, 3, 1), jnp.float32))[1].reward.sum()

    slopes = [jax.jit(jax.grad(total), static_argnums=1)(10.0, strategy) for strategy in ("lazy", "select")]
    assert slopes[0] != 0
    np.testing.assert_allclose(*slopes, rtol=1e-5)


def test_mapped_over_seeds():
    venv = FuncVectorEnv(Maze(turns=3), 4, reset_strategy="lazy")
    keys = jax.random.split(funcenv.key(0), 3)
    vstates, _ = jax.vmap(venv.reset)(keys)
    _, together = jax.jit(jax.vmap(venv.step))(vstates, jnp.full((3, 4), 7, jnp.int32))
    for i in range(3):
        _, alone = jax.jit(venv.step)(venv.reset(keys[i])[0], jnp.full(4, 7, jnp.int32))
        np.testing.assert_array_equal(together.observation[i], alone.observation)


def test_no_key_is_used_twice():
    with jax.debug_key_reuse(True):
        for mode in AutoresetMode:
            venv = FuncVectorEnv(Maze(turns=3), 3, mode, "lazy")
            vstate, _ = jax.jit(venv.reset)(funcenv.key(0))
            vstate, _ = jax.jit(venv.step)(vstate, jnp.zeros(3, jnp.int32))
            jax.jit(venv.step)(vstate, jnp.zeros(3, jnp.int32))


def test_every_plain_rollout_asks_for_the_size_of_a_program_and_the_first_counts_it(monkeypatch):
    venv, counted = FuncVectorEnv(Maze(turns=7), 3), []
    monkeypatch.setattr(lazy_reset, "iter_eqns", lambda jaxpr: counted.append(jaxpr) or iter(range(6000)))
    assert [is_large(venv.env, 3) for _ in range(3)] == [True] * 3
    assert len(counted) == 1
