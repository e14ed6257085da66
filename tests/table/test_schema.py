"""The schema, guessing it from a frame, and its YAML file."""

from __future__ import annotations

import datetime as dt
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepladder as sl
from stepladder.errors import ColumnError, DtypeError, MissingValueError, SchemaError

LADDER = ["none", "school", "bachelor", "master"]


def small() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "income": [1.5, 2.5, 3.5],
            "age": [30, 40, 50],
            "education": ["school", "none", "master"],
            "job": ["clerk", "smith", "clerk"],
            "owner": [True, False, True],
        }
    )


# ---- the schema as a value --------------------------------------------------------------------


def test_an_unknown_feature_is_answered_with_the_nearest():
    with pytest.raises(SchemaError, match=r"no feature 'incme'. Did you mean 'income'\?"):
        sl.Schema([sl.Numeric("income"), sl.Numeric("age")])["incme"]


@pytest.mark.parametrize(
    "features",
    [
        [sl.Numeric("a"), sl.Categorical("a")],
        [sl.Numeric("a"), sl.Categorical("b", onehot=["a", "c"])],
    ],
)
def test_a_name_or_column_that_stands_twice_is_refused(features):
    with pytest.raises(SchemaError, match="'a' more than once"):
        sl.Schema(features)


def test_a_schema_is_made_of_features_and_of_at_least_one():
    with pytest.raises(SchemaError, match="at least one feature"):
        sl.Schema([])
    with pytest.raises(SchemaError, match=r"got 'income' \(str\)"):
        sl.Schema(["income"])


def test_features_and_schemas_are_frozen():
    schema = sl.Schema([sl.Numeric("a")])
    with pytest.raises(AttributeError):
        schema.features = ()
    with pytest.raises(AttributeError):
        schema["a"].change = "never"


def test_equal_schemas_have_equal_hashes_and_others_differ():
    one, same = (sl.Schema([sl.Ordinal("a", levels=LADDER)]) for _ in range(2))
    other = sl.Schema([sl.Ordinal("a", levels=LADDER[::-1])])
    assert one == same
    assert len({one, same, other}) == 2


def test_the_repr_of_a_schema_is_python_that_makes_it():
    schema = sl.Schema(
        [
            sl.Numeric("a", bounds=(0, None), decimals=2, typical=(1, 5), unit="$", times=0.5),
            sl.Ordinal("b", levels=[1, 2], change="increase", rise="learn more"),
            sl.Categorical("c", onehot=["c_x", "c_y"], change="never", label="it's “c”"),
            sl.Derived("d", "where(c == 'c_x', a, \"c_y\" != c)", decimals=1),
        ],
        require=["a <= d", "c != 'c_x'"],
    )
    assert eval(repr(schema), vars(sl).copy()) == schema
    plain = sl.Schema([sl.Numeric("a")])
    assert repr(plain) == "Schema([\n    Numeric('a'),\n])"


# ---- requirements -----------------------------------------------------------------------------

HOUSE = [sl.Numeric("loan"), sl.Numeric("price", change="never"), sl.Categorical("job")]


def test_requirements_are_part_of_what_a_schema_is():
    schema = sl.Schema(HOUSE, require=["loan <= price", "loan >= 0"])
    assert schema.require == ("loan <= price", "loan >= 0")
    assert schema == sl.Schema(HOUSE, schema.require) == pickle.loads(pickle.dumps(schema))
    assert schema.rules.require == schema.with_levels({"job": ["a"]}).require == schema.require
    other = sl.Schema(HOUSE)
    assert other.require == ()
    assert other != schema
    assert schema.differs_in(other) == other.differs_in(schema) == "require"
    assert schema.differs_in(schema.with_levels({"job": ["a", "b"]})) is None
    assert "require" not in other.to_dict()


@pytest.mark.parametrize(
    ("require", "said", "at"),
    [
        ("loan <= price", r"^require must be a list of texts: require=\['loan <= price'\]\.$", ()),
        (5, "^require must be a list of texts such as 'loan <= price', got 5", ()),
        ({"loan": 5}, "^require must be a list of texts such as", ()),
        (["loan > 0", 5], "^A requirement must be text such as 'loan <= price', got 5", (1,)),
        (["loan <="], "^The requirement, at character", (0,)),
        ([""], "^The requirement is empty", (0,)),
        (["loan > 0", "lone <= price"], r"^The requirement.* 'lone'\. Did you mean 'loan'", (1,)),
        (["loan + price"], r"^The requirement 'loan \+ price' gives a number, not yes or no", (0,)),
        (["'a'"], "reads no feature that a plan could change", (0,)),
        (["was(loan) <= 5"], r"^The requirement 'was\(loan\) <= 5' reads no feature that a", (0,)),
        (["job == 'x' and lone"], "names 'lone', which is no feature of the schema", (0,)),
    ],
)
def test_a_requirement_that_says_nothing_is_refused(require, said, at):
    with pytest.raises(SchemaError, match=said) as caught:
        sl.Schema(HOUSE, require)
    assert caught.value.at == ("require", *at)


