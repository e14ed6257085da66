"""StEP with a guarantee for the reference rows.

Paid once, the positives are replaced by made-up ones, and the default planner runs on those. Paid
per direction, each step of a person is a query of its own: see `per_direction.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from stepladder.errors import ParameterError
from stepladder.methods.base import Answer, Question, ReferenceTable
from stepladder.methods.step.bought import bought, ranges
from stepladder.methods.step.default import Default
from stepladder.methods.step.planner import Planner
from stepladder.methods.step.reference import Reference
from stepladder.privacy.mechanism import bounded
from stepladder.privacy.pay import Guarantee, Pay, PayOnce
from stepladder.table.effort import Effort
from stepladder.table.space import Floats, Space


@dataclass(frozen=True)
class Private(Planner):
    """A planner that tells nothing of the reference rows but what was paid for."""

    is_private: ClassVar[bool] = True

    pay: Pay

    def __post_init__(self) -> None:
        """Refuse what would look at the reference rows without paying for it."""
        bounded(self.parameters.alpha)
        if self.parameters.spare_clusters:
            raise ParameterError(
                f"spare_clusters={self.parameters.spare_clusters} plans from reference rows that "
                "were turned down, which a privacy budget doesn't pay for. Use spare_clusters=0."
            )

    @property
    def settings(self) -> dict[str, Any]:
        return {"privacy": self.pay.settings}

    def guarantee(self, reference: Reference, releases: int) -> Guarantee | None:
        budget = self.pay.budget
        return Guarantee(
            way=self.pay.way,
            neighbours=budget.neighbours.value,
            cost=budget.cost(self._multiplier(reference), releases) if releases else 0.0,
            statement=budget.statement,
        )

    def _multiplier(self, reference: Reference) -> float:
        """That of each release that an answer takes."""
        return 0.0


@dataclass(frozen=True)
class Once(Private):
    """The planner that buys a reference set when it learns, and answers from that."""

    pay: PayOnce

    @property
    def settings(self) -> dict[str, Any]:
        return {**super().settings, **self.parameters.advice}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.pay.rows < self.parameters.paths:
            raise ParameterError(
                f"PayOnce(rows={self.pay.rows}) makes up fewer rows than the "
                f"{self.parameters.paths} paths need."
            )

    def learn(self, table: ReferenceTable) -> Reference:
        """Cluster what is bought of the positives."""
        space, seed = table.space, self.parameters.random_state
        # Whatever would fail on made-up rows fails on random ones, before they're paid for.
        low, high = ranges(space).T
        random = np.random.default_rng(seed)
        self.reference(random.uniform(low, high, (self.pay.rows, len(low))), space)
        rows = bought(self.pay, table.values[table.positive], table.scorer, seed)
        reference = replace(self.reference(rows, space), ranges=ranges(space))
        return self._default.advised(reference, rows, Effort.declared(space))

    def reference(self, found: Floats, space: Space) -> Reference:
        return self._default.reference(found, space)

    def answer(self, question: Question, reference: Reference) -> Answer:
        return self._default.answer(question, reference)

    @property
    def _default(self) -> Default:
        return Default(self.parameters)
