"""Tilings cover everything once, keep to their sizes, and give one answer on any threads."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepladder.kernels import tiling
from stepladder.kernels.alpha import Power, Volcano
from stepladder.kernels.direction import directions


@given(st.integers(0, 10**6), st.integers(1, 1000))
def test_pieces_hold_everything_and_no_empty_one(count, m):
    k, q = tiling.pieces(count, m)
    assert k * q >= count
    assert (k - 1) * q < max(count, 1)
    assert q % 8 == 0
    # Small enough that no BLAS starts threads of its own, at any width a table may have.
    assert 32 * q * (m + 2) <= 2**18


@given(
    st.integers(1, 10**6),
    st.integers(1, 10**6),
    st.integers(1, 1000),
    st.integers(1, 2**32),
    st.integers(1, 64),
)
def test_plans_keep_to_their_sizes(n, count, m, memory, threads):
    chosen = tiling.plan(n, count, m, memory, threads)
    k, q = tiling.pieces(count, m)
    assert 1 <= chosen.threads <= threads
    assert chosen.threads * chosen.memory <= memory
    assert 1 <= chosen.pieces <= k
    assert chosen.product_rows % 4 == 0
    assert 4 <= chosen.product_rows <= 32
    assert chosen.rows % chosen.product_rows == 0
    # Within the budget, unless that is too small for the smallest tile there is.
    smallest = chosen.rows == 4 and chosen.pieces == 1
    assert smallest or 64 * chosen.rows * chosen.pieces * q <= chosen.memory
    assert chosen.rows * chosen.pieces * q <= 2**19 + 32 * 2**11


@given(st.integers(1, 10**5), st.integers(1, 10**5), st.integers(1, 2**30))
def test_positives_are_cut_alike_for_any_points_and_threads(n, count, memory):
    wanted = tiling.plan(1, count, 24, memory, threads=1).pieces
    assert tiling.plan(n, count, 24, memory, threads=7).pieces == wanted


def test_few_points_are_hardly_filled_up_and_many_are_shared_out():
    assert tiling.plan(1, 5000, 24, 2**28, threads=2).product_rows == 4
    assert tiling.plan(100, 5000, 24, 2**28, threads=1).product_rows == 28
    assert tiling.plan(200, 5000, 24, 2**28, threads=2).rows == 112


def test_threads_do_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(0)
    points, positives = rng.normal(size=(700, 6)), rng.normal(size=(900, 6))
    points[3] = positives[5] + 1e-9
    for alpha in (Volcano(), Power(2)):
        answers = []
        for threads in (1, 3):
            monkeypatch.setattr(tiling, "available_threads", lambda t=threads: t)
            answers.append(directions(points, positives, alpha))
        np.testing.assert_array_equal(*answers)


def test_work_is_spread_and_errors_come_back():
    met = threading.Barrier(2, timeout=30)
    tiling.spread(lambda _: met.wait() and None, [0, 1], threads=2)

    def fail(item: int) -> None:
        raise RuntimeError(f"at {item}")

    for threads in (1, 2):
        with pytest.raises(RuntimeError, match="at 0"):
            tiling.spread(fail, [0, 1], threads=threads)


@pytest.mark.parametrize(
    ("asked", "fewer"), [("1", True), ("", False), ("4,2", False), ("0", False)]
)
def test_openmp_setting_is_heeded(monkeypatch, asked, fewer):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cpus = tiling.available_threads()
    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    assert tiling.available_threads() == (1 if fewer else cpus)
