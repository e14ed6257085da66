"""`audit`: the groups of a result counted, compared, and put in the rows of an `Audit`."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.audit.columns import columns_of, crossings, numbered
from stepladder.audit.result import Audit
from stepladder.checks import finite, whole_number
from stepladder.metrics.fairness import NOTIONS, Comparison, Gap, compare
from stepladder.metrics.groups import MEASURES
from stepladder.metrics.members import People
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table.frames import Frame, Template

GAPS = (
    *("selection_rate", "success", "no_recourse"),
    *("mean_effort", "mean_cost", "median_cost", "mean_steps"),
)
"""The measures in `Audit.gaps`; the others are in `Audit.notions`."""

Row = dict[str, Any]


def audit(
    result: Recourse,
    groups: Frame | Mapping[str, Any] | Sequence[str] | str,
    *,
    by: Iterable[str | Sequence[str]] | None = None,
    smallest: int = 30,
    budget: float | None = None,
    effectiveness: float = 0.7,
    random_state: int = 0,
    samples: int = 1000,
) -> Audit:
    """Compare what groups of people are offered.

    `groups` is a frame or a mapping of columns with one row per person of the result (pandas
    rows are matched by their labels), or names of the schema's own features, read off where
    people stand today. `by` says which of them to look at, alone ("sex") or crossed
    (("sex", "race")); by default each one and every pair. A number of many values is cut into at
    most four bands of about equally many people; a missing value is a group of its own.

    People already at the goal count in the selection rate only, and those whom a time budget left
    without a score don't count at all. `budget` and `effectiveness` are the cost and the share of
    a group that two of the notions ask about; the budget is by default the median cost of everyone
    who has a path.
    """
    smallest = whole_number("audit(smallest)", smallest, 1)
    samples = whole_number("audit(samples)", samples, 1)
    random_state = whole_number("audit(random_state)", random_state, 0)
    share = "It's a share of a group, such as 0.7."
    effectiveness = finite("audit(effectiveness)", effectiveness, above=0, most=1, hint=share)
    if budget is not None and budget != math.inf:
        cost = "It's a cost, measured like the distances of result.final; None is their median."
        budget = finite("audit(budget)", budget, least=0, hint=cost)
    columns = columns_of(result, groups)
    scored = np.array([not first.is_unknown for first, *_ in result.routes], dtype=bool)
    offers = {name: values[scored] for name, values in _offers(result).items()}
    if budget is None:
        known = offers["cost"][np.isfinite(offers["cost"])]
        budget = float(np.median(known)) if known.size else math.nan
    kinds = []
    for names in crossings(by, list(columns)):
        codes, labels = numbered([columns[name] for name in names])
        people = People(
            codes[scored], len(labels), **offers, budget=budget, effectiveness=effectiveness
        )
        rng = np.random.default_rng(random_state)
        found = compare(people, rng, samples, smallest)
        kinds.append(_Kind(" & ".join(names), labels, people, smallest, found))

    counts = [kind.counts() for kind in kinds]
    build = result.template.build
    return Audit(
        by_group=build({name: np.concatenate([c[name] for c in counts]) for name in counts[0]}),
        gaps=build(_stacked([row for kind in kinds for row in kind.gaps()], result.template)),
        notions=build(_stacked([row for kind in kinds for row in kind.notions()], result.template)),
        people=len(offers["asked"]),
        asked=int(offers["asked"].sum()),
        smallest=smallest,
        budget=budget,
        effectiveness=effectiveness,
        samples=samples,
        random_state=random_state,
    )


def _offers(result: Recourse) -> dict[str, NDArray[Any]]:
    """For each person: whether they asked, and what they are offered.

    Effort is that of the easiest path; cost and steps are the nearest one's, as in the paper.
    """
    n = len(result.people)
    asked, choices = np.ones(n, dtype=bool), np.zeros(n)
    effort, cost, steps = (np.full(n, np.nan) for _ in range(3))
    for i, routes in enumerate(result.routes):
        asked[i] = routes[0].outcome is not Outcome.ALREADY_POSITIVE
        reached = [path for path in routes if path.outcome is Outcome.REACHED]
        if reached:
            effort[i] = min(path.effort for path in reached)
            nearest = min(reached, key=lambda path: path.distance)
            cost[i], steps[i] = nearest.distance, nearest.steps
            choices[i] = len(result.choices_at(i))
    return {"asked": asked, "cost": cost, "steps": steps, "effort": effort, "choices": choices}


# ---- rows of the frames -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Kind:
    """People divided in one way, by a column or by several crossed, and compared."""

    name: str
    labels: list[str]
    people: People
    smallest: int
    found: Comparison

    def counts(self) -> dict[str, NDArray[Any]]:
        """The columns of `Audit.by_group`."""
        measured: dict[str, NDArray[Any]] = {}
        for name, one in self.found.measured.items():
            measured |= {
                name: one.value,
                f"{name}_low": one.low,
                f"{name}_high": one.high,
            }
        return {
            "by": np.full(len(self.labels), self.name),
            "group": np.array(self.labels, dtype=str),
            **self.found.counts,
            **measured,
            "small": self.found.counts["asked"] < self.smallest,
        }

    def gaps(self) -> list[Row]:
        """The rows of `Audit.gaps`."""
        return [
            {"by": self.name, "measure": name, **self._row(name, gap, ratio=True)}
            for name in GAPS
            for gap in self.found.gaps[name]
        ]

    def notions(self) -> list[Row]:
        """The rows of `Audit.notions`; `at` is the cost or share that a notion speaks of."""
        terms = {
            "within_budget": self.people.budget,
            "cost_of_effectiveness": self.people.effectiveness,
        }
        return [
            {
                "by": self.name,
                "notion": notion,
                "at": float(terms.get(name, gap.at)),
                **self._row(name, gap, ratio=False),
            }
            for notion, name in NOTIONS.items()
            for gap in self.found.gaps[name]
        ]

    def _row(self, name: str, gap: Gap, *, ratio: bool) -> Row:
        ends = [None if end is None else self.labels[end] for end in (gap.lowest, gap.highest)]
        higher_is_better = name not in MEASURES or MEASURES[name].higher_is_better
        worst, best = ends if higher_is_better else reversed(ends)
        row: Row = {"compared": gap.compared, "worst_off": worst, "best_off": best}
        row |= {"gap": gap.gap, "gap_low": gap.gap_interval[0], "gap_high": gap.gap_interval[1]}
        if ratio:
            low, high = gap.ratio_interval
            row |= {"ratio": gap.ratio, "ratio_low": low, "ratio_high": high}
        return {**row, "small": gap.small}


def _stacked(rows: list[Row], template: Template) -> dict[str, Any]:
    """The rows as columns; in those that name a group some cells may be None."""
    columns = {name: [row[name] for row in rows] for name in rows[0]}
    named = ("worst_off", "best_off")
    return {
        name: template.texts(cells) if name in named else np.array(cells)
        for name, cells in columns.items()
    }
