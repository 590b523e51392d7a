"""The catalog: what exists, what consumers hold, what was planned and done (DESIGN 7)."""

from olston.catalog.catalog import Catalog, beside

__all__ = ["Catalog", "beside"]
