"""Credit card clients in Taiwan, as the paper's authors cleaned the table."""

from __future__ import annotations

import pandas as pd
import pytest
from tests.datasets.parts import digest

from stepladder import datasets
from stepladder.datasets import credit_default

NEVER = ["SEX", "MARRIAGE", "AGE"]


@pytest.fixture(scope="module")
def dataset(real):
    return datasets.load("credit_default", real)


def test_rows_and_base_rate(dataset):
    assert dataset.rows.shape == (30_000, 23)
    assert 1 - dataset.labels.mean() == pytest.approx(0.2212, abs=5e-5)
    assert (dataset.rows.dtypes == "int64").all()


def test_cleaning(dataset, real):
    raw = pd.read_csv(real / "credit_default.csv.gz")
    rows = dataset.rows
    assert rows.iloc[0].tolist()[:12] == [20_000, 2, 2, 1, 24, 2, 2, 0, 0, 0, 0, 3913]
    assert rows[[f"PAY_{month}" for month in range(1, 7)]].min().min() == 0
    assert (rows["PAY_1"] == raw["PAY_0"].clip(lower=0)).all()
    assert sorted(rows["EDUCATION"].unique()) == [1, 2, 3, 4, 5]
    assert (rows["EDUCATION"] == 5).sum() == raw["EDUCATION"].isin([0, 5, 6]).sum()
    assert (dataset.labels == 1 - raw["default payment next month"]).all()


def test_schema(dataset):
    schema = dataset.schema
    assert schema is credit_default.SCHEMA
    assert [f.name for f in schema.features if f.change == "never"] == NEVER
    assert [f.name for f in schema.features if f.change == "increase"] == ["EDUCATION"]
    assert [f.name for f in schema.features if f.kind == "categorical"] == ["SEX", "MARRIAGE"]
    assert schema["EDUCATION"].levels == (5, 4, 3, 2, 1)
    assert schema["MARRIAGE"].levels == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("seed", "first", "train", "test"),
    [
        (0, [15925, 10062, 19376, 6384], "adcd12705ea6b95b", "583f0be802f1ac35"),
        (9, [9467, 9249, 736, 27636], "8f490367efff79a2", "404d86f9bc86f0bb"),
    ],
)
def test_split(dataset, seed, first, train, test):
    split = dataset.split(seed)
    assert split.train[:4].tolist() == first
    assert [len(part) for part in split] == [21_000, 4_500, 4_500]
    assert (digest(split.train), digest(split.test)) == (train, test)


def test_the_copy_on_openml(dataset, real, openml):
    frame = pd.read_csv(real / "credit_default.csv.gz").drop(columns="ID")
    frame.columns = [*(f"x{number}" for number in range(1, 24)), "y"]
    openml(42477, frame)
    copy = datasets.load("credit_default")
    pd.testing.assert_frame_equal(copy.rows, dataset.rows, check_exact=True)
    assert (copy.labels == dataset.labels).all()
