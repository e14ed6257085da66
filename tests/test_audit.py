"""The audit: groups of every kind, in frames of every kind, with little data or odd data."""

from __future__ import annotations

import json
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tests.methods.bank import PEOPLE, fitted

import stepladder as sl
from stepladder.audit import audit
from stepladder.errors import ColumnError, FrameError, ParameterError
from stepladder.metrics.groups import MEASURES, NOTIONS

REACHED, MISSED, HAPPY = sl.Outcome.REACHED, sl.Outcome.STALLED, sl.Outcome.ALREADY_POSITIVE
KINDS = {"pandas": lambda f: f, "polars": pl.from_pandas, "pyarrow": pa.Table.from_pandas}


def path(outcome, *scores):
    """A path along one number, whose row is its score."""
    values = np.array(scores, dtype=float)[:, None]
    return sl.Path(outcome, "", values, values, np.array(scores, dtype=float))


def reaching(*costs):
    return [path(REACHED, 0.0, cost / 2, cost) for cost in costs]


def handmade(routes, people=None, convert=KINDS["pandas"]):
    """A result put together by hand over one number, `a`."""
    frame = convert(pd.DataFrame({"a": [0.0, 1.0]}))
    fitted = sl.Space.fit(sl.Schema([sl.Numeric("a")]), frame)
    space = sl.Space(fitted.schema, fitted.template, np.zeros(1), np.ones(1))
    return sl.Recourse(
        space=space,
        goal=sl.Goal(0.5),
        template=space.template,
        people=np.arange(len(routes)) if people is None else np.array(people),
        routes=routes,
        settings={},
        reference={},
    )


def five(**settings):
    """Two women, two men and one whose sex isn't known; one of the men asked for nothing."""
    return handmade(
        [
            reaching(2.0, 4.0),
            [path(MISSED, 0.0, 0.1), path(MISSED, 0.0, 0.2)],
            reaching(1.0, 1.0),  # twice the same
            [path(HAPPY, 1.0)] * 2,
            [path(MISSED, 0.0, 0.1), *reaching(3.0)],
        ],
        **settings,
    )


SEX = ["f", "f", "m", "m", None]


def many(costs):
    """People with one path each, of these costs; NaN where it fails."""
    return handmade([[path(MISSED, 0.0)] if math.isnan(c) else reaching(c) for c in costs])


def row(frame, **wanted):
    """The one row of a pandas frame that has these values."""
    mask = np.logical_and.reduce([frame[name] == value for name, value in wanted.items()])
    assert mask.sum() == 1
    return frame[mask].iloc[0]


def as_pandas(frame):
    return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()


# ---- by hand ------------------------------------------------------------------------------------


def test_groups_by_hand():
    found = audit(five(), {"sex": SEX}, budget=2.5, samples=20).by_group
    assert list(found["group"]) == ["sex=f", "sex=m", "sex=missing"]
    assert list(found["people"]) == [2, 2, 1]
    assert list(found["asked"]) == [2, 1, 1]
    assert list(found["selection_rate"]) == [0.0, 0.5, 0.0]
    assert list(found["success"]) == [0.5, 1.0, 1.0]
    assert list(found["no_recourse"]) == [0.5, 0.0, 0.0]
    assert list(found["mean_cost"]) == list(found["median_cost"]) == [2.0, 1.0, 3.0]
    assert list(found["mean_steps"]) == [2.0, 2.0, 2.0]
    assert list(found["choice"]) == [1.0, 1.0, 1.0]  # of two for one woman, none for the other
    assert list(found["within_budget"]) == [0.5, 1.0, 0.0]
    assert list(found["cost_of_effectiveness"]) == [math.inf, 1.0, 3.0]
    assert found["small"].all()


