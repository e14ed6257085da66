"""The audit: by hand, with little data or odd data, in frames of every kind."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.audit.made import (
    HAPPY,
    KINDS,
    MISSED,
    SEX,
    five,
    handmade,
    many,
    path,
    planted,
    reaching,
    row,
)
from tests.methods.bank import PEOPLE, fitted

import stepladder as sl
from stepladder.audit import audit
from stepladder.errors import ColumnError, ParameterError
from stepladder.metrics.fairness import NOTIONS
from stepladder.metrics.groups import MEASURES


@pytest.fixture(scope="module")
def result():
    people = PEOPLE.copy()
    people.loc[people.index[:3], "job"] = None
    return fitted().recourse(people)


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
    np.testing.assert_allclose(found["mean_effort"], [0.6, 0.35, 0.85])
    assert list(found["choice"]) == [0.5, 1.0, 1.0]  # her second path asks for more of the same
    assert list(found["within_budget"]) == [0.5, 1.0, 0.0]
    assert list(found["cost_of_effectiveness"]) == [math.inf, 1.0, 3.0]
    assert found["small"].all()


def test_effort_is_the_easiest_path_s_and_cost_the_nearest_one_s():
    near, easy = reaching(1.0, 2.0)
    near, easy = replace(near, efforts=np.array([0.9])), replace(easy, efforts=np.array([0.2]))
    lost = replace(path(MISSED, 0.0, 0.1), efforts=np.array([0.0]))  # doesn't count
    found = audit(handmade([[near, lost, easy]]), {"sex": ["f"]}, samples=5).by_group
    assert (found["mean_effort"][0], found["mean_cost"][0]) == (0.2, 1.0)


def test_where_effort_is_not_known_it_is_not_compared():
    routes = [
        [replace(path, efforts=None)] for cost in (1.0, 2.0, 3.0, 4.0) for path in reaching(cost)
    ]
    made = audit(handmade(routes), {"g": list("aabb")}, samples=20)
    ends = ["mean_effort", "mean_effort_low", "mean_effort_high"]
    assert made.by_group[ends].isna().to_numpy().all()
    effort = row(made.gaps, measure="mean_effort")
    assert effort[["worst_off", "best_off", "gap", "gap_low", "ratio"]].isna().all()
    assert row(made.gaps, measure="mean_cost")["gap"] == 2.0
    assert "Mean effort: no two groups to compare." in str(made)


def test_gaps_say_who_is_worst_off():
    found = audit(five(), {"sex": SEX}, samples=20).gaps
    success = row(found, measure="success")
    assert (success["worst_off"], success["gap"], success["ratio"]) == ("sex=f", 0.5, 0.5)
    cost = row(found, measure="mean_cost")
    assert (cost["worst_off"], cost["best_off"], cost["gap"]) == ("sex=missing", "sex=m", 2.0)
    assert found["small"].all()
    assert set(found["compared"]) == {3}


def test_where_nobody_is_worse_off_nobody_is_named():
    """One group alone, groups alike, and groups alike but for the computer's rounding."""
    close = {"g": ["a"] * 3 + ["b"] * 7}  # the mean of three 0.1 isn't that of seven
    assert np.mean([0.1] * 3) != np.mean([0.1] * 7)
    for costs, groups in (
        (np.ones(4), {"g": list("aaaa")}),
        ([1.0, 2.0] * 2, {"g": list("aabb")}),
        ([0.1] * 10, close),
        ([math.nan] * 4, {"g": list("aabb")}),
    ):
        made = audit(many(costs), groups, samples=20)
        for frame in (made.gaps, made.notions):
            assert frame["worst_off"].isna().all()
            assert frame["best_off"].isna().all()
            assert frame["gap"].fillna(0.0).eq(0.0).all()
        told = made.to_dict()
        for found in told["gaps"] + told["notions"]:
            assert found["worst_off"] is None
            assert found["best_off"] is None


def test_where_one_is_worse_off_both_are_named():
    found = audit(five(), {"sex": SEX}, samples=20).gaps
    named = found[["worst_off", "best_off"]].notna().all(axis=1)
    assert (named == (found["gap"] > 0)).all()
    assert list(found["measure"][~named]) == ["mean_steps"]


