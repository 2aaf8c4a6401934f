"""Games of the Atari 2600, played by the emulator of the Arcade Learning Environment."""

from funcenv.envs.atari.atari import Atari, AtariState

__all__ = ["Atari", "AtariState"]