def test_gaps_say_who_is_worst_off():
    found = audit(five(), {"sex": SEX}, samples=20).gaps
    success = row(found, measure="success")
    assert (success["worst_off"], success["gap"], success["ratio"]) == ("sex=f", 0.5, 0.5)
    cost = row(found, measure="mean_cost")
    assert (cost["worst_off"], cost["best_off"], cost["gap"]) == ("sex=missing", "sex=m", 2.0)
    assert row(found, measure="mean_steps")[["worst_off", "best_off", "gap"]].tolist() == [
        "",
        "",
        0,
    ]
    assert found["small"].all()
    assert set(found["compared"]) == {3}


def test_the_six_notions_say_what_they_ask_about():
    made = audit(five(), {"sex": SEX}, samples=20, effectiveness=0.4)
    assert list(made.notions["notion"]) == list(NOTIONS)
    at = dict(zip(made.notions["notion"], made.notions["at"], strict=True))
    assert made.budget == 2.0  # the median of 2, 1 and 3
    assert at["equal_effectiveness_within_budget"] == 2.0
    assert at["equal_cost_of_effectiveness"] == 0.4
    assert at["fair_effectiveness_cost_trade_off"] in (1.0, 2.0)
    worst = row(made.notions, notion="equal_cost_of_effectiveness")
    assert (worst["worst_off"], worst["best_off"], worst["gap"]) == ("sex=missing", "sex=m", 2.0)


def test_the_counts_of_the_whole():
    made = audit(five(), {"sex": SEX}, samples=20)
    assert (made.people, made.asked) == (5, 4)


# ---- groups -------------------------------------------------------------------------------------


def test_every_column_and_every_pair_by_default():
    columns = {"sex": SEX, "race": list("abaab"), "old": [True, False, True, False, True]}
    made = audit(five(), columns, samples=5)
    kinds = ["sex", "race", "old", "sex & race", "sex & old", "race & old"]
    assert list(dict.fromkeys(made.by_group["by"])) == kinds
    crossed = made.by_group[made.by_group["by"] == "sex & race"]
    assert list(crossed["group"]) == [
        "sex=f & race=a",
        "sex=f & race=b",
        "sex=m & race=a",
        "sex=missing & race=b",
    ]
    for _, rows in made.by_group.groupby("by"):
        assert rows["people"].sum() == 5
        assert rows["asked"].sum() == 4


def test_by_chooses_columns_and_crosses_as_many_as_it_names():
    columns = {"sex": SEX, "race": list("abaab"), "old": [True, False, True, False, True]}
    by = ["race", ("sex", "race", "old"), "race"]
    found = audit(five(), columns, by=by, samples=5).by_group
    assert list(dict.fromkeys(found["by"])) == ["race", "sex & race & old"]
    assert "sex=f & race=a & old=True" in list(found["group"])
    alone = audit(five(), columns, by="race", samples=5).by_group
    assert set(alone["by"]) == {"race"}


def test_a_number_of_many_values_is_cut_into_four_bands_said_in_words():
    ages = np.random.default_rng(0).permutation(np.arange(20, 60))
    found = audit(many(np.ones(40)), {"age": ages}, samples=5).by_group
    assert list(found["group"]) == [
        "age=up to 29",
        "age=over 29 to 39",
        "age=over 39 to 49",
        "age=over 49",
    ]
    assert list(found["people"]) == [10, 10, 10, 10]


def test_the_ends_of_bands_are_round_and_still_true():
    incomes = np.linspace(12_345.67, 98_765.43, 100)
    found = audit(many(np.ones(100)), {"income": incomes}, samples=5).by_group
    assert list(found["group"]) == [
        "income=up to 33300",
        "income=over 33300 to 55100",
        "income=over 55100 to 76900",
        "income=over 76900",
    ]
    expected = np.diff([0, *((incomes <= end).sum() for end in (33300, 55100, 76900)), 100])
    assert list(found["people"]) == list(expected)


def test_the_ends_of_bands_aren_t_rounded_where_that_would_merge_them():
    close = 1_000_000 + np.arange(40)
    found = audit(many(np.ones(40)), {"number": close}, samples=5).by_group
    assert list(found["people"]) == [10, 10, 10, 10]
    assert found["group"][0] == "number=up to 1000009"