def test_a_requirement_on_levels_to_be_learned_is_checked_then():
    schema = sl.Schema(HOUSE, require=["job == 'smiht'"])
    with pytest.raises(SchemaError, match=r"^The requirement.*Did you mean 'smith'"):
        schema.with_levels({"job": ["clerk", "smith"]})
    with pytest.raises(SchemaError, match=r"^The requirement 'job' gives text, not yes or no"):
        sl.Schema(HOUSE, require=["job"]).with_levels({"job": ["clerk", "smith"]})


def test_learned_levels_keep_every_other_setting():
    job = sl.Categorical(
        "job", not_to=["clerk"], moves={"smith": ["nurse"]}, months=3, label="work"
    )
    schema = sl.Schema([job, sl.Numeric("pay")])
    learned = schema.with_levels({"job": ["clerk", "nurse", "smith"]})
    assert learned["job"] == job.but(levels=["clerk", "nurse", "smith"])
    assert schema.differs_in(learned) is None
    assert sl.Schema([job.but(months=4), sl.Numeric("pay")]).differs_in(learned) == "job"
    with pytest.raises(SchemaError, match="not_to names 'clerk', which is none of its levels"):
        schema.with_levels({"job": ["nurse", "smith"]})


def test_only_what_has_levels_is_among_the_levels():
    grade = sl.Derived("grade", "where(loan > 9, 'high', 'low')", levels=["low", "high"])
    schema = sl.Schema([*HOUSE, sl.Derived("ltv", "loan / price"), grade])
    assert schema.levels == {"job": (), "grade": ("low", "high")}


# ---- the same rules in other words ------------------------------------------------------------

PLAIN = sl.Schema([sl.Numeric("pay", bounds=(0, None)), sl.Categorical("job", levels=["a", "b"])])
SPOKEN = sl.Schema(
    [
        sl.Numeric("pay", bounds=(0, None), label="salary", unit="$", rise="earn more"),
        sl.Categorical("job", levels=["a", "b"], label="line of work"),
    ]
)


def test_schemas_that_differ_in_words_only_have_the_same_rules():
    assert SPOKEN != PLAIN
    assert SPOKEN.rules == PLAIN.rules == PLAIN
    assert SPOKEN.differs_in(PLAIN) is None
    assert PLAIN.differs_in(SPOKEN) is None


def test_a_rule_that_differs_is_found_whatever_the_words():
    other = sl.Schema([sl.Numeric("pay", label="salary"), *SPOKEN.features[1:]])
    assert other.rules != SPOKEN.rules
    assert other.differs_in(SPOKEN) == "pay"


def test_words_have_no_part_in_the_geometry():
    frame = pd.DataFrame({"pay": [1.0, 2.0, 4.0], "job": ["a", "b", "a"]})
    one, other = (sl.Space.fit(schema, frame).encode(frame) for schema in (PLAIN, SPOKEN))
    assert (one == other).all()


# ---- guessing ---------------------------------------------------------------------------------


def test_guessing_goes_by_dtype_and_prints_nothing(capsys):
    schema = sl.Schema.infer(small())
    assert capsys.readouterr() == ("", "")
    assert schema == sl.Schema(
        [
            sl.Numeric("income", decimals=1),
            sl.Numeric("age", integer=True),
            sl.Categorical("education", levels=["master", "none", "school"]),
            sl.Categorical("job", levels=["clerk", "smith"]),
            sl.Categorical("owner", levels=[False, True]),
        ]
    )


def test_what_the_caller_knows_goes_before_the_guess():
    schema = sl.Schema.infer(
        small(),
        never=["age", "owner"],
        increase=["education"],
        decrease=["income"],
        ordinal={"education": LADDER},
        bounds={"income": (0, 10), "age": (18, None)},
        integer=["income"],
    )
    assert schema == sl.Schema(
        [
            sl.Numeric("income", change="decrease", bounds=(0, 10), integer=True),
            sl.Numeric("age", change="never", bounds=(18, None), integer=True),
            sl.Ordinal("education", levels=LADDER, change="increase"),
            sl.Categorical("job", levels=["clerk", "smith"]),
            sl.Categorical("owner", levels=[False, True], change="never"),
        ]
    )


