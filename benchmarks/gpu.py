"""Equation 1 and the published method on an NVIDIA GPU: how fast, and how far off.

    python benchmarks/gpu.py                  everything, some minutes
    python benchmarks/gpu.py --only kernel    one part: kernel, hard or method
    python benchmarks/gpu.py --small          a thousandth of it, to see that it works

What is measured goes to results/performance/gpu.json, or to the folder that OUT names. Ends with
status 1 if a promise isn't kept. Errors are beside the sum of the terms' lengths, at sampled points
in float64 and from differences. Times are medians of warm runs, by the GPU's own clock.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import stepladder as sl
from stepladder.kernels import gpu
from stepladder.kernels.alpha import Alpha, Power, Sloped, Unit, Volcano
from stepladder.kernels.distance import whitening

ROOT = Path(__file__).parents[1]
POINTS, POSITIVES = 65_536, 1_048_576
LIMITS = {32: 55.0, 64: 90.0}
"""Columns → the most milliseconds."""
ERROR = 1e-5
PEOPLE, REFERENCE, STEPS, COLUMNS, SECONDS = 100_000, 1_000_000, 20, 32, 5.0
SAMPLED = 64
"""At how many points errors are measured."""
HELD_AGAINST = 100
"""How many people's paths are held against NumPy's."""

Tensor = torch.Tensor
Figures = dict[str, Any]


def milliseconds(action: Callable[[], object], repeats: int = 7, warm: int = 2) -> float:
    """The median of several runs by the GPU's clock, once it's warm."""
    for _ in range(warm):
        action()
    times = []
    for _ in range(repeats):
        made: Any = torch.cuda.Event
        start, end = made(enable_timing=True), made(enable_timing=True)
        start.record()
        action()
        end.record()
        torch.cuda.synchronize()
        times.append(float(start.elapsed_time(end)))
    return statistics.median(times)


def heading(text: str) -> None:
    print(f"\n{text}\n{'-' * len(text)}", flush=True)


def verdict(kept: bool) -> str:
    return "kept" if kept else "MISSED"


# ---- 1. the kernel ------------------------------------------------------------------------------


def drawn(n: int, columns: int, seed: int, shift: float = 0.0) -> Tensor:
    random = torch.Generator(device="cuda").manual_seed(seed)
    there: Any = {"dtype": torch.float64, "device": "cuda", "generator": random}
    return torch.randn(n, columns, **there) + shift


def error(
    found: Tensor, points: Tensor, positives: Tensor, alpha: Alpha, norm: Tensor | None = None
) -> float:
    """The largest error among some points, beside the sum of the terms' lengths."""
    chosen = torch.linspace(0, len(points) - 1, SAMPLED, device=points.device).long()
    x = points[chosen]
    wanted, lengths = torch.zeros_like(x), x.new_zeros(len(x))
    for start in range(0, len(positives), 2**13):
        moves = positives[None, start : start + 2**13] - x[:, None]
        mapped = moves if norm is None else moves @ norm.T
        distances = mapped.square().sum(dim=2).sqrt()
        weights = torch.as_tensor(alpha(distances.cpu().numpy())).to(x.device)
        weights = torch.where(distances == 0, 0.0, weights)
        wanted += (weights[..., None] * moves).sum(dim=1)
        lengths += (weights * moves.norm(dim=2)).sum(dim=1)
    return float(((found[chosen] - wanted).norm(dim=1) / lengths).max())


def plain(points: Tensor, positives: Tensor, cutoff: float, tile: int = 2**14) -> Tensor:
    """What one would write in torch: a matrix of distances at a time, in float32."""
    x, y = points.float(), positives.float()
    x2, y2 = x.square().sum(dim=1, keepdim=True), y.square().sum(dim=1)
    total, weight = torch.zeros_like(x), torch.zeros_like(x2)
    for start in range(0, len(y), tile):
        some = slice(start, start + tile)
        squared = torch.addmm(y2[some] + x2, x, y[some].T, alpha=-2.0)
        weights = squared.clamp_(min=cutoff**2).reciprocal_()
        total += weights @ y[some]
        weight += weights.sum(dim=1, keepdim=True)
    return total - weight * x


