"""Coverage and freshness over time, as a plot."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from olston.examples.crawl_selection.crawl import Sample

SHOWN = ("coverage", "freshness", "current")
FEW = 7
"""Days below which each is a dot as well: of a single one there is no line."""


def plot(samples: Sequence[Sample], file: Path) -> None:
    """Draws into `file`, PNG or SVG by its suffix; needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    days = [s.day for s in samples]
    dots = {"marker": "o", "clip_on": False} if len(samples) < FEW else {}
    for axes, name in zip(figure.subplots(1, len(SHOWN), sharey=True), SHOWN, strict=True):
        axes.plot(days, [getattr(s.olston, name) for s in samples], label="olston", **dots)
        others = [getattr(s.breadth_first, name) for s in samples]
        axes.plot(days, others, label="breadth first", linestyle="--", **dots)
        axes.set(title=name, xlabel="days", ylim=(0, 1.02), xlim=(0, max(days, default=1)))
        axes.grid(alpha=0.3)
    figure.axes[0].legend(loc="lower right")
    figure.savefig(file, dpi=80)
