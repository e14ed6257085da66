"""How hard hypothesis looks; nothing else is shared by all tests."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=False, max_examples=100)
settings.load_profile("ci")
