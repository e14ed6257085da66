"""`stepladder schema`: a table in, commented YAML out."""

from __future__ import annotations

import datetime as dt
import errno
import re
from dataclasses import fields
from decimal import Decimal
from pathlib import Path

import pandas as pd
import polars as pl
import pytest
import yaml
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli.app import app

FRAME = pd.DataFrame(
    {
        "income": [1200.5, 3000.0, None, 800.25],
        "age": [30, 41, 22, 65],
        "owner": [True, False, True, True],
        "job": ["clerk", "smith", None, "clerk"],
        "approved": ["yes", "no", "no", "yes"],
    }
)


def stepladder(*arguments: object):
    return CliRunner().invoke(app, ["schema", *map(str, arguments)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    FRAME.to_parquet(tmp_path / "loans.parquet")
    return tmp_path / "loans.parquet"


def assert_refused(shown, said: str) -> None:
    assert shown.exit_code == 1
    assert shown.stdout == ""
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_what_is_written_is_what_was_guessed_with_comments(table, tmp_path):
    out = tmp_path / "schema.yaml"
    options = ["--never", "age, job", "--never", "owner", "--increase", "income"]
    shown = stepladder(table, *options, "--leave-out", "approved", "--out", out)
    assert shown.exit_code == 0, shown.output
    assert shown.stdout == ""
    assert f"Written to {out}: 4 features to check." in shown.stderr
    guessed = sl.Schema.infer(
        FRAME.drop(columns="approved"), never=["age", "job", "owner"], increase=["income"]
    )
    assert guessed["income"].decimals == 2
    assert sl.Schema.load(out) == guessed
    text = out.read_text(encoding="utf-8")
    assert "# What the features of loans.parquet are" in text
    assert "# seen: 800.25 to 3000; 1 missing\n- name: income\n  kind: numeric\n" in text
    assert "# seen: 2 levels; 1 missing\n- name: job\n" in text
    assert "  levels: [clerk, smith]\n" in text
    assert (
        "#   change       any (if left out), increase, decrease, never, or, for a number,\n" in text
    )


@pytest.mark.parametrize("kind", [sl.Numeric, sl.Ordinal, sl.Categorical, sl.Derived])
def test_the_comments_explain_every_setting(table, kind):
    explained = [line[:20] for line in stepladder(table).stdout.splitlines() if line[:1] == "#"]
    said = " ".join(explained).replace(",", " ").split()
    assert {f.name for f in fields(kind)} - {"name"} <= set(said)


def test_it_fits_a_terminal_of_80_columns(table):
    assert [line for line in stepladder(table).stdout.splitlines() if len(line) > 80] == []


def test_requirements_are_explained_with_one_that_can_be_used(table):
    text = stepladder(table).stdout
    end = "# require:\n# - loan <= price\n"
    assert text.endswith(end)
    used = text.removesuffix(end) + "require:\n- age <= income\n"
    assert sl.Schema.from_dict(yaml.safe_load(used)).require == ("age <= income",)


def test_without_a_file_it_goes_to_the_terminal(table):
    shown = stepladder(table)
    assert shown.exit_code == 0
    assert sl.Schema.from_dict(yaml.safe_load(shown.stdout)) == sl.Schema.infer(FRAME)


@pytest.mark.parametrize("name", ["loans.csv", "loans.csv.gz"])
def test_a_csv_says_the_same_as_parquet(table, tmp_path, name):
    FRAME.to_csv(tmp_path / name, index=False)
    assert stepladder(tmp_path / name).stdout == stepladder(table).stdout.replace(
        "loans.parquet", name
    )


def test_odd_names_and_levels_survive(tmp_path):
    odd = ["no", "null", "1.0", "a: b", "# c", "- d", "é\x85f", "line\nend", " g ", "'", "x" * 300]
    frame = pd.DataFrame({"a: #b": odd, "yes": range(len(odd))})
    frame.to_parquet(tmp_path / "odd.parquet")
    shown = stepladder(tmp_path / "odd.parquet")
    assert sl.Schema.from_dict(yaml.safe_load(shown.stdout)) == sl.Schema.infer(frame)


def test_what_is_suggested_can_be_used_by_taking_the_sign_away(tmp_path):
    frame = FRAME.assign(
        tiny=[1e-7, 0.1, 0.2, 0.3],
        yes=[Decimal("1.5"), Decimal(2), None, Decimal(3)],
        same=5,
        gone=pd.Series([None] * 4, dtype=float),
        **{"x " * 60 + "_y": 1.5},
    )
    frame.to_parquet(tmp_path / "odd.parquet")
    text = stepladder(tmp_path / "odd.parquet").stdout
    assert "  # bounds: [800.25, 3000]  # as seen; null for an open end\n" in text
    assert "  change: any  # or increase, decrease, never, time\n" in text
    assert "  change: any  # or never\n  levels: [clerk, smith]\n  # label: job\n" in text
    assert "# seen: nothing; 4 missing\n- name: gone\n" in text
    used = sl.Schema.from_dict(yaml.safe_load(re.sub("^  # ", "  ", text, flags=re.MULTILINE)))
    assert used["income"].bounds == (800.25, 3000)
    assert used["age"].bounds == (22, 65)
    assert used["tiny"].bounds == (1e-7, 0.3)
    assert used["yes"].bounds == (1.5, 3)
    assert used["gone"].bounds == (None, None)
    plain = sl.Schema.from_dict(yaml.safe_load(text))
    assert [feature.label for feature in used.features] == [f.label for f in plain.features]


def test_an_ordered_category_keeps_its_order_and_others_are_told_how_to_get_one(tmp_path):
    sizes = pd.Categorical(["big", "small"], ["small", "middle", "big"], ordered=True)
    frame = pd.DataFrame({"size": sizes, "grade": ["b", "a"]})
    frame = pd.concat([frame, frame.assign(grade="c")])
    frame.to_parquet(tmp_path / "sizes.parquet")
    said = stepladder(tmp_path / "sizes.parquet", "--increase", "size").stdout
    assert "  kind: ordinal\n  change: increase  # or any, decrease, never\n" in said
    assert "  levels: [small, middle, big]\n" in said
    hint = "  # or ordinal, if the levels have an order: lowest first\n"
    assert f"- name: grade\n  kind: categorical{hint}" in said


def test_an_enum_of_polars_is_a_category_though_arrow_and_pandas_say_that_it_has_an_order(tmp_path):
    sizes = pl.Series(["big", "small"], dtype=pl.Enum(["small", "big"]))
    sexes = pl.Series(["f", "m"], dtype=pl.Enum(["m", "f", "x"]))
    pl.DataFrame({"size": sizes, "sex": sexes}).write_parquet(tmp_path / "polars.parquet")
    shown = stepladder(tmp_path / "polars.parquet")
    assert sl.Schema.from_dict(yaml.safe_load(shown.stdout)) == sl.Schema(
        [
            sl.Categorical("size", levels=["small", "big"]),
            sl.Categorical("sex", levels=["m", "f", "x"]),
        ]
    )


def test_what_is_infinite_is_said_and_no_bound_that_is_suggested(tmp_path):
    frame = pd.DataFrame({"debt": [3.5, float("inf"), 8, None], "never": [float("-inf")] * 4})
    frame.to_parquet(tmp_path / "odd.parquet")
    text = stepladder(tmp_path / "odd.parquet").stdout
    assert "# seen: 3.5 to 8; 1 missing; 1 infinite, so correct the table\n" in text
    assert "# seen: nothing; 4 infinite, so correct the table\n" in text
    used = sl.Schema.from_dict(yaml.safe_load(re.sub("^  # ", "  ", text, flags=re.MULTILINE)))
    assert used["debt"].bounds == (3.5, 8)
    assert used["never"].bounds == (None, None)


def test_a_name_for_each_row_is_asked_about(tmp_path):
    file, out = tmp_path / "t.csv", tmp_path / "s.yaml"
    rows = pd.DataFrame({"who": [f"p{i}" for i in range(60)], "age": range(60)})
    rows.to_csv(file, index=False)
    shown = CliRunner().invoke(app, ["schema", str(file), "--out", str(out)])
    assert "Is 'who' a name for each row? Then write it again with --leave-out who" in shown.stderr


def test_a_table_without_rows_is_one_sentence(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("who,age\n")
    shown = CliRunner().invoke(app, ["schema", str(file)])
    assert shown.exit_code == 1
    assert "t.csv' has no rows, so there's nothing to guess from." in shown.stderr


def test_many_levels_are_pointed_at(tmp_path):
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(60)], "age": range(60)})
    frame.to_parquet(tmp_path / "many.parquet")
    said = stepladder(tmp_path / "many.parquet").stdout
    assert "# seen: 60 levels; is it a name for something? then leave it out\n" in said


