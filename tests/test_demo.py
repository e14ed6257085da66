"""The demo's page: what it claims is true, and it reads well anywhere."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from rich.console import Console

import stepladder as sl
from stepladder.datasets import mortgage
from stepladder.demo import lender, show
from stepladder.demo.chosen import instructive
from stepladder.words.plans import Plan, plans


@pytest.fixture(scope="module")
def demo() -> show.Demo:
    return show.work(0, Console(file=io.StringIO()))


@pytest.fixture(scope="module")
def made(demo: show.Demo) -> list[Plan]:
    return plans(demo.result)


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "COLUMNS")}
    return subprocess.run(
        [sys.executable, *arguments],
        env={**kept, "PYTHONIOENCODING": "utf-8", **variables},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def printed(plan: Plan, width: int = 80) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(show.page(plan))
    return console.file.getvalue()  # type: ignore[attr-defined]  # it's the StringIO above


@pytest.mark.parametrize("width", [50, 80])
def test_the_page_is_plain_text_of_so_many_columns_when_piped(width: int):
    page = run("-m", "stepladder", "demo", "--width", str(width))
    assert page.returncode == 0, page.stderr
    assert page.stderr == ""
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", page.stdout)
    assert max(len(line) for line in page.stdout.splitlines()) <= width
    assert "…" not in page.stdout
    assert page.stdout.count("Applicant ") == 3
    assert not re.search(r"direction|cluster|encod|latent|positive|cutoff", page.stdout)


def test_less_debt_and_a_better_record_never_lower_a_score(demo: show.Demo):
    rows = demo.rows.head(300)
    score = demo.model.predict_proba(rows)[:, 1]
    better = {
        "income": rows["income"] + 500,
        "total_ratio": rows["total_ratio"] / 2,
        "housing_ratio": rows["housing_ratio"] / 2,
        "loan_to_value": rows["loan_to_value"] - 0.1,
        "credit_record": mortgage.CREDIT[-1],
        "paperwork": mortgage.PAPERWORK[-1],
    }
    for name, values in better.items():
        assert (demo.model.predict_proba(rows.assign(**{name: values}))[:, 1] >= score).all(), name


def test_every_rejected_applicant_has_a_plan(demo: show.Demo, made: list[Plan]):
    scores = demo.model.predict_proba(demo.rows)[:, 1]
    assert list(demo.rejected.index) == list(demo.rows.index[scores < lender.THRESHOLD])
    assert [plan.person for plan in made] == list(demo.rejected.index)


def ratios(row: dict[str, Any]) -> dict[str, float]:
    """The lender's three, by a pocket calculator."""
    return {
        "loan_to_value": row["loan"] / row["price"],
        "housing_ratio": row["housing_cost"] / row["income"],
        "total_ratio": (row["housing_cost"] + row["other_debts"]) / row["income"],
    }


def worked_out(row: dict[str, Any], today: dict[str, Any]) -> dict[str, Any]:
    """A row with what follows from it, to the last digit but one."""
    cost = round(today["housing_cost"] * (0.2 + 0.8 * row["loan"] / today["loan"]))
    row = {**row, "housing_cost": cost}
    return {**row, **ratios(row)}


def test_every_plan_says_what_was_checked(demo: show.Demo, made: list[Plan]):
    """Following the words from today's row gives rows that score as said and keep the rules."""
    walked, said, starts = [], [], []
    for plan in made:
        today = demo.rejected.loc[plan.person].to_dict()
        assert plan.today == today
        for route in plan.routes:
            row = dict(today)
            assert route.steps
            for step in route.steps:
                for move in step.moves:
                    assert move.feature.chosen
                    assert row[move.feature.name] == move.before
                    row[move.feature.name] = move.after
                walked.append(dict(row))
                said.append(step.score)
                starts.append(today)
            assert route.steps[-1].score >= lender.THRESHOLD
            assert {m.feature.name: m.after for m in route.changes} == {
                name: value for name, value in row.items() if value != today[name]
            }
            worked = worked_out(row, today)
            for move in route.follows:
                assert move.after == pytest.approx(worked[move.feature.name], abs=1e-3)
    space = sl.Space.fit(mortgage.SCHEMA, demo.rows)
    before, asked = (pd.DataFrame(r).astype(demo.rows.dtypes) for r in (starts, walked))
    feasible = sl.Feasible.of(space, before)
    rows = space.to_frame(feasible.complete(space.read(asked))).astype(demo.rows.dtypes)
    np.testing.assert_allclose(demo.model.predict_proba(rows)[:, 1], said, rtol=0, atol=1e-12)
    assert feasible.check(rows) == []


