"""`python -m olston.examples.search_preprocessing`: two simulated weeks on Spark."""

from __future__ import annotations

import tempfile

from olston.examples.search_preprocessing.demo import tell

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="olston-demo-") as folder:
        raise SystemExit(0 if tell(folder).equal else 1)
