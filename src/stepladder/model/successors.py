"""Models that may replace this one: whether a yes would still be a yes, and how sure that is.

Half of the successors are searched on, and what a search has selected on flatters; so the other
half is kept back, and only its votes state a probability.

Related work: BetaRCE (Stępka, Stefanowski and Lango, KDD 2025) bounds the probability that a
counterfactual holds by a Beta distribution over resampled models' votes; T-Rex (Hamman et al.,
ICML 2023) and RobX (Dutta et al., ICML 2022) ask for a score that is high and steady around the
end. Here the scores of successors have to be high beside how far they spread.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ModelError, ParameterError
from stepladder.model.asking import name_of
from stepladder.model.goal import Goal
from stepladder.model.scorer import Parts, Scorer
from stepladder.table.space import Floats, Mask, Space

Counts = NDArray[np.int64]

FEWEST = 2
"""How many successors there have to be: one to search on, one to keep back."""

SURE = 0.9
"""How sure the stated probability is: it's the lower end of an interval with so much above it."""

BEYOND = 0.7
"""By how many standard deviations the mean margin has to be further from 0 than a normal
distribution asks for, since it's learned from few models and selected on: 0.9 takes about 2."""

FAR = 4.0
"""Margins further than this, in logits, are alike: a score of 0.9999 beside others of 0.99 is no
reason for doubt."""

NEAR = 256
"""By how many accepted rows, the nearest to the line, one learns who is likeliest to refuse."""

FLAT = (1.0, 1.0)
"""The prior that knows nothing: every probability is as likely."""

FEWEST_PATHS = 20
"""From how many paths' votes a prior is learned."""

LEAST_DOUBT = 1.0
"""The least of a prior's parameters, so that no prior takes a certain yes to be the likeliest."""


@dataclass(frozen=True, eq=False)
class Successors:
    """Models that may replace the one that a method was fitted with, each asked as that one is."""

    searched: tuple[Scorer, ...]
    """whom a search may ask, the likeliest to refuse first"""
    kept: tuple[Scorer, ...]
    """whom it may not, so that their votes can state how likely a yes holds"""
    prior: tuple[float, float] = FLAT
    """what is known of that probability before a vote: the parameters of a Beta distribution"""

    @classmethod
    def of(
        cls, models: Iterable[Any], space: Space, goal: Goal, accepted: Floats | None = None
    ) -> Successors:
        """The successors of a list of models, every second of which is kept back.

        accepted  (n, features) rows that the present model accepts, the nearest to the line first
        """
        given = in_a_list(models)
        if len(given) < FEWEST:
            raise ParameterError(
                f"successors must be at least {FEWEST} models, half of them to search on and half "
                f"to state how likely a yes holds; got {len(given)}. 48 are usual."
            )
        scorers = [_checked(model, i, space, goal) for i, model in enumerate(given)]
        near = np.empty((0, len(space.schema))) if accepted is None else accepted[:NEAR]
        refused = [_refusals(scorer, near, i) for i, scorer in enumerate(scorers)]
        searched = sorted(range(0, len(scorers), 2), key=lambda i: -refused[i])
        return cls(tuple(scorers[i] for i in searched), tuple(scorers[1::2]))

    @property
    def count(self) -> int:
        """How many are kept back, so how many votes there are."""
        return len(self.kept)

    def in_parts(self, parts: Parts) -> Successors:
        """The same, asked about rows in the parts that `parts` cuts them into."""
        return replace(
            self,
            searched=tuple(scorer.in_parts(parts) for scorer in self.searched),
            kept=tuple(scorer.in_parts(parts) for scorer in self.kept),
        )

    # ---- to search on ---------------------------------------------------------------------

    def sure(self, rows: Floats, holds: float) -> Mask:
        """Which rows (n, features) hold with a probability of `holds`, by those searched on.

        No more of them may refuse than `holds` allows, and their mean margin has to be large
        beside its spread. A row that too many have refused isn't asked about any further.
        """
        allowed = math.floor((1.0 - holds) * len(self.searched) + 1e-9)
        margins = np.empty((len(rows), len(self.searched)))
        refusals, here = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows))
        asked = _Asked.about(rows, self.searched)
        for s, scorer in enumerate(self.searched):
            if not len(here):
                break
            scores = asked.scores(scorer, here)
            margins[here, s] = _margin(scorer.goal, scores)
            refusals[here] += ~scorer.met(scores)
            here = here[refusals[here] <= allowed]
        sure = np.zeros(len(rows), dtype=bool)
        sure[here] = _steadiness(margins[here]) >= needed(holds)
        return sure

    def surest(self, rows: Floats) -> Floats:
        """(n,) by what rows (n, features) are ranked that don't hold: the surest has the most."""
        margins, every = np.empty((len(rows), len(self.searched))), np.arange(len(rows))
        asked = _Asked.about(rows, self.searched)
        for s, scorer in enumerate(self.searched):
            margins[:, s] = _margin(scorer.goal, asked.scores(scorer, every))
        return _steadiness(margins)

    # ---- to state it ----------------------------------------------------------------------

    def votes(self, rows: Floats) -> Counts:
        """(n,) how many of those kept back say yes to each row (n, features)."""
        votes, every = np.zeros(len(rows), dtype=np.int64), np.arange(len(rows))
        asked = _Asked.about(rows, self.kept)
        for scorer in self.kept:
            votes += scorer.met(asked.scores(scorer, every))
        return votes

    def stated(self, votes: Counts) -> Floats:
        """(n,) the probability of a yes that so many votes show: its 90 % lower bound."""
        from scipy.special import betaincinv

        a, b = self.prior
        return np.asarray(betaincinv(a + votes, b + self.count - votes, 1.0 - SURE))

    def with_prior(self, votes: Counts) -> Successors:
        """The same, knowing how other paths (n,) fared that were searched for in the same way."""
        return replace(self, prior=pooled_prior(votes, self.count))


