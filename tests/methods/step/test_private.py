"""StEP with a guarantee: both ways of paying, from `fit` to the row a person sees."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.errors import (
    BudgetError,
    ExtraError,
    ModelError,
    ParameterError,
    ResultError,
    SchemaError,
)
from stepladder.kernels.direction import directions
from stepladder.methods import pace
from stepladder.methods.pace import Pace
from stepladder.methods.step.per_direction import Enquiry
from stepladder.privacy import mechanism

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), typical=(10_000, 90_000), integer=True),
        sl.Numeric("debt", bounds=(0, 9_000), decimals=2, change="decrease"),
        sl.Numeric("savings", typical=(-2, 2)),
        *bank.SCHEMA.features[3:],
    ]
)
TRAIN = bank.table(4000)
REJECTED = bank.REJECTED
CENTRES = (made := bank.table(500, seed=99))[bank.score(made) > 0.8].iloc[:3]
"""Public rows: of another table."""


def fitted(privacy: object, **settings: object) -> sl.StEP:
    step = sl.StEP(privacy=privacy, **settings)  # type: ignore[arg-type]
    return step.fit(TRAIN, bank.score, schema=SCHEMA, goal=bank.GOAL)


def budget(epsilon: float = 1.0, **settings: object) -> sl.Budget:
    return sl.Budget(epsilon, 1e-6, **settings)  # type: ignore[arg-type]


@pytest.fixture
def silent(monkeypatch):
    """Sums come out as they are, so that what is computed can be compared."""
    monkeypatch.setattr(mechanism, "with_noise", lambda sums, spread: sums.astype(float))


# ---- paid once ----------------------------------------------------------------------------------


def test_a_bare_budget_is_spent_once_and_then_answers_anyone():
    money = budget()
    step = fitted(money)
    first, second = step.recourse(REJECTED), step.recourse(REJECTED)
    for result in (first, second):
        bank.assert_sound(result, REJECTED)
        assert (result.final["outcome"] == "reached").mean() > 0.95
        assert result.privacy.cost == 0
        assert result.privacy.statement.left == pytest.approx(0, abs=1e-6)
        assert (result.privacy.way, result.privacy.neighbours) == ("once", "add_or_remove")
    pd.testing.assert_frame_equal(first.final, second.final)
    assert money.statement.releases == 4


def test_a_second_fit_is_refused_before_anything_is_drawn(monkeypatch):
    money = budget()
    fitted(money)

    def draws(*_):
        raise AssertionError("noise was drawn")

    monkeypatch.setattr(mechanism, "with_noise", draws)
    with pytest.raises(BudgetError, match="Nothing is left to spend"):
        fitted(money)
    with pytest.raises(BudgetError, match="would cost"):
        fitted(sl.PayOnce(money, epsilon=0.5))


def test_part_of_a_budget_leaves_the_rest():
    money = budget(1.0)
    step = fitted(sl.PayOnce(money, epsilon=0.5))
    assert money.statement.spent == pytest.approx(0.5, abs=1e-6)
    assert step.recourse(REJECTED).privacy.statement.left == pytest.approx(0.5, abs=1e-6)


def test_made_up_rows_are_like_the_positives():
    step = fitted(budget(100.0))
    positives = TRAIN[bank.score(TRAIN) >= bank.GOAL.threshold]
    made_up = step.space_.to_frame(step.reference_.values)
    for name in ("income", "debt", "savings"):
        assert made_up[name].mean() == pytest.approx(positives[name].mean(), rel=0.1, abs=0.15)
        assert made_up[name].std() == pytest.approx(positives[name].std(), rel=0.3)
    for name in ("education", "job", "owner"):
        shares, real = (f[name].value_counts(normalize=True) for f in (made_up, positives))
        assert (shares - real).abs().max() < 0.1
    assert step.space_.read(made_up).shape == (2048, len(SCHEMA))


def test_a_saved_reference_set_is_used_again_for_nothing(tmp_path):
    file, ledger = tmp_path / "facts.json", tmp_path / "ledger"
    first = fitted(sl.PayOnce(sl.Budget(1, 1e-6, ledger=ledger), saved=file))
    again = fitted(sl.PayOnce(sl.Budget.open(ledger), saved=file))
    assert sl.Budget.open(ledger).statement.releases == 4
    pd.testing.assert_frame_equal(first.recourse(REJECTED).final, again.recourse(REJECTED).final)


def test_a_saved_reference_set_is_known_again_by_a_goal_of_several_classes(tmp_path):
    goal = sl.Goal(bank.GOAL.threshold, desired=["approved", "partly"])
    money = budget()
    for _ in range(2):
        step = sl.StEP(privacy=sl.PayOnce(money, saved=tmp_path / "facts.json"))
        step.fit(TRAIN, bank.score, schema=SCHEMA, goal=goal)
    assert money.statement.releases == 4


def test_a_saved_reference_set_is_paid_for_by_a_budget_that_has_not(tmp_path):
    file = tmp_path / "facts.json"
    fitted(sl.PayOnce(budget(), saved=file))
    fresh = budget()
    assert fitted(sl.PayOnce(fresh, saved=file)).recourse(REJECTED).privacy.statement == (
        fresh.statement
    )
    assert fresh.statement.spent == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(BudgetError):
        fitted(sl.PayOnce(budget(0.5), saved=file))


def test_a_reference_set_of_another_schema_is_refused(tmp_path):
    file = tmp_path / "facts.json"
    fitted(sl.PayOnce(budget(), saved=file))
    other = sl.Schema([sl.Numeric("income", bounds=(0, 1e5), integer=True), *SCHEMA.features[1:]])
    with pytest.raises(ResultError, match="another schema"):
        sl.StEP(privacy=sl.PayOnce(budget(), saved=file)).fit(
            TRAIN, bank.score, schema=other, goal=bank.GOAL
        )
    for pay, what in (
        (sl.PayOnce(budget(neighbours="replace_one"), saved=file), "neighbours"),
        (sl.PayOnce(budget(5.0), epsilon=0.1, saved=file), "epsilon"),
        (sl.PayOnce(budget(), centres=7, saved=file), "number of centres"),
    ):
        with pytest.raises(ResultError, match=f"another {what}"):
            fitted(pay)
        assert pay.budget.statement.releases == 0
    with pytest.raises(ResultError, match="another schema or goal"):
        sl.StEP(privacy=sl.PayOnce(budget(), saved=file)).fit(
            TRAIN, bank.score, schema=SCHEMA, goal=sl.Goal(threshold=0.8)
        )


def test_a_reference_set_that_could_not_be_saved_is_not_paid_for(tmp_path):
    money = budget()
    with pytest.raises(ResultError, match="Nothing was spent"):
        fitted(sl.PayOnce(money, saved=tmp_path / "nowhere" / "facts.json"))
    assert money.statement.releases == 0


def test_a_file_that_is_no_reference_set_is_named(tmp_path):
    file = tmp_path / "facts.json"
    file.write_text("{}")
    with pytest.raises(ResultError, match=r"facts\.json.* isn't a private reference set"):
        fitted(sl.PayOnce(budget(), saved=file))


# ---- paid per direction -------------------------------------------------------------------------


def test_each_step_of_all_paths_is_one_release():
    money = budget(50.0)
    step = fitted(sl.PayPerDirection(money, steps=40), max_steps=10)
    assert money.statement.releases == 4  # the centres
    result = step.recourse(REJECTED.iloc[:4])
    bank.assert_sound(result, REJECTED.iloc[:4])
    assert (result.final["outcome"] == "reached").mean() > 0.9
    spent = result.privacy.statement
    assert 4 < spent.releases <= 4 + 4 * 10
    multiplier = money.entries()[-1].multiplier
    assert result.privacy.cost == pytest.approx(money.cost(multiplier, spent.releases - 4))


def test_public_centres_cost_nothing():
    money = budget()
    fitted(sl.PayPerDirection(money, centres=CENTRES))
    assert money.statement.releases == 0
    with pytest.raises(ParameterError, match="expected 3, got 2"):
        fitted(sl.PayPerDirection(budget(), centres=CENTRES.iloc[:2]))


@pytest.mark.parametrize("paths", [1, 3])
def test_three_directions_cost_what_one_does(paths):
    money = budget()
    step = fitted(sl.PayPerDirection(money, centres=CENTRES.iloc[:paths]), paths=paths)
    step.walk(REJECTED.iloc[[0]]).directions()
    assert money.statement.releases == 1
    assert money.statement.spent == pytest.approx(money.cost(money.multiplier(queries=10), 1))


def test_the_steps_paid_for_are_those_asked_for():
    money = budget()
    step = fitted(sl.PayPerDirection(money, steps=3, centres=CENTRES))
    walk = step.walk(REJECTED.iloc[[0]])
    for row in range(3):
        walk.observe(REJECTED.iloc[[row]])
        walk.directions()
    assert money.statement.spent == pytest.approx(1.0, abs=1e-6)
    walk.observe(REJECTED.iloc[[4]])
    with pytest.raises(BudgetError, match="Nothing was spent"):
        walk.directions()
    assert money.statement.releases == 3


def test_without_noise_a_direction_is_that_of_the_kernel(silent):
    step = fitted(sl.PayPerDirection(budget(), centres=CENTRES))
    person = sl.Feasible.of(step.space_, REJECTED.iloc[[0]])
    enquiry = Enquiry(step.planner, step.reference_.held, person, step.scorer_)
    here = step.space_.encode(REJECTED.iloc[[0]])[:, step.space_.changeable]
    found = enquiry.directions(np.repeat(here, 3, axis=0), Pace(1, False, None))
    positives, clusters = enquiry.positives
    exact = directions(here[0], positives, sl.Unit(), clusters=clusters)
    np.testing.assert_allclose(found, exact, atol=1e-9 * len(TRAIN))


def test_only_positives_the_person_could_become_are_asked():
    step = fitted(sl.PayPerDirection(budget(), centres=CENTRES))
    person = sl.Feasible.of(step.space_, REJECTED.iloc[[0]])
    enquiry = Enquiry(step.planner, step.reference_.held, person, step.scorer_)
    rows = np.clip(step.reference_.held.values, *person.limits)
    reachable = step.scorer_.score(rows) >= bank.GOAL.threshold
    assert 0 < len(enquiry.positives[0]) == reachable.sum() < len(rows)


def test_a_row_outside_the_declared_range_counts_as_its_end():
    far = TRAIN.assign(savings=TRAIN["savings"] * 5)
    step = sl.StEP(privacy=sl.PayPerDirection(budget(), centres=CENTRES))
    step.fit(far, bank.score, schema=SCHEMA, goal=bank.GOAL)
    assert np.abs(step.reference_.held.values[:, SCHEMA.position("savings")]).max() == 2


def test_a_paid_path_asks_for_no_change_that_the_goal_does_not_need(silent):
    names, people = list(SCHEMA.names), REJECTED.iloc[:3]
    step = fitted(sl.PayPerDirection(budget(9.0), steps=60, centres=CENTRES))
    final = step.recourse(people).final
    assert (final["outcome"] == "reached").all()
    for _, end in final.iterrows():
        start, row = people.loc[end["person"], names], end[names]
        changed = [name for name in names if start[name] != row[name]]
        without = pd.DataFrame([{**row, name: start[name]} for name in changed])
        assert (bank.score(without) < bank.GOAL.threshold).all()


def test_a_budget_that_runs_out_keeps_what_was_paid_for():
    money = budget(0.2)
    step = fitted(sl.PayPerDirection(money, steps=2, centres=CENTRES), max_steps=10)
    result = step.recourse(REJECTED.iloc[:6])
    bank.assert_sound(result, REJECTED.iloc[:6])
    assert money.statement.releases == 2
    first, last = result.status.iloc[0], result.status.iloc[-1]
    assert first["outcome"] == "reached"
    assert last["outcome"] == "stalled"
    assert last["reason"] == "the privacy budget is used up, so no direction was asked for"
    with pytest.raises(BudgetError):
        step.recourse(REJECTED.iloc[:1])


def test_a_direction_that_is_heard_leads_to_the_goal(silent):
    step = fitted(sl.PayPerDirection(budget(9.0), steps=60, centres=CENTRES))
    routes = step.recourse(REJECTED.iloc[:3]).routes
    assert {path.reason for paths in routes for path in paths} == {"meets the goal"}


def test_a_direction_that_drowns_is_followed_by_nobody():
    step = fitted(sl.PayPerDirection(sl.Budget(0.001, 1e-6), centres=CENTRES, steps=30))
    result = step.recourse(REJECTED.iloc[:3])
    bank.assert_sound(result, REJECTED.iloc[:3])
    reached = result.final["outcome"] == "reached"
    assert reached.mean() > 0.5
    reasons = [path.reason for routes in result.routes for path in routes]
    assert all("the model alone" in said for said, ok in zip(reasons, reached, strict=True) if ok)


def test_a_lost_path_keeps_its_aim_and_asks_no_more(silent):
    def both(frame):
        return 1 / (1 + np.exp(-frame.clip(upper=1).sum(axis=1)))

    names = ["income", "savings"]
    schema = sl.Schema([sl.Numeric(name, typical=(-2, 2)) for name in names])
    train = pd.DataFrame(np.random.default_rng(5).normal(size=(400, 2)), columns=names)
    centres, person = train.iloc[:1], pd.DataFrame([[-1.5, -1.5]], columns=names)
    money = sl.Budget(0.001, 1e-6)
    step = sl.StEP(paths=1, step_size=0.25, privacy=sl.PayPerDirection(money, centres=centres))
    step.fit(train, both, schema=schema, goal=sl.Goal(0.8))
    result = step.recourse(person)
    assert result.status["outcome"].tolist() == ["reached"]
    assert result.final["steps"].min() > 4
    assert money.statement.releases == 1


def test_lost_paths_go_different_ways():
    step = fitted(sl.PayPerDirection(sl.Budget(0.001, 1e-6), centres=CENTRES, steps=30))
    ends = step.recourse(REJECTED.iloc[:4]).final
    different = ends.groupby("person")[list(SCHEMA.names)].apply(lambda f: len(f.drop_duplicates()))
    assert (different > 1).all()


# ---- walks --------------------------------------------------------------------------------------


def test_a_walk_pays_for_a_step_when_it_is_asked_for_and_never_for_a_look():
    money = budget()
    step = fitted(sl.PayPerDirection(money, centres=CENTRES))
    walk = step.walk(REJECTED.iloc[[0]])
    repr(walk)
    assert walk.privacy.statement.releases == 0
    offers = walk.directions()
    assert walk.directions() == offers
    assert walk.privacy.statement.releases == 1
    assert walk.privacy.cost == pytest.approx(money.statement.spent)
    assert all(offer.changes for offer in offers)
    walk.take(offers[0].path)
    walk.directions()
    assert money.statement.releases == 1 + (not walk.done)


def test_a_paid_walk_reaches_the_goal():
    step = fitted(sl.PayPerDirection(budget(5.0), centres=CENTRES))
    walk = step.walk(REJECTED.iloc[[2]])
    while not walk.done:
        walk.take(walk.directions()[0].path)
    assert bank.score(walk.row)[0] >= bank.GOAL.threshold


def test_a_resumed_walk_does_not_pay_again():
    money = budget()
    step = fitted(sl.PayPerDirection(money, centres=CENTRES))
    walk = step.walk(REJECTED.iloc[[0]])
    offers = walk.directions()
    again = step.resume(walk.to_json())
    assert [str(offer) for offer in again.directions()] == [str(offer) for offer in offers]
    assert money.statement.releases == 1
    assert again.privacy.cost == walk.privacy.cost > 0


BEGIN = """
import json, sys
import numpy as np, pandas as pd, stepladder as sl

