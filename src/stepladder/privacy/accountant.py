"""The accountant: what has been spent on a table, what is left, and a no before it is overdrawn.

Everything released privately here is a Gaussian mechanism: noise of standard deviation σ on
something that one row can move by at most C. Its *multiplier* is σ / C. Gaussian releases with
multipliers m₁, m₂, … are together exactly as private as a single one with 1 / m² = Σ 1 / mᵢ²
[1]_; that holds too when each is chosen after seeing the last, as long as a limit on the sum is
fixed in advance and never passed [2]_. So a budget counts Σ 1 / m², and shows it as the exact ε
of one Gaussian at the budget's δ [3]_.

References
----------
.. [1] Dong, Roth & Su (2022), "Gaussian differential privacy".
.. [2] Smith & Thakurta (2022), "Fully adaptive composition for Gaussian differential privacy".
.. [3] Balle & Wang (2018), "Improving the Gaussian mechanism for differential privacy".
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from stepladder.checks import as_float, finite, whole_number
from stepladder.errors import BudgetError, ExtraError, ParameterError, ResultError
from stepladder.numbers import rounded
from stepladder.privacy.ledger import File, Ledger, Limits, Memory, Spend, Totals, now
from stepladder.privacy.neighbours import Neighbours

_EPSILONS = 1e-6, 1e9  # beyond these the noise isn't known exactly enough
_LEAST_DELTA = 1e-100  # nor is it below this
_MOST = 10**9  # releases in one entry
_HAIR = 1e-10  # less than a limit is rounded down by, more than a sum can be off


@dataclass(frozen=True)
class Statement:
    """What has been spent and what is left, at one moment.

    `spent` is the ε, at `delta`, of everything so far, exactly composed. `naive` is what adding up
    the ε of every single release would claim: the kε of a textbook, at a δ that adds up as well,
    to `releases` times `delta`.

    >>> print(Statement(epsilon=1, delta=1e-9, spent=0.5, left=0.5, naive=0.86, releases=3))
    spent ε = 0.50 of 1.00 at δ = 1e-09 in 3 releases (0.86 if simply added up); 0.50 is left
    """

    epsilon: float
    delta: float
    spent: float
    left: float
    naive: float
    releases: int

    def to_dict(self) -> dict[str, float | int]:
        """Plain values, for a saved result."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Statement:
        """The statement that `to_dict` made these values of."""
        names = [field.name for field in fields(cls)]
        if not isinstance(values, Mapping) or set(values) != set(names):
            raise ResultError(
                f"A statement is made of {', '.join(names)}; got {values!r}. "
                "Pass what Statement.to_dict() returned."
            )
        for name in names:
            if math.isnan(as_float(values[name])):
                raise ResultError(f"The {name} of a statement is a number; got {values[name]!r}.")
        return cls(**values)

    def __str__(self) -> str:
        spent, epsilon, naive, left = (
            _shown(value, self.epsilon)
            for value in (self.spent, self.epsilon, self.naive, self.left)
        )
        many = "1 release" if self.releases == 1 else f"{self.releases:,} releases"
        added = f" ({naive} if simply added up)" if self.releases > 1 else ""
        return (
            f"spent ε = {spent} of {epsilon} at δ = {self.delta:g} in {many}{added}; {left} is left"
        )


