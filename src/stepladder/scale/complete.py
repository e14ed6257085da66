"""The default method on a reference set in shards.

What is tried for everybody, and what it asks of a person, comes from a uniform sample of the rows.
For whom that finds no route every shard is asked, and the easiest of their routes is taken: so
there is one wherever the rows in memory would give one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import numpy as np

from stepladder.errors import ParameterError
from stepladder.methods.base import Answer, Question
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.methods.step.default import Default
from stepladder.methods.step.method import StEP
from stepladder.methods.step.reference import Advice
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.scale.engine import Engine
from stepladder.scale.shards import REFIT
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats

TOLERANCE = (
    "ranks within 0.01, and effort as a sample of the reference rows has it; routes from that "
    "sample, and from all rows for whoever has none there"
)


class CompleteStEP(StEP):
    """The default method on positives in shards, made by `scale.fit`."""

    pieces: tuple[File, ...]
    engine: Engine

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, "shards": len(self.pieces), "tolerance": TOLERANCE}

    def fit(self, *_: Any, **__: Any) -> Any:
        """Refused: its reference rows are those it was made with."""
        raise ParameterError(REFIT)

    def answer(self, question: Question) -> Answer:
        answer = super().answer(question)
        left = np.flatnonzero([not any(map(_is_route, own)) for own in answer.paths])
        if not len(left) or question.pace.expired:
            return answer
        found = self.engine.joined(routes, self.pieces, self._asked_of_all(question, left), easier)
        with suppress(TimeUpError):
            for rows in found.calls:  # asked elsewhere, for this call
                for _ in question.pace.parts(rows):
                    pass
        paths = list(answer.paths)
        for person, own, effort in zip(left.tolist(), found.paths, found.efforts, strict=True):
            if np.isfinite(effort):
                paths[person] = own
        return replace(answer, paths=paths)

    def _asked_of_all(self, question: Question, left: Any) -> Asked:
        asked, advice = question.take(left), self.reference_.advice
        assert advice is not None
        assert isinstance(self.planner, Default)
        return Asked(
            self.planner,
            advice,
            self.effort_,
            asked.feasible,
            asked.scores,
            self.scorer_,
            asked.next_only,
        )


def _is_route(path: Path) -> bool:
    return path.outcome in (Outcome.REACHED, Outcome.UNSURE)


@dataclass(frozen=True, eq=False)
class Asked:
    """What n people ask of every shard."""

    planner: Default
    advice: Advice
    effort: Effort
    feasible: Feasible
    scores: Floats
    scorer: Scorer
    next_only: bool


@dataclass(frozen=True, eq=False)
class Routes:
    """The paths of n people, and what the easiest of each one's asks."""

    paths: list[list[Path]]
    efforts: Floats
    """(n,) infinite where there's no route"""
    calls: list[int]
    """about how many rows the model was asked, call by call"""


def routes(piece: File, asked: Asked) -> Routes:
    """What the positives of one shard lead to."""
    # Their clusters only say where to begin, and finding good ones takes longer than to ask.
    of = replace(asked.planner.parameters, clusterer="random")
    planner = replace(asked.planner, parameters=of)
    found = np.load(piece)
    found = np.tile(found, (-(-of.paths // len(found)), 1)) if len(found) < of.paths else found
    reference = replace(planner.reference(found, asked.effort.space), advice=asked.advice)
    people, calls = len(asked.feasible), list[int]()

    def at_once(count: int) -> Iterator[slice]:
        if count:
            calls.append(count)
            yield slice(0, count)

    question = Question(
        asked.feasible,
        asked.scores,
        asked.scorer.in_parts(at_once),
        Pace(people, progress=False, time_budget=None),
        np.zeros(people, dtype=np.intp),
        asked.next_only,
    )
    paths = planner.answer(question, reference).paths
    efforts = np.array([_effort(own, asked.effort) for own in paths])
    return Routes(paths, efforts, calls)


def _effort(paths: list[Path], effort: Effort) -> float:
    """What the easiest of a person's routes asks; infinite without one."""
    own = [path for path in paths if _is_route(path)]
    if not own:
        return np.inf
    starts = np.stack([path.values[0] for path in own])
    ends = np.stack([path.values[-1] for path in own])
    return float(effort.of(starts, ends).sum(axis=1).min())


def easier(one: Routes, other: Routes) -> Routes:
    """For each person the answer with the easier route; of the earlier shard where both are."""
    wins = other.efforts < one.efforts
    return Routes(
        [
            second if win else first
            for first, second, win in zip(one.paths, other.paths, wins, strict=True)
        ],
        np.minimum(one.efforts, other.efforts),
        one.calls + other.calls,
    )