def model(frame):
    return 1 / (1 + np.exp((20 + frame["debt"] - frame["income"]) / 3))

def fitted(steps=6):
    random = np.random.default_rng(0)
    rows = {"income": random.normal(30, 8, 400), "debt": random.uniform(1, 20, 400)}
    features = [sl.Numeric("income", bounds=(0, 60)), sl.Numeric("debt", bounds=(0, 30))]
    budget = sl.Budget(3, 1e-6, ledger="ledger")
    step = sl.StEP(privacy=sl.PayPerDirection(budget, steps=steps, saved="facts.json"))
    return step.fit(pd.DataFrame(rows), model, schema=sl.Schema(features), goal=sl.Goal(0.6))

def told(step, walk):
    offers = [str(offer) for offer in walk.directions()]
    noise, where = step.reference_.held.multiplier, step.reference_.held.clusters.tolist()
    print(json.dumps([walk.to_json(), offers, noise, where, walk.privacy.cost]))

"""


def elsewhere(program: str, folder, given: str = ""):
    """What a process of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", BEGIN + program],
        input=given,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_walk_resumed_in_another_process_does_not_pay_for_its_centres_again(tmp_path):
    begin = "step = fitted(); told(step, step.walk({'income': 10.0, 'debt': 18.0}))"
    text, offers, *about = elsewhere(begin, tmp_path)
    assert [entry.count for entry in sl.Budget.open(tmp_path / "ledger").entries()] == [4, 1]
    resume = "step = fitted(); told(step, step.resume(sys.stdin.read()))"
    assert elsewhere(resume, tmp_path, text) == [text, offers, *about]
    money = sl.Budget.open(tmp_path / "ledger")
    assert [entry.count for entry in money.entries()] == [4, 1]
    # A step more is as noisy as the first, and the last of them uses the budget up.
    more = (
        "step = fitted(); walk = step.resume(sys.stdin.read())\n"
        "for income in range(10, 15):\n"
        "    walk.observe({'income': float(income), 'debt': 17.0}); walk.directions()\n"
        "told(step, walk)"
    )
    elsewhere(more, tmp_path, text)
    assert {entry.multiplier for entry in money.entries()[1:]} == {about[0]}
    assert money.statement.left == pytest.approx(0, abs=1e-6)
    # What was paid for can be looked at even then.
    assert elsewhere(resume, tmp_path, text)[:2] == [text, offers]


