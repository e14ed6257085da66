"""How well an attacker can tell from private answers whether one row was there.

    python benchmarks/privacy_audit.py                 everything, some three minutes
    python benchmarks/privacy_audit.py --quick         fewer runs, for CI: half a minute
    python benchmarks/privacy_audit.py --end-to-end    also by the public face, 90 seconds more

The attacker knows two neighbouring tables, every setting and all that is released, and has to say
which of the tables was used. The real mechanism answers many times on each. How often the attacker
is right gives a lower bound on ε: whoever holds (ε, δ) can't be told apart more often than
TPR ≤ e^ε · FPR + δ, either way round. The best threshold is chosen on one half of the runs, and
its rates, with their Clopper–Pearson limits, are counted on the other (Jagielski et al., 2020).

Ends with status 1 if the bound of a sound mechanism exceeds the ε it claims, or if a broken one
isn't caught: the paper's printed σ = βC²/ε where C < 1, or less noise than is due.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import beta

import stepladder as sl
from stepladder.kernels.alpha import Alpha, Unit, Volcano
from stepladder.privacy import mechanism
from stepladder.privacy.mechanism import UNITS, bounded, noisy_directions, pulls
from stepladder.privacy.neighbours import Neighbours
from stepladder.privacy.reference import Layout, facts

Floats = NDArray[np.float64]

EPSILON, DELTA = 1.0, 1e-5
CONFIDENCE = 0.95
STEPS = 10
AT_ONCE = 500
"""How many tables are answered in one call."""
FEWEST, STRICTER = 2000, 1e-3
"""A threshold is tried only if this many scores lie beyond it, and chosen by limits that are wrong
less often by this factor. Otherwise luck in a far tail is chosen, and gone in the other half."""


@dataclass(frozen=True)
class Scores:
    """What the attacker makes of each answer: the higher, the more it speaks for the row."""

    without: Floats
    present: Floats


@dataclass(frozen=True)
class Audit:
    """What came out for one mechanism."""

    mechanism: str
    sound: bool
    bound: float
    runs: int

    @property
    def caught(self) -> bool:
        """Whether the bound shows that the claim is false."""
        return self.bound > EPSILON

    @property
    def as_expected(self) -> bool:
        return self.caught is not self.sound

    def __str__(self) -> str:
        found = "CAUGHT" if self.caught else "not caught"
        verdict = f"{found}{'' if self.as_expected else ', WRONGLY'}"
        return f"{self.mechanism:44} {EPSILON:9.2f} {self.bound:12.3f} {self.runs:10,}  {verdict}"


# ---- from scores to ε ---------------------------------------------------------------------------


def lower_bound(scores: Scores, confidence: float = CONFIDENCE, delta: float = DELTA) -> float:
    """An ε that the mechanism really has at least, with this confidence; 0 if nothing shows."""
    without, present = np.array_split(scores.without, 2), np.array_split(scores.present, 2)
    strict = 1 - STRICTER * (1 - confidence)
    threshold, above = _best_threshold(without[0], present[0], strict, delta)
    return float(_bound(without[1], present[1], np.array([threshold]), above, confidence, delta)[0])


def _best_threshold(
    without: Floats, present: Floats, confidence: float, delta: float
) -> tuple[float, bool]:
    """Where the bound is largest, and whether scores above or below it give the row away."""
    best = -math.inf, 0.0, True
    everything = np.concatenate([without, present])
    tails = np.geomspace(min(FEWEST / len(everything), 0.1), 0.5, 60)
    for above, shares in ((True, 1 - tails), (False, tails)):
        thresholds = np.quantile(everything, shares)
        bounds = _bound(without, present, thresholds, above, confidence, delta)
        best = max(best, (float(bounds.max()), float(thresholds[bounds.argmax()]), above))
    return best[1], best[2]


def _bound(
    without: Floats,
    present: Floats,
    thresholds: Floats,
    above: bool,
    confidence: float,
    delta: float,
) -> Floats:
    """log((TPR - δ) / FPR) for each threshold, TPR at its lower limit and FPR at its upper one."""
    # Above a threshold the attacker says that the row is there, below it that it isn't.
    right, wrong = (present, without) if above else (-without, -present)
    edges = thresholds if above else -thresholds
    hits, alarms = (
        len(side) - np.searchsorted(np.sort(side), edges, side="left") for side in (right, wrong)
    )
    error = (1 - confidence) / 2  # for each of the two limits, so that both hold at once
    with np.errstate(invalid="ignore"):
        least = np.where(hits > 0, beta.ppf(error, hits, len(right) - hits + 1), 0.0)
        most = np.where(
            alarms < len(wrong), beta.ppf(1 - error, alarms + 1, len(wrong) - alarms), 1.0
        )
    return np.log(np.maximum((least - delta) / most, 1.0))


# ---- directions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Tables:
    """Two neighbouring tables of positives (n, m), and how directions to them are weighed."""

    without: Floats
    present: Floats
    alpha: Alpha
    neighbours: Neighbours

    @classmethod
    def worst(
        cls, alpha: Alpha, far: float, neighbours: Neighbours = Neighbours.ADD_OR_REMOVE
    ) -> Tables:
        """One row pulls with all its might from `far` away, or doesn't, or pulls the other way."""
        others = np.array([[1.5], [-2.0], [0.5]])
        opposite = np.array([[-far]])[: 1 if neighbours is Neighbours.REPLACE_ONE else 0]
        return cls(
            without=np.concatenate([others, opposite]),
            present=np.concatenate([others, [[far]]]),
            alpha=alpha,
            neighbours=neighbours,
        )


