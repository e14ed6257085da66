"""Of many ends a few: the easiest, the one of fewest things, and others that really differ."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.methods.step.chosen import APART, choose


def chosen(ends, count, *, near=None, by_sets=True):
    """Which of some ends are chosen; an end is its cost, and by how much it changes what."""
    cost = np.array([cost for cost, _ in ends], dtype=float)
    features = sorted({name for _, changes in ends for name in changes})
    amounts = np.array([[changes.get(name, 0.0) for name in features] for _, changes in ends])
    close = np.ones(len(ends), dtype=bool) if near is None else np.array(near)
    levels = np.zeros(len(features), dtype=bool)
    one = cost[None], close[None], amounts[None] != 0, amounts[None]
    found = choose(*one, levels, count, by_sets=by_sets)
    return np.flatnonzero(found[0]).tolist()


def test_the_easiest_comes_first_and_alone_if_one_is_asked_for():
    ends = [(1.0, {"a": 1, "b": 1}), (1.1, {"c": 1}), (1.2, {"a": 2})]
    assert chosen(ends, 1) == [0]
    assert chosen(ends, 3) == [0, 1, 2]


def test_the_one_of_fewest_things_is_among_them():
    ends = [
        (1.0, {"a": 1, "b": 1}),
        (1.1, {"a": 1, "c": 1}),
        (1.2, {"b": 1, "c": 1}),
        (2, {"a": 3}),
    ]
    assert 3 in chosen(ends, 2)
    assert 3 not in chosen(ends, 2, near=[True, True, True, False])  # it would cost too much


def test_one_that_shares_no_feature_goes_before_cheaper_ones():
    ends = [(1.0, {"a": 1}), (1.1, {"a": 1, "b": 1}), (1.2, {"a": 1, "c": 1}), (1.9, {"d": 1})]
    assert chosen(ends, 2) == [0, 3]
    far = [*ends[:3], (APART + 0.1, {"d": 1})]
    assert chosen(far, 2, near=[True, True, True, False]) == [0, 1]


def test_sets_neither_of_which_holds_the_other_go_before_other_amounts():
    ends = [(1.0, {"a": 1, "b": 1}), (1.1, {"a": 2, "b": 0.5}), (1.5, {"a": 1, "c": 1})]
    assert chosen(ends, 2) == [0, 2]


def test_by_distance_other_amounts_are_as_good():
    ends = [(1.0, {"a": 1, "b": 1}), (1.1, {"a": 2, "b": 0.5}), (1.5, {"a": 1, "c": 1})]
    assert chosen(ends, 2, by_sets=False) == [0, 1]


def test_what_hardly_differs_fills_up_the_cheapest_first():
    ends = [(1.0, {"a": 1.0}), (1.1, {"a": 1.1}), (1.2, {"a": 1.2}), (1.3, {"a": 1.3})]
    assert chosen(ends, 3) == [0, 1, 2]
    assert chosen(ends[:2], 3) == [0, 1]


@pytest.mark.parametrize("cost", ["effort", "distance"])
def test_paths_come_in_the_order_of_their_cost(cost):
    final = bank.fitted(paths=5, cost=cost).recourse(bank.REJECTED).final
    assert (final["outcome"] == "reached").all()
    for _, mine in final.groupby("person"):
        assert (np.diff(mine[cost]) >= -1e-12).all()


def test_choices_differ_and_have_the_easiest_and_the_one_of_fewest_things():
    result = bank.fitted(paths=4).recourse(bank.REJECTED)
    several = 0
    for person in bank.REJECTED.index:
        mine = result.final[result.final["person"] == person]
        shown = result.choices(person)
        assert shown["path"].iloc[0] == 0
        assert shown["effort"].min() == mine["effort"].min()
        assert shown["changes"].min() == mine["changes"].min()
        several += len(shown) > 1
    assert several == len(bank.REJECTED)


def test_most_people_have_two_routes_neither_of_which_holds_the_other():
    result = bank.fitted(paths=3).recourse(bank.REJECTED)
    apart = 0
    for _, mine in result.changes.groupby("person"):
        sets = [set(own["feature"]) for _, own in mine.groupby("path")]
        apart += any(not (a <= b or b <= a) for a in sets for b in sets)
    assert apart >= 0.9 * len(bank.REJECTED)


def test_somebody_with_a_single_thing_to_change_has_other_amounts_of_it():
    schema = sl.Schema(
        [sl.Numeric("income", bounds=(0, None), integer=True)]
        + [f.but(change="never") for f in bank.SCHEMA.features if f.name != "income"]
    )
    schema = sl.Schema([schema[name] for name in bank.SCHEMA.names])
    step = sl.StEP(paths=3).fit(bank.TRAIN, bank.score, schema=schema, goal=bank.GOAL)
    final = step.recourse(bank.REJECTED).final
    reached = final[final["outcome"] == "reached"]
    assert (reached.groupby("person")["income"].nunique() == 3).mean() > 0.8
