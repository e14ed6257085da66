"""`load` and `names`: the door to the room."""

from __future__ import annotations

import re

import numpy as np
import pytest

from stepladder import datasets
from stepladder.errors import ParameterError
from stepladder.table.schema import Schema
from stepladder.table.space import Space


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(
        ParameterError, match=r"no dataset 'adults'\. Did you mean 'adult'"
    ) as caught:
        datasets.load("adults")
    assert all(repr(name) in str(caught.value) for name in datasets.names())


def test_progress_is_yes_or_no():
    with pytest.raises(ParameterError, match="progress must be True or False; got 'yes'"):
        datasets.load("mortgage", progress="yes")  # type: ignore[arg-type]  # that's the point


@pytest.mark.parametrize("name", datasets.names())
def test_every_table_says_whose_it_is_and_where_it_is_from(name):
    table = datasets._TABLES[name]
    assert table.name == name
    assert re.search(r"\((19|20)\d\d\)", table.provenance.citation)
    assert table.provenance.licence
    assert table.provenance.page.startswith("https://")
    assert table.provenance.read_from == ""
    assert re.fullmatch("[0-9a-f]{64}", table.checksum)


def test_what_is_loaded_is_whole(real):
    for name in datasets.names():
        loaded = datasets.load(name, real)
        assert loaded.name == name
        assert tuple(loaded.rows.columns) == loaded.schema.columns
        assert len(loaded.labels) == len(loaded.rows) == len(loaded)
        assert loaded.labels.dtype == np.int64
        assert set(np.unique(loaded.labels)) == {0, 1}
        assert not loaded.rows.isna().to_numpy().any()
        assert loaded.provenance.read_from


def test_every_schema_is_what_the_rows_say_and_declares_its_own_geometry(real):
    """Written by hand, yet the same kinds, dtypes and levels that would be learned."""
    for name in datasets.names():
        loaded = datasets.load(name, real)
        rows, schema = loaded.rows, loaded.schema
        learned = Schema.infer(
            rows,
            ordinal={f.name: f.levels for f in schema.features if f.kind == "ordinal"},
            categorical=[f.name for f in schema.features if f.kind == "categorical"],
        )
        for feature in schema.features:
            seen = learned[feature.name]
            assert feature.kind in (seen.kind, "derived")
            assert getattr(feature, "levels", None) == getattr(seen, "levels", None)
            assert getattr(feature, "integer", None) == getattr(seen, "integer", None)
        space = Space.from_schema(schema, rows.head(0))
        assert space.public
        assert space.slices == Space.fit(schema, rows).slices


def test_most_people_lie_within_what_is_typical(real):
    for name in datasets.names():
        loaded = datasets.load(name, real)
        for feature in loaded.schema.features:
            if feature.kind == "numeric" and feature.change != "never":
                assert feature.typical is not None
                assert loaded.rows[feature.name].between(*feature.span).mean() > 0.85


def test_two_loads_share_nothing_that_can_change(small, tmp_path):
    small.to_csv(tmp_path / "small.csv", index=False)
    one, other = datasets.load("small", tmp_path), datasets.load("small", tmp_path)
    one.rows.loc[0, "years"] = 99
    assert other.rows.loc[0, "years"] == 3
    with pytest.raises(ValueError, match="read-only"):
        one.labels[0] = 0