class Budget:
    """(ε, δ) to spend on one table. Refuses a query that would overdraw, before noise is drawn.

    `neighbours` says which two tables nobody is to tell apart: "add_or_remove", where one has one
    more row, or "replace_one", which takes twice the noise on directions and √2 of it on a
    reference set.

    In memory, or with `ledger` in a file that threads and processes share and that outlives them.
    A spend counts once it is written, whether or not its answer was ever given. There is no second
    budget in a copy: a copy is the same budget, and only one with a ledger can be pickled.

    >>> budget = Budget(epsilon=1, delta=1e-6)
    >>> each = budget.multiplier(queries=10)
    >>> print(budget.spend(each, "five directions", count=5))
    spent ε = 0.69 of 1.00 at δ = 1e-06 in 5 releases (1.46 if simply added up); 0.31 is left
    >>> budget.affords(each, count=5), budget.affords(each, count=6)
    (True, False)
    """

    _ledger: Ledger
    _limit: float

    def __init__(
        self,
        epsilon: float,
        delta: float,
        *,
        neighbours: Neighbours | str = Neighbours.ADD_OR_REMOVE,
        ledger: str | os.PathLike[str] | None = None,
    ) -> None:
        within = (
            finite(
                "The epsilon of a privacy budget",
                epsilon,
                least=_EPSILONS[0],
                most=_EPSILONS[1],
                hint="1 is a usual choice, and less is more private.",
            ),
            finite(
                "The delta of a privacy budget",
                delta,
                least=_LEAST_DELTA,
                below=1,
                hint="About 1/n² for a table of n rows is usual.",
            ),
        )
        _limit(*within)  # fails without dp-accounting, so it comes before a file is made
        try:
            whose = Neighbours(neighbours)
        except ValueError:
            known = ", ".join(repr(kind) for kind in Neighbours)
            raise ParameterError(
                f"The neighbours of a privacy budget must be one of {known}. Got {neighbours!r} "
                "instead."
            ) from None
        self._use(
            Memory(*within, whose) if ledger is None else File.make(_path(ledger), *within, whose)
        )

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Budget:
        """The budget whose ledger is at `path`, with the limits it was made with."""
        return cls._of(File.open(_path(path)))

    @property
    def epsilon(self) -> float:
        return self._ledger.limits.epsilon

    @property
    def delta(self) -> float:
        return self._ledger.limits.delta

    @property
    def neighbours(self) -> Neighbours:
        return self._ledger.limits.neighbours

    def multiplier(self, *, share: float = 1.0, queries: int = 1) -> float:
        """The multiplier of each of `queries` equal releases that together take `share` of it all.

        Shares are of 1 / m², so those of one budget add up to 1, and all of them do fit.
        """
        half = "0.5 is half of the budget."
        part = finite("The share of a budget", share, above=0, most=1, hint=half)
        return math.sqrt(_count(queries, "The number of queries") / self._limit / part)

    @property
    def rest(self) -> float:
        """The share of the budget, in 1 / m², that isn't spent: from 1 down to 0."""
        return self._rest(self._ledger.totals())

    def rest_after(self, what: str) -> float:
        """The same share as it was once `what` had been paid for, whatever was spent since."""
        totals: dict[float, int] = {}
        for entry in self.entries():
            totals[entry.multiplier] = totals.get(entry.multiplier, 0) + entry.count
            if entry.what == what:
                break
        return self._rest(totals)

    def affords(self, multiplier: float, count: int = 1) -> bool:
        """Whether `count` releases of this multiplier could be spent now."""
        return self._fits(self._ledger.totals(), _multiplier(multiplier), _count(count))

    def cost(self, multiplier: float, count: int = 1) -> float:
        """The ε, at the budget's δ, of `count` releases of this multiplier by themselves."""
        return _epsilon_of(_cost(_multiplier(multiplier), _count(count)), self.delta)

    def spend(self, multiplier: float, what: str, count: int = 1) -> Statement:
        """Write down `count` releases of this multiplier, for `what`, and only then return.

        If that would overdraw the budget, nothing is written and a `BudgetError` says by how much.
        """
        entry = Spend(now(), _what(what), _multiplier(multiplier), _count(count))

        def check(totals: Totals) -> None:
            if not self._fits(totals, entry.multiplier, entry.count):
                raise BudgetError(self._refusal(totals, entry))

        return self._state(self._ledger.spend(entry, check))

    @property
    def statement(self) -> Statement:
        """What has been spent and what is left, now."""
        return self._state(self._ledger.totals())

    @property
    def spent(self) -> float:
        """The ε of everything so far, at the budget's δ."""
        return self.statement.spent

    @property
    def left(self) -> float:
        """How much of ε isn't spent."""
        return self.statement.left

    def entries(self) -> list[Spend]:
        """Every spend so far, oldest first."""
        return self._ledger.entries()

    def __repr__(self) -> str:
        try:
            spent = _shown(self.statement.spent, self.epsilon)
        except BudgetError:  # the ledger is gone, and a repr still has to say which
            spent = "?"
        ledger = f", ledger={str(self._ledger.path)!r}" if isinstance(self._ledger, File) else ""
        return f"Budget(epsilon={self.epsilon!r}, delta={self.delta!r}, spent={spent}{ledger})"

    def __copy__(self) -> Budget:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Budget:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if not isinstance(self._ledger, File):
            raise BudgetError(
                "A budget in memory can't be pickled: there would be two to spend. Make it with "
                "ledger='a file', which the pickled budget then shares."
            )
        return _reopened, (type(self), str(self._ledger.path), self._ledger.limits)

    @classmethod
    def _of(cls, ledger: Ledger) -> Budget:
        budget = cls.__new__(cls)
        budget._use(ledger)
        return budget

    def _use(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._limit = _limit(ledger.limits.epsilon, ledger.limits.delta)

    def _fits(self, totals: Totals, multiplier: float, count: int) -> bool:
        spent = [_cost(m, n) for m, n in totals.items()]
        return math.fsum([*spent, _cost(multiplier, count)]) <= self._limit * (1 + _HAIR)

    def _rest(self, totals: Totals) -> float:
        return max(0.0, 1.0 - _sum(totals) / self._limit)

    def _state(self, totals: Totals) -> Statement:
        spent = _epsilon_of(_sum(totals), self.delta)
        if self.epsilon < spent <= self.epsilon * (1 + 1e-9) + 1e-11:
            spent = self.epsilon  # the limit is rounded down: only the search for ε ended above it
        return Statement(
            epsilon=self.epsilon,
            delta=self.delta,
            spent=spent,
            left=max(0.0, self.epsilon - spent),
            naive=math.fsum(n * _epsilon(m, self.delta) for m, n in totals.items()),
            releases=sum(totals.values()),
        )

    def _refusal(self, totals: Totals, entry: Spend) -> str:
        cost = _cost(entry.multiplier, entry.count)
        alone, total = (_epsilon_of(c, self.delta) for c in (cost, _sum(totals) + cost))
        left = _shown(self._state(totals).left, self.epsilon)
        rest = self._rest(totals)
        way = "No noise is enough for another query on this table within this budget."
        if rest > _HAIR:
            fits = self.cost(math.sqrt(entry.count / self._limit / rest), entry.count)
            way = f"With more noise, a query of ε = {fits:.3g} by itself would still fit."
        return (
            f"{entry.what!r} would cost ε = {alone:.4g} and bring what is spent to ε = {total:.4g} "
            f"at δ = {self.delta:g}, more than the budget of {self.epsilon:g}, of which {left} is "
            f"left. Nothing was spent. {way}"
        )


def _reopened(kind: type[Budget], path: str, limits: Limits) -> Budget:
    """A pickled budget, on the ledger it had: `totals` answers only if that is still there."""
    ledger = File(Path(path), limits)
    ledger.totals()
    return kind._of(ledger)


def _cost(multiplier: float, count: int) -> float:
    """count / m². Two divisions: m² can vanish where m doesn't, and then they give `inf`."""
    return count / multiplier / multiplier


def _sum(totals: Totals) -> float:
    return math.fsum(_cost(m, n) for m, n in totals.items())


@lru_cache(maxsize=1024)
def _limit(epsilon: float, delta: float) -> float:
    """The Σ 1 / m² that (ε, δ) allows, rounded down.

    dp-accounting's σ was too small by up to 7e-14 / ε of itself, the more so the smaller δ is (in
    4,000 random draws, against 80 digits). More than ten times that is added, and 1e-9 for all
    that is rounded later.
    """
    with np.errstate(all="ignore"):
        sigma = float(_dp_accounting().get_sigma_gaussian(epsilon, delta, tol=1e-300))
    sigma *= 1 + 1e-9 + 1e-12 / epsilon
    return 1 / sigma**2


def _epsilon_of(cost: float, delta: float) -> float:
    """The exact ε at δ of releases with Σ 1 / m² = cost."""
    return _epsilon(1 / math.sqrt(cost), delta) if cost > 0 else 0.0


@lru_cache(maxsize=2**16)
def _epsilon(multiplier: float, delta: float) -> float:
    """The exact ε at δ of one release; `inf` where it has no noise to speak of."""
    if multiplier < 1e-9:
        return math.inf
    # Far out, it takes the logarithm of 0 and means -inf.
    with np.errstate(all="ignore"):
        return float(_dp_accounting().get_epsilon_gaussian(multiplier, delta))


def _dp_accounting() -> ModuleType:
    try:
        import dp_accounting
    except ImportError as error:
        raise ExtraError("dp-accounting", "privacy", "Spending privacy") from error
    module: ModuleType = dp_accounting
    return module


def _multiplier(value: object) -> float:
    name = "The multiplier of a release, its noise over its sensitivity,"
    return finite(name, value, above=0, hint="Budget.multiplier() computes one that fits.")


def _count(value: object, name: str = "The count of releases") -> int:
    return whole_number(name, value, 1, most=_MOST)


def _what(value: object) -> str:
    if isinstance(value, str) and value and value.isprintable():
        return value
    raise ParameterError(
        "What a spend is for must be one line of text, such as 'a direction'. "
        f"Got {value!r} instead."
    )


def _path(value: object) -> Path:
    if isinstance(value, (str, os.PathLike)) and isinstance(name := os.fspath(value), str):
        return Path(name)
    raise ParameterError(f"A ledger is named by the path of its file. Got {value!r} instead.")


def _shown(value: float, epsilon: float) -> str:
    """With two decimals, or as many more as a small budget needs."""
    return rounded(value, max(2, 1 - math.floor(math.log10(epsilon))))
