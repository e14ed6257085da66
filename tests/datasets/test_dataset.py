"""What `load` returns: its split and how it introduces itself."""

from __future__ import annotations

import numpy as np
import pytest
from tests.datasets.small import ROWS, TABLE

from stepladder.datasets import Dataset
from stepladder.errors import ParameterError


@pytest.fixture
def dataset() -> Dataset:
    rows, labels, schema, groups = TABLE.clean(ROWS.copy())
    return Dataset("small", rows, labels, schema, TABLE.provenance, groups)


def test_it_introduces_itself_in_a_line(dataset):
    assert repr(dataset) == "Dataset('small': 8 rows, 3 features, 62.5% of the labels good)"


@pytest.mark.parametrize("seed", [0, 1, np.int64(2)])
def test_every_row_is_in_one_part(dataset, seed):
    split = dataset.split(seed)
    assert sorted(np.concatenate(split)) == list(range(8))
    assert [len(part) for part in split] == [5, 1, 2]
    train, validation, test = split
    assert train is split.train
    assert validation is split.validation
    assert test is split.test


def test_the_same_seed_splits_alike_and_another_otherwise(dataset):
    assert all(map(np.array_equal, dataset.split(3), dataset.split(3)))
    assert not np.array_equal(dataset.split(3).train, dataset.split(4).train)


@pytest.mark.parametrize("seed", [-1, 2**32, 1.0, True, None, "0"])
def test_a_seed_is_a_whole_number(dataset, seed):
    with pytest.raises(ParameterError, match="seed must be a whole number"):
        dataset.split(seed)
