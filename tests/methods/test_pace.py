"""The clock and the progress of a call."""

from __future__ import annotations

import time

import numpy as np
import pytest

from stepladder.errors import ParameterError
from stepladder.methods import pace as module
from stepladder.methods.pace import GROWTH, SHARE, SMALLEST, Pace, TimeUpError


class Clock:
    """Time that passes only when told to."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def asked(pace: Pace, clock: Clock, count: int, each: float) -> list[int]:
    """The sizes of the calls in which a model of that many seconds per row is asked."""
    sizes = []
    for part in pace.parts(count):
        sizes.append(part.stop - part.start)
        clock.now += sizes[-1] * each
    return sizes


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


def test_without_a_budget_the_model_is_asked_once_and_counted(clock):
    pace = Pace(1, progress=False, time_budget=None)
    assert asked(pace, clock, 10_000, each=1.0) == [10_000]
    assert asked(pace, clock, 0, each=1.0) == []
    assert (pace.tally.calls, pace.tally.rows) == (1, 10_000)


def test_with_a_budget_calls_grow_to_a_share_of_it(clock):
    pace = Pace(1, progress=False, time_budget=10.0)
    sizes = asked(pace, clock, 20_000, each=1e-4)
    in_time = SHARE * 10.0 / 1e-4
    assert sizes[:3] == [SMALLEST, GROWTH * SMALLEST, GROWTH**2 * SMALLEST]
    assert max(sizes) == pytest.approx(in_time, rel=0.01)
    assert sum(sizes) == 20_000


def test_a_slow_model_is_asked_about_a_hundred_rows_at_a_time(clock):
    pace = Pace(1, progress=False, time_budget=1.0)
    with pytest.raises(TimeUpError):
        asked(pace, clock, 20_000, each=0.01)
    assert (pace.tally.calls, clock.now) == (1, SMALLEST * 0.01)


def test_no_part_comes_once_time_is_up(clock):
    pace = Pace(1, progress=False, time_budget=1.0)
    clock.now = 1.0
    with pytest.raises(TimeUpError):
        next(pace.parts(1))


def test_people_come_all_at_once_or_more_and_more_of_them_as_time_allows(clock):
    people = np.arange(100)
    free = Pace(100, progress=False, time_budget=None)
    assert [len(part) for part in free.batches(people)] == [100]
    assert list(free.batches(people[:0])) == []
    pace, seen = Pace(100, progress=False, time_budget=16.0), []
    for part in pace.batches(people):
        seen.append(part)
        clock.now += 0.25 * len(part)
    sizes = [len(part) for part in seen]
    assert sizes[:2] == [1, GROWTH]
    assert (np.concatenate(seen) == np.arange(sum(sizes))).all()  # each once, in their order
    assert clock.now == pytest.approx(16.0, abs=0.25)  # the last one comes before time is up


def test_with_little_time_fewer_people_are_taken_on_at_once():
    def crowd(budget: float | None) -> int:
        return Pace(9, progress=False, time_budget=budget).crowd(800)

    assert [crowd(None), crowd(60.0), crowd(4.0), crowd(1e-9)] == [800, 800, 400, 1]


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