def test_centres_kept_in_a_file_are_paid_for_by_a_budget_that_has_not(tmp_path):
    file = tmp_path / "facts.json"
    first = fitted(sl.PayPerDirection(budget(), saved=file))
    again = budget(2.0)
    step = fitted(sl.PayPerDirection(again, saved=file))
    assert (step.reference_.held.clusters == first.reference_.held.clusters).all()
    assert again.statement.releases == 4
    assert step.reference_.held.multiplier == pytest.approx(
        again.multiplier(share=again.rest, queries=10)
    )
    spent = budget()
    fitted(sl.PayOnce(spent, saved=tmp_path / "all.json"))
    with pytest.raises(BudgetError, match="Nothing is left to spend"):
        fitted(sl.PayPerDirection(spent, saved=tmp_path / "all.json"))


def test_public_centres_leave_nothing_to_save(tmp_path):
    with pytest.raises(ParameterError, match=r"public centres cost nothing\. Leave out saved"):
        sl.PayPerDirection(budget(), centres=CENTRES, saved=tmp_path / "facts.json")


def test_a_walk_on_a_private_reference_set_costs_nothing():
    step = fitted(budget())
    walk = step.walk(REJECTED.iloc[[0]])
    assert "paid" not in json.loads(walk.to_json())
    assert any(offer.reaches_goal for offer in walk.directions())
    assert walk.privacy.cost == 0
    assert (
        sl.StEP()
        .fit(TRAIN, bank.score, schema=SCHEMA, goal=bank.GOAL)
        .walk(REJECTED.iloc[[0]])
        .privacy
        is None
    )


