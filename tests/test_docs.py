"""Every block of the README and the guide is true: Python runs, in order, as one program per page,
and prints what the page says; commands run; files can be read."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import stepladder as sl
from stepladder.bench.spec import load
from stepladder.cli import main
from stepladder.table.schema import Schema

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(
    r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?", re.MULTILINE | re.DOTALL
)  # and behind it, where the page shows it, what it prints
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        code = "\n" * line + block[1]  # so that a traceback names the page's own line
        exec(compile(code, str(page), "exec"), names)
        said = capsys.readouterr().out
        assert block[2] is None or said == block[2]


def asked(commands: str, folder: Path) -> list[list[str]]:
    """The arguments of every call of `stepladder`, as a shell makes them of a page's commands."""
    noted = """stepladder() { printf '%s\\0' "$@" >> asked; printf '\\n' >> asked; }\n"""
    subprocess.run(["bash", "-eu", "-c", noted + commands], cwd=folder, check=True)
    lines = (folder / "asked").read_text(encoding="utf-8").splitlines()
    return [line.split("\0")[:-1] for line in lines]


@pytest.mark.parametrize("page", ["README.md", "docs/cli.md"])
def test_the_commands_of_a_page_run(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    skops = pytest.importorskip("skops.io")
    random = np.random.default_rng(0)
    loans = pd.DataFrame(
        {
            "income": random.normal(3000, 800, 400).round(),
            "debt": random.normal(900, 300, 400).clip(0).round(),
            "age": random.integers(20, 70, 400),
            "sex": random.integers(0, 2, 400),
            "race": random.integers(0, 3, 400),
        }
    )
    approved = (loans["income"] - loans["debt"] > 2200).to_numpy()
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(loans, approved)
    skops.dump(model, tmp_path / "model.skops")
    loans.assign(approved=approved).to_parquet(tmp_path / "loans.parquet")
    rejected = loans[model.predict_proba(loans)[:, 1] < 0.5].head(30)
    rejected.reset_index(drop=True).to_parquet(tmp_path / "rejected.parquet")
    (commands,) = COMMANDS.findall((ROOT / page).read_text(encoding="utf-8"))
    calls = asked(commands, tmp_path)
    assert len(calls) == len(re.findall("^stepladder ", commands, re.MULTILINE))
    monkeypatch.chdir(tmp_path)
    with open(os.devnull, encoding="utf-8") as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        for arguments in calls:
            assert main(arguments) == 0, capsys.readouterr().err
    assert (tmp_path / "plan.parquet").exists()


def test_the_spec_and_the_schema_that_pages_show_can_be_read(tmp_path: Path) -> None:
    for page, kind, read in [
        ("bench", "toml", load),
        ("constraints", "yaml", Schema.load),
        ("schemas", "yaml", Schema.load),
    ]:
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        shown = re.findall(rf"^```{kind}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
        assert shown
        for block in shown:
            (tmp_path / f"shown.{kind}").write_text(block, encoding="utf-8")
            read(tmp_path / f"shown.{kind}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_names_on_a_page_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert set(re.findall(r"\bsl\.(\w+)", text)) <= set(sl.__all__)
    bare = set(re.findall(r"`(\w+Error)`", text))
    assert bare == set(), "say where it's found: sl.…, or stepladder.errors"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []


MEASURED = ("results.md", "privacy-results.md", "advice.md", "performance.md")
WRITTEN_BY_HAND = [page for page in PAGES[1:] if page.name not in MEASURED]


@pytest.mark.parametrize("page", WRITTEN_BY_HAND, ids=lambda page: page.name)
def test_a_page_of_the_guide_can_be_read_in_one_sitting(page: Path) -> None:
    assert len(page.read_text(encoding="utf-8").splitlines()) <= 100


def test_the_quick_start_is_short() -> None:
    first = BLOCK.search((ROOT / "README.md").read_text(encoding="utf-8"))
    assert first is not None
    assert len(first[1].strip().splitlines()) <= 16


def test_the_guide_builds_without_a_warning(tmp_path: Path) -> None:
    mkdocs = pytest.importorskip("mkdocs")
    built = subprocess.run(
        [sys.executable, "-m", mkdocs.__name__, "build", "--strict", "--site-dir", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "recourse" in (tmp_path / "api.html").read_text(encoding="utf-8")
    pages = [page.name for page in ROOT.glob("docs/*.md")]
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [page for page in pages if page not in nav] == []
