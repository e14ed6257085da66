"""Random recourse problems with every rule there is: see `cases.py` for what is true of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import assume
from hypothesis import strategies as st
from tests.methods.cases import (
    MODELS,
    Case,
    Cells,
    Condition,
    Formula,
    Judge,
    Requirement,
    Said,
    column,
    dtype_of,
    features,
    share_values,
    slope,
)

import stepladder as sl
from stepladder.errors import SchemaError

ALL_MODELS = {**MODELS, "slope": slope}

FOCUS = ("all", "all", "levels", "time", "requirements", "changes")
"""Of which rules there are more than of others."""

NOTHING = "nobody"
"""A level that no category has."""


@dataclass(frozen=True, eq=False)
class Drawn:
    """A derived feature as it was drawn: its formula, and how its own column comes about."""

    feature: sl.Derived
    formula: Formula
    kept: bool
    """whether a row in which nothing changes keeps whatever value it has"""


# ---- settings of single features ----------------------------------------------------------------


@st.composite
def ruled_features(draw: st.DrawFn, name: str, focus: str) -> Any:
    """A feature with some of the settings that say what may be asked of a person."""
    if focus == "levels" and draw(st.booleans()):
        kind = draw(st.sampled_from([sl.Ordinal, sl.Categorical]))
        count = draw(st.integers(3, 5))
        levels = [i if kind is sl.Ordinal else f"{name}{i}" for i in range(count)]
        return kind(name, levels=levels, **draw(moves(levels, in_a_row=True)))
    feature = draw(features(name))
    if feature.change == "never":
        return feature

    def sometimes(*values: Any) -> Any:
        return draw(st.sampled_from(values)) if draw(st.integers(0, 3)) == 0 else None

    given: dict[str, Any] = {"fill": sometimes(True), "months": sometimes(7, 12, 30)}
    if focus == "time":
        given["months"] = draw(st.sampled_from([None, 7, 20]))
    if feature.kind != "categorical":
        if given["months"] is None:
            given["months_each"] = 8 if focus == "time" else sometimes(3, 8)
        given["at_once"] = sometimes(True)
    if feature.kind == "numeric":
        reach = ("40%", 2, ("-50%", "+80%"), (-1.5, None), (None, 2.5), ("-100%", 1))
        given["reach"] = sometimes(*reach)
        given["multiple"] = sometimes(2 if feature.integer else 0.5)
    given = {key: value for key, value in given.items() if value is not None}
    if feature.kind != "numeric" and draw(st.booleans()) and "at_once" not in given:
        given |= draw(moves(feature.levels))
        try:
            return feature.but(**given)
        except SchemaError:  # nowhere to go
            given = {key: v for key, v in given.items() if key not in ("not_to", "moves")}
    return feature.but(**given)


@st.composite
def moves(draw: st.DrawFn, levels: Sequence[Any], *, in_a_row: bool = False) -> dict[str, Any]:
    """Where levels may go; `in_a_row`: from each to one other alone, round and round."""
    drawn: dict[str, Any] = {}
    if in_a_row:
        order = draw(st.permutations(levels))
        return {"moves": {here: [there] for here, there in pairwise([*order, order[0]])}}
    if draw(st.integers(0, 2)) == 0:
        drawn["not_to"] = [draw(st.sampled_from(levels))]
    if draw(st.integers(0, 2)) > 0:
        hops = {}
        for level in levels:
            if draw(st.integers(0, 3)) > 0:
                others = [other for other in levels if other != level]
                most = draw(st.integers(1, 2))
                hops[level] = draw(st.lists(st.sampled_from(others), max_size=most, unique=True))
        drawn["moves"] = hops
    return drawn


# ---- derived features ---------------------------------------------------------------------------


def inputs(schema: list[Any]) -> tuple[list[str], list[Any]]:
    """What formulas may read as numbers, and the features that have text levels."""
    numbers = [f.name for f in schema if f.kind == "ordinal" or getattr(f, "levels", None) is None]
    texts = [f for f in schema if f.name not in numbers]
    return numbers, texts


@st.composite
def derived(draw: st.DrawFn, name: str, schema: list[Any]) -> Drawn:
    """A derived feature over some features, derived ones among them."""
    numbers, texts = inputs(schema)
    a, b = (draw(st.sampled_from(numbers)) for _ in "ab")
    forms: dict[str, tuple[str, Said]] = {
        "ratio": (f"{a} / {b}", lambda now, was: now[a] / now[b]),
        "share": (f"{a} / (abs({b}) + 1)", lambda now, was: now[a] / (np.abs(now[b]) + 1)),
        "sum": (f"{a} + 2 * {b} - 1", lambda now, was: now[a] + 2 * now[b] - 1),
        "most": (f"max({a}, {b})", lambda now, was: np.maximum(now[a], now[b])),
        "whole": (f"floor({a}) - {b}", lambda now, was: np.floor(now[a]) - now[b]),
        "scaled": (
            f"was({name}) * ({a} + 10) / (was({a}) + 10)",
            lambda now, was: was[name] * (now[a] + 10) / (was[a] + 10),
        ),
        "set back": (
            f"where({a} == was({a}), was({name}), 0)",
            lambda now, was: np.where(now[a] == was[a], was[name], 0.0),
        ),
        "level": (
            f"where({a} > 0.5, 'high', 'low')",
            lambda now, was: np.where(now[a] > 0.5, "high", "low").astype(object),
        ),
    }
    if texts:
        text = draw(st.sampled_from(texts))
        level = draw(st.sampled_from(text.levels))
        forms["by level"] = (
            f"where({text.name} == '{level}', {a}, {a} + 1)",
            lambda now, was: np.where(now[text.name] == level, now[a], now[a] + 1),
        )
    form = draw(st.sampled_from(sorted(forms)))
    settings: dict[str, Any] = {"levels": ["low", "high"]} if form == "level" else {}
    if not settings:
        exact = ({}, {}, {"decimals": 2}, {"decimals": 1}, {"integer": True})
        settings = dict(draw(st.sampled_from(exact)))
    written, says = forms[form]
    feature = sl.Derived(name, written, **settings)
    return Drawn(feature, Formula(name, written, says), form in ("scaled", "set back"))


# ---- requirements -------------------------------------------------------------------------------


def short(value: float) -> float:
    return float(np.round(value, 2))


@st.composite
def requirement(draw: st.DrawFn, schema: list[Any], cells: Cells, *, one_row: bool) -> Requirement:
    """A requirement that most reference rows keep, and some don't; a policy is of `one_row`."""
    numbers, texts = inputs(schema)
    a, b = (draw(st.sampled_from(numbers)) for _ in "ab")
    share = draw(st.sampled_from([0.5, 0.7, 0.9]))

    def most(values: np.ndarray) -> float:
        known = values[np.isfinite(values)]
        return short(np.quantile(known, share)) if len(known) else 0.0

    c, d = most(cells[a]), most(cells[b])
    gap, low = most(cells[a] - cells[b]), short(-most(-cells[a]))
    forms = ["order", "strict", "both", "either", "level", "not", *([] if one_row else ["was"])]
    form = draw(st.sampled_from(forms))
    if form == "order":
        return one_of(
            f"{a} <= {b} + {gap}",
            (a, b),
            lambda now, was: now[a] <= now[b] + gap,
            lambda now, was: now[a] - (now[b] + gap),
        )
    if form == "strict":
        return one_of(
            f"{c} > {a}",
            (a,),
            lambda now, was: now[a] < c,
            lambda now, was: now[a] - c,
        )
    if form == "both":
        least = Condition((a,), lambda now, was: now[a] >= low, lambda now, was: low - now[a])
        top = Condition((b,), lambda now, was: now[b] <= d, lambda now, was: now[b] - d)
        return Requirement(f"{low} <= {a} and {b} <= {d}", (least, top))
    if form == "was":
        return one_of(
            f"{a} + {b} <= was({a}) + was({b}) + 1",
            (a, b),
            lambda now, was: now[a] + now[b] <= was[a] + was[b] + 1,
            lambda now, was: now[a] + now[b] - (was[a] + was[b] + 1),
        )
    if form == "not":
        return one_of(
            f"not ({a} > {c} and {b} > {d})",
            (a, b),
            lambda now, was: ~((now[a] > c) & (now[b] > d)),
        )
    if form == "level" and texts:
        text = draw(st.sampled_from(texts))
        level = draw(st.sampled_from(text.levels))
        return one_of(
            f"{text.name} != '{level}' or {a} <= {c}",
            (text.name, a),
            lambda now, was: (now[text.name] != level) | (now[a] <= c),
        )
    return one_of(
        f"{a} <= {c} or {b} <= {d}",
        (a, b),
        lambda now, was: (now[a] <= c) | (now[b] <= d),
    )


