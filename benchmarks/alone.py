"""One person alone: how often the model is asked, and whose time it takes.

    python benchmarks/alone.py run                     everything: about ten minutes
    python benchmarks/alone.py run --only 'adult-*'    only tasks whose names fit
    python benchmarks/alone.py run --people 5 --no-peers
    python benchmarks/alone.py lines                   what is aimed at, met or missed

Each task is answered in new processes, by the commit before and by this code in turn, so that the
first answer after `fit` is really the first. What is measured goes to
results/performance/alone.json, which `python benchmarks/performance.py` shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from typing import Any

import numpy as np
from alone_peers import PEERS, beside
from performance_lines import Line, show
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
    rows = case.task.people.head(people)
    first, _ = _asked(step, rows.iloc[[0]], clock)
    each, routes = [], []
    for i in range(len(rows)):
        answers = [_asked(step, rows.iloc[[i]], clock) for _ in range(REPEATS)]
        each.append(min((told for told, _ in answers), key=lambda told: float(told["cpu_ms"])))
        routes.append(answers[0][1])
    middle = {name: round(float(np.median([one[name] for one in each])), 3) for name in each[0]}
    return {
        **middle,
        "most_calls": max(one["calls"] for one in each),
        "most_cpu_ms": round(max(one["cpu_ms"] for one in each), 3),
        "first_cpu_ms": round(first["cpu_ms"], 3),
        "again_cpu_ms": round(each[0]["cpu_ms"], 3),
        "fit_ms": round(fit, 1),
        "people": len(rows),
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
        "model_cpu_ms": 1e3 * clock.cpu,
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
                f"\n  {code:7} {one['calls']:5.0f} calls {one['rows']:6.0f} rows, CPU "
                f"{one['cpu_ms']:7.1f} ms: model {one['model_cpu_ms']:6.1f}, ours "
                f"{one['ours_cpu_ms']:6.1f}; (on the clock {one['ms']:.1f}); the first "
                f"{one['first_cpu_ms']:.1f}, the same again {one['again_cpu_ms']:.1f}; "
                f"{one['routes']:.2f} routes"
            )
    for peer, one in task.get("peers", {}).items():
        answer = one.get("why_not") or (
            f"CPU {one['cpu_ms']:.0f} ms (on the clock {one['ms']:.0f}), {one['routes']:.2f} "
            f"routes, {one['valid']:.0%} of them valid, {one['broken']:.0%} break a rule, "
            f"{one.get('late', 0)} of {one['people']} people unanswered in time"
        )
        text += f"\n  {PEERS[peer].label}: {answer}"
    return text


def lines(found: Figures) -> list[Line]:
    """What is aimed at, and what was measured; times are the process's own, on one thread."""
    now = {name: task["now"] for name, task in found.items() if "now" in task}
    raw = {name: one for name, one in now.items() if not name.endswith(ARRAYS)}
    arrays = {name: one for name, one in now.items() if name.endswith(ARRAYS)}
    ours = {name: one["ours_cpu_ms"] / one["model_cpu_ms"] for name, one in raw.items()}
    return [
        *_most(
            f"At most {CALLS} calls of the model (median of each task)",
            {name: one["calls"] for name, one in now.items()},
            CALLS,
            "{:.0f} calls",
        ),
        *_most("Our own time below the model's", ours, 1.0, "{:.2f} of it"),
        *_most(
            f"At most {ARRAYS_MS:g} ms in all where the model takes arrays",
            {name: one["cpu_ms"] for name, one in arrays.items()},
            ARRAYS_MS,
            "{:.1f} ms",
        ),
        *_most(
            "Ahead of every library that gives several routes",
            {
                f"{PEERS[peer].label}, {name}": now[name]["cpu_ms"] / one["cpu_ms"]
                for name in raw
                for peer, one in found[name].get("peers", {}).items()
                if PEERS[peer].several and PEERS[peer].library and "cpu_ms" in one
            },
            1.0,
            "{:.3f} of its time",
        ),
    ]


def _most(aim: str, measured: Mapping[str, float], most: float, form: str) -> Iterator[Line]:
    """A line about numbers that are all to stay below another."""
    if measured:
        worst = max(measured, key=measured.__getitem__)
        middle = form.format(np.mean(list(measured.values())))
        number = f"{middle} on average; at most {form.format(measured[worst])} ({worst})"
        yield Line(aim, measured[worst] <= most, number)


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
        table, kind = given.task
        print(json.dumps(measured(table, kind, given.people)))
        return
    if given.what == "run":
        run(given.only, given.people, given.peers, given.before)
    sys.exit(not show(lines(read("alone"))))


if __name__ == "__main__":
    main()
