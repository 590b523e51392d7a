"""Setbacks: a variant that failed is planned around, an output without another way rests, and both are tried again."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from sqlmodel import Session

from olston.catalog import Catalog
from olston.catalog.records import SetbackRecord
from olston.errors import OlstonError
from olston.provenance import Stamp
from olston.scheduler.rest import Rests


class Setbacks:
    """What failed lately, and why."""

    def __init__(self) -> None:
        self._outputs, self._variants = Rests(), Rests()
        self._reasons: dict[str, Exception] = {}

    def resting(self, now: Stamp) -> frozenset[str]:
        """The outputs that are left alone at `now`."""
        return self._outputs.at(now)

    def excluded(self, now: Stamp) -> frozenset[str]:
        """The variants that are planned around at `now`."""
        return self._variants.at(now)

    def reasons(self, now: Stamp) -> list[Exception]:
        """Why the outputs that rest do."""
        return [self._reasons[o] for o in sorted(self.resting(now))]

    def avoid(self, variants: Collection[str], outputs: Iterable[str], error: Exception, now: Stamp) -> None:
        """A step failed on the way to `outputs`, and there is a way without `variants`."""
        self._variants.begin(variants, now)
        self._reasons.update(dict.fromkeys(outputs, error))

    def unharmed(self, outputs: Iterable[str]) -> list[str]:
        """Those of `outputs` that no failure concerned, so that variants are planned around for the sake of others."""
        return [o for o in outputs if o not in self._reasons]

    def give_up(self, outputs: Collection[str], error: Exception, now: Stamp) -> Exception:
        """There is no other way to `outputs` for now; returns why: the failure that made it so, not what follows."""
        forced = self.excluded(now)
        self._reasons.update({o: self._reasons.get(o, error) if forced else error for o in outputs})
        self._outputs.begin(outputs, now)
        return self._reasons[next(iter(outputs))]

    def overcome(self, outputs: Collection[str], variants: Iterable[str]) -> None:
        """A plan for `outputs` by `variants` was carried out."""
        for output in outputs:
            self._reasons.pop(output, None)
        self._outputs.end(outputs)
        self._variants.end(variants)

    def forget(self, outputs: Collection[str], variants: Iterable[str]) -> None:
        """These are tried again: somebody asks for it."""
        self.overcome(outputs, variants)

    def next_end(self, now: Stamp) -> Stamp | None:
        """When the first of the present rests is over."""
        ends = [end for rests in (self._outputs, self._variants) if (end := rests.next_end(now)) is not None]
        return min(ends, default=None)


def record(db: Session, workflow: str, outputs: Iterable[str], error: Exception, now: int) -> None:
    """Say why outputs are left as they are, for those who ask."""
    said = _said(error)
    for output in outputs:
        db.merge(SetbackRecord(workflow=workflow, output=output, error=said, happened_at=now))


def overcome(db: Session, workflow: str, outputs: Iterable[str]) -> None:
    """Outputs were refreshed."""
    for output in outputs:
        known = db.get(SetbackRecord, (workflow, output))
        if known is not None:
            db.delete(known)


def polled(catalog: Catalog, workflow: str, sources: Mapping[str, Exception | None], now: int) -> None:
    """Say why followed `sources` could not be taken, and since when; or that they could, if it was said."""
    with catalog.look() as db:
        told = {name: db.get(SetbackRecord, (workflow, name)) for name in sources}
    for name, error in sources.items():
        known, said = told[name], None if error is None else _said(error)
        if said == (None if known is None else known.error):
            continue
        with catalog.transaction() as db:
            if said is None:
                overcome(db, workflow, [name])
            else:
                since = now if known is None else known.happened_at
                db.merge(SetbackRecord(workflow=workflow, output=name, error=said, happened_at=since))


def _said(error: Exception) -> str:
    return error.message if isinstance(error, OlstonError) else f"{type(error).__name__}: {error}"
