"""Raw frames to points and back."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import stepladder as sl
from stepladder.errors import (
    ColumnError,
    ConstantError,
    DtypeError,
    EmptyFrameError,
    LevelError,
    MissingValueError,
    NotFiniteError,
    ParameterError,
    SchemaError,
)
from stepladder.table.frames import Template

TEN_THOUSANDTHS = st.integers(-(10**13), 10**13).map(lambda n: n / 10_000)
AWKWARD = st.sampled_from([0.1, 0.3, -0.0, 1e9 + 0.01, -1e9, 0.1234, 1 / 4, 99999.9999, 1e-4])
WORDS = ["yes", "no", "1", "null", "ünï", "a b", "x=y"]


@dataclass
class Table:
    """A random schema with rows that are valid under it."""

    schema: sl.Schema
    frame: pd.DataFrame


@st.composite
def numeric(draw: st.DrawFn, name: str, size: int, *, loose: bool) -> tuple[sl.Numeric, Any]:
    """A numeric feature and its column; `loose` ones may hold what they'd never move to."""
    whole = draw(st.booleans())
    decimals = None if whole else draw(st.sampled_from([None, None, 1, 2]))
    around = draw(st.sampled_from([0, 0, 40, 10**6, -(10**9)]))
    if whole:
        cells = st.integers(-(10**9), 10**9).map(float)
        near = st.integers(-3, 3).map(lambda n: float(n + around))
    else:
        cells = AWKWARD | TEN_THOUSANDTHS.filter(lambda x: abs(x) < 1e9)
        near = st.integers(-30_000, 30_000).map(lambda n: (n + around * 10_000) / 10_000)
    places = 0 if whole else decimals
    column = np.array(
        draw(st.lists(draw(st.sampled_from([cells, near])), min_size=size, max_size=size))
    )
    if places is not None and not loose:
        column = np.round(column, places)
    dtype = draw(st.sampled_from(["float64", "float64", "float32", "Float64", "double[pyarrow]"]))
    if whole and (column == np.rint(column)).all():
        dtype = draw(st.sampled_from([dtype, "int64", "Int64", "int64[pyarrow]"]))
    if dtype == "float32":
        column = column.astype(np.float32).astype(np.float64)
    change = draw(st.sampled_from(["any", "increase", "decrease", "never"]))
    if column.min() == column.max():
        change = sl.Change.NEVER
    slack = draw(st.sampled_from([0.0, 0.05, 2.5, 1e4]))
    low = draw(st.sampled_from([None, column.min() - slack]))
    high = draw(st.sampled_from([None, column.max() + slack]))
    try:
        feature = sl.Numeric(
            name, change=change, bounds=(low, high), integer=whole, decimals=decimals
        )
    except sl.StepladderError:  # nothing allowed lies within such bounds
        feature = sl.Numeric(name, change=change, integer=whole, decimals=decimals)
    return feature, pd.array(column, dtype=dtype)


@st.composite
def levelled(draw: st.DrawFn, name: str, size: int) -> tuple[Any, Any]:
    """An ordinal or a category, held in any dtype that suits its levels."""
    levels, dtypes = draw(
        st.sampled_from(
            [
                (WORDS, ["object", "str", "string", "category"]),
                ([5, 4, 3, 2, 1], ["int64", "Int64", "int64[pyarrow]", "category"]),
                ([0.5, 1.5, -2.0], ["float64", "Float64", "category"]),
                ([False, True], ["bool", "boolean", "bool[pyarrow]"]),
                (["x", 1, 2.5], ["object"]),
            ]
        )
    )
    levels = levels[: draw(st.integers(2, len(levels)))]
    column = draw(st.lists(st.sampled_from(levels), min_size=size, max_size=size))
    column = pd.Series(column, dtype="object").astype(draw(st.sampled_from(dtypes)))
    if draw(st.booleans()):
        change = draw(st.sampled_from(["any", "increase", "decrease", "never"]))
        if column.nunique() == 1:
            change = sl.Change.NEVER
        return sl.Ordinal(name, levels=levels, change=change), column
    change = draw(st.sampled_from([sl.Change.ANY, sl.Change.ANY, sl.Change.NEVER]))
    return sl.Categorical(name, levels=levels, change=change), column


