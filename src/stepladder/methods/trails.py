"""What a baseline found, as paths: each row as the person would see it, scored and checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from stepladder.methods.base import standing
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Change
from stepladder.table.rules.links import changed
from stepladder.table.space import Floats


@dataclass(frozen=True, eq=False)
class Trail:
    """What a method found, as it would be shown."""

    values: Floats
    """(s, features), the start left out"""
    points: Floats
    """(s, columns)"""
    broken: list[str]
    """the features and requirements whose rules it breaks"""


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
    checked  show each row as the person would see it (whole numbers, valid levels, what follows
             from the rest), and drop a trail with a row or a step that breaks a rule, or whose
             last row then misses the goal; else the points are taken as they are
    reason   why a person has fewer than `paths`, where nothing was dropped
    """
    space, goal, dropped = scorer.space, scorer.goal, 0
    paths_of_each: list[list[Path]] = []
    each = [feasible.take(slice(i, i + 1)) for i in range(len(feasible))]
    laid = [
        [_laid(person, trail, checked) for trail in own]
        for person, own in zip(each, trails, strict=True)
    ]
    scored = _scored([trail for own in laid for trail in own if not trail.broken], scorer, checked)
    for person, own, score in zip(each, laid, scores, strict=True):
        kept: list[Path] = []
        broke, missed = set[str](), 0
        for trail in own:
            after = next(scored) if not trail.broken else np.empty(0)
            if len(kept) == paths:
                continue
            met = not trail.broken and bool(
                scorer.met(after[-1:])[0] & person.passes(trail.values[-1:])[0]
            )
            if checked and not met:
                dropped += 1
                missed += not trail.broken
                broke.update(trail.broken)
                continue
            kept.append(
                Path(
                    Outcome.REACHED if met else Outcome.STALLED,
                    "meets the goal" if met else f"ends at a score of {goal.shown(after[-1])}",
                    np.concatenate([person.start, trail.values]),
                    np.concatenate([space.to_points(person.start), trail.points]),
                    np.concatenate([[score], after]),
                )
            )
        why = _shortfall(reason, broke, missed)
        gap = standing(space, person.start[0], score, Outcome.UNREACHABLE, why)
        paths_of_each.append(kept + [gap] * (paths - len(kept)))
    return paths_of_each, dropped


def stepped(person: Feasible, rows: Floats) -> tuple[Floats, list[str]]:
    """One person's rows (s, features), the start left out, as steps that keep the rules.

    Where their steps don't, it's one step to the last of them; and what still breaks a rule then
    is named.
    """
    broken = person.breaks(rows)
    if broken or not (missteps := _missteps(person, rows)):
        return rows, broken
    return (rows, missteps) if _missteps(person, rows[-1:]) else (rows[-1:], [])


def _missteps(person: Feasible, rows: Floats) -> list[str]:
    """The features whose rules on steps are broken on the way along rows (s, features).

    A level goes one hop at a time, what changes at once changes in one step, and time goes on.
    """
    space = person.space
    before, after = np.concatenate([person.start, rows[:-1]]), rows
    moved = changed(after, before)
    wrong = space.at_once & (moved.sum(axis=0) > 1)
    for f, hops in space.hops.allowed.items():
        known = moved[:, f] & ~np.isnan(before[:, f])
        here, there = (side[known, f].astype(np.intp) for side in (before, after))
        wrong[f] |= not hops[here, there].all()
    ageing = space.links.linked & np.array([f.change is Change.TIME for f in space.schema.features])
    wrong |= ageing & (after < before).any(axis=0)
    return [space.schema.names[f] for f in np.flatnonzero(wrong)]


def _laid(person: Feasible, trail: Floats, checked: bool) -> Trail:
    """A trail's rows as values and points, and the rules they break."""
    space = person.space
    values = space.to_values(trail)
    values = space.grid.nearest(values) if checked else values
    values = np.where(np.abs(values - person.start) <= space.dust, person.start, values)
    if not checked:
        return Trail(values, trail, [])
    values, broken = stepped(person, person.complete(values))
    return Trail(values, space.to_points(values), broken)


def _scored(trails: list[Trail], scorer: Scorer, checked: bool) -> Iterator[Floats]:
    """The scores of each trail's rows, asked for all at once."""
    if not trails:
        return iter(())
    if checked:
        scores = scorer.score(np.concatenate([trail.values for trail in trails]))
    else:
        scores = scorer.score_points(np.concatenate([trail.points for trail in trails]))
    ends = np.cumsum([len(trail.values) for trail in trails])
    return iter(np.split(scores, ends[:-1]))


def _shortfall(reason: str, broke: set[str], missed: int) -> str:
    """Why a slot is empty, in words."""
    reasons = []
    if broke:
        reasons.append(f"what was found breaks the rules on {', '.join(sorted(broke))}")
    if missed:
        reasons.append(f"{missed} found missed the goal on the row a person would see")
    return "; ".join(reasons) or reason
