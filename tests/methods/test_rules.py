"""Every rule that a schema, a goal, a method or a person can have, alone and mixed.

Promises 1 and 2 over random problems: whatever is returned keeps every rule, and whoever could
become a positive gets there. Both are held against rules written out by hand in `cases.py`.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.methods.cases import Case, differ
from tests.methods.ruled import ruled_cases
from tests.methods.step.advice import has_slack
from tests.methods.test_completeness import Paths, each_path, methods

import stepladder as sl
from stepladder.errors import TableWarning
from stepladder.methods.step import targets

UNASKED = ("invalid_row", "missing_value")


def fitted(case: Case, step: sl.StEP) -> sl.StEP:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # some columns are off their formulas
        return step.fit(case.reference, case.model, schema=case.schema, goal=case.goal)


def asked(case: Case, step: sl.StEP) -> sl.Recourse:
    return step.recourse(case.people, locked=case.locked, limits=case.limits)


def own_rules(case: Case, person: int) -> dict[str, Any]:
    """What one person has locked, and their limits, as the library takes it."""
    locked = case.locked.get(person, ()) if isinstance(case.locked, dict) else case.locked
    return {"locked": locked, "limits": {person: case.limits.get(person, {})}}


def valid_people(case: Case) -> list[int]:
    return [i for i in range(len(case.people)) if i not in case.invalid]


def assert_every_row_keeps_every_rule(case: Case, result: sl.Recourse, paths: Paths) -> None:
    rows = result.paths[list(case.schema.names)]
    for person in valid_people(case):
        mine = rows[(result.paths["person"] == person).to_numpy()]
        assert case.broken_rules(person, mine) == []
        own = case.people.iloc[[person]]
        feasible = sl.Feasible.of(result.space, own, **own_rules(case, person))
        assert feasible.check(mine) == []
    for (person, _), mine in paths.items():
        if person not in case.invalid:
            assert case.broken_steps(person, rows.iloc[mine]) == []


def assert_scores_and_ends_are_true(case: Case, result: sl.Recourse, paths: Paths) -> None:
    rows = result.paths[list(case.schema.names)]
    ends = result.final.set_index(["person", "path"])
    for person in valid_people(case):
        places = np.flatnonzero((result.paths["person"] == person).to_numpy())
        np.testing.assert_array_equal(
            result.paths["score"].iloc[places], case.model(rows.iloc[places])
        )
    for (person, path), mine in paths.items():
        end, own = ends.loc[(person, path)], rows.iloc[mine]
        if person in case.invalid:
            assert end["outcome"] == "invalid_row"
            assert len(own) == 1
            continue
        pd.testing.assert_frame_equal(
            own.head(1).reset_index(drop=True), case.people.iloc[[person]].reset_index(drop=True)
        )
        yes = case.met(own) & case.passes(own, case.today(person, len(own)))
        assert yes[-1] == (end["outcome"] in ("reached", "already_positive")), end
        assert end["steps"] == len(own) - 1
        assert end["score"] == result.paths["score"].iloc[mine.stop - 1]
        assert end["months"] == case.months(person, own.tail(1))[0]
        pd.testing.assert_frame_equal(
            own.tail(1).reset_index(drop=True),
            result.final[
                (result.final["person"] == person) & (result.final["path"] == path)
            ].reset_index(drop=True)[list(case.schema.names)],
        )


def assert_changes_are_those_of_the_ends(case: Case, result: sl.Recourse, paths: Paths) -> None:
    rows, changes = result.paths[list(case.schema.names)], result.changes
    for (person, path), mine in paths.items():
        if person in case.invalid:
            continue
        told = changes[(changes["person"] == person) & (changes["path"] == path)]
        end = rows.iloc[[mine.stop - 1]]
        moved = {name for name, which in case.changed(person, end).items() if which[0]}
        assert sorted(told["feature"]) == sorted(moved)
        for _, row in told.iterrows():
            for side, frame in (("before", case.people.iloc[[person]]), ("after", end)):
                cell = frame[row["feature"]].iloc[0]
                assert row[side] == cell or (pd.isna(row[side]) and pd.isna(cell))


def assert_nothing_is_undone(case: Case, result: sl.Recourse, paths: Paths) -> None:
    """On a path to the goal each thing goes one way, or on a chain of levels to none of them twice.

    No step is empty.
    """
    ends = result.final.set_index(["person", "path"])["outcome"]
    for key, mine in paths.items():
        if ends.loc[key] != "reached":
            continue
        moved = np.zeros(mine.stop - mine.start - 1, dtype=bool)
        for feature in case.schema.features:
            places = case.ranked(feature.name, result.paths[feature.name].iloc[mine])
            own = np.diff(places)
            changes = differ(places[1:], places[:-1])
            moved |= changes
            if feature.kind == "derived" or feature.change == "time":
                continue
            visited = places[np.append(True, changes)]
            assert len(np.unique(visited)) == len(visited), (feature.name, places)
            if feature.kind == "numeric" or not (feature.moves or feature.not_to):
                assert not ((own > 0).any() and (own < 0).any()), (feature.name, places)
        assert moved.all(), "a step changes nothing"


def assert_ends_have_slack(case: Case, step: sl.StEP, result: sl.Recourse) -> None:
    """But for those that are marked as tight; what follows is worked out anew."""
    ends = result.final[(result.final["outcome"] == "reached") & ~result.final["tight"]]
    for i, person in enumerate(ends["person"]):

        def says_yes(rows: pd.DataFrame, person: int = person) -> np.ndarray:
            done = case.completed(person, rows)
            return case.met(done) & case.passes(done, case.today(person, len(done)))

        today, end = case.people.iloc[[person]], ends.iloc[[i]]
        assert has_slack(case.schema, says_yes, today, end, step.slack), end.T


def assert_complete(case: Case, step: sl.StEP, result: sl.Recourse) -> None:
    """Whoever has a reachable positive gets there, and whoever hasn't is told why."""
    status = result.status
    for person in range(len(case.people)):
        outcomes = [path.outcome.value for path in result.routes[person]]
        if person in case.invalid:
            assert set(outcomes) == {"invalid_row"}
            continue
        today = case.people.iloc[[person]]
        if (case.met(today) & case.passes(today, today))[0]:
            assert set(outcomes) == {"already_positive"}
            continue
        assert not set(outcomes) & {*UNASKED, "already_positive"}
        reachable = case.reachable(person)
        if reachable.any():
            assert status["outcome"][person] == "reached"
        elif status["outcome"][person] == "unreachable":
            why, *_ = status["reason"][person].split("; today's row breaks")
            assert_blame_is_right(case, person, why)


