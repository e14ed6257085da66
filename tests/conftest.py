"""How hypothesis looks for trouble; nothing else is shared by all tests.

The gate tries the same examples every time. `HYPOTHESIS_PROFILE=hunt make test` tries new ones.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=100)
settings.register_profile("hunt", deadline=None, derandomize=False, max_examples=100)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
