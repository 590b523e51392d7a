"""Pictures of comparisons, PNG or SVG by the ending of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from olston.errors import unknown
from olston.scheduler.simulate.compare import Row
from olston.scheduler.simulate.paper import Figures

ENDINGS = (".png", ".svg")


def plot(path: Path, rows: Sequence[Row], title: str, unit: str, curve: bool, paper: Mapping[str, Figures]) -> None:
    """Lag and cost of `rows`: bars on a logarithmic scale beside the paper's, or a curve over the values of a bound."""
    if path.suffix.lower() not in ENDINGS:
        raise unknown("picture format", path.suffix, ENDINGS, str(path))
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.8), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    places = list(range(len(rows)))
    for axes, measure, label in zip(
        figure.subplots(1, 2), ("lag", "cost"), (f"median lag ({unit})", f"cost ({unit})"), strict=True
    ):
        ours = [getattr(r, measure) for r in rows]
        if curve:
            axes.plot(places, ours, marker="o", color="#1f6f8b")
            axes.set_ylim(0, 1.1 * max(ours) or 1)
        else:
            width = 0.4 if paper else 0.7
            axes.bar([p - (width / 2 if paper else 0) for p in places], ours, width, label="olston", color="#1f6f8b")
            if paper:
                theirs = [getattr(paper[r.name], measure) for r in rows]
                axes.bar([p + width / 2 for p in places], theirs, width, label="paper", color="#c9b79c")
                axes.legend(frameon=False)
            if min(ours) > 0:
                axes.set_yscale("log")
        axes.set_xticks(places, [r.name for r in rows])
        axes.set_title(label, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        from olston.errors import OlstonError

        raise OlstonError(f"{path}: cannot be written: {error.strerror}.", code="NOT_WRITTEN") from None
