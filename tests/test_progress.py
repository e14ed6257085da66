"""The bar in the terminal."""

from __future__ import annotations

import io
import sys

import pytest

from stepladder.errors import ExtraError
from stepladder.progress import Bar

Console = pytest.importorskip("rich.console").Console


def drawn(reached: int, note: str = "", *, terminal: bool = True, **settings) -> str:
    """What a bar of 1000 leaves on a console after ten seconds."""
    console = Console(file=io.StringIO(), force_terminal=terminal, width=120, color_system=None)
    with Bar("people", 1000, console=console, **settings) as bar:
        bar._began -= 10.0
        bar.reached(reached, note)
    return console.file.getvalue()


def test_a_bar_says_how_many_and_how_long_at_the_pace_so_far():
    shown = drawn(250)
    assert "people" in shown
    assert "250/1000" in shown
    assert "about 30." in shown


def test_what_was_done_before_is_no_part_of_the_pace():
    assert "about 10.0 s left" in drawn(800, done=600)
    assert "left" not in drawn(600, done=600)


def test_a_note_is_text_whatever_it_holds():
    assert "[red]adult {x}" in drawn(1000, "[red]adult {x}")


def test_a_pipe_or_quiet_gets_no_bar():
    assert drawn(250, terminal=False).strip() == ""
    assert drawn(250, shown=False) == ""


def test_a_bar_that_stays_is_left_behind_in_a_pipe_too():
    assert "250/1000" in drawn(250, terminal=False, stays=True)


def test_without_a_total_the_time_gone_by_is_told():
    console = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    with Bar("Downloading", console=console):
        pass
    assert "0:00:00" in console.file.getvalue()


def test_without_rich_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with pytest.raises(ExtraError, match="progress=True needs rich"):
        Bar("people", 3)
