"""The letter: the decision, what would be enough, and why it's a no, for one person."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.methods import bank, linked

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.view import letter as written
from stepladder.view.letter import MAIN, OPEN, write
from stepladder.words import plans as words

letter = partial(written.letter, draft=False)
"""The bank's schema has no labels, and yet these are no drafts."""

STEP = bank.fitted(paths=3, step_size=1.0)
RESULT = STEP.recourse(bank.PEOPLE.iloc[:30])
PLANS = [plan for plan in words.plans(RESULT) if plan.routes]
PERSON = max(PLANS, key=lambda plan: len(plan.routes)).person

JARGON = (
    r"encod|cluster|threshold|class|direction|positive|feature|latent|\bnan\b|None|\bpath|model"
)

INCOME = sl.Numeric("income", unit="$ a month")


def labelled(result: sl.Recourse, more: str) -> sl.Recourse:
    """The same result with more words to each label."""
    features = result.space.schema.features
    schema = sl.Schema(
        type(f)(f.name, **{**f.settings, "label": f"{f.label} {more}"}) for f in features
    )
    return replace(result, space=replace(result.space, schema=schema))


WORDY = labelled(RESULT, "as stated by the applicant and verified by the lender for the household")


def routed(
    *routes: dict[str, float], features: tuple[sl.Feature, ...] = (), **settings: object
) -> sl.Recourse:
    """One person, 0, with one route per dict of what it changes."""
    features = features or (
        INCOME,
        sl.Numeric("loan", unit="$", times=1000, integer=True),
        sl.Numeric("rate", label="interest rate", percent=True),
        sl.Categorical("job", levels=["c", "s"], labels={"c": "clerk 1-2", "s": "blacksmith"}),
    )
    today = {"income": 2000.0, "loan": 100.0, "rate": 0.0512345, "job": "c"}
    today = {f.name: today[f.name] for f in features}
    other = {"income": 9000.0, "loan": 10.0, "rate": 0.01, "job": "s"}
    frame = pd.DataFrame([today, *({**today, **route} for route in routes)])
    seen = pd.DataFrame([today, {name: other[name] for name in today}])
    space = sl.Space.fit(sl.Schema(features), seen)
    values = space.read(frame)
    paths = [
        sl.Path(
            sl.Outcome.REACHED,
            "",
            values[[0, end]],
            space.to_points(values[[0, end]]),
            np.array([0.2, 0.61]),
            **settings,
        )
        for end in range(1, len(values))
    ]
    return replace(RESULT, space=space, people=np.array([0]), routes=[paths])


def text(html: str) -> str:
    """What a reader sees, on one line; spaces that hold a line together are plain ones."""
    body = html[html.index("<body>") :]
    return " ".join(re.sub(r"<[^>]+>", " ", body).split())


def said_of(route: words.Route) -> list[str]:
    return [str(task) for task in route.tasks]


# ---- the decision and the routes --------------------------------------------------------------


def test_a_letter_tells_the_decision_and_every_route_in_words():
    said = text(letter(RESULT, PERSON))
    plan = words.plan(RESULT, PERSON)
    assert "The answer to your application is no for now." in said
    assert f"There are {len(plan.routes)} different routes to a yes." in said
    for route in plan.routes:
        for task in route.tasks:
            assert re.sub(r"[\d.,−]+", "", str(task))[:20] in re.sub(r"[\d.,−]+", "", said)


def test_what_alone_is_enough_comes_first_and_routes_are_counted_from_1():
    result = routed({"income": 2500.0, "loan": 90.0}, {"income": 4000.0}, {"loan": 60.0})
    said = text(letter(result, 0))
    alone, together = said.index("each by itself"), said.index("Or several things together")
    assert alone < said.index("Route 1: one thing to do") < together
    assert alone < said.index("Route 2: one thing to do") < together
    assert together < said.index("Route 3, the easiest: two things to do")
    assert "Route 0" not in said


def test_headings_fit_what_there_is():
    one = text(letter(routed({"income": 4000.0}), 0))
    assert "There is a route to a yes. What alone would be enough One thing to do" in one
    assert "Route" not in one.replace("routes to a yes", "")
    several = text(letter(routed({"income": 2500.0, "loan": 90.0}), 0))
    assert "What would be enough Two things to do" in several
    assert "alone" not in several


def test_a_letter_is_free_of_jargon_and_scores():
    for plan in PLANS[:8]:
        said = text(letter(RESULT, plan.person, step=STEP))
        assert re.search(JARGON, said) is None
        assert "core" not in said
        assert "%" not in said


def test_scores_are_told_where_that_is_wanted():
    said = text(letter(RESULT, PERSON, show_score=True))
    plan = words.plan(RESULT, PERSON)
    assert plan.standing in said
    for route in plan.routes:
        assert route.ending(plan.goal) in said


