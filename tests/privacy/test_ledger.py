"""Ledgers: nothing is lost, nothing is taken back, and no two spends pass the limit together."""

from __future__ import annotations

import os
import pickle
import random
import sqlite3
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stepladder.errors import BudgetError, ParameterError
from stepladder.privacy.accountant import Budget
from stepladder.privacy.ledger import File, Memory, Spend
from stepladder.privacy.neighbours import Neighbours

SPENDERS = Path(__file__).with_name("spenders.py")
forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture(params=["memory", "file"])
def ledger(request, path):
    limits = 1.0, 1e-6, Neighbours.ADD_OR_REMOVE
    return Memory(*limits) if request.param == "memory" else File.make(path, *limits)


# Libraries start threads of their own when they are imported: BLAS, and Arrow's allocator.
NO_THREADS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
}
# What Python 3.12 says of a fork where there are threads, in case one starts all the same.
FORKED = "ignore:This process:DeprecationWarning"


def run(*arguments: object) -> str:
    """A process of its own, of one thread, so that it may fork; what it wrote, if it went well."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-W", FORKED, *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=os.environ | NO_THREADS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def sql(path: Path, statement: str) -> list[tuple]:
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        return db.execute(statement).fetchall()


def entry(what: str = "a direction", multiplier: float = 5.0, count: int = 1) -> Spend:
    return Spend("2026-01-01T00:00:00+00:00", what, multiplier, count)


def agreed(totals) -> None:
    """A check that everything passes."""


# -------------------------------------------------------------------- what both kinds promise


def test_entries_come_back_as_they_were_written(ledger):
    written = [entry("one", 0.1), entry("two", 1e300, 3), entry("drei · 三 'quoted'; --", 5e-324)]
    for each in written:
        ledger.spend(each, agreed)
    assert ledger.entries() == written


def test_totals_are_by_multiplier(ledger):
    assert ledger.totals() == {}
    ledger.spend(entry(multiplier=2.5), agreed)
    ledger.spend(entry(multiplier=3.5, count=10), agreed)
    after = ledger.spend(entry(multiplier=2.5, count=4), agreed)
    assert after == ledger.totals() == {2.5: 5, 3.5: 10}


def test_a_check_sees_the_totals_before_and_can_refuse(ledger):
    ledger.spend(entry(), agreed)

    def refuse(totals):
        assert totals == {5.0: 1}
        raise BudgetError("no")

    with pytest.raises(BudgetError, match=r"^no$"):
        ledger.spend(entry("another"), refuse)
    assert [each.what for each in ledger.entries()] == ["a direction"]
    assert ledger.totals() == {5.0: 1}
    ledger.spend(entry("after that"), agreed)


def test_what_is_returned_is_not_the_ledger_itself(ledger):
    ledger.spend(entry(), agreed).clear()
    ledger.totals().clear()
    ledger.entries().clear()
    assert ledger.totals() == {5.0: 1}
    assert len(ledger.entries()) == 1


def test_nobody_spends_between_check_and_entry(ledger):
    most, granted = 60, []
    start = threading.Barrier(32)

    def spender(name: int) -> None:
        def below_the_most(totals) -> None:
            so_far = sum(totals.values())
            time.sleep(0.0005)  # in which the others would go by, if they could
            if so_far >= most:
                raise BudgetError("full")

        start.wait()
        for i in range(3):
            try:
                ledger.spend(entry(f"{name}-{i}"), below_the_most)
            except BudgetError as error:
                assert str(error) == "full"  # noqa: PT017
            else:
                granted.append(f"{name}-{i}")

    with ThreadPoolExecutor(32) as pool:
        list(pool.map(spender, range(32)))
    assert len(granted) == most
    assert sorted(each.what for each in ledger.entries()) == sorted(granted)


def test_an_entry_is_dated_in_utc(path):
    for budget in (Budget(1, 1e-6), Budget(1, 1e-6, ledger=path)):
        budget.spend(9.0, "a direction")
        at = datetime.fromisoformat(budget.entries()[0].at)
        assert at.utcoffset() == timedelta(0)
        assert abs(datetime.now(UTC) - at) < timedelta(minutes=1)


# ------------------------------------------------------------------------------ a file lasts


def test_what_is_spent_is_still_spent_when_the_ledger_is_opened_again(path):
    budget = Budget(1, 1e-6, ledger=path)
    statement = budget.spend(budget.multiplier(share=0.25), "a quarter")
    for again in (Budget(1, 1e-6, ledger=str(path)), Budget.open(path), Budget.open(str(path))):
        assert (again.epsilon, again.delta) == (1.0, 1e-6)
        assert again.statement == statement
        assert again.entries() == budget.entries()
        assert again.rest == pytest.approx(0.75)
        with pytest.raises(BudgetError, match="left"):
            again.spend(again.multiplier(share=0.76), "too much")
    assert repr(budget) == f"Budget(epsilon=1.0, delta=1e-06, spent=0.48, ledger={str(path)!r})"


def test_a_pickled_budget_shares_the_ledger(path):
    budget = Budget(1, 1e-6, ledger=path)
    twin = pickle.loads(pickle.dumps(budget))
    twin.spend(twin.multiplier(), "everything")
    assert not budget.affords(1000.0)
    assert budget.entries() == twin.entries()


def test_a_path_is_kept_in_full(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    budget = Budget(1, 1e-6, ledger="ledger.db")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    budget.spend(9.0, "a direction")
    assert len(Budget.open(path).entries()) == 1
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("name", ["a b.db", "50%?mode=ro#x.db", ":memory:", "größe.db"])
def test_a_file_may_have_any_name(tmp_path, name):
    Budget(1, 1e-6, ledger=tmp_path / name).spend(9.0, "a direction")
    assert [file.name for file in tmp_path.iterdir()] == [name]
    assert len(Budget.open(tmp_path / name).entries()) == 1


def test_a_maker_that_died_at_once_leaves_nothing_in_the_way(path):
    path.touch()
    Budget(1, 1e-6, ledger=path).spend(9.0, "a direction")
    assert len(Budget.open(path).entries()) == 1


def test_every_commit_waits_for_the_disk(path, monkeypatch):
    said: list[str] = []

    class Listening(sqlite3.Connection):
        def execute(self, statement, *values):
            said.append(statement.split(" (")[0])
            return super().execute(statement, *values)

    budget = Budget(1, 1e-6, ledger=path)
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: connect(*a, factory=Listening, **k))
    budget.spend(9.0, "a direction")
    assert said[:2] == ["PRAGMA synchronous = EXTRA", "BEGIN IMMEDIATE"]
    assert said[-2:] == ["INSERT INTO spends", "COMMIT"]


# ------------------------------------------------------------------------ nothing is taken back


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE spends SET count = 1",
        "UPDATE spends SET multiplier = 1e9 WHERE id = 1",
        "DELETE FROM spends",
        "INSERT OR REPLACE INTO spends VALUES (1, '', '', 1e9, 1)",
        "UPDATE limits SET epsilon = 100",
        "DELETE FROM limits",
        "INSERT OR REPLACE INTO limits VALUES (1, 1, 100.0, 1e-6, 'replace_one', '')",
        "INSERT INTO limits VALUES (2, 1, 100.0, 1e-6, 'replace_one', '')",
    ],
)
def test_a_ledger_can_only_be_added_to(path, statement):
    budget = Budget(1, 1e-6, ledger=path)
    budget.spend(9.0, "a direction", 2)
    before = budget.entries(), budget.statement
    with pytest.raises(sqlite3.IntegrityError, match="a ledger can only be added to"):
        sql(path, statement)
    assert (budget.entries(), budget.statement) == before
    assert Budget.open(path).epsilon == 1


@pytest.mark.parametrize("values", ["-1.0, 1", "0.0, 1", "1.0, -1", "1.0, 0", "1.0, 0.5", "'x', 1"])
def test_nothing_can_be_added_that_pays_back(path, values):
    Budget(1, 1e-6, ledger=path)
    with pytest.raises(sqlite3.IntegrityError, match="CHECK"):
        sql(path, f"INSERT INTO spends (at, what, multiplier, count) VALUES ('', '', {values})")


# --------------------------------------------------------------------------- what can be wrong


@pytest.mark.parametrize(
    ("epsilon", "delta", "neighbours"),
    [
        (2, 1e-6, "add_or_remove"),
        (1, 1e-7, "add_or_remove"),
        (0.5, 1e-5, "add_or_remove"),
        (1, 1e-6, "replace_one"),
    ],
)
def test_a_ledger_keeps_the_limits_it_was_made_with(path, epsilon, delta, neighbours):
    Budget(1, 1e-6, ledger=path)
    with pytest.raises(BudgetError) as refused:
        Budget(epsilon, delta, neighbours=neighbours, ledger=path)
    said = str(refused.value)
    assert f"{path} was made for ε = 1, δ = 1e-06 and add_or_remove neighbours" in said
    assert f"not for ε = {epsilon:g}, δ = {delta:g} and {neighbours} neighbours" in said
    assert "Budget.open(path)" in said


def refused(path: Path) -> str:
    """What is said, by both ways in, about a file that can't be a ledger."""
    said = set()
    for way in (lambda: Budget(1, 1e-6, ledger=path), lambda: Budget.open(path)):
        with pytest.raises(BudgetError) as error:
            way()
        said.add(str(error.value))
    assert len(said) == 1
    return said.pop()


