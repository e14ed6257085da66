"""Every row of some answers, as they were frozen: a rebuild changes none, and a change shows.

Where they should change, `make freeze` writes them anew, and the diff says how.
"""

from __future__ import annotations

import io

import pytest
from pandas.testing import assert_frame_equal
from tests.frozen.made import CASES, METHODS, file_of, read


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", CASES)
def test_answers_are_those_that_were_frozen(name, method, request):
    answer, file = CASES[name].answer(method).to_csv(index=False), file_of(name, method)
    if request.config.getoption("--freeze"):
        file.write_text(answer, encoding="utf-8")
    assert_frame_equal(read(io.StringIO(answer)), read(file), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", CASES)
def test_frozen_answers_are_worth_keeping(name):
    """Paths that end well for most, by more than one step for some, and not all by the same."""
    frozen = read(file_of(name, "step"))
    ends = frozen.groupby(["person", "path"]).tail(1)
    assert (ends["outcome"] == "reached").mean() > 0.9
    assert ends["step"].max() > 1
    assert len(ends.drop(columns=["person", "path", "score"]).drop_duplicates()) > 20
