"""Promises 1 and 2 over random schemas, data and models: complete, checked, and never in vain.

Whatever is found is held against rules and projections written out by hand in `cases.py`.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from tests.methods.cases import Case, cases
from tests.methods.step.advice import has_slack

import stepladder as sl
from stepladder.methods.step import targets


@st.composite
def methods(draw: st.DrawFn, most_paths: int, max_changes: int | None = None) -> sl.StEP:
    """Any setting of the default method."""
    weights = {"f0": draw(st.sampled_from([0.2, 5.0]))}
    return sl.StEP(
        paths=draw(st.integers(1, min(4, most_paths))),
        step_size=draw(st.sampled_from([0.2, 1.0, 1.0, 4.0])),
        max_steps=draw(st.sampled_from([1, 5, 3000])),
        alpha=draw(
            st.sampled_from(
                [sl.Volcano(2, 0.5), sl.Volcano(2, 0.5), sl.Sloped(1.5), sl.Power(2), sl.Unit()]
            )
        ),
        clusterer=draw(st.sampled_from([KMeans(n_init=1), "random"])),  # ten tries take long
        random_state=draw(st.integers(0, 3)),
        distance=draw(st.sampled_from(["euclidean", "euclidean", "mahalanobis", weights])),
        max_changes=max_changes,
        cost=draw(st.sampled_from(["effort", "effort", "distance"])),
        slack=draw(st.sampled_from([0.0, 0.1])),
    )


def solved(case: Case, step: sl.StEP) -> sl.Recourse:
    step.fit(case.reference, case.model, schema=case.schema, goal=case.goal, labels=case.labels)
    return step.recourse(case.people, locked=case.locked)


Paths = dict[tuple[int, int], slice]


def each_path(case: Case, result: sl.Recourse) -> Paths:
    """Where each path's rows lie in `result.paths`."""
    found = {}
    for (person, path), places in result.paths.groupby(["person", "path"]).indices.items():
        mine = slice(places[0], places[-1] + 1)
        assert list(result.paths["step"][mine]) == list(range(len(places)))
        found[person, path] = mine
    slots = len(result.routes[0])
    assert sorted(found) == [(i, c) for i in range(len(case.people)) for c in range(slots)]
    return found


def assert_every_row_is_true(case: Case, result: sl.Recourse, paths: Paths) -> None:
    """All rows start at the person, keep every rule and score as reported; ends meet the goal."""
    rows = result.paths[list(case.schema.names)]  # as the caller sees them, raw features only
    met = case.met(rows)
    assert (rows.dtypes == case.people.dtypes).all()
    np.testing.assert_array_equal(result.paths["score"], case.model(rows))
    for person, places in result.paths.groupby("person").indices.items():
        today, own = case.people.iloc[[person]], rows.iloc[places]
        assert case.broken_rules(person, own) == []
        assert sl.Feasible.of(result.space, today, locked=case.locked).check(own) == []
    ends = result.final.set_index(["person", "path"])
    for (person, path), mine in paths.items():
        assert (rows.iloc[mine.start] == case.people.iloc[person]).all()
        end = ends.loc[person, path]
        assert end["score"] == result.paths["score"][mine.stop - 1]
        assert met[mine.stop - 1] == (end["outcome"] in ("reached", "already_positive"))


def assert_ends_have_slack(case: Case, step: sl.StEP, result: sl.Recourse) -> None:
    """But for those that are marked as tight; and none takes more steps than are allowed."""
    ends = result.final[result.final["outcome"] == "reached"]
    assert (ends["steps"] <= step.max_steps).all()
    for i in np.flatnonzero(~ends["tight"]):
        today, end = case.people.iloc[[ends["person"].iloc[i]]], ends.iloc[[i]]
        assert has_slack(case.schema, case.met, today, end, step.slack), end.T


def assert_nothing_is_asked_twice(case: Case, result: sl.Recourse, paths: Paths) -> None:
    """Each feature of a path goes one way only, a category changes once, no step is empty."""
    names = case.schema.names
    ranked = np.stack([case.ranked(name, result.paths[name]) for name in names], axis=1)
    for mine in paths.values():
        moves = np.diff(ranked[mine], axis=0)
        for feature, own in zip(case.schema.features, moves.T, strict=True):
            if feature.kind == "categorical":
                assert np.count_nonzero(own) <= 1, f"{feature.name} changes twice"
            else:
                one_way = (own >= 0).all() or (own <= 0).all()
                assert one_way, f"{feature.name} goes to and fro: {own}"
        assert moves.any(axis=1).all(), "a step changes nothing"


def assert_complete(case: Case, step: sl.StEP, result: sl.Recourse) -> None:
    """Whoever has a reachable positive gets there, and whoever hasn't is told why."""
    already = case.met(case.people)
    status = result.status
    for person in range(len(case.people)):
        outcomes = [path.outcome for path in result.routes[person]]
        if already[person]:
            assert set(outcomes) == {sl.Outcome.ALREADY_POSITIVE}
            continue
        reachable = case.reachable(person)
        if reachable.any():
            assert status["outcome"][person] == "reached"
            if step.slack == 0 and len(reachable) <= targets.ENOUGH:
                # Any of them would do for a path that is left over.
                different = case.projected(person, case.positives)[reachable].drop_duplicates()
                assert outcomes.count(sl.Outcome.REACHED) >= min(len(outcomes), len(different))
        elif status["outcome"][person] != "reached":  # not even by mixing what positives have
            assert set(outcomes) == {sl.Outcome.UNREACHABLE}
            assert_blame_is_right(case, person, status["reason"][person])


