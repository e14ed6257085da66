"""What every method shares: one `fit`, one `recourse`, and the check of what it offers.

A method says what it learns from the reference rows (`learn`) and which paths it has for people
who aren't at the goal yet (`answer`). Reading, scoring, bad input, people without a valid row or
already at the goal, time and progress are dealt with here, once. docs/methods.md shows how to write
one.

What `fit` learned is never changed by a question: all there is to one goes in as a `Question` and
comes out as an `Answer`, so any number of threads may ask at once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from stepladder.checks import choice
from stepladder.errors import (
    EmptyFrameError,
    NotFittedError,
    ParameterError,
    PositivesError,
    SchemaError,
)
from stepladder.methods import refusals
from stepladder.methods.collecting import uncollected
from stepladder.methods.pace import Pace, Progress, TimeUpError
from stepladder.methods.parts import Part, answered
from stepladder.model.goal import Goal
from stepladder.model.loading import load
from stepladder.model.scorer import Scorer
from stepladder.model.successors import Successors, in_a_list
from stepladder.privacy.pay import Guarantee
from stepladder.result.path import Outcome, Path
from stepladder.result.recourse import Recourse
from stepladder.table import frames
from stepladder.table.effort import Effort
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Change, Derived, Feature
from stepladder.table.frames import Frame, Template
from stepladder.table.keys import keys_of
from stepladder.table.reading import Faults
from stepladder.table.rules.agreement import compare
from stepladder.table.rules.faults import (
    add_bounds_faults,
    add_formula_faults,
    check_bounds,
    check_formulas,
)
from stepladder.table.rules.personal import Limits, Locked, limit_arrays, locked_mask
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask, Space


@dataclass(frozen=True, eq=False)
class ReferenceTable:
    """The n reference rows that lack no value, scored: what a method learns from."""

    space: Space
    scorer: Scorer
    values: Floats
    """(n, features)"""
    scores: Floats
    """(n,)"""
    accepted: Mask
    """(n,) which meet the goal"""
    positive: Mask
    """(n,) which of those carry the desired label too, where labels are given"""
    effort: Effort
    """what changes ask of people, beside these rows; of a private method, by declared ranges"""


@dataclass(frozen=True, eq=False)
class Question:
    """What n people who aren't at the goal ask of a method."""

    feasible: Feasible
    """where they stand (`start`) and what they could become"""
    scores: Floats
    """(n,) what the model says of them today"""
    scorer: Scorer
    """to ask the model with, as fast as the time budget wants it; `TimeUpError` when that ends"""
    pace: Pace
    twins: NDArray[np.intp]
    """(n,) how many people with the very same row came before each: chance may tell them apart"""
    next_only: bool = False
    """whether only the next step of each path is asked for: more needn't be planned"""
    successors: Successors | None = None
    """models that may replace this one, where any are known; asked as the time budget wants it"""
    effort: Effort | None = None
    """what changes ask of people, if a method that makes very many paths weighs them itself;
    None where it depends on the person"""

    def take(self, people: NDArray[np.intp]) -> Question:
        """What some of them ask."""
        return replace(
            self,
            feasible=self.feasible.take(people),
            scores=self.scores[people],
            twins=self.twins[people],
        )


@dataclass(frozen=True, eq=False)
class Answer:
    """A method's paths for n people, as many for each as it has `slots`."""

    paths: list[list[Path]]
    dropped: int = 0
    """how many paths were found that broke a rule or missed the goal on the row a person sees"""


