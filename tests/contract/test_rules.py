"""Every row of every path keeps to the schema, whatever the method and the model.

The rules are written out here once more, column by column; the library isn't asked what it allows.
"""

from __future__ import annotations

from functools import cache

import pandas as pd
import pytest
from tests.contract import made
from tests.contract.made import HOMES, HONOURING, JOBS, LATE, STUDIES

import stepladder as sl

honouring = pytest.mark.parametrize("name", HONOURING)
LOCKED = ("savings", "studies", "job", "home")


def walked(result: sl.Recourse) -> pd.DataFrame:
    """Every row of every path of whoever lacks no value."""
    rows = result.paths
    return rows[~rows["person"].isin(result.people[[made.LACKING]])].reset_index(drop=True)


def today(rows: pd.DataFrame, kind: str) -> pd.DataFrame:
    """For each row, the one that its person has today."""
    return made.people(kind).loc[rows["person"]].reset_index(drop=True)


def steps(rows: pd.DataFrame, numbers: pd.Series) -> pd.Series:
    """By how much a number changes in each step of each path."""
    return numbers.groupby([rows["person"], rows["path"]]).diff().fillna(0)


@cache
def with_locks(name: str, kind: str) -> sl.Recourse:
    return made.fitted(name, kind).recourse(made.people(kind), locked=LOCKED)


@honouring
def test_something_is_found_to_be_judged(name, kind):
    rows = walked(made.answer(name, kind))
    assert (rows["step"] > 0).sum() >= 2


@honouring
def test_locked_features_stay(name, kind):
    rows = walked(with_locks(name, kind))
    for column in ("savings", "studies", "job", *HOMES):
        assert rows[column].equals(today(rows, kind)[column])


@honouring
def test_limits_of_each_person_hold(name, kind):
    people = made.people(kind)
    below, above = people.index[::2], people.index[1::2]
    limits = {
        **{person: {"income": (None, people.loc[person, "income"] + 5)} for person in below},
        **{person: {"income": (people.loc[person, "income"] + 15, None)} for person in above},
    }
    rows = walked(made.fitted(name, kind).recourse(people, limits=limits))
    gained = rows["income"] - today(rows, kind)["income"]
    assert (gained[rows["person"].isin(below)] <= 5).all()
    assert ((gained >= 15) | (gained == 0))[rows["person"].isin(above)].all()


@pytest.mark.parametrize(
    "name", [name for name in made.METHODS if name in HONOURING or name.startswith("step")]
)
def test_what_never_changes_stays_to_the_last_bit(name, kind):
    rows = walked(made.answer(name, kind))
    for column in ("age", "sex"):
        assert rows[column].equals(today(rows, kind)[column])


@honouring
def test_one_way_numbers_go_one_way(name, kind):
    rows = walked(made.answer(name, kind))
    assert (steps(rows, rows["years"]) >= 0).all()
    assert (steps(rows, rows["debt"]) <= 0).all()


@honouring
def test_one_way_ordinals_go_one_way(name, kind):
    rows = walked(made.answer(name, kind))
    assert (steps(rows, rows["studies"].map(STUDIES.index)) >= 0).all()
    assert (steps(rows, rows["late"]) <= 0).all()


@honouring
def test_ordinals_are_levels(name, kind):
    rows = walked(made.answer(name, kind))
    assert rows["studies"].isin(STUDIES).all()
    assert rows["late"].isin(LATE).all()
    assert rows["late"].dtype == made.TRAIN["late"].dtype


@honouring
def test_categories_hold_a_level_of_theirs(name, kind):
    rows = walked(made.answer(name, kind))
    assert rows["job"].isin(JOBS).all()
    assert rows["owner"].dtype == bool
    assert rows["sex"].isin(["f", "m"]).all()


@honouring
def test_of_one_hot_columns_exactly_one_is_set(name, kind):
    rows = walked(made.answer(name, kind))
    assert rows[HOMES].isin([0, 1]).all(axis=None)
    assert (rows[HOMES].sum(axis=1) == 1).all()


@honouring
def test_bounds_hold(name, kind):
    rows = walked(made.answer(name, kind))
    for feature in made.SCHEMA.features:
        if feature.kind == "numeric":
            assert rows[feature.name].between(*feature.bounds).all(), feature.name


@honouring
def test_whole_numbers_are_whole(name, kind):
    rows = walked(made.answer(name, kind))
    for column in ("income", "age"):
        assert rows[column].dtype == made.TRAIN[column].dtype
        assert (rows[column] == rows[column].round()).all()


@honouring
def test_decimals_are_kept(name, kind):
    rows = walked(made.answer(name, kind))
    assert (rows["debt"] == rows["debt"].round(2)).all()


@honouring
def test_columns_keep_their_types(name, kind):
    rows = made.answer(name, kind).paths
    assert rows[made.COLUMNS].dtypes.equals(made.people(kind).dtypes)


def test_the_first_row_is_the_person_exactly_as_given(name, kind):
    rows = made.answer(name, kind).paths
    for _, first in rows[rows["step"] == 0].groupby("path"):
        pd.testing.assert_frame_equal(
            first.set_index("person")[made.COLUMNS],
            made.people(kind),
            check_dtype=name
            in HONOURING,  # published points aren't rounded, nor whole numbers kept
            check_exact=True,
            check_names=False,
            check_index_type=False,
        )


@pytest.mark.parametrize("name", [name for name in made.METHODS if name not in HONOURING])
def test_who_knows_no_locks_says_so(name):
    with pytest.raises(sl.errors.ParameterError, match="knows no locked features, but got job"):
        made.fitted(name).recourse(made.people(), locked=["job"])


@pytest.mark.parametrize("name", [name for name in made.METHODS if name not in HONOURING])
def test_who_knows_no_limits_says_so(name):
    people = made.people()
    with pytest.raises(sl.errors.ParameterError, match="knows no limits, but got income"):
        made.fitted(name).recourse(people, limits={people.index[0]: {"income": (0, None)}})
