"""docs/gpu.md and docs/decisions/0011-gpu-kernel.md say what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIGURES = json.loads((ROOT / "results" / "performance" / "gpu.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "gpu.md").read_text(encoding="utf-8")


def cells(beginning: str) -> list[str]:
    """The cells of the page's one table row that begins so."""
    (line,) = [line for line in PAGE.splitlines() if line.startswith(f"| {beginning}")]
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(("columns", "row"), [("32", "equation 1: "), ("64", "the same with 64")])
def test_the_kernel_takes_as_long_as_the_page_says(columns, row):
    figures = FIGURES["kernel"][columns]
    _, ours, plain = cells(row)
    assert ours == f"{figures['milliseconds']:.0f} ms"
    assert plain == f"{figures['plain_torch_milliseconds']:,.0f} ms"
    decision = (ROOT / "docs" / "decisions" / "0011-gpu-kernel.md").read_text(encoding="utf-8")
    assert ours in decision
    assert plain in decision


def test_so_does_the_method():
    figures = FIGURES["method"]
    what, ours, _ = cells("`recourse`")
    assert ours == f"{figures['seconds']:.1f} s"
    for count in ("people", "positives", "paths", "steps"):
        assert f"{figures[count]:,}" in what
    assert f"({figures['mean_steps']:.1f} on average)" in what
    assert f"from {min(figures['runs']):.1f} to {max(figures['runs']):.1f} s" in PAGE


def test_errors_are_within_what_is_stated():
    found = [*FIGURES["kernel"].values(), *FIGURES["hard"].values()]
    assert max(case["error"] for case in found) <= 1e-5
    assert FIGURES["method"]["gap"] <= 1e-4
    assert FIGURES["device"] == "NVIDIA H200"
