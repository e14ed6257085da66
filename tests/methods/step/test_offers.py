"""What people are offered: good ends first, others only where there are none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.methods.step.cost import Cost
from stepladder.methods.step.gathered import Found
from stepladder.methods.step.judge import Ends, Judge
from stepladder.methods.step.offers import Offers, offered
from stepladder.model.scorer import Scorer
from stepladder.model.successors import Successors
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible

FRAME = pd.DataFrame(np.random.default_rng(0).uniform(0, 100, (500, 2)), columns=["a", "b"])
SPACE = sl.Space.fit(sl.Schema([sl.Numeric("a"), sl.Numeric("b")]), FRAME)


def judge_of(line: float = 30.0, *, slack: float = 0.1, holds=None, later=(), people=1) -> Judge:
    """The judge of people at (0, 0): a or b has to be above the line; `later` are successors'."""

    def above(line):
        def model(rows):
            return 1 / (1 + np.exp(line - np.maximum(rows["a"], rows["b"]).to_numpy()))

        return model

    cost = Cost("effort", Effort.learned(SPACE, SPACE.read(FRAME)), np.ones(SPACE.width))
    goal = sl.Goal(0.5)
    successors = Successors.of([above(at) for at in later], SPACE, goal) if later else None
    own = Feasible.around(SPACE, np.zeros((people, 2)))
    return Judge(own, Scorer(above(line), SPACE, goal), cost, slack, holds, successors)


def ends(judge: Judge, rows, person=None) -> Ends:
    whose = np.zeros(len(rows), dtype=np.intp) if person is None else np.array(person)
    return judge.ends(whose, np.array(rows, dtype=float).reshape(-1, 2))


def offers(judge: Judge, *, good=(), unsure=(), tight=(), slots=3) -> Offers:
    return offered(judge, Found(*(ends(judge, rows) for rows in (good, unsure, tight))), slots)


def test_tight_ends_are_for_people_without_others():
    judge = judge_of()
    both = offers(judge, good=[[60, 0], [0, 70]], tight=[[30, 0], [0, 30]])
    assert not both.tight.any()
    assert (both.ends.rows.max(axis=1) >= 30 / 0.9 - 1e-6).all()
    only = offers(judge, tight=[[30, 0], [0, 30]])
    assert only.tight.all()
    assert sorted(only.ends.rows.tolist()) == [[0, 30], [30, 0]]
    assert not only.unsure.any()


def test_each_persons_ends_come_by_cost_and_are_theirs():
    judge = judge_of(people=2)
    good = ends(judge, [[60, 0], [0, 70], [0, 50]], [0, 0, 1])
    tight = ends(judge, [[30, 0], [31, 0]], [0, 1])
    found = offered(judge, Found(good, judge.nothing(), tight), 3)
    assert found.ends.person.tolist() == [0, 0, 0, 1, 1, 1]
    assert not found.tight.any()
    for person in (0, 1):
        assert (np.diff(found.ends.cost[found.ends.person == person]) >= 0).all()
        rows = found.ends.rows[found.ends.person == person]
        assert len(np.unique(rows, axis=0)) == 3


def test_amounts_are_pared_down_before_ends_are_offered():
    found = offers(judge_of(), good=[[95, 0]], slots=1)
    assert 30 / 0.9 - 1e-6 <= found.ends.rows[0, 0] <= 36


@pytest.mark.parametrize("slots", [1, 2, 3, 5])
def test_slots_left_over_are_filled_with_what_costs_no_less(slots):
    judge = judge_of()
    found = offers(judge, good=[[60, 0]], slots=slots)
    assert len(found.ends) == min(slots, 5)
    assert judge.yes(found.ends.person, found.ends.rows).all()
    assert found.ends.cost.argmin() == 0


def test_a_slot_is_filled_with_a_cheaper_end_before_it_stays_empty():
    """Rounded, the easiest end is the dearest that there is."""

    def model(rows):
        return ((rows["a"] >= 30) & (rows["a"] <= 34)).to_numpy(float)

    judge = judge_of()
    judge = Judge(judge.feasible, Scorer(model, SPACE, sl.Goal(0.5)), judge.cost, 0.1)
    found = offers(judge, good=[[33.35, 0], [33.6, 0]], slots=2)
    assert len(found.ends) == 2
    assert (np.diff(found.ends.cost) > 0).all()


def test_what_does_not_hold_is_for_people_to_whom_nothing_does_the_surest_of_it():
    later = [float(line) for line in np.linspace(20, 60, 24)]
    judge = judge_of(holds=0.9, later=later)
    rows = [[40, 0], [50, 0], [45, 0], [42, 0], [0, 41]]
    found = offers(judge, unsure=rows, slots=3)
    assert found.unsure.all()
    assert not found.tight.any()
    assert found.ends.rows.max(axis=1).tolist() == [42, 45, 50]  # by cost; the surest three
    some = offers(judge, good=[[80, 0]], unsure=rows, slots=3)
    assert not some.unsure.any()
    assert judge.sure(some.ends.rows).all()


def test_a_tight_end_that_has_to_hold_is_unsure_too():
    judge = judge_of(holds=0.9, later=[20.0] * 8)
    found = offers(judge, tight=[[30, 0]], slots=3)
    assert found.tight.tolist() == found.unsure.tolist() == [True]


def test_near_the_end_of_what_others_have_a_slot_holds_a_little_more():
    judge = judge_of(85.0)
    found = offers(judge, good=[[97, 0]], slots=4)
    assert len(found.ends) == 4
    assert found.ends.rows[:, 0].max() <= FRAME["a"].max()
