"""What was promised of the advice, line by line: met or missed, and by how much.

A *task* here is a table, a kind of model and a goal; seeds are pooled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from advice_brute import two_apart, two_that_differ
from advice_ends import METHODS, OURS, PEERS

TASK = ["table", "kind", "goal"]
PERSON = [*TASK, "seed", "person"]
CLOSE = 1e-9


@dataclass(frozen=True)
class Line:
    """One promise and what came of it."""

    promise: str
    met: bool | None
    """None where it's reported without an aim, or wasn't run"""
    number: str

    @property
    def verdict(self) -> str:
        return {True: "met", False: "missed", None: "reported"}[self.met]


@dataclass(frozen=True, eq=False)
class Measured:
    """All routes, and what brute force found for everybody."""

    routes: pd.DataFrame
    brute: pd.DataFrame

    def of(self, method: str) -> pd.DataFrame:
        """The routes of a method that lead to a yes, in order."""
        rows = self.routes[
            (self.routes["method"] == method) & (self.routes["outcome"] == "reached")
        ]
        return rows.sort_values([*PERSON, "path"])

    def cases(self) -> list[tuple[str, float]]:
        """Each goal and method that was run, in order."""
        run = set(zip(self.routes["method"], self.routes["goal"], strict=True))
        goals = sorted({goal for _, goal in run})
        methods = (*OURS, "before", *PEERS)
        return [(method, goal) for goal in goals for method in methods if (method, goal) in run]

    def ran(self, *methods: str) -> bool:
        return set(methods) <= set(self.routes["method"].unique())


def lines(measured: Measured) -> list[Line]:
    """Every promise whose methods were run."""
    promises: list[tuple[tuple[str, ...], Callable[[Measured], Iterator[Line]]]] = [
        (("effort",), _singles),
        (("effort",), _least_first),
        (("effort",), _things),
        (("effort", *PEERS), _peers),
        (("effort", "before"), _before),
        (("effort",), _different),
        (("effort",), _slack),
        (("holds-effort", "holds-distance", "published"), _holding),
        (("effort", "before"), _unasked),
        (("effort",), _asked),
        (("effort", "before"), _sound),
    ]
    return [line for needs, made in promises if measured.ran(*needs) for line in made(measured)]


# ---- a single change --------------------------------------------------------------------------


def _singles(measured: Measured) -> Iterator[Line]:
    offered = measured.of("effort").groupby(PERSON)["things"].min() == 1
    has = brute(measured, "single")
    share, least = _share(offered.reindex(has.index, fill_value=False))
    yield Line(
        "Where brute force finds a single change, one is offered to at least 98 %",
        share >= 0.98,
        f"{_percent(share, 1)} of {len(has):,} people; {least}",
    )


def _least_first(measured: Measured) -> Iterator[Line]:
    late, people = 0, 0
    for method, cost in (
        *(("effort", "effort"), ("holds-effort", "effort")),
        *(("holds-distance", "distance"), ("bare", "distance")),
    ):
        rows = measured.of(method)
        if cost == "distance":  # which the mortgages weigh by difficulty
            rows = rows[rows["table"] != "mortgage"]
        first, least = rows.groupby(PERSON)[cost].first(), rows.groupby(PERSON)[cost].min()
        late, people = late + int((first > least + CLOSE).sum()), people + len(first)
    yield Line(
        "Path 0 is always the one of least cost",
        late == 0,
        f"{late:,} of {people:,} people's isn't",
    )


# ---- how much it asks -------------------------------------------------------------------------


def _things(measured: Measured) -> Iterator[Line]:
    rows = measured.of("effort")
    by_task = rows.groupby(TASK)["things"].median()
    median = rows["things"].median()
    yield Line(
        "Median things changed at most 2",
        bool(median <= 2),
        f"{median:g}; {_where(by_task, largest=True, form='{:g}')}",
    )


def _peers(measured: Measured) -> Iterator[Line]:
    told, met = [], True
    for peer in PEERS:
        ours, theirs = alike(measured.of("effort"), measured.of(peer))
        own, other = ours.groupby(TASK)["effort"].mean(), theirs.groupby(TASK)["effort"].mean()
        met &= bool((own < other).all())
        told.append(
            f"{METHODS[peer].label} {own.mean():.2f} for {other.mean():.2f}, smaller on "
            f"{int((own < other).sum())} of {len(own)} tasks"
        )
    yield Line(
        "Mean effort below every peer's, on the people and number of routes that it reached",
        met,
        "; ".join(told),
    )


def _before(measured: Measured) -> Iterator[Line]:
    ours, theirs = measured.of("effort"), measured.of("before")
    first, easiest = (rows.groupby(PERSON)["effort"].min() for rows in (ours, theirs))
    first, easiest = _both(first, easiest)
    own, other = first.groupby(TASK).mean(), easiest.groupby(TASK).mean()
    yield Line(
        "The first route's effort at most that of 0.1's easiest, on every task",
        bool((own <= other + CLOSE).all()),
        f"{own.mean():.2f} for {other.mean():.2f}; {_below(own, other)}",
    )
    own, other = ours.groupby(TASK)["effort"].mean(), theirs.groupby(TASK)["effort"].mean()
    yield Line(
        "All routes' effort below 0.1's on average over the tasks",
        bool(own.mean() < other.mean()),
        f"{own.mean():.2f} for {other.mean():.2f}; {_below(own, other)}; {_on_same(ours, theirs)}",
    )


def _on_same(ours: pd.DataFrame, theirs: pd.DataFrame) -> str:
    """The same on the people and routes that both have; we reach some whom 0.1 doesn't."""
    ours, theirs = alike(ours, theirs)
    own, other = ours.groupby(TASK)["effort"].mean(), theirs.groupby(TASK)["effort"].mean()
    means = f"{own.mean():.2f} for {other.mean():.2f}"
    return f"on the people and number of routes that 0.1 reached {means}"


