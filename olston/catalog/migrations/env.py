"""How Alembic reaches the catalog: over the connection it is given."""

from __future__ import annotations

from alembic import context
from sqlmodel import SQLModel

from olston.catalog import records  # noqa: F401, its tables are the target

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=SQLModel.metadata, render_as_batch=True)
context.run_migrations()  # within the transaction of whoever opened the connection
