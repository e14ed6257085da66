"""The command itself: its version, its help, bad usage, and life without its extra."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys

import pytest

import stepladder
from stepladder.cli import main


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stepladder", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_version():
    said = run("--version")
    assert (said.returncode, said.stdout) == (0, f"stepladder {stepladder.__version__}\n")


def test_help_names_every_command(capsys):
    assert main(["--help"]) == 0
    assert "bench" in capsys.readouterr().out
    assert main(["bench", "--help"]) == 0
    out = capsys.readouterr().out
    for command in ("run", "table", "compare", "page"):
        assert f"  {command} " in out
        assert main(["bench", command, "--help"]) == 0
        assert "Usage: stepladder bench" in capsys.readouterr().out


COMMANDS = [
    *(["demo"], ["schema"], ["recourse"], ["walk"], ["audit"], ["report"], ["letter"]),
    *(["bench", name] for name in ("run", "table", "compare", "page")),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_names_what_an_option_takes_and_no_python_type(command, capsys):
    assert main([*command, "--help"]) == 0
    said = capsys.readouterr().out
    taken = re.findall(r"^ +(?:--[a-z-]+(?:, )?)+ (\S+)", said, re.MULTILINE)
    assert {"FILE", "N", "NAMES", "MODEL", "TEXT", "NUMBER"} & {*taken}
    assert not re.search(r"<(list|str|int|float|path|file)|\brange>", said)


@pytest.mark.parametrize(
    "arguments", [["benhc"], ["bench", "tabel"], ["bench", "table"], ["bench", "table", "--x"]]
)
def test_bad_usage_is_exit_2(arguments, capsys):
    assert main(arguments) == 2
    assert "Error" in capsys.readouterr().err


def test_an_error_is_exit_1_without_a_traceback(tmp_path):
    said = run("bench", "table", str(tmp_path))
    assert said.returncode == 1
    assert said.stdout == ""
    assert said.stderr.startswith("Error: There are no results in ")
    assert len(said.stderr.splitlines()) == 1


@pytest.mark.parametrize("absent", ["typer", "rich"])
def test_without_its_extra_it_says_what_to_install(absent, monkeypatch, capsys):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == absent else found(name)
    )
    assert main(["--version"]) == 1
    assert capsys.readouterr().err == (
        f"The command line needs {absent}, which isn't installed. "
        "Install it with: pip install 'stepladder[cli]'\n"
    )
