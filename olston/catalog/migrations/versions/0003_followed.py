"""What was taken from followed sources."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "followed",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("rounds", sa.Integer(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("table_id", sa.String(), nullable=True),
        sa.Column("version", sa.BigInteger(), nullable=True),
        sa.Column("columns", sa.JSON(), nullable=True),
        sa.PrimaryKeyConstraint("workflow", "channel"),
    )
    op.create_table(
        "taken",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("modified", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "channel", "path"),
    )


def downgrade() -> None:
    op.drop_table("taken")
    op.drop_table("followed")
