"""`stepladder walk`: a conversation in a terminal, the same from a script, and every bad answer."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from typer.testing import CliRunner

import stepladder as sl
from stepladder.cli import main
from stepladder.cli.app import app
from stepladder.cli.session import different
from stepladder.result.offer import Asked, Offer
from stepladder.words import plans as words

MODULE = """
import numpy as np

def model(frame):
    return 1 / (1 + np.exp((20 + frame["debt"] - frame["income"]) / 3))

def old(frame):
    return np.where(frame["age"] >= 50, 0.9, 0.1)
"""

SCHEMA = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 60), decimals=1, unit="$", times=1000),
        sl.Numeric(
            "debt",
            label="total debt",
            bounds=(0, None),
            typical=(0, 30),
            decimals=1,
            change="decrease",
        ),
        sl.Numeric("age", integer=True, change="never", typical=(18, 70)),
        sl.Categorical("job", levels=["clerk", "night clerk"], change="never"),
    ]
)

ROW = {"income": 4.0, "debt": 19.5, "age": 30, "job": "clerk"}


def table(rows: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": random.normal(30, 8, rows).round(1),
            "debt": random.uniform(1, 20, rows).round(1),
            "age": random.integers(20, 60, rows),
            "job": random.choice(["clerk", "night clerk"], rows),
        }
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    monkeypatch.delitem(sys.modules, "loans", raising=False)
    (tmp_path / "loans.py").write_text(MODULE)
    table(300, seed=0).to_parquet("data.parquet")
    people = table(5, seed=1)
    people.loc[3] = ROW
    people.assign(who=["ann", "bob", "cy", "di", "di"]).to_parquet("people.parquet")
    SCHEMA.save("schema.yaml")
    Path("row.json").write_text(json.dumps(ROW))
    yield tmp_path
    sys.modules.pop("loans", None)


USUAL = {
    "--model": "loans:model",
    "--data": "data.parquet",
    "--schema": "schema.yaml",
    "--goal": "0.6",
}


def arguments(*more: object, **changed: object) -> list[str]:
    usual = {**USUAL, **{f"--{name}": value for name, value in changed.items()}}
    return ["walk", *(str(part) for pair in usual.items() for part in pair), *map(str, more)]


def told(lines: str, *more: object, **changed: object):
    """A walk from a script: a command a line."""
    if not {"--person", "--resume", "--row"} & {*more}:
        more = ("--row", "row.json", *more)
    return CliRunner().invoke(app, arguments(*more, **changed), input=lines)


def fitted() -> sl.StEP:
    import loans

    rows = pd.read_parquet("data.parquet")
    return sl.StEP().fit(rows, loans.model, schema=SCHEMA, goal=sl.Goal(threshold=0.6))


def kept() -> list[dict]:
    return json.loads(Path("walk.json").read_text())["history"]


def test_a_walk_takes_a_range_and_refuses_it_beside_a_score(folder):
    shown = told("quit\n", "--goal-between", "0.6", "0.9")
    assert shown.exit_code == 2
    assert "give one of them" in shown.stderr
    given = [part for name, part in USUAL.items() if name != "--goal" for part in (name, part)]
    row = ["--row", "row.json", "--goal-between", "0.6", "none"]
    shown = CliRunner().invoke(app, ["walk", *given, *row], input="quit\n")
    assert shown.exit_code == 0, shown.output
    assert "a yes takes at least 0.6" in shown.output


# ---- in a terminal ----------------------------------------------------------------------------


# What the tests themselves run in may ignore Ctrl-C, and would hand that on.
IN_TERMINAL = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.login_tty(int(sys.argv[1]))
os.execv(sys.executable, [sys.executable, "-m", "stepladder", *sys.argv[2:]])
"""


class Terminal:
    """The command in a pseudo-terminal of its own."""

    def __init__(self, *more: object, kind: str = "dumb") -> None:
        ours, theirs = os.openpty()
        self.screen = ours
        self.process = subprocess.Popen(
            [sys.executable, "-c", IN_TERMINAL, str(theirs), *arguments(*more)],
            pass_fds=[theirs],
            env={**os.environ, "OMP_NUM_THREADS": "1", "TERM": kind},
        )
        os.close(theirs)

    def until(self, ending: str) -> str:
        """What is said up to a prompt, or to the end if there is none."""
        said, patience = "", time.monotonic() + 120
        while not said.endswith(ending) or not ending:
            ready, _, _ = select.select([self.screen], [], [], patience - time.monotonic())
            if not ready:
                self.process.kill()
                self.process.wait()
                pytest.fail(f"Nothing more came after: {said}")
            try:
                said += os.read(self.screen, 4096).decode().replace("\r\n", "\n")
            except OSError:  # it has left
                assert not ending, said
                break
        return said

    def type(self, line: str, ending: str = "\n> ") -> str:
        os.write(self.screen, f"{line}\n".encode())
        return self.until(ending)

    def press(self, key: str) -> None:
        """Press a key that ends it: again, if it came just before reading began and was lost."""
        for _ in range(12):
            os.write(self.screen, key.encode())
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=10)
                return

    def left(self) -> int:
        os.close(self.screen)
        return self.process.wait(timeout=30)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
