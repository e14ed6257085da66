"""Candidates: single changes, sets of them, and where directions lead."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.methods.base import Question
from stepladder.methods.pace import Pace
from stepladder.methods.step.gathered import Found, Gathering
from stepladder.methods.step.judge import Judge
from stepladder.methods.step.search import Search
from stepladder.table.feasible import Feasible

NAMES = list("abcdef")
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(600, 6)), columns=NAMES)
SCHEMA = sl.Schema([sl.Numeric(name) for name in NAMES])


def found_for(model, person: dict, **settings) -> tuple[Found, Judge]:
    step = sl.StEP(paths=3, **settings).fit(FRAME, model, schema=SCHEMA)
    return asked(step, pd.DataFrame([{**dict.fromkeys(NAMES, 0.0), **person}]))


def asked(step: sl.StEP, people: pd.DataFrame) -> tuple[Found, Judge]:
    own, reference = Feasible.of(step.space_, people), step.reference_
    scores = step.scorer_.score(own.start)
    pace = Pace(len(own), progress=False, time_budget=None)
    question = Question(own, scores, step.scorer_, pace, np.zeros(len(own), dtype=np.intp))
    judge = Judge(own, step.scorer_, reference.advice.cost, step.slack)
    search = Search(step.alpha, step.step_size, step.max_steps)
    return Gathering(judge, question, reference, search).run(), judge


def sets(found: Found, judge: Judge) -> set[str]:
    """What the ends that are any good change, as words of letters."""
    changes = judge.feasible.take(found.good.person).changes(found.good.rows)
    return {"".join(np.array(NAMES)[mine]) for mine in changes}


def all_above(*names: str, line: float = 0.5):
    """Says yes where all of these features are above a line; each helps a little before."""

    def model(rows):
        above = np.stack([rows[name] >= line for name in names]).mean(axis=0)
        return np.where(above == 1, 0.9, 0.1 + 0.3 * above)

    return model


def test_everything_that_is_good_gets_a_yes_with_slack():
    found, judge = asked(bank.fitted(), bank.REJECTED)
    good = found.good
    assert judge.yes(good.person, good.rows).all()
    assert set(good.person) == set(range(len(bank.REJECTED)))
    tight = found.tight
    assert (tight.beyond >= 0).all()
    assert not judge.calm(tight.person, tight.rows).any()
    for ends in (good, tight):
        own = judge.feasible.take(ends.person)
        assert own.keeps(ends.rows).all()
        np.testing.assert_allclose(ends.cost, judge.cost.of(own, ends.rows))


def test_every_single_change_is_found():
    def model(rows):
        return np.where((rows["a"] > 1) | (rows["c"] < -1), 0.9, 0.1)

    assert {"a", "c"} <= sets(*found_for(model, {}))


@pytest.mark.parametrize("names", ["ab", "bdf"])
def test_a_pair_or_a_triple_that_a_yes_takes_is_found(names):
    assert names in sets(*found_for(all_above(*names), {}))


@pytest.mark.parametrize("cost", ["effort", "distance"])
def test_where_more_than_three_things_are_needed_directions_lead_there(cost):
    found = sets(*found_for(all_above(*"abcdef", line=-0.2), dict.fromkeys(NAMES, -1.0), cost=cost))
    assert "abcdef" in found


def test_a_lone_positive_is_found_where_nothing_else_gets_a_yes():
    """No single change helps at all: only the way to one reference row is any good."""
    only = FRAME.iloc[7]

    def model(rows):
        return (np.abs(rows[NAMES] - only).max(axis=1) < 1e-6).to_numpy(float)

    step = sl.StEP(paths=1).fit(FRAME, model, schema=SCHEMA)
    found, _ = asked(step, FRAME.head(1))
    assert len(found.good) == 0
    assert found.tight.rows[0] == pytest.approx(only.to_numpy())


def test_two_sets_neither_of_which_holds_the_other_are_looked_for():
    def model(rows):  # a alone is enough; without it b and c are, or d, e and f
        return np.clip(
            0.1 + 0.5 * (rows["a"] > 0.5) + 0.25 * ((rows["b"] > 0.5) * 1.0 + (rows["c"] > 0.5)),
            0,
            1,
        )

    found = sets(*found_for(model, {}))
    assert {"a", "bc"} <= found


def test_what_is_gathered_for_one_does_not_depend_on_who_else_asks():
    step = bank.fitted()
    together, _ = asked(step, bank.REJECTED)
    for i in range(0, len(bank.REJECTED), 5):
        alone, _ = asked(step, bank.REJECTED.iloc[[i]])
        for mine, theirs in ((alone.good, together.good), (alone.tight, together.tight)):
            own = theirs.take(theirs.person == i)
            ours, others = (
                np.unique(np.column_stack([ends.rows, ends.cost]), axis=0) for ends in (mine, own)
            )
            np.testing.assert_allclose(ours, others, rtol=1e-12)


def test_few_rows_are_asked_about():
    result = bank.fitted().recourse(bank.REJECTED)
    assert result.asked["rows"] <= 1000 * len(bank.REJECTED)
