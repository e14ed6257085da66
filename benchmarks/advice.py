"""Advice a person would follow: the default method beside its peers and beside 0.1.

    python benchmarks/advice.py run                      whatever isn't there yet: an hour or two
    python benchmarks/advice.py run --only 'adult-*'     only cells whose names fit
    python benchmarks/advice.py lines                    what was promised, met or missed
    python benchmarks/advice.py page                     write docs/advice.md and its pictures
    python benchmarks/advice.py fair                     distances beside those of the fair table

Ends are kept under build/advice, since they hold people's rows. What is measured of them, by plain
code of its own that trusts nothing the library says, goes to results/advice.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from fnmatch import fnmatch

import pandas as pd
from advice_ends import ROOT, answered, cells
from advice_fair import BEFORE, NOW, line, read, rerun
from advice_lines import Line, Measured, lines
from advice_measured import ENDS, by_brute_force, everything
from advice_page import draw, filled
from sklearn.exceptions import ConvergenceWarning

from stepladder.files import replacing

PAGE = ROOT / "docs" / "advice.md"
RESULTS = ROOT / "results" / "advice"
ROUTES, BRUTE = RESULTS / "rows.parquet", RESULTS / "cells.parquet"


def answer(pattern: str) -> None:
    """Ask every method about every task, unless its ends are there."""
    ENDS.mkdir(parents=True, exist_ok=True)
    for cell in cells():
        file = ENDS / f"{cell.name}.parquet"
        if file.exists() or not fnmatch(cell.name, pattern):
            continue
        start = time.perf_counter()
        with replacing(file) as unfinished:
            answered(cell, unfinished)
        print(f"{cell.name}: {time.perf_counter() - start:.1f} s", flush=True)


def measure(pattern: str) -> None:
    """Measure what was answered, and pack it."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    for file, found in ((BRUTE, by_brute_force(pattern)), (ROUTES, everything(pattern))):
        with replacing(file) as unfinished:
            found.to_parquet(unfinished, index=False)


def measured() -> Measured:
    return Measured(pd.read_parquet(ROUTES), pd.read_parquet(BRUTE))


def promises() -> list[Line]:
    """Everything that was promised and measured."""
    fair = [line(read(BEFORE), read(NOW))] if NOW.exists() else []
    return [*lines(measured()), *fair]


def verdicts() -> bool:
    """Print every line, and say whether all are met."""
    found = promises()
    for each in found:
        print(f"{each.verdict:>8}  {each.promise}: {each.number}")
    return all(each.met is not False for each in found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "measure", "lines", "page", "fair"])
    parser.add_argument("--only", default="*")
    given = parser.parse_args()
    # Networks are trained for as long as they're worth it, not until nothing moves.
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    if given.what == "run":
        answer(given.only)
    if given.what in ("run", "measure"):
        measure(given.only)
    if given.what == "run" and given.only == "*" and not NOW.exists():
        rerun()
    if given.what == "page":
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(filled(text, measured(), promises()), encoding="utf-8")
        draw(measured(), PAGE.parent / "pictures")
    if given.what == "fair":
        rerun()
    if given.what in ("run", "lines"):
        sys.exit(not verdicts())


if __name__ == "__main__":
    main()
