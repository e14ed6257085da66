"""Raw frame ⇄ encoded points: one frozen value, fitted once or declared.

A row is met in three forms, which never share a name:

- *frame*: the caller's, in raw units;
- *values* (n, features): the same rows as numbers, one per feature: a numeric feature's own
  value, an ordinal's or a category's position in its list of levels. Constraints live here, since
  a whole number is whole and "not below 3" is exact;
- *points* (n, columns): the geometry. Numerics and ordinals (0, 1, 2, … from the lowest level)
  are standardised, categories are one-hot (a two-level one is a single 0/1 column, 1 for the
  second level). Distances and directions live here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import (
    ConstantError,
    EmptyFrameError,
    MissingValueError,
    NotFiniteError,
    ParameterError,
    SchemaError,
    listing,
)
from stepladder.table import frames
from stepladder.table.building import Builder
from stepladder.table.derived import Derived
from stepladder.table.feature import Categorical, Change, Feature, Numeric, Ordinal
from stepladder.table.frames import Frame, Template
from stepladder.table.reading import Faults, own_columns, values_of, with_levels
from stepladder.table.rules.grid import Grid
from stepladder.table.rules.hops import Hops
from stepladder.table.rules.links import Links
from stepladder.table.rules.requirements import Requirements
from stepladder.table.schema import Schema

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Space:
    """The encoded geometry of a schema: fitted on a frame, or declared by the schema alone.

    `center` and `scale` (columns,) standardise; `slices` says which columns each feature has;
    `public` says whether the geometry was declared, not learned, so that it tells nothing about
    the people in a table.
    """

    schema: Schema
    template: Template
    center: Floats
    scale: Floats
    public: bool = False

    @classmethod
    def fit(cls, schema: Schema, frame: Frame) -> Space:
        """Learn means, (population) standard deviations and undeclared levels from `frame`.

        Missing values are left out of the statistics. A changeable feature that never varies is
        refused: it has no scale, so no distance along it means anything.
        """
        table = own_columns(schema, frames.read(frame))
        if len(table) == 0:
            raise EmptyFrameError(
                "The reference table, which a scale is learned from, has no rows."
            )
        schema = with_levels(schema, table)
        template = Template.of(table.to_native())
        values = values_of(schema, table)
        column = {feature.name: values[:, f] for f, feature in enumerate(schema.features)}
        center, scale = _geometry(schema, lambda feature: _standard(feature, column[feature.name]))
        return cls(schema, template, center, scale)

    @classmethod
    def from_schema(cls, schema: Schema, frame: Frame) -> Space:
        """The geometry that the schema declares; no row of `frame` is read, and it may have none.

        A number or an ordinal is centred on the middle of its `span` and scaled by a quarter of
        its length, as if it were four standard deviations wide. Of the frame only its kind, its
        column names and its dtypes are taken, and category dtypes list the schema's levels, in
        the schema's order.
        """
        _refuse_undeclared(schema)
        template = Template.of(own_columns(schema, frames.read(frame)).to_native())
        template = template.declaring(schema.levels)
        center, scale = _geometry(schema, _declared)
        return cls(schema, template, center, scale, public=True)

    @cached_property
    def slices(self) -> Mapping[str, slice]:
        """The columns of each feature, by its name."""
        ends = np.cumsum([_width(feature) for feature in self.schema.features]).tolist()
        return {
            feature.name: slice(end - _width(feature), end)
            for feature, end in zip(self.schema.features, ends, strict=True)
        }

    @cached_property
    def grid(self) -> Grid:
        """The values that features can take at all."""
        return Grid(self.schema, self.template)

    @cached_property
    def links(self) -> Links:
        """How features that no plan sets follow from the others."""
        return Links(self)

    @cached_property
    def hops(self) -> Hops:
        """Which level can get to which."""
        return Hops(self.schema)

    @cached_property
    def requirements(self) -> Requirements:
        """What rows have to keep to beyond each feature's own rules."""
        return Requirements.of(self.schema.require, self.schema)

    @cached_property
    def is_box(self) -> bool:
        """Whether no rule is about more than one feature, or about the way there."""
        return self.links.are_none and not self.hops.allowed and not len(self.requirements)

    @cached_property
    def _numbered(self) -> NDArray[np.intp]:
        """The features that are one standardised column: numerics and ordinals."""
        return np.flatnonzero([isinstance(f, Numeric | Ordinal) for f in self.schema.features])

    @cached_property
    def _columns(self) -> NDArray[np.intp]:
        """The columns of those features."""
        names = self.schema.names
        return np.array([self.slices[names[f]].start for f in self._numbered], dtype=np.intp)

    @cached_property
    def _categories(self) -> list[tuple[int, int, int]]:
        """For each category its position, its first column, and how many levels it has."""
        return [
            (f, self.slices[feature.name].start, len(feature.levels or ()))
            for f, feature in enumerate(self.schema.features)
            if isinstance(feature, Categorical)
        ]

    @cached_property
    def unordered(self) -> Mask:
        """(features,) which are categories, so that their values are codes"""
        return np.array([not feature.ordered for feature in self.schema.features])

    @cached_property
    def rising(self) -> Mask:
        """(features,) which may only increase"""
        return np.array([f.change is Change.INCREASE for f in self.schema.features])

    @cached_property
    def falling(self) -> Mask:
        """(features,) which may only decrease"""
        return np.array([f.change is Change.DECREASE for f in self.schema.features])

    @cached_property
    def difficulty(self) -> Floats:
        """(columns,) how hard each column is to change, 1 being usual"""
        hard = np.ones(self.width)
        for feature in self.schema.features:
            hard[self.slices[feature.name]] = getattr(feature, "difficulty", 1.0)
        return hard

    @cached_property
    def at_once(self) -> Mask:
        """(features,) which change in a single step"""
        return np.array([getattr(f, "at_once", False) for f in self.schema.features])

    @cached_property
    def fillable(self) -> Mask:
        """(features,) where a gap may be filled in"""
        return np.array([getattr(f, "fill", False) for f in self.schema.features])

    @cached_property
    def _single(self) -> Mask:
        """Which of those features the frame holds as float32."""
        features = [self.schema.features[f] for f in self._numbered]
        return np.array(
            [
                isinstance(f, Numeric) and self.template.is_single_precision(f.name)
                for f in features
            ],
            dtype=bool,
        )

    def warm(self) -> None:
        """Work out now what is otherwise worked out when it's first needed, and then kept."""
        for name, found in vars(type(self)).items():
            if isinstance(found, cached_property):
                getattr(self, name)

    # ---- shape ----------------------------------------------------------------------------

    @property
    def width(self) -> int:
        """How many columns a point has."""
        return len(self.center)

    @property
    def column_names(self) -> tuple[str, ...]:
        """`income`, `job=clerk`, …: a name for each column, to show; never parsed."""
        names: list[str] = []
        for feature in self.schema.features:
            if isinstance(feature, Categorical):
                levels = feature.levels or ()
                shown = levels[1:] if len(levels) == 2 else levels
                names += [f"{feature.name}={level}" for level in shown]
            else:
                names.append(feature.name)
        return tuple(names)

    def columns_of(self, wanted: Callable[[Feature], bool]) -> Mask:
        """Which columns belong to the features that `wanted` accepts: a mask (columns,)."""
        mask = np.zeros(self.width, dtype=bool)
        for feature in self.schema.features:
            mask[self.slices[feature.name]] = wanted(feature)
        return mask

    @property
    def changeable(self) -> Mask:
        """Which columns may change: a mask (columns,)."""
        return self.columns_of(lambda feature: feature.chosen)

    # ---- frame ⇄ points -------------------------------------------------------------------

    def encode(self, frame: Frame) -> Floats:
        """The points (n, columns) of a frame's rows."""
        return self.to_points(self.read(frame))

    def decode(self, points: NDArray[Any]) -> Frame:
        """The frame of points, of the kind the space was fitted on: `encode`, undone.

        Exact for valid rows whose numbers have up to 13 digits, and else within rounding. A point
        between valid rows keeps its fractions where the feature is numeric (an integer column
        then becomes a float one); an ordinal takes its nearest level and a category its largest
        column.
        """
        points = np.asarray(points, dtype=np.float64)
        if points.ndim != 2 or points.shape[1] != self.width:
            raise ParameterError(
                f"decode expects points of shape (n, {self.width}), got {points.shape}."
            )
        return self.to_frame(self.links.filled(self.to_values(points)))

    # ---- frame ⇄ values -------------------------------------------------------------------

    def own(self, frame: Frame) -> Frame:
        """The schema's columns of a frame, in the frame's order; others are set aside."""
        return own_columns(self.schema, frames.read(frame)).to_native()

    def read(self, frame: Frame, *, allow_missing: bool = False) -> Floats:
        """The values (n, features) of a frame whose dtypes and levels are right.

        Columns that the schema doesn't name are set aside. A missing value is NaN where allowed,
        and an error that names it elsewhere.
        """
        values = values_of(self.schema, own_columns(self.schema, frames.read(frame)))
        missing = np.isnan(values)
        if missing.any() and not allow_missing:
            row, column = np.argwhere(missing)[0]
            raise MissingValueError(
                f"{self.schema.names[column]!r} has no value in {int(missing.any(axis=1).sum())} "
                f"of {len(values)} rows, the first labelled {frames.labels(frame)[row]!r}. "
                "Fill the gaps or drop those rows."
            )
        return values

    def read_each(self, frame: Frame) -> tuple[Floats, Faults]:
        """The values (n, features) of a frame that may hold some invalid rows, and those rows.

        What `read` would raise for the sake of single rows is said of each of them here, and a
        value that can't be used is NaN, as a missing one is. What concerns a whole column is still
        an error.
        """
        faults: Faults = {}
        values = values_of(self.schema, own_columns(self.schema, frames.read(frame)), faults)
        return values, faults

    def to_frame(self, values: Floats, template: Template | None = None) -> Frame:
        """A frame of `values`, in the columns and dtypes of `template` (default: as fitted)."""
        builder = self._builder if template is None else Builder(self.schema, template)
        return builder(values)

    @cached_property
    def _builder(self) -> Builder:
        return Builder(self.schema, self.template)

    # ---- values ⇄ points ------------------------------------------------------------------

    @cached_property
    def dust(self) -> Floats:
        """(features,) how far `to_values(to_points(…))` may be off by rounding; a level by none.

        A declared scale knows nothing of outliers, which may lie a million scales away.
        """
        dust = np.zeros(len(self.schema))
        center, scale = self.center[self._columns], self.scale[self._columns]
        share = 1e-9 if self.public else 1e-12
        dust[self._numbered] = share * scale + 16 * np.finfo(float).eps * np.abs(center)
        return dust

    def to_points(self, values: Floats) -> Floats:
        """The points of values; a gap lies in the middle."""
        points = np.zeros((len(values), self.width))
        numbers = values[:, self._numbered]
        numbers -= self.center[self._columns]
        numbers /= self.scale[self._columns]
        points[:, self._columns] = np.where(np.isnan(numbers), 0.0, numbers)
        for f, start, levels in self._categories:
            column = values[:, f]
            if levels == 2:
                points[:, start] = np.where(np.isnan(column), 0.5, column)
            else:
                rows = np.flatnonzero(~np.isnan(column))
                points[rows, start + column[rows].astype(np.intp)] = 1.0
        return points

    def to_values(self, points: Floats, *, tidy: bool = True) -> Floats:
        """The values of points: numerics as they are, the nearest level, the largest column.

        What `to_points` added by rounding is taken off again, if `tidy`. What is derived isn't in
        the geometry, and is left open.
        """
        values = np.full((len(points), len(self.schema)), np.nan)
        columns = self._columns
        raw = points[:, columns] * self.scale[columns] + self.center[columns]
        if tidy:
            raw = _without_dust(raw, self.center[columns], self._single)
        values[:, self._numbered] = raw
        for f, feature in enumerate(self.schema.features):
            if isinstance(feature, Numeric | Derived):
                continue
            top = len(feature.levels or ()) - 1
            where = self.slices[feature.name]
            if not isinstance(feature, Categorical):
                values[:, f] = np.clip(np.rint(values[:, f]), 0, top)
            elif top == 1:
                values[:, f] = points[:, where.start] > 0.5
            else:
                values[:, f] = points[:, where].argmax(axis=1)
        return values

    def shown(self, feature: int, value: float) -> Any:
        """One value of the feature at a position, as the person knows it."""
        found = self.schema.features[feature]
        if np.isnan(value):
            return None
        if not isinstance(found, Numeric) and found.levels is not None:
            return found.levels[int(value)]
        counts = not isinstance(found, Numeric | Derived) or found.most_decimals == 0
        return int(value) if counts and value == int(value) else float(value)


