"""A route in words: what it is, what to do in which order and by when, and how sure it is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.words.spoken import AGE, COST, LOAN, LTV, RISK

import stepladder as sl
from stepladder.words import plans as words
from stepladder.words import routes

GOAL = sl.Goal(threshold=0.75)

INCOME = sl.Numeric("income", unit="$ a month", months=6)
PAPERS = sl.Ordinal("paperwork", levels=["missing", "all there"], months=1, rise="hand in papers")
RECORD = sl.Ordinal("record", levels=["3+ late", "1-2 late", "none late"], months_each=6)


def route(*moves: words.Move, **more) -> words.Route:
    """A route of one step."""
    return words.Route((words.Step(moves, 0.9),), moves, **more)


# ---- what to do -------------------------------------------------------------------------------


def test_small_steps_are_summed_up_and_levels_in_between_are_named():
    steps = (
        words.Step(
            (words.Move(INCOME, 3400, 3600), words.Move(RECORD, "3+ late", "1-2 late")), 0.4
        ),
        words.Step(
            (words.Move(INCOME, 3600, 3800), words.Move(PAPERS, "missing", "all there")), 0.5
        ),
        words.Step((words.Move(INCOME, 3800, 4000),), 0.6),
        words.Step((words.Move(RECORD, "1-2 late", "none late"),), 0.8),
    )
    changes = (
        words.Move(INCOME, 3400, 4000),
        words.Move(PAPERS, "missing", "all there"),
        words.Move(RECORD, "3+ late", "none late"),
    )
    made = words.Route(steps, changes, months=12)
    assert [str(task) for task in made.tasks] == [
        "Hand in papers: “all there” instead of missing, within 1 month.",
        "Raise income from $3,400 to $4,000 a month, within 6 months.",
        "Raise record from “3+ late” to “none late”, by way of “1-2 late”, within 1 year.",
    ]
    assert str(made) == (
        "Hand in papers: “all there” instead of missing, within 1 month; raise income from $3,400 "
        "to $4,000 a month, within 6 months; raise record from “3+ late” to “none late”, by way of "
        "“1-2 late”, within 1 year."
    )


def test_what_is_done_in_one_step_begins_with_what_takes_least_time():
    made = route(words.Move(INCOME, 1, 2), words.Move(PAPERS, "missing", "all there"))
    assert [task.move.feature.name for task in made.tasks] == ["paperwork", "income"]


def test_a_task_says_how_big_the_ask_is():
    made = route(words.Move(INCOME, 3400, 4000, rank=0.85))
    assert [str(task) for task in made.tasks] == [
        "Raise income from $3,400 to $4,000 a month, within 6 months (at least 8 in 10 applicants "
        "have as much or less)."
    ]
    assert "applicants" not in str(made)


# ---- what it is -------------------------------------------------------------------------------


def moves(*efforts: float | None) -> tuple[words.Move, ...]:
    return tuple(
        words.Move(sl.Numeric(f"f{number}"), 0, 1, effort=effort)
        for number, effort in enumerate(efforts)
    )


@pytest.mark.parametrize(
    ("efforts", "kinds"),
    [
        ([(0.3,)], ["one thing to do"]),
        ([(0.3, 0.2)], ["two things to do"]),
        ([(0.6,), (0.9,)], ["the easiest: one thing to do", "one thing to do"]),
        (
            [(0.6,), (0.4, 0.3), (0.8, 0.1)],
            [
                "the easiest: one thing to do",
                "two things to do, smallest changes",
                "two things to do",
            ],
        ),
        (
            [(0.3, 0.2, 0.1), (0.5, 0.4)],
            [
                "the easiest: three things to do, smallest changes",
                "two things to do, fewest changes",
            ],
        ),
        # the smallest is the one thing to do, so nothing else is
        ([(0.2,), (0.4, 0.3)], ["the easiest: one thing to do", "two things to do"]),
        # a word that fits all tells nothing apart
        ([(0.4, 0.3), (0.4, 0.2)], ["the easiest: two things to do", "two things to do"]),
        # nor does one that fits two of three
        (
            [(0.9,), (0.6, 0.3), (0.6, 0.2)],
            ["the easiest: one thing to do", "two things to do", "two things to do"],
        ),
        (
            [(0.3, 0.2, 0.1), (0.5, 0.4), (0.6, 0.4)],
            [
                "the easiest: three things to do, smallest changes",
                "two things to do",
                "two things to do",
            ],
        ),
        # without efforts nothing is known to be small
        ([(None, None), (None,)], ["the easiest: two things to do", "one thing to do"]),
    ],
)
def test_a_route_says_what_it_is_among_the_choices(efforts, kinds):
    told = routes.told_apart([route(*moves(*each)) for each in efforts])
    assert [each.kind for each in told] == kinds


# ---- how sure it is ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ""),
        ({"tight": True}, "This is only just enough: if you fall a little short, it may be a no."),
        (
            {"holds": 0.9},
            "It is expected to hold with a probability of at least 90% if the model is retrained.",
        ),
        (
            {"holds": 0.929},
            "It is expected to hold with a probability of at least 92% if the model is retrained.",
        ),
        ({"holds": 0.004}, "It may well not hold if the model is retrained."),
    ],
)
def test_a_route_says_how_sure_it_is(more, said):
    made = route(words.Move(INCOME, 3400, 4000), **more)
    assert made.certainty == said
    text = str(words.Plan("Ada", {"income": 3400}, 0.1, GOAL, (made,)))
    assert " ".join(text.split()).endswith(said or "past the line.")


@pytest.mark.parametrize(
    ("goal", "score", "said"),
    [
        (GOAL, 0.786, "The score is then 79%: a yes, 4 points past the line."),
        (GOAL, 0.76, "The score is then 76%: a yes, 1 point past the line."),
        (GOAL, 0.753, "The score is then 75%: a yes, less than a point past the line."),
        (sl.Goal.between(20, None), 31.5, "The score is then 31.5: a yes, 11.5 past the line."),
        (sl.Goal.between(20, 32), 31.5, "The score is then 31.5: a yes, 0.5 past the line."),
    ],
)
def test_a_route_says_how_far_past_the_line_it_ends(goal, score, said):
    move = words.Move(INCOME, 3400, 4000)
    made = words.Route((words.Step((move,), score),), (move,))
    assert made.ending(goal) == said
    assert "past" not in replace(made, holds=0.9).ending(goal)


# ---- what follows -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("follows", "said"),
    [
        ([], ""),
        ([words.Move(LTV, 0.9, 0.8)], "That makes loan to value 80%."),
        ([words.Move(LTV, 0.9, 0.80232558)], "That makes loan to value 80.23%."),
        ([words.Move(COST, 900, 1100)], "That makes housing costs $1,100 a month."),
        (
            [words.Move(LTV, 0.9, 0.8), words.Move(RISK, "low", "rather high")],
            "That makes loan to value 80% and risk “rather high”.",
        ),
        (
            [words.Move(LTV, 0.9, 0), words.Move(AGE, 34, 36)],
            "That makes loan to value 0%. By then, age is 36 years.",
        ),
    ],
)
def test_what_follows_from_a_route_is_a_consequence_and_nothing_to_do(follows, said):
    made = route(words.Move(LOAN, 138, 124), follows=tuple(follows))
    assert made.consequence == said
    assert len(made.tasks) == 1
    text = str(words.Plan("Ada", {"loan": 138}, 0.1, GOAL, (made,)))
    assert " ".join(text.split()).endswith(
        f"Borrow less: $124,000 instead of $138,000. {said}".rstrip()
        + " The score is then 90%: a yes, 15 points past the line."
    )


@pytest.mark.parametrize(
    ("number", "short"),
    [(1174.2857, "1,174"), (123456.78, "123,457"), (0.00123456, "0.001235"), (-2.34567, "−2.346")],
)
def test_a_result_without_declared_decimals_is_rounded_for_people(number, short):
    cost = sl.Derived("cost", "loan / 3", unit="points")
    route = words.Route((), (), (words.Move(cost, 1.0, number),))
    assert route.consequence == f"That makes cost {short} points."