@pytest.mark.parametrize("content", ["no", "income,age\n1,2\n" * 500, "SQLite format 3"])
def test_a_file_of_another_kind_is_no_ledger_and_stays_as_it_is(path, content):
    path.write_text(content)
    assert f"{path} isn't a ledger" in refused(path)
    assert path.read_text() == content


def test_another_database_is_no_ledger_and_stays_as_it_is(path):
    sql(path, "CREATE TABLE limits (epsilon, delta)")
    before = path.read_bytes()
    assert f"{path} isn't a ledger. Name another file" in refused(path)
    assert path.read_bytes() == before


def test_a_folder_is_no_ledger(tmp_path):
    assert f"{tmp_path} is a folder" in refused(tmp_path)


def test_a_missing_folder_has_to_be_made_first(tmp_path):
    said = refused(tmp_path / "none" / "ledger.db")
    assert f"The folder {tmp_path / 'none'} of the ledger ledger.db isn't there. Make it" in said
    assert not (tmp_path / "none").exists()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="this system has no /dev/null")
def test_nothing_is_written_down_in_a_device():
    assert "/dev/null is no ordinary file" in refused(Path("/dev/null"))


def test_a_name_that_no_file_can_have_is_said(tmp_path):
    assert "can't be reached" in refused(tmp_path / "nul\0.db")
    assert "can't be reached" in refused(tmp_path / ("long" * 100))


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="this system has no /proc")
def test_a_place_where_nobody_may_write_is_said():
    assert "There is no ledger at /proc/ledger.db, or it can't be made there" in refused(
        Path("/proc/ledger.db")
    )


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_ledger_that_may_only_be_read_is_refused(path):
    Budget(1, 1e-6, ledger=path)
    path.chmod(0o444)
    assert f"The ledger {path} can't be written" in refused(path)


