"""Which small faults in the rooms that promises rest on would pass the tests unseen.

    python benchmarks/mutants.py                             100 faults, most of an hour
    python benchmarks/mutants.py --count 10 --only feasible  a few, in the modules so named
    python benchmarks/mutants.py --seed 1                    other ones

Each fault is put alone into a copy of the sources, on which the tests that concern its module run
until one fails. What survives is for a person to read: a fault that changes nothing, only the
time it takes, or a test that is missing.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
PACKAGE = Path("src/stepladder")
OWN = "{folder}/test_{name}"
STEP = ["frozen", "methods/test_reviewed.py", "methods/test_step.py"]
STEP += ["methods/step/test_private.py", "methods/test_completeness.py", "contract"]
TESTS = {
    "table/feasible.py": [OWN, "methods/test_step.py", "contract/test_rules.py"],
    "model/scorer.py": [OWN],
    "model/asking.py": ["model/test_scorer.py"],
    "methods/step/": [OWN, *STEP],
    "privacy/": [OWN, "methods/step/test_private.py", "privacy/test_audit.py"],
    "metrics/": [OWN],
}
"""The tests that concern a module, the quickest first."""

SWAPS: list[tuple[type[ast.AST], type[ast.AST]]] = [
    *[(ast.Lt, ast.LtE), (ast.Gt, ast.GtE), (ast.Lt, ast.Gt), (ast.LtE, ast.GtE)],
    *[(ast.Eq, ast.NotEq), (ast.Is, ast.IsNot), (ast.In, ast.NotIn), (ast.And, ast.Or)],
    *[(ast.Add, ast.Sub), (ast.Mult, ast.Div), (ast.FloorDiv, ast.Mod), (ast.BitAnd, ast.BitOr)],
]
NAMES = [("min", "max"), ("minimum", "maximum"), ("argmin", "argmax"), ("any", "all")]
SILENT = {"annotation", "returns", "decorator_list"}
SHAPING = {"axis", "keepdims", "strict", "dtype", "copy", "kind"}
"""Arguments whose change crashes at once or changes nothing."""


@dataclass(frozen=True)
class Mutant:
    """A module, named by its path within the package, with one fault on a line of it."""

    module: str
    line: int
    source: str
    change: str


def mutants(module: str) -> Iterator[Callable[[], Mutant]]:
    """Every fault this script knows of; each can be made only until the next is asked for."""
    tree = ast.parse((ROOT / PACKAGE / module).read_text(encoding="utf-8"))
    original = ast.unparse(tree)

    def mutant(line: int) -> Mutant:
        source = ast.unparse(ast.fix_missing_locations(tree))
        return Mutant(module, line, source, _change(original, source))

    for node, field, index, part, line in list(_parts(tree, 0)):
        for new in _faults(part, field):
            _put(node, field, index, new)
            yield partial(mutant, line)
            _put(node, field, index, part)


def _put(node: ast.AST, field: str, index: int | None, part: ast.AST) -> None:
    if index is None:
        setattr(node, field, part)
    else:
        getattr(node, field)[index] = part


def _change(before: str, after: str) -> str:
    """The first line that differs, as it was and as it is."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    return next(f"{old.strip()}  →  {new.strip()}" for old, new in pairs if old != new)


def _parts(node: ast.AST, line: int) -> Iterator[tuple[ast.AST, str, int | None, ast.AST, int]]:
    """Each part of the code: its node, the field and index there, the part itself, its line.

    Without messages, and without what is declared at the top of a module.
    """
    for field, value in ast.iter_fields(node):
        parts = enumerate(value) if isinstance(value, list) else [(None, value)]
        for index, part in parts:
            if isinstance(part, ast.AST) and field not in SILENT and not _is_noise(part, node):
                here = getattr(part, "lineno", line)
                yield node, field, index, part, here
                yield from _parts(part, here)


def _is_noise(part: ast.AST, node: ast.AST) -> bool:
    if isinstance(part, ast.keyword):
        return part.arg in SHAPING
    is_declared = isinstance(node, ast.Module) and isinstance(part, ast.Assign | ast.AnnAssign)
    return is_declared or isinstance(part, ast.Raise | ast.JoinedStr)


