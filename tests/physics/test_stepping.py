"""The two passes in which a batch of worlds is computed."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import funcenv
from funcenv._compile.jaxpr import inner_jaxprs, iter_eqns
from funcenv.physics import Body, Circle, Edges, Fixture, World, batches, initial_state, step
from tests.support.compiling import users_options

REDUCTIONS = "reduce_min", "reduce_max", "reduce_sum", "dot_general"


def _world(height, gravity, is_grounded=False):
    ground = Body((Fixture(Edges(*np.array([[-5.0], [0.0], [5.0], [0.0]], np.float32))),), is_static=True)
    ball = Body((Fixture(Circle(0.5), density=1.0, restitution=0.5),), (0.0, height))
    settings = {"max_contacts": 2, "is_continuous": False, "is_grounded": is_grounded}
    return World((ground, ball), gravity=(0.0, gravity), **settings)


def _bounce(height, gravity, is_grounded=False):
    def advance(state, _):
        return step(_world(height, gravity, is_grounded), state, 1 / 60), state.y[0]

    return jax.lax.scan(advance, initial_state(_world(height, gravity)), length=60)[1]


@pytest.mark.fast_path
@pytest.mark.dear
def test_a_batch_of_stacks_steps_as_one_does():
    """The bodies may collide with each other; the first pass takes worlds without contacts."""
    ground = Body((Fixture(Edges(*np.array([[-5.0], [0.0], [5.0], [0.0]], np.float32))),), is_static=True)

    def fall(height):
        balls = [Body((Fixture(Circle(0.5), density=1.0),), (0.0, place)) for place in (height, height + 1.5)]
        world = World((ground, *balls), max_contacts=4, is_continuous=False)
        return jax.lax.scan(lambda state, _: (step(world, state, 1 / 60), state.y), initial_state(world), length=40)[1]

    heights = jnp.linspace(0.6, 2.0, 6)
    batch = jax.jit(jax.vmap(fall))(heights)
    alone = jax.jit(fall)(heights[0])
    np.testing.assert_allclose(batch[0], alone, rtol=1e-4)
    assert (np.asarray(batch)[:, -1, 1] > np.asarray(batch)[:, -1, 0] + 0.9).all()  # one lies on the other


@pytest.mark.fast_path
@pytest.mark.dear
def test_a_batch_of_batches_is_one_larger_batch():
    """Some heights vary with the inner batch and some gravities with the outer one, as seeds of a training do."""
    heights, gravities = jnp.linspace(0.6, 3.0, 6), jnp.array([-10.0, -5.0])
    inner = jax.vmap(_bounce, in_axes=(0, None))
    nested = jax.jit(jax.vmap(inner, in_axes=(None, 0)), compiler_options=users_options())(heights, gravities)
    both = [column.ravel() for column in jnp.meshgrid(heights, gravities)]
    flat = jax.jit(jax.vmap(_bounce))(*both)
    np.testing.assert_allclose(nested.reshape(flat.shape), flat, rtol=1e-5)
    assert (np.asarray(nested)[:, 1:, -1] < 2.0).all()  # they have fallen


@pytest.mark.fast_path
@pytest.mark.dear
def test_a_batch_of_worlds_on_the_ground_needs_one_pass():
    heights = jnp.linspace(0.6, 3.0, 6)
    grounded, either = (
        jax.jit(jax.vmap(functools.partial(_bounce, gravity=-10.0, is_grounded=is_grounded))).lower(heights)
        for is_grounded in (True, False)
    )
    assert len(grounded.as_text()) < 0.95 * len(either.as_text())
    np.testing.assert_allclose(grounded.compile()(heights), either.compile()(heights), rtol=1e-5)


@pytest.mark.parametrize("is_continuous", [False, True])
def test_a_world_without_contacts_takes_a_smaller_step(is_continuous):
    """The ball meets the ground within the step, or would fall through it."""
    ground = Body((Fixture(Edges(*np.array([[-5.0], [0.0], [5.0], [0.0]], np.float32))),), is_static=True)
    ball = Body((Fixture(Circle(0.5), density=1.0),), (0.0, 1.5), velocity=(0.0, -70.0))
    world = World((ground, ball), max_contacts=2, is_continuous=is_continuous)
    state = initial_state(world)
    assert (state.contacts.pair == -1).all()
    whole, smaller = (functools.partial(step, world, dt=1 / 60, is_apart=is_apart) for is_apart in (False, True))
    expected, found = whole(state), smaller(state)
    assert bool(expected.began[0]) == is_continuous and (expected.contacts.pair >= 0).any()
    jax.tree.map(functools.partial(np.testing.assert_allclose, rtol=1e-6), found, expected)
    sizes = [len(list(iter_eqns(jax.make_jaxpr(program)(state).jaxpr))) for program in (whole, smaller)]
    assert sizes[1] < 0.8 * sizes[0]


def _kernels(jaxpr):
    """Iterate over the programs that are marked to become one kernel."""
    for eqn in jaxpr.eqns:
        inner = inner_jaxprs(list(eqn.params.values()))
        if eqn.params.get("name") == "styled":
            yield from inner
        else:
            for part in inner:
                yield from _kernels(part)


@pytest.mark.fast_path
@pytest.mark.parametrize("id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_the_kernel_of_a_batch_holds_no_reduction_of_many_floats(id):
    """XLA gives them to a library, and then cannot call the kernel from a user's program; see `scalars.least_of`."""
    env, size = funcenv.make(id), 300

    def play(key):
        keys = jax.random.split(key, size)
        states, _ = jax.vmap(env.reset)(keys)
        return jax.vmap(env.step)(states, jax.vmap(env.action_space.sample)(keys), keys)

    kernels = list(_kernels(jax.make_jaxpr(play)(funcenv.key(0)).jaxpr))
    assert kernels
    reduced = [
        eqn.invars[0].aval for kernel in kernels for eqn in iter_eqns(kernel) if eqn.primitive.name in REDUCTIONS
    ]
    assert all(aval.size < 256 for aval in reduced if aval.dtype.kind == "f")


