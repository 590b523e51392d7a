"""Fixtures of the command line."""

from tests.cli.stage import stage

__all__ = ["stage"]
