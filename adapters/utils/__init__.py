"""Tools under the names of `gymnasium.utils`, so that import lines of its pages need another package only."""

from funcenv.adapters.utils import env_checker, play, save_video, seeding, step_api_compatibility

__all__ = ["env_checker", "play", "save_video", "seeding", "step_api_compatibility"]
