"""What a baseline found, as paths: each row as the person would see it, scored and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from stepladder.methods.base import standing
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats

Rows = tuple[Floats, Floats]
"""The rows of a trail, as values and as points."""


def offered(
    feasible: Feasible,
    scores: Floats,
    trails: Sequence[Sequence[Floats]],
    scorer: Scorer,
    paths: int,
    *,
    checked: bool,
    reason: str = "nothing was found",
) -> tuple[list[list[Path]], int]:
    """`paths` paths for each of n people from the trails a method found, and how many it dropped.

    trails   each person's trails, the best first: points (s, columns), the start left out
    checked  show each row as the person would see it (whole numbers, valid levels), and drop a
             trail with a row that breaks a rule, or whose last row then misses the goal; else
             the points are taken as they are
    reason   why a person has fewer than `paths`, where nothing was dropped
    """
    space, goal, dropped = scorer.space, scorer.goal, 0
    paths_of_each: list[list[Path]] = []
    each = [feasible.take(slice(i, i + 1)) for i in range(len(feasible))]
    laid = [_laid(person, own, checked) for person, own in zip(each, trails, strict=True)]
    scored = _scored([rows for own in laid for rows in own], scorer, checked)
    for person, own, score in zip(each, laid, scores, strict=True):
        kept: list[Path] = []
        broke, missed = set[str](), 0
        for (values, points), after in zip(own, islice(scored, len(own)), strict=True):
            met = bool(scorer.met(after[-1:])[0] & person.passes(values[-1:])[0])
            if len(kept) == paths:
                continue
            broken = person.breaks(values) if checked else []
            if checked and (broken or not met):
                dropped += 1
                missed += not broken
                broke.update(broken)
                continue
            kept.append(
                Path(
                    Outcome.REACHED if met else Outcome.STALLED,
                    "meets the goal" if met else f"ends at a score of {goal.shown(after[-1])}",
                    np.concatenate([person.start, values]),
                    np.concatenate([space.to_points(person.start), points]),
                    np.concatenate([[score], after]),
                )
            )
        why = _shortfall(reason, broke, missed)
        gap = standing(space, person.start[0], score, Outcome.UNREACHABLE, why)
        paths_of_each.append(kept + [gap] * (paths - len(kept)))
    return paths_of_each, dropped


def _laid(person: Feasible, trails: Sequence[Floats], checked: bool) -> list[Rows]:
    """Each trail's rows as values and points."""
    space, laid = person.space, []
    for trail in trails:
        values = space.to_values(trail)
        values = space.grid.nearest(values) if checked else values
        values = np.where(np.abs(values - person.start) <= space.dust, person.start, values)
        values = person.complete(values) if checked else values
        laid.append((values, space.to_points(values) if checked else trail))
    return laid


def _scored(rows: list[Rows], scorer: Scorer, checked: bool) -> Iterator[Floats]:
    """The scores of each trail's rows, asked for all at once."""
    if not rows:
        return iter(())
    if checked:
        scores = scorer.score(np.concatenate([values for values, _ in rows]))
    else:
        scores = scorer.score_points(np.concatenate([points for _, points in rows]))
    ends = np.cumsum([len(points) for _, points in rows])
    return iter(np.split(scores, ends[:-1]))


def _shortfall(reason: str, broke: set[str], missed: int) -> str:
    """Why a slot is empty, in words."""
    reasons = []
    if broke:
        reasons.append(f"what was found breaks the rules on {', '.join(sorted(broke))}")
    if missed:
        reasons.append(f"{missed} found missed the goal on the row a person would see")
    return "; ".join(reasons) or reason
