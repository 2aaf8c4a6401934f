"""The C backend: batches, threads, diverging physics, randomised models, and bad input."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import funcenv
from funcenv.envs import Ant, HalfCheetah, Hopper, InvertedPendulum
from funcenv.envs.mujoco import model
from funcenv.envs.mujoco.simulation import SCALED_FIELDS
from funcenv.host import from_words
from tests.support.mujoco import ours, random_actions


@jax.jit
def play(env, states, actions):
    """Play a batch `[num]` with actions `[num_steps, num, nu]`; return all states."""

    def step(states, actions):
        states = jax.vmap(env.transition, (0, 0, None))(states, actions, jax.random.key(0))
        return states, states

    return jax.lax.scan(step, states, actions)[1]


def started(env, num):
    return jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(0), num))


@pytest.mark.parametrize("name", ["Ant", "HalfCheetah"])
def test_a_life_does_not_depend_on_the_batch_or_the_threads(name):
    """Environment i of 150 lives the same alone, and on three threads, bit for bit; 150 Ants are two batches."""
    env, num, num_steps = ours(name, num_threads=1), 150, 3
    actions = random_actions(env, num_steps * num).reshape(num_steps, num, -1)
    states = started(env, num)
    together = play(env, states, actions)
    threaded = play(env.replace(num_threads=3), states, actions)
    jax.tree.map(np.testing.assert_array_equal, together, threaded)
    for row in (0, 70, 149):
        alone = play(env, jax.tree.map(lambda leaf, row=row: leaf[row : row + 1], states), actions[:, row : row + 1])
        np.testing.assert_array_equal(alone.physics[:, 0], together.physics[:, row])


@pytest.mark.parametrize("name", ["Reacher", "HalfCheetah"])
def test_first_states_do_not_depend_on_the_batch(name):
    env, keys = ours(name), jax.random.split(funcenv.key(0), 20)
    states = jax.jit(jax.vmap(env.initial))(keys)
    for row in (0, 19):
        np.testing.assert_array_equal(jax.jit(env.initial)(keys[row]).physics, states.physics[row])
        np.testing.assert_array_equal(env.initial(keys[row]).physics, states.physics[row])


def test_an_episode_goes_on_from_a_stored_state():
    """Stepping something else in between changes nothing: a state can be branched from."""
    env = Ant()
    actions = random_actions(env, 6)[:, None]
    states = started(env, 1)
    whole = play(env, states, actions)
    middle = jax.tree.map(lambda leaf: leaf[2], whole)
    play(env, states, -actions)
    jax.tree.map(np.testing.assert_array_equal, play(env, middle, actions[3:]).physics, whole.physics[3:])


def test_a_simulation_that_diverges_ends_its_episode_alone(capfd, monkeypatch, tmp_path):
    """The physics stays as it was, `info` tells, and the others go on as if nothing had happened."""
    monkeypatch.chdir(tmp_path)
    env = funcenv.wrappers.TimeLimit(Hopper(terminate_when_unhealthy=False), 100)
    states = started(env, 3)
    actions, key = jnp.asarray(random_actions(env, 3)), jax.random.key(0)
    step = jax.jit(jax.vmap(env.step, (0, 0, None)))
    expected, _ = step(states, actions, key)
    inner = states.env_state
    far = inner.physics.at[1, 14].set(0).at[1, 15].set(0x7E000000)  # a velocity of 1e299
    broken = states.replace(env_state=inner.replace(physics=far))
    found, timestep = step(broken, actions, key)
    assert timestep.terminated.tolist() == timestep.info["unstable"].tolist() == [False, True, False]
    np.testing.assert_array_equal(found.env_state.physics[1], far[1])
    np.testing.assert_array_equal(found.env_state.physics[::2], expected.env_state.physics[::2])
    assert np.isfinite(timestep.reward).all()
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())  # where MuJoCo would write a log
    again, timestep = step(states, actions, key)
    assert not timestep.info["unstable"].any()
    np.testing.assert_array_equal(again.env_state.physics, expected.env_state.physics)


@pytest.mark.parametrize("number", [np.nan, np.inf, 1e11])
@pytest.mark.parametrize("part", ["qpos", "qvel"])
def test_a_first_state_that_diverges_stays_as_it_is_and_so_do_its_steps(part, number, capfd, monkeypatch, tmp_path):
    """MuJoCo would go on from the default pose; its neighbours are not disturbed."""
    monkeypatch.chdir(tmp_path)
    env = Ant()
    start = {"qpos": jnp.tile(env.init_qpos, (2, 1)), "qvel": jnp.zeros((2, env.model.mjmodel.nv))}
    fine = jax.vmap(env.state_at)(**start)
    start[part] = start[part].at[0, 3].set(number)
    state = jax.vmap(env.state_at)(**start)
    step = jax.vmap(env.transition, (0, None, None))
    later = step(state, jnp.zeros(8), jax.random.key(0))
    for found in (state, later):
        assert found.unstable.tolist() == jax.vmap(env.terminal)(found).tolist() == [True, False]
        np.testing.assert_array_equal(getattr(found, part)[0], start[part][0])
        np.testing.assert_array_equal(found.physics[0], state.physics[0])
    np.testing.assert_array_equal(later.physics[1], step(fine, jnp.zeros(8), jax.random.key(0)).physics[1])
    np.testing.assert_array_equal(later.displacement[0], 0)
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def simulate(mjmodel, state, env, actions):
    """Step a plain simulation with a model of its own."""
    data = mujoco.MjData(mjmodel)
    row = from_words(np.asarray(state.physics))[0]
    data.qpos[:], data.qvel[:] = row[1 : 1 + mjmodel.nq], row[1 + mjmodel.nq : 1 + mjmodel.nq + mjmodel.nv]
    for action in actions[:, 0]:
        data.ctrl[:] = action
        mujoco.mj_step(mjmodel, data, nstep=env.frame_skip)
    return np.concatenate([data.qpos, data.qvel])


@pytest.mark.parametrize("name", SCALED_FIELDS)
def test_a_factor_scales_the_model(name):
    """A batch whose environments have other factors equals plain simulations of other models, bit for bit."""
    factors = np.float32([0.5, 1.0, 2.0])
    env = HalfCheetah(**{name: jnp.asarray(factors)})
    single = HalfCheetah()
    actions, start = random_actions(single, 20)[:, None], started(single, 1)
    axes = jax.tree.map(lambda leaf: 0 if jnp.ndim(leaf) else None, env)

    def step(states, action):
        states = jax.vmap(lambda env, state: env.transition(state, action, jax.random.key(0)), (axes, 0))(env, states)
        return states, None

    states = jax.tree.map(lambda leaf: jnp.repeat(leaf, len(factors), axis=0), start)
    final, _ = jax.jit(lambda states: jax.lax.scan(step, states, jnp.asarray(actions[:, 0])))(states)
    found = from_words(np.asarray(final.physics))
    nq, nv = single.model.mjmodel.nq, single.model.mjmodel.nv
    for row, factor in enumerate(factors.astype(np.float64)):
        changed = mujoco.MjModel.from_xml_path(single.model.path)
        for field in SCALED_FIELDS[name]:
            owner, _, attribute = field.rpartition(".")
            getattr(changed.opt if owner else changed, attribute)[:] *= factor
        mujoco.mj_setConst(changed, mujoco.MjData(changed))
        expected = simulate(changed, start, single, actions)
        np.testing.assert_array_equal(found[row, 1 : 1 + nq + nv], expected)
    assert len(np.unique(found[:, 1])) == len(factors)


OWN = """<mujoco><option timestep="0.01"/><worldbody><body><joint name="a" type="slide" axis="1 0 0"/>
<geom size="0.1"/><body pos="0 0 0.1"><joint axis="0 1 0"/><geom type="capsule" size="0.05 0.2" pos="0 0 0.2"/></body>
</body></worldbody><actuator><motor joint="a" ctrlrange="-1 1"/></actuator></mujoco>"""


def test_a_model_of_your_own_is_taken(tmp_path):
    path = tmp_path / "own.xml"
    path.write_text(OWN)
    env = InvertedPendulum(xml_file=str(path))
    state, timestep = jax.jit(env.reset)(funcenv.key(0))
    state, timestep = jax.jit(env.step)(state, jnp.ones(1), funcenv.key(1))
    assert timestep.observation.shape == (4,)
    assert env.action_space.low.tolist() == [-1.0]
    path.write_text(OWN.replace("0.01", "0.02"))
    with pytest.raises(ValueError, match="has changed since it was loaded.*save the new one under another name"):
        InvertedPendulum(xml_file=str(path))


def test_packaged_models_load_without_a_word(capfd, monkeypatch, tmp_path):
    """MuJoCo calls an attribute of HalfCheetah's file outdated, and would write a log file."""
    monkeypatch.chdir(tmp_path)
    model.load_model.__wrapped__("half_cheetah.xml")
    assert capfd.readouterr().err == ""
    assert not list(tmp_path.iterdir())


