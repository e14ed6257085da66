"""`stepladder letter`."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest
from tests.methods import bank
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli.app import app
from stepladder.result.provenance import data_hash
from stepladder.view.letter import letter

pytest.importorskip("altair")

PERSON = bank.REJECTED.index[2]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    file = tmp_path_factory.mktemp("result") / "plan.parquet"
    bank.fitted().recourse(bank.REJECTED.iloc[:4]).save(file)
    return file


@pytest.fixture
def named(tmp_path, monkeypatch):
    """The bank's model and table, as options name them."""
    (tmp_path / "bank_model.py").write_text("from tests.methods.bank import score\n")
    monkeypatch.chdir(tmp_path)
    bank.TRAIN.to_parquet("train.parquet")
    yield ["--model", "bank_model:score", "--data", "train.parquet"]
    sys.modules.pop("bank_model", None)


def stepladder(*arguments: object):
    return CliRunner().invoke(app, ["letter", *(str(argument) for argument in arguments)])


def test_a_letter_is_written_to_the_person_who_was_said(saved, tmp_path):
    out = tmp_path / "letter.html"
    shown = stepladder(
        *(saved, "--person", PERSON, "--out", out, "--sender", "The bank\\nHigh Street")
    )
    assert (shown.exit_code, shown.output) == (0, f"The letter is in {out}.\n")
    page = out.read_text(encoding="utf-8")
    assert "High Street" in page
    assert "The bank\\n" not in page


def test_options_are_the_arguments_of_a_letter(saved, tmp_path):
    out, law = tmp_path / "letter.html", tmp_path / "law.txt"
    law.write_text("One law.\n\nAnother.", encoding="utf-8")
    slots = {
        "reference": "A-17",
        "contact": "Jo",
        "deadline": "Until June.",
        "review": "Ask.",
        "date": "May",
        "recipient": "A. Person",
    }
    options = [part for name, text in slots.items() for part in (f"--{name}", text)]
    shown = stepladder(
        *(saved, "--person", PERSON, "--out", out, "--statutory", law, *options),
        *("--hide", "age,job", "--no-draft", "--show-score"),
    )
    assert shown.exit_code == 0, shown.output
    assert out.read_text(encoding="utf-8") == letter(
        sl.Recourse.load(saved),
        PERSON,
        **slots,
        statutory="One law.\n\nAnother.",
        hide=["age", "job"],
        draft=False,
        show_score=True,
    )
    shown = stepladder(saved, "--person", PERSON, "--out", out, "--draft")
    assert "DRAFT." in out.read_text(encoding="utf-8")


def test_a_model_and_its_table_say_why_the_answer_is_no(saved, tmp_path, named):
    out = tmp_path / "letter.html"
    shown = stepladder(saved, "--person", PERSON, "--out", out, *named)
    assert shown.exit_code == 0, shown.output
    page = out.read_text(encoding="utf-8")
    assert "Why the answer is no" in page
    step, result = bank.fitted(), sl.Recourse.load(saved)
    assert page == letter(result, PERSON, step=step)


def test_another_table_than_the_result_was_made_with_is_refused(saved, tmp_path, named):
    result, out = tmp_path / "known.parquet", tmp_path / "letter.html"
    known = replace(sl.Recourse.load(saved), fingerprints={"data": data_hash(bank.TRAIN)})
    known.save(result)
    assert stepladder(result, "--person", PERSON, "--out", out, *named).exit_code == 0
    bank.TRAIN.head(300).to_parquet("train.parquet")
    shown = stepladder(result, "--person", PERSON, "--out", out, *named)
    assert shown.exit_code == 1
    assert "This isn't the data that the result was made with" in shown.stderr


def test_a_private_result_is_not_explained_by_its_table(tmp_path, named):
    features = [sl.Numeric("income", bounds=(0, 100_000)), sl.Numeric("debt", bounds=(0, 9000))]
    step = sl.StEP(paths=1, privacy=sl.PayOnce(sl.Budget(epsilon=5, delta=1e-5)))
    step.fit(bank.TRAIN, lambda frame: frame["income"] / 1e5, schema=sl.Schema(features))
    step.recourse(bank.REJECTED.head(1)).save("private.parquet")
    shown = stepladder(
        *("private.parquet", "--person", bank.REJECTED.index[0], "--out", "l.html", *named)
    )
    assert shown.exit_code == 1
    assert "made under a privacy budget" in shown.stderr


def test_a_letter_is_written_to_nobody_else(saved, tmp_path):
    result = sl.Recourse.load(saved)
    for stranger in (f"0{PERSON}", f"{PERSON}.0", "-1", "True"):
        shown = stepladder(saved, "--person", stranger, "--out", tmp_path / "l.html")
        assert shown.exit_code == 1
        assert f"nobody called '{stranger}'" in shown.stderr
        assert repr(result.people.tolist()[0]) in shown.stderr
    twins = np.array([7, "7", 8, 9], dtype=object)
    replace(result, people=twins).save(tmp_path / "twins.json")
    shown = stepladder(tmp_path / "twins.json", "--person", "7", "--out", tmp_path / "l.html")
    assert shown.exit_code == 1
    assert "2 people of the result are called '7'" in shown.stderr
    assert not (tmp_path / "l.html").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.parquet", "--person", "1", "--out", "{folder}/r"], "ends in .html"),
        (["{saved}", "--person", "who", "--out", "{folder}/l.html"], "called 'who'"),
        (
            ["{saved}", "--person", PERSON, "--out", "{folder}/l.html", "--hide", "agee"],
            "hide names 'agee', which is no feature of the schema. Did you mean 'age'?",
        ),
        (
            ["{saved}", "--person", PERSON, "--out", "{folder}/l.html", "--statutory", "no.txt"],
            "Can't read 'no.txt' as text",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_leaves_nothing(saved, tmp_path, arguments, said):
    named = {"saved": saved, "folder": tmp_path}
    shown = stepladder(*(str(text).format(**named) for text in arguments))
    assert shown.exit_code == 1
    assert shown.stderr.startswith("Error: ")
    assert said in shown.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("alone", [["--model", "m.skops"], ["--data", "d.csv"]])
def test_a_model_goes_with_its_table(saved, tmp_path, alone):
    shown = stepladder(saved, "--person", PERSON, "--out", tmp_path / "l.html", *alone)
    assert shown.exit_code == 2
    assert re.search("--model and --data go together", shown.stderr)
