"""Recourse by group: what each group of people is offered, and how far the groups lie apart.

A measure has a value for each group (NaN where it says nothing of it). A gap is the difference
between the groups furthest apart, with an interval from resampled people.

Six of the answers are the notions of fair recourse of Kavouras et al., "Fairness Aware
Counterfactuals for Subgroups" (FACTS, NeurIPS 2023). There, a common set of actions A is applied
to everyone in a subgroup G, and eff(A, G) is the share of G for whom some action leads to a yes.
Here nobody shares actions: a person is offered paths of their own, and what recourse costs them is
the distance of the nearest one that reaches the goal. So "an action in A works for x" becomes "a
path of x reaches the goal" (the paper's micro view), and each notion below says what it turns into.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ParameterError

Values = NDArray[np.float64]

TAIL = 0.025
"""Beyond each end of an interval: they hold with 95% confidence."""

TILE = 2**21
"""Weights held at once while people are resampled (unless one resample is larger)."""

GRID = 512
"""Costs at which resampled curves of `trade_off` are compared; the curves themselves at all."""

ROUNDING = 1e-9
"""In people: how far a share of a group may be off."""


@dataclass(frozen=True, eq=False)
class People:
    """n people, the group of each, and what recourse offers them."""

    codes: NDArray[np.intp]
    """(n,) their group, from 0 to groups - 1"""
    groups: int
    asked: NDArray[np.bool_]
    """(n,) False for who met the goal already, and asked for nothing"""
    cost: Values
    """(n,) the distance of the nearest path that reaches; NaN or infinite where none does"""
    steps: Values
    """(n,) the steps of that path"""
    choices: Values
    """(n,) how many different paths reach"""
    budget: float
    """the cost that `within_budget` asks about"""
    effectiveness: float
    """the share of a group that `cost_of_effectiveness` asks about"""

    def __post_init__(self) -> None:
        shapes = {
            name: getattr(self, name).shape
            for name in ("codes", "asked", "cost", "steps", "choices")
        }
        if self.codes.ndim != 1 or len(set(shapes.values())) > 1:
            raise ParameterError(f"The arrays of People must have one shape, (n,). Got {shapes}.")
        if self.codes.size and not 0 <= self.codes.min() <= self.codes.max() < self.groups:
            raise ParameterError(
                f"'codes' of People must lie between 0 and {self.groups - 1}, for {self.groups} "
                f"groups. Got {self.codes.min()} to {self.codes.max()} instead."
            )
        if not 0 < self.effectiveness <= 1:
            raise ParameterError(
                "'effectiveness' is a share of a group: above 0 and at most 1. Got "
                f"{self.effectiveness!r} instead."
            )

    @property
    def reached(self) -> NDArray[np.bool_]:
        """(n,) who asked and has a path to the goal."""
        return np.asarray(self.asked & np.isfinite(self.cost))

    def only(self, groups: NDArray[np.intp]) -> People:
        """The people of these groups, which are then numbered in this order."""
        number = np.full(self.groups, -1, dtype=np.intp)
        number[groups] = np.arange(len(groups))
        kept = number[self.codes] >= 0
        arrays = {name: getattr(self, name)[kept] for name in ("asked", "cost", "steps", "choices")}
        return replace(self, codes=number[self.codes][kept], groups=len(groups), **arrays)


@dataclass(frozen=True, eq=False)
class Group:
    """One group, its people weighted in b ways: once each, or as often as they were drawn."""

    people: Values
    """(b,) how many there are"""
    asked: Values
    """(b,) how many of them asked"""
    weights: Values
    """(b, r) how often each of those with a path is there, nearest first"""
    upto: Values
    """(b, r) how many have one as near as that"""
    cost: Values
    """(r,) ascending"""
    steps: Values
    """(r,)"""
    choices: Values
    """(r,)"""
    budget: float
    effectiveness: float

    @property
    def reached(self) -> Values:
        """(b,) how many have a path."""
        return self.within(len(self.cost))

    def within(self, place: int) -> Values:
        """(b,) how many are among the nearest `place`."""
        return self.upto[:, place - 1] if place else np.zeros(len(self.asked))


# ---- measures ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A measure with its name, which way is better, and what it means in one line."""

    name: str
    of: Callable[[Group], Values]
    """a value (b,) for each weighting of a group"""
    higher_is_better: bool
    meaning: str
    largest: float = np.inf
    """what its value can't exceed"""


MEASURES: dict[str, Measure] = {}
"""Every measure of a group by its name, in the order of a report."""