@st.composite
def onehot(draw: st.DrawFn, name: str, size: int) -> tuple[sl.Categorical, dict[str, Any]]:
    count = draw(st.integers(2, 4))
    codes = np.array(draw(st.lists(st.integers(0, count - 1), min_size=size, max_size=size)))
    dtype = draw(st.sampled_from(["int8", "bool", "boolean", "float64", "Int64"]))
    names = [f"{name}_{i}" for i in range(count)]
    columns = {
        column: pd.array((codes == i).astype(int).tolist(), dtype="int64")
        for i, column in enumerate(names)
    }
    columns = {column: pd.Series(cells).astype(dtype) for column, cells in columns.items()}
    change = draw(st.sampled_from([sl.Change.ANY, sl.Change.NEVER]))
    return sl.Categorical(name, onehot=names, change=change), columns


@st.composite
def tables(draw: st.DrawFn, *, loose: bool = False) -> Table:
    """Random schemas and valid rows, in a random order of columns."""
    size = draw(st.integers(1, 8))
    features, columns = [], {}
    for i in range(draw(st.integers(1, 5))):
        kind = draw(st.sampled_from(["numeric", "numeric", "levelled", "levelled", "onehot"]))
        if kind == "onehot":
            feature, group = draw(onehot(f"group{i}", size))
            columns |= group
        else:
            draws = (
                numeric(f"n{i}", size, loose=loose)
                if kind == "numeric"
                else levelled(f"l{i}", size)
            )
            feature, columns[f"{kind[0]}{i}"] = draw(draws)
        features.append(feature)
    order = draw(st.permutations(list(columns)))
    return Table(sl.Schema(features), pd.DataFrame({name: columns[name] for name in order}))


def small() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job": ["smith", "clerk", "cook", "clerk"],
            "income": [10.0, 20.0, 20.0, 50.0],
            "sex": ["f", "m", "f", "f"],
            "education": ["school", "none", "master", "school"],
        }
    )


def small_schema() -> sl.Schema:
    return sl.Schema(
        [
            sl.Numeric("income"),
            sl.Ordinal("education", levels=["none", "school", "bachelor", "master"]),
            sl.Categorical("job"),
            sl.Categorical("sex", change="never"),
        ]
    )


def same(one: pd.DataFrame, other: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other, check_exact=True)


# ---- the inverse ------------------------------------------------------------------------------


@given(table=tables())
@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
def test_decoding_undoes_encoding_exactly_dtypes_and_column_order_included(table: Table):
    space = sl.Space.fit(table.schema, table.frame)
    same(table.frame, space.decode(space.encode(table.frame)))


@given(table=tables(), polars=st.booleans())
@settings(suppress_health_check=[HealthCheck.too_slow])
def test_decoding_undoes_encoding_in_polars_and_pyarrow(table: Table, polars: bool):
    mixed = [
        f.name for f in table.schema.features if getattr(f, "levels", None) and "x" in f.levels
    ]
    frame = table.frame.astype(dict.fromkeys(mixed, "str"))
    arrow = pa.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata()
    schema = sl.Schema(
        type(f)(f.name, levels=[str(v) for v in f.levels], change=f.change)
        if f.name in mixed
        else f
        for f in table.schema.features
    )
    native = pl.from_arrow(arrow) if polars else arrow
    space = sl.Space.fit(schema, native)
    decoded = space.decode(space.encode(native))
    assert type(decoded) is type(native)
    assert decoded.schema == native.schema
    assert decoded.rows() == native.rows() if polars else decoded.to_pylist() == native.to_pylist()


@given(
    column=st.lists(st.floats(-1e15, 1e15, allow_subnormal=False), min_size=2, max_size=8).filter(
        lambda c: min(c) < max(c) and np.std(c) > 0
    )
)
def test_any_number_at_all_comes_back_within_rounding(column: list[float]):
    frame = pd.DataFrame({"x": column})
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), frame)
    decoded = space.decode(space.encode(frame))["x"].to_numpy()
    size = np.maximum(np.abs(column), np.abs(space.center[0]))
    assert (np.abs(decoded - column) <= 16 * np.finfo(float).eps * size).all()


def test_numbers_in_the_thousands_of_millions_keep_their_cents():
    frame = pd.DataFrame({"x": [1e9 + 0.01, 1e9 + 0.02, 0.1, 0.07]})
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), frame)
    same(frame, space.decode(space.encode(frame)))


def test_very_large_numbers_raise_no_warning():
    frame = pd.DataFrame({"x": [1e100, 2e100, 5.0]})
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), frame)
    decoded = space.decode(space.encode(frame))["x"]
    assert decoded.tolist()[:2] == pytest.approx([1e100, 2e100], rel=1e-14)


