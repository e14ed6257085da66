"""The folder of a run: nothing is lost, doubled or half-written."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from stepladder.bench.results import KEYS, CellFacts, Results
from stepladder.bench.spec import Cell
from stepladder.errors import ResultError

ANN = Cell("mortgage", "dnn", "step", 0)
BOB = Cell("mortgage", "dnn", "dice", 1)


def figures(*distances: float) -> pd.DataFrame:
    return pd.DataFrame({"person": range(len(distances)), "l2_distance": list(distances)})


def test_what_is_put_is_read_back_in_order(tmp_path):
    results = Results(tmp_path)
    assert results.is_empty
    results.put(ANN, figures(1.5, np.nan), CellFacts("a", people=2, seconds=3.0))
    results.put(BOB, figures(2.5), CellFacts("b", people=1))
    read = Results(tmp_path)
    assert read.rows["method"].tolist() == ["dice", "step", "step"]
    np.testing.assert_array_equal(read.rows["l2_distance"], [2.5, 1.5, np.nan])
    assert read.cells[["method", "people", "seconds"]].values.tolist() == [
        ["dice", 1, 0.0],
        ["step", 2, 3.0],
    ]


def test_packing_changes_nothing_but_the_files(tmp_path):
    results = Results(tmp_path)
    results.put(ANN, figures(1.5, 2.5), CellFacts("a", people=2))
    results.put(BOB, pd.DataFrame(), CellFacts("b", error="It broke."))
    rows, cells = results.rows, results.cells
    results.pack()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["cells.parquet", "rows.parquet"]
    packed = Results(tmp_path)
    pd.testing.assert_frame_equal(packed.rows, rows, check_dtype=False)
    pd.testing.assert_frame_equal(packed.cells, cells, check_dtype=False)


def test_a_cell_run_again_replaces_the_packed_one(tmp_path):
    results = Results(tmp_path)
    results.put(ANN, figures(1.0, 2.0), CellFacts("old", people=2))
    results.put(BOB, figures(9.0), CellFacts("b", people=1))
    results.pack()
    results.put(ANN, figures(3.0), CellFacts("new", people=1))
    for _ in range(2):
        read = Results(tmp_path)
        assert read.rows["l2_distance"].tolist() == [9.0, 3.0]
        assert read.cells["fingerprint"].tolist() == ["b", "new"]
        results.pack()


def test_files_left_by_a_run_that_was_killed_are_not_results(tmp_path):
    results = Results(tmp_path)
    results.put(ANN, figures(1.0), CellFacts("a", people=1))
    (tmp_path / "cells" / f".{'.'.join(map(str, BOB))}.parquet.77").write_bytes(b"half a file")
    assert len(Results(tmp_path).cells) == 1


def test_killed_between_packing_and_cleaning_up_nothing_is_doubled(tmp_path):
    results = Results(tmp_path)
    results.put(ANN, figures(1.0), CellFacts("a", people=1))
    kept = {file.name: file.read_bytes() for file in (tmp_path / "cells").iterdir()}
    results.pack()
    (tmp_path / "cells").mkdir()
    for name, content in kept.items():
        (tmp_path / "cells" / name).write_bytes(content)
    assert len(Results(tmp_path).rows) == len(Results(tmp_path).cells) == 1


def test_a_write_that_fails_leaves_nothing_behind(tmp_path, monkeypatch):
    from pyarrow import parquet

    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(parquet, "write_table", full)
    with pytest.raises(ResultError, match="No space"):
        Results(tmp_path).put(ANN, figures(1.0), CellFacts("a"))
    assert list((tmp_path / "cells").iterdir()) == []


def test_no_results_and_damaged_results_say_what_to_do(tmp_path):
    with pytest.raises(ResultError, match="stepladder bench run"):
        Results(tmp_path).rows  # noqa: B018
    Results(tmp_path).put(ANN, figures(1.0), CellFacts("a"))
    Results(tmp_path).pack()
    (tmp_path / "rows.parquet").write_bytes(b"not parquet")
    with pytest.raises(ResultError, match="Delete the damaged file"):
        Results(tmp_path).rows  # noqa: B018


def test_numbers_are_kept_to_seven_digits_and_people_under_their_own_names(tmp_path):
    numbers = np.random.default_rng(0).lognormal(0, 5, 1000)
    rows = figures(*numbers).assign(person=2.0**30 + 1 / 64)
    results = Results(tmp_path)
    results.put(ANN, rows, CellFacts("a"))
    results.pack()
    kept = Results(tmp_path).rows
    assert kept["l2_distance"].dtype == np.float32
    np.testing.assert_allclose(kept["l2_distance"], numbers, rtol=1e-7)
    assert (kept["person"] == 2.0**30 + 1 / 64).all()


def test_the_keys_of_rows_and_cells_are_the_cell():
    assert tuple(KEYS) == Cell._fields