def test_a_number_that_is_mostly_one_value_has_fewer_bands():
    debts = [0] * 90 + list(range(1, 11))
    found = audit(many(np.ones(100)), {"debt": debts}, samples=5).by_group
    assert list(found["group"]) == ["debt=up to 0", "debt=over 0"]
    assert list(found["people"]) == [90, 10]
    top = audit(many(np.ones(100)), {"debt": [10] * 90 + list(range(10))}, samples=5).by_group
    assert list(top["group"]) == ["debt=up to 9", "debt=over 9"]
    assert list(top["people"]) == [10, 90]


def test_a_number_of_few_values_is_taken_as_it_is():
    children = [0.0, 1.0, 2.0, math.nan, 10.0]
    found = audit(five(), {"children": children}, samples=5).by_group
    assert [label.split("=")[1] for label in found["group"]] == ["0", "1", "2", "10", "missing"]


@pytest.mark.parametrize("gap", [None, math.nan, pd.NA, math.inf], ids=str)
def test_a_number_that_isn_t_known_is_a_group(gap):
    found = audit(many(np.ones(12)), {"age": [gap, *range(20, 31)]}, samples=5).by_group
    assert found["group"].iloc[-1] == "age=missing"
    assert found["people"].iloc[-1] == 1


def test_nothing_known_at_all_is_one_group():
    found = audit(five(), {"sex": [None] * 5}, samples=5)
    assert list(found.by_group["group"]) == ["sex=missing"]
    assert found.gaps["gap"].isna().all()


# ---- features of the schema ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def result():
    people = PEOPLE.copy()
    people.loc[people.index[:3], "job"] = None
    return fitted().recourse(people)


def test_the_schema_s_own_features_are_read_where_people_stand_today(result):
    made = audit(result, ["job", "education", "owner", "age"], by=["job"], samples=5)
    jobs = PEOPLE["job"].iloc[3:].value_counts()
    assert dict(zip(made.by_group["group"], made.by_group["people"], strict=True)) == {
        **{f"job={job}": count for job, count in jobs.items()},
        "job=missing": 3,
    }
    missing = row(made.by_group, group="job=missing")
    assert missing["success"] == 0.0  # who lacks a value asked, and got no path


def test_levels_stand_in_the_schema_s_order_and_numbers_in_bands(result):
    found = audit(result, ("education", "age", "owner"), samples=5).by_group
    education = found[found["by"] == "education"]["group"]
    assert list(education) == [f"education={level}" for level in ("school", "bachelor", "master")]
    assert list(found[found["by"] == "owner"]["group"]) == ["owner=False", "owner=True"]
    assert len(found[found["by"] == "age"]) == 4


def test_one_name_will_do_and_agrees_with_a_frame_of_the_same(result):
    by_name = audit(result, "age", samples=20)
    by_frame = audit(result, PEOPLE[["age"]], samples=20)
    pd.testing.assert_frame_equal(by_name.by_group, by_frame.by_group)
    pd.testing.assert_frame_equal(by_name.gaps, by_frame.gaps)


# ---- frames -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("groups_kind", KINDS)
def test_frames_in_of_any_kind_and_out_of_the_result_s_kind(kind, groups_kind):
    groups = KINDS[groups_kind](pd.DataFrame({"sex": SEX, "age": [20, 30, 40, 50, 60]}))
    expected = audit(five(), pd.DataFrame({"sex": SEX, "age": [20, 30, 40, 50, 60]}), samples=20)
    made = audit(five(convert=KINDS[kind]), groups, samples=20)
    for name in ("by_group", "gaps", "notions"):
        frame = getattr(made, name)
        assert type(frame) is type(KINDS[kind](pd.DataFrame({"a": [1]})))
        pd.testing.assert_frame_equal(as_pandas(frame), getattr(expected, name), check_dtype=False)
    assert str(made) == str(expected)
    assert made.to_dict() == expected.to_dict()


