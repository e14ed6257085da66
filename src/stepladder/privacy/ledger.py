"""The ledger: what has been spent, written down before any answer is given.

Two kinds keep one contract: `Memory` lasts as long as its process, `File` is one SQLite file that
threads and processes share and that a crash can't undo. Neither knows what a release costs: whoever
spends brings a check, and the ledger sees to it that nobody else spends between check and entry.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

from stepladder.errors import BudgetError
from stepladder.privacy.neighbours import Neighbours

Totals: TypeAlias = Mapping[float, int]
"""How many releases there were of each multiplier."""


@dataclass(frozen=True)
class Limits:
    """What a ledger may ever hold, fixed when it is made; `made` tells two ledgers apart.

    Multipliers are for `neighbours`: the same noise is worth more for some than for others.
    """

    epsilon: float
    delta: float
    neighbours: Neighbours
    made: str

    def __str__(self) -> str:
        return f"ε = {self.epsilon:g}, δ = {self.delta:g} and {self.neighbours.value} neighbours"


@dataclass(frozen=True)
class Spend:
    """One spend: `count` releases at once, each of this multiplier. `at` is UTC, in ISO 8601."""

    at: str
    what: str
    multiplier: float
    count: int


class Ledger(ABC):
    """The contract. Any number of threads may call any of these at the same time."""

    limits: Limits

    @abstractmethod
    def spend(self, entry: Spend, check: Callable[[Totals], None]) -> Totals:
        """Write the entry and return the totals with it.

        `check` gets the totals without it, and raises if the entry may not be written. Nobody can
        write in between. Once this returns, the entry lasts as long as the ledger does.
        """

    @abstractmethod
    def totals(self) -> Totals:
        """The releases of all entries so far, by multiplier."""

    @abstractmethod
    def entries(self) -> list[Spend]:
        """Every entry so far, oldest first."""


class Memory(Ledger):
    """A ledger that lives and dies with its process."""

    def __init__(self, epsilon: float, delta: float, neighbours: Neighbours) -> None:
        self.limits = Limits(epsilon, delta, neighbours, now())
        self._entries: list[Spend] = []
        self._totals: dict[float, int] = {}
        self._lock = threading.Lock()
        self._process = os.getpid()

    def spend(self, entry: Spend, check: Callable[[Totals], None]) -> Totals:
        # Asked before the lock is touched, which a fork may have copied while it was held.
        if os.getpid() != self._process:
            raise BudgetError(
                "This budget is kept in the memory of another process, from which this one was "
                "forked; spending here wouldn't be seen there. Make it with ledger='a file', "
                "which processes can share."
            )
        with self._lock:
            check(self._totals)
            # The totals go first: if this is interrupted in between, it counts as spent.
            self._totals[entry.multiplier] = self._totals.get(entry.multiplier, 0) + entry.count
            self._entries.append(entry)
            return dict(self._totals)

    # A copy is taken in one go, so reading needs no lock, and works in a forked process.
    def totals(self) -> Totals:
        return dict(self._totals)

    def entries(self) -> list[Spend]:
        return list(self._entries)


# SQLite must not be forked in the middle of its work: the child would take over its notes about
# locks, but not the locks. So this process works on one ledger at a time, and forks in between.
_in_turn = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_in_turn.acquire,
        after_in_parent=_in_turn.release,
        after_in_child=_in_turn.release,
    )


class File(Ledger):
    """A ledger in one SQLite file. Every call opens it, works in one transaction and closes it.

    Entries can be added but, by triggers, not changed or removed. The file is never opened in any
    other way from here, since closing it again would drop the locks that SQLite holds on it.
    """

    PATIENCE = 60.0
    """Seconds to wait while other processes write."""

    FORMAT = 1
    _MARK = 0x53744570  # "StEp": SQLite's own field for whose file this is
    _TABLES = (
        """CREATE TABLE limits (
            only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
            format INTEGER NOT NULL,
            epsilon REAL NOT NULL CHECK (epsilon > 0),
            delta REAL NOT NULL CHECK (delta > 0 AND delta < 1),
            neighbours TEXT NOT NULL,
            made TEXT NOT NULL)""",
        """CREATE TABLE spends (
            id INTEGER PRIMARY KEY,
            at TEXT NOT NULL,
            what TEXT NOT NULL,
            multiplier REAL NOT NULL CHECK (typeof(multiplier) = 'real' AND multiplier > 0),
            count INTEGER NOT NULL CHECK (typeof(count) = 'integer' AND count >= 1))""",
        # The totals are read off this: six times as fast, with 100,000 entries.
        "CREATE INDEX spends_by_multiplier ON spends (multiplier, count)",
        *(
            f"""CREATE TRIGGER {table}_{verb.lower()} BEFORE {verb} ON {table} {when}
            BEGIN SELECT RAISE(ABORT, 'a ledger can only be added to'); END"""
            for table, verb, when in (
                ("limits", "UPDATE", ""),
                ("limits", "DELETE", ""),
                ("spends", "UPDATE", ""),
                ("spends", "DELETE", ""),
                # INSERT OR REPLACE deletes without asking the triggers above.
                ("limits", "INSERT", "WHEN EXISTS (SELECT 1 FROM limits)"),
                ("spends", "INSERT", "WHEN EXISTS (SELECT 1 FROM spends WHERE id = NEW.id)"),
            )
        ),
    )

    def __init__(self, path: Path, limits: Limits) -> None:
        """The ledger at `path`, known to have these limits; see `make` and `open`."""
        self.path = path
        self.limits = limits

    @classmethod
    def make(cls, path: Path, epsilon: float, delta: float, neighbours: Neighbours) -> File:
        """The ledger at `path` if there is one, with just these limits; else a new one."""
        path = _placed(path)
        with _transaction(path, "BEGIN IMMEDIATE", mode="rwc") as db:
            if cls._blank(db):
                limits = Limits(epsilon, delta, neighbours, now())
                for statement in cls._TABLES:
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {cls._MARK}")
                db.execute(
                    "INSERT INTO limits VALUES (1, ?, ?, ?, ?, ?)", (cls.FORMAT, *astuple(limits))
                )
                return cls(path, limits)
            found = cls._sound(db, path)
        asked = Limits(epsilon, delta, neighbours, found.made)
        if found != asked:
            raise BudgetError(
                f"The ledger {path} was made for {found}, not for {asked}, and that can't be "
                "changed. Open it as it is (Budget.open(path), or --ledger without --epsilon and "
                "--delta), or name another file."
            )
        return cls(path, found)

    @classmethod
    def open(cls, path: Path) -> File:
        """The ledger that is at `path`, with the limits it has."""
        path = _placed(path)
        with _transaction(path, "BEGIN IMMEDIATE") as db:
            return cls(path, cls._sound(db, path))

    def spend(self, entry: Spend, check: Callable[[Totals], None]) -> Totals:
        with _transaction(self.path, "BEGIN IMMEDIATE") as db:
            self._same(db)
            totals = self._sum(db)
            check(totals)
            db.execute(
                "INSERT INTO spends (at, what, multiplier, count) VALUES (?, ?, ?, ?)",
                astuple(entry),
            )
        totals[entry.multiplier] = totals.get(entry.multiplier, 0) + entry.count
        return totals

    def totals(self) -> Totals:
        with _transaction(self.path, "BEGIN") as db:
            self._same(db)
            return self._sum(db)

    def entries(self) -> list[Spend]:
        with _transaction(self.path, "BEGIN") as db:
            self._same(db)
            rows = db.execute("SELECT at, what, multiplier, count FROM spends ORDER BY id")
            return [Spend(*row) for row in rows]

    @staticmethod
    def _sum(db: sqlite3.Connection) -> dict[float, int]:
        return dict(db.execute("SELECT multiplier, SUM(count) FROM spends GROUP BY multiplier"))

    def _same(self, db: sqlite3.Connection) -> None:
        if self._limits(db, self.path) != self.limits:
            raise BudgetError(
                f"The ledger {self.path} isn't the one this budget was opened with: another has "
                f"taken its place since. Put the one made at {self.limits.made} back."
            )

    @classmethod
    def _sound(cls, db: sqlite3.Connection, path: Path) -> Limits:
        limits = cls._limits(db, path)
        (verdict,) = db.execute("PRAGMA integrity_check(1)").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        return limits

    @classmethod
    def _limits(cls, db: sqlite3.Connection, path: Path) -> Limits:
        (mark,) = db.execute("PRAGMA application_id").fetchone()
        if mark != cls._MARK:
            raise BudgetError(f"{path} isn't a ledger. {_ANOTHER}")
        row = db.execute("SELECT format, epsilon, delta, neighbours, made FROM limits").fetchone()
        if row is None:
            raise sqlite3.DatabaseError("its limits are missing")
        form, epsilon, delta, neighbours, made = row
        if form != cls.FORMAT:
            raise BudgetError(
                f"The ledger {path} has format {form}, and this version of Stepladder knows "
                f"format {cls.FORMAT} only. Use the version that made it, or a newer one."
            )
        return Limits(epsilon, delta, Neighbours(neighbours), made)

    @staticmethod
    def _blank(db: sqlite3.Connection) -> bool:
        """Whether the file is new, or its maker died before it was done."""
        return db.execute("SELECT 1 FROM sqlite_master").fetchone() is None


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


_ANOTHER = "Name another file, or one that isn't there yet."


def _placed(path: Path) -> Path:
    """The path in full, once it is clear that a file can be there."""
    try:
        path = path.resolve()
        if not path.parent.is_dir():
            raise BudgetError(
                f"The folder {path.parent} of the ledger {path.name} isn't there. Make it first."
            )
        if path.exists() and not path.is_file():
            kind = "a folder" if path.is_dir() else "no ordinary file"
            raise BudgetError(f"{path} is {kind}, so it can't be a ledger. {_ANOTHER}")
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, BudgetError):
            raise
        raise BudgetError(f"The ledger {path} can't be reached: {error}. {_ANOTHER}") from error
    return path


@contextmanager
def _transaction(path: Path, begin: str, *, mode: str = "rw") -> Iterator[sqlite3.Connection]:
    """One connection, one transaction: kept if the block ends well, undone if it raises.

    With `mode` "rw" a file that isn't there isn't made: a lost ledger is an error, not a fresh one.
    """
    try:
        with (
            _in_turn,
            closing(
                sqlite3.connect(
                    f"{path.as_uri()}?mode={mode}",
                    uri=True,
                    timeout=File.PATIENCE,
                    isolation_level=None,
                )
            ) as db,
        ):
            # More than FULL: the folder is synchronised too once the journal is gone, without
            # which a power cut right after a commit could bring the journal back and undo it.
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute(begin)
            yield db
            db.execute("COMMIT")
    except sqlite3.Error as error:
        raise BudgetError(_sentence(error, path)) from error


def _sentence(error: sqlite3.Error, path: Path) -> str:
    """What SQLite's error means for the ledger, and a way out."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return (
            f"The ledger {path} was in use by others for {File.PATIENCE:g} seconds on end, so "
            "nothing was spent. Try again, or see which process holds on to it."
        )
    if code == sqlite3.SQLITE_NOTADB:
        return f"{path} isn't a ledger, or its beginning is damaged. {_ANOTHER}"
    if code == sqlite3.SQLITE_CANTOPEN and not path.exists():
        return (
            f"There is no ledger at {path}, or it can't be made there. Put the lost one back, or "
            "make a new one, with an epsilon and a delta, where you may write."
        )
    if code in (
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
    ):
        return (
            f"The ledger {path} can't be written ({error}). See that it and its folder may be "
            "written and that the disk isn't full."
        )
    return (
        f"The ledger {path} is damaged ({error}), so what was spent can't be known. Put back a "
        "copy taken after the last spend if there is one; else count all of the budget as spent."
    )
