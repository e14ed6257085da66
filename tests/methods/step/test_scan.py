"""Single changes are all tried, on values that are nobody's own; sets by what they earn."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank
from tests.methods.step.advice import has_slack

import stepladder as sl
from stepladder.methods.step import scan
from stepladder.methods.step.cost import Cost
from stepladder.methods.step.judge import Judge
from stepladder.methods.step.scan import Fronts, Scanned
from stepladder.model.scorer import Scorer
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible

# ---- the values that are tried ----------------------------------------------------------------


@pytest.mark.parametrize("core", [True, False])
@pytest.mark.parametrize("rows", [61, 180, 181, 400, 1000])
def test_values_of_a_continuous_column_are_nobodys_own(rows, core):
    frame = pd.DataFrame({"a": np.random.default_rng(rows).normal(size=rows)})
    space = sl.Space.fit(sl.Schema([sl.Numeric("a")]), frame)
    known = space.read(frame)
    (values,) = Scanned.of(space, known, 60 if not core else 20, core=core).values
    assert len(values) >= 10
    assert not np.isin(values, known).any()
    assert known.min() <= values.min()
    assert values.max() <= known.max()


def test_values_are_spread_over_rows_and_over_different_values():
    """Nine in ten have nothing: what the others have is tried all the same."""
    gains = np.where(np.arange(1000) < 900, 0.0, np.arange(1000) * 7.3)
    frame = pd.DataFrame({"gain": gains})
    space = sl.Space.fit(sl.Schema([sl.Numeric("gain")]), frame)
    (values,) = Scanned.of(space, space.read(frame), scan.VALUES, core=True).values
    assert 0.0 in values
    assert (values > 0).sum() >= 8


def test_the_first_values_lie_within_the_core_and_more_of_them_beyond():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=2000)})
    space = sl.Space.fit(sl.Schema([sl.Numeric("a")]), frame)
    low, high = np.percentile(frame["a"], [2, 98])
    first, more = (
        Scanned.of(space, space.read(frame), count, core=core).values[0]
        for count, core in ((scan.VALUES, True), (scan.MORE, False))
    )
    assert low <= first.min()
    assert first.max() <= high
    assert more.min() < low
    assert more.max() > high


def test_few_values_levels_and_whole_numbers_are_tried_as_they_are():
    schema = sl.Schema(
        [
            sl.Numeric("children", integer=True),
            sl.Categorical("job", levels=["clerk", "nurse", "smith"]),
            sl.Numeric("age", change="never"),
            sl.Numeric("income", multiple=50),
        ]
    )
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "children": rng.integers(0, 5, 300),
            "job": rng.choice(["clerk", "smith"], 300),
            "age": rng.uniform(20, 60, 300),
            "income": rng.uniform(1000, 9000, 300),
        }
    )
    space = sl.Space.fit(schema, frame)
    children, job, age, income = Scanned.of(space, space.read(frame), 20, core=True).values
    assert children.tolist() == [0, 1, 2, 3, 4]
    assert job.tolist() == [0, 2]  # levels that somebody has
    assert age.tolist() == []
    assert (income % 50 == 0).all()


# ---- single changes ---------------------------------------------------------------------------


def single_changes(step: sl.StEP, person: pd.Series, says_yes) -> set[str]:
    """What is enough alone, with slack, by brute force over a hundred values of each feature."""
    names, enough = list(bank.SCHEMA.names), set()
    for feature in bank.SCHEMA.features:
        values = (
            np.linspace(*np.percentile(bank.TRAIN[feature.name], [2, 98]), 100)
            if feature.kind == "numeric"
            else np.array(feature.levels)
        )
        rows = pd.DataFrame([person[names]] * len(values)).astype(bank.TRAIN.dtypes)
        if feature.kind == "numeric" and feature.integer:
            values = np.rint(values).astype(int)
        rows[feature.name] = values
        rows.index = range(len(rows))
        rows = rows.astype(bank.TRAIN.dtypes)
        today = person[names].to_frame().T.astype(bank.TRAIN.dtypes)
        own = sl.Feasible.of(step.space_, today)
        far = (
            np.abs(values - person[feature.name]) > 0.05 * bank.TRAIN[feature.name].std(ddof=0)
            if feature.kind == "numeric"
            else np.ones(len(values), dtype=bool)
        )
        for i in np.flatnonzero(says_yes(rows) & far):
            kept = own.check(rows.iloc[[i]]) == []
            if kept and has_slack(bank.SCHEMA, says_yes, today, rows.iloc[[i]]):
                enough.add(feature.name)
                break
    return enough


def in_stairs(frame: pd.DataFrame) -> np.ndarray:
    """The bank's scores as a tree has them."""
    return np.floor(bank.score(frame) * 12) / 12


@pytest.mark.parametrize("model", [bank.score, in_stairs], ids=["smooth", "stairs"])
def test_every_single_change_that_brute_force_finds_is_offered_as_one(model):
    def says_yes(frame):
        return model(frame) >= bank.GOAL.threshold

    step = sl.StEP(paths=12).fit(bank.TRAIN, model, schema=bank.SCHEMA, goal=bank.GOAL)
    people = bank.PEOPLE[~says_yes(bank.PEOPLE)].head(20)
    result = step.recourse(people)
    alone = result.final[result.final["changes"] == 1][["person", "path"]]
    offered = result.changes.merge(alone)
    found = 0
    for person, row in people.iterrows():
        enough = single_changes(step, row, says_yes)
        mine = set(offered[offered["person"] == person]["feature"])
        assert enough <= mine, (person, enough, mine)
        found += len(enough)
    assert found > 10