@pytest.mark.parametrize(
    "column", [np.array, pl.Series, pa.array, tuple, pd.Series, pd.Categorical]
)
def test_a_mapping_takes_any_column(column):
    made = audit(five(), {"sex": column(["f", "f", "m", "m", "m"])}, samples=5)
    assert list(made.by_group["people"]) == [2, 3]


def test_pandas_rows_are_matched_by_their_labels():
    result = five(people=[40, 7, 99, 3, 12])
    whole = pd.DataFrame({"sex": SEX, "x": 0}, index=[40, 7, 99, 3, 12])
    whole.loc[1000] = ["f", 0]  # someone who isn't in the result
    expected = audit(result, {"sex": SEX}, samples=5).by_group
    for groups in (whole[["sex"]], whole[["sex"]].iloc[::-1], {"sex": whole["sex"].iloc[::-1]}):
        pd.testing.assert_frame_equal(audit(result, groups, samples=5).by_group, expected)


def test_labels_that_stand_twice_are_fine_while_the_rows_are_the_same():
    result = five(people=[1, 1, 2, 2, 3])
    groups = pd.DataFrame({"sex": SEX}, index=[1, 1, 2, 2, 3])
    assert list(audit(result, groups, samples=5).by_group["people"]) == [2, 2, 1]
    with pytest.raises(FrameError, match="labels aren't those of the 5 people"):
        audit(result, groups.iloc[::-1])


# ---- small groups -------------------------------------------------------------------------------


def planted(sizes, shares):
    """Groups a, b, … of these sizes, of which just these shares have a path; costs alike."""
    costs = np.full((len(sizes), max(sizes)), np.nan)
    for own, size, share in zip(costs, sizes, shares, strict=True):
        own[: round(size * share)] = np.linspace(1.0, 3.0, round(size * share))
    kept = np.concatenate([own[:size] for own, size in zip(costs, sizes, strict=True)])
    return many(kept), {"group": np.repeat(list("abcdefgh")[: len(sizes)], sizes)}


def test_small_groups_are_marked_and_compared_apart():
    result, groups = planted([100, 100, 5], [0.9, 0.9, 0.0])
    made = audit(result, groups)
    assert list(made.by_group["small"]) == [False, False, True]
    success = made.gaps[made.gaps["measure"] == "success"]
    assert list(success["compared"]) == [2, 3]
    assert list(success["small"]) == [False, True]
    large, every = success["gap_low"]
    assert large <= 0 < every
    assert success["worst_off"].iloc[1] == "group=c"
    assert len(made.notions) == 12
    assert "group=c*" in str(made)
    assert "* fewer than 30 people asked" in str(made)


def test_where_no_two_groups_are_large_enough_all_are_compared_and_marked():
    result, groups = planted([100, 5, 5], [0.9, 0.9, 0.9])
    made = audit(result, groups, samples=20)
    assert set(made.gaps["compared"]) == {3}
    assert made.gaps["small"].all()


def test_smallest_says_what_is_small():
    result, groups = planted([10, 9], [0.9, 0.9])
    made = audit(result, groups, smallest=10, samples=20)
    assert list(made.by_group["small"]) == [False, True]
    assert not audit(result, groups, smallest=9, samples=20).by_group["small"].any()


# ---- disparities --------------------------------------------------------------------------------


def test_a_planted_disparity_is_found_and_named():
    result, groups = planted([200, 200, 200], [0.9, 0.5, 0.9])
    found = audit(result, groups)
    success = row(found.gaps, measure="success")
    assert success["worst_off"] == "group=b"
    assert success["gap_low"] > 0.2
    assert success["ratio_high"] < 0.8
    assert row(found.notions, notion="equal_effectiveness")["gap"] == success["gap"]
    assert row(found.notions, notion="fair_effectiveness_cost_trade_off")["gap_low"] > 0.1
    cost = row(found.gaps, measure="mean_cost")
    assert cost["gap_low"] <= 0 <= cost["gap_high"]


