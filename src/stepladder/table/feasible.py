"""The feasible set of a person: all rows they could become.

It answers three questions, and planners ask no others: its `limits`, a box around it; which rows
it `keeps`; and the row nearest to another that it does keep (`repair`). Today every rule is an
interval around the row that a person has: a feature that never changes keeps its value, a one-way
feature stays on its side of it, and bounds hold. So the set is a box, less the values that nobody
can have. The one exception is somebody who stands outside limits of their own: the values between
where they stand and those limits aren't in it. One `Feasible` holds the sets of many people, row by
row.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import BoundsError, ParameterError
from stepladder.numbers import plain
from stepladder.table import frames
from stepladder.table.feature import Categorical, Change, Feature, Numeric
from stepladder.table.frames import EXACT, Frame
from stepladder.table.personal import Limits, Locked, limit_arrays, locked_mask
from stepladder.table.space import Floats, Mask, Space


@dataclass(frozen=True)
class Violation:
    """One feature of one row that the person couldn't have changed that way."""

    row: Any
    feature: str
    rule: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.feature} {self.rule}: {self.before!r} became {self.after!r} (row {self.row})"


@dataclass(frozen=True, eq=False)
class Feasible:
    """The feasible sets of n people: `start` (n, features) and the `limits` of each.

    Methods take one row for each of the n people, or any number of rows if n is 1.
    """

    space: Space
    start: Floats
    limits: tuple[Floats, Floats]
    """the lowest and the highest value of each feature: two (n, features)"""
    edge: Floats | None = None
    """(n, features) of somebody outside limits of their own the end nearest to them, else `start`:
    no value between the two is allowed"""

    @classmethod
    def of(
        cls, space: Space, frame: Frame, *, locked: Locked = (), limits: Limits = None
    ) -> Feasible:
        """The feasible set of each row of `frame`.

        locked  features that can't change either: a list, or {person: list}
        limits  {person: {feature: (low, high)}}, or a frame of person, feature, low, high
        """
        labels, schema = frames.labels(frame), space.schema
        return cls.around(
            space,
            space.read(frame),
            labels,
            locked=locked_mask(schema, labels, locked),
            limits=limit_arrays(schema, labels, limits),
        )

    @classmethod
    def around(
        cls,
        space: Space,
        start: Floats,
        labels: NDArray[Any] | None = None,
        *,
        locked: Mask | None = None,
        limits: tuple[Floats, Floats] | None = None,
    ) -> Feasible:
        """The feasible sets around values (n, features) that are already read.

        `locked` and both ends of `limits` are (n, features), as `personal` makes them.
        """
        fixed = np.zeros(start.shape, dtype=bool) if locked is None else locked
        lower, upper = np.empty_like(start), np.empty_like(start)
        for f, feature in enumerate(space.schema.features):
            low, high = _limits(feature)
            outside = np.flatnonzero(_is_outside(space, feature, start[:, f]))
            if outside.size:
                who = (np.arange(len(start)) if labels is None else labels)[outside[0]]
                who = who.item() if isinstance(who, np.generic) else who
                raise BoundsError(
                    f"Row {who!r} has {feature.name} = {plain(start[outside[0], f])}, outside the "
                    f"schema's own bounds {plain(low)} to {plain(high)} "
                    f"({outside.size} in all). Widen the bounds, or correct the row."
                )
            held_low = fixed[:, f] | (feature.change in (Change.NEVER, Change.INCREASE))
            held_high = fixed[:, f] | (feature.change in (Change.NEVER, Change.DECREASE))
            # A person may stand between the last allowed value and the bound itself.
            (lowest,) = _inside(space, feature, np.array([low]), np.inf)
            (highest,) = _inside(space, feature, np.array([high]), -np.inf)
            lower[:, f] = np.where(held_low, start[:, f], np.minimum(lowest, start[:, f]))
            upper[:, f] = np.where(held_high, start[:, f], np.maximum(highest, start[:, f]))
        if limits is None:
            return cls(space, start, (lower, upper))
        return cls(space, start, *_limited(space, start, (lower, upper), limits))

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[np.intp] | slice) -> Feasible:
        """The sets of some of the people, in that order; one may be taken more than once."""
        lower, upper = self.limits
        edge = None if self.edge is None else self.edge[rows]
        return Feasible(self.space, self.start[rows], (lower[rows], upper[rows]), edge)

    def holding(self, features: Mask, rows: Floats) -> Feasible:
        """The same sets with some features (features,) held at what rows (n, features) have."""
        lower, upper = (np.where(features, rows, end) for end in self.limits)
        return Feasible(self.space, self.start, (lower, upper), self.edge)

    @cached_property
    def box(self) -> tuple[Floats, Floats]:
        """The limits of points: two (n, columns)."""
        return _encoded_box(self.space, self.start, *self.limits)

    def project(self, points: Floats) -> Floats:
        """π: the nearest point of the feasible set."""
        return np.clip(self._fits(points), *self.box)

    def snap(self, points: Floats) -> Floats:
        """The values of the valid row nearest to each point, one feature at a time.

        One category, whole numbers and ordinal levels; what hasn't moved keeps the very value
        the person has.
        """
        return self.repair(self.space.to_values(self.project(points), tidy=False))

    def repair(self, values: Floats) -> Floats:
        """The nearest rows that are kept (as `snap`, for rows that are values already)."""
        rows = self.clip(allowed(self.space, values))
        moved = np.abs(values - self.start)
        stays = moved <= np.maximum(np.abs(values - rows), self.space.dust)
        return np.where(stays, self.start, rows)

    def clip(self, values: Floats, features: slice | NDArray[np.intp] = slice(None)) -> Floats:
        """Values (n, features), or those of some features, brought within the limits."""
        lower, upper = (end[:, features] for end in self.limits)
        rows = np.clip(values, lower, upper)
        if self.edge is None:
            return rows
        start, edge = self.start[:, features], self.edge[:, features]
        return np.where(_between(rows, start, edge), edge, rows)

    def keeps(self, values: Floats) -> Mask:
        """Which rows keep every rule: a mask (rows,)."""
        return np.asarray(~self.broken(values).any(axis=1))

    def broken(self, values: Floats) -> Mask:
        """Which features of which rows break a rule, to name them: a mask (rows, features)."""
        odd = values != allowed(self.space, values)
        return np.asarray((self.stopped(values) | odd) & (values != self.start))

    def check(self, frame: Frame) -> list[Violation]:
        """Every rule that the rows of `frame` break, by name; empty if none."""
        values = self._fits(self.space.read(frame))
        start, lower, upper = (np.broadcast_to(a, values.shape) for a in (self.start, *self.limits))
        labels, stopped, found = frames.labels(frame), self.stopped(values), []
        for row, f in np.argwhere(self.broken(values)):
            feature = self.space.schema.features[f]
            fixed = lower[row, f] == upper[row, f] == start[row, f]
            beyond = bool(stopped[row, f])
            rule = _rule(self.space, feature, fixed, beyond, start[row, f], values[row, f])
            before, after = (self.space.shown(int(f), v[row, f]) for v in (start, values))
            found.append(Violation(labels[row], feature.name, rule, before, after))
        return found

    def blocked_by(self, frame: Frame) -> list[tuple[str, ...]]:
        """For each row of `frame`, the features whose rules keep a person from becoming it."""
        stopped = self.stopped(self._fits(self.space.read(frame)))
        names = np.array(self.space.schema.names, dtype=object)
        return [tuple(names[row]) for row in stopped]

    def stopped(self, values: Floats) -> Mask:
        """Which features of which rows lie beyond the limits: a mask (rows, features)."""
        lower, upper = self.limits
        beyond = (values < lower) | (values > upper)
        return beyond if self.edge is None else beyond | _between(values, self.start, self.edge)

    def _fits(self, rows: Floats) -> Floats:
        if len(self) not in (1, len(rows)):
            raise ParameterError(
                f"Expected one row for each of {len(self)} people, got {len(rows)}."
            )
        return rows


