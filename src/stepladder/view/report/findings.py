"""What was found, in sentences: how far people have to go, what is asked of them, who has it worse.

Groups are told of as the audit found them, each difference with its interval, and whether it may
be chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from stepladder.audit import Audit
from stepladder.numbers import percent, rounded
from stepladder.result.path import Path
from stepladder.result.recourse import Recourse
from stepladder.table import frames
from stepladder.view.plots.asked import asked_for
from stepladder.view.plots.style import people
from stepladder.view.spread import asking, easiest_paths
from stepladder.words import measures, plans
from stepladder.words.measures import Row

FURTHER = ("mean_effort", "mean_cost")
"""What says who has to go further; the second where the first isn't known."""

SURE = 0.9
"""The probability from which a route counts as one that holds."""

OFTEN = 3
"""How many of the things that are asked for most often are told."""


def lead(result: Recourse) -> str:
    """How many have a route."""
    asked, reached = len(asking(result)), len(easiest_paths(result))
    if not asked:
        return "Nobody in this result asked for a route."
    already = len(result.people) - asked
    rest = f" {already:,} more had a yes already." if already else ""
    share = percent(reached / asked)
    return f"{reached:,} of {asked:,} who asked have a route to a yes ({share}).{rest}"


def findings(result: Recourse, found: Audit | None) -> list[str]:
    """What there is to say of everyone, and of groups where they were compared."""
    paths = easiest_paths(result)
    if not paths:
        return []
    clear, unclear = ([], []) if found is None else _groups(found)
    rest = [_asks(result, paths), *_how_sure(paths)]
    return [_how_far(result, paths), *clear, *unclear, *rest]


# ---- everyone ---------------------------------------------------------------------------------


def _how_far(result: Recourse, paths: Sequence[Path]) -> str:
    """How many have one thing to change, and within what half of them get there."""
    things = [int(result.space.links.changes(p.values[0], p.values[-1]).sum()) for p in paths]
    one = things.count(1)
    middle = int(np.median(things))
    most = "one thing" if middle == 1 else f"{middle} things"
    half = f"half of them have to change at most {most}"
    efforts = [path.effort for path in paths]
    if not any(math.isnan(effort) for effort in efforts):
        half += f", at an effort of at most {rounded(float(np.median(efforts)))}"
    share = percent(one / len(paths))
    return f"On the easiest route of each, {half}. One change is enough for {one:,} ({share})."


def _asks(result: Recourse, paths: Sequence[Path]) -> str:
    """What is asked for most often, and which way."""
    often = [one for one in asked_for(result, paths) if one.total][:OFTEN]
    listed = plans.listed(f"{one.feature.label} ({one})" for one in often)
    return f"What these {len(paths):,} routes ask for most: {listed}."


def _how_sure(paths: Sequence[Path]) -> list[str]:
    """How many are tight, and how many hold, as far as that is known."""
    said = []
    if tight := sum(path.tight for path in paths):
        said.append(
            f"{tight:,} of them {'is' if tight == 1 else 'are'} tight: if a change falls a little "
            "short, the answer may stay no."
        )
    known = [path.holds for path in paths if not math.isnan(path.holds)]
    if known:
        sure = sum(holds >= SURE for holds in known)
        said.append(
            f"{sure:,} of {len(known):,} hold with a probability of at least {percent(SURE)} if "
            "the model is retrained."
        )
    return said


# ---- groups -----------------------------------------------------------------------------------


def _groups(found: Audit) -> tuple[list[str], list[str]]:
    """Who has to go further, and who has a route less often: hardly by chance, and perhaps.

    Of columns that are crossed, only what is hardly chance is told.
    """
    rows = frames.read(found.gaps).rows(named=True)
    groups = frames.read(found.by_group).rows(named=True)
    clear, unclear = list[str](), list[str]()
    for by in dict.fromkeys(row["by"] for row in rows):
        gaps = {row["measure"]: row for row in rows if row["by"] == by and not row["small"]}
        known = [m for m in FURTHER if m in gaps and not math.isnan(gaps[m]["gap"])]
        for measure in [*known[:1], "success"]:
            gap = gaps.get(measure)
            if gap is None or math.isnan(gap["gap"]):
                continue
            own = {row["group"]: row for row in groups if row["by"] == by}
            if gap["gap_low"] > 0 and gap["worst_off"] is not None:
                clear.append(_clear(by, gap, own))
            elif measure != "success" and " & " not in by:
                unclear.append(_unclear(by, gap, own))
    return clear, unclear


def _clear(by: str, gap: Row, own: Mapping[str, Row]) -> str:
    """A difference that is hardly chance."""
    worst, best = (_named(by, gap[end], own) for end in ("worst_off", "best_off"))
    values = [measures.measured(own[gap[end]], gap["measure"]) for end in ("worst_off", "best_off")]
    apart = measures.difference(gap)
    if gap["measure"] == "success":
        what = f"have a route less often than {best}: {values[0]} against {values[1]}"
    else:
        name = measures.MEASURES[gap["measure"]].name.lower()
        what = f"have to go further than {best}: a {name} of {values[0]} against {values[1]}"
    return f"By {by}, {worst} {what}, a difference of {apart}, hardly by chance."


def _unclear(by: str, gap: Row, own: Mapping[str, Row]) -> str:
    """Groups of which none clearly has to go further."""
    lead = f"By {by}, no group clearly has to go further than another"
    if gap["worst_off"] is None:
        return f"{lead}: {measures.difference(gap)}."
    name = measures.MEASURES[gap["measure"]].name.lower()
    worst, best = (
        f"{measures.measured(own[gap[end]], gap['measure'])} for {_named(by, gap[end], own)}"
        for end in ("worst_off", "best_off")
    )
    return (
        f"{lead}: the {name} is {worst} and {best}, a difference of {measures.difference(gap)}, "
        "which may be chance."
    )


def _named(by: str, group: Any, own: Mapping[str, Row]) -> str:
    """A group as a sentence calls it: 'female (47 people)'."""
    name = str(group)
    for column in by.split(" & "):
        name = name.replace(f"{column}=", "", 1)
    return f"{name.replace(' & ', ', ')} ({people(own[group]['asked'])})"