def test_how_sure_a_route_is_is_told_in_a_sentence():
    said = text(letter(routed({"income": 4000.0}, holds=0.917, tight=True), 0))
    assert "This is only just enough" in said
    assert "We expect this to hold with a probability of at least 91%." in said
    assert re.search(JARGON, said) is None
    assert "probability" not in text(letter(routed({"income": 4000.0}), 0))


def test_a_yes_that_may_not_hold_is_told_with_the_surest_way():
    result = routed({"income": 4000.0})
    path = replace(result.routes[0][0], outcome=sl.Outcome.UNSURE, holds=0.6)
    said = text(letter(replace(result, routes=[[path]]), 0))
    assert "There is a route" not in said
    assert "The surest we found: One thing to do Raise income" in said
    assert "Why we can’t promise you a route" in said
    assert "at least 60%" in said


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
            assert " ".join([*said_of(route), route.consequence]).strip() in said
        assert not re.search(r"(asks?|need) (you )?to change[^.]*(loan to value|\bage\b)", said)
        assert ("values break a rule: loan ≤ home price." in said) is bool(plan.broken)
        if any(route.follows for route in plan.routes):
            assert "changes made, what follows from them, and all else as it is" in said


def test_numbers_are_short_and_never_parted_from_their_unit():
    result = routed({"rate": 0.0312345, "income": 2500.123456})
    html = letter(result, 0)
    assert "interest rate from 5.123% to 3.123%" in text(html)
    assert "from $2,000 to $2,501 a month" in text(html)  # not less than what was found
    assert "$2,501\N{NO-BREAK SPACE}a month" in html
    assert "from 5.123% to 7%." in text(letter(routed({"rate": 0.07}), 0))
    assert not re.search(r"\d [a-zA-Z(“]", re.sub(r"<[^>]*>", "|", html[html.index("<main>") :]))


def test_numbers_are_exact_where_the_schema_says_how_exact():
    features = (INCOME.but(decimals=2), sl.Numeric("loan"))
    said = text(letter(routed({"income": 12345.67}, features=features), 0))
    assert "from $2,000 to $12,345.67 a month" in said


def test_levels_are_called_by_their_labels():
    said = text(letter(routed({"job": "s"}), 0))
    assert "Change job from “clerk 1-\N{WORD JOINER}2” to blacksmith." in said


# ---- why the answer is no ---------------------------------------------------------------------


def test_reasons_are_what_pulls_the_score_down_the_strongest_first():
    person = PLANS[0].person
    html = letter(RESULT, person, step=STEP)
    listed = re.search(r"the most first:</p>\s*<ul>(.*?)</ul>", html, flags=re.DOTALL)
    reasons = [text(f"<body>{item}") for item in re.findall("<li>(.*?)</li>", listed[1])]
    pulls = STEP.refusals(bank.PEOPLE.loc[[person]])
    pulls = pulls[pulls["pull"] < 0.05 * pulls["pull"].clip(upper=0).sum()]
    assert [reason.partition(":")[0].lower() for reason in reasons] == [
        *pulls["feature"].head(MAIN)
    ]
    today = words.plan(RESULT, person).today
    income = next(reason for reason in reasons if reason.startswith("Income"))
    assert income == f"Income: {words.value(bank.SCHEMA['income'], today['income'])}"


def test_without_a_method_no_reasons_are_told():
    assert "Why the answer is no" not in letter(RESULT, PERSON)


def test_a_policy_that_is_not_met_is_a_reason_even_where_the_score_would_do():
    goal = sl.Goal(threshold=0.6, policy=["debt <= 2000"])
    step = sl.StEP(paths=1).fit(bank.TRAIN, bank.score, schema=bank.SCHEMA, goal=goal)
    people = bank.PEOPLE[(bank.score(bank.PEOPLE) > 0.6) & (bank.PEOPLE["debt"] > 2500)].head(1)
    said = text(letter(step.recourse(people), people.index[0]))
    assert "is no for now" in said
    assert "Needed for a yes, and not so today: debt ≤ 2000." in said
    hidden = text(letter(step.recourse(people), people.index[0], hide=["debt"]))
    assert "debt" not in hidden


def test_a_method_that_made_another_result_is_refused():
    other = linked.fitted()
    with pytest.raises(ParameterError, match=r"The result and the method .* differ in"):
        letter(RESULT, PERSON, step=other)
    with pytest.raises(ParameterError, match="step must be a fitted method"):
        letter(RESULT, PERSON, step=bank.score)


# ---- hidden -----------------------------------------------------------------------------------


def test_what_is_hidden_is_named_nowhere():
    for plan in PLANS[:6]:
        for name in ("age", "income", "job"):
            assert name in text(letter(RESULT, plan.person, step=STEP)).lower()
            said = text(letter(RESULT, plan.person, step=STEP, hide=[name])).lower()
            assert re.search(rf"\b{name}\b", said) is None