def _limits(feature: Feature) -> tuple[float, float]:
    if isinstance(feature, Numeric):
        return feature.limits
    return 0.0, float(len(feature.levels or ()) - 1)


def _is_outside(space: Space, feature: Feature, values: Floats) -> Mask:
    """Which values break the feature's bounds; in a float32 column, bounds are float32 too."""
    low, high = _limits(feature)
    if isinstance(feature, Numeric) and space.template.is_single_precision(feature.name):
        low, high = min(low, float(np.float32(low))), max(high, float(np.float32(high)))
    return (values < low) | (values > high)


def allowed(space: Space, values: Floats) -> Floats:
    """Each value's nearest one that its feature can take, for complete rows (n, features)."""
    features = space.schema.features
    whole = [not isinstance(f, Numeric) or f.most_decimals == 0 for f in features]
    rows = np.where(whole, np.rint(values), values)  # the common kinds in one go
    for f, feature in enumerate(features):
        if isinstance(feature, Numeric) and (
            feature.most_decimals or space.template.is_single_precision(feature.name)
        ):
            rows[:, f] = _allowed_column(space, feature, values[:, f])
    return rows


def _allowed_column(space: Space, feature: Feature, values: Floats) -> Floats:
    """The nearest values that the feature can take at all, whoever the person is."""
    if not isinstance(feature, Numeric):
        return np.rint(values)
    if feature.most_decimals is not None:
        values = rounded(values, feature.most_decimals)
    if space.template.is_single_precision(feature.name):
        # A float32 column would round the row after it was checked: use only what it can hold.
        values = values.astype(np.float32).astype(np.float64)
    return values


