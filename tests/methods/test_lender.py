"""A lender's table whose columns hang together: what `make bench-rules` measures, in small."""

from __future__ import annotations

import json
from dataclasses import replace

import lender
import lender_check
import numpy as np
import pandas as pd
import pytest
import rules
import rules_page

import stepladder as sl

PEOPLE = 40


@pytest.fixture(scope="module")
def case() -> rules.Case:
    return rules.turned_down("logistic", PEOPLE, rows=800)


@pytest.fixture(scope="module")
def result(case) -> sl.Recourse:
    return rules.fitted(case, lender.schema()).recourse(case.people)


def test_every_row_of_every_step_hangs_together(case, result):
    figures = rules.judged(case, result)
    assert figures["which"] == {}
    assert figures["reached"] == figures["people"] == PEOPLE
    for fault in ("inconsistent", "other_rules", "wrong_steps", "wrong_ends", "wrong_months"):
        assert figures[fault] == 0
    assert figures["wrong_scores"] == 0


def test_people_who_differ_from_a_formula_or_break_a_rule_are_among_them(case):
    people = case.people
    off = lender_check.worked_out(people) - people[list(lender.FORMULAS)]
    assert ((off["payment"].abs() > 1) | (off["ltv"].abs() > 0.01)).any()
    assert (people["housing_ratio"] > people["total_ratio"]).any()
    assert (people[["loan", "income"]] % [1000, 50] != 0).any(axis=None)


def test_without_the_links_most_routes_do_not(case):
    figures = rules.free(case)
    assert figures["inconsistent"] > figures["routes"] / 2


@pytest.mark.parametrize("kind", ["logistic", "trees"])
def test_brute_force_finds_nobody_a_route_whom_we_do_not(kind):
    figures = rules.compared(rules.turned_down(kind, PEOPLE, lender.SMALL, rows=400))
    assert figures["by_brute_force"] > 0
    assert figures["missed"] == figures["only_by_us"] == []
    assert figures["ends_not_listed"] == 0


# ---- what judges isn't blind ------------------------------------------------------------------

SPOILT = {
    "age": lambda rows: rows["age"] + 1,
    "price": lambda rows: rows["price"] + 5000,
    "region": lambda rows: rows["region"].map({"north": "south", "south": "north"}),
    "income": lambda rows: rows["income"] * 2,
    "loan": lambda rows: rows["loan"] - 500,
    "term": lambda rows: rows["term"] + 1,
    "card": lambda rows: rows["card"] + 100,
    "car": lambda rows: rows["car"] + 100,
    "total_ratio": lambda rows: rows["total_ratio"] + 9,
    "months_employed": lambda rows: rows["months_employed"] + 37,
    "education": lambda rows: "none",
    "job": lambda rows: "unemployed",
    "account": lambda rows: "overdrawn",
    "ltv": lambda rows: rows["ltv"] + 0.002,
    "rate": lambda rows: rows["rate"] + 0.02,
    "payment": lambda rows: rows["payment"] + 0.02,
    "housing_ratio": lambda rows: rows["housing_ratio"] + 0.002,
    "total_debt": lambda rows: rows["total_debt"] + 2,
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_spoilt_column_is_noticed(case, result, name):
    rows = result.paths
    today = rules.todays(case.people, rows)
    spoilt = rows.assign(**{name: SPOILT[name](rows)})
    moved = (spoilt[name] != rows[name]) & (spoilt[name] != today[name])
    assert moved.any()
    assert lender_check.broken(today, spoilt)[moved].any(axis=1).all()


STEPS = {
    "own row": {"card": [100.0, 100.0, 0.0]},
    "account hop": {"account": ["none", "plus", "plus"]},
    "job hop": {"job": ["unemployed", "temporary", "unemployed"]},
    "loan at once": {"loan": [90_000.0, 80_000.0, 70_000.0]},
    "term at once": {"term": [120.0, 132.0, 144.0]},
    "undone": {"income": [3000.0, 3600.0, 3500.0]},
}


@pytest.mark.parametrize("fault", STEPS)
def test_a_step_that_is_none_is_noticed(case, fault):
    today = case.people.iloc[[0] * 3].reset_index(drop=True)
    for name, values in STEPS[fault].items():
        today[name] = values[0] if fault != "own row" else 0.0
    rows = today.assign(person=0, path=0, step=range(3), **STEPS[fault])
    assert lender_check.ill_stepped(today, rows).any().loc[lambda found: found].index == fault


def test_wrong_scores_ends_and_months_are_noticed(case, result):
    other = replace(case, threshold=case.threshold + 0.05)
    assert rules.judged(other, result)["wrong_ends"] > 0
    flipped = replace(case, model=_Flipped(case.model))
    assert rules.judged(flipped, result)["wrong_scores"] > 0


class _Flipped:
    def __init__(self, model):
        self.model = model

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        return self.model.predict_proba(rows)[:, ::-1]


# ---- the page ---------------------------------------------------------------------------------


def test_the_page_shows_what_was_measured():
    if not rules.FIGURES.exists():
        pytest.skip("results/rules/figures.json isn't there: make bench-rules measures it")
    figures = json.loads(rules.FIGURES.read_text(encoding="utf-8"))
    page = rules.PAGE.read_text(encoding="utf-8")
    assert rules_page.filled(page, figures) == page
