"""Random recourse problems: any schema, any data, models without mercy, and what is true of them.

Nothing here asks the library what is feasible or reachable: rules and projections are written out
again by hand, column by column, so that a mistake there can't hide here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st

import stepladder as sl

Model = Callable[[pd.DataFrame], np.ndarray]


@dataclass(frozen=True, eq=False)
class Case:
    """One problem: a fitted method's ingredients and the people who ask."""

    schema: sl.Schema
    reference: pd.DataFrame
    people: pd.DataFrame
    model: Model
    goal: sl.Goal
    labels: np.ndarray | None
    locked: tuple[str, ...]

    def met(self, frame: pd.DataFrame) -> np.ndarray:
        scores = self.model(frame)
        if self.goal.is_range:
            return (scores >= self.goal.low) & (scores <= self.goal.high)
        return scores >= self.goal.threshold

    @property
    def positives(self) -> pd.DataFrame:
        """The reference rows without a gap that meet the goal and carry the label."""
        whole = self.reference.dropna()
        wanted = self.met(whole)
        if self.labels is not None:
            wanted &= self.labels[self.reference.notna().all(axis=1).to_numpy()] == 1
        return whole[wanted]

    def limits(self, name: str, start: float) -> tuple[float, float]:
        """How low and how high a number of today's value can go."""
        feature = self.schema[name]
        low, high = -math.inf, math.inf
        if feature.kind == "numeric":
            low = -math.inf if feature.bounds[0] is None else feature.bounds[0]
            high = math.inf if feature.bounds[1] is None else feature.bounds[1]
            if feature.integer:
                low = math.ceil(low) if math.isfinite(low) else low
                high = math.floor(high) if math.isfinite(high) else high
        fixed = feature.change == "never" or name in self.locked
        if fixed or feature.change == "increase":
            low = start
        if fixed or feature.change == "decrease":
            high = start
        return low, high

    def ranked(self, name: str, column: pd.Series) -> np.ndarray:
        """A column as numbers: itself, or the place of each level."""
        feature = self.schema[name]
        if feature.kind == "numeric":
            return column.to_numpy(dtype=float)
        places = {level: i for i, level in enumerate(feature.levels)}
        return np.array([places[value] for value in column], dtype=float)

    def projected(self, person: int, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows as near as this person could come to them."""
        today, built = self.people.iloc[[person]], rows.copy()
        for feature in self.schema.features:
            name = feature.name
            start = self.ranked(name, today[name])[0]
            wanted = self.ranked(name, rows[name])
            if feature.kind == "categorical":
                fixed = feature.change == "never" or name in self.locked
                there = np.full(len(rows), start) if fixed else wanted
            else:
                there = np.clip(wanted, *self.limits(name, start))
                if feature.kind == "numeric" and feature.most_decimals is not None:
                    there = np.where(there == start, start, np.round(there, feature.most_decimals))
            if feature.kind == "numeric":
                built[name] = pd.array(there, dtype=rows[name].dtype)
            else:
                levels = [feature.levels[int(place)] for place in there]
                built[name] = pd.array(levels, dtype=rows[name].dtype)
        return built

    def reachable(self, person: int) -> np.ndarray:
        """Which positives still meet the goal once this person comes as near as they can."""
        return self.met(self.projected(person, self.positives))

    def broken_rules(self, person: int, rows: pd.DataFrame) -> list[str]:
        """Every rule that rows break for this person."""
        today, broken = self.people.iloc[[person]], []
        for feature in self.schema.features:
            name = feature.name
            start, there = self.ranked(name, today[name])[0], self.ranked(name, rows[name])
            low, high = self.limits(name, start)
            if feature.kind == "categorical":
                fixed = feature.change == "never" or name in self.locked
                wrong = (there != start) & fixed
            else:
                wrong = (there < low) | (there > high)
            if feature.kind == "numeric" and feature.most_decimals is not None:
                decimals = np.abs(there - np.round(there, feature.most_decimals))
                wrong |= (decimals > 1e-6 * np.maximum(1.0, np.abs(there))) & (there != start)
            broken += [f"{name}: {start} became {value}" for value in there[wrong]]
        return broken


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


@dataclass(frozen=True, eq=False)
class Judge:
    """A model over hand-made coordinates; every row is judged by itself, so answers never vary."""

    schema: sl.Schema
    judge: Callable[[np.ndarray], np.ndarray]

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        columns = []
        for feature in self.schema.features:
            cells = frame[feature.name]
            if feature.kind == "numeric":
                columns.append(cells.to_numpy(dtype=float))
            else:
                columns.append(np.array([feature.levels.index(v) for v in cells], dtype=float))
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
