"""docs/scale.md shows what was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cluster_page import filled

ROOT = Path(__file__).parents[2]


def test_the_page_shows_what_was_measured():
    figures = ROOT / "results" / "performance" / "cluster.json"
    if not figures.exists():
        pytest.skip("results/performance/cluster.json isn't there: make bench-cluster measures it")
    page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    assert filled(page, json.loads(figures.read_text(encoding="utf-8"))) == page