def attack_directions(tables: Tables, multiplier: float, runs: int, steps: int = 1) -> Scores:
    """The log-likelihood ratio of all directions of a walk of some steps, for `runs` walks each.

    Walks are made many at once: each is a cluster of its own, with its own copy of the table and
    its own noise. The next point of each lies a step along the direction that was released.
    """

    def scored(positives: Floats) -> Floats:
        parts = [min(AT_ONCE, runs - start) for start in range(0, runs, AT_ONCE)]
        return np.concatenate([_walks(tables, positives, multiplier, n, steps) for n in parts])

    return Scores(scored(tables.without), scored(tables.present))


def _walks(tables: Tables, positives: Floats, multiplier: float, count: int, steps: int) -> Floats:
    """(count,) the log-likelihood ratio of each walk."""
    alpha, neighbours = tables.alpha, tables.neighbours
    sigma = multiplier * bounded(alpha) * neighbours.moves
    points = np.zeros((count, positives.shape[1]))
    ratios = np.zeros(count)
    copies, owners = _copies(positives, count)
    for _ in range(steps):
        released = noisy_directions(
            points, copies, owners, alpha, multiplier, neighbours=neighbours
        )
        without, present = (
            _exact(points, side, alpha) for side in (tables.without, tables.present)
        )
        apart = present - without
        ratios += ((released - (without + present) / 2) * apart).sum(axis=1) / sigma**2
        points += released / np.maximum(np.linalg.norm(released, axis=1, keepdims=True), 1e-300)
    return ratios


def _exact(points: Floats, positives: Floats, alpha: Alpha) -> Floats:
    """What the attacker expects at each point if this is the table."""
    copies, owners = _copies(positives, len(points))
    shares = pulls(points, copies, owners, alpha)
    return np.asarray(shares.reshape(len(points), *positives.shape).sum(axis=1))


def _copies(positives: Floats, count: int) -> tuple[Floats, NDArray[np.intp]]:
    """A copy of the table for each of `count` clusters, and the cluster of each row."""
    return np.tile(positives, (count, 1)), np.repeat(np.arange(count), len(positives))


# ---- the reference set --------------------------------------------------------------------------

CROWD, RANGE = 200, 40.0
"""How many rows lie in the middle of a column, and how wide it is: the row is at its end."""


@dataclass(frozen=True)
class Release:
    """What was added up, what of it was released, and the spread of its noise."""

    sums: NDArray[np.int64]
    released: Floats
    spread: float


