"""Labels at the ends of lines: none lies on another."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepladder.view.plots.ends import apart, label_room


@given(st.lists(st.floats(0, 1), max_size=8))
def test_labels_stay_in_order_apart_and_on_the_panel(places: list[float]):
    found = apart(np.array(places), 0.1, 0.0, 1.0)
    ordered = found[np.argsort(places, kind="stable")]
    assert (np.diff(ordered) >= 0.1 - 1e-9).all()
    assert ((found >= -1e-9) & (found <= 1 + 1e-9)).all()


def test_labels_that_do_not_meet_stay_where_they_are():
    assert apart(np.array([0.9, 0.1, 0.5]), 0.1, 0.0, 1.0) == pytest.approx([0.9, 0.1, 0.5])


def test_those_that_meet_part_evenly():
    assert apart(np.array([0.5, 0.5]), 0.2, 0.0, 1.0) == pytest.approx([0.4, 0.6])


def test_longer_labels_take_more_room():
    assert label_room(["Route 1"]) < label_room(["Route 1", "Attempt 10"])