# ---- end to end ---------------------------------------------------------------------------------


def test_the_scale_is_the_schemas_own():
    space = fitted(budget()).space_
    assert space.public
    assert (space.center[0], space.scale[0]) == (50_000, 20_000)


def test_a_space_learned_from_the_table_is_refused():
    with pytest.raises(ParameterError, match="fitted on a table"):
        sl.StEP(privacy=budget()).fit(
            TRAIN, bank.score, space=sl.Space.fit(SCHEMA, TRAIN), goal=bank.GOAL
        )
    space = sl.Space.from_schema(SCHEMA, TRAIN)
    assert sl.StEP(privacy=budget()).fit(TRAIN, bank.score, space=space).space_ is space


def test_a_feature_without_a_public_range_is_refused_by_name():
    with pytest.raises(SchemaError, match=r"'income'.*'savings'"):
        sl.StEP(privacy=budget()).fit(TRAIN, bank.score, schema=bank.SCHEMA, goal=bank.GOAL)


@pytest.mark.parametrize("pay", [sl.PayOnce, sl.PayPerDirection])
def test_a_table_without_positives_gives_itself_away_by_nothing(pay):
    nobody = TRAIN[bank.score(TRAIN) < 0.4]
    step = sl.StEP(privacy=pay(budget())).fit(nobody, bank.score, schema=SCHEMA, goal=bank.GOAL)
    bank.assert_sound(step.recourse(REJECTED.iloc[:2]), REJECTED.iloc[:2])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": sl.Power(2)}, r"Power\(degree=2\) can't be used privately"),
        ({"alpha": sl.Volcano(degree=0.5)}, r"Volcano\(degree=0.5, cutoff=0.5\) can't be used"),
        ({"spare_clusters": 2}, "spare_clusters=2 plans from reference rows"),
    ],
)
@pytest.mark.parametrize("pay", [sl.PayOnce, sl.PayPerDirection])
def test_what_looks_at_the_rows_unpaid_is_refused(pay, settings, said):
    with pytest.raises(ParameterError, match=said):
        sl.StEP(privacy=pay(budget()), **settings)