# ---- routes that differ -----------------------------------------------------------------------


def _different(measured: Measured) -> Iterator[Line]:
    routes = sets(measured)
    for fact, tell, aim, words in (
        ("two", two_that_differ, 0.9, "neither of whose sets of features contains the other's"),
        ("apart", two_apart, 0.7, "that share no feature"),
    ):
        has = brute(measured, fact)
        got = routes.map(tell).reindex(has.index, fill_value=False)
        share, least = _share(got)
        yield Line(
            f"At least {_percent(aim)} have two routes {words}, where brute force finds such",
            share >= aim,
            f"{_percent(share, 1)} of {len(has):,} people; {least}",
        )
    adult = routes[routes.index.get_level_values("table") == "adult"]
    share, least = _share(adult.map(two_that_differ))
    yield Line(
        "At least 80 % of all people on Adult have two of which neither contains the other",
        share >= 0.8,
        f"{_percent(share, 1)} of {len(adult):,} people; {least}",
    )


def sets(measured: Measured) -> pd.Series[Any]:
    """The features that change on each of a person's routes."""
    features = measured.of("effort").groupby(PERSON)["features"]
    return features.agg(lambda them: [frozenset(one.split("|")) for one in them])


# ---- a yes that holds -------------------------------------------------------------------------


def _slack(measured: Measured) -> Iterator[Line]:
    rows = pd.concat([measured.of(m) for m in METHODS if METHODS[m].settings.get("slack")])
    tight = rows["said_tight"].astype(bool)
    fails = int((rows.loc[~tight, "short"] < rows.loc[~tight, "goal"]).sum())
    yield Line(
        "slack=0.1: every end that isn't marked tight is still a yes a tenth short",
        fails == 0,
        f"{fails:,} of {int((~tight).sum()):,} aren't",
    )
    ours = measured.of("effort")["said_tight"].astype(bool)
    yield Line(
        "At most 1 in 50 is tight", bool(ours.mean() <= 0.02), f"{_percent(ours.mean(), 1)} of ends"
    )


def _holding(measured: Measured) -> Iterator[Line]:
    costs = {"effort": measured.of("holds-effort"), "distance": measured.of("holds-distance")}
    held = {cost: rows.groupby(TASK)["held"].mean() for cost, rows in costs.items()}
    yield Line(
        "holds=0.9: at least 90 % of routes hold under fresh models on every task",
        all(bool((shares >= 0.9).all()) for shares in held.values()),
        _each(
            held, lambda of: f"{_percent(of.mean())}, {_where(of, largest=False, form='{:.0%}')}"
        ),
    )
    beside = {}
    for cost, rows in costs.items():
        ours, theirs = alike(rows, measured.of("published"))
        beside[cost] = (ours.groupby(TASK)[cost].mean(), theirs.groupby(TASK)[cost].mean())
    yield Line(
        "holds=0.9: at no more effort, or distance, than the published method, on the people it "
        "reached",
        all(bool((own <= other + CLOSE).all()) for own, other in beside.values()),
        _each(
            beside, lambda of: f"{of[0].mean():.2f} for {of[1].mean():.2f}, {_below(of[0], of[1])}"
        ),
    )
    true = {cost: (rows["held"] >= rows["said_holds"] - CLOSE) for cost, rows in costs.items()}
    yield Line(
        "holds=0.9: the stated bound is true for at least 85 % of routes",
        all(bool(of.mean() >= 0.85) for of in true.values()),
        _each(true, lambda of: _percent(of.mean(), 1)),
    )
    unsure = {cost: _people(measured, f"holds-{cost}", "unsure") for cost in costs}
    yield Line("holds=0.9: people for whom nothing holds", None, _each(unsure, _percent))


def _each(by_cost: Mapping[str, Any], words: Callable[[Any], str]) -> str:
    return "; ".join(f"by {cost} {words(of)}" for cost, of in by_cost.items())


