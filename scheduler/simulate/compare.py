"""Comparisons of simulated runs: by processing method, by scheduling algorithm, by bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from statistics import fmean

from olston.scheduler.baselines import greedy, random_policy
from olston.scheduler.decide import Decision, decide
from olston.scheduler.simulate.modes import MODES, Mode
from olston.scheduler.simulate.rates import RatesFile
from olston.scheduler.simulate.run import Outcome, simulate
from olston.scheduler.simulate.what_if import Setting
from olston.scheduler.simulate.world import NOISE
from olston.workflow import Workflow


@dataclass(frozen=True)
class Row:
    """One line of a comparison, averaged over runs of different noise."""

    name: str
    lag: float
    cost: float
    seconds: float
    decisions: float
    unrepaired: int

    @classmethod
    def of(cls, name: str, outcomes: Iterable[Outcome]) -> Row:
        runs = list(outcomes)
        return cls(
            name,
            fmean(o.lag for o in runs),
            fmean(o.cost for o in runs),
            fmean(o.scheduler_seconds for o in runs),
            fmean(len(o.calls) for o in runs),
            max(o.unrepaired for o in runs),
        )


@dataclass(frozen=True)
class Setup:
    """What all runs of a comparison share. `progress(done)` is told how many simulated microseconds have passed."""

    workflow: Workflow
    rates: RatesFile
    span: int
    runs: int = 1
    seed: int = 0
    noise: float = NOISE
    progress: Callable[[int], None] = lambda done: None

    def outcomes(
        self,
        before: int,
        *,
        workflow: Workflow | None = None,
        mode: Mode = MODES[0],
        policy: Callable[..., Decision] = decide,
    ) -> list[Outcome]:
        """One outcome per run; `before` counts the rows already done."""
        made = []
        for run in range(self.runs):
            offset = (before * self.runs + run) * self.span

            def tell(now: int, offset: int = offset) -> None:
                self.progress(offset + min(now, self.span))

            chosen, seed = workflow or self.workflow, self.seed + run
            made.append(
                simulate(
                    chosen,
                    self.rates,
                    self.span,
                    mode=mode,
                    seed=seed,
                    noise=self.noise,
                    policy=policy,
                    progress=tell,
                )
            )
        return made


def by_method(setup: Setup) -> list[Row]:
    """The four processing methods of Table 5."""
    return [Row.of(mode.name, setup.outcomes(i, mode=mode)) for i, mode in enumerate(MODES)]


def by_policy(setup: Setup) -> list[Row]:
    """The three scheduling algorithms of Table 6."""
    policies: list[tuple[str, Callable[..., Decision]]] = [
        ("DYN. PROG.", decide),
        ("GREEDY", greedy),
        ("RANDOM", random_policy(setup.seed)),
    ]
    return [Row.of(name, setup.outcomes(i, policy=policy)) for i, (name, policy) in enumerate(policies)]


def by_bound(setup: Setup, setting: Setting) -> list[Row]:
    """The same workflow under other values of one bound."""
    return [
        Row.of(name, setup.outcomes(i, workflow=setting.applied(setup.workflow, value)))
        for i, (value, name) in enumerate(zip(setting.values, setting.names(), strict=True))
    ]
