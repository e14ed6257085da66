"""The census of 1994, as the paper's authors cleaned the table."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.datasets.parts import digest

from stepladder import datasets
from stepladder.datasets import adult

NEVER = ["age", "marital-status", "relationship", "race", "sex", "native-country"]
TEXTS = ["workclass", "occupation", *NEVER[1:]]


@pytest.fixture(scope="module")
def dataset(real):
    return datasets.load("adult", real)


@pytest.fixture
def raw(real):
    return pd.read_csv(real / "adult.csv.gz")


def test_rows_and_base_rate(dataset, raw):
    assert dataset.rows.shape == (45_222, 12)
    assert dataset.labels.sum() == 11_208
    assert len(raw) == 48_842
    assert (raw["income"] == ">50K").mean() == pytest.approx(0.2393, abs=5e-5)


def test_cleaning(dataset, raw):
    whole = raw.dropna().reset_index(drop=True)
    assert (dataset.labels == (whole["income"] == ">50K")).all()
    kept = whole.drop(columns=["income", "education", "fnlwgt"])
    pd.testing.assert_frame_equal(dataset.rows, kept)


def test_schema(dataset):
    schema = dataset.schema
    assert schema is adult.SCHEMA
    assert [f.name for f in schema.features if f.change == "never"] == NEVER
    assert [f.name for f in schema.features if f.change == "increase"] == ["education-num"]
    assert {f.name for f in schema.features if f.kind == "categorical"} == set(TEXTS)
    assert len(schema["native-country"].levels) == 41
    assert schema["sex"].levels == ("Female", "Male")


@pytest.mark.parametrize(
    ("seed", "first", "train", "test"),
    [
        (0, [10300, 39302, 2666, 17989], "723ce7f85e8f442a", "a9f4fc6f201aa842"),
        (9, [21087, 4588, 38739, 28663], "28ec519e2b15b1eb", "57c280d01980b4b9"),
    ],
)
def test_split(dataset, seed, first, train, test):
    split = dataset.split(seed)
    assert split.train[:4].tolist() == first
    assert [len(part) for part in split] == [31_655, 6_783, 6_784]
    assert (digest(split.train), digest(split.test)) == (train, test)


def test_the_copy_on_openml_has_the_test_file_first(dataset, raw, openml):
    frame = pd.concat([raw.iloc[32_561:], raw.iloc[:32_561]]).rename(columns={"income": "class"})
    assert frame.iloc[0].tolist()[:3] == [25, "Private", 226_802]  # UCI's adult.test begins so
    openml(1590, frame)
    copy = datasets.load("adult")
    pd.testing.assert_frame_equal(copy.rows, dataset.rows, check_exact=True)
    assert (copy.labels == dataset.labels).all()
