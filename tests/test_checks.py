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


def test_the_sentence_says_which_numbers_are_within():
    for limits, said in (
        ({}, "x must be a number; got"),
        ({"above": 0, "most": 1}, "x must be a number above 0 and at most 1; got"),
        ({"least": 0, "below": 1}, "x must be a number of at least 0 and below 1; got"),
        ({"least": 1e-6, "most": 1e9}, "x must be a number from 1e-06 to 1e.09; got"),
    ):
        for wrong in (float("inf"), "1", True, 10**400):
            with pytest.raises(ParameterError, match=f"^{said} .*a way out$"):
                finite("x", wrong, **limits, hint="a way out")
    assert (finite("x", 1, most=1), finite("x", 0, least=0)) == (1.0, 0.0)
    with pytest.raises(ParameterError, match="at most 1"):
        finite("x", 1.5, most=1)
    with pytest.raises(ParameterError, match="below 1"):
        finite("x", 1, below=1)


def test_a_whole_number_may_have_a_largest():
    assert whole_number("n", 5, 1, most=5) == 5
    with pytest.raises(ParameterError, match="n must be a whole number from 1 to 1,000; got 1001"):
        whole_number("n", 1001, 1, most=1000)
