"""Dispatching: the steps of a plan are begun as soon as what they read is there, independent ones at the same time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from olston.block import Block
from olston.scheduler.plan import Invocation


class Dispatch:
    """A plan that is being carried out: which of its steps can be begun, and which were.

    `steps` are in an order in which they can run; the results `within` are made by those that read them.
    """

    def __init__(self, steps: Sequence[Invocation], within: Mapping[tuple[object, ...], Invocation]) -> None:
        self.steps = tuple(steps)
        self._waits = _dependencies(steps, within)
        self._begun: set[int] = set()
        self._done: set[int] = set()
        self._stopped = False

    def begin(self) -> list[int]:
        """The positions of the steps that can be begun now; they count as begun."""
        if self._stopped:
            return []
        ready = [i for i, needs in enumerate(self._waits) if i not in self._begun and needs <= self._done]
        self._begun |= set(ready)
        return ready

    def finished(self, position: int) -> None:
        self._done.add(position)

    def stop(self) -> None:
        """Begin nothing more; what runs is let finish."""
        self._stopped = True

    @property
    def running(self) -> frozenset[int]:
        return frozenset(self._begun - self._done)

    @property
    def remaining(self) -> frozenset[int]:
        """What runs or will be begun."""
        return self.running if self._stopped else frozenset(range(len(self.steps))) - self._done

    @property
    def complete(self) -> bool:
        """Whether every step was done."""
        return len(self._done) == len(self.steps)

    @property
    def ended(self) -> bool:
        """Whether nothing runs, and nothing will be begun."""
        return not self.remaining


def _dependencies(steps: Sequence[Invocation], within: Mapping[tuple[object, ...], Invocation]) -> list[set[int]]:
    """For each step the ones that must be done before."""
    makes = {block.key: i for i, step in enumerate(steps) for block in step.results}
    last_to: dict[str, int] = {}
    found: list[set[int]] = []
    for i, step in enumerate(steps):
        needs: set[int] = set()
        for block in _reads(step, within):
            if block.key in makes:
                needs.add(makes[block.key])
            else:  # perhaps a chain of what is made on this channel
                needs |= {j for j in range(i) if any(r.channel == block.channel for r in steps[j].results)}
        if step.is_delivery:  # one after the other for each consumer
            channel = step.operands[-1].channel
            needs |= {last_to[channel]} if channel in last_to else set()
            last_to[channel] = i
        found.append(needs - {i})
    return found


def _reads(step: Invocation, within: Mapping[tuple[object, ...], Invocation]) -> Iterator[Block]:
    for block in step.operands:
        inner = within.get(block.key)
        if inner is None:
            yield block
        else:
            yield from _reads(inner, within)
