"""Fair recourse: how far groups of people lie apart, and how sure that is.

A gap is the difference between the two groups furthest apart, with an interval. Six of the gaps
are those of the notions of fair recourse of Kavouras et al., "Fairness Aware Counterfactuals for
Subgroups" (FACTS, NeurIPS 2023). There, a common set of actions A is applied to everyone in a
subgroup G of people who were turned down, eff(A, G) is the share of G for whom some action leads to
a yes, and two protected groups are compared inside each subgroup. Here nobody shares actions: a
person is offered paths of their own, and what recourse costs them is the distance of the nearest
one that reaches the goal. So "an action in A works for x" becomes "a path of x reaches the goal"
(the paper's micro view; its macro view, one action for all of a group, has no counterpart), and
crossed groups are compared with one another. Each measure says what its notion turns into.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.metrics import intervals
from stepladder.metrics.groups import MEASURES, by_group
from stepladder.metrics.intervals import UNKNOWN, Counts, Interval
from stepladder.metrics.members import Group, People, Values, drawn_again, once

GRID = 512
"""Costs at which the `trade_off` curves of people drawn again are compared; the curves themselves
at all."""

NOTIONS = {
    "equal_effectiveness": "success",
    "equal_choice_for_recourse": "choice",
    "equal_effectiveness_within_budget": "within_budget",
    "equal_cost_of_effectiveness": "cost_of_effectiveness",
    "fair_effectiveness_cost_trade_off": "trade_off",
    "equal_conditional_mean_recourse": "mean_cost",
}
"""The paper's six notions of fair recourse, and the gap that says how far each is from holding."""


@dataclass(frozen=True, eq=False)
class Measured:
    """One measure of each group, (g,), with the ends of its interval; NaN where there's none."""

    value: Values
    low: Values
    high: Values


@dataclass(frozen=True)
class Gap:
    """The difference between the two groups furthest apart, and their ratio, with intervals.

    `ratio` is the smaller value over the larger. With fewer than two groups to compare, all
    values are NaN; where these are alike, the gap is 0 and no group is named. Intervals
    are NaN where a group says nothing of how sure its value is, such as one of one person.
    """

    lowest: int | None = None
    highest: int | None = None
    gap: float = np.nan
    gap_interval: Interval = UNKNOWN
    ratio: float = np.nan
    ratio_interval: Interval = UNKNOWN
    at: float = np.nan
    """the cost at which the groups lie furthest apart (`trade_off` only)"""
    compared: int = 0
    """how many groups"""
    small: bool = False
    """whether any of them has too few people for such a value"""


@dataclass(frozen=True, eq=False)
class Comparison:
    """What groups are offered, and how far they lie apart."""

    counts: dict[str, Counts]
    """(g,) how many "people" there are, how many "asked", and how many "reached" """
    measured: dict[str, Measured]
    """of every measure, by its name"""
    gaps: dict[str, list[Gap]]
    """of every measure and of `trade_off`: the gap among the groups that aren't small, if there are
    two of these and others too, and the gap among all"""


def compare(
    people: People,
    rng: np.random.Generator,
    samples: int = 1000,
    smallest: int = 1,
) -> Comparison:
    """Every measure of each group, and its gaps.

    A group is small where a measure rests on fewer than `smallest` of its people. Intervals of
    shares follow from how many people they are shares of. For the others, of n people n are drawn
    with replacement, `samples` times: O(samples · n) time, in tiles. A gap's interval is that of
    the two groups that were furthest apart, signed, so that it holds 0 (for a ratio 1) where they
    may well be alike. Of more than two groups that pair was picked among many, so the interval is
    widened to one that holds for all pairs at once (Bonferroni).
    """
    groups = once(people)
    counts = {
        whom: np.array([getattr(group, whom)[0] for group in groups], dtype=np.int64)
        for whom in ("people", "asked", "reached")
    }
    sets = {whom: _Set.among(count, smallest) for whom, count in counts.items()}
    curves = [_Curves.of(groups, some) for some in sets["asked"]]
    drawn: dict[str, list[Values]] = {n: [] for n, m in MEASURES.items() if not m.is_share}
    strayed: list[list[Values]] = [[] for _ in curves]
    for again in drawn_again(people, rng, samples):
        for name, draws in drawn.items():
            draws.append(np.array([MEASURES[name].of(group) for group in again]))
        for found, curve in zip(strayed, curves, strict=True):
            found.append(curve.strayed(again))
    measured, gaps = {}, {}
    for name, values in by_group(people).items():
        whom = MEASURES[name].over
        measure = (
            _Shares(values, counts[whom])
            if MEASURES[name].is_share
            else _Drawn(values, counts[whom], np.concatenate(drawn[name], axis=-1))
        )
        measured[name] = measure.measured()
        gaps[name] = [_gap(measure, some) for some in sets[whom]]
    gaps["trade_off"] = [
        curve.gap(np.concatenate(found)) for curve, found in zip(curves, strayed, strict=True)
    ]
    return Comparison(counts, measured, gaps)


