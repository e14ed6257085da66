"""The audit: whether a result offers one group of people as much recourse as another.

Groups are read off columns (or the schema's own features) and their pairs, counted by
`stepladder.metrics.groups`, and shown as frames of the caller's kind.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder import frames
from stepladder.errors import ColumnError, FrameError, ParameterError, listing, nearest
from stepladder.feature import Numeric
from stepladder.frames import Frame
from stepladder.metrics.groups import MEASURES, NOTIONS, Gap, People, by_group, gaps
from stepladder.path import Outcome
from stepladder.recourse import Recourse
from stepladder.space import Floats

BANDS = 4
"""A number is cut into at most so many bands."""

FEW = 6
"""A number with at most so many different values is taken as it is."""

DIGITS = 3
"""A band's ends are rounded to so many, where that leaves the bands apart."""

MISSING = "missing"
"""The group of people whose group isn't known."""

SHOWN = 8
"""Groups of one kind in a printed audit."""

GAPS = ("selection_rate", "success", "no_recourse", "mean_cost", "median_cost", "mean_steps")
"""The measures in `Audit.gaps`; the others are in `Audit.notions`."""

Row = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Audit:
    """Recourse by group, as frames of the caller's kind.

    `by_group` has a row for each group, `gaps` one for each measure with the two groups furthest
    apart, and `notions` one for each of six notions of fair recourse. A group in which fewer than
    `smallest` people asked is `small`. Gaps are told among the groups that aren't, and where there
    are small ones also among all of them, in rows that are marked `small` too.
    """

    by_group: Frame = field(repr=False)
    gaps: Frame = field(repr=False)
    notions: Frame = field(repr=False)
    people: int
    asked: int
    smallest: int
    budget: float
    effectiveness: float
    samples: int
    random_state: int

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain values; what isn't a finite number is None."""
        tables = ("by_group", "gaps", "notions")
        facts = {name: getattr(self, name) for name in self.__dataclass_fields__}
        told = {name: [_finite(row) for row in _rows(facts.pop(name))] for name in tables}
        return {**_finite(facts), **told}

    def __str__(self) -> str:
        said = [
            f"{self.people} people, of whom {self.asked} asked for recourse. In brackets: where a "
            "difference lies with 95% confidence."
        ]
        groups, gaps = _rows(self.by_group), _rows(self.gaps)
        for by in dict.fromkeys(row["by"] for row in groups):
            said += ["", *_table([row for row in groups if row["by"] == by])]
            for measure in ("success", "mean_cost"):
                rows = [row for row in gaps if (row["by"], row["measure"]) == (by, measure)]
                said.append(f"  {measure.replace('_', ' ')}: {_in_words(rows[0])}")
        if any(row["small"] for row in groups):
            said += ["", f"* fewer than {self.smallest} people asked: too few to say much."]
        return "\n".join(said)


def audit(
    result: Recourse,
    groups: Frame | Mapping[str, Any] | Sequence[str] | str,
    *,
    by: Iterable[str | Sequence[str]] | None = None,
    smallest: int = 30,
    budget: float | None = None,
    effectiveness: float = 0.7,
    random_state: int = 0,
    samples: int = 1000,
) -> Audit:
    """Compare what groups of people are offered.

    `groups` is a frame or a mapping of columns with a row for each person of the result (pandas
    rows are matched by their labels), or names of the schema's own features, read off where
    people stand today. `by` says which of them to look at, alone ("sex") or crossed
    (("sex", "race")); by default each one and every pair. A number of many values is cut into at
    most four bands of about as many people; a missing value is a group of its own.

    People already at the goal count in the selection rate only. `budget` and `effectiveness` are
    the cost and the share of a group that two of the notions ask about; the budget is by default
    the median cost of everyone who has a path.
    """
    _check(smallest, budget, effectiveness, random_state, samples)
    columns = _columns(result, groups)
    offers = _offers(result)
    if budget is None:
        known = offers["cost"][np.isfinite(offers["cost"])]
        budget = float(np.median(known)) if known.size else math.nan
    kinds = []
    for names in _crossed(by, list(columns)):
        codes, labels = _numbered([columns[name] for name in names])
        people = People(codes, len(labels), **offers, budget=budget, effectiveness=effectiveness)
        kinds.append(_Kind(" & ".join(names), labels, people, smallest))

    counts = [kind.counts() for kind in kinds]
    compared = [row for kind in kinds for row in kind.compared(random_state, samples)]
    build = result.template.build
    return Audit(
        by_group=build({name: np.concatenate([c[name] for c in counts]) for name in counts[0]}),
        gaps=build(_stacked([row for found in compared for row in found.gaps()])),
        notions=build(_stacked([row for found in compared for row in found.notions()])),
        people=len(offers["asked"]),
        asked=int(offers["asked"].sum()),
        smallest=int(smallest),
        budget=float(budget),
        effectiveness=float(effectiveness),
        samples=int(samples),
        random_state=int(random_state),
    )