def assert_blame_is_right(case: Case, person: int, reason: str) -> None:
    """For some positive, giving up the rules that are named is enough."""
    if "comes out otherwise here" in reason:
        assert case.formulas or any(f.change == "time" for f in case.schema.features)
        return
    assert "it would be enough to give up" in reason, reason
    named = re.search(r"the rules on (.*?)(?= and the requirement| and max_changes|$)", reason)
    given_up = set(named[1].split(", ")) if named else set()
    rows = case.projected(person, case.positives)
    for name in given_up:
        rows[name] = case.positives[name]
    rows = case.completed(person, rows)
    enough = case.met(rows)
    for rule, wrong in case.wrongs(person, rows).items():
        spared = rule in given_up or any(part in reason for part in rule.split(" and "))
        enough &= spared | ~wrong
    if not any(part in reason for rule in case.policy for part in rule.text.split(" and ")):
        enough &= case.passes(rows, case.today(person, len(rows)))
    assert enough.any() or "the moves of" in reason, reason


def assert_what_is_returned_is_true(case: Case, result: sl.Recourse) -> None:
    paths = each_path(case, result)
    assert_every_row_keeps_every_rule(case, result, paths)
    assert_scores_and_ends_are_true(case, result, paths)
    assert_changes_are_those_of_the_ends(case, result, paths)
    assert_nothing_is_undone(case, result, paths)


def assert_promises_are_kept(case: Case, step: sl.StEP) -> None:
    result = asked(case, fitted(case, step))
    assert_what_is_returned_is_true(case, result)
    assert_ends_have_slack(case, step, result)
    assert_complete(case, step, result)


