"""The fair comparison: one table per task, and whether StEP stands where it should.

Every method gets the same people, positives, constraints, threshold and time. A *valid* path meets
the goal on the row the person would see and breaks no rule; distances of a method that offers too
few of those aren't compared with the others'.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from stepladder.bench import names
from stepladder.bench.estimates import Estimates, Task
from stepladder.bench.render import Column, Entry, Row, Table
from stepladder.bench.tables import Writer, in_order
from stepladder.numbers import rounded

EFFORT, DISTANCE = "step-by-effort", "step-by-distance"
"""StEP as it is, by either cost."""
PUBLISHED = "step.published"
ENOUGH = 0.95
"""Valid success above which a method's distance and effort are compared."""

METRICS = {
    "success": "Success",
    "avg_success": "Avg Success",
    "valid_success": "Valid Success",
    "effort": "Effort",
    "sparsity": "Things Changed",
    "holds": "Holds",
    "tenth_short": "Tenth Short",
    "l2_distance": "ℓ2",
    "nearest_l2_distance": "Nearest ℓ2",
    "least_distance": "Least ℓ2",
    "diversity": "Diversity",
    "path_steps": "Steps",
    "distance_to_positives": "To Positives",
    "ms_a_person": "ms",
    "dropped_a_person": "Dropped",
}
"""The columns, with names short enough for fifteen of them."""
COSTS = ("effort", "l2_distance", "nearest_l2_distance")
"""Of these the least is the best, among methods with enough valid success."""
OPTIONAL = ("effort", "holds", "tenth_short", "least_distance")
"""The columns that are there only where something is known."""
FACTOR = {"credit_default": 1.5, "adult": 1.5, "give_me_some_credit": 3.0}
"""How many times the least possible distance StEP's nearest end may be at, under LR."""


def fair_tables(estimates: Estimates) -> list[Table]:
    """One table for each dataset and model; the best are bold (see `_best`)."""
    return [_table(estimates, *pair) for pair in _pairs(estimates)]


def _table(estimates: Estimates, dataset: str, model: str) -> Table:
    tasks = in_order(task for task in estimates.tasks() if task[:2] == (dataset, model))
    metrics = [m for m in METRICS if m not in OPTIONAL or _has(estimates, tasks, m)]
    writer = Writer(estimates, tasks)
    best = {metric: _best(estimates, tasks, metric) for metric in ("valid_success", *COSTS)}
    rows = []
    for task in tasks:
        entries = [
            replace(
                writer.entry(task, m, decimals=_decimals(m), first=m == metrics[0]),
                best=task in best.get(m, ()),
            )
            for m in metrics
        ]
        rows.append(Row((names.method(task[2]),), tuple(entries)))
    columns = tuple(Column(METRICS[m]) for m in metrics)
    title = f"{names.dataset(dataset)}, {names.model(model)}"
    return Table(
        f"fair-{dataset}-{model}", title, ("Method",), columns, tuple(rows), writer.footnotes.all
    )


def _best(estimates: Estimates, tasks: Sequence[Task], metric: str) -> list[Task]:
    """The highest valid success, or the least cost of the methods with enough of it; every method
    that shows the same number."""
    if metric in COSTS:
        tasks = [task for task in tasks if estimates.of(*task, "valid_success").mean > ENOUGH]
    shown = {task: estimates.of(*task, metric).mean for task in tasks}
    shown = {task: round(mean, 2) for task, mean in shown.items() if not math.isnan(mean)}
    choose: Callable[[Iterable[float]], float] = min if metric in COSTS else max
    return [task for task, mean in shown.items() if mean == choose(shown.values())]


# ---- the verdict ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Standing:
    """How StEP stands in one task: by distance, and where it says so by effort."""

    dataset: str
    model: str
    valid: float
    other_valid: float
    """the highest of the other methods"""
    distance: float
    other_distance: float
    """the least of the other methods with enough valid success; NaN if there's none"""
    nearest: float
    least: float
    """the closed form of the least possible distance; NaN but under LR"""
    to_positives: float
    other_to_positives: tuple[float, float]
    """the least and the largest of DiCE, FACE and C-CHVAE"""
    effort: float
    """of StEP by effort"""
    other_effort: float
    """the least of the other methods with enough valid success; NaN if there's none"""

    @property
    def most_valid(self) -> bool:
        return not self.valid < self.other_valid and not math.isnan(self.valid)

    @property
    def least_far(self) -> bool:
        return self.valid > ENOUGH and not self.distance > self.other_distance

    @property
    def least_effort(self) -> bool:
        return not self.effort > self.other_effort and not math.isnan(self.effort)

    @property
    def ratio(self) -> float:
        return self.nearest / self.least if self.least else math.nan

    @property
    def near_enough(self) -> bool | None:
        """None where there's no closed form, or no aim for the dataset."""
        if math.isnan(self.least) or self.dataset not in FACTOR:
            return None
        return self.ratio <= FACTOR[self.dataset]


