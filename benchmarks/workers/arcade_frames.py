"""Random actions on Atari frames: grey, 84 x 84, four of them stacked, four frames skipped.

`options["kind"]` is "funcenv" for a native game, or "ale" for ALE's vector environment behind its XLA interface.
"""

import jax
import jax.numpy as jnp
from protocol import serve

jax.devices()  # start the backend before the clock starts


def funcenv_program(options):
    import funcenv
    from funcenv.wrappers import FrameStackObservation, PixelObservation

    num_envs = options["num_envs"]
    env = FrameStackObservation(PixelObservation(funcenv.make(options["env"]), 84, 84, grayscale=True), 4)
    venv = funcenv.FuncVectorEnv(env, num_envs)

    def step(vstate, actions):
        vstate, timestep = venv.step(vstate, actions)
        return vstate, timestep.observation, timestep.terminated

    return jax.jit(venv.reset)(funcenv.key(0))[0], step, env.action_space.n, funcenv.__version__


def ale_program(options):
    import ale_py

    envs = ale_py.AtariVectorEnv(options["env"], num_envs=options["num_envs"], num_threads=1)
    envs.reset(seed=0)
    handle, _, step_ale = envs.xla()

    def step(handle, actions):
        handle, (observation, _, terminated, _, _) = step_ale(handle, actions)
        return handle, observation, terminated

    return handle, step, envs.single_action_space.n, ale_py.__version__


def prepare(options):
    program = {"funcenv": funcenv_program, "ale": ale_program}[options["kind"]]
    state, step, num_actions, version = program(options)
    num_envs, num_steps = options["num_envs"], options["num_steps"]

    @jax.jit
    def play(state, key):
        def advance(carried, key):
            state, seen, ends = carried
            actions = jax.random.randint(key, (num_envs,), 0, num_actions, jnp.int32)
            state, observation, terminated = step(state, actions)
            # To read all pixels of the stack would take longer than to draw one. They are all in the state.
            return (state, seen + observation[..., 42, 42].astype(jnp.uint32).sum(), ends + terminated.sum()), None

        start = state, jnp.zeros((), jnp.uint32), jnp.zeros((), jnp.int32)
        return jax.lax.scan(advance, start, jax.random.split(key, num_steps))[0]

    def work():
        nonlocal state
        state, seen, ends = jax.block_until_ready(play(state, jax.random.key(0)))
        return {"episodes": int(ends), "seen": int(seen)}

    return work, {"steps": num_envs * num_steps, "version": version, "jax": jax.__version__}


serve(prepare)
