"""`MujocoTask`: models of users, data by name, inputs, changed models, both backends, and bad input."""

import functools
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import mujoco
import numpy as np
import pytest

import funcenv
from funcenv import adapters
from funcenv.envs import MujocoTask, Start
from funcenv.envs.mujoco.mjcf import compile_mjcf
from funcenv.host import from_words
from funcenv.struct import field
from tests.support.frames import member

XML = """
<mujoco model="cart">
  <option timestep="0.01"/>
  <worldbody>
    <geom name="floor" type="plane" size="2 2 .1"/>
    <body name="cart" pos="0 0 .5">
      <joint name="slider" type="slide" axis="1 0 0"/>
      <geom name="box" type="box" size=".1 .1 .05" mass="1"/>
      <body name="pole">
        <joint name="hinge" axis="0 1 0" damping=".02"/>
        <geom name="rod" type="capsule" size=".03" fromto="0 0 0 0 0 .4" mass=".2"/>
        <site name="tip" pos="0 0 .4"/>
      </body>
    </body>
    <body name="ball" pos=".6 0 .3">
      <freejoint name="free"/>
      <geom name="ball" type="sphere" size=".05" mass=".1"/>
    </body>
    <body name="hand" mocap="true" pos="0 .5 .5"><geom name="hand" type="sphere" size=".02" contype="0" conaffinity="0"/></body>
  </worldbody>
  <actuator><motor name="push" joint="slider" gear="5" ctrlrange="-1 1" ctrllimited="true"/></actuator>
  <sensor><jointvel name="hinge_speed" joint="hinge"/><framepos name="tip" objtype="site" objname="tip"/></sensor>
</mujoco>
"""  # noqa: E501


class Balance(MujocoTask):
    """The example of the guide: about twenty lines."""

    frame_skip: int = field(pytree_node=False, default=2)
    pole_mass: float = field(default=0.2, kw_only=True)  # [kg]

    mjcf: ClassVar[Any] = XML
    reads: ClassVar = ("site_xpos", "xpos", "sensordata")

    def start(self, key):
        return Start(qpos=self.positions({"hinge": 0.1 * jax.random.normal(key, (), float)}))

    def observation(self, state, key):
        data = self.data(state)
        return {
            "slider": data.joint("slider").qpos,
            "pole": jnp.append(data.joint("hinge").qpos, data.sensor("hinge_speed").data),
        }  # noqa: E501

    def reward(self, state, action, next_state):
        return self.data(next_state).site("tip").xpos[2]

    def terminal(self, state):
        return state.unstable | (jnp.abs(self.data(state).joint("slider").qpos[0]) > 0.8)

    def model_changes(self, variables):
        mass = jnp.asarray(self.model.mjmodel.body_mass, float)
        return {"body_mass": mass.at[self.model.mjmodel.body("pole").id].set(self.pole_mass)}


@functools.cache
def balance():
    return Balance()


def plain_loop(model, state, actions, env, synchronized=True):
    """Return the physics rows and the places of the tip of a loop over MuJoCo's own functions."""
    data = mujoco.MjData(model)
    row = from_words(np.asarray(state.physics))
    data.time, data.qpos[:], data.qvel[:] = row[0], row[1 : 1 + model.nq], row[1 + model.nq : 1 + model.nq + model.nv]
    data.qacc_warmstart[:] = row[-model.nv :]
    rows, tips = [], []
    for action in actions:
        data.ctrl[:] = action
        mujoco.mj_step(model, data, env.frame_skip)
        if synchronized:
            mujoco.mj_step1(model, data)
        rows.append(np.concatenate([[data.time], data.qpos, data.qvel, data.qacc_warmstart]))
        tips.append(data.site("tip").xpos.copy())
    return np.stack(rows), np.stack(tips)


@jax.jit
def play(env, state, actions):
    def step(state, action):
        state, timestep = env.step(state, action, jax.random.key(0))
        return state, (state.physics, timestep, state.outputs)

    return jax.lax.scan(step, state, actions)[1]


def actions_of(num=40, seed=0):
    return np.random.default_rng(seed).uniform(-1, 1, (num, 1)).astype(np.float32)


