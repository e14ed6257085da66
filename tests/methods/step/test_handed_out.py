"""What a private method hands out holds nothing of the reference rows but what was paid for.

Canaries are put wherever a table can carry something: in a row's numbers, its label, the names of
the index and of the columns, `attrs`, Arrow's metadata and a category dtype's own levels. Then
everything that can be reached from what is handed out is looked through for them. The model is the
caller's own, which no guarantee covers, and is passed over.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tests.methods import bank
from tests.methods.step.test_private import SCHEMA

import stepladder as sl

pl = pytest.importorskip("polars")
pytest.importorskip("opendp")

CANARY = "canary"
"""In every text that mustn't be found."""
SAVINGS, DEBT = 1.2345678901234567, 4321.0987654321  # more digits than made-up rows have
BURDEN = 0.123456789012345
NUMBERS = (SAVINGS, DEBT, (DEBT - 4500) / 2250, BURDEN)
"""A row's numbers, raw and encoded (savings are the same in both)."""
PEOPLE = bank.REJECTED.iloc[:3]
RULED = sl.Schema(
    [
        *(
            {
                "income": sl.Numeric("income", bounds=(0, 200_000), multiple=10, reach="60%"),
                "job": sl.Categorical("job", levels=bank.JOBS, moves={"clerk": ["nurse"]}),
                "debt": SCHEMA["debt"].but(at_once=True, months=9),
            }.get(feature.name, feature)
            for feature in SCHEMA.features
        ),
        sl.Derived("burden", "debt / (income + 1000)", decimals=3),
        sl.Derived("rank", "where(burden > 0.2, 'low', 'high')", levels=["low", "high"]),
    ],
    require=["burden <= 0.5", "debt <= income"],
)
RULED_GOAL = sl.Goal(bank.GOAL.threshold, policy=["burden <= 0.4"])


def following(table: pd.DataFrame) -> pd.DataFrame:
    """A table with what follows from the rest of each row."""
    burden = (table["debt"] / (table["income"] + 1000)).round(3)
    return table.assign(burden=burden, rank=np.where(burden > 0.2, "low", "high"))


def reference() -> pd.DataFrame:
    """A table with a row that is accepted and one that is turned down, to be told from no other."""
    table = bank.table(1500)
    for row, income in ((0, 88_000), (1, 11_000)):
        table.loc[row, ["income", "debt", "savings"]] = [income, DEBT, SAVINGS]
    table = table.astype({"income": "int64"})
    assert (bank.score(table.iloc[:2]) >= bank.GOAL.threshold).tolist() == [True, False]
    for name, levels in (("job", bank.JOBS), ("education", bank.LEVELS)):
        table[name] = pd.Categorical(table[name], categories=[*levels[::-1], f"{CANARY} {name}"])
    table.index = pd.Index([f"{CANARY} {i}" for i in range(len(table))], name=f"{CANARY} index")
    table.columns.name = f"{CANARY} columns"
    table.attrs = {f"{CANARY} key": f"{CANARY} note"}
    return table


def in_polars(kind: Any) -> Any:
    table = reference()
    frame = pl.DataFrame({name: table[name].astype(object).to_list() for name in table})
    levels = {name: table[name].dtype.categories.to_list() for name in ("job", "education")}
    for name, known in levels.items():
        # A Categorical numbers the levels as they come, in rows that may be gone again.
        column = pl.concat([pl.Series(name, known), frame[name]])
        dtype = pl.Enum(known) if kind is pl.Enum else pl.Categorical
        frame = frame.with_columns(column.cast(dtype)[len(known) :])
    return frame


def in_pyarrow() -> Any:
    table = pa.Table.from_pandas(reference())
    names = [name for name in table.column_names if CANARY not in name]
    fields = [table.schema.field(name).with_metadata({"note": f"{CANARY} field"}) for name in names]
    return table.select(names).cast(pa.schema(fields, metadata=table.schema.metadata))


