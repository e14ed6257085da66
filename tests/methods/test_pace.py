"""The clock and the progress of a call."""

from __future__ import annotations

import time

import pytest

from stepladder.errors import ParameterError
from stepladder.methods.pace import Pace


def test_progress_counts_those_banked_and_those_beyond():
    said: list[tuple[int, int]] = []
    pace = Pace(10, progress=lambda done, total: said.append((done, total)), time_budget=None)
    pace.reached(2)
    pace.reached(2)
    pace.bank(4)
    pace.reached(3)
    pace.bank(6)
    assert said == [(2, 10), (4, 10), (7, 10), (10, 10)]


def test_a_budget_runs_out_and_none_never_does():
    assert not Pace(1, progress=False, time_budget=None).expired
    pace = Pace(1, progress=False, time_budget=0.01)
    assert not pace.expired
    time.sleep(0.02)
    assert pace.expired


@pytest.mark.parametrize("budget", [0, -1, "a minute", True, float("nan")])
def test_a_budget_that_is_no_time_is_refused(budget):
    with pytest.raises(ParameterError, match="time_budget must be a number of seconds"):
        Pace(1, progress=False, time_budget=budget)


def test_progress_is_a_switch_or_a_function():
    with pytest.raises(ParameterError, match="progress must be True, False or a function"):
        Pace(1, progress="yes", time_budget=None)  # type: ignore[arg-type]


def test_a_bar_is_shown_only_inside(capsys):
    with Pace(2, progress=True, time_budget=None) as pace:
        pace.bank(2)
    assert "2/2" in capsys.readouterr().out
