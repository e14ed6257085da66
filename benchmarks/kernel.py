"""Equation 1 beside this machine's matrix product, and beside torch and numba.

    python benchmarks/kernel.py                       some minutes
    python benchmarks/kernel.py --quick               a small shape, to see that it works
    python benchmarks/kernel.py --beside FOLDER       also the library of another checkout

Counted are 4 · columns operations per pair: two for each column of the distance and two for each of
the sum. All is timed in turns, and the best time counts: of one thread its CPU time, of two the
clock's, which says little where the machine has other work. What is found goes to
results/performance/kernel.json. torch and numba are measured where they are installed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "results" / "performance" / "kernel.json"
SHAPES = ((4096, 16_384), (1024, 14_000))
QUICK = ((256, 4096),)
COLUMNS = (24, 64)
PROMISED = {"float64": 0.50, "float32": 0.45}
TOLERANCE = {"float64": 1e-12, "float32": 1e-5}
OURS, BEFORE = "NumPy tiles", "NumPy tiles, before"
REPEATS = 5
MATMUL = 2048

Figure = dict[str, Any]


def main() -> int:
    parser = argparse.ArgumentParser(description="How fast equation 1 is on this machine.")
    parser.add_argument("--quick", action="store_true", help="one small shape, nothing written")
    parser.add_argument("--beside", type=Path, help="another checkout, whose kernel is timed too")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        print(json.dumps(measured(**json.loads(chosen.child))))
        return 0
    figures: list[Figure] = []
    print(f"{'dtype':8} {'threads':>7} {'columns':>7} {'people × positives':>18} {'':22} of matmul")
    for case in cases(QUICK if chosen.quick else SHAPES):
        for figure in asked(case, chosen.beside):
            figures.append(figure)
            size = f"{figure['people']:,} × {figure['positives']:,}"
            print(
                f"{figure['dtype']:8} {figure['threads']:7} {figure['columns']:7} {size:>18} "
                f"{figure['by']:22} {figure['of_matmul']:9.0%}  {figure['ns_per_pair']:6.2f} ns",
                flush=True,
            )
    if not chosen.quick:
        for threads in sorted({figure["threads"] for figure in figures}):
            print(f"\n{threads} thread(s):", *table(figures, threads, SHAPES[0][0]), sep="\n")
        FIGURES.parent.mkdir(parents=True, exist_ok=True)
        FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    missed = [figure for figure in figures if falls_short(figure)]
    print(f"{len(missed)} of ours below what is promised" if missed else "All that is promised.")
    return 1 if missed else 0


def cases(shapes: tuple[tuple[int, int], ...]) -> list[Figure]:
    """Everything that is measured, each in a process of its own: threads are set when it starts."""
    return [
        {"dtype": dtype, "threads": threads, "columns": m, "people": n, "positives": count}
        for threads in (1, 2)
        if threads <= (os.cpu_count() or 1)
        for dtype in PROMISED
        for m in COLUMNS
        for n, count in shapes[: 1 if threads == 2 else None]
    ]


def table(figures: list[Figure], threads: int, people: int) -> list[str]:
    """Shares of the matrix product's rate, one line for each way, in Markdown."""
    shown = [f for f in figures if f["threads"] == threads and f["people"] == people]
    kinds = [(dtype, m) for dtype in PROMISED for m in COLUMNS]
    lines = [
        "| " + " | ".join(["", *(f"{dtype}, {m}" for dtype, m in kinds)]) + " |",
        "| --- |" + " --: |" * len(kinds),
    ]
    for way in dict.fromkeys(f["by"] for f in shown):
        own = {(f["dtype"], f["columns"]): f["of_matmul"] for f in shown if f["by"] == way}
        lines.append("| " + " | ".join([way, *(f"{own[kind]:.0%}" for kind in kinds)]) + " |")
    return lines


def falls_short(figure: Figure) -> bool:
    promised = figure["by"] == OURS and figure["threads"] == 1
    return promised and bool(figure["of_matmul"] < PROMISED[figure["dtype"]])


def asked(case: Figure, beside: Path | None) -> list[Figure]:
    """The figures of one case, with those of another checkout's library."""
    best = seconds(case, OURS, ROOT)
    if beside is not None:
        before = seconds(case, BEFORE, beside)
        best = best | before | {"matmul": min(best["matmul"], before["matmul"])}
    matmul = 2 * MATMUL**3 / best.pop("matmul")
    pairs = case["people"] * case["positives"]
    return [
        case
        | {
            "by": way,
            "of_matmul": round(4 * case["columns"] * pairs / taken / matmul, 3),
            "ns_per_pair": round(1e9 * taken / pairs, 3),
            "matmul_gflops": round(matmul / 1e9, 1),
        }
        for way, taken in best.items()
    ]


def seconds(case: Figure, name: str, root: Path) -> dict[str, float]:
    """What `measured` finds in a process that takes the library from `root`."""
    threads = str(case["threads"])
    path = os.pathsep.join([str(root.resolve() / "src"), os.environ.get("PYTHONPATH", "")])
    environment = os.environ | {
        "PYTHONPATH": path,
        "OMP_NUM_THREADS": threads,
        "OPENBLAS_NUM_THREADS": threads,
        "NUMBA_NUM_THREADS": threads,
    }
    child = [sys.executable, __file__, "--child", json.dumps(case | {"name": name})]
    answer = subprocess.run(child, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def measured(
    name: str, dtype: DTypeLike, threads: int, columns: int, people: int, positives: int
) -> dict[str, float]:
    """Seconds of the matrix product and of every way of doing equation 1, which take turns."""
    from stepladder.kernels.alpha import Volcano
    from stepladder.kernels.direction import cluster_direction, prepare

    rng = np.random.default_rng(0)
    points = rng.normal(size=(people, columns))
    ready = prepare(rng.normal(size=(positives, columns)), dtype=dtype)
    square = rng.random((MATMUL, MATMUL)).astype(dtype)
    ways: dict[str, Callable[[], Any]] = {
        "matmul": lambda: square @ square,
        name: lambda: cluster_direction(points, ready, Volcano()),
    }
    if name == OURS:
        from kernel_rivals import rivals

        for rival, direction in rivals().items():
            if threads == 1 or rival != "numba between products":
                ways[rival] = lambda direction=direction: direction(points, ready)  # type: ignore[misc]
    check(ways, name, str(np.dtype(dtype)))
    clock = time.process_time if threads == 1 else time.perf_counter
    best = dict.fromkeys(ways, np.inf)
    for _ in range(REPEATS):
        for way in ways:
            for timed in ("matmul", way):
                start = clock()
                ways[timed]()
                best[timed] = min(best[timed], clock() - start)
    return best


def check(ways: dict[str, Callable[[], Any]], name: str, dtype: str) -> None:
    """Run everything once, which warms it up, and hold the answers against each other."""
    answers = {way: action() for way, action in ways.items() if way != "matmul"}
    for way, answer in answers.items():
        gap = np.abs(answer - answers[name]).max() / np.abs(answers[name]).max()
        if gap > 10 * TOLERANCE[dtype]:
            raise SystemExit(f"{way} differs from {name} by {gap:.1e} in {dtype}.")


if __name__ == "__main__":
    sys.exit(main())