def one_of(
    written: str, names: tuple[str, ...], holds: Said, excess: Said | None = None
) -> Requirement:
    return Requirement(written, (Condition(tuple(dict.fromkeys(names)), holds, excess),))


def somebody_keeps(rule: Requirement, cells: Cells) -> bool:
    return all(condition.held(cells, cells).any() for condition in rule.conditions)


# ---- cases --------------------------------------------------------------------------------------


@st.composite
def ruled_cases(draw: st.DrawFn, *, most_rows: int = 40) -> Case:
    focus = draw(st.sampled_from(FOCUS))
    base = [draw(ruled_features(f"f{i}", focus)) for i in range(draw(st.integers(1, 4)))]
    if not any(f.chosen for f in base) or not inputs(base)[0]:
        base.append(sl.Numeric("free"))
    if focus == "time" or draw(st.integers(0, 2)) == 0:
        top = draw(st.sampled_from([None, None, 5]))
        base.append(sl.Numeric("age", change="time", bounds=(None, top), integer=True))
    drawn: list[Drawn] = []
    for i in range(draw(st.sampled_from([0, 0, 1, 1, 2, 3]))):
        drawn.append(draw(derived(f"d{i}", [*base, *(d.feature for d in drawn)])))
    listed = [*base, *(d.feature for d in drawn)]
    count, people = draw(st.integers(10, most_rows)), draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dtypes = {f.name: dtype_of(f, draw, rough=False) for f in base}
    dtypes |= {d.feature.name: draw(derived_dtype(d.feature)) for d in drawn}
    inside = draw(st.booleans())
    off = {d.feature.name: draw(st.sampled_from([0.0, 0.0, 0.6])) for d in drawn}
    gaps = draw(st.sampled_from([0.0, 0.0, 0.0, 0.1, 0.3]))
    schema = sl.Schema(listed)  # the requirements come later, since they look at the columns
    blank = Case(schema, pd.DataFrame(), pd.DataFrame(), len, sl.Goal(), None, ())
    reference, asking = (
        frame_of(base, dtypes, size, rng, inside=within)
        for size, within in ((count, inside), (people, True))
    )
    if draw(st.booleans()):
        share_values(sl.Schema(base), asking, reference, rng)
    for rows in (reference, asking):
        for name in rows.columns:
            if rows[name].dtype != np.int64:
                rows.loc[rng.random(len(rows)) < gaps, name] = None
        fill_derived(blank, rows, drawn, dtypes, off, gaps, rng)
    cells = blank.cells(reference)
    assume((reference[[f.name for f in base]].nunique() > 1).all())  # gaps may leave one value
    assume(all(is_a_number_somewhere(one, reference, cells) for one in drawn))
    many = [2, 3] if focus == "requirements" else [0, 0, 1, 1, 2]
    require = draw(rules(listed, cells, many))
    policy = draw(rules(listed, cells, [0, 0, 0, 1], one_row=True))
    schema = sl.Schema(draw(st.permutations(listed)), [rule.text for rule in require])
    reference, asking = reference[list(schema.names)], asking[list(schema.names)]
    seen = Judge(schema, lambda points: points)
    kinds = sorted(ALL_MODELS) if focus == "all" else ["slope", "slope", "thicket", "waves"]
    judge = Judge(schema, ALL_MODELS[draw(st.sampled_from(kinds))](seen(reference), rng))
    ends = {"low": 0.5, "high": 1.0} if draw(st.integers(0, 5)) == 0 else {}
    texts = [rule.text for rule in policy]
    goal = sl.Goal.between(0.5, 1.0) if ends else sl.Goal(threshold=0.5)
    if texts:
        goal = sl.Goal(threshold=0.5, policy=texts)
    asking, invalid = spoiled(draw, schema, asking, blank, drawn)
    return Case(
        schema,
        reference,
        asking,
        judge,
        goal,
        None,
        draw(held(schema, people)),
        tuple(d.formula for d in drawn),
        tuple(require),
        tuple(policy),
        draw(personal_limits(schema, asking)),
        draw(st.sampled_from([1, 2] if focus == "changes" else [None, None, None, 1, 2, 3])),
        invalid,
    )


