"""From a workflow to the network that the planner searches."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from olston.block import BASE, DELTA, MONOTONE, Kind
from olston.channel import Channel
from olston.operators import convert
from olston.operators.chain import Chain
from olston.operators.operator import Operator
from olston.operators.weak import FROM_BASES, FROM_DELTA, TO_BASE, TO_DELTA, Increment, Replace, WeakDelta
from olston.scheduler.cost import CostModel
from olston.scheduler.network import Network, Output, Recompute, Variant
from olston.scheduler.price import Priced
from olston.scheduler.ways import DeliveryPriced
from olston.widgets.union import Union
from olston.widgets.widget import Policy, Widget
from olston.workflow import Workflow

_RECOMPUTE = {Policy.INCREMENTAL: Recompute.LAST_RESORT, Policy.INCREMENTAL_STRICT: Recompute.FIRST_FILL}


def compile_workflow(workflow: Workflow, costs: CostModel | None = None, drifting: Collection[str] = ()) -> Network:
    """The network of `workflow` under `costs`; `drifting` names widgets of which some variant would not be exact."""
    model = costs or CostModel()
    variants = [v for widget in workflow.widgets.values() for v in _variants(widget, model, drifting)]
    read = _kinds_read(workflow, variants)
    arrivals = workflow.arrivals
    for channel in workflow.channels.values():
        weak = [w for w in channel.weak if not (isinstance(w, Increment) and channel.widget in drifting)]
        variants += _conversions(workflow, channel, weak, read.get(channel.name, set()), model, arrivals)
    return Network(
        {name: tuple(p.input for p in c.pathways) for name, c in workflow.channels.items()},
        tuple(variants),
        {name: Output(name, o.accepts, _delivery(workflow, name, model)) for name, o in workflow.outputs.items()},
        tuple(workflow.staleness),
        tuple(workflow.inconsistency),
        wary=True,
    )


def _delivery(workflow: Workflow, output: str, model: CostModel) -> DeliveryPriced:
    channel, publication = workflow.channels[output], workflow.outputs[output]
    plain = [w for w in channel.weak if isinstance(w, Replace) and w.plain and w.key]
    replacing = {w.kind: w.unique or w.key == channel.key for w in plain}
    return DeliveryPriced(output, model, keyed=bool(channel.key), feed=publication.feed, replacing=replacing)


def _variants(widget: Widget, model: CostModel, drifting: Collection[str]) -> Iterator[Variant]:
    for operation in widget.operations(drifting):
        for operator in operation.operators:
            batch = not operator.signature.incremental
            if widget.policy is Policy.FULL and not batch:
                continue
            recompute = _RECOMPUTE.get(widget.policy, Recompute.ALLOWED) if batch else Recompute.ALLOWED
            name = operation.role or widget.name
            yield Variant(
                f"{name}.{operator.name}",
                widget.name,
                operator.signature,
                operation.inputs,
                operation.outputs,
                Priced(name, operator, model),
                recompute=recompute,
                operator=operator,
            )


def _kinds_read(workflow: Workflow, variants: Iterable[Variant]) -> dict[str, set[Kind]]:
    """The kinds that operators and consumers read on each channel, the only ones worth converting to."""
    read: dict[str, set[Kind]] = {}
    for variant in variants:
        for channel, reads in zip(variant.inputs, variant.signature.reads, strict=True):
            read.setdefault(channel, set()).update(reads.kinds)
    for name, output in workflow.outputs.items():
        # a published table is written from bases and strong deltas; only a feed asks for others
        asked = output.accepts if output.feed else {BASE, DELTA}
        read.setdefault(name, set()).update(asked)
    return read


def _conversions(
    workflow: Workflow,
    channel: Channel,
    representations: Sequence[WeakDelta],
    read: set[Kind],
    model: CostModel,
    arrivals: Collection[str],
) -> Iterator[Variant]:
    widget, name = channel.widget or channel.name, channel.name

    def converter(operator: Operator, listed: bool = True, free: bool = False) -> Variant:
        return Variant(
            f"{name}.{operator.name}",
            widget,
            operator.signature,
            (name,),
            (name,),
            Priced(name, operator, model, converter=True, free=free),
            listed=listed,
            lays_over=model.overlays and isinstance(operator, convert.Apply | convert.ApplyWeak),
            operator=operator,
        )

    strong = bool(read & {DELTA, MONOTONE})
    yield converter(convert.Apply(), free=model.overlays)
    yield converter(Chain(DELTA), listed=False, free=True)
    # c^{Bδ} of a representation that is made from strong deltas only is composed: c^{BΔ}, then c^{Δδ}
    if strong or any(w.kind in read and {FROM_DELTA, FROM_BASES} & w.supplied == {FROM_DELTA} for w in representations):
        yield converter(convert.Difference())
    if any(isinstance(workflow.widgets.get(w or ""), Union) for w in _lineage(workflow, channel)):
        yield converter(convert.Complete(), free=True)
    for weak in representations:
        wanted = weak.kind in read
        if weak.chains or not wanted:  # who reads such blocks as they are can be given one at a time only
            yield converter(Chain(weak.kind, weak), listed=False, free=True)
        if TO_BASE in weak.supplied:
            yield converter(convert.ApplyWeak(weak), free=model.overlays)
        if TO_DELTA in weak.supplied and (strong or TO_BASE not in weak.supplied):
            yield converter(convert.Strengthen(weak))
        # a chain of deltas does not tell a row that came and went from one that arrived again
        if FROM_DELTA in weak.supplied and wanted and not (isinstance(weak, Replace) and name in arrivals):
            yield converter(convert.Weaken(weak))
        if FROM_BASES in weak.supplied and wanted:
            yield converter(convert.WeakDifference(weak))


def _lineage(workflow: Workflow, channel: Channel) -> Iterator[str | None]:
    """The widgets that made `channel` and what it is computed from without a second input: empty entries pass there."""
    current: Channel | None = channel
    while current is not None and current.widget is not None:
        yield current.widget
        inputs = workflow.widgets[current.widget].inputs
        current = inputs[0] if len(inputs) == 1 else None
