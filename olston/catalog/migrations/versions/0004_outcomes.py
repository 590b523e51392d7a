"""What came of each invocation in a step, to learn from."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("step", schema=None) as batch_op:
        batch_op.add_column(sa.Column("outcomes", sa.JSON(), nullable=False, server_default="[]"))
        batch_op.create_index("step_of_name", ["workflow", "name", "attempt"], unique=False)


def downgrade() -> None:
    with op.batch_alter_table("step", schema=None) as batch_op:
        batch_op.drop_index("step_of_name")
        batch_op.drop_column("outcomes")
