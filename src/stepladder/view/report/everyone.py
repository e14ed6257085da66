"""Everyone at once: how many have a route, why others have none, and what routes are like."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepladder.numbers import percent, plain, rounded
from stepladder.result.path import Outcome
from stepladder.result.recourse import Recourse
from stepladder.table import frames
from stepladder.view import plots
from stepladder.view.page import PageTable
from stepladder.view.plots.asked import asked_for
from stepladder.view.spread import asking, distributions, easiest_paths
from stepladder.words import plans as words
from stepladder.words.measures import DISTANCE, EFFORT, Form

REASONS = 10
"""How many reasons for having no route are listed, the most frequent first."""

ENDS = {
    Outcome.STEP_LIMIT: "no route within the steps allowed",
    Outcome.STALLED: "no route that gets all the way",
    Outcome.UNREACHABLE: "no route among the possible changes",
    Outcome.UNSURE: "no route that is likely to hold",
    Outcome.MISSING_VALUE: "a value is missing",
    Outcome.INVALID_ROW: "a value isn't valid",
    Outcome.TIMED_OUT: "time ran out",
}
"""How it ended for people without a route."""

ROUTES: dict[str, tuple[str, Form]] = {
    "avg_success": ("Routes found, of those looked for", percent),
    "path_steps": ("Steps of a route", rounded),
    "sparsity": ("Things that a route changes", rounded),
    "effort": ("Effort of a route", rounded),
    "easiest_effort": ("The same, of a person's easiest route", rounded),
    "l2_distance": ("Distance from today to the end of a route", rounded),
    "nearest_l2_distance": ("The same, of a person's nearest route", rounded),
    "path_length": ("Distance along a route, step by step", rounded),
    "diversity": ("Distance between the ends of two routes of a person", rounded),
    "proximal_diversity": (
        "How far apart a person's routes end, all pairs together, for each unit of distance to the "
        "furthest end",
        rounded,
    ),
    "distance_to_positives": (
        "Distance from the end of a route to the nearest people on file who have a yes",
        rounded,
    ),
}
"""The metrics on the page: what each is, and how it's written."""

SCALE = "A standard deviation of a number counts 1, unless the settings below weigh it otherwise."


@dataclass(frozen=True)
class Everyone:
    """All people of a result, as the page shows them."""

    tables: tuple[PageTable, ...]
    spread: str | None
    """a picture of how routes differ"""
    changes: PageTable | None


def everyone(result: Recourse) -> Everyone:
    asked = asking(result)
    has_scores = any(not math.isnan(result.routes[i][0].scores[0]) for i in asked)
    tables = [_counts(result, asked), _easiest(result), _reasons(result, asked), _routes(result)]
    return Everyone(
        tables=tuple(table for table in tables if table is not None),
        spread=plots.picture(lambda width: distributions(result, width=width))
        if has_scores
        else None,
        changes=_changes(result),
    )


def _counts(result: Recourse, asked: Sequence[int]) -> PageTable:
    found = Counter(result.best_at(i)[1] for i in asked)
    reached = found.pop(Outcome.REACHED, 0)
    several = sum(len(result.choices_at(i)) > 1 for i in asked)
    counts = {
        "Asked for a route": len(asked),
        "Have a route": reached,
        "Have several different routes": several,
        "Have none": len(asked) - reached,
    }
    counts |= {f"Have none: {ENDS[outcome]}": found[outcome] for outcome in ENDS if found[outcome]}
    rows = [(name, f"{count:,}", _share(count, len(asked))) for name, count in counts.items()]
    return PageTable("Everyone who asked", ("Who", "People", "Share"), tuple(rows), numbers=(1, 2))


def _share(part: int, total: int) -> str:
    """The share of a part in a total; nothing where the total is 0."""
    return percent(part / total) if total else ""


def _easiest(result: Recourse) -> PageTable | None:
    """What people's easiest routes are like; None where nobody has one."""
    paths = easiest_paths(result)
    if not paths:
        return None
    links = result.space.links
    starts, ends = (np.stack([path.values[i] for path in paths]) for i in (0, -1))
    moved, months = links.changes(starts, ends).sum(axis=1).tolist(), links.months(ends, starts)
    weighed = all(path.efforts is not None for path in paths)
    rows = [("Things to change", *_middle(moved, plain))]
    if weighed:
        rows.append(("Effort", *_middle([path.effort for path in paths], rounded)))
    rows.append(("Steps", *_middle([path.steps for path in paths], plain)))
    rows.append(("Distance", *_middle([path.distance for path in paths], rounded)))
    if months.any():
        rows.append(("Months it takes", *_middle(months.tolist(), plain)))
    return PageTable(
        "The easiest route of each",
        ("What", "Median", "Most"),
        tuple(rows),
        numbers=(1, 2),
        note=f"{EFFORT} {DISTANCE} {SCALE}" if weighed else f"{DISTANCE} {SCALE}",
    )


def _middle(values: Sequence[float], form: Form) -> tuple[str, str]:
    return form(float(np.median(values))), form(max(values))


def _reasons(result: Recourse, asked: Sequence[int]) -> PageTable | None:
    """Why people have no route, the most frequent reasons first; None if everyone has one."""
    best = [result.best_at(i) for i in asked]
    found = Counter((outcome, why) for slot, outcome, why in best if slot is None)
    if not found:
        return None
    listed = found.most_common(REASONS)
    rows = [(words.capital(ENDS[outcome]), why, f"{count:,}") for (outcome, why), count in listed]
    rest = found.total() - sum(count for _, count in listed)
    if rest:
        rows.append(("Other reasons", "", f"{rest:,}"))
    return PageTable(
        "Why some have no route",
        ("How it ended", "In the method's words", "People"),
        tuple(rows),
        numbers=(2,),
    )


def _routes(result: Recourse) -> PageTable | None:
    """What all routes are like, the easiest and the others; None where there is none."""
    if not easiest_paths(result):
        return None
    (found,) = frames.read(result.metrics()).rows(named=True)
    rows = [
        (name, form(found[metric]))
        for metric, (name, form) in ROUTES.items()
        if found[metric] is not None and not math.isnan(found[metric])
    ]
    return PageTable(
        "All routes, not only the easiest",
        ("What", "Mean"),
        tuple(rows),
        numbers=(1,),
        note="The mean over people of what each of them has; those who had a yes already aren't "
        "counted.",
    )


def _changes(result: Recourse) -> PageTable | None:
    paths = easiest_paths(result)
    if not paths:
        return None
    rows = [
        (one.feature.label, str(one), f"{one.total:,}", _share(one.total, len(paths)))
        for one in asked_for(result, paths)
        if one.feature.chosen or one.total
    ]
    return PageTable(
        "What the easiest routes change",
        ("What changes", "Which way", "Routes", "Share"),
        tuple(rows),
        numbers=(2, 3),
    )
