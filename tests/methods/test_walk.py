"""One person's loop with the program."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.errors import (
    BoundsError,
    ColumnError,
    FrameError,
    MissingValueError,
    ModelError,
    ParameterError,
    ResultError,
    SchemaError,
)

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), integer=True),
        sl.Numeric("debt", bounds=(0, None), decimals=2),
        sl.Ordinal("education", levels=["school", "bachelor", "master"], change="increase"),
        sl.Categorical("job", levels=["clerk", "smith", "nurse"]),
        sl.Numeric("age", change="never", integer=True),
    ]
)


def score(rows: pd.DataFrame) -> np.ndarray:
    """A smooth score that likes income, education and smiths, and dislikes debt."""
    education = rows["education"].map({"school": 0, "bachelor": 1, "master": 2}).to_numpy(float)
    total = (
        rows["income"].to_numpy(float) / 20_000
        - rows["debt"].to_numpy(float) / 5_000
        + 0.5 * education
        + 0.6 * (rows["job"] == "smith").to_numpy(float)
        - 2.5
    )
    return 1 / (1 + np.exp(-total))


def train() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    n = 400
    return pd.DataFrame(
        {
            "income": rng.integers(10_000, 90_000, n),
            "debt": rng.uniform(0, 9_000, n).round(2),
            "education": rng.choice(["school", "bachelor", "master"], n),
            "job": rng.choice(["clerk", "smith", "nurse"], n),
            "age": rng.integers(20, 65, n),
        }
    )


@pytest.fixture(scope="module")
def step() -> sl.StEP:
    return sl.StEP(paths=3).fit(train(), score, schema=SCHEMA, goal=sl.Goal(threshold=0.6))


PERSON = {
    "income": 18_000,
    "debt": 6_200.5,
    "education": "bachelor",
    "job": "clerk",
    "age": 41,
}


def test_following_one_path_to_its_end_reaches_the_goal_in_the_steps_planned(step):
    walk = step.walk(PERSON)
    first = walk.directions()[0]
    for left in range(first.steps_left, -1, -1):
        offer = next(o for o in walk.directions() if o.path == first.path)
        assert offer.steps_left == left
        walk.take(first.path)
        assert walk.score == pytest.approx(offer.score)
    assert walk.done
    assert walk.directions() == []
    assert walk.reason == "the goal is met"
    assert score(walk.row)[0] >= 0.6


def test_offers_are_the_first_steps_of_the_paths_that_recourse_gives(step):
    walk = step.walk(PERSON)
    paths = step.recourse(pd.DataFrame([PERSON])).paths
    for offer in walk.directions():
        before = paths.query("path == @offer.path and step == 0").iloc[0]
        after = paths.query("path == @offer.path and step == 1").iloc[0]
        asked = {c.feature: (c.before, c.after) for c in offer.changes}
        moved = [name for name in SCHEMA.names if before[name] != after[name]]
        assert asked == {name: (before[name], after[name]) for name in moved}
        assert offer.score == after["score"]


def test_the_offers_are_what_really_differs_the_easiest_first_and_read_as_raw_units(step):
    offers = step.walk(PERSON).directions()
    result = step.recourse(pd.DataFrame([PERSON]))
    assert [o.path for o in offers] == list(result.choices(0)["path"])
    assert "income: 18,000 → " in " ".join(str(o) for o in offers)


def test_a_row_off_the_path_is_taken_as_it_is_and_planned_from(step):
    walk = step.walk(PERSON)
    walk.directions()
    happened = {**PERSON, "income": 16_500, "debt": 7_000.0, "age": 42}
    walk.observe(happened)
    assert walk.row.iloc[0].to_dict() == happened
    assert walk.history[-1]["event"] == "observe"
    assert walk.history[-1]["path"] is None
    while not walk.done:
        walk.take(walk.directions()[0].path)
    assert walk.row["age"].iloc[0] == 42


def test_a_row_that_an_offer_led_to_is_noted_with_its_path(step):
    walk = step.walk(PERSON)
    offer = walk.directions()[0]
    reached = {**PERSON, **{c.feature: c.after for c in offer.changes}}
    walk.observe(reached)
    assert walk.history[-1]["path"] == offer.path


def test_a_row_that_meets_the_goal_ends_the_walk(step):
    walk = step.walk(PERSON)
    walk.observe({**PERSON, "income": 88_000, "debt": 0.0})
    assert walk.done


def test_a_locked_feature_is_in_no_offer_until_it_is_unlocked(step):
    walk = step.walk(PERSON)
    walk.lock("debt")
    walk.lock("job")
    seen = set()
    while not walk.done:
        offers = walk.directions()
        seen |= {c.feature for o in offers for c in o.changes}
        walk.take(offers[0].path)
    assert seen
    assert seen.isdisjoint({"debt", "job"})
    assert walk.row["debt"].iloc[0] == PERSON["debt"]

    walk = step.walk(PERSON, locked=["income", "job"])
    assert {c.feature for o in walk.directions() for c in o.changes} <= {"debt", "education"}
    walk.unlock("income")
    assert "income" in {c.feature for o in walk.directions() for c in o.changes}
    assert walk.locked == ("job",)


def test_what_is_hard_for_somebody_counts_so_many_times_until_it_does_not(step):
    walk = step.walk(PERSON)
    usual = [path.efforts for path in walk._paths()]
    start, income = walk.row, SCHEMA.names.index("income")
    walk.difficulty("income", 20)
    assert walk.difficulties == {"income": 20.0}
    assert walk.row.equals(start)
    hard = {tuple(path.values[-1]): path.efforts for path in walk._paths()}
    effort = step.effort_.of(walk._row, np.array(list(hard)))
    effort[:, income] = np.where(effort[:, income] > 0, 20 * (effort[:, income] - 0.1) + 0.1, 0)
    np.testing.assert_allclose(effort, list(hard.values()))
    assert "any, 20 times as hard as usual" in walk._repr_html_()
    walk.difficulty("income", 1)
    assert walk.difficulties == {}
    np.testing.assert_array_equal(usual, [path.efforts for path in walk._paths()])
    walk.difficulty("income", 1)
    assert [e["event"] for e in walk.history] == ["start", "difficulty", "difficulty"]
    assert [e.get("times") for e in walk.history] == [None, 20.0, 1.0]


def test_what_is_hard_comes_back_with_the_walk_and_what_is_ahead_is_weighed_by_it(step):
    walk = step.walk(PERSON)
    walk.difficulty("income", 3)
    walk.take(walk.directions()[0].path)
    again = step.resume(walk.to_json())
    assert again.difficulties == {"income": 3.0}
    assert again.history == walk.history
    for mine, theirs in zip(walk._paths(), again._paths(), strict=True):
        np.testing.assert_array_equal(mine.efforts, theirs.efforts)
    slot, ahead = walk._followed
    here = np.repeat(walk._row, 1, axis=0)
    three = np.where(np.array(SCHEMA.names) == "income", 3.0, 1.0)[None]
    np.testing.assert_array_equal(ahead.efforts, step.effort_.of(here, ahead.values[-1:], three)[0])
    assert walk.directions()[0].path == slot
    saved = json.loads(walk.to_json())
    for place in (saved["difficulties"], saved["history"][1]):
        key = "times" if "times" in place else "income"
        for odd in (0, -1, "3", None):
            damaged = json.dumps(saved).replace(json.dumps(place), json.dumps({**place, key: odd}))
            with pytest.raises(ResultError, match="must be a number above 0"):
                step.resume(damaged)
    del saved["difficulties"]  # as in a walk that was saved before there were any
    assert step.resume(json.dumps(saved)).difficulties == {}


@pytest.mark.parametrize("times", [0, -2, np.nan, np.inf, "3", True, None])
def test_a_difficulty_is_a_number_above_0(step, times):
    walk = step.walk(PERSON)
    with pytest.raises(ParameterError, match=r"difficulty\(times\) must be a number above 0; got"):
        walk.difficulty("income", times)
    with pytest.raises(SchemaError, match="incom"):
        walk.difficulty("incom", 2)
    assert len(walk.history) == 1


def test_the_published_method_knows_no_difficulty():
    published = sl.StEP.published(paths=1).fit(train(), score, schema=SCHEMA)
    with pytest.raises(ParameterError, match="knows no difficulty"):
        published.walk(PERSON).difficulty("income", 2)


def test_limits_hold_in_every_offer_until_they_are_lifted(step):
    walk = step.walk(PERSON, locked=["job"])
    walk.limit("income", None, 50_000)
    walk.limit("education", None, "bachelor")
    walk.limit("debt", np.float64(2_000), None)
    assert walk.limits == {
        "income": (None, 50_000),
        "education": (None, "bachelor"),
        "debt": (2_000, None),
    }
    assert walk.directions() == []
    assert "give up the rules on" in walk.reason
    walk.limit("debt", None, None)
    while not walk.done:
        walk.take(walk.directions()[0].path)
    row = walk.row.iloc[0]
    assert row["income"] <= 50_000
    assert row["education"] == "bachelor"
    assert row["debt"] < 2_000


def test_limits_make_offers_anew_and_a_path_that_was_followed_is_forgotten(step):
    walk = step.walk(PERSON)
    walk.take(walk.directions()[0].path)
    free, income = walk.directions(), int(walk.row["income"].iloc[0])
    walk.limit("income", None, income)
    held = walk.directions()
    assert held != free
    assert "income" not in {c.feature for o in held for c in o.changes}
    events = len(walk.history)
    walk.limit("income", None, income)  # as before: nothing happened
    assert len(walk.history) == events


def test_somebody_outside_their_limits_may_stay_or_enter_them(step):
    walk = step.walk(PERSON, locked=["debt", "education", "job"])
    walk.limit("income", 80_000, 85_000)
    while not walk.done:
        walk.take(walk.directions()[0].path)
        assert walk.row["income"].iloc[0] >= 80_000


def test_limits_are_told_in_the_history_kept_and_shown(step):
    walk = step.walk(PERSON)
    walk.limit("education", "bachelor", None)
    walk.limit("income", 18_000.0, 40_000)
    walk.limit("education", None, None)
    walk.limit("age", -np.inf, 30)
    events = [{k: h.get(k) for k in ("event", "feature", "low", "high")} for h in walk.history]
    assert [tuple(event.values()) for event in events[1:]] == [
        ("limit", "education", "bachelor", None),
        ("limit", "income", 18_000, 40_000),
        ("limit", "education", None, None),
        ("limit", "age", None, 30),
    ]
    assert "any, between 18,000 and 40,000" in walk._repr_html_()
    again = step.resume(walk.to_json())
    assert again.limits == walk.limits == {"income": (18_000, 40_000), "age": (None, 30)}
    assert again.history == walk.history
    assert again.directions() == walk.directions()


def test_a_walk_that_was_kept_before_there_were_limits_resumes(step):
    walk = step.walk(PERSON, locked=["job"])
    older = json.loads(walk.to_json())
    del older["limits"]
    again = step.resume(json.dumps(older))
    assert again.limits == {}
    assert again.directions() == walk.directions()


def test_a_path_that_breaks_limits_is_not_taken_up_again(step):
    walk = step.walk(PERSON)
    walk.take(walk.directions()[0].path)
    saved = json.loads(walk.to_json())
    assert saved["followed"] is not None
    saved["limits"] = {name: [PERSON[name], PERSON[name]] for name in ("income", "debt")}
    again = step.resume(json.dumps(saved))
    assert all(c.feature not in ("income", "debt") for o in again.directions() for c in o.changes)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"incom": [1, 2]}, "no feature 'incom'"),
        ({"income": [2, 1]}, "contradictory"),
        ({"income": 3}, "must be a pair|not iterable|after \\*"),
        ({"income": [1, 2, 3]}, "positional arguments"),
        ([], "no attribute"),
    ],
)
def test_limits_that_are_damaged_are_refused(step, limits, said):
    saved = json.loads(step.walk(PERSON).to_json())
    with pytest.raises(ResultError, match=said):
        step.resume(json.dumps({**saved, "limits": limits}))


@pytest.mark.parametrize(
    ("limit", "error", "said"),
    [
        (("incom", 1, 2), SchemaError, "Did you mean 'income'"),
        (("income", 2, 1), ParameterError, "on 'income' are contradictory: low 2 is above high 1"),
        (("income", "1", None), ParameterError, "low must be a number, .* got '1'"),
        (("income", np.nan, None), ParameterError, "low must be a number, .* got nan"),
        (("education", None, "doctor"), ParameterError, "high must be a level, .* got 'doctor'"),
        (("job", "clerk", None), ParameterError, "what has an order"),
        (("debt", None, None), ParameterError, "'debt' has no limits; limited are: 'income'"),
    ],
)
def test_limits_that_are_wrong_change_nothing(step, limit, error, said):
    walk = step.walk(PERSON)
    walk.limit("income", 1, None)
    before = walk.to_json()
    with pytest.raises(error, match=said):
        walk.limit(*limit)
    assert walk.to_json() == before


def test_with_everything_locked_there_is_no_offer_and_a_reason(step):
    walk = step.walk(PERSON, locked=SCHEMA.names)
    assert walk.directions() == []
    assert not walk.done
    assert "positives can be reached" in walk.reason
    with pytest.raises(ParameterError, match="no offer for path 0"):
        walk.take(0)


@pytest.mark.parametrize("desired", [["yes", "partly"], np.int64(1)])
def test_a_walk_to_any_of_several_classes_can_be_resumed(desired):
    made = sl.StEP(paths=2).fit(train(), score, schema=SCHEMA, goal=sl.Goal(0.7, desired=desired))
    walk = made.walk(PERSON)
    assert made.resume(walk.to_json()).history == walk.history
    other = sl.StEP(paths=2).fit(train(), score, schema=SCHEMA, goal=sl.Goal(0.7, desired="yes"))
    with pytest.raises(ResultError, match="as its goal, and the method has"):
        other.resume(walk.to_json())


def test_the_history_tells_everything_in_order(step):
    walk = step.walk(PERSON)
    walk.take(walk.directions()[0].path)
    walk.lock("job")
    walk.unlock("job")
    walk.observe(PERSON)
    assert [h["event"] for h in walk.history] == ["start", "take", "lock", "unlock", "observe"]
    assert walk.history[0]["row"] == PERSON
    assert walk.history[2]["feature"] == "job"
    assert walk.history[0]["score"] == pytest.approx(score(pd.DataFrame([PERSON]))[0])


def test_a_walk_goes_on_from_its_json_as_if_it_had_never_stopped(step):
    walk = step.walk(PERSON)
    walk.take(walk.directions()[-1].path)
    walk.lock("education")
    walk.take(walk.directions()[0].path)
    again = step.resume(walk.to_json())
    assert again.directions() == walk.directions()
    assert again.history == walk.history
    assert again.locked == walk.locked
    pd.testing.assert_frame_equal(again.row, walk.row)
    assert json.loads(again.to_json()) == json.loads(walk.to_json())


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"schema": {"features": 3}}', "not json", "[" * 9999]
)
def test_what_is_not_a_walk_is_refused(step, text):
    with pytest.raises(ResultError, match="isn't a walk"):
        step.resume(text)


@pytest.mark.parametrize(
    ("number", "changed", "said"),
    [
        (1, {"event": "fly"}, "event 2 of its history is 'fly'"),
        (1, {"event": ["take"]}, "unhashable"),
        (1, {"event": "start"}, "event 2 of its history is 'start'"),
        (0, {"event": "observe", "path": None}, "event 1 of its history is 'observe'"),
        (1, {"row": None}, "NoneType"),
        (1, {"row": {"income": 3}}, "no column 'debt'"),
        (1, {"row": PERSON}, "doesn't end where the person is"),
        (1, {"row": {**PERSON, "income": 10**400}}, ""),
        (1, {"score": float("nan")}, "event 2 of its history has score nan"),
        (1, {"score": "high"}, "event 2 of its history has score 'high'"),
        (1, {"path": "first"}, "event 2 of its history has path 'first'"),
        (1, {"event": "lock", "feature": "wages"}, "no feature 'wages'"),
        (1, {"event": "lock"}, "it has no 'feature'"),
    ],
)
def test_a_history_that_cannot_have_happened_is_refused(step, number, changed, said):
    walk = step.walk(PERSON)
    walk.observe({**PERSON, "income": 20_000})
    content = json.loads(walk.to_json())
    content["history"][number] |= changed
    with pytest.raises(ResultError, match=f"isn't a walk that was saved.*{said}"):
        step.resume(json.dumps(content))


def test_without_a_history_a_walk_begins_where_the_person_is(step):
    content = {**json.loads(step.walk(PERSON).to_json()), "history": []}
    walk = step.resume(json.dumps(content))
    assert walk.history == step.walk(PERSON).history


@pytest.mark.parametrize("history", [None, {}, 3, "a", [[]]])
def test_a_history_that_is_none_is_refused(step, history):
    content = {**json.loads(step.walk(PERSON).to_json()), "history": history}
    with pytest.raises(ResultError, match="isn't a walk that was saved"):
        step.resume(json.dumps(content))


def test_what_happened_may_have_more_digits_than_plans_do(step):
    walk = step.walk(PERSON)
    row = {**PERSON, "income": 20_000.5, "debt": 25.5555}
    walk.observe(row)
    again = step.resume(walk.to_json())
    assert again.row.iloc[0].to_dict() == row
    for asked in (change for offer in again.directions() for change in offer.changes):
        if asked.feature in ("income", "debt"):
            assert asked.after == round(asked.after, 0 if asked.feature == "income" else 2)


def test_a_row_that_the_model_refuses_leaves_the_walk_where_it_was(step):
    def whole(rows: pd.DataFrame) -> np.ndarray:
        if (rows["income"] % 1).any():
            raise ValueError("whole numbers only")
        return score(rows)

    table = step.space_.to_frame(step.reference_.values)
    strict = sl.StEP(paths=1).fit(table, whole, schema=SCHEMA, goal=sl.Goal(threshold=0.6))
    walk = strict.walk(PERSON)
    with pytest.raises(ModelError, match="whole numbers only"):
        walk.observe({**PERSON, "income": 20_000.5})
    assert walk.row.iloc[0].to_dict() == PERSON


def test_a_walk_with_another_goal_is_refused(step):
    content = json.loads(step.walk(PERSON).to_json())
    content["goal"]["threshold"] = 0.9
    with pytest.raises(ResultError, match=r"began with a score of at least 0\.9 as its goal"):
        step.resume(json.dumps(content))
    del content["goal"]  # as walks were kept before
    assert step.resume(json.dumps(content)).row.iloc[0].to_dict() == PERSON


def test_a_walk_of_another_schema_is_refused(step):
    content = json.loads(step.walk(PERSON).to_json())
    content["schema"]["features"][0]["name"] = "wages"
    with pytest.raises(ResultError, match="another schema"):
        step.resume(json.dumps(content))


@pytest.mark.parametrize(
    ("row", "error", "said"),
    [
        ({**PERSON, "debt": np.nan}, MissingValueError, "debt"),
        ({**PERSON, "income": -1}, BoundsError, "'income' can't be −1: the schema says at least 0"),
        ({k: v for k, v in PERSON.items() if k != "job"}, ColumnError, "job"),
        (pd.DataFrame([PERSON, PERSON]), FrameError, "one row, got 2"),
    ],
)
def test_a_bad_row_is_refused_and_the_walk_stays_where_it_was(step, row, error, said):
    with pytest.raises(error, match=said):
        step.walk(row)
    walk = step.walk(PERSON)
    with pytest.raises(error, match=said):
        walk.observe(row)
    assert walk.row.iloc[0].to_dict() == PERSON
    assert len(walk.history) == 1


def test_unknown_names_and_paths_are_answered_by_name(step):
    walk = step.walk(PERSON)
    with pytest.raises(SchemaError, match="Did you mean 'income'"):
        walk.lock("incom")
    with pytest.raises(ParameterError, match="isn't locked"):
        walk.unlock("income")
    with pytest.raises(ParameterError, match="path 7"):
        walk.take(7)


def test_a_row_may_be_a_series_or_a_frame(step):
    series = pd.Series(PERSON)
    frame = pd.DataFrame([PERSON], index=["somebody"])
    assert step.walk(series).directions() == step.walk(frame).directions()


def test_someone_already_at_the_goal_is_done_at_once(step):
    walk = step.walk({**PERSON, "income": 88_000, "debt": 0.0})
    assert walk.done
    assert walk.directions() == []


def test_the_published_method_walks_too_but_knows_no_locks(step):
    rows = step.reference_.values
    published = sl.StEP.published(paths=2).fit(
        step.space_.to_frame(rows), score, space=step.space_, goal=sl.Goal(threshold=0.6)
    )
    walk = published.walk(PERSON)
    for _ in range(50):
        if walk.done:
            break
        walk.take(walk.directions()[0].path)
    assert walk.done
    with pytest.raises(ParameterError, match="locks"):
        walk.lock("income")
    with pytest.raises(ParameterError, match="limits"):
        walk.limit("income", 1, None)


def test_a_walk_is_shown_in_one_line(step):
    walk = step.walk(PERSON)
    assert repr(walk) == f"Walk(score={walk.score:.3f}, 1 events, 3 offers)"


def test_a_walk_resumes_under_a_schema_that_only_speaks_otherwise(step):
    walk = step.walk(PERSON)
    named = [
        sl.Numeric("income", bounds=(0, None), integer=True, label="yearly income", unit="$"),
        *SCHEMA.features[1:],
    ]
    other = sl.StEP(paths=3).fit(
        step.space_.to_frame(step.reference_.values),
        score,
        schema=sl.Schema(named),
        goal=sl.Goal(threshold=0.6),
    )
    assert other.resume(walk.to_json()).row.equals(walk.row)
