"""Amounts: as small as will do, round where the answer stays a yes, larger where it has to be."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.methods.step import sizes
from stepladder.methods.step.cost import Cost
from stepladder.methods.step.judge import Judge
from stepladder.model.scorer import Scorer
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible

FRAME = pd.DataFrame(np.random.default_rng(0).uniform(0, 100, (500, 2)), columns=["a", "b"])
SPACE = sl.Space.fit(sl.Schema([sl.Numeric("a"), sl.Numeric("b")]), FRAME)


def judge_of(accepts, *, start=(0.0, 0.0), slack=0.0, space=SPACE) -> Judge:
    cost = Cost("effort", Effort.learned(space, space.read(FRAME)), np.ones(space.width))

    def model(rows):
        return np.asarray(accepts(rows["a"], rows["b"]), dtype=float)

    own = Feasible.around(space, np.array([start], dtype=float))
    return Judge(own, Scorer(model, space, sl.Goal(0.5)), cost, slack)


def ends_of(judge: Judge, *rows):
    return judge.ends(np.zeros(len(rows), dtype=np.intp), np.array(rows, dtype=float))


@pytest.mark.parametrize("slack", [0.0, 0.1])
@pytest.mark.parametrize("line", [7.0, 23.0, 61.3])
def test_a_single_change_is_about_as_small_as_will_do(line, slack):
    judge = judge_of(lambda a, b: a >= line, slack=slack)
    (row,) = sizes.eased(judge, ends_of(judge, [95, 0])).rows
    least = line / (1 - slack)
    assert least - 1e-9 <= row[0] <= least + 95 / 5**sizes.LEVELS
    assert row[1] == 0


def test_no_change_becomes_smaller_than_anybody_would_notice():
    judge = judge_of(lambda a, b: a > 0)
    (row,) = sizes.eased(judge, ends_of(judge, [50, 0])).rows
    assert row[0] == pytest.approx(judge.noticed[0])


def test_of_several_changes_each_is_cut_alone_and_what_is_not_needed_goes():
    judge = judge_of(lambda a, b: (a >= 20) & (b >= 10) | (b >= 60))
    (row,) = sizes.eased(judge, ends_of(judge, [25, 50])).rows
    assert 20 <= row[0] <= 25
    assert 10 <= row[1] <= 25
    (alone,) = sizes.eased(judge, ends_of(judge, [25, 90])).rows
    assert alone[0] == 0
    assert 60 <= alone[1] <= 62


def test_what_is_cut_never_costs_more_and_stays_a_yes_with_slack():
    rng = np.random.default_rng(1)

    def accepts(a, b):
        return (a * 0.6 + b * 0.4 + 9 * np.sin(a / 5)) >= 40

    judge = judge_of(accepts, slack=0.1)
    tried = ends_of(judge, *rng.uniform(20, 100, (80, 2)))
    tried = tried.take(judge.yes(tried.person, tried.rows))
    assert len(tried) > 20
    eased = sizes.eased(judge, tried)
    assert (eased.cost <= tried.cost).all()
    assert judge.yes(eased.person, eased.rows).all()
    assert eased.cost.mean() < 0.9 * tried.cost.mean()
    np.testing.assert_allclose(
        eased.cost, judge.cost.of(judge.feasible.take(eased.person), eased.rows)
    )


@pytest.mark.parametrize(
    ("start", "end", "line", "expected"),
    [
        (0.0, 61.37, 61.3, 62.0),  # to a tenth of its power of ten, further from the start
        (50.0, 88.61, 88.0, 90.0),  # or to a half of it, where that isn't much further
        (90.0, 61.37, 61.4, 60.0),
        (0.0, 99.0, 98.9, 100.0),
        (3.17, 61.37, 61.3, 62.0),  # the value is round, not the change
    ],
)
def test_amounts_are_round(start, end, line, expected):
    judge = judge_of(lambda a, b: a >= line if end > start else a <= line, start=(start, 0.0))
    (row,) = sizes.rounded(judge, ends_of(judge, [end, 0])).rows
    assert row[0] == pytest.approx(expected)


def test_a_number_is_no_rounder_than_a_yes_allows():
    judge = judge_of(lambda a, b: (a >= 61.3) & (a <= 61.9))
    (row,) = sizes.rounded(judge, ends_of(judge, [61.37, 0])).rows
    assert row[0] == pytest.approx(61.5)
    narrow = judge_of(lambda a, b: (a >= 61.3) & (a <= 61.38))
    (row,) = sizes.rounded(narrow, ends_of(narrow, [61.37, 0])).rows
    assert row[0] == 61.37


def test_amounts_of_results_are_round():
    changes = bank.fitted().recourse(bank.REJECTED).changes
    income = changes[changes["feature"] == "income"]["after"].astype(int)
    assert (income % 50 == 0).mean() > 0.7
    savings = changes[changes["feature"] == "savings"]["after"].astype(float)
    assert (np.abs(savings - savings.round(2)) < 1e-9).mean() > 0.7


def test_larger_amounts_are_a_yes_with_slack_and_go_no_further_than_others_have():
    judge = judge_of(lambda a, b: a >= 50, slack=0.1)
    found = sizes.larger(judge, ends_of(judge, [50, 0], [90, 0]))
    assert judge.yes(found.person, found.rows).all()
    assert set(found.rows[:, 0].round(6)) >= {62.5, 75.0}
    assert found.rows[:, 0].max() <= FRAME["a"].max()
    assert 55.0 not in found.rows[:, 0].round(6)  # 49.5, a tenth short of it
