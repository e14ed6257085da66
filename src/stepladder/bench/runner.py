"""Runs the cells of a spec that aren't there yet, several tasks at a time.

A task (a dataset, a model and a seed) gets a process of its own, trains once and runs its methods
one after the other, each kept as soon as it's done. A method that raises fails its own cell; one
that takes its process down fails its cell too, and the rest of the task goes on in a new
process. Nothing that is finished is ever run twice, unless its settings have changed.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Protocol

import pandas as pd

from stepladder.bench import judge
from stepladder.bench.results import CellFacts, Results
from stepladder.bench.spec import Cell, Spec
from stepladder.bench.tasks import Task, prepare
from stepladder.errors import ParameterError
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer

PACKAGES = ("stepladder", "numpy", "pandas", "scikit-learn", "torch", "dice-ml")

PREPARING = "getting the task ready"


class Watch(Protocol):
    """Somebody who hears how a run goes."""

    def started(self, total: int, done: int) -> None: ...

    def cell(
        self, cell: Cell, seconds: float, error: str, done: int, total: int, remaining: float
    ) -> None: ...

    def finished(self) -> None: ...


class Unwatched:
    """Nobody."""

    def started(self, total: int, done: int) -> None: ...

    def cell(
        self, cell: Cell, seconds: float, error: str, done: int, total: int, remaining: float
    ) -> None: ...

    def finished(self) -> None: ...


def run(
    spec: Spec,
    out: str | Path,
    *,
    jobs: int | None = None,
    data_dir: Path | None = None,
    only: Sequence[str] = (),
    watch: Watch | None = None,
) -> Results:
    """Run what isn't in the folder `out` yet.

    jobs  how many tasks at a time (the number of CPUs)
    only  patterns dataset/model/method of the cells to run
    """
    results, watch = Results(out), watch or Unwatched()
    cells, finished = spec.cells(tuple(only)), results.finished(spec)
    if not cells:
        raise ParameterError(
            f"No cell of the spec {spec.name!r} fits {', '.join(only)}. A pattern is "
            "dataset/model/method, with * for any, such as 'adult/*/step*'."
        )
    wanted = [cell for cell in cells if cell not in finished]
    crew = Crew(spec, results, data_dir, watch, total=len(cells), done=len(cells) - len(wanted))
    watch.started(len(cells), crew.done)
    try:
        crew.work(wanted, jobs or _cpus())
    finally:
        watch.finished()
    if wanted or results.is_unpacked:
        results.pack()
    return Results(out)


@dataclass(eq=False)
class Job:
    """A process at work on the cells of one task."""

    process: Any
    cells: deque[Cell]
    at: str = PREPARING


@dataclass(eq=False)
class Crew:
    """The processes at work, and what they have done."""

    spec: Spec
    results: Results
    data_dir: Path | None
    watch: Watch
    total: int
    done: int
    jobs: dict[Connection, Job] = field(default_factory=dict)

    def work(self, cells: Sequence[Cell], most: int) -> None:
        """Run the cells, `most` tasks at a time."""
        self._began, self._before = time.monotonic(), self.done
        waiting = deque(_tasks(cells))
        try:
            while waiting or self.jobs:
                while waiting and len(self.jobs) < most:
                    self._start(waiting.popleft())
                for connection in wait(list(self.jobs)):
                    assert isinstance(connection, Connection)
                    left = self._listen(connection)
                    if left:
                        waiting.appendleft(left)
        finally:
            for job in self.jobs.values():
                job.process.terminate()

    def _start(self, cells: deque[Cell]) -> None:
        context = multiprocessing.get_context("spawn")
        here, there = context.Pipe(duplex=False)
        process = context.Process(
            target=_work,
            args=(there, self.spec, list(cells), self.results.folder, self.data_dir),
            daemon=True,
        )
        process.start()
        there.close()
        self.jobs[here] = Job(process, cells)

    def _listen(self, connection: Connection) -> deque[Cell]:
        """Receive one message from a process; returns the cells it left undone, if it has ended."""
        job = self.jobs[connection]
        try:
            what, *details = connection.recv()
        except (EOFError, OSError):
            return self._ended(connection)
        if what == "at":
            job.at = details[0]
        else:
            seconds, error = details
            self._count(job.cells.popleft(), seconds, error)
        return deque()

    def _ended(self, connection: Connection) -> deque[Cell]:
        """A process is gone: of the cells it left, the one it died on has failed."""
        job = self.jobs.pop(connection)
        job.process.join()
        if not job.cells:
            return deque()
        code = job.process.exitcode
        how = f"by signal {-code}" if code < 0 else f"with status {code}"
        error = f"The process ended {how} while {job.at}."
        lost = len(job.cells) if job.at == PREPARING else 1
        for _ in range(lost):
            cell = job.cells.popleft()
            facts = CellFacts(self.spec.fingerprint(cell), error=error)
            self.results.put(cell, pd.DataFrame(), facts)
            self._count(cell, 0.0, error)
        return job.cells

    def _count(self, cell: Cell, seconds: float, error: str) -> None:
        self.done += 1
        pace = (time.monotonic() - self._began) / (self.done - self._before)
        left = pace * (self.total - self.done)
        self.watch.cell(cell, seconds, error, self.done, self.total, left)


def _tasks(cells: Iterable[Cell]) -> list[deque[Cell]]:
    """The cells task by task, in the order they come."""
    tasks: dict[tuple[str, str, int], deque[Cell]] = {}
    for cell in cells:
        tasks.setdefault((cell.dataset, cell.model, cell.seed), deque()).append(cell)
    return list(tasks.values())


# ---- in the process of a task -------------------------------------------------------------------


def _work(
    connection: Connection, spec: Spec, cells: list[Cell], folder: Path, data_dir: Path | None
) -> None:
    """Run the cells of one task, reporting on the connection what was done."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it, and ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _single_thread()
    results, first = Results(folder), cells[0]
    task: Task | str
    try:
        task = prepare(spec, first.dataset, first.model, first.seed, data_dir)
    except Exception as error:  # noqa: BLE001  # it's the reason that the table shows
        task = _sentence(error)
    for cell in cells:
        connection.send(("at", f"running {cell}"))
        began = time.perf_counter()
        if isinstance(task, str):
            rows, facts = pd.DataFrame(), CellFacts(spec.fingerprint(cell), error=task)
        else:
            rows, facts = _run_cell(spec, cell, task)
        results.put(cell, rows, facts)
        connection.send(("done", time.perf_counter() - began, facts.error))


