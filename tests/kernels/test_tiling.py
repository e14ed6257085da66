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


@given(st.integers(1, 5000), st.integers(1, 600), st.integers(1, 3000))
def test_stacks_cover_everything_once(length, piece, most):
    covered = 0
    for block, even in tiling.stacks(length, piece, most):
        size = block.stop - block.start
        assert block.start == covered
        assert 1 <= even <= piece
        assert size % even == 0
        assert size <= max(most, even)
        covered = block.stop
    assert covered == length


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.integers(1, 3000), st.integers(1, 2**32))
def test_plans_keep_to_their_sizes(n, count, m, memory):
    chosen = tiling.plan(n, count, m, memory, threads=4)
    assert 1 <= chosen.product_rows <= chosen.tile_rows <= n
    assert 1 <= chosen.product_columns <= chosen.tile_columns <= count
    assert chosen.threads * chosen.memory <= memory
    # Small enough that no BLAS starts threads of its own, at any width a table may have.
    if m <= 1000:
        assert chosen.product_rows * chosen.product_columns * (m + 2) <= 2**18


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
