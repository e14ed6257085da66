"""DiCE: diverse counterfactual explanations, by its authors' library, dice-ml.

Mothilal, Sharma, Tan: Explaining machine learning classifiers through diverse counterfactual
explanations, FAT* 2020, https://doi.org/10.1145/3351095.3372850. A path is one step: from the
person to a counterfactual row.
"""

from __future__ import annotations

import io
import random
import sys
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from copy import copy
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from stepladder.checks import choice, finite, whole_number
from stepladder.errors import ExtraError, ModelError, ParameterError
from stepladder.methods.asked import accepted
from stepladder.methods.base import (
    TOO_LATE,
    Answer,
    Method,
    Question,
    ReferenceTable,
    standing,
)
from stepladder.methods.pace import TimeUpError
from stepladder.methods.trails import offered
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome, Path
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Categorical, Derived, Numeric
from stepladder.table.space import Floats, Mask, Space

if TYPE_CHECKING:
    from stepladder.methods.dice_library import Declared

ALGORITHMS = ("random", "genetic", "kdtree", "gradient")

DIGITS = 4
"""Numbers without declared decimals are drawn to so many digits of their standard deviation."""

POINT_DECIMALS = 8
"""What dice-ml itself finds for standardised columns, which it keeps in single precision."""


class DiCE(Method):
    """Counterfactual rows from dice-ml, under the person's own constraints.

    paths         how many rows each person is offered
    algorithm     how dice-ml looks for them: "random" (samples, one column after another),
                  "genetic", "kdtree" (rows of the table) or "gradient" (torch models)
    sparsity      how near the person's own a number must be to be moved back towards it: a
                  quantile of its deviations from the median; 0 moves none ("genetic" never does)
    samples       rows that "random" tries at a time
    iterations    the most that "genetic" or "gradient" take; None: 500 and 5000, as in dice-ml
    random_state  the same seed gives the same rows, whoever else is asked about
    checked       whether DiCE is held to the rules; if not, it's asked about encoded points, as in
                  the StEP paper's experiments: see `published`

    DiCE is told which features may vary and within what range, for each person. What it returns
    against the rules nevertheless is dropped and counted.

    dice-ml rewrites a threshold below ½ and knows no ranges; so it's shown scores that are
    rescaled to meet the goal from ½ on.
    """

    def __init__(
        self,
        paths: int = 3,
        algorithm: str = "random",
        *,
        sparsity: float = 0.1,
        samples: int = 1000,
        iterations: int | None = None,
        random_state: int = 0,
        checked: bool = True,
    ) -> None:
        self.paths = whole_number("paths", paths, 1)
        self.algorithm = choice("algorithm", algorithm, ALGORITHMS)
        self.sparsity = finite("sparsity", sparsity, least=0.0)
        if self.sparsity > 1:
            raise ParameterError(f"sparsity is a quantile from 0 to 1; got {sparsity!r}.")
        self.samples = whole_number("samples", samples, 1)
        self.iterations = None if iterations is None else whole_number("iterations", iterations, 1)
        self.random_state = whole_number("random_state", random_state, 0)
        self.checked = bool(checked)

    @classmethod
    def published(cls, paths: int = 3, random_state: int = 0) -> Self:
        """DiCE as the paper on StEP ran it: on encoded points and without any constraint.

        Random sampling, standardised columns as numbers, one-hot columns as categories of 0 and
        1, whatever else their group says; posthoc sparsity 0.1; points as they are. Whoever gets
        fewer than `paths` gets none.
        """
        return cls(paths, random_state=random_state, checked=False)

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "method": "DiCE" if self.checked else "DiCE.published",
            "paths": self.paths,
            "algorithm": self.algorithm,
            "sparsity": self.sparsity,
            "samples": self.samples,
            "iterations": self.iterations,
            "random_state": self.random_state,
        }

    def __repr__(self) -> str:
        method = type(self) if self.checked else type(self).published
        usual = {name: p.default for name, p in signature(method).parameters.items()}
        given = [f"{n}={getattr(self, n)!r}" for n in usual if getattr(self, n) != usual[n]]
        return f"{self.settings['method']}({', '.join(given)})"

    @property
    def honours_rules(self) -> bool:
        return self.checked

    # ---- fit ------------------------------------------------------------------------------

    def learn(self, table: ReferenceTable) -> None:
        library = _library()
        space, scorer = table.space, table.scorer
        declare = _declared if self.checked else _declared_points
        declared = declare(space, table.values)
        spread = float(table.scores.std()) or 1.0
        asked = library.Asked(declared, _Share(scorer, spread))
        data = library.Data(declared, self.sparsity)
        explainer: Any = None
        if self.algorithm == "kdtree":
            explainer = library.Tree(data, asked)
        elif self.algorithm == "genetic":
            explainer = library.Genetic(data, asked)
            explainer.least = 10 * self.paths
        elif self.algorithm == "gradient":
            explainer = _gradient(data, scorer, spread)
        self.declared_, self._data, self._explainer = declared, data, explainer
        self._accepted, self._spread = declared.rows[table.accepted], spread

    # ---- recourse -------------------------------------------------------------------------

    def answer(self, question: Question) -> Answer:
        paths: list[list[Path]] = []
        dropped = 0
        for i, score in enumerate(question.scores):
            person = question.feasible.take(slice(i, i + 1))
            try:
                own, broken = self._paths_of(person, score, question)
            except TimeUpError:
                late = standing(self.space_, person.start[0], score, Outcome.TIMED_OUT, TOO_LATE)
                own, broken = [late] * self.paths, 0
            paths.append(own)
            dropped += broken
            question.pace.reached(i + 1)
        return Answer(paths, dropped)

    def _paths_of(
        self, person: Feasible, score: float, question: Question
    ) -> tuple[list[Path], int]:
        """One person's paths, and how many more were dropped."""
        if question.pace.expired:
            raise TimeUpError
        scorer = question.scorer
        rows, reason = self._found(person, scorer)
        points = self.space_.to_points(rows) if self.checked else rows
        paths, dropped = offered(
            person,
            np.array([score]),
            [[point[None] for point in points]],
            scorer,
            self.paths,
            checked=self.checked,
            reason=reason,
        )
        return paths[0], dropped

    def _found(self, person: Feasible, scorer: Scorer) -> tuple[Floats, str]:
        """What DiCE finds for one person: rows as declared to it, and why they aren't more."""
        none = np.empty((0, len(self.declared_.levels)))
        start = person.start[0]
        seed = _seed(self.random_state, start)
        if not self.checked:
            start = self.space_.to_points(person.start)[0]
            vary, low, high = np.arange(len(start)), *self.declared_.ends
        else:
            vary, low, high = self._permitted(person)
        if not len(vary):
            return none, "DiCE: Some features need to be varied for generating counterfactuals."
        if self.algorithm == "random":
            rows = self._sampled(start, vary, low, high, seed, self._meets(person, scorer))
            reason = f"DiCE found {len(rows)} rows that meet the goal by random sampling"
            if not self.checked and len(rows) < self.paths:
                return none, reason
        else:
            try:
                rows = self._searched(person, vary, low, high, seed, scorer)
            except _library().Refusal as error:
                return none, f"DiCE: {error}"
            reason = f"DiCE found {len(rows)} rows"
        if self.sparsity and self.algorithm != "genetic" and len(rows):
            sparser = _library().sparser
            meets = self._meets(person, scorer)
            rows = sparser(self.declared_, rows, start, self._data.reach, meets)
            if self.checked:  # the search may go one unit past the person's own value
                rows = np.clip(rows, *person.limits)
        return rows, reason

    def _meets(self, person: Feasible, scorer: Scorer) -> Callable[[Floats], Mask]:
        """Whether rows, as they're declared to DiCE, would get a yes."""
        if not self.checked:
            return lambda points: scorer.met(scorer.score_points(points))

        def meets(rows: Floats) -> Mask:
            own = person.take(np.zeros(len(rows), dtype=np.intp))
            return accepted(own, own.complete(rows), scorer)

        return meets

    def _permitted(self, person: Feasible) -> tuple[Any, Floats, Floats]:
        """Which columns may vary, and from where to where: within the table, on DiCE's grid."""
        declared, fine = self.declared_, 10.0**self.declared_.decimals
        low, high = declared.ends
        lower, upper = (end[0] for end in person.limits)
        low, high = np.maximum(lower, low), np.minimum(upper, high)
        if self.algorithm == "random":
            low = np.ceil(low * fine - 1e-9) / fine
            # The library draws up to one unit beyond the end, unless numbers are whole.
            high = np.floor(high * fine + 1e-9) / fine - np.where(declared.decimals, 1 / fine, 0.0)
        low, high = (np.where(declared.levels, 0, low), np.where(declared.levels, 1, high))
        free = (lower < upper) & (low <= high)
        return np.flatnonzero(free), low, high

    def _sampled(
        self,
        start: Floats,
        vary: Any,
        low: Floats,
        high: Floats,
        seed: int,
        meets: Callable[[Floats], Mask],
    ) -> Floats:
        declared = self.declared_
        ranges = [
            range(levels) if levels else (low[c], high[c])
            for c, levels in enumerate(declared.levels)
        ]
        rows: Floats = _library().sampled(
            declared,
            start,
            vary,
            ranges,
            meets,
            paths=self.paths,
            samples=self.samples,
            seed=seed,
        )
        return rows

    def _searched(
        self, person: Feasible, vary: Any, low: Floats, high: Floats, seed: int, scorer: Scorer
    ) -> Floats:
        """What one of the library's other searches finds."""
        declared, start = self.declared_, person.start[0]
        explainer = copy(self._explainer)  # the library keeps what it was asked on itself
        explainer.data_interface = copy(self._data)
        names, query = declared.names, declared.frame(person.start)
        limits = {names[c]: [low[c], high[c]] for c in vary if not declared.levels[c]}
        how: dict[str, Any] = {"permitted_range": limits}
        if self.algorithm == "gradient":
            how = explainer.limited(start, *(end[0] for end in person.limits), self.iterations)
        else:
            share = _Share(scorer, self._spread, person)
            explainer.model = _library().Asked(declared, share)
            kept = person.keeps(person.complete(self._accepted))
            # What no plan sets must not seem to vary; it's worked out when the model is asked.
            follows = self.space_.links.linked
            explainer.reachable = np.where(follows, start, self._accepted[kept])
            if self.algorithm == "genetic" and self.iterations:
                how["maxiterations"] = self.iterations
        explainer.data_interface.set_continuous_feature_indexes(query)
        with _seeded(seed), redirect_stdout(io.StringIO()), np.errstate(all="ignore"):
            result = explainer._generate_counterfactuals(  # the public one draws a bar for each
                query,
                self.paths,
                desired_class=1,
                features_to_vary=[names[c] for c in vary],
                stopping_threshold=0.5,
                posthoc_sparsity_param=None,
                **how,
            )
            explainer._check_any_counterfactuals_computed([result])
        rows = declared.array(result.final_cfs_df)
        fixed = np.ones(len(start), dtype=bool)
        fixed[vary] = False
        # The library rounds what it never moved, too.
        near = (declared.levels == 0) & (np.abs(rows - start) <= 0.5 * 10.0**-declared.decimals)
        return np.where(fixed | near, start, rows)


