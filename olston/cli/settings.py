"""What options before the verb say, for all verbs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass
class Settings:
    """`debug`: show tracebacks; `project`: the folder given by -C."""

    debug: bool = False
    project: Path | None = None


settings = Settings()
