"""One person's loop with the program: Algorithm 1 of the paper, with the person in it.

Offers are made from where the person really is; they follow one, or come back with any other row;
and new offers are made from there. A feature they can't change can be locked at any time, and one
that they can change only so far can be given limits, or only with trouble a difficulty.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from stepladder import markup
from stepladder.checks import finite
from stepladder.errors import (
    ParameterError,
    ResultError,
    StepladderError,
    listing,
)
from stepladder.methods.base import unsettable
from stepladder.methods.one_row import read_row
from stepladder.methods.pace import Pace
from stepladder.model.goal import Goal
from stepladder.model.scores import needed, score
from stepladder.numbers import exact
from stepladder.privacy.pay import Guarantee
from stepladder.result.choices import different, easiest_first
from stepladder.result.offer import Asked, Offer
from stepladder.result.path import Outcome, Path
from stepladder.table import frames
from stepladder.table.allowed import may_change
from stepladder.table.amounts import moved, value, within
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Feature
from stepladder.table.frames import Frame
from stepladder.table.rules.links import changed
from stepladder.table.rules.personal import limit_arrays, locked_mask
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask

if TYPE_CHECKING:
    from stepladder.methods.step import StEP


FORMAT = 1
"""The format of what `Walk.to_json` writes."""

EVENTS = {
    "start": None,
    "take": "path",
    "observe": "path",
    "lock": "feature",
    "unlock": "feature",
    "limit": "feature",
    "difficulty": "feature",
}
"""What can happen in a walk, and what each event is about besides the row."""

THEM = np.array(["this person"], dtype=object)
"""What messages call somebody who is alone."""


class Walk:
    """A person on the way: `directions()`, then `take` or `observe`, until `done`.

    Made by `StEP.walk` and `StEP.resume`.
    """

    def __init__(self, step: StEP, row: Floats, locked: Iterable[str] = ()) -> None:
        self._step = step
        self._locked = list(dict.fromkeys(locked))
        self._limits: dict[str, tuple[Any, Any]] = {}
        self._difficulties: dict[str, float] = {}
        self._plan: list[Path] | None = None
        self._followed: tuple[int, Path] | None = None  # what is left of a path being followed
        self._began: Floats = row  # where that path begins, whose rules it keeps
        self._releases = 0  # taken for this walk, where each is paid for
        self._move(row)
        self.history: list[dict[str, Any]] = []
        """what happened, oldest first: event, row, score and what the event was about"""

    @classmethod
    def begin(cls, step: StEP, row: Any, *, locked: Iterable[str] = ()) -> Walk:
        walk = cls(step, read_row(step, row))
        walk._note("start")
        for name in locked:
            walk.lock(name)
        return walk

    # ---- where the person is --------------------------------------------------------------

    @property
    def row(self) -> Frame:
        """Where the person is now: a frame of one row."""
        return self._step.space_.to_frame(self._row)

    @property
    def score(self) -> float:
        return self._score

    @property
    def done(self) -> bool:
        """Whether the row the person has now meets the goal."""
        return bool(self._step.scorer_.yes(np.array([self.score]), self._row)[0])

    @property
    def locked(self) -> tuple[str, ...]:
        return tuple(self._locked)

    @property
    def limits(self) -> Mapping[str, tuple[Any, Any]]:
        """How far this person can go, {feature: (low, high)}; None for an open end."""
        return dict(self._limits)

    @property
    def difficulties(self) -> Mapping[str, float]:
        """How many times as hard as usual a change is for this person, {feature: times}."""
        return dict(self._difficulties)

    def __repr__(self) -> str:
        if self.done:
            state = "done"
        elif self._unasked:
            state = "no offers asked for yet"
        else:
            state = f"{sum(path.steps > 0 for path in self._paths())} offers"
        shown = self._step.scorer_.goal.shown(self.score)
        return f"Walk(score={shown}, {len(self.history)} events, {state})"

    def _repr_html_(self) -> str:
        """What a notebook shows: where the person stands, and the offers, if they're to be had."""
        space, goal = self._step.space_, self._step.scorer_.goal
        title = f"The score is {score(goal, self.score)}; a yes takes {needed(goal)}"
        here = [
            (
                feature.label,
                value(feature, space.shown(f, self._row[0, f])),
                self._may_change(feature),
            )
            for f, feature in enumerate(space.schema.features)
        ]
        now = markup.table(["feature", "now", "may change"], here)
        if self.done or self._unasked or not (offers := self.directions()):
            return markup.block(title, now, markup.paragraph(self.reason))
        rows = [
            [
                offer.path + 1,  # people count from 1
                "; ".join(
                    moved(space.schema[asked.feature], asked.before, asked.after)
                    for asked in offer.changes
                ),
                score(goal, offer.score),
                offer.steps_left,
                "yes" if offer.reaches_goal else "not yet",
            ]
            for offer in offers
        ]
        heads = ["path", "next step", "score then", "steps after it", "leads to a yes"]
        return markup.block(title, now, markup.table(heads, rows, numbers=[0, 2, 3]))

    def _may_change(self, feature: Feature) -> str:
        if feature.name in self._locked:
            return "locked"
        limited = feature.name in self._limits
        ends = f", {within(feature, *self._limits[feature.name])}" if limited else ""
        times = self._difficulties.get(feature.name, 1.0)
        hard = "" if times == 1 else f", {exact(times)} times as hard as usual"
        return f"{may_change(feature)}{ends}{hard}"

    @property
    def privacy(self) -> Guarantee | None:
        """What this walk has cost so far, and what is left; None for a method that isn't private.

        Where each step is paid for, that's when `directions()` is first asked from a new row.
        """
        return self._step.guarantee(self._releases)

    # ---- the loop -------------------------------------------------------------------------

    def directions(self) -> list[Offer]:
        """The next step of every path that really differs; empty when done.

        A path that is being followed comes first, then the easiest, and then those that don't reach
        the goal, the nearest to it first. When there's none and the walk isn't done, `reason` says
        why.
        """
        if self.done:
            return []
        paths = self._paths()
        order = easiest_first(paths, in_order="cost" in self._step.settings)
        followed = None if self._followed is None else self._followed[0]
        order.sort(key=lambda slot: slot != followed)
        short = [slot for slot, path in enumerate(paths) if path.outcome is not Outcome.REACHED]
        short.sort(key=lambda slot: paths[slot].steps)
        shown = [*different(self._step.space_, paths, order), *short]
        return [self._offer(slot, paths[slot]) for slot in shown if paths[slot].steps]

    @property
    def reason(self) -> str:
        """Why there's nothing (more) to offer; empty while there is."""
        if self.done:
            return "the goal is met"
        if self._unasked:
            return "directions haven't been asked for from here"
        paths = self._paths()
        return "" if any(path.steps for path in paths) else paths[0].reason

    def take(self, path: int) -> None:
        """Follow an offer: the person now has the row it leads to."""
        offers = [offer.path for offer in self.directions()]
        path = int(path)  # as it is in a result's frame, it may be NumPy's
        if path not in offers:
            open_paths = f"the open ones are {listing(offers)}" if offers else self.reason
            raise ParameterError(f"There's no offer for path {path!r}: {open_paths}.")
        followed = self._paths()[path]
        ahead = self._weighed(
            replace(
                followed,
                values=followed.values[1:],
                points=followed.points[1:],
                scores=followed.scores[1:],
            )
        )
        followed_on = self._followed is not None and self._followed[0] == path
        began = self._began if followed_on else self._row
        self._move(ahead.values[:1])
        self._followed, self._began = (path, ahead) if ahead.steps else None, began
        self._note("take", path=path)

    def observe(self, row: Any) -> None:
        """Tell what really happened: any valid row, on the path or off it.

        Like any row a person comes with, it may have more digits than plans do. Derived features
        that it lacks are worked out.
        """
        seen = read_row(self._step, row, self._row)
        planned = [
            c
            for c, p in enumerate(self._plan or [])
            if p.steps and not changed(p.values[1], seen).any()
        ]
        if changed(seen, self._row).any():
            self._move(seen)
        self._note("observe", path=planned[0] if planned else None)

    def lock(self, feature: str) -> None:
        """The person can't change this feature; no offer from now on will."""
        index = self._step.space_.schema.position(feature)
        if not self._step.honours_rules:
            raise ParameterError(
                "The published method knows no locks. Use sl.StEP() for walks with locks."
            )
        self._check_settable(index)
        if feature not in self._locked:
            self._locked.append(feature)
            if self._step.space_.schema.features[index].chosen:
                self._move(self._row)
            self._note("lock", feature=feature)

    def unlock(self, feature: str) -> None:
        """The person can change this feature after all."""
        self._step.space_.schema.position(feature)
        if feature not in self._locked:
            raise ParameterError(
                f"{feature!r} isn't locked; locked are: {listing(self._locked) or 'none'}."
            )
        self._locked.remove(feature)
        self._move(self._row)
        self._note("unlock", feature=feature)

    def limit(self, feature: str, low: Any, high: Any) -> None:
        """The person can go only so far: from `low` to `high`, None for an open end.

        What they have already stays allowed. None for both lifts the limits again.
        """
        index = self._step.space_.schema.position(feature)
        if not self._step.honours_rules:
            raise ParameterError(
                "The published method knows no limits. Use sl.StEP() for walks with limits."
            )
        self._check_settable(index)
        low, high = self._ends(feature, low, high)
        if (low, high) == (None, None):
            if feature not in self._limits:
                limited = listing(self._limits) or "none"
                raise ParameterError(f"{feature!r} has no limits; limited are: {limited}.")
            del self._limits[feature]
        elif self._limits.get(feature) == (low, high):
            return
        else:
            self._limits[feature] = (low, high)
        if self._step.space_.schema.features[index].chosen:
            self._move(self._row)
        self._note("limit", feature=feature, low=low, high=high)

    def difficulty(self, feature: str, times: float) -> None:
        """A change is harder for this person than for others, or easier: so many times as hard.

        It multiplies what the schema says of the feature, from now on; 1 is as for others.
        """
        space = self._step.space_
        index = space.schema.position(feature)
        if not self._step.honours_rules:
            raise ParameterError(
                "The published method knows no difficulty. Use sl.StEP() for walks with it."
            )
        if space.links.linked[index]:
            raise ParameterError(
                f"{feature!r} isn't changed by itself but follows from other things, so it has no "
                "difficulty. Say how hard those are."
            )
        times = _times(times)
        if times == self._difficulties.get(feature, 1.0):
            return
        self._difficulties[feature] = times
        if times == 1:
            del self._difficulties[feature]
        if self._step.pays_per_answer:  # what was paid for is as good as before
            self._plan = None if self._plan is None else [self._weighed(p) for p in self._plan]
        elif space.schema.features[index].chosen:
            self._move(self._row)
        self._note("difficulty", feature=feature, times=times)

    def _check_settable(self, index: int) -> None:
        """Refuse to hold what no plan sets, since it would move all the same."""
        if self._step.space_.links.linked[index]:
            raise ParameterError(unsettable(self._step.space_.schema.features[index]))

    def _ends(self, feature: str, low: Any, high: Any) -> tuple[Any, Any]:
        """Limits as they are kept: checked, and as values are shown."""
        space = self._step.space_
        index = space.schema.position(feature)
        ends = limit_arrays(space.schema, THEM, {THEM[0]: {feature: (low, high)}})
        low, high = (
            None if np.isinf(end[0, index]) else space.shown(index, end[0, index]) for end in ends
        )
        return low, high

    # ---- JSON -----------------------------------------------------------------------------

    def to_json(self) -> str:
        """Everything needed to go on later, with the same fitted method."""
        followed = None
        if self._followed is not None:
            slot, ahead = self._followed
            followed = {
                "path": slot,
                "rows": [self._named(row) for row in ahead.values],
                "began": self._named(self._began[0]),
            }
        content = {
            "format": FORMAT,
            "schema": self._step.space_.schema.to_dict(),
            "goal": asdict(self._step.scorer_.goal),
            "row": self._named(self._row[0]),
            "locked": self._locked,
            "limits": self._limits,
            "difficulties": self._difficulties,
            "followed": followed,
            "history": self.history,
        }
        if self._releases:  # what was paid for is kept
            plan = self._plan or []
            content["paid"] = {
                "releases": self._releases,
                "plan": [
                    {
                        "outcome": path.outcome.value,
                        "reason": path.reason,
                        "rows": [self._named(row) for row in path.values],
                    }
                    for path in plan
                ],
            }
        return json.dumps(content, allow_nan=False)

    @classmethod
    def resume(cls, step: StEP, text: str) -> Walk:
        try:
            content = json.loads(text)
            found, schema = content["format"], Schema.from_dict(content["schema"])
            if found != FORMAT:
                raise ResultError(
                    f"This walk was saved in format {found!r}, but this version of stepladder "
                    f"reads {FORMAT!r}. Use the version that saved it."
                )
            if schema.rules != step.space_.schema.rules:
                raise ResultError(
                    "This walk began under another schema than the method's. Resume "
                    "it with the method it began with, or begin anew from its row."
                )
            goal = content.get("goal")  # walks that are older don't say
            if goal is not None and Goal(**goal) != step.scorer_.goal:
                raise ResultError(
                    f"This walk began with {Goal(**goal)} as its goal, and the method has "
                    f"{step.scorer_.goal}. Resume it with the goal it began with, or begin anew "
                    "from its row."
                )
            walk = cls(step, read_row(step, content["row"]))
            for name in content["locked"]:
                schema.position(name)
                walk._locked.append(name)
            for name, ends in content.get("limits", {}).items():  # older walks have none
                walk._limits[name] = walk._ends(name, *ends)
            for name, times in content.get("difficulties", {}).items():
                schema.position(name)
                walk._difficulties[name] = _times(times)
            walk._take_up_history(content["history"])
            if content["followed"] is not None:
                walk._follow(**content["followed"])
            if paid := content.get("paid"):
                walk._take_up_paid(paid)
        except ResultError:
            raise
        except (
            *(StepladderError, ArithmeticError, AttributeError),
            *(KeyError, RecursionError, TypeError, ValueError),
        ) as error:
            wrong = f"it has no {error}" if isinstance(error, KeyError) else str(error).rstrip(".")
            raise ResultError(
                f"This isn't a walk that was saved, or it's damaged: {wrong}."
            ) from error
        return walk

    def _take_up_history(self, saved: list[dict[str, Any]]) -> None:
        """Take up what happened, from the start to the row the person has now.

        Without a history, the walk begins there.
        """
        if saved == []:
            self._note("start")
            return
        row = None
        for number, event in enumerate(saved):
            what = event["event"]
            if what not in EVENTS or (what == "start") != (number == 0):
                raise ValueError(f"event {number + 1} of its history is {what!r}")
            if EVENTS[what] == "feature":
                self._step.space_.schema.position(event["feature"])
                if what == "limit":
                    self._ends(event["feature"], event["low"], event["high"])
                elif what == "difficulty":
                    _times(event["times"])
            elif EVENTS[what] == "path" and not isinstance(event["path"], int | None):
                raise ValueError(f"event {number + 1} of its history has path {event['path']!r}")
            row, score = read_row(self._step, event["row"]), event["score"]
            if not (isinstance(score, int | float) and np.isfinite(score)):
                raise ValueError(f"event {number + 1} of its history has score {score!r}")
            self.history.append(dict(event))
        if row is None or changed(row, self._row).any():
            raise ValueError("its history doesn't end where the person is")

    def _follow(
        self, path: int, rows: list[dict[str, Any]], began: dict[str, Any] | None = None
    ) -> None:
        """Take up a path again, unless its rows aren't what this person could do any more.

        It keeps the rules of the row it began from; older walks don't say which that was.
        """
        start = self._row if began is None else read_row(self._step, began)
        ahead = self._taken_up(rows, start)
        if ahead is not None and int(path) < self._step.reference_.slots:
            self._followed, self._began = (int(path), ahead), start

    def _take_up_paid(self, paid: dict[str, Any]) -> None:
        """Take up what was paid for, unless it isn't what this person could do any more."""
        if isinstance(paid["releases"], bool) or not paid["releases"] >= 0:
            raise ValueError(f"{paid['releases']!r} isn't a number of releases")
        self._releases = int(paid["releases"])
        plan = []
        slot = None if self._followed is None else self._followed[0]
        for number, saved in enumerate(paid["plan"]):
            path = self._taken_up(saved["rows"], self._began if number == slot else self._row)
            if path is None:
                return
            plan.append(replace(path, outcome=Outcome(saved["outcome"]), reason=saved["reason"]))
        if len(plan) == self._step.reference_.slots:
            self._plan = plan

    def _taken_up(self, rows: list[dict[str, Any]], start: Floats) -> Path | None:
        """The path of saved rows; None if it isn't one this person could take from `start`."""
        step = self._step
        values = np.concatenate([read_row(step, row) for row in rows])
        locked, limits = self._own_rules()
        there = Feasible.around(
            step.space_, start, locked=locked, limits=limits, max_changes=step.max_changes
        )
        kept = not step.honours_rules or there.keeps(values).all()
        if not kept or changed(values[0], self._row[0]).any():
            return None
        scores, points = step.scorer_.score(values), step.space_.to_points(values)
        met = bool(step.scorer_.yes(scores[-1:], values[-1:])[0])
        outcome = Outcome.REACHED if met else Outcome.STEP_LIMIT
        return self._weighed(Path(outcome, "", values, points, scores))

    # ---- pieces ---------------------------------------------------------------------------

    def _paths(self) -> list[Path]:
        """The planned paths from the row the person has now."""
        if self._plan is None:
            pace = Pace(1, progress=False, time_budget=None)
            try:
                answer = self._step.answer_all(
                    self._row,
                    THEM,
                    pace,
                    *self._own_rules(),
                    difficulty=self._own_difficulty(),
                    next_only=self._step.pays_per_answer,
                )
                self._plan = list(answer.paths[0])
            finally:
                self._releases += pace.releases
            if self._followed is not None:
                slot, ahead = self._followed
                self._plan[slot] = ahead
        return self._plan

    def _own_rules(self) -> tuple[Mask, tuple[Floats, Floats] | None]:
        """What is locked and limited, as a feasible set takes it."""
        schema = self._step.space_.schema
        locked = locked_mask(schema, THEM, self._locked)
        if not self._limits:
            return locked, None
        return locked, limit_arrays(schema, THEM, {THEM[0]: self._limits})

    def _own_difficulty(self) -> Floats | None:
        """(1, features) how many times as hard as usual a change is for this person."""
        if not self._difficulties:
            return None
        names = self._step.space_.schema.names
        return np.array([[self._difficulties.get(name, 1.0) for name in names]])

    def _weighed(self, path: Path) -> Path:
        """The same path with what it asks of this person."""
        return self._step.weighed([[path]], self._own_difficulty())[0][0]

    @property
    def _unasked(self) -> bool:
        """Whether it would cost something to say more: a look at a walk never does."""
        return self._plan is None and self._step.pays_per_answer

    def _offer(self, slot: int, path: Path) -> Offer:
        return Offer(
            path=slot,
            changes=self._asked(path.values[0], path.values[1]),
            score=float(path.scores[1]),
            steps_left=path.steps - 1,
            reaches_goal=path.outcome is Outcome.REACHED,
            total=self._asked(path.values[0], path.values[-1]),
        )

    def _asked(self, before: Floats, after: Floats) -> tuple[Asked, ...]:
        """What is to be done to get from one row, (features,), to another."""
        space = self._step.space_
        return tuple(
            Asked(space.schema.names[f], space.shown(f, before[f]), space.shown(f, after[f]))
            for f in np.flatnonzero(space.links.changes(before, after)).tolist()
        )

    def _move(self, row: Floats) -> None:
        """Stand at `row`, with everything planned before forgotten."""
        self._score = float(self._step.scorer_.score(row)[0])  # first, since a model may refuse it
        self._row = row
        self._plan = self._followed = None

    def _note(self, event: str, **about: Any) -> None:
        self.history.append(
            {"event": event, **about, "row": self._named(self._row[0]), "score": self._score}
        )

    def _named(self, values: Floats) -> dict[str, Any]:
        row = frames.read(self._step.space_.to_frame(values[None])).rows(named=True)[0]
        return {name: _plain(value) for name, value in row.items()}


def _times(times: Any) -> float:
    """How many times as hard a change is, checked."""
    hint = "It says how many times as hard as for others the change is; 3 is three times as hard."
    return finite("walk.difficulty(times)", times, above=0, hint=hint)


def _plain(value: Any) -> Any:
    """A cell as JSON knows it; a gap is None."""
    if value is pd.NA:
        return None
    value = value.item() if hasattr(value, "item") else value
    value = float(value) if isinstance(value, Decimal) else value
    return None if isinstance(value, float) and np.isnan(value) else value