def test_what_is_typical_is_never_guessed_from_a_table():
    schema = sl.Schema.infer(small(), bounds={"income": (0, 10)})
    assert [getattr(feature, "typical", None) for feature in schema.features] == [None] * 5


@pytest.mark.parametrize(
    "column",
    [
        np.array([0.0, 1.0, 0.0]),
        np.array([0.0, 1.0, 0.0], dtype=np.float32),
        np.array([0.0, 1.0, 0.0], dtype=np.float16),
        pd.array([0.0, None, 1.0], dtype="Float64"),
        pd.array([0.0, None, 1.0], dtype="double[pyarrow]"),
        pd.Series([0.0, 1.0, None], dtype=object),
        pd.Series([np.float32(0.5), np.float64(1), np.nan], dtype=object),
        pd.Series([Decimal("0.5"), Decimal(1), None], dtype=object),
    ],
    ids=lambda c: str(c.dtype),
)
def test_an_undeclared_float_is_never_a_category_however_few_values_it_has(column):
    feature = sl.Schema.infer(pd.DataFrame({"x": column}))["x"]
    assert isinstance(feature, sl.Numeric)
    assert not feature.integer


@pytest.mark.parametrize(
    ("column", "decimals"),
    [
        ([1.0, 2.0, np.nan], 0),
        ([1.5, 2.0], 1),
        ([1.25, 2.5, np.inf], 2),
        ([0.0001, 3.0], 4),
        ([0.00001, 3.0], None),
        ([1 / 3, 2.0], None),
        ([np.nan, np.nan], None),
        ([], None),
        (pd.array([1, None], dtype="Int64"), None),  # whole numbers are said to be such
        (pd.Series([Decimal("0.25"), Decimal(1), None], dtype=object), 2),
    ],
    ids=str,
)
def test_few_decimals_are_guessed_and_many_left_open(column, decimals):
    feature = sl.Schema.infer(pd.DataFrame({"x": column}, dtype=getattr(column, "dtype", float)))
    assert feature["x"].decimals == decimals


def test_bounds_may_have_more_decimals_than_the_column():
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    assert sl.Schema.infer(frame, bounds={"x": (0.25, None)})["x"].decimals == 2
    assert sl.Schema.infer(frame, bounds={"x": (1 / 3, 2)})["x"].decimals is None


@pytest.mark.parametrize(
    "column",
    [
        np.array([0, 1, 0], dtype=np.uint8),
        pd.array([0, None, 1], dtype="Int64"),
        pd.array([0, None, 1], dtype="int64[pyarrow]"),
        pd.Series([1, np.int32(2), None], dtype=object),
    ],
    ids=lambda c: str(c.dtype),
)
def test_whole_number_columns_stay_whole(column):
    schema = sl.Schema.infer(pd.DataFrame({"x": column}))
    assert schema["x"] == sl.Numeric("x", integer=True)


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Series(["b", None, "a"], dtype=object), ("a", "b")),
        (pd.Series(["b", None, "a"], dtype="string"), ("a", "b")),
        (pd.Series(["b", None, "a"], dtype="category"), ("a", "b")),
        (pd.Series([2, 1, 1], dtype="category"), (1, 2)),
        (pd.Series(["b", None, "a"], dtype=pd.ArrowDtype(pa.string())), ("a", "b")),
        (pd.Series([True, None, False], dtype="boolean"), (False, True)),
        (pd.Series([True, None, False], dtype="bool[pyarrow]"), (False, True)),
        (pd.Series([True, None, np.bool_(False)], dtype=object), (False, True)),
        (pd.Series(["b", True, None], dtype=object), (True, "b")),
    ],
    ids=str,
)
def test_text_categories_and_booleans_are_categorical_with_the_levels_seen(column, levels):
    assert sl.Schema.infer(pd.DataFrame({"x": column}))["x"].levels == levels


def test_polars_and_pyarrow_frames_are_guessed_as_pandas_ones():
    expected = sl.Schema.infer(small())
    assert sl.Schema.infer(pl.from_pandas(small())) == expected
    assert sl.Schema.infer(pa.Table.from_pandas(small())) == expected