@dataclass(frozen=True, eq=False)
class _Set:
    """Groups that are compared with one another."""

    groups: NDArray[np.intp]
    small: bool
    """whether any of them is"""

    @classmethod
    def among(cls, counts: Counts, smallest: int) -> list[_Set]:
        """Of groups of `counts` (g,) people: the large ones, if there are others too, and all."""
        every, large = np.flatnonzero(counts), np.flatnonzero(counts >= smallest)
        has_small = len(large) < len(every)
        return [
            *([cls(large, small=False)] if has_small and len(large) > 1 else []),
            cls(every, has_small),
        ]

    def gap(self, **found: Any) -> Gap:
        return Gap(**found, compared=len(self.groups), small=self.small)


# ---- one measure of every group -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Shares:
    """A measure (g,) that is a share of `counts` (g,) people."""

    values: Values
    counts: Counts

    def measured(self) -> Measured:
        return Measured(self.values, *intervals.wilson(self.values, self.counts))

    def sure(self, pair: tuple[int, int], pairs: int) -> tuple[Interval, Interval]:
        """The intervals of the difference and the ratio of two groups, one of `pairs` pairs."""
        both = list(pair)
        lows, highs = intervals.wilson(self.values[both], self.counts[both], pairs)
        known = [(float(p), float(q)) for p, q in (self.values[both], lows, highs)]
        return intervals.difference_of_shares(*known), intervals.ratio_of_shares(*known)


@dataclass(frozen=True, eq=False)
class _Drawn:
    """Any other measure (g,) of `counts` (g,) people, and what people drawn again gave, (g, b)."""

    values: Values
    counts: Counts
    draws: Values

    def measured(self) -> Measured:
        ends = [
            intervals.between(draws, value, count) if intervals.says_something(draws) else UNKNOWN
            for value, count, draws in zip(self.values, self.counts, self.draws, strict=True)
        ]
        low, high = np.reshape(ends, (-1, 2)).T
        return Measured(self.values, np.maximum(low, 0.0), high)  # none of them is ever negative

    def sure(self, pair: tuple[int, int], pairs: int) -> tuple[Interval, Interval]:
        """The intervals of the difference and the ratio of two groups, one of `pairs` pairs."""
        low, high = (self.draws[code] for code in pair)
        if not (intervals.says_something(low) and intervals.says_something(high)):
            return UNKNOWN, UNKNOWN
        values = [self.values[code] for code in pair]
        count = int(self.counts[list(pair)].min())
        gap = intervals.between(_apart(low, high), float(_apart(*values)), count, pairs)
        # a ratio is stretched on the scale of its logarithm
        with np.errstate(divide="ignore", over="ignore"):
            centre = float(np.log(_relation(*values)))
            ratio = np.exp(intervals.between(np.log(_relation(low, high)), centre, count, pairs))
        return gap, (float(ratio[0]), float(ratio[1]))


