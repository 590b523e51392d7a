"""Commands are answered, and a channel's own definition is known apart from what is upstream of it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("event", sa.Column("answered", sa.Boolean(), nullable=False, server_default=sa.false()))
    op.add_column("event", sa.Column("answer", sa.JSON(), nullable=True))
    op.add_column("channel", sa.Column("own", sa.String(), nullable=False, server_default=""))
