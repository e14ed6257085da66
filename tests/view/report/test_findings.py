"""What was found, in sentences: each says what the result and the audit hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from tests.methods import bank

from stepladder.audit import audit
from stepladder.result.path import Outcome
from stepladder.view.report.findings import findings, lead

STEP = bank.fitted(paths=2)
RESULT = STEP.recourse(bank.REJECTED.iloc[:12])
HALVES = {"half": ["a"] * 6 + ["b"] * 6}
EASIEST = RESULT.final.query("outcome == 'reached'").groupby("person", sort=False).first()


def test_how_far_people_have_to_go_comes_first():
    first, *_ = findings(RESULT, None)
    assert f"an effort of at most {np.median(EASIEST['effort']):.2f}" in first
    one = int((EASIEST["changes"] == 1).sum())
    assert f"One change is enough for {one} ({one / 12:.0%})." in first


def test_who_has_to_go_further_is_said_with_the_interval():
    found = audit(RESULT, HALVES, smallest=3)
    sentence = findings(RESULT, found)[1]
    gap = found.gaps.query("measure == 'mean_effort'").iloc[0]
    interval = f"{gap['gap']:.2f} ({gap['gap_low']:.2f} to {gap['gap_high']:.2f})"
    assert interval.replace("-", "−") in sentence
    assert "By half" in sentence
    clear = gap["gap_low"] > 0
    assert ("hardly by chance" if clear else "which may be chance") in sentence


def test_a_clear_difference_names_both_groups_and_their_efforts():
    order = EASIEST["effort"].rank(method="first").to_numpy()
    halves = {"half": np.where(order > 6, "hard", "easy")}
    found = audit(RESULT, halves, smallest=3)
    means = found.by_group.set_index("group")["mean_effort"]
    sentence = next(s for s in findings(RESULT, found) if s.startswith("By half"))
    assert sentence.startswith(
        "By half, hard (6\N{NO-BREAK SPACE}people) have to go further than easy "
        f"(6\N{NO-BREAK SPACE}people): a mean effort of {means['half=hard']:.2f} against "
        f"{means['half=easy']:.2f}, a difference of "
    )
    assert sentence.endswith("hardly by chance.")


def test_small_groups_are_left_to_the_tables():
    assert not [s for s in findings(RESULT, audit(RESULT, HALVES)) if s.startswith("By ")]


def test_what_is_asked_for_is_said_with_its_direction():
    said = " ".join(findings(RESULT, None))
    counts = RESULT.changes[RESULT.changes["path"] == 0]["feature"].value_counts()
    assert counts.index[0] in said.split("ask for most: ")[1].split(" (")[0]
    assert f" {counts.iloc[0]})" in said


def test_tight_routes_and_those_that_hold_are_counted_where_known():
    assert "tight" not in " ".join(findings(with_paths(tight=False), None))
    assert "hold" not in " ".join(findings(RESULT, None))
    said = findings(with_paths(tight=True, holds=0.95), None)
    assert "12 of them are tight: if a change falls a little short, the answer may stay no." in said
    assert "12 of 12 hold with a probability of at least 90% if the model is retrained." in said
    assert "0 of 12 hold" in " ".join(findings(with_paths(holds=0.5), None))


def with_paths(**changes: object):
    routes = [[replace(path, **changes) for path in own] for own in RESULT.routes]
    return replace(RESULT, routes=routes)


def test_where_nobody_has_a_route_only_that_is_said():
    none = with_paths(outcome=Outcome.STALLED)
    assert findings(none, audit(none, HALVES)) == []
    assert lead(none) == "0 of 12 who asked have a route to a yes (0%)."
    yes = bank.PEOPLE[bank.score(bank.PEOPLE) > 0.7].iloc[:2]
    assert lead(STEP.recourse(yes)) == "Nobody in this result asked for a route."
    both = STEP.recourse(pd.concat([yes, bank.REJECTED.iloc[:1]]))
    assert lead(both) == "1 of 1 who asked have a route to a yes (100%). 2 more had a yes already."