def test_every_figure_of_a_group_has_an_interval():
    result, groups = planted([100, 100], [0.9, 0.5])
    found = audit(result, groups).by_group
    for name in MEASURES:
        assert {f"{name}_low", f"{name}_high"} < set(found)
    for name in ("selection_rate", "success", "no_recourse", "mean_cost", "within_budget"):
        assert (found[f"{name}_low"] <= found[name]).all()
        assert (found[name] <= found[f"{name}_high"]).all()
        assert (found[f"{name}_high"] - found[f"{name}_low"]).between(0.02, 0.5).all()
    np.testing.assert_allclose(found["success_low"], 1 - found["no_recourse_high"])


def test_a_person_alone_has_no_mean_that_looks_certain():
    result, groups = planted([1, 50], [1.0, 1.0])
    made = audit(result, groups, samples=50)
    alone = row(made.by_group, group="group=a")
    for name in ("mean_cost", "median_cost", "mean_steps", "choice", "cost_of_effectiveness"):
        assert math.isfinite(alone[name])
        assert math.isnan(alone[f"{name}_low"])
        assert math.isnan(alone[f"{name}_high"])
    assert alone["success_low"] < 0.3  # one of one
    gaps = made.gaps.set_index("measure")
    ends = ["gap_low", "gap_high", "ratio_low", "ratio_high"]
    assert gaps.loc[["mean_cost", "median_cost", "mean_steps"], ends].isna().to_numpy().all()
    assert gaps.loc["success", "gap_high"] > 0.5
    notions = made.notions.set_index("notion")
    for name in ("equal_conditional_mean_recourse", "fair_effectiveness_cost_trade_off"):
        assert notions.loc[name, "gap"] > 0
        assert notions.loc[name, ["gap_low", "gap_high"]].isna().all()


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


# ---- small groups -------------------------------------------------------------------------------


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
    assert list(made.notions["notion"]) == [
        notion
        for notion, name in NOTIONS.items()
        for _ in range(1 if name == "mean_cost" else 2)  # nobody in c has a cost to compare
    ]


def test_what_rests_on_few_is_small_though_many_asked():
    result, groups = planted([100, 100, 100], [0.9, 0.8, 0.04])
    made = audit(result, groups, samples=100)
    assert list(made.by_group["reached"]) == [90, 80, 4]
    assert not made.by_group["small"].any()
    assert list(made.gaps.loc[made.gaps["measure"] == "success", "small"]) == [False]
    cost = made.gaps[made.gaps["measure"] == "mean_cost"]
    assert list(cost["compared"]) == [2, 3]
    assert list(cost["small"]) == [False, True]


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
    assert not (made.gaps["gap_low"] > 0).any()
    assert not (made.gaps["ratio_high"] < 1).any()
    assert not (made.notions["gap_low"] > 0).any()
    told = made.gaps.set_index("measure")["gap_low"].notna()
    assert list(told.index[~told]) == ["mean_steps"]  # everyone takes two


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
    assert made.gaps["worst_off"].isna().all()


@pytest.mark.parametrize("cost", [1.0, math.nan], ids=["everyone", "nobody"])
def test_when_everyone_or_nobody_has_a_path_the_groups_do_alike(cost):
    made = audit(many([cost] * 80), {"sex": ["f", "m"] * 40}, samples=20)
    success = row(made.gaps, measure="success")
    assert (success["gap"], success["ratio"]) == (0.0, 1.0)
    assert success["gap_low"] < -0.05  # 40 of 40 in both might still be chance
    assert success["gap_high"] > 0.05
    json.dumps(made.to_dict(), allow_nan=False)


def test_a_group_in_which_nobody_asks_raises_nothing():
    routes = [[path(HAPPY, 1.0)]] * 3 + [reaching(1.0), reaching(2.0)]
    made = audit(handmade(routes), {"sex": list("fffmm")}, samples=20)
    women = row(made.by_group, group="sex=f")
    assert (women["people"], women["asked"], women["selection_rate"]) == (3, 0, 1.0)
    assert math.isnan(women["success"])
    assert math.isnan(women["success_low"])
    assert row(made.gaps, measure="selection_rate")["gap"] == 1.0