def test_sizes_of_meshes_are_not_scaled(tmp_path):
    """Their points do not follow from a size, so a factor is refused; any model runs with a factor of 1."""
    mesh = '<asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/></asset><worldbody>'
    path = tmp_path / "mesh.xml"
    path.write_text(OWN.replace("<worldbody>", mesh).replace('<geom size="0.1"/>', '<geom type="mesh" mesh="m"/>'))
    InvertedPendulum(xml_file=str(path))
    with pytest.raises(ValueError, match="size_scale cannot scale the meshes of .*mesh.xml; scale them in the file"):
        InvertedPendulum(xml_file=str(path), size_scale=2.0)


def test_larger_geoms_collide_with_each_other(tmp_path):
    """Contacts of bodies with several geoms, searched for by boxes, are found where only scaled geoms touch."""
    geoms = '<geom size="0.1"/><geom size="0.1" pos="0 0.5 0"/>'
    body = f'<body pos="{{}} 0 0"><joint type="slide" axis="1 0 0"{{}}/>{geoms}</body>'
    bodies = body.format(0, ' name="a"') + body.format(0.3, "")
    path = tmp_path / "two.xml"
    path.write_text(
        f'<mujoco><option gravity="0 0 0"/><worldbody>{bodies}</worldbody><actuator><motor joint="a" ctrlrange="-1 1"/>'
        "</actuator></mujoco>"
    )
    speeds = []
    for factor in (1.0, 2.0):
        env = InvertedPendulum(xml_file=str(path), size_scale=factor, reset_noise_scale=0.0)
        state = jax.jit(env.initial)(funcenv.key(0))
        for _ in range(3):
            state = jax.jit(env.transition)(state, jnp.zeros(1), funcenv.key(1))
        speeds.append(np.asarray(state.qvel))
    np.testing.assert_array_equal(speeds[0], 0)
    assert speeds[1][0] < 0 < speeds[1][1]


