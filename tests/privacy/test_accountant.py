"""Budgets: exact composition, and a no before anything is overdrawn."""

from __future__ import annotations

import copy
import json
import math
import pickle
import sys
import threading
from fractions import Fraction

import dp_accounting
import numpy as np
import pytest
from dp_accounting import pld, rdp
from hypothesis import example, given, settings
from hypothesis import strategies as st

from stepladder.errors import BudgetError, ExtraError, ParameterError, ResultError, StepladderError
from stepladder.privacy.accountant import Budget, Statement
from stepladder.privacy.ledger import Spend

NOT_NUMBERS = [True, math.nan, "1", None, [1.0], 1j]

multipliers = st.floats(0.5, 50)
counts = st.integers(1, 20)
mixes = st.lists(st.tuples(multipliers, counts), min_size=1, max_size=4)


def spent_on(mix, delta=1e-6) -> Statement:
    """The statement of a budget so large that the whole mix fits."""
    budget = Budget(1e6, delta)
    for multiplier, count in mix:
        budget.spend(multiplier, "a part of the mix", count)
    return budget.statement


def by_other(accountant, mix) -> float:
    for multiplier, count in mix:
        accountant.compose(dp_accounting.GaussianDpEvent(multiplier), count)
    return accountant.get_epsilon(1e-6)


# ------------------------------------------------------------------------------- composition


@settings(max_examples=8)
@given(mixes)
@example([(1.0, 1)])
@example([(30.0, 50)])
def test_what_is_spent_agrees_with_the_privacy_loss_distribution(mix):
    assert spent_on(mix).spent == pytest.approx(by_other(pld.PLDAccountant(), mix), abs=1e-4)


@settings(max_examples=30)
@given(mixes)
def test_what_is_spent_is_never_above_renyi_composition(mix):
    assert spent_on(mix).spent <= by_other(rdp.RdpAccountant(), mix)


@given(multipliers, st.integers(1, 1000))
def test_n_equal_releases_cost_what_one_with_less_noise_does(multiplier, n):
    together = spent_on([(multiplier, n)])
    single = spent_on([(multiplier / math.sqrt(n), 1)])
    assert together.spent == pytest.approx(single.spent, rel=1e-9)
    assert (together.releases, single.releases) == (n, 1)


def test_one_release_costs_the_exact_epsilon_of_a_gaussian():
    # ε = 1, δ = 1e-6: solved from Φ(1/2σ - εσ) - e^ε Φ(-1/2σ - εσ) = δ in 80 digits.
    budget = Budget(1, 1e-6)
    assert budget.multiplier() == pytest.approx(4.224678889326835, rel=1e-8)
    assert budget.multiplier() > 4.224678889326835
    assert budget.spend(4.3, "one").spent == pytest.approx(
        dp_accounting.get_epsilon_gaussian(4.3, 1e-6), abs=1e-12
    )


def test_fifty_steps_cost_at_most_a_third_of_the_naive_sum():
    budget = Budget(1, 1e-9)
    statement = budget.spend(budget.multiplier(queries=50), "a walk", count=50)
    assert statement.releases == 50
    assert 0.1 < statement.spent / statement.naive <= 1 / 3


def test_the_naive_sum_adds_up_the_epsilon_of_every_release():
    singles = [dp_accounting.get_epsilon_gaussian(m, 1e-6) for m in (2.0, 5.0, 5.0)]
    statement = spent_on([(2.0, 1), (5.0, 2)])
    assert statement.naive == pytest.approx(sum(singles))
    assert statement.spent < statement.naive


@pytest.mark.parametrize("multiplier", [1e200, sys.float_info.max])
def test_a_release_too_faint_to_cost_anything_still_counts_as_one(multiplier):
    statement = spent_on([(multiplier, 3)])
    assert (statement.releases, statement.spent, statement.naive) == (3, 0.0, 0.0)


# --------------------------------------------------------------------------------- the limit

epsilons = st.floats(1e-6, 1e9) | st.floats(0.01, 10)
deltas = st.floats(1e-100, 0.999) | st.floats(1e-12, 1e-3)


