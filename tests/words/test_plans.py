"""Plain words: values, changes, plans and offers read as people write, and say what was checked."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank, linked
from tests.words.spoken import LOAN, MONTHLY, RECORD, SHARE

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.result.offer import Asked, Offer
from stepladder.words import plans as words

JARGON = r"encod|cluster|threshold|class|direction|positive|feature|latent|nan|None|\bpath"

# ---- plans ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def step() -> sl.StEP:
    return bank.fitted(step_size=0.5)


@pytest.fixture(scope="module")
def ruled() -> sl.Recourse:
    return linked.fitted().recourse(linked.REJECTED)


@pytest.fixture(scope="module")
def result(step: sl.StEP) -> sl.Recourse:
    return step.recourse(bank.REJECTED)


def test_following_a_plan_gives_rows_that_score_as_it_says(result):
    for plan in words.plans(result):
        today = bank.REJECTED.loc[plan.person].to_dict()
        assert plan.today == today
        assert plan.score == pytest.approx(bank.score(pd.DataFrame([today]))[0])
        for route in plan.routes:
            row = dict(today)
            for step in route.steps:
                for move in step.moves:
                    assert row[move.feature.name] == move.before != move.after
                    row[move.feature.name] = move.after
                assert step.score == pytest.approx(bank.score(pd.DataFrame([row]))[0])
            assert route.steps[-1].score >= bank.GOAL.threshold
            assert route.features == {name for name in row if row[name] != today[name]}


def test_routes_come_easiest_first_and_equal_ends_once(result):
    for plan, paths in zip(words.plans(result), result.routes, strict=True):
        assert len({route.changes for route in plan.routes}) == len(plan.routes)
        easiest = min(paths, key=lambda path: path.effort)
        assert plan.routes[0].steps[-1].score == easiest.scores[-1]
    same = replace(result, routes=[[paths[0]] * 3 for paths in result.routes])
    assert all(len(plan.routes) == 1 for plan in words.plans(same))


def test_a_plan_as_text_has_every_change_and_nothing_else(result):
    for plan in words.plans(result):
        text = " ".join(str(plan).split())
        assert f"Person {plan.person}. Score today: " in text
        assert not re.search(JARGON, text)
        for route in plan.routes:
            assert all(str(move)[1:] in text for move in route.changes)
        changed = frozenset[str]().union(*(route.features for route in plan.routes))
        for name in set(bank.SCHEMA.names) - changed:
            assert not re.search(rf"\b{name}\b", text)


def test_a_plan_reads_so():
    schema = sl.Schema([MONTHLY, LOAN, RECORD])
    frame = pd.DataFrame(
        {
            "income": [2000, 2500, 3000, 3000],
            "loan": [100, 100, 90, 80],
            "record": ["3+ late", "3+ late", "none late", "none late"],
        }
    )
    space = sl.Space.fit(schema, frame)
    values, scores = space.read(frame), np.array([0.2, 0.3, 0.61, 0.805])
    path = sl.Path(sl.Outcome.REACHED, "", values, space.to_points(values), scores)
    short = sl.Path(
        sl.Outcome.REACHED, "", values[[0, 3]], space.to_points(values[[0, 3]]) * 9, scores[[0, 3]]
    )
    lost = replace(path, outcome=sl.Outcome.STALLED)
    result = bank.fitted().recourse(bank.REJECTED.iloc[:1])
    goal = sl.Goal(threshold=0.8)
    made = replace(
        result, space=space, goal=goal, people=np.array(["Ada"]), routes=[[path, lost, short]]
    )
    assert str(words.plan(made, "Ada")) == (
        "Person Ada. Score today: 20%; a yes takes 80%.\n"
        "\n"
        "A route: three things to do\n"
        "  1. Raise income from $2,000 to $3,000 a month.\n"
        "  2. Mend the record from “3+ late” to “none late”.\n"
        "  3. Borrow less: $80,000 instead of $100,000.\n"
        "  The score is then 80%: a yes, less than a point past the line."
    )
    other = replace(short, values=values[[0, 2]], scores=scores[[0, 3]])
    alone = values[[0, 0]]
    alone[1, 0] = 4000
    single = replace(other, values=alone, efforts=np.array([0.9, 0, 0]))
    measured = replace(other, efforts=np.array([0.3, 0.2, 0.6]))
    two = replace(made, routes=[[single, measured]])
    titles = [line for line in str(words.plan(two, "Ada")).splitlines() if line.startswith("Rou")]
    assert titles == [
        "Route 1, the easiest: one thing to do",
        "Route 2: three things to do, smallest changes",
    ]


def test_a_plan_of_one_thing_and_one_of_several_wrap_to_where_they_began():
    result = bank.fitted().recourse(bank.REJECTED.iloc[:1])
    for plan in words.plans(result):
        for line in str(plan).splitlines():
            assert len(line) <= words.WIDTH
            assert line == "" or re.match(r"Person|Route|A route|  ( *\d+\.|\w| {3}\S)", line), line


def test_long_names_are_wrapped_and_never_cut():
    level = "a category with a name that is " + "very " * 20 + "long"
    endless = "x" * 100
    job = sl.Categorical("job", levels=[level, endless])
    move = words.Move(job, level, endless)
    route = words.Route((words.Step((move,), 0.9),), (move,))
    text = str(words.Plan("Ada", {"job": level}, 0.1, sl.Goal(), (route,)))
    assert endless in text
    assert level in " ".join(text.split())
    assert all(len(line) <= words.WIDTH for line in text.splitlines() if endless not in line)


def test_a_result_read_back_from_a_file_says_the_same(result, tmp_path):
    result.save(tmp_path / "plan.json")
    assert words.plans(sl.Recourse.load(tmp_path / "plan.json")) == words.plans(result)


def test_a_person_is_found_by_name(result):
    person = bank.REJECTED.index[3]
    assert words.plan(result, person) == words.plans(result)[3]
    with pytest.raises(ParameterError, match=r"nobody called 'Bob'\. It has .* more\)"):
        words.plan(result, "Bob")
    days = pd.date_range("2020-01-01", periods=len(result.people))
    dated = replace(result, people=days.to_numpy())
    assert str(words.plan(dated, days[3])).startswith("Person 2020-01-04 00:00:00. Score today")
    twins = replace(result, people=np.array([7] * len(result.people)))
    with pytest.raises(ParameterError, match=r"25 people of the result are called 7\. .*plans"):
        words.plan(twins, 7)


# ---- no route ---------------------------------------------------------------------------------


def test_someone_at_the_goal_has_nothing_to_change(step):
    happy = bank.PEOPLE[bank.score(bank.PEOPLE) >= bank.GOAL.threshold].iloc[:1]
    plan = words.plan(step.recourse(happy), happy.index[0])
    assert plan.routes == ()
    assert str(plan).endswith("\nNothing needs to change: this is a yes already.")


def test_a_missing_value_is_named_by_its_label(step):
    gap = bank.REJECTED.iloc[:1].astype({"income": "Int64"})
    gap.loc[gap.index[0], ["income", "savings"]] = [pd.NA, np.nan]
    plan = words.plan(step.recourse(gap), gap.index[0])
    assert plan.today["income"] is None
    assert plan.note.endswith("since there is no value for income and savings.")
    assert not re.search(JARGON, str(plan))


def test_an_invalid_value_is_named_by_its_label(step):
    odd = bank.REJECTED.iloc[:1].assign(job="juggler", income=-5)
    plan = words.plan(step.recourse(odd), odd.index[0])
    assert plan.outcome is sl.Outcome.INVALID_ROW
    assert plan.note.endswith("since there is no valid value for income and job.")
    assert not re.search(JARGON, str(plan))


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        ("unreachable", "No route was found among the changes that are possible here."),
        (
            "timed_out",
            "The search for a route ran out of time before it found one. There may still be one: "
            "ask for another search.",
        ),
        ("step_limit", "No route was found within the steps allowed."),
        ("stalled", "No route was found that gets all the way."),
        (
            "unsure",
            "Routes to a yes were found, but none that is likely enough to hold if the model is "
            "retrained.",
        ),
    ],
)
def test_someone_without_a_route_is_told_why_in_plain_words(result, outcome, said):
    first = result.routes[0][0]
    worse, better = (
        sl.Path(
            sl.Outcome(outcome),
            "none of the 5 positives of the cluster can be reached",
            first.values[[0, -1]],
            first.points[[0, -1]],
            np.array([0.2, end]),
        )
        for end in (0.3, 0.452)
    )
    made = replace(result, people=result.people[:1], routes=[[worse, better]])
    (plan,) = words.plans(made)
    assert plan.routes == ()
    assert plan.outcome == outcome
    assert plan.reason == said
    stops_short = outcome in ("step_limit", "stalled")
    assert plan.note == (f"{said[:-1]}; the best one gets to 45%." if stops_short else said)
    before, _, after = " ".join(str(plan).split()).partition(plan.note)
    assert before
    assert bool(after) is (outcome == "unsure")


def test_the_surest_of_routes_that_may_not_hold_is_shown_as_such(result):
    first = result.routes[0][0]
    unsure, surer = (
        replace(first, outcome=sl.Outcome.UNSURE, holds=holds) for holds in (0.31, 0.628)
    )
    (plan,) = words.plans(replace(result, people=result.people[:1], routes=[[unsure, surer]]))
    assert plan.routes == ()
    assert plan.surest is not None
    assert plan.surest.holds == 0.628
    text = " ".join(str(plan).split())
    assert f"The surest: {plan.surest.kind}" in text
    assert text.endswith(
        "It is expected to hold with a probability of at least 62% if the model is retrained."
    )


# ---- requirements -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("income <= loan", "income ≤ loan"),
        ("share >= 0.5 * `odd name`", "debt share ≥ 0.5 × odd name"),
        ("was(share) != share", "debt share today ≠ debt share"),
        ("source == 'income' or share ** 2 < 1", "source = 'income' or debt share ** 2 < 1"),
        ("max(income, 3) > 2", "max(income, 3) > 2"),
    ],
)
def test_a_requirement_is_read_with_labels_and_common_signs(text, said):
    odd, source = sl.Numeric("odd name"), sl.Categorical("source", levels=["income", "gift"])
    schema = sl.Schema([MONTHLY, LOAN, SHARE, source, odd], require=[text])
    assert words.requirement(text, schema) == said


def test_who_breaks_a_requirement_today_is_told(ruled):
    broken = {person for person, row in linked.REJECTED.iterrows() if row["loan"] > row["price"]}
    assert 0 < len(broken) < len(linked.REJECTED)
    status = ruled.status.set_index("person")["reason"]
    for plan in words.plans(ruled):
        is_told = plan.person in broken
        said = "Today's values break a rule: loan ≤ home price. No route makes that worse."
        assert plan.routes
        assert plan.caution == (said if is_told else "")
        assert (f"\n{said}\n" in str(plan)) is is_told
        assert status[plan.person].endswith("; today's row breaks loan <= price") is is_told


def test_two_broken_requirements_are_listed_and_without_routes_nothing_is_promised():
    plan = words.Plan("Ada", {}, 0.1, sl.Goal(), (), broken=("a ≤ b", "c ≤ d"))
    assert plan.caution == "Today's values break 2 rules: a ≤ b; c ≤ d."


def test_features_that_follow_move_with_what_they_follow_from(ruled):
    seen = set()
    for plan in words.plans(ruled):
        for route in plan.routes:
            end = {move.feature.name: move.after for move in (*route.changes, *route.follows)}
            assert not route.features & {"loan_to_value", "age"}
            loan = end.get("loan", plan.today["loan"])
            if "loan" in end:
                assert end["loan_to_value"] == pytest.approx(loan / plan.today["price"], abs=1e-3)
                assert f"That makes loan to value {100 * end['loan_to_value']:g}%" in str(plan)
            if "income" in end:
                assert route.months == 24
                assert end["age"] == plan.today["age"] + 2
                assert "By then, age is " in route.consequence
            seen |= end.keys()
    assert seen >= {"loan", "loan_to_value", "income", "age"}


# ---- offers -----------------------------------------------------------------------------------


def test_an_offer_on_a_longer_way_says_what_it_comes_to_in_all():
    first = Asked("income", 2000, 2100)
    total = Asked("loan", 138, 134), Asked("income", 2000, 2500)
    schema, goal = sl.Schema([LOAN, MONTHLY]), sl.Goal(threshold=0.4)
    assert words.offer(Offer(0, (first,), 0.3, 1, True, total), schema, goal) == (
        "Two things to do. Borrow less: $134,000 instead of $138,000; raise income from $2,000 to "
        "$2,500 a month. First, raise income from $2,000 to $2,100 a month. The score is then 30%, "
        "and 1 more step leads to a yes."
    )
    at_once = Offer(0, (first,), 0.5, 0, True, (first,))
    assert words.offer(at_once, schema, goal) == (
        "One thing to do. Raise income from $2,000 to $2,100 a month. The score is then 50%, a yes."
    )


@pytest.mark.parametrize(
    ("steps_left", "reaches", "said"),
    [
        (0, True, "The score is then 47%, a yes."),
        (1, True, "The score is then 47%, and 1 more step leads to a yes."),
        (2, True, "The score is then 47%, and 2 more steps lead to a yes."),
        (2, False, "The score is then 47%; a yes isn't in sight on this route yet."),
        (0, False, "The score is then 47%; a yes isn't in sight on this route yet."),
    ],
)
def test_an_offer_says_what_to_do_next_and_how_far_that_leads(steps_left, reaches, said):
    asked = Asked("loan", 138, 134), Asked("income", 2000, 2100)
    made = Offer(0, asked, 0.474, steps_left, reaches)
    assert words.offer(made, sl.Schema([LOAN, MONTHLY]), sl.Goal(threshold=0.4)) == (
        "Borrow less: $134,000 instead of $138,000; raise income from $2,000 to $2,100 a month. "
        + said
    )


def test_the_offers_of_a_walk_are_said_without_jargon(step):
    walk = step.walk(bank.REJECTED.iloc[[0]])
    offers = walk.directions()
    assert offers
    for offer in offers:
        said = words.offer(offer, step.space_.schema, step.scorer_.goal)
        assert not re.search(JARGON, said)
        assert all(asked.feature in said for asked in offer.changes)
