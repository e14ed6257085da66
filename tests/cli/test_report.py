"""`stepladder report` and `stepladder letter`."""

from __future__ import annotations

import pytest
from tests.methods import bank
from typer.testing import CliRunner

from stepladder.cli.app import app

pytest.importorskip("altair")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("result") / "plan.parquet"
    bank.fitted().recourse(bank.REJECTED.iloc[:4]).save(file)
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


def test_a_letter_is_written_to_the_person_who_was_said(saved, tmp_path):
    out, person = tmp_path / "letter.html", bank.REJECTED.index[2]
    shown = stepladder(
        *("letter", saved, "--person", person, "--out", out, "--sender", "The bank\\nHigh Street"),
    )
    assert (shown.exit_code, shown.output) == (0, f"The letter is in {out}.\n")
    page = out.read_text(encoding="utf-8")
    assert "High Street" in page
    assert "The bank\\n" not in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["report", "{folder}/none.parquet", "--out", "{folder}/r.html"], "none.parquet"),
        (["report", "{saved}", "--out", "{folder}/nowhere/r.html"], "nowhere"),
        (["report", "{saved}", "--out", "{folder}/r.txt"], "ends in .html"),
        (["report", "{saved}", "--out", "{folder}/r.html", "--by", "ownr"], "'owner'"),
        (["report", "{saved}", "--out", "{folder}/r.html", "--model", "m.skops"], "m.skops"),
        (
            ["letter", "{saved}", "--out", "{folder}/l.html", "--person", "who"],
            "called 'who'",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(saved, tmp_path, arguments, said):
    shown = stepladder(*(text.format(saved=saved, folder=tmp_path) for text in arguments))
    assert shown.exit_code == 1
    assert shown.stderr.startswith("Error: ")
    assert said in shown.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_page_does_not_replace_what_it_is_made_of(saved):
    shown = stepladder("report", saved, "--out", saved)
    assert shown.exit_code == 2
    assert "read from" in shown.stderr