def people_in(library: str) -> Any:
    """People of the same kind as the table, with nothing of it."""
    if library == "pandas":
        return PEOPLE
    table = pa.Table.from_pandas(PEOPLE, preserve_index=False)
    if library == "pyarrow":
        return table
    known = pl.Enum if library == "polars enum" else pl.Categorical
    levels = {"job": bank.JOBS, "education": bank.LEVELS}
    dtypes = {n: pl.Enum(own) if known is pl.Enum else known for n, own in levels.items()}
    return pl.from_arrow(table).cast(dtypes)


TABLES = {
    "pandas": reference,
    "polars enum": lambda: in_polars(pl.Enum),
    "polars categorical": lambda: in_polars(pl.Categorical),
    "pyarrow": in_pyarrow,
}


def score(frame: Any) -> Any:
    return bank.score(frame if isinstance(frame, pd.DataFrame) else frame.to_pandas())


# ---- the search ---------------------------------------------------------------------------------


def found(root: Any) -> list[str]:
    """The ways from an object to each canary in it."""
    ways, seen, waiting = [], dict[int, Any](), [("it", root)]
    while waiting:
        way, thing = waiting.pop()
        if thing is score or id(thing) in seen:
            continue
        seen[id(thing)] = thing  # kept, so that nothing else gets its id
        if is_canary(thing):
            ways.append(way)
        waiting += [(f"{way}.{step}", part) for step, part in parts(thing).items()]
    return ways


def is_canary(thing: Any) -> bool:
    if isinstance(thing, str):
        return CANARY in thing
    if isinstance(thing, bytes):
        return CANARY.encode() in thing or any(struct.pack("d", n) in thing for n in NUMBERS)
    if isinstance(thing, np.ndarray) and thing.dtype.kind == "f":
        return bool(np.isin(thing, NUMBERS).any())
    return isinstance(thing, float | np.floating) and float(thing) in NUMBERS


def numbered(things: Iterable[Any]) -> dict[str, Any]:
    return {str(i): thing for i, thing in enumerate(things)}


INSIDE: list[tuple[Any, Callable[[Any], dict[str, Any]]]] = [
    ((type, ModuleType), lambda _: {}),
    (Mapping, lambda m: numbered([*m.keys(), *m.values()])),
    ((list, tuple, set, frozenset), numbered),
    (
        np.ndarray,
        lambda a: {"base": a.base, **(numbered(a.flat) if a.dtype == object else {})},
    ),
    (
        FunctionType,
        lambda f: {
            "defaults": f.__defaults__,
            "closure": [cell.cell_contents for cell in f.__closure__ or ()],
        },
    ),
    (MethodType, lambda m: {"self": m.__self__, "function": m.__func__}),
    (
        pd.DataFrame,
        lambda f: {
            "columns": f.columns,
            "index": f.index,
            "attrs": f.attrs,
            "blocks": [block.values for block in f._mgr.blocks],
            **{f"column {i}": f.iloc[:, i] for i in range(f.shape[1])},
        },
    ),
    (
        pd.Series,
        lambda s: {
            "name": s.name,
            "index": s.index,
            "attrs": s.attrs,
            "dtype": s.dtype,
            "array": s.array,
        },
    ),
    (pd.Index, lambda i: {"names": list(i.names), "dtype": i.dtype, "array": i.array}),
    (pd.CategoricalDtype, lambda d: {"categories": d.categories}),
    (pd.Categorical, lambda c: {"codes": c.codes, "dtype": c.dtype}),
    (pd.arrays.ArrowExtensionArray, lambda a: {"arrow": a.__arrow_array__()}),
    (
        pd.api.extensions.ExtensionArray,
        lambda a: {"values": np.asarray(a), "held": getattr(a, "_ndarray", None)},
    ),
    (
        pa.Table,
        lambda t: {
            "metadata": t.schema.metadata,
            "fields": [(field.name, field.metadata) for field in t.schema],
            "columns": t.columns,
        },
    ),
    (pa.ChunkedArray, lambda a: numbered(a.chunks)),
    (pa.DictionaryArray, lambda a: {"dictionary": a.dictionary, "indices": a.indices}),
    # The buffers of a slice are those of what it was cut from.
    (pa.Array, lambda a: {"buffers": [b.to_pybytes() for b in a.buffers() if b is not None]}),
    (pl.DataFrame, lambda f: {"schema": dict(f.schema), "columns": f.get_columns()}),
    (pl.Series, lambda s: {"name": s.name, "dtype": s.dtype, "arrow": s.to_arrow()}),
    (pl.Enum, lambda d: {"categories": d.categories}),
    (pl.Categorical, lambda d: {"categories": d.categories.to_series()}),
]
"""What is looked at of things that have more to them than attributes of their own."""