def _end_with_parent() -> None:
    """End this process with its parent, so that a killed run leaves none behind."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _run_cell(spec: Spec, cell: Cell, task: Task) -> tuple[pd.DataFrame, CellFacts]:
    entry = spec.entry(cell.method)
    goal = Goal(entry.goal or spec.goal)
    people = task.turned_down.iloc[: entry.people or spec.people]
    budget = None if spec.time_budget is None else spec.time_budget * max(len(people), 1)
    _reset_peak()
    try:
        method = entry.make(cell.seed)
        times = [time.perf_counter()]
        method.fit(task.train, task.model, goal=goal, labels=task.labels, space=task.space)
        times.append(time.perf_counter())
        result = method.recourse(people, time_budget=budget)
        times.append(time.perf_counter())
        scorer = Scorer(task.model, task.space, goal)
        successors = [Scorer(model, task.space, goal) for model in task.retrained]
        least = task.least_distances(people, goal.threshold)
        rows = judge.rows(result, scorer, least, successors)
    except Exception as error:  # noqa: BLE001  # a method's failure is a result too
        return pd.DataFrame(), CellFacts(spec.fingerprint(cell), error=_sentence(error))
    return rows, CellFacts(
        spec.fingerprint(cell),
        people=len(people),
        seconds_fit=round(times[1] - times[0], 4),
        seconds=round(times[2] - times[1], 4),
        model_calls=result.asked.get("calls", 0),
        model_rows=result.asked.get("rows", 0),
        peak_mib=round(_peak_mib(), 1),
        dropped=result.dropped,
        settings=json.dumps(method.settings, default=str),
        versions=json.dumps(versions()),
    )


def versions() -> dict[str, str]:
    """The versions of Python and the packages that numbers depend on."""
    found = {"python": ".".join(str(part) for part in sys.version_info[:3])}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def _sentence(error: BaseException) -> str:
    """An error in one line."""
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}"[:500]


def _cpus() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _single_thread() -> None:
    """One thread for this process: the tasks beside it have the other CPUs."""
    from threadpoolctl import threadpool_limits

    os.environ["OMP_NUM_THREADS"] = "1"  # for what is loaded later (torch), and our own kernels
    threadpool_limits(1)


def _reset_peak() -> None:
    """Forget how much memory was used before, where the system can."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return


def _peak_mib() -> float:
    """The most memory this process has held, since `_reset_peak` on Linux."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except (OSError, IndexError):
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