def standings(estimates: Estimates) -> list[Standing]:
    """StEP's standing in every task where it was run by distance."""
    found = []
    for dataset, model in _pairs(estimates):
        if estimates.trials(dataset, model, DISTANCE) is None:
            continue
        methods = [m for d, k, m in estimates.tasks() if (d, k) == (dataset, model)]
        others = [m for m in methods if m not in (EFFORT, DISTANCE)]
        found.append(_standing(estimates, dataset, model, others))
    return found


def _standing(estimates: Estimates, dataset: str, model: str, others: Sequence[str]) -> Standing:
    def of(metric: str, method: str = DISTANCE) -> float:
        return estimates.of(dataset, model, method, metric).mean

    valid = [m for m in others if of("valid_success", m) > ENOUGH]
    # StEP as published is the same method before it kept the rules, not a rival of the data.
    near = _defined(of("distance_to_positives", m) for m in others if m != PUBLISHED)
    return Standing(
        dataset,
        model,
        of("valid_success"),
        max(_defined(of("valid_success", m) for m in others), default=math.nan),
        of("l2_distance"),
        min(_defined(of("l2_distance", m) for m in valid), default=math.nan),
        of("nearest_l2_distance"),
        of("least_distance"),
        of("distance_to_positives"),
        (min(near, default=math.nan), max(near, default=math.nan)),
        of("effort", EFFORT),
        min(_defined(of("effort", m) for m in valid), default=math.nan),
    )


def standings_table(found: Sequence[Standing], title: str = "How StEP stands") -> Table:
    columns = tuple(
        Column(name)
        for name in (
            *("Valid Success", "Best Other", "Effort", "Least Other", "ℓ2", "Least Other"),
            *("Nearest / Least", "To Positives", "Others"),
        )
    )
    rows = tuple(
        Row(
            (names.dataset(s.dataset), names.model(s.model)),
            (
                Entry(s.valid, best=s.most_valid),
                Entry(s.other_valid),
                Entry(s.effort, best=s.least_effort),
                Entry(s.other_effort),
                Entry(s.distance, best=s.least_far),
                Entry(s.other_distance),
                Entry(s.ratio, best=bool(s.near_enough)),
                Entry(s.to_positives),
                Entry(words=" to ".join(dict.fromkeys(map(rounded, s.other_to_positives)))),
            ),
        )
        for s in found
    )
    return Table("standings", title, ("Dataset", "Model"), columns, rows)


def verdict(found: Sequence[Standing]) -> list[str]:
    """How StEP stands, one sentence per question; none where it wasn't run."""
    if not found:
        return []
    tasks = len(found)
    valid, near = sum(s.most_valid for s in found), sum(s.least_far for s in found)
    easy = sum(s.least_effort for s in found)
    sentences = [
        f"StEP has the highest valid success on {valid} of {tasks} tasks.",
        f"Among methods with valid success above {ENOUGH}, StEP by distance has the lowest "
        f"distance on {near} of {tasks}, and StEP by effort the lowest effort on {easy}.",
    ]
    for s in found:
        if s.near_enough is not None:
            sentences.append(
                f"{names.dataset(s.dataset)}, {names.model(s.model)}: StEP's nearest end lies at "
                f"{rounded(s.ratio)} times the least possible distance "
                f"(at most {FACTOR[s.dataset]:g} was the aim)."
            )
    for s in found:
        if s.near_enough is not None:
            low, high = map(rounded, s.other_to_positives)
            sentences.append(
                f"{names.dataset(s.dataset)}, {names.model(s.model)}: StEP's ends lie "
                f"{rounded(s.to_positives)} from the nearest positives, those of DiCE, FACE and "
                f"C-CHVAE {low} to {high}."
            )
    return sentences


def _pairs(estimates: Estimates) -> list[tuple[str, str]]:
    return list(dict.fromkeys((d, m) for d, m, _ in in_order(estimates.tasks())))


def _has(estimates: Estimates, tasks: Sequence[Task], metric: str) -> bool:
    return any(estimates.of(*task, metric).trials for task in tasks)


def _decimals(metric: str) -> int:
    return 1 if metric == "ms_a_person" else 2


def _defined(values: Iterable[float]) -> list[float]:
    return [value for value in values if not math.isnan(value)]
