"""The page of results is what the rows in results/ say, to the last digit."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from stepladder.cli.app import app

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "results.md"


def test_the_page_is_what_its_own_command_writes(tmp_path, monkeypatch):
    text = PAGE.read_text(encoding="utf-8")
    said = re.match(r"<!-- Written by `stepladder (bench page .* --out docs/results\.md)`", text)
    assert said is not None
    monkeypatch.chdir(ROOT)
    again = tmp_path / "results.md"
    arguments = [str(again) if part == "docs/results.md" else part for part in shlex.split(said[1])]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    written = again.read_text(encoding="utf-8").replace(str(again), "docs/results.md")
    assert written == text


@pytest.mark.parametrize("name", ["published", "fair"])
def test_what_is_committed_is_small_and_nothing_in_it_failed(name):
    from stepladder.bench.results import Results

    folder = ROOT / "results" / name
    assert sum(file.stat().st_size for file in folder.iterdir()) < 16e6
    assert set(Results(folder).cells["error"]) == {""}
