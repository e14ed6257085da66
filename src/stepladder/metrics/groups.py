"""Recourse by group: what each group of people is offered.

A measure has a value for each group, NaN where it says nothing of it. Five of them serve notions
of fair recourse (`stepladder.metrics.fairness`), and say what the paper has instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from stepladder.metrics.members import Group, People, Values, once

ROUNDING = 1e-9
"""In people: how far a share of a group may be off."""


@dataclass(frozen=True)
class Measure:
    """A measure with its name, whom it rests on, and which way is better."""

    name: str
    of: Callable[[Group], Values]
    """a value (b,) for each weighting of a group"""
    over: str
    """whose number makes it sure: all "people", those who "asked", or those who "reached" """
    is_share: bool
    higher_is_better: bool


MEASURES: dict[str, Measure] = {}
"""Every measure of a group by its name, in the order of a report."""


def _measure(
    over: str, *, is_share: bool = False, higher_is_better: bool = False
) -> Callable[[Callable[[Group], Values]], Measure]:
    def made(of: Callable[[Group], Values]) -> Measure:
        measure = Measure(of.__name__, of, over, is_share, higher_is_better)
        MEASURES[measure.name] = measure
        return measure

    return made


@_measure("people", is_share=True, higher_is_better=True)
def selection_rate(group: Group) -> Values:
    """The share who met the goal already, of everyone."""
    return _ratio(group.people - group.asked, group.people)


@_measure("asked", is_share=True, higher_is_better=True)
def success(group: Group) -> Values:
    """Equal effectiveness. The paper: eff(A, G), the share of G for whom an action in A leads to
    a yes. Here: the share, of those who asked, with a path of their own that reaches the goal."""
    return _ratio(group.reached, group.asked)


@_measure("asked", is_share=True)
def no_recourse(group: Group) -> Values:
    """The share of those who asked that have no path to the goal."""
    return _ratio(group.asked - group.reached, group.asked)


@_measure("reached")
def mean_effort(group: Group) -> Values:
    """The mean effort of the easiest path that reaches, over those who have one; NaN where the
    effort of some of these isn't known."""
    return _ratio(group.weights @ group.effort, group.reached)


@_measure("reached")
def mean_cost(group: Group) -> Values:
    """Equal (conditional) mean recourse. The paper: the mean, over those in G for whom an action
    works, of the cost of the cheapest that does. Here: the mean cost of the nearest path that
    reaches, over those who have one. It's silent on everyone else, and NaN where nobody has one:
    read it beside success. (The paper's unconditional mean adds a large cost for each of them.)"""
    return _ratio(group.weights @ group.cost, group.reached)


@_measure("reached")
def median_cost(group: Group) -> Values:
    """The median cost of the nearest path that reaches, over those who have one."""
    half = group.reached[:, None] / 2
    below, up_to = (group.upto < half).sum(axis=1), (group.upto <= half).sum(axis=1)
    cost = np.append(group.cost, np.nan)
    middle = (cost[below] + cost[np.minimum(up_to, len(group.cost))]) / 2
    return np.where(group.reached > 0, middle, np.nan)


@_measure("reached")
def mean_steps(group: Group) -> Values:
    """The mean number of steps of the nearest path that reaches, over those who have one."""
    return _ratio(group.weights @ group.steps, group.reached)


@_measure("asked", higher_is_better=True)
def choice(group: Group) -> Values:
    """Equal choice for recourse. The paper: how many actions in A work for at least a share φ of
    G. Actions of one's own have no such share, so here: the mean number of different paths that
    reach the goal, over those who asked (none counts as 0)."""
    return _ratio(group.weights @ group.choices, group.asked)


@_measure("asked", is_share=True, higher_is_better=True)
def within_budget(group: Group) -> Values:
    """Equal effectiveness within budget. The paper: eff(A_c, G), where A_c holds the actions of
    cost at most c. Here: the share, of those who asked, with a path of cost at most `budget`."""
    near = int(np.searchsorted(group.cost, group.budget, side="right"))
    return _ratio(group.within(near), group.asked)


@_measure("asked")
def cost_of_effectiveness(group: Group) -> Values:
    """Equal cost of effectiveness. The paper: the smallest c with eff(A_c, G) ≥ φ. Here: the
    smallest cost at which a share `effectiveness` of those who asked has a path; infinite where
    no cost is enough."""
    wanted = group.effectiveness * group.asked[:, None] - ROUNDING
    index = (group.upto < wanted).sum(axis=1)
    return np.where(group.asked > 0, np.append(group.cost, np.inf)[index], np.nan)


def by_group(people: People) -> dict[str, Values]:
    """Every measure's value (groups,) by its name."""
    groups = once(people)
    return {
        name: np.array([measure.of(group)[0] for group in groups], dtype=np.float64)
        for name, measure in MEASURES.items()
    }


def _ratio(over: Values, under: Values) -> Values:
    """`over / under`, NaN where `under` is 0."""
    result = np.full(over.shape, np.nan)
    np.divide(over, under, out=result, where=under > 0)
    return result
