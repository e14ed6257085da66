"""`stepladder audit`: from what `stepladder recourse` wrote, from a saved result, from inputs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import stepladder as sl
from stepladder.audit import audit
from stepladder.cli import recourse
from stepladder.cli.app import app

MODULE = """
import numpy as np

def model(frame):
    return 1 / (1 + np.exp((20 + frame["debt"] - frame["income"]) / 3))

def old(frame):
    return np.where(frame["age"] >= 50, 0.9, 0.1)

def broken(frame):
    raise RuntimeError("no such thing")
"""

SCHEMA = sl.Schema(
    [
        sl.Numeric("income"),
        sl.Numeric("debt", change="decrease"),
        sl.Numeric("age", integer=True, change="never"),
        sl.Categorical("job", levels=["None", "clerk", "smith"], change="never"),
    ]
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.setattr(recourse, "AT_A_TIME", 17)
    monkeypatch.delitem(sys.modules, "loans", raising=False)
    (tmp_path / "loans.py").write_text(MODULE)
    table(300, seed=0).to_parquet("data.parquet")
    table(40).to_parquet("people.parquet")
    SCHEMA.save("schema.yaml")
    yield tmp_path
    sys.modules.pop("loans", None)


ASIDE = ["sex", "approved"]
"""The table's columns that aren't in the schema."""

USUAL = {
    "--model": "loans:model",
    "--data": "data.parquet",
    "--people": "people.parquet",
    "--schema": "schema.yaml",
    "--goal": "0.6",
}


def inputs(**changed: object) -> list[str]:
    usual = {**USUAL, **{f"--{name}": value for name, value in changed.items()}}
    return [str(part) for pair in usual.items() for part in pair]


def stepladder(*arguments: object):
    return CliRunner().invoke(app, [*map(str, arguments)])


def streamed(**changed: object) -> Path:
    shown = stepladder("recourse", *inputs(out="plan.parquet", **changed), "--quiet")
    assert shown.exit_code in (0, 3), shown.output
    return Path("plan.parquet")


def expected(people: pd.DataFrame, *, schema: sl.Schema = SCHEMA) -> sl.Recourse:
    import loans

    rows = pd.read_parquet("data.parquet")[list(people.columns)]
    return (
        sl.StEP()
        .fit(rows, loans.model, schema=schema, goal=sl.Goal(threshold=0.6))
        .recourse(people)
    )


def files(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir()} - {"__pycache__"}


# ---- what `stepladder recourse` wrote, in Python ----------------------------------------------


def test_a_streamed_result_loads_as_what_the_library_gives(folder, table):
    loaded = sl.Recourse.load(streamed())
    result = expected(table(40).drop(columns=ASIDE))
    pd.testing.assert_frame_equal(loaded.final, result.final)
    pd.testing.assert_frame_equal(loaded.paths, result.paths)
    pd.testing.assert_frame_equal(loaded.changes, result.changes)
    pd.testing.assert_frame_equal(loaded.status, result.status)
    assert (loaded.settings, loaded.reference) == (result.settings, result.reference)
    assert loaded.goal == result.goal
    assert np.isnan(loaded.nearness).all()
    loaded.save("again.parquet")
    pd.testing.assert_frame_equal(sl.Recourse.load("again.parquet").final, result.final)


def test_missing_values_other_names_and_features_named_like_columns_load_too(folder, table):
    renamed = {"debt": "score", "age": "steps"}
    features = [
        sl.Numeric("income"),
        sl.Numeric("score", change="decrease"),
        sl.Numeric("steps", integer=True, change="never"),
        sl.Categorical("job", levels=["None", "clerk", "smith"], change="never"),
    ]
    sl.Schema(features).save("schema.yaml")
    Path("loans.py").write_text(MODULE.replace("debt", "score").replace("age", "steps"))
    table(300, seed=0).rename(columns=renamed).to_parquet("data.parquet")
    people = table(6).rename(columns=renamed).set_axis(list("abcdef")).drop(columns=ASIDE)
    people.loc["b", "income"] = np.nan
    people.loc["d", "job"] = None
    people.to_parquet("people.parquet")
    loaded = sl.Recourse.load(streamed())
    result = expected(people, schema=sl.Schema(features))
    pd.testing.assert_frame_equal(loaded.final, result.final, check_dtype=False)
    assert list(loaded.status["outcome"]).count("missing_value") == 2


# ---- audits -----------------------------------------------------------------------------------


def test_a_result_of_the_command_is_audited_by_its_own_features(folder, table):
    shown = stepladder("audit", streamed(), "--by", "job, age", "--smallest", "5")
    assert shown.exit_code == 0, shown.output
    result = expected(table(40).drop(columns=ASIDE))
    assert shown.stdout == f"{audit(result, ['job', 'age'], smallest=5)}\n"
    assert shown.stderr == ""


@pytest.mark.parametrize("ending", [".parquet", ".json"])
def test_a_saved_result_is_audited_by_a_table_of_groups(folder, ending, table):
    people = table(40).set_axis([f"p{i}" for i in range(40)])
    result = expected(people.drop(columns=ASIDE))
    result.save(f"saved{ending}")
    groups = people[["sex"]].rename_axis("who").iloc[::-1]
    groups.to_csv("groups.csv")
    groups.to_parquet("groups.parquet")
    said = audit(result, people[["sex"]], budget=1.5)
    for more in (["--groups", "groups.csv", "--id", "who"], ["--groups", "groups.parquet"]):
        shown = stepladder(
            *("audit", f"saved{ending}", "--by", "sex", *more, "--budget", "1.5", "--json")
        )
        assert shown.exit_code == 0, shown.output
        assert json.loads(shown.stdout) == json.loads(json.dumps(said.to_dict()))


def test_instead_of_a_result_the_inputs_will_do_with_any_column_of_people(folder, table):
    people = table(40)
    shown = stepladder("audit", *inputs(), "--by", "sex,job", "--smallest", "5")
    assert shown.exit_code == 0, shown.output
    result = expected(people.drop(columns=ASIDE))
    assert shown.stdout == f"{audit(result, people[['sex', 'job']], smallest=5)}\n"
    assert "people.parquet: not in the schema, left aside: 'approved'." in shown.stderr


def test_the_result_may_have_fewer_people_than_the_groups(folder):
    plan = streamed(limit=30)
    shown = stepladder("audit", plan, "--by", "sex", "--groups", "people.parquet", "--json")
    assert json.loads(shown.stdout)["people"] == 30


@pytest.mark.parametrize("out", ["audit.json", "audit.csv"])
def test_an_audit_is_written_to_a_file(folder, out, table):
    shown = stepladder("audit", streamed(), "--by", "job", "--out", out, "--quiet")
    assert (shown.exit_code, shown.output) == (0, "")
    told = audit(expected(table(40).drop(columns=ASIDE)), ["job"]).to_dict()
    if out == "audit.json":
        assert json.loads(Path(out).read_text()) == json.loads(json.dumps(told))
    else:
        kept = pd.read_csv(out)
        assert kept["group"].tolist() == [row["group"] for row in told["by_group"]]
        np.testing.assert_allclose(kept["success"], [row["success"] for row in told["by_group"]])


def test_when_nobody_who_asked_has_a_path_the_exit_is_3(folder, table):
    table(5).assign(age=30).to_parquet("people.parquet")
    shown = stepladder("audit", *inputs(model="loans:old"), "--by", "sex")
    assert shown.exit_code == 3
    assert "5 people, of whom 5 asked" in shown.stdout


def test_what_was_bought_for_recourse_serves_an_audit_too(folder):
    pytest.importorskip("opendp")
    spans = {"income": (0, 60), "debt": (0, 30), "age": (18, 70)}
    numbers = [
        sl.Numeric(f.name, change=f.change, typical=spans[f.name]) for f in SCHEMA.features[:3]
    ]
    sl.Schema([*numbers, SCHEMA.features[3]]).save("schema.yaml")
    streamed(epsilon=1, delta=1e-6, ledger="spent.sqlite", bought="facts.json")
    again = inputs(ledger="spent.sqlite", bought="facts.json")
    shown = stepladder("audit", *again, "--by", "sex")
    assert shown.exit_code == 0, shown.output
    assert "spent ε = 1.00 of 1.00" in shown.stderr


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["none.parquet", "--by", "job"], "There is no result at 'none.parquet'."),
        (["people.parquet", "--by", "job"], "isn't a result that can be read back"),
        (["schema.yaml", "--by", "job"], "isn't a result that can be read back"),
        (["plan.json", "--by", "job"], "the .parquet of stepladder recourse"),
        (["plan.parquet", "--by", "jobs"], "no feature of the schema. Did you mean 'job'?"),
        (["plan.parquet", "--by", "sex"], "comes with its table: --groups TABLE."),
        (
            ["plan.parquet", "--by", "sx", "--groups", "people.parquet"],
            "'people.parquet' has no column 'sx', which --by names. Did you mean 'sex'?",
        ),
        (["plan.parquet", "--by", "sex", "--groups", "none.csv"], "There is no table at"),
        (
            ["plan.parquet", "--by", "sex", "--groups", "few.csv"],
            "'few.csv' has no row for '3', who is in the result.",
        ),
        (
            ["plan.parquet", "--by", "sex", "--groups", "few.csv", "--id", "sex"],
            "'few.csv' has more than one row for ",
        ),
        (["plan.parquet", "--by", "job", "--out", "audit.txt"], "ends in .json, .csv."),
        (["plan.parquet", "--by", "job", "--out", "no/audit.csv"], "Can't write to 'no/audit.csv'"),
        (["plan.parquet", "--by", "job", "--out", "/proc/a.csv"], "Can't write to '/proc/a.csv'"),
        ([*inputs(schema="bad.yaml"), "--by", "job"], "bad.yaml, line 3, column 9: not YAML"),
        ([*inputs(model="loans:broken"), "--by", "job"], "RuntimeError: no such thing"),
        ([*inputs(people="empty.parquet"), "--by", "job"], "'empty.parquet' has no rows."),
        ([*inputs(people="odd.parquet"), "--by", "job"], "'odd.parquet': 'thief' isn't a level"),
        ([*inputs(), "--by", "sx"], "'people.parquet' has no column 'sx', which --by names."),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(folder, more, said, table):
    streamed()
    assert stepladder("recourse", *inputs(out="plan.json"), "--quiet").exit_code == 0
    Path("bad.yaml").write_text("features:\n- name: income\n    kind: numeric\n")
    table(3)[["sex"]].assign(sex="f").to_csv("few.csv", index=False)
    table(0).to_parquet("empty.parquet")
    table(3).assign(job="thief").to_parquet("odd.parquet")
    before = files(folder)
    out = [] if "--out" in more else ["--out", "audit.json"]
    shown = stepladder("audit", *more, *out, "--quiet")
    assert shown.exit_code == 1, shown.output
    assert shown.stderr.startswith("Error: ")
    assert said in shown.stderr
    assert "Traceback" not in shown.stderr
    assert shown.stdout == ""
    assert files(folder) == before


def test_a_model_that_does_not_fit_the_data_is_said(folder, table):
    skops = pytest.importorskip("skops.io")
    data = table(300, seed=0)[["income", "debt"]].assign(savings=1.0)
    skops.dump(LogisticRegression().fit(data, data["debt"] > 10), "model.skops")
    shown = stepladder("audit", *inputs(model="model.skops"), "--by", "job", "--out", "audit.csv")
    assert shown.exit_code == 1
    assert "it needs 'savings', which the schema doesn't name, and doesn't know" in shown.stderr
    assert not Path("audit.csv").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "--by"),
        (["--by", ","], "--by names at least one column"),
        (["--by", "job"], "An audit takes a RESULT, or --model, --data, --people and --schema."),
        (["plan.parquet", *inputs(), "--by", "job"], "Give it, or them."),
        (["people.csv", "--by", "job", "--out", "./people.csv"], "is a file that is read from"),
        (["plan.parquet", "--by", "job", "--smallest", "0"], "'--smallest'"),
        (["plan.parquet", "--by", "job", "--budget", "-1"], "'--budget'"),
        ([*inputs(bought="facts.json"), "--by", "job"], "--bought goes with a privacy budget"),
    ],
)
def test_bad_usage_is_exit_2(folder, more, said):
    shown = stepladder("audit", *more)
    assert shown.exit_code == 2
    assert said in shown.stderr
