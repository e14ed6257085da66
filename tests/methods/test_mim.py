"""MIM: the figure of the paper's appendix, and that even a bad direction keeps the rules."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.kernels.direction import directions
from stepladder.methods.mim import MIM

# fmt: off
REJECTED = [(2, 1.5), (2.5, 1), (3, 2), (3.75, 2.25), (4, 3), (2.7, 3), (3, 4), (3.5, 4.75),
            (2.75, 5), (3, 6), (4, 5.5), (2, 5.75)]
ACCEPTED = [(7, 1.5), (7.5, 1), (7, 2), (7.75, 2.25), (8, 3), (6.7, 3), (7, 4), (6.75, 5), (7, 6),
            (8, 5.5), (6, 5.75), (6.5, 5.5)]
# fmt: on
PERSON = pd.DataFrame({"credit": [2.0], "balance": [4.0]})
"""The figure "An example where the MIM direction points away from all the positives"."""


def figure(method: MIM | sl.StEP) -> MIM | sl.StEP:
    """A method fitted on the figure's rows, in the figure's own units."""
    schema = sl.Schema([sl.Numeric("credit"), sl.Numeric("balance")])
    train = pd.DataFrame([*REJECTED, *ACCEPTED], columns=["credit", "balance"])
    template = sl.Space.fit(schema, train).template
    space = sl.Space(schema, template, center=np.zeros(2), scale=np.ones(2))
    return method.fit(train, lambda rows: (rows["credit"].to_numpy() >= 5) * 1.0, space=space)


def test_at_the_figures_person_the_direction_points_away_from_every_positive():
    toward = figure(MIM()).directions(PERSON.to_numpy())[0]
    assert toward[0] < 0
    assert all(toward @ (np.array(row) - PERSON.to_numpy()[0]) < 0 for row in ACCEPTED)


def test_there_steps_direction_points_to_them():
    toward = directions(PERSON.to_numpy()[0], ACCEPTED, sl.Volcano(degree=2, cutoff=0.5))
    assert all(toward @ (np.array(row) - PERSON.to_numpy()[0]) > 0 for row in ACCEPTED)


def test_so_following_it_leads_nowhere_and_step_arrives():
    path = figure(MIM()).recourse(PERSON).routes[0][0]
    assert path.outcome == "step_limit"
    assert path.steps == 50
    assert path.values[1:, 0].max() < 2.0
    assert path.values[-1, 0] < -10
    published = figure(sl.StEP.published(paths=1)).recourse(PERSON)
    assert published.final["outcome"].tolist() == ["reached"]


def test_the_direction_is_the_sum_over_all_rows_written_out():
    x, total = np.array([2.0, 4.0]), np.zeros(2)
    for sign, rows in ((1, ACCEPTED), (-1, REJECTED)):
        for row in rows:
            away = np.array(row) - x
            total += sign * away / max(np.linalg.norm(away), 0.5) ** 2
    np.testing.assert_allclose(figure(MIM()).directions(x[None])[0], total)


def test_near_the_positives_it_arrives():
    result = figure(MIM()).recourse(pd.DataFrame({"credit": [4.9], "balance": [3.5]}))
    assert result.final["outcome"].tolist() == ["reached"]


def test_its_paths_keep_the_rules_all_the_same():
    result = bank.fitted(MIM()).recourse(bank.REJECTED)
    bank.assert_sound(result, bank.REJECTED)
    assert {"reached"} < set(result.final["outcome"]) <= {"reached", "step_limit", "stalled"}


def test_what_is_locked_stays():
    result = bank.fitted(MIM()).recourse(bank.REJECTED, locked=["income", "job"])
    bank.assert_sound(result, bank.REJECTED, locked=("income", "job"))


def test_a_step_is_no_longer_than_the_step_size():
    result = bank.fitted(MIM(step_size=0.5, max_steps=10)).recourse(bank.REJECTED)
    numbers = result.space.columns_of(lambda feature: feature.name in ("income", "savings"))
    for (path,) in result.routes:
        moves = np.linalg.norm(np.diff(path.points[:, numbers], axis=0), axis=1)
        assert (moves <= 0.5 + 1e-3).all()  # whole amounts of income
        assert path.steps <= 10


def test_the_same_rows_every_time():
    first, again = (bank.fitted(MIM()).recourse(bank.REJECTED) for _ in range(2))
    pd.testing.assert_frame_equal(first.paths, again.paths)


def test_a_path_ends_before_a_step_that_breaks_a_rule():
    """Its way leads on and on; what changes at once may go there only in one step."""
    schema = sl.Schema([sl.Numeric("credit", at_once=True), sl.Numeric("balance")])
    train = pd.DataFrame([*REJECTED, *ACCEPTED], columns=["credit", "balance"])

    def model(rows: pd.DataFrame) -> np.ndarray:
        return (rows["credit"].to_numpy() >= 5) * 1.0

    for most in (1, 30):
        method = MIM(step_size=0.2, max_steps=most).fit(train, model, schema=schema)
        (path,) = method.recourse(PERSON.assign(credit=4.2)).routes[0]
        assert path.steps == 1
        assert len(path.scores) == 2
        assert path.scores[-1] == model(pd.DataFrame(path.values[-1:], columns=list(train)))[0]


def test_the_policy_counts_for_an_end():
    goal = sl.Goal(policy=["balance >= 100"])
    method = figure(MIM())
    plain = method.recourse(pd.DataFrame({"credit": [4.9], "balance": [3.5]}))
    assert plain.final["outcome"].tolist() == ["reached"]
    schema = sl.Schema([sl.Numeric("credit"), sl.Numeric("balance")])
    train = pd.DataFrame([*REJECTED, *ACCEPTED, (8, 100)], columns=["credit", "balance"])
    strict = MIM(max_steps=5).fit(
        train, lambda rows: (rows["credit"].to_numpy() >= 5) * 1.0, schema=schema, goal=goal
    )
    final = strict.recourse(pd.DataFrame({"credit": [4.9], "balance": [3.5]})).final
    assert (final["outcome"] == "reached").all() == (final["balance"] >= 100).all()


def test_time_out_is_an_outcome():
    final = bank.fitted(MIM()).recourse(bank.REJECTED, time_budget=1e-9).final
    assert set(final["outcome"]) == {"timed_out"}


def test_several_paths_are_refused():
    with pytest.raises(ParameterError, match="MIM has one direction, so paths must be 1; got 3"):
        MIM(paths=3)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"paths": 0}, "paths must be a whole number"),
        ({"step_size": 0}, "step_size"),
        ({"max_steps": 0}, "max_steps"),
        ({"alpha": 2}, "alpha must be a Volcano"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_a_wrong_setting_is_answered_with_a_sentence(wrong, words):
    with pytest.raises(ParameterError, match=words):
        MIM(**wrong)


def test_settings_name_the_method():
    assert next(iter(MIM().settings)) == "method"
    assert MIM().settings["method"] == "MIM"
