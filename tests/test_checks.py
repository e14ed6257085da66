"""Parameters, checked in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from stepladder.checks import choice, finite, whole_number
from stepladder.errors import ParameterError


def test_parameters_are_checked_with_a_sentence():
    assert (whole_number("n", np.int64(3), 1), finite("x", 2, above=0.0)) == (3, 2.0)
    assert choice("kind", "a", ("a", "b")) == "a"
    for wrong in (
        lambda: whole_number("n", True, 0),
        lambda: finite("x", float("nan")),
        lambda: whole_number("n", 1.5, 0),
    ):
        with pytest.raises(ParameterError, match="must be a"):
            wrong()
    with pytest.raises(ParameterError, match="kind must be one of a, b; got 'c'"):
        choice("kind", "c", ("a", "b"))
