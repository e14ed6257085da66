"""DiCE: four searches of dice-ml under a person's own constraints, and one without any."""

from __future__ import annotations

import pickle
import random
import sys
from importlib.metadata import version

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
import stepladder.methods
from stepladder.errors import ExtraError, ModelError, ParameterError
from stepladder.methods.dice import ALGORITHMS, DiCE, rescaled

pytest.importorskip("dice_ml")
torch = pytest.importorskip("torch")

OLD = int(version("dice-ml").split(".")[1]) < 12
"""Older ones search for sparser rows in whole numbers only; ours does as the newer ones do."""

SPACE = sl.Space.fit(bank.SCHEMA, bank.TRAIN)


def network(space: sl.Space = SPACE, frame: pd.DataFrame = bank.TRAIN) -> torch.nn.Module:
    """A small module that scores points nearly as the bank does."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(space.width, 1), torch.nn.Sigmoid())
    points = torch.tensor(space.encode(frame), dtype=torch.float32)
    scores = torch.tensor(bank.score(bank.TRAIN)[:, None], dtype=torch.float32)
    optimiser = torch.optim.Adam(net.parameters(), lr=0.1)
    for _ in range(80):
        optimiser.zero_grad()
        torch.nn.functional.binary_cross_entropy(net(points), scores).backward()
        optimiser.step()
    return net


NET = network()


def fitted(algorithm: str = "random", **settings: object) -> DiCE:
    limits = {"genetic": 20, "gradient": 60}
    settings = {"paths": 2, "samples": 200, "iterations": limits.get(algorithm), **settings}
    method = DiCE(algorithm=algorithm, **settings)  # type: ignore[arg-type]
    return method.fit(bank.TRAIN, sl.encoded(NET), space=SPACE, goal=bank.GOAL)


def rejected(method: DiCE, count: int = 3) -> pd.DataFrame:
    scores = method.scorer_.score(SPACE.read(bank.PEOPLE))
    return bank.PEOPLE[~method.scorer_.met(scores)].iloc[:count]


def broken(result: sl.Recourse, people: pd.DataFrame, locked: tuple[str, ...] = ()) -> set[str]:
    """The features whose rules the paths break."""
    names = list(bank.SCHEMA.names)
    return {
        violation.feature
        for person, rows in result.paths.groupby("person")
        for violation in sl.Feasible.of(SPACE, people.loc[[person]], locked=locked).check(
            rows[names]
        )
    }


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[DiCE, pd.DataFrame, sl.Recourse]]:
    made = {name: fitted(name) for name in ALGORITHMS}
    people = {name: rejected(made[name], 2 if name == "gradient" else 3) for name in made}
    return {name: (made[name], people[name], made[name].recourse(people[name])) for name in made}


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_finds_rows_that_keep_the_rules_and_meet_the_goal(answers, algorithm):
    method, people, result = answers[algorithm]
    final = result.final
    reached = final[final["outcome"] == "reached"]
    assert len(reached) >= (1 if algorithm == "kdtree" else 2 * len(people) - 2)
    assert (reached["steps"] == 1).all()
    assert broken(result, people) == set()
    rows = reached[list(bank.SCHEMA.names)]
    np.testing.assert_allclose(method.scorer_.score(SPACE.read(rows)), reached["score"], atol=1e-6)
    assert (reached["score"] >= bank.GOAL.threshold).all()
    assert result.settings["algorithm"] == algorithm


def test_a_row_of_the_tree_is_a_row_of_the_table():
    method = fitted("kdtree", sparsity=0)
    people = bank.TRAIN.iloc[:30].assign(age=40)
    method.fit(people, sl.encoded(NET), space=SPACE, goal=bank.GOAL)
    final = method.recourse(people).final
    reached = final[final["outcome"] == "reached"]
    assert len(reached) > 5
    rows = reached[list(bank.SCHEMA.names)].set_index("income")
    same = people.set_index("income").loc[rows.index]  # no two people earn the same
    np.testing.assert_allclose(rows.pop("savings"), same.pop("savings"), atol=1e-5)
    pd.testing.assert_frame_equal(rows, same)


@pytest.mark.parametrize("algorithm", ["random", "genetic"])
def test_locked_features_stay_as_they_are(algorithm):
    method = fitted(algorithm)
    people = rejected(method)
    result = method.recourse(people, locked=["income", "job"])
    assert broken(result, people, ("income", "job")) == set()
    assert not {"income", "job", "age"} & set(result.changes["feature"])


@pytest.mark.parametrize("algorithm", ["random", "kdtree", "genetic"])
def test_who_can_become_nothing_else_is_unreachable_for_dices_own_reason(algorithm):
    method = fitted(algorithm, iterations=3 if algorithm == "genetic" else None)
    people = rejected(method, 1)
    everything = [name for name in bank.SCHEMA.names if name != "age"]
    result = method.recourse(people, locked=everything)
    assert (result.final["outcome"] == "unreachable").all()
    assert "need to be varied" in result.status["reason"].iloc[0]
    worst = people.assign(age=20, income=0, debt=9000.0, savings=-4.0)
    result = method.recourse(worst, locked=[name for name in everything if name != "owner"])
    assert (result.final["outcome"] == "unreachable").all()
    assert "DiCE" in result.status["reason"].iloc[0]


@pytest.mark.parametrize("algorithm", ["random", "genetic", "gradient"])
def test_the_same_seed_gives_the_same_rows_whoever_else_is_asked_about(answers, algorithm):
    _, people, result = answers[algorithm]
    alone = fitted(algorithm).recourse(people.iloc[1:2]).final
    before = result.final[result.final["person"] == people.index[1]]
    pd.testing.assert_frame_equal(alone, before.reset_index(drop=True))


def test_another_seed_gives_other_rows():
    people = rejected(fitted())
    first, second = (fitted(random_state=seed).recourse(people).final for seed in (0, 1))
    assert not first["score"].equals(second["score"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_nothing_is_printed_and_no_global_generator_moves(algorithm, capfd):
    np.random.seed(4)  # noqa: NPY002
    random.seed(4)
    torch.manual_seed(4)
    method = fitted(algorithm, iterations=2 if algorithm in ("genetic", "gradient") else None)
    method.recourse(rejected(method, 1))
    drawn = (np.random.random(), random.random(), float(torch.rand(1)))  # noqa: NPY002
    np.random.seed(4)  # noqa: NPY002
    random.seed(4)
    torch.manual_seed(4)
    assert drawn == (np.random.random(), random.random(), float(torch.rand(1)))  # noqa: NPY002
    assert capfd.readouterr() == ("", "")


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # dice-ml's own calls of pandas
@pytest.mark.parametrize("made", [DiCE, DiCE.published], ids=["rows", "points"])
def test_random_sampling_on_arrays_finds_the_very_rows_that_dice_ml_finds(made, monkeypatch):
    from stepladder.methods import dice_library as library

    monkeypatch.setattr(library, "SEARCH_STEPS", 100)  # the library takes a millisecond for each
    method = made(paths=3).fit(bank.TRAIN, sl.encoded(NET), space=SPACE, goal=bank.GOAL)
    method.samples = 150
    declared, names = method.declared_, method.declared_.names
    data = library.Data(declared, 0.9)  # so wide that numbers are moved back
    score = method.scorer_.score if method.checked else method.scorer_.score_points
    theirs = library.Random(data, library.Asked(declared, score))
    moved = 0
    for i in range(3):
        person = sl.Feasible.of(SPACE, rejected(method).iloc[[i]])
        start = person.start[0] if method.checked else SPACE.to_points(person.start)[0]
        if not method.checked:
            vary, low, high = np.arange(len(start)), *declared.ends
        else:
            vary, low, high = method._permitted(person)
        meets = method._meets(person, method.scorer_)
        found = method._sampled(start, vary, low, high, i, meets)
        ours = library.sparser(declared, found, start, data.reach, meets)
        moved += int((ours != found).sum())
        whole = declared.decimals == 0
        limits = {
            names[c]: declared.shown(c, range(declared.levels[c]))
            if declared.levels[c]
            else [int(low[c]), int(high[c])]
            if whole[c]
            else [low[c], high[c]]
            for c in vary
        }
        np.random.seed(i)  # noqa: NPY002
        random.seed(i)
        answer = theirs.generate_counterfactuals(
            declared.frame(start[None]),
            total_CFs=3,
            desired_class=1,
            features_to_vary=[names[c] for c in vary],
            permitted_range=limits,
            stopping_threshold=bank.GOAL.threshold,
            posthoc_sparsity_param=0.9,
            sample_size=method.samples,
            limit_steps_ls=100,
        )
        rows = answer.cf_examples_list[0]
        np.testing.assert_array_equal(found, declared.array(rows.final_cfs_df))
        if not OLD:
            sparse = declared.array(rows.final_cfs_df_sparse)
            np.testing.assert_array_equal(ours, sparse)
    assert moved


def test_numbers_near_the_persons_own_move_back_as_far_as_the_goal_allows():
    from stepladder.methods.dice_library import Declared, sparser

    declared = Declared(np.array([[0.0, 0.0], [9.0, 9.0]]), np.array([0, 0]), np.array([1, 0]))
    start, row = np.array([0.0, 5.0]), np.array([[1.0, 8.0]])
    moved = sparser(declared, row, start, [(0, 2.0), (1, 2.0)], lambda rows: rows[:, 0] >= 0.45)
    np.testing.assert_allclose(moved, [[0.5, 8.0]])  # the second is too far away to be moved
    free = sparser(declared, row, start, [(1, 4.0)], lambda rows: rows[:, 0] >= 0.45)
    np.testing.assert_allclose(free, [[1.0, 5.0]])


def test_published_passes_no_constraint_and_its_points_are_left_as_they_are():
    method = DiCE.published(paths=3).fit(bank.TRAIN, sl.encoded(NET), space=SPACE, goal=bank.GOAL)
    people = rejected(method, 12)
    result = method.recourse(people)
    assert (result.final["outcome"] == "reached").all()
    assert result.dropped == 0
    assert result.settings["method"] == "DiCE.published"
    assert {"age", "income"} <= broken(result, people)  # ages change, incomes have fractions
    with pytest.raises(ParameterError, match="locked"):
        method.recourse(people, locked=["income"])


def test_a_time_budget_ends_between_people(monkeypatch):
    method = fitted()
    people = rejected(method, 4)
    now, found = [0.0], method._found

    def found_in_a_second(*asked):
        now[0] += 1.0
        return found(*asked)

    monkeypatch.setattr(method, "_found", found_in_a_second)
    monkeypatch.setattr("stepladder.methods.pace.time.monotonic", lambda: now[0])
    outcomes = method.recourse(people, time_budget=2.5).status["outcome"].tolist()
    assert outcomes == ["reached", "reached", "timed_out", "timed_out"]
    assert now == [3.0]  # who would be fourth isn't looked at


@pytest.mark.parametrize(
    "goal",
    [sl.Goal(0.3), sl.Goal(0.9), sl.Goal(0.5, desired=0), sl.Goal.between(0.6, 0.7)],
    ids=str,
)
def test_any_goal_is_met_though_dice_rewrites_low_thresholds(goal):
    for algorithm in ("random", "genetic"):
        method = DiCE(2, algorithm, samples=300, iterations=30)
        method.fit(bank.TRAIN, sl.encoded(NET), space=SPACE, goal=goal)
        final = method.recourse(rejected(method, 2)).final
        assert "reached" in set(final["outcome"])
        met = goal.met(final["score"].to_numpy())
        assert (met == (final["outcome"] == "reached")).all()


def test_rescaled_scores_reach_one_half_where_the_goal_is_met():
    scores = np.linspace(0, 1, 101)
    for goal in (sl.Goal(0.2), sl.Goal(0.5), sl.Goal(1.0), sl.Goal.between(0.3, 0.6)):
        shares = rescaled(goal, scores, spread=0.3)
        np.testing.assert_array_equal(shares >= 0.5, goal.met(scores))
        assert (shares >= 0).all()
        assert (shares <= 1).all()
    np.testing.assert_allclose(rescaled(sl.Goal(0.5), scores, 0.3), scores)


def test_the_gradient_takes_a_module_of_numbers_and_a_range():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(80, 2)), columns=["a", "b"])
    rows["c"] = 5.0 + rows["a"]
    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b", change="never"), sl.Numeric("c")])
    net = torch.nn.Linear(3, 1)
    with torch.no_grad():
        net.weight[:] = torch.tensor([[1.0, 1.0, 1.0]])
        net.bias[:] = 0.0
    method = DiCE(2, "gradient", iterations=80)
    method.fit(rows, net, schema=schema, goal=sl.Goal.between(7.0, None))
    people = rows[rows.sum(axis=1) < 6].iloc[:1]
    final = method.recourse(people).final
    reached = final[final["outcome"] == "reached"]
    assert len(reached)
    assert (reached[["a", "b", "c"]].sum(axis=1) >= 7.0).all()
    assert (reached["b"] == people["b"].iloc[0]).all()
    assert net.weight.grad is None
    assert net.weight.requires_grad


def test_the_gradient_reaches_for_any_of_several_classes():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 2)), columns=["a", "b"])
    schema = sl.Schema([sl.Numeric("a"), sl.Numeric("b")])
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Softmax(dim=1))
    with torch.no_grad():
        net[0].weight[:] = torch.tensor([[2.0, 2.0], [-2.0, -2.0], [1.0, 1.0]])
        net[0].bias[:] = 0.0
    method = DiCE(2, "gradient", iterations=80)
    method.fit(rows, net, schema=schema, goal=sl.Goal(0.8, desired=[2, 0]))
    people = rows[rows.sum(axis=1) < -1].iloc[:1]
    final = method.recourse(people).final
    reached = final[final["outcome"] == "reached"]
    assert len(reached)
    with torch.no_grad():
        answer = net(torch.tensor(reached[["a", "b"]].to_numpy(), dtype=torch.float32)).numpy()
    np.testing.assert_allclose(reached["score"], answer[:, 0] + answer[:, 2], atol=1e-6)


def test_the_gradient_says_what_it_cant_differentiate():
    with pytest.raises(ModelError, match='"random", "genetic" or "kdtree"'):
        DiCE(algorithm="gradient").fit(bank.TRAIN, bank.score, schema=bank.SCHEMA, goal=bank.GOAL)


def test_a_raw_model_is_asked_about_the_rows_people_see():
    method = DiCE(2, samples=100).fit(bank.TRAIN, bank.score, schema=bank.SCHEMA, goal=bank.GOAL)
    bank.assert_sound(method.recourse(bank.REJECTED.iloc[:4]), bank.REJECTED)


def test_a_level_that_the_table_lacks_is_no_obstacle():
    for algorithm in ("random", "kdtree", "genetic"):
        method = fitted(algorithm)
        method.fit(
            bank.TRAIN[bank.TRAIN["job"] != "nurse"], sl.encoded(NET), space=SPACE, goal=bank.GOAL
        )
        people = rejected(method, 2).assign(job="nurse")
        assert broken(method.recourse(people), people) == set()


@pytest.mark.parametrize("algorithm", ["random", "kdtree", "genetic"])
def test_a_fitted_method_can_be_pickled(algorithm):
    method = fitted(algorithm)
    people = rejected(method, 1)
    again = pickle.loads(pickle.dumps(method))
    pd.testing.assert_frame_equal(again.recourse(people).final, method.recourse(people).final)


def test_dice_ml_that_is_absent_is_asked_for(monkeypatch):
    monkeypatch.setitem(sys.modules, "dice_ml", None)
    for name in [name for name in sys.modules if name.startswith("dice_ml.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "stepladder.methods.dice_library", raising=False)
    monkeypatch.delattr(stepladder.methods, "dice_library", raising=False)
    with pytest.raises(ExtraError, match=r"stepladder\[baselines\]"):
        fitted()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paths": 0}, "paths"),
        ({"algorithm": "greedy"}, "random, genetic, kdtree, gradient"),
        ({"sparsity": 1.5}, "quantile"),
        ({"sparsity": -0.1}, "sparsity"),
        ({"samples": 2.5}, "samples"),
        ({"iterations": 0}, "iterations"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_odd_settings_are_refused_by_name(settings, said):
    with pytest.raises(ParameterError, match=said):
        DiCE(**settings)


def test_a_method_says_what_it_is():
    assert repr(DiCE(2, "kdtree")) == "DiCE(paths=2, algorithm='kdtree')"
    assert repr(DiCE.published(random_state=3)) == "DiCE.published(random_state=3)"