def test_three_steps_a_lock_what_happened_and_a_resume_in_a_terminal(folder):
    terminal = Terminal("--person", "3", "--people", "people.parquet", "--save", "walk.json")
    said = terminal.until("\n> ")
    assert "  income      $4,000\n  total debt  19.5\n  age         30 (can't change)\n" in said
    assert "Score: under 1%; a yes takes 60%." in said
    assert re.search(
        r"\n  1\. One thing to do\. Raise income from \$4,000.*\n  2\. ", said, re.DOTALL
    )
    assert [event["event"] for event in kept()] == ["start"]
    assert "Taken: income from $4,000 to $" in terminal.type("1")
    assert kept()[-1]["event"] == "take"
    said = terminal.type("lock total debt")
    assert "Locked: total debt." in said
    assert "Raise income" in said
    assert "debt from" not in said
    said = terminal.type("3 times")
    assert "'3 times' isn't known. " in said
    assert "There is no offer 9: there is only offer 1." in terminal.type("9")
    terminal.type("take 1")
    assert "income (" in terminal.type("happened", "): ")
    assert "income is a number, such as $" in terminal.type("much", "): ")
    terminal.type("9,500", "): ")
    terminal.type("18", "): ")
    terminal.type("31", "): ")
    said = " ".join(terminal.type("").split())
    assert "Noted: income from $" in said
    assert "to $9,500; total debt from " in said
    assert "age from 30 to 31" in said
    assert kept()[-1]["row"] == {"income": 9.5, "debt": 18.0, "age": 31, "job": "clerk"}
    assert "  4. took: income from " in terminal.type("history")
    assert "There is a route already." in terminal.type("why")
    before = kept()
    assert "The walk is kept in walk.json; go on with --resume walk.json." in terminal.type(
        "quit", ""
    )
    assert terminal.left() == 0
    assert kept() == before

    terminal = Terminal("--resume", "walk.json")
    said = terminal.until("\n> ")
    assert "  income      $9,500\n  total debt  18 (locked)\n" in said
    assert kept() == before
    terminal.type("unlock debt")
    said = ""
    while "That's a yes" not in said:
        said += terminal.type("1")
    assert "That's a yes: the score is " in said
    assert "Say quit; or happened, if something is otherwise after all." in said
    assert "It's a yes already, so nothing more is offered." in terminal.type("1")
    assert "The walk is kept in walk.json." in terminal.type("quit", "")
    assert terminal.left() == 0
    assert [event["event"] for event in kept()[: len(before)]] == [
        *("start", "take", "lock", "take", "observe"),
    ]
    assert sum(event["event"] == "take" for event in kept()) >= 3


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
def test_loading_reading_and_fitting_show_themselves_in_a_terminal_and_are_gone_after(folder):
    terminal = Terminal("--row", "row.json", kind="xterm")
    said = terminal.until("\n> ")
    work = ["Loading the model", "Reading the table", "Learning from the table"]
    found = [said.find(what) for what in (*work, "Looking for routes", "One thing to do")]
    assert -1 not in found
    assert found == sorted(found)
    assert said.count("\x1b[2K") >= len(work)  # each line is wiped
    terminal.type("quit", "")
    assert terminal.left() == 0
    quiet = told("quit\n")
    assert not any(what in quiet.output for what in work)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pseudo-terminal")
@pytest.mark.parametrize(
    ("key", "status", "said"),
    [
        ("\x04", 0, "\nThe walk is kept in walk.json; "),
        ("\x03", 130, "\nStopped. The walk is kept"),
    ],
)
def test_ctrl_d_and_ctrl_c_keep_the_walk_and_leave(folder, key, status, said):
    terminal = Terminal("--row", "row.json", "--save", "walk.json")
    terminal.until("\n> ")
    terminal.type("1")
    terminal.press(key)
    last = terminal.until("")
    assert said in last
    assert "Traceback" not in last
    assert terminal.left() == status
    assert [event["event"] for event in kept()] == ["start", "take"]


# ---- from a script ----------------------------------------------------------------------------