def _check(
    smallest: int, budget: float | None, effectiveness: float, random_state: int, samples: int
) -> None:
    for name, number, least in (
        ("smallest", smallest, 1),
        ("samples", samples, 1),
        ("random_state", random_state, 0),
    ):
        if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
            raise ParameterError(
                f"audit({name}) must be a whole number, {least} or more; got {number!r}."
            )
    if not isinstance(effectiveness, Real) or not 0 < effectiveness <= 1:
        raise ParameterError(
            "audit(effectiveness) is a share of a group, above 0 and at most 1, such as 0.7; "
            f"got {effectiveness!r}."
        )
    if budget is not None and not (isinstance(budget, Real) and budget >= 0):
        raise ParameterError(
            "audit(budget) is a cost, measured like the distances of result.final; it must be a "
            f"number, 0 or more, or None for the median. Got {budget!r}."
        )


def _offers(result: Recourse) -> dict[str, NDArray[Any]]:
    """For each person: whether they asked, and the cost, steps and choice they are offered."""
    n = len(result.people)
    asked, choices = np.ones(n, dtype=bool), np.zeros(n)
    cost, steps = np.full(n, np.nan), np.full(n, np.nan)
    for i, routes in enumerate(result.routes):
        asked[i] = routes[0].outcome is not Outcome.ALREADY_POSITIVE
        slot, *_ = result.best(i)
        if slot is not None:
            cost[i], steps[i] = routes[slot].distance, routes[slot].steps
            reached = [path for path in routes if path.outcome is Outcome.REACHED]
            choices[i] = len({path.values[-1].tobytes() for path in reached})
    return {"asked": asked, "cost": cost, "steps": steps, "choices": choices}


# ---- rows of the frames -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Kind:
    """People divided in one way: by a column, or by several crossed."""

    name: str
    labels: list[str]
    people: People
    smallest: int

    @property
    def asking(self) -> NDArray[np.int64]:
        """(groups,) how many asked."""
        people = self.people
        return np.bincount(people.codes[people.asked], minlength=people.groups)

    def counts(self) -> dict[str, NDArray[Any]]:
        """The columns of `Audit.by_group`."""
        return {
            "by": np.full(len(self.labels), self.name),
            "group": np.array(self.labels, dtype=str),
            "people": np.bincount(self.people.codes, minlength=self.people.groups),
            "asked": self.asking,
            **by_group(self.people),
            "small": self.asking < self.smallest,
        }

    def compared(self, random_state: int, samples: int) -> list[_Compared]:
        """The groups large enough, and where there are others also all of them."""
        small = self.asking < self.smallest
        everyone, large = np.arange(len(small)), np.flatnonzero(~small)
        return [
            _Compared(
                kind=self.name,
                labels=[self.labels[i] for i in kept],
                small=bool(small[kept].any()),
                people=self.people,
                found=gaps(self.people.only(kept), np.random.default_rng(random_state), samples),
            )
            for kept in ([large, everyone] if 2 <= len(large) < len(small) else [everyone])
        ]


@dataclass(frozen=True, eq=False)
class _Compared:
    """The gaps among some groups."""

    kind: str
    labels: list[str]
    small: bool
    people: People
    found: Mapping[str, Gap]

    def gaps(self) -> list[Row]:
        """Their rows in `Audit.gaps`."""
        return [{"by": self.kind, "measure": name, **self._row(name, ratio=True)} for name in GAPS]

    def notions(self) -> list[Row]:
        """Their rows in `Audit.notions`; `at` is the cost or share that a notion speaks of."""
        terms = {
            "within_budget": self.people.budget,
            "cost_of_effectiveness": self.people.effectiveness,
            "trade_off": self.found["trade_off"].at,
        }
        return [
            {
                "by": self.kind,
                "notion": notion,
                "at": float(terms.get(name, math.nan)),
                **self._row(name, ratio=False),
            }
            for notion, name in NOTIONS.items()
        ]

    def _row(self, name: str, *, ratio: bool) -> Row:
        gap = self.found[name]
        ends = [
            "" if end is None or gap.gap == 0 else self.labels[end]
            for end in (gap.lowest, gap.highest)
        ]
        higher_is_better = name not in MEASURES or MEASURES[name].higher_is_better
        worst, best = ends if higher_is_better else reversed(ends)
        row = {"compared": len(self.labels), "worst_off": worst, "best_off": best}
        row |= {"gap": gap.gap, "gap_low": gap.gap_interval[0], "gap_high": gap.gap_interval[1]}
        if ratio:
            low, high = gap.ratio_interval
            row |= {"ratio": gap.ratio, "ratio_low": low, "ratio_high": high}
        return {**row, "small": self.small}


