"""Why not: the fewest rules in the way, held against trying every set of rules by hand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from tests.contract import ruled as contract
from tests.methods import bank
from tests.methods.cases import Case, cases

import stepladder as sl
from stepladder.errors import NotFittedError, ParameterError
from stepladder.methods.step import why
from stepladder.methods.step.why import why_not

NO_ROUTE = "No route was found among the changes that are possible here."

# ---- against brute force ----------------------------------------------------------------------

Rules = frozenset[tuple[str, str]]
"""(feature, kind) of each rule."""


def all_rules(case: Case) -> Iterator[tuple[str, str]]:
    for feature in case.schema.features:
        name = feature.name
        if feature.change == "never":
            yield name, "never"
        elif name in case.locked:
            yield name, "locked"
        if feature.change == "increase":
            yield name, "fall"
        if feature.change == "decrease":
            yield name, "rise"
        if feature.kind == "numeric" and feature.bounds[0] is not None:
            yield name, "below"
        if feature.kind == "numeric" and feature.bounds[1] is not None:
            yield name, "above"


def relaxed(case: Case, rules: Rules) -> Case:
    """The same case without some rules."""
    features = []
    for feature in case.schema.features:
        name, kinds = feature.name, {kind for named, kind in rules if named == feature.name}
        said = feature.settings
        if kinds & {"never", "fall", "rise"}:
            said.pop("change")
        if feature.kind == "numeric":
            low, high = feature.bounds
            low, high = None if "below" in kinds else low, None if "above" in kinds else high
            said["bounds"] = (low, high)
        features.append(type(feature)(name, **said))
    locked = tuple(
        name for name in case.locked if not {(name, "locked"), (name, "never")} & set(rules)
    )
    return replace(case, schema=sl.Schema(features), locked=locked)


def smallest(case: Case, person: int, most: int) -> set[Rules]:
    """Every set of rules of the smallest size that opens a route; none if it's above `most`."""
    rules = list(all_rules(case))
    for size in range(1, most + 1):
        tried = [frozenset(chosen) for chosen in combinations(rules, size)]
        found = {chosen for chosen in tried if relaxed(case, chosen).reachable(person).any()}
        if found:
            return found
    return set()


@st.composite
def harder(draw: st.DrawFn, case: Case) -> Case:
    """The same with more locks and a model that accepts a few reference rows alone, to the digit.

    It then takes several rules at once to open a route.
    """
    rows = case.reference.dropna()
    assume(len(rows) > 0)
    chosen = draw(st.sets(st.integers(0, len(rows) - 1), min_size=1, max_size=3))
    accepted = {tuple(row) for row in rows.iloc[sorted(chosen)].to_numpy(object).tolist()}

    def model(frame: pd.DataFrame) -> np.ndarray:
        rows = frame[list(case.schema.names)].to_numpy(object).tolist()
        return np.array([float(tuple(row) in accepted) for row in rows])

    locked = draw(st.sets(st.sampled_from(case.schema.names)))
    return replace(case, model=model, locked=tuple(sorted(locked)), labels=None)


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_the_smallest_sets_of_rules_are_those_that_trying_all_finds(data):
    case = data.draw(cases(most_rows=25))
    if data.draw(st.booleans()):
        case = data.draw(harder(case))
    count = len(case.positives)
    assume(count > 0)
    step = sl.StEP(min(2, count), clusterer=KMeans(n_init=1), max_steps=3000)
    step.fit(case.reference, case.model, schema=case.schema, goal=case.goal, labels=case.labels)
    status = step.recourse(case.people, locked=case.locked).status
    for person in np.flatnonzero(status["outcome"] == "unreachable")[:2]:
        answer = why_not(step, case.people.iloc[[person]], locked=case.locked)
        found = {
            frozenset((rule.feature.name, rule.kind.value) for rule in opening.rules)
            for opening in answer.openings
        }
        assert len(found) == len(answer.openings)
        assert str(answer).startswith(NO_ROUTE)
        expected = smallest(case, person, most=3)
        if any(len(rules) > 3 for rules in found):
            assert not expected
        else:
            assert found <= expected
            single = all(len(rules) == 1 for rules in expected)
            most = len(expected) if single else why.SHOWN
            assert len(found) == min(len(expected), most)
            assert ("other ways" in answer.note) == (len(expected) > most)


