"""A person is told the same, whoever else asks, in whatever order, how often, and from where.

Rows are the same to the last bit, with models that judge every row by itself.
"""

from __future__ import annotations

import pickle
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from tests.contract import made

import stepladder as sl
from stepladder.methods.base import Method
from stepladder.result.path import Path

repeatable = pytest.mark.parametrize("name", made.REPEATABLE)

THREADS = 16
Routes = Sequence[Sequence[Path]]


def assert_same(given: Routes, wanted: Routes, within: float = 0.0) -> None:
    for one, other in zip(given, wanted, strict=True):
        assert [path.outcome for path in one] == [path.outcome for path in other]
        assert [path.reason for path in one] == [path.reason for path in other]
        for path, expected in zip(one, other, strict=True):
            np.testing.assert_allclose(path.values, expected.values, rtol=within, atol=within)
            atol = max(within, 1e-12)
            np.testing.assert_allclose(path.scores, expected.scores, rtol=0, atol=atol)


@repeatable
def test_alone_or_in_a_batch(name, kind):
    together = made.answer(name, kind).routes
    assert_same(made.alone(name, kind), together, within=made.rounding(name))


@repeatable
def test_alone_or_in_a_batch_where_many_rows_are_equally_near(name):
    method = made.on_the_lattice(name)
    people = made.LATTICE[made.enough(made.LATTICE) < 0.5].iloc[3::19]
    alone = [method.recourse(people.iloc[[i]]).routes[0] for i in range(len(people))]
    assert_same(alone, method.recourse(people).routes, within=made.rounding(name))


@repeatable
def test_in_another_order(name, kind):
    order = np.random.default_rng(5).permutation(len(made.people(kind)))
    shuffled = made.fitted(name, kind).recourse(made.people(kind).iloc[order]).routes
    wanted = [made.answer(name, kind).routes[i] for i in order]
    assert_same(shuffled, wanted, within=made.rounding(name))


@repeatable
def test_when_asked_again(name, kind):
    again = made.fitted(name, kind).recourse(made.people(kind))
    assert_same(again.routes, made.answer(name, kind).routes)
    assert again.dropped == made.answer(name, kind).dropped


@pytest.mark.parametrize("name", [name for name in made.REPEATABLE if name != made.NOISY])
def test_beside_a_double(name, kind):
    order = [0, 0, 1, 3, 1, 4]
    crowd = made.people(kind).iloc[order].set_axis([f"seat {i}" for i in range(len(order))])
    assert_same(
        made.fitted(name, kind).recourse(crowd).routes,
        [made.answer(name, kind).routes[i] for i in order],
        within=made.rounding(name),
    )


@pytest.mark.parametrize("name", made.SEEDED)
def test_from_a_method_that_was_pickled(name, kind):
    loaded = pickle.loads(pickle.dumps(made.fitted(name, kind)))
    assert_same(loaded.recourse(made.people(kind)).routes, made.answer(name, kind).routes)


def test_from_a_private_method_that_was_pickled(kind, tmp_path):
    money = sl.Budget(8, 1e-6, ledger=tmp_path / "ledger.jsonl")  # one in memory can't be shared
    method = made.fit(sl.StEP(paths=2, privacy=money), kind)
    loaded = pickle.loads(pickle.dumps(method))
    people = made.people(kind)
    assert_same(loaded.recourse(people).routes, method.recourse(people).routes)


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads take turns so often that what they share gets in their way."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@repeatable
def test_from_many_threads_at_once(name, kind, impatient):
    method, people = made.fitted(name, kind), made.people(kind)
    together = threading.Barrier(THREADS, timeout=60)

    def ask(thread: int) -> sl.Recourse:
        together.wait()
        return method.recourse(people.iloc[[thread % len(people)]])

    wanted = made.alone(name, kind)
    with ThreadPoolExecutor(THREADS) as pool:
        given = list(pool.map(ask, range(THREADS)))
    assert_same([one.routes[0] for one in given], [wanted[i % len(people)] for i in range(THREADS)])


@pytest.mark.parametrize("name", made.SEEDED)
def test_after_another_fit_with_the_same_seed(name):
    other = made.fit(made.METHODS[name]())
    assert_same(other.recourse(made.people()).routes, made.answer(name).routes)


# ---- what is asked leaves no trace --------------------------------------------------------------


def learned(method: Method) -> dict[str, bytes]:
    """All that a method holds, but what spends from a budget."""
    held = {key: value for key, value in vars(method).items() if key not in ("privacy", "planner")}
    return {key: pickle.dumps(value) for key, value in held.items()}


def test_a_fitted_method_is_as_it_was_after_it_answered(name, kind):
    method = made.fit(made.METHODS[name](), kind)
    fresh = set(vars(method))
    method.recourse(made.people(kind).iloc[[0]])  # what is worked out once and kept is there now
    before = learned(method)
    method.recourse(made.people(kind).iloc[1:])
    if isinstance(method, sl.StEP):
        walk = method.walk(made.people(kind).iloc[[1]])
        for offer in walk.directions()[:1]:
            walk.take(offer.path)
    assert set(vars(method)) == fresh
    after = learned(method)
    assert [key for key in after if after[key] != before[key]] == []


# ---- a network in training mode -----------------------------------------------------------------


def test_a_network_in_training_mode_is_left_in_it(name):
    network = made.model("torch").model
    made.fitted(name, "torch").recourse(made.people("torch").head(2))
    assert made.flags(network) == FLAGS


def test_a_network_is_at_no_time_seen_out_of_training_mode(name, monkeypatch):
    network, seen, forward = made.model("torch").model, set(), made.Dropout.forward
    method = made.fitted(name, "torch")

    def watched(module, points):
        # What this thread sees while the model answers, any other can see.
        seen.add(tuple(made.flags(network)))
        return forward(module, points)

    monkeypatch.setattr(made.Dropout, "forward", watched)
    method.recourse(made.people("torch").head(2))
    assert seen == {tuple(FLAGS)}


FLAGS = [True, True, True, True, True, False, True, True, True]
"""The network, its layers as one, and each of them: the second linear one is frozen."""
