"""What is made when it is first asked for, and by one thread."""

from __future__ import annotations

import threading
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    once = cached_property
else:

    class once(cached_property):
        """A `cached_property` that one thread makes while others wait for it, as that of Python was up to 3.11.

        Steps, polls and whoever asks are threads of one engine, and all of them need its session.
        """

        def __init__(self, make):
            super().__init__(make)
            self._making = threading.RLock()

        def __get__(self, instance, owner=None):
            with self._making:
                return super().__get__(instance, owner)
