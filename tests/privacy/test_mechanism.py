"""Noise on sums: no row moves one by more than its bound, to the last digit, and noise is noise."""

from __future__ import annotations

import builtins
import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import differential_evolution

import stepladder as sl
from stepladder.errors import ExtraError, ParameterError
from stepladder.kernels.alpha import Power, Sloped, Unit, Volcano
from stepladder.kernels.direction import directions
from stepladder.privacy import mechanism
from stepladder.privacy.mechanism import (
    UNITS,
    bounded,
    exact_sum,
    noisy_counts,
    noisy_counts_and_sums,
    noisy_directions,
    noisy_sum,
    pulls,
    with_noise,
)
from stepladder.privacy.neighbours import Neighbours

BOUNDED = [
    Unit(),
    Power(1),
    Volcano(degree=1, cutoff=0.5),
    Volcano(degree=2, cutoff=0.5),
    Volcano(degree=2, cutoff=10),
    Volcano(degree=3.5, cutoff=2),
    Sloped(1),
    Sloped(0.05),
    Volcano(degree=2, cutoff=0.5).per_distance(),
    Volcano(degree=0.5, cutoff=2).per_distance(),
    Sloped(3).per_distance(),
]
UNBOUNDED = [
    Power(2),
    Power(0.5),
    Volcano(degree=0.5),
    Unit().per_distance(),
    Power(1).per_distance(),
    Volcano().per_distance().per_distance(),
    Volcano(degree=400, cutoff=0.1),
]


def summed(points, positives, clusters, alpha):
    """The exact sums that noise is added to, one a cluster."""
    shares = pulls(points, positives, clusters, alpha)
    return exact_sum(shares, bounded(alpha), groups=clusters, count=len(points))


def moved(one, other) -> list[int]:
    """By how many units each cluster's sum differs, squared and added up, as Python's integers."""
    return [
        sum((int(a) - int(b)) ** 2 for a, b in zip(here, there, strict=True))
        for here, there in zip(one, other, strict=True)
    ]


# -------------------------------------------------------------------------------- the bound


@pytest.mark.parametrize("alpha", BOUNDED, ids=repr)
def test_the_bound_is_the_largest_pull_there_is(alpha):
    z = np.geomspace(1e-9, 1e9, 400_001)
    pull = z * alpha(z)
    assert pull.max() <= bounded(alpha) * (1 + 1e-12)
    assert pull.max() >= bounded(alpha) * (1 - 1e-3)


@pytest.mark.parametrize("alpha", UNBOUNDED, ids=repr)
def test_an_alpha_without_a_bound_is_refused_by_name(alpha):
    for ask in (
        lambda: bounded(alpha),
        lambda: noisy_directions(np.zeros((1, 2)), np.ones((3, 2)), np.zeros(3, int), alpha, 1.0),
        lambda: sl.StEP(alpha=alpha, privacy=sl.PayPerDirection(sl.Budget(1, 1e-6))),
    ):
        with pytest.raises(ParameterError) as caught:
            ask()
        assert str(caught.value).startswith(f"{alpha!r} can't be used privately: z · α(z) has no ")


def test_a_bound_that_vanishes_is_refused():
    with pytest.raises(ParameterError, match=r"Volcano\(degree=400, .*too near to 0"):
        bounded(Volcano(degree=400, cutoff=10))


# ------------------------------------------------------------------------------ sensitivity

lengths = st.floats(0.01, 100)
bounded_alphas = st.one_of(
    st.sampled_from(BOUNDED),
    st.builds(Volcano, degree=st.floats(1, 20), cutoff=lengths),
    st.builds(Sloped, width=lengths),
    st.builds(Volcano, degree=st.floats(0.1, 20), cutoff=lengths).map(Volcano.per_distance),
    st.builds(Sloped, width=lengths).map(Sloped.per_distance),
)
coordinates = st.one_of(
    st.floats(-1e6, 1e6),
    st.floats(-3, 3),
    st.sampled_from([0.0, 1e-12, -1e-12, 1e-9, 1e-3, 0.5, 1.0, -1.0, 1e6, -1e6, 5e-324, 1e-160]),
)
# Squares of smaller ones vanish, and equation 1 with them; the exact sum is cut to its bound there.
ordinary = coordinates.map(lambda x: x if abs(x) > 1e-100 else 0.0)


@st.composite
def tables(draw, elements=coordinates):
    """A point for each of k clusters, and positives in them: some anywhere, some on a point."""
    k, m, n = draw(st.integers(1, 3)), draw(st.integers(1, 10)), draw(st.integers(1, 9))
    points = draw(arrays(np.float64, (k, m), elements=elements))
    positives = draw(arrays(np.float64, (n, m), elements=elements))
    clusters = draw(arrays(np.intp, n, elements=st.integers(0, k - 1)))
    on_point = draw(arrays(bool, n))
    positives[on_point] = points[clusters[on_point]]
    # As columns are picked from a wider table, which leaves them lying column by column.
    return points, np.asfortranarray(positives) if draw(st.booleans()) else positives, clusters