def _stacked(rows: list[Row]) -> dict[str, NDArray[Any]]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _rows(frame: Frame) -> list[Row]:
    return frames.read(frame).rows(named=True)


def _finite(row: Row) -> Row:
    return {
        name: None if isinstance(cell, float) and not math.isfinite(cell) else cell
        for name, cell in row.items()
    }


# ---- groups -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Column:
    """The group of each person by one column: (n,) places in a list of labels."""

    name: str
    codes: NDArray[np.intp]
    labels: list[str]

    @classmethod
    def of(cls, name: str, cells: list[Any], levels: Sequence[Any] = ()) -> _Column:
        """From cells (None: missing); of a number that has many values, the bands."""
        known = [cell for cell in cells if cell is not None]
        if known and not levels and all(frames.is_number(cell) for cell in known):
            return cls.of_numbers(
                name, np.array([np.nan if c is None else float(c) for c in cells])
            )
        texts = [MISSING if cell is None else str(cell) for cell in cells]
        ordered = [str(level) for level in levels] or sorted({*texts} - {MISSING})
        labels = list(dict.fromkeys([*ordered, MISSING]))
        place = {label: code for code, label in enumerate(labels)}
        return cls(name, np.array([place[text] for text in texts], dtype=np.intp), labels)

    @classmethod
    def of_numbers(cls, name: str, numbers: Floats) -> _Column:
        is_known = np.isfinite(numbers)
        values = np.unique(numbers[is_known])
        if len(values) <= FEW:
            ends, labels = values, [_plain(value) for value in values]
        else:
            ends = _band_ends(numbers[is_known])
            last = f"over {_plain(ends[-1])}"
            between = [f"over {_plain(low)} to {_plain(high)}" for low, high in pairwise(ends)]
            labels = [f"up to {_plain(ends[0])}", *between, last]
        codes = np.where(is_known, np.searchsorted(ends, numbers), len(labels))
        return cls(name, codes.astype(np.intp), [*labels, MISSING])


def _band_ends(numbers: Floats) -> Floats:
    """Where a band ends and the next begins; rounded, unless that would leave a band empty."""
    shares = np.arange(1, BANDS) / BANDS
    ends = np.unique(np.quantile(numbers, shares, method="inverted_cdf"))
    below = numbers[numbers < numbers.max()]
    # most people may share the largest value: then all others are a band
    ends = ends[ends <= below.max()] if ends[0] <= below.max() else below.max(keepdims=True)
    rounded = np.unique([float(f"{end:.{DIGITS}g}") for end in ends])
    held = np.bincount(np.searchsorted(rounded, numbers), minlength=len(ends) + 1)
    return rounded if len(rounded) == len(ends) and held.all() else ends


def _plain(number: float) -> str:
    return f"{number:.15g}"


def _numbered(columns: Sequence[_Column]) -> tuple[NDArray[np.intp], list[str]]:
    """The group (n,) of each person by these columns crossed, and what the groups are called."""
    shape = [len(column.labels) for column in columns]
    crossed = np.ravel_multi_index([column.codes for column in columns], shape)
    found, codes = np.unique(crossed, return_inverse=True)
    labels = [
        " & ".join(
            f"{column.name}={column.labels[code]}"
            for column, code in zip(columns, place, strict=True)
        )
        for place in zip(*np.unravel_index(found, shape), strict=True)
    ]
    return codes.astype(np.intp), labels


def _crossed(
    by: Iterable[str | Sequence[str]] | None, names: Sequence[str]
) -> list[tuple[str, ...]]:
    """The columns to divide people by, each alone or crossed with others."""
    if by is None:
        return [(name,) for name in names] + list(combinations(names, 2))
    wanted = [by] if isinstance(by, str) else list(by)
    crossed = [(entry,) if isinstance(entry, str) else tuple(entry) for entry in wanted]
    if not crossed or not all(crossed):
        raise ParameterError(
            "audit(by) must name at least one column, such as 'sex' or ('sex', 'race'); "
            f"got {by!r}."
        )
    for name in (name for entry in crossed for name in entry):
        if name not in names:
            raise ColumnError(
                f"audit(by) names {name!r}, which isn't among the groups.{nearest(name, names)} "
                f"They are {listing(names)}."
            )
    return list(dict.fromkeys(tuple(dict.fromkeys(entry)) for entry in crossed))


# ---- reading the caller's groups ----------------------------------------------------------------


