"""StEP: cluster the positives, and lead each person to each cluster in small steps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from stepladder.checks import finite, whole_number
from stepladder.errors import ModelError, ParameterError
from stepladder.kernels.alpha import Alpha, Volcano
from stepladder.methods.base import Answer, Method, Question, ReferenceTable
from stepladder.methods.parts import ONE
from stepladder.methods.refusals import background
from stepladder.methods.step import clusters
from stepladder.methods.step import cost as costs
from stepladder.methods.step.clusters import Clusterer
from stepladder.methods.step.cost import Kind
from stepladder.methods.step.default import Default
from stepladder.methods.step.per_direction import PerDirection
from stepladder.methods.step.planner import Parameters, Planner, turned_down
from stepladder.methods.step.private import Once
from stepladder.methods.step.published import ROOM, Backend, Published, check_backend
from stepladder.methods.step.reference import Distance, Reference
from stepladder.model.successors import Successors
from stepladder.privacy.accountant import Budget
from stepladder.privacy.pay import Guarantee, Pay, PayOnce, PayPerDirection, paid_by
from stepladder.result.path import Outcome
from stepladder.table.space import Floats

if TYPE_CHECKING:
    from stepladder.methods.walk import Walk

PEOPLE = 50
"""How many people's paths tell how surely paths hold before anybody asks."""

PAIRS = 2**24
"""How many (person, positive) pairs are held at a time."""