class Method(ABC):
    """A recourse method: hyper-parameters in the constructor, then `fit`, then `recourse`.

    Yours says what its `settings` are, what to `learn` and how to `answer`.
    Learned by `fit`: `space_`, `scorer_`, `successors_`, `effort_`, `counts_`, `positives_`,
    `background_` and what `learn` adds.
    """

    paths: int
    random_state: int
    max_changes: int | None = None
    """how many things a path may change at most"""
    holds: float | None = None
    """with which probability a path has to hold under a retrained model"""

    @property
    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters, "method" first, as results echo them."""

    @abstractmethod
    def learn(self, table: ReferenceTable) -> None:
        """Learn from the reference rows; state that is learned is set last, all at once."""

    def with_prior(self, successors: Successors, table: ReferenceTable) -> Successors:
        """The successors, knowing how surely paths of this method usually hold."""
        return successors

    @abstractmethod
    def answer(self, question: Question) -> Answer:
        """The paths of n people who aren't at the goal: `slots` for each."""

    @property
    def slots(self) -> int:
        """How many paths each person gets."""
        return self.paths

    @property
    def batch(self) -> int:
        """How many people are answered at a time."""
        return 1024

    @property
    def honours_rules(self) -> bool:
        """Whether paths keep the schema's rules; methods as published may not."""
        return True

    @property
    def takes_gaps(self) -> bool:
        """Whether a missing value is a value like another, where the model scores it."""
        return False

    @property
    def is_private(self) -> bool:
        """Whether nothing about the reference rows may be disclosed but what was paid for."""
        return False

    @property
    def pays_per_answer(self) -> bool:
        """Whether every answer is paid for from a privacy budget."""
        return False

    def guarantee(self, releases: int = 0) -> Guarantee | None:
        """What is promised about the reference rows, after an answer that took some releases."""
        return None

    # ---- fit ------------------------------------------------------------------------------

    def fit(
        self,
        train: Frame,
        model: Any,
        *,
        schema: Schema | None = None,
        goal: Goal | None = None,
        labels: Any = None,
        space: Space | None = None,
        successors: Iterable[Any] | None = None,
        trust: Iterable[str] = (),
    ) -> Self:
        """Learn from the rows of `train`, above all from its positives.

        train       the reference rows, in raw units; columns that the schema doesn't name are set
                    aside
        model       anything that scores them: see `stepladder.model.scorer`; or the name of a model
                    file, an import path or an address: see `stepladder.model.loading`
        labels      where given, a positive must also carry the desired label
        space       an encoding made elsewhere; else it's fitted on `train`, or, where nothing may
                    be learned from that, taken from the schema
        successors  models that may replace this one, each of any kind that `model` may be; they
                    state how likely a path's end still gets a yes. `sl.successors` makes them
        trust       types in a .skops model that are taken though they aren't known to be harmless
        """
        space = _chosen_space(train, schema, goal, space, public=self.is_private)
        space.warm()  # so that no question changes it, and the first takes no longer
        self._check_known(space.schema, goal or Goal())
        values = space.read(train, allow_missing=True)
        if not len(values):
            raise EmptyFrameError("The reference frame has no rows.")
        self._check_holds(successors)
        scorer = Scorer(_opened(model, trust), space, goal or Goal())
        if not self.is_private:
            compare(space, values)
        scores = self._scored(values, scorer)
        known = ~np.isnan(scores)
        values, scores, rows = values[known], scores[known], len(values)
        if space.public:
            scorer.check_levels(train, np.flatnonzero(known), scores)
        accepted = scorer.yes(scores, values)
        positive = accepted & _labelled(labels, rows, scorer)[known]
        if not (positive.any() or self.is_private):
            raise PositivesError(_no_positives(scorer, scores, accepted, rows))
        # Nothing of the reference rows may be told by a private method, their ranks included.
        effort = Effort.declared(space) if self.is_private else Effort.learned(space, values)
        table = ReferenceTable(space, scorer, values, scores, accepted, positive, effort)
        replacing = None if successors is None else self._successors(successors, table, trust)
        self.learn(table)
        self.space_, self.scorer_, self.effort_ = space, scorer, effort
        self.successors_: Successors | None = replacing and self.with_prior(replacing, table)
        self.positives_, self.counts_ = self._disclosed(table, rows)
        self.background_ = self._background(table)
        return self

    def _successors(self, given: Any, table: ReferenceTable, trust: Iterable[str]) -> Successors:
        """Models that may replace this one, asked first about what this one barely accepts."""
        models = [_opened(model, trust) for model in in_a_list(given)]
        goal, accepted = table.scorer.goal, np.flatnonzero(table.accepted & (not self.is_private))
        nearest = accepted[goal.margin(table.scores[accepted]).argsort(kind="stable")]
        return Successors.of(models, table.space, goal, table.values[nearest])

    def _scored(self, values: Floats, scorer: Scorer) -> Floats:
        """The scores (n,) of rows (n, features); NaN for one that can't be scored for a gap."""
        scores = np.full(len(values), np.nan)
        asked = np.full(len(values), self.takes_gaps) | ~np.isnan(values).any(axis=1)
        scores[asked] = scorer.score_known(values[asked])
        return scores

    def _disclosed(self, table: ReferenceTable, rows: int) -> tuple[Floats | None, dict[str, int]]:
        """What results disclose of the reference rows: the positives' points, and counts."""
        points = table.space.to_points(table.space.grid.nearest(table.values[table.positive]))
        return points, {
            "rows": rows,
            "positives": len(points),
            "missing_value": rows - len(table.values),
        }

    def _background(self, table: ReferenceTable) -> Floats | None:
        """Accepted rows to hold refusals against; None where none may be told of."""
        accepted = table.accepted
        if self.is_private or not accepted.any():
            return None
        margins = table.scorer.goal.margin(table.scores[accepted])
        return refusals.background(table.values[accepted], margins)

    # ---- refusals -------------------------------------------------------------------------

    def refusals(self, people: Frame) -> Frame:
        """What keeps people's scores down, beside those of accepted people: person, feature, pull.

        One row per person and feature, the strongest pull down first. Pulls are in units of the
        score, below 0 for what keeps it down, and add up to how far the person's score is from the
        mean score of up to 64 accepted reference rows; for a goal that is a range of predictions,
        how far they are within it counts. They are sampled Shapley values: see
        `stepladder.methods.refusals`. The policy is no part of a score and has no pull.

        The model is asked about some 2,000 rows per person. Pulls are missing for a row that is
        invalid, or that the model can't score for a gap.
        """
        self._check_fitted()
        if self.background_ is None:
            raise ParameterError(
                f"{self.settings['method']} has no accepted rows to hold a refusal against: its "
                "privacy budget keeps the table's own from view, and bought none that the model "
                "accepts. Use privacy=sl.PayOnce(budget), which buys rows."
            )
        rows = self.space_.own(people)
        values, faults = self._read(rows, "outcome")
        valid = np.setdiff1d(np.arange(len(values)), list(faults))
        found = np.full(values.shape, np.nan)
        found[valid] = refusals.pulls(
            values[valid], self.background_, self.scorer_, self.random_state
        )
        return refusals.frame(found, frames.labels(people), self.space_.schema, Template.of(rows))

    # ---- recourse -------------------------------------------------------------------------

    def recourse(
        self,
        people: Frame,
        *,
        progress: Progress = False,
        time_budget: float | None = None,
        locked: Locked = (),
        limits: Limits = None,
        invalid: Literal["outcome", "raise"] = "outcome",
        n_jobs: int = 1,
    ) -> Recourse:
        """Paths to the goal for every row of `people`, whatever becomes of each.

        Columns that the schema doesn't name are set aside, and the result says which.

        progress     True for a bar, or a function called with (done, total)
        time_budget  seconds after which what isn't found yet is `timed_out`
        locked       features that can't change for any of these people, or {person: features}
        limits       how far each person can go: {person: {feature: (low, high)}}, None for an open
                     end, or a frame with the columns person, feature, low and high
        invalid      what a row is that can't be read or breaks the schema's own bounds: "outcome"
                     for that person's outcome `invalid_row`, "raise" for an error
        n_jobs       how many processes work side by side (joblib); -1 for one per core. The rows
                     are the same whatever the number
        """
        self._check_fitted()
        self._check_jobs(n_jobs)
        choice("recourse(invalid)", invalid, ("outcome", "raise"))
        aside = self.space_.schema.set_aside(frames.read(people).columns)
        labels, rows = frames.labels(people), self.space_.own(people)
        template, (values, faults) = Template.of(rows), self._read(rows, invalid)
        if self.is_private:
            template = template.declaring(self.space_.schema.levels, shared_only=True)
        schema = self.space_.schema
        held = locked_mask(schema, labels, locked)
        ends = None if limits is None else limit_arrays(schema, labels, limits)
        self._check_honoured(held, ends)
        self._check_settable(held, ends)
        with Pace(len(values), progress, time_budget) as pace:
            answer = self.answer_all(values, labels, pace, held, ends, faults=faults, n_jobs=n_jobs)
        return Recourse(
            space=self.space_,
            goal=self.scorer_.goal,
            template=template,
            people=labels,
            routes=answer.paths,
            settings=self.settings,
            reference=self.counts_,
            asked=self._asked(pace),
            dropped=answer.dropped,
            positives=self.positives_,
            privacy=self.guarantee(pace.releases),
            set_aside=aside,
        )

    def _asked(self, pace: Pace) -> dict[str, int]:
        """How often the model was asked, and about how many rows."""
        if self.is_private:  # it would tell how many reference rows there are
            return {}
        apart = {} if self.successors_ is None else {"successors": pace.tally.successors}
        return {"calls": pace.tally.calls, "rows": pace.tally.rows, **apart}

    def _read(self, rows: Frame, invalid: str) -> tuple[Floats, Faults]:
        """The values (n, features) of people's rows, and what is wrong with invalid ones."""
        if invalid == "raise":
            return self.space_.read(rows, allow_missing=True), {}
        values, faults = self.space_.read_each(rows)
        add_bounds_faults(self.space_, values, faults)
        add_formula_faults(self.space_, values, faults)
        return values, faults

    def answer_all(
        self,
        values: Floats,
        labels: NDArray[Any],
        pace: Pace,
        locked: Mask,
        limits: tuple[Floats, Floats] | None = None,
        *,
        difficulty: Floats | None = None,
        next_only: bool = False,
        faults: Mapping[int, str] | None = None,
        n_jobs: int = 1,
    ) -> Answer:
        """Each person's paths, including people who can't be asked about or need none.

        `difficulty` (n, features) says by how much harder than for others each change is for them.
        `faults` says which rows are invalid and why; bounds that another breaks are an error.
        """
        space, k = self.space_, self.slots
        faults = faults or {}
        valid = np.ones(len(values), dtype=bool)
        valid[list(faults)] = False
        # Bounds that a row already breaks are bad input, whether or not that row is at the goal.
        check_bounds(space, values[valid], labels[valid])
        check_formulas(space, values[valid], labels[valid])
        scores = self._scores_today(values, valid, pace)
        gaps = np.isnan(values).any(axis=1)
        complete = valid & (~gaps | ~np.isnan(scores))
        points = np.full((len(values), space.width), np.nan)
        points[complete] = space.to_points(values[complete])
        met = np.zeros(len(values), dtype=bool)
        met[complete] = self.scorer_.yes(scores[complete], values[complete])
        paths: list[list[Path]] = [[] for _ in values]
        dropped = 0

        def stay(i: int, outcome: Outcome, reason: str) -> None:
            paths[i] = [Path(outcome, reason, values[[i]], points[[i]], scores[[i]])] * k

        for i in np.flatnonzero(~complete).tolist():
            if i in faults:
                stay(i, Outcome.INVALID_ROW, faults[i])
                continue
            names = [space.schema.names[f] for f in np.flatnonzero(np.isnan(values[i]))]
            stay(i, Outcome.MISSING_VALUE, f"no value for {', '.join(names)}")
        for i in np.flatnonzero(met).tolist():
            shown = self.scorer_.goal.shown(scores[i])
            stay(i, Outcome.ALREADY_POSITIVE, f"already meets the goal with a score of {shown}")
        some = np.flatnonzero(~met & ~np.isnan(scores))
        pace.bank(len(values) - len(some))
        asking = Part(
            some,
            values[some],
            scores[some],
            _twins(values)[some],
            locked[some],
            None if limits is None else (limits[0][some], limits[1][some]),
            None if difficulty is None else difficulty[some],
            next_only,
        )
        for part, answer in answered(self, asking, pace, n_jobs):
            dropped += answer.dropped
            for i, found in zip(part.people.tolist(), answer.paths, strict=True):
                paths[i] = found
            pace.bank(len(part.people))
        for i, found in enumerate(paths):
            if not found:
                stay(i, Outcome.TIMED_OUT, TOO_LATE)
        return Answer(self.weighed(paths, difficulty, anew=False), dropped)

    def answer_part(self, part: Part, pace: Pace) -> Answer:
        """The paths of some people, with how surely each holds where that's known."""
        scorer, successors = self.scorer_.in_parts(pace.parts), self.successors_
        if successors is not None:
            successors = successors.in_parts(pace.successor_parts)
        feasible = Feasible.around(
            self.space_,
            part.values,
            locked=part.locked,
            limits=part.limits,
            difficulty=part.difficulty,
            policy=scorer.policy,
            max_changes=self.max_changes,
        )
        answer = self.answer(
            Question(
                feasible,
                part.scores,
                scorer,
                pace,
                part.twins,
                part.next_only,
                successors,
                self.effort_ if part.difficulty is None else None,
            )
        )
        if successors is None or part.next_only:
            return answer
        with suppress(TimeUpError):  # what was found in time stays, with nothing said of how surely
            answer = replace(answer, paths=stated(answer.paths, successors, self.holds))
        return answer

    def weighed(
        self, paths: list[list[Path]], difficulty: Floats | None = None, *, anew: bool = True
    ) -> list[list[Path]]:
        """The same paths, of n people, with what each asks of its person.

        difficulty  (n, features) by how much harder than for others each change is for them
        anew        whether those that say so already are weighed once more
        """
        flat = [path for found in paths for path in found if anew or path.efforts is None]
        if not flat:
            return paths
        starts = np.concatenate([path.values[:1] for path in flat])
        ends = np.concatenate([path.values[-1:] for path in flat])
        if difficulty is not None:
            counts = [sum(anew or p.efforts is None for p in found) for found in paths]
            difficulty = difficulty.repeat(counts, axis=0)
        efforts, ranks = self.effort_.weighed(starts, ends, difficulty)
        made = (p.weighed(e, r) for p, e, r in zip(flat, efforts, ranks, strict=True))
        with uncollected():
            return [
                [next(made) if anew or path.efforts is None else path for path in found]
                for found in paths
            ]

    def _scores_today(self, values: Floats, valid: Mask, pace: Pace) -> Floats:
        """(n,) what the model says of people's rows; NaN for those it can't score, or too late."""
        scores, rows = np.full(len(values), np.nan), np.flatnonzero(valid)
        with suppress(TimeUpError):
            for part in pace.parts(len(rows)):
                scores[rows[part]] = self._scored(values[rows[part]], self.scorer_)
        return scores

    def _check_known(self, schema: Schema, goal: Goal) -> None:
        """Refuse rules to a method that would take no notice of them."""
        asked = list(_beyond_changes(schema, goal))
        if asked and not self.honours_rules:
            more = f" and {len(asked) - 2} more" if len(asked) > 2 else ""
            raise SchemaError(
                f"{self.settings['method']} knows no rules but which way a feature may change: "
                f"{', '.join(asked[:2])}{more}. Use a method that honours rules, such as "
                "sl.StEP(), or leave them out."
            )

    def _check_holds(self, successors: object) -> None:
        """Refuse to plan for what nobody can be asked about."""
        if self.holds is not None and successors is None:
            raise ParameterError(
                f"holds={self.holds:g} needs successors, models that may replace this one: "
                "fit(…, successors=sl.successors(model, train, labels))."
            )

    def _check_jobs(self, n_jobs: int) -> None:
        """Refuse what is no number of processes, or more of them where each answer is paid for."""
        if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs == 0:
            raise ParameterError(
                f"n_jobs must be a whole number of processes, or -1 for one per core; got "
                f"{n_jobs!r}."
            )
        if n_jobs != 1 and self.pays_per_answer:
            raise ParameterError(
                f"n_jobs={n_jobs} doesn't go with a privacy budget that is paid from answer by "
                "answer: one process has to keep the account. Use n_jobs=1, or sl.PayOnce(budget)."
            )

    def _check_settable(self, locked: Mask, limits: tuple[Floats, Floats] | None) -> None:
        """Refuse to hold what no plan sets, since it would move all the same."""
        links = self.space_.links
        for f in np.flatnonzero(links.linked).tolist():
            moves = ~np.take(locked, links.movers(f), axis=1).all(axis=1)
            ended = limits is not None and np.isfinite([end[:, f] for end in limits]).any()
            if ended or (locked[:, f] & moves).any():
                raise ParameterError(unsettable(self.space_.schema.features[f]))

    def _check_honoured(self, locked: Mask, limits: tuple[Floats, Floats] | None) -> None:
        """Refuse what single people can't do to a method that would take no notice of it."""
        if self.honours_rules:
            return
        held = locked.any(axis=0)
        ended = np.zeros_like(held) if limits is None else np.isfinite(limits).any(axis=(0, 1))
        for what, given, instead in (
            ("locked features", held, "set change='never'"),
            ("limits", ended, "set bounds"),
        ):
            if given.any():
                names = [self.space_.schema.names[f] for f in np.flatnonzero(given)]
                raise ParameterError(
                    f"{self.settings['method']} knows no {what}, but got {', '.join(names)}. "
                    f"Use a method that honours rules, such as sl.StEP(), or {instead} in the "
                    "schema."
                )

    def _check_fitted(self) -> None:
        if not hasattr(self, "space_"):
            raise NotFittedError(
                f"This {type(self).__name__} isn't fitted yet: call fit(train, model, schema=…) "
                "before."
            )