def assert_promises_are_kept_in_small_blocks(case: Case, step: sl.StEP) -> None:
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"FIRST": 2, "GROWTH": 2, "ENOUGH": 2, "PATIENCE": 4}.items():
            patch.setattr(targets, name, value)
        assert_promises_are_kept(case, step)


def assert_nobody_else_matters(case: Case, step: sl.StEP) -> None:
    together = asked(case, fitted(case, step)).paths
    for person in valid_people(case):
        alone = step.recourse(case.people.iloc[[person]], **own_rules(case, person)).paths
        mine = together[together["person"] == person].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone.reset_index(drop=True), mine, rtol=1e-9, atol=1e-9)


def drawn(data: st.DataObject) -> tuple[Case, sl.StEP]:
    case = data.draw(ruled_cases())
    count = len(case.positives)
    assume(count > 0)
    return case, data.draw(methods(count, case.max_changes))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_rules_are_kept_and_everyone_who_can_get_there_does(data):
    assert_promises_are_kept(*drawn(data))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_screening_in_blocks_misses_nobody(data):
    assert_promises_are_kept_in_small_blocks(*drawn(data))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_a_person_gets_does_not_depend_on_who_else_asks(data):
    assert_nobody_else_matters(*drawn(data))


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_under_a_budget_every_row_keeps_every_rule(data):
    case = with_ranges(data.draw(ruled_cases()))
    budget = sl.Budget(data.draw(st.sampled_from([1.0, 1000.0])), 1e-6)
    pay = (
        sl.PayOnce(budget, rows=200)
        if data.draw(st.booleans())
        else sl.PayPerDirection(budget, steps=20 * len(case.people))
    )
    step = sl.StEP(2, max_steps=20, privacy=pay, max_changes=case.max_changes)
    result = asked(case, fitted(case, step))
    unasked = result.status.index[result.status["outcome"].isin(UNASKED)]
    case = replace(case, invalid=frozenset(unasked))  # a gap is no value here
    assert_every_row_keeps_every_rule(case, result, each_path(case, result))


def with_ranges(case: Case) -> Case:
    """The same case with a range declared for every number, which some values lie outside of."""
    ranged = [
        f.but(typical=(-1.0, 2.0)) if f.kind == "numeric" and f.span is None else f
        for f in case.schema.features
    ]
    return replace(case, schema=sl.Schema(ranged, case.schema.require))


# ---- what the search for such problems has found -------------------------------------------------


def ends_of(result: sl.Recourse) -> list[str]:
    return result.status["outcome"].tolist()