def test_decoding_keeps_fractions_and_an_integer_column_becomes_a_float_one():
    frame = pd.DataFrame({"n": [1, 2, 3], "e": ["a", "b", "a"]})
    schema = sl.Schema([sl.Numeric("n", integer=True), sl.Ordinal("e", levels=["a", "b"])])
    space = sl.Space.fit(schema, frame)
    decoded = space.decode((np.array([[2.25, 0.7]]) - space.center) / space.scale)
    assert decoded["n"].tolist() == [2.25]
    assert decoded["e"].tolist() == ["b"]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "Int16", "int8[pyarrow]"])
def test_a_number_its_column_cannot_hold_is_not_wrapped_around(dtype):
    frame = pd.DataFrame({"n": pd.array([1, 2, 100], dtype=dtype)})
    space = sl.Space.fit(sl.Schema([sl.Numeric("n", integer=True)]), frame)
    wanted = np.array([[70_000.0], [-5.0]])
    decoded = space.decode((wanted - space.center) / space.scale)
    assert decoded["n"].tolist() == [70_000, -5]


def test_a_decimal_column_does_not_round_a_number_behind_our_back():
    frame = pd.DataFrame(
        {
            "n": pd.array(
                [Decimal("1.50"), Decimal("2.25")], dtype=pd.ArrowDtype(pa.decimal128(9, 2))
            )
        }
    )
    space = sl.Space.fit(sl.Schema([sl.Numeric("n")]), frame)
    same(frame, space.decode(space.encode(frame)))
    between = space.to_frame(np.array([[1.507]]))
    assert between["n"].tolist() == [1.507]


def test_points_of_the_wrong_shape_are_refused_with_the_right_one():
    space = sl.Space.fit(small_schema(), small())
    with pytest.raises(ParameterError, match=r"shape \(n, 6\), got \(2, 5\)"):
        space.decode(np.zeros((2, 5)))


# ---- the geometry -----------------------------------------------------------------------------


def test_numbers_are_standardised_by_mean_and_population_deviation():
    space = sl.Space.fit(small_schema(), small())
    assert space.center[0] == 25.0
    assert space.scale[0] == pytest.approx(np.sqrt(225))  # of 10, 20, 20, 50 about 25, over 4
    assert space.encode(small())[:, 0] == pytest.approx([-1.0, -1 / 3, -1 / 3, 5 / 3])


def test_ordinals_are_their_rank_from_nought_standardised():
    space = sl.Space.fit(small_schema(), small())
    ranks = np.array([1.0, 0.0, 3.0, 1.0])
    expected = (ranks - ranks.mean()) / ranks.std()
    assert space.encode(small())[:, 1] == pytest.approx(expected)


