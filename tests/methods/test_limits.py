"""Recourse under limits and locks of single people."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pandas as pd
from hypothesis import given

import stepladder as sl
from stepladder.methods.asked import margins
from stepladder.methods.pace import Pace
from stepladder.methods.step.mixed import climb
from stepladder.methods.step.reference import profiles

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), integer=True),
        sl.Numeric("loan", change="decrease"),
        sl.Ordinal("education", levels=["school", "bachelor", "master"]),
        sl.Categorical("job", levels=["clerk", "smith"]),
        sl.Numeric("age", change="never"),
    ]
)

TRAIN = pd.DataFrame(
    {
        "income": np.arange(120) % 40,
        "loan": (np.arange(120) * 7 % 30).astype(float),
        "education": np.array(["school", "bachelor", "master"])[np.arange(120) * 5 % 3],
        "job": np.array(["clerk", "smith"])[np.arange(120) // 3 % 2],
        "age": 20 + np.arange(120) % 50,
    }
)


def model(rows: pd.DataFrame) -> np.ndarray:
    rung = rows["education"].map({"school": 0, "bachelor": 1, "master": 2}).to_numpy(float)
    total = rows["income"] - rows["loan"] + 5 * rung + 4 * (rows["job"] == "smith") - 22
    return np.asarray(1 / (1 + np.exp(-total / 4)))


STEP = sl.StEP(paths=2).fit(TRAIN, model, schema=SCHEMA, goal=sl.Goal(threshold=0.6))

PEOPLE = TRAIN[model(TRAIN) < 0.6].head(12).set_axis([f"p{i}" for i in range(12)])


def pairs(values: st.SearchStrategy) -> st.SearchStrategy:
    """(low, high), either end open, the lower first."""
    ordered = st.tuples(values, values).map(sorted)
    shown = st.tuples(ordered, st.booleans(), st.booleans())
    return shown.map(lambda p: (None if p[1] else p[0][0], None if p[2] else p[0][1]))


RUNGS = ["school", "bachelor", "master"]

OWN = st.fixed_dictionaries(
    {},
    optional={
        "income": pairs(st.floats(0, 45)),
        "loan": pairs(st.integers(-5, 35)),
        "education": pairs(st.integers(0, 2)).map(
            lambda p: tuple(None if end is None else RUNGS[end] for end in p)
        ),
    },
)


@given(st.dictionaries(st.sampled_from([*PEOPLE.index]), OWN), st.data())
def test_no_row_that_is_returned_breaks_a_limit(limits, data):
    people = PEOPLE.loc[sorted(data.draw(st.sets(st.sampled_from([*PEOPLE.index]), min_size=1)))]
    limits = {person: own for person, own in limits.items() if person in people.index}
    locked = {person: ["job"] for person in limits}
    paths = STEP.recourse(people, limits=limits, locked=locked).paths
    for row in paths.itertuples():
        today = people.loc[row.person]
        if row.person in locked:
            assert row.job == today["job"]
        for feature, (low, high) in limits.get(row.person, {}).items():
            value = getattr(row, feature)
            order = RUNGS.index if feature == "education" else float
            assert value == today[feature] or (
                (low is None or order(value) >= order(low))
                and (high is None or order(value) <= order(high))
            )


def test_somebody_outside_their_limits_has_a_path_into_them():
    person = PEOPLE.iloc[[0]]
    income = person["income"].item()
    limits = {person.index[0]: {"income": (income + 30, None), "loan": (1000, None)}}
    result = STEP.recourse(person, locked=["education", "job"], limits=limits)
    assert result.status["outcome"].tolist() == ["reached"]
    assert (result.final["income"] >= income + 30).all()
    assert set(result.changes["feature"]) == {"income"}


def test_limits_and_locks_of_one_person_are_nobody_elses():
    accepted = TRAIN[model(TRAIN) >= 0.6].head(3).set_axis(["a", "b", "c"])
    people = pd.concat([accepted, PEOPLE])  # people who aren't asked about come first
    free = STEP.recourse(people).final.set_index("person")
    limits = {"p3": {"income": (None, 0), "loan": (30, None)}}
    locked = {"p5": ["income", "loan"]}
    held = STEP.recourse(people, limits=limits, locked=locked).final.set_index("person")
    pd.testing.assert_frame_equal(held.drop(["p3", "p5"]), free.drop(["p3", "p5"]))
    for person in ("p3", "p5"):
        assert not held.loc[person].equals(free.loc[person])


def outside(*lows: float) -> sl.Feasible:
    """The same person, once for each limit that they stand below."""
    people = PEOPLE.iloc[[0] * len(lows)].reset_index(drop=True)
    limits = {i: {"income": (low, None)} for i, low in enumerate(lows)}
    return sl.Feasible.of(STEP.space_, people, limits=limits)


def test_targets_lie_within_the_limits_of_somebody_who_stands_outside_them():
    positives = np.arange(len(STEP.reference_.values))
    person = outside(35).take(np.zeros(len(positives), dtype=np.intp))
    rows = STEP.reference_.projected(person, positives)
    assert person.keeps(rows).all()
    assert (rows[:, 0] == 35).any()


def test_people_who_stand_outside_different_limits_are_asked_about_apart():
    _, profile = profiles(outside(35, 36, 35))
    assert profile[0] == profile[2] != profile[1]


def test_rows_put_together_lie_within_limits_too():
    person = outside(35)
    rows = person.start.copy()
    beyond = margins(person, rows, STEP.scorer_)
    climb(rows, beyond, person, [(0, 34.0)], STEP.scorer_, Pace(1, False, None))
    assert rows[0, 0] == 35


def test_who_is_turned_down_by_their_limits_is_told_on_what():
    limits = {"p0": {"income": (None, 0), "loan": (30, None)}}
    status = STEP.recourse(PEOPLE.head(1), limits=limits, locked=["education", "job"]).status
    assert status["outcome"].tolist() == ["unreachable"]
    assert "give up the rules on" in status["reason"][0]
    assert "income" in status["reason"][0]
