"""The feasible set of a person: all rows they could become.

It answers three questions, and planners ask no others: its `limits`, a box around it; which rows
it `keeps`; and the row nearest to another that it does keep (`repair`). Today every rule is an
interval around the row that a person has: a feature that never changes keeps its value, a one-way
feature stays on its side of it, and bounds hold. So the set is a box, less the values that nobody
can have. One `Feasible` holds the sets of many people, row by row.
"""

from __future__ import annotations

from collections.abc import Iterable
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
from stepladder.table.space import Faults, Floats, Mask, Space, add_fault


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

    @classmethod
    def of(cls, space: Space, frame: Frame, *, locked: Iterable[str] = ()) -> Feasible:
        """The feasible set of each row of `frame`; `locked` features can't change either."""
        return cls.around(space, space.read(frame), frames.labels(frame), locked=locked)

    @classmethod
    def around(
        cls,
        space: Space,
        start: Floats,
        labels: NDArray[Any] | None = None,
        *,
        locked: Iterable[str] = (),
    ) -> Feasible:
        """The feasible sets around values (n, features) that are already read."""
        if isinstance(locked, str):
            raise ParameterError(f"locked must be a list of names: locked=[{locked!r}].")
        fixed = {space.schema.position(name) for name in locked}
        check_bounds(space, start, labels)
        lower, upper = np.empty_like(start), np.empty_like(start)
        for f, feature in enumerate(space.schema.features):
            low, high = _limits(feature)
            change = Change.NEVER if f in fixed else feature.change
            held_low = change in (Change.NEVER, Change.INCREASE)
            held_high = change in (Change.NEVER, Change.DECREASE)
            # A person may stand between the last allowed value and the bound itself.
            lowest = np.minimum(_inside(space, feature, low, np.inf), start[:, f])
            highest = np.maximum(_inside(space, feature, high, -np.inf), start[:, f])
            lower[:, f] = start[:, f] if held_low else lowest
            upper[:, f] = start[:, f] if held_high else highest
        return cls(space, start, (lower, upper))

    def __len__(self) -> int:
        return len(self.start)

    def take(self, rows: NDArray[np.intp] | slice) -> Feasible:
        """The sets of some of the people, in that order; one may be taken more than once."""
        lower, upper = self.limits
        return Feasible(self.space, self.start[rows], (lower[rows], upper[rows]))

    def holding(self, features: Mask, rows: Floats) -> Feasible:
        """The same sets with some features (features,) held at what rows (n, features) have."""
        lower, upper = (np.where(features, rows, end) for end in self.limits)
        return Feasible(self.space, self.start, (lower, upper))

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
        rows = np.clip(allowed(self.space, values), *self.limits)
        moved = np.abs(values - self.start)
        stays = moved <= np.maximum(np.abs(values - rows), self.space.dust)
        return np.where(stays, self.start, rows)

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
        labels, found = frames.labels(frame), []
        for row, f in np.argwhere(self.broken(values)):
            feature = self.space.schema.features[f]
            fixed = lower[row, f] == upper[row, f] == start[row, f]
            rule = _rule(self.space, feature, fixed, start[row, f], values[row, f])
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
        return (values < lower) | (values > upper)

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


# ---- bounds that a row already breaks ---------------------------------------------------------


def check_bounds(space: Space, values: Floats, labels: NDArray[Any] | None = None) -> None:
    """Refuse rows (n, features) that break the schema's own bounds, by the first of them."""
    outside = outside_bounds(space, values)
    for f in np.flatnonzero(outside.any(axis=0)).tolist():
        rows = np.flatnonzero(outside[:, f])
        who = (np.arange(len(values)) if labels is None else labels)[rows[0]]
        who = who.item() if isinstance(who, np.generic) else who
        feature = space.schema.features[f]
        raise BoundsError(
            f"Row {who!r} has {feature.name} = {plain(values[rows[0], f])}, {_outside(feature)} "
            f"({rows.size} in all). Widen the bounds, or correct the row."
        )


def add_bounds_faults(space: Space, values: Floats, faults: Faults) -> None:
    """Say of each row (n, features) that breaks the schema's own bounds how it does."""
    for row, f in np.argwhere(outside_bounds(space, values)).tolist():
        feature = space.schema.features[f]
        add_fault(
            faults,
            row,
            f"{feature.name!r} is {plain(values[row, f])}, {_outside(feature)}. Widen the bounds, "
            "or correct the row.",
        )


def outside_bounds(space: Space, values: Floats) -> Mask:
    """Which values break their feature's bounds: a mask (n, features). NaN breaks none."""
    outside = np.zeros(values.shape, dtype=bool)
    for f, feature in enumerate(space.schema.features):
        outside[:, f] = _is_outside(space, feature, values[:, f])
    return outside


def _outside(feature: Feature) -> str:
    low, high = _limits(feature)
    return f"outside the schema's own bounds {plain(low)} to {plain(high)}"


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


def _inside(space: Space, feature: Feature, end: float, inwards: float) -> float:
    """The allowed value nearest to a bound that isn't beyond it (`inwards`: ±infinity)."""
    if np.isinf(end):
        return end
    decimals = feature.most_decimals if isinstance(feature, Numeric) else 0
    single = isinstance(feature, Numeric) and space.template.is_single_precision(feature.name)
    finest = abs(end) * float(np.finfo(np.float32 if single else np.float64).eps)
    step = max(finest, 0.0 if decimals is None else 10.0**-decimals)
    way = np.sign(inwards)
    nearest = _allowed_column(space, feature, np.array([end]))
    while (nearest[0] - end) * way < 0:
        nearest = _allowed_column(space, feature, nearest + way * step)
        step *= 2  # in case rounding went back again
    return float(nearest[0])


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


def _rule(space: Space, feature: Feature, fixed: bool, before: float, after: float) -> str:
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
    assert isinstance(feature, Numeric)  # levels outside the list were refused when reading
    decimals = feature.most_decimals
    if decimals is not None and after != rounded(np.array(after), decimals):
        return "must be whole" if decimals == 0 else f"has at most {decimals} decimals"
    return "must be a number that a float32 column can hold"