def test_a_category_is_one_column_a_level_and_a_two_level_one_is_a_single_column():
    space = sl.Space.fit(small_schema(), small())
    points = space.encode(small())
    assert space.column_names == (
        "income",
        "education",
        "job=clerk",
        "job=cook",
        "job=smith",
        "sex=m",
    )
    assert space.slices == {
        "income": slice(0, 1),
        "education": slice(1, 2),
        "job": slice(2, 5),
        "sex": slice(5, 6),
    }
    assert points[:, 2:5].tolist() == [[0, 0, 1], [1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert points[:, 5].tolist() == [0, 1, 0, 0]


def test_columns_follow_the_schema_and_frames_follow_the_frame():
    space = sl.Space.fit(small_schema(), small())
    shuffled = small()[["education", "sex", "income", "job"]]
    assert (space.encode(shuffled) == space.encode(small())).all()
    assert list(space.decode(space.encode(shuffled)).columns) == list(small().columns)


def test_what_can_change_is_known_by_column():
    space = sl.Space.fit(small_schema(), small())
    assert space.changeable.tolist() == [True] * 5 + [False]


def test_missing_values_are_left_out_of_the_statistics():
    frame = pd.DataFrame({"x": [1.0, np.nan, 3.0], "c": ["a", "b", None]})
    space = sl.Space.fit(sl.Schema([sl.Numeric("x"), sl.Categorical("c")]), frame)
    assert (space.center[0], space.scale[0]) == (2.0, 1.0)
    assert space.schema["c"].levels == ("a", "b")


def test_a_constant_that_never_changes_is_centred_and_not_scaled():
    frame = pd.DataFrame({"x": [7.0, 7.0], "y": [1.0, 2.0]})
    space = sl.Space.fit(sl.Schema([sl.Numeric("x", change="never"), sl.Numeric("y")]), frame)
    assert (space.center[0], space.scale[0]) == (7.0, 1.0)


def test_a_space_is_frozen_and_leaves_the_frame_alone():
    frame, before = small(), small()
    space = sl.Space.fit(small_schema(), frame)
    space.encode(frame)
    same(frame, before)
    with pytest.raises(FrozenInstanceError):
        space.center = np.zeros(6)


@pytest.mark.parametrize("dtype", ["bool", "int64", "float32", "boolean", "bool[pyarrow]", "Int8"])
def test_columns_encoded_before_us_are_one_category(dtype):
    frame = pd.DataFrame({"a": [1, 0, 0], "x": [1.0, 2.0, 3.0], "b": [0, 1, 0], "c": [0, 0, 1]})
    frame = frame.astype({"a": dtype, "b": dtype, "c": dtype})
    schema = sl.Schema([sl.Categorical("job", onehot=["a", "b", "c"]), sl.Numeric("x")])
    space = sl.Space.fit(schema, frame)
    assert space.encode(frame)[:, :3].tolist() == np.eye(3).tolist()
    same(frame, space.decode(space.encode(frame)))


def test_what_is_wrong_with_single_rows_is_said_of_each_and_the_rest_is_read():
    frame = pd.DataFrame(
        {"x": [1.0, np.inf, 3.0, np.nan], "c": ["k", "l", "q", None], "a": [1, 0, 1, 0]}
    ).assign(b=[0, 1, 1, 0])
    schema = sl.Schema(
        [
            sl.Numeric("x"),
            sl.Categorical("c", levels=["k", "l"]),
            sl.Categorical("kind", onehot=["a", "b"]),
        ]
    )
    space = sl.Space.fit(schema, frame.iloc[[0, 0, 1]].assign(x=[1.0, 2.0, 3.0]))
    values, faults = space.read_each(frame)
    np.testing.assert_array_equal(
        values, [[1, 0, 0], [np.nan, 1, 1], [3, np.nan, np.nan], [np.nan, np.nan, np.nan]]
    )
    group = "The columns of 'kind' ('a', 'b') must hold a single 1 and zeros elsewhere; this row "
    assert faults == {
        1: "'x' is infinite. Replace it with a number or a gap.",
        2: "'q' isn't a level of 'c'. Known levels: 'k', 'l'. Correct the value, or add the level "
        f"to the schema. {group}holds [1.0, 1.0].",
        3: f"{group}holds [0.0, 0.0].",
    }
    with pytest.raises(DtypeError, match="holds list values, not levels"):
        space.read_each(frame.assign(c=["k", "q", ["l"], None]))


def test_levels_that_the_frame_lacks_still_have_their_column():
    schema = sl.Schema([sl.Categorical("job", levels=["cook", "clerk", "pilot", "smith"])])
    frame = small()[["job"]].astype("category")
    space = sl.Space.fit(schema, frame)
    decoded = space.decode(np.eye(4))
    assert decoded["job"].tolist() == ["cook", "clerk", "pilot", "smith"]
    assert isinstance(decoded["job"].dtype, pd.CategoricalDtype)


# ---- the geometry that a schema declares ------------------------------------------------------


def declared_schema() -> sl.Schema:
    return sl.Schema(
        [
            sl.Numeric("income", bounds=(0, None), typical=(10, 50)),
            sl.Ordinal("education", levels=["none", "school", "bachelor", "master"]),
            sl.Categorical("job", levels=["clerk", "cook", "smith"]),
            sl.Categorical("sex", levels=["f", "m"], change="never"),
        ]
    )


def alone(feature: Any, frame: Any = None) -> sl.Space:
    frame = pd.DataFrame({feature.name: [1.0]}) if frame is None else frame
    return sl.Space.from_schema(sl.Schema([feature]), frame)


def test_a_declared_geometry_is_the_middle_and_a_quarter_of_each_span():
    space = sl.Space.from_schema(declared_schema(), small())
    assert space.center.tolist() == [30.0, 1.5, 0, 0, 0, 0]
    assert space.scale.tolist() == [10.0, 0.75, 1, 1, 1, 1]
    assert space.encode(small())[:, 0].tolist() == [-2.0, -1.0, -1.0, 2.0]
    assert space.slices == sl.Space.fit(declared_schema(), small()).slices


def test_a_geometry_is_public_only_if_it_was_declared():
    assert sl.Space.from_schema(declared_schema(), small()).public
    fitted = sl.Space.fit(declared_schema(), small())
    assert not fitted.public
    again = sl.Space(fitted.schema, fitted.template, fitted.center, fitted.scale)
    assert not again.public


@pytest.mark.parametrize("make", [sl.Space.fit, sl.Space.from_schema])
def test_of_a_frame_a_space_keeps_columns_and_dtypes_alone(make):
    frame = small().set_axis(list("wxyz")).rename_axis("who").rename_axis(columns="what")
    frame.attrs = {"source": "a file"}
    empty = make(declared_schema(), frame).template.empty
    assert (empty.index.name, empty.columns.name, empty.attrs) == (None, None, {})
    assert isinstance(empty.index, pd.RangeIndex)
    pd.testing.assert_series_equal(empty.dtypes, small().dtypes)
    table = pa.Table.from_pandas(frame).select(declared_schema().columns)
    empty = make(declared_schema(), table).template.empty
    assert empty.schema.metadata is None
    assert all(field.metadata is None for field in empty.schema)
    assert empty.schema.types == table.schema.types


@pytest.mark.parametrize(
    ("levels", "column", "listed"),
    [
        (["a", "b"], pd.Categorical(["b"], ["z", "b"], ordered=True), ["a", "b"]),
        ([1, 2, 3], pd.Categorical([2], [7, 2]), [1, 2, 3]),
        ([1, 2, "none"], pd.Categorical([2], [7, 2]), [1, 2, "none"]),
        ([False, True], pd.Categorical([True], [True, False]), [False, True]),
    ],
)
def test_a_declared_category_dtype_lists_the_schemas_levels(levels, column, listed):
    frame = pd.DataFrame({"job": column})
    space = alone(sl.Categorical("job", levels=levels), frame)
    decoded = space.decode(space.encode(frame))
    assert decoded["job"].dtype.categories.tolist() == listed
    assert decoded["job"].dtype.ordered == column.ordered
    assert decoded["job"].tolist() == list(column)


def test_a_column_of_gaps_lists_no_level_of_its_dtype():
    gaps = pd.DataFrame({"x": pd.Categorical([None], ["z"])})
    space = alone(sl.Numeric("x", change="never"), gaps)
    assert space.template.listed == {"x": []}
    assert np.isnan(space.read(gaps, allow_missing=True)).all()
    assert space.to_frame(np.array([[1.5]]))["x"].tolist() == [1.5]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_declared_geometry_is_the_same_whatever_the_rows_hold_or_whether_there_are_any(kind):
    frame = small()
    odd = frame.assign(income=[np.inf, np.nan, 1e300, -5.0], job="pilot", education="?", sex=None)
    odd = odd.astype(frame.dtypes)
    expected = sl.Space.from_schema(declared_schema(), kind(frame))
    for other in (kind(odd), kind(frame.head(0))):
        space = sl.Space.from_schema(declared_schema(), other)
        assert space.schema == expected.schema
        assert space.center.tolist() == expected.center.tolist()
        assert space.scale.tolist() == expected.scale.tolist()
        assert space.template.dtypes == expected.template.dtypes
        points = space.encode(kind(frame))
        decoded = space.decode(points)
        assert type(decoded) is type(kind(frame))
        assert (space.encode(decoded) == points).all()


def test_bounds_declare_a_scale_where_nothing_is_typical():
    space = alone(sl.Numeric("x", bounds=(0, 8)))
    assert (space.center[0], space.scale[0]) == (4.0, 2.0)


def test_what_is_typical_is_cut_to_the_bounds_before_it_is_a_scale():
    space = alone(sl.Numeric("x", bounds=(0, 8), typical=(4, 100)))
    assert (space.center[0], space.scale[0]) == (6.0, 1.0)


@pytest.mark.parametrize(
    ("feature", "center", "scale"),
    [
        (sl.Numeric("x", change="never"), 0.0, 1.0),
        (sl.Numeric("x", change="never", bounds=(0, None)), 0.0, 1.0),
        (sl.Numeric("x", change="never", bounds=(0, 8)), 4.0, 2.0),
        (sl.Numeric("x", bounds=(3, 3)), 3.0, 1.0),
        (sl.Ordinal("x", levels=[1]), 0.0, 1.0),
        (sl.Ordinal("x", levels=[1, 2], change="never"), 0.5, 0.25),
        (sl.Numeric("x", typical=(-1.6e308, 1.6e308)), 0.0, 8e307),
        (sl.Numeric("x", typical=(0, 5e-324)), 0.0, 1.0),
    ],
    ids=repr,
)
def test_every_declared_scale_is_finite_and_above_nought(feature, center, scale):
    space = alone(feature)
    assert (space.center[0], space.scale[0]) == (center, scale)


def test_every_number_without_a_scale_is_named_with_the_reason_and_the_way_out():
    names = [f"n{i}" for i in range(8)]
    schema = sl.Schema(
        [
            *(sl.Numeric(name, bounds=(0, None), change="increase") for name in names),
            sl.Numeric("fine", typical=(0, 1)),
            sl.Numeric("fixed", change="never"),
        ]
    )
    with pytest.raises(SchemaError) as caught:
        sl.Space.from_schema(schema, pd.DataFrame(columns=schema.columns))
    assert str(caught.value) == (
        "No scale is declared for 'n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7', and one learned "
        "from the table would tell about the people in it. Give each bounds, or a typical range, "
        "in the schema: [low, high]."
    )


@pytest.mark.parametrize("change", ["any", "never"])
def test_a_category_without_levels_is_named_with_the_reason_and_the_way_out(change):
    with pytest.raises(SchemaError) as caught:
        alone(sl.Categorical("job", change=change), small()[["job"]])
    assert str(caught.value) == (
        "No levels are declared for 'job', and those learned from the table would tell about the "
        "people in it. Give each its levels in the schema."
    )


def test_everything_that_is_undeclared_is_said_at_once():
    with pytest.raises(SchemaError, match=r"'income', and one .* 'job', 'sex', and those"):
        sl.Space.from_schema(small_schema(), small())


def test_one_hot_columns_declare_their_levels():
    frame = pd.DataFrame({"a": [1, 0], "b": [0, 1], "c": [0, 0]})
    space = alone(sl.Categorical("job", onehot=["a", "b", "c"]), frame)
    assert space.encode(frame).tolist() == [[1, 0, 0], [0, 1, 0]]


def test_a_declared_geometry_wants_the_columns_of_its_schema():
    with pytest.raises(ColumnError, match=r"no column 'income'.*Did you mean 'Income'"):
        sl.Space.from_schema(declared_schema(), small().rename(columns={"income": "Income"}))


@given(
    value=st.floats(-1e5, 1e5),
    low=st.floats(-10, 10),
    length=st.floats(0.5, 20),
)
def test_someone_far_from_what_is_typical_who_stays_keeps_the_very_value(value, low, length):
    frame = pd.DataFrame({"x": [value]})
    space = alone(sl.Numeric("x", typical=(low, low + length)))
    feasible = sl.Feasible.of(space, frame)
    assert feasible.snap(space.encode(frame)).tolist() == [[value]]


# ---- frames of every kind ---------------------------------------------------------------------


def test_pandas_dtypes_survive():
    frame = pd.DataFrame(
        {
            "half": np.array([0.5, 1.5, 2.5], dtype=np.float16),
            "single": np.array([0.1, 0.2, 0.7], dtype=np.float32),
            "nullable": pd.array([1, 2, 9], dtype="Int64"),
            "arrow": pd.array([1, 2, 9], dtype="int64[pyarrow]"),
            "small": np.array([1, 2, 250], dtype=np.uint8),
            "objects": pd.Series(["a", "b", "a"], dtype=object),
            "text": pd.Series(["a", "b", "a"], dtype="string"),
            "arrow_text": pd.Series(["a", "b", "a"], dtype=pd.ArrowDtype(pa.string())),
            "ordered": pd.Categorical(["a", "b", "a"], categories=["b", "a", "z"], ordered=True),
            "flag": pd.array([True, False, True], dtype="boolean"),
            "arrow_flag": pd.array([True, False, True], dtype="bool[pyarrow]"),
        }
    )
    space = sl.Space.fit(sl.Schema.infer(frame), frame)
    same(frame, space.decode(space.encode(frame)))


def test_polars_dtypes_survive():
    frame = pl.DataFrame(
        {
            "single": pl.Series([0.1, 0.2, 0.7], dtype=pl.Float32),
            "small": pl.Series([1, 2, 250], dtype=pl.UInt8),
            "text": ["a", "b", "a"],
            "enum": pl.Series(["a", "b", "a"], dtype=pl.Enum(["b", "a", "z"])),
            "category": pl.Series(["a", "b", "a"], dtype=pl.Categorical),
            "flag": [True, False, True],
            "money": pl.Series([Decimal("1.50"), Decimal("2.25"), Decimal("9.99")]),
        }
    )
    space = sl.Space.fit(sl.Schema.infer(frame), frame)
    decoded = space.decode(space.encode(frame))
    assert decoded.schema == frame.schema
    assert decoded.equals(frame)


def test_pyarrow_types_survive():
    table = pa.table(
        {
            "single": pa.array([0.1, 0.2, 0.7], pa.float32()),
            "small": pa.array([1, 2, 100], pa.int8()),
            "text": pa.array(["a", "b", "a"], pa.large_string()),
            "dictionary": pa.array(["a", "b", "a"]).dictionary_encode(),
            "flag": pa.array([True, False, True]),
            "money": pa.array([Decimal("1.50"), Decimal("2.25"), Decimal("9.99")]),
        }
    )
    space = sl.Space.fit(sl.Schema.infer(table), table)
    decoded = space.decode(space.encode(table))
    assert decoded.schema == table.schema
    assert decoded.to_pylist() == table.to_pylist()


def test_a_frame_of_another_kind_gets_the_same_points():
    space = sl.Space.fit(small_schema(), small())
    expected = space.encode(small())
    assert (space.encode(pl.from_pandas(small())) == expected).all()
    assert (space.encode(pa.Table.from_pandas(small())) == expected).all()


@pytest.mark.parametrize(
    "person",
    [
        pd.DataFrame({"income": [1.0], "job": [np.nan]}),
        pd.DataFrame({"income": [None], "job": ["cook"]}),
        pd.DataFrame({"income": pd.Series([None], dtype="Int64"), "job": [None]}),
        pl.DataFrame({"income": [None], "job": ["cook"]}),
        pl.DataFrame({"income": [1.0], "job": [None]}),
        pa.table({"income": [None], "job": ["cook"]}),
        pa.table({"income": [1.0], "job": pa.nulls(1)}),
    ],
    ids=lambda p: type(p).__module__.split(".")[0],
)
def test_a_column_with_nothing_but_gaps_is_read_and_shown_as_it_came(person):
    schema = sl.Schema([sl.Numeric("income"), sl.Categorical("job")])
    space = sl.Space.fit(schema, small()[["income", "job"]])
    values = space.read(person, allow_missing=True)
    shown = space.to_frame(values, Template.of(person))
    if isinstance(person, pd.DataFrame):
        same(person, shown)
    else:
        assert shown.equals(person)


@pytest.mark.parametrize("short", [pl.Enum(["cook"]), pl.Categorical, pl.String])
def test_a_person_whose_dtype_knows_one_level_can_be_shown_another(short):
    space = sl.Space.fit(sl.Schema([sl.Categorical("job")]), small()[["job"]])
    person = pl.DataFrame({"job": pl.Series(["cook"], dtype=short)})
    shown = space.to_frame(np.array([[1.0], [2.0]]), Template.of(person))
    assert shown["job"].to_list() == ["cook", "smith"]


# ---- frames that don't fit --------------------------------------------------------------------


def refused(frame: Any, kind: type[Exception], *said: str, schema: sl.Schema | None = None) -> None:
    space = sl.Space.fit(schema or small_schema(), small())
    with pytest.raises(kind) as caught:
        space.encode(frame)
    for words in said:
        assert words in str(caught.value)


def test_a_missing_column_is_named_with_the_one_that_looks_like_it():
    refused(
        small().rename(columns={"income": "Income"}),
        ColumnError,
        "no column 'income'",
        "Did you mean 'Income'?",
    )


@pytest.mark.parametrize("kind", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_an_extra_column_is_set_aside(kind):
    more = small()
    more.insert(0, "note", [1, 2, 3, 4])
    space = sl.Space.fit(small_schema(), kind(small()))
    assert sl.Space.fit(small_schema(), kind(more)).template.columns == space.template.columns
    np.testing.assert_array_equal(space.encode(kind(more)), space.encode(kind(small())))
    assert Template.of(space.own(kind(more))).columns == tuple(small())


def test_a_declared_space_keeps_nothing_of_an_extra_column():
    schema = sl.Schema([sl.Numeric("income", typical=(0, 60))])
    secret = pd.Categorical(["HIV", "none", "HIV", "none"])
    frame = small()[["income"]].assign(diagnosis=secret)
    assert sl.Space.from_schema(schema, frame).template.columns == ("income",)


def test_a_column_with_a_slip_beside_extra_ones_is_answered_with_the_nearest():
    refused(
        small().rename(columns={"income": "incom"}).assign(note=1),
        ColumnError,
        "no column 'income'",
        "Did you mean 'incom'?",
    )


def test_a_column_that_stands_twice_is_named():
    twice = small()
    twice = pd.concat([twice, twice[["income"]]], axis=1)
    refused(twice, ColumnError, "'income' appears more than once")
    arrow = pa.Table.from_pandas(small())
    refused(arrow.append_column("income", arrow["income"]), ColumnError, "more than once", "income")


def test_column_names_that_are_no_text_are_answered_with_a_way_out():
    refused(small().rename(columns={"income": 5}), ColumnError, "got 5 (int)", "columns=str")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["a", "b", "c", "d"], DtypeError),
        (pd.Series([1.0, "b", 2.0, 3.0], dtype=object), DtypeError),
        ([True, False, True, True], DtypeError),
        (pd.to_datetime(["2020-01-01"] * 4), DtypeError),
        ([1.0, np.inf, 2.0, 3.0], NotFiniteError),
        ([1.0, -np.inf, 2.0, 3.0], NotFiniteError),
        ([1.0, np.nan, 2.0, 3.0], MissingValueError),
    ],
    ids=["text", "objects", "flags", "dates", "inf", "-inf", "nan"],
)
def test_a_numeric_column_holds_finite_numbers(column, kind):
    refused(small().assign(income=column), kind, "'income'")


