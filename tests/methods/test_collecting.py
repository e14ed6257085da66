"""The collector is paused inside, and afterwards as it was before."""

from __future__ import annotations

import gc

import pytest

from stepladder.methods.collecting import uncollected


@pytest.fixture(autouse=True)
def collector():
    was_on = gc.isenabled()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.parametrize("on", [True, False])
def test_it_is_paused_and_then_as_it_was(on):
    (gc.enable if on else gc.disable)()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled() == on


def test_after_an_error_too():
    gc.enable()
    with pytest.raises(ZeroDivisionError), uncollected():
        1 / 0  # noqa: B018
    assert gc.isenabled()