# ---- in words ---------------------------------------------------------------------------------

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", integer=True, bounds=(0, 3000), unit="$ a month"),
        sl.Numeric("other_debts", integer=True, change="decrease", unit="$"),
        sl.Numeric("age", integer=True, change="never"),
        sl.Categorical("bankruptcy", levels=["no", "yes"], change="never"),
        sl.Ordinal("marital", levels=["a", "b", "c"], change="never", label="marital status"),
    ]
)
SINGLE = {"other_debts": 60}, {"bankruptcy": "no"}, {"income": 4000}, {"marital": "b"}
"""What one rule each forbids."""
TODAY = {"income": 1000, "other_debts": 50, "age": 30, "bankruptcy": "yes", "marital": "a"}


def asked(*accepted: dict, locked: tuple[str, ...] = (), **options: int) -> why.WhyNot:
    """Why someone of `TODAY` has no route where only these others are accepted, as they are."""
    people = [{**TODAY, **other} for other in accepted]
    spread = [{"income": 0, "other_debts": 0, "age": 90}, {"income": 2999, "other_debts": 99}]
    train = pd.DataFrame([*people, *({**TODAY, **other} for other in spread)])

    def model(frame: pd.DataFrame) -> np.ndarray:
        rows = frame[list(TODAY)].to_dict("records")
        return np.array([float(row in people) for row in rows])

    step = sl.StEP(1).fit(train, model, schema=SCHEMA)
    return why_not(step, TODAY, locked=locked, **options)


@pytest.mark.parametrize(
    ("other", "locked", "said"),
    [
        ({"age": 40}, (), "with age other than 30"),
        ({"bankruptcy": "no"}, (), "with “no” for bankruptcy"),
        ({"marital": "c", "age": 31}, (), "with age other than 30 and marital status other than a"),
        ({"other_debts": 60}, (), "if other debts could also rise"),
        ({"income": 4000}, (), "if income could go above $3,000 a month"),
        ({"income": -10}, (), "if income could go below $0 a month"),
        ({"income": 2000}, ("income",), "if income could change after all"),
        (
            {"income": 2000, "other_debts": 40},
            ("income", "other_debts"),
            "if income and other debts could change after all",
        ),
        (
            {"income": 4000, "age": 31, "other_debts": 60},
            (),
            "with age other than 30, and if income could go above $3,000 a month, and if other "
            "debts could also rise",
        ),
        (
            {"age": 40},
            ("age",),
            "with age other than 30",
        ),  # a lock on what can't change adds nothing
    ],
)
def test_what_would_have_to_give_is_said_plainly(other, locked, said):
    assert str(asked(other, locked=locked)) == f"{NO_ROUTE} There would be one {said}."


# ---- every other rule -------------------------------------------------------------------------

RULED = sl.Schema(
    [
        sl.Derived("ratio", "loan / price", decimals=2),
        sl.Numeric("income", integer=True, reach="30%", unit="$ a month"),
        sl.Numeric("loan", multiple=10, unit="$"),
        sl.Numeric("price", change="never"),
        sl.Categorical("account", levels=["none", "basic", "plus"], not_to=["plus"]),
        sl.Ordinal("grade", levels=[1, 2, 3, 4], moves={1: [], 2: [3]}),
        sl.Numeric("age", change="time"),
        sl.Numeric("savings", integer=True, months=30),
    ],
    require=["savings <= 400", "loan <= price"],
)
NOW = {
    "income": 1000.0,
    "loan": 300.0,
    "price": 400.0,
    "account": "none",
    "grade": 2,
    "age": 30.0,
    "savings": 100.0,
}
POLICY = sl.Goal(policy=["ratio <= 0.9"])