def _measure(
    meaning: str, *, higher_is_better: bool = False, largest: float = np.inf
) -> Callable[[Callable[[Group], Values]], Measure]:
    def made(of: Callable[[Group], Values]) -> Measure:
        measure = Measure(of.__name__, of, higher_is_better, meaning, largest)
        MEASURES[measure.name] = measure
        return measure

    return made


@_measure("people who met the goal already", higher_is_better=True, largest=1.0)
def selection_rate(group: Group) -> Values:
    """The share who met the goal already, of everyone."""
    return _ratio(group.people - group.asked, group.people)


@_measure("people who asked and have a path", higher_is_better=True, largest=1.0)
def success(group: Group) -> Values:
    """Equal effectiveness. The paper: eff(A, G), the share of G for whom an action in A leads to
    a yes. Here: the share, of those who asked, with a path of their own that reaches the goal."""
    return _ratio(group.reached, group.asked)


@_measure("people who asked and have no path", largest=1.0)
def no_recourse(group: Group) -> Values:
    """The share of those who asked that have no path to the goal."""
    return _ratio(group.asked - group.reached, group.asked)


@_measure("mean cost of the nearest path, for those with one")
def mean_cost(group: Group) -> Values:
    """Equal (conditional) mean recourse. The paper: the mean, over those in G for whom an action
    works, of the cost of the cheapest that does. Here: the mean cost of the nearest path that
    reaches, over those who have one. It's silent on everyone else: read it beside success."""
    return _ratio(group.weights @ group.cost, group.reached)


@_measure("median cost of the nearest path, for those with one")
def median_cost(group: Group) -> Values:
    """The median cost of the nearest path that reaches, over those who have one."""
    half = group.reached[:, None] / 2
    below, up_to = (group.upto < half).sum(axis=1), (group.upto <= half).sum(axis=1)
    cost = np.append(group.cost, np.nan)
    middle = (cost[below] + cost[np.minimum(up_to, len(group.cost))]) / 2
    return np.where(group.reached > 0, middle, np.nan)


@_measure("mean steps of the nearest path, for those with one")
def mean_steps(group: Group) -> Values:
    """The mean number of steps of the nearest path that reaches, over those who have one."""
    return _ratio(group.weights @ group.steps, group.reached)


@_measure("mean number of different paths to the goal", higher_is_better=True)
def choice(group: Group) -> Values:
    """Equal choice for recourse. The paper: how many actions in A work for at least a share φ of
    G. Actions of one's own have no such share, so here: the mean number of different paths that
    reach the goal, over those who asked (none counts as 0)."""
    return _ratio(group.weights @ group.choices, group.asked)


@_measure("people who asked and have a path within the budget", higher_is_better=True, largest=1.0)
def within_budget(group: Group) -> Values:
    """Equal effectiveness within budget. The paper: eff(A_c, G), where A_c holds the actions of
    cost at most c. Here: the share, of those who asked, with a path of cost at most `budget`."""
    place = int(np.searchsorted(group.cost, group.budget, side="right"))
    return _ratio(group.within(place), group.asked)


@_measure("cost at which the wanted share of the group has a path")
def cost_of_effectiveness(group: Group) -> Values:
    """Equal cost of effectiveness. The paper: the smallest c with eff(A_c, G) ≥ φ. Here: the
    smallest cost at which a share `effectiveness` of those who asked has a path; infinite where
    no cost is enough."""
    wanted = group.effectiveness * group.asked[:, None] - ROUNDING
    place = (group.upto < wanted).sum(axis=1)
    return np.where(group.asked > 0, np.append(group.cost, np.inf)[place], np.nan)


def by_group(people: People) -> dict[str, Values]:
    """Every measure's value (groups,) by its name."""
    once = np.ones((1, len(people.codes)))
    drawn = [_weighted(members, once, people) for members in _members(people)]
    return {
        name: np.array([measure.of(group)[0] for group in drawn], dtype=np.float64)
        for name, measure in MEASURES.items()
    }


# ---- gaps -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Gap:
    """The difference between the two groups furthest apart, and their ratio, with intervals.

    `ratio` is the smaller value over the larger. With fewer than two groups to compare, the
    figures are NaN and the groups None.
    """

    lowest: int | None = None
    highest: int | None = None
    gap: float = np.nan
    gap_interval: tuple[float, float] = (np.nan, np.nan)
    ratio: float = np.nan
    ratio_interval: tuple[float, float] = (np.nan, np.nan)
    at: float = np.nan
    """the cost at which the groups lie furthest apart (`trade_off` only)"""