def test_a_disparity_that_only_shows_where_two_columns_cross_is_found():
    """Women of race a and men of race b do badly, so that neither column alone tells."""
    sex, race = np.repeat(["f", "f", "m", "m"], 200), np.repeat(["a", "b", "a", "b"], 200)
    unlucky = (sex == "f") == (race == "a")
    costs = np.where(np.arange(800) % 10 < np.where(unlucky, 5, 9), 1.0, np.nan)
    gaps = audit(many(costs), {"sex": sex, "race": race}).gaps
    success = gaps[gaps["measure"] == "success"].set_index("by")
    assert success.loc["sex", "gap_low"] <= 0
    assert success.loc["race", "gap_low"] <= 0
    assert success.loc["sex & race", "gap_low"] > 0.2
    assert success.loc["sex & race", "worst_off"] in ("sex=f & race=a", "sex=m & race=b")


def test_groups_alike_have_intervals_that_hold_no_difference():
    result, groups = planted([200, 200], [0.8, 0.8])
    made = audit(result, groups)
    assert (made.gaps["gap_low"] <= 0).all()
    assert (made.gaps["ratio_high"] >= 1).all()
    assert (made.notions["gap_low"] <= 0).all()


def test_the_same_seed_gives_the_same_audit_and_another_almost_the_same():
    result, groups = planted([200, 200], [0.9, 0.7])
    first, again = audit(result, groups), audit(result, groups)
    assert first.to_dict() == again.to_dict()
    other = audit(result, groups, random_state=1)
    assert not other.gaps.equals(first.gaps)
    columns = ["gap_low", "gap_high"]
    np.testing.assert_allclose(other.gaps[columns], first.gaps[columns], atol=0.05)


# ---- where there's little to say ----------------------------------------------------------------


def test_one_group_has_nothing_to_be_compared_with():
    made = audit(many(np.arange(1.0, 6.0)), {"sex": ["f"] * 5}, samples=20)
    assert made.gaps["gap"].isna().all()
    assert (made.gaps["worst_off"] == "").all()
    assert "no two groups to compare" in str(made)


@pytest.mark.parametrize("cost", [1.0, math.nan], ids=["everyone", "nobody"])
def test_when_everyone_or_nobody_has_a_path_the_groups_do_alike(cost):
    made = audit(many([cost] * 80), {"sex": ["f", "m"] * 40}, samples=20)
    success = row(made.gaps, measure="success")
    assert (success["gap"], success["ratio"]) == (0.0, 1.0)
    assert "success: the same in every group" in str(made)
    json.dumps(made.to_dict(), allow_nan=False)


def test_a_group_in_which_nobody_asks_raises_nothing():
    routes = [[path(HAPPY, 1.0)]] * 3 + [reaching(1.0), reaching(2.0)]
    made = audit(handmade(routes), {"sex": list("fffmm")}, samples=20)
    women = row(made.by_group, group="sex=f")
    assert (women["people"], women["asked"], women["selection_rate"]) == (3, 0, 1.0)
    assert math.isnan(women["success"])
    assert row(made.gaps, measure="selection_rate")["gap"] == 1.0
    assert "-" in str(made)


def test_when_nobody_asks_there_is_still_an_audit():
    made = audit(handmade([[path(HAPPY, 1.0)]] * 4), {"sex": list("ffmm")}, samples=20)
    assert (made.people, made.asked) == (4, 0)
    assert row(made.gaps, measure="selection_rate")["gap"] == 0.0
    assert "no two groups to compare" in str(made)


@pytest.mark.parametrize("convert", KINDS.values(), ids=KINDS)
def test_of_nobody_there_is_an_empty_audit(convert):
    made = audit(handmade([], convert=convert), {"sex": []}, samples=5)
    assert len(made.by_group) == 0
    assert (made.people, made.asked) == (0, 0)
    assert str(made).startswith("0 people")


# ---- words and plain values ---------------------------------------------------------------------


