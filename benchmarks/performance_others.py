"""What the cluster's, the kernel's and the GPU's benchmarks aim at and measured.

Each of them (`cluster.py`, `kernel.py`, `gpu.py`) writes its own figures; where a file isn't there,
there's no line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from performance_lines import Line

OF_MATMUL = {"float64": 0.50, "float32": 0.45}
OURS = "NumPy tiles"
GPU_MS = {"32": 55.0, "64": 90.0}
GPU_ERROR, GPU_SECONDS = 1e-5, 5.0


def cluster(found: Mapping[str, Any]) -> Iterator[Line]:
    if speed := found.get("speed"):
        times = f"{speed['times_faster']:.2f} times ({speed['people']:,} people)"
        yield Line("Dask: two workers at least 1.7 times as fast as one", speed["kept"], times)
    if killed := found.get("killed"):
        number = f"{killed['people']:,} people, a worker killed"
        yield Line("Dask: a worker that is killed changes nothing", killed["kept"], number)
    if rows := found.get("reference"):
        number = f"{rows['reference_gib']:g} GiB for {rows['workers_memory_gib']:g} GiB"
        yield Line("Dask: reference rows of four times the workers' memory", rows["kept"], number)


def kernel(found: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    for dtype, least in OF_MATMUL.items():
        own = [
            one
            for one in found
            if (one["by"], one["threads"], one["dtype"]) == (OURS, 1, dtype)
            and one["columns"] in (24, 64)
        ]
        if own:
            worst = min(own, key=lambda one: float(one["of_matmul"]))
            yield Line(
                f"Equation 1 at no less than {least:.0%} of the matrix product, {dtype}",
                worst["of_matmul"] >= least,
                f"at least {worst['of_matmul']:.0%} ({worst['columns']} columns, "
                f"{worst['people']:,} × {worst['positives']:,})",
            )


def gpu(found: Mapping[str, Any]) -> Iterator[Line]:
    for columns, most in GPU_MS.items():
        if one := found.get("kernel", {}).get(columns):
            yield Line(
                f"GPU: 65,536 × 1,048,576 × {columns} columns in {most:g} ms, error at most 1e-5",
                one["milliseconds"] <= most and one["error"] <= GPU_ERROR,
                f"{one['milliseconds']:.1f} ms, error {one['error']:.0e}; plain torch "
                f"{one['plain_torch_milliseconds']:,.0f} ms",
            )
    if one := found.get("method"):
        yield Line(
            "GPU: published, 100,000 people, 1,000,000 positives, 20 steps in 5 s",
            one["seconds"] <= GPU_SECONDS,
            f"{one['seconds']:.1f} s",
        )


def pairs_per_second(found: Mapping[str, Any]) -> float | None:
    """How many pairs of 32 columns one GPU compares in a second, where that was measured."""
    one = found.get("kernel", {}).get("32")
    return None if one is None else 1e3 * one["points"] * one["positives"] / one["milliseconds"]
