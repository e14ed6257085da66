"""Two ways to pay for privacy, and what an answer says about it.

`PayOnce` buys a private reference set, from which everyone is answered at no further cost: what a
service should use. `PayPerDirection` is the paper's way: every step of every person is a query
of its own, on the real positives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from stepladder.checks import whole_number
from stepladder.errors import BudgetError, ParameterError, ResultError
from stepladder.privacy.accountant import Budget, Statement
from stepladder.privacy.reference import RELEASES

FOR_CENTRES = 0.1
"""The share of what is left that finding centres takes, when every direction is paid for. Shares
are of 1 / multiplier², as releases add up: of ε, a tenth is about a third."""


@dataclass(frozen=True)
class PayOnce:
    """Spend on a private reference set when fitting, and answer anyone from it for nothing.

    budget      what is spent from
    epsilon     how much of it, at the budget's delta; None for all that is left
    centres     how many centres the positives are summed up by
    rows        how many rows are made up from them
    saved       a .json file that the noisy facts are kept in: where it's there already, they are
                taken from it, and nothing is spent again. That the table and the model are still
                those it was made with is for the caller to see to
    """

    way: ClassVar[str] = "once"
    buys: ClassVar[str] = "private reference set"

    budget: Budget
    epsilon: float | None = None
    centres: int = 24
    rows: int = 2048
    saved: str | Path | None = None

    def __post_init__(self) -> None:
        _check(self)
        whole_number("centres", self.centres, 1)
        whole_number("rows", self.rows, 1)
        if self.epsilon is not None:
            Budget(self.epsilon, self.budget.delta)  # refuses what isn't an ε

    def multiplier(self) -> float:
        """That of each of the releases a reference set takes."""
        if self.epsilon is not None:
            return Budget(self.epsilon, self.budget.delta).multiplier(queries=RELEASES)
        return self.budget.multiplier(share=_left(self.budget), queries=RELEASES)

    @property
    def settings(self) -> dict[str, Any]:
        """As results echo them."""
        return {
            "pay": self.way,
            "epsilon": self.epsilon,
            "centres": self.centres,
            "rows": self.rows,
        }


@dataclass(frozen=True)
class PayPerDirection:
    """Spend on every step: k noisy directions, one to each cluster, for the price of one.

    budget   what is spent from
    steps    how many steps of one person's paths what is left is to last for: the more, the
             noisier each
    centres  a frame of public rows, one per path, to cluster the positives around; None to find
             them privately, for a tenth of what is left
    saved    a .json file that keeps what those were found by, as PayOnce's does: a walk that is
             resumed elsewhere with the same ledger doesn't pay for them again, and its steps are
             as noisy as they were
    """

    way: ClassVar[str] = "per direction"
    buys: ClassVar[str] = "private centres"

    budget: Budget
    steps: int = 10
    centres: Any = field(default=None, repr=False, compare=False)
    saved: str | Path | None = None

    def __post_init__(self) -> None:
        _check(self)
        whole_number("steps", self.steps, 1)
        if self.centres is not None and self.saved is not None:
            raise ParameterError(
                f"saved={str(self.saved)!r} keeps what finding centres cost, and public centres "
                "cost nothing. Leave out saved, or centres."
            )

    def multiplier(self) -> float:
        """That of each of the releases that finding centres takes."""
        share = FOR_CENTRES * _left(self.budget)
        return self.budget.multiplier(share=share, queries=RELEASES)

    def for_steps(self, bought: str | None = None) -> float:
        """The multiplier of each step, of what was left once centres were `bought` under this name.

        With public centres, of what is left now.
        """
        return self.budget.multiplier(share=_left(self.budget, bought), queries=self.steps)

    @property
    def settings(self) -> dict[str, Any]:
        """As results echo them."""
        return {
            "pay": self.way,
            "steps": self.steps,
            "centres": "private" if self.centres is None else "public",
        }


Pay = PayOnce | PayPerDirection


def paid_by(privacy: Any) -> Pay | None:
    """What a method's `privacy` means: a bare budget is spent once."""
    if isinstance(privacy, Budget):
        return PayOnce(privacy)
    if privacy is None or isinstance(privacy, PayOnce | PayPerDirection):
        return privacy
    raise ParameterError(
        "privacy must be sl.Budget(epsilon, delta), sl.PayOnce(budget), "
        f"sl.PayPerDirection(budget) or None; got {privacy!r}."
    )


@dataclass(frozen=True)
class Guarantee:
    """What an answer, and all before it from the same budget, tells about the reference rows.

    way         "once" or "per direction"
    neighbours  which two tables nobody can tell apart, beyond (ε, δ)
    cost        the ε, at the budget's δ, of what this very answer took: 0 if all was paid before
    statement   what has been spent from the budget, and what is left
    """

    way: str
    neighbours: str
    cost: float
    statement: Statement

    COVERED: ClassVar[str] = (
        "any one row of the reference table: what anybody can learn from all answers together "
        "about whether it is there, and what it says"
    )
    NOT_COVERED: ClassVar[str] = (
        "the model, which was trained without this guarantee and answers questions about the "
        "person's own row; what the schema and the types of the columns declare; the person who "
        "asks; how long an answer takes; what fitting tells whoever holds the table; and rows that "
        "a model judges, in the last digit of their score, by what else it's asked with them"
    )

    @property
    def spent(self) -> float:
        """The ε of everything that was spent from the budget up to this answer."""
        return self.statement.spent

    @property
    def left(self) -> float:
        """The ε that is left."""
        return self.statement.left

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for a saved result."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Guarantee:
        """The guarantee that `to_dict` made these values of."""
        try:
            statement = Statement.from_dict(values["statement"])
            return cls(values["way"], values["neighbours"], values["cost"], statement)
        except (KeyError, TypeError) as error:
            raise ResultError(
                f"This isn't what Guarantee.to_dict() returned: {values!r}."
            ) from error

    def __str__(self) -> str:
        return (
            f"paid {self.way} ({self.neighbours} neighbours): {self.statement}\n"
            f"covered: {self.COVERED}\nnot covered: {self.NOT_COVERED}"
        )


def _check(pay: Pay) -> None:
    """Refuse what isn't a budget."""
    if not isinstance(pay.budget, Budget):
        raise ParameterError(
            f"{type(pay).__name__} takes an sl.Budget(epsilon, delta); got {pay.budget!r}."
        )


def _left(budget: Budget, after: str | None = None) -> float:
    """The share of a budget that is left, or was after something was paid for; none is an error."""
    rest = budget.rest if after is None else budget.rest_after(after)
    if rest * budget.epsilon < 1e-9 or not math.isfinite(rest):
        raise BudgetError(
            f"Nothing is left to spend: {budget.statement}. Only what was bought before and kept "
            "in a file (saved=, or --bought) can be used again for nothing."
        )
    return rest
