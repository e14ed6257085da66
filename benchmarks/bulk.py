"""A thousand people at once: rows asked, our own time, and whether advice is as good as before.

    python benchmarks/bulk.py run                     everything: about ten minutes
    python benchmarks/bulk.py run --only 'adult-*'    only tasks whose names fit
    python benchmarks/bulk.py run --people 100        fewer people, to see that it works
    python benchmarks/bulk.py lines                   what is aimed at, met or missed

Each task is answered by the commit before and by this code in turn, in new processes. Routes are
measured by plain code that trusts nothing the library says. Everything goes to
results/performance/bulk.json, which `python benchmarks/performance.py` shows.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from fnmatch import fnmatch
from inspect import signature
from pathlib import Path

import numpy as np
import pandas as pd
from advice_measures import changed, chosen, efforts, keeps, numbers
from advice_tasks import Floats, Task
from performance_lines import Line, show
from performance_tasks import (
    BUILD,
    GOAL,
    PEOPLE,
    Clock,
    Figures,
    by_code,
    cases,
    keep,
    prepared,
    quiet_threads,
    read,
)

from stepladder.result import choices

HARDER = 1.05
"""By how much anybody's easiest route may be harder than before."""
OURS_MS, ROWS = 2.0, 1000
"""What is aimed at: our own milliseconds per person, and rows asked per person, mean over tasks."""
SAME = 1e-9
"""Means that differ by less are the same."""
JOBS = ("credit_default-logistic", "adult-boosted", "give_me_some_credit-forest")
"""The tasks on which several jobs are held against one."""


# ---- one code's answers -------------------------------------------------------------------------


def answered(table: str, kind: str, people: int, file: Path) -> Figures:
    """Answer one task by the code of this process; the ends go to a file."""
    case, clock = prepared(table, kind), Clock()
    clock.attach(case.given)
    quiet_threads()
    step, rows = case.fitted(), case.task.people.head(people)
    step.recourse(rows.head(2))
    clock.reset()
    wall, cpu = time.perf_counter(), time.process_time()
    result = step.recourse(rows)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    final = result.final
    ends = final[["person", "path", "outcome", "effort", *rows.columns]]
    ends.astype({"outcome": str}).to_parquet(file)
    each = 1e3 / len(rows)
    return {
        "people": len(rows),
        "calls": clock.calls,
        "rows": round(clock.rows / len(rows), 2),
        "ms": round(each * wall, 4),
        "model_ms": round(each * clock.wall, 4),
        "ours_ms": round(each * (wall - clock.wall), 4),
        "cpu_ms": round(each * cpu, 4),
        "ours_cpu_ms": round(each * (cpu - clock.cpu), 4),
    }


def jobs(table: str, kind: str, people: int) -> Figures:
    """Whether two jobs give the rows of one, and how much sooner."""
    case = prepared(table, kind)
    step, rows = case.fitted(), case.task.people.head(people)
    if "n_jobs" not in signature(step.recourse).parameters:
        return {}
    step.recourse(rows.head(8), n_jobs=2)  # its processes are started outside the clock
    found, seconds = [], []
    for count in (1, 2):
        began = time.perf_counter()
        found.append(step.recourse(rows, n_jobs=count))
        seconds.append(time.perf_counter() - began)
    one, two = ([result.final, result.paths, result.changes, result.status] for result in found)
    same = all(a.equals(b) for a, b in zip(one, two, strict=True))
    return {"same": same, "times": round(seconds[0] / seconds[1], 3), "people": len(rows)}


# ---- what they're worth -------------------------------------------------------------------------


def routes(task: Task, ends: pd.DataFrame) -> pd.DataFrame:
    """Every route that is said to reach the goal: person, path, effort, and whether it's sound."""
    reached = ends[ends["outcome"] == "reached"].reset_index(drop=True)
    before = task.people.loc[reached["person"]].reset_index(drop=True)
    after = reached[list(task.people.columns)]
    return reached[["person", "path"]].assign(
        effort=efforts(task, before, after),
        accepted=task.score(after) >= GOAL if len(after) else np.empty(0, dtype=bool),
        kept=keeps(task, before, after),
        choice=_choices(task, before, after, reached),
    )


def _choices(
    task: Task, before: pd.DataFrame, after: pd.DataFrame, reached: pd.DataFrame
) -> list[bool]:
    """Which routes really differ from those before them."""
    sets, free = changed(task, before, after).to_numpy(), chosen(task.schema)
    levels = np.array([feature.kind == "categorical" for feature in free])
    amounts = np.stack([_amounts(feature, before, after) for feature in free], axis=1)
    shown = np.zeros(len(reached), dtype=bool)
    for own in reached.groupby("person").indices.values():
        kept = choices.chosen(range(len(own)), sets[own], amounts[own], levels)
        shown[np.asarray(own)[kept]] = True
    return shown.tolist()


def _amounts(feature: object, before: pd.DataFrame, after: pd.DataFrame) -> Floats:
    """By how much each route changes a feature; of a category, the code of its level."""
    name, kind = feature.name, feature.kind  # type: ignore[attr-defined]
    if kind == "categorical":
        return pd.Categorical(after[name]).codes.astype(np.float64)
    return numbers(feature, after[name]) - numbers(feature, before[name])


def worth(found: pd.DataFrame, people: int) -> Figures:
    """Means over people, each counting the same; people without a route have none to count."""
    by_person = found.groupby("person")
    return {
        "success": len(by_person) / people,
        "first_effort": float(by_person["effort"].first().mean()),
        "all_effort": float(by_person["effort"].mean().mean()),
        "routes": len(found) / people,
        "choices": float(found["choice"].sum()) / people,
        "not_accepted": int((~found["accepted"]).sum()),
        "broken": int((~found["kept"]).sum()),
    }