@pytest.mark.parametrize("settings", [{"clusterer": "random"}, {"distance": "mahalanobis"}])
def test_what_a_paid_direction_cannot_do_is_refused_by_name(settings):
    with pytest.raises(ParameterError, match=f"{next(iter(settings))}="):
        sl.StEP(privacy=sl.PayPerDirection(budget()), **settings)
    fitted(budget(), **settings).recourse(REJECTED.iloc[:1])


def test_what_is_no_budget_is_refused():
    with pytest.raises(ParameterError, match=r"sl\.Budget\(epsilon, delta\)"):
        sl.StEP(privacy=1.0)
    for pay in (sl.PayOnce, sl.PayPerDirection):
        with pytest.raises(ParameterError, match=pay.__name__):
            pay(1.0)
    with pytest.raises(ParameterError, match="steps"):
        sl.PayPerDirection(budget(), steps=0)
    with pytest.raises(ParameterError, match="centres"):
        sl.PayOnce(budget(), centres=0)
    with pytest.raises(ParameterError, match=r"centres must be a frame .* no column 'debt'"):
        fitted(sl.PayPerDirection(budget(), centres=CENTRES.drop(columns="debt")))
    assert sl.PayPerDirection(money := budget(), steps=np.int64(5)) == sl.PayPerDirection(money, 5)


