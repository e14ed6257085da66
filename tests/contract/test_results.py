"""What a result says of its rows is true of them, and it says it of everybody."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.contract import made
from tests.contract.made import HONOURING

from stepladder.result.path import Outcome

LEAST_SUCCESS = {"face": 0.5, "cchvae": 0.25, made.PER_DIRECTION: 0.25}
"""Where most people getting somewhere isn't to be expected of a method."""


def test_most_people_get_somewhere(name, kind):
    assert made.answer(name, kind).metrics()["success"][0] >= LEAST_SUCCESS.get(name, 0.75)


@pytest.mark.parametrize("name", HONOURING)
def test_every_score_is_what_the_model_says_of_that_very_row(name, kind):
    rows = made.answer(name, kind).paths.dropna()
    np.testing.assert_allclose(rows["score"], made.scores(kind, rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", HONOURING)
def test_a_path_counts_as_reached_if_and_only_if_its_last_row_meets_the_goal(name, kind):
    final = made.answer(name, kind).final
    final = final[final["outcome"] != "missing_value"]
    met = made.scores(kind, final) >= made.GOAL.threshold
    assert (met == final["outcome"].isin(["reached", "already_positive"])).all()


def test_a_path_is_never_called_reached_below_the_goal_it_was_scored_at(name, kind):
    final = made.answer(name, kind).final
    met = final["score"] >= made.GOAL.threshold
    assert (met == final["outcome"].isin(["reached", "already_positive"])).all()


@pytest.mark.parametrize("name", HONOURING)
def test_only_the_last_row_of_a_path_meets_the_goal(name, kind):
    rows = made.answer(name, kind).paths
    last = rows.groupby(["person", "path"])["step"].transform("max")
    assert not (rows["score"][rows["step"] < last] >= made.GOAL.threshold).any()


def test_every_outcome_is_one_of_the_known_plain_strings(name, kind):
    result = made.answer(name, kind)
    for outcome in [*result.final["outcome"], *result.status["outcome"]]:
        assert type(outcome) is str
        assert outcome in set(Outcome)
    assert result.status["reason"].str.len().min() > 0


def test_final_holds_every_path_of_everybody_in_order(name, kind):
    final, k = made.answer(name, kind).final, made.fitted(name, kind).slots
    assert k == made.fitted(name, kind).paths
    assert final["person"].tolist() == np.repeat(made.people(kind).index, k).tolist()
    assert final["path"].tolist() == list(range(k)) * len(made.people(kind))


def test_final_is_the_last_row_of_each_path(name, kind):
    result = made.answer(name, kind)
    columns = ["person", "path", *made.COLUMNS, "score"]
    last = result.paths.groupby(["person", "path"], sort=False).tail(1)
    pd.testing.assert_frame_equal(
        last[columns].reset_index(drop=True), result.final[columns].reset_index(drop=True)
    )


def test_every_path_says_what_it_asks_and_its_changes_add_up_to_that(name, kind):
    result = made.answer(name, kind)
    final = result.final.set_index(["person", "path"])
    asked = result.changes.groupby(["person", "path"])
    assert final["effort"].notna().all()
    total = asked["effort"].sum().reindex(final.index, fill_value=0.0)
    np.testing.assert_allclose(final["effort"], total)
    assert (final["changes"] == asked.size().reindex(final.index, fill_value=0)).all()
    assert (result.changes["effort"] >= 0.1).all()


def test_choices_are_successes_of_whoever_is_asked_about_the_best_first(name, kind):
    result = made.answer(name, kind)
    for person, best in zip(result.status["person"], result.status["best_path"], strict=True):
        mine = result.choices(person)
        assert set(mine["outcome"]) <= {"reached"}
        assert list(mine["path"])[:1] == ([] if best is pd.NA else [best])
        assert not mine["path"].duplicated().any()
        asked = result.changes[result.changes["person"] == person]
        told = [
            tuple(map(tuple, asked[asked["path"] == path][["feature", "after"]].to_numpy()))
            for path in mine["path"]
        ]
        assert len(set(told)) == len(told)


def test_what_is_dropped_is_counted_anew_in_every_answer(kind):
    method, people = made.fitted("cchvae", kind), made.people(kind)
    counts = [method.recourse(people).dropped for _ in range(3)]
    assert counts[0] > 0
    assert len(set(counts)) == 1


# ---- people out of the ordinary -----------------------------------------------------------------


def test_nobody_is_an_empty_result(name, kind):
    result = made.fitted(name, kind).recourse(made.people(kind).head(0))
    assert len(result.final) == len(result.paths) == len(result.status) == 0
    assert list(result.paths.columns) == list(made.answer(name, kind).paths.columns)


def test_one_person_is_a_result_of_one(name, kind):
    one = made.people(kind).head(1)
    result = made.fitted(name, kind).recourse(one)
    assert result.final["person"].tolist() == one.index.tolist() * made.fitted(name, kind).slots


def test_a_missing_value_is_one_persons_outcome(name, kind):
    status = made.answer(name, kind).status
    assert status["outcome"].iloc[made.LACKING] == "missing_value"
    assert "years" in status["reason"].iloc[made.LACKING]
    assert (status["outcome"] == "missing_value").sum() == 1


def test_an_invalid_row_is_one_persons_outcome_and_others_are_answered_alike(name, kind):
    people, expected = made.people(kind).copy(), made.answer(name, kind)
    person = people.index[made.LACKING]
    people.loc[person, "years"] = np.inf
    result = made.fitted(name, kind).recourse(people)
    status = result.status.set_index("person")
    assert status.loc[person, "outcome"] == "invalid_row"
    assert "'years' is infinite" in status.loc[person, "reason"]
    others = result.final["person"] != person
    if name != made.PER_DIRECTION:  # which pays for fresh noise
        pd.testing.assert_frame_equal(result.final[others], expected.final[others])


def test_who_is_accepted_already_has_nowhere_to_go(name, kind):
    result = made.answer(name, kind)
    person = result.people[made.ACCEPTED]
    assert (result.status["outcome"] == "already_positive").sum() == 1
    own = result.final[result.final["person"] == person]
    assert (own["outcome"] == "already_positive").all()
    assert (own["steps"] == 0).all()


@pytest.mark.parametrize("name", HONOURING)
def test_who_can_change_nothing_is_told_so_and_stays(name, kind):
    people, method = made.people(kind), made.fitted(name, kind)
    result = method.recourse(people, locked=made.SCHEMA.names)
    stuck = result.final[~result.final["outcome"].isin(["already_positive", "missing_value"])]
    assert len(stuck) == 4 * method.slots
    assert stuck["outcome"].isin(["unreachable", "stalled"]).all()
    pd.testing.assert_frame_equal(
        stuck.set_index("person")[made.COLUMNS],
        people.loc[stuck["person"]],
        check_names=False,
        check_index_type=False,
    )


def test_time_that_is_up_at_once_leaves_everybody_with_an_outcome(name, kind):
    result = made.fitted(name, kind).recourse(made.people(kind), time_budget=1e-9)
    outcomes = result.status["outcome"].tolist()
    assert outcomes.pop(made.LACKING) == "missing_value"
    # There may be no time to find out who is accepted.
    assert outcomes.pop(made.ACCEPTED) in ("already_positive", "timed_out")
    assert outcomes == ["timed_out"] * 4
    assert len(result.final) == 6 * made.fitted(name, kind).slots