def test_a_script_gives_what_the_library_gives(folder):
    shown = told("2\nlock debt\nhappened income=12000, age=31 job=night clerk\n", save="walk.json")
    assert shown.exit_code == 0, shown.output
    assert "> " not in shown.stdout
    walk = fitted().walk(ROW)
    walk.take(walk.directions()[1].path)
    walk.lock("debt")
    row = {**walk.history[-1]["row"], "income": 12.0, "age": 31, "job": "night clerk"}
    walk.observe(row)
    assert kept() == json.loads(json.dumps(walk.history))
    assert "The walk is kept in walk.json; go on with --resume walk.json." in shown.stderr


def test_words_are_folded_to_a_narrow_terminal(folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    lines = told("", "--save", "walk.json").stdout.splitlines()
    assert max(map(len, lines)) <= 50


def test_at_the_goal_it_sums_up_and_ends(folder):
    shown = told("debt=3 income=40,000\n", save="walk.json")
    assert shown.exit_code == 0, shown.output
    assert "That's a yes: the score is over 99%; a yes takes 60%.\n" in shown.stdout
    assert "In 1 step: income from $4,000 to $40,000; total debt from 19.5 to 3.\n" in shown.stdout
    assert shown.stderr.endswith("The walk is kept in walk.json.\n")
    again = told("", "--resume", "walk.json")
    assert again.exit_code == 0
    assert "That's a yes" in again.stdout


def test_a_script_may_go_on_after_a_yes_and_tell_of_a_setback(folder):
    first = told("1\n1\n1\n1\n1\n1\n1\n1\n", "--row", "row.json", "--save", "walk.json")
    assert "yes" in first.stdout  # the lines after it can't be followed, and that is said
    assert (first.exit_code, "It's a yes already" in first.stderr) == (1, True)
    later = told("happened income=1000\nhistory\n", "--resume", "walk.json")
    assert later.exit_code == 0, later.stderr
    assert kept()[-1]["event"] == "observe"


def test_what_changed_is_summed_up_though_what_came_before_is_lost(folder):
    walk = json.loads(fitted().walk(ROW).to_json())
    Path("walk.json").write_text(json.dumps({**walk, "history": []}))
    shown = told("history\nincome $50,000\n", "--resume", "walk.json")
    assert shown.exit_code == 0, shown.output
    assert "  1. began (score under 1%)\n" in shown.stdout
    assert "In 1 step: income from $4,000 to $50,000.\n" in shown.stdout
    Path("walk.json").write_text(json.dumps({**walk, "history": [{"event": "fly"}]}))
    shown = told("history\n", "--resume", "walk.json")
    assert "event 1 of its history is 'fly'" in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_whoever_is_there_already_is_told_so(folder):
    Path("row.json").write_text(json.dumps({**ROW, "income": 50.0}))
    shown = told("")
    assert shown.exit_code == 0
    assert "Nothing needs to change." in shown.stdout
    assert "Nothing was kept." in shown.stderr


def test_without_a_route_why_says_what_is_in_the_way_and_the_exit_is_3(folder):
    shown = told("why\nquit\n", model="loans:old")
    assert shown.exit_code == 3
    assert "There's no route from here: why says what is in the way." in shown.stdout
    assert "There would be one with age other than 30." in " ".join(shown.stdout.split())


@pytest.mark.parametrize("line", ["1", "take 1", "Take offer 1", "1.", "#1"])
def test_an_offer_is_taken_by_its_number(folder, line):
    shown = told(f"{line}\n", save="walk.json")
    assert shown.exit_code == 0, shown.output
    assert "Taken: income from $4,000 to $" in shown.stdout
    assert [event["event"] for event in kept()] == ["start", "take"]


@pytest.mark.parametrize(
    "line",
    [
        "happened total debt 12.5, job night clerk",
        'happened "total debt" 12.5, job "night clerk"',
        "happened Total Debt = 12.5 and job = Night Clerk",
        "happened debt=12.5 job=night clerk",
        "total debt: 12.5; job “night clerk”",
    ],
)
def test_what_happened_is_told_by_name_or_label_with_quotes_or_without(folder, line):
    shown = told(f"{line}\n", save="walk.json")
    assert shown.exit_code == 0, shown.output
    said = "Noted: total debt from 19.5 to 12.5; job from clerk to “night clerk”.\n"
    assert said in shown.stdout
    assert kept()[-1]["row"] == {**ROW, "debt": 12.5, "job": "night clerk"}


def test_what_help_says_can_be_typed_as_it_stands(folder):
    shown = told("help\n").stdout
    line = re.search(r"^  (happened \S.*)$", shown, re.MULTILINE)[1]
    assert line == "happened income $4,000, total debt 19.5"
    signs = re.search(r'go between: (".*)', shown)[1]
    again = told(f"{line}\n{signs}\nlock income\nunlock income\n", save="walk.json")
    assert again.exit_code == 0, again.output
    assert again.stdout.count("Nothing is different from before.") == 2


def test_a_share_is_told_in_the_per_cent_that_is_shown(folder):
    share = sl.Numeric("debt", label="debt share", bounds=(0, 20), decimals=3, percent=True)
    sl.Schema([SCHEMA["income"], share, *SCHEMA.features[2:]]).save("schema.yaml")
    Path("row.json").write_text(json.dumps({**ROW, "debt": 0.4}))
    for said in ("35", "35%"):
        shown = told(f"happened debt share {said}\n", "--row", "row.json", "--save", f"{said}.json")
        assert "Noted: debt share from 40% to 35%.\n" in shown.stdout
        history = json.loads(Path(f"{said}.json").read_text())["history"]
        assert history[-1]["row"]["debt"] == 0.35
    shown = told("happened debt share 0.35\n")
    assert shown.exit_code == 1
    assert "Is debt share 0.35% or 35%? Write it with the % sign." in shown.stderr


def test_several_features_are_locked_and_unlocked_at_once(folder):
    shown = told(
        "lock debt, age and job\nunlock total debt and age\nunlock age\n", save="walk.json"
    )
    assert [event["event"] for event in kept()] == ["start", *["lock"] * 3, *["unlock"] * 2]
    assert "age isn't locked; only job." in shown.stderr


def test_an_unlock_of_what_is_not_locked_unlocks_nothing(folder):
    told("lock debt\nunlock debt, age\n", save="walk.json")
    assert [event["event"] for event in kept()] == ["start", "lock"]


def test_offers_that_ask_for_the_same_are_one():
    first, more = Asked("income", 1, 2), Asked("income", 1, 3)
    offers = [
        Offer(0, (first,), 0.2, 1, False, (more,)),
        Offer(1, (first,), 0.2, 1, False, (more,)),
        Offer(2, (first,), 0.2, 1, False, (Asked("income", 1, 4),)),
    ]
    assert [offer.path for offer in different(offers)] == [0, 2]


def test_an_offer_says_what_it_comes_to_in_all_and_what_comes_first(folder):
    shown = " ".join(told("quit\n").stdout.split())
    offer, *_ = fitted().walk(ROW).directions()
    total, first = (f"${1000 * asked[0].after:,.0f}" for asked in (offer.total, offer.changes))
    assert offer.steps_left > 1
    assert f"1. One thing to do. Raise income from $4,000 to {total}. First, raise income" in shown
    assert f"First, raise income from $4,000 to {first}. The score is then" in shown


def test_a_walk_takes_what_decides_which_paths_are_found(folder):
    given = {"cost": "distance", "slack": 0.0, "max-changes": 1, "step-size": 2.0, "max-steps": 9}
    lines = told("quit\n", *(part for name in given for part in (f"--{name}", given[name]))).stdout
    settings = {name.replace("-", "_"): value for name, value in given.items()}
    import loans

    step = sl.StEP(**settings).fit(
        pd.read_parquet("data.parquet"), loans.model, schema=SCHEMA, goal=sl.Goal(threshold=0.6)
    )
    (offer, *_) = step.walk(ROW).directions()
    first = words.offer(offer, SCHEMA, step.scorer_.goal)
    assert f" 1. {first} " in " ".join(lines.split()).replace("1. ", " 1. ") + " "
    assert told("quit\n", "--cost", "money").exit_code == 2


def test_what_is_hard_is_told_shown_and_kept(folder):
    lines = "hard income 9\nhard total debt 2 times\noffers\nhistory\nhard income 1\noffers\n"
    shown = told(lines, save="walk.json")
    assert shown.exit_code == 0, shown.output
    assert "Changing income is 9 times as hard as usual.\n" in shown.stdout
    assert "  income      $4,000 (9 times as hard as usual)\n" in shown.stdout
    assert "  total debt  19.5 (2 times as hard as usual)\n" in shown.stdout
    assert "  2. changing income is 9 times as hard as usual (score under 1%)\n" in shown.stdout
    assert "Changing income is as hard as usual.\n" in shown.stdout
    assert [(e["feature"], e["times"]) for e in kept()[1:]] == [
        *(("income", 9.0), ("debt", 2.0), ("income", 1.0)),
    ]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hard", "What is hard, and how many times as hard? help has an example."),
        ("hard income", "How many times as hard is income? Such as: hard income 3."),
        ("hard income very", "How many times as hard is income? Such as: hard income 3."),
        ("hard income 0", "How many times as hard is income? Such as: hard income 3."),
        ("hard incom 3", "'incom'"),
    ],
)
def test_how_hard_something_is_takes_a_feature_and_a_number(folder, line, said):
    shown = told(f"{line}\n")
    assert shown.exit_code == 1
    assert said in shown.stderr