def test_categories_without_an_order_have_the_levels_seen():
    dictionary = pa.table({"x": pa.array(["b", "a"]).dictionary_encode()})
    category = pl.DataFrame({"x": pl.Series(["b", "a"], dtype=pl.Categorical)})
    for frame in (dictionary, category):
        assert sl.Schema.infer(frame)["x"] == sl.Categorical("x", levels=["a", "b"])


ORDERED = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
PARTS = [
    pa.DictionaryArray.from_arrays([1], levels, ordered=True)
    for levels in (["low", "middle"], ["low", "high"])
]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"x": pd.Series(["high", None, "low"], dtype=ORDERED)}),
        pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array(PARTS)))}),
        pa.Table.from_pandas(pd.DataFrame({"x": pd.Series(["high", "low"], dtype=ORDERED)})),
        pa.table({"x": pa.chunked_array(PARTS)}),
    ],
    ids=["pandas", "pandas of Arrow", "Arrow", "Arrow in parts"],
)
def test_categories_with_an_order_are_ordinal_in_that_order(frame):
    guessed = sl.Schema.infer(frame, increase=["x"])
    assert guessed["x"] == sl.Ordinal("x", levels=["low", "middle", "high"], change="increase")
    space = sl.Space.fit(guessed, frame)
    values = space.read(frame, allow_missing=True)
    np.testing.assert_array_equal(space.read(space.to_frame(values), allow_missing=True), values)
    named = sl.Schema.infer(frame, categorical=["x"])["x"]
    assert named.kind == "categorical"


ENUM = pl.DataFrame({"sex": pl.Series(["f", "m"], dtype=pl.Enum(["m", "f", "x"]))})


@pytest.mark.parametrize(
    ("frame", "levels"), [(ENUM, ["m", "f", "x"]), (ENUM.to_arrow(), ["f", "m"])]
)
def test_an_enum_of_polars_lists_levels_and_says_nothing_of_an_order(frame, levels):
    assert sl.Schema.infer(frame)["sex"] == sl.Categorical("sex", levels=levels)
    asked = sl.Schema.infer(frame, ordinal={"sex": ["x", "m", "f"]})
    assert asked["sex"] == sl.Ordinal("sex", levels=["x", "m", "f"])


def test_an_order_of_what_is_no_level_is_answered_by_name():
    frame = pd.DataFrame({"x": pd.cut(pd.Series([1.0, 5.0, 9.0]), 2)})
    with pytest.raises(DtypeError, match=r"'x' holds Interval.* \(Interval\); expected numbers"):
        sl.Schema.infer(frame)


def test_a_number_is_a_category_only_when_it_is_named_so():
    schema = sl.Schema.infer(pd.DataFrame({"region": [3, 1, 3]}), categorical=["region"])
    assert schema["region"] == sl.Categorical("region", levels=[1, 3])


def test_one_hot_groups_become_one_feature_where_their_first_column_stands():
    frame = pd.DataFrame({"a": [1.0], "job_x": [1], "b": [2.0], "job_y": [0]})
    schema = sl.Schema.infer(frame, onehot={"job": ["job_x", "job_y"]}, never=["job"])
    assert schema.names == ("a", "job", "b")
    assert schema["job"] == sl.Categorical("job", onehot=["job_x", "job_y"], change="never")


