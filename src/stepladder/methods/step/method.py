"""StEP: cluster the positives, and lead each person to each cluster in small steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from stepladder import clusters, frames
from stepladder.clusters import Clusterer, finds_own_number, partition
from stepladder.errors import (
    EmptyFrameError,
    NotFittedError,
    ParameterError,
    PositivesError,
    SchemaError,
)
from stepladder.feasible import Feasible, allowed
from stepladder.frames import Frame, Template
from stepladder.goal import Goal
from stepladder.kernels.alpha import Alpha, Volcano
from stepladder.methods.pace import Pace, Progress
from stepladder.methods.step.default import Default, Options
from stepladder.methods.step.published import Published
from stepladder.methods.step.reference import (
    Distance,
    Reference,
    metric_of,
    without_outlying,
)
from stepladder.path import Outcome, Path
from stepladder.recourse import Recourse
from stepladder.schema import Schema
from stepladder.scorer import Scorer
from stepladder.space import Floats, Mask, Space

if TYPE_CHECKING:
    from stepladder.methods.walk import Walk

CLIP = 3.0
"""How many standard deviations an outlier counts when clusters are formed."""

SAMPLE = 200
"""On how many rejected reference rows clusters of outliers are told from others."""

PAIRS = 2**24
"""How many (person, positive) pairs are held at a time."""


class StEP:
    """Stepwise Explainable Paths (Hamer et al., TMLR 2024), made to keep its promises.

    paths           how many different routes each person gets
    step_size       the length of a step, in standard deviations
    max_steps       after how many steps a path gives up
    alpha           how a positive's weight falls with its distance
    clusterer       None for k-means, "random", or a scikit-learn clusterer
    random_state    the seed; the same seed gives the same rows
    distance        "euclidean", "mahalanobis" (whitened by the positives), or weights by feature
    options         what is done beyond the paper, see `Options`
    spare_clusters  how many clusters to ask for beyond `paths`, to drop those made of outliers;
                    what they hold is aimed at only for people who can reach nothing else
    noise           β, the share of a step that people make otherwise (published method only)

    Learned by `fit`: `space_`, `scorer_`, `reference_`.
    """

    def __init__(
        self,
        paths: int = 3,
        step_size: float = 1.0,
        max_steps: int = 50,
        alpha: Alpha | None = None,
        clusterer: Clusterer = None,
        random_state: int = 0,
        *,
        distance: Distance = "euclidean",
        options: Options | None = None,
        spare_clusters: int = 0,
        noise: float = 0.0,
    ) -> None:
        self.paths = _whole("paths", paths, 1)
        self.max_steps = _whole("max_steps", max_steps, 1)
        self.random_state = _whole("random_state", random_state, 0)
        self.spare_clusters = _whole("spare_clusters", spare_clusters, 0)
        self.step_size = _number("step_size", step_size, above=0.0)
        self.noise = _number("noise", noise, least=0.0)
        self.alpha = Volcano(degree=2, cutoff=0.5) if alpha is None else alpha
        if not isinstance(self.alpha, Alpha):
            raise ParameterError(
                f"alpha must be a Volcano, Sloped, Power or Unit; got {alpha!r}. "
                "For example: alpha=sl.Volcano(degree=2, cutoff=0.5)."
            )
        if not (isinstance(distance, Mapping) or distance in ("euclidean", "mahalanobis")):
            raise ParameterError(
                "distance must be 'euclidean', 'mahalanobis' or {feature: weight}; "
                f"got {distance!r}."
            )
        clusters.check(clusterer)
        self.clusterer = clusterer
        self.distance = distance
        self.options = Options() if options is None else options
        if not isinstance(self.options, Options):
            raise ParameterError(
                f"options must be sl.Options(…) or None; got {options!r}. "
                "For example: options=sl.Options(take_back=False)."
            )
        if self.noise and not self.is_published:
            raise ParameterError(
                f"noise={noise!r} imitates people who stray from published steps. Use "
                "StEP.published(noise=…), or tell a walk what really happened with observe()."
            )

    @classmethod
    def published(
        cls,
        paths: int = 3,
        step_size: float = 1.0,
        max_steps: int = 50,
        alpha: Alpha | None = None,
        clusterer: Clusterer = None,
        random_state: int = 0,
        *,
        noise: float = 0.0,
        distance: Distance = "euclidean",
        spare_clusters: int = 0,
    ) -> StEP:
        """Exactly the paper's method: its points aren't rounded and may break bounds."""
        return cls(
            paths,
            step_size,
            max_steps,
            alpha,
            clusterer,
            random_state,
            distance=distance,
            options=Options.none(),
            spare_clusters=spare_clusters,
            noise=noise,
        )

    @property
    def is_published(self) -> bool:
        return self.options == Options.none()

    @property
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters, as results echo them."""
        distance = self.distance
        return {
            "method": "StEP.published" if self.is_published else "StEP",
            "paths": self.paths,
            "step_size": self.step_size,
            "max_steps": self.max_steps,
            "alpha": repr(self.alpha),
            "clusterer": "k-means" if self.clusterer is None else str(self.clusterer),
            "random_state": self.random_state,
            "distance": dict(distance) if isinstance(distance, Mapping) else distance,
            "spare_clusters": self.spare_clusters,
            "noise": self.noise,
            **asdict(self.options),
        }

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        method = type(self).published if self.is_published else type(self)
        usual = {name: p.default for name, p in signature(method).parameters.items()}
        usual["alpha"] = Volcano(degree=2, cutoff=0.5)
        said = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in usual
            if not (name == "options" and self.options == Options())
            and getattr(self, name) != usual[name]
        )
        return f"{self.settings['method']}({said})"

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
    ) -> Self:
        """Find the positives of `train` and cluster them.

        train   the reference rows, in raw units
        model   anything that scores them: see `stepladder.scorer`
        labels  where given, a positive must also carry the desired label
        space   an encoding fitted elsewhere; else it's fitted on `train`
        """
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
            space = Space.fit(schema, train)
        elif schema is not None and (odd := schema.differs_in(space.schema)):
            raise SchemaError(
                f"The schema and the space it was given with differ in {odd!r}. Fit the space "
                "with the same schema, or leave one of them out."
            )
        if not space.changeable.any():
            raise SchemaError(
                "Every feature of the schema has change='never', so nobody can become anything "
                "else. Let at least one feature change."
            )
        values = space.read(train, allow_missing=True)
        if not len(values):
            raise EmptyFrameError("The reference frame has no rows.")
        whole = np.asarray(~np.isnan(values).any(axis=1))
        scorer = Scorer(model, space, goal or Goal())
        scores = np.full(len(values), np.nan)
        scores[whole] = scorer.score(values[whole])
        accepted = whole.copy()
        accepted[whole] = scorer.met(scores[whole])
        positive = accepted & self._labelled(labels, len(values), scorer)
        if not positive.any():
            raise PositivesError(_no_positives(scorer, scores[whole], accepted, len(values)))
        reference = self._reference(values[positive], space)
        if self.spare_clusters:
            turned_down = whole & ~accepted
            reference = self._without_outlying(
                reference, values[turned_down], scores[turned_down], scorer
            )
        self.space_, self.scorer_, self.reference_ = space, scorer, reference
        self.counts_ = {
            "rows": len(values),
            "positives": int(positive.sum()),
            "missing_value": int((~whole).sum()),
        }
        return self

    @staticmethod
    def _labelled(labels: Any, count: int, scorer: Scorer) -> NDArray[np.bool_]:
        if labels is None:
            return np.ones(count, dtype=bool)
        given = np.asarray(labels)
        if given.shape != (count,):
            raise ParameterError(
                f"labels must be one a reference row: expected ({count},), got {given.shape}."
            )
        return scorer.is_desired(given)

    def _reference(self, found: Floats, space: Space) -> Reference:
        count = self.paths + self.spare_clusters
        values = found if self.is_published else allowed(space, found)
        points, columns = space.to_points(values), space.changeable
        seen = np.clip(points[:, columns], -CLIP, CLIP) if self.options.changeable else points
        labels = partition(seen, count, self.clusterer, self.random_state)
        return Reference(
            values=values,
            found=found,
            points=points,
            clusters=labels,
            slots=int(labels.max()) + 1 if finds_own_number(self.clusterer) else count,
            columns=columns,
            metric=metric_of(self.distance, points[:, columns], space),
        )

    def _without_outlying(
        self, reference: Reference, values: Floats, scores: Floats, scorer: Scorer
    ) -> Reference:
        """`paths` of the clusters: none that lies far out by the paper's rule, shortest path first.

        Path lengths are taken from reference rows that are turned down.
        """
        if not len(values):
            raise ParameterError(
                "spare_clusters needs reference rows that are turned down, to see how long the "
                "paths to each cluster are; the model accepts all of them. Use spare_clusters=0."
            )
        chosen = np.random.default_rng(self.random_state).permutation(len(values))[:SAMPLE]
        pace = Pace(len(chosen), progress=False, time_budget=None)
        routes = self._walker().walk(values[chosen], scores[chosen], reference, scorer, pace)
        return without_outlying(reference, routes, self.paths)

    # ---- recourse -------------------------------------------------------------------------

    def recourse(
        self,
        people: Frame,
        *,
        progress: Progress = False,
        time_budget: float | None = None,
        locked: Iterable[str] = (),
    ) -> Recourse:
        """Paths to the goal for every row of `people`, whatever becomes of each.

        progress     True for a bar, or a function called with (done, total)
        time_budget  seconds after which what isn't found yet is `timed_out`
        locked       features that can't change for any of these people
        """
        self._check_fitted()
        template, labels = Template.of(people), frames.labels(people)
        values = self.space_.read(people, allow_missing=True)
        with Pace(len(values), progress, time_budget) as pace:
            routes = self.routes(values, labels, pace, locked)
        return Recourse(
            space=self.space_,
            goal=self.scorer_.goal,
            template=template,
            people=labels,
            routes=routes,
            settings=self.settings,
            reference=self.counts_,
            positives=self.reference_.points,
        )

    def walk(self, row: Any, *, locked: Iterable[str] = ()) -> Walk:
        """One person's loop with the program, from the row they have today."""
        from stepladder.methods.walk import Walk  # it knows us

        self._check_fitted()
        return Walk.begin(self, row, locked=(locked,) if isinstance(locked, str) else locked)

    def resume(self, text: str) -> Walk:
        """A walk taken up again from its `to_json()`."""
        from stepladder.methods.walk import Walk

        self._check_fitted()
        return Walk.resume(self, text)

    def _check_fitted(self) -> None:
        if not hasattr(self, "reference_"):
            raise NotFittedError(
                "This StEP isn't fitted yet: call fit(train, model, schema=…) before."
            )

    def routes(
        self,
        values: Floats,
        labels: NDArray[Any],
        pace: Pace,
        locked: Iterable[str] = (),
    ) -> list[list[Path]]:
        """Each person's paths, those of people who have none to go included."""
        k = self.reference_.slots
        locked = (locked,) if isinstance(locked, str) else tuple(locked)
        routes: list[list[Path]] = [[] for _ in values]
        whole = ~np.isnan(values).any(axis=1)
        scores = np.full(len(values), np.nan)
        scores[whole] = self.scorer_.score(values[whole])
        met = np.zeros(len(values), dtype=bool)
        met[whole] = self.scorer_.met(scores[whole])
        for i in np.flatnonzero(~whole):
            names = [self.space_.schema.names[f] for f in np.flatnonzero(np.isnan(values[i]))]
            reason = f"no value for {', '.join(names)}"
            points = np.full((1, self.space_.width), np.nan)
            path = Path(Outcome.MISSING_VALUE, reason, values[[i]], points, scores[[i]])
            routes[i] = [path] * k
        for i in np.flatnonzero(met):
            reason = f"already meets the goal with a score of {scores[i]:.3f}"
            routes[i] = [self._standing(values[i], scores[i], Outcome.ALREADY_POSITIVE, reason)] * k
        asking = np.flatnonzero(whole & ~met)
        pace.bank(len(values) - len(asking))
        if not self.is_published:  # bounds a row already breaks are bad input, whoever is asked
            Feasible.around(self.space_, values[whole], labels[whole])
        walker = self._walker()
        size = max(1, min(1024, PAIRS // len(self.reference_.values)))
        for start in range(0, len(asking), size):
            part = asking[start : start + size]
            if pace.expired:
                for i in asking[start:]:
                    reason = "the time budget ended before this person's turn"
                    path = self._standing(values[i], scores[i], Outcome.TIMED_OUT, reason)
                    routes[i] = [path] * k
                break
            found = walker.walk(
                values[part], scores[part], self.reference_, self.scorer_, pace, locked
            )
            for i, paths in zip(part, found, strict=True):
                routes[i] = paths
            pace.bank(len(part))
        return routes

    def _standing(self, values: Floats, score: float, outcome: Outcome, reason: str) -> Path:
        """A path of no steps."""
        row = values[None]
        return Path(outcome, reason, row, self.space_.to_points(row), np.array([score]))

    def _walker(self) -> Published | Default:
        """What leads people who aren't at the goal yet."""
        if self.is_published:
            return Published(
                self.alpha,
                self.step_size,
                self.max_steps,
                self.noise,
                np.random.default_rng(self.random_state),
            )
        return Default(self.alpha, self.step_size, self.max_steps, self.options)


def _whole(name: str, value: Any, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ParameterError(f"{name} must be a whole number of at least {least}; got {value!r}.")
    return int(value)


def _number(
    name: str, value: Any, *, above: float | None = None, least: float = -math.inf
) -> float:
    number = float(value) if isinstance(value, int | float | np.number) else math.nan
    if not math.isfinite(number) or number < least or (above is not None and number <= above):
        limit = f"above {above:g}" if above is not None else f"of at least {least:g}"
        raise ParameterError(f"{name} must be a number {limit}; got {value!r}.")
    return number


def _no_positives(scorer: Scorer, scores: Floats, accepted: Mask, rows: int) -> str:
    """Why there's nobody to become, in a sentence."""
    if not len(scores):
        return f"Every one of the {rows} reference rows lacks a value. Fill the gaps first."
    if accepted.any():
        return (
            f"The model accepts {int(accepted.sum())} of {rows} reference rows, but none of them "
            "carries the desired label. Leave labels out, or check Goal(desired=…)."
        )
    best = scores[scorer.goal.margin(scores).argmax()]
    return (
        f"None of the {rows} reference rows meets the goal ({scorer.goal}); the nearest scores "
        f"{best:.3f}. Lower the threshold, check Goal(desired=…), or give more rows."
    )
