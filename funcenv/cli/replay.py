"""The command `funcenv replay RUN`, which records episodes of a trained agent and opens them in a browser."""

from __future__ import annotations

import dataclasses
import pathlib
import sys
import webbrowser
from collections.abc import Sequence
from typing import Annotated

from funcenv.checks import require_positive
from funcenv.cli.flags import Threads, TrustCode, Word, read
from funcenv.counted import counted
from funcenv.display import has_display
from funcenv.printable import printable
from funcenv.replay.replay import Replay, require_destination
from funcenv.train.runs.agent_replay import RecordOptions, record_agent
from funcenv.train.runs.policy import load_agents
from funcenv.train.runs.run import REPLAY_FILE


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options(RecordOptions, Threads, TrustCode):
    """Record episodes with the newest agents of a run, or its best, and open them in a browser."""

    run: Annotated[str, Word("RUN")]
    """the folder of a run"""
    save: Annotated[str | None, "FILE"] = None
    """file to write instead of replay.html in the run's folder: .html, .gif, .webp, .mp4 or .png"""
    width: int | None = None
    """width of one episode in a video, in pixels"""
    fps: float | None = None
    """steps per second; by default the environment's own frame rate"""
    every: int | None = None
    """steps from one frame of a video to the next; more make a smaller file"""
    open: bool = True
    """open an HTML replay in a browser, if there is a display"""


def run(arguments: Sequence[str]) -> int:
    """Record the run that the arguments name, and return the exit status."""
    replay_run(read("replay", Options, arguments))
    return 0


def replay_run(options: Options) -> Replay:
    """Record episodes with an agent of a run, save them, and open them in a browser.

    Raises:
        FileNotFoundError: There is no run, or no folder for the file.
        ValueError: There is no such agent, the file's suffix is not supported, or a size or rate is not above 0.
    """
    folder = pathlib.Path(options.run)
    learner, agents = load_agents(folder, best=options.best, explore=options.explore, trust_code=options.trust_code)
    path = require_destination(folder / REPLAY_FILE if options.save is None else options.save)
    require_positive(fps=options.fps)
    print(printable(f"recording {counted(options.num_episodes, 'episode')} of {folder}"), file=sys.stderr, flush=True)
    replay = record_agent(learner, agents, options)
    if options.fps is not None:
        replay = dataclasses.replace(replay, fps=options.fps)
    replay.save(path, width=options.width, every=options.every, progress=_show_progress)
    returns = ", ".join(f"{value:.1f}" for value in replay.episode_return)
    print(printable(f"{replay.title}: returns {returns}; {path}"))
    if options.open and path.suffix.lower() == ".html" and has_display():
        webbrowser.open(path.resolve().as_uri())
    return replay


def _show_progress(number: int, count: int) -> None:
    """Show how many frames of a video are drawn, in one line of the terminal."""
    if sys.stderr.isatty():
        last = number == count
        text = "writing the file" if last else f"frame {number} of {count}"
        print(f"\r{text:<40}", end="\r" if last else "", file=sys.stderr, flush=True)