def test_when_nobody_asks_there_is_still_an_audit():
    made = audit(handmade([[path(HAPPY, 1.0)]] * 4), {"sex": list("ffmm")}, samples=20)
    assert (made.people, made.asked) == (4, 0)
    assert row(made.gaps, measure="selection_rate")["gap"] == 0.0


@pytest.mark.parametrize("convert", KINDS.values(), ids=KINDS)
def test_of_nobody_there_is_an_empty_audit(convert):
    made = audit(handmade([], convert=convert), {"sex": []}, samples=5)
    assert len(made.by_group) == 0
    assert (made.people, made.asked) == (0, 0)


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
        pd.testing.assert_frame_equal(
            as_pandas(frame).convert_dtypes(), getattr(expected, name).convert_dtypes()
        )
    assert str(made) == str(expected)
    assert made.to_dict() == expected.to_dict()


# ---- plain values -------------------------------------------------------------------------------


def test_to_dict_is_plain_and_fit_for_json():
    made = audit(five(), {"sex": SEX}, samples=20)
    said = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert said == made.to_dict()
    assert (said["people"], said["asked"], said["smallest"], said["samples"]) == (5, 4, 30, 20)
    assert said["by_group"][0]["group"] == "sex=f"
    assert said["by_group"][0]["cost_of_effectiveness"] == "inf"  # no cost is enough
    assert said["by_group"][1]["mean_cost_low"] is None  # one person: not known
    assert set(MEASURES) < set(said["by_group"][0])
    assert [found["notion"] for found in said["notions"]] == list(NOTIONS)


def test_an_audit_of_a_saved_result_is_the_same(result, tmp_path):
    result.save(tmp_path / "plan.json")
    again = sl.Recourse.load(tmp_path / "plan.json")
    assert (
        audit(again, ["job"], samples=20).to_dict() == audit(result, ["job"], samples=20).to_dict()
    )


@pytest.mark.parametrize(
    ("settings", "error", "said"),
    [
        ({"by": ["sx"]}, ColumnError, "Did you mean 'sex'?"),
        ({"by": [("sex", "rac")]}, ColumnError, "'rac', which isn't among the groups"),
        ({"by": []}, ParameterError, "at least one column"),
        ({"by": [()]}, ParameterError, "at least one column"),
        (
            {"smallest": 0},
            ParameterError,
            r"audit\(smallest\) must be a whole number of at least 1",
        ),
        ({"samples": 2.5}, ParameterError, r"audit\(samples\) .* got 2.5"),
        ({"samples": True}, ParameterError, r"audit\(samples\) .* got True"),
        ({"random_state": -1}, ParameterError, r"audit\(random_state\) .* at least 0; got -1"),
        ({"effectiveness": 0}, ParameterError, "above 0 and at most 1"),
        ({"effectiveness": "half"}, ParameterError, "got 'half'"),
        ({"budget": -1.0}, ParameterError, "number of at least 0; got -1.0.*None is their median"),
        ({"budget": math.nan}, ParameterError, "got nan"),
    ],
)
def test_settings_out_of_range_are_refused(settings, error, said):
    with pytest.raises(error, match=said):
        audit(five(), {"sex": SEX}, **settings)


def test_who_was_not_scored_in_time_does_not_count():
    step = fitted()
    late = step.recourse(PEOPLE, time_budget=1e-9)
    some = step.recourse(PEOPLE)
    cut = len(PEOPLE) // 2
    mixed = replace(some, routes=[*some.routes[:cut], *late.routes[cut:]])
    found, wanted = audit(mixed, "job"), audit(step.recourse(PEOPLE.iloc[:cut]), "job")
    assert (found.people, found.asked) == (wanted.people, wanted.asked) == (cut, wanted.asked)
    shared = ["group", "people", "asked", "selection_rate", "success"]
    mine = found.by_group.loc[found.by_group["people"] > 0, shared].reset_index(drop=True)
    pd.testing.assert_frame_equal(mine, wanted.by_group[shared])
