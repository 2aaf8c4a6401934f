"""Laws of the scenes of every environment."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv.scene import require_same_structure
from tests.support.environments import bare, first_of_each_class, sampled
from tests.support.frames import draw_frames, member


def with_every_flag(id: str) -> Any:
    """Return the environment of an id with all of its static flags on: rain, slippery ground and the like."""
    env = bare(id)
    entries = [entry.name for entry in dataclasses.fields(env) if not entry.metadata.get("pytree_node", True)]
    return env.replace(**{name: True for name in entries if isinstance(getattr(env, name), bool)})


ENVS = {id: with_every_flag(id) for id in first_of_each_class()}
NUM_STEPS = 20
MAX_SHAPES = 13  # each is painted again for every member of a batch
STILL = ("camera", "backdrop", "background")


@pytest.fixture(params=sampled(list(ENVS)), scope="module")
def env(request: pytest.FixtureRequest) -> Any:
    return ENVS[request.param]


@pytest.fixture(scope="module")
def states(env: Any) -> Any:
    """States under random actions, also after the end of an episode, with a leading axis."""

    def advance(state: Any, key: jax.Array) -> tuple[Any, Any]:
        action_key, key = jax.random.split(key)
        next_state, _ = env.step(state, env.action_space.sample(action_key), key)
        return next_state, state

    @jax.jit
    def play(key: jax.Array) -> Any:
        reset_key, key = jax.random.split(key)
        return jax.lax.scan(advance, env.reset(reset_key)[0], jax.random.split(key, NUM_STEPS))[1]

    return play(funcenv.key(3))


@jax.jit
def drawn(env: Any, state: Any) -> Any:
    return env.scene(state).canonical()


def leaves_of(scene: Any, *names: str) -> list[Any]:
    return jax.tree.leaves([getattr(scene, name) for name in names])


def assert_close(scene: Any, expected: Any) -> None:
    for leaf, wanted in zip(jax.tree.leaves(scene), jax.tree.leaves(expected), strict=True):
        assert leaf.dtype == wanted.dtype
        np.testing.assert_allclose(np.float64(leaf), np.float64(wanted), rtol=1e-5, atol=2e-6)


def test_frames_are_not_blank_and_change(env: Any, states: Any) -> None:
    frames = draw_frames(env, states).reshape(NUM_STEPS, -1)
    assert frames.dtype == np.uint8
    assert (np.ptp(frames, axis=1) > 100).all()
    assert len(np.unique(frames, axis=0)) > 1


def test_every_state_has_the_same_shapes_and_the_same_surroundings(env: Any, states: Any) -> None:
    first, *others = (drawn(env, member(states, index)) for index in (0, 1, 10, 19))
    assert len(first.shapes) <= MAX_SHAPES
    for other in others:
        require_same_structure(first, other, "in another state")
        for one, same in zip(leaves_of(first, *STILL), leaves_of(other, *STILL), strict=True):
            np.testing.assert_array_equal(one, same)


def test_a_batch_of_states_shares_one_backdrop(env: Any, states: Any) -> None:
    def unbatched(name: str) -> bool:
        try:
            jax.eval_shape(jax.vmap(lambda state: leaves_of(drawn(env, state), name), out_axes=None), states)
        except ValueError as error:
            assert "out_axes" in str(error)
            return False
        return True

    assert all(map(unbatched, STILL))
    assert not unbatched("shapes")


def test_scenes_stack(env: Any, states: Any) -> None:
    """A batch of scenes is the scenes of the batch, all of finite numbers."""
    batch = jax.vmap(lambda state: drawn(env, state))(states)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(batch))
    for index in (0, 7, 19):
        assert_close(member(batch, index), drawn(env, member(states, index)))


def test_scenes_come_out_of_compiled_code_as_they_are(env: Any, states: Any) -> None:
    """A whole number among the coordinates would come out as an integer, and not be drawn."""
    compiled = jax.jit(lambda state: env.scene(state))(member(states, 3))
    assert_close(compiled.canonical(), drawn(env, member(states, 3)))


def test_double_precision_draws_the_same(env: Any, states: Any) -> None:
    state = member(states, 11)
    expected = drawn(env, state)
    with jax.enable_x64(True):
        double = jax.tree.map(
            lambda leaf: jnp.asarray(leaf, float if leaf.dtype == np.float32 else leaf.dtype), jax.device_get(state)
        )
        assert_close(drawn(env, double), expected)


@pytest.mark.parametrize("x64", [False, True])
def test_parameters_batch(env: Any, states: Any, x64: bool) -> None:
    """Every parameter may be an array that varies over a batch, in either precision."""
    state = jax.device_get(member(states, 11))
    expected = drawn(env, state)
    with jax.enable_x64(x64):
        envs = jax.tree.map(lambda value: jnp.array([value, value], float), env)
        batch = jax.vmap(lambda env, _: drawn(env, state))(envs, jnp.zeros(2))
        for index in range(2):
            assert_close(member(batch, index), expected)


def test_gradients_are_finite(env: Any, states: Any) -> None:
    """Where states are continuous, shapes move with them."""
    if not env.differentiable:
        assert env.differentiable is False or not isinstance(env.observation_space, funcenv.spaces.Box), (
            f"{type(env).__name__} observes floats: set differentiable = True if steps and scenes have finite "
            "gradients, else differentiable = False"
        )
        return

    def total(state: Any) -> jax.Array:
        return sum(jnp.sum(leaf) for leaf in leaves_of(drawn(env, state), "shapes"))

    gradients = jax.tree.leaves(jax.grad(total)(member(states, 11)))
    assert all(np.isfinite(leaf).all() for leaf in gradients)
    assert any((leaf != 0).any() for leaf in gradients)