@dataclass(frozen=True)
class _Share:
    """What the library's searches see of a row."""

    scorer: Scorer
    spread: float
    person: Feasible | None = None
    """whose rows they are: what follows from the rest is worked out, and a rule broken is a no"""

    def __call__(self, values: Floats) -> Floats:
        if self.person is None:
            return rescaled(self.scorer.goal, self.scorer.score(values), self.spread)
        rows, share = self.person.complete(values), np.zeros(len(values))
        kept = self.person.fulfils(rows) & self.person.passes(rows)
        share[kept] = rescaled(self.scorer.goal, self.scorer.score(rows[kept]), self.spread)
        return share


def rescaled(goal: Goal, scores: Floats, spread: float) -> Floats:
    """Scores as shares of one that reach ½ where the goal is met; `spread` is their scale."""
    if goal.is_range:
        margin = goal.margin(scores)
        return 0.5 + 0.5 * margin / (spread + np.abs(margin))
    below, above = scores / goal.threshold, (1 - scores) / max(1 - goal.threshold, 1e-9)
    return np.where(scores < goal.threshold, 0.5 * below, 1 - 0.5 * np.minimum(above, 1))


# ---- what is declared to dice-ml --------------------------------------------------------------


def _declared(space: Space, values: Floats) -> Declared:
    """Features in their own units: ordinals as whole numbers, categories as categories."""
    decimals = []
    for feature in space.schema.features:
        scale = float(space.scale[space.slices[feature.name]].max(initial=0.0)) or 1.0
        most = feature.most_decimals if isinstance(feature, Numeric | Derived) else 0
        usual = max(0, DIGITS - int(np.floor(np.log10(scale))))
        decimals.append(usual if most is None else most)
    levels = [
        len(feature.levels or ()) if isinstance(feature, Categorical) else 0
        for feature in space.schema.features
    ]
    declared: Declared = _library().Declared(values, np.array(levels), np.array(decimals))
    return declared


