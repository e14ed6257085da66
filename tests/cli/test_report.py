"""`stepladder report`."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
import pytest
from tests.methods import bank
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli.app import app
from stepladder.result.provenance import data_hash
from stepladder.view.report import report

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("result") / "plan.parquet"
    bank.fitted().recourse(bank.REJECTED.iloc[:4]).save(file)
    return file


@pytest.fixture(scope="module")
def groups(tmp_path_factory):
    """A table with other people than the result's."""
    file = tmp_path_factory.mktemp("groups") / "groups.csv"
    pd.DataFrame({"who": list("abc"), "sex": list("ffm")}).to_csv(file, index=False)
    return file


def stepladder(*arguments: object):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_a_report_is_written_and_says_where(saved, tmp_path):
    data = tmp_path / "train.parquet"
    bank.TRAIN.to_parquet(data)
    out = tmp_path / "report.html"
    shown = stepladder(
        *("report", saved, "--out", out, "--people", 1, "--by", "owner", "--data", data),
        *("--title", "Loans & <co>"),
    )
    assert (shown.exit_code, shown.output) == (0, f"The report is in {out}.\n")
    page = out.read_text(encoding="utf-8")
    assert "Loans &amp; &lt;co&gt;" in page
    assert "owner" in page


def test_another_table_or_model_than_the_result_was_made_with_is_refused(saved, tmp_path):
    known = replace(sl.Recourse.load(saved), fingerprints={"data": data_hash(bank.TRAIN)})
    result, data, out = tmp_path / "r.parquet", tmp_path / "d.parquet", tmp_path / "r.html"
    known.save(result)
    bank.TRAIN.to_parquet(data)
    assert stepladder("report", result, "--out", out, "--data", data).exit_code == 0
    bank.TRAIN.iloc[1:].to_parquet(data)
    out.unlink()
    shown = stepladder("report", result, "--out", out, "--data", data)
    assert "This isn't the data that the result was made with" in shown.stderr
    bank.TRAIN[["income"]].to_parquet(data)
    shown = stepladder("report", result, "--out", out, "--data", data)
    assert "has no column 'debt', which the result names." in shown.stderr
    assert not out.exists()


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_groups_may_come_from_a_table_of_their_own(saved, tmp_path, ending):
    people = bank.REJECTED.iloc[:4].index
    table = pd.DataFrame({"who": people, "sex": list("fmfm"), "town": list("aabb")}).iloc[::-1]
    file, out = tmp_path / f"groups{ending}", tmp_path / "report.html"
    table.to_csv(file, index=False) if ending == ".csv" else table.to_parquet(file, index=False)
    shown = stepladder(
        *("report", saved, "--out", out, "--people", 0, "--by", "sex,town"),
        *("--groups", file, "--id", "who"),
    )
    assert shown.exit_code == 0, shown.output
    page = out.read_text(encoding="utf-8")
    assert re.findall("<h3>By (.*?)</h3>", page) == ["sex", "town", "sex &amp; town"]
    result = sl.Recourse.load(saved)
    expected = report(result, groups=table.set_index("who").loc[result.people.tolist()], people=0)
    assert page == expected


BY_TABLE = ["report", "{saved}", "--out", "{folder}/r.html", "--groups", "{groups}"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "{folder}/none.parquet", "--out", "{folder}/r.html"], "none.parquet"),
        (["report", "{saved}", "--out", "{folder}/nowhere/r.html"], "nowhere"),
        (["report", "{saved}", "--out", "{folder}/r.txt"], "ends in .html"),
        (["report", "none.parquet", "--out", "{folder}/r.txt"], "ends in .html"),
        (
            ["report", "{saved}", "--out", "{folder}/r.html", "--by", "ownr"],
            "--by names 'ownr', which is no feature of the schema. Did you mean 'owner'?",
        ),
        (
            ["report", "{saved}", "--out", "{folder}/r.html", "--by", "nope"],
            "comes with its table: --groups TABLE.",
        ),
        (
            [*BY_TABLE, "--by", "sex", "--id", "sex"],
            "has more than one row for 'f'",
        ),
        (
            [*BY_TABLE, "--by", "sx"],
            "groups.csv'. Did you mean 'sex'?",
        ),
        (
            [*BY_TABLE, "--by", "sex", "--id", "no"],
            "has no column 'no', which --id names.",
        ),
        (
            [*BY_TABLE, "--by", "sex", "--id", "who"],
            "by its column 'who', such as 'a'. Name the column that says who each is: --id COLUMN.",
        ),
        (["report", "{saved}", "--out", "{folder}/r.html", "--model", "m.skops"], "m.skops"),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(saved, groups, tmp_path, arguments, said):
    named = {"saved": saved, "folder": tmp_path, "groups": groups}
    shown = stepladder(*(text.format(**named) for text in arguments))
    assert shown.exit_code == 1
    assert shown.stderr.startswith("Error: ")
    assert said in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_page_does_not_replace_what_it_is_made_of(saved):
    shown = stepladder("report", saved, "--out", saved)
    assert shown.exit_code == 2
    assert "read from" in shown.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--groups", "people.csv"], "--by names at least one column"),
        (["--by", ","], "--by names at least one column"),
        (["--by", "owner", "--id", "who"], "--id names a column of --groups"),
    ],
)
def test_bad_usage_is_exit_2(saved, tmp_path, more, said):
    shown = stepladder("report", saved, "--out", tmp_path / "r.html", *more)
    assert shown.exit_code == 2
    assert said in shown.stderr