@st.composite
def derived_dtype(draw: st.DrawFn, feature: sl.Derived) -> Any:
    if feature.levels is not None:
        return draw(st.sampled_from([None, pd.CategoricalDtype(list(feature.levels))]))
    return draw(st.sampled_from(["float64", "float64", "float32"]))


def frame_of(
    base: list[Any], dtypes: dict[str, Any], size: int, rng: np.random.Generator, *, inside: bool
) -> pd.DataFrame:
    """Rows of features that aren't derived."""
    built = {}
    for feature in base:
        cells, dtype = column(feature, size, rng, inside=inside, rough=False), dtypes[feature.name]
        if dtype == "category":
            dtype = pd.CategoricalDtype(list(feature.levels))
        built[feature.name] = pd.Series(cells, dtype=dtype).array.take(rng.permutation(size))
    return pd.DataFrame(built)


def fill_derived(
    blank: Case,
    rows: pd.DataFrame,
    drawn: list[Drawn],
    dtypes: dict[str, Any],
    off: dict[str, float],
    gaps: float,
    rng: np.random.Generator,
) -> None:
    """Add the columns of derived features, each off its formula by some noise. In place."""
    for one in drawn:
        name, feature = one.feature.name, one.feature
        for later in drawn[drawn.index(one) :]:  # what comes later isn't there yet
            rows[later.feature.name] = None
        if one.kept:
            values = np.round(rng.uniform(1, 5, len(rows)), 1)
        else:
            cells = blank.cells(rows)
            with np.errstate(all="ignore"):
                values = one.formula.says(cells, cells)
        if feature.levels is not None:
            odd = rng.random(len(rows)) < off[name] / 3
            values = np.where(pd.isna(values) | odd, rng.choice(["low", "high"], len(rows)), values)
        else:
            values = np.where(np.isfinite(values), values, 0.0)
            values = values + off[name] * rng.normal(size=len(rows))
            if feature.most_decimals is not None:
                values = np.round(values, feature.most_decimals)
        values = pd.Series(values, dtype=dtypes[name])
        values[rng.random(len(rows)) < gaps / 2] = None
        rows[name] = values.array