@pytest.mark.parametrize("given", [{"cost": "distance"}, {"holds": 0.9}], ids=["cost", "holds"])
def test_what_chooses_among_ends_is_refused_where_each_direction_is_paid_for(given):
    with pytest.raises(ParameterError, match=f"{next(iter(given))}=.*has no ends to choose from"):
        sl.StEP(privacy=sl.PayPerDirection(budget()), **given)


@pytest.fixture
def noted(monkeypatch):
    """What happens, in order: each spend, and how wide the noise of each draw is."""
    happened, draw, spend = [], mechanism.with_noise, sl.Budget.spend

    def drawn(sums, spread):
        happened.append(("draw", spread))
        return draw(sums, spread)

    def spent(money, *about, **more):
        happened.append(("spend", about[0]))
        return spend(money, *about, **more)

    monkeypatch.setattr(mechanism, "with_noise", drawn)
    monkeypatch.setattr(sl.Budget, "spend", spent)
    return happened


@pytest.mark.parametrize("pay", [sl.PayOnce, sl.PayPerDirection])
@pytest.mark.parametrize(("neighbours", "times"), [("add_or_remove", 1), ("replace_one", 2)])
def test_every_draw_is_paid_before_and_as_wide_as_its_neighbours_need(
    noted, pay, neighbours, times
):
    step = fitted(pay(budget(neighbours=neighbours)))
    walk = step.walk(REJECTED.iloc[[0]])
    assert walk.directions()
    assert walk.privacy.neighbours == neighbours
    multiplier = noted[0][1]
    # Six columns counted; sums are in units of their bound. Where rows count, squares add up.
    widths = [math.sqrt(6 * times), *[math.sqrt(times)] * 3]
    expected = [("spend", multiplier), *(("draw", multiplier * w) for w in widths)]
    if pay is sl.PayPerDirection:
        expected += [("spend", each := noted[5][1]), ("draw", each * times)]
    assert [what for what, _ in noted] == [what for what, _ in expected]
    assert [size for _, size in noted] == pytest.approx([size for _, size in expected])


def test_the_guarantee_is_saved_and_says_what_it_leaves_out(tmp_path):
    result = fitted(budget()).recourse(REJECTED)
    result.save(tmp_path / "plan.json")
    loaded = sl.Recourse.load(tmp_path / "plan.json")
    assert loaded.privacy == result.privacy
    assert loaded.space.public
    assert "the model, which was trained without this guarantee" in str(result.privacy)
    assert loaded.settings["privacy"]["pay"] == "once"


