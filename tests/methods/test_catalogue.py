"""Every method by its name, and nothing loaded before it's asked for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stepladder.errors import ParameterError
from stepladder.methods import catalogue
from stepladder.methods.base import Method


@pytest.mark.parametrize("name", catalogue.NAMES)
def test_every_name_makes_a_method_that_says_what_it_is(name):
    made = catalogue.make(name, {"random_state": 5})
    assert isinstance(made, Method)
    assert made.random_state == 5
    assert next(iter(made.settings)) == "method"
    assert made.honours_rules == (not name.endswith(".published"))


def test_settings_are_passed_on():
    assert catalogue.make("step", {"paths": 2}).paths == 2


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("dise", {}, "no method 'dise'. Did you mean 'dice'?"),
        ("step", {"path": 1}, "no setting 'path'. Did you mean 'paths'?"),
        ("mim.published", {}, "no method 'mim.published'"),
    ],
)
def test_a_wrong_name_is_answered_with_the_nearest(name, settings, said):
    with pytest.raises(ParameterError) as error:
        catalogue.make(name, settings)
    assert said in str(error.value)


def test_asking_for_one_method_loads_no_other_and_no_extra():
    code = """
import sys
from stepladder.methods import catalogue
catalogue.make("step")
heavy = {"torch", "dice_ml", "stepladder.methods.dice", "stepladder.methods.cchvae"}
assert not heavy & set(sys.modules), heavy & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_somebody_elses_method_goes_by_where_python_finds_it():
    made = catalogue.make("stepladder.methods.mim:MIM", {"max_steps": 7})
    assert made.settings["method"] == "MIM"
    assert made.max_steps == 7


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("nowhere_at_all:Mine", "can't be imported: No module named 'nowhere_at_all'"),
        ("stepladder.methods.mim:Mine", "can't be imported: .* no attribute 'Mine'"),
        ("stepladder.methods.mim:Alpha", r"isn't a method: expected a subclass of sl\.Method"),
        (":Mine", "can't be imported"),
    ],
)
def test_what_is_no_method_is_refused_with_a_sentence(path, said):
    with pytest.raises(ParameterError, match=said):
        catalogue.make(path)
