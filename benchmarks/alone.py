"""One person alone: how often the model is asked, and whose time it takes.

    python benchmarks/alone.py run                     everything: about ten minutes
    python benchmarks/alone.py run --only 'adult-*'    only tasks whose names fit
    python benchmarks/alone.py run --people 5 --no-peers
    python benchmarks/alone.py lines                   what is aimed at, met or missed

Each task is answered in new processes, by the commit before and by this code in turn, so that the
first answer after `fit` is really the first. What is measured goes to results/performance/alone.json,
which `python benchmarks/performance.py page` shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatch
from typing import Any

import numpy as np
from alone_peers import PEERS, beside
from performance_tasks import (
    ARRAYS,
    Clock,
    Figures,
    array_cases,
    by_code,
    cases,
    keep,
    prepared,
    quiet_threads,
    read,
)
from performance_lines import Line, show

PEOPLE = 30
REPEATS = 3
"""How often each person is asked about; the quickest time counts."""

CALLS, ARRAYS_MS = 15, 15.0
"""What is aimed at: calls of the model, and milliseconds in all for one that takes arrays."""


def measured(table: str, kind: str, people: int) -> Figures:
    """One task by the code of this process: medians over people, times in milliseconds."""
    case, clock = prepared(table, kind), Clock()
    clock.attach(case.given)
    quiet_threads()
    began = time.perf_counter()
    step = case.fitted()
    fit = 1e3 * (time.perf_counter() - began)
    rows = case.task.people.head(people + 1)
    first, _ = _asked(step, rows.iloc[[people]], clock)
    each, routes = [], []
    for i in range(people):
        answers = [_asked(step, rows.iloc[[i]], clock) for _ in range(REPEATS)]
        each.append(min((told for told, _ in answers), key=lambda told: told["ms"]))
        routes.append(answers[0][1])
    middle = {name: round(float(np.median([one[name] for one in each])), 3) for name in each[0]}
    return {
        **middle,
        "most_calls": max(one["calls"] for one in each),
        "most_ms": round(max(one["ms"] for one in each), 3),
        "first_ms": round(first["ms"], 3),
        "fit_ms": round(fit, 1),
        "people": people,
        "routes": round(float(np.mean(routes)), 3),
    }


def _asked(step: Any, row: Any, clock: Clock) -> tuple[Figures, int]:
    """What one answer took, in milliseconds, and how many routes it has."""
    clock.reset()
    wall, cpu = time.perf_counter(), time.process_time()
    result = step.recourse(row)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    told = {
        "calls": clock.calls,
        "rows": clock.rows,
        "ms": 1e3 * wall,
        "model_ms": 1e3 * clock.wall,
        "ours_ms": 1e3 * (wall - clock.wall),
        "cpu_ms": 1e3 * cpu,
        "ours_cpu_ms": 1e3 * (cpu - clock.cpu),
    }
    return told, int((result.final["outcome"] == "reached").sum())


def run(pattern: str, people: int, peers: bool, before: bool) -> None:
    """Measure every task that fits, one after the other, and keep what was measured."""
    found = read("alone")
    for table, kind in [*cases(), *array_cases()]:
        name = f"{table}-{kind}"
        if not fnmatch(name, pattern):
            continue
        told: Figures = found.get(name, {})
        if before:
            told["before"] = by_code("alone.py", True, "task", table, kind, "--people", people)
        told["now"] = by_code("alone.py", False, "task", table, kind, "--people", people)
        if peers and kind not in ARRAYS:
            told["peers"] = beside(table, kind)
        found[name] = told
        keep("alone", found)
        print(_told(name, told), flush=True)


def _told(name: str, task: Figures) -> str:
    text = f"{name}:"
    for code in ("before", "now"):
        if code in task:
            one = task[code]
            text += (
                f"\n  {code:7} {one['calls']:5.0f} calls {one['rows']:6.0f} rows {one['ms']:7.1f} ms, "
                f"model {one['model_ms']:6.1f}, ours {one['ours_ms']:6.1f} "
                f"(CPU: {one['cpu_ms']:.1f}, ours {one['ours_cpu_ms']:.1f}), "
                f"first {one['first_ms']:.1f}, {one['routes']:.2f} routes"
            )
    for peer, one in task.get("peers", {}).items():
        text += f"\n  {PEERS[peer].label}: " + (
            one["why_not"] if "why_not" in one else f"{one['ms']:.0f} ms, {one['routes']:.2f} routes, {one['valid']:.2f} of them valid"
        )
    return text


def lines(found: Figures) -> list[Line]:
    """What is aimed at, and what was measured."""
    raw = {n: t["now"] for n, t in found.items() if not n.endswith(ARRAYS) and "now" in t}
    arrays = {n: t["now"] for n, t in found.items() if n.endswith(ARRAYS) and "now" in t}
    everything = {**raw, **arrays}
    worst = max(everything, key=lambda n: everything[n]["calls"])
    slow = max(everything, key=lambda n: everything[n]["ours_ms"] / everything[n]["model_ms"])
    ratio = {n: t["ours_ms"] / t["model_ms"] for n, t in raw.items()}
    told = [
        Line(
            f"At most {CALLS} calls of the model (median of each task)",
            all(t["calls"] <= CALLS for t in everything.values()),
            f"{np.median([t['calls'] for t in everything.values()]):.0f}; at most "
            f"{everything[worst]['calls']:.0f} ({worst})",
        ),
    ]
    if ratio:
        slow = max(ratio, key=ratio.__getitem__)
        told.append(
            Line(
                "Our own time below the model's",
                all(r < 1 for r in ratio.values()),
                f"{np.mean(list(ratio.values())):.2f} times; at most {ratio[slow]:.2f} ({slow})",
            )
        )
    if arrays:
        slow = max(arrays, key=lambda n: arrays[n]["ms"])
        told.append(
            Line(
                f"At most {ARRAYS_MS:g} ms in all where the model takes arrays",
                all(t["ms"] <= ARRAYS_MS for t in arrays.values()),
                f"{np.mean([t['ms'] for t in arrays.values()]):.1f} ms; at most "
                f"{arrays[slow]['ms']:.1f} ({slow})",
            )
        )
    times = {
        f"{PEERS[peer].label}, {name}": one["ms"] / found[name]["now"]["ms"]
        for name in raw
        for peer, one in found[name].get("peers", {}).items()
        if PEERS[peer].several and "ms" in one
    }
    if times:
        least = min(times, key=times.__getitem__)
        told.append(
            Line(
                "Ahead of every peer that gives several routes",
                all(t > 1 for t in times.values()),
                f"{np.median(list(times.values())):.0f} times as fast; at least "
                f"{times[least]:.1f} times ({least})",
            )
        )
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "task", "lines"])
    parser.add_argument("task", nargs="*", help="table and kind, of a single task")
    parser.add_argument("--only", default="*")
    parser.add_argument("--people", type=int, default=PEOPLE)
    parser.add_argument("--peers", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--before", action=argparse.BooleanOptionalAction, default=True)
    given = parser.parse_args()
    if given.what == "task":
        print(json.dumps(measured(*given.task, given.people)))
        return
    if given.what == "run":
        run(given.only, given.people, given.peers, given.before)
    sys.exit(not show(lines(read("alone"))))


if __name__ == "__main__":
    main()