def _twins(values: Floats) -> NDArray[np.intp]:
    """(n,) how many of the rows before each are the very same."""
    same = keys_of(values)
    order = same.argsort(kind="stable")
    firsts = np.searchsorted(same[order], same[order])
    twins = np.empty(len(values), dtype=np.intp)
    twins[order] = np.arange(len(values)) - firsts
    return twins


# ---- paths ------------------------------------------------------------------------------------

TOO_LATE = "the time budget ended before this person's turn"


def standing(space: Space, values: Floats, score: float, outcome: Outcome, reason: str) -> Path:
    """A path of no steps, for a person at values (features,)."""
    row = values[None]
    return Path(outcome, reason, row, space.to_points(row), np.array([score]))


def stated(
    paths: list[list[Path]], successors: Successors, wanted: float | None
) -> list[list[Path]]:
    """The same paths, those that end with a yes saying how likely it holds.

    One that a search was unsure of is reached after all if those kept back state as much as is
    wanted.
    """
    yes = (Outcome.REACHED, Outcome.UNSURE)
    ends = [path.values[-1] for own in paths for path in own if path.outcome in yes]
    if not ends:
        return paths
    holds = iter(successors.stated(successors.votes(np.array(ends))).tolist())

    def told(path: Path) -> Path:
        if path.outcome not in yes:
            return path
        known = replace(path, holds=next(holds))
        if path.outcome is Outcome.UNSURE and wanted is not None and known.holds >= wanted:
            return replace(known, outcome=Outcome.REACHED, reason="meets the goal")
        return known

    return [[told(path) for path in own] for own in paths]