def test_a_route_that_changes_what_is_hidden_is_left_out():
    result = routed({"job": "s"}, {"income": 4000.0})
    said = text(letter(result, 0, hide=["job"]))
    assert "There is a route to a yes." in said
    assert "blacksmith" not in said
    assert "the easiest" not in said  # which it would be of several
    none = text(letter(result, 0, hide=["job", "income"]))
    assert "There is no route that can be set out in this letter. Please ask us." in none


def test_hidden_values_requirements_and_results_are_not_told():
    result = linked.fitted().recourse(linked.REJECTED)
    broken = next(plan for plan in words.plans(result) if plan.broken and plan.routes)
    assert "≤ home price" in text(letter(result, broken.person))
    said = text(letter(result, broken.person, hide=["price", "loan_to_value"]))
    assert "price" not in said
    assert "loan to value" not in said
    gone = bank.REJECTED.head(1).astype({"income": float}).assign(income=np.nan)
    said = text(letter(STEP.recourse(gone), gone.index[0], hide="income"))
    assert "we have no value for something that is needed. Tell us what it is" in said


def test_an_unknown_feature_can_not_be_hidden():
    with pytest.raises(ParameterError, match=r"hide names 'agee', .* Did you mean 'age'\?"):
        letter(RESULT, PERSON, hide=["agee"])


# ---- slots and drafts -------------------------------------------------------------------------


def test_sender_recipient_and_date_stand_where_they_are_given():
    html = letter(
        RESULT, PERSON, sender="Bank\nStreet 1", recipient="A & B\nStreet 2", date="May 1"
    )
    assert "Bank<br>Street 1" in html
    assert "A &amp; B<br>Street 2" in html
    assert "May 1" in html
    assert "<header>" not in letter(RESULT, PERSON)


def test_slots_stand_where_they_are_given_and_are_left_out_otherwise():
    said = text(
        letter(
            RESULT,
            PERSON,
            reference="A-17",
            contact="Jo Clerk\n555 0100",
            deadline="Until 1 June.",
            review="Ask for a person.",
            statutory="First\nlaw.\n\nSecond law.",
        )
    )
    assert "Reference: A-17" in said
    assert said.endswith(
        "Your next steps Review by a person Ask for a person. Deadline Until 1 June. Contact Jo "
        "Clerk 555 0100 Legal notice First law. Second law."
    )
    assert "555 0100" in letter(RESULT, PERSON, contact="555 0100")  # as given, to be copied
    bare = text(letter(RESULT, PERSON))
    for absent in ("Reference", "next steps", "Review", "Deadline", "Contact", "Legal", "["):
        assert absent not in bare


def test_a_schema_without_labels_makes_a_draft_whose_open_slots_show():
    html = written.letter(RESULT, PERSON, contact="Jo Clerk")
    said = text(html)
    assert said.startswith("DRAFT. The schema has no labels")
    assert 'class="watermark"' in html
    assert f"[{OPEN['review']}]" in said
    assert "Contact Jo Clerk" in said
    assert said.count("[") == len(OPEN) - 1
    assert "DRAFT" not in text(written.letter(WORDY, PERSON))
    asked = text(written.letter(WORDY, PERSON, draft=True))
    assert asked.startswith("DRAFT. Places in brackets are still open.")


# ---- no route ---------------------------------------------------------------------------------


def test_someone_who_came_too_late_to_be_scored_is_not_told_no():
    late = STEP.recourse(bank.REJECTED.iloc[:2], time_budget=1e-9)
    text = letter(late, bank.REJECTED.index[0])
    assert "There is no answer to your application yet." in text
    assert "is no for now" not in text


def test_a_yes_a_missing_value_and_no_route_have_letters():
    accepted = bank.PEOPLE[bank.score(bank.PEOPLE) >= bank.GOAL.threshold].head(1)
    said = text(letter(STEP.recourse(accepted), accepted.index[0], step=STEP, show_score=True))
    assert said.endswith("The answer to your application is yes. Nothing needs to change.")

    gone = bank.REJECTED.head(1).astype({"income": float}).assign(income=np.nan)
    said = text(letter(STEP.recourse(gone), gone.index[0], step=STEP, show_score=True))
    assert "Your application can’t be answered yet: we have no value for income. Tell us" in said
    assert "not given" not in said  # which is no score

    odd = bank.REJECTED.head(1).assign(income=-5)
    said = text(letter(STEP.recourse(odd), odd.index[0], step=STEP, show_score=True))
    assert "can’t be answered yet: we have no valid value for income. Tell us what it is" in said

    locked = STEP.recourse(bank.REJECTED.head(1), locked=[*bank.SCHEMA.names][:6])
    said = text(letter(locked, bank.REJECTED.index[0]))
    assert "No route was found among the changes that are possible here." in said
    assert "would be enough" not in said