@pytest.mark.parametrize("columns", [50, 80])
def test_nothing_runs_out_of_a_narrow_terminal(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    said = told("help\nlimit income $5,000 $40,000\noffers\nlock debt\nwhy\n").stdout
    assert "limit income $4,000 -" in said
    assert "\n  lock income\n              that can't change" in said
    assert max(map(len, said.splitlines())) <= columns
    assert "…" not in said


def test_the_history_says_what_was_locked(folder):
    shown = told("lock debt\nunlock debt\nhistory\n").stdout
    assert "  2. locked total debt (score under 1%)\n  3. unlocked total debt (" in shown


def test_limits_are_set_shown_told_and_lifted(folder):
    lines = "limit debt 10 -, income $5,000 to $40,000\noffers\nlimit debt - -\nhistory\n"
    shown = told(lines, save="walk.json").stdout
    assert "Limited total debt: at least 10.\n" in shown
    assert "Limited income: between $5,000 and $40,000.\n" in shown
    assert "  income      $4,000 (limited: between $5,000 and $40,000)\n" in shown
    assert "  total debt  19.5 (limited: at least 10)\n" in shown
    assert "No longer limited: total debt.\n" in shown
    assert "  2. limited total debt: at least 10 (score under 1%)\n" in shown
    assert "  4. no longer limited: total debt (" in shown
    assert kept()[2] | {"row": 0, "score": 0} == {
        "event": "limit",
        "feature": "income",
        "low": 5.0,
        "high": 40.0,
        "row": 0,
        "score": 0,
    }
    resumed = told("", "--resume", "walk.json").stdout
    assert "$4,000 (limited: between $5,000 and $40,000)" in resumed


def test_why_names_the_limits_in_the_way(folder):
    shown = told("limit income - $4,000\nlock debt\nwhy\n").stdout
    assert "There's no route from here: why says what is in the way." in shown
    assert "if income could go beyond its limits" in " ".join(shown.split())


RULED = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, 60), decimals=1, reach=12, unit="$", times=1000),
        sl.Numeric("debt", bounds=(0, None), decimals=1, at_once=True, change="decrease"),
        sl.Derived("share", "debt / income", decimals=2, label="share of debt"),
        sl.Numeric("age", change="time"),
        sl.Ordinal("studies", levels=["none", "some", "all"], moves={"none": ["some"]}, months=24),
        sl.Numeric("savings", fill=True),
    ],
    require=["debt <= 2 * income"],
)


