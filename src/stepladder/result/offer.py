"""What a walk offers: the next step of a path, and what it leads to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stepladder.numbers import exact


@dataclass(frozen=True)
class Asked:
    """One change that an offer asks for, in raw units."""

    feature: str
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{self.feature}: {_number(self.before)} → {_number(self.after)}"


@dataclass(frozen=True)
class Offer:
    """The next step of one path, in raw units, and what it leads to."""

    path: int
    changes: tuple[Asked, ...]
    score: float
    """the score after this step"""
    steps_left: int
    """how many steps the path plans after this one"""
    reaches_goal: bool
    """whether the planned path ends at the goal"""
    total: tuple[Asked, ...] = ()
    """all that the path asks for from here, this step included"""

    def __str__(self) -> str:
        asked = "; ".join(str(change) for change in self.changes)
        steps = "1 more step" if self.steps_left == 1 else f"{self.steps_left} more steps"
        goal = f"then {steps} to the goal" if self.steps_left else "the goal"
        if not self.reaches_goal:
            goal = (
                f"then {steps}, and the goal not yet in reach" if self.steps_left else "on the way"
            )
        # People count from 1.
        return f"route {self.path + 1}: {asked} (score {self.score:.2f}, {goal})"


def _number(value: Any) -> str:
    """A value as people write it: thousands separated, no more digits than it has."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return exact(value)
