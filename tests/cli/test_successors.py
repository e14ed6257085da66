"""`--holds`, `--retrain-on` and `--successors`: models that may replace the one that is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli.app import app

skops = pytest.importorskip("skops.io")

COLUMNS = ["income", "debt"]
SCHEMA = sl.Schema([sl.Numeric("income"), sl.Numeric("debt", change="decrease")])


@pytest.fixture
def loans(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table) -> pd.DataFrame:
    """A folder with a model that can be cloned, its table and five people: the current one."""
    monkeypatch.chdir(tmp_path)
    rows = table(200, seed=0)[[*COLUMNS, "approved"]]
    rows.to_csv("data.csv", index=False)
    people = table(60)
    people[people["approved"] == "no"].head(5).to_csv("people.csv", index=False)
    SCHEMA.save("schema.yaml")
    skops.dump(trained(rows), "model.skops")
    return rows


def trained(rows: pd.DataFrame) -> LogisticRegression:
    return LogisticRegression().fit(rows[COLUMNS], rows["approved"].to_numpy().astype(str))


def stepladder(command: str, *more: object, **options: object):
    usual = {"model": "model.skops", "data": "data.csv", "schema": "schema.yaml", **options}
    given = [part for name, value in usual.items() for part in (f"--{name}", str(value))]
    return CliRunner().invoke(app, [command, *given, *map(str, more)])


def recourse(*more: object, **options: object):
    return stepladder("recourse", *more, people="people.csv", **options)


def folder_of(rows: pd.DataFrame, count: int) -> None:
    Path("models").mkdir()
    for i in range(count):
        skops.dump(trained(rows.sample(frac=1, replace=True, random_state=i)), f"models/{i}.skops")


def stated(file: str) -> pd.Series:
    final = sl.Recourse.load(file).final
    assert (final["outcome"] == "reached").any()
    return final.loc[final["outcome"] == "reached", "holds"]


def test_models_are_retrained_on_a_column_of_labels(loans):
    done = recourse("--retrain-on", "approved", "--out", "plan.json")
    assert done.exit_code == 0, done.output
    assert "data.csv: not in the schema" not in done.stderr  # the column is used
    found = stated("plan.json")
    assert found.between(0, 1).all()
    rows = loans[COLUMNS]
    models = sl.successors(trained(loans), rows, loans["approved"].to_numpy().astype(str), 48)
    step = sl.StEP().fit(rows, trained(loans), schema=SCHEMA, successors=models)
    own = step.recourse(pd.read_csv("people.csv")).final
    assert found.tolist() == own.loc[own["outcome"] == "reached", "holds"].tolist()


def test_how_likely_a_path_has_to_hold_is_a_setting_of_the_method(loans):
    done = recourse("--retrain-on", "approved", "--holds", 0.9, "--out", "plan.json")
    assert done.exit_code == 0, done.output
    assert sl.Recourse.load("plan.json").settings["holds"] == 0.9


def test_the_labels_may_be_those_of_positives_too(loans):
    done = recourse("--retrain-on", "approved", "--labels", "approved", "--out", "plan.json")
    assert done.exit_code == 0, done.output
    assert stated("plan.json").notna().all()


def test_models_are_read_from_a_folder(loans):
    folder_of(loans, 4)
    Path("models/.hidden").write_text("nobody's model")
    done = recourse("--successors", "models", "--out", "plan.json")
    assert done.exit_code == 0, done.output
    assert stated("plan.json").max() <= 0.1 ** (1 / 3) + 1e-9  # two of four are kept back


def test_a_walk_takes_them_too(loans):
    row = '{"income": 20, "debt": 10}'
    Path("row.json").write_text(row)
    done = stepladder("walk", "--row", "row.json", "--retrain-on", "approved", "--holds", 0.9)
    assert done.exit_code == 0, done.output


def test_without_any_nothing_is_stated(loans):
    assert recourse("--out", "plan.json").exit_code == 0
    assert stated("plan.json").isna().all()


@pytest.mark.parametrize("command", ["recourse", "walk"])
@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--holds", "0.9"], "give --retrain-on COLUMN"),
        (["--holds", "90", "--retrain-on", "approved"], "Did you mean 0.9?"),
        (["--retrain-on", "approved", "--successors", "models"], "give one of them"),
        (["--retrain-on", "aproved"], "Did you mean 'approved'?"),
        (["--retrain-on", "debt"], "--retrain-on debt is a feature"),
        (["--successors", "nowhere"], "no folder at 'nowhere'"),
        (["--successors", "model.skops"], "no folder at 'model.skops'"),
        (["--successors", "models"], "--successors models has 1 model file; expected 2"),
    ],
)
def test_what_does_not_go_together_is_answered(loans, command, more, message):
    folder_of(loans, 1)
    Path("row.json").write_text('{"income": 20, "debt": 10}')
    who = {"recourse": ["--people", "people.csv"], "walk": ["--row", "row.json"]}[command]
    done = stepladder(command, *who, *more)
    assert done.exit_code != 0
    assert message in " ".join(done.output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("file", "message"), [("3.pkl", "is a pickle"), ("notes.md", "Can't tell what kind of model")]
)
def test_a_file_that_is_no_model_or_not_safe_is_refused_by_name(loans, file, message):
    folder_of(loans, 2)
    (Path("models") / file).write_text("…")
    done = recourse("--successors", "models")
    assert done.exit_code != 0
    assert file in done.output
    assert message in done.output


def test_only_step_searches_for_paths_that_hold(loans):
    done = recourse("--holds", "0.9", "--retrain-on", "approved", "--method", "face")
    assert done.exit_code != 0
    assert "--holds is for --method step" in done.output


def test_labels_that_the_model_does_not_know_are_answered_with_the_column(loans):
    rows = loans.assign(other=np.where(loans["approved"] == "yes", 1, 0))
    rows.to_csv("data.csv", index=False)
    done = recourse("--retrain-on", "other")
    assert done.exit_code != 0
    assert "--retrain-on other: labels hold 0, 1" in done.output


def test_a_function_cannot_be_retrained(loans, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(tmp_path)
    Path("own_model.py").write_text("def model(frame):\n    return frame['income'] / 100\n")
    done = recourse("--retrain-on", "approved", model="own_model:model")
    assert done.exit_code != 0
    assert "--successors FOLDER" in done.output
