"""Random recourse problems: any schema, any data, models without mercy, and what is true of them.

Nothing here asks the library what is feasible or reachable: rules and projections are written out
again by hand, column by column, so that a mistake there can't hide here. A formula or requirement
is its text for the library, and beside it a function that says the same for the checks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import stepladder as sl

Model = Callable[[pd.DataFrame], np.ndarray]

Cells = Mapping[str, np.ndarray]
"""Columns as formulas read them: numbers, or the levels themselves; NaN or None for a gap."""

Said = Callable[[Cells, Cells], np.ndarray]
"""What a formula says of rows, and of today's row."""

CLOSE = 1e-9
"""How far rounding may take a derived value or an excess, as a share of it."""


@dataclass(frozen=True, eq=False)
class Formula:
    """How a derived feature is worked out: the function says what the text says."""

    name: str
    text: str
    says: Said


@dataclass(frozen=True, eq=False)
class Condition:
    """One condition of a requirement or policy, about some features."""

    names: tuple[str, ...]
    holds: Said
    excess: Said | None = None
    """by how much an inequality is missed; None for any other form"""

    def held(self, now: Cells, was: Cells) -> np.ndarray:
        """Which rows keep it; one with a gap in what it's about isn't judged."""
        gap = np.zeros(len(next(iter(now.values()))), dtype=bool)
        for name in self.names:
            gap |= pd.isna(now[name])
        with np.errstate(all="ignore"):
            return np.asarray(self.holds(now, was), dtype=bool) | gap

    def no_worse(self, now: Cells, was: Cells) -> np.ndarray:
        """Which rows of somebody who breaks it today break it no more than that."""
        same = np.ones(len(next(iter(now.values()))), dtype=bool)
        for name in self.names:
            same &= (now[name] == was[name]) | (pd.isna(now[name]) & pd.isna(was[name]))
        if self.excess is None:
            return same
        with np.errstate(all="ignore"):
            grown = self.excess(now, was) - self.excess(was, was)
            return same | (grown <= CLOSE * np.maximum(1.0, np.abs(self.excess(was, was))))