def assert_blame_is_right(case: Case, person: int, reason: str) -> None:
    """For some positive, giving up the rules on the features named is enough, and no less is."""
    named = {name for name in case.schema.names if re.search(rf"\b{name}\b", reason)}
    assert named, reason

    def met_without(rules: set[str]) -> np.ndarray:
        rows = case.projected(person, case.positives).reset_index(drop=True)
        for name in rules:
            rows[name] = case.positives[name].reset_index(drop=True)
        return case.met(rows)

    enough = met_without(named)
    for name in named:
        enough &= ~met_without(named - {name})
    assert enough.any(), (named, reason)


def assert_promises_are_kept(case: Case, step: sl.StEP) -> None:
    result = solved(case, step)
    paths = each_path(case, result)
    assert_every_row_is_true(case, result, paths)
    assert_nothing_is_asked_twice(case, result, paths)
    assert_ends_have_slack(case, step, result)
    assert_complete(case, step, result)


@settings(max_examples=220, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_everyone_with_a_reachable_positive_gets_there(data):
    case = data.draw(cases())
    count = len(case.positives)
    assume(count > 0)
    assert_promises_are_kept(case, data.draw(methods(count)))


def test_who_has_an_odd_value_already_may_keep_it_on_the_way_to_one_who_has_it_too():
    train = pd.DataFrame({"a": [0, 1, 0, 1], "b": [2.5, 2.5, 1, 1]})
    schema = sl.Schema([sl.Numeric("a", integer=True), sl.Numeric("b", integer=True)])

    def model(rows: pd.DataFrame) -> np.ndarray:
        return ((rows["a"] == 1) & (rows["b"] > 2.2)).to_numpy(dtype=float)

    step = sl.StEP(paths=1).fit(train, model, schema=schema)
    end = step.recourse(train.head(1)).final.iloc[0]
    assert (end["outcome"], end["a"], end["b"]) == ("reached", 1, 2.5)
    other = pd.DataFrame({"a": [0], "b": [2.3]}, index=["nobody has 2.3"])
    both = step.recourse(pd.concat([train.head(1), other]))  # in one box, and yet not alike
    assert both.final["b"].tolist() == [2.5, 2.3]  # each keeps their own


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_a_person_gets_does_not_depend_on_who_else_asks(data):
    case = data.draw(cases())
    count = len(case.positives)
    assume(count > 0)
    step = data.draw(methods(count))
    together = solved(case, step).paths
    for person in range(len(case.people)):
        alone = step.recourse(case.people.iloc[[person]], locked=case.locked).paths
        mine = together[together["person"] == person].reset_index(drop=True)
        pd.testing.assert_frame_equal(alone, mine, rtol=1e-9, atol=1e-9)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_screening_in_blocks_misses_nobody(data):
    case = data.draw(cases())
    count = len(case.positives)
    assume(count > 0)
    step = data.draw(methods(count))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"FIRST": 2, "GROWTH": 2, "ENOUGH": 2, "PATIENCE": 4}.items():
            patch.setattr(targets, name, value)
        assert_promises_are_kept(case, step)


@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_a_private_path_keeps_every_rule_whatever_the_noise(data):
    case = with_ranges(data.draw(cases()))
    budget = sl.Budget(data.draw(st.sampled_from([0.01, 1.0, 1000.0])), 1e-6)
    count = data.draw(st.integers(1, 3))
    step_size = data.draw(st.sampled_from([0.2, 1.0, 4.0]))
    if data.draw(st.booleans()):
        step = sl.StEP(count, step_size, privacy=sl.PayOnce(budget, rows=200))
    else:
        pay = sl.PayPerDirection(budget, steps=20 * len(case.people))
        step = sl.StEP(count, step_size, max_steps=20, privacy=pay)
    result = solved(case, step)
    paths = each_path(case, result)
    assert_every_row_is_true(case, result, paths)
    ends = result.final.set_index(["person", "path"])["outcome"]
    done = {key: mine for key, mine in paths.items() if ends[key] == "reached"}
    assert_nothing_is_asked_twice(case, result, done)
    assert result.privacy is not None
    assert result.privacy.spent <= budget.epsilon


def with_ranges(case: Case) -> Case:
    """The same case with a range declared for every number, which some values lie outside of."""

    def ranged(feature):
        if feature.kind != "numeric" or feature.span is not None:
            return feature
        settings = {name: value for name, value in feature.settings.items() if name != "typical"}
        return sl.Numeric(feature.name, typical=(-1.0, 2.0), **settings)

    return replace(case, schema=sl.Schema(ranged(f) for f in case.schema.features))
