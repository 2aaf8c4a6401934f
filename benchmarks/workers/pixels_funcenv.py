"""Grey images of funcenv's environments, rendered in compiled code.

`options["kind"]` is "step" for random actions in a `jax.lax.scan` that keeps every image, as in a training loop, or
"draw" for images of given states.
"""

import jax
import jax.numpy as jnp
from protocol import serve

import funcenv
import funcenv.envs  # noqa: F401  (imported before the clock starts, like the peers' environments)

jax.devices()  # start the backend before the clock starts


def prepare(options):
    size, num_envs, num_steps = options["size"], options["num_envs"], options["num_steps"]
    env = funcenv.wrappers.PixelObservation(funcenv.make(options["env"]), size, size, grayscale=True)
    venv, key = funcenv.FuncVectorEnv(env, num_envs), funcenv.key(0)
    vstate, _ = jax.jit(venv.reset)(key)

    def draw_actions(key):
        return jax.vmap(env.action_space.sample)(jax.random.split(key, num_envs))

    @jax.jit
    def step_and_keep(vstate, key):
        def step(vstate, key):
            vstate, timestep = venv.step(vstate, draw_actions(key))
            return vstate, timestep.observation

        return jax.lax.scan(step, vstate, jax.random.split(key, num_steps))

    @jax.jit
    def draw(env_state):
        return jax.vmap(lambda state: env.observation(state, key))(env_state)

    def step_all():
        nonlocal vstate
        vstate, images = step_and_keep(vstate, key)
        return images[-1]

    def draw_all():
        for _ in range(num_steps):
            images = draw(vstate.env_state)
        return images

    program = (
        jax.jit(venv.step).lower(vstate, draw_actions(key))
        if options["kind"] == "step"
        else draw.lower(vstate.env_state)
    )
    memory = program.compile().memory_analysis()
    work = step_all if options["kind"] == "step" else draw_all
    bytes_per_env = {
        "temporary_bytes_per_env": memory.temp_size_in_bytes / num_envs,
        "output_bytes_per_env": memory.output_size_in_bytes / num_envs,
    }

    def measured():
        return {"grey": float(jnp.mean(jax.block_until_ready(work()).astype(jnp.float32))), **bytes_per_env}

    return measured, {"steps": num_envs * num_steps, "version": funcenv.__version__, "jax": jax.__version__}


serve(prepare)
