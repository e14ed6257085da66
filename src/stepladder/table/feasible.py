"""All the rows that one person could become.

The set answers three questions, whatever the rules are: `limits` (a box around it), `keeps` (which
rows are in it) and `repair` (the nearest row that is). A person's own value is always in it, as it
stands.

`Feasible` holds the sets of many people, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ParameterError
from stepladder.table import frames
from stepladder.table.feature import Categorical, Numeric
from stepladder.table.frames import Frame
from stepladder.table.rules.faults import check_bounds
from stepladder.table.rules.links import changed
from stepladder.table.rules.mend import mended
from stepladder.table.rules.personal import Limits, Locked, limit_arrays, locked_mask
from stepladder.table.rules.requirements import Part, Requirements
from stepladder.table.rules.violations import Violation, violations
from stepladder.table.space import Floats, Mask, Space

Ends = tuple[Floats, Floats]
"""The lowest and the highest values, two (n, features)."""

NO_REQUIREMENTS = Requirements(())

EVERYBODY = slice(None)


@dataclass(frozen=True, eq=False)
class _People:
    """What is known of n people, one row each, however often their rows are then asked about."""

    start: Floats
    """(n, features) where they are today"""
    lower: Floats
    upper: Floats
    """(n, features) within what a feature has to be once it isn't their own value any more"""
    today: Floats
    """(n, derived) what the formulas of derived features say of `start`"""
    kept_today: Mask
    """(n, parts) which requirements they keep today"""
    difficulty: Floats | None
    """(n, features) by how much harder than for others changes are for them; None if they aren't"""