@pytest.fixture
def ruled(folder) -> None:
    """The walk's table under rules: what follows, hops, time and a gap that a plan may fill."""
    rng, data = np.random.default_rng(0), pd.read_parquet("data.parquet")
    data = data.assign(
        share=(data["debt"] / data["income"]).round(2),
        age=data["age"].astype(float),
        studies=rng.choice(["none", "some", "all"], len(data)),
        savings=rng.uniform(0, 9, len(data)).round(1),
    )
    data[list(RULED.names)].to_parquet("data.parquet")
    RULED.save("schema.yaml")
    row = {"income": 14.0, "debt": 9.0, "age": 30.0, "studies": "none", "savings": None}
    Path("row.json").write_text(json.dumps(row))  # without what follows


def test_what_follows_is_worked_out_shown_and_never_asked_for(ruled):
    shown = told("happened\n\n8\n\n\n\nhistory\nquit\n", "--save", "walk.json")
    assert shown.exit_code == 0, shown.output
    assert "  share of debt  0.64 (follows from the rest)\n" in shown.output
    assert "  age            30 (grows with time)\n" in shown.output
    assert "  savings        not given\n" in shown.output
    assert "Noted: debt from 9 to 8. That makes share of debt 0.57." in shown.output
    assert "2. happened: debt from 9 to 8 (score" in shown.output
    assert kept()[-1]["row"]["share"] == 0.57
    offers = [line for line in shown.output.splitlines() if re.match(r" +\d\. [A-Z]", line)]
    assert offers
    assert not any("share" in line for line in offers)


def test_a_taken_offer_says_what_it_makes_of_the_rest(ruled):
    shown = told("1\nquit\n")
    said = " ".join(shown.output.split())
    assert re.search(r"Taken: .* That makes share of debt 0\.\d+\.", said), said


def test_what_follows_may_be_told_as_a_fact(ruled):
    told("happened share of debt 0.7\nquit\n", "--save", "walk.json")
    assert kept()[-1]["row"]["share"] == 0.7


