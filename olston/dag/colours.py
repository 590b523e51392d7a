"""Colours that say how an output stands."""

from __future__ import annotations

COLOURS = {"kept": "#c8e6c9", "due": "#fff3c4", "of another definition": "#f8c4c0", "holds nothing": "#e0e0e0"}
"""By the words of `status`."""