def _faults(part: ast.AST, field: str) -> Iterator[ast.AST]:
    """What could be there instead."""
    for pair in SWAPS:
        if type(part) in pair:
            yield pair[type(part) is pair[0]]()
    match part:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(not value)
        case ast.Constant(value=int() | float() as number) if number in (0, 1):
            yield ast.Constant(1 - number)
        case ast.UnaryOp(op=ast.Not() | ast.Invert() | ast.USub(), operand=operand):
            yield operand
        case ast.Attribute(value=value, attr=name, ctx=ctx):
            yield from (ast.Attribute(value, other, ctx) for other in _opposites(name))
        case ast.Name(id=name, ctx=ctx):
            yield from (ast.Name(other, ctx) for other in _opposites(name))
        case ast.Slice(lower=lower, upper=upper, step=step) if lower or upper:
            yield ast.Slice(None, upper, step) if lower else ast.Slice(lower, None, step)
        case ast.Return(value=ast.BinOp(op=ast.BitAnd() | ast.BitOr()) as mask):
            yield ast.Return(ast.UnaryOp(ast.Invert(), mask))
        case ast.Expr(value=ast.Call()):
            yield ast.Pass()
    if field == "test" and isinstance(part, ast.Name | ast.Attribute | ast.Call | ast.BoolOp):
        yield ast.UnaryOp(ast.Not(), part)


def _opposites(name: str) -> list[str]:
    return [pair[name == pair[0]] for pair in NAMES if name in pair]


def tests_of(module: str) -> list[str]:
    """What to run for a module, as far as there is such a test."""
    folder, name = Path(module).parent, Path(module).name
    listed = next(tests for start, tests in TESTS.items() if module.startswith(start))
    paths = [Path("tests", test.format(folder=folder, name=name)) for test in listed]
    return [str(path) for path in dict.fromkeys(paths) if (ROOT / path).exists()]


class Copy:
    """A copy of the sources and tests, where faults are tried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.seconds: dict[str, float] = {}
        for name in ("src", "tests", "benchmarks"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.pyc"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    def measure(self, test: str) -> None:
        """See that a test passes without a fault, and how long it takes."""
        start = time.perf_counter()
        if failure := self._failure(test, 600):
            sys.exit(f"{failure} fails without any fault. Mend that first.")
        self.seconds[test] = time.perf_counter() - start

    def caught_by(self, mutant: Mutant) -> str | None:
        """The first test that fails with the fault, or takes far too long."""
        file = self.folder / PACKAGE / mutant.module
        original = file.read_text(encoding="utf-8")
        file.write_text(mutant.source, encoding="utf-8")
        try:
            each = ((test, 3 * self.seconds[test] + 20) for test in tests_of(mutant.module))
            return next((found for test in each if (found := self._failure(*test))), None)
        finally:
            file.write_text(original, encoding="utf-8")

    def _failure(self, test: str, limit: float) -> str | None:
        options = ["-x", "-q", "--tb=no", "-p", "no:cacheprovider", "-p", "no:randomly"]
        # Without bytecode, which two faults in a second would share.
        settings = {"OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        settings["PYTHONPATH"] = str(self.folder / "src")
        with (self.folder / "output").open("w+", encoding="utf-8") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "pytest", test, *options],
                cwd=self.folder,
                env={**os.environ, **settings},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            try:
                status = process.wait(limit)
            except subprocess.TimeoutExpired:
                return f"{test} (took too long)"
            finally:
                if process.poll() is None:  # its children as well
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
            output.seek(0)
            lines = [line for line in output if line.startswith(("FAILED", "ERROR"))]
        return (lines[0].split()[1] if lines else test) if status else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=100, help="how many faults to try")
    parser.add_argument("--seed", type=int, default=0, help="which ones")
    parser.add_argument("--only", default="", help="only modules whose path has this in it")
    options = parser.parse_args()
    files = sorted((ROOT / PACKAGE).rglob("*.py"))
    modules = [file.relative_to(ROOT / PACKAGE).as_posix() for file in files]
    modules = [m for m in modules if m.startswith(tuple(TESTS)) and options.only in m]
    count = sum(1 for module in modules for _ in mutants(module))
    chosen = set(random.Random(options.seed).sample(range(count), min(options.count, count)))
    known = (make for module in modules for make in mutants(module))
    picked = [make() for number, make in enumerate(known) if number in chosen]
    print(f"{len(picked)} of {count} faults in {len(modules)} modules", flush=True)
    survived = 0
    with TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for test in dict.fromkeys(test for mutant in picked for test in tests_of(mutant.module)):
            copy.measure(test)
        for mutant in picked:
            caught = copy.caught_by(mutant)
            survived += caught is None
            verdict = f"caught by {caught}" if caught else "SURVIVED"
            print(f"{mutant.module}:{mutant.line}  {mutant.change}  {verdict}", flush=True)
    print(f"{len(picked) - survived} caught, {survived} survived")


if __name__ == "__main__":
    main()
