"""One person's feasible set: project, snap, check, explain."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.table.test_space import Table, tables

import stepladder as sl
from stepladder.errors import BoundsError, ParameterError, SchemaError
from stepladder.table.feasible import Feasible
from stepladder.table.rules.faults import add_bounds_faults
from stepladder.table.rules.grid import rounded

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 1_000_000)),
        sl.Numeric("age", change="never"),
        sl.Numeric("rooms", integer=True, bounds=(1, 9)),
        sl.Numeric("rate", decimals=2),
        sl.Numeric("savings", change="increase"),
        sl.Numeric("debt", change="decrease", bounds=(0, None)),
        sl.Ordinal("education", levels=["none", "school", "bachelor", "master"], change="increase"),
        sl.Categorical("job", levels=["clerk", "cook", "smith"]),
        sl.Categorical("sex", levels=["f", "m"], change="never"),
    ]
)
TRAIN = pd.DataFrame(
    {
        "income": [10.0, 20.0, 50.0],
        "age": [30.0, 40.0, 50.0],
        "rooms": [2, 3, 5],
        "rate": [1.25, 1.5, 2.75],
        "savings": [0.0, 5.0, 9.5],
        "debt": [9.0, 5.0, 0.0],
        "education": ["school", "none", "master"],
        "job": ["clerk", "cook", "smith"],
        "sex": ["f", "m", "f"],
    }
)
SPACE = sl.Space.fit(SCHEMA, TRAIN)


def person(**other: Any) -> pd.DataFrame:
    today: dict[str, Any] = {
        "income": 20.0,
        "age": 40.0,
        "rooms": 3,
        "rate": 1.5,
        "savings": 5.0,
        "debt": 5.0,
        "education": "bachelor",
        "job": "cook",
        "sex": "m",
    }
    return pd.DataFrame([today | other])


def point(**other: Any) -> np.ndarray:
    return SPACE.encode(person(**other))


# ---- properties -------------------------------------------------------------------------------


@st.composite
def situations(draw: st.DrawFn, *, loose: bool = False) -> tuple[sl.Feasible, pd.DataFrame, Any]:
    """A space, one person or all of them, and points far and near."""
    table: Table = draw(tables(loose=loose))
    space = sl.Space.fit(table.schema, table.frame)
    names = list(table.schema.names)
    locked = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
    alone = draw(st.booleans())
    people = table.frame.iloc[[0]] if alone else table.frame
    count = draw(st.integers(0, 6)) if alone else len(people)
    reach = draw(st.sampled_from([1e-12, 1.0, 1e6]))
    noise = draw(hnp.arrays(float, (count, space.width), elements=st.floats(-reach, reach)))
    near = draw(st.booleans())
    points = noise + space.encode(people) if near else noise
    return sl.Feasible.of(space, people, locked=locked), people, points


@given(situation=situations())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_whatever_is_snapped_passes_the_check(situation):
    feasible, _, points = situation
    rows = feasible.space.to_frame(feasible.snap(points))
    assert feasible.check(rows) == []


@given(situation=situations(loose=True))
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_snapping_passes_the_check_also_where_people_hold_odd_values(situation):
    feasible, _, points = situation
    rows = feasible.space.to_frame(feasible.snap(points))
    assert feasible.check(rows) == []


@given(situation=situations(loose=True))
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_a_person_who_does_not_move_keeps_every_value_exactly(situation):
    feasible, people, _ = situation
    standing = feasible.snap(feasible.space.encode(people))
    assert (standing == feasible.start).all()
    assert feasible.check(people) == []


@given(situation=situations(loose=True))
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_snapping_a_snapped_row_changes_nothing(situation):
    feasible, _, points = situation
    rows = feasible.snap(points)
    assert (feasible.repair(rows) == rows).all()
    assert (feasible.snap(feasible.space.to_points(rows)) == rows).all()


@given(situation=situations())
@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
def test_blocked_by_names_exactly_the_features_that_projecting_would_move(situation):
    feasible, people, _ = situation
    others = people.iloc[::-1] if len(people) > 1 else people
    values = feasible.space.read(others)
    moved = np.clip(values, *feasible.limits) != values
    names = feasible.space.schema.names
    expected = [tuple(n for n, m in zip(names, row, strict=True) if m) for row in moved]
    assert feasible.blocked_by(others) == expected


# ---- rules, one by one ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("feature", "after", "rule"),
    [
        ("age", 41.0, "never changes"),
        ("sex", "f", "never changes"),
        ("savings", 4.0, "may only increase"),
        ("education", "school", "may only increase"),
        ("debt", 6.0, "may only decrease"),
        ("income", -1.0, "must lie within 0 and 1000000"),
        ("income", 1_000_000.5, "must lie within 0 and 1000000"),
        ("debt", -1.0, "must lie within 0 and inf"),
        ("rooms", 10, "must lie within 1 and 9"),
        ("rooms", 3.5, "must be whole"),
        ("rate", 1.505, "has at most 2 decimals"),
    ],
)
def test_a_broken_rule_is_named_with_what_became_of_the_value(feature, after, rule):
    found = sl.Feasible.of(SPACE, person()).check(person(**{feature: after}))
    assert [(v.feature, v.rule, v.after) for v in found] == [(feature, rule, after)]
    assert found[0].before == person()[feature].item()
    assert str(found[0]).startswith(f"{feature} {rule}: ")


@pytest.mark.parametrize(("feature", "after"), [("income", 21.0), ("job", "smith"), ("rooms", 4)])
def test_a_locked_feature_cannot_change_either(feature, after):
    feasible = sl.Feasible.of(SPACE, person(), locked=[feature])
    assert [str(v.rule) for v in feasible.check(person(**{feature: after}))] == ["is locked"]
    assert sl.Feasible.of(SPACE, person()).check(person(**{feature: after})) == []


def test_locking_a_feature_that_does_not_exist_is_answered_with_the_nearest():
    with pytest.raises(SchemaError, match=r"no feature 'incone'. Did you mean 'income'\?"):
        sl.Feasible.of(SPACE, person(), locked=["incone"])


def test_one_text_is_no_list_of_locked_features():
    with pytest.raises(ParameterError, match=r"locked=\['income'\]"):
        sl.Feasible.of(SPACE, person(), locked="income")


def test_every_violation_of_every_row_is_named_by_the_rows_own_label():
    rows = pd.concat([person(age=50.0, sex="f"), person(), person(debt=9.0)])
    rows.index = ["anna", "ben", "cleo"]
    found = sl.Feasible.of(SPACE, person()).check(rows)
    assert [(v.row, v.feature) for v in found] == [
        ("anna", "age"),
        ("anna", "sex"),
        ("cleo", "debt"),
    ]


@pytest.mark.parametrize(
    ("change", "bounds", "after", "rule"),
    [
        ("any", (5, 5), 6.0, "must lie within 5 and 5"),
        ("increase", (None, 5), 4.0, "may only increase"),
        ("decrease", (5, None), 6.0, "may only decrease"),
    ],
)
def test_a_feature_that_its_bounds_hold_fast_is_not_called_locked(change, bounds, after, rule):
    schema = sl.Schema([sl.Numeric("x", change=change, bounds=bounds)])
    space = sl.Space.fit(schema, pd.DataFrame({"x": [5.0, 7.0]}))
    feasible = sl.Feasible.of(space, pd.DataFrame({"x": [5.0]}))
    assert [v.rule for v in feasible.check(pd.DataFrame({"x": [after]}))] == [rule]


def test_blocked_by_says_which_rules_keep_a_person_from_becoming_another():
    feasible = sl.Feasible.of(SPACE, person())
    others = pd.concat([person(age=30.0, sex="f"), person(income=50.0), person(debt=7.0)])
    assert feasible.blocked_by(others) == [("age", "sex"), (), ("debt",)]


def test_each_of_many_people_has_a_set_of_their_own():
    people = pd.concat([person(savings=1.0), person(savings=8.0)], ignore_index=True)
    feasible = sl.Feasible.of(SPACE, people)
    assert len(feasible) == 2
    rows = feasible.snap(np.repeat(point(savings=5.0), 2, axis=0))
    assert rows[:, SPACE.schema.position("savings")].tolist() == [5.0, 8.0]
    turned = feasible.take(np.array([1, 0, 0]))
    rows = turned.snap(np.repeat(point(savings=5.0), 3, axis=0))
    assert rows[:, SPACE.schema.position("savings")].tolist() == [8.0, 5.0, 5.0]


def test_what_is_hard_for_each_goes_with_them_and_is_as_usual_by_default():
    start = SPACE.read(pd.concat([person(), person(income=9.0)], ignore_index=True))
    usual = Feasible.around(SPACE, start)
    assert usual.difficulty is None
    hard = np.arange(1.0, start.size + 1).reshape(start.shape)
    feasible = Feasible.around(SPACE, start, difficulty=hard)
    np.testing.assert_array_equal(feasible.take(np.array([1, 0, 1])).difficulty, hard[[1, 0, 1]])


def test_a_number_of_points_that_fits_nobody_is_refused():
    feasible = sl.Feasible.of(SPACE, pd.concat([person(), person()]))
    with pytest.raises(ParameterError, match="one row for each of 2 people, got 3"):
        feasible.snap(np.repeat(point(), 3, axis=0))


@pytest.mark.parametrize("method", ["check", "blocked_by"])
def test_a_number_of_rows_that_fits_nobody_is_refused(method):
    feasible = sl.Feasible.of(SPACE, pd.concat([person(), person()]))
    with pytest.raises(ParameterError, match="one row for each of 2 people, got 3"):
        getattr(feasible, method)(pd.concat([person()] * 3))


def test_a_category_flips_where_another_level_weighs_more_and_never_has_two():
    feasible = sl.Feasible.of(SPACE, person())
    where = SPACE.slices["job"]
    for weights, job in (
        ((0.4, 0.5, 0.1), "cook"),
        ((0.5, 0.4, 0.1), "clerk"),
        ((1, 1, 1), "clerk"),
    ):
        wanted = point()
        wanted[:, where] = weights
        assert SPACE.to_frame(feasible.snap(wanted))["job"].tolist() == [job]


def test_whole_numbers_levels_and_decimals_go_to_the_nearest_allowed():
    feasible = sl.Feasible.of(SPACE, person())
    wanted = (np.array([[7.6, 2.468, 3.0]]) - SPACE.center[[2, 3, 6]]) / SPACE.scale[[2, 3, 6]]
    points = point()
    points[:, [2, 3, 6]] = wanted
    snapped = SPACE.to_frame(feasible.snap(points)).iloc[0]
    assert (snapped["rooms"], snapped["rate"], snapped["education"]) == (8, 2.47, "master")


# ---- what people hold already -----------------------------------------------------------------


def test_a_whole_number_feature_that_holds_a_half_keeps_it_until_it_moves():
    odd = person(rooms=2.5)
    feasible = sl.Feasible.of(SPACE, odd)
    at = SPACE.schema.position("rooms")
    assert feasible.snap(SPACE.encode(odd))[0, at] == 2.5
    assert feasible.check(odd) == []
    assert feasible.snap(point(rooms=4))[0, at] == 4
    assert [v.rule for v in feasible.check(person(rooms=3.5))] == ["must be whole"]


def test_a_value_between_the_last_whole_number_and_the_bound_survives():
    schema = sl.Schema([sl.Numeric("x", integer=True, bounds=(0.5, 9.5))])
    space = sl.Space.fit(schema, pd.DataFrame({"x": [1.0, 5.0]}))
    for value in (9.5, 0.5):
        frame = pd.DataFrame({"x": [value]})
        feasible = sl.Feasible.of(space, frame)
        assert feasible.snap(space.encode(frame)).tolist() == [[value]]
        far = np.array([[1e9], [-1e9]])
        assert set(feasible.snap(far)[:, 0]) <= {value, 9.0, 1.0}


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"income": 1_000_000.5}, ("income = 1000000.5", "0 to 1000000", "(1 in all)")),
        ({"debt": -3.0}, ("debt = -3", "from 0")),
        ({"rooms": 12}, ("rooms = 12", "1 to 9")),
    ],
)
def test_bounds_that_a_person_already_breaks_are_bad_input(other, said):
    with pytest.raises(BoundsError) as caught:
        sl.Feasible.of(SPACE, person(**other).set_axis(["anna"]))
    for words in ("'anna'", *said, "Widen the bounds, or correct the row"):
        assert words in str(caught.value)


def test_a_gap_stays_one_unless_it_may_be_filled_in():
    today = person(income=np.nan)
    feasible = sl.Feasible.of(SPACE, today)
    rows = feasible.repair(SPACE.read(person(income=30.0, rooms=4)))
    assert np.isnan(rows[0, 0])
    assert feasible.keeps(rows).all()
    (broken,) = feasible.check(person(income=30.0))
    assert broken.rule == "has no value, and may not be filled in"
    schema = sl.Schema([f.but(fill=True) if f.name == "income" else f for f in SCHEMA.features])
    filled = sl.Feasible.of(sl.Space.fit(schema, TRAIN), today)
    assert filled.repair(SPACE.read(person(income=30.0)))[0, 0] == 30.0
    assert filled.check(person(income=30.0)) == []


def test_nobody_is_advised_to_leave_a_gap():
    feasible = sl.Feasible.of(SPACE, person())
    gap = SPACE.read(person(income=np.nan), allow_missing=True)
    assert feasible.repair(gap)[0, 0] == 20.0
    (broken,) = feasible.check(person(income=np.nan))
    assert broken.rule == "can't be left empty"


def test_bounds_that_rows_break_are_said_of_each_beside_what_is_wrong_already():
    people = pd.concat([person(), person(debt=-3.0), person(income=-1.0, rooms=12)])
    faults = {1: "It has a dent."}
    add_bounds_faults(SPACE, SPACE.read(people), faults)
    ends = "Widen the bounds, or correct the row."
    assert faults == {
        1: f"It has a dent. 'debt' is -3, outside the schema's own bounds, from 0. {ends}",
        2: f"'income' is -1, outside the schema's own bounds 0 to 1000000. {ends} "
        f"'rooms' is 12, outside the schema's own bounds 1 to 9. {ends}",
    }


# ---- float32 ----------------------------------------------------------------------------------


def single(*values: float) -> pd.DataFrame:
    return pd.DataFrame({"x": np.array(values, dtype=np.float32)})


def test_a_float32_column_gets_only_what_it_can_hold():
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), single(0.1, 0.7))
    rows = sl.Feasible.of(space, single(0.1)).snap(np.array([[0.123456789012345]]))
    assert rows[0, 0] == np.float64(np.float32(rows[0, 0]))
    assert space.to_frame(rows)["x"].dtype == np.float32


def test_a_float32_person_may_stand_on_a_bound_that_float32_rounds():
    assert np.float64(np.float32(0.1)) > 0.1
    schema = sl.Schema([sl.Numeric("x", bounds=(-0.1, 0.1))])
    space = sl.Space.fit(schema, single(0.0, 0.1))
    for end in (0.1, -0.1):
        feasible = sl.Feasible.of(space, single(end))
        assert feasible.check(space.to_frame(feasible.snap(space.encode(single(end))))) == []
        assert feasible.snap(space.encode(single(end)))[0, 0] == np.float32(end)


def test_a_float32_row_that_moves_to_a_bound_stays_within_it_to_the_last_digit():
    schema = sl.Schema([sl.Numeric("x", bounds=(None, 0.1))])
    space = sl.Space.fit(schema, single(0.0, 0.05))
    rows = sl.Feasible.of(space, single(0.0)).snap(np.array([[1e6]]))
    assert 0.0999999 < rows[0, 0] <= 0.1


def test_a_number_that_a_float32_column_cannot_hold_is_named_so():
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), single(0.1, 0.7))
    feasible = sl.Feasible.of(space, single(0.5))
    found = feasible.check(pd.DataFrame({"x": [0.1]}))
    assert [v.rule for v in found] == ["must be a number that a float32 column can hold"]


def test_decimals_in_a_float32_column_reach_their_bound():
    schema = sl.Schema([sl.Numeric("x", decimals=1, bounds=(None, 0.7))])
    space = sl.Space.fit(schema, single(0.0, 0.5))
    rows = sl.Feasible.of(space, single(0.0)).snap(np.array([[1e6]]))
    assert rows[0, 0] == np.float32(0.7)


@pytest.mark.parametrize("end", [12849.945191667557, 0.1, 1e300, 2.0**53, 123456.7890123456])
@pytest.mark.parametrize(
    ("decimals", "dtype"),
    [(0, "float64"), (2, "float64"), (12, "float64"), (2, "float32"), (12, "float32")],
)
def test_a_bound_finer_than_its_decimals_or_than_a_float_has_an_allowed_value_inside(
    end, decimals, dtype
):
    end = min(end, float(np.finfo(dtype).max))
    schema = sl.Schema([sl.Numeric("a", decimals=decimals, bounds=(-end, end))])
    frame = pd.DataFrame({"a": [0.0, 1.0 if end > 1 else 0.05]}).astype(dtype)
    feasible = Feasible.of(sl.Space.fit(schema, frame), frame.head(1))
    assert -end <= feasible.limits[0][0, 0] <= 0.0 <= feasible.limits[1][0, 0] <= end
    both = np.array([feasible.limits[0][0], feasible.limits[1][0]])
    assert not feasible.broken(both).any()
    step = max(10.0**-decimals, end * float(np.finfo(dtype).eps))
    assert end - feasible.limits[1][0, 0] <= 2 * step


@given(st.floats(-1e18, 1e18), st.integers(0, 12))
def test_rounding_twice_is_rounding_once(value, places):
    once = rounded(np.array([value]), places)
    assert rounded(once, places) == once
    assert abs(once[0] - value) <= 0.5 * 10.0**-places + np.spacing(abs(value))