@settings(max_examples=300)
@given(tables(), bounded_alphas, st.data())
def test_a_row_more_or_less_moves_its_own_cluster_only_and_by_the_bound_at_most(table, alpha, data):
    points, positives, clusters = table
    row = data.draw(st.integers(0, len(positives) - 1))
    rest = np.arange(len(positives)) != row
    distances = moved(
        summed(points, positives, clusters, alpha),
        summed(points, positives[rest], clusters[rest], alpha),
    )
    assert sum(distances) <= UNITS**2
    assert [d for c, d in enumerate(distances) if c != clusters[row]] == [0] * (len(points) - 1)


@settings(max_examples=200)
@given(tables(), bounded_alphas, st.data())
def test_a_row_replaced_moves_all_sums_together_by_twice_the_bound_at_most(table, alpha, data):
    points, positives, clusters = table
    row = data.draw(st.integers(0, len(positives) - 1))
    others, labels = positives.copy(), clusters.copy()
    others[row] = data.draw(arrays(np.float64, positives.shape[1], elements=coordinates))
    labels[row] = data.draw(st.integers(0, len(points) - 1))
    distances = moved(
        summed(points, positives, clusters, alpha), summed(points, others, labels, alpha)
    )
    assert sum(distances) <= (2 * UNITS) ** 2
    assert sum(d > 0 for d in distances) <= 2


@given(tables(ordinary), bounded_alphas, st.data())
def test_equation_1_itself_is_moved_by_the_bound_at_most(table, alpha, data):
    points, positives, _ = table
    row = data.draw(st.integers(0, len(positives) - 1))
    difference = directions(points, positives, alpha) - directions(
        points, np.delete(positives, row, axis=0), alpha
    )
    assert np.linalg.norm(difference, axis=1).max() <= bounded(alpha) * (1 + 1e-9)


@given(
    arrays(np.float64, (4, 3), elements=st.floats(allow_nan=True, allow_infinity=True)),
    st.floats(1e-300, 1e300),
)
@example(np.full((4, 3), np.nan), 1.0)
@example(np.full((4, 3), np.finfo(float).max), 1e-300)
def test_whatever_a_row_s_share_is_it_is_cut_to_the_bound(shares, bound):
    each = [exact_sum(shares[[row]], bound) for row in range(len(shares))]
    assert all(sum(moved(one, np.zeros_like(one))) <= UNITS**2 for one in each)
    assert np.array_equal(exact_sum(shares, bound), sum(each))


def test_a_row_almost_on_the_point_adds_no_more_where_alpha_overflows():
    alpha = Volcano(degree=150, cutoff=0.01).per_distance()
    near = np.array([[1e-9, 0.0], [0.0, 1e-30]])
    for row in near:
        sums = summed(np.zeros((1, 2)), row[None], np.zeros(1, int), alpha)
        assert sum(moved(sums, np.zeros_like(sums))) <= UNITS**2


# -------------------------------------------------------------------------------- adversary


def placed(genes):
    """A place around the origin: a direction and the logarithm of a distance."""
    *toward, distance = genes
    return np.array(toward) / max(np.linalg.norm(toward), 1e-9) * math.exp(distance)


@pytest.mark.parametrize("rows", [1, 2], ids=["added", "replaced"])
@pytest.mark.parametrize("alpha", BOUNDED, ids=repr)
def test_a_search_for_the_worst_row_comes_within_a_percent_of_the_bound(alpha, rows):
    rng = np.random.default_rng(0)
    table, points, none = rng.normal(size=(5, 2)), np.zeros((1, 2)), np.zeros(6, int)

    def sums(genes):
        return summed(points, np.vstack([table, placed(genes)]), none, alpha)

    def harm(genes):
        without = summed(points, table, none[:5], alpha) if rows == 1 else sums(genes[3:])
        return -math.sqrt(sum(moved(sums(genes[:3]), without))) / UNITS

    found = differential_evolution(
        harm,
        [(-1, 1), (-1, 1), (-9, 9)] * rows,
        maxiter=100,
        popsize=8,
        seed=0,
        polish=False,
        callback=lambda best, convergence: harm(best) < -0.995 * rows,
    )
    assert 0.99 * rows <= -found.fun <= rows


# ----------------------------------------------------------------------------- exact addition