def test_a_full_disk_spends_nothing(path, monkeypatch):
    budget = Budget(1, 1e-6, ledger=path)
    connect = sqlite3.connect

    def full(*arguments, **named):
        db = connect(*arguments, **named)
        db.execute("PRAGMA max_page_count = 1")  # which means: as many as it has
        return db

    monkeypatch.setattr(sqlite3, "connect", full)
    with pytest.raises(BudgetError, match=r"can't be written \(database or disk is full\).*disk"):
        budget.spend(9.0, "a very long story " * 10_000)
    assert budget.entries() == []


def test_nothing_is_there_to_open_until_it_is_made(path):
    with pytest.raises(BudgetError, match=r"no ledger at .*ledger\.db.*an epsilon and a delta"):
        Budget.open(path)
    assert not path.exists()


def test_a_lost_ledger_is_no_fresh_one(path):
    budget = Budget(1, 1e-6, ledger=path)
    pickled = pickle.dumps(budget)
    path.unlink()
    for use in (
        lambda: budget.spend(9.0, "a direction"),
        lambda: budget.affords(9.0),
        lambda: budget.rest,
        lambda: budget.statement,
        budget.entries,
        lambda: pickle.loads(pickled),
    ):
        with pytest.raises(BudgetError, match=r"There is no ledger at .* Put the lost one back"):
            use()
    assert not path.exists()
    assert "spent=?" in repr(budget)


def test_another_ledger_in_its_place_is_noticed(path):
    budget = Budget(1, 1e-6, ledger=path)
    pickled = pickle.dumps(budget)
    path.unlink()
    Budget(1, 1e-6, ledger=path)
    for use in (lambda: budget.spend(9.0, "a direction"), lambda: pickle.loads(pickled)):
        with pytest.raises(BudgetError, match=f"{path} isn't the one this budget was opened with"):
            use()


