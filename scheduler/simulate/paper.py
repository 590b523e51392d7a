"""The paper's own figures, to stand beside ours [7.2]."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """Freshness lag and processing cost in CPU hours, scheduler running time in seconds."""

    lag: float
    cost: float
    seconds: float


TABLE_5 = {
    "search_preprocessing": {
        "Async/Incr": Figures(0.0606, 28_900, 6.25),
        "Sync/Incr": Figures(27.9, 214_000, 2.59),
        "Async/Batch": Figures(615, 8.26e6, 0.864),
        "Sync/Batch": Figures(808, 43.8e6, 0.787),
    },
    "feedback_prioritization": {
        "Async/Incr": Figures(0.0435, 6_930, 2.77),
        "Sync/Incr": Figures(2.12, 7_130, 2.25),
        "Async/Batch": Figures(139, 35.0e6, 0.692),
        "Sync/Batch": Figures(193, 1.34e9, 0.758),
    },
    "crawl_selection": {
        "Async/Incr": Figures(81.4, 364_000, 10.1),
        "Sync/Incr": Figures(542, 1.69e6, 1.71),
        "Async/Batch": Figures(2_380, 81.2e6, 0.743),
        "Sync/Batch": Figures(3_890, 114e6, 0.667),
    },
}
"""Ten-week runs under the four processing methods."""

TABLE_6 = {
    "search_preprocessing": {
        "DYN. PROG.": Figures(0.0399, 187, 0.208),
        "GREEDY": Figures(17.0, 255, 49.8),
        "RANDOM": Figures(61.6, 932, 1.86),
    },
    "feedback_prioritization": {
        "DYN. PROG.": Figures(0.0485, 24.5, 0.183),
        "GREEDY": Figures(5.10, 66.9, 0.507),
        "RANDOM": Figures(19.1, 413, 0.374),
    },
    "crawl_selection": {
        "DYN. PROG.": Figures(4.94, 356, 0.176),
        "GREEDY": Figures(96.2, 783, 18.1),
        "RANDOM": Figures(396, 2_840, 0.530),
    },
}
"""Twelve-hour runs under three scheduling algorithms."""
