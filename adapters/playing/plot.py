"""Plots of a game, updated at every step."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcenv.checks import require_size


class PlayPlot:
    """Plots of numbers that each step of a game yields: `play(env, callback=PlayPlot(...).callback)`.

    Args:
        callback: Function with the arguments of `play`'s callback that returns one number for each plot.
        horizon_timesteps: Number of latest steps to show.
        plot_names: Title of each plot.

    Attributes:
        figure: Matplotlib figure.

    Raises:
        ValueError: `horizon_timesteps` is below 1, or there are no plots.
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
        require_size("horizon_timesteps", horizon_timesteps)
        if not plot_names:
            raise ValueError('plot_names must have a title for each plot, got none; for example ["reward"]')
        try:
            import matplotlib.pyplot
        except ImportError as error:
            raise ImportError('PlayPlot needs matplotlib; install it with: pip install "funcenv[play]"') from error
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

    def callback(self, *step: Any) -> None:
        """Plot a step; the arguments are those of `play`'s callback.

        Raises:
            ValueError: The user's callback did not return one number for each plot.
        """
        numbers = list(self._compute(*step))
        if len(numbers) != len(self._names):
            raise ValueError(
                f"the callback must return one number for each of the {len(self._names)} plots, got {len(numbers)}; "
                "return a list as long as plot_names"
            )
        self.num_steps += 1
        for values, number in zip(self.values, numbers, strict=True):
            values.append(float(number))
        steps = np.arange(self.num_steps - len(self.values[0]), self.num_steps) + 1
        for axis, line, values in zip(self._axes, self._lines, self.values, strict=True):
            line.set_data(steps, list(values))
            axis.relim()
            axis.autoscale_view()
        self._show()

    def close(self) -> None:
        """Close the figure."""
        self._pyplot.close(self.figure)

    def _show(self) -> None:
        """Draw the figure if the Matplotlib backend has windows."""
        canvas = self.figure.canvas
        if getattr(canvas, "required_interactive_framework", None) is not None:
            self.figure.show()
            canvas.draw_idle()
            canvas.flush_events()
