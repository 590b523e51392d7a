"""Why outputs are left as they are, which catalog a home belongs to, and which scheduler carried out a plan."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "setback",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("output", sa.String(), nullable=False),
        sa.Column("error", sa.String(), nullable=False),
        sa.Column("happened_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "output"),
    )
    with op.batch_alter_table("workflow", schema=None) as batch_op:
        batch_op.add_column(sa.Column("identity", sa.String(), nullable=True))
    with op.batch_alter_table("plan", schema=None) as batch_op:
        batch_op.add_column(sa.Column("fence", sa.Integer(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("plan", schema=None) as batch_op:
        batch_op.drop_column("fence")
    with op.batch_alter_table("workflow", schema=None) as batch_op:
        batch_op.drop_column("identity")
    op.drop_table("setback")
