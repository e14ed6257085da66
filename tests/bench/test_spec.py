"""A spec says what is to be run, and every fault of it is said before anything starts."""

from __future__ import annotations

import pytest

import stepladder as sl
from stepladder.bench import spec as specs
from stepladder.bench.spec import Cell, Spec
from stepladder.errors import ParameterError

SPEC = """
name = "small"
protocol = "fair"
datasets = ["mortgage"]
models = ["logistic_regression", "dnn"]
seeds = 2
people = 20

[[methods]]
label = "step"
method = "step"

[[methods]]
label = "far"
method = "step.published"
seeds = 1
settings = { paths = 2, alpha = { kind = "sloped", width = 2.0 } }
"""


def written(tmp_path, text=SPEC):
    file = tmp_path / "small.toml"
    file.write_text(text, encoding="utf-8")
    return file


def loaded(tmp_path, text=SPEC) -> Spec:
    return specs.load(written(tmp_path, text))


@pytest.mark.parametrize("name", specs.packaged())
def test_every_packaged_spec_can_be_read(name):
    assert specs.load(name).name == name


def test_cells_are_every_dataset_model_method_and_seed(tmp_path):
    cells = loaded(tmp_path).cells()
    assert len(cells) == 2 * 2 + 2 * 1
    assert cells[0] == Cell("mortgage", "logistic_regression", "step", 0)
    assert {cell.seed for cell in cells if cell.method == "far"} == {0}


def test_patterns_choose_cells(tmp_path):
    cells = loaded(tmp_path).cells(("mortgage/dnn/*", "*/*/far"))
    assert {(c.model, c.method) for c in cells} == {
        ("dnn", "step"),
        ("dnn", "far"),
        ("logistic_regression", "far"),
    }


def test_a_method_is_made_with_its_settings_and_the_trial_as_seed(tmp_path):
    made = loaded(tmp_path).entry("far").make(7)
    assert isinstance(made, sl.StEP)
    assert made.settings["method"] == "StEP.published"
    assert (made.paths, made.random_state, made.alpha) == (2, 7, sl.Sloped(width=2.0))


def test_a_fingerprint_follows_what_rows_depend_on_and_nothing_else(tmp_path):
    spec = loaded(tmp_path)
    cell = Cell("mortgage", "dnn", "far", 0)
    assert spec.fingerprint(cell) == spec.model_copy(update={"seeds": 9}).fingerprint(cell)
    changes = (
        *({"people": 21}, {"goal": 0.6}, {"protocol": "published"}, {"time_budget": 1.0}),
        {"retrained": 2},
    )
    for changed in changes:
        assert spec.model_copy(update=changed).fingerprint(cell) != spec.fingerprint(cell)
    other = loaded(tmp_path, SPEC.replace("width = 2.0", "width = 3.0"))
    assert other.fingerprint(cell) != spec.fingerprint(cell)
    step = Cell("mortgage", "dnn", "step", 0)
    assert other.fingerprint(step) == spec.fingerprint(step)


@pytest.mark.parametrize(
    ("wrong", "right", "said"),
    [
        ('"mortgage"', '"mortage"', "no dataset 'mortage'. Did you mean 'mortgage'?"),
        ('"dnn"', '"dn"', "no model 'dn'. Did you mean 'dnn'?"),
        ('method = "step"\n', 'method = "stepp"\n', "no method 'stepp'. Did you mean 'step'?"),
        ("paths = 2", "path = 2", "no setting 'path'. Did you mean 'paths'?"),
        ("paths = 2", "paths = 0", "paths must be a whole number of at least 1; got 0"),
        ("seeds = 2", "seeds = 0", "seeds: Input should be greater than or equal to 1 (got 0)"),
        ("seeds = 2", "seads = 2", "seads: Extra inputs are not permitted (got 2)"),
        ('label = "far"', 'label = "step"', "'step' is there twice"),
        ('label = "far"', 'label = "../far"', "methods.1.label: String should match pattern"),
        ('"sloped"', '"slopped"', "alpha must be a table with a kind of volcano, sloped"),
        ("width = 2.0", "wide = 2.0", "alpha of kind sloped"),
        ('["mortgage"]', '["mortgage", "mortgage"]', "'mortgage' is there twice"),
        ('["mortgage"]', "[]", "datasets: Tuple should have at least 1 item"),
        ("paths = 2", "random_state = 2", "random_state is the trial's number"),
        ("people = 20", "people = 20\ngoal = 0.4", "the goal of 'step', 0.4, is below turned_down"),
        ("people = 20", "people = 2020-01-01", "people: Input should be a valid integer"),
        ('"fair"', '"unfair"', "protocol: Input should be 'published' or 'fair'"),
        ("seeds = 2", "seeds = ", "isn't valid TOML"),
    ],
)
def test_a_fault_is_said_with_its_place_and_a_way_out(tmp_path, wrong, right, said):
    assert wrong in SPEC
    with pytest.raises(ParameterError) as error:
        loaded(tmp_path, SPEC.replace(wrong, right, 1))
    assert said in str(error.value)


def test_a_spec_that_is_nowhere_names_the_packaged_ones():
    with pytest.raises(ParameterError, match=r"no spec 'publishd'.*published.*Did you mean"):
        specs.load("publishd")