def ruled(
    today: dict, *others: dict, blind: tuple[str, ...] = ("age",), **settings: object
) -> tuple[sl.StEP, pd.DataFrame]:
    """A method by which only these others are accepted, and the row of somebody today.

    The model is `blind` to some of it.
    """
    rows = pd.DataFrame([{**NOW, **other} for other in ({}, *others)])
    varied = {name: [0.0, 9.0] for name in ("income", "loan", "age", "savings")}
    varied = pd.concat([rows[:1]] * 2).assign(**varied, grade=[1, 4])
    train = pd.concat([rows, varied], ignore_index=True)
    train["ratio"] = (train["loan"] / train["price"]).round(2)

    def model(frame: pd.DataFrame) -> np.ndarray:
        rows = frame[seen].to_dict("records")
        return np.array([float(row in yes) for row in rows])

    seen = [name for name in NOW if name not in blind]
    yes = [{name: {**NOW, **other}[name] for name in seen} for other in others]
    step = sl.StEP(1, **settings)  # type: ignore[arg-type]
    step.fit(train, model, schema=RULED, goal=POLICY)
    person = pd.DataFrame([{**NOW, **today}])
    return step, person.assign(ratio=(person["loan"] / person["price"]).round(2))


@pytest.mark.parametrize(
    ("today", "other", "settings", "said"),
    [
        ({}, {"income": 1500.0}, {}, "if income could go further from today's value"),
        ({}, {"account": "plus"}, {}, "if account could move to other levels"),
        ({"grade": 1}, {"grade": 3}, {}, "if grade could move to other levels"),
        ({}, {"savings": 500.0}, {}, "if “savings <= 400” weren't required"),
        (
            {},
            {"savings": 500.0, "income": 1500.0},
            {},
            "if income could go further from today's value, and if “savings <= 400” weren't "
            "required",
        ),
        (
            {},
            {"loan": 370.0, "price": 600.0},
            {"blind": ("age", "price")},
            "\n- if “ratio <= 0.9” weren't needed for a yes, or\n- with price other than 400",
        ),
        (
            {},
            {"income": 1100.0, "loan": 200.0},
            {"max_changes": 1},
            "if more than 1 thing could change",
        ),
        ({"savings": np.nan}, {"savings": 200.0}, {}, "if savings could be filled in"),
        ({}, {"price": 500.0}, {}, "with price other than 400"),
    ],
)
def test_every_kind_of_rule_is_named_if_it_is_in_the_way(today, other, settings, said):
    step, person = ruled(today, other, **settings)
    assert step.recourse(person).status["outcome"][0] == "unreachable"
    one = "one" if said.startswith("\n") else "one "
    assert str(why_not(step, person)) == f"{NO_ROUTE} There would be {one}{said}."


def test_a_rule_that_is_not_in_the_way_is_not_named():
    step, person = ruled({}, {"income": 1100.0, "loan": 200.0})
    assert str(why_not(step, person)) == "There is a route already."
    assert "loan" not in str(why_not(step, person, locked=["income"]))


