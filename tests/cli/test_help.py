"""Help names what an option takes, and no Python type."""

from __future__ import annotations

import pytest

from stepladder.cli.help import TYPE, _named


@pytest.mark.parametrize(
    ("shown", "named"),
    [
        ("--out <path>", "--out FILE"),
        ("--paths <int range>", "--paths N"),
        ("--slack <float>", "--slack NUMBER"),
        ("--hide <list[str]>", "--hide TEXT"),
        ("--as <text|latex>", "--as text|latex"),
        ("--person NAME", "--person NAME"),
    ],
)
def test_a_type_becomes_a_word(shown, named):
    assert TYPE.sub(_named, shown) == named