# ---- checks -----------------------------------------------------------------------------------


def _opened(model: Any, trust: Iterable[str]) -> Any:
    """A model, or the one that a name stands for."""
    named = isinstance(model, str | PathLike)
    return load(model, trust=trust) if named else model


def _chosen_space(
    train: Frame, schema: Schema | None, goal: Goal | None, space: Space | None, *, public: bool
) -> Space:
    """The space given, or one fitted on `train`; a `public` one is taken from the schema alone."""
    for name, given, kind in (
        ("schema", schema, Schema),
        ("space", space, Space),
        ("goal", goal, Goal),
    ):
        if given is not None and not isinstance(given, kind):
            example = "; for example goal=sl.Goal(threshold=0.7)" if name == "goal" else ""
            raise ParameterError(
                f"{name} must be a stepladder {kind.__name__}, got {given!r}{example}."
            )
    if space is None:
        if schema is None:
            raise SchemaError(
                "fit needs a schema: what each feature is and how a person may change it. "
                "Start with sl.Schema.infer(train, never=[…], increase=[…])."
            )
        space = Space.from_schema(schema, train) if public else Space.fit(schema, train)
    elif public and not space.public:
        raise ParameterError(
            "This space was fitted on a table, and its scale would tell about the people in it. "
            "Private use needs Space.from_schema(schema, train), or a schema and no space."
        )
    elif schema is not None and (odd := schema.differs_in(space.schema)):
        raise SchemaError(
            f"The schema and the space it was given with differ in {odd!r}. Fit the space "
            "with the same schema, or leave one of them out."
        )
    if not space.changeable.any():
        raise SchemaError(
            "No feature of the schema may change, so nobody can become anything else. "
            "Let at least one feature change."
        )
    return space