def _declared_points(space: Space, values: Floats) -> Declared:
    """Encoded columns: one-hot ones as categories of 0 and 1."""
    onehot = space.columns_of(lambda feature: isinstance(feature, Categorical))
    decimals = np.where(onehot, 0, POINT_DECIMALS)
    points, levels = space.to_points(values), np.where(onehot, 2, 0)
    declared: Declared = _library().Declared(points, levels, decimals)
    return declared


# ---- the library ------------------------------------------------------------------------------


def _library() -> Any:
    try:
        from stepladder.methods import dice_library
    except ImportError as error:
        raise ExtraError("dice-ml", "baselines", "DiCE") from error
    return dice_library


def _gradient(data: Any, scorer: Scorer, spread: float) -> Any:
    """The library's descent on a torch module."""
    nn = sys.modules.get("torch.nn")
    numeric = all(isinstance(feature, Numeric) for feature in scorer.space.schema.features)
    if nn is None or not isinstance(scorer.model, nn.Module):
        raise ModelError(
            f'DiCE(algorithm="gradient") needs a torch module to differentiate, got {scorer.name}. '
            'Use "random", "genetic" or "kdtree", which take any model.'
        )
    if not (scorer.takes_points or numeric):
        raise ModelError(
            'DiCE(algorithm="gradient") needs a module of encoded points, sl.encoded(module), or '
            "a schema of numeric features only: it can't differentiate through the reading of "
            'levels. Use one of these, or "random", "genetic" or "kdtree".'
        )
    from stepladder.methods.dice_gradient import Gradient

    return Gradient.over(data, scorer, spread)


def _seed(random_state: int, start: Floats) -> int:
    """A seed for this person, whoever else is asked about."""
    own = zlib.crc32(np.ascontiguousarray(start).tobytes())
    return int(np.random.SeedSequence([random_state, own]).generate_state(1)[0])


@contextmanager
def _seeded(seed: int) -> Iterator[None]:
    """dice-ml draws from the global generators: they're seeded, and then put back as they were.

    Two threads would seed them for each other, so there's one at a time.
    """
    with _ONE_AT_A_TIME:
        numbers, choices = np.random.get_state(), random.getstate()  # noqa: NPY002
        np.random.seed(seed)  # noqa: NPY002
        random.seed(seed)
        try:
            yield
        finally:
            np.random.set_state(numbers)  # noqa: NPY002
            random.setstate(choices)


_ONE_AT_A_TIME = threading.Lock()