def _width(feature: Feature) -> int:
    """How many columns a feature has: a derived one has none."""
    if isinstance(feature, Derived):
        return 0
    levels = len(feature.levels or ()) if isinstance(feature, Categorical) else 1
    return 1 if levels == 2 else levels


# ---- the geometry -----------------------------------------------------------------------------


def _geometry(
    schema: Schema, standard: Callable[[Numeric | Ordinal], tuple[float, float]]
) -> tuple[Floats, Floats]:
    """The center and scale of every column; `standard` gives those of a number or an ordinal."""
    pairs: list[tuple[float, float]] = []
    for feature in schema.features:
        if isinstance(feature, Categorical | Derived):
            pairs += [(0.0, 1.0)] * _width(feature)
        else:
            pairs.append(standard(feature))
    center, scale = np.array(pairs).reshape(-1, 2).T.copy()
    return center, scale


def _declared(feature: Numeric | Ordinal) -> tuple[float, float]:
    """The middle and a quarter of the span; (0, 1) for what has none, which never changes."""
    if feature.span is None:
        return 0.0, 1.0
    low, high = feature.span
    return low / 2 + high / 2, (high / 4 - low / 4) or 1.0


def _refuse_undeclared(schema: Schema) -> None:
    """Refuse, in one error, everything that would have to be learned from the table."""
    scaleless = [
        f.name
        for f in schema.features
        if isinstance(f, Numeric) and f.span is None and f.change is not Change.NEVER
    ]
    levelless = [f.name for f in schema.features if isinstance(f, Categorical) and not f.levels]
    problems = []
    if scaleless:
        problems.append(
            f"No scale is declared for {listing(scaleless, most=len(scaleless))}, and one learned "
            "from the table would tell about the people in it. Give each bounds, or a typical "
            "range, in the schema: [low, high]."
        )
    if levelless:
        problems.append(
            f"No levels are declared for {listing(levelless, most=len(levelless))}, and those "
            "learned from the table would tell about the people in it. Give each its levels in "
            "the schema."
        )
    if problems:
        raise SchemaError(" ".join(problems))


