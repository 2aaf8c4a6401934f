"""Grey pictures of funcenv's environments, inside compiled code.

`options["kind"]`: "step", random actions in a `jax.lax.scan`, as a training loop has it, and every picture is kept;
"draw", pictures of given states alone.
"""

import jax
import jax.numpy as jnp
from protocol import serve

import funcenv
import funcenv.envs  # noqa: F401  (imported before the clock starts, as the peers' environments are)

jax.devices()  # the backend starts before the clock does


def prepare(options):
    size, num_envs, num_steps = options["size"], options["num_envs"], options["num_steps"]
    env = funcenv.wrappers.PixelObservation(funcenv.make(options["env"]), size, size, grayscale=True)
    venv, key = funcenv.FuncVectorEnv(env, num_envs), funcenv.key(0)
    vstate, _ = jax.jit(venv.reset)(key)

    def draw_actions(key):
        return jax.vmap(env.action_space.sample)(jax.random.split(key, num_envs))

    @jax.jit
    def play(vstate, key):
        def step(vstate, key):
            vstate, timestep = venv.step(vstate, draw_actions(key))
            return vstate, timestep.observation

        return jax.lax.scan(step, vstate, jax.random.split(key, num_steps))

    @jax.jit
    def draw(env_state):
        return jax.vmap(lambda state: env.observation(state, key))(env_state)

    def play_on():
        nonlocal vstate
        vstate, pictures = play(vstate, key)
        return pictures[-1]

    def draw_again():
        for _ in range(num_steps):
            pictures = draw(vstate.env_state)
        return pictures

    program = (
        jax.jit(venv.step).lower(vstate, draw_actions(key))
        if options["kind"] == "step"
        else draw.lower(vstate.env_state)
    )
    memory = program.compile().memory_analysis()
    work = play_on if options["kind"] == "step" else draw_again
    return lambda: float(jnp.mean(jax.block_until_ready(work()).astype(jnp.float32))), {
        "steps": num_envs * num_steps,
        "version": funcenv.__version__,
        "jax": jax.__version__,
        "temporary_bytes_per_env": memory.temp_size_in_bytes / num_envs,
        "output_bytes_per_env": memory.output_size_in_bytes / num_envs,
    }


serve(prepare)