@dataclass(frozen=True, eq=False)
class Requirement:
    """A requirement's text, and the conditions that it says have to hold."""

    text: str
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Case:
    """One problem: a fitted method's ingredients and the people who ask."""

    schema: sl.Schema
    reference: pd.DataFrame
    people: pd.DataFrame
    model: Model
    goal: sl.Goal
    labels: np.ndarray | None
    locked: tuple[str, ...] | Mapping[int, tuple[str, ...]]
    formulas: tuple[Formula, ...] = ()
    """those of the derived features, each after what it builds on"""
    require: tuple[Requirement, ...] = ()
    policy: tuple[Requirement, ...] = ()
    limits: Mapping[int, Mapping[str, tuple[Any, Any]]] = field(default_factory=dict)
    max_changes: int | None = None
    invalid: frozenset[int] = frozenset()
    """the people whose rows the schema doesn't allow"""

    def met(self, frame: pd.DataFrame) -> np.ndarray:
        scores = self.model(frame)
        if self.goal.is_range:
            return (scores >= self.goal.low) & (scores <= self.goal.high)
        return scores >= self.goal.threshold

    def passes(self, frame: pd.DataFrame, today: pd.DataFrame) -> np.ndarray:
        """Which rows the policy lets through, for people who have the rows of `today`.

        One with a gap in what it's about isn't let through.
        """
        passed = np.ones(len(frame), dtype=bool)
        for rule in self.policy:
            for condition in rule.conditions:
                passed &= condition.held(self.cells(frame), self.cells(today))
                for name in condition.names:
                    passed &= ~pd.isna(self.cells(frame)[name])
        return passed

    @property
    def positives(self) -> pd.DataFrame:
        """The reference rows that meet the goal and carry the label."""
        wanted = self.met(self.reference) & self.passes(self.reference, self.reference)
        if self.labels is not None:
            wanted &= self.labels == 1
        return self.reference[wanted]

    # ---- cells --------------------------------------------------------------------------------

    def cells(self, frame: pd.DataFrame) -> dict[str, np.ndarray]:
        """A frame's columns as formulas read them."""
        found = {}
        for feature in self.schema.features:
            column = frame[feature.name]
            is_text = feature.kind == "categorical" or (
                feature.kind == "derived" and feature.levels is not None
            )
            if is_text:
                cells = np.array([None if pd.isna(v) else v for v in column], dtype=object)
            else:
                cells = np.array([math.nan if pd.isna(v) else float(v) for v in column])
            found[feature.name] = cells
        return found

    def today(self, person: int, count: int) -> pd.DataFrame:
        """A person's own row, as often as there are rows to compare with it."""
        return self.people.iloc[np.full(count, person)]

    def ranked(self, name: str, column: pd.Series) -> np.ndarray:
        """A column as numbers: itself, or the place of each level; NaN for a gap."""
        feature = self.schema[name]
        if feature.kind == "numeric" or (feature.kind == "derived" and feature.levels is None):
            return column.to_numpy(dtype=float, na_value=np.nan)
        places = {level: i for i, level in enumerate(feature.levels)}
        return np.array([places.get(value, math.nan) for value in column], dtype=float)

    def as_column(self, name: str, values: np.ndarray, like: pd.Series) -> pd.Series:
        """The other way round: numbers or places as a column of the same kind as another."""
        feature = self.schema[name]
        if feature.kind == "numeric" or (feature.kind == "derived" and feature.levels is None):
            return pd.Series(pd.array(values, dtype=like.dtype), index=like.index)
        cells = [None if math.isnan(v) else feature.levels[int(v)] for v in values]
        return pd.Series(pd.array(cells, dtype=like.dtype), index=like.index)

    # ---- what single features may become --------------------------------------------------------

    def is_fixed(self, person: int, name: str) -> bool:
        """Whether no plan may set this feature for this person."""
        feature = self.schema[name]
        own = self.locked.get(person, ()) if isinstance(self.locked, Mapping) else self.locked
        start = self.ranked(name, self.people[name].iloc[[person]])[0]
        unfillable = math.isnan(start) and not getattr(feature, "fill", False)
        return (
            feature.kind == "derived"
            or feature.change in ("never", "time")
            or name in own
            or unfillable
        )

    def limits_of(self, person: int, name: str) -> tuple[float, float]:
        """How low and how high a number or a level that a plan sets can go; low above high if none.

        A person's own value is allowed beside that.
        """
        feature = self.schema[name]
        start = self.ranked(name, self.people[name].iloc[[person]])[0]
        low, high = -math.inf, math.inf
        if feature.kind == "numeric":
            low, high = (
                no_end if end is None else end
                for end, no_end in zip(feature.bounds, (-math.inf, math.inf), strict=True)
            )
            if not math.isnan(start):
                down, up = reach_of(feature.reach, start)
                low, high = max(low, down), min(high, up)
        if not math.isnan(start):
            low = max(low, start) if feature.change == "increase" else low
            high = min(high, start) if feature.change == "decrease" else high
        ends = self.limits.get(person, {}).get(name, (None, None))
        if feature.kind == "ordinal":
            ends = tuple(None if end is None else feature.levels.index(end) for end in ends)
        low = low if ends[0] is None else max(low, ends[0])
        high = high if ends[1] is None else min(high, ends[1])
        if feature.kind == "numeric":
            low, high = self.inside(name, low, +1), self.inside(name, high, -1)
        return low, high

    def grain(self, name: str) -> float | None:
        """What a number's values are multiples of, if of anything."""
        feature = self.schema[name]
        if feature.kind == "numeric" and feature.multiple is not None:
            return float(feature.multiple)
        return None if feature.most_decimals is None else 10.0**-feature.most_decimals

    def rounded(self, name: str, values: np.ndarray) -> np.ndarray:
        """The nearest values that a number can have."""
        feature = self.schema[name]
        if feature.kind == "numeric" and feature.multiple is not None:
            digits = len(str(feature.multiple).partition(".")[2])
            values = np.round(np.rint(values / feature.multiple) * feature.multiple, digits)
        elif feature.most_decimals is not None:
            values = np.round(values, feature.most_decimals)
        if self.reference[name].dtype == np.float32:
            values = values.astype(np.float32).astype(float)
        return values

    def inside(self, name: str, end: float, way: int) -> float:
        """The value nearest to an end that a number can have and that isn't beyond it."""
        if not math.isfinite(end):
            return end
        nearest = float(self.rounded(name, np.array([end]))[0])
        grain = self.grain(name)
        while (nearest - end) * way < 0:
            if grain is None:
                nearest = float(np.nextafter(np.float32(nearest), np.float32(way * np.inf)))
            else:
                nearest = float(self.rounded(name, np.array([nearest + way * grain]))[0])
        return nearest

    def hops(self, person: int, name: str) -> np.ndarray:
        """Which level may become which in one step, for this person; each may stay."""
        feature = self.schema[name]
        low, high = self.limits_of(person, name)
        count = len(feature.levels)
        allowed = np.eye(count, dtype=bool)
        for a, before in enumerate(feature.levels):
            for b, after in enumerate(feature.levels):
                to = feature.moves.get(before)
                fits = after not in feature.not_to and (to is None or after in to)
                if feature.change == "increase":
                    fits &= b >= a
                if feature.change == "decrease":
                    fits &= b <= a
                allowed[a, b] |= fits and low <= b <= high
        return allowed

    def chains(self, person: int, name: str) -> np.ndarray:
        """How many hops it takes this person to get to each level; infinite if there's no way."""
        feature = self.schema[name]
        start = self.ranked(name, self.people[name].iloc[[person]])[0]
        count = len(feature.levels)
        far = np.full(count, math.inf)
        if math.isnan(start):  # a gap is filled in one step
            low, high = self.limits_of(person, name)
            for b, level in enumerate(feature.levels):
                if level not in feature.not_to and low <= b <= high:
                    far[b] = 1
            return far
        hops, ring = self.hops(person, name), [int(start)]
        far[int(start)] = 0
        while ring:
            here = ring.pop(0)
            for there in np.flatnonzero(hops[here]):
                if math.isinf(far[there]):
                    far[there] = far[here] + 1
                    ring.append(there)
        return far

    # ---- rows -----------------------------------------------------------------------------------

    def projected(self, person: int, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows as near as this person could come to them."""
        built = rows.copy()
        for feature in self.schema.features:
            name = feature.name
            start = self.ranked(name, self.people[name].iloc[[person]])[0]
            wanted = self.ranked(name, rows[name])
            there = np.full(len(rows), start)
            if not self.is_fixed(person, name):
                if feature.kind == "numeric":
                    there = self._nearest_number(person, name, start, wanted)
                else:
                    there = self._nearest_level(person, name, start, wanted)
            built[name] = self.as_column(name, there, rows[name])
        return self.completed(person, built)

    def _nearest_number(
        self, person: int, name: str, start: float, wanted: np.ndarray
    ) -> np.ndarray:
        low, high = self.limits_of(person, name)
        if low > high:
            return np.full(len(wanted), start)
        there = self.rounded(name, wanted)
        clipped = np.clip(there, low, high)
        stays = (wanted == start) | (np.abs(there - start) <= np.abs(there - clipped))
        return np.where(stays | np.isnan(wanted), start, clipped)

    def _nearest_level(
        self, person: int, name: str, start: float, wanted: np.ndarray
    ) -> np.ndarray:
        far, there = self.chains(person, name), np.full(len(wanted), start)
        offered = np.flatnonzero(np.isfinite(far))
        for i, level in enumerate(wanted):
            if math.isnan(level) or not len(offered):
                continue
            if level in offered:
                there[i] = level
            elif self.schema[name].kind == "ordinal":
                apart = np.abs(offered - level) - 0.5 * (offered == start)  # as near: who stays
                there[i] = offered[apart.argmin()]
        return there

    def completed(self, person: int, rows: pd.DataFrame) -> pd.DataFrame:
        """Rows with time added and derived features worked out, what differs today carried along.

        A value that can't be worked out is a gap.
        """
        rows, today = rows.copy(), self.today(person, len(rows))
        years = np.floor(self.months(person, rows) / 12)
        for feature in self.schema.features:
            if feature.change == "time":
                grown = self.ranked(feature.name, today[feature.name]) + years
                rows[feature.name] = self.as_column(feature.name, grown, rows[feature.name])
        was = self.cells(today)
        for formula in self.formulas:
            feature, own = self.schema[formula.name], was[formula.name]
            with np.errstate(all="ignore"):
                now, before = formula.says(self.cells(rows), was), formula.says(was, was)
            same = (now == before) | (pd.isna(now) & pd.isna(before))
            if feature.levels is not None:
                cells = [own[i] if same[i] else now[i] for i in range(len(rows))]
                column = pd.array(cells, dtype=rows[formula.name].dtype)
            else:
                with np.errstate(all="ignore"):
                    off = own - before
                    now = self.rounded(formula.name, now + np.where(np.isfinite(off), off, 0.0))
                now = np.where(same, own, np.where(np.isfinite(now), now, np.nan))
                column = pd.array(now, dtype=rows[formula.name].dtype)
            rows[formula.name] = pd.Series(column, index=rows.index)
        return rows

    def months(self, person: int, rows: pd.DataFrame) -> np.ndarray:
        """How long it takes this person to get to each row."""
        longest, today = np.zeros(len(rows)), self.today(person, len(rows))
        for feature in self.schema.features:
            if feature.kind == "derived" or feature.change in ("never", "time"):
                continue
            start, there = (self.ranked(feature.name, f[feature.name]) for f in (today, rows))
            far = np.where(np.isnan(start) | np.isnan(there), 0.0, np.abs(there - start))
            takes = feature.months + getattr(feature, "months_each", 0) * far
            longest = np.maximum(longest, np.where(differ(start, there), takes, 0.0))
        return longest

    def changed(self, person: int, rows: pd.DataFrame) -> dict[str, np.ndarray]:
        """Which rows ask for a change of which feature."""
        today = self.today(person, len(rows))
        return {
            f.name: differ(*(self.ranked(f.name, frame[f.name]) for frame in (today, rows)))
            for f in self.schema.features
            if f.kind != "derived" and f.change not in ("never", "time")
        }

    def wrongs(self, person: int, rows: pd.DataFrame) -> dict[str, np.ndarray]:
        """For each rule, which rows break it for this person."""
        found, today = {}, self.today(person, len(rows))
        completed = self.completed(person, rows)
        for feature in self.schema.features:
            name = feature.name
            start, there = self.ranked(name, today[name]), self.ranked(name, rows[name])
            if feature.kind == "derived" or feature.change == "time":
                follows = self.ranked(name, completed[name])
                off = np.abs(there - follows) > CLOSE * np.maximum(1.0, np.abs(follows))
                wrong = off | (np.isnan(there) != np.isnan(follows))
                wrong |= np.isnan(there) & ~np.isnan(start)
                if feature.change == "time":
                    low, high = feature.bounds
                    wrong |= (there < (-math.inf if low is None else low)) & (there != start)
                    wrong |= (there > (math.inf if high is None else high)) & (there != start)
            elif self.is_fixed(person, name):
                wrong = differ(start, there)
            elif feature.kind == "numeric":
                low, high = self.limits_of(person, name)
                dust = 1e-6 * np.maximum(1.0, np.abs(there))
                wrong = ~((there >= low) & (there <= high))
                wrong |= np.abs(there - self.rounded(name, there)) > dust
                wrong &= differ(start, there)
            else:
                far = self.chains(person, name)
                wrong = np.array([math.isnan(v) or math.isinf(far[int(v)]) for v in there])
                wrong &= differ(start, there)
            found[name] = wrong
        now, was = self.cells(rows), self.cells(today)
        for rule in self.require:
            for condition in rule.conditions:
                kept = condition.held(now, was)
                owed = ~condition.held(was, was)
                kept |= owed & condition.no_worse(now, was)
                found[rule.text] = found.get(rule.text, False) | ~kept
        if self.max_changes is not None:
            count = np.sum([*self.changed(person, rows).values()], axis=0)
            found["max_changes"] = count > self.max_changes
        return found

    def kept(self, person: int, rows: pd.DataFrame) -> np.ndarray:
        """Which rows keep every rule for this person."""
        return ~np.any([*self.wrongs(person, rows).values()], axis=0)

    def broken_rules(self, person: int, rows: pd.DataFrame) -> list[str]:
        """Every rule that rows break for this person."""
        return [
            f"{rule}: {rows.iloc[row].to_dict()} from {self.people.iloc[person].to_dict()}"
            for rule, wrong in self.wrongs(person, rows).items()
            for row in np.flatnonzero(wrong)
        ]

    def broken_steps(self, person: int, rows: pd.DataFrame) -> list[str]:
        """Every rule about single steps that a path, as its rows, breaks."""
        broken = []
        for feature in self.schema.features:
            if feature.kind == "derived" or feature.change in ("never", "time"):
                continue
            places = self.ranked(feature.name, rows[feature.name])
            steps = int(differ(places[1:], places[:-1]).sum())
            filled = bool(np.isnan(places[0]) and steps)
            if (getattr(feature, "at_once", False) or filled) and steps > 1:
                broken.append(f"{feature.name} takes {steps} steps: {places}")
            if feature.kind != "numeric":
                hops = self.hops(person, feature.name)
                for a, b in pairwise(places):
                    if not math.isnan(a) and not hops[int(a), int(b)]:
                        broken.append(f"{feature.name} can't go from {a} to {b} in a step")
        return broken

    def reachable(self, person: int) -> np.ndarray:
        """Which positives still meet the goal once this person comes as near as they can.

        Where levels take several hops and rules are about more than one feature, there may be no
        order of steps that keeps them; such positives aren't counted.
        """
        rows = self.projected(person, self.positives)
        kept = self.kept(person, rows) & self.met(rows)
        kept &= self.passes(rows, self.today(person, len(rows)))
        if self.require or self.formulas or self.max_changes is not None:
            kept &= ~self.needs_chain(person, rows)
        return kept

    def needs_chain(self, person: int, rows: pd.DataFrame) -> np.ndarray:
        """Which rows have a level that takes more than one hop to get to."""
        several = np.zeros(len(rows), dtype=bool)
        for feature in self.schema.features:
            if feature.kind not in ("ordinal", "categorical"):
                continue
            far = np.append(self.chains(person, feature.name), 0.0)
            places = self.ranked(feature.name, rows[feature.name])
            several |= far[np.where(np.isnan(places), -1, places).astype(int)] > 1
        return several


def differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Which values differ; a gap is like a gap."""
    return (a != b) & ~(np.isnan(a) & np.isnan(b))


def reach_of(reach: Any, start: float) -> tuple[float, float]:
    """How low and how high a reach lets today's value go."""
    down, up = reach if isinstance(reach, Sequence) and not isinstance(reach, str) else (None, None)
    if isinstance(reach, str):
        down, up = f"-{reach}", reach
    elif isinstance(reach, int | float):
        down, up = -reach, reach

    def moved(end: Any, no_end: float) -> float:
        if end is None:
            return no_end
        if isinstance(end, str):
            return start + abs(start) * float(end.rstrip("%")) / 100
        return start + end

    return moved(down, -math.inf), moved(up, math.inf)


# ---- features and columns -------------------------------------------------------------------


@st.composite
def features(draw: st.DrawFn, name: str) -> sl.Numeric | sl.Ordinal | sl.Categorical:
    kind = draw(st.sampled_from(["numeric", "integer", "decimals", "ordinal", "categorical"]))
    if kind == "categorical":
        count = draw(st.sampled_from([2, 3, 5]))
        change = draw(st.sampled_from(["any", "any", "never"]))
        return sl.Categorical(name, levels=[f"{name}{i}" for i in range(count)], change=change)
    change = draw(st.sampled_from(["any", "any", "increase", "decrease", "never"]))
    if kind == "ordinal":
        return sl.Ordinal(name, levels=list(range(draw(st.integers(2, 5)))), change=change)
    low = draw(st.sampled_from([None, None, -1.5, 0.0]))
    high = draw(st.sampled_from([None, None, 1.5, 4.0]))
    places = draw(st.integers(1, 2)) if kind == "decimals" else None
    return sl.Numeric(
        name, bounds=(low, high), integer=kind == "integer", decimals=places, change=change
    )


def column(feature, count: int, rng: np.random.Generator, *, inside: bool, rough: bool):
    """Values of a feature, never all the same; `inside`: within bounds; `rough`: undue decimals."""
    if feature.kind != "numeric":
        places = rng.integers(len(feature.levels), size=count)
        places[:2] = [0, 1][:count]
        return [feature.levels[place] for place in places]
    values = rng.standard_t(3, size=count) * rng.choice([0.7, 2.0])
    if feature.most_decimals is not None and not rough:
        values = np.round(values, feature.most_decimals)
    low, high = feature.bounds
    low, high = -9.0 if low is None else low, 9.0 if high is None else high
    if feature.integer:
        low, high = math.ceil(low), math.floor(high)
    if inside:
        values = np.clip(values, low, high)
    values[:2] = [low, high][:count]
    return values


def dtype_of(feature, draw: st.DrawFn, *, rough: bool) -> str | None:
    if feature.kind == "numeric":
        whole = feature.integer and not rough
        return draw(st.sampled_from(["int64", "Int64"] if whole else ["float64", "float32"]))
    return draw(st.sampled_from([None, "category"]))


# ---- models ---------------------------------------------------------------------------------

GAP = -1.75
"""What models see in place of a missing value."""


@dataclass(frozen=True, eq=False)
class Judge:
    """A model over hand-made coordinates; every row is judged by itself, so answers never vary."""

    schema: sl.Schema
    judge: Callable[[np.ndarray], np.ndarray]

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        columns = []
        for feature in self.schema.features:
            cells = frame[feature.name]
            if getattr(feature, "levels", None) is None:
                numbers = cells.to_numpy(dtype=float, na_value=np.nan)
                columns.append(np.where(np.isnan(numbers), GAP, numbers))
            else:
                places = {level: float(i) for i, level in enumerate(feature.levels)}
                columns.append(np.array([places.get(v, GAP) for v in cells], dtype=float))
        return self.judge(np.stack(columns, axis=1))


def islands(rows: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Accepts only near a few of the rows, or nothing but the very rows; on some columns or all."""
    count = rng.integers(1, min(9, len(rows)) + 1)
    centres = rows[rng.choice(len(rows), count, replace=False)]
    seen = rng.random(rows.shape[1]) < rng.choice([0.4, 0.8, 1.0])
    seen[rng.integers(rows.shape[1])] = True
    radius = rng.choice([0.0, 0.3, 1.0])

    def judge(points: np.ndarray) -> np.ndarray:
        gaps = np.abs(points[:, None, seen] - centres[:, seen])
        return np.exp(np.log(0.5) * np.maximum(gaps.max(axis=2).min(axis=1) - radius, 0.0) * 4) * (
            np.where(gaps.max(axis=2).min(axis=1) <= radius, 1.0, 0.49)
        )

    return judge


def waves(rows: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A sum of a few waves of random direction: hills and holes everywhere."""
    weights = rng.normal(size=(4, rows.shape[1])) * rng.choice([0.5, 1.5, 4.0])
    phases = rng.uniform(0, 2 * np.pi, size=4)

    def judge(points: np.ndarray) -> np.ndarray:
        angles = (points[:, None] * weights).sum(axis=2) + phases
        return 0.5 + 0.5 * np.tanh(np.sin(angles).sum(axis=1) - 0.8)

    return judge


def thicket(rows: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """A decision tree grown on coin flips."""
    from sklearn.tree import DecisionTreeClassifier

    labels = (rng.random(len(rows)) < 0.4).astype(int)
    labels[:2] = 0, 1
    tree = DecisionTreeClassifier(
        max_depth=int(rng.integers(2, 9)), max_features=1, random_state=int(rng.integers(2**31))
    ).fit(rows, labels)
    return lambda points: tree.predict_proba(points)[:, 1]


def chequers(rows: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Accepts every other cell of a chequered board: no step in one direction stays accepted."""
    sizes = rng.uniform(0.4, 2.0, size=rows.shape[1])
    seen = rng.random(rows.shape[1]) < 0.6
    seen[rng.integers(rows.shape[1])] = True

    def judge(points: np.ndarray) -> np.ndarray:
        cells = np.floor(points[:, seen] / sizes[seen])
        return (cells.sum(axis=1) % 2 == 0) * 0.8 + 0.1

    return judge


def slope(rows: np.ndarray, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
    """Rises one way everywhere, so that much has to change and rules are run into."""
    weights = rng.normal(size=rows.shape[1]) / np.maximum(rows.std(axis=0), 0.1)
    least = np.quantile(rows @ weights, rng.choice([0.5, 0.8, 0.95]))
    steep = rng.choice([0.3, 2.0, 30.0])

    def judge(points: np.ndarray) -> np.ndarray:
        ahead = (points * weights).sum(axis=1) - least
        return 1 / (1 + np.exp(-np.clip(steep * ahead, -30, 30)))

    return judge


MODELS = {"islands": islands, "waves": waves, "thicket": thicket, "chequers": chequers}


# ---- cases ----------------------------------------------------------------------------------


def share_values(
    schema: sl.Schema, asking: pd.DataFrame, reference: pd.DataFrame, rng: np.random.Generator
) -> None:
    """Give people some values that reference rows have too, undue decimals included. In place."""
    for feature in schema.features:
        name, rows = feature.name, rng.integers(len(reference), size=len(asking))
        there = reference[name].iloc[rows].reset_index(drop=True)
        shared = pd.Series(rng.random(len(asking)) < 0.5)
        if feature.kind == "numeric":
            low, high = feature.bounds
            shared &= there.ge(-np.inf if low is None else low)
            shared &= there.le(np.inf if high is None else high)
        asking[name] = asking[name].where(~shared, there)


@st.composite
def cases(draw: st.DrawFn, *, most_rows: int = 60) -> Case:
    names = [f"f{i}" for i in range(draw(st.integers(1, 5)))]
    schema = sl.Schema([draw(features(name)) for name in names])
    free = [f.name for f in schema.features if f.change != "never"]
    if not free:
        schema = sl.Schema([*schema.features, sl.Numeric("free")])
    rough = draw(st.integers(0, 4)) == 0
    dtypes = {f.name: dtype_of(f, draw, rough=rough) for f in schema.features}
    count, people = draw(st.integers(10, most_rows)), draw(st.integers(1, 6))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def frame(size: int, *, inside: bool, rough: bool) -> pd.DataFrame:
        built = {}
        for feature in schema.features:
            cells, dtype = (
                column(feature, size, rng, inside=inside, rough=rough),
                dtypes[feature.name],
            )
            if dtype == "category":
                dtype = pd.CategoricalDtype(list(feature.levels))
            built[feature.name] = pd.Series(cells, dtype=dtype).array.take(rng.permutation(size))
        return pd.DataFrame(built)

    reference = frame(count, inside=draw(st.booleans()), rough=rough)
    asking = frame(people, inside=True, rough=rough and draw(st.booleans()))
    if draw(st.booleans()):
        share_values(schema, asking, reference, rng)
    blank = Judge(schema, lambda points: points)
    model = MODELS[draw(st.sampled_from(sorted(MODELS)))](blank(reference), rng)
    judge = Judge(schema, model)
    for name in reference.columns[reference.dtypes == "float64"]:
        if draw(st.integers(0, 9)) == 0:
            reference.loc[rng.random(count) < 0.1, name] = np.nan
    goal = sl.Goal.between(0.5, 1.0) if draw(st.integers(0, 5)) == 0 else sl.Goal(threshold=0.5)
    labels = (rng.random(count) < 0.7).astype(int) if draw(st.integers(0, 4)) == 0 else None
    if labels is not None:
        labels[0] = 1
    locked = tuple(f.name for f in schema.features if draw(st.integers(0, 9)) == 0)
    return Case(schema, reference, asking, judge, goal, labels, locked)