def test_a_task_equals_a_loop_over_mujocos_own_functions():
    """Physics, data by name and rewards are those of `mj_step`, and of `mj_step1` after it, bit for bit."""
    with jax.enable_x64(True):
        env, actions = balance(), actions_of()
        state = jax.jit(env.initial)(funcenv.key(0))
        physics, timestep, _ = jax.device_get(play(env, state, actions))
        rows, tips = plain_loop(env.model.mjmodel, state, actions, env)
        np.testing.assert_array_equal(from_words(physics), rows)
        np.testing.assert_array_equal(timestep.reward, tips[:, 2])
        np.testing.assert_array_equal(timestep.observation["slider"][:, 0], rows[:, 1])
        np.testing.assert_array_equal(timestep.observation["pole"][:, 0], rows[:, 2])


def test_data_of_the_last_simulation_step_is_gymnasiums():
    class Late(Balance):
        is_synchronized: ClassVar = False

    with jax.enable_x64(True):
        env, actions = Late(), actions_of()
        state = jax.jit(env.initial)(funcenv.key(0))
        physics, timestep, _ = jax.device_get(play(env, state, actions))
        rows, tips = plain_loop(env.model.mjmodel, state, actions, env, synchronized=False)
        np.testing.assert_array_equal(from_words(physics), rows)
        np.testing.assert_array_equal(timestep.reward, tips[:, 2])


class Held(Balance):
    """Velocities are clipped before a step, and the hinge is put back to 0 after it."""

    is_synchronized: ClassVar = False
    max_speed: ClassVar = 0.3
    held_joints: ClassVar = ("hinge",)


def held_loop(env, state, actions):
    """Return the physics rows and the places of the tip of a loop over MuJoCo's own functions."""
    model, rows, tips = env.model.mjmodel, [], []
    data, row = mujoco.MjData(model), from_words(np.asarray(state.physics))
    data.qpos[:], data.qvel[:] = row[1 : 1 + model.nq], row[1 + model.nq : 1 + model.nq + model.nv]
    for action in actions:
        data.qvel[:] = np.clip(data.qvel, -0.3, 0.3)
        data.ctrl[:] = action
        mujoco.mj_step(model, data, env.frame_skip)
        data.joint("hinge").qpos[:] = 0.0
        mujoco.mj_forward(model, data)
        rows.append(np.concatenate([[data.time], data.qpos, data.qvel, data.qacc_warmstart]))
        tips.append(data.site("tip").xpos.copy())
    return np.stack(rows), np.stack(tips)


def test_speeds_are_limited_and_joints_are_held():
    with jax.enable_x64(True):
        env, actions = Held(), np.repeat(actions_of(8), 5, axis=0)
        state = jax.jit(env.initial)(funcenv.key(0))
        physics, timestep, _ = jax.device_get(play(env, state, actions))
        rows, tips = held_loop(env, state, actions)
        np.testing.assert_array_equal(from_words(physics), rows)
        np.testing.assert_array_equal(timestep.reward, tips[:, 2])
        size = env.model.mjmodel.nq
        assert (rows[:, 2] == 0).all() and (np.abs(rows[:, 1 + size :][:, : size - 1]) > 0.3).any()


def test_joints_that_cannot_be_held_are_named():
    class Free(Held):
        held_joints: ClassVar = ("free",)

    class Missing(Held):
        held_joints: ClassVar = ("hinges",)

    refused(ValueError, "held_joints names 'free', which is no hinge or slide; leave it out", Free)
    refused(ValueError, "has no joint 'hinges'; did you mean 'hinge'", Missing)


def test_spaces_follow_from_the_rules():
    env = balance()
    assert list(env.observation_space) == ["slider", "pole"]  # in the order of the rules
    assert env.observation_space["pole"].shape == (2,) and env.observation_space["pole"].dtype == np.float64
    assert env.action_space == funcenv.spaces.Box(-1.0, 1.0, (1,))
    assert env.dt == pytest.approx(0.02) and env.action_names == ("slider",)
    state, timestep = env.reset(funcenv.key(0))
    assert timestep.observation["pole"].dtype == np.float32 and not timestep.info["unstable"]
    funcenv.check_func_env(funcenv.wrappers.TimeLimit(env, 20), funcenv.key(0))