def test_a_gap_may_be_told_in_a_walk(ruled):
    shown = told("happened savings 3\nquit\n", "--save", "walk.json")
    assert "Noted: savings 3." in shown.output
    assert kept()[-1]["row"]["savings"] == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("lock share of debt", "'share' follows from other features, so it can't be locked or"),
        ("limit share of debt 0 0.5", "'share' follows from other features, so it can't be"),
        ("lock age", "'age' grows with the time that a plan takes, so it can't be locked or"),
    ],
)
def test_what_no_plan_sets_can_not_be_held(ruled, line, said):
    shown = told(f"{line}\n")
    assert shown.exit_code == 1
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_why_names_a_requirement_in_the_way(ruled):
    schema = sl.Schema([*RULED.features[1:], RULED["income"].but(reach=None)], ["income <= 15"])
    schema.save("schema.yaml")
    shown = told("why\nquit\n", "--lock", "debt")
    assert "There would be one if “income <= 15” weren't required." in " ".join(
        shown.output.split()
    )


def test_the_help_has_limits_with_a_value_of_theirs(folder):
    shown = told("help\n").stdout
    assert "  limit income $4,000 -\n" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_locks_come_with_the_command_too(folder):
    shown = told("", "--lock", "total debt,age", "--save", "walk.json")
    assert "19.5 (locked)" in shown.stdout
    assert [event["event"] for event in kept()] == ["start", "lock", "lock"]


def test_a_resume_can_be_kept_elsewhere(folder):
    told("1\n", save="walk.json")
    before = Path("walk.json").read_text()
    assert told("1\n", "--resume", "walk.json", "--save", "other.json").exit_code == 0
    assert Path("walk.json").read_text() == before
    assert len(json.loads(Path("other.json").read_text())["history"]) == 3


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("jump", "'jump' isn't known."),
        ("hapened debt", "Did you mean 'happened'?"),
        ("7", "There is no offer 7: there are 1 to "),
        ("take", "Which offer was taken? Such as: take 1; there are 1 to "),
        ("take one", "Which offer was taken?"),
        ("take 7", "There is no offer 7: there are 1 to "),
        ("9" * 5000, "isn't known."),
        ("lock", "Which feature? There are 'income', 'total debt', 'age', 'job'."),
        ("lock dept", "There's no feature called 'dept'. Did you mean 'debt'? There are 'income'"),
        ("unlock debt", "total debt isn't locked; nothing is."),
        ("limit", "Which feature, and from where to where? help has an example."),
        ("limit debt", "From where to where can total debt go? Such as: limit total debt 19.5 -,"),
        ("limit debt 3", "From where to where can total debt go?"),
        ("limit debt few -", "total debt is a number, such as 19.5; 'few' isn't one."),
        ("limit debt 3 4 5", "From where to where can total debt go?"),
        ("limit dept 3 -", "There's no feature called 'dept'. Did you mean 'debt'?"),
        ("limit debt 9 3", "The limits of total debt begin with the lower one: 9 3."),
        ("limit debt - -", "'debt' has no limits; limited are: none."),
        ("limit job clerk -", "Limits are for what has an order, and job has none; lock it"),
        ("limit income - 70000", "income can't be $70,000: it lies between $0 and $60,000."),
        ("happened debt", "What is total debt now? Such as: happened total debt 19.5"),
        ("happened dept 3", "There's no feature called 'dept'. Did you mean 'debt'?"),
        ('happened debt="3', "total debt is a number, such as 19.5; '\"3' isn't one."),
        ("debt=little", "total debt is a number, such as 19.5; 'little' isn't one."),
        ("debt -3", "total debt can't be −3: it's at least 0."),
        ("income=70000", "income can't be $70,000: it lies between $0 and $60,000."),
        ("debt 5, debt 6", "The line names total debt twice. Name it once."),
        ("income=" + "9" * 400, "income is a number"),
        ("job=smith", "job can't be 'smith': it's one of 'clerk', 'night clerk'."),
        ("save", "There's no file to keep the walk in"),
    ],
)
def test_a_line_that_cannot_be_followed_ends_a_script_in_one_sentence(folder, line, said):
    shown = told(f"{line}\nquit\n")
    assert shown.exit_code == 1, shown.output
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()) == 1


def test_what_happened_is_noted_to_its_last_digit(folder):
    shown = told("income $12,345.67, debt 12.555, age 30.5\n", save="walk.json")
    assert shown.exit_code == 0, shown.output
    assert kept()[-1]["row"] == {**ROW, "income": 12.34567, "debt": 12.555, "age": 30.5}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows' shell can't close stdin")
