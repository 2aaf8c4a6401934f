"""MJX against the C library, on two small models, and the choice between them."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import funcenv
from funcenv.envs import Hopper, InvertedPendulum, Pusher
from funcenv.envs.mujoco import mjx
from funcenv.envs.mujoco.model import PACKAGED, load_model
from funcenv.envs.mujoco.simulation import SCALED_FIELDS
from tests.support.mujoco import ours, random_actions

NUM_STEPS = 10
# Factors of friction, masses, damping, gear, gravity and sizes of four environments.
FACTORS = np.float32([[1, 1, 1, 1, 1, 1], [0.5, 2, 1, 1, 1, 1.25], [1, 0.5, 2, 0.5, 1, 0.75], [2, 1, 0.5, 1, 0.5, 1]])


@jax.jit
def play(envs, states, actions):
    """Play each environment of a batch `[num]` with its own factors; return states and time steps `[steps, num]`."""
    axes = jax.tree.map(lambda leaf: 0 if jnp.ndim(leaf) else None, envs)
    step = jax.vmap(lambda env, state, action: env.step(state, action, jax.random.key(0)), (axes, 0, None))

    def body(states, action):
        states, timesteps = step(envs, states, action)
        return states, (states, timesteps)

    return jax.lax.scan(body, states, actions)[1]


def started(name, backend):
    """Return environments with different factors, their first states, and actions."""
    env = ours(name, backend=backend)
    envs = env.replace(**{field: jnp.asarray(FACTORS[:, i]) for i, field in enumerate(SCALED_FIELDS)})
    keys = jax.random.split(funcenv.key(1), len(FACTORS))
    return envs, jax.jit(jax.vmap(env.initial))(keys), jnp.asarray(random_actions(env, NUM_STEPS))


def both(name):
    """Play with both backends; return states and time steps of each."""
    return [jax.device_get(play(*started(name, backend))) for backend in ("c", "mjx")]


def error(found, expected, step):
    scale = np.maximum(np.abs(expected), 1)
    return (np.abs(found - expected) / scale)[: step + 1].max()


@pytest.mark.dear
def test_mjx_computes_what_the_library_computes():
    """In 64 bits, also with other friction, masses, damping, gear, gravity and sizes in each environment."""
    with jax.enable_x64(True):
        (expected_states, expected), (states, timesteps) = both("HalfCheetah")
    for field in ("qpos", "qvel", "displacement"):
        assert error(getattr(states, field), getattr(expected_states, field), NUM_STEPS) < 1e-9
    assert timesteps.observation.dtype == np.float64
    assert error(timesteps.observation, expected.observation, NUM_STEPS) < 1e-9
    assert error(timesteps.reward, expected.reward, NUM_STEPS) < 1e-9
    np.testing.assert_array_equal(timesteps.terminated, expected.terminated)
    assert timesteps.info.keys() == expected.info.keys()
    assert len(np.unique(states.qvel[-1, :, 0])) == len(FACTORS)


@pytest.mark.dear
def test_32_bits_are_as_near_as_they_can_be():
    (expected_states, _), (states, timesteps) = both("InvertedPendulum")
    assert states.physics.dtype == timesteps.observation.dtype == np.float32
    for field in ("qpos", "qvel"):
        assert error(getattr(states, field), getattr(expected_states, field), 0) < 1e-6
        assert error(getattr(states, field), getattr(expected_states, field), NUM_STEPS) < 2e-5


@pytest.mark.dear
def test_a_simulation_that_diverges_ends_its_episode():
    """The physics stays as it was, and the other environments go on as if nothing had happened."""
    envs, states, actions = started("InvertedPendulum", "mjx")
    far = states.physics.at[1, 3].set(1e30)  # a velocity
    expected, _ = play(envs, states, actions)
    found, timesteps = play(envs, states.replace(physics=far), actions)
    assert timesteps.info["unstable"].all(axis=0).tolist() == [False, True, False, False]
    assert timesteps.terminated[:, 1].all()
    np.testing.assert_array_equal(found.physics[-1, 1], far[1])
    np.testing.assert_array_equal(found.physics[:, [0, 2, 3]], expected.physics[:, [0, 2, 3]])


@pytest.mark.parametrize("xml_file", PACKAGED)
@pytest.mark.parametrize("scale", [0.5, 1.0, 2.0])
def test_constants_of_masses_are_those_of_mujoco(xml_file, scale):
    model = load_model(xml_file).mjmodel
    changed = mujoco.MjModel.from_xml_path(load_model(xml_file).path)
    changed.body_mass[:] *= scale
    changed.body_inertia[:] *= scale
    mujoco.mj_setConst(changed, mujoco.MjData(changed))
    with jax.enable_x64(True):
        found = jax.device_get(jax.jit(lambda scale: mjx.constants_of_masses(xml_file, scale))(scale))
    assert model.nv == len(found["dof_invweight0"])
    for name, values in found.items():
        np.testing.assert_allclose(values, getattr(changed, name), rtol=1e-9, atol=1e-14, err_msg=name)


def test_the_library_is_chosen_on_cpus_and_mjx_elsewhere(monkeypatch):
    assert Hopper().simulator == "c" and Hopper(backend="mjx").simulator == "mjx"
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    assert Hopper().simulator == "mjx" and Hopper(backend="c").simulator == "c"
    assert Pusher().simulator == "c"


def test_what_mjx_cannot_simulate_is_refused(tmp_path):
    with pytest.raises(ValueError, match='Pusher does not run with backend="mjx": .*cylinder.*; use backend="c"'):
        Pusher(backend="mjx")
    with pytest.raises(ValueError, match='backend must be "auto", "c" or "mjx", got "gpu"'.replace('"gpu"', "'gpu'")):
        Hopper(backend="gpu")
    path = tmp_path / "own.xml"
    path.write_text(
        '<mujoco><option integrator="implicit"/><worldbody><body><joint name="a" axis="0 1 0"/><geom size="0.1"/>'
        '</body></worldbody><actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>'
    )
    with pytest.raises(ValueError, match=r'MJX cannot simulate .*own\.xml: .*; use backend="c"'):
        InvertedPendulum(xml_file=str(path), backend="mjx")


WITHOUT = """
import sys
sys.modules["mujoco.mjx"] = None
import funcenv
funcenv.make("Ant-v5")
try:
    funcenv.make("Ant-v5", backend="mjx")