def test_a_number_too_long_for_a_float_is_refused_rather_than_changed():
    frame = small().assign(income=np.array([2**60 + 1, 1, 2, 3]))
    refused(frame, DtypeError, "'income'", str(2**60 + 1), "categorical")
    refused(frame.astype({"income": object}), DtypeError, str(2**60 + 1))
    space = sl.Space.fit(small_schema(), small())
    assert space.read(frame.assign(income=[2**60, 1, 2, 3]))[0, 0] == 2.0**60


def test_an_unknown_level_is_answered_with_the_nearest():
    refused(
        small().assign(education=["school", "none", "masters", "school"]),
        LevelError,
        "'masters' isn't a level of 'education'",
        "Did you mean 'master'?",
        "'bachelor'",
    )


def test_a_level_of_another_type_is_answered_with_the_right_one():
    schema = sl.Schema([sl.Ordinal("n", levels=[1, 2, 3])])
    space = sl.Space.fit(schema, pd.DataFrame({"n": [1, 2, 3]}))
    with pytest.raises(LevelError, match=r"'2' isn't a level of 'n'.*Did you mean 2\?"):
        space.encode(pd.DataFrame({"n": ["2"]}))


def test_whole_levels_are_found_in_a_float_column():
    schema = sl.Schema([sl.Ordinal("n", levels=[1, 2, 3])])
    space = sl.Space.fit(schema, pd.DataFrame({"n": [1, 2, 3]}))
    frame = pd.DataFrame({"n": [3.0, np.nan, 1.0]})
    values = space.read(frame, allow_missing=True)
    assert values[:, 0].tolist()[::2] == [2.0, 0.0]
    same(frame, space.to_frame(values, Template.of(frame)))


