"""The pathways of every definition, not only of the last."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "pathways",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("pathways", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "channel", "digest"),
    )


def downgrade() -> None:
    op.drop_table("pathways")
