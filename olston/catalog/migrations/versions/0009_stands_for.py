"""Arrivals that stand for all that arrived before them, which was let go; and whose files are to say so yet."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("arrival", schema=None) as batch_op:
        batch_op.add_column(sa.Column("stands_for", sa.BigInteger(), nullable=True))
    op.create_table(
        "rewrite",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("stamp", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "stamp"),
    )


def downgrade() -> None:
    op.drop_table("rewrite")
    with op.batch_alter_table("arrival", schema=None) as batch_op:
        batch_op.drop_column("stands_for")