def test_bad_files_are_named(tmp_path):
    broken = tmp_path / "broken.xml"
    broken.write_text("<mujoco><worldbody><bodyy/></worldbody></mujoco>")
    with pytest.raises(ValueError, match=r"cannot compile .*broken\.xml; correct the file: .*unrecognized element"):
        Ant(xml_file=str(broken))
    with pytest.raises(FileNotFoundError, match="there is no packaged model 'aunt.xml'; the packaged ones are ant.xml"):
        Ant(xml_file="aunt.xml")
    with pytest.raises(FileNotFoundError, match="there is no file .*missing.xml; pass the path"):
        Ant(xml_file=str(tmp_path / "missing.xml"))
    with pytest.raises(ValueError, match="has no body 'tail'; its bodies are 'world', 'torso'"):
        Ant(main_body="tail")


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"frame_skip": 0}, "frame_skip must be at least 1"),
        ({"width": 0}, "width must be at least 1"),
        ({"num_threads": 0}, "num_threads must be at least 1"),
        ({"size_scale": 0.0}, "size_scale must be a finite number above 0"),
        ({"mass_scale": 0.0}, "mass_scale must be a finite number above 0"),
        ({"friction_scale": -1.0}, "friction_scale must be at least 0"),
        ({"gravity_scale": np.inf}, "gravity_scale must be a finite number"),
    ],
)
def test_bad_arguments_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        Ant(**arguments)


@pytest.mark.parametrize(
    "version, reason",
    [
        ("4.0.0", "wrong Newton Hessian for sparse Jacobians"),
        ("3.16.2", "no batches of simulations"),
        ("3.2.7", "no batches of simulations"),
        ("2.3.7", "no batches of simulations"),
        ("4.1.0", "not been compared with Gymnasium's"),
        ("3.18.0", "not been compared with Gymnasium's"),
    ],
)
def test_other_versions_are_refused_with_the_reason(version, reason):
    with pytest.raises(ImportError, match=rf"need mujoco 3\.17, got {version}: .*{reason}.*; pip install"):
        model.require_version(version)


def test_versions_that_were_compared_are_taken():
    for version in ("3.17.0", "3.17.1", "3.17"):
        model.require_version(version)


WITHOUT = """
import sys
sys.modules["mujoco"] = None
import funcenv
assert funcenv.spec("Ant-v5").max_episode_steps == 1000
try:
    funcenv.make("Ant-v5")
except ModuleNotFoundError as error:
    assert str(error) == 'MuJoCo environments need mujoco: pip install "funcenv[mujoco]"', error
else:
    raise AssertionError("made without mujoco")
"""


def test_ids_are_listed_without_mujoco_and_making_one_tells_how_to_install_it():
    subprocess.run([sys.executable, "-c", WITHOUT], check=True, env=os.environ)


def test_gradients_are_refused_through_the_physics_and_pass_beside_it():
    env = InvertedPendulum()
    state = jax.jit(env.initial)(funcenv.key(0))
    with pytest.raises(TypeError, match="runs on the host and has no derivative"):
        jax.grad(lambda action: env.step(state, action, funcenv.key(1))[1].reward)(jnp.zeros(1))
    cheetah = HalfCheetah()
    state = jax.jit(cheetah.initial)(funcenv.key(0))

    def loss(weight):
        return cheetah.replace(ctrl_cost_weight=weight).step(state, jnp.ones(6), funcenv.key(1))[1].reward

    assert jax.jit(jax.grad(loss))(0.1) == -6.0
