"""Every method with every kind of model, unless a test says for which."""

from __future__ import annotations

import pytest
from tests.contract import made


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    own = {mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")}
    for argument, values in (("name", made.METHODS), ("kind", made.MODELS)):
        if argument in metafunc.fixturenames and argument not in own:
            metafunc.parametrize(argument, list(values))