def test_data_is_called_as_mujocos_own():
    env = balance()
    state = jax.jit(env.initial)(funcenv.key(1))
    data, own = env.data(state), mujoco.MjData(env.model.mjmodel)
    own.qpos[:] = state.qpos
    mujoco.mj_forward(env.model.mjmodel, own)
    for read in (
        lambda data: data.qpos,
        lambda data: data.joint("hinge").qpos,
        lambda data: data.joint("free").qpos,
        lambda data: data.joint("free").qvel,
        lambda data: data.site("tip").xpos,
        lambda data: data.body("pole").xpos,
        lambda data: data.sensor("tip").data,
        lambda data: data.xpos,
    ):
        found, expected = read(data), read(own)
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_parameters_of_the_model_may_be_batched():
    """A batch of masses lives as each one does alone, and as MuJoCo's own model with this mass, bit for bit."""
    with jax.enable_x64(True):
        masses, actions = jnp.array([0.1, 0.2, 0.7]), actions_of(15)
        envs = jax.vmap(lambda mass: balance().replace(pole_mass=mass))(masses)
        state = jax.jit(balance().initial)(funcenv.key(0))
        together = jax.vmap(lambda env: play(env, state, actions)[0])(envs)
        for mass, physics in zip(masses, together, strict=True):
            alone = play(balance().replace(pole_mass=float(mass)), state, actions)[0]
            np.testing.assert_array_equal(physics, alone)
            model = balance().model.mjmodel.__copy__()
            model.body_mass[model.body("pole").id] = float(mass)
            mujoco.mj_setConst(model, mujoco.MjData(model))
            np.testing.assert_array_equal(from_words(alone), plain_loop(model, state, actions, balance())[0])


HILLS = """
<mujoco>
  <asset><hfield name="hills" nrow="5" ncol="5" size="1 1 .5 .1"/></asset>
  <worldbody>
    <geom name="hills" type="hfield" hfield="hills"/>
    <body name="ball" pos="0 0 .2"><freejoint/><geom name="ball" size=".1" mass="1"/></body>
  </worldbody>
  <actuator><motor site="top"/></actuator>
</mujoco>
""".replace('<geom name="ball"', '<site name="top"/><geom name="ball"')


def hills(slopes):
    """Return a field of hills, and count how often this is done."""
    hills.num_calls += 1
    return np.outer(np.arange(5.0) * slopes[0], np.arange(5.0) * slopes[1])


class Roll(MujocoTask):
    """A ball on hills that differ in each episode."""

    mjcf: ClassVar[Any] = HILLS
    is_contact_free: ClassVar = True
    shares_variables: ClassVar = True
    computed_fields: ClassVar = (("hfield_data", hills),)

    def starts(self, key):
        heights = jnp.asarray(np.arange(self.num_starts) / 20, float)
        slopes = jnp.tile(jax.random.uniform(key, (2,)) / 4, (self.num_starts, 1))
        qpos = jnp.tile(self.init_qpos, (self.num_starts, 1)).at[:, 2].set(heights)
        return Start(qpos=qpos, variables=slopes)

    def model_changes(self, variables):
        mass = jnp.ones_like(self.model.mjmodel.body_mass, float).at[1].set(1 + variables[0])
        return {"hfield_data": variables, "body_mass": mass}

    def observation(self, state, key):
        return state.qpos

    def reward(self, state, action, next_state):
        return next_state.qpos[2]


def test_the_host_computes_fields_once_for_an_episode():
    """Balls roll in a batch as they do on MuJoCo's own models, and begin where they touch no hill."""
    with jax.enable_x64(True):
        env, hills.num_calls = Roll(num_threads=1), 0
        states = jax.jit(jax.vmap(env.initial))(jax.random.split(funcenv.key(0), 3))
        assert hills.num_calls == 3
        actions = np.zeros((60, 1), np.float32)
        together = jax.vmap(lambda state: play(env, state, actions)[0])(states)
        assert hills.num_calls == 6  # other simulations step than begin
        for number in range(3):
            model, state = env.model.mjmodel.__copy__(), member(states, number)
            data = mujoco.MjData(model)
            model.hfield_data[:], model.body_mass[1] = hills(state.variables).ravel(), 1 + state.variables[0]
            mujoco.mj_setConst(model, data)
            height = next(height for height in np.arange(16) / 20 if not contacts(model, data, height))
            assert state.qpos[2] == height
            data = mujoco.MjData(model)
            data.qpos[:] = state.qpos
            mujoco.mj_forward(model, data)
            for row in from_words(together[number]):
                mujoco.mj_step(model, data)
                mujoco.mj_step1(model, data)
                np.testing.assert_array_equal(row[1:8], data.qpos)
            assert data.ncon


