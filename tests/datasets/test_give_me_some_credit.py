"""Give Me Some Credit, as the paper's authors cleaned the table."""

from __future__ import annotations

import time

import pandas as pd
import pytest
from tests.datasets.parts import digest

from stepladder import datasets
from stepladder.datasets import give_me_some_credit


@pytest.fixture(scope="module")
def dataset(real):
    return datasets.load("give_me_some_credit", real)


@pytest.fixture
def raw(real):
    return pd.read_csv(real / "give_me_some_credit.csv.gz")


def test_rows_and_base_rate(dataset, raw):
    assert dataset.rows.shape == (120_269, 10)
    assert dataset.labels.sum() == 111_912
    assert len(raw) == 150_000
    assert raw["SeriousDlqin2yrs"].mean() == pytest.approx(0.0668, abs=5e-5)
    assert (dataset.rows.dtypes == "float64").sum() == 4
    assert (dataset.rows.dtypes == "int64").sum() == 6


def test_cleaning_keeps_every_whole_row_as_it_is(dataset, raw):
    whole = raw.dropna().reset_index(drop=True)
    assert (dataset.labels == 1 - whole.pop("SeriousDlqin2yrs")).all()
    pd.testing.assert_frame_equal(dataset.rows, whole, check_exact=True)


def test_schema(dataset):
    schema = dataset.schema
    assert schema is give_me_some_credit.SCHEMA
    assert [f.name for f in schema.features if f.change != "any"] == ["age"]
    assert schema["age"].change == "never"
    assert {f.kind for f in schema.features} == {"numeric"}


@pytest.mark.parametrize(
    ("seed", "first", "train", "test"),
    [
        (0, [19968, 6862, 9427, 22212], "8740465baf9f5865", "02be039270200523"),
        (9, [14235, 26302, 31796, 35423], "ffaf280cc5149c5c", "4b97633454c32a71"),
    ],
)
def test_split(dataset, seed, first, train, test):
    split = dataset.split(seed)
    assert split.train[:4].tolist() == first
    assert [len(part) for part in split] == [84_188, 18_040, 18_041]
    assert (digest(split.train), digest(split.test)) == (train, test)


def test_checking_150_000_rows_is_quick(real):
    def seconds() -> float:
        started = time.process_time()  # other tests run beside this one
        datasets.load("give_me_some_credit", real)
        return time.process_time() - started

    assert min(seconds() for _ in range(3)) < 1.5


def test_the_file_from_kaggle_is_taken_as_it_is(dataset, raw, tmp_path):
    raw.index += 1
    raw.to_csv(tmp_path / "give_me_some_credit.csv", na_rep="NA")  # its first column is nameless
    loaded = datasets.load("give_me_some_credit", tmp_path)
    pd.testing.assert_frame_equal(loaded.rows, dataset.rows, check_exact=True)


def test_the_copy_on_openml_is_put_in_order_again(dataset, raw, openml):
    """Shuffled and named as the script says that made the copy."""
    label = raw.pop("SeriousDlqin2yrs").map({1: "Yes", 0: "No"})
    frame = raw.assign(FinancialDistressNextTwoYears=label)
    openml(46929, frame.sample(frac=1, random_state=42).reset_index(drop=True))
    copy = datasets.load("give_me_some_credit")
    pd.testing.assert_frame_equal(copy.rows, dataset.rows, check_exact=True)
    assert (copy.labels == dataset.labels).all()