def test_an_emptied_ledger_is_noticed(path):
    budget = Budget(1, 1e-6, ledger=path)
    path.write_bytes(b"")
    with pytest.raises(BudgetError, match=f"{path} isn't a ledger"):
        budget.spend(9.0, "a direction")


def test_a_ledger_of_a_later_format_is_left_alone(path, monkeypatch):
    monkeypatch.setattr(File, "FORMAT", 2)
    Budget(1, 1e-6, ledger=path)
    monkeypatch.undo()
    assert f"{path} has format 2, and this version of Stepladder knows format 1" in refused(path)


def many(path: Path, spends: int) -> Budget:
    """A ledger of some pages, written in one go."""
    budget = Budget(1, 1e-6, ledger=path)
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO spends (at, what, multiplier, count) VALUES (?, ?, ?, 1)",
            [("2026", f"spend {i}", 1000.0 + i % 3) for i in range(spends)],
        )
    return budget


@pytest.mark.parametrize("kept", [5000, 50_001])
def test_a_ledger_that_was_cut_short_is_damaged(path, kept):
    budget = many(path, 3000)
    os.truncate(path, kept)
    assert f"The ledger {path} is damaged" in refused(path)
    assert "count all of the budget as spent" in refused(path)
    with pytest.raises(BudgetError, match="is damaged"):
        budget.spend(1000.0, "a direction")


@pytest.mark.parametrize("at", [0, 5, 100, 4096 * 2, 4096 * 7])
def test_a_ledger_that_was_written_over_is_damaged(path, at):
    many(path, 3000)
    with path.open("r+b") as file:
        file.seek(at)
        file.write(random.Random(0).randbytes(3000))
    assert f"{path} is" in refused(path)


def test_a_ledger_without_limits_is_damaged(path):
    Budget(1, 1e-6, ledger=path)
    sql(path, "DROP TRIGGER limits_delete")
    sql(path, "DELETE FROM limits")
    assert f"{path} is damaged (its limits are missing)" in refused(path)


def test_a_ledger_that_others_hold_on_to_is_waited_for_but_not_forever(path, monkeypatch):
    budget = Budget(1, 1e-6, ledger=path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        monkeypatch.setattr(File, "PATIENCE", 0.1)
        with pytest.raises(BudgetError, match=r"in use by others for 0\.1 seconds.*nothing was"):
            budget.spend(9.0, "a direction")
        assert budget.entries() == []
        monkeypatch.setattr(File, "PATIENCE", 60.0)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(budget.spend, 9.0, "a direction")
            time.sleep(0.2)
            assert not waiting.done()
            other.execute("ROLLBACK")
            assert waiting.result().releases == 1


@pytest.mark.parametrize("place", [3, 1.5, b"ledger.db", ["ledger.db"], True])
def test_a_ledger_is_named_by_a_path(place):
    for way in (lambda: Budget(1, 1e-6, ledger=place), lambda: Budget.open(place)):
        with pytest.raises(ParameterError, match=r"named by the path of its file\. Got"):
            way()


# ------------------------------------------------------------------------- threads and processes


def test_threads_that_race_on_a_file_never_overdraw_it(path):
    Budget(1, 1e-6, ledger=path)
    start = threading.Barrier(32)

    def spender(name: int) -> list[str]:
        budget = Budget.open(path)  # half of the trouble is in opening it
        each, granted = budget.multiplier(queries=60), []
        start.wait()
        for i in range(3):
            try:
                budget.spend(each, f"{name}-{i}")
            except BudgetError as error:
                assert "Nothing was spent" in str(error)  # noqa: PT017
            else:
                granted.append(f"{name}-{i}")
        return granted

    with ThreadPoolExecutor(32) as pool:
        granted = [name for names in pool.map(spender, range(32)) for name in names]
    budget = Budget.open(path)
    assert len(granted) == 60
    assert sorted(each.what for each in budget.entries()) == sorted(granted)
    assert budget.statement.spent <= 1


def test_threads_that_make_one_ledger_at_once_make_one(path):
    start = threading.Barrier(8)

    def maker(_: int) -> str:
        start.wait()
        return File.make(path, 1.0, 1e-6, Neighbours.ADD_OR_REMOVE).limits.made

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(maker, range(8)))) == 1