def contacts(model, data, height):
    data.qpos[:] = model.qpos0
    data.qpos[2] = height
    mujoco.mj_forward(model, data)
    return data.ncon


def test_controls_without_limits_are_unbounded():
    env = Roll()
    assert env.action_space.low == -np.inf and env.action_space.high == np.inf
    assert sorted(float(action[0]) for action in env.get_keys_to_action().values()) == [-1.0, 0.0, 1.0]


def test_inputs_beside_controls_reach_the_simulation():
    class Moved(Balance):
        reads: ClassVar = ("site_xpos", "sensordata", "mocap_pos", "xpos")

        def control(self, state, action):
            force = jnp.zeros((self.model.mjmodel.nbody, 6)).at[self.model.mjmodel.body("ball").id, 2].set(5.0)
            hand = self.data(state).mocap_pos + jnp.array([[0.01, 0.0, 0.0]])
            return {"ctrl": action, "xfrc_applied": force, "mocap_pos": hand}

    env = Moved()
    state = jax.jit(env.initial)(funcenv.key(0))
    outputs = play(env, state, actions_of(5))[2]
    np.testing.assert_allclose(outputs["mocap_pos"][:, 0, 0], 0.01 * np.arange(1, 6), atol=1e-6)
    hand, ball = (env.model.mjmodel.body(name).id for name in ("hand", "ball"))
    np.testing.assert_allclose(outputs["xpos"][:, hand, 0], 0.01 * np.arange(1, 6), atol=1e-6)
    assert (np.diff(outputs["xpos"][:, ball, 2]) > 0).all()  # a force of 5 N lifts a ball of 0.1 kg


def test_a_life_does_not_depend_on_the_batch():
    env, actions = balance(), actions_of(6)
    keys = jax.random.split(funcenv.key(0), 20)
    states = jax.jit(jax.vmap(env.initial))(keys)
    together = jax.vmap(lambda state: play(env, state, actions)[0])(states)
    for row in (0, 19):
        state = jax.jit(env.initial)(keys[row])
        np.testing.assert_array_equal(state.physics, states.physics[row])
        np.testing.assert_array_equal(play(env, state, actions)[0], together[row])


@pytest.mark.parametrize("kind", [Balance, pytest.param(Held, marks=pytest.mark.exhaustive)])
@pytest.mark.dear
def test_mjx_computes_the_same(kind):
    """Both backends agree to 1e-9 for 10 steps in 64 bits, from a start without contacts."""
    with jax.enable_x64(True):
        actions, found = actions_of(10), {}
        for backend in ("c", "mjx"):
            env = kind(backend=backend)
            assert env.simulator == backend
            state = jax.jit(env.state_at)(env.start(funcenv.key(3)))
            _, timestep, outputs = jax.device_get(play(env, state, actions))
            found[backend] = timestep.observation, timestep.reward, outputs["sensordata"]
        jax.tree.map(lambda one, other: np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9), *found.values())


@pytest.mark.parametrize("kind", ["text", "path", "spec", "model"])
def test_models_come_from_everywhere(kind, tmp_path):
    (tmp_path / "cart.xml").write_text(XML)
    given = {
        "text": lambda: XML,
        "path": lambda: tmp_path / "cart.xml",
        "spec": lambda: mujoco.MjSpec.from_string(XML),
        "model": lambda: mujoco.MjModel.from_xml_string(XML),
    }[kind]()
    env = Balance(model_source=given)
    assert env.source == balance().source  # equal content shares programs and simulations
    assert jax.tree.structure(env.replace(model_source=None)) == jax.tree.structure(balance())


