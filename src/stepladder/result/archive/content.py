"""What every file of a result holds, beside its rows, and the result that is read from it."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.model.goal import Goal
from stepladder.privacy.pay import Guarantee
from stepladder.result.archive.kinds import are_quoted, described, to_template
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse, free_name
from stepladder.table.frames import Frame
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Space

FORMAT = 3
"""The version of the files written here."""

BEFORE = ("person", "path", "step")
"""The columns of a file before the features."""

UNWEIGHED = ("score", "outcome", "reason", "nearness", "point")
"""Those after them in format 2, which doesn't know of effort and is still read."""

AFTER = {2: UNWEIGHED, FORMAT: (*UNWEIGHED, "efforts", "ranks", "tight", "holds")}
"""The same by format."""


def facts(result: Recourse) -> dict[str, Any]:
    """What holds for the whole run, and what is needed to read its rows again."""
    return {
        "format": FORMAT,
        "version": importlib.import_module("stepladder").__version__,  # loaded already
        "columns": list(result.template.columns),
        "frame": described(result.template),
        "labels": {"dtype": str(result.people.dtype), "quoted": are_quoted(result.people)},
        "schema": result.space.schema.to_dict(),
        "center": result.space.center.tolist(),
        "scale": result.space.scale.tolist(),
        "public": result.space.public,
        "goal": asdict(result.goal),
        "settings": dict(result.settings),
        "reference": dict(result.reference),
        "fingerprints": dict(result.fingerprints),
        "set_aside": list(result.set_aside),
    }


def file_names(columns: Sequence[str], version: int = FORMAT) -> list[str]:
    """What the features' columns are called in a file, which has some of its own."""
    return [free_name(name, columns, (*BEFORE, *AFTER.get(version, ()))) for name in columns]


@dataclass(frozen=True, eq=False)
class Content:
    """What a file holds of n people and p paths with r rows in all, path by path."""

    run: Mapping[str, Any]
    totals: Mapping[str, Any]
    people: NDArray[Any]
    """(n,)"""
    slots: NDArray[np.int64]
    """(p,) which of its person's paths each is"""
    outcomes: Sequence[str]
    reasons: Sequence[str]
    nearness: Floats
    """(p,)"""
    lengths: NDArray[np.int64]
    """(p,) how many rows each path has"""
    rows: Frame
    """(r) the raw rows"""
    scores: Floats
    """(r,)"""
    points: Sequence[Sequence[float | None] | None]
    """(r) those that aren't the row's own"""
    efforts: Sequence[Sequence[float | None] | None]
    """(p) of each path (features), where they are known"""
    ranks: Sequence[Sequence[float | None] | None]
    """(p) the same"""
    tight: Sequence[bool]
    holds: Floats
    """(p,)"""


def to_result(content: Content) -> Recourse:
    run, totals, people = content.run, content.totals, content.people
    template = to_template(run["frame"], content.rows)
    center, scale = np.array(run["center"]), np.array(run["scale"])
    space = Space(Schema.from_dict(run["schema"]), template, center, scale, public=run["public"])
    values = space.read(content.rows, allow_missing=True)
    points = encoded(space, values)
    for row, own in enumerate(content.points):
        if own is not None:
            points[row] = own
    flat, ends = [], content.lengths.cumsum()
    for p, (outcome, reason, length, end) in enumerate(
        zip(content.outcomes, content.reasons, content.lengths, ends, strict=True)
    ):
        part = slice(end - length, end)
        flat.append(
            Path(
                *(Outcome(outcome), reason, values[part], points[part], content.scores[part]),
                efforts=_of_features(space, content.efforts[p]),
                ranks=_of_features(space, content.ranks[p]),
                tight=bool(content.tight[p]),
                holds=float(content.holds[p]),
            )
        )
    count = len(flat) // max(len(people), 1)
    in_order = np.array_equal(content.slots, np.tile(np.arange(count), len(people)))
    complete = content.lengths.all() and content.lengths.sum() == len(values)
    if not in_order or not complete or len(people) != totals["people"]:
        raise ValueError("its parts don't fit together")
    result = Recourse(
        space=space,
        goal=Goal(**run["goal"]),
        template=template,
        people=people,
        routes=[flat[i * count : (i + 1) * count] for i in range(len(people))],
        settings=run["settings"],
        reference=run["reference"],
        dropped=totals["dropped"],
        asked=totals["asked"],
        privacy=Guarantee.from_dict(paid) if (paid := totals["privacy"]) else None,
        fingerprints=run["fingerprints"],
        set_aside=tuple(run["set_aside"]),
    )
    # The positives aren't saved; what they gave is.
    result.__dict__["nearness"] = content.nearness.reshape(len(people), max(count, 1))
    return result


def _of_features(space: Space, numbers: Sequence[float | None] | None) -> Floats | None:
    """What a file holds of a path feature by feature; None in it is NaN."""
    if numbers is None:
        return None
    values = np.array(numbers, dtype=np.float64)
    if values.shape != (len(space.schema),):
        raise ValueError(f"{len(values)} numbers of {len(space.schema)} features")
    return values


def encoded(space: Space, values: Floats) -> Floats:
    """The points of rows; NaN where a value is missing."""
    points = np.full((len(values), space.width), np.nan)
    known = ~np.isnan(values).any(axis=1)
    points[known] = space.to_points(values[known])
    return points