@given(epsilons, deltas, st.integers(1, 10**9))
@example(1.0, 1e-9, 1)
@example(1e-6, 1e-100, 10**9)
@example(1e9, 0.999, 3)
def test_queries_of_the_multiplier_fit_and_one_more_does_not(epsilon, delta, queries):
    budget = Budget(epsilon, delta)
    each = budget.multiplier(queries=queries)
    if queries > 1:
        budget.spend(each, "all but one", queries - 1)
    assert budget.spend(each, "the last").spent <= epsilon
    before = budget.entries(), budget.statement
    assert not budget.affords(each)
    with pytest.raises(BudgetError):
        budget.spend(each, "one more")
    assert (budget.entries(), budget.statement) == before


@pytest.mark.parametrize("queries", [1, 3, 10, 50])
def test_queries_spent_one_by_one_fit_exactly(queries):
    budget = Budget(1, 1e-6)
    each = budget.multiplier(queries=queries)
    for i in range(queries):
        assert budget.affords(each)
        budget.spend(each, f"query {i}")
    assert budget.statement.spent == pytest.approx(1, abs=1e-8)
    assert budget.rest == pytest.approx(0, abs=1e-9)
    assert not budget.affords(each)
    with pytest.raises(BudgetError):
        budget.spend(each, "one too many")
    assert [entry.what for entry in budget.entries()] == [f"query {i}" for i in range(queries)]


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=10), st.integers(1, 7))
def test_shares_that_add_up_to_the_whole_all_fit(parts, queries):
    budget = Budget(1, 1e-6)
    for part in parts:
        each = budget.multiplier(share=part / math.fsum(parts), queries=queries)
        budget.spend(each, "a share", queries)
    assert budget.rest < 1e-9


@given(st.lists(st.floats(1e-4, 1), max_size=6))
def test_the_rest_can_always_be_spent(shares):
    budget = Budget(0.5, 1e-7)
    for share in shares:
        if share < budget.rest:
            budget.spend(budget.multiplier(share=share), "a share")
    if budget.rest > 0:  # a share of all but 1e-16 leaves nothing that a float can tell from 0
        budget.spend(budget.multiplier(share=budget.rest), "the rest")
    assert budget.rest < 1e-9


@given(epsilons, deltas, st.lists(st.tuples(st.floats(min_value=0, exclude_min=True), counts)))
def test_whatever_is_asked_no_more_than_epsilon_is_spent(epsilon, delta, asked):
    budget = Budget(epsilon, delta)
    scale = budget.multiplier()
    for multiplier, count in asked:
        for noise in (multiplier, scale * min(multiplier, 1e3)):
            if not 0 < noise < math.inf:
                continue
            before = budget.statement
            affordable = budget.affords(noise, count)
            try:
                after = budget.spend(noise, "whatever", count)
            except BudgetError:
                assert not affordable
                assert budget.statement == before
            else:
                assert affordable
                assert after == budget.statement
                assert after.releases == before.releases + count
                assert before.spent <= after.spent + 1e-12
    statement = budget.statement
    assert 0 <= statement.spent <= epsilon
    assert statement.left == epsilon - statement.spent
    assert 0 <= budget.rest <= 1
    assert sum(entry.count for entry in budget.entries()) == statement.releases


def test_the_sum_is_exact_however_many_parts_it_has():
    budget = Budget(1, 1e-6)
    whole = 1 / Fraction(budget.multiplier()) ** 2
    parts = [budget.multiplier(share=1 / (i * (i + 1))) for i in range(1, 500)]
    for i, part in enumerate(parts):
        budget.spend(part, f"part {i}")
    exact = sum(1 / Fraction(part) ** 2 for part in parts)
    assert budget.rest == pytest.approx(float(1 - exact / whole), abs=1e-14)


# -------------------------------------------------------------------------------- what it says


def test_a_refusal_says_the_cost_what_is_left_and_what_would_fit():
    budget = Budget(1, 1e-6)
    budget.spend(6.0, "the reference set")
    with pytest.raises(BudgetError) as refused:
        budget.spend(4.5, "a direction", count=2)
    assert str(refused.value) == (
        "'a direction' would cost ε = 1.358 and bring what is spent to ε = 1.554 at δ = 1e-06, "
        "more than the budget of 1, of which 0.31 is left. Nothing was spent. With more noise, a "
        "query of ε = 0.692 by itself would still fit."
    )