@pytest.mark.fast_path
@pytest.mark.dear
@pytest.mark.exhaustive
@pytest.mark.parametrize("id", ["LunarLander-v3", "BipedalWalker-v3", "CarRacing-v3"])
def test_a_large_batch_compiles_in_a_users_program(id):
    venv = funcenv.FuncVectorEnv(funcenv.make(id), 300)
    policy = funcenv.random_policy(venv)
    play = jax.jit(
        lambda key: funcenv.rollout(venv, policy, key, num_steps=2)[2].count, compiler_options=users_options()
    )
    play.lower(funcenv.key(0)).compile()


@pytest.fixture
def for_a_gpu(monkeypatch):
    """Let the physics compute on the CPU what it computes on a GPU."""
    jax.clear_caches()
    monkeypatch.setattr(batches, "target_platform", lambda: "gpu")
    yield
    jax.clear_caches()


HEIGHTS = jnp.array([0.6, 3.0])


def _fall(heights):
    return jax.vmap(functools.partial(_bounce, gravity=-10.0))(heights)


def _branches():
    return [eqn for eqn in iter_eqns(jax.make_jaxpr(_fall)(HEIGHTS).jaxpr) if eqn.primitive.name == "cond"]


@pytest.fixture(scope="module")
def fallen():
    """Return the paths of balls that touch nothing at first, and the ground in the end, as a CPU computes them."""
    assert _branches()
    return np.asarray(jax.jit(_fall)(HEIGHTS))


def test_a_gpu_computes_without_branches_what_a_cpu_computes_with_them(fallen, for_a_gpu):
    assert not _branches()
    np.testing.assert_allclose(jax.jit(_fall)(HEIGHTS), fallen, rtol=1e-6)