def kernel(small: bool) -> tuple[Figures, bool]:
    """The two sizes that are promised, beside plain torch."""
    n, count = (POINTS // 64, POSITIVES // 64) if small else (POINTS, POSITIVES)
    heading(f"Equation 1: {n:,} points × {count:,} positives, volcano of degree 2")
    figures, kept, alpha = {}, True, Volcano()
    for columns, limit in LIMITS.items():
        points, positives = drawn(n, columns, 0, shift=-0.5), drawn(count, columns, 1)
        held = gpu.prepare(positives.cpu().numpy(), None, torch.device("cuda"))
        fused = partial(gpu.cluster_direction, points, held, alpha)
        found, took = error(fused(), points, positives, alpha), milliseconds(fused)
        torch_took = milliseconds(partial(plain, points, positives, alpha.cutoff), 3, 1)
        fast = took <= limit or small
        kept &= fast and found <= ERROR
        figures[str(columns)] = {
            "points": n, "positives": count, "milliseconds": round(took, 2), "error": found,
            "plain_torch_milliseconds": round(torch_took, 1),
        }  # fmt: skip
        print(
            f"{columns} columns: {took:.1f} ms (promised {limit:.0f}: {verdict(fast)}), plain "
            f"torch {torch_took:.0f} ms; error {found:.1e} (promised {ERROR:.0e}: "
            f"{verdict(found <= ERROR)})"
        )
    return figures, kept


# ---- 2. what is hard ----------------------------------------------------------------------------


def hard_cases(n: int, count: int) -> dict[str, tuple[Tensor, Tensor, Alpha, Tensor | None]]:
    """Points, positives, α and a norm that the kernel has trouble with, or has to notice."""
    points, positives = drawn(n, 24, 0, shift=-0.5), drawn(count, 24, 1)
    touching = points.clone()
    touching[::3] = positives[: len(touching[::3])]
    touching[1::3] = positives[: len(touching[1::3])] + 1e-4 * touching[1::3]
    heavy = positives * torch.exp(1.5 * drawn(count, 1, 2))
    wide = positives.clone()
    wide[0] *= 1e8
    whitened = torch.as_tensor(whitening(positives.cpu().numpy())).cuda()
    volcano = Volcano()
    return {
        "plain": (points, positives, volcano, None),
        "a few positives": (points, positives[:100], volcano, None),
        "one positive": (touching, positives[:1], volcano, None),
        "on and beside positives": (touching, positives, volcano, None),
        "on them, steep": (touching, positives, Volcano(8, 0.1), None),
        "heavy tails": (points, heavy, volcano, None),
        "too wide for float16": (points, wide, volcano, None),
        "small units": (points * 1e-6, positives * 1e-6, Volcano(2, 5e-7), None),
        "large units": (points * 1e6, positives * 1e6, Volcano(2, 5e5), None),
        "far away": (points + 1e4, positives, volcano, None),
        "Volcano(4, 0.5)": (points, positives, Volcano(4, 0.5), None),
        "Volcano(1.7, 0.8)": (points, positives, Volcano(1.7, 0.8), None),
        "Power(3)": (points, positives, Power(3), None),
        "Unit": (points, positives, Unit(), None),
        "Unit, touching": (touching, positives, Unit(), None),
        "Sloped(4)": (points, positives, Sloped(4.0), None),
        "Sloped(0.3)": (points, positives, Sloped(0.3), None),
        "per distance": (points, positives, volcano.per_distance(), None),
        "whitened": (points, positives, volcano, whitened),
        "100 columns": (drawn(n, 100, 3, -0.5), drawn(count, 100, 4), volcano, None),
        "300 columns": (drawn(n, 300, 3, -0.5), drawn(count // 4, 300, 4), volcano, None),
    }


def hard(small: bool) -> tuple[Figures, bool]:
    """The error of every kind of α, and where float16 or cancellation would spoil it."""
    n, count = (1_000, 5_000) if small else (20_000, 100_000)
    heading(f"Hard cases: {n:,} points × {count:,} positives, 24 columns unless it says otherwise")
    figures, kept = {}, True
    for name, (points, positives, alpha, norm) in hard_cases(n, count).items():
        there = torch.device("cuda")
        scale = None if norm is None else norm.cpu().numpy()
        held = gpu.prepare(positives.cpu().numpy(), scale, there)
        found = gpu.cluster_direction(points, held, alpha)
        worst = np.nan_to_num(error(found, points, positives, alpha, norm), nan=0.0)
        took = milliseconds(partial(gpu.cluster_direction, points, held, alpha), 3, 1)
        kept &= worst <= ERROR and bool(torch.isfinite(found).all())
        figures[name] = {"error": worst, "milliseconds": round(took, 2)}
        print(f"{name:26} error {worst:.1e}: {verdict(worst <= ERROR)}, {took:8.2f} ms", flush=True)
    return figures, kept


# ---- 3. the published method --------------------------------------------------------------------


def network(columns: int) -> torch.nn.Module:
    """A small network that likes whoever is above average."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(
        torch.nn.Linear(columns, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64), torch.nn.ReLU(),
        torch.nn.Linear(64, 1), torch.nn.Sigmoid(),
    ).cuda()  # fmt: skip
    pace = torch.optim.Adam(module.parameters(), lr=1e-2)
    for step in range(200):
        points = drawn(4096, columns, step).float()
        wanted = (points.mean(dim=1) > 0).float()[:, None]
        pace.zero_grad()
        torch.nn.functional.binary_cross_entropy(module(points), wanted).backward()  # type: ignore[no-untyped-call]
        pace.step()
    return module


def table(rows: int, module: torch.nn.Module, *, accepted: bool) -> pd.DataFrame:
    """Rows that the network accepts by far, or turns down by far."""
    found: list[np.ndarray[Any, Any]] = []
    for seed in range(1000, 2000):
        points = drawn(2 * rows, COLUMNS, seed + 500 * accepted)
        with torch.no_grad():
            score = module(points.float())[:, 0]
        found.append(points[(score > 0.9) if accepted else (score < 0.1)].cpu().numpy())
        if sum(map(len, found)) >= rows:
            break
    values = np.concatenate(found)[:rows]
    return pd.DataFrame(values, columns=[f"x{i}" for i in range(COLUMNS)])


def method(small: bool) -> tuple[Figures, bool]:
    """`recourse` for many people by the published method, from the call to the result."""
    from sklearn.cluster import MiniBatchKMeans

    people, rows = (PEOPLE // 1000, REFERENCE // 100) if small else (PEOPLE, REFERENCE)
    heading(f"The published method: {people:,} people, {rows:,} positives, {STEPS} steps, 3 paths")
    module = network(COLUMNS)
    reference, asking = table(rows, module, accepted=True), table(people, module, accepted=False)
    schema = sl.Schema([sl.Numeric(name) for name in reference.columns])

    def fitted(backend: Any) -> sl.StEP:
        clusterer = MiniBatchKMeans(3, n_init=1, random_state=0)
        made = sl.StEP.published(
            step_size=0.1, max_steps=STEPS, clusterer=clusterer, backend=backend
        )
        plain = sl.Space.fit(schema, reference)
        # Rows are points already: the network was trained on them as they are.
        space = sl.Space(plain.schema, plain.template, 0 * plain.center, 0 * plain.scale + 1)
        return made.fit(reference, sl.encoded(module), space=space, goal=sl.Goal(threshold=0.5))

    step = fitted("cuda")
    assert len(step.reference_.points) == rows
    step.recourse(asking.head(1000))  # compiles the kernel and puts the positives on the device
    times = []
    for _ in range(3):
        start = time.perf_counter()
        step.recourse(asking)
        times.append(time.perf_counter() - start)
    seconds, result = statistics.median(times), step.recourse(asking)
    taken = np.array([[path.steps for path in routes] for routes in result.routes])
    reached = float(np.mean([p.outcome == "reached" for own in result.routes for p in own]))
    few = asking.iloc[:: max(1, people // HELD_AGAINST)]
    gap, same = held_against(fitted("numpy").recourse(few), step.recourse(few))
    stated = float(result.settings["tolerance"])
    kept = (small or seconds <= SECONDS) and gap <= stated
    print(
        f"{seconds:.2f} s (promised {SECONDS:.0f}: {verdict(small or seconds <= SECONDS)}; runs: "
        f"{', '.join(f'{t:.2f}' for t in times)}), {taken.mean():.1f} steps a path, "
        f"{reached:.0%} reach the goal\npoints of {len(few)} people's paths are at most {gap:.1e} "
        f"from NumPy's (stated {stated:.0e}: {verdict(gap <= stated)}), {same:.1%} end alike"
    )
    return {
        "people": people, "positives": rows, "steps": STEPS, "paths": 3, "columns": COLUMNS,
        "seconds": round(seconds, 2), "runs": [round(t, 2) for t in times],
        "mean_steps": float(taken.mean()), "reached": reached, "gap": gap, "same_outcome": same,
    }, kept  # fmt: skip


def held_against(wanted: sl.Recourse, given: sl.Recourse) -> tuple[float, float]:
    """How far points of paths are from those wanted, and the share of paths that end alike."""
    gap, alike = 0.0, []
    for mine, theirs in zip(given.routes, wanted.routes, strict=True):
        for path, other in zip(mine, theirs, strict=True):
            alike.append(path.outcome == other.outcome and path.steps == other.steps)
            if alike[-1]:
                gap = max(gap, float(np.abs(path.points - other.points).max()))
    return gap, float(np.mean(alike))


# ---- the command --------------------------------------------------------------------------------


def main() -> int:
    parts = {"kernel": kernel, "hard": hard, "method": method}
    parser = argparse.ArgumentParser(description="How fast Stepladder is on this machine's GPU.")
    parser.add_argument("--only", choices=parts, help="run one part")
    parser.add_argument("--small", action="store_true", help="a thousandth of it")
    chosen = parser.parse_args()
    if not torch.cuda.is_available():
        print(
            "Skipped: torch sees no NVIDIA GPU here. What was measured is in results/performance."
        )
        return 0
    folder = Path(os.environ.get("OUT", ROOT / "results" / "performance"))
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "gpu.json"
    figures: Figures = json.loads(file.read_text()) if file.exists() else {}
    figures["device"] = torch.cuda.get_device_name()
    figures["torch"] = torch.__version__
    kept = True
    for name in [chosen.only] if chosen.only else parts:
        figures[name], fine = parts[name](chosen.small)
        kept &= fine
    if not chosen.small:
        file.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