@dataclass(frozen=True, eq=False)
class Feasible:
    """The feasible sets of n people, who are at `start` (n, features) today.

    Methods take one row for each of the n people, or any number of rows if n is 1.
    """

    space: Space
    _known: _People
    people: NDArray[np.intp]
    """(n,) whose sets these are, of all that are known; taking some costs no more than this"""
    policy: Requirements = NO_REQUIREMENTS
    """what an end has to keep to as well, so that it's worth repairing for"""
    max_changes: int | None = None

    @classmethod
    def of(
        cls, space: Space, frame: Frame, *, locked: Locked = (), limits: Limits = None
    ) -> Feasible:
        """The feasible set of each row of `frame`.

        `locked` features can't change either, and nobody goes beyond `limits`, both as
        `Method.recourse` takes them.
        """
        labels, schema = frames.labels(frame), space.schema
        start = space.read(frame, allow_missing=True)
        check_bounds(space, start, labels)
        return cls.around(
            space,
            start,
            locked=locked_mask(schema, labels, locked),
            limits=None if limits is None else limit_arrays(schema, labels, limits),
        )

    @classmethod
    def around(
        cls,
        space: Space,
        start: Floats,
        *,
        locked: Mask | None = None,
        limits: Ends | None = None,
        difficulty: Floats | None = None,
        policy: Requirements = NO_REQUIREMENTS,
        max_changes: int | None = None,
    ) -> Feasible:
        """The feasible sets around values (n, features) that are already read, and within bounds.

        locked      (n, features) what these people can't change either
        limits      two (n, features), infinite where open: no plan goes beyond, for these people
        difficulty  (n, features) by how much harder a change is for these people; 1 by default
        """
        grid, fixed = space.grid, ~space.links.chosen
        if locked is not None:
            fixed = fixed | locked
        free = np.isnan(start) & space.fillable  # from a gap, one way is as good as the other
        lower = np.where(fixed | (space.rising & ~free), start, grid.lowest)
        upper = np.where(fixed | (space.falling & ~free), start, grid.highest)
        for f, feature in enumerate(space.schema.features):
            if isinstance(feature, Numeric) and feature.reach is not None:
                low, high = feature.reached(start[:, f])
                lower[:, f] = np.fmax(lower[:, f], grid.inside(f, low, 1.0))
                upper[:, f] = np.fmin(upper[:, f], grid.inside(f, high, -1.0))
        for ends, side, way in zip(limits or (), (lower, upper), (1.0, -1.0), strict=False):
            for f in np.flatnonzero(np.isfinite(ends).any(axis=0)).tolist():
                narrower = np.fmax if way > 0 else np.fmin
                side[:, f] = narrower(side[:, f], grid.inside(f, ends[:, f], way))
        nothing = fixed | (lower > upper) | (np.isnan(start) & ~space.fillable)
        lower, upper = (np.where(nothing, start, side) for side in (lower, upper))
        known = _People(
            start,
            lower,
            upper,
            space.links.worked_out(start),
            space.requirements.hold(start, start),
            difficulty,
        )
        return cls(space, known, np.arange(len(start)), policy, max_changes)

    def __len__(self) -> int:
        return len(self.people)

    def take(self, rows: NDArray[np.intp] | slice) -> Feasible:
        """The sets of some of the people, in that order; one may be taken more than once."""
        return Feasible(self.space, self._known, self.people[rows], self.policy, self.max_changes)

    @cached_property
    def start(self) -> Floats:
        """(n, features) where people are today"""
        return self._known.start[self.people]

    @cached_property
    def reachable(self) -> Ends:
        """Within what each feature has to be once it isn't the person's own value any more."""
        return self._known.lower[self.people], self._known.upper[self.people]

    @cached_property
    def kept_today(self) -> Mask:
        """(n, parts) which requirements people keep today"""
        return self._known.kept_today[self.people]

    @property
    def difficulty(self) -> Floats | None:
        """(n, features) by how much harder each change is for these people; None if none is"""
        hard = self._known.difficulty
        return None if hard is None else hard[self.people]

    # ---- the three questions --------------------------------------------------------------

    @cached_property
    def limits(self) -> Ends:
        """A box around the set: the lowest and the highest value of each feature."""
        lower, upper = self.reachable
        return np.fmin(lower, self.start), np.fmax(upper, self.start)

    @cached_property
    def box(self) -> Ends:
        """The same around points: two (n, columns)."""
        return _encoded_box(self.space, self.start, *self.limits)

    def keeps(self, rows: Floats) -> Mask:
        """Which rows keep every rule: a mask (rows,)."""
        return np.asarray(~self.broken(rows).any(axis=1) & self.fulfils(rows))

    def repair(self, values: Floats) -> Floats:
        """The nearest rows that are kept, as far as there are any near.

        A row that breaks a requirement, or the policy, once it's settled has a few of its values
        changed until it doesn't.
        """
        return mended(self, self.settle(values))

    def settle(self, values: Floats) -> Floats:
        """Rows of which each value is allowed by itself, and the rest follows.

        They keep all rules but for requirements and the number of changes.
        """
        return self.complete(self.nearest(values))

    def snap(self, points: Floats) -> Floats:
        """The settled rows of points; what hasn't moved keeps the very value the person has."""
        values = self.space.to_values(self._fits(points), tidy=False)
        for f in np.flatnonzero(np.isnan(self.start).any(axis=0)):
            where = self.space.slices[self.space.schema.names[f]]
            moved = points[:, where] - self.space.to_points(self.start)[:, where]
            still = (np.abs(moved) <= 1e-9).all(axis=1)
            values[:, f] = np.where(still & np.isnan(self.start[:, f]), np.nan, values[:, f])
        return self.settle(values)

    # ---- their parts ----------------------------------------------------------------------

    def complete(self, rows: Floats) -> Floats:
        """Rows whose features that no plan sets are as they follow from the rest."""
        links = self.space.links
        if links.are_none:
            return rows
        return links.complete(rows, self.start, self._known.today[self.people])

    def fulfils(self, rows: Floats) -> Mask:
        """Which rows keep the rules that are about more than one feature: a mask (rows,)."""
        requirements, start = self.space.requirements, self.start
        if self.is_box:
            return np.ones(len(rows), dtype=bool)
        kept = self.workable(rows)
        if len(requirements):
            kept &= requirements.kept(rows, start, self.kept_today).all(axis=1)
        if self.max_changes is not None:
            kept &= self.changes(rows).sum(axis=1) <= self.max_changes
        return np.asarray(kept)

    @property
    def is_box(self) -> bool:
        """Whether each feature's own rules are all there are."""
        return self.space.is_box and not len(self.policy) and self.max_changes is None

    def passes(self, rows: Floats) -> Mask:
        """Which rows keep the policy, and so could be an end: a mask (rows,)."""
        return np.asarray(self.policy.hold(rows, self.start).all(axis=1))

    def changes(self, rows: Floats) -> Mask:
        """Which features of rows a plan would set to another value: a mask (rows, features)."""
        return self.space.links.changes(self.start, rows)

    def broken(self, rows: Floats) -> Mask:
        """Which features of which rows break a rule of their own: a mask (rows, features)."""
        lower, upper = self.reachable
        links = self.space.links
        odd = rows != self.space.grid.nearest(rows)
        beyond = ~((rows >= lower) & (rows <= upper))  # a gap is neither
        wrong = beyond | odd | self.space.hops.broken(rows, self.start, lower, upper)
        wrong &= changed(rows, self.start)
        if not links.are_none:
            wrong = np.where(links.linked, changed(rows, self.complete(rows)), wrong)
            wrong |= self._lost(rows)
        return np.asarray(wrong)

    def _lost(self, rows: Floats) -> Mask:
        """What follows from the rest of rows and can't be: not worked out, or out of bounds."""
        lost = np.zeros(rows.shape, dtype=bool)
        for f in np.flatnonzero(self.space.links.linked).tolist():
            lost[:, f] = self._lost_in(f, rows)
        return lost

    def workable(self, rows: Floats) -> Mask:
        """(rows,) which rows have all that follows from the rest of them."""
        workable = np.ones(len(rows), dtype=bool)
        for f in np.flatnonzero(self.space.links.linked).tolist():
            workable &= ~self._lost_in(f, rows)
        return workable

    def _lost_in(self, f: int, rows: Floats) -> Mask:
        missing = np.isnan(rows[:, f]) & ~np.isnan(self.start[:, f])
        return np.asarray(missing | self.space.grid.outside(f, rows[:, f]))

    def nearest(self, values: Floats) -> Floats:
        """Each feature's nearest allowed value within the limits, whatever the others are.

        Most rows that are asked about differ from the person's in a few values: only those are
        looked at. Nobody is advised to leave a gap.
        """
        rows = np.array(np.broadcast_to(self.start, values.shape))
        row, f = np.nonzero((values != rows) & self.space.links.chosen & ~np.isnan(values))
        who = row if len(self) > 1 else np.zeros_like(row)
        some, start = values[row, f], rows[row, f]
        lower, upper = (
            ends[self.people[who], f] for ends in (self._known.lower, self._known.upper)
        )
        wanted = self.space.grid.cells(f, some)
        found = _within(wanted, start, lower, upper)
        stays = np.maximum(np.abs(some - found), self.space.dust[f]) >= np.abs(some - start)
        rows[row, f] = np.where(stays, start, found)
        if not self.space.hops.allowed:
            return rows
        for hopping in self.space.hops.allowed:
            mine = f == hopping
            rows[row[mine], hopping] = wanted[mine]
        return self.space.hops.settled(rows, self.start, *self.reachable)

    def nearest_in(
        self, f: int, values: Floats, people: NDArray[np.intp] | slice = EVERYBODY
    ) -> Floats:
        """The same for one feature: values (n,), none of them missing, of n of the people."""
        if f in self.space.hops.allowed:
            rows = self.start[people].copy()
            rows[:, f] = values
            return np.asarray(self.take(people).nearest(rows)[:, f])
        who, known = self.people[people], self._known
        start, lower, upper = (side[who, f] for side in (known.start, known.lower, known.upper))
        return _within(self.space.grid.column(f, values), start, lower, upper)

    # ---- in words -------------------------------------------------------------------------

    def check(self, frame: Frame) -> list[Violation]:
        """Every rule that the rows of `frame` break, by name; empty if none."""
        return violations(self, self._fits(self.space.read(frame, allow_missing=True)), frame)

    def breaks(self, rows: Floats) -> list[str]:
        """The features whose rules, and the requirements that, some of the rows break."""
        broken = self.broken(rows).any(axis=0)
        found = [self.space.schema.names[f] for f in np.flatnonzero(broken)]
        found += [part.formula.text for part in self.missed(rows)]
        if self.max_changes is not None and (self.changes(rows).sum(1) > self.max_changes).any():
            found.append(f"at most {self.max_changes} changes")
        return found

    def missed(self, rows: Floats) -> list[Part]:
        """The parts of requirements that some of the rows break."""
        requirements = self.space.requirements
        kept = requirements.kept(rows, self.start, self.kept_today)
        return [requirements.parts[p] for p in np.flatnonzero(~kept.all(axis=0))]

    def lost(self, rows: Floats) -> list[str]:
        """The features that follow from the rest of some of the rows and can't be."""
        lost = self._lost(rows).any(axis=0)
        return [self.space.schema.names[f] for f in np.flatnonzero(lost)]

    def refused(self, rows: Floats) -> list[Part]:
        """The parts of the policy that some of the rows break."""
        kept = self.policy.hold(rows, self.start)
        return [self.policy.parts[p] for p in np.flatnonzero(~kept.all(axis=0))]

    def blocked_by(self, frame: Frame) -> list[tuple[str, ...]]:
        """For each row of `frame`, the features whose rules keep a person from becoming it."""
        rows = self._fits(self.space.read(frame))
        lower, upper = self.reachable
        stopped = (rows < lower) | (rows > upper)
        stopped |= self.space.hops.broken(rows, self.start, lower, upper)
        stopped &= changed(rows, self.start)
        names = np.array(self.space.schema.names, dtype=object)
        return [tuple(names[row & ~self.space.links.linked]) for row in stopped]

    def _fits(self, rows: Floats) -> Floats:
        if len(self) not in (1, len(rows)):
            raise ParameterError(
                f"Expected one row for each of {len(self)} people, got {len(rows)}."
            )
        return rows


