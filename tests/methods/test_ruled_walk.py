"""A walk where features follow from others, levels hop, things take time and values are missing."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from tests.contract import ruled

import stepladder as sl
from stepladder.errors import MissingValueError, ParameterError

STEP = ruled.fitted("step")
PERSON = ruled.PEOPLE.iloc[[9]]
DERIVED = [feature.name for feature in ruled.SCHEMA.derived]


def walked(walk: sl.Walk) -> pd.DataFrame:
    """The rows of a walk, from its history."""
    return pd.DataFrame([event["row"] for event in walk.history])


@pytest.mark.parametrize("person", range(12))
def test_offers_ask_for_what_a_person_sets_and_every_step_keeps_the_rules(person):
    walk = STEP.walk(ruled.PEOPLE.iloc[[person]])
    path = None
    while not walk.done and (offers := walk.directions()):
        for offer in offers:
            assert offer.changes
            assert {asked.feature for asked in offer.changes} <= set(ruled.CHOSEN)
        path = offers[0].path if path is None else path
        walk.take(path)
    assert ruled.broken(walked(walk)) == []
    assert walk.done == (
        STEP.recourse(ruled.PEOPLE.iloc[[person]]).status["outcome"][0] != ("unreachable")
    )


def test_what_follows_is_worked_out_for_a_row_that_lacks_it():
    walk = STEP.walk(PERSON)
    after = PERSON.assign(loan=PERSON["loan"] - 20).drop(columns=DERIVED)
    walk.observe(after)
    both = pd.concat([PERSON, walk.row.set_index(PERSON.index)])
    assert ruled.broken(both) == []
    assert (both[DERIVED].iloc[0] != both[DERIVED].iloc[1]).sum() >= 3
    told = walk.row["payment"].item()
    walk.observe({**walk.row.iloc[0].to_dict(), "payment": told + 1})  # a fact is a fact
    assert walk.row["payment"].item() == told + 1


def test_what_is_off_today_is_carried_along_in_what_is_worked_out():
    off = PERSON.assign(ltv=PERSON["ltv"] + 0.01)
    walk = STEP.walk(off)
    walk.observe(off.drop(columns=DERIVED).assign(loan=100.0))
    assert walk.row["ltv"].item() == pytest.approx(100 / PERSON["price"].item() + 0.01, abs=1e-3)


def test_time_that_has_passed_is_as_it_was_seen():
    features = [
        sl.Numeric("a", months=24),
        sl.Numeric("age", change="time"),
        sl.Derived("left", "65 - age"),
    ]
    frame = pd.DataFrame({"a": np.arange(20.0), "age": np.arange(20.0, 40), "left": 0.0})
    frame["left"] = 65 - frame["age"]
    step = sl.StEP(1).fit(frame, lambda f: (f["a"] / 20).to_numpy(), schema=sl.Schema(features))
    walk = step.walk({"a": 1.0, "age": 30.0})
    assert walk.row["left"].item() == 35
    walk.observe({"a": 5.0, "age": 31.0})
    assert (walk.row["age"].item(), walk.row["left"].item()) == (31, 34)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_row_of_any_library_may_lack_what_follows(library):
    row = PERSON.drop(columns=[*DERIVED[:1], *DERIVED[2:]])  # but payment, which was() needs
    if library != "pandas":
        row = pytest.importorskip("pyarrow").Table.from_pandas(row, preserve_index=False)
    if library == "polars":
        row = pytest.importorskip("polars").from_arrow(row)
    assert STEP.walk(row).row.iloc[0].to_dict() == PERSON.iloc[0].to_dict()


def test_what_cannot_be_worked_out_without_today_is_asked_for():
    text = "'payment' has no value"
    with pytest.raises(MissingValueError, match=text):
        sl.StEP(1).fit(ruled.TRAIN, lambda f: ruled.model(f.dropna()), schema=ruled.SCHEMA).walk(
            PERSON.drop(columns=["payment"])
        )


@pytest.mark.parametrize("name", DERIVED)
def test_what_follows_can_be_neither_locked_nor_limited(name):
    walk = STEP.walk(PERSON)
    with pytest.raises(ParameterError, match=f"'{name}' follows from other features, so it can't"):
        walk.lock(name)
    with pytest.raises(ParameterError, match="Lock or limit those, or state a requirement"):
        walk.limit(name, 0, None)
    with pytest.raises(ParameterError, match="follows from other things, so it has no difficulty"):
        walk.difficulty(name, 2)
    with pytest.raises(ParameterError, match=f"'{name}' follows from other features"):
        STEP.recourse(PERSON, locked=[name])
    STEP.recourse(PERSON, locked=ruled.SCHEMA.names)  # where nothing moves, it doesn't either


def test_time_can_be_neither_locked_nor_limited():
    with pytest.raises(ParameterError, match="'age' grows with the time that a plan takes"):
        STEP.walk(PERSON).lock("age")
    with pytest.raises(ParameterError, match="'age' grows with the time that a plan takes"):
        STEP.recourse(PERSON, limits={PERSON.index[0]: {"age": (None, 40)}})


def test_a_resumed_walk_keeps_to_its_path_though_time_has_passed():
    """From where it began, two levels take three years; from here, the second takes one."""
    levels = ["none", "school", "master"]
    ladder = sl.Ordinal(
        "studies", levels=levels, change="increase", moves={"none": ["school"]}, months_each=18
    )
    frame = pd.DataFrame({"studies": levels * 5, "age": np.arange(20.0, 35)})
    step = sl.StEP(1).fit(
        frame,
        lambda f: (f["studies"] == "master").to_numpy(float),
        schema=sl.Schema([ladder, sl.Numeric("age", change="time")]),
    )
    walk = step.walk({"studies": "none", "age": 30.0})
    walk.take(0)
    again = step.resume(walk.to_json())
    for one in (walk, again):
        one.take(0)
        assert one.done
        assert one.row["age"].item() == 33


def test_a_walk_may_begin_with_a_gap_and_be_saved_with_it():
    walk = STEP.walk(ruled.LACKING.iloc[[0]])
    saved = json.loads(walk.to_json())
    assert saved["row"]["savings"] is None
    again = STEP.resume(walk.to_json())
    assert np.isnan(again.row["savings"].item())
    while not again.done:
        again.take(again.directions()[0].path)
    assert walked(again)["savings"].isna().all()
    again.observe({**again.row.iloc[0].to_dict(), "savings": 3.0})
    assert again.row["savings"].item() == 3.0
