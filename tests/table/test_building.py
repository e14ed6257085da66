"""Frames and arrays made of values over and over: what comes out is what would be read in."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import stepladder as sl
from stepladder.table.building import Builder, Cells
from stepladder.table.frames import Template

FRAME = pd.DataFrame(
    {
        "job": ["clerk", "cook", "smith", "cook"],
        "income": [10.5, 20.25, 30.0, 12.0],
        "children": np.array([0, 1, 2, 3], dtype=np.int8),
        "owner": [True, False, True, False],
        "ratio": np.array([0.5, 0.25, 0.125, 1.0], dtype=np.float32),
        "days": [400, 500, 600, 700],
        "plan_a": [1, 0, 0, 1],
        "plan_b": [0, 1, 1, 0],
    }
)
SCHEMA = sl.Schema(
    [
        sl.Categorical("job", levels=["clerk", "cook", "smith"]),
        sl.Numeric("income"),
        sl.Numeric("children", integer=True),
        sl.Categorical("owner", levels=[False, True]),
        sl.Numeric("ratio"),
        sl.Numeric("days", integer=True),
        sl.Categorical("plan", onehot=["plan_a", "plan_b"]),
    ]
)
KINDS = {
    "pandas": lambda frame: frame,
    "categories": lambda frame: frame.astype({"job": "category"}),
    "objects": lambda frame: frame.astype({"job": object}),
    "polars": pl.from_pandas,
    "enum": lambda frame: pl.from_pandas(frame).with_columns(
        pl.col("job").cast(pl.Enum(["smith", "cook", "clerk"]))
    ),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def as_pandas(frame):
    if isinstance(frame, pl.DataFrame):
        return frame.to_pandas()
    return frame.to_pandas() if isinstance(frame, pa.Table) else frame


@pytest.fixture(params=list(KINDS))
def frame(request):
    return KINDS[request.param](FRAME)


def test_a_frame_is_made_as_it_was_read(frame):
    space = sl.Space.fit(SCHEMA, frame)
    made = space.to_frame(space.read(frame))
    assert type(made) is type(frame)
    pd.testing.assert_frame_equal(as_pandas(made), as_pandas(frame))


def test_rows_come_in_any_number_and_order(frame):
    space = sl.Space.fit(SCHEMA, frame)
    values, rows = space.read(frame), [3, 0, 0, 2]
    for some in (rows, [1], []):
        made = as_pandas(space.to_frame(values[some]))
        expected = as_pandas(frame).iloc[some].reset_index(drop=True)
        pd.testing.assert_frame_equal(made.reset_index(drop=True), expected)


def test_a_gap_in_one_column_leaves_the_others_their_dtypes(frame):
    space = sl.Space.fit(SCHEMA, frame)
    values = space.read(frame)
    for name in ("job", "income", "children", "ratio", "days"):
        gaps = values.copy()
        gaps[1, SCHEMA.position(name)] = np.nan
        made = as_pandas(space.to_frame(gaps))
        assert made[name].isna().tolist() == [False, True, False, False]
        others = [column for column in FRAME if column != name]
        pd.testing.assert_frame_equal(made[others], as_pandas(frame)[others])


def test_what_a_dtype_cant_hold_gets_one_that_can():
    space = sl.Space.fit(SCHEMA, FRAME)
    values = space.read(FRAME)
    days, children = SCHEMA.position("days"), SCHEMA.position("children")
    values[0, days], values[2, children] = 400.5, 300
    made = space.to_frame(values)
    assert made["days"].tolist() == [400.5, 500, 600, 700]
    assert made["children"].tolist() == [0, 1, 300, 3]


def test_columns_come_in_the_order_that_was_asked_for():
    order = ["days", "job", "plan_b", "plan_a", "ratio", "owner", "income", "children"]
    space = sl.Space.fit(SCHEMA, FRAME)
    made = Builder(space.schema, space.template, order)(space.read(FRAME))
    pd.testing.assert_frame_equal(made, FRAME[order])


def test_numbers_of_one_dtype_are_one_array_that_nobody_else_holds():
    frame = FRAME[["income"]].assign(rent=[1.0, 2.0, 3.0, np.nan])
    schema = sl.Schema([sl.Numeric("income"), sl.Numeric("rent")])
    values = frame.to_numpy()
    made = Builder(schema, Template.of(frame))(values)
    pd.testing.assert_frame_equal(made, frame)
    made.iloc[0, 0] = 99.0
    assert values[0, 0] == 10.5


# ---- cells ------------------------------------------------------------------------------------


def test_cells_are_the_numbers_of_a_frame():
    schema = sl.Schema(
        [
            sl.Numeric("income"),
            sl.Categorical("grade", levels=[30, 10, 20]),
            sl.Categorical("owner", levels=[False, True]),
            sl.Categorical("plan", onehot=["plan_a", "plan_b"]),
        ]
    )
    columns = ["plan_b", "income", "owner", "grade", "plan_a"]
    frame = FRAME.assign(grade=[10, 20, 30, 10])[columns]
    values = sl.Space.fit(schema, frame).read(frame)
    assert Cells.are_numbers(schema)
    cells = Cells(schema, columns)(values)
    np.testing.assert_array_equal(cells, frame.to_numpy(dtype=float))
    values[1, :2] = np.nan
    gaps = Cells(schema, columns)(values)
    assert np.isnan(gaps[1]).tolist() == [False, True, False, True, False]


def test_a_schema_with_text_has_no_cells():
    assert not Cells.are_numbers(SCHEMA)