def in_a_list(models: Any) -> list[Any]:
    """The models that were given, or a clear sentence about what is no list of them.

    A forest is one model, though it can be iterated: over its trees.
    """
    is_model = callable(models) or hasattr(models, "predict")
    if is_model or isinstance(models, str | Mapping) or not isinstance(models, Iterable):
        raise ParameterError(
            f"successors must be a list of models; got {name_of(models)}. "
            "sl.successors(model, train, labels) makes one."
        )
    return list(models)


def needed(holds: float) -> float:
    """How many standard deviations the mean margin has to lie beyond 0.

    >>> round(needed(0.9), 2)
    1.98
    """
    from scipy.special import ndtri

    return float(ndtri(holds)) + BEYOND


def pooled_prior(votes: Counts, total: int) -> tuple[float, float]:
    """The Beta distribution over paths from which their votes (n,), of `total` each, come.

    The likeliest one (empirical Bayes), but worth no more votes than a path has itself: it's
    learned from the same models, so it errs wherever all of their votes do. The flat one where
    there are too few paths to learn from.
    """
    from scipy.optimize import minimize
    from scipy.special import betaln, expit

    counts = np.bincount(np.asarray(votes, dtype=np.int64), minlength=total + 1)
    if counts.sum() < FEWEST_PATHS:
        return FLAT
    yes = np.flatnonzero(counts)
    weights = counts[yes]

    def shape(of: Floats) -> tuple[float, float]:
        """A mean and a worth, both anywhere on the line, as a Beta distribution's parameters."""
        mean, worth = expit(of[0]), total * expit(of[1])
        return float(LEAST_DOUBT + mean * worth), float(LEAST_DOUBT + (1.0 - mean) * worth)

    def misfit(of: Floats) -> float:
        a, b = shape(of)
        return -float(weights @ (betaln(a + yes, b + total - yes) - betaln(a, b)))

    starts = [np.array([mean, worth]) for mean in (0.0, 2.0) for worth in (-3.0, 0.0)]
    found = [minimize(misfit, start, method="L-BFGS-B", bounds=[(-15, 15)] * 2) for start in starts]
    return shape(min(found, key=lambda one: float(one.fun)).x)


# ---- one successor ----------------------------------------------------------------------------


def _checked(model: Any, index: int, space: Space, goal: Goal) -> Scorer:
    try:
        return Scorer(model, space, goal)
    except ModelError as error:
        raise ModelError(f"Successor {index}: {error}") from error


def _refusals(scorer: Scorer, rows: Floats, index: int) -> int:
    """How many of these rows it refuses; and whether it can be asked at all."""
    try:
        return int((~scorer.met(scorer.score_known(rows))).sum())
    except ModelError as error:
        raise ModelError(f"Successor {index}: {error}") from error


@dataclass(frozen=True, eq=False)
class _Asked:
    """Rows that many models are asked about, put into the form that they take only once."""

    rows: Floats
    prepared: Any
    """None where they take different forms, or gaps have to be looked at one by one"""

    @classmethod
    def about(cls, rows: Floats, scorers: Sequence[Scorer]) -> _Asked:
        first = scorers[0]
        alike = all(first.alike(other) for other in scorers) and not np.isnan(rows).any()
        return cls(rows, first.prepared(rows) if alike and len(rows) else None)

    def scores(self, scorer: Scorer, some: NDArray[np.intp]) -> Floats:
        """The scores (n,) of some of them; NaN, so no yes, where a gap can't be scored."""
        if self.prepared is None:
            return scorer.score_known(self.rows[some])
        return scorer.score_prepared(self.prepared, some)


def _margin(goal: Goal, scores: Floats) -> Floats:
    """How far scores are beyond the goal, in logits where they are probabilities."""
    if goal.is_range:
        return goal.margin(scores)
    apart = _logit(scores) - _logit(np.array(goal.threshold))
    return np.clip(apart, -FAR, FAR)


def _logit(scores: Floats) -> Floats:
    inside = np.clip(scores, 1e-12, 1.0 - 1e-12)
    return np.asarray(np.log(inside) - np.log1p(-inside))


def _steadiness(margins: Floats) -> Floats:
    """(n,) how many of its own standard deviations a mean margin lies beyond 0.

    margins  (n, successors)
    """
    mean = margins.mean(axis=1)
    spread = margins.std(axis=1, ddof=min(1, margins.shape[1] - 1))
    agreed = np.where(mean >= 0.0, np.inf, -np.inf)
    return np.asarray(np.divide(mean, spread, out=agreed, where=spread > 0.0))