def test_with_three_paths_whoever_needs_a_single_change_is_offered_one():
    def says_yes(frame):
        return bank.score(frame) >= bank.GOAL.threshold

    step = bank.fitted()
    final = step.recourse(bank.REJECTED).final
    fewest = final.groupby("person")["changes"].min()
    needs = [bool(single_changes(step, row, says_yes)) for _, row in bank.REJECTED.iterrows()]
    assert 0 < sum(needs) < len(needs)
    assert (fewest[bank.REJECTED.index][needs] == 1).all()


# ---- sets of changes --------------------------------------------------------------------------

NAMES = list("abcd")
FRAME = pd.DataFrame(np.random.default_rng(3).normal(size=(400, 4)), columns=NAMES)
SPACE = sl.Space.fit(sl.Schema([sl.Numeric(name) for name in NAMES]), FRAME)


def logistic(weights):
    return lambda rows: 1 / (1 + np.exp(-(rows[NAMES].to_numpy() @ np.array(weights))))


def judged(model, start) -> Judge:
    values = SPACE.read(FRAME)
    cost = Cost("effort", Effort.learned(SPACE, values), np.ones(SPACE.width))
    own = Feasible.around(SPACE, np.array(start, dtype=float))
    return Judge(own, Scorer(model, SPACE, sl.Goal(0.5)), cost, slack=0.0)


def test_what_is_earned_adds_up_in_logits():
    goal = sl.Goal(0.7)
    scores = np.array([0.2, 0.7, 0.95])
    expected = np.log(scores / (1 - scores)) - np.log(0.7 / 0.3)
    assert scan.worth(goal, scores - 0.7) == pytest.approx(expected)
    assert scan.worth(sl.Goal.between(3, None), np.array([-2.0, 1.0])).tolist() == [-2.0, 1.0]


def test_a_front_has_what_earns_more_than_all_that_is_cheaper():
    judge = judged(logistic([2, 0, -1, 0]), [[-1.0, 0.0, 0.0, 0.0]])
    scanned = Scanned.of(SPACE, SPACE.read(FRAME), 20, core=True)
    ones = judge.ends(*scan.singles(judge, scanned))
    today = scan.worth(sl.Goal(0.5), judge.scorer.score(judge.feasible.start) - 0.5)
    fronts = Fronts.of(ones, judge, today)
    a, b, c, d = fronts.gain[0]
    for gain, cost in zip(fronts.gain[0], fronts.cost[0], strict=True):
        known = ~np.isnan(gain)
        assert (np.diff(gain[known]) > 0).all()
        assert (np.diff(cost[known]) >= 0).all()
    assert (~np.isnan(a)).any()
    assert (fronts.values[0, 2][~np.isnan(c)] < 0).all()  # less of c
    assert np.isnan(b).all()
    assert np.isnan(d).all()


@pytest.mark.parametrize("size", [2, 3])
def test_sets_that_should_get_there_do_under_a_model_that_adds_up(size):
    weights = [1.0, 0.9, -0.8, 0.7]
    judge = judged(logistic(weights), [[-2.5, -1.5, 1.5, -1.0], [0.0, -0.6, 0.5, 0.0]])
    scanned = Scanned.of(SPACE, SPACE.read(FRAME), 20, core=True)
    ones = judge.ends(*scan.singles(judge, scanned))
    today = scan.worth(sl.Goal(0.5), judge.scorer.score(judge.feasible.start) - 0.5)
    person, rows = scan.combined(Fronts.of(ones, judge, today), size, -today, judge.feasible.start)
    assert set(person) == {0, 1}
    changes = judge.feasible.take(person).changes(rows)
    assert (changes.sum(axis=1) == size).all()
    earned = rows @ np.array(weights) - judge.feasible.start[person] @ np.array(weights)
    should = earned >= -today[person] - 1e-9
    assert should.any()
    assert (judge.scorer.score(rows[should]) >= 0.5 - 1e-9).all()
    assert (earned[~should] >= scan.NEAR * -today[person[~should]] - 1e-9).all()
    cost = judge.cost.of(judge.feasible.take(person), rows)
    first = ~pd.DataFrame(np.column_stack([person, changes])).duplicated().to_numpy()
    for p in (0, 1):  # the cheapest first of those that should; even ones come once more at the end
        mine = cost[(person == p) & should & first]
        assert (np.diff(mine) >= -1e-12).all()


def test_everything_takes_what_earns_the_most_of_each_feature():
    judge = judged(logistic([1, -1, 0, 0]), [[0.0, 0.0, 0.5, 0.0]])
    scanned = Scanned.of(SPACE, SPACE.read(FRAME), 20, core=True)
    today = scan.worth(sl.Goal(0.5), judge.scorer.score(judge.feasible.start) - 0.5)
    fronts = Fronts.of(judge.ends(*scan.singles(judge, scanned)), judge, today)
    (row,) = scan.everything(fronts, judge.feasible.start)
    assert row[0] == scanned.values[0].max()
    assert row[1] == scanned.values[1].min()
    assert row[2:].tolist() == [0.5, 0.0]


def test_what_is_left_out_of_a_front_is_in_no_set():
    judge = judged(logistic([1, 1, 1, 0]), [[-1.0, -1.0, -1.0, 0.0]])
    scanned = Scanned.of(SPACE, SPACE.read(FRAME), 20, core=True)
    ones = judge.ends(*scan.singles(judge, scanned))
    today = scan.worth(sl.Goal(0.5), judge.scorer.score(judge.feasible.start) - 0.5)
    left_out = np.array([[True, False, False, False]])
    fronts = Fronts.of(ones, judge, today, left_out)
    _, rows = scan.combined(fronts, 2, -today, judge.feasible.start)
    assert len(rows)
    assert (rows[:, 0] == -1.0).all()