def is_a_number_somewhere(one: Drawn, rows: pd.DataFrame, cells: Cells) -> bool:
    """Whether a formula can be worked out for some row without a gap; one that can't is refused."""
    complete = rows.notna().all(axis=1).to_numpy()
    if one.feature.levels is not None or not complete.any():
        return True
    with np.errstate(all="ignore"):
        return bool(np.isfinite(one.formula.says(cells, cells)[complete]).any())


@st.composite
def rules(
    draw: st.DrawFn, schema: list[Any], cells: Cells, counts: list[int], *, one_row: bool = False
) -> list[Requirement]:
    """Some rules that somebody keeps; of `one_row`: that don't look at today's."""
    count = draw(st.sampled_from(counts))
    drawn = [draw(requirement(schema, cells, one_row=one_row)) for _ in range(count)]
    return [rule for rule in drawn if somebody_keeps(rule, cells)]


@st.composite
def held(draw: st.DrawFn, schema: sl.Schema, people: int) -> Any:
    """What nobody, or what single people, can change."""
    own = [f.name for f in schema.features if f.kind != "derived" and f.change != "time"]
    if draw(st.booleans()):
        return tuple(name for name in own if draw(st.integers(0, 9)) == 0)
    names = st.lists(st.sampled_from(own), max_size=2, unique=True).map(tuple)
    return {i: draw(names) for i in range(people) if draw(st.integers(0, 3)) == 0}


@st.composite
def personal_limits(draw: st.DrawFn, schema: sl.Schema, asking: pd.DataFrame) -> Any:
    """How far single people go: around where they stand, or somewhere else."""
    limits: dict[int, dict[str, Any]] = {}
    for person in range(len(asking)):
        for feature in schema.features:
            if feature.kind not in ("numeric", "ordinal") or feature.change == "time":
                continue
            if draw(st.integers(0, 5)) > 0:
                continue
            if feature.kind == "ordinal":
                low, high = sorted(draw(st.sampled_from(range(len(feature.levels)))) for _ in "ab")
                ends = [feature.levels[low], feature.levels[high]]
            else:
                own = asking[feature.name].iloc[person]
                own = 0.0 if pd.isna(own) else float(own)
                low = own + draw(st.sampled_from([-2.5, -1.0, 0.0, 0.7]))
                ends = [low, low + draw(st.sampled_from([0.8, 1.5, 4.0]))]
            cut = draw(st.integers(0, 3))
            if cut < 2:
                ends[cut] = None
            limits.setdefault(person, {})[feature.name] = tuple(ends)
    return limits


def spoiled(
    draw: st.DrawFn, schema: sl.Schema, asking: pd.DataFrame, blank: Case, drawn: list[Drawn]
) -> tuple[pd.DataFrame, frozenset[int]]:
    """People, some of whom have a row that the schema doesn't allow, and who they are."""
    asking = asking.copy()
    invalid = set[int]()
    if draw(st.integers(0, 3)) == 0:
        person = draw(st.integers(0, len(asking) - 1))
        for feature in schema.features:
            name = feature.name
            if feature.kind == "categorical" and asking[name].dtype == object:
                asking.iloc[person, asking.columns.get_loc(name)] = NOTHING
                invalid.add(person)
            if feature.kind == "numeric" and feature.bounds[1] is not None:
                asking.iloc[person, asking.columns.get_loc(name)] = math.ceil(feature.bounds[1]) + 1
                invalid.add(person)
    cells = blank.cells(asking)
    complete = asking.notna().all(axis=1).to_numpy()
    for one in drawn:
        with np.errstate(all="ignore"):
            values = one.formula.says(cells, cells)
        if one.feature.levels is None:
            invalid |= set(np.flatnonzero(complete & ~np.isfinite(values)).tolist())
    return asking, frozenset(invalid)
