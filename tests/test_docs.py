"""Every Python block of the README and the guide runs, in order, as one program a page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": page.stem}
    for block in BLOCK.finditer(text):
        line = text.count("\n", 0, block.start(1))
        code = "\n" * line + block[1]  # so that a traceback names the page's own line
        exec(compile(code, str(page), "exec"), names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
    assert missing == []


WRITTEN_BY_HAND = [page for page in PAGES[1:] if not page.name.endswith("results.md")]


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