NOTIONS = {
    "equal_effectiveness": "success",
    "equal_choice_for_recourse": "choice",
    "equal_effectiveness_within_budget": "within_budget",
    "equal_cost_of_effectiveness": "cost_of_effectiveness",
    "fair_effectiveness_cost_trade_off": "trade_off",
    "equal_conditional_mean_recourse": "mean_cost",
}
"""The paper's six notions of fair recourse, and the gap that says how far each is from true."""


def gaps(people: People, rng: np.random.Generator, samples: int = 1000) -> dict[str, Gap]:
    """The gap of every measure by its name, and that of `trade_off`.

    Of n people, n are drawn with replacement, `samples` times; an interval lies between the 2.5th
    and 97.5th percentile of what the draws give for the two groups that were furthest apart.
    That is signed, so that an interval holds 0 (for a ratio 1) where the groups may well be
    alike. Of more than two groups that pair was picked among many, so its interval is stretched
    to one that holds for all pairs at once (Bonferroni's, on the normal scale). A group that a
    draw left out says nothing in it. O(samples · n) time, in tiles.
    """
    if people.groups < 2:
        return dict.fromkeys([*MEASURES, "trade_off"], Gap())
    members = _members(people)
    curves = _Curves.of(members)
    draws: dict[str, list[Values]] = {name: [] for name in MEASURES}
    strayed: list[Values] = []
    for weights in _resampled(len(people.codes), samples, rng):
        drawn = [_weighted(part, weights, people) for part in members]
        for name, measure in MEASURES.items():
            draws[name].append(np.stack([measure.of(group) for group in drawn], axis=1))
        strayed.append(curves.strayed(drawn))
    found = {
        name: _gap(values, np.concatenate(draws[name]), MEASURES[name].largest)
        for name, values in by_group(people).items()
    }
    return {**found, "trade_off": _trade_off(curves, np.concatenate(strayed))}


def _gap(values: Values, draws: Values, largest: float) -> Gap:
    """The gap of the values (g,) of g groups, given what b draws gave, (b, g)."""
    known = np.flatnonzero(~np.isnan(values))
    if known.size < 2:
        return Gap()
    lowest = int(known[values[known].argmin()])
    highest = int(known[::-1][values[known][::-1].argmax()])  # where all are equal, another one
    pairs = known.size * (known.size - 1) // 2
    drawn_low, drawn_high = draws[:, lowest], draws[:, highest]
    gap = float(_apart(values[lowest], values[highest]))
    low, high = _interval(_apart(drawn_low, drawn_high), gap, pairs)
    ratio = float(_relation(values[lowest], values[highest]))
    with np.errstate(divide="ignore"):  # a ratio is stretched on the scale of its logarithm
        relation = np.log(_relation(drawn_low, drawn_high))
        ratio_interval = np.exp(_interval(relation, float(np.log(ratio)), pairs))
    return Gap(
        lowest,
        highest,
        gap=gap,
        gap_interval=(float(max(low, -largest)), float(min(high, largest))),
        ratio=ratio,
        ratio_interval=(float(ratio_interval[0]), float(ratio_interval[1])),
    )


def _apart(low: Values, high: Values) -> Values:
    """The difference; 0 for equals, though both be infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(low == high, 0.0, high - low)


def _relation(low: Values, high: Values) -> Values:
    """The ratio; 1 for equals, though both be 0 or infinite."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(low == high, 1.0, low / high)


def _interval(draws: Values, centre: float, pairs: int) -> tuple[float, float]:
    """Between percentiles of the draws, stretched away from the centre for more pairs than one."""
    if not np.isfinite(centre):
        return _percentile(draws, TAIL / pairs), _percentile(draws, 1 - TAIL / pairs)
    stretch = NormalDist().inv_cdf(TAIL / pairs) / NormalDist().inv_cdf(TAIL)
    low, high = _percentile(draws, TAIL), _percentile(draws, 1 - TAIL)
    return centre - stretch * (centre - low), centre + stretch * (high - centre)


def _percentile(draws: Values, share: float) -> float:
    """The draw with this share of those known below it (no mean of two: one may be infinite)."""
    known = np.sort(draws[~np.isnan(draws)])
    return float(known[round(share * (known.size - 1))]) if known.size else np.nan


