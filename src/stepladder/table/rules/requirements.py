"""What a row has to keep to beyond each feature's own limits: `require`, and a goal's `policy`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import FormulaError
from stepladder.table.formula import Bound, Formula
from stepladder.table.rules.links import changed
from stepladder.table.schema import Schema

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

DUST = 1e-9
"""How much an excess may grow by rounding alone, as a share of what is compared."""


@dataclass(frozen=True, eq=False)
class Part:
    """One condition of a requirement: `a <= b and c <= d` has two."""

    formula: Formula
    bound: Bound
    features: NDArray[np.intp]
    """the features it's about"""
    of_policy: bool = False
    """whether a yes takes it: then a row that lacks a value it's about doesn't keep it"""

    def holds(self, rows: Floats, start: Floats) -> Mask:
        """(n,) which rows keep it; a requirement doesn't judge one that lacks a value."""
        unknown = np.isnan(rows[:, self.features]).any(axis=1)
        kept = self.bound(rows, start).astype(bool)
        return np.asarray(kept & ~unknown if self.of_policy else kept | unknown)

    def no_worse(self, rows: Floats, start: Floats) -> Mask:
        """(n,) which rows, of people who break it today, break it no more than that.

        Of an inequality the excess may not grow; of anything else all that it's about stays.
        """
        start = np.broadcast_to(start, rows.shape)
        same = ~changed(rows[:, self.features], start[:, self.features]).any(axis=1)
        if not self.bound.excess_is_known:
            return np.asarray(same)
        excess, before = self.bound.excess(rows, start), self.bound.excess(start, start)
        assert excess is not None
        assert before is not None
        return np.asarray(same | (excess <= before * (1 + DUST)))


@dataclass(frozen=True, eq=False)
class Requirements:
    """The parts of some requirements, over the features of a schema."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, texts: Iterable[str], schema: Schema, *, policy: bool = False) -> Requirements:
        """Those of a schema, or of a goal's policy."""
        what = "The policy" if policy else "The requirement"
        return cls(
            tuple(
                _part(part, schema, what, policy=policy)
                for text in texts
                for part in Formula.parse(text, what).parts
            )
        )

    def __len__(self) -> int:
        return len(self.parts)

    @cached_property
    def features(self) -> NDArray[np.intp]:
        """All features they're about."""
        found = [part.features for part in self.parts]
        return np.unique(np.concatenate(found)) if found else np.empty(0, dtype=np.intp)

    def hold(self, rows: Floats, start: Floats) -> Mask:
        """(n, parts) which rows keep which part."""
        held = [part.holds(rows, start) for part in self.parts]
        return np.stack(held, axis=1) if held else np.ones((len(rows), 0), dtype=bool)

    def kept(self, rows: Floats, start: Floats, today: Mask) -> Mask:
        """(n, parts) which rows keep a part, or break it no more than people do `today` (n, parts).

        Today is worked out once: who breaks what is told, and held to.
        """
        kept = self.hold(rows, start)
        for p, part in enumerate(self.parts):
            if (owed := ~today[:, p]).any():
                kept[:, p] |= owed & part.no_worse(rows, start)
        return kept


def _part(formula: Formula, schema: Schema, what: str, *, policy: bool) -> Part:
    bound = formula.bind(schema.names, schema.levels)
    if bound.kind != "truth":
        raise FormulaError(
            f"{what} {formula.text!r} is {'a number' if bound.kind == 'number' else 'text'}, where "
            "it has to be true or false of a row; compare it with something, as in a <= b."
        )
    about = [f for f, name in enumerate(schema.names) if name in formula.names]
    return Part(formula, bound, np.array(about, dtype=np.intp), policy)
