"""The first catalog."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "arrival",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("stamp", sa.BigInteger(), nullable=False),
        sa.Column("offered_at", sa.BigInteger(), nullable=False),
        sa.Column("block", sa.String(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "channel", "stamp"),
    )
    op.create_table(
        "block",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("channel", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("source", sa.JSON(), nullable=True),
        sa.Column("target", sa.JSON(), nullable=False),
        sa.Column("rows", sa.Float(), nullable=False),
        sa.Column("relaxed", sa.Boolean(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("producer", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.Column("live", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("block", schema=None) as batch_op:
        batch_op.create_index("block_live", ["workflow", "live"], unique=False)

    op.create_table(
        "channel",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("columns", sa.String(), nullable=True),
        sa.Column("drifting", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "name"),
    )
    op.create_table(
        "cursor",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("output", sa.String(), nullable=False),
        sa.Column("consumer", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("workflow", "output", "consumer"),
    )
    op.create_table(
        "delivery",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("output", sa.String(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("block", sa.String(), nullable=False),
        sa.Column("content", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(), nullable=False),
        sa.Column("delivered_at", sa.BigInteger(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.PrimaryKeyConstraint("workflow", "output", "number"),
    )
    op.create_table(
        "event",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("about", sa.JSON(), nullable=False),
        sa.Column("happened_at", sa.BigInteger(), nullable=False),
        sa.Column("handled", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.create_index(
            "event_pending",
            ["workflow"],
            unique=False,
            postgresql_where=sa.text("NOT handled"),
            sqlite_where=sa.text("NOT handled"),
        )

    op.create_table(
        "lease",
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("holder", sa.String(), nullable=False),
        sa.Column("fence", sa.Integer(), nullable=False),
        sa.Column("expires_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("workflow"),
    )
    op.create_table(
        "plan",
        sa.Column("id", sa.String(), nullable=False),
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("now", sa.BigInteger(), nullable=False),
        sa.Column("due", sa.JSON(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        sa.Column("evidence", sa.JSON(), nullable=False),
        sa.Column("made_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    with op.batch_alter_table("plan", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_plan_workflow"), ["workflow"], unique=False)

    op.create_table(
        "step",
        sa.Column("attempt", sa.String(), nullable=False),
        sa.Column("plan", sa.String(), nullable=False),
        sa.Column("workflow", sa.String(), nullable=False),
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("operands", sa.JSON(), nullable=False),
        sa.Column("results", sa.JSON(), nullable=False),
        sa.Column("expected_seconds", sa.Float(), nullable=False),
        sa.Column("expected_rows", sa.Float(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=True),
        sa.Column("rows", sa.Float(), nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("started_at", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("attempt"),
    )
    with op.batch_alter_table("step", schema=None) as batch_op:
        batch_op.create_index(batch_op.f("ix_step_plan"), ["plan"], unique=False)

    op.create_table(
        "workflow",
        sa.Column("name", sa.String(), nullable=False),
        sa.Column("planned_at", sa.BigInteger(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("name"),
    )


def downgrade() -> None:
    op.drop_table("workflow")
    with op.batch_alter_table("step", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_step_plan"))

    op.drop_table("step")
    with op.batch_alter_table("plan", schema=None) as batch_op:
        batch_op.drop_index(batch_op.f("ix_plan_workflow"))

    op.drop_table("plan")
    op.drop_table("lease")
    with op.batch_alter_table("event", schema=None) as batch_op:
        batch_op.drop_index(
            "event_pending", postgresql_where=sa.text("NOT handled"), sqlite_where=sa.text("NOT handled")
        )

    op.drop_table("event")
    op.drop_table("delivery")
    op.drop_table("cursor")
    op.drop_table("channel")
    with op.batch_alter_table("block", schema=None) as batch_op:
        batch_op.drop_index("block_live")

    op.drop_table("block")
    op.drop_table("arrival")
