"""Every metric: by hand, against plain loops, and where it has nothing to say."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stepladder.metrics
from stepladder.metrics import METRICS, Paths, summary

pytestmark = pytest.mark.filterwarnings("error")

LOWER_IS_BETTER = {
    "l2_distance",
    "nearest_l2_distance",
    "path_length",
    "path_steps",
    "sparsity",
    "effort",
    "easiest_effort",
    "distance_to_positives",
}


def three_people() -> Paths:
    """Ann reaches two of three ends, Bob one, Cem none."""
    nan = np.nan
    return Paths(
        start=np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]),
        ends=np.array(
            [
                [[3.0, 4.0], [3.0, 0.0], [0.0, 0.0]],  # distances 5, 3, 0; apart 4, 5, 3
                [[1.0, 3.0], [1.0, 1.0], [1.0, 13.0]],  # distances 2, 0, 12; apart 2, 10, 12
                [[0.0, 8.0], [6.0, 0.0], [0.0, 0.0]],  # distances 8, 6, 0; apart 10, 8, 6
            ]
        ),
        reached=np.array([[True, True, False], [True, False, False], [False, False, False]]),
        lengths=np.array([[7.0, 4.0, 90.0], [2.5, 90.0, 90.0], [90.0, 90.0, 90.0]]),
        steps=np.array([[7, 3, 50], [3, 50, 50], [50, 50, 50]]),
        changed=np.array([[2, 1, 0], [1, 0, 1], [1, 1, 0]]),
        nearness=np.array([[0.5, nan, 9.0], [1.5, 9.0, nan], [9.0, nan, nan]]),
        effort=np.array([[0.6, 0.4, 0.0], [1.5, 0.0, nan], [0.1, 0.2, 0.0]]),
    )


BY_HAND = {
    "success": 2 / 3,
    "avg_success": 3 / 9,
    "l2_distance": ((5 + 3) / 2 + 2) / 2,
    "nearest_l2_distance": (3 + 2) / 2,
    "path_length": (5.5 + 2.5) / 2,
    "path_steps": (5 + 3) / 2,
    "diversity": 4.0,
    "diversity_as_printed": (12 / 9 + 24 / 9 + 24 / 9) / 3,
    "proximal_diversity": 4 / 5,
    "proximal_diversity_as_printed": (12 / 5 + 24 / 12 + 24 / 8) / 3,
    "sparsity": (1.5 + 1) / 2,
    "effort": (0.5 + 1.5) / 2,
    "easiest_effort": (0.4 + 1.5) / 2,
    "distance_to_positives": (0.5 + 1.5) / 2,
}


@pytest.mark.parametrize("name", METRICS)
def test_by_hand(name: str) -> None:
    assert METRICS[name](three_people()) == pytest.approx(BY_HAND[name], rel=1e-14)


def test_the_registry() -> None:
    assert list(METRICS) == list(summary(three_people()))
    assert set(METRICS) == set(BY_HAND)
    assert {name for name in METRICS if not METRICS[name].higher_is_better} == LOWER_IS_BETTER
    assert all(metric.name == name and metric.meaning for name, metric in METRICS.items())
    assert all(type(value) is float for value in summary(three_people()).values())


def test_the_public_names_are_there() -> None:
    assert set(stepladder.metrics.__all__) >= {m.each.__name__ for m in METRICS.values()}
    assert all(hasattr(stepladder.metrics, name) for name in stepladder.metrics.__all__)


@pytest.mark.parametrize(("k", "divisor"), [(1, 1), (2, 3), (3, 9), (4, 10), (5, 15)], ids=str)
def test_the_printed_diversity_depends_on_k(k: int, divisor: int) -> None:
    """Ends one apart on a line, all of them failures: S is the sum of |i - j|."""
    paths = random_paths(seed=0, n=1, k=k, m=1, chance=0.0)
    paths.ends[0, :, 0] = np.arange(k)
    total = sum(j - i for i, j in combinations(range(k), 2))
    assert METRICS["diversity_as_printed"](paths) == pytest.approx(total / divisor)


def random_paths(seed: int, n: int, k: int, m: int, chance: float) -> Paths:
    """People with failures; some failures and some nearnesses unknown, some ends at the start."""
    random = np.random.default_rng(seed)
    start = random.normal(size=(n, m)) * random.choice([1.0, 300.0])
    reached = random.uniform(size=(n, k)) < chance
    ends = start[:, None, :] + random.normal(size=(n, k, m)) * random.integers(2, size=(n, k, 1))
    ends[~reached & (random.uniform(size=(n, k)) < 0.1)] = np.nan
    nearness = random.uniform(size=(n, k))
    nearness[random.uniform(size=(n, k)) < 0.3] = np.nan
    effort = random.uniform(size=(n, k))
    effort[random.uniform(size=(n, k)) < 0.3] = np.nan
    lengths, steps = random.uniform(size=(n, k)), random.integers(50, size=(n, k))
    changed = random.integers(m + 1, size=(n, k))
    return Paths(start, ends, reached, lengths, steps, changed, nearness, effort)


def mean(values: list[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return math.fsum(known) / len(known) if known else math.nan


def reference(paths: Paths) -> dict[str, float]:
    """Every metric as plain loops over people, written from PROTOCOL.md."""
    columns: dict[str, list[float]] = {name: [] for name in METRICS}
    for person in range(len(paths.start)):
        start, ends = paths.start[person].tolist(), paths.ends[person].tolist()
        k, won = len(ends), [i for i in range(len(ends)) if paths.reached[person, i]]
        away = [math.dist(start, end) for end in ends]
        apart = {(i, j): math.dist(ends[i], ends[j]) for i, j in combinations(range(k), 2)}
        won_apart = [apart[pair] for pair in combinations(won, 2)]
        unknown = any(math.isnan(x) for end in ends for x in end)
        all_apart = math.nan if unknown else sum(apart.values())
        furthest = math.nan if unknown else max(away)
        known = [e for i in won if not math.isnan(e := float(paths.effort[person, i]))]
        won_furthest = max((away[i] for i in won), default=0.0)
        row = {
            "success": 1.0 if won else 0.0,
            "avg_success": len(won) / k,
            "l2_distance": mean([away[i] for i in won]),
            "nearest_l2_distance": min((away[i] for i in won), default=math.nan),
            "path_length": mean([float(paths.lengths[person, i]) for i in won]),
            "path_steps": mean([float(paths.steps[person, i]) for i in won]),
            "diversity": mean(won_apart),
            "diversity_as_printed": all_apart / (9 if k == 3 else k * (k + 1) / 2),
            "proximal_diversity": sum(won_apart) / won_furthest
            if len(won) >= 2 and won_furthest
            else math.nan,
            "proximal_diversity_as_printed": all_apart / furthest if furthest else math.nan,
            "sparsity": mean([float(paths.changed[person, i]) for i in won]),
            "effort": mean(known),
            "easiest_effort": min(known, default=math.nan),
            "distance_to_positives": mean([float(paths.nearness[person, i]) for i in won]),
        }
        for name, value in row.items():
            columns[name].append(value)
    return {name: mean(column) for name, column in columns.items()}


@settings(deadline=None, max_examples=200)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(0, 12),
    k=st.integers(1, 5),
    m=st.integers(1, 5),
    chance=st.sampled_from([0.0, 0.2, 0.7, 1.0]),
)
def test_against_plain_loops(seed: int, n: int, k: int, m: int, chance: float) -> None:
    paths = random_paths(seed, n, k, m, chance)
    assert summary(paths) == pytest.approx(reference(paths), rel=1e-9, abs=1e-12, nan_ok=True)


def test_of_nobody_everything_is_nan() -> None:
    assert all(math.isnan(x) for x in summary(random_paths(0, n=0, k=3, m=2, chance=1.0)).values())


def test_when_nobody_succeeds_only_success_and_the_printed_ones_are_numbers() -> None:
    paths = three_people()
    paths.reached[:] = False
    found = {name: value for name, value in summary(paths).items() if not math.isnan(value)}
    assert found == {
        "success": 0.0,
        "avg_success": 0.0,
        "diversity_as_printed": pytest.approx(60 / 27),
        "proximal_diversity_as_printed": pytest.approx(7.4 / 3),
    }


def test_one_path_each_has_no_diversity() -> None:
    found = summary(random_paths(3, n=6, k=1, m=2, chance=1.0))
    assert math.isnan(found["diversity"])
    assert math.isnan(found["proximal_diversity"])
    assert found["diversity_as_printed"] == 0.0
    assert found["proximal_diversity_as_printed"] == 0.0


def test_unknown_nearness_leaves_the_rest_alone() -> None:
    paths = three_people()
    paths.nearness[:] = np.nan
    found = summary(paths)
    assert math.isnan(found.pop("distance_to_positives"))
    assert found == pytest.approx({name: BY_HAND[name] for name in found})


def test_an_infinite_failure_changes_no_metric_of_successes() -> None:
    paths = three_people()
    paths.ends[0, 2] = np.inf
    found = summary(paths)
    printed = [name for name in found if name.endswith("_as_printed")]
    assert [found.pop(name) for name in printed] == pytest.approx([24 / 9, 2.5])  # without Ann
    assert found == pytest.approx({name: BY_HAND[name] for name in found})