@given(tables(), bounded_alphas, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_change_the_exact_sum(table, alpha, shuffler):
    points, positives, clusters = table
    order = list(range(len(positives)))
    shuffler.shuffle(order)
    assert np.array_equal(
        summed(points, positives, clusters, alpha),
        summed(points, positives[order], clusters[order], alpha),
    )


def test_a_sum_of_floats_is_moved_by_more_than_the_bound_where_ours_is_not():
    # What is rounded away while the row is there comes back without it.
    alpha, origin = Volcano(degree=1, cutoff=1), np.zeros((1, 1))
    crumbs = np.full((4096, 1), -(2.0**-54))
    with_row = np.vstack([[[1.0]], crumbs])
    floats = [sum(pulls(origin, t, np.zeros(len(t), int), alpha)[:, 0]) for t in (with_row, crumbs)]
    assert floats[0] - floats[1] > bounded(alpha)
    exact = [summed(origin, t, np.zeros(len(t), int), alpha) for t in (with_row, crumbs)]
    assert 0 < sum(moved(*exact)) <= UNITS**2


def test_a_sum_of_floats_tells_the_order_of_rows_and_ours_does_not():
    rng = np.random.default_rng(0)
    shares = rng.uniform(-0.5, 0.5, size=(1000, 1))
    orders = [shares[rng.permutation(1000)] for _ in range(20)]
    assert len({sum(order[:, 0]) for order in orders}) > 1
    assert len({int(exact_sum(order, 1.0)[0, 0]) for order in orders}) == 1


def test_an_empty_table_has_a_sum_of_nothing():
    empty, nobody = np.empty((0, 4)), np.empty(0, int)
    assert exact_sum(empty, 1.0).tolist() == [[0] * 4]
    assert summed(np.zeros((3, 4)), empty, nobody, Unit()).tolist() == [[0] * 4] * 3
    assert noisy_directions(np.zeros((3, 4)), empty, nobody, Unit(), 1.0).shape == (3, 4)


# ------------------------------------------------------------------------------------ noise
# Noise can't be seeded, so the limits below lie five or more standard errors out: each test would
# fail by chance less than once in a hundred thousand times.


@pytest.mark.parametrize("spread", [0.01, 2.0, 300.0])
def test_noise_has_the_mean_and_the_spread_it_should(spread):
    noise = with_noise(np.full(4000, 7 * UNITS), spread) / UNITS - 7
    assert abs(noise.mean()) < 5.5 * spread / math.sqrt(4000)
    assert noise.std() == pytest.approx(spread, rel=0.065)
    assert 0.3 < (np.abs(noise) > spread * 0.954).mean() < 0.4  # 34 % of a normal distribution


def test_noise_is_drawn_on_whole_numbers():
    noisy = with_noise(np.zeros((5, 7), dtype=np.int64), 1e-4)
    assert noisy.shape == (5, 7)
    assert np.array_equal(noisy, np.round(noisy))


def draws(neighbours, calls=500):
    """Noise alone, as directions to three clusters without a row, in units of its promise."""
    alpha, empty = Volcano(degree=2, cutoff=0.5), np.empty((0, 4))
    none = np.empty(0, int)
    return np.array(
        [
            noisy_directions(np.ones((3, 4)), empty, none, alpha, 1.5, neighbours=neighbours)
            for _ in range(calls)
        ]
    ) / (1.5 * alpha.bound)


@pytest.mark.parametrize(("neighbours", "spread"), [("add_or_remove", 1), ("replace_one", 2)])
def test_noise_falls_on_every_column_of_every_direction(neighbours, spread):
    noise = draws(Neighbours(neighbours))
    assert np.all(np.abs(noise.std(axis=0) / spread - 1) < 0.2)
    assert np.all(np.abs(noise.mean(axis=0)) < 6 * spread / math.sqrt(len(noise)))
    correlation = np.corrcoef(noise.reshape(len(noise), -1).T) - np.eye(12)
    assert np.abs(correlation).max() < 6 / math.sqrt(len(noise))


def test_two_answers_differ_whatever_is_seeded():
    answers = []
    for _ in range(2):
        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - the seed that mustn't matter
        answers.append(noisy_sum(np.ones((10, 3)), 2.0, 1.0))
    assert not np.any(answers[0] == answers[1])


def test_a_sum_with_hardly_any_noise_is_the_sum():
    shares = np.random.default_rng(0).uniform(-1, 1, size=(30, 2))
    groups = np.arange(30) % 4
    found = noisy_sum(shares, 2.0, 1e-7, groups=groups, count=4)
    sums = np.array([shares[groups == g].sum(axis=0) for g in range(4)])
    assert found == pytest.approx(sums, abs=1e-5)


@given(st.integers(1, 500), st.sampled_from(list(Neighbours)))
def test_counts_get_noise_for_a_row_that_adds_one_in_each_column(each, neighbours):
    heard = []
    # Two places in each column: a row replaced leaves the one and enters the other.
    here, there = np.zeros((2, each, 2), dtype=np.int64)
    there[:, 0] = 1
    here[:, 1] = neighbours is Neighbours.REPLACE_ONE
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "with_noise", lambda *said: heard.append(said) or said[0])
        for counts in (here, there):
            assert np.array_equal(noisy_counts(counts, each, 1.0, neighbours), counts)
    (without, spread), (with_row, same) = heard
    apart = sum((int(a) - int(b)) ** 2 for a, b in zip(with_row.flat, without.flat, strict=True))
    assert spread == same
    # Exactly, in fractions: the noise is at least 1.0 of what is moved, and hardly more.
    assert 1 <= Fraction(spread) ** 2 * UNITS**2 / apart <= 1 + Fraction(1, 10**12)


