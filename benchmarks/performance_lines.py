"""What is aimed at, beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence

from advice_lines import Line

__all__ = ["Line", "show"]


def show(lines: Sequence[Line]) -> bool:
    """Print every line, and say whether none is missed."""
    for line in lines:
        print(f"{line.verdict:>8}  {line.promise}: {line.number}")
    return all(line.met is not False for line in lines)
