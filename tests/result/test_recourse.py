"""The result: its frames, figures and files."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from functools import reduce
from operator import getitem
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
from pandas.testing import assert_frame_equal
from tests.methods.bank import GOAL, JOBS, REJECTED, SCHEMA, TRAIN, fitted, score

import stepladder as sl
from stepladder.errors import ParameterError, ResultError
from stepladder.metrics import Paths, nearest_distance, summary
from stepladder.result import archive

FRAMES = ("paths", "final", "changes", "status")
FEATURES = list(SCHEMA.names)


def someone_of_every_kind() -> pd.DataFrame:
    """Rejected people, one with a gap, one at the goal, under labels out of order."""
    happy = TRAIN[score(TRAIN) > 0.9].iloc[:1]
    people = pd.concat([REJECTED.iloc[:6], happy], ignore_index=True)
    people.loc[2, "savings"] = np.nan
    people.index = [40, 7, 99, 3, 12, 5, 1]
    return people


PEOPLE = someone_of_every_kind()


@pytest.fixture(scope="module")
def step():
    return fitted()


@pytest.fixture(scope="module")
def result(step):
    return step.recourse(PEOPLE)


def as_pandas(frame):
    return frame if isinstance(frame, pd.DataFrame) else frame.to_pandas()


# ---- frames ---------------------------------------------------------------------------------


def test_the_margin_is_how_far_past_the_line_each_path_ends(result):
    assert list(result.margin) == ["person", "path", "margin"]
    ends = result.final["score"] - GOAL.threshold
    np.testing.assert_allclose(result.margin["margin"], ends, equal_nan=True)
    reached = result.final["outcome"] == "reached"
    assert reached.any()
    assert (result.margin["margin"][reached] >= 0).all()


def test_the_columns_are_those_of_the_design(result):
    assert list(result.paths) == ["person", "path", "step", *FEATURES, "score"]
    assert list(result.final) == [
        *("person", "path", "outcome", "score", "distance", "steps"),
        *("changes", "effort", "months", "holds", "tight"),
        *FEATURES,
    ]
    assert list(result.changes) == ["person", "path", "feature", "before", "after", "effort"]
    assert list(result.status) == ["person", "outcome", "reason", "best_path"]


def test_final_holds_every_path_of_everyone_in_the_caller_s_order(result):
    assert list(result.final["person"]) == [label for label in PEOPLE.index for _ in range(3)]
    assert list(result.final["path"]) == [0, 1, 2] * len(PEOPLE)
    assert list(result.status["person"]) == list(PEOPLE.index)


def test_paths_begin_at_the_person_and_end_at_the_final_row(result):
    grouped = list(result.paths.groupby(["person", "path"], sort=False))
    assert [key for key, _ in grouped] == list(
        zip(result.final["person"], result.final["path"], strict=True)
    )
    for ((person, _), rows), (_, end) in zip(grouped, result.final.iterrows(), strict=True):
        assert list(rows["step"]) == list(range(len(rows)))
        assert end["steps"] == len(rows) - 1
        pd.testing.assert_series_equal(
            rows[FEATURES].iloc[0], PEOPLE.loc[person], check_names=False, check_dtype=False
        )
        last, ended = rows[[*FEATURES, "score"]].iloc[-1], end[[*FEATURES, "score"]]
        pd.testing.assert_series_equal(last, ended, check_names=False, check_dtype=False)


def test_outcomes_are_plain_strings(result):
    kinds = {99: "missing_value", 1: "already_positive"}
    for person, outcome in zip(result.final["person"], result.final["outcome"], strict=True):
        assert type(outcome) is str
        assert outcome == kinds.get(person, "reached")


def test_distance_is_euclidean_from_the_start_in_encoded_units(result):
    reached = result.final[result.final["outcome"] == "reached"]
    starts = result.space.encode(PEOPLE.loc[reached["person"]])
    expected = np.linalg.norm(result.space.encode(reached[FEATURES]) - starts, axis=1)
    np.testing.assert_allclose(reached["distance"], expected, rtol=1e-12)


def test_status_names_the_easiest_path_that_reaches_the_goal(result):
    for person, best in zip(result.status["person"], result.status["best_path"], strict=True):
        mine = result.final[result.final["person"] == person].set_index("path")
        reached = mine[mine["outcome"] == "reached"]
        if reached.empty:
            assert best is pd.NA
        else:
            assert best == reached["effort"].idxmin()


def test_a_choice_is_a_path_that_asks_for_something_that_no_nearer_one_is_content_with():
    schema = sl.Schema(
        [sl.Numeric("income"), sl.Numeric("debt"), sl.Categorical("job", levels=JOBS)]
    )
    frame = pd.DataFrame({"income": [1.0, 9.0], "debt": [1.0, 9.0], "job": JOBS[:2]})
    space = sl.Space.fit(schema, frame)
    ends = [
        [5.0, 1.0, 0.0],  # 0: income up to 5
        [5.0, 1.0, 0.0],  # 1: the same
        [6.0, 1.0, 0.0],  # 2: more of it
        [4.0, 2.0, 0.0],  # 3: less, and some debt
        [4.0, 1.0, 1.0],  # 4: less, and another job
        [4.5, 1.0, 1.0],  # 5: more of that
        [4.0, 1.0, 2.0],  # 6: a third job
        [0.5, 1.0, 0.0],  # 7: the other way
    ]
    start = np.array([2.0, 1.0, 0.0])
    values = [np.stack([start, end]) for end in ends]
    paths = [
        sl.Path(sl.Outcome.REACHED, "", rows, space.to_points(rows), np.array([0.1, 0.9]))
        for rows in values
    ]
    paths.append(replace(paths[3], outcome=sl.Outcome.STALLED))
    made = sl.Recourse(
        *(space, sl.Goal(), space.template, np.array([0]), [paths]), settings={}, reference={}
    )
    chosen = made.choices_at(0)
    assert set(chosen) == {0, 3, 4, 6, 7}
    assert [paths[slot].distance for slot in chosen] == sorted(
        paths[slot].distance for slot in chosen
    )


def test_a_person_is_found_by_their_own_label_and_nobody_in_their_place(result):
    for place, person in enumerate(PEOPLE.index):
        assert result.index_of(person) == place
        mine = result.choices(person)
        assert list(mine["path"]) == result.choices_at(place)
        assert set(mine["person"]) <= {person}
    for stranger in (0, 2, -1, "7", "07", 7.5, True, None):  # 1 is there, and 7
        with pytest.raises(ParameterError, match=f"nobody called {stranger!r}.* It has 40, 7"):
            result.index_of(stranger)
        with pytest.raises(ParameterError, match="nobody called"):
            result.choices(stranger)
    with pytest.raises(ParameterError, match=r"nobody called '7'\. Did you mean 7\?"):
        result.choices("7")


def test_a_result_says_which_columns_were_set_aside(step, tmp_path):
    people = PEOPLE.assign(note="x", label=1)
    result = step.recourse(people)
    assert result.set_aside == ("note", "label")
    assert "set aside: 'note', 'label'" in repr(result)
    assert not {"note", "label"} & {*result.final, *result.paths}
    for name in ("plan.json", "plan.parquet"):
        result.save(tmp_path / name)
        assert sl.Recourse.load(tmp_path / name).set_aside == ("note", "label")
    assert "set aside" not in repr(step.recourse(PEOPLE))


def test_everyone_has_an_outcome_and_a_reason(result):
    status = result.status.set_index("person")
    assert status.loc[99, "reason"] == "no value for savings"
    assert status.loc[1, "reason"].startswith("already meets the goal with a score of 0.9")
    assert status.loc[40, "reason"] == "3 of 3 paths reach a score of at least 0.6"


def test_paths_that_fail_are_explained_beside_those_that_succeed():
    goal, reached, missed = sl.Goal(0.5), sl.Outcome.REACHED, sl.Outcome.STEP_LIMIT
    made = handmade(
        [[path(reached, "meets the goal", 0.0, 2.0), path(missed, "no time", 0.0, 1.0)]], goal
    )
    assert (
        made.status["reason"][0]
        == "1 of 2 paths reach a score of at least 0.5; another doesn't: no time"
    )
    assert made.status["best_path"][0] == 0


def test_someone_without_success_is_told_of_the_attempt_that_came_nearest():
    stalled, late = sl.Outcome.STALLED, sl.Outcome.TIMED_OUT
    made = handmade([[path(stalled, "far", 0.0, 0.1), path(late, "near", 0.0, 0.4)]], sl.Goal(0.5))
    assert list(made.status.loc[0, ["outcome", "reason"]]) == ["timed_out", "near"]


def test_changes_are_what_differs_between_start_and_end(result):
    expected = []
    for _, end in result.final.iterrows():
        start = PEOPLE.loc[end["person"]]
        for name in FEATURES:
            if end[name] != start[name] and not pd.isna(start[name]):
                expected.append((end["person"], end["path"], name, start[name], end[name]))
    shown = result.changes.drop(columns="effort")
    assert list(shown.itertuples(index=False, name=None)) == expected
    assert expected


def test_changes_show_values_as_the_person_knows_them(result):
    kinds = {"income": int, "debt": float, "job": str, "education": str, "owner": bool}
    for feature, before, after in result.changes[["feature", "before", "after"]].to_numpy():
        assert type(before) is type(after) is kinds.get(feature, float)


def test_the_efforts_of_the_changes_add_up_and_are_those_of_the_method(step, result):
    asked = result.changes.groupby(["person", "path"])
    final = result.final.set_index(["person", "path"])
    np.testing.assert_allclose(asked["effort"].sum(), final["effort"][asked.size().index])
    assert (asked.size() == final["changes"][asked.size().index]).all()
    stay = final.drop(index=asked.size().index)
    assert (stay[["changes", "effort"]] == 0).to_numpy().all()
    assert (final["tight"].dtype, final["holds"].dtype) == (bool, float)
    reached = result.final[result.final["outcome"] == "reached"]
    start = step.space_.read(PEOPLE.loc[reached["person"]])
    efforts = step.effort_.of(start, step.space_.read(reached[FEATURES]))
    np.testing.assert_allclose(efforts.sum(axis=1), reached["effort"])


def test_every_path_knows_how_its_end_ranks(step, result):
    for routes in result.routes:
        ends = np.stack([path.values[-1] for path in routes])
        np.testing.assert_array_equal(
            step.effort_.ranks(ends), np.stack([path.ranks for path in routes])
        )


def test_a_private_method_weighs_by_what_was_declared():
    schema = sl.Schema([sl.Numeric("a", bounds=(0, 8))])
    rows = pd.DataFrame({"a": np.linspace(0, 8, 60)})
    budget = sl.Budget(5, 1e-6)
    private = sl.StEP(paths=1, privacy=sl.PayPerDirection(budget))
    private.fit(rows, lambda frame: frame["a"] / 8, schema=schema)
    end = np.array([[4.0]])
    assert private.effort_.of(np.array([[2.0]]), end)[0, 0] == pytest.approx(2 / 8 + 0.1)
    assert np.isnan(private.effort_.ranks(end)).all()


def test_who_has_only_an_unsure_path_has_no_success_and_is_told_so():
    unsure, stalled = sl.Outcome.UNSURE, sl.Outcome.STALLED
    made = handmade(
        [[path(stalled, "far", 0.0, 0.1), path(unsure, "may not hold", 0.0, 0.6)]], GOAL
    )
    assert list(made.status.loc[0, ["outcome", "reason"]]) == ["unsure", "may not hold"]
    assert made.status["best_path"][0] is pd.NA
    assert made.metrics()["success"][0] == 0.0
    assert len(made.choices(0)) == 0


def test_a_method_that_has_a_cost_says_itself_what_is_easiest():
    first, second = (
        replace(path(sl.Outcome.REACHED, "", 0.0, end), efforts=np.array([effort]))
        for end, effort in ((2.0, 0.9), (-3.0, 0.4))
    )
    by_effort = handmade([[first, second]], sl.Goal(0.5))
    assert by_effort.status["best_path"][0] == 1
    assert list(by_effort.choices(0)["path"]) == [1, 0]
    by_cost = handmade([[first, second]], sl.Goal(0.5), cost="distance")
    assert by_cost.status["best_path"][0] == 0
    assert list(by_cost.choices(0)["path"]) == [0, 1]


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_choices_are_a_frame_of_the_caller_s_kind(step, convert):
    people = convert(REJECTED.iloc[:3].reset_index(drop=True))
    found = step.recourse(people)
    mine = found.choices(1)
    assert type(mine) is type(people)
    rows, final = as_pandas(mine), as_pandas(found.final)
    slots = found.choices_at(1)
    assert len(slots) > 0
    expected = final[final["person"] == 1].set_index("path").loc[slots]
    assert_frame_equal(rows.set_index("path"), expected)


def test_polars_and_arrow_frames_of_changes_hold_text(step):
    people = pl.from_pandas(REJECTED.reset_index(drop=True))
    changes = step.recourse(people).changes
    assert changes.schema["before"] == changes.schema["after"] == pl.String
    assert set(changes.filter(pl.col("feature") == "job")["after"]) <= set(JOBS)


def path(outcome, reason, *scores):
    """A path along one number, whose row is its score."""
    values = np.array(scores)[:, None]
    return sl.Path(outcome, reason, values, values, np.array(scores))


def handmade(routes, goal, name="a", **settings):
    """A result put together by hand over one number."""
    frame = pd.DataFrame({name: [0.0, 1.0]})
    space = sl.Space.fit(sl.Schema([sl.Numeric(name)]), frame)
    space = sl.Space(space.schema, space.template, np.zeros(1), np.ones(1))
    return sl.Recourse(
        space=space,
        goal=goal,
        template=space.template,
        people=np.arange(len(routes)),
        routes=routes,
        settings=settings,
        reference={"rows": 2},
        positives=np.array([[2.0], [3.0]]),
    )


@pytest.mark.parametrize(
    "name",
    [
        *("person", "path", "step", "outcome", "score", "steps"),
        *("changes", "effort", "months", "holds", "tight"),
    ],
)
def test_a_feature_named_like_a_result_column_gets_an_underscore(name):
    made = handmade([[path(sl.Outcome.REACHED, "", 0.0, 2.0)]], sl.Goal(0.5), name=name)
    assert list(made.paths) == ["person", "path", "step", f"{name}_", "score"]
    assert list(made.paths[f"{name}_"]) == [0.0, 2.0]
    assert f"{name}_" in made.final
    assert made.changes["feature"][0] == name


def test_two_features_never_end_up_under_one_name():
    train = pd.DataFrame({"score": [0.0, 1.0, 5.0], "score_": [0.0, 2.0, 3.0]})
    schema = sl.Schema([sl.Numeric("score"), sl.Numeric("score_", change="never")])
    step = sl.StEP(paths=1).fit(train, lambda f: (f["score"] >= 4).to_numpy() * 1.0, schema=schema)
    found = step.recourse(train.iloc[[1]])
    assert list(found.paths) == ["person", "path", "step", "score__", "score_", "score"]
    assert (found.final["score_"] == 2.0).all()
    assert (found.final["score__"] >= 4).all()


# ---- metrics --------------------------------------------------------------------------------


def test_metrics_are_one_row_of_the_summary_by_hand(result):
    counted = [i for i, label in enumerate(PEOPLE.index) if label != 1]  # not who is there already
    routes = [result.routes[i] for i in counted]
    reached = np.array([[p.outcome == "reached" for p in paths] for paths in routes])
    ends = np.array([[p.points[-1] for p in paths] for paths in routes])
    nearness = np.full(reached.shape, np.nan)
    nearness[reached] = nearest_distance(ends[reached], result.positives)
    paths = Paths(
        start=np.array([paths[0].points[0] for paths in routes]),
        ends=ends,
        reached=reached,
        lengths=np.array([[p.length for p in paths] for paths in routes]),
        steps=np.array([[p.steps for p in paths] for paths in routes]),
        changed=np.array([[(p.values[0] != p.values[-1]).sum() for p in ps] for ps in routes]),
        nearness=nearness,
        effort=result.final["effort"].to_numpy().reshape(-1, 3)[counted],
    )
    metrics = result.metrics()
    assert len(metrics) == 1
    assert metrics.iloc[0].to_dict() == pytest.approx(summary(paths), nan_ok=True)
    assert metrics["success"][0] == pytest.approx(5 / 6)  # the one with a gap failed


def test_metrics_of_a_handmade_result():
    reached, missed = sl.Outcome.REACHED, sl.Outcome.STALLED
    made = handmade(
        [
            [path(reached, "", 0.0, 2.0, 1.5), path(missed, "", 0.0, 0.25)],
            [path(reached, "", 0.0, 1.0), path(reached, "", 0.0, 3.0)],
            [path(sl.Outcome.ALREADY_POSITIVE, "", 1.0)] * 2,
        ],
        sl.Goal(0.5),
    )
    row = made.metrics().iloc[0]
    assert row["success"] == 1.0
    assert row["avg_success"] == 0.75
    assert row["l2_distance"] == pytest.approx((1.5 + 2.0) / 2)
    assert row["path_length"] == pytest.approx((2.5 + 2.0) / 2)
    assert row["path_steps"] == pytest.approx((2 + 1) / 2)
    assert row["diversity"] == pytest.approx(2.0)
    assert row["sparsity"] == 1.0
    assert row["distance_to_positives"] == pytest.approx((1.0 + 1.0) / 2)


def test_metrics_of_nobody_are_unknown_and_no_error(step):
    happy = TRAIN[score(TRAIN) > 0.9].iloc[:3]
    for people in (REJECTED.iloc[:0], happy):
        metrics = step.recourse(people).metrics()
        assert len(metrics) == 1
        assert metrics.iloc[0].isna().all()


# ---- files ----------------------------------------------------------------------------------


def assert_same(result: sl.Recourse, loaded: sl.Recourse) -> None:
    for name in FRAMES:
        ours, theirs = getattr(result, name), getattr(loaded, name)
        assert type(ours) is type(theirs)
        if isinstance(ours, pd.DataFrame):
            assert_frame_equal(ours, theirs, check_exact=True)
        else:
            assert ours.schema == theirs.schema
            assert_frame_equal(as_pandas(ours), as_pandas(theirs), check_exact=True)
    assert_frame_equal(as_pandas(result.metrics()), as_pandas(loaded.metrics()))
    assert dict(loaded.settings) == dict(result.settings)
    assert dict(loaded.reference) == dict(result.reference)
    assert loaded.goal == result.goal
    assert loaded.space.schema == result.space.schema
    assert (loaded.dropped, dict(loaded.asked)) == (result.dropped, dict(result.asked))
    assert dict(loaded.fingerprints) == dict(result.fingerprints)
    assert loaded.set_aside == result.set_aside
    assert loaded.privacy == result.privacy
    assert loaded.people.dtype == result.people.dtype
    np.testing.assert_array_equal(loaded.nearness, result.nearness)
    for mine, theirs in zip(result.routes, loaded.routes, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(a.points, b.points)
            np.testing.assert_array_equal(a.efforts, b.efforts)
            np.testing.assert_array_equal(a.ranks, b.ranks)
            assert a.tight is b.tight
            np.testing.assert_array_equal(a.holds, b.holds)
            assert a.reason == b.reason


def dressed(kind: str) -> pd.DataFrame:
    """The same people in other dtypes and under other labels."""
    people = PEOPLE.copy()
    if kind == "nullable":
        people = people.convert_dtypes(dtype_backend="numpy_nullable")
    elif kind == "arrow":
        people = people.convert_dtypes(dtype_backend="pyarrow")
    elif kind == "category":
        order = pd.CategoricalDtype(["master", "school", "bachelor"], ordered=True)
        people = people.astype({"job": "category", "education": order})
    elif kind == "object":
        people = people.astype({"job": object, "owner": object})
    elif kind == "small":
        people = people.astype({"income": "int32", "age": "int8", "savings": "float32"})
    elif kind == "text labels":
        people.index = [f"person {i}" for i in people.index]
    elif kind == "mixed labels":
        people.index = pd.Index([1, "b", 2.5, "d", 5, "f", 7], dtype=object)
    elif kind == "dates":
        people.index = pd.date_range("2024-02-27", periods=len(people))
    elif kind == "shuffled columns":
        people = people[FEATURES[::-1]]
    return people


KINDS = [
    *("plain", "nullable", "arrow", "category", "object", "small"),
    *("text labels", "mixed labels", "dates", "shuffled columns"),
]


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_result_comes_back_as_it_was(step, tmp_path, kind, suffix):
    result = step.recourse(dressed(kind))
    file = tmp_path / f"plan.{suffix}"
    result.save(file)
    loaded = sl.Recourse.load(file)
    assert_same(result, loaded)
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize(
    "labels",
    [
        pd.to_timedelta([1, 5], unit="D"),
        pd.DatetimeIndex(["2024-02-27", None]),
        pd.DatetimeIndex(["2024-02-27 10:00", "2024-02-28"]).as_unit("s"),
        pd.Index([True, False]),
        pd.Index([3, 200], dtype="uint8"),
        pd.Index([1.5, np.nan]),
        pd.Index(["a", np.nan], dtype=object),
        pd.Index([1, 2], dtype=object),
    ],
    ids=lambda labels: f"{labels.dtype}",
)
def test_what_people_are_called_comes_back(step, tmp_path, labels, suffix):
    result = step.recourse(PEOPLE.head(2).set_axis(labels))
    result.save(tmp_path / f"plan.{suffix}")
    people = sl.Recourse.load(tmp_path / f"plan.{suffix}").people
    assert people.dtype == result.people.dtype
    assert pd.Index(people).equals(pd.Index(result.people))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("method", [sl.StEP(), sl.StEP.published()], ids=["StEP", "published"])
def test_batches_are_the_same_file_as_the_whole(tmp_path, suffix, method):
    step, people = fitted(method), PEOPLE.astype({"income": float})
    parts = [step.recourse(people.iloc[part]) for part in (slice(3, 7), slice(0, 3))]
    with (tmp_path / f"parts.{suffix}").open("wb") as stream:
        writer = archive.WRITERS[f".{suffix}"](stream)
        for part in parts:
            writer.add(part)
        writer.end()
    whole = replace(
        parts[0],
        people=np.concatenate([part.people for part in parts]),
        routes=[routes for part in parts for routes in part.routes],
        asked={key: sum(part.asked[key] for part in parts) for key in ("calls", "rows")},
    )
    assert_same(whole, sl.Recourse.load(tmp_path / f"parts.{suffix}"))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_whole_numbers_may_have_gaps_in_a_later_batch(step, tmp_path, suffix):
    late = PEOPLE.iloc[:2].astype({"age": float})
    late.iloc[1, late.columns.get_loc("age")] = np.nan
    with (tmp_path / f"plan.{suffix}").open("wb") as stream:
        writer = archive.WRITERS[f".{suffix}"](stream)
        for people in (PEOPLE.iloc[3:5], late):
            writer.add(step.recourse(people))
        writer.end()
    final = sl.Recourse.load(tmp_path / f"plan.{suffix}").final
    expected = [*PEOPLE["age"].iloc[3:5], PEOPLE["age"].iloc[0], np.nan]
    np.testing.assert_array_equal(final["age"].iloc[::3], expected)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_features_called_like_columns_of_a_file_come_back(tmp_path, suffix):
    names = ["person", "path", "step", "score", "outcome", "reason", "nearness", "point"]
    names += ["efforts", "ranks", "tight", "holds"]
    random = np.random.default_rng(0)
    rows = pd.DataFrame({name: random.normal(size=30) for name in names})
    step = sl.StEP(paths=2).fit(
        rows,
        lambda r: 1 / (1 + np.exp(-r["reason"] - r["point"])),
        schema=sl.Schema([sl.Numeric(name) for name in names]),
    )
    result = step.recourse(rows.head(5))
    result.save(tmp_path / f"plan.{suffix}")
    assert_same(result, sl.Recourse.load(tmp_path / f"plan.{suffix}"))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_published_result_comes_back_unrounded(tmp_path, suffix):
    result = fitted(sl.StEP.published()).recourse(PEOPLE)
    assert (result.paths["income"] % 1 != 0).any()
    result.save(tmp_path / f"plan.{suffix}")
    assert_same(result, sl.Recourse.load(tmp_path / f"plan.{suffix}"))


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_a_result_of_another_library_comes_back_in_its_kind(step, tmp_path, library, suffix):
    people = pa.Table.from_pandas(PEOPLE.astype({"age": "int8"}), preserve_index=False)
    if library == "polars":
        people = pl.from_arrow(people).cast({"job": pl.Enum(JOBS), "education": pl.Categorical})
    else:
        job = people["job"].dictionary_encode()
        people = people.set_column(people.schema.get_field_index("job"), "job", job)
    result = step.recourse(people)
    result.save(tmp_path / f"plan.{suffix}")
    loaded = sl.Recourse.load(tmp_path / f"plan.{suffix}")
    assert_same(result, loaded)
    assert loaded.template.empty.schema == result.template.empty.schema


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_an_unrounded_result_of_another_library_keeps_the_dtypes_people_came_with(tmp_path, suffix):
    result = fitted(sl.StEP.published()).recourse(pl.from_pandas(PEOPLE))
    result.save(tmp_path / f"plan.{suffix}")
    loaded = sl.Recourse.load(tmp_path / f"plan.{suffix}")
    assert_same(result, loaded)
    assert loaded.template.empty.schema == result.template.empty.schema


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_an_empty_result_comes_back_too(step, tmp_path, suffix):
    result = step.recourse(PEOPLE.iloc[:0])
    result.save(tmp_path / f"plan.{suffix}")
    loaded = sl.Recourse.load(tmp_path / f"plan.{suffix}")
    for name in FRAMES:
        assert list(getattr(loaded, name)) == list(getattr(result, name))
        assert len(getattr(loaded, name)) == 0


@pytest.mark.parametrize("suffix", ["parquet", "json"])
@pytest.mark.parametrize(
    "goal",
    [sl.Goal.between(0.6, 1.0), sl.Goal(0.6, desired="yes"), sl.Goal(0.6, desired=["yes", 2])],
    ids=["range", "class", "classes"],
)
def test_every_goal_comes_back(tmp_path, suffix, goal):
    step = sl.StEP(distance={"income": np.float64(2.0)}).fit(TRAIN, score, schema=SCHEMA, goal=goal)
    result = step.recourse(PEOPLE)
    result.save(tmp_path / f"plan.{suffix}")
    assert_same(result, sl.Recourse.load(tmp_path / f"plan.{suffix}"))


def test_someone_with_a_gap_survives_saving(result, tmp_path):
    for suffix in ("parquet", "json"):
        result.save(tmp_path / f"plan.{suffix}")
        loaded = sl.Recourse.load(tmp_path / f"plan.{suffix}")
        row = loaded.final[loaded.final["person"] == 99].iloc[0]
        assert row["outcome"] == "missing_value"
        assert np.isnan(row["savings"])
        assert np.isnan(row["score"])
        assert loaded.status.set_index("person").loc[99, "reason"] == "no value for savings"


WHOLE = pd.DataFrame(
    {
        "income": [10.0, 20.0, 30.0, 40.0] * 10,
        "grade": [1, 2, 3, 4] * 10,
        "owner": [True, False] * 20,
        "is_a": [1, 0] * 20,
        "is_b": [0, 1] * 20,
    }
)
WHOLE_SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 100)),
        sl.Ordinal("grade", levels=[1, 2, 3, 4]),
        sl.Categorical("owner", levels=[False, True]),
        sl.Categorical("kind", onehot=["is_a", "is_b"]),
    ]
)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_invalid_rows_survive_saving_in_columns_that_know_no_gaps(tmp_path, suffix):
    step = sl.StEP(paths=1).fit(WHOLE, lambda rows: rows["income"] / 40, schema=WHOLE_SCHEMA)
    people = WHOLE.iloc[[0, 0, 0, 0]].reset_index(drop=True)
    people.loc[1, "grade"] = 9
    people.loc[2, "is_b"] = 1
    people.loc[3, "income"] = 900.0
    result = step.recourse(people)
    assert result.status["outcome"].tolist() == ["reached", *["invalid_row"] * 3]
    assert result.final["grade"].isna().tolist() == [False, True, False, False]
    assert result.final[["is_a", "is_b"]].isna().all(axis=1).tolist() == [False, False, True, False]
    assert result.final["owner"].tolist() == [True] * 4
    assert np.isnan(result.routes[3][0].points).all()
    result.save(tmp_path / f"plan.{suffix}")
    loaded = sl.Recourse.load(tmp_path / f"plan.{suffix}")
    assert_same(result, loaded)
    assert np.isnan(loaded.routes[3][0].points).all()


def test_an_unknown_truth_is_an_invalid_row_too():
    step = sl.StEP(paths=1).fit(WHOLE, lambda rows: rows["income"] / 40, schema=WHOLE_SCHEMA)
    result = step.recourse(WHOLE.iloc[:2].astype({"owner": object}).replace({"owner": {True: "x"}}))
    assert result.status["outcome"].tolist() == ["invalid_row", "already_positive"]
    assert result.final["owner"].isna().tolist() == [True, False]


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def test_json_is_strict_and_plain(result, tmp_path):
    result.save(tmp_path / "plan.json")
    content = json.loads((tmp_path / "plan.json").read_text(), parse_constant=refuse_constant)
    assert content["run"]["goal"]["threshold"] == GOAL.threshold
    assert content["run"]["settings"]["method"] == "StEP"
    assert content["totals"]["people"] == len(PEOPLE)
    someone = content["people"][0]
    first = someone["paths"][0]
    assert (someone["person"], first["path"], first["outcome"]) == (40, 0, "reached")
    start = {"step": 0, **PEOPLE.iloc[0].to_dict(), "score": result.paths["score"].iloc[0]}
    assert first["rows"][0] == start
    gap = next(person for person in content["people"] if person["person"] == 99)
    assert gap["paths"][0]["rows"][0]["savings"] is None
    assert gap["paths"][0]["rows"][0]["score"] is None


def test_parquet_can_be_read_without_us(result, tmp_path):
    result.save(tmp_path / "plan.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "plan.parquet")
    assert set(FEATURES) <= set(table.column_names)
    assert table["income"].to_pylist() == list(result.paths["income"])


def test_a_saved_result_can_be_read_by_others(result, tmp_path):
    (tmp_path / "other").write_text("")
    for suffix in ("parquet", "json"):
        result.save(tmp_path / f"plan.{suffix}")
        mode = (tmp_path / f"plan.{suffix}").stat().st_mode
        assert mode == (tmp_path / "other").stat().st_mode  # what the umask says, no less


@pytest.mark.parametrize("suffix", ["PARQUET", "Json"])
def test_a_suffix_may_be_in_capitals(result, tmp_path, suffix):
    result.save(tmp_path / f"plan.{suffix}")
    assert_same(result, sl.Recourse.load(tmp_path / f"plan.{suffix}"))


def test_saving_again_replaces_the_file(step, result, tmp_path):
    file = tmp_path / "plan.json"
    result.save(file)
    fewer = step.recourse(PEOPLE.iloc[:1])
    fewer.save(str(file))
    assert_same(fewer, sl.Recourse.load(str(file)))


@pytest.mark.parametrize("name", ["plan.csv", "plan", "plan.json.gz"])
def test_an_unknown_suffix_is_refused(result, tmp_path, name):
    with pytest.raises(ResultError, match=r"\.parquet or \.json"):
        result.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_folder_that_is_not_there_is_named(result, tmp_path, suffix):
    file = tmp_path / "nowhere" / f"plan.{suffix}"
    with pytest.raises(ResultError, match="nowhere"):
        result.save(file)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_failed_save_leaves_the_old_file_and_no_other(result, tmp_path, monkeypatch, suffix):
    file = tmp_path / f"plan.{suffix}"
    result.save(file)
    before = file.read_bytes()

    class Full(io.RawIOBase):
        def writable(self):
            return True

        def write(self, _):
            raise OSError(28, "No space left on device")

    def full(path, *args, **kwargs):
        path.touch()
        return Full()

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", full)
        with pytest.raises(ResultError, match="No space left on device"):
            result.save(file)
    assert list(tmp_path.iterdir()) == [file]
    assert file.read_bytes() == before


def test_a_save_that_is_interrupted_leaves_nothing(result, tmp_path, monkeypatch):
    def interrupted(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        result.save(tmp_path / "plan.json")
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_not_there_is_named(tmp_path):
    for name in ("plan.json", "plan.parquet"):
        with pytest.raises(ResultError, match="There is no result at"):
            sl.Recourse.load(tmp_path / name)
    with pytest.raises(ResultError, match="There is no result at"):
        sl.Recourse.load(tmp_path)


@pytest.mark.parametrize(
    "content", [b"", b"{}", b"[1, 2]", b"null", b"\xff\x00PAR1", b'{"routes": 3}']
)
@pytest.mark.parametrize("name", ["plan.json", "plan.parquet", "plan.csv"])
def test_a_corrupt_file_is_refused_as_no_result(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ResultError, match=f"'{name}' isn't a result that can be read back"):
        sl.Recourse.load(tmp_path / name)


@pytest.mark.parametrize("suffix", ["json", "parquet"])
def test_a_file_cut_short_is_refused(result, tmp_path, suffix):
    file = tmp_path / f"plan.{suffix}"
    result.save(file)
    whole = file.read_bytes()
    for share in (0.2, 0.5, 0.99):
        file.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(ResultError, match="isn't a result"):
            sl.Recourse.load(file)


def test_a_parquet_file_of_someone_else_is_refused(tmp_path):
    REJECTED.to_parquet(tmp_path / "plan.parquet")
    with pytest.raises(ResultError, match="isn't a result"):
        sl.Recourse.load(tmp_path / "plan.parquet")


@pytest.mark.parametrize(
    "where",
    [
        *(("run", key) for key in ("schema", "goal", "labels", "frame", "center", "columns")),
        *[("run",), ("people",), ("totals",), ("totals", "people"), ("people", 0)],
        *(("people", 1, "paths", *more) for more in ([], [0], [0, "path"], [0, "rows"])),
    ],
    ids=str,
)
@pytest.mark.parametrize("wrong", ["x", 5, [], {"a": 1}], ids=repr)
def test_a_tampered_file_is_refused(result, tmp_path, where, wrong):
    file = tmp_path / "plan.json"
    result.save(file)
    content = json.loads(file.read_text())
    *within, key = where
    reduce(getitem, within, content)[key] = wrong
    file.write_text(json.dumps(content))
    with pytest.raises(ResultError):
        sl.Recourse.load(file)


@pytest.mark.parametrize(
    "tampered",
    [
        lambda table: table.slice(1),
        lambda table: table.slice(0, 4),
        lambda table: table.take(list(range(len(table)))[::-1]),
        lambda table: table.drop_columns(["outcome"]),
        lambda table: table.set_column(0, "person", table["point"]),
        lambda table: table.set_column(3, table.column_names[3], table["outcome"]),
        lambda table: table.replace_schema_metadata(None),
    ],
    ids=["no start", "fewer", "reversed", "no outcome", "odd people", "odd rows", "no run"],
)
def test_tampered_parquet_is_refused(result, tmp_path, tampered):
    file = tmp_path / "plan.parquet"
    result.save(file)
    with pyarrow.parquet.ParquetFile(file) as opened:
        table, metadata = opened.read(), opened.metadata.metadata
    totals = {key: value for key, value in metadata.items() if key == b"stepladder.totals"}
    table = tampered(table.replace_schema_metadata({**table.schema.metadata, **totals}))
    pyarrow.parquet.write_table(table, file)
    with pytest.raises(ResultError, match="isn't a result that can be read back"):
        sl.Recourse.load(file)


def sure_and_tight(result):
    """The same with something to say of how sure each path is."""
    routes = [
        [
            replace(path, tight=k == 1, holds=np.nan if k == 2 else 0.9 + i / 100)
            for k, path in enumerate(own)
        ]
        for i, own in enumerate(result.routes)
    ]
    return replace(result, routes=routes)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_how_sure_and_how_hard_a_path_is_comes_back(result, tmp_path, suffix):
    made = sure_and_tight(result)
    assert made.final["tight"].sum() == len(PEOPLE)
    made.save(tmp_path / f"plan.{suffix}")
    again = sl.Recourse.load(tmp_path / f"plan.{suffix}")
    assert_same(made, again)
    assert_frame_equal(made.choices(40), again.choices(40))


def test_what_is_long_stands_once_for_each_path(result, tmp_path):
    result.save(tmp_path / "plan.parquet")
    table = pyarrow.parquet.read_table(tmp_path / "plan.parquet").to_pandas()
    for name in ("efforts", "ranks"):
        assert (table[name].notna() == (table["step"] == 0)).all()


def older(file):
    """Make the file what the version before wrote, which knew nothing of effort."""
    new = ("efforts", "ranks", "tight", "holds")
    if file.suffix == ".json":
        content = json.loads(file.read_text())
        content["run"]["format"] = 2
        for person in content["people"]:
            for one in person["paths"]:
                for name in new:
                    del one[name]
        file.write_text(json.dumps(content))
        return
    table, metadata = pa.parquet.read_table(file), pa.parquet.read_metadata(file).metadata
    facts = {key: metadata[key] for key in (b"stepladder.run", b"stepladder.totals")}
    run = json.loads(facts[b"stepladder.run"])
    facts[b"stepladder.run"] = json.dumps({**run, "format": 2}).encode()
    table = table.drop_columns(list(new)).replace_schema_metadata(facts)
    pa.parquet.write_table(table, file)


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_a_file_of_the_format_before_is_read_with_its_efforts_unknown(result, tmp_path, suffix):
    result.save(tmp_path / f"plan.{suffix}")
    older(tmp_path / f"plan.{suffix}")
    again = sl.Recourse.load(tmp_path / f"plan.{suffix}")
    assert again.final["effort"].isna().all()
    assert again.changes["effort"].isna().all()
    assert not again.final["tight"].any()
    unknown = ["effort", "holds", "tight"]
    assert_frame_equal(again.final.drop(columns=unknown), result.final.drop(columns=unknown))
    assert again.metrics()["effort"].isna().all()
    assert len(again.choices(40))


@pytest.mark.parametrize("wrong", [[1.0], "x", 5, [[1.0]]], ids=repr)
@pytest.mark.parametrize("name", ["efforts", "ranks"])
def test_efforts_that_do_not_fit_are_refused(result, tmp_path, name, wrong):
    file = tmp_path / "plan.json"
    result.save(file)
    content = json.loads(file.read_text())
    content["people"][0]["paths"][0][name] = wrong
    file.write_text(json.dumps(content))
    with pytest.raises(ResultError, match="damaged"):
        sl.Recourse.load(file)


def test_a_result_of_a_later_format_is_refused(result, tmp_path):
    file = tmp_path / "plan.json"
    result.save(file)
    content = json.loads(file.read_text())
    content["run"]["format"] = 99
    file.write_text(json.dumps(content))
    with pytest.raises(ResultError, match="format 99"):
        sl.Recourse.load(file)


def test_levels_that_parquet_cannot_hold_together_are_sent_to_json(tmp_path):
    rows = pd.DataFrame({"a": [0.0, 1.0, 2.0, 3.0], "c": ["x", 1, 2.5, "x"]})
    schema = sl.Schema([sl.Numeric("a"), sl.Categorical("c", levels=["x", 1, 2.5])])
    step = sl.StEP(paths=1).fit(rows, lambda r: np.where(r["a"] > 1.5, 0.9, 0.1), schema=schema)
    result = step.recourse(rows)
    with pytest.raises(ResultError, match=r"Save them as \.json"):
        result.save(tmp_path / "plan.parquet")
    assert list(tmp_path.iterdir()) == []
    result.save(tmp_path / "plan.json")
    assert sl.Recourse.load(tmp_path / "plan.json").final["c"].tolist() == ["x", 1, 2.5, "x"]


def test_people_without_a_name_survive_saving(step, tmp_path):
    people = PEOPLE.head(2).set_axis([1.5, np.nan])
    step.recourse(people).save(tmp_path / "plan.json")
    labels = sl.Recourse.load(tmp_path / "plan.json").status["person"]
    assert labels[0] == 1.5
    assert np.isnan(labels[1])


@pytest.mark.parametrize("suffix", [".parquet", ".json"])
def test_what_follows_what_is_missing_and_time_come_back_too(tmp_path, suffix):
    rows = pd.DataFrame(
        {
            "loan": [90.0, 80.0, 20.0, 30.0],
            "price": [100.0, 100.0, 100.0, 120.0],
            "ltv": [0.9, 0.8, 0.2, 0.25],
            "band": ["high", "high", "low", "low"],
            "age": [30.0, 40.0, 50.0, 60.0],
            "phone": ["yes", None, "no", "yes"],
        }
    )
    schema = sl.Schema(
        [
            sl.Numeric("loan", change="decrease", months=24),
            sl.Numeric("price", change="never"),
            sl.Derived("ltv", "loan / price", decimals=3),
            sl.Derived("band", "where(ltv > 0.5, 'high', 'low')", levels=["low", "high"]),
            sl.Numeric("age", change="time"),
            sl.Categorical("phone", levels=["no", "yes"], change="never"),
        ]
    )
    step = sl.StEP(paths=1).fit(rows, lambda f: (f["ltv"] < 0.5).to_numpy(float), schema=schema)
    result = step.recourse(rows)
    assert result.final["months"].tolist() == [24, 24, 0, 0]
    assert result.final["age"].tolist() == [32, 42, 50, 60]
    assert result.final["band"].tolist() == ["low"] * 4
    result.save(tmp_path / f"plan{suffix}")
    loaded = sl.Recourse.load(tmp_path / f"plan{suffix}")
    for name in ("paths", "final", "changes", "status"):
        assert_frame_equal(getattr(loaded, name), getattr(result, name), check_dtype=False)