@given(st.floats(0.01, 0.99), st.integers(1, 100), st.floats(0.01, 1))
def test_the_query_that_a_refusal_names_does_fit(share, count, epsilon):
    budget = Budget(epsilon, 1e-9)
    budget.spend(budget.multiplier(share=share), "a share")
    with pytest.raises(BudgetError, match="would still fit") as refused:
        budget.spend(budget.multiplier() / 2, "too much", count)
    named = float(str(refused.value).split("a query of ε = ")[1].split()[0])
    assert budget.affords(Budget(named * 0.99, 1e-9).multiplier())
    assert not budget.affords(Budget(named * 1.01, 1e-9).multiplier())


def test_more_than_the_budget_is_never_hidden():
    budget = Budget(1, 1e-6)
    budget._ledger.spend(Spend("", "behind its back", 0.3, 1), lambda totals: None)
    assert budget.spent > 10
    assert (budget.left, budget.rest) == (0, 0)


def test_a_budget_that_is_used_up_says_so():
    budget = Budget(1, 1e-6)
    budget.spend(budget.multiplier(), "everything")
    with pytest.raises(BudgetError, match=r"0\.00 is left.*No noise is enough"):
        budget.spend(100.0, "a direction")


def test_a_release_without_noise_costs_infinitely_much():
    with pytest.raises(BudgetError, match="would cost ε = inf"):
        Budget(1e9, 0.5).spend(5e-324, "the table itself")


def test_a_statement_is_one_plain_sentence():
    budget = Budget(0.02, 1e-9)
    assert str(budget.statement) == (
        "spent ε = 0.000 of 0.020 at δ = 1e-09 in 0 releases; 0.020 is left"
    )
    each = budget.multiplier(queries=4)
    assert str(budget.spend(each, "one")) == (
        "spent ε = 0.010 of 0.020 at δ = 1e-09 in 1 release; 0.010 is left"
    )
    assert str(budget.spend(each, "three more", 3)) == (
        "spent ε = 0.020 of 0.020 at δ = 1e-09 in 4 releases (0.039 if simply added up); "
        "0.000 is left"
    )


def test_a_statement_survives_json():
    statement = spent_on([(3.0, 7)])
    assert Statement.from_dict(json.loads(json.dumps(statement.to_dict()))) == statement


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "made of epsilon, delta, spent, left, naive, releases; got {}"),
        (None, "got None"),
        ({"epsilon": 1}, "got {'epsilon': 1}"),
        (
            {"epsilon": 1, "delta": "d", "spent": 0, "left": 1, "naive": 0, "releases": 0},
            "The delta of a statement is a number; got 'd'",
        ),
    ],
)
def test_a_statement_is_read_from_its_own_values_only(values, said):
    with pytest.raises(ResultError) as refused:
        Statement.from_dict(values)
    assert said in str(refused.value)


def test_a_budget_shows_what_is_spent():
    budget = Budget(1, 1e-6)
    budget.spend(8.0, "a direction")
    assert repr(budget) == "Budget(epsilon=1.0, delta=1e-06, spent=0.50)"


# ------------------------------------------------------------------------------ one budget only


def test_a_copy_is_the_same_budget():
    budget = Budget(1, 1e-6)
    assert copy.copy(budget) is budget
    assert copy.deepcopy({"privacy": [budget]})["privacy"][0] is budget


def test_what_was_left_after_a_spend_stays_what_it_was():
    budget = Budget(1, 1e-6)
    each = budget.multiplier(queries=4)
    budget.spend(each, "before")
    budget.spend(each, "wanted", count=2)
    left = budget.rest
    assert budget.rest_after("wanted") == left == pytest.approx(0.25)
    budget.spend(each, "since")
    assert budget.rest_after("wanted") == left
    assert budget.rest_after("before") == pytest.approx(0.75)


def test_a_budget_in_memory_cannot_be_pickled():
    with pytest.raises(BudgetError, match=r"can't be pickled: there would be two.*ledger="):
        pickle.dumps(Budget(1, 1e-6))


@pytest.mark.parametrize("name", ["epsilon", "delta", "rest", "statement"])
def test_limits_cannot_be_set(name):
    with pytest.raises(AttributeError):
        setattr(Budget(1, 1e-6), name, 5)