def test_lists_in_a_column_of_levels_are_answered_by_name():
    refused(small().assign(job=[["a"]] * 4), DtypeError, "'job' holds list values")


@pytest.mark.parametrize("rows", [[[1, 1]], [[0, 0]], [[2, -1]], [[0.5, 0.5]]])
def test_one_hot_columns_hold_a_single_one(rows):
    frame = pd.DataFrame([[1, 0], [0, 1]], columns=["a", "b"])
    space = sl.Space.fit(sl.Schema([sl.Categorical("job", onehot=["a", "b"])]), frame)
    with pytest.raises(LevelError, match=r"'job' \('a', 'b'\) must hold a single 1"):
        space.encode(pd.DataFrame(rows, columns=["a", "b"]))


def test_a_space_is_not_fitted_on_an_empty_frame():
    with pytest.raises(EmptyFrameError, match="has no rows"):
        sl.Space.fit(small_schema(), small().head(0))


@pytest.mark.parametrize(
    ("column", "shown"), [({"income": 3.5}, "(3.5)"), ({"education": "none"}, "(none)")]
)
def test_a_changeable_constant_is_refused_with_its_value_and_three_ways_out(column, shown):
    with pytest.raises(ConstantError) as caught:
        sl.Space.fit(small_schema(), small().assign(**column))
    for words in (next(iter(column)), shown, "all 4 rows", "never changes", "drop it"):
        assert words in str(caught.value)


def test_a_column_of_gaps_is_refused_by_name():
    for column in ("income", "job"):
        with pytest.raises(MissingValueError, match=f"'{column}' holds no value at all"):
            sl.Space.fit(small_schema(), small().assign(**{column: None}))


def test_numbers_too_large_to_be_squared_are_refused():
    with pytest.raises(NotFiniteError, match=r"'income' holds 2e\+300, too large"):
        sl.Space.fit(small_schema(), small().assign(income=[1e300, 2e300, 3.0, 4.0]))


def test_whole_numbers_are_shown_whole_whatever_they_are_multiples_of():
    schema = sl.Schema(
        [
            sl.Numeric("income", integer=True, multiple=50),
            sl.Numeric("rate", multiple=0.5),
            sl.Derived("double", "2 * income", integer=True),
        ]
    )
    frame = pd.DataFrame({"income": [120, 150], "rate": [1.0, 2.5], "double": [240, 300]})
    space = sl.Space.fit(schema, frame)
    shown = [space.shown(f, value) for f, value in enumerate(space.read(frame)[0])]
    assert shown == [120, 1.0, 240]
    assert [type(value) for value in shown] == [int, float, int]
