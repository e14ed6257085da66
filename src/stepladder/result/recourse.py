"""The result for many people: what each path was, how it ended, and why.

A method hands over one `Path` for each person and slot. Everything else (long frames, metrics,
files) is read off them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import compress
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder import markup
from stepladder.errors import ParameterError, listing, nearest
from stepladder.metrics import Paths, nearest_distance, summary
from stepladder.model.goal import Goal
from stepladder.model.scores import needed, score
from stepladder.numbers import rounded
from stepladder.privacy.pay import Guarantee
from stepladder.result.choices import different, easiest_first
from stepladder.result.path import Outcome, Path
from stepladder.table import frames
from stepladder.table.amounts import moved
from stepladder.table.frames import Frame, Template
from stepladder.table.space import Floats, Mask, Space

SHOWN = 10
"""How many people a notebook shows at most."""

TAKEN = (
    *("person", "path", "step", "outcome", "score", "distance", "steps"),
    *("changes", "effort", "months", "holds", "tight"),
)
"""Names of result columns; a feature with such a name is shown with an underscore after it."""


@dataclass(frozen=True, eq=False)
class Recourse:
    """The paths of n people, k each, as frames of the caller's kind.

    `settings` echo the method, `reference` counts what it was fitted on, and `dropped` how many
    paths a baseline found that broke a rule, or missed the goal on the row a person would see.
    `asked` says how often the model was asked ("calls") and about how many rows ("rows").
    `privacy` says what a private method spent for it, and what is left. `fingerprints` are the
    SHA-256 of the model's file ("model") and of the reference rows ("data"), where they are known.
    `set_aside` are the columns that people came with and no feature uses.
    """

    space: Space
    goal: Goal
    template: Template
    people: NDArray[Any]
    routes: Sequence[Sequence[Path]] = field(repr=False)
    settings: Mapping[str, Any]
    reference: Mapping[str, int]
    dropped: int = 0
    asked: Mapping[str, int] = field(default_factory=dict)
    positives: Floats | None = field(default=None, repr=False)
    privacy: Guarantee | None = None
    fingerprints: Mapping[str, str] = field(default_factory=dict)
    set_aside: tuple[str, ...] = ()

    def __repr__(self) -> str:
        found = sum(self.best_at(i)[0] is not None for i in range(len(self.people)))
        count = f"{len(self.people)} people, {self._slots} paths each"
        aside = f", set aside: {listing(self.set_aside)}" if self.set_aside else ""
        return f"Recourse({count}, {found} of them reach {self.goal}{aside})"

    def _repr_html_(self) -> str:
        """What a notebook shows: how people fared, and where the first of them end."""
        found = [self.best_at(i) for i in range(len(self.people))]
        counted = Counter(outcome.value for _, outcome, _ in found)
        rows = []
        for i in range(min(len(found), SHOWN)):
            slot, outcome, _ = found[i]
            path = self.routes[i][slot or 0]
            today, end = (score(self.goal, path.scores[step]) for step in (0, -1))
            known = [self.people[i], outcome.value, today]
            if slot is None:
                rows.append([*known, *[""] * 5])
                continue
            changes = "; ".join(
                moved(feature, self.space.shown(f, before), self.space.shown(f, after))
                for f, (feature, before, after, asked) in enumerate(
                    zip(
                        self.space.schema.features,
                        path.values[0],
                        path.values[-1],
                        self.space.links.changes(path.values[0], path.values[-1]),
                        strict=True,
                    )
                )
                if asked
            )
            effort = rounded(path.effort)
            rows.append([*known, slot + 1, path.steps, effort, end, changes])  # counted from 1
        heads = ["person", "outcome", "score today", "easiest path"]
        heads += ["steps", "effort", "score then", "changes"]
        more = len(found) - len(rows)
        return markup.block(
            f"{len(found)} people, {self._slots} paths each; a yes takes {needed(self.goal)}",
            markup.table(["outcome", "people"], counted.most_common(), numbers=[1]),
            markup.table(heads, rows, numbers=[2, 3, 4, 5, 6]),
            markup.paragraph(f"… and {more} more people: see result.status") if more else "",
        )

    # ---- frames ---------------------------------------------------------------------------

    @cached_property
    def paths(self) -> Frame:
        """Every row of every path: person, path, step, the raw features, score."""
        flat = self._flat
        lengths = [path.steps + 1 for path in flat]
        return self._frame(
            {
                "person": np.repeat(self._person_of_path, lengths),
                "path": np.repeat(self._slot_of_path, lengths),
                "step": _joined([np.arange(n) for n in lengths], np.int64),
            },
            self._values,
            {"score": _joined([path.scores for path in flat], np.float64)},
        )

    @cached_property
    def final(self) -> Frame:
        """Where every path ended, and what it takes to get there.

        person, path, outcome, score, distance, steps, then `changes` (how many things it asks for),
        `effort` (what they ask of the person), `months` (as long as the slowest of them), `holds`
        (the probability that the end is still a yes under a retrained model, where it's known) and
        `tight` (whether a little less would no longer be a yes), and the raw features.
        """
        flat, starts = self._flat, np.repeat(self._starts, self._slots, axis=0)
        return self._frame(
            {
                "person": self._person_of_path,
                "path": self._slot_of_path,
                "outcome": np.array([path.outcome.value for path in flat], dtype=object),
                "score": np.array([path.scores[-1] for path in flat], dtype=np.float64),
                "distance": np.array([path.distance for path in flat], dtype=np.float64),
                "steps": np.array([path.steps for path in flat], dtype=np.int64),
                "changes": self._asked.sum(axis=1),
                "effort": np.array([path.effort for path in flat], dtype=np.float64),
                "months": self.space.links.months(self._ends, starts),
                "holds": np.array([path.holds for path in flat], dtype=np.float64),
                "tight": np.array([path.tight for path in flat], dtype=bool),
            },
            self._ends,
        )

    @cached_property
    def margin(self) -> Frame:
        """How far past the line each path ends: person, path, margin; below 0 where it's short.

        In points of the score, or in the unit of what the model predicts.
        """
        scores = np.array([path.scores[-1] for path in self._flat], dtype=np.float64)
        return self._plain(
            {
                "person": self._person_of_path,
                "path": self._slot_of_path,
                "margin": self.goal.margin(scores),
            }
        )

    @cached_property
    def changes(self) -> Frame:
        """What each path asks for: person, path, feature, before, after, effort.

        The efforts of a path add up to the one in `final`. What follows by itself, such as a
        derived feature, isn't asked for, and is in `final`. Values of different features share a
        column, so polars and PyArrow frames hold them as text; a pandas frame holds them as they
        are.
        """
        ends, starts = self._ends, np.repeat(self._starts, self._slots, axis=0)
        moved = np.argwhere(self._asked)
        features = self.space.schema.features
        cells = [
            (self.space.shown(f, starts[row, f]), self.space.shown(f, ends[row, f]))
            for row, f in moved
        ]
        if self.template.library != "pandas":
            cells = [(str(before), str(after)) for before, after in cells]
        columns = {
            "person": self._person_of_path[moved[:, 0]],
            "path": self._slot_of_path[moved[:, 0]],
            "feature": _objects([features[f].name for f in moved[:, 1]]),
            "before": _objects([before for before, _ in cells]),
            "after": _objects([after for _, after in cells]),
            "effort": self._efforts[moved[:, 0], moved[:, 1]],
        }
        return self._plain(columns)

    @cached_property
    def status(self) -> Frame:
        """One row per person: outcome, reason, and the easiest path that reaches the goal.

        Who breaks a requirement of the schema today finds it among the reasons.
        """
        best = [self.best_at(i) for i in range(len(self.people))]
        reasons = []
        for (_, outcome, reason), broken in zip(best, self.broken_today, strict=True):
            told = [f"today's row breaks {part}" for part in broken]
            alone = not told or outcome is Outcome.INVALID_ROW
            reasons.append(reason if alone else "; ".join([reason.removesuffix("."), *told]))
        return self._plain(
            {
                "person": self.people,
                "outcome": _objects([outcome.value for _, outcome, _ in best]),
                "reason": _objects(reasons),
                "best_path": pd.array([slot for slot, *_ in best], dtype="Int64"),
            }
        )

    @cached_property
    def broken_today(self) -> list[tuple[str, ...]]:
        """For each person, the parts of the schema's requirements that today's row breaks."""
        requirements, starts = self.space.requirements, self._starts
        kept = requirements.hold(starts, starts)
        texts = [part.formula.text for part in requirements.parts]
        return [tuple(compress(texts, ~row)) for row in kept]

    def best_at(self, index: int) -> tuple[int | None, Outcome, str]:
        """The easiest successful path of the person at an index, an outcome and a reason."""
        routes, reached = self.routes[index], self._easiest_first(index)
        if not reached:
            nearest = max(routes, key=lambda p: float(self.goal.margin(p.scores[-1:])[0]))
            return None, nearest.outcome, nearest.reason
        missed = [path.reason for slot, path in enumerate(routes) if slot not in reached]
        found = f"{len(reached)} of {len(routes)} paths reach {self.goal}"
        others = [f"another doesn't: {reason}" for reason in dict.fromkeys(missed)]
        return reached[0], Outcome.REACHED, "; ".join([found, *others])

    def index_of(self, person: Hashable) -> int:
        """Where a person stands in the result, by what the caller's index calls them.

        Text isn't a number even if it reads like one, nor is True, though it equals 1.
        """
        person = person.item() if isinstance(person, np.generic) else person
        if not isinstance(person, Hashable):
            raise ParameterError(f"person must be one label of the caller's index; got {person!r}.")
        people, wanted = frames.plain_labels(self.people), frames.key(person)
        found = [i for i, label in enumerate(people) if frames.key(label) == wanted]
        if not found:
            raise ParameterError(
                f"The result has nobody called {person!r}.{nearest(person, people)} "
                f"It has {listing(people)}."
            )
        if len(found) > 1:
            raise ParameterError(
                f"{len(found)} people of the result are called {person!r}. Give people different "
                "names before asking for recourse, or use words.plans(result), which has everyone "
                "in order."
            )
        return found[0]

    def choices(self, person: Hashable) -> Frame:
        """One person's rows of `final` that really differ, the easiest first.

        person  the value that names them in the index of the frame they came from

        These are the easiest of their successful paths, the one of fewest changes, and each further
        one that differs from those before: see `stepladder.result.choices`.
        """
        index = self.index_of(person)
        rows = [index * self._slots + slot for slot in self.choices_at(index)]
        return frames.read(self.final)[rows].to_native()

    def choices_at(self, index: int) -> list[int]:
        """Which paths are the `choices` of the person at an index."""
        return different(self.space, self.routes[index], self._easiest_first(index))

    def _easiest_first(self, index: int) -> list[int]:
        """The successful paths of the person at an index."""
        return easiest_first(self.routes[index], in_order="cost" in self.settings)

    # ---- metrics --------------------------------------------------------------------------

    def metrics(self) -> Frame:
        """Success, distance, diversity and the rest (see `stepladder.metrics`) as one row.

        People who were already at the goal asked for nothing and aren't counted.
        """
        return self._plain({k: np.array([v]) for k, v in summary(self.measured()).items()})

    def measured(self) -> Paths:
        """The paths as the metrics take them, without people who were already at the goal."""
        asked = [
            i
            for i, routes in enumerate(self.routes)
            if routes[0].outcome is not Outcome.ALREADY_POSITIVE
        ]
        n, k, width = len(asked), max(self._slots, 1), self.space.width
        flat = [path for i in asked for path in self.routes[i]]
        starts = np.repeat(self._starts[asked], k, axis=0)
        ends = _stacked([path.values[-1:] for path in flat], len(self.space.schema))
        last = _stacked([path.points[-1:] for path in flat], width)
        last[[path.outcome is Outcome.UNREACHABLE for path in flat]] = np.nan  # there's no end
        return Paths(
            start=_stacked([self.routes[i][0].points[:1] for i in asked], width),
            ends=last.reshape(n, k, width),
            reached=np.array([p.outcome is Outcome.REACHED for p in flat], bool).reshape(n, k),
            lengths=np.array([p.length for p in flat], float).reshape(n, k),
            steps=np.array([p.steps for p in flat], np.int64).reshape(n, k),
            changed=self.space.links.changes(starts, ends).sum(axis=1).reshape(n, k),
            nearness=self.nearness[asked],
            effort=np.array([p.effort for p in flat], float).reshape(n, k),
        )

    @cached_property
    def nearness(self) -> Floats:
        """(n, k) the mean distance from each successful end to its nearest positives."""
        reached = np.array([path.outcome is Outcome.REACHED for path in self._flat], dtype=bool)
        near = np.full(len(reached), np.nan)
        if self.positives is not None and reached.any():
            ends = _stacked([path.points[-1:] for path in self._flat], self.space.width)
            near[reached] = nearest_distance(ends[reached], self.positives)
        return near.reshape(len(self.people), max(self._slots, 1))

    # ---- files ----------------------------------------------------------------------------

    def save(self, path: str | File) -> None:
        """Write everything to a `.parquet` or `.json` file, whole or not at all."""
        from stepladder.result import archive  # which makes results, so it stands on this file

        archive.save(self, path)

    @classmethod
    def load(cls, path: str | File) -> Recourse:
        """Read a result back from a file that `save` or `stepladder recourse` wrote."""
        from stepladder.result import archive

        return archive.load(path)

    # ---- pieces ---------------------------------------------------------------------------

    @property
    def _slots(self) -> int:
        return len(self.routes[0]) if len(self.routes) else 0

    @cached_property
    def _flat(self) -> list[Path]:
        return [path for routes in self.routes for path in routes]

    @cached_property
    def _person_of_path(self) -> NDArray[Any]:
        return np.repeat(self.people, self._slots)

    @cached_property
    def _slot_of_path(self) -> NDArray[np.int64]:
        return np.tile(np.arange(self._slots), len(self.people))

    @cached_property
    def _starts(self) -> Floats:
        return _stacked([routes[0].values[:1] for routes in self.routes], len(self.space.schema))

    @cached_property
    def _ends(self) -> Floats:
        return _stacked([path.values[-1:] for path in self._flat], len(self.space.schema))

    @cached_property
    def _asked(self) -> Mask:
        """(paths, features) what each path asks for"""
        return self.space.links.changes(np.repeat(self._starts, self._slots, axis=0), self._ends)

    @cached_property
    def _efforts(self) -> Floats:
        """(paths, features) and what that asks of the person; NaN where nobody weighed it"""
        unknown = np.full(len(self.space.schema), np.nan)
        parts = [unknown if path.efforts is None else path.efforts for path in self._flat]
        return np.array(parts, dtype=np.float64).reshape(-1, len(unknown))

    @property
    def _values(self) -> Floats:
        """Every row of every path."""
        return _stacked([path.values for path in self._flat], len(self.space.schema))

    def _frame(
        self,
        before: Mapping[str, NDArray[Any]],
        values: Floats,
        after: Mapping[str, NDArray[Any]] | None = None,
    ) -> Frame:
        rows = frames.read(self.space.to_frame(values, self.template))
        columns: dict[str, Any] = dict(before)
        for name in rows.columns:
            columns[free_name(name, rows.columns)] = rows[name].to_native()
        return self._plain({**columns, **(after or {})})

    def _plain(self, columns: Mapping[str, Any]) -> Frame:
        if self.template.library != "pandas":
            columns = {
                name: [None if v is pd.NA else v for v in column.tolist()]
                if isinstance(column, np.ndarray | pd.api.extensions.ExtensionArray)
                else column
                for name, column in columns.items()
            }
        return self.template.build(columns)


def free_name(name: str, features: Sequence[str], taken: Sequence[str] = TAKEN) -> str:
    """A feature's name in a result, which has columns of its own."""
    shown = name
    while shown in taken or (shown != name and shown in features):
        shown += "_"
    return shown


def _joined(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _stacked(parts: Sequence[Floats], width: int) -> Floats:
    return np.concatenate(parts) if parts else np.empty((0, width))


def _objects(cells: list[Any]) -> NDArray[Any]:
    """An object array, so that NumPy doesn't turn a mix of values into text."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