@pytest.mark.parametrize(
    "asked",
    [
        {"never": ["incom"]},
        {"increase": ["incom"]},
        {"decrease": ["incom"]},
        {"ordinal": {"incom": [1, 2]}},
        {"categorical": ["incom"]},
        {"integer": ["incom"]},
        {"bounds": {"incom": (0, 1)}},
        {"onehot": {"group": ["incom", "age"]}},
        {"derived": {"incom": "age"}},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_a_wrong_name_is_answered_with_the_nearest(asked):
    with pytest.raises(ColumnError, match=r"no column 'incom'. Did you mean 'income'\?"):
        sl.Schema.infer(small(), **asked)


@pytest.mark.parametrize("setting", ["never", "increase", "decrease", "categorical", "integer"])
def test_one_text_is_no_list_of_names(setting):
    with pytest.raises(SchemaError, match=rf"{setting}=\['age'\]"):
        sl.Schema.infer(small(), **{setting: "age"})


def test_a_feature_cannot_change_in_two_ways():
    with pytest.raises(SchemaError, match="'age' is asked to change 'never' and 'increase'"):
        sl.Schema.infer(small(), never=["age"], increase=["age"])


@pytest.mark.parametrize("asked", [{"bounds": {"job": (0, 1)}}, {"integer": ["job"]}])
def test_settings_of_numbers_are_not_dropped_silently_for_a_category(asked):
    with pytest.raises(SchemaError, match="is for numbers, but 'job' is categorical"):
        sl.Schema.infer(small(), **asked)


@pytest.mark.parametrize(
    "column",
    [
        pd.to_datetime(["2020-01-01"]),
        [dt.date(2020, 1, 1)],
        [dt.timedelta(days=3)],
        [dt.time(12)],
        pd.Categorical([dt.date(2020, 1, 1)], ordered=True),
    ],
)
def test_dates_are_answered_with_a_way_out(column):
    with pytest.raises(DtypeError, match=r"'since' holds dates or times, such as .*days since"):
        sl.Schema.infer(pd.DataFrame({"since": column}))


def test_lists_in_cells_are_answered_by_name():
    with pytest.raises(DtypeError, match=r"'tags' holds \[1\] \(list\)"):
        sl.Schema.infer(pd.DataFrame({"tags": [[1], [2]]}))


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_column_of_gaps_is_answered_by_name(library):
    with pytest.raises(MissingValueError, match="'gap' holds no value at all"):
        sl.Schema.infer(library({"gap": [None, None]}))


def test_derived_columns_and_requirements_are_named():
    frame = small().assign(
        ratio=[0.5, 0.25, 0.1], rich=[True, False, True], grade=["low", "high", "low"], twice=2
    )
    formulas = {
        "ratio": "income / age",
        "rich": "income > 2",
        "grade": "where(rich == 1, 'high', 'low')",
        "twice": "age * 2",
    }
    schema = sl.Schema.infer(frame, derived=formulas, require=["income <= age"], integer=["twice"])
    assert schema.require == ("income <= age",)
    assert schema.derived == (
        sl.Derived("ratio", formulas["ratio"], decimals=2),
        sl.Derived("rich", formulas["rich"]),
        sl.Derived("grade", formulas["grade"], levels=["high", "low"]),
        sl.Derived("twice", formulas["twice"], integer=True),
    )


@pytest.mark.parametrize(
    "asked",
    [
        {"never": ["income"]},
        {"ordinal": {"income": [1, 2]}},
        {"bounds": {"income": (0, 1)}},
        {"categorical": ["income"]},
    ],
)
def test_a_derived_column_is_nothing_else(asked):
    said = "^'income' is derived, so it follows from other features. Leave it out of everything but"
    with pytest.raises(SchemaError, match=said):
        sl.Schema.infer(small(), derived={"income": "age"}, **asked)


# ---- YAML -------------------------------------------------------------------------------------

texts = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
tricky = st.sampled_from(
    [
        *("yes", "no", "1", "null", "~", "true", "1.0", "1e3", "=", "<<", "0x1F", "2020-01-01"),
        *("", "a: b", "# no", "- x", "ünï", "日本", "\t", " x ", "\r\n", "\x85", "\u2028", "'"),
    ]
)
levels = st.lists(
    tricky
    | texts
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False),
    min_size=2,
    max_size=5,
    unique=True,
)
names = st.one_of(texts, tricky).filter(lambda name: name.strip())
number_ways = st.sampled_from(list(sl.Change))
one_way = st.sampled_from([how for how in sl.Change if how is not sl.Change.TIME])
either = st.sampled_from([sl.Change.ANY, sl.Change.NEVER])
ends = st.floats(-1e300, 1e300)
phrases = (tricky | texts).map(lambda text: " ".join(text.split()))
labels = st.none() | phrases.filter(bool)
units = st.fixed_dictionaries({"unit": phrases, "times": st.floats(1e-300, 1e300)})

sizes = st.floats(1e-3, 1e3).map(lambda size: float(f"{size:.3g}"))
percentages = sizes.map(lambda size: f"{size:f}%")
reaches = (
    st.none()
    | percentages
    | sizes
    | st.tuples(st.none() | sizes.map(lambda size: -size), percentages | sizes)
).filter(lambda reach: not isinstance(reach, str) or float(reach[:-1]) > 0)
times = st.fixed_dictionaries({"months": sizes}) | st.fixed_dictionaries({"months_each": sizes})
number_terms = st.fixed_dictionaries(
    {"at_once": st.booleans(), "difficulty": sizes, "fill": st.booleans(), "reach": reaches}
).flatmap(lambda terms: times.map(lambda time: {**terms, **time}))
ordinal_terms = st.fixed_dictionaries({"difficulty": sizes}).flatmap(
    lambda terms: times.map(lambda time: {**terms, **time})
)


@st.composite
def features(draw: st.DrawFn, name: str):
    kind = draw(st.sampled_from(["numeric", "ordinal", "categorical", "onehot"]))
    if kind == "numeric":
        low, high = sorted([draw(ends), draw(ends)])
        change = draw(number_ways)
        asked = draw(number_terms) if change not in ("never", "time") else {}
        return sl.Numeric(
            name,
            **asked,
            change=change,
            bounds=draw(st.sampled_from([(None, None), (low, None), (None, high), (low, high)])),
            integer=draw(st.booleans()) and high - low > 1,
            typical=draw(st.sampled_from([None, (low, high)])) if low < high else None,
            label=draw(labels),
            rise=draw(phrases),
            **draw(st.just({"percent": True}) | units),
        )
    if kind == "ordinal":
        words = {"label": draw(labels), "fall": draw(phrases)}
        settings = draw(ordinal_terms)
        return sl.Ordinal(name, levels=draw(levels), change=draw(one_way), **words, **settings)
    if kind == "categorical":
        listed = draw(st.none() | levels)
        if draw(st.booleans()) and listed is not None:
            moves = {listed[0]: listed[1:]}
            return sl.Categorical(name, levels=listed, not_to=listed[:1], moves=moves, fill=True)
        return sl.Categorical(name, levels=listed, change=draw(either), label=draw(labels))
    listed = draw(levels)
    return sl.Categorical(
        name,
        levels=listed,
        onehot=[f"{name}={i}" for i in range(len(listed))],
        change=draw(either),
    )


@st.composite
def schemas(draw: st.DrawFn) -> sl.Schema:
    chosen = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    made = [draw(features(name)) for name in chosen]
    numbers = [f.name for f in made if f.kind == "numeric" and "\n" not in f.name]
    if not numbers or not draw(st.booleans()):
        return sl.Schema(made)
    name = "`" + numbers[0].replace("`", "``") + "`"
    try:
        derived = sl.Derived("worked out", f"where({name} > 1, 1, {name}) + 2", decimals=2)
        return sl.Schema([*made, derived], require=[f"{name} <= 5 or `worked out` != 3"])
    except SchemaError:  # a name that formulas can't say
        return sl.Schema(made)


def exactly(schema: sl.Schema) -> list:
    """Everything in a schema with its types, since 1, 1.0 and True are equal to Python."""
    return [repr(feature) for feature in schema.features] + list(schema.require)


@given(schema=schemas())
def test_a_schema_survives_its_yaml_file(schema, tmp_path_factory):
    file = tmp_path_factory.mktemp("yaml") / "schema.yaml"
    schema.save(file)
    assert exactly(sl.Schema.load(file)) == exactly(schema)


@given(schema=schemas())
def test_a_schema_survives_pickle_and_its_dictionary(schema):
    assert exactly(pickle.loads(pickle.dumps(schema))) == exactly(schema)
    assert exactly(sl.Schema.from_dict(schema.to_dict())) == exactly(schema)


def test_the_file_is_one_that_a_person_can_write(tmp_path):
    file = tmp_path / "schema.yaml"
    file.write_text(
        "features:\n"
        "- name: income\n"
        "  kind: numeric\n"
        "  bounds: [0, null]\n"
        "  typical: [0, 20000]\n"
        "  unit: $ a month\n"
        "- {name: education, kind: ordinal, levels: [none, school], change: increase}\n"
        "- {name: job, kind: categorical, not_to: [none], moves: {clerk: [nurse]}}\n"
        "- {name: loan, kind: numeric, reach: [-20%, +50%], multiple: 1000, at_once: true}\n"
        "- {name: debt, kind: numeric, reach: 30%, months: 6, difficulty: 2, fill: true}\n"
        "- {name: age, kind: numeric, change: time}\n"
        "- name: ratio\n"
        "  kind: derived\n"
        "  formula: where(income > 0, loan / income, was(ratio))\n"
        "  decimals: 2\n"
        "require:\n"
        "- debt <= loan\n"
        "- education == 'none' or ratio < 3\n",
        encoding="utf-8",
    )
    assert sl.Schema.load(str(file)) == sl.Schema(
        [
            sl.Numeric("income", bounds=(0, None), typical=(0, 20_000), unit="$ a month"),
            sl.Ordinal("education", levels=["none", "school"], change="increase"),
            sl.Categorical("job", not_to=["none"], moves={"clerk": ["nurse"]}),
            sl.Numeric("loan", reach=("-20%", "+50%"), multiple=1000, at_once=True),
            sl.Numeric("debt", reach="30%", months=6, difficulty=2, fill=True),
            sl.Numeric("age", change="time"),
            sl.Derived("ratio", "where(income > 0, loan / income, was(ratio))", decimals=2),
        ],
        require=["debt <= loan", "education == 'none' or ratio < 3"],
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("features:\n- name: a\n  kind: [numeric\n", "line 4, column 1: not YAML"),
        ("features:\n- name: a\n\tkind: numeric\n", "line 3, column 1: not YAML"),
        ("a: b: c\n", "line 1, column 5: not YAML"),
        ("features:\n- {name: a, kind: number}\n", "kind 'number'; expected one of 'numeric'"),
        ("features:\n- {kind: numeric}\n", "Feature 1 of the file has no name"),
        ("features:\n- income\n", "Feature 1 of the file has no name; got 'income'"),
        (
            "features:\n- {name: a, kind: numeric, bound: [0, 1]}\n",
            r"unknown setting 'bound'. Did you mean 'bounds'\?",
        ),
        ("features:\n- {name: a, kind: numeric, typical: [0, null]}\n", "two finite numbers"),
        ("features:\n- {name: a, kind: ordinal}\n", "needs its levels"),
        ("features:\n- {name: yes, kind: numeric}\n", "name .*got True"),
        ("features: []\n", "at least one feature"),
        ("- a\n", "a list under the key 'features'"),
        ("", "a list under the key 'features'"),
        ("features: a\n", "a list under the key 'features'"),
        ("features:\n- {name: a, kind: [numeric]}\n", "kind"),
        (
            "features:\n- name: a\n  kind: numeric\n  change: never\n  change: any\n",
            "line 5, column 3: not YAML: 'change' appears here a second time; keep one of the two",
        ),
        (
            'features:\n- {name: a, kind: numeric}\n"features":\n- {name: b, kind: numeric}\n',
            "line 3, column 1: not YAML: 'features' appears here a second time",
        ),
        (
            "features:\n- {name: a, kind: ordinal, levels: [9999-99-99, b]}\n",
            "line 2, column 37: not YAML: '9999-99-99' can't be read .*month must be .* in quotes",
        ),
        (f"features:\n- {'9' * 5000}\n", "line 2, column 3: not YAML: '9{40}' can't be read"),
        ("features:\n- !!timestamp soon\n", "line 2, column 3: not YAML: 'soon' can't be read"),
        ("features:\n- !!bool so\n", "line 2, column 3: not YAML: 'so' can't be read"),
        ("features: " + "[" * 5000, "nested too deeply"),
        (
            "features:\n- {name: a\x01, kind: numeric}\n",
            r"line 2, column 11: the character U\+0001 can't be in YAML. Delete it",
        ),
    ],
)
def test_a_file_that_is_wrong_is_answered_by_name_and_place(tmp_path, text, said):
    file = tmp_path / "schema.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError, match=said) as caught:
        sl.Schema.load(file)
    assert str(caught.value).startswith(f"{file}")
    assert len(str(caught.value).splitlines()) == 1