def _columns(
    result: Recourse, groups: Frame | Mapping[str, Any] | Sequence[str] | str
) -> dict[str, _Column]:
    """The group of each person by every column, or by every feature named."""
    if isinstance(groups, str | list | tuple):
        names = [groups] if isinstance(groups, str) else groups
        columns = {name: _feature(result, name) for name in names}
    else:
        if isinstance(groups, Mapping):
            cells = {name: _cells(result, name, column) for name, column in groups.items()}
            groups = pd.DataFrame(cells, index=pd.Index(result.people), dtype=object)
        table = frames.read(_matched(result, groups))
        columns = {name: _Column.of(name, frames.values(table[name])) for name in table.columns}
    if not columns:
        raise ParameterError("audit(groups) has no columns; give it at least one, such as 'sex'.")
    return columns


def _feature(result: Recourse, name: str) -> _Column:
    """A feature of the schema, as it is where people stand today."""
    space = result.space
    if name not in space.schema.names:
        raise ColumnError(
            f"audit(groups) names {name!r}, which is no feature of the schema."
            f"{nearest(name, space.schema.names)} Known: {listing(space.schema.names)}. For a "
            "column that the model doesn't see, pass a frame or {name: column}."
        )
    place = space.schema.names.index(name)
    feature = space.schema.features[place]
    values = np.array([routes[0].values[0, place] for routes in result.routes], dtype=np.float64)
    if isinstance(feature, Numeric):
        return _Column.of_numbers(name, values)
    cells = [None if math.isnan(value) else space.shown(place, value) for value in values]
    return _Column.of(name, cells, levels=feature.levels or ())


def _matched(result: Recourse, groups: Frame) -> Frame:
    """The frame's rows in the order of the result's people."""
    count = len(result.people)
    if not isinstance(groups, pd.DataFrame):
        rows = len(frames.read(groups))
        if rows != count:
            raise FrameError(
                f"audit(groups) has {rows} rows for {count} people. Give one row a person, in the "
                "order of result.status."
            )
        return groups
    index, people = pd.Index(frames.labels(groups)), pd.Index(result.people)
    if index.equals(people):
        return groups
    places = index.get_indexer(people) if index.is_unique else np.full(count, -1)
    if (places < 0).any():
        raise FrameError(
            f"audit(groups) has {len(index)} rows whose labels aren't those of the {count} people: "
            f"it has {listing(index[:3])}, the result {listing(people[:3])}. Give it the index of "
            "the people's frame, or pass {name: array} with a value for each, in their order."
        )
    return groups.iloc[places]


def _cells(result: Recourse, name: str, column: Any) -> list[Any]:
    """One column of a mapping, in the order of the result's people."""
    if isinstance(column, pd.Series):
        return frames.values(frames.read(_matched(result, column.to_frame("cells")))["cells"])
    if isinstance(column, str) or not isinstance(column, Iterable):
        raise FrameError(f"audit(groups): {name!r} must be a column of values; got {column!r}.")
    cells = list(getattr(column, "to_pylist", column.__iter__)())  # PyArrow's own, else any
    if len(cells) != len(result.people):
        raise FrameError(
            f"audit(groups): {name!r} has {len(cells)} values for {len(result.people)} people. "
            "Give one a person, in the order of result.status."
        )
    return cells


# ---- in words -----------------------------------------------------------------------------------


def _table(rows: list[Row]) -> list[str]:
    """The groups of one kind, in plain text."""
    shown, rest = rows[:SHOWN], len(rows[SHOWN:])
    width = max(len(row["group"]) for row in shown) + 1
    heads = ("people", "asked", "success", "mean cost", "mean steps")
    lines = [" " * width + "".join(f"{head:>12}" for head in heads)]
    for row in shown:
        cells = (
            str(row["people"]),
            str(row["asked"]),
            _number(row["success"], ".0%"),
            _number(row["mean_cost"], ".2f"),
            _number(row["mean_steps"], ".1f"),
        )
        name = row["group"] + "*" * row["small"]
        lines.append(f"{name:<{width}}" + "".join(f"{cell:>12}" for cell in cells))
    return [*lines, f"… and {rest} more, in by_group"] if rest else lines


def _in_words(gap: Row) -> str:
    """A row of `Audit.gaps` in a sentence."""
    if math.isnan(gap["gap"]):
        return "no two groups to compare"
    if gap["gap"] == 0:
        return "the same in every group"
    form = ".0%" if gap["measure"] == "success" else ".2f"
    size, low, high = (_number(gap[name], form) for name in ("gap", "gap_low", "gap_high"))
    return f"{size} apart ({low} to {high}), {gap['worst_off']} worst off{'*' * gap['small']}"


def _number(value: float, form: str) -> str:
    return "-" if math.isnan(value) else format(value, form)