def _beyond_changes(schema: Schema, goal: Goal) -> Iterator[str]:
    """What a schema and a goal ask beyond which way features may change, and roundness."""
    for feature in schema.features:
        if isinstance(feature, Derived):
            yield f"{feature.name!r} is derived"
        elif feature.change is Change.TIME:
            yield f"{feature.name!r} changes with time"
        for setting in ("reach", "multiple", "at_once", "moves", "not_to"):
            if setting in feature.settings:
                yield f"{feature.name!r} has {setting}"
    for what, texts in (("the schema requires", schema.require), ("the policy is", goal.policy)):
        for text in texts:
            yield f"{what} {text}"


def unsettable(feature: Feature) -> str:
    """Why a feature that no plan sets can't be held where it is, in a sentence."""
    if feature.change is Change.TIME:
        return (
            f"{feature.name!r} grows with the time that a plan takes, so it can't be locked or "
            "limited. Lock what takes long."
        )
    return (
        f"{feature.name!r} follows from other features, so it can't be locked or limited. Lock or "
        "limit those, or state a requirement in the schema."
    )


def _labelled(labels: Any, count: int, scorer: Scorer) -> Mask:
    """Which reference rows carry the desired label; all of them where labels aren't given."""
    if labels is None:
        return np.ones(count, dtype=bool)
    given = np.asarray(labels)
    if given.shape != (count,):
        raise ParameterError(
            f"labels must be one per reference row: expected ({count},), got {given.shape}."
        )
    return scorer.is_desired(given)


def _no_positives(scorer: Scorer, scores: Floats, accepted: Mask, rows: int) -> str:
    """Why there's nobody to become, in a sentence."""
    if not len(scores):
        return f"Every one of the {rows} reference rows lacks a value. Fill the gaps first."
    if accepted.any():
        return (
            f"The model accepts {int(accepted.sum())} of {rows} reference rows, but none of them "
            "carries the desired label. Leave labels out, or check which class is desired."
        )
    if scorer.met(scores).any():
        return (
            f"The model accepts {int(scorer.met(scores).sum())} of {rows} reference rows, but none "
            f"of them keeps the policy ({' and '.join(scorer.goal.policy)}). Is it the wrong way "
            "round, or in another unit?"
        )
    best = scores[scorer.goal.margin(scores).argmax()]
    return (
        f"None of the {rows} reference rows meets the goal ({scorer.goal}); the nearest scores "
        f"{scorer.goal.shown(best)}. Lower the goal, check which class is desired, or give more "
        "rows."
    )