HEAD = "features:\n- {name: loan, kind: numeric}\n- name: a\n"


@pytest.mark.parametrize(
    ("text", "place", "said"),
    [
        (HEAD + "  kind: number\n", "4, column 9", "Feature 'a' has the kind 'number'; expected"),
        (HEAD, "3, column 3", "Feature 'a' has the kind None"),
        (
            HEAD + "  kind: numeric\n  bound:\n  - 0\n",
            "5, column 3",
            "unknown setting 'bound'. Did",
        ),
        (HEAD + "  kind: numeric\n  bounds:\n  - 0\n", "6, column 3", "bounds must be two numbers"),
        (HEAD + "  kind: numeric\n  reach: far\n", "5, column 10", "reach must be how far from"),
        (HEAD + "  kind: categorical\n  reach: 30%\n", "5, column 10", "reach is for numbers; use"),
        (HEAD + "  kind: categorical\n  moves: [b]\n", "5, column 10", "moves must be a mapping"),
        (HEAD + "  kind: numeric\n  change: up\n", "5, column 11", "change must be one of 'any'"),
        (HEAD + "  kind: numeric\n  months: -1\n", "5, column 11", "months must be a number of at"),
        (HEAD + "  kind: ordinal\n", "3, column 3", "needs its levels"),
        (HEAD + "  kind: derived\n", "3, column 3", "'a' is derived, so it needs a formula, such"),
        (HEAD + "  kind: derived\n  formula: 5\n", "5, column 12", "formula must be text such as"),
        (HEAD + "  kind: derived\n  formula: loan /\n", "5, column 12", "The formula of 'a', at"),
        (HEAD + "  kind: derived\n  formula: lone\n", "5, column 12", "Did you mean 'loan'"),
        (HEAD + "  kind: derived\n  formula: a\n", "5, column 12", "in a circle: 'a' needs 'a'"),
        (
            HEAD + "  kind: derived\n  formula: loan\n  change: any\n",
            "6, column 3",
            "unknown setting 'change'",
        ),
        (
            HEAD + "  kind: numeric\n- 5\n",
            "5, column 3",
            "Feature 3 of the file has no name; got 5",
        ),
        (HEAD + "  kind: numeric\n- {name: a, kind: numeric}\n", "5, column 3", "more than once"),
        (HEAD + "  kind: numeric\nrequire: loan > 1\n", "5, column 10", "require must be a list"),
        (HEAD + "  kind: numeric\nrequire: [a > 1, loan]\n", "5, column 18", "gives a number, not"),
        (HEAD + "  kind: numeric\nrequires: [a > 1]\n", "5, column 1", "mean 'require'?"),
        ("features: {a: b}\n", "1, column 11", "a list under the key 'features'"),
        ("feature: []\n", "1, column 1", "a list under the key 'features'"),
        ("", "1, column 1", "a list under the key 'features'"),
        (
            "features:\n- name: a\n\tkind: numeric\n",
            "3, column 1",
            "a tab here; indent with spaces",
        ),
        ("features:\n- name: a\n kind: b\n", "3, column 2", "indented otherwise than those above"),
        ("features:\n- name: 'a\n", "3, column 1", "a text in quotes isn't closed"),
        ("features:\n- *x\n", "2, column 3", "there's no 'x' that could be repeated here"),
        ("features: a: b\n", "1, column 12", "a colon can't be here; put text that has one in"),
        ("features: @a\n", "1, column 11", "found character '@'; put text that has it in quotes"),
        ("features: !a b\n", "1, column 11", "the tag !a isn't known; leave it out"),
        ("--- a\n--- b\n", "2, column 1", "a second document begins here; keep one"),
        ("features: [", "1, column 12", "expected a value, but found the end of the file"),
    ],
)
def test_a_mistake_in_a_file_is_found_by_line_and_column(tmp_path, text, place, said):
    file = tmp_path / "schema.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(SchemaError) as caught:
        sl.Schema.load(file)
    assert str(caught.value).startswith(f"{file}, line {place}: ")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1
    assert "<" not in str(caught.value).replace("'loan <= price'", "")


