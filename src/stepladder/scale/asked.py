"""What is asked for everybody, and of it what is asked for the people of one part."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd

from stepladder.methods.base import Method
from stepladder.methods.pace import Progress
from stepladder.result.archive.folder import as_part
from stepladder.scale.people import Part
from stepladder.table import frames
from stepladder.table.rules.personal import COLUMNS, Limits, Locked


@dataclass(frozen=True, eq=False)
class Asked:
    """What `recourse` takes beside the people, and what the result is to say."""

    locked: Locked = ()
    limits: Limits = None
    invalid: Literal["outcome", "raise"] = "outcome"
    set_aside: tuple[str, ...] = ()
    fingerprints: Mapping[str, str] = field(default_factory=dict)

    def of(self, part: Part) -> Asked:
        """What is asked for the people of a part, as `recourse` will call them."""
        if not self.people:
            return self
        counted = not isinstance(part.rows, pd.DataFrame)
        names = np.arange(len(part.labels)) if counted else part.labels
        called = dict(zip(keys(part.labels), frames.plain_labels(names), strict=True))
        locked, limits = self.locked, self.limits
        if isinstance(locked, Mapping):
            locked = _own(locked, called)
        if isinstance(limits, Mapping):
            limits = _own(limits, called)
        elif limits is not None:
            limits = _own_rows(limits, called)
        return replace(self, locked=locked, limits=limits)

    def answer(self, method: Method, part: Part, progress: Progress = False) -> bytes:
        """A part's people answered: the Parquet file of their result."""
        found = method.recourse(
            part.rows,
            progress=progress,
            locked=self.locked,
            limits=self.limits,
            invalid=self.invalid,
        )
        told = replace(
            found,
            people=part.labels,
            set_aside=self.set_aside,
            fingerprints=self.fingerprints,
        )
        return as_part(told)

    @property
    def people(self) -> dict[Hashable, str]:
        """Everybody of whom something of their own is asked, and in which argument."""
        named: dict[Hashable, str] = {}
        if isinstance(self.locked, Mapping):
            named |= dict.fromkeys(self.locked, "locked")
        if isinstance(self.limits, Mapping):
            named |= dict.fromkeys(self.limits, "limits")
        elif self.limits is not None:
            named |= dict.fromkeys(frames.read(self.limits)["person"].to_list(), "limits")
        return named

    @property
    def identity(self) -> dict[str, Any]:
        """What tells this question from another, as far as it isn't about who asks."""
        locked, limits = self.locked, self.limits
        if not isinstance(locked, Mapping):
            locked = [locked] if isinstance(locked, str) else list(locked)
        if not (limits is None or isinstance(limits, Mapping)):
            limits = frames.read(limits).select(COLUMNS).rows()
        return {"locked": _short(locked), "limits": _short(limits), "invalid": self.invalid}


def keys(labels: Any) -> list[Hashable]:
    """What labels are matched by."""
    return [frames.key(label) for label in frames.plain_labels(labels)]


def _own(given: Mapping[Any, Any], called: Mapping[Hashable, Any]) -> dict[Any, Any]:
    return {
        called[frames.key(person)]: what
        for person, what in given.items()
        if frames.key(person) in called
    }


def _own_rows(limits: Any, called: Mapping[Hashable, Any]) -> Any:
    table = frames.read(limits)
    people = [frames.key(person) for person in table["person"].to_list()]
    rows = [i for i, person in enumerate(people) if person in called]
    own = table[rows]
    names = nw.new_series("person", [called[people[i]] for i in rows], backend=table.implementation)
    return own.with_columns(names).to_native() if rows else None


def _short(what: Any) -> str:
    """A text that fits on a line, and is another for something else."""
    text = str(what)
    if len(text) <= 60:
        return text
    return f"{text[:40]}… ({hashlib.sha256(text.encode()).hexdigest()[:16]})"