def test_people_far_outside_the_declared_range_get_there_too():
    far = REJECTED.iloc[:3].assign(savings=-900.0)
    result = fitted(budget()).recourse(far)
    bank.assert_sound(result, far)
    assert (result.final["outcome"] == "reached").all()


def test_one_budget_serves_many_threads():
    money = budget(5.0)
    step = fitted(sl.PayPerDirection(money, steps=100, centres=CENTRES), max_steps=3)

    def ask(person: int) -> float:
        return step.recourse(REJECTED.iloc[[person]]).privacy.cost

    with ThreadPoolExecutor(8) as pool:
        costs = list(pool.map(ask, range(12)))
    multiplier = money.entries()[0].multiplier
    price = {money.cost(multiplier, steps): steps for steps in (1, 2, 3)}
    assert sum(price[cost] for cost in costs) == money.statement.releases == len(money.entries())


# ---- what must not be told ------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_nothing_of_the_real_rows_is_left_in_a_method_that_paid_once(library, tmp_path):
    train = in_library(TRAIN, library)
    money = sl.Budget(1, 1e-6, ledger=tmp_path / "ledger")
    step = sl.StEP(privacy=money).fit(train, in_pandas, schema=SCHEMA, goal=bank.GOAL)
    assert step.recourse(in_library(REJECTED, library)).asked == {}
    result = step.recourse(in_library(REJECTED, library))
    del step.scorer_.model, step.scorer_._ask  # the model is a test's function, which can't be kept
    kept = pickle.dumps([step, result])
    within = TRAIN.loc[TRAIN["savings"].abs() < 2, "savings"].to_numpy()
    assert not any(value.tobytes() in kept for value in within[:500])
    assert step.counts_ == {"made_up": 2048}
    assert step.positives_ is None


def test_a_model_that_goes_by_the_tables_own_codes_is_refused_before_anything_is_paid():
    def coded(frame):
        return bank.score(frame) * (1 + frame["job"].cat.codes) / 3

    table = TRAIN.astype({"job": pd.CategoricalDtype(bank.JOBS[::-1])})
    money = budget()
    with pytest.raises(ModelError, match="'job' has other levels, or another order"):
        sl.StEP(privacy=money).fit(table, coded, schema=SCHEMA, goal=bank.GOAL)
    assert money.statement.releases == 0


def in_library(frame: pd.DataFrame, library: str):
    if library == "pandas":
        return frame
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.Table.from_pandas(frame, preserve_index=False)
    return pytest.importorskip("polars").from_arrow(table) if library == "polars" else table


def in_pandas(frame):
    return bank.score(frame if isinstance(frame, pd.DataFrame) else frame.to_pandas())


def test_a_model_that_fails_on_reference_rows_tells_nothing_of_them():
    def fails(frame):
        scores = bank.score(frame)
        return np.where((frame["owner"] & (frame["job"] == "smith")) & failing, np.nan, scores)

    failing = False
    step = sl.StEP(privacy=sl.PayPerDirection(budget(), centres=CENTRES))
    step.fit(TRAIN, fails, schema=SCHEMA, goal=bank.GOAL)
    failing = True
    person = REJECTED[~REJECTED["owner"]].iloc[[0]]
    feasible = sl.Feasible.of(step.space_, person)
    enquiry = Enquiry(step.planner, step.reference_.held, feasible, step.scorer_)
    enquiry.directions(np.zeros((3, 8)), Pace(1, False, None))
    rows = step.space_.to_frame(np.clip(step.reference_.held.values, *feasible.limits))
    unjudged = (rows["owner"] & (rows["job"] == "smith")).to_numpy()
    accepted = bank.score(rows) >= bank.GOAL.threshold
    assert len(enquiry.positives[0]) == (accepted & ~unjudged).sum() < accepted.sum()


