"""What all tests share: how hypothesis looks for trouble, what a terminal is, and Ctrl-C.

The gate tries the same examples every time. `HYPOTHESIS_PROFILE=hunt make test` tries new ones.
"""

from __future__ import annotations

import os
import signal
import threading

import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("hunt", deadline=None, derandomize=False, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# A shell that starts the tests in the background has them, and their children, ignore Ctrl-C.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--freeze", action="store_true", help="write the answers of tests/frozen as they are now"
    )


@pytest.fixture(autouse=True)
def terminal(monkeypatch):
    """Tests of what a terminal shows mean a capable one, whatever they themselves run in."""
    monkeypatch.setenv("TERM", "xterm")
