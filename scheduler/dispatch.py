"""Dispatching: the steps of a plan run as soon as what they read is there, independent ones at the same time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from olston.block import Block
from olston.scheduler.plan import Invocation

WORKERS = 4
"""Steps that run at the same time; Spark shares its cores among them."""


def dispatch(
    steps: Sequence[Invocation],
    within: Mapping[tuple[object, ...], Invocation],
    execute: Callable[[Invocation], None],
    workers: int = WORKERS,
) -> None:
    """Run `steps`, which are in an order in which they can run; the results `within` are made by those that read them.

    If one fails, those that run are let finish, no other is begun, and the first failure is raised.
    """
    waits = _dependencies(steps, within)
    done: set[int] = set()
    running: dict[Future[None], int] = {}
    failure: BaseException | None = None
    with ThreadPoolExecutor(workers, thread_name_prefix="olston-step") as pool:
        begun: set[int] = set()
        while len(done) < len(steps):
            if failure is None:
                for i in [i for i, needs in enumerate(waits) if i not in begun and needs <= done]:
                    begun.add(i)
                    running[pool.submit(execute, steps[i])] = i
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                i = running.pop(future)
                failure = failure or future.exception()
                done.add(i)
    if failure is not None:
        raise failure


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