def test_a_start_that_a_policy_would_mend_is_still_the_start():
    schema = sl.Schema([sl.Numeric("a", integer=True), sl.Numeric("b", integer=True)])
    train = pd.DataFrame({"a": [0, 9, 4, 2], "b": [0, 1, 2, 3]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return np.ones(len(rows))

    goal = sl.Goal(policy=["a <= 2"])
    step = sl.StEP(paths=1, step_size=9.0, slack=0).fit(train, model, schema=schema, goal=goal)
    result = step.recourse(pd.DataFrame({"a": [9], "b": [1]}))
    assert ends_of(result) == ["reached"]
    assert result.paths["a"].tolist() == [9, 2]


def test_time_takes_nobody_beyond_the_bounds():
    schema = sl.Schema(
        [sl.Numeric("age", change="time", bounds=(18, 65)), sl.Numeric("a", months_each=12)]
    )
    train = pd.DataFrame({"age": [20.0, 40.0, 60.0], "a": [0.0, 3.0, 5.0]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return (rows["a"] >= 3).to_numpy(dtype=float)

    step = sl.StEP(paths=1).fit(train, model, schema=schema)
    people = pd.DataFrame({"age": [62.0, 64.0], "a": [0.0, 0.0]})
    result = step.recourse(people)
    assert ends_of(result) == ["reached", "unreachable"]
    assert result.final["age"].tolist() == [65.0, 64.0]
    assert result.status["reason"][1].endswith("it would be enough to give up the rules on age")
    beyond = sl.Feasible.of(step.space_, people.tail(1)).check(
        pd.DataFrame({"age": 67.0, "a": [3.0]})
    )
    assert [violation.rule for violation in beyond] == ["must lie within 18 and 65"]


def test_how_many_things_may_change_is_counted_from_where_each_person_stands():
    schema = sl.Schema([sl.Numeric("a", integer=True), sl.Numeric("b", integer=True)])
    train = pd.DataFrame({"a": [0, 5, 0, 3], "b": [0, 5, 1, 2]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["a"] == 5) & (rows["b"] == 5)).to_numpy(dtype=float)

    step = sl.StEP(paths=1, max_changes=1).fit(train, model, schema=schema)
    result = step.recourse(pd.DataFrame({"a": [0, 5], "b": [0, 0]}))  # who share a box
    assert ends_of(result) == ["unreachable", "reached"]
    assert result.status["reason"][0].endswith("it would be enough to give up max_changes=1")


def test_a_gap_may_be_filled_with_the_mean_itself():
    schema = sl.Schema([sl.Numeric("a", integer=True, fill=True), sl.Numeric("b", integer=True)])
    train = pd.DataFrame({"a": [0.0, 4.0, 2.0, 2.0], "b": [0, 5, 1, 2]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return (rows["a"] == 2).to_numpy(dtype=float)

    step = sl.StEP(paths=1).fit(train, model, schema=schema)
    result = step.recourse(pd.DataFrame({"a": [np.nan], "b": [0]}))
    assert ends_of(result) == ["reached"]
    assert result.final["a"].tolist() == [2.0]


def test_nobody_is_sent_to_a_level_without_a_way_that_keeps_the_requirements():
    schema = sl.Schema(
        [
            sl.Categorical("c", levels=["x", "y", "z"], moves={"x": ["y"], "y": ["z"]}),
            sl.Numeric("b", integer=True),
        ],
        require=["c != 'y' or b >= 10"],
    )
    train = pd.DataFrame({"c": ["x", "y", "z", "z", "x"], "b": [0, 10, 0, 1, 30]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["c"] == "z") | (rows["b"] == 30)).to_numpy(dtype=float)

    step = sl.StEP(paths=1).fit(train, model, schema=schema)
    result = step.recourse(pd.DataFrame({"c": ["x", "x"], "b": [0, 10]}))
    assert ends_of(result) == ["reached", "reached"]
    paths = result.paths.groupby("person")
    assert paths["c"].agg(list).tolist()[1] == ["x", "y", "z"]
    assert set(paths["c"].agg(list)[0]) == {"x"}
    assert result.final["b"].tolist() == [30, 10]


def test_what_changes_at_once_waits_until_the_requirements_let_it():
    schema = sl.Schema(
        [sl.Numeric("a", integer=True, at_once=True), sl.Numeric("b", integer=True)],
        require=["a <= b"],
    )
    train = pd.DataFrame({"a": [0, 9, 1, 2], "b": [1, 10, 2, 3]})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["a"] >= 9) & (rows["b"] >= 10)).to_numpy(dtype=float)

    step = sl.StEP(paths=1, step_size=0.3).fit(train, model, schema=schema)
    paths = step.recourse(train.head(1)).paths
    assert paths["score"].iloc[-1] == 1
    assert (paths["a"] <= paths["b"]).all()
    assert paths["a"].nunique() == 2
    assert paths["b"].nunique() > 2


@pytest.mark.parametrize("require", [[], ["c != 'y' or b >= 1"]])
def test_under_a_budget_too_a_level_is_got_to_by_hops_that_keep_the_requirements(require):
    levels = ["x", "y", "z"]
    moves = {"x": ["y"], "y": ["z"]}
    schema = sl.Schema(
        [sl.Categorical("c", levels=levels, moves=moves), sl.Numeric("b", bounds=(0, 4))], require
    )
    train = pd.DataFrame({"c": levels * 40, "b": np.linspace(0, 4, 120)})

    def model(rows: pd.DataFrame) -> np.ndarray:
        return (rows["c"] == "z").to_numpy(dtype=float)

    pay = sl.PayPerDirection(sl.Budget(1000.0, 1e-6), steps=20)
    step = sl.StEP(1, max_steps=20, privacy=pay).fit(train, model, schema=schema)
    paths = step.recourse(pd.DataFrame({"c": ["x"], "b": [0.0]})).paths
    assert paths["c"].drop_duplicates().tolist() == levels
    if require:
        assert (paths["b"][paths["c"] == "y"] >= 1).all()