def test_a_model_that_is_down_says_so_of_the_persons_own_row():
    down = False

    def model(frame):
        if down:
            raise OSError("no answer")
        return bank.score(frame)

    step = sl.StEP(privacy=sl.PayPerDirection(budget(), centres=CENTRES))
    step.fit(TRAIN, model, schema=SCHEMA, goal=bank.GOAL)
    feasible = sl.Feasible.of(step.space_, REJECTED.iloc[[0]])
    enquiry = Enquiry(step.planner, step.reference_.held, feasible, step.scorer_)
    down = True
    with pytest.raises(ModelError, match=str(REJECTED.iloc[0]["income"])) as caught:
        enquiry.directions(np.zeros((3, 8)), Pace(1, False, None))
    assert "rows together" not in str(caught.value)


# ---- nothing is paid for in vain ------------------------------------------------------------


class Refuses:
    """A clusterer that fails."""

    def fit_predict(self, points):
        raise RuntimeError("no clusters today")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"distance": {"typo": 2.0}}, sl.StepladderError),
        ({"clusterer": Refuses()}, RuntimeError),
    ],
)
def test_what_would_fail_after_paying_fails_before(settings, error):
    money = budget()
    with pytest.raises(error):
        fitted(money, **settings)
    assert money.statement.releases == 0


def test_too_few_rows_to_make_up_are_refused_at_once():
    with pytest.raises(ParameterError, match="fewer rows than the 3 paths"):
        sl.StEP(privacy=sl.PayOnce(budget(), rows=2))


def test_noise_that_is_not_installed_is_not_paid_for(monkeypatch):
    mechanism._gaussian.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    money = budget()
    with pytest.raises(ExtraError, match="opendp"):
        fitted(money)
    assert money.statement.releases == 0


def test_a_time_budget_holds_when_each_step_is_paid_for():
    step = fitted(sl.PayPerDirection(budget(50.0), steps=400, centres=CENTRES))
    result = step.recourse(pd.concat([REJECTED] * 20, ignore_index=True), time_budget=0.2)
    assert result.status["outcome"].iloc[-1] == "timed_out"
    assert step.privacy.budget.statement.releases < 200


def test_what_changes_nothing_about_a_walk_is_not_paid_for_again():
    money = budget()
    walk = fitted(sl.PayPerDirection(money, centres=CENTRES)).walk(REJECTED.iloc[[0]])
    assert walk.reason == "directions haven't been asked for from here"
    assert money.statement.releases == 0
    offers = walk.directions()
    walk.lock("age")
    walk.observe(REJECTED.iloc[[0]])
    assert walk.directions() == offers
    assert money.statement.releases == 1
    walk.lock(offers[0].changes[0].feature)
    walk.directions()
    assert money.statement.releases == 2


def test_a_resumed_paid_walk_knows_why_it_has_no_offers():
    def never(frame):
        return np.where(bank.score(frame) > 2, 0.9, 0.1)

    step = sl.StEP(privacy=sl.PayPerDirection(budget(), centres=CENTRES))
    step.fit(TRAIN, never, schema=SCHEMA, goal=bank.GOAL)
    walk = step.walk(REJECTED.iloc[[0]])
    assert walk.directions() == []
    assert walk.reason.startswith("the path ends at a score of 0.100: directions gave out")
    again = step.resume(walk.to_json())
    assert (again.reason, again.directions()) == (walk.reason, [])
    spoilt = json.loads(walk.to_json())
    spoilt["paid"]["releases"] = -3
    with pytest.raises(ResultError, match="number of releases"):
        step.resume(json.dumps(spoilt))


def test_the_settings_say_what_is_done():
    step = sl.StEP(privacy=sl.PayPerDirection(budget(), centres=CENTRES))
    assert step.settings["clusterer"] == "public centres"


@pytest.mark.parametrize("rows", [200, 400])
def test_what_is_spent_in_time_does_not_tell_how_many_positives_there_are(rows, monkeypatch):
    """A budget that would end while they're asked about: each is asked only once paid for."""
    now = [0.0]

    def slow(frame):
        now[0] += 1e-3 * len(frame)
        return in_pandas(frame)

    money = budget()
    monkeypatch.setattr(pace.time, "monotonic", lambda: now[0])
    pay = sl.PayPerDirection(money, centres=TRAIN.head(3))
    step = sl.StEP(privacy=pay).fit(TRAIN.head(rows), slow, schema=SCHEMA, goal=bank.GOAL)
    result = step.recourse(REJECTED.head(1), time_budget=0.05)
    assert money.statement.releases == 1
    assert set(result.final["outcome"]) == {"timed_out"}
