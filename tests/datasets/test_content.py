"""A table is known by its content, whatever it was read from."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pandas as pd
import pytest
from tests.datasets.small import COLUMNS, ROWS, TABLE

from stepladder.datasets import content
from stepladder.errors import DatasetError


def verified(frame: pd.DataFrame) -> pd.DataFrame:
    return content.verified(frame, TABLE, "the file", "Do this.")


def test_the_checksum_by_hand():
    frame = pd.DataFrame({"a": [7, -1], "b": [0.5, np.nan], "c": ["y", "x"]})
    missing = -(2**63)
    written = (
        b"a\0whole\0" + struct.pack("<q2q", 2, 7, -1) + b"b\0number\0"
        b"" + struct.pack("<q2q", 2, 500_000_000, missing) + b"c\0text\0"
        b"" + struct.pack("<q", 2) + b"x\0y\0" + struct.pack("<2q", 1, 0)
    )
    kinds = {"a": "whole", "b": "number", "c": "text"}
    assert content.checksum(frame, kinds) == hashlib.sha256(written).hexdigest()


def test_a_missing_text_is_no_text():
    kinds = {"c": "text"}
    with_gap = pd.DataFrame({"c": ["x", None, "y"]})
    written = b"c\0text\0" + struct.pack("<q", 3) + b"x\0y\0" + struct.pack("<3q", 0, -1, 1)
    assert content.checksum(with_gap, kinds) == hashlib.sha256(written).hexdigest()


def test_what_is_verified_comes_in_the_published_columns_and_dtypes():
    shuffled = ROWS[["paid", "job", "rate", "years"]]
    made = verified(shuffled)
    pd.testing.assert_frame_equal(made, ROWS)
    assert made is not shuffled


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.assign(years=f["years"].astype("uint8")),
        lambda f: f.assign(years=f["years"].astype(float)),
        lambda f: f.assign(years=f["years"].astype(str)),
        lambda f: f.assign(years=f["years"].astype(str).astype("category")),
        lambda f: f.assign(years=f["years"].astype("Int64"), rate=f["rate"].astype("Float64")),
        lambda f: f.assign(job=f["job"].astype("category")),
        lambda f: f.assign(job=f["job"].astype(object).where(f["job"].notna(), None)),
        lambda f: f.assign(rate=np.nextafter(f["rate"], np.inf)),  # another reader's last bit
        lambda f: f.set_axis([f"person {i}" for i in range(len(f))]),
    ],
    ids=["small", "float", "str", "code", "nullable", "category", "None", "last bit", "index"],
)
def test_how_a_value_is_stored_makes_no_difference(change):
    pd.testing.assert_frame_equal(verified(change(ROWS)), ROWS, check_exact=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda f: f.iloc[::-1],
        lambda f: f.iloc[:-1],
        lambda f: f.assign(years=f["years"] + (f.index == 4)),
        lambda f: f.assign(rate=f["rate"].fillna(0.0)),
        lambda f: f.assign(rate=f["rate"] + 1e-9 * (f.index == 0)),
        lambda f: f.assign(job=f["job"].replace("é", "e")),
        lambda f: f.assign(job=f["job"].fillna("nan")),
    ],
    ids=["order", "short", "one", "gap", "ninth decimal", "text", "text for gap"],
)
def test_every_other_content_is_refused_and_both_checksums_are_said(change):
    with pytest.raises(DatasetError) as caught:
        verified(change(ROWS))
    message = str(caught.value)
    assert message.startswith("the file isn't the table 'small', or its rows are in another order")
    assert f"expected {TABLE.checksum}" in message
    assert f"got {len(change(ROWS))} rows of checksum " in message
    assert message.endswith("Do this.")


def test_a_missing_column_is_answered_with_the_nearest_and_with_all_that_are_expected():
    with pytest.raises(DatasetError, match=r"no column 'rate'\. Did you mean 'Rate'") as caught:
        verified(ROWS.rename(columns={"rate": "Rate"}))
    assert "Expected 'years', 'rate', 'job', 'paid'. Do this." in str(caught.value)


def test_columns_too_many_are_named():
    with pytest.raises(DatasetError, match="a column too many: 'extra'"):
        verified(ROWS.assign(extra=1))
    twice = pd.concat([ROWS, ROWS[["job"]]], axis=1)
    with pytest.raises(DatasetError, match="a column is there twice"):
        verified(twice)


@pytest.mark.parametrize(
    ("column", "values", "said"),
    [
        ("years", [1.5] * 10, "'years' should hold whole numbers, but row 0 holds 1.5"),
        ("years", [*range(9), np.nan], "'years' should hold whole numbers, but row 9 holds nan"),
        ("years", [*range(9), np.inf], "'years' should hold whole numbers, but row 9 holds inf"),
        ("rate", [0.5, np.inf] * 5, "'rate' should hold numbers, but row 1 holds inf"),
        ("rate", [0.5, 1e300] * 5, "'rate' should hold numbers, but row 1 holds 1e"),
        ("rate", ["much"] * 10, "'rate' should hold numbers, but .*much"),
    ],
)
def test_a_column_of_something_else_is_named(column, values, said):
    with pytest.raises(DatasetError, match=said):
        verified(ROWS.assign(**{column: values}))


def test_kinds_are_part_of_the_content():
    numbers = pd.DataFrame({"a": [0, 0]})
    assert content.checksum(numbers, {"a": "whole"}) != content.checksum(numbers, {"a": "number"})
    assert set(COLUMNS.values()) == {"whole", "number", "text"}