class StEP(Method):
    """Stepwise Explainable Paths (Hamer et al., TMLR 2024), made to keep its promises.

    paths           how many different paths each person gets
    step_size       the length of a step, in standard deviations
    max_steps       how many steps a path has at most; they're longer if need be
    alpha           how a positive's weight falls with its distance
    clusterer       None for k-means, "random", or a scikit-learn clusterer
    random_state    the seed; the same seed gives the same rows, but for private noise
    cost            what routes are chosen by: "effort" (see `stepladder.table.effort`), "distance"
                    (weighted by `distance` and by what is difficult), or a function of frames of
                    rows before and after, which returns one cost per row
    max_changes     how many things a path may change at most
    slack           an end is still a yes if its numbers fall this part short of what was planned;
                    where there's no such end, one is offered all the same, and marked as tight
    holds           with which probability an end has to hold under a retrained model; this takes
                    successors, see `fit`
    distance        "euclidean", "mahalanobis" (whitened by the positives), or weights by feature
    spare_clusters  how many clusters to ask for beyond `paths`, to drop those made of outliers;
                    what they hold is aimed at only for people who can reach nothing else
    privacy         sl.Budget(epsilon, delta), or a way to spend one: sl.PayOnce(budget) or
                    sl.PayPerDirection(budget); None tells all there is to tell of the positives

    Learned by `fit`: `space_`, `scorer_`, `reference_` and more, see `Method`. How paths are
    planned is up to `planner`: the default, or a private one. `StEP.published` has its own.
    """

    planner: Planner

    def __init__(  # noqa: PLR0913  # every setting has a name and a meaning of its own
        self,
        paths: int = 3,
        step_size: float = 1.0,
        max_steps: int = 50,
        alpha: Alpha | None = None,
        clusterer: Clusterer = None,
        random_state: int = 0,
        *,
        cost: Kind = "effort",
        max_changes: int | None = None,
        slack: float = 0.1,
        holds: float | None = None,
        distance: Distance = "euclidean",
        spare_clusters: int = 0,
        privacy: Budget | Pay | None = None,
    ) -> None:
        self.privacy = paid_by(privacy)
        if max_changes is not None:
            max_changes = whole_number("max_changes", max_changes, 1)
        self.max_changes = max_changes
        parameters = _checked(
            paths, step_size, max_steps, alpha, clusterer, random_state, distance, spare_clusters
        )
        self.cost = costs.check(cost)
        self.slack = finite("slack", slack, least=0.0, below=1.0)
        self.holds = None if holds is None else finite("holds", holds, above=0.0, below=1.0)
        parameters = replace(parameters, cost=self.cost, slack=self.slack, holds=self.holds)
        self.planner = self._planner(parameters, usual_alpha=alpha is None)
        self._take(self.planner.parameters)

    def _planner(self, parameters: Parameters, *, usual_alpha: bool) -> Planner:
        match self.privacy:
            case PayOnce() as pay:
                return Once(parameters, pay)
            case PayPerDirection() as pay:
                if usual_alpha:
                    parameters = replace(parameters, alpha=PerDirection.USUAL_ALPHA)
                return PerDirection(parameters, pay)
            case _:
                return Default(parameters)

    def _take(self, parameters: Parameters) -> None:
        """Show the hyper-parameters as attributes."""
        self.paths, self.step_size = parameters.paths, parameters.step_size
        self.max_steps, self.alpha = parameters.max_steps, parameters.alpha
        self.clusterer, self.random_state = parameters.clusterer, parameters.random_state
        self.distance, self.spare_clusters = parameters.distance, parameters.spare_clusters

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
        backend: Backend = "numpy",
    ) -> PublishedStEP:
        """Exactly the paper's method: its points aren't rounded and may break bounds.

        noise    β, the share of a step that people make differently
        backend  what calculates: "numpy", "torch" on the CPU, or "cuda" on an NVIDIA GPU; results
                 name it, and how far it may be from NumPy's points

        The rest is as in `StEP`.
        """
        return PublishedStEP(
            paths,
            step_size,
            max_steps,
            alpha,
            clusterer,
            random_state,
            noise=noise,
            distance=distance,
            spare_clusters=spare_clusters,
            backend=backend,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters, as results echo them."""
        planner = self.planner
        most = {} if self.max_changes is None else {"max_changes": self.max_changes}
        return {"method": planner.name, **planner.parameters.settings, **most, **planner.settings}

    def __repr__(self) -> str:
        """Only what differs from the defaults."""
        usual = {name: p.default for name, p in signature(type(self)).parameters.items()}
        usual |= {"alpha": _USUAL_ALPHA}
        given = ", ".join(
            f"{name}={getattr(self, name)!r}"
            for name in signature(type(self)).parameters
            if getattr(self, name) != usual[name]
        )
        return f"{self.planner.name}({given})"

    # ---- fit ------------------------------------------------------------------------------

    def learn(self, table: ReferenceTable) -> None:
        self.reference_: Reference = self.planner.learn(table)

    def with_prior(self, successors: Successors, table: ReferenceTable) -> Successors:
        """The successors, knowing how surely the paths of reference rows turned down hold.

        Where nothing may be told of those, and where routes needn't hold, they know nothing.
        """
        if self.holds is None or self.is_private:
            return successors
        question = turned_down(table, PEOPLE, self.random_state, successors)
        paths = self.planner.answer(question, self.reference_).paths
        ends = [p.values[-1] for own in paths for p in own if p.outcome is Outcome.REACHED]
        rows = np.array(ends).reshape(-1, table.values.shape[1])
        return successors.with_prior(successors.votes(rows))

    def _disclosed(self, table: ReferenceTable, rows: int) -> tuple[Floats | None, dict[str, int]]:
        if not self.is_private:
            return super()._disclosed(table, rows)
        return None, {"made_up": made_up} if (made_up := len(self.reference_.values)) else {}

    def _background(self, table: ReferenceTable) -> Floats | None:
        """Under a budget, rows that were made up for it, as far as the model accepts them."""
        made_up = self.reference_.values
        if not self.is_private or not len(made_up):
            return super()._background(table)
        try:
            scores = table.scorer.score(made_up)
        except ModelError:  # it may not take what is made up of what never changes
            return None
        accepted = table.scorer.yes(scores, made_up)
        margins = table.scorer.goal.margin(scores)
        return background(made_up[accepted], margins[accepted]) if accepted.any() else None

    # ---- recourse -------------------------------------------------------------------------

    @property
    def slots(self) -> int:
        return self.reference_.slots

    @property
    def batch(self) -> int:
        most = max(1, min(1024, PAIRS // max(1, len(self.reference_.values))))
        return most // ONE * ONE or most

    @property
    def honours_rules(self) -> bool:
        return self.planner.honours_rules

    @property
    def takes_gaps(self) -> bool:
        return self.planner.takes_gaps

    @property
    def is_private(self) -> bool:
        return self.planner.is_private

    @property
    def pays_per_answer(self) -> bool:
        return self.planner.pays_per_answer

    def guarantee(self, releases: int = 0) -> Guarantee | None:
        return self.planner.guarantee(self.reference_, releases)

    def answer(self, question: Question) -> Answer:
        return self.planner.answer(question, self.reference_)

    def walk(self, row: Any, *, locked: Iterable[str] = ()) -> Walk:
        """One person's loop with the program, from the row they have today."""
        from stepladder.methods.walk import Walk  # it imports this package

        self._check_fitted()
        return Walk.begin(self, row, locked=(locked,) if isinstance(locked, str) else locked)

    def resume(self, text: str) -> Walk:
        """A walk taken up again from its `to_json()`."""
        from stepladder.methods.walk import Walk

        self._check_fitted()
        return Walk.resume(self, text)


class PublishedStEP(StEP):
    """The paper's method, made by `StEP.published`."""

    def __init__(
        self,
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
        backend: Backend = "numpy",
    ) -> None:
        self.privacy = None
        self.noise = finite("noise", noise, least=0.0)
        self.backend = check_backend(backend)
        parameters = _checked(
            paths, step_size, max_steps, alpha, clusterer, random_state, distance, spare_clusters
        )
        self.planner = Published(parameters, self.noise, self.backend)
        self._take(parameters)

    @property
    def batch(self) -> int:
        """On a device everybody at once, as far as there is room for all rows of their paths."""
        if self.backend == "numpy":
            return super().batch
        rows = self.slots * (self.max_steps + 1)
        return max(1, ROOM[self.backend] // (8 * rows * self.space_.width))


_USUAL_ALPHA = Volcano(degree=2, cutoff=0.5)


def _checked(
    paths: int,
    step_size: float,
    max_steps: int,
    alpha: Alpha | None,
    clusterer: Clusterer,
    random_state: int,
    distance: Distance,
    spare_clusters: int,
) -> Parameters:
    """The hyper-parameters, or a clear sentence about the first that won't do."""
    if alpha is not None and not isinstance(alpha, Alpha):
        raise ParameterError(
            f"alpha must be a Volcano, Sloped, Power or Unit; got {alpha!r}. "
            "For example: alpha=sl.Volcano(degree=2, cutoff=0.5)."
        )
    if not (isinstance(distance, Mapping) or distance in ("euclidean", "mahalanobis")):
        raise ParameterError(
            f"distance must be 'euclidean', 'mahalanobis' or {{feature: weight}}; got {distance!r}."
        )
    clusters.check(clusterer)
    return Parameters(
        paths=whole_number("paths", paths, 1),
        step_size=finite("step_size", step_size, above=0.0),
        max_steps=whole_number("max_steps", max_steps, 1),
        alpha=_USUAL_ALPHA if alpha is None else alpha,
        clusterer=clusterer,
        random_state=whole_number("random_state", random_state, 0),
        distance=distance,
        spare_clusters=whole_number("spare_clusters", spare_clusters, 0),
    )