def attack_reference(
    multiplier: float, runs: int, neighbours: Neighbours = Neighbours.ADD_OR_REMOVE
) -> Scores:
    """The log-likelihood ratio of all that is released for a reference set, `runs` times each.

    Releases are taken where they leave the mechanism. What the attacker expects of each depends on
    the releases before, so the other table is asked anew as if it had released the same.
    """
    layout = Layout(np.zeros(1), np.full(1, RANGE), ())
    without = np.full((CROWD, 1), RANGE / 2)
    present = np.concatenate([without, [[RANGE]]])
    if neighbours is Neighbours.REPLACE_ONE:
        without = np.concatenate([without, [[0.0]]])

    def releases(points: Floats, answer: Callable[..., Floats]) -> None:
        with tapped(answer):
            facts(points, layout, multiplier, 1, np.random.default_rng(0), neighbours)

    def ratio(points: Floats, other: Floats) -> float:
        """How much more likely the releases are if the table is the other one."""
        heard: list[Release] = []
        expected: list[NDArray[np.int64]] = []
        with_noise = mechanism.with_noise

        def overhear(sums: NDArray[np.int64], spread: float) -> Floats:
            heard.append(Release(sums, with_noise(sums, spread), spread))
            return heard[-1].released

        def replay(sums: NDArray[np.int64], spread: float) -> Floats:
            expected.append(sums)
            return heard[len(expected) - 1].released

        releases(points, overhear)
        releases(other, replay)
        return sum(_log_ratio(*pair) for pair in zip(heard, expected, strict=True))

    return Scores(
        without=np.array([ratio(without, present) for _ in range(runs)]),
        present=-np.array([ratio(present, without) for _ in range(runs)]),
    )


def _log_ratio(release: Release, other: NDArray[np.int64]) -> float:
    """The logarithm of how much more likely other sums are to have given the same release."""
    apart = (other - release.sums) / UNITS
    noise = (release.released - release.sums) / UNITS
    return float(((noise - apart / 2) * apart).sum()) / release.spread**2


@contextmanager
def tapped(answer: Callable[..., Floats]) -> Iterator[None]:
    """While it lasts, `answer` stands where noise is added."""
    real = mechanism.with_noise
    mechanism.with_noise = answer
    try:
        yield
    finally:
        mechanism.with_noise = real


# ---- from outside -------------------------------------------------------------------------------


def attack_offers(runs: int) -> Scores:
    """How far a walk's first offer leads, asked through the public face."""

    def score(table: pd.DataFrame) -> float:
        way = sl.PayPerDirection(
            sl.Budget(EPSILON, DELTA), steps=1, centres=pd.DataFrame({"x": [50.0]})
        )
        offers = _fitted(way, table).walk(pd.DataFrame({"x": [40.0]})).directions()
        return float(sum(asked.after - asked.before for o in offers for asked in o.changes))

    return _outside(score, runs, crowd=4)  # heard above the noise once in a while


def attack_made_up(runs: int) -> Scores:
    """The mean of the rows that are made up, asked through the public face."""

    def score(table: pd.DataFrame) -> float:
        way = sl.PayOnce(sl.Budget(EPSILON, DELTA), centres=2)
        return float(_fitted(way, table).reference_.values.mean())

    return _outside(score, runs, crowd=20)  # believed about every other time


def _outside(score: Callable[[pd.DataFrame], float], runs: int, crowd: int) -> Scores:
    """The scores of tables of `crowd` rows that are all alike, and of one more."""
    few, more = (pd.DataFrame({"x": np.full(count, 100.0)}) for count in (crowd, crowd + 1))
    return Scores(
        without=np.array([score(few) for _ in range(runs)]),
        present=np.array([score(more) for _ in range(runs)]),
    )


def _fitted(way: sl.PayOnce | sl.PayPerDirection, table: pd.DataFrame) -> sl.StEP:
    schema = sl.Schema([sl.Numeric("x", bounds=(0, 100))])
    return sl.StEP(paths=1, privacy=way).fit(table, _model, schema=schema, goal=sl.Goal(0.5))


def _model(frame: Any) -> Floats:
    """Accepts both ends of the range and nothing between."""
    x = frame["x"].to_numpy(dtype=float)
    return np.where(np.abs(x - 50) > 40, 0.9, 0.1)


# ---- the audits ---------------------------------------------------------------------------------

PRINTED = Volcano(degree=2, cutoff=10)
"""An alpha whose C is 0.1, under which the paper's printed σ is a tenth of what is due."""