def compared(before: pd.DataFrame, now: pd.DataFrame) -> Figures:
    """How much harder anybody's easiest route is than before."""
    was = before.groupby("person")["effort"].min()
    is_now = now.groupby("person")["effort"].min().reindex(was.index)
    times = is_now / was
    lost, harder = int(times.isna().sum()), times > HARDER
    return {
        "lost": lost,
        "harder": int(harder.sum()),
        "easier": int((times < 1 / HARDER).sum()),
        "worst": float(times.max()),
    }


# ---- all tasks ----------------------------------------------------------------------------------


def run(pattern: str, people: int) -> None:
    """Measure every task that fits, and keep what was measured."""
    BUILD.mkdir(parents=True, exist_ok=True)
    found = read("bulk")
    for table, kind in cases():
        name = f"{table}-{kind}"
        if not fnmatch(name, pattern):
            continue
        task, told, answers = prepared(table, kind).task, Figures(), {}
        for code in ("before", "now"):
            file = BUILD / f"{name}-{code}.parquet"
            given = (table, kind, str(file), "--people", people)
            timed = by_code("bulk.py", code == "before", "task", *given)
            answers[code] = routes(task, pd.read_parquet(file))
            told[code] = {**timed, **worth(answers[code], timed["people"])}
        told["compared"] = compared(answers["before"], answers["now"])
        if name in JOBS:
            told["jobs"] = by_code("bulk.py", False, "jobs", table, kind, "--people", people)
        found[name] = told
        keep("bulk", found)
        print(_told(name, told), flush=True)


def _told(name: str, task: Figures) -> str:
    text = f"{name}:"
    for code in ("before", "now"):
        one = task[code]
        text += (
            f"\n  {code:7} {one['people']} people, {one['calls']} calls; per person "
            f"{one['rows']:.0f} rows, CPU {one['cpu_ms']:.2f} ms, of it ours "
            f"{one['ours_cpu_ms']:.2f} (on the clock {one['ms']:.2f}); effort "
            f"{one['first_effort']:.4f} / {one['all_effort']:.4f}, {one['routes']:.3f} routes, "
            f"{one['choices']:.3f} choices, {one['success']:.2%}"
        )
    return text + f"\n  {task['compared']} {task.get('jobs', '')}"


def lines(found: Figures) -> list[Line]:
    """What is aimed at, and what was measured."""
    now, before = ([task[code] for task in found.values()] for code in ("now", "before"))
    slow = max(found, key=lambda name: found[name]["now"]["ours_cpu_ms"])
    beside = [task["compared"] for task in found.values()]
    hardest = max(found, key=lambda name: found[name]["compared"]["worst"])
    wrong = sum(one["not_accepted"] + one["broken"] for one in now)
    told = [
        Line(
            f"Our own time at most {OURS_MS:g} ms per person",
            all(one["ours_cpu_ms"] <= OURS_MS for one in now),
            f"{_mean(now, 'ours_cpu_ms'):.2f} ms (before {_mean(before, 'ours_cpu_ms'):.2f}); at "
            f"most {found[slow]['now']['ours_cpu_ms']:.2f} ({slow})",
        ),
        Line(
            f"At most {ROWS:,} rows asked per person, mean over tasks",
            _mean(now, "rows") <= ROWS,
            f"{_mean(now, 'rows'):,.0f} (before {_mean(before, 'rows'):,.0f})",
        ),
        Line(
            "Nobody's easiest route more than 5 % harder than before",
            not any(one["harder"] + one["lost"] for one in beside),
            f"{sum(one['harder'] for one in beside)} harder, {sum(one['lost'] for one in beside)} "
            f"lost, {sum(one['easier'] for one in beside)} easier; the worst "
            f"{found[hardest]['compared']['worst']:.3f} times ({hardest})",
        ),
        Line("Every row returned is accepted and keeps the rules", wrong == 0, f"{wrong} don't"),
    ]
    for name, words, sign in (
        ("first_effort", "Effort of the first route", 1),
        ("all_effort", "Effort of all routes", 1),
        ("success", "People with a route", -1),
        ("routes", "Routes per person", -1),
        ("choices", "Really different ones per person", -1),
    ):
        is_now, was = _mean(now, name), _mean(before, name)
        told.append(
            Line(f"{words}: no worse", sign * (is_now - was) <= SAME, f"{is_now:.4f} ({was:.4f})")
        )
    parallel = [task["jobs"] for task in found.values() if task.get("jobs")]
    if parallel:
        told.append(
            Line(
                "Two jobs give the same rows as one",
                all(one["same"] for one in parallel),
                f"on {len(parallel)} tasks, {_mean(parallel, 'times'):.2f} times as fast",
            )
        )
    return told


def _mean(figures: list[Figures], name: str) -> float:
    return float(np.mean([one[name] for one in figures]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "task", "jobs", "lines"])
    parser.add_argument("task", nargs="*", help="table, kind and file, of a single task")
    parser.add_argument("--only", default="*")
    parser.add_argument("--people", type=int, default=PEOPLE)
    given = parser.parse_args()
    if given.what == "task":
        table, kind, file = given.task
        print(json.dumps(answered(table, kind, given.people, Path(file))))
        return
    if given.what == "jobs":
        table, kind = given.task
        print(json.dumps(jobs(table, kind, given.people)))
        return
    if given.what == "run":
        run(given.only, given.people)
    sys.exit(not show(lines(read("bulk"))))


if __name__ == "__main__":
    main()