def test_a_diverging_simulation_ends_its_episode(capfd, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    env = balance()
    state = env.state_at(Start(qvel=env.velocities({"slider": 1e12})))
    assert bool(state.unstable) and bool(env.terminal(state))
    state, timestep = env.step(state, jnp.zeros(1), funcenv.key(0))
    assert timestep.terminated and timestep.info["unstable"]
    assert capfd.readouterr() == ("", "") and not list(tmp_path.iterdir())


def test_the_stateful_interface_and_pictures():
    env = adapters.FunctionalEnv(funcenv.wrappers.TimeLimit(balance(), 5), render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    assert env.observation_space.contains(observation)
    assert [env.step(np.zeros(1, np.float32))[3] for _ in range(5)] == [False] * 4 + [True]
    assert env.render().std() > 1


def refused(error, match, call):
    with pytest.raises(error, match=match):
        call()


def test_bad_input_is_refused_by_name():
    env = balance()
    data = env.data(jax.jit(env.initial)(funcenv.key(0)))
    refused(ValueError, r"no site 'tipp'; did you mean 'tip'\? Its sites are 'tip'", lambda: data.site("tipp"))
    refused(ValueError, "no joint 'hing'; did you mean 'hinge'", lambda: env.positions({"hing": 0.0}))
    refused(ValueError, "none of its tendons has a name", lambda: data.tendon("rope"))
    refused(AttributeError, r"reads qpos, qvel.*reads = \('xmat',\)", lambda: data.body("pole").xmat)
    refused(AttributeError, "a site has no 'qpos'; it has xpos, xmat", lambda: data.site("tip").qpos)
    refused(ValueError, "(?s)MuJoCo cannot compile the model of Balance; .*sice.*line 1",
            lambda: Balance(model_source="<mujoco><worldbody><geom sice='1'/></worldbody></mujoco>"))  # fmt: skip
    refused(FileNotFoundError, "there is no file .*nothing.xml", lambda: Balance(model_source="nothing.xml"))
    refused(TypeError, "mjcf must be XML text, a path", lambda: Balance(model_source=3))
    refused(ValueError, "MujocoTask has no model", MujocoTask)
    refused(ValueError, "frame_skip must be at least 1", lambda: Balance(frame_skip=0))
    refused(
        ValueError, r"returned qpos of shape \[1\] instead of \[9\]", lambda: env.state_at(Start(qpos=jnp.zeros(1)))
    )


def test_bad_rules_are_refused():
    class Reads(Balance):
        reads: ClassVar = ("nothing",)

    class Steers(Balance):
        def control(self, state, action):
            return {"wheel": action}

    class Pulls(Balance):
        def control(self, state, action):
            return jnp.zeros(3)

    class Expands(Roll):
        computed_fields: ClassVar = ()

    class Forgets(Roll):
        computed_fields: ClassVar = (("geom_rgba", np.asarray),)

    refused(ValueError, "reads names 'nothing'", Reads)
    refused(Exception, "no field 'hfield_data' of numbers; pair it with a function in computed_fields",
            lambda: jax.block_until_ready(Expands().initial(funcenv.key(0))))  # fmt: skip
    refused(ValueError, "model_changes of Forgets must return 'geom_rgba'", lambda: Forgets().initial(funcenv.key(0)))
    state = jax.jit(balance().initial)(funcenv.key(0))
    for env, match in ((Steers(), "returned 'wheel'; it may return ctrl"), (Pulls(), r"\[3\] instead of \[1\]")):
        refused(ValueError, match, lambda env=env: env.transition(state, jnp.zeros(1), funcenv.key(0)))


def test_mjx_names_what_it_lacks():
    text = XML.replace('type="box"', 'type="ellipsoid"').replace("<option ", '<option solver="PGS" cone="elliptic" ')
    text = text.replace('type="capsule" size=".03"', 'type="cylinder" size=".03"')
    wrong = text.replace("<option ", '<option integrator="implicit" ')
    refused(ValueError, 'MJX cannot simulate the model of Balance: .*; use backend="c"',
            lambda: Balance(model_source=wrong, backend="mjx"))  # fmt: skip


def test_missing_models_of_the_suite_name_the_extra(monkeypatch):
    from funcenv.envs.dm_control import assets

    monkeypatch.setattr(assets.importlib.util, "find_spec", lambda name: None)
    assets.suite_folder.cache_clear()
    refused(ModuleNotFoundError, r'pip install "funcenv\[dm-control\]"', lambda: assets.read_model("cheetah.xml"))
    assets.suite_folder.cache_clear()


def test_equal_models_are_equal():
    first, second = compile_mjcf(XML, "one"), compile_mjcf(mujoco.MjModel.from_xml_string(XML), "two")
    assert first == second and hash(first) == hash(second)
    assert first != compile_mjcf(XML.replace('mass=".2"', 'mass=".3"'), "one")