def _unasked(measured: Measured) -> Iterator[Line]:
    shares = [
        f"{METHODS[method].label} {_percent(rows[rows['goal'] == goal]['held'].mean())} at {goal:g}"
        for method in ("effort", "before")
        for rows in (measured.of(method),)
        for goal in sorted(rows["goal"].unique())
    ]
    yield Line("Routes that hold without successors", None, "; ".join(shares))


# ---- what it takes, and what may not change ---------------------------------------------------


def _asked(measured: Measured) -> Iterator[Line]:
    by_task = measured.of("effort").groupby(TASK)["rows_asked"].mean()
    yield Line(
        "At most 1,000 rows asked per person on average",
        bool(by_task.mean() <= 1000),
        f"{by_task.mean():,.0f}; {_where(by_task, largest=True, form='{:,.0f}')}",
    )


def _sound(measured: Measured) -> Iterator[Line]:
    rows = pd.concat([measured.of(method) for method in OURS])
    wrong = int((~rows["kept"].astype(bool) | (rows["score"] < rows["goal"])).sum())
    yield Line(
        "Every route keeps all rules and is a yes", wrong == 0, f"{wrong} of {len(rows):,} aren't"
    )
    off = int((np.abs(rows["said_effort"] - rows["effort"]) > 1e-6).sum())
    yield Line(
        "The result states the effort that is worked out here",
        off == 0,
        f"{off:,} of {len(rows):,} differ",
    )
    own, other = (success(measured.routes, method) for method in ("effort", "before"))
    least = _where(own - other, largest=False, form="{:+.3f}")
    yield Line(
        "Average success stays where it is",
        bool((own >= other - CLOSE).all()),
        f"{own.mean():.3f} for {other.mean():.3f}; {least}",
    )


# ---- shares and comparisons -------------------------------------------------------------------


def alike(ours: pd.DataFrame, theirs: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of both, the same people and for each as many routes, the first ones."""
    ours, theirs = (
        rows.assign(place=rows.groupby(PERSON).cumcount()).set_index([*PERSON, "place"])
        for rows in (ours, theirs)
    )
    common = ours.index.intersection(theirs.index)
    return ours.loc[common].reset_index(), theirs.loc[common].reset_index()


def success(routes: pd.DataFrame, method: str) -> pd.Series[float]:
    """The share of all paths that are reached, by task."""
    rows = routes[routes["method"] == method]
    reached = (rows["outcome"] == "reached").astype(float)
    return reached.groupby([rows[name] for name in TASK]).mean()


def _people(measured: Measured, method: str, outcome: str) -> float:
    """The share of people none of whose paths is reached and one of which has that outcome."""
    rows = measured.routes[measured.routes["method"] == method]
    by_person = rows.groupby(PERSON)["outcome"].agg(set)
    return float(by_person.map(lambda them: "reached" not in them and outcome in them).mean())


def brute(measured: Measured, fact: str) -> pd.Series[int]:
    """Those for whom brute force finds something, on tasks that were answered."""
    rows = measured.brute[measured.brute[fact] == 1].set_index(PERSON)[fact]
    answered = measured.routes[measured.routes["method"] == "effort"]
    done = answered.set_index(PERSON).index.unique()
    found: pd.Series[int] = rows[rows.index.isin(done)]
    return found


def _both(one: pd.Series[float], other: pd.Series[float]) -> tuple[pd.Series[float], ...]:
    common = one.index.intersection(other.index)
    return one.loc[common], other.loc[common]


def _share(got: pd.Series[bool]) -> tuple[float, str]:
    by_task = got.astype(float).groupby(TASK).mean()
    return float(got.mean()), _where(by_task, largest=False, form="{:.0%}")


def _where(by_task: pd.Series[float], *, largest: bool, form: str) -> str:
    """The task that lies furthest to one side."""
    at: Any = by_task.idxmax() if largest else by_task.idxmin()
    side = "at most" if largest else "at least"
    return f"{side} {form.format(by_task[at])} ({named(at)})"


def _below(own: pd.Series[float], other: pd.Series[float]) -> str:
    """On how many tasks ours is the smaller, and where it's the worst."""
    ratio = own / other
    return (
        f"smaller on {int((own <= other + CLOSE).sum())} of {len(own)} tasks, at most "
        f"{ratio.max():.2f} times ({named(ratio.idxmax())})"
    )


def named(task: Any) -> str:
    """A task in words."""
    table, kind, goal = task
    return f"{TABLES[table]}, {KINDS[kind]}, {goal:g}"


TABLES = {
    "credit_default": "Credit",
    "adult": "Adult",
    "give_me_some_credit": "GMSC",
    "mortgage": "mortgages",
}
KINDS = {
    "logistic": "logistic regression",
    "forest": "forest",
    "boosted": "boosted trees",
    "network": "network",
}


def _percent(share: float, decimals: int = 0) -> str:
    return f"{100 * share:.{decimals}f} %"