def test_plans_keep_within_reach_and_round_amounts(made: list[Plan]):
    for plan in made:
        for route in plan.routes:
            for move in route.changes:
                if move.feature.name in ("income", "loan"):
                    assert abs(move.after - move.before) <= 0.3 * move.before
                if move.feature.name == "income":
                    assert move.after % 50 == 0
            loans = [m for step in route.steps for m in step.moves if m.feature.name == "loan"]
            assert len(loans) <= 1  # at once


def test_what_follows_is_said_and_never_asked_for(made: list[Plan]):
    borrowers = [p for p in made if p.routes and "loan" in p.routes[0].features]
    assert len(borrowers) > 50
    for plan in borrowers[:10]:
        page = " ".join(printed(plan).replace("│", " ").split())
        cost = re.escape(plan.routes[0].follows[0].end)
        assert re.search(f"That makes housing costs {cost}(,| and) loan to value", page)
        assert not re.search("(Raise|Lower) (housing|loan to|total)", page)


def test_the_table_follows_its_formulas(demo: show.Demo):
    for row in demo.rows.to_dict("records"):
        assert {name: row[name] for name in ratios(row)} == pytest.approx(ratios(row), abs=5.001e-4)


def test_the_model_reads_columns_and_works_nothing_out(demo: show.Demo):
    """What a rule can say is in the schema: the model's pipeline only picks and codes columns."""
    picked, _ = demo.model.named_steps.values()
    assert set(lender.BETTER_WHEN) <= set(demo.rows)
    assert {c for *_, columns in picked.transformers for c in columns} == set(lender.BETTER_WHEN)


@pytest.mark.parametrize("width", [50, 80])
def test_the_page_has_every_word_of_the_plan_at_any_width(made: list[Plan], width: int):
    for plan in instructive(made, 10):
        page = " ".join(printed(plan, width).replace("│", " ").split())
        assert f"Applicant {plan.person} " in page
        for route in plan.routes:
            told = [str(task) for task in route.tasks]
            for text in (*told, route.consequence, route.ending(plan.goal), route.certainty):
                assert text in page


def test_the_easiest_comes_first_and_says_what_it_is(made: list[Plan]):
    papers = [plan for plan in made if any(r.features == {"paperwork"} for r in plan.routes)]
    assert len(papers) > 20
    for plan in papers:  # where handing in papers is enough, that's what is said first
        assert plan.routes[0].features == {"paperwork"}
    for plan in made:
        page = printed(plan, 120)
        kinds = [route.kind for route in plan.routes]
        titles = [f"{kinds[0][0].upper()}{kinds[0][1:]}", *(f"Or instead: {k}" for k in kinds[1:])]
        found = [page.find(title) for title in titles]
        assert -1 not in found
        assert kinds[0].startswith("the easiest: ") is (len(kinds) > 1)
        assert page.count("Or instead") == len(kinds) - 1


@pytest.mark.parametrize("width", [50, 80, 100])
def test_every_plan_fits_its_page(made: list[Plan], width: int):
    for plan in made:
        page = printed(plan, width)
        assert {len(line) for line in page.splitlines()} == {width}
        assert "…" not in page


def test_the_people_shown_differ_in_kind(made: list[Plan]):
    shown = instructive(made, 3)
    assert len({plan.routes[0].features for plan in shown}) == 3
    assert len(instructive(made, 10_000)) == len(made)
    assert instructive(made, 0) == []
    for plan in made:
        assert len({route.changes for route in plan.routes}) == len(plan.routes)


def test_the_same_seed_gives_the_same_plans(demo: show.Demo, made: list[Plan]):
    again = show.work(0, Console(file=io.StringIO()))
    assert plans(again.result) == made
