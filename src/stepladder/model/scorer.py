"""Any model as a scorer: rows in, the probability of the goal (or a prediction) out.

What kind of model it is gets found out once, when the scorer is made. Whatever it answers is
checked every time: a model that raises, or returns NaN or the wrong shape, is reported by name with
the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder.errors import ModelError, ParameterError, listing
from stepladder.model.asking import (
    IF_NUMBER,
    Ask,
    asker,
    categories_of,
    desired_labels,
    name_of,
    takes_cells,
    trained_order,
)
from stepladder.model.goal import Goal, python_scalar
from stepladder.table import frames
from stepladder.table.building import Builder, Cells
from stepladder.table.frames import Frame, Template
from stepladder.table.keys import keys_of
from stepladder.table.rules.requirements import Requirements
from stepladder.table.space import Floats, Mask, Space


@dataclass(frozen=True)
class Encoded:
    """A model that was trained on encoded points instead of raw rows. See `encoded`."""

    model: Any


def encoded(model: Any) -> Encoded:
    """Mark a model as trained on `Space.encode`'s points, so that it's asked about points."""
    return Encoded(model)


Parts = Callable[[int], Iterable[slice]]
"""How a number of rows is cut into calls of the model."""


def at_once(count: int) -> Iterable[slice]:
    """In one call, if there is anything to ask."""
    return [slice(0, count)] if count else []


REFUSALS = 16
"""After how many rows with the same gaps, each of them refused, a model is taken to refuse all."""


class Scorer:
    """A model and a goal over a space; `score` is the only way the house asks a model anything.

    It's never changed by being asked, so any number of threads may ask at once.
    """

    def __init__(self, model: Any, space: Space, goal: Goal) -> None:
        self.space = space
        self.goal = goal
        self.takes_points = isinstance(model, Encoded)
        model = model.model if isinstance(model, Encoded) else model
        self.name = name_of(model)
        self.model = model
        # Names first: which columns don't fit says more than how many.
        self._order = None if self.takes_points else trained_order(model, self.name, space)
        self._ask = self._asking()
        self._form = self._forming()
        self._parts: Parts = at_once
        self._known: dict[int, float] | None = None
        self.policy = Requirements.of(goal.policy, space.schema, policy=True)
        self.desired = desired_labels(model, goal, self.name)

    def in_parts(self, parts: Parts) -> Scorer:
        """The same scorer, which asks about rows in the parts that `parts` cuts them into."""
        return self._with(_parts=parts)

    def remembering(self) -> Scorer:
        """The same scorer, which asks about the very same values only once."""
        return self._with(_known={})

    @property
    def remembers(self) -> bool:
        """Whether it asks about the very same values only once."""
        return self._known is not None

    def raised(self, beyond: float) -> Scorer:
        """The same scorer, for which a yes takes a score that is so much higher."""
        goal = self.goal
        return self._with(goal=replace(goal, threshold=goal.threshold + beyond)) if beyond else self

    def _with(self, **other: Any) -> Scorer:
        changed = object.__new__(Scorer)  # how to ask is known already, which copy() forgets
        changed.__dict__.update(self.__dict__, **other)
        return changed

    def _asking(self) -> Ask:
        columns = self.space.width if self.takes_points else len(self.space.schema.columns)
        levels = {} if self.takes_points else categories_of(self.model, self.name, self.space)
        return asker(self.model, self.name, self.goal, columns, levels)

    def _forming(self) -> Callable[[Floats], Any]:
        """What makes values into the form that the model takes: points, cells or a frame."""
        schema, template = self.space.schema, self.space.template
        if self.takes_points:
            return self.space.to_points
        if takes_cells(self.model) and Cells.are_numbers(schema):
            return Cells(schema, template.columns)
        return Builder(schema, template, self._order)

    def __getstate__(self) -> dict[str, Any]:
        """A scorer is pickled as its model; how to ask it is found out again."""
        return {key: value for key, value in self.__dict__.items() if key != "_ask"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._ask = self._asking()

    def score(self, values: Floats) -> Floats:
        """The scores (n,) of rows given as values: the very rows a person would see."""
        if self._known is None or not len(values):
            return self._scores(values)
        keys, known = keys_of(values).tolist(), self._known
        new = {key: row for row, key in enumerate(keys) if key not in known}
        if new:
            scores = self._scores(values[list(new.values())])
            known.update(zip(new, scores.tolist(), strict=True))
        return np.array([known[key] for key in keys])

    def _scores(self, values: Floats) -> Floats:
        scores = np.empty(len(values))
        for part in self._parts(len(values)):
            scores[part] = self._checked(self._form(values[part]))
        return scores

    def alike(self, other: Scorer) -> bool:
        """Whether another model of the same space takes rows in the same form."""
        return type(self._form) is type(other._form) and self._order == other._order

    def prepared(self, values: Floats) -> Any:
        """Rows in the form that the model takes, so that several models need it made only once."""
        return self._form(values)

    def score_prepared(self, rows: Any, some: NDArray[np.intp]) -> Floats:
        """The scores of some of the prepared rows."""
        scores = np.empty(len(some))
        for part in self._parts(len(some)):
            chosen = some[part]
            scores[part] = self._checked(
                rows if len(chosen) == len(rows) else self._some(rows, chosen)
            )
        return scores

    def score_points(self, points: Floats) -> Floats:
        """The scores of points that needn't be valid rows (the published method's)."""
        scores = np.empty(len(points))
        for part in self._parts(len(points)):
            some = points[part]
            scores[part] = self._checked(
                some.copy() if self.takes_points else self._form(self.space.to_values(some))
            )
        return scores

    def check_levels(self, frame: Frame, scored: NDArray[np.intp], scores: Floats) -> None:
        """Refuse a model that goes by the codes of category dtypes, where the space has others.

        frame   rows as the caller has them, and which of them (n,) were scored
        scores  (n,) how the model scored those in the space's own dtypes
        """
        listed, ours = Template.of(frame).listed, self.space.template.listed
        other = [name for name, levels in ours.items() if listed.get(name) != levels]
        if self.takes_points or not other:
            return
        columns = self._order or self.space.template.columns
        try:
            rows = frames.read(frame).select(*columns).to_native()
            theirs = self._checked(self._some(rows, scored))
        except ModelError:  # then the caller's dtypes aren't what it was trained on
            return
        if not np.allclose(theirs, scores, rtol=1e-6, atol=1e-9):
            raise ModelError(
                f"The model {self.name} goes by the position of a level in its column's dtype, and "
                f"where nothing may be learned from the table that is its position in the schema: "
                f"{listing(other)} {'has' if len(other) == 1 else 'have'} other levels, or "
                "another order, in the table's dtype. Train the model with the schema's levels in "
                "the schema's order, or wrap it in a function that makes its own codes."
            )

    def met(self, scores: Floats) -> Mask:
        """Which scores the model's part of the goal takes."""
        return self.goal.met(scores)

    def yes(self, scores: Floats, values: Floats) -> Mask:
        """Which rows (n, features) with these scores (n,) get a yes: by the model and by policy."""
        met = self.goal.met(scores)
        return met & self.policy.hold(values, values).all(axis=1) if len(self.policy) else met

    def score_known(self, values: Floats) -> Floats:
        """The scores (n,) of any rows; NaN for those that the model can't score for a gap."""
        gaps = np.isnan(values).any(axis=1)
        scores = np.full(len(values), np.nan)
        scores[~gaps] = self.score(values[~gaps])
        if gaps.any():
            scores[gaps] = self.score_gaps(values[gaps])
        return scores

    def score_gaps(self, values: Floats) -> Floats:
        """The scores (n,) of rows that lack a value; NaN for those that the model can't score.

        Whether it can is found out by asking: about all rows at once that lack the same values,
        and one by one where the model won't answer for all of them.
        """
        scores = np.full(len(values), np.nan)
        if self.takes_points:  # a point has no gaps
            return scores
        patterns, which = np.unique(np.isnan(values), axis=0, return_inverse=True)
        for pattern in range(len(patterns)):
            rows = np.flatnonzero(which.reshape(-1) == pattern)
            try:
                scores[rows] = self.score(values[rows])
            except ModelError:
                for tries, row in enumerate(rows, 1):
                    with suppress(ModelError):
                        scores[row] = self.score(values[[row]])[0]
                    if tries == REFUSALS and np.isnan(scores[rows]).all():
                        break
        return scores

    def is_desired(self, labels: NDArray[Any]) -> Mask:
        """Which labels are a desired class, or lie in the desired range."""
        if self.goal.is_range:
            try:
                return self.goal.met(labels.astype(np.float64))
            except (TypeError, ValueError) as error:
                raise ParameterError(
                    f"The goal is {self.goal}, so labels must be numbers; got {labels[0]!r}. "
                    "Leave labels out, or give what the model predicts."
                ) from error
        wanted = self.desired or (1,)
        mask = np.asarray([label in wanted for label in labels.tolist()], dtype=bool)
        if len(labels) and not mask.any():
            seen = sorted({str(label) for label in labels.tolist()})
            named = "class" if len(wanted) == 1 else "classes"
            raise ParameterError(
                f"No label equals the desired {named} {listing(wanted)}; the labels are "
                f"{listing(seen)}. Say which of them is desired."
            )
        return mask

    def _checked(self, rows: Any) -> Floats:
        """The model's answer about points or a frame, once it's known to be one score per row."""
        count = len(rows)
        try:
            answer = self._ask(rows)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError(
                f"The model {self.name} raised {type(error).__name__}: {error}\n"
                f"It was asked about {self._offenders(rows)}"
            ) from error
        scores = np.asarray(answer)
        if scores.ndim == 2 and scores.shape[1] == 1:
            scores = scores[:, 0]
        if scores.shape != (count,):
            raise ModelError(
                f"The model {self.name} returned the shape {scores.shape} for {count} rows; "
                f"expected ({count},) scores. Wrap it in a function that returns one per row."
            )
        try:
            scores = scores.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"The model {self.name} returned {python_scalar(scores[0])!r}, which isn't a "
                "number. Give a model with predict_proba, or a function that returns scores."
            ) from error
        wrong = ~np.isfinite(scores)
        if wrong.any():
            raise ModelError(
                f"The model {self.name} returned {scores[wrong][0]} for {int(wrong.sum())} of "
                f"{count} rows: {self._shown(rows, np.flatnonzero(wrong))}"
            )
        if not self.goal.is_range:
            wrong = (scores < -1e-6) | (scores > 1 + 1e-6)
            if wrong.any():
                raise ModelError(
                    f"The model {self.name} returned {scores[wrong][0]:g}, but a score is a "
                    f"probability from 0 to 1. Put a sigmoid or softmax behind it. {IF_NUMBER} "
                    f"Rows: {self._shown(rows, np.flatnonzero(wrong))}"
                )
        return scores

    def _offenders(self, rows: Any) -> str:
        """The single row a model raises on, found by halving; all of them if no half raises."""
        here = np.arange(len(rows))
        while len(here) > 1:
            for half in np.array_split(here, 2):
                try:
                    self._ask(self._some(rows, half))
                except Exception:  # noqa: BLE001  # a model may raise anything
                    here = half
                    break
            else:
                return f"{len(here)} rows together: {self._shown(rows, here)}"
        if len(rows) > 1:
            try:  # a model that has begun to raise on everything isn't this row's fault
                self._ask(self._some(rows, np.delete(np.arange(len(rows)), here)))
            except Exception:  # noqa: BLE001  # as above
                others = f"{len(rows)} rows, and raises on more than one of them, such as "
                return others + self._shown(rows, here)
        return f"this row: {self._shown(rows, here)}"

    def _some(self, rows: Any, indices: NDArray[np.intp]) -> Any:
        if isinstance(rows, np.ndarray):
            return rows[indices]
        return frames.read(rows)[indices.tolist()].to_native()

    def _shown(self, rows: Any, indices: NDArray[np.intp], most: int = 3) -> str:
        part = self._some(rows, indices[:most])
        if self.takes_points:
            frame = self.space.decode(part)
        elif isinstance(part, np.ndarray):
            frame = pd.DataFrame(part, columns=self.space.template.columns)
        else:
            frame = part
        more = f" and {len(indices) - most} more" if len(indices) > most else ""
        return "; ".join(str(row) for row in frames.read(frame).rows(named=True)) + more