def opened(schema: sl.Schema, goal: sl.Goal, opening: why.Opening) -> tuple[sl.Schema, sl.Goal]:
    """A schema and a goal without some rules, by hand."""
    features = {feature.name: feature for feature in schema.features}
    require, policy = list(schema.require), list(goal.policy)
    for rule in opening.rules:
        if rule.kind == "required":
            require.remove(rule.text)
        elif rule.kind == "policy":
            policy.remove(rule.text)
        elif rule.feature is not None:
            old = features[rule.feature.name]
            bounds = getattr(old, "bounds", (None, None))
            features[old.name] = old.but(
                **{
                    "never": {"change": "any", "fill": True},
                    "gap": {"fill": True},
                    "reach": {"reach": None},
                    "moves": {"moves": None, "not_to": ()},
                    "fall": {"change": "any"},
                    "rise": {"change": "any"},
                    "below": {"bounds": (None, bounds[1])},
                    "above": {"bounds": (bounds[0], None)},
                }.get(rule.kind, {})
            )
    return sl.Schema(features.values(), require), replace(goal, policy=tuple(policy))


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_is_named_opens_a_route_once_it_is_relaxed(data):
    """Random people and a model that accepts a few rows alone, under all rules at once."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    table = contract.table(40, seed=int(rng.integers(1000)))
    wanted = table.iloc[rng.choice(len(table), data.draw(st.integers(1, 4)), replace=False)]
    names = ["loan", "income", "account", "studies", "savings", "price"]
    seen = data.draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    yes = {tuple(row) for row in wanted[seen].to_numpy(object).tolist()}

    def model(frame: pd.DataFrame) -> np.ndarray:
        return np.array([float(tuple(row) in yes) for row in frame[seen].to_numpy(object).tolist()])

    schema, goal = (
        contract.SCHEMA,
        sl.Goal(policy=data.draw(st.sampled_from([(), ("ltv <= 0.7",)]))),
    )
    assume((model(table).astype(bool) & (~(table["ltv"] > 0.7) | (not goal.policy))).any())
    most = data.draw(st.sampled_from([None, None, 1, 2]))
    locked = data.draw(st.lists(st.sampled_from(contract.CHOSEN), max_size=2, unique=True))
    own = {"income": (None, 60)} if data.draw(st.booleans()) else {}

    def fitted(schema: sl.Schema, goal: sl.Goal, most: int | None) -> sl.StEP:
        return sl.StEP(1, max_changes=most, max_steps=500).fit(
            table, model, schema=schema, goal=goal
        )

    step, people = fitted(schema, goal, most), contract.table(6, seed=int(rng.integers(1000)))
    limits = dict.fromkeys(people.index, own)
    status = step.recourse(people, locked=locked, limits=limits).status
    for person in status.loc[status["outcome"] == "unreachable", "person"][:1]:
        row = people.loc[[person]]
        for opening in why_not(step, row, locked=locked, limits=own, most_rows=8_000).openings:
            kinds = {rule.kind.value: rule for rule in opening.rules}
            relaxed = fitted(*opened(schema, goal, opening), None if "changes" in kinds else most)
            unlocked = {
                r.feature.name for r in opening.rules if r.kind in ("locked", "never") and r.feature
            }
            unlimited = {
                r.feature.name
                for r in opening.rules
                if r.kind in ("limited", "never") and r.feature
            }
            result = relaxed.recourse(
                row,
                locked=[name for name in locked if name not in unlocked],
                limits={person: {n: ends for n, ends in own.items() if n not in unlimited}},
            )
            wanted = ("reached", "step_limit", "already_positive")
            assert result.status["outcome"][0] in wanted, str(opening)


def test_two_ways_are_listed_and_the_softer_rule_comes_first():
    assert str(asked({"age": 40}, {"other_debts": 60})) == (
        f"{NO_ROUTE} There would be one\n"
        "- if other debts could also rise, or\n"
        "- with age other than 30."
    )


def test_every_single_rule_that_would_do_is_told():
    others = {"age": 40}, {"other_debts": 60}, {"bankruptcy": "no"}, {"income": 4000}
    answer = asked(*others)
    assert str(answer) == (
        f"{NO_ROUTE} There would be one\n"
        "- if income could go above $3,000 a month, or\n"
        "- if other debts could also rise, or\n"
        "- with age other than 30, or\n"
        "- with “no” for bankruptcy."
    )


def test_a_person_is_told_what_never_changes_only_if_nothing_else_would_do():
    answer = asked({"age": 40}, {"other_debts": 60}).for_the_person()
    assert [str(opening) for opening in answer.openings] == ["if other debts could also rise"]
    answer = asked({"age": 40}, {"bankruptcy": "no"}).for_the_person()
    assert len(answer.openings) == 2


def test_of_more_than_three_ways_of_several_rules_three_are_told():
    answer = asked(*({"age": 40, **other} for other in SINGLE))
    assert len(answer.openings) == 3
    assert all(len(opening.rules) == 2 for opening in answer.openings)
    assert str(answer).endswith("“no” for bankruptcy.\nThere are other ways like these.")


def test_a_rule_that_opens_soon_leaves_rows_for_the_others(monkeypatch):
    monkeypatch.setattr(why, "BATCH", 1)
    monkeypatch.setattr(why, "LEAST_EFFORT", 1)
    fillers = [{"other_debts": 60 + i, "income": 100 * i} for i in range(8)]
    answer = asked({"age": 40}, *fillers, most_rows=len(fillers))
    assert [str(opening) for opening in answer.openings] == [
        "if other debts could also rise",
        "with age other than 30",
    ]


def test_the_smallest_set_is_told_even_if_larger_ones_come_first():
    answer = asked({"age": 40, "other_debts": 60}, {"bankruptcy": "no"})
    assert [str(opening) for opening in answer.openings] == ["with “no” for bankruptcy"]


def test_a_cap_on_the_effort_is_said_when_it_is_hit():
    others = [{"age": 40, "other_debts": 60, "income": 4000}]
    answer = asked(*others, most_rows=1)
    assert answer.openings == ()
    assert answer.note == "Which rules are in the way wasn't found out: there was too much to try."
    answer = asked(*others, most_rows=400)
    assert answer.note.startswith("It would take at least 2 rules at once. Which rules are in")
    answer = asked({"age": 40}, {"other_debts": 60}, most_rows=1)
    assert [str(opening) for opening in answer.openings] == ["if other debts could also rise"]
    assert answer.note == "There may be other ways like these: there was too much to try."


def test_who_has_a_route_or_needs_none_is_told_so():
    step = bank.fitted()
    happy = bank.PEOPLE[bank.score(bank.PEOPLE) >= bank.GOAL.threshold].iloc[0]
    assert str(why_not(step, happy)) == "Nothing needs to change: this is a yes already."
    assert str(why_not(step, bank.REJECTED.iloc[0])) == "There is a route already."


def test_rows_that_only_rounding_spoils_are_no_matter_of_rules():
    schema = sl.Schema([sl.Numeric("a", integer=True)])
    train = pd.DataFrame({"a": [0.0, 1.0, 2.5]})
    step = sl.StEP(1).fit(train, lambda f: (f["a"] == 2.5).to_numpy(float), schema=schema)
    answer = why_not(step, {"a": 0.0})
    assert answer.openings == ()
    assert answer.note == "No change of the rules was found that would open one."


def test_a_private_method_tells_nothing_of_its_reference_rows():
    budget = sl.Budget(1.0, 1e-6)
    free, fixed = sl.Numeric("a", typical=(0, 4)), sl.Numeric("b", change="never", typical=(0, 4))
    train = pd.DataFrame({"a": [0.0, 1.0, 2.0, 4.0], "b": [0.0, 1.0, 2.0, 4.0]})
    step = sl.StEP(1, privacy=sl.PayPerDirection(budget, steps=5))
    step.fit(train, lambda frame: (frame["b"] > 1).to_numpy(float), schema=sl.Schema([free, fixed]))
    spent = budget.entries()
    answer = why_not(step, train.iloc[0])
    assert answer.openings == ()
    assert "private" in answer.reason
    assert budget.entries() == spent  # asking cost nothing


def test_what_can_not_be_asked_is_refused_with_a_way_out():
    with pytest.raises(ParameterError, match=r"published .* Ask with sl\.StEP\(\)\."):
        why_not(bank.fitted(sl.StEP.published()), bank.REJECTED.iloc[0])
    with pytest.raises(ParameterError, match=r"asks a fitted sl\.StEP; got 'step'"):
        why_not("step", bank.REJECTED.iloc[0])  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="most_rows must be a whole number of at least 1"):
        why_not(bank.fitted(), bank.REJECTED.iloc[0], most_rows=0)
    with pytest.raises(NotFittedError):
        why_not(sl.StEP(), bank.REJECTED.iloc[0])


def test_no_answer_holds_jargon():
    answers = [asked({"age": 40}), asked({"other_debts": 60}), asked({"age": 40}, most_rows=1)]
    for answer in answers:
        assert not re.search(r"positive|cluster|encod|threshold|class|feature", str(answer))