def rounded(values: Floats, decimals: int) -> Floats:
    """Values to so many decimals; one that is too large to have that many stays as it is."""
    small = np.abs(values) < EXACT / 2 / 10.0**decimals
    return np.where(small, np.round(np.where(small, values, 0.0), decimals), values)


def _limited(
    space: Space, start: Floats, box: tuple[Floats, Floats], limits: tuple[Floats, Floats]
) -> tuple[tuple[Floats, Floats], Floats | None]:
    """A box with limits put on it, and the `edge` of whoever stands outside theirs."""
    low, high = (end.copy() for end in limits)
    for f, feature in enumerate(space.schema.features):
        low[:, f] = _inside(space, feature, low[:, f], np.inf)
        high[:, f] = _inside(space, feature, high[:, f], -np.inf)
    low, high = np.maximum(low, box[0]), np.minimum(high, box[1])
    # Where no value is left that they could take, such as a rise of what may only fall, they stay.
    none = (low > high) | (low == np.inf) | (high == -np.inf)
    low, high = np.where(none, start, low), np.where(none, start, high)
    edge = np.clip(start, low, high)
    outside = bool((edge != start).any())
    return (np.minimum(low, start), np.maximum(high, start)), edge if outside else None


def _between(values: Floats, start: Floats, edge: Floats) -> Mask:
    """Which values lie between where somebody stands and the limits they stand outside of."""
    return ((values > start) & (values < edge)) | ((values < start) & (values > edge))


def _inside(space: Space, feature: Feature, given: Floats, inwards: float) -> Floats:
    """The allowed values nearest to ends that aren't beyond them (`inwards`: ±infinity)."""
    decimals = feature.most_decimals if isinstance(feature, Numeric) else 0
    single = isinstance(feature, Numeric) and space.template.is_single_precision(feature.name)
    finite = np.abs(given) <= np.finfo(np.float32 if single else np.float64).max
    ends = given[finite]
    finest = np.abs(ends) * float(np.finfo(np.float32 if single else np.float64).eps)
    step = np.maximum(finest, 0.0 if decimals is None else 10.0**-decimals)
    way = np.sign(inwards)
    nearest = _allowed_column(space, feature, ends)
    while (beyond := (nearest - ends) * way < 0).any():
        moved = _allowed_column(space, feature, nearest + way * step)
        nearest = np.where(beyond, moved, nearest)
        step = step * 2  # in case rounding went back again
    inside = np.copysign(np.inf, given)
    inside[finite] = nearest
    return inside


def _encoded_box(
    space: Space, start: Floats, lower: Floats, upper: Floats
) -> tuple[Floats, Floats]:
    """The box in encoded columns: a category is either fixed or free in all of its columns."""
    low, high = np.zeros((len(start), space.width)), np.ones((len(start), space.width))
    here = space.to_points(start)
    for f, feature in enumerate(space.schema.features):
        where = space.slices[feature.name]
        if isinstance(feature, Categorical):
            fixed = (lower[:, f] == upper[:, f])[:, None]
            low[:, where] = np.where(fixed, here[:, where], 0.0)
            high[:, where] = np.where(fixed, here[:, where], 1.0)
        else:
            center, scale = space.center[where], space.scale[where]
            low[:, where] = (lower[:, [f]] - center) / scale
            high[:, where] = (upper[:, [f]] - center) / scale
    return low, high


def _rule(
    space: Space, feature: Feature, fixed: bool, beyond: bool, before: float, after: float
) -> str:
    """The rule that a change breaks, in words."""
    if feature.change is Change.NEVER:
        return "never changes"
    if feature.change is Change.INCREASE and after < before:
        return "may only increase"
    if feature.change is Change.DECREASE and after > before:
        return "may only decrease"
    low, high = _limits(feature)
    if not low <= after <= high:
        return f"must lie within {plain(low)} and {plain(high)}"
    if fixed:
        return "is locked"
    if beyond:
        return "lies beyond this person's limits"
    assert isinstance(feature, Numeric)  # levels outside the list were refused when reading
    decimals = feature.most_decimals
    if decimals is not None and after != rounded(np.array(after), decimals):
        return "must be whole" if decimals == 0 else f"has at most {decimals} decimals"
    return "must be a number that a float32 column can hold"