def test_a_file_that_is_there_is_replaced_only_when_told(table, tmp_path):
    out = tmp_path / "schema.yaml"
    out.write_text("mine")
    assert_refused(stepladder(table, "--out", out), "is there already; replace it with --force")
    assert out.read_text() == "mine"
    assert stepladder(table, "--out", out, "--force").exit_code == 0
    assert len(sl.Schema.load(out)) == 5


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("none.csv", None, "There is no table at"),
        ("loans.xlsx", b"", "expected a name that ends in .parquet, .csv, .csv.gz"),
        ("bad.parquet", b"hello", "bad.parquet' can't be read: "),
        ("bad.csv", b"", "bad.csv' can't be read: Empty CSV file."),
        ("bad.csv.gz", b"hello", "bad.csv.gz' can't be read: "),
        ("ragged.csv", b"a,b\n1,2\n3\n", "Expected 2 columns, got 1"),
        ("twice.csv", b"a,a\n1,2\n", "has the column 'a' more than once"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_sentence(tmp_path, name, content, said):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert_refused(stepladder(tmp_path / name, "--out", tmp_path / "schema.yaml"), said)
    assert not (tmp_path / "schema.yaml").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--never", "agee"], "The frame has no column 'agee'. Did you mean 'age'?"),
        (["--leave-out", "aproved"], "has no column 'aproved', which --leave-out names. Did you"),
        (["--increase", "job"], "needs an order"),
        (["--increase", "age", "--never", "age"], "'age' is asked to change"),
        (["--out", "/proc/schema.yaml"], "Can't write to '/proc/schema.yaml': "),
        (["--out", "/no/schema.yaml"], "No such file or directory. Choose a folder that exists"),
    ],
)
def test_what_cannot_be_done_is_one_sentence(table, options, said):
    assert_refused(stepladder(table, *options), said)


