"""Colours that say how an output stands."""

from __future__ import annotations

COLOURS = {"kept": "#c8e6c9", "due": "#fff3c4", "stale": "#f8c4c0", "empty": "#e0e0e0"}
"""Within its bounds; to be refreshed; beyond a bound; holding nothing yet."""