def test_threads_that_race_never_overdraw_a_budget():
    budget = Budget(1, 1e-6)
    each = budget.multiplier(queries=100)
    start = threading.Barrier(32)
    granted: list[str] = []
    refused: list[str] = []

    def spender(name: int) -> None:
        start.wait()
        for i in range(10):
            what = f"{name}-{i}"
            try:
                budget.spend(each, what)
            except BudgetError:
                refused.append(what)
            else:
                granted.append(what)

    threads = [threading.Thread(target=spender, args=(i,)) for i in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(granted), len(refused)) == (100, 220)
    assert sorted(entry.what for entry in budget.entries()) == sorted(granted)
    assert budget.statement.spent <= 1


# ----------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("epsilon", [*NOT_NUMBERS, 0, -1, math.inf, 1e-7, 1e10, 10**400])
def test_epsilon_is_a_number_above_0(epsilon):
    with pytest.raises(
        ParameterError, match=r"epsilon of a privacy budget .* from 1e-06 to 1e\+09; got"
    ):
        Budget(epsilon, 1e-6)


@pytest.mark.parametrize("delta", [*NOT_NUMBERS, 0, 1, -1e-6, 1.5, 1e-101, math.inf])
def test_delta_is_a_number_between_0_and_1(delta):
    with pytest.raises(
        ParameterError, match=r"delta .* at least 1e-100 and below 1; got.*About 1/n²"
    ):
        Budget(1, delta)


@pytest.mark.parametrize("multiplier", [*NOT_NUMBERS, 0, -1, math.inf, 10**400])
def test_a_multiplier_is_a_finite_number_above_0(multiplier):
    budget = Budget(1, 1e-6)
    for ask in (budget.affords, lambda m: budget.spend(m, "a direction")):
        with pytest.raises(ParameterError, match=r"multiplier of a release.*number above 0; got"):
            ask(multiplier)
    assert budget.entries() == []


@pytest.mark.parametrize("count", [0, -1, 1.0, 1.5, True, "2", None, math.nan, 10**9 + 1])
def test_a_count_is_a_whole_number_from_1(count):
    budget = Budget(1, 1e-6)
    for ask in (
        lambda: budget.affords(9.0, count),
        lambda: budget.spend(9.0, "a direction", count),
        lambda: budget.multiplier(queries=count),
    ):
        with pytest.raises(ParameterError, match=r"must be a whole number from 1 to 1,000,000,000"):
            ask()
    assert budget.entries() == []


@pytest.mark.parametrize("share", [*NOT_NUMBERS, 0, -0.1, 1.01, math.inf])
def test_a_share_is_above_0_and_at_most_1(share):
    with pytest.raises(ParameterError, match=r"share of a budget.*above 0 and at most 1"):
        Budget(1, 1e-6).multiplier(share=share)


@pytest.mark.parametrize("what", ["", None, 3, b"bytes", "two\nlines", "half \ud800"])
def test_what_a_spend_is_for_is_a_line_of_text(what):
    budget = Budget(1, 1e-6)
    with pytest.raises(ParameterError, match="must be one line of text"):
        budget.spend(9.0, what)
    assert budget.entries() == []


@pytest.mark.parametrize("number", [np.float64, np.float32, int, Fraction])
def test_all_kinds_of_numbers_are_numbers(number):
    budget = Budget(number(2), np.float64(1e-6))
    statement = budget.spend(number(9), "a direction", np.int64(2))
    assert type(budget.epsilon) is type(budget.entries()[0].multiplier) is float
    assert type(statement.releases) is int


def test_without_dp_accounting_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(ExtraError, match=r"Spending privacy needs dp-accounting.*\[privacy\]"):
        Budget(0.123, 1e-6, ledger=tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_a_budget_error_is_caught_like_every_other():
    assert issubclass(BudgetError, StepladderError)
    assert issubclass(BudgetError, RuntimeError)


def test_what_releases_cost_by_themselves_is_what_they_cost_an_untouched_budget():
    budget = Budget(1, 1e-6)
    each = budget.multiplier(queries=4)
    assert budget.cost(each, 3) == budget.spend(each, "three", count=3).spent
    assert budget.cost(each, 4) == pytest.approx(1.0, abs=1e-6)