def test_without_a_stdin_there_are_no_lines(folder):
    command = [sys.executable, "-m", "stepladder", *arguments("--row", "row.json")]
    shown = subprocess.run(
        ["sh", "-c", 'exec "$@" <&-', "sh", *command],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert shown.returncode == 0, shown.stderr
    assert "Score: under 1%; a yes takes 60%." in shown.stdout
    assert shown.stderr == "Nothing was kept.\n"


def test_every_event_before_such_a_line_is_kept(folder):
    shown = told("1\nlock debt\nnonsense\n1\n", save="walk.json")
    assert shown.exit_code == 1
    assert [event["event"] for event in kept()] == ["start", "take", "lock"]


def test_each_paid_step_says_what_is_spent_and_left(folder):
    pytest.importorskip("opendp")
    budget = ["--epsilon", "5", "--delta", "1e-6", "--ledger", "spent.sqlite"]
    shown = told("lock age\noffers\n", *budget, save="walk.json")
    assert shown.exit_code in (0, 3), shown.output
    said = " ".join(shown.stdout.split())
    spent = [float(e) for e in re.findall(r"Privacy: spent ε = ([\d.]+) of 5.00", said)]
    assert len(spent) == 3
    assert spent[0] == spent[1] < spent[2]  # only offers cost, and a lock asks for none
    assert said.count("What could come next is paid for when you ask: offers.") == 2
    assert json.loads(Path("walk.json").read_text())["paid"]["releases"] >= 1
    again = told("1\n", "--resume", "walk.json", "--ledger", "spent.sqlite")
    assert "Privacy: spent ε" in again.stdout
    assert again.exit_code == 1  # nobody pays for an offer, or takes one, without having asked
    assert "Nothing was offered from here yet; ask for it: offers." in again.stderr


def test_a_resumed_walk_uses_what_was_bought_again_for_nothing(folder):
    pytest.importorskip("opendp")
    budget = ["--ledger", "spent.sqlite", "--bought", "facts.json"]
    begun = told("offers\n", "--epsilon", "5", "--delta", "1e-6", *budget, save="walk.json")
    assert begun.exit_code in (0, 3), begun.output
    assert "--bought" not in begun.stderr
    spent = sl.Budget.open("spent.sqlite").statement
    again = told("offers\n", "--resume", "walk.json", *budget)
    assert again.exit_code == begun.exit_code, again.output
    assert sl.Budget.open("spent.sqlite").statement == spent
    offered = [shown.stdout[shown.stdout.index("1. ") :] for shown in (begun, again)]
    assert offered[0] == offered[1]
    unkept = told("", "--resume", "walk.json", "--ledger", "spent.sqlite")
    assert unkept.stderr.startswith("Without --bought FILE, the clusters that offers lead to")
    assert sl.Budget.open("spent.sqlite").statement.releases == spent.releases + 4


def test_categories_in_several_columns_and_booleans_are_told_by_their_levels(folder):
    features = [
        *SCHEMA.features[:3],
        sl.Categorical("home", levels=["own", "rent"], onehot=["home_own", "home_rent"]),
        sl.Categorical("member", levels=[False, True]),
    ]
    sl.Schema(features).save("schema.yaml")
    data = table(300, seed=0).drop(columns="job")
    data["home_own"] = np.arange(300) % 2
    data["home_rent"] = 1 - data["home_own"]
    data["member"] = np.arange(300) % 3 == 0
    data.to_parquet("data.parquet")
    row = {**ROW, "home_own": 1, "home_rent": 0, "member": False}
    del row["job"]
    Path("row.json").write_text(json.dumps(row))
    shown = told("home=rent member=yes\n", save="walk.json")
    assert shown.exit_code == 0, shown.output
    assert "Noted: home from own to rent; member from no to yes." in shown.stdout
    row = kept()[-1]["row"]
    assert (row["home_own"], row["home_rent"], row["member"]) == (0, 1, True)


# ---- bad input --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"model": "none.onnx"}, "There is no model file at 'none.onnx'."),
        ({"model": "loans:modle"}, "Did you mean 'model'"),
        ({"data": "none.csv"}, "There is no table at 'none.csv'."),
        ({"schema": "bad.yaml"}, "bad.yaml, line 3, column 9: not YAML"),
        ({"schema": "other.yaml"}, "'data.parquet' has no column 'incom', which the schema names."),
        ({"row": "none.json"}, "There is no row at 'none.json'."),
        ({"row": "bad.json"}, "bad.json, line 1, column 15: not JSON"),
        ({"row": "list.json"}, "'list.json' isn't a row: expected one object"),
        ({"row": "short.json"}, "'short.json' has no 'debt', which the schema names."),
        ({"row": "wordy.json"}, "'wordy.json': 'income' is a number, but stands there as '4'."),
        ({"row": "low.json"}, "'income' can't be −1: the schema says between 0 and 60. Correct"),
        ({"row": "people.parquet"}, "isn't text, so it's no row"),
        ({"lock": "dept"}, "There's no feature called 'dept'. Did you mean 'debt'?"),
        ({"save": "no/walk.json"}, "Can't write to 'no/walk.json': No such file or directory."),
        ({"save": "/proc/walk.json"}, "Can't write to '/proc/walk.json': "),
        ({"save": "there.json"}, "is there already; go on with it by --resume there.json."),
    ],
)
def test_bad_input_is_one_sentence_and_nothing_is_written(folder, changed, said):
    Path("bad.yaml").write_text("features:\n- name: income\n    kind: numeric\n")
    Path("other.yaml").write_text("features:\n- {name: incom, kind: numeric}\n")
    Path("bad.json").write_text('{"income": 4, }')
    Path("list.json").write_text("[1]")
    Path("short.json").write_text('{"income": 4}')
    Path("wordy.json").write_text(json.dumps({**ROW, "income": "4"}))
    Path("low.json").write_text(json.dumps({**ROW, "income": -1}))
    Path("there.json").write_text("mine")
    before = {file.name for file in folder.iterdir()} - {"__pycache__"}
    shown = CliRunner().invoke(
        app, arguments(**{"row": "row.json", "save": "walk.json", **changed}), input="1\n"
    )
    assert shown.exit_code == 1, shown.output
    assert said in shown.stderr
    assert len(shown.stderr.splitlines()) == 1
    assert shown.stdout == ""
    assert {file.name for file in folder.iterdir()} - {"__pycache__"} == before
    assert Path("there.json").read_text() == "mine"