def stuck() -> tuple[sl.StEP, sl.Recourse]:
    """Somebody for whom only their age and where they live stand in the way."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "age": random.integers(20, 60, 200),
            "town": random.choice(["north", "south"], 200),
            "savings": random.integers(0, 50, 200),
        }
    )
    schema = sl.Schema(
        [
            sl.Numeric("age", integer=True, change="never"),
            sl.Categorical("town", levels=["north", "south"], change="never"),
            sl.Numeric("savings", integer=True, change="decrease"),
        ]
    )

    def model(frame: pd.DataFrame) -> np.ndarray:
        fits = (frame["age"] >= 40) | (frame["town"] == "south") | (frame["savings"] > 40)
        return np.where(fits, 0.9, 0.2)

    step = sl.StEP(paths=1).fit(rows, model, schema=schema)
    person = pd.DataFrame({"age": [25], "town": ["north"], "savings": [10]}, index=["a"])
    return step, step.recourse(person)


def test_who_has_no_route_is_told_which_rules_are_in_the_way_and_what_else_to_do():
    step, result = stuck()
    said = text(letter(result, "a", step=step, review="Ask Jo."))
    assert "Why we can’t show you a route No route was found" in said
    assert "There would be one if savings could also rise." in said
    assert "What else you can do If something isn’t as we have it, tell us" in said
    assert "Ask for a person to look at the decision, as below." in said
    hidden = text(letter(result, "a", step=step, hide=["savings"]))
    assert "There would be one" not in hidden
    assert "savings" not in hidden


def ended(outcome: str) -> sl.Recourse:
    """Someone whose attempts all ended so, at 45%."""
    path = RESULT.routes[RESULT.index_of(PERSON)][0]
    values, points = path.values[[0, -1]], path.points[[0, -1]]
    short = sl.Path(sl.Outcome(outcome), "cluster 3", values, points, np.array([0.2, 0.452]))
    return replace(RESULT, people=np.array(["a"]), routes=[[short, short]])


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
def test_where_a_search_found_nothing_what_may_change_is_told(outcome: str):
    said = text(letter(ended(outcome), "a"))
    assert (
        "As a rule, changes are possible in income, debt, savings, education, job or owner." in said
    )
    assert "What can’t change was kept: age." in said


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
    assert "There may still be one: ask for another search." in timed_out
    for said in (missing, timed_out):
        assert "changes are possible" not in said
        assert "debt" not in said


# ---- the page ---------------------------------------------------------------------------------


def test_names_are_text_whatever_they_hold():
    name = "<script>alert(1)</script>"
    rows = pd.DataFrame({name: np.random.default_rng(0).normal(size=60).round(2)})
    schema = sl.Schema([sl.Numeric(name)])
    step = sl.StEP(paths=1).fit(rows, lambda f: 1 / (1 + np.exp(-f[name])), schema=schema)
    people = rows[rows[name] < 0].head(1).set_axis([name])
    slots = ("sender", "recipient", "date", "reference", "contact", "deadline", "review")
    html = letter(
        step.recourse(people), name, step=step, statutory=name, **dict.fromkeys(slots, name)
    )
    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= len(slots) + 3


def test_frames_of_other_libraries_give_the_same_letter():
    plain = bank.REJECTED.iloc[:2].reset_index(drop=True)
    other = pl.DataFrame(plain.to_dict("list"))
    first, second = (letter(STEP.recourse(frame), 1, step=STEP) for frame in (other, plain))
    assert first == second


def test_a_person_who_is_not_there_is_answered_in_a_sentence():
    with pytest.raises(ParameterError, match="nobody called 'x'"):
        letter(RESULT, "x")


def test_a_letter_survives_saving_its_result(tmp_path: Path):
    RESULT.save(tmp_path / "plan.json")
    assert letter(sl.Recourse.load(tmp_path / "plan.json"), PERSON) == letter(RESULT, PERSON)


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium isn't installed")
@pytest.mark.parametrize("size", ["A4", "letter"])
@pytest.mark.parametrize(("result", "pages"), [(RESULT, 1), (WORDY, 2)], ids=["usual", "wordy"])
def test_a_letter_prints_on_one_page_unless_names_are_long(
    tmp_path: Path, result: sl.Recourse, pages: int, size: str
):
    html = letter(
        result,
        PERSON,
        step=STEP,
        sender="Bank\nStreet 1\nTown",
        recipient="A\nB\nC",
        date="1 May",
        reference="A-17",
        contact="Jo Clerk\n555 0100",
        deadline="Until 1 June.",
        review="Ask for a person to look at this decision.",
        statutory="The law. " * 40,
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
    assert len(re.findall(rb"/Type\s*/Page\b", printed)) <= pages