def parts(thing: Any) -> dict[str, Any]:
    """What an object is made of, by how one gets there."""
    inside = next((look(thing) for kind, look in INSIDE if isinstance(thing, kind)), None)
    if inside is None:
        inside = dict(getattr(thing, "__dict__", {}))
        for kind in type(thing).__mro__:
            slots = getattr(kind, "__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                inside[name] = getattr(thing, name, None)
    return inside


@pytest.mark.parametrize("library", TABLES)
def test_the_search_finds_what_there_is(library):
    table = TABLES[library]()
    ways = " ".join(found([{"it": (table,)}]))
    assert "0.blocks" in ways or "columns.2.arrow" in ways or "columns.2.0.buffers" in ways
    assert "categories" in ways or "dictionary" in ways
    for said in {
        "pandas": ["columns.names", "index.names", "index.array", "attrs"],
        "pyarrow": ["metadata", "fields"],
    }.get(library, []):
        assert said in ways


# ---- what is handed out -------------------------------------------------------------------------

PAID = {
    "once": sl.PayOnce,
    "per direction": partial(sl.PayPerDirection, steps=4),
    "around public centres": lambda budget: sl.PayPerDirection(
        budget, centres=bank.table(3, seed=99)
    ),
}


def fitted(table: Any, pay: str) -> sl.StEP:
    step = sl.StEP(privacy=PAID[pay](sl.Budget(5, 1e-6)), max_steps=4)
    return step.fit(table, score, schema=SCHEMA, goal=bank.GOAL)


@pytest.mark.parametrize("library", TABLES)
@pytest.mark.parametrize("pay", PAID)
def test_nothing_handed_out_leads_to_the_rows(library, pay, tmp_path):
    table = TABLES[library]()  # kept: as long as it's there, polars shares what it knows of it
    step = fitted(table, pay)
    people = people_in(library)
    walk = step.walk(people[:1])
    offers = walk.directions()
    walk.take(offers[0].path)
    result = step.recourse(people)
    for name in ("plan.json", "plan.parquet"):
        result.save(tmp_path / name)
    handed_out = {
        "result": result,
        "frames": [result.paths, result.final, result.changes, result.status, result.metrics()],
        "space": result.space,
        "offers": offers,
        "guarantee": [result.privacy, walk.privacy],
        "row": walk.row,
        "history": walk.history,
        "saved": [walk.to_json(), (tmp_path / "plan.json").read_bytes()],
        "read back": [sl.Recourse.load(tmp_path / f"plan.{kind}") for kind in ("json", "parquet")],
    }
    assert result.template.library == library.split()[0]
    assert found(handed_out) == []
    for name, thing in handed_out.items():
        assert not is_canary(pickle.dumps(thing)), name
    if pay == "once":  # then the method and its walks have forgotten the rows as well
        assert found([step, walk]) == []
    else:
        assert found(step.reference_.held) != []


@pytest.mark.parametrize("pay", PAID)
def test_nothing_handed_out_leads_to_the_rows_whatever_rules_there_are(pay):
    table = following(reference())
    table.loc[table.index[:2], "burden"] = BURDEN  # not what its formula says
    centres = following(bank.table(3, seed=99))
    privacy = PAID[pay](sl.Budget(5, 1e-6))
    if pay == "around public centres":
        privacy = sl.PayPerDirection(privacy.budget, centres=centres)
    step = sl.StEP(privacy=privacy, max_steps=4, max_changes=3)
    step.fit(table, score, schema=RULED, goal=RULED_GOAL)
    people = following(PEOPLE)
    walk = step.walk(people[:1])
    offers = walk.directions()
    walk.take(offers[0].path)
    result = step.recourse(people, limits={people.index[0]: {"debt": (100, None)}})
    handed_out = [result, result.final, result.changes, offers, walk.history, walk.to_json()]
    assert found(handed_out) == []
    assert not is_canary(pickle.dumps(handed_out))
    if pay == "once":
        assert found([step, walk]) == []
    assert (result.final["steps"] > 0).any()


@pytest.mark.parametrize("pay", PAID)
def test_whether_the_table_keeps_its_rules_is_not_told(pay):
    """Not even by a warning, which would be an error here."""
    table = following(bank.table(600)).assign(burden=0.3, rank="low")
    centres = following(bank.table(3, seed=99))
    budget = sl.Budget(5, 1e-6)
    privacy = PAID[pay](budget)
    if pay == "around public centres":
        privacy = sl.PayPerDirection(budget, centres=centres)
    nobody = sl.Schema(RULED.features, require=["income + debt < 0"])
    with pytest.raises(sl.errors.SchemaError, match="None of the 600 reference rows keeps"):
        sl.StEP().fit(table, score, schema=nobody, goal=RULED_GOAL)
    with pytest.warns(sl.errors.TableWarning, match="'burden' differs from its formula in"):
        sl.StEP().fit(table, score, schema=RULED, goal=RULED_GOAL)
    lacking = table.assign(savings=table["savings"].where(table.index > 50))
    step = sl.StEP(privacy=privacy).fit(lacking, score, schema=nobody, goal=RULED_GOAL)
    assert step.counts_ == ({"made_up": 2048} if pay == "once" else {})
    lacks = following(PEOPLE).assign(savings=np.nan)
    assert set(step.recourse(lacks).status["outcome"]) == {"missing_value"}


def test_made_up_rows_have_what_follows_from_the_rest_of_them():
    step = sl.StEP(privacy=sl.Budget(5, 1e-6))
    step.fit(following(bank.table(600)), score, schema=RULED, goal=RULED_GOAL)
    rows = step.space_.to_frame(step.reference_.values)
    wanted = following(rows)
    np.testing.assert_allclose(rows["burden"], wanted["burden"], atol=1.01e-3)
    assert (rows["rank"] == np.where(rows["burden"] > 0.2, "low", "high")).all()


def test_a_function_sees_made_up_rows_and_peoples_own_but_no_row_of_the_table():
    def double(frame):
        assert not np.isin(frame.select_dtypes("number").to_numpy(float), NUMBERS).any()
        return 2 * frame["debt"]

    schema = sl.Schema([*SCHEMA.features, sl.Derived("double", double)])
    table = reference().assign(double=lambda rows: 2 * rows["debt"])
    step = sl.StEP(privacy=sl.Budget(5, 1e-6), max_steps=4)
    step.fit(table, score, schema=schema, goal=bank.GOAL)
    people = PEOPLE.assign(double=2 * PEOPLE["debt"])
    assert (step.recourse(people).final["outcome"] == "reached").any()
    money = sl.Budget(5, 1e-6)
    with pytest.raises(sl.errors.SchemaError, match="'double' is worked out by a function, which"):
        sl.StEP(privacy=sl.PayPerDirection(money)).fit(table, score, schema=schema, goal=bank.GOAL)
    assert money.statement.releases == 0


def test_a_public_space_lists_the_levels_of_the_schema():
    for library, table in TABLES.items():
        space = sl.Space.from_schema(SCHEMA, table())
        expected = {"job": bank.JOBS, "education": bank.LEVELS}
        assert space.template.listed == ({} if library == "pyarrow" else expected)
