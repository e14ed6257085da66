"""What all tests share: how hypothesis looks for trouble, and what a terminal is.

The gate tries the same examples every time. `HYPOTHESIS_PROFILE=hunt make test` tries new ones.
"""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("hunt", deadline=None, derandomize=False, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """Tests of what a terminal shows mean a capable one, whatever they themselves run in."""
    monkeypatch.setenv("TERM", "xterm")