def _within(values: Floats, start: Floats, lower: Floats, upper: Floats) -> Floats:
    """Values (n,) within what may be asked for; who stands outside it either stays or goes in."""
    found = np.minimum(np.maximum(values, np.fmin(lower, start)), np.fmax(upper, start))
    found = np.where((found < lower) & (found > start), lower, found)
    return np.where((found > upper) & (found < start), upper, found)


def _encoded_box(
    space: Space, start: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """The box in encoded columns: a category is either fixed or free in all of its columns."""
    low, high = np.zeros((len(start), space.width)), np.ones((len(start), space.width))
    here = space.to_points(start)
    for f, feature in enumerate(space.schema.features):
        where = space.slices[feature.name]
        if isinstance(feature, Categorical):
            fixed = ~(lower[:, f] < upper[:, f])[:, None]
            low[:, where] = np.where(fixed, here[:, where], 0.0)
            high[:, where] = np.where(fixed, here[:, where], 1.0)
        elif where.stop > where.start:
            center, scale = space.center[where], space.scale[where]
            gap = np.isnan(start[:, [f]])
            low[:, where] = np.where(gap, here[:, where], (lower[:, [f]] - center) / scale)
            high[:, where] = np.where(gap, here[:, where], (upper[:, [f]] - center) / scale)
    return low, high
