"""The tree of errors, and the small words its sentences are made of."""

from __future__ import annotations

import re

import pytest

from stepladder import errors


def everything_raised() -> list[type]:
    return [
        kind
        for kind in vars(errors).values()
        if isinstance(kind, type) and issubclass(kind, errors.StepladderError)
    ]


def test_the_tree_drawn_at_the_top_is_the_tree_there_is():
    drawn = re.findall(r"^[│├└─ ]*(\w+Error)\b", errors.__doc__ or "", flags=re.MULTILINE)
    assert drawn == [kind.__name__ for kind in everything_raised()]


@pytest.mark.parametrize("parent", [errors.SchemaError, errors.FrameError])
def test_errors_below_another_hang_where_they_are_drawn(parent: type):
    drawn = re.search(rf"^├── {parent.__name__}\b.*\n((?:│   .*\n)*)", errors.__doc__ or "", re.M)
    assert drawn is not None
    below = re.findall(r"^│   [├└]── (\w+)", drawn[1], flags=re.MULTILINE)
    assert below == [kind.__name__ for kind in parent.__subclasses__()]


@pytest.mark.parametrize("kind", everything_raised(), ids=lambda kind: kind.__name__)
def test_every_error_says_in_its_docstring_what_it_means(kind: type):
    assert (kind.__doc__ or "").endswith(".")


def test_an_extra_that_is_missing_is_answered_with_the_command_that_installs_it():
    error = errors.ExtraError("rich", "cli", "progress=True")
    assert "pip install 'stepladder[cli]'" in str(error)
    assert "progress=True needs rich" in str(error)
    assert isinstance(error, ImportError)


def test_a_package_that_no_extra_brings_is_installed_by_its_own_name():
    error = errors.ExtraError("xgboost", None, "Reading an XGBoost model")
    assert str(error).endswith("Install it with: pip install xgboost")


def test_the_nearest_name_keeps_the_type_of_what_it_names():
    assert errors.nearest("11", [1, 11, 25]) == " Did you mean 11?"


def test_a_long_list_is_cut_and_says_how_much_is_left():
    assert errors.listing(range(8)) == "0, 1, 2, 3, 4, … (3 more)"
    assert errors.listing([]) == ""