@pytest.mark.parametrize("name", ["dated.parquet", "dated.csv"])
def test_columns_that_are_no_features_are_named_with_the_way_to_leave_them_out(tmp_path, name):
    day = dt.date(2020, 1, 31)
    frame = FRAME.assign(since=[day] * 4, until=[day] * 4)
    getattr(frame, "to_csv" if name.endswith("csv") else "to_parquet")(tmp_path / name, index=False)
    said = "Column 'since' holds dates or times, such as 2020-01-31; expected numbers, texts or"
    shown = stepladder(tmp_path / name, "--leave-out", "approved")
    assert_refused(shown, said)
    assert shown.stderr.endswith("To drop it here: --leave-out approved,since,until\n")
    assert stepladder(tmp_path / name, "--leave-out", "approved,since,until").exit_code == 0


def test_what_is_left_out_may_be_called_a_label_as_before(table):
    for option in ("--leave-out", "--label"):
        shown = stepladder(table, option, "approved")
        assert shown.exit_code == 0
        assert "approved" not in shown.stdout


def test_a_full_disk_leaves_nothing_and_what_was_there(table, tmp_path, monkeypatch):
    def full(self, *_, **__):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    out = tmp_path / "schema.yaml"
    out.write_text("mine")
    monkeypatch.setattr(Path, "write_text", full)
    said = "No space left on device. Choose a folder that exists, can be written to and has room."
    assert_refused(stepladder(table, "--out", out, "--force"), said)
    assert out.read_text() == "mine"
    assert {file.name for file in tmp_path.iterdir()} == {"loans.parquet", "schema.yaml"}
