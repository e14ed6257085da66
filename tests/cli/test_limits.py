"""Limits of single people, read from a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import stepladder as sl
from stepladder.cli.limits import LimitsFile
from stepladder.errors import ParameterError
from stepladder.table.rules.personal import limit_arrays

SCHEMA = sl.Schema(
    [sl.Numeric("loan"), sl.Ordinal("rating", levels=["NA", "poor", "good"]), sl.Numeric("low")]
)


@pytest.fixture
def limits(tmp_path: Path) -> LimitsFile:
    file = tmp_path / "limits.csv"
    file.write_text("note,person,feature,low,high\n,7,loan,1.5,\n,7,rating,,NA\n,008,low,,2\n")
    return LimitsFile.read(file, SCHEMA)


def test_a_cell_is_read_as_the_schema_has_it(limits):
    low, high = limit_arrays(SCHEMA, np.array(["7", "008"], dtype=object), limits.rows)
    assert low.tolist() == [[1.5, -np.inf, -np.inf], [-np.inf] * 3]
    assert high.tolist() == [[np.inf, 0, np.inf], [np.inf, np.inf, 2]]


def test_limits_are_handed_out_under_the_labels_that_people_have(limits):
    own = limits.of(pd.DataFrame(index=[6, 7, 8]))
    assert own["person"].tolist() == [7, 7]
    assert limits.of(pd.DataFrame(index=[8])).empty


def test_somebody_who_is_in_no_batch_is_named_with_the_nearest_who_is(limits):
    batches = [pd.DataFrame(index=["7", "1"]), pd.DataFrame(index=["08"])]
    with pytest.raises(ParameterError, match=r"line 4: nobody in 'x.csv' is .* mean '08'\?"):
        limits.check_known(batches, Path("x.csv"))
    limits.check_known([*batches, pd.DataFrame(index=["008"])], Path("x.csv"))
