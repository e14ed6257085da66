"""People in groups: weighted, and refused where their arrays don't fit together."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.metrics.crowd import COUNTS, INF, SEEDS, by_hand, random_people

from stepladder.errors import ParameterError
from stepladder.metrics import members
from stepladder.metrics.groups import MEASURES, by_group


@given(seed=SEEDS, n=st.integers(1, 15), count=COUNTS)
def test_a_weighted_person_is_that_person_several_times(seed, n, count):
    made = random_people(seed, n, count)
    weights = np.random.default_rng(seed).integers(0, 4, size=(1, n))
    order = np.lexsort((np.where(made.reached, made.cost, INF), ~made.asked, made.codes))
    again = np.repeat(order, weights[0])
    arrays = {
        k: getattr(made, k)[again] for k in ("codes", "asked", "cost", "steps", "effort", "choices")
    }
    expected = by_group(replace(made, **arrays))
    for code, part in enumerate(members._members(made)):
        group = members._weighted(part, weights.astype(float), made)
        found = {name: measure.of(group)[0] for name, measure in MEASURES.items()}
        assert found == pytest.approx({k: v[code] for k, v in expected.items()}, nan_ok=True)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cost": np.zeros(3)}, "one shape"),
        ({"codes": np.zeros((10, 1), int)}, "one shape"),
        ({"groups": 1}, "between 0 and 0, for 1 groups. Got 0 to 1"),
        ({"effectiveness": 1.5}, "above 0 and at most 1; got 1.5"),
    ],
)
def test_what_doesn_t_fit_together_is_refused(changes, said):
    with pytest.raises(ParameterError, match=said):
        replace(by_hand(), **changes)