def test_a_mistake_in_what_is_shared_is_found_where_it_stands(tmp_path):
    file = tmp_path / "schema.yaml"
    file.write_text(
        "usual: &usual\n  kind: numeric\n  months: x\nfeatures:\n- {<<: *usual, name: a}\n"
    )
    with pytest.raises(SchemaError, match=r"line 3, column 11: .*months must be a number"):
        sl.Schema.load(file)


def test_rules_that_are_shared_in_a_file_may_still_be_overruled(tmp_path):
    file = tmp_path / "schema.yaml"
    file.write_text(
        "usual: &usual {kind: numeric, change: never}\n"
        "features:\n"
        "- &a {name: a, <<: *usual, change: any}\n"
        "- {<<: *a, name: b}\n"
    )
    assert sl.Schema.load(file) == sl.Schema([sl.Numeric("a"), sl.Numeric("b")])


def test_a_file_in_another_encoding_is_answered_by_name(tmp_path):
    file = tmp_path / "schema.yaml"
    file.write_bytes("features:\n- {name: größe, kind: numeric}\n".encode("latin-1"))
    with pytest.raises(SchemaError, match=r"schema\.yaml: not UTF-8"):
        sl.Schema.load(file)


def test_a_file_that_is_not_there_is_answered_by_name(tmp_path):
    with pytest.raises(SchemaError, match=r"no schema file at .*nowhere\.yaml"):
        sl.Schema.load(tmp_path / "nowhere.yaml")


def test_a_key_that_is_not_known_is_refused_unless_it_holds_what_features_share(tmp_path):
    file = tmp_path / "schema.yaml"
    file.write_text("features: [{name: a, kind: numeric}]\npolicy: [a <= 3]\n")
    with pytest.raises(SchemaError, match=r"line 2, column 1: .*unknown key 'policy'"):
        sl.Schema.load(file)
    file.write_text("sizes: &m {multiple: 50}\nfeatures: [{name: a, kind: numeric, <<: *m}]\n")
    assert sl.Schema.load(file)["a"].multiple == 50
