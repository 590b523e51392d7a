"""How many rows a consumer holds, and which ways to change its table its data allow."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("delivery", schema=None) as batch_op:
        batch_op.add_column(sa.Column("rows", sa.BigInteger(), nullable=True))
        batch_op.add_column(sa.Column("allows", sa.String(), nullable=True))


def downgrade() -> None:
    with op.batch_alter_table("delivery", schema=None) as batch_op:
        batch_op.drop_column("allows")
        batch_op.drop_column("rows")
