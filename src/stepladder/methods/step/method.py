"""StEP: cluster the positives, and lead each person to each cluster in small steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from stepladder.checks import finite, whole_number
from stepladder.errors import ParameterError
from stepladder.kernels.alpha import Alpha, Unit, Volcano
from stepladder.methods.base import Answer, Method, Question, ReferenceTable
from stepladder.methods.pace import Pace
from stepladder.methods.step import clusters, private
from stepladder.methods.step.clusters import Clusterer, finds_own_number, partition
from stepladder.methods.step.default import Default, Options
from stepladder.methods.step.private import Paid
from stepladder.methods.step.published import Published
from stepladder.methods.step.reference import (
    Distance,
    Reference,
    metric_of,
    without_outlying,
)
from stepladder.model.scorer import Scorer
from stepladder.privacy.accountant import Budget
from stepladder.privacy.mechanism import bounded
from stepladder.privacy.pay import Guarantee, Pay, PayOnce, PayPerDirection, paid_by
from stepladder.table.feasible import Feasible, allowed
from stepladder.table.space import Floats, Space

if TYPE_CHECKING:
    from stepladder.methods.walk import Walk

CLIP = 3.0
"""How many standard deviations an outlier counts when clusters are formed."""

SAMPLE = 200
"""On how many rejected reference rows clusters of outliers are told from others."""

PAIRS = 2**24
"""How many (person, positive) pairs are held at a time."""


class StEP(Method):
    """Stepwise Explainable Paths (Hamer et al., TMLR 2024), made to keep its promises.

    paths           how many different routes each person gets
    step_size       the length of a step, in standard deviations
    max_steps       after how many steps a path gives up
    alpha           how a positive's weight falls with its distance
    clusterer       None for k-means, "random", or a scikit-learn clusterer
    random_state    the seed; the same seed gives the same rows, but for private noise
    distance        "euclidean", "mahalanobis" (whitened by the positives), or weights by feature
    options         what is done beyond the paper, see `Options`
    spare_clusters  how many clusters to ask for beyond `paths`, to drop those made of outliers;
                    what they hold is aimed at only for people who can reach nothing else
    noise           β, the share of a step that people make otherwise (published method only)
    privacy         sl.Budget(epsilon, delta), or a way to spend one: sl.PayOnce(budget) or
                    sl.PayPerDirection(budget); None tells all there is to tell of the positives

    Learned by `fit`: `space_`, `scorer_`, `reference_` and more, see `Method`.
    """

    _next_only = False  # whether only the next step of each path is planned

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
        privacy: Budget | Pay | None = None,
    ) -> None:
        self.privacy = paid_by(privacy)
        self.paths = whole_number("paths", paths, 1)
        self.max_steps = whole_number("max_steps", max_steps, 1)
        self.random_state = whole_number("random_state", random_state, 0)
        self.spare_clusters = whole_number("spare_clusters", spare_clusters, 0)
        self.step_size = finite("step_size", step_size, above=0.0)
        self.noise = finite("noise", noise, least=0.0)
        self.alpha = self._usual_alpha if alpha is None else alpha
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
        if self.privacy is not None:
            self._check_private(self.privacy)

    def _check_private(self, pay: Pay) -> None:
        """Refuse what would look at the reference rows without paying for it."""
        bounded(self.alpha)
        if self.is_published:
            raise ParameterError(
                "The published method clusters and scales by the reference rows, so it can't be "
                "private. Use sl.StEP(privacy=…)."
            )
        if self.spare_clusters:
            raise ParameterError(
                f"spare_clusters={self.spare_clusters} walks from reference rows that were turned "
                "down, which a privacy budget doesn't pay for. Use spare_clusters=0."
            )
        if isinstance(pay, PayOnce) and pay.rows < self.paths:
            raise ParameterError(
                f"PayOnce(rows={pay.rows}) makes up fewer rows than the {self.paths} paths need."
            )
        if isinstance(pay, PayPerDirection):
            if not self.options.latent:
                raise ParameterError(
                    "Options(latent=False) can't be used with PayPerDirection, where steps would "
                    "be too small to show. Leave it on, or use sl.PayOnce(budget)."
                )
            for name, usual in (("clusterer", None), ("distance", "euclidean")):
                if (given := getattr(self, name)) != usual:
                    raise ParameterError(
                        f"{name}={given!r} can't be used with PayPerDirection: clusters lie around "
                        "private or public centres, and what one row can add is bounded in plain "
                        f"distance. Leave {name} out, or use sl.PayOnce(budget)."
                    )

    @property
    def _usual_alpha(self) -> Alpha:
        """With noise on each direction, all positives pull alike: then it takes the least of it."""
        return Unit() if isinstance(self.privacy, PayPerDirection) else Volcano(2, 0.5)

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
            "clusterer": self._clustering,
            "random_state": self.random_state,
            "distance": dict(distance) if isinstance(distance, Mapping) else distance,
            "spare_clusters": self.spare_clusters,
            "noise": self.noise,
            "privacy": None if self.privacy is None else self.privacy.settings,
            **asdict(self._options_used),
        }

    @property
    def _clustering(self) -> str:
        if isinstance(self.privacy, PayPerDirection) and self.privacy.centres is not None:
            return "public centres"
        return "k-means" if self.clusterer is None else str(self.clusterer)

    @property
    def _options_used(self) -> Options:
        """The options less those that would look at the positives without paying."""
        if not isinstance(self.privacy, PayPerDirection):
            return self.options
        return replace(self.options, sharpen=False, refine=False, changeable=True, replace=False)

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        method = type(self).published if self.is_published else type(self)
        usual = {name: p.default for name, p in signature(method).parameters.items()}
        usual["alpha"] = self._usual_alpha
        said = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in usual
            if not (name == "options" and self.options == Options())
            and getattr(self, name) != usual[name]
        )
        return f"{self.settings['method']}({said})"

    # ---- fit ------------------------------------------------------------------------------

    def _learn(self, table: ReferenceTable) -> None:
        """Cluster the positives, or what is bought of them."""
        if isinstance(self.privacy, PayPerDirection):
            self._learn_to_ask(self.privacy, table)
            return
        if isinstance(self.privacy, PayOnce):
            self._rehearse(self.privacy, table.space)
            positives = table.values[table.positive]
            rows = private.bought(self.privacy, positives, table.scorer, self.random_state)
            made_up = self._reference(rows, table.space)
            self.reference_ = replace(made_up, ranges=private.ranges(table.space))
            return
        reference = self._reference(table.values[table.positive], table.space)
        if self.spare_clusters:
            turned_down = ~table.accepted
            reference = self._without_outlying(
                reference, table.values[turned_down], table.scores[turned_down], table.scorer
            )
        self.reference_ = reference

    def _rehearse(self, pay: PayOnce, space: Space) -> None:
        """Let whatever would fail on made-up rows fail on random ones, before they're paid for."""
        rng = np.random.default_rng(self.random_state)
        low, high = private.ranges(space).T
        self._reference(rng.uniform(low, high, (pay.rows, len(low))), space)

    def _learn_to_ask(self, pay: PayPerDirection, table: ReferenceTable) -> None:
        """Keep the positives where only noisy directions come out."""
        space, nothing = table.space, table.values[:0]
        positives = table.values[table.positive]
        self._held = private.held(pay, positives, table.scorer, self.paths, self.random_state)
        self.reference_ = Reference(
            values=nothing,
            found=nothing,
            points=space.to_points(nothing),
            clusters=np.empty(0, dtype=np.intp),
            slots=self.paths,
            columns=space.changeable,
            metric=None,
            ranges=private.ranges(space),
        )

    def _told(self, table: ReferenceTable, rows: int) -> tuple[Floats | None, dict[str, int]]:
        if not self.is_private:
            return super()._told(table, rows)
        return None, {"made_up": made_up} if (made_up := len(self.reference_.values)) else {}

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
        feasible = Feasible.around(scorer.space, values[chosen])
        nobody = np.zeros(len(chosen), dtype=np.intp)
        question = Question(feasible, scores[chosen], scorer, pace, twins=nobody)
        routes = self._walker().walk(question, reference)
        return without_outlying(reference, routes, self.paths)

    # ---- recourse -------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        return self.reference_.slots

    @property
    def batch(self) -> int:
        return max(1, min(1024, PAIRS // max(1, len(self.reference_.values))))

    @property
    def honours_rules(self) -> bool:
        return not self.is_published

    @property
    def is_private(self) -> bool:
        return self.privacy is not None

    def guarantee(self, releases: int = 0) -> Guarantee | None:
        if self.privacy is None:
            return None
        multiplier = self._held.multiplier if isinstance(self.privacy, PayPerDirection) else 0.0
        return Guarantee(
            way=self.privacy.way,
            neighbours=self.privacy.budget.neighbours.value,
            cost=self.privacy.budget.cost(multiplier, releases) if releases else 0.0,
            statement=self.privacy.budget.statement,
        )

    def answer(self, question: Question) -> Answer:
        return Answer(self._walker().walk(question, self.reference_))

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

    def _walker(self) -> Published | Default | Paid:
        """What leads people who aren't at the goal yet."""
        if isinstance(self.privacy, PayPerDirection):
            return Paid(
                self.privacy,
                self._held,
                self.alpha,
                self.step_size,
                1 if self._next_only else self.max_steps,
                self._options_used,
                self._next_only,
            )
        if self.is_published:
            return Published(
                self.alpha,
                self.step_size,
                self.max_steps,
                self.noise,
                self.random_state,
            )
        return Default(self.alpha, self.step_size, self.max_steps, self.options)