def _standard(feature: Feature, column: Floats) -> tuple[float, float]:
    """Mean and population standard deviation; (value, 1) for a constant that never changes."""
    known = column[~np.isnan(column)]
    if not known.size:
        raise MissingValueError(f"Column {feature.name!r} holds no value at all.")
    with np.errstate(over="ignore", invalid="ignore"):
        spread = float(known.std())
    if not np.isfinite(spread):
        raise NotFiniteError(
            f"{feature.name!r} holds {np.abs(known).max():g}, too large to be squared. Use a "
            "larger unit, or replace it with a gap."
        )
    if known.min() == known.max() or spread == 0.0:
        if feature.change is not Change.NEVER:
            level = (
                known[0] if isinstance(feature, Numeric) else (feature.levels or ())[int(known[0])]
            )
            raise ConstantError(
                f"{feature.name!r} is the same ({level}) in all {len(known)} rows, so it has "
                "no scale to measure a change by. Declare that it never changes, drop it, or "
                "give a reference table in which it varies."
            )
        spread = 1.0
    return float(known.mean()), spread


def _without_dust(raw: Floats, center: Floats, single: Mask) -> Floats:
    """`raw` with the rounding dust of (x − mean) / scale · scale + mean taken off.

    A value within a few units in the last place of a short decimal number is that number; in a
    float32 column it is one that the column can hold.
    """
    size = np.maximum(np.abs(raw), np.abs(center))
    dust = 8 * np.finfo(float).eps * size
    with np.errstate(divide="ignore", over="ignore"):  # 0, and numbers beyond float32
        power = 10.0 ** np.clip(13 - np.floor(np.log10(size)), 0, 22)
        likely = np.rint(raw * power) / power
        if single.any():
            likely = np.where(single, likely.astype(np.float32), likely)
            held = np.where(single, raw.astype(np.float32), raw)
            raw = np.where(np.abs(held - raw) <= dust, held, raw)
    return np.where(np.abs(likely - raw) <= dust, likely, raw)