except ModuleNotFoundError as error:
    assert str(error) == 'backend="mjx" needs mujoco-mjx: pip install "funcenv[mujoco]"', error
else:
    raise AssertionError("made without mujoco-mjx")
"""
QUIET = """
import sys
import funcenv
funcenv.make("Hopper-v5")
assert "mujoco.mjx" not in sys.modules
funcenv.make("Hopper-v5", backend="mjx")
"""


@pytest.mark.parametrize("script", [WITHOUT, QUIET], ids=["without", "quiet"])
def test_mjx_is_imported_when_it_is_needed_and_silently(script):
    done = subprocess.run([sys.executable, "-c", script], check=True, env=os.environ, capture_output=True, text=True)
    assert done.stdout == ""


@pytest.mark.dear
@pytest.mark.exhaustive
def test_derivatives_by_reverse_mode_are_those_of_the_library():
    """Derivatives with respect to a state, actions and a factor, against differences of the library in 64 bits."""

    def final(env, state, actions, scale):
        env = env.replace(gear_scale=scale)

        def step(state, action):
            return (env.transition(state, action, jax.random.key(0)), None)

        state, _ = jax.lax.scan(step, env.state_at(state[:2], state[2:]), actions)
        return state.qpos @ jnp.array([1.0, 2.0]) + 0.1 * state.qvel.sum()

    with jax.enable_x64(True):
        args = np.array([0.01, -0.02, 0.1, -0.1]), np.array([[0.5], [-1.0], [2.0]]), np.array(1.5)
        found = jax.device_get(
            jax.jit(jax.grad(final, argnums=(1, 2, 3)))(ours("InvertedPendulum", backend="mjx"), *args)
        )
        value, env = jax.jit(final), ours("InvertedPendulum", backend="c")
        for index, arg in enumerate(args):
            for place in np.ndindex(arg.shape):
                change = np.zeros_like(arg)
                change[place] = 1e-6
                high, low = (value(env, *args[:index], arg + side, *args[index + 1 :]) for side in (change, -change))
                np.testing.assert_allclose(found[index][place], (high - low) / 2e-6, rtol=1e-6, atol=1e-8)


def test_contacts_of_capsules_are_those_of_the_library():
    """Places, distances and frames agree to 1e-9 in 64 bits; MJX's own differ by 1e-5."""
    free = '<body><freejoint/><geom type="capsule" size="{}"/></body>'
    text = f"<mujoco><worldbody>{free.format('.1 .3')}{free.format('.05 .2')}</worldbody></mujoco>"
    mjmodel, random = mujoco.MjModel.from_xml_string(text), np.random.default_rng(0)
    qpos = random.normal(size=(300, 2, 7)) * np.array([0.15] * 3 + [1.0] * 4)
    qpos[..., 3:] /= np.linalg.norm(qpos[..., 3:], axis=-1, keepdims=True)
    qpos = qpos.reshape(300, 14)
    with jax.enable_x64(True):
        mujoco_mjx = mjx.import_mjx()
        model = mujoco_mjx.put_model(mjmodel, impl="jax")

        def contact_at(positions):
            data = mujoco_mjx.make_data(model).replace(qpos=positions)
            found = mujoco_mjx.collision(model, mujoco_mjx.kinematics(model, data))._impl.contact
            return found.dist[0], found.pos[0], found.frame[0].ravel()

        with mjx.tracing():
            found = jax.device_get(jax.jit(jax.vmap(contact_at))(jnp.asarray(qpos)))
    data, num_contacts = mujoco.MjData(mjmodel), 0
    for row, positions in enumerate(qpos):
        data.qpos[:] = positions
        mujoco.mj_forward(mjmodel, data)
        assert data.ncon == (found[0][row] < 0)
        for numbers, name in zip(found, ("dist", "pos", "frame"), strict=True):
            if data.ncon:
                np.testing.assert_allclose(numbers[row], getattr(data.contact, name)[0], atol=1e-9)
        num_contacts += data.ncon
    assert num_contacts > 100
