"""Tables of estimates: the paper's six, laid out as the paper does, and a plain one for sweeps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import product

from stepladder.bench import names
from stepladder.bench.estimates import Estimate, Estimates, Task, largest_error
from stepladder.bench.paper import OURS, TABLES, PaperTable, scale
from stepladder.bench.render import EMPTY, Column, Entry, Row, Table
from stepladder.errors import ParameterError, listing, nearest

MAX_ERROR = "Max Error %"
SWEPT = ("success", "avg_success", "valid_success", "l2_distance", "diversity", "path_steps")
"""What a sweep shows by default."""


class Footnotes:
    """Numbered as they first appear; the same words are one note."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def add(self, words: str) -> int:
        return self._numbers.setdefault(words, len(self._numbers) + 1)

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(self._numbers)


class Writer:
    """Makes the entries of one table, and the footnotes they need."""

    def __init__(self, estimates: Estimates, tasks: Iterable[Task]) -> None:
        self.estimates = estimates
        self.footnotes = Footnotes()
        known = [trials for task in tasks if (trials := estimates.trials(*task)) is not None]
        self._most = max((trials.finished for trials in known), default=0)

    def entry(
        self,
        task: Task,
        metric: str,
        *,
        decimals: int = 2,
        first: bool = False,
        times: float = 1.0,
    ) -> Entry:
        """A number; `first` carries the notes on how the trials of its task went."""
        trials = self.estimates.trials(*task)
        if trials is None:
            return Entry()
        if not trials.finished:
            return Entry(words="failed", notes=self._notes(task))
        estimate = self.estimates.of(*task, metric).times(times)
        notes = self._notes(task) if first else ()
        if 0 < estimate.trials < trials.finished:
            note = f"Defined in {estimate.trials} of {trials.finished} trials only."
            notes = (*notes, self.footnotes.add(note))
        return Entry(estimate.mean, estimate.error, decimals=decimals, notes=notes)

    def _notes(self, task: Task) -> tuple[int, ...]:
        """Why trials failed, and whether there are fewer of them than elsewhere in the table."""
        trials = self.estimates.trials(*task)
        assert trials is not None
        notes = [self.footnotes.add(words) for words in failures(self.estimates, task)]
        if 0 < trials.finished < self._most:
            counted = "trial" if trials.finished == 1 else "trials"
            notes.append(
                self.footnotes.add(f"{trials.finished} {counted} instead of {self._most}.")
            )
        return tuple(notes)


def failures(estimates: Estimates, task: Task) -> list[str]:
    """Why trials of a task crashed, one sentence per reason."""
    trials = estimates.trials(*task)
    name = f"{names.method(task[2])} on {names.dataset(task[0])}, {names.model(task[1])}"
    by_reason: dict[str, list[int]] = {}
    for seed, reason in sorted(trials.failures.items() if trials else ()):
        by_reason.setdefault(reason, []).append(seed)
    return [
        f"{name}, seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}: {reason}"
        for reason, seeds in by_reason.items()
    ]


def paper_table(estimates: Estimates, name: str) -> Table:
    """Our numbers in the layout of one of the paper's tables, with its "Max Error %"."""
    layout = paper_layout(name)
    tasks = layout_tasks(layout)
    writer = Writer(estimates, (task for row in tasks.values() for task in row))
    rows: list[Row] = []
    columns: list[list[Estimate]] = []
    for (dataset, label), row in tasks.items():
        found, entries = [], []
        for task, metric in product(row, layout.metrics):
            times = scale(name, label, metric)
            first = metric == layout.metrics[0]
            found.append(estimates.of(*task, _ours(metric)).times(times))
            entries.append(writer.entry(task, _ours(metric), first=first, times=times))
        heads = (names.dataset(dataset), names.method(label))
        rows.append(Row(heads, (*entries, Entry(largest_error(found)))))
        columns.append(found)
    bottom = [Entry(largest_error(column)) for column in zip(*columns, strict=True)]
    rows.append(Row((MAX_ERROR, ""), (*bottom, EMPTY)))
    return Table(
        layout.name,
        layout.title,
        ("Dataset", names.HEADS[layout.head]),
        (*paper_columns(layout), Column(MAX_ERROR)),
        tuple(rows),
        writer.footnotes.all,
    )


def paper_layout(name: str) -> PaperTable:
    if name not in TABLES:
        raise ParameterError(
            f"The paper has no table {name!r}.{nearest(name, TABLES)} "
            f"There are {listing(TABLES, most=6)}."
        )
    return TABLES[name]


def paper_columns(layout: PaperTable) -> tuple[Column, ...]:
    """The metrics under each model."""
    models = dict.fromkeys(estimate.model for estimate in layout.printed())
    return tuple(Column(names.metric(x), names.model(m)) for m in models for x in layout.metrics)


def layout_tasks(layout: PaperTable) -> dict[tuple[str, str], list[Task]]:
    """A row's dataset and label → our task under each model, as the paper orders them."""
    rows: dict[tuple[str, str], list[Task]] = {}
    for estimate in layout.printed():
        task = (estimate.dataset, estimate.model, layout.labels[estimate.row])
        row = rows.setdefault((estimate.dataset, estimate.row), [])
        if task not in row:
            row.append(task)
    return rows


def labels_run(estimates: Estimates, name: str) -> set[str]:
    """The methods of one of the paper's tables that were run."""
    ran = {method for _, _, method in estimates.tasks()}
    return ran & set(paper_layout(name).labels.values())


def sweep(estimates: Estimates, metrics: Sequence[str] = SWEPT, title: str = "") -> Table:
    """One row for each dataset, model and method label, in the order of the names."""
    known = (*estimates.metrics, *names.METRICS)
    for metric in metrics:
        if metric not in known:
            raise ParameterError(
                f"There is no metric {metric!r} in these results.{nearest(metric, known)} "
                f"There are {listing(sorted(set(known)), most=30)}."
            )
    tasks = in_order(estimates.tasks())
    writer = Writer(estimates, tasks)
    rows = tuple(
        Row(
            (names.dataset(task[0]), names.model(task[1]), names.method(task[2])),
            tuple(writer.entry(task, m, first=m == metrics[0]) for m in metrics),
        )
        for task in tasks
    )
    columns = tuple(Column(names.metric(metric)) for metric in metrics)
    heads = ("Dataset", "Model", "Method")
    return Table("sweep", title or "All methods", heads, columns, rows, writer.footnotes.all)


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Datasets, models and methods as `names` orders them, others after those by name."""

    def rank(task: Task) -> tuple[tuple[object, ...], ...]:
        known = (names.DATASETS, names.MODELS, names.METHODS)
        return tuple(
            (list(of).index(name) if name in of else len(of), *_natural(name))
            for name, of in zip(task, known, strict=True)
        )

    return sorted(tasks, key=rank)


def _natural(name: str) -> tuple[tuple[bool, float, str], ...]:
    """So that 2 comes before 10, and -0.5 after -0.25."""
    parts = re.split(r"(\d+(?:\.\d+)?)", name)
    return tuple((i % 2 == 0, float(p) if i % 2 else 0.0, p) for i, p in enumerate(parts))


def _ours(metric: str) -> str:
    return OURS.get(metric, metric)
