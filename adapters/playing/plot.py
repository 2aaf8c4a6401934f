"""Curves that grow while a game is played."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class PlayPlot:
    """Plots figures of each step as `play` goes on: `play(env, callback=PlayPlot(...).callback)`.

    Args:
        callback: gets what the callback of `play` gets, and returns a number for each plot.
        horizon_timesteps: how many of the last steps are shown.
        plot_names: a title for each plot.

    Attributes:
        figure: the Matplotlib figure.

    Raises:
        ValueError: a horizon below 1, or no names.
        ImportError: matplotlib is not installed.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> plot = PlayPlot(lambda before, after, action, reward, *rest: [reward], 100, ["reward"])
    >>> plot.callback(None, None, 0, 1.0, False, False, {})
    >>> plot.values[0]
    deque([1.0], maxlen=100)
    >>> plot.close()
    """

    def __init__(
        self, callback: Callable[..., Sequence[float]], horizon_timesteps: int, plot_names: Sequence[str]
    ) -> None:
        if horizon_timesteps < 1:
            raise ValueError(f"horizon_timesteps must be at least 1, got {horizon_timesteps}")
        if not plot_names:
            raise ValueError('plot_names must have a title for each plot, got none; pass ["reward"], say')
        try:
            import matplotlib.pyplot
        except ImportError as error:
            raise ImportError('PlayPlot needs matplotlib; install it with: pip install "funcenv[train]"') from error
        self._pyplot = matplotlib.pyplot
        self._compute, self._names = callback, list(plot_names)
        self.num_steps = 0
        self.values: list[collections.deque[float]] = [collections.deque(maxlen=horizon_timesteps) for _ in self._names]
        self.figure, axes = self._pyplot.subplots(
            len(self._names),
            sharex=True,
            squeeze=False,
            figsize=(6, 1.2 + 1.6 * len(self._names)),
            layout="constrained",
        )
        self._axes = list(axes[:, 0])
        self._lines = [axis.plot([], [], color="#4c72b0", linewidth=1.5)[0] for axis in self._axes]
        for axis, name in zip(self._axes, self._names, strict=True):
            axis.set_title(name, loc="left", fontsize=10)
            axis.spines[["top", "right"]].set_visible(False)
            axis.grid(alpha=0.3)
        self._axes[-1].set_xlabel("step")
        self._show()

    def callback(
        self,
        obs_t: Any,
        obs_tp1: Any,
        action: Any,
        rew: float,
        terminated: bool,
        truncated: bool,
        info: dict[str, Any],
    ) -> None:
        """Add a step; the arguments are those of the callback of `play`.

        Raises:
            ValueError: the user's callback returned another number of figures than there are plots.
        """
        figures = list(self._compute(obs_t, obs_tp1, action, rew, terminated, truncated, info))
        if len(figures) != len(self._names):
            raise ValueError(
                f"the callback must return one number for each of the {len(self._names)} plots, got {len(figures)}; "
                "return a list as long as plot_names"
            )
        self.num_steps += 1
        for values, figure in zip(self.values, figures, strict=True):
            values.append(float(figure))
        steps = np.arange(self.num_steps - len(self.values[0]), self.num_steps) + 1
        for axis, line, values in zip(self._axes, self._lines, self.values, strict=True):
            line.set_data(steps, list(values))
            axis.relim()
            axis.autoscale_view()
        self._show()

    def close(self) -> None:
        """Take the figure away."""
        self._pyplot.close(self.figure)

    def _show(self) -> None:
        """Draw, where the backend has a window."""
        canvas = self.figure.canvas
        if getattr(canvas, "required_interactive_framework", None) is not None:
            self.figure.show()
            canvas.draw_idle()
            canvas.flush_events()