# ---- the trade-off between effectiveness and cost ------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Curves:
    """For each group with someone who asked, the share that has a path, at every cost."""

    groups: list[int]
    costs: Values
    """(m,) every cost at which a curve rises"""
    places: list[NDArray[np.intp]]
    """(m,) for each group, how many of its people have a path of that cost or less"""
    asked: list[int]

    @classmethod
    def of(cls, members: list[_Members]) -> _Curves:
        asking = [code for code, part in enumerate(members) if part.asked]
        costs = np.unique(np.concatenate([part.cost for part in members]))
        places = [np.searchsorted(members[code].cost, costs, side="right") for code in asking]
        return cls(asking, costs, places, [members[code].asked for code in asking])

    def strayed(self, drawn: list[Group]) -> Values:
        """(b,) the furthest that the difference of two resampled curves is from their own."""
        some = slice(None, None, -(-len(self.costs) // GRID) or 1)
        shape = (len(drawn[0].asked), len(self.costs[some]))
        top, bottom = np.full(shape, -np.inf), np.full(shape, np.inf)
        for code, places, asked in zip(self.groups, self.places, self.asked, strict=True):
            group, place = drawn[code], places[some]
            upto = np.concatenate([np.zeros((shape[0], 1)), group.upto], axis=1)[:, place]
            share = np.divide(upto, np.maximum(group.asked, 1.0)[:, None], out=upto)
            share -= place / asked
            share[group.asked == 0] = 0.0  # the draw left the group out
            np.maximum(top, share, out=top)
            np.minimum(bottom, share, out=bottom)
        return np.asarray((top - bottom).max(axis=1, initial=0.0))


def _trade_off(curves: _Curves, strayed: Values) -> Gap:
    """Fair effectiveness-cost trade-off. The paper: eff(A_c, G) should be the same for every
    c, and the largest difference over c (Kolmogorov and Smirnov's) says how far it isn't. Here: c
    goes over the costs of people's nearest paths, so it's the largest `within_budget` gap of all
    budgets. Its interval is the gap ± the distance that 95% of the draws don't stray beyond, over
    all costs and pairs of groups at once; it's cut at 0 and 1.
    """
    if len(curves.groups) < 2 or not curves.costs.size:
        return Gap()
    shares = [place / asked for place, asked in zip(curves.places, curves.asked, strict=True)]
    top, bottom = shares[0], shares[0]
    for share in shares[1:]:
        top, bottom = np.maximum(top, share), np.minimum(bottom, share)
    where = int((top - bottom).argmax())
    gap, there = float((top - bottom)[where]), np.array([share[where] for share in shares])
    off = _percentile(strayed, 1 - 2 * TAIL)
    return Gap(
        lowest=curves.groups[int(there.argmin())],
        highest=curves.groups[len(there) - 1 - int(there[::-1].argmax())],
        gap=gap,
        gap_interval=(max(gap - off, 0.0), min(gap + off, 1.0)),
        at=float(curves.costs[where]),
    )


# ---- people in order, and resampled --------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Members:
    """Where a group stands once people are in order: who has a path, who asked, the others."""

    where: slice
    asked: int
    cost: Values
    steps: Values
    choices: Values


def _members(people: People) -> list[_Members]:
    """Every group, of people in order of group, then of having a path, asking, and cost."""
    reached = people.reached
    cost = np.where(reached, people.cost, np.inf)
    order = np.lexsort((cost, ~people.asked, people.codes))
    ends = np.searchsorted(people.codes[order], np.arange(people.groups + 1))
    parts = []
    for start, end in pairwise(ends.tolist()):
        own = order[start:end]
        first = own[reached[own]]
        parts.append(
            _Members(
                where=slice(start, end),
                asked=int(people.asked[own].sum()),
                cost=people.cost[first],
                steps=people.steps[first],
                choices=people.choices[first],
            )
        )
    return parts


def _weighted(members: _Members, weights: Values, people: People) -> Group:
    """A group under weights (b, n) of people in order."""
    own = weights[:, members.where]
    first = own[:, : len(members.cost)]
    return Group(
        people=own.sum(axis=1),
        asked=own[:, : members.asked].sum(axis=1),
        weights=first,
        upto=first.cumsum(axis=1),
        cost=members.cost,
        steps=members.steps,
        choices=members.choices,
        budget=people.budget,
        effectiveness=people.effectiveness,
    )


def _resampled(n: int, samples: int, rng: np.random.Generator) -> Iterator[Values]:
    """Weights (b, n), in tiles: how often each person is drawn."""
    rows = max(1, TILE // max(n, 1))
    for done in range(0, samples, rows):
        b = min(rows, samples - done)
        drawn = rng.integers(n, size=(b, n)) if n else np.empty((b, 0), dtype=np.int64)
        drawn += np.arange(b)[:, None] * n
        yield np.bincount(drawn.ravel(), minlength=b * n).reshape(b, n).astype(np.float64)


def _ratio(over: Values, under: Values) -> Values:
    """`over / under`, NaN where `under` is 0."""
    result = np.full(over.shape, np.nan)
    np.divide(over, under, out=result, where=under > 0)
    return result