def _gap(measure: _Shares | _Drawn, among: _Set) -> Gap:
    """The gap among some groups."""
    kept, values = among.groups, measure.values
    if kept.size < 2 or np.isnan(values[kept]).any():
        return among.gap()
    lowest = int(kept[values[kept].argmin()])
    highest = int(kept[::-1][values[kept][::-1].argmax()])  # where all are equal, another one
    alike = intervals.same(values[lowest], values[highest])
    pairs = kept.size * (kept.size - 1) // 2
    gap_interval, ratio_interval = measure.sure((lowest, highest), pairs)
    return among.gap(
        lowest=None if alike else lowest,
        highest=None if alike else highest,
        gap=0.0 if alike else float(values[highest] - values[lowest]),
        gap_interval=gap_interval,
        ratio=1.0 if alike else float(values[lowest] / values[highest]),
        ratio_interval=ratio_interval,
    )


def _apart(low: Values, high: Values) -> Values:
    """The difference; 0 for equals, even if both are infinite."""
    with np.errstate(invalid="ignore"):
        return np.where(low == high, 0.0, high - low)


def _relation(low: Values, high: Values) -> Values:
    """The ratio; 1 for equals, even if both are 0 or infinite."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(low == high, 1.0, low / high)


# ---- the trade-off between effectiveness and cost ------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Curves:
    """For some groups: the share that has a path, at every cost."""

    among: _Set
    costs: Values
    """(m,) every cost at which a curve rises"""
    counts: list[NDArray[np.intp]]
    """(m,) for each group, how many of its people have a path of that cost or less"""
    shares: list[Values]
    """(m,) for each group, that as a share of those who asked"""

    @classmethod
    def of(cls, groups: list[Group], among: _Set) -> _Curves:
        kept = [groups[code] for code in among.groups]
        costs = np.unique(np.concatenate([np.empty(0), *(group.cost for group in kept)]))
        counts = [np.searchsorted(group.cost, costs, side="right") for group in kept]
        shares = [count / group.asked[0] for group, count in zip(kept, counts, strict=True)]
        return cls(among, costs, counts, shares)

    @property
    def can_differ(self) -> bool:
        return len(self.shares) > 1 and self.costs.size > 0

    def strayed(self, drawn: list[Group]) -> Values:
        """(b,) the furthest that the difference of two curves drawn again is from their own."""
        if not self.can_differ:
            return np.empty(0)
        some = slice(None, None, -(-len(self.costs) // GRID))
        shape = (len(drawn[0].asked), len(self.costs[some]))
        top, bottom = np.full(shape, -np.inf), np.full(shape, np.inf)
        for code, counts, own in zip(self.among.groups, self.counts, self.shares, strict=True):
            group = drawn[code]
            upto = np.concatenate([np.zeros((shape[0], 1)), group.upto], axis=1)[:, counts[some]]
            share = np.divide(upto, np.maximum(group.asked, 1.0)[:, None], out=upto)
            share -= own[some]
            share[group.asked == 0] = 0.0  # the draw left the group out
            np.maximum(top, share, out=top)
            np.minimum(bottom, share, out=bottom)
        return np.asarray((top - bottom).max(axis=1))

    def gap(self, strayed: Values) -> Gap:
        """Fair effectiveness-cost trade-off. The paper: eff(A_c, G) should be the same for every
        c, and the largest difference over c (Kolmogorov and Smirnov's) says how far it isn't. Here:
        c goes over the costs of people's nearest paths, so it's the largest `within_budget` gap of
        all budgets. Its interval is the gap ± the distance that 95% of the draws don't stray
        beyond, over all costs and pairs of groups at once; it's cut at 0 and 1.
        """
        if not self.can_differ:
            return self.among.gap()
        shares = np.array(self.shares)
        apart = shares.max(axis=0) - shares.min(axis=0)
        where = int(apart.argmax())
        gap, there = float(apart[where]), shares[:, where]
        first, last = int(there.argmin()), len(there) - 1 - int(there[::-1].argmax())
        # a curve that rises only once, from nobody to everyone, is the same in every draw
        is_known = all(((shares[i] > 0) & (shares[i] < 1)).any() for i in (first, last))
        off = intervals.percentile(strayed, 1 - 2 * intervals.TAIL)
        return self.among.gap(
            lowest=int(self.among.groups[first]) if gap else None,
            highest=int(self.among.groups[last]) if gap else None,
            gap=gap,
            gap_interval=(max(gap - off, 0.0), min(gap + off, 1.0)) if is_known else UNKNOWN,
            at=float(self.costs[where]) if gap else np.nan,
        )
