"""Native Atari games beside ALE: the original, and recorded plays of ours."""

import ale_py
import jax
from ale_py import roms


def original(game):
    """Return a new game of ALE, whose actions do not stick."""
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(roms.get_rom_path(game))
    ale.reset_game()
    return ale


def played(env, policy, num_frames, seed=0):
    """Return the actions of a policy and the states after them."""

    def step(state, key):
        action = policy(state, key)
        state = env.transition(state, action, key)
        return state, (action, state)

    play = jax.jit(lambda keys: jax.lax.scan(step, env.initial(None), keys)[1])
    return jax.device_get(play(jax.random.split(jax.random.key(seed), num_frames)))
