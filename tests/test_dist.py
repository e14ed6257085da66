"""What `make dist` refuses to release; CITATION.cff names the version that is released."""

from __future__ import annotations

import io
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from scripts import dist

import stepladder as sl

ROOT = Path(__file__).parents[1]
TRACKED = {
    "LICENSE",
    "Makefile",
    "README.md",
    "constraints.txt",
    "pyproject.toml",
    "docs/index.md",
    "src/stepladder/__init__.py",
    "src/stepladder/py.typed",
    "src/stepladder/bench/paper/methods.csv",
    "tests/test_dist.py",
}
INFO = {f"stepladder-1.0.dist-info/{name}" for name in dist.METADATA}
WHEEL = {name.removeprefix("src/") for name in TRACKED if name.startswith("src/")} | INFO


def test_a_wheel_holds_what_git_tracks_under_src() -> None:
    dist.check_wheel(WHEEL, TRACKED)


@pytest.mark.parametrize("lost", sorted(WHEEL))
def test_a_wheel_that_lacks_a_file_is_refused(lost: str) -> None:
    with pytest.raises(dist.DistError, match=f"lacks .*{lost.rpartition('/')[2]}"):
        dist.check_wheel(WHEEL - {lost}, TRACKED)


@pytest.mark.parametrize(
    "found", ["stepladder/notes.txt", "tests/test_dist.py", "stepladder-1.0.dist-info/top_level"]
)
def test_a_wheel_with_anything_else_in_it_is_refused(found: str) -> None:
    with pytest.raises(dist.DistError, match=r"doesn't track: .*(notes|test_dist|top_level)"):
        dist.check_wheel(WHEEL | {found}, TRACKED)


def test_an_sdist_holds_tracked_files_only_and_enough_of_them() -> None:
    names = TRACKED | {"PKG-INFO"}
    dist.check_sdist(names, TRACKED)
    with pytest.raises(dist.DistError, match=r"doesn't track: secret\.env"):
        dist.check_sdist(names | {"secret.env"}, TRACKED)
    with pytest.raises(dist.DistError, match=r"lacks tests/test_dist\.py"):
        dist.check_sdist(names - {"tests/test_dist.py"}, TRACKED)


def test_wheels_that_differ_are_told_apart_by_file() -> None:
    dist.check_same({"a.py": b"1"}, {"a.py": b"1"})
    with pytest.raises(dist.DistError, match=r"differ: a\.py, b\.py\."):
        dist.check_same({"a.py": b"1", "c.py": b"3"}, {"a.py": b"2", "b.py": b"2", "c.py": b"3"})


def test_archives_are_read_without_folders(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "x.whl", "w") as wheel:
        wheel.writestr("stepladder/", "")
        wheel.writestr("stepladder/py.typed", "")
    with tarfile.open(tmp_path / "x.tar.gz", "w:gz") as sdist:
        sdist.addfile(tarfile.TarInfo("stepladder-1.0/src/a.py"), io.BytesIO())
        folder = tarfile.TarInfo("stepladder-1.0/src")
        folder.type = tarfile.DIRTYPE
        sdist.addfile(folder)
    assert dist.wheel_files(tmp_path / "x.whl") == {"stepladder/py.typed": b""}
    assert dist.sdist_names(tmp_path / "x.tar.gz") == {"src/a.py"}


def test_a_build_that_leaves_no_wheel_or_two_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dist.DistError, match=r"expected one \*\.whl .* got none"):
        dist.only(tmp_path, "*.whl")
    for name in ("a.whl", "b.whl"):
        (tmp_path / name).touch()
    with pytest.raises(dist.DistError, match=r"got a\.whl, b\.whl"):
        dist.only(tmp_path, "*.whl")


def test_a_command_that_fails_is_shown_with_what_it_wrote() -> None:
    fails = [sys.executable, "-c", "import sys; sys.exit('the disk is full')"]
    with pytest.raises(dist.DistError, match=r"the build failed with exit status 1(.|\n)*disk"):
        dist.run(fails, "the build")
    with pytest.raises(dist.DistError, match="the build couldn't start"):
        dist.run(["no-such-command"], "the build")


def test_pip_keeps_to_the_pins_and_python_to_its_own_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PYTHONPATH", "somewhere")
    show = "import os; print(os.environ.get('PYTHONPATH'), os.environ['PIP_CONSTRAINT'])"
    assert dist.run([sys.executable, "-c", show], "looking").split() == [
        "None",
        str(ROOT / "constraints.txt"),
    ]


def test_the_quick_start_is_that_of_the_readme() -> None:
    text = dist.quick_start()
    assert text.startswith("import stepladder as sl\n")
    assert "step.recourse(" in text
    compile(text, "README.md", "exec")


def test_the_citation_names_this_version_and_the_paper() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == sl.__version__
    assert citation["license"] == "Apache-2.0"
    paper = citation["preferred-citation"]
    assert paper["title"].startswith("Simple Steps to Success")
    assert paper["url"] in (ROOT / "README.md").read_text(encoding="utf-8")