@settings(max_examples=200)
@given(tables(), st.data())
def test_a_row_replaced_moves_counts_and_sums_by_two_at_most(table, data):
    points, away, groups = table
    row = data.draw(st.integers(0, len(away) - 1))
    others, labels = away.copy(), groups.copy()
    others[row] = data.draw(
        st.sampled_from([-away[row], away[row] * 2])
        | arrays(np.float64, away.shape[1], elements=coordinates)
    )
    labels[row] = data.draw(st.integers(0, len(points) - 1))
    heard = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "with_noise", lambda *said: heard.append(said) or said[0])
        for rows, whose in ((away, groups), (others, labels)):
            noisy_counts_and_sums(
                rows, 1.0, groups=whose, count=len(points), neighbours=Neighbours.REPLACE_ONE
            )
    (one, spread), (other, same) = heard
    # In units of a share's bound, √2, that is √2.
    assert sum(moved(one, other)) <= 2 * UNITS**2
    assert spread == same == math.sqrt(2)


def test_noise_needs_opendp_and_says_so(monkeypatch):
    found = builtins.__import__

    def without(name, *rest):
        if name.startswith("opendp"):
            raise ImportError(name)
        return found(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ExtraError, match=r"opendp.*pip install 'stepladder\[privacy\]'"):
        with_noise(np.zeros(1, dtype=np.int64), 0.123456789)


# --------------------------------------------------------------------- parallel composition

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 100)),
        sl.Numeric("savings", typical=(0, 50)),
        sl.Categorical("job", levels=["clerk", "nurse", "smith"]),
    ]
)


def table(count):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "income": rng.uniform(0, 100, count),
            "savings": rng.uniform(0, 50, count),
            "job": rng.choice(["clerk", "nurse", "smith"], count),
        }
    )


def score(frame):
    return 1 / (1 + np.exp(-(frame["income"].to_numpy(float) - 50) / 10))


POOR = pd.DataFrame({"income": [5.0], "savings": [10.0], "job": ["clerk"]})
CENTRES = pd.DataFrame(
    {
        "income": [80.0, 90.0, 80.0],
        "savings": [10.0, 40.0, 25.0],
        "job": ["clerk", "nurse", "smith"],
    }
)


def asking(paths):
    """A fitted method whose paths go to public centres, and its budget."""
    budget = sl.Budget(1, 1e-6)
    pay = sl.PayPerDirection(budget, centres=CENTRES.iloc[:paths])
    step = sl.StEP(paths=paths, privacy=pay)
    return step.fit(table(600), score, schema=SCHEMA, goal=sl.Goal(0.6)), budget


def test_three_directions_cost_what_one_does():
    spent = {}
    for paths in (1, 3):
        step, budget = asking(paths)
        assert budget.statement.releases == 0
        walk = step.walk(POOR)
        assert walk.directions() == walk.directions()  # asked again from the same row: nothing new
        spent[paths] = budget.statement
        assert walk.privacy.cost == pytest.approx(budget.statement.spent)
    assert spent[3] == spent[1]
    assert (spent[3].releases, spent[3].naive) == (1, pytest.approx(spent[3].spent))
    assert 0 < spent[3].spent < 1


def test_three_separate_queries_cost_three():
    step, budget = asking(1)
    for _ in range(3):
        step.walk(POOR).directions()
    together, single = budget.statement, asking(1)[0].guarantee(releases=1).cost
    assert together.releases == 3
    assert together.naive == pytest.approx(3 * single)
    assert single < together.spent < 3 * single


def test_k_directions_come_from_disjoint_parts_in_one_release(monkeypatch):
    step, _ = asking(3)
    heard = []

    def hear(sums, spread):
        heard.append(sums.shape)
        return with_noise(sums, spread)

    monkeypatch.setattr(mechanism, "with_noise", hear)
    step.walk(POOR).directions()
    assert heard == [(3, 5)]  # three clusters; income, savings and three jobs
