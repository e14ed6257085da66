"""No row and no step of any method breaks a rule, of all the rules there are, mixed.

They are checked twice: by the library's own `Feasible.check`, and by hand in `ruled.broken`.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tests.contract import made, ruled
from tests.contract.test_same_answer import assert_same

import stepladder as sl
from stepladder.errors import SchemaError
from stepladder.methods.dice import DiCE

UNCHECKED = [name for name in made.METHODS if name not in made.HONOURING]
STEPS = ["step", made.ONCE, made.PER_DIRECTION]
LEAST_REACHED = {"face": 0.5, "cchvae": 0.2, "mim": 0.5}
"""What share of people gets somewhere, where it isn't most of them."""

honouring = pytest.mark.parametrize("name", made.HONOURING)


def paths(result: sl.Recourse) -> list[pd.DataFrame]:
    grouped = result.paths.groupby(["person", "path"], sort=False)
    return [rows.reset_index(drop=True) for _, rows in grouped]


@honouring
def test_there_is_something_to_be_judged(name):
    reached = ruled.answer(name).status["outcome"] == "reached"
    assert reached.mean() >= LEAST_REACHED.get(name, 0.8)


@honouring
def test_no_row_and_no_step_breaks_a_rule(name):
    assert [wrong for rows in paths(ruled.answer(name)) for wrong in ruled.broken(rows)] == []


@honouring
def test_the_library_finds_no_broken_rule_either(name):
    for person, rows in ruled.answer(name).paths.groupby("person"):
        feasible = sl.Feasible.of(
            ruled.SPACE,
            ruled.PEOPLE.loc[[person]],
            locked=ruled.LOCKED.get(person, ()),
            limits={person: ruled.LIMITS[person]} if person in ruled.LIMITS else None,
        )
        assert feasible.check(rows[ruled.COLUMNS]) == []


@honouring
def test_what_single_people_cannot_do_is_not_asked_of_them(name):
    rows = ruled.answer(name).paths
    for person, locked in ruled.LOCKED.items():
        own = rows[rows["person"] == person]
        assert (own[locked] == ruled.PEOPLE.loc[person, locked]).all(axis=None)
    for person, limits in ruled.LIMITS.items():
        own, today = rows[rows["person"] == person], ruled.PEOPLE.loc[person]
        if "loan" in limits:
            assert (own["loan"] >= limits["loan"][0]).all()
            assert (own["studies"] != "master").all() or today["studies"] == "master"
        else:
            assert (own["income"] <= limits["income"][1]).all()


@honouring
def test_a_path_is_reached_if_the_model_and_the_policy_say_yes_of_its_last_row(name):
    final = ruled.answer(name).final
    assert (ruled.is_yes(final) == (final["outcome"] == "reached")).all()
    rows = ruled.answer(name).paths
    np.testing.assert_allclose(rows["score"], ruled.model(rows), rtol=0, atol=1e-12)


@honouring
def test_a_path_begins_with_the_very_row_of_the_person(name):
    rows = ruled.answer(name).paths
    first = rows[(rows["step"] == 0) & (rows["path"] == 0)].set_index("person")
    pd.testing.assert_frame_equal(
        first[ruled.COLUMNS], ruled.PEOPLE, check_names=False, check_exact=True, check_dtype=False
    )


@pytest.mark.parametrize("name", [n for n in made.HONOURING if n in made.REPEATABLE])
def test_alone_or_in_a_batch(name):
    together, method = ruled.answer(name), ruled.fitted(name)
    for i in (0, 3, 9):
        alone = method.recourse(ruled.PEOPLE.iloc[[i]])
        assert_same(alone.routes, [together.routes[i]])


