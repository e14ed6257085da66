"""Recourse in parts: answered one by one or on a cluster, and put into a folder as they come.

A part that is finished stays finished: a run that was killed goes on with those that are missing.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator
from dataclasses import asdict
from os import PathLike
from pathlib import Path as File
from typing import Any, Literal

import numpy as np

from stepladder.checks import choice, whole_number
from stepladder.errors import EmptyFrameError, ParameterError, nearest
from stepladder.methods.base import Method
from stepladder.methods.pace import Pace, Progress
from stepladder.result.archive.folder import Folder
from stepladder.result.provenance import schema_hash
from stepladder.scale import dask
from stepladder.scale.asked import Asked
from stepladder.scale.complete import CompleteStEP
from stepladder.scale.people import People, Survey, people_of
from stepladder.scale.shards import ShardedStEP
from stepladder.table import frames
from stepladder.table.frames import Frame
from stepladder.table.rules.personal import Limits, Locked

PART = 2000
"""How many people are answered and written together, unless something else is asked for."""


def recourse(
    step: Method,
    frame: Frame | str | PathLike[str],
    to: str | PathLike[str],
    *,
    client: Any = None,
    workers: int | None = None,
    part_size: int = PART,
    locked: Locked = (),
    limits: Limits = None,
    invalid: Literal["outcome", "raise"] = "outcome",
    progress: Progress = False,
) -> File:
    """Paths to the goal for any number of people, as a folder of Parquet parts.

    `sl.Recourse.load(to)` reads them as one result, which has the rows of `step.recourse(frame)`.
    No more than a few parts are in memory. Asked again after it was stopped, it answers only the
    parts that are missing; a folder of another run is refused.

    step       a fitted method
    frame      a pandas, polars or PyArrow frame, or the name of a Parquet file or of a folder of
               them, which is read a part at a time
    to         the folder
    client     a `distributed.Client` or a scheduler's address: parts are answered by its workers.
               Without one they're answered here, one after the other
    workers    instead: that many worker processes on this machine
    part_size  how many people make a part: what is lost with a worker, and held in memory by it
    locked, limits, invalid, progress  as in `recourse`

    Returns the folder.
    """
    step._check_fitted()
    size = whole_number("part_size", part_size, 1)
    choice("recourse(invalid)", invalid, ("outcome", "raise"))
    people = people_of(frame, step.space_, size)
    asked = Asked(locked, limits, invalid, people.set_aside)
    survey = survey_of(step, asked)
    for part in people.parts():
        survey.add(part)
    if not survey.people:
        raise EmptyFrameError("The frame of people has no rows.")
    run = Run(step, people, survey, asked, size, File(to))
    run.answer(client=client, workers=workers, progress=progress)
    return File(to)


class Run:
    """A run over people in parts, into one folder; it refuses what it couldn't do when made."""

    def __init__(
        self, method: Method, people: People, survey: Survey, asked: Asked, size: int, to: File
    ) -> None:
        if method.pays_per_answer:
            raise ParameterError(
                f"{method.settings['method']} pays for every answer from one privacy budget, and a "
                "part that has to be answered again would be paid for twice. Use "
                "privacy=sl.PayOnce(budget), or step.recourse(frame)."
            )
        self.method, self.people, self.survey, self.asked = method, people, survey, asked
        self._check_everybody()
        self.folder = Folder.begun(to, identity(method, survey, asked, size))

    def answer(
        self, *, client: Any = None, workers: int | None = None, progress: Progress = False
    ) -> None:
        """Answer what isn't answered yet."""
        if isinstance(self.method, ShardedStEP | CompleteStEP) and (client, workers) != (
            None,
            None,
        ):
            raise ParameterError(
                "This method's reference rows are in shards, which the client that it was fitted "
                "with goes through. Leave client and workers out."
            )
        with (
            dask.client_of(client, workers) as cluster,
            Pace(self.survey.people, progress, None) as pace,
        ):
            questions = self._questions(pace)
            if cluster is None:
                answers: Iterator[dask.Answered] = (
                    (part, asked.answer(self.method, part, lambda done, _: pace.reached(done)))
                    for part, asked in questions
                )
            else:
                answers = dask.answered(cluster, self.method, questions)
            for part, content in answers:
                self.folder.put(part.number, content)
                pace.bank(len(part.labels))
        self.folder.tidy()

    def _questions(self, pace: Pace) -> Iterator[dask.Question]:
        finished = self.folder.finished
        for part in self.people.parts():
            if part.number in finished:
                pace.bank(len(part.labels))
            else:
                yield self.survey.alike(part), self.asked.of(part)

    def _check_everybody(self) -> None:
        """Refuse people who aren't there, and twins whom parts would mix up."""
        for person, what in self.survey.unmet.values():
            raise ParameterError(
                f"{what} names {person!r}, but nobody among the people is called that."
                f"{nearest(person, self.survey.some)}"
            )
        if self.survey.has_twins:
            raise ParameterError(
                "With noise, people with the very same row are told apart by counting them, and "
                "here the same row is in more than one part. Use noise=0, a part_size with "
                "room for everybody, or step.recourse(frame)."
            )


def survey_of(method: Method, asked: Asked) -> Survey:
    """A survey of the people of a run, of whom nobody has been looked at yet."""
    unmet = {frames.key(person): (person, what) for person, what in asked.people.items()}
    return Survey(method.space_, unmet, tells_twins=bool(method.settings.get("noise")))


def identity(method: Method, survey: Survey, asked: Asked, size: int) -> dict[str, Any]:
    """What a run is known by: another with the same would write the same parts."""
    return {
        "version": importlib.import_module("stepladder").__version__,  # loaded already
        "part_size": size,
        "parts": survey.parts,
        "people": survey.people,
        "rows_of_people": survey.digest,
        "settings": method.settings,
        "goal": asdict(method.scorer_.goal),
        "schema": schema_hash(method.space_.schema),
        "reference": method.counts_,
        "model_and_reference_rows": _learned(method),
        **asked.identity,
    }


def _learned(method: Method) -> str:
    """A hash of what `fit` learned, the model's scores of some rows included."""
    known = [method.space_.center, method.space_.scale, method.positives_]
    if (rows := method.background_) is not None:
        known += [rows, method.scorer_.score(rows)]
    digest = hashlib.sha256()
    for array in known:
        if array is not None:  # rounded, for another machine may differ in the last digit
            digest.update(np.round(array, 9).tobytes())
    return digest.hexdigest()
