"""The goal: what counts as a yes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from stepladder.checks import finite
from stepladder.errors import ParameterError
from stepladder.numbers import exact
from stepladder.table.formula import Formula
from stepladder.table.space import Floats, Mask


@dataclass(frozen=True)
class Goal:
    """What the person hopes for: a class scored at least `threshold`, or a prediction in a range.

    `desired` is the class wanted (DiCE's `desired_class`), or a list of several, of which any will
    do: their probabilities are added up. It's a two-class model's second class if left out.
    `policy` is what a yes takes beside the model's: conditions in the language of requirements.

    >>> print(Goal(threshold=0.7, policy=["dti <= 0.43"]))
    a score of at least 0.7, with dti <= 0.43
    """

    threshold: float = 0.5
    desired: Any = None
    """one class, or several as a tuple"""
    low: float | None = None
    high: float | None = None
    policy: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        other = "For a prediction that isn't a probability use Goal.between(low, high)."
        finite("Goal(threshold)", self.threshold, above=0, most=1, hint=other)
        for name, end in (("low", self.low), ("high", self.high)):
            if end is not None and (not isinstance(end, Real) or math.isnan(end)):
                raise ParameterError(
                    f"Goal.between({name}) must be a number, or None for an open end; got {end!r}."
                )
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ParameterError(
                f"Goal.between: low {self.low!r} is above high {self.high!r}; swap them."
            )

        if isinstance(self.desired, list | tuple | np.ndarray):
            object.__setattr__(self, "desired", _classes(self.desired))
        else:
            object.__setattr__(self, "desired", python_scalar(self.desired))
        object.__setattr__(self, "policy", _conditions(self.policy))

    @classmethod
    def between(
        cls, low: float | None = None, high: float | None = None, *, policy: Iterable[str] = ()
    ) -> Goal:
        """A prediction from `low` to `high`, ends included; None leaves an end open."""
        if low is None and high is None:
            raise ParameterError("Goal.between needs a low end, a high end or both; got neither.")
        return cls(low=low, high=high, policy=policy)  # type: ignore[arg-type]  # made a tuple

    @property
    def classes(self) -> tuple[Any, ...]:
        """The desired classes, one or several; none where the model's second of two is meant."""
        if self.desired is None:
            return ()
        return self.desired if isinstance(self.desired, tuple) else (self.desired,)

    @property
    def is_range(self) -> bool:
        return self.low is not None or self.high is not None

    def margin(self, scores: Floats) -> Floats:
        """How far scores are beyond the goal; below 0 where they fall short of it."""
        if not self.is_range:
            return scores - self.threshold
        above = np.inf if self.low is None else scores - self.low
        below = np.inf if self.high is None else self.high - scores
        return np.minimum(above, below)

    def met(self, scores: Floats) -> Mask:
        return np.asarray(self.margin(scores) >= 0.0)

    def shown(self, score: float) -> str:
        """A score with three decimals, or with as many as keep it on its side of the goal.

        >>> Goal(threshold=0.7).shown(0.123456), Goal(threshold=0.7).shown(0.69996)
        ('0.123', '0.69996')
        """
        is_met = self.met(np.array(score))
        forms = (f"{score:.{decimals}f}" for decimals in range(3, 17))
        return next(
            (s for s in forms if self.met(np.array(float(s))) == is_met), repr(float(score))
        )

    def __str__(self) -> str:
        if self.is_range:
            low = "−∞" if self.low is None else exact(self.low, apart=False)
            high = "∞" if self.high is None else exact(self.high, apart=False)
            return f"a prediction from {low} to {high}{self._beside}"
        *most, last = [repr(wanted) for wanted in self.classes] or [""]
        named = f"{', '.join(most)} or {last}" if most else last
        least = exact(self.threshold, apart=False)
        return f"a score of at least {least}{named and f' for {named}'}{self._beside}"

    @property
    def _beside(self) -> str:
        """What a yes takes beside the model's, in words."""
        return f", with {' and '.join(self.policy)}" if self.policy else ""


def _conditions(policy: Any) -> tuple[str, ...]:
    """The conditions of a policy, each of which can be read."""
    if isinstance(policy, str) or not isinstance(policy, Iterable):
        raise ParameterError(
            f'Goal(policy) must be a list of conditions, such as ["dti <= 0.43"]; got {policy!r}.'
        )
    texts = tuple(policy)
    for text in texts:
        if Formula.parse(text, "The policy").before:
            raise ParameterError(
                f"The policy {text!r} looks at today's row with was(…), but a policy is about one "
                "row alone. What depends on where somebody comes from is a requirement: "
                "Schema(…, require=[…])."
            )
    return texts


def _classes(desired: Iterable[Any]) -> Any:
    """Several classes as a tuple, each only once; of a list of one, that one."""
    classes = tuple(python_scalar(wanted) for wanted in desired)
    if not classes or None in classes:
        raise ParameterError(
            f"Goal(desired) must be a class, or a list of classes; got {list(classes)!r}. Leave it "
            "out for the second class of two."
        )
    for i, wanted in enumerate(classes):
        if wanted in classes[:i]:
            raise ParameterError(
                f"Goal(desired) names {wanted!r} more than once: {list(classes)!r}. Name each "
                "class once."
            )
    return classes[0] if len(classes) == 1 else classes


def python_scalar(value: Any) -> Any:
    """NumPy's scalars as Python's."""
    return value.item() if hasattr(value, "item") else value
