"""The letter: the decision, the reasons and the routes of one person, on one page."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.methods import bank, linked

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.view.letter import ROWS, letter, reasons, write
from stepladder.words import plans as words

STEP = bank.fitted(paths=3, step_size=1.0)
RESULT = STEP.recourse(bank.PEOPLE.iloc[:30])
PLANS = [plan for plan in words.plans(RESULT) if plan.routes]
PERSON = max(PLANS, key=lambda plan: len(plan.routes)).person

JARGON = (
    r"encod|cluster|threshold|class|direction|positive|feature|latent|\bnan\b|None|\bpath|model"
)

LOAN = sl.Numeric("loan", unit="$", fall="borrow less")
INCOME = sl.Numeric("income", unit="$ a month")
DEBT = sl.Numeric("debt")


LONG = bank.fitted(paths=3, step_size=0.1, max_steps=300).recourse(bank.REJECTED.iloc[:8])
"""Routes of many steps."""
LONGEST = max(words.plans(LONG), key=lambda plan: sum(len(route.steps) for route in plan.routes))


def labelled(result: sl.Recourse, more: str) -> sl.Recourse:
    """The same result with more words to each label."""
    features = result.space.schema.features
    schema = sl.Schema(
        type(f)(f.name, **{**f.settings, "label": f"{f.label} {more}"}) for f in features
    )
    return replace(result, space=replace(result.space, schema=schema))


WORDY = labelled(LONG, "as stated by the applicant and verified by the lender for the household")


def two_steps() -> sl.Recourse:
    """One person with one route of two steps."""
    loan = sl.Numeric("loan", unit="$", times=1000)
    frame = pd.DataFrame({"income": [2000, 2500, 3000], "loan": [100, 100, 90]})
    space = sl.Space.fit(sl.Schema([INCOME, loan]), frame)
    values, scores = space.read(frame), np.array([0.2, 0.3, 0.61])
    path = sl.Path(sl.Outcome.REACHED, "", values, space.to_points(values), scores)
    return replace(RESULT, space=space, people=np.array([0]), routes=[[path]])


def text(html: str) -> str:
    """What a reader sees, on one line."""
    body = html[html.index("<body>") :]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


TWO = two_steps()


def routed(*routes: dict[sl.Feature, tuple[float, float]]) -> words.Plan:
    """A plan of routes of one step each."""
    made = []
    for changes in routes:
        moves = tuple(words.Move(feature, *ends) for feature, ends in changes.items())
        made.append(words.Route((words.Step(moves, 0.8),), moves))
    today = {"loan": 9000, "income": 3000, "debt": 500}
    return words.Plan("a", today, 0.4, sl.Goal(), tuple(made))


def test_a_letter_tells_the_decision_and_every_route_in_words():
    said = text(letter(RESULT, PERSON))
    plan = words.plan(RESULT, PERSON)
    assert "The answer to your application is no for now." in said
    assert f"There are {len(plan.routes)} different routes to a yes." in said
    for route in plan.routes:
        assert str(route) in said


def test_a_letter_is_free_of_jargon_and_scores():
    for plan in PLANS[:8]:
        said = text(letter(RESULT, plan.person))
        assert re.search(JARGON, said) is None
        assert "core" not in said
        assert "%" not in said


def test_scores_are_told_where_that_is_wanted():
    said = text(letter(RESULT, PERSON, show_score=True))
    plan = words.plan(RESULT, PERSON)
    assert plan.standing in said
    for route in plan.routes:
        assert f"{words.score(plan.goal, route.steps[-1].score)}, a yes" in said


def test_sender_recipient_and_date_stand_where_they_are_given():
    html = letter(
        RESULT, PERSON, sender="Bank\nStreet 1", recipient="A & B\nStreet 2", date="May 1"
    )
    assert "Bank<br>Street 1" in html
    assert "A &amp; B<br>Street 2" in html
    assert "May 1" in html
    assert "<header>" not in letter(RESULT, PERSON)


def test_the_reasons_are_what_most_routes_change():
    plan = routed(
        {LOAN: (9000, 8000)},
        {LOAN: (9000, 8500), INCOME: (3000, 3500)},
        {LOAN: (9000, 8500), DEBT: (500, 0)},
    )
    said = reasons(plan, [INCOME, DEBT, LOAN])
    assert said == [
        "Loan, today $9,000: changes on all 3 routes, and on 1 of them nothing else needs to."
    ]


def test_what_changes_on_two_routes_changes_on_both():
    plan = routed({LOAN: (9000, 8000)}, {LOAN: (9000, 8500), INCOME: (3000, 3500)})
    assert reasons(plan, [INCOME, LOAN]) == [
        "Loan, today $9,000: changes on both routes, and on 1 of them nothing else needs to."
    ]


def test_where_no_reason_is_common_each_is_told():
    plan = routed({LOAN: (9000, 8000)}, {INCOME: (3000, 3500), DEBT: (500, 0)})
    assert reasons(plan, [INCOME, DEBT, LOAN]) == [
        "Loan, today $9,000: changes on 1 of 2 routes, and nothing else needs to.",
        "Income, today $3,000 a month: changes on 1 of 2 routes, along with other things.",
        "Debt, today 500: changes on 1 of 2 routes, along with other things.",
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({LOAN: (9000, 8000)}, ["to change this is enough"]),
        ({LOAN: (9000, 8000), DEBT: (500, 0)}, ["part of what has to change"] * 2),
    ],
)
def test_the_reasons_of_a_single_route(changes, said):
    found = reasons(routed(changes), [LOAN, DEBT])
    assert [reason.rpartition(": ")[2].rstrip(".") for reason in found] == said


def test_what_no_route_changes_is_said_to_be_unneeded():
    said = text(letter(RESULT, PERSON))
    plan = words.plan(RESULT, PERSON)
    changed = frozenset().union(*(route.features for route in plan.routes))
    spare = [f.label for f in bank.SCHEMA.features if f.name not in changed and f.name != "age"]
    asked = re.search(r"(?:No route asks|The route doesn’t ask) you to change ([^.]*)\.", said)
    assert re.split(", | or ", asked[1] if asked else "") == (spare or [""])
    assert "What can’t be changed stays as it is: age." in said


def test_what_follows_is_told_with_its_route_and_never_asked_for():
    result = linked.fitted().recourse(linked.REJECTED)
    for plan in words.plans(result):
        said = text(letter(result, plan.person))
        for route in plan.routes:
            assert f"{route} {route.consequence}" in said
        assert not re.search(r"(asks?|need) (you )?to change[^.]*(loan to value|\bage\b)", said)
        assert ("values break a rule: loan ≤ home price. No route makes" in said) is bool(
            plan.broken
        )
        assert "changes made, what follows from them, and all else as it is" in said


def test_steps_are_a_table_of_what_changes_after_each():
    plan = words.plan(TWO, 0)
    html = letter(TWO, 0, show_score=True)
    (table,) = re.findall("<table.*?</table>", html, flags=re.DOTALL)
    cells = [
        re.findall("<t[hd][^>]*>(.*?)</t[hd]>", row)
        for row in re.findall("<tr.*?</tr>", table, flags=re.DOTALL)
    ]
    assert cells == [
        ["Step", "Income", "Loan", "Score"],
        ["Today", "$2,000 a month", "$100,000", "20%"],
        ["1", "$2,500 a month", "$100,000", "30%"],
        ["2", "$3,000 a month", "$90,000", "61%, a yes"],
    ]
    assert str(plan.routes[0]) in text(html)
    assert "%" not in text(letter(TWO, 0))


def test_a_long_plan_tells_the_first_steps_of_the_nearest_route_only():
    said = text(letter(LONG, LONGEST.person))
    assert all(str(route) in said for route in LONGEST.routes)
    assert re.search(r"… and \d+ more steps: ask us for them\.", said)
    assert "Where a route has no steps here, ask us for them." in said
    assert said.count("Step ") == 1


def test_tables_are_told_while_their_rows_are_not_too_many():
    html = letter(RESULT, PERSON)
    tables = [
        len(route.steps) for route in words.plan(RESULT, PERSON).routes if len(route.steps) > 1
    ]
    assert sum(steps + 2 for steps in tables) <= ROWS
    assert html.count("<table") == len(tables)
    long = letter(LONG, LONGEST.person)
    assert long.count("<tr") == ROWS


def test_someone_who_came_too_late_to_be_scored_is_not_told_no():
    late = STEP.recourse(bank.REJECTED.iloc[:2], time_budget=1e-9)
    text = letter(late, bank.REJECTED.index[0])
    assert "There is no answer to your application yet." in text
    assert "is no for now" not in text


def test_a_yes_a_missing_value_and_no_route_have_letters():
    accepted = bank.PEOPLE[bank.score(bank.PEOPLE) >= bank.GOAL.threshold].head(1)
    said = text(letter(STEP.recourse(accepted), accepted.index[0], show_score=True))
    assert "The answer to your application is yes. Nothing needs to change." in said
    assert "for now" not in said

    gone = bank.REJECTED.head(1).astype({"income": float}).assign(income=np.nan)
    said = text(letter(STEP.recourse(gone), gone.index[0], show_score=True))
    assert "Your application can’t be answered yet: we have no value for income. Tell us" in said
    assert "not given" not in said  # which is no score

    odd = bank.REJECTED.head(1).assign(income=-5)
    said = text(letter(STEP.recourse(odd), odd.index[0], show_score=True))
    assert "can’t be answered yet: we have no valid value for income. Tell us what it is" in said

    locked = STEP.recourse(bank.REJECTED.head(1), locked=[*bank.SCHEMA.names][:6])
    said = text(letter(locked, bank.REJECTED.index[0]))
    assert "No route was found among the changes that are possible here." in said
    assert "What stands" not in said


def ended(outcome: str) -> sl.Recourse:
    """Someone whose attempts all ended so, at 45%."""
    path = LONG.routes[0][0]
    values, points = path.values[[0, -1]], path.points[[0, -1]]
    short = sl.Path(sl.Outcome(outcome), "cluster 3", values, points, np.array([0.2, 0.452]))
    return replace(LONG, people=np.array(["a"]), routes=[[short, short]])


@pytest.mark.parametrize("outcome", ["unreachable", "stalled", "step_limit", "timed_out"])
def test_a_letter_without_a_route_tells_no_score_unless_that_is_wanted(outcome: str):
    said = text(letter(ended(outcome), "a"))
    assert "No route was found" in said or "ran out of time" in said
    assert re.search(r"\d|%|score|best", said) is None
    assert re.search(JARGON, said) is None
    told = text(letter(ended(outcome), "a", show_score=True))
    assert "Score today: 20%" in told
    assert ("; the best one gets to 45%." in told) == (outcome in ("stalled", "step_limit"))


@pytest.mark.parametrize("outcome", ["unreachable", "stalled", "step_limit"])
def test_where_a_search_found_nothing_the_rules_are_told(outcome: str):
    said = text(letter(ended(outcome), "a"))
    assert (
        "As a rule, changes are possible in income, debt, savings, education, job or owner." in said
    )
    assert "What can’t change was kept: age. If any of this isn’t as we have it, tell us" in said


def test_where_no_search_was_made_or_ended_none_is_told():
    gone = bank.REJECTED.head(1).astype({"income": float}).assign(income=np.nan)
    missing = text(letter(STEP.recourse(gone), gone.index[0]))
    assert missing.endswith("for income. Tell us what it is, and an answer can be worked out.")
    assert "route" not in missing
    both = text(letter(STEP.recourse(gone.assign(savings=np.nan)), gone.index[0]))
    assert both.endswith(
        "Your application can’t be answered yet: we have no value for income and savings. Tell us "
        "what they are, and an answer can be worked out."
    )
    timed_out = text(letter(ended("timed_out"), "a"))
    assert timed_out.endswith("There may still be one: ask for another search.")
    for said in (missing, timed_out):
        assert "changes are possible" not in said
        assert "debt" not in said


def test_names_are_text_whatever_they_hold():
    name = "<script>alert(1)</script>"
    rows = pd.DataFrame({name: np.random.default_rng(0).normal(size=60).round(2)})
    schema = sl.Schema([sl.Numeric(name)])
    step = sl.StEP(paths=1).fit(rows, lambda f: 1 / (1 + np.exp(-f[name])), schema=schema)
    people = rows[rows[name] < 0].head(1).set_axis([name])
    html = letter(step.recourse(people), name, sender=name, recipient=name, date=name)
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 5


def test_frames_of_other_libraries_give_the_same_letter():
    plain = bank.REJECTED.iloc[:2].reset_index(drop=True)
    other = pl.DataFrame(plain.to_dict("list"))
    assert letter(STEP.recourse(other), 1) == letter(STEP.recourse(plain), 1)


def test_a_person_who_is_not_there_is_answered_in_a_sentence():
    with pytest.raises(ParameterError, match="nobody called 'x'"):
        letter(RESULT, "x")


def test_a_letter_survives_saving_its_result(tmp_path: Path):
    RESULT.save(tmp_path / "plan.json")
    assert letter(sl.Recourse.load(tmp_path / "plan.json"), PERSON) == letter(RESULT, PERSON)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium isn't installed")
@pytest.mark.parametrize("size", ["A4", "letter"])
@pytest.mark.parametrize(
    ("result", "person", "pages"),
    [(RESULT, PERSON, 1), (LONG, LONGEST.person, 1), (WORDY, LONGEST.person, 2)],
    ids=["usual", "many steps", "long names"],
)
def test_a_letter_prints_on_one_page_unless_names_are_long(
    tmp_path: Path, result: sl.Recourse, person: object, pages: int, size: str
):
    html = letter(
        result,
        person,
        sender="Bank\nStreet 1\nTown",
        recipient="A\nB\nC",
        date="1 May",
        show_score=True,
    )
    sized = html.replace("@page {", f"@page {{ size: {size};")
    assert sized != html
    write(sized, tmp_path / "letter.html")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer"]
    command += [f"--user-data-dir={tmp_path / 'profile'}"]
    subprocess.run(
        [
            *command,
            f"--print-to-pdf={tmp_path / 'letter.pdf'}",
            (tmp_path / "letter.html").as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    printed = (tmp_path / "letter.pdf").read_bytes()
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) == pages