def test_what_a_row_has_beyond_the_schema_is_set_aside_and_said(folder):
    Path("long.json").write_text(json.dumps({**ROW, "dept": 3}))
    shown = told("quit\n", "--row", "long.json")
    assert shown.exit_code == 0, shown.output
    assert "long.json: not in the schema, set aside: 'dept'.\n" in shown.stderr


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--person", "9", "--people", "people.parquet"], "has nobody called '9'"),
        (["--person", "an", "--people", "people.parquet", "--id", "who"], "Did you mean 'ann'?"),
        (["--person", "di", "--people", "people.parquet", "--id", "who"], "2 people of 'people"),
        (["--person", "3", "--people", "none.csv"], "There is no table at 'none.csv'."),
        (["--resume", "none.json"], "There is no walk at 'none.json'."),
        (["--resume", "row.json"], "This isn't a walk that was saved"),
    ],
)
def test_a_person_who_is_not_there_is_one_sentence(folder, more, said):
    shown = told("", *more)
    assert shown.exit_code == 1
    assert said in shown.stderr.splitlines()[-1]


def test_a_model_that_does_not_fit_the_data_is_said(folder):
    skops = pytest.importorskip("skops.io")
    data = table(300, seed=0)[["income", "debt"]].assign(savings=1.0)
    skops.dump(LogisticRegression().fit(data, data["debt"] > 10), "model.skops")
    shown = told("", model="model.skops", save="walk.json")
    assert shown.exit_code == 1
    assert "it needs 'savings', which the schema doesn't name" in shown.stderr
    assert not Path("walk.json").exists()


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ([], "A walk is about one person"),
        (["--row", "row.json", "--resume", "walk.json"], "--resume says who it is"),
        (["--person", "3"], "--person and --people come together"),
        (["--row", "row.json", "--goal", "1.5"], "isn't a score above 0 and at most 1"),
        (["--row", "row.json", "--epsilon", "1"], "--epsilon and --delta come together"),
        (
            ["--row", "row.json", "--epsilon", "1", "--delta", "1e-6", "--save", "walk.json"],
            "A walk that is kept needs --ledger",
        ),
        (["--row", "row.json", "--save", "./row.json"], "is a file that is read from"),
    ],
)
def test_bad_usage_is_exit_2(folder, more, said, capsys):
    assert main(arguments(*more)) == 2
    assert said in capsys.readouterr().err


def test_a_disk_that_fills_up_keeps_the_walk_as_it_was(folder, monkeypatch):
    written = Path.write_text

    def full(self, text, **more):
        if "take" in text:
            raise OSError(28, "No space left on device")
        return written(self, text, **more)

    monkeypatch.setattr(Path, "write_text", full)
    shown = told("1\n", save="walk.json")
    assert shown.exit_code == 1
    assert "Can't write to 'walk.json': No space left on device." in shown.stderr
    assert [event["event"] for event in kept()] == ["start"]