@forks
def test_a_fork_cannot_spend_what_is_in_the_memory_of_another_process():
    said = run(
        "-c",
        textwrap.dedent("""
        import os
        from stepladder.privacy.accountant import Budget
        budget = Budget(1, 1e-6)
        budget.spend(9.0, "before the fork")
        if os.fork() == 0:
            assert budget.statement.releases == 1
            try:
                budget.spend(9.0, "after the fork")
            except Exception as error:
                print(type(error).__name__, error, flush=True)
            os._exit(0)
        os.wait()
        assert budget.spend(9.0, "in the parent").releases == 2
        """),
    )
    assert said.startswith("BudgetError This budget is kept in the memory of another process")
    assert "ledger='a file'" in said


@forks
def test_a_process_may_fork_while_its_threads_spend(path):
    # Forked between SQLite's steps, a child would wait for locks that nobody holds.
    run(
        "-c",
        textwrap.dedent("""
        import os, sys, threading
        from stepladder.privacy.accountant import Budget
        budget = Budget(1, 1e-6, ledger=sys.argv[1])
        each, over = budget.multiplier(queries=10**6), threading.Event()
        def spender():
            while not over.is_set():
                budget.spend(each, "a thread")
        threads = [threading.Thread(target=spender) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for _ in range(25):
                child = os.fork()
                if child == 0:
                    try:
                        budget.spend(each, "a fork")
                        os._exit(0)
                    finally:
                        os._exit(1)
                assert os.waitpid(child, 0)[1] == 0
        finally:
            over.set()
        for thread in threads:
            thread.join()
        """),
        path,
    )
    forked = [each for each in Budget.open(path).entries() if each.what == "a fork"]
    assert len(forked) == 25


def told(notes: Path, word: str) -> set[str]:
    """The names of the spends that were asked for, spent, refused or broken."""
    lines = [line for file in notes.iterdir() for line in file.read_text().splitlines()]
    return {line.split(" ")[1] for line in lines if line.split(" ")[0] == word}


def settled(path: Path, notes: Path) -> tuple[set[str], set[str]]:
    """What is in the ledger and what was acknowledged, once all that must hold was seen to."""
    budget = Budget.open(path)
    names = [each.what for each in budget.entries()]
    written, acknowledged = set(names), told(notes, "spent")
    assert len(names) == len(written), "a spend was written twice"
    assert acknowledged <= written, "a spend was lost"
    assert written <= told(notes, "asked"), "a spend was made up"
    assert not written & told(notes, "refused"), "a spend was refused and written"
    assert not told(notes, "broken")
    assert budget.statement.spent <= budget.epsilon
    assert sql(path, "PRAGMA integrity_check") == [("ok",)]
    return written, acknowledged


@pytest.fixture
def notes(tmp_path) -> Path:
    folder = tmp_path / "notes"
    folder.mkdir()
    return folder


@forks
def test_processes_that_race_on_a_file_never_overdraw_it(path, notes):
    budget = Budget(1, 1e-6, ledger=path)
    run(SPENDERS, "race", path, budget.multiplier(queries=100), notes, 6, 30)
    written, acknowledged = settled(path, notes)
    assert written == acknowledged
    assert len(written) == 100
    assert len(told(notes, "refused")) == 80


@forks
@pytest.mark.parametrize(
    ("queries", "kills"),
    [
        pytest.param(10**6, 200, id="with plenty to spend"),
        pytest.param(30, 30, id="as it runs out"),
    ],
)
def test_processes_killed_at_random_moments_never_lose_a_spend(path, notes, queries, kills):
    budget = Budget(1, 1e-6, ledger=path)
    run(SPENDERS, "kill", path, budget.multiplier(queries=queries), notes, kills, 4)
    written, acknowledged = settled(path, notes)
    # A kill after the entry and before the word of it leaves at most one spend of each spender.
    unheard = [name.split("-")[0] for name in written - acknowledged]
    assert len(unheard) == len(set(unheard))
    assert len(written) <= queries
    again = Budget.open(path)
    if again.rest > 1e-6:
        assert again.spend(again.multiplier(share=1e-6), "and on").releases == len(written) + 1
        assert [file.name for file in path.parent.glob("ledger.db*")] == ["ledger.db"]