def multiplier_due(steps: int = 1) -> float:
    return sl.PayPerDirection(sl.Budget(EPSILON, DELTA), steps=steps).for_steps()


def multiplier_printed(alpha: Alpha) -> float:
    """σ / C of the paper's printed σ = βC² / ε with β² = 2 log(1.25 / δ)."""
    return math.sqrt(2 * math.log(1.25 / DELTA)) * bounded(alpha) / EPSILON


def directions(neighbours: Neighbours, runs: int) -> Scores:
    return attack_directions(Tables.worst(Unit(), 5.0, neighbours), multiplier_due(), runs)


def walk(runs: int) -> Scores:
    tables = Tables.worst(Unit(), 500.0)  # so far that every step is pulled towards it
    return attack_directions(tables, multiplier_due(STEPS), runs, STEPS)


def reference(neighbours: Neighbours, runs: int) -> Scores:
    return attack_reference(sl.PayOnce(sl.Budget(EPSILON, DELTA)).multiplier(), runs, neighbours)


def printed(runs: int) -> Scores:
    tables = Tables.worst(PRINTED, PRINTED.cutoff)
    return attack_directions(tables, multiplier_printed(PRINTED), runs)


def half_the_noise(runs: int) -> Scores:
    return attack_directions(Tables.worst(Unit(), 5.0), multiplier_due() / 2, runs)


def little_noise_once(runs: int) -> Scores:
    return attack_reference(sl.PayOnce(sl.Budget(EPSILON, DELTA)).multiplier() / 8, runs)


@dataclass(frozen=True)
class Case:
    mechanism: str
    sound: bool
    attack: Callable[[int], Scores]
    runs: int
    quick: int

    def audit(self, quick: bool, confidence: float = CONFIDENCE) -> Audit:
        runs = self.quick if quick else self.runs
        scores = self.attack(runs)
        return Audit(self.mechanism, self.sound, lower_bound(scores, confidence), 2 * runs)


ADD, REPLACE = Neighbours.ADD_OR_REMOVE, Neighbours.REPLACE_ONE
CASES = {
    "directions": Case(
        "a direction, add or remove", True, lambda n: directions(ADD, n), 300_000, 20_000
    ),
    "replaced": Case(
        "a direction, replace one", True, lambda n: directions(REPLACE, n), 300_000, 20_000
    ),
    "walk": Case(f"a walk of {STEPS} steps", True, walk, 40_000, 4_000),
    "once": Case("a reference set, add or remove", True, lambda n: reference(ADD, n), 10_000, 500),
    "once replaced": Case(
        "a reference set, replace one", True, lambda n: reference(REPLACE, n), 2_000, 300
    ),
    "printed": Case("broken: the paper's printed σ, C = 0.1", False, printed, 20_000, 4_000),
    "little": Case("broken: a reference set, ⅛ of the noise", False, little_noise_once, 1_000, 500),
    "half": Case("broken: a direction, half the noise", False, half_the_noise, 200_000, 160_000),
}
OUTSIDE = [
    Case("from outside: a walk's first offer", True, attack_offers, 1_000, 200),
    Case("from outside: made-up rows", True, attack_made_up, 1_000, 200),
]


def main() -> int:
    parser = argparse.ArgumentParser(description="How private Stepladder's answers really are.")
    parser.add_argument("--quick", action="store_true", help="fewer runs, for CI")
    parser.add_argument(
        "--end-to-end", action="store_true", help="attack the public face alone as well"
    )
    chosen = parser.parse_args()
    print(f"{CONFIDENCE:.0%} lower bounds on ε at δ = {DELTA:g}\n")
    header = f"{'mechanism':44} {'claimed ε':>9} {'lower bound':>12} {'runs':>10}  verdict"
    print(f"{header}\n{'-' * len(header)}", flush=True)
    audits = []
    for case in [*CASES.values(), *(OUTSIDE if chosen.end_to_end else [])]:
        audits.append(case.audit(chosen.quick))
        print(audits[-1], flush=True)
    return 0 if all(audit.as_expected for audit in audits) else 1


if __name__ == "__main__":
    sys.exit(main())