@pytest.mark.parametrize("algorithm", ["kdtree", "genetic"])
def test_the_other_searches_of_dice_work_out_what_follows_too(algorithm):
    method = DiCE(2, algorithm, iterations=20).fit(
        ruled.TRAIN, ruled.model, goal=ruled.GOAL, space=ruled.SPACE
    )
    result = method.recourse(ruled.PEOPLE.iloc[[0, 8, 9]])
    assert (result.status["outcome"] == "reached").sum() >= 2
    assert [wrong for rows in paths(result) for wrong in ruled.broken(rows)] == []


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("name", STEPS)
def test_no_path_changes_more_than_it_may(name, most):
    method = ruled.fit(ruled.method(name, max_changes=most))
    result = method.recourse(ruled.PEOPLE)
    assert [wrong for rows in paths(result) for wrong in ruled.broken(rows, most)] == []
    assert (result.status["outcome"] == "reached").mean() > (0.2 if most == 1 else 0.5)
    assert result.settings["max_changes"] == most


@honouring
def test_a_gap_is_a_value_to_those_who_say_so_and_an_outcome_to_the_rest(name):
    method = ruled.fitted(name)
    result = method.recourse(ruled.LACKING)
    assert [wrong for rows in paths(result) for wrong in ruled.broken(rows)] == []
    wanted = "reached" if method.takes_gaps else "missing_value"
    assert (result.status["outcome"] == wanted).all()
    assert result.paths["savings"].isna().all()


# ---- who knows no rules says so -----------------------------------------------------------------

PLAIN = sl.Schema([sl.Numeric("a"), sl.Categorical("b", levels=["x", "y", "z"])])
FRAME = pd.DataFrame({"a": np.arange(9.0), "b": list("xyzxyzxyz")})


@pytest.mark.parametrize("name", UNCHECKED)
@pytest.mark.parametrize(
    ("schema", "policy", "said"),
    [
        ([sl.Derived("a", "1 + 2"), sl.Numeric("c")], (), "'a' is derived"),
        ([sl.Numeric("a", change="time"), sl.Numeric("c")], (), "'a' changes with time"),
        ([sl.Numeric("a", reach=3)], (), "'a' has reach"),
        ([sl.Numeric("a", multiple=2)], (), "'a' has multiple"),
        ([sl.Numeric("a", at_once=True)], (), "'a' has at_once"),
        ([sl.Categorical("b", levels=["x", "y", "z"], not_to=["z"])], (), "'b' has not_to"),
        ([sl.Categorical("b", moves={"x": ["y"]})], (), "'b' has moves"),
        ([sl.Numeric("a")], ("a <= 8",), "the policy is a <= 8"),
        (sl.Schema([sl.Numeric("a")], require=["a <= 9"]), (), "the schema requires a <= 9"),
    ],
)
def test_a_published_method_refuses_what_it_does_not_know_in_one_sentence(
    name, schema, policy, said
):
    schema = schema if isinstance(schema, sl.Schema) else sl.Schema(schema)
    frame = FRAME.assign(c=FRAME["a"])
    with pytest.raises(SchemaError, match="knows no rules but which way a feature may") as caught:
        made.METHODS[name]().fit(
            frame, lambda rows: np.full(len(rows), 0.9), schema=schema, goal=sl.Goal(policy=policy)
        )
    assert said in str(caught.value)
    assert "such as sl.StEP()" in str(caught.value)


@pytest.mark.parametrize("name", UNCHECKED)
def test_what_breaks_no_row_is_no_reason_to_refuse(name):
    """How long a change takes and how hard it is only say something of a path that is found."""
    schema = sl.Schema(
        [
            sl.Numeric("a", months=3, difficulty=2),
            sl.Categorical("b", levels=["x", "y", "z"], fill=True),
        ]
    )
    method = made.METHODS[name]()
    method.fit(FRAME, lambda rows: (rows["a"] / 8).to_numpy(float), schema=schema)
    assert len(method.recourse(FRAME.head(1)).final) == method.paths


def test_many_rules_are_not_all_listed():
    with pytest.raises(SchemaError, match=r"'ltv' is derived, 'income' has reach and \d+ more"):
        ruled.fit(sl.StEP.published())