def test_it_prints_as_a_short_table():
    result, groups = planted([200, 200], [0.9, 0.5])
    lines = str(audit(result, groups)).splitlines()
    assert lines[0].startswith("400 people, of whom 400 asked for recourse.")
    assert lines[2].split() == ["people", "asked", "success", "mean", "cost", "mean", "steps"]
    assert lines[3].split()[:3] == ["group=a", "200", "200"]
    assert lines[5].startswith("  success: ")
    assert lines[5].endswith("group=b worst off")
    assert len(lines) == 7
    assert max(map(len, lines)) <= 110


def test_a_long_list_of_groups_is_cut_when_printed():
    made = audit(many(np.ones(40)), {"town": [f"t{i:02}" for i in range(40)]}, samples=5)
    assert "… and 32 more, in by_group" in str(made)
    assert len(made.by_group) == 40


def test_to_dict_is_plain_and_fit_for_json():
    made = audit(five(), {"sex": SEX}, samples=20)
    said = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert said == made.to_dict()
    assert (said["people"], said["asked"], said["smallest"], said["samples"]) == (5, 4, 30, 20)
    assert said["by_group"][0]["group"] == "sex=f"
    assert said["by_group"][0]["cost_of_effectiveness"] is None  # no cost is enough
    assert set(MEASURES) < set(said["by_group"][0])
    assert [found["notion"] for found in said["notions"]] == list(NOTIONS)


def test_an_audit_of_a_saved_result_is_the_same(result, tmp_path):
    result.save(tmp_path / "plan.json")
    again = sl.Recourse.load(tmp_path / "plan.json")
    assert (
        audit(again, ["job"], samples=20).to_dict() == audit(result, ["job"], samples=20).to_dict()
    )


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ("jbo", "'jbo', which is no feature of the schema. Did you mean 'job'?"),
        (["age", "ownr"], "Did you mean 'owner'?"),
        ([], "no columns"),
        ({}, "no columns"),
        (pd.DataFrame(index=PEOPLE.index), "no columns"),
        ({"sex": ["f", "m"]}, "'sex' has 2 values for 120 people"),
        ({"sex": "f"}, "must be a column of values; got 'f'"),
        ({"sex": 3}, "must be a column of values; got 3"),
        ({1: ["f"] * 120}, "Column names must be text; got 1"),
        (pd.DataFrame({"sex": ["f", "m"]}), "2 rows whose labels aren't those of the 120 people"),
        (pl.DataFrame({"sex": ["f", "m"]}), "2 rows for 120 people"),
        (3, "Expected a pandas, polars or PyArrow frame, got int"),
    ],
    ids=str,
)
def test_groups_that_don_t_fit_are_answered_in_a_sentence(result, groups, said):
    with pytest.raises(sl.StepladderError) as error:
        audit(result, groups)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"by": ["sx"]}, ColumnError, "Did you mean 'sex'?"),
        ({"by": [("sex", "rac")]}, ColumnError, "'rac', which isn't among the groups"),
        ({"by": []}, ParameterError, "at least one column"),
        ({"by": [()]}, ParameterError, "at least one column"),
        ({"smallest": 0}, ParameterError, r"audit\(smallest\) must be a whole number, 1 or more"),
        ({"samples": 2.5}, ParameterError, r"audit\(samples\) .* got 2.5"),
        ({"samples": True}, ParameterError, r"audit\(samples\) .* got True"),
        ({"random_state": -1}, ParameterError, r"audit\(random_state\) .* 0 or more; got -1"),
        ({"effectiveness": 0}, ParameterError, "above 0 and at most 1"),
        ({"effectiveness": "half"}, ParameterError, "got 'half'"),
        ({"budget": -1.0}, ParameterError, "number, 0 or more, or None"),
        ({"budget": math.nan}, ParameterError, "Got nan"),
    ],
)
def test_settings_out_of_range_are_refused(settings, error, said):
    with pytest.raises(error, match=said):
        audit(five(), {"sex": SEX}, **settings)
