"""Side by side with the paper: every printed number beside ours, within or not.

An estimate of ours is within if it differs from the printed one by no more than the largest of
- a share of the printed number: 10 % in StEP's rows, 20 % in the baselines';
- twice the combined standard error;
- half a unit of the last printed digit, 0.005.

The combined standard error is √(ours² + theirs²). The paper doesn't print theirs, only the largest
of each row ("Max Error %"), which bounds it; a method that is as noisy in the paper's ten trials as
it is in ours has √(our trials / 10) times our error. So theirs is taken as the smaller of the two.
One trial of ours has no standard error, and then the share alone decides.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from stepladder.bench import names
from stepladder.bench.estimates import Estimate, Estimates
from stepladder.bench.paper import OURS, TABLES, TRIALS, Printed, negatives, scale
from stepladder.bench.render import EMPTY, Column, Entry, Row, Table
from stepladder.errors import ResultError, listing
from stepladder.numbers import MISSING, rounded

LAST_DIGIT = 0.005
DUST = 1e-9
"""Numbers that differ by exactly what is allowed are within, whatever rounding does to them."""
BASELINES = ("dice", "face", "cchvae")
TOLERANCE = {"step": 0.10, **dict.fromkeys(BASELINES, 0.20)}
"""By group: what a method's label begins with."""
AIM = {"step": 0.90, "baselines": 0.70}
"""The share of numbers that is to be within."""
NO_REASON = "no reason found yet"
_PATTERNS = ("table", "dataset", "model", "row", "metric")


@dataclass(frozen=True)
class Line:
    """One printed number, and ours."""

    printed: Printed
    method: str
    """our label for the row"""
    ours: Estimate | None
    """None if it wasn't run"""
    people: float = 0.0
    """how many a trial of ours had, on average"""
    failure: str = ""
    """why it crashed, where no trial finished"""

    @property
    def group(self) -> str:
        return self.method if self.method in BASELINES else "step"

    @property
    def difference(self) -> float:
        return math.nan if self.ours is None else self.ours.mean - self.printed.value

    @property
    def allowed(self) -> float:
        """How far apart the two may be."""
        if self.ours is None:
            return math.nan
        return allowed(self.printed, self.ours, TOLERANCE[self.group])

    @property
    def within(self) -> bool | None:
        """None if it wasn't run; a crash, or a number that nobody has, is outside."""
        if self.ours is None:
            return None
        return abs(self.difference) <= self.allowed + DUST

    @property
    def close(self) -> bool:
        """Whether it's within by the share alone, with no help from standard errors."""
        exact = Estimate(0.0, 0.0, TRIALS)
        limit = allowed(self.printed, exact, TOLERANCE[self.group])
        return self.ours is not None and abs(self.difference) <= limit + DUST


def allowed(printed: Printed, ours: Estimate, tolerance: float) -> float:
    """The largest difference that is within."""
    own = 0.0 if math.isnan(ours.error) else ours.error
    bound = abs(printed.value) * printed.max_error_percent / 100
    theirs = min(bound, own * math.sqrt(ours.trials / TRIALS))
    return max(tolerance * abs(printed.value), 2 * math.hypot(own, theirs), LAST_DIGIT)


def compare(estimates: Estimates) -> list[Line]:
    """Every printed number of the six tables, in the paper's order."""
    lines = []
    for table in TABLES.values():
        for printed in table.printed():
            method = table.labels[printed.row]
            trials = estimates.trials(printed.dataset, printed.model, method)
            if trials is None:
                lines.append(Line(printed, method, None))
                continue
            metric = OURS.get(printed.metric, printed.metric)
            ours = estimates.of(printed.dataset, printed.model, method, metric)
            ours = ours.times(scale(printed.table, printed.row, printed.metric))
            failure = "" if trials.finished else next(iter(trials.failures.values()), "")
            lines.append(Line(printed, method, ours, trials.people, failure))
    return lines


def outside(lines: Sequence[Line]) -> list[Line]:
    return [line for line in lines if line.within is False]


# ---- counts -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Count:
    """How many printed numbers of some kind are within."""

    name: str
    within: int
    close: int
    """of those, how many are so by the share alone"""
    run: int
    printed: int

    @property
    def share(self) -> float:
        return self.within / self.run if self.run else math.nan

    def __str__(self) -> str:
        if not self.run:
            return "not run"
        missing = self.printed - self.run
        rest = f"; {missing} of the {self.printed} printed not run" if missing else ""
        # Rounded down: a share just under the aim mustn't read as the aim.
        percent = f"{math.floor(1000 * self.share) / 10:.1f} %"
        return f"{self.within} of {self.run} ({percent}), {self.close} by the share alone{rest}"


def count(lines: Sequence[Line], name: str) -> Count:
    run = [line for line in lines if line.within is not None]
    within, close = sum(line.within is True for line in run), sum(line.close for line in run)
    return Count(name, within, close, len(run), len(lines))


def by_group(lines: Sequence[Line]) -> list[Count]:
    """StEP, the baselines together, then each of them."""
    counts = [count([line for line in lines if line.group == "step"], "StEP")]
    counts.append(count([line for line in lines if line.group != "step"], "Baselines"))
    for method in BASELINES:
        counts.append(count([x for x in lines if x.group == method], names.method(method)))
    return counts


def by_table(lines: Sequence[Line]) -> list[Count]:
    """StEP's rows, then the baselines' (where there are any), of each table."""
    counts = []
    for table in TABLES.values():
        own = [line for line in lines if line.printed.table == table.name]
        for name, chosen in (
            ("StEP", [line for line in own if line.group == "step"]),
            ("baselines", [line for line in own if line.group != "step"]),
        ):
            if chosen:
                counts.append(count(chosen, f"{table.title}, {name}"))
    return counts


# ---- reasons ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reason:
    """Why numbers that fit the patterns lie outside."""

    why: str
    table: str = "*"
    dataset: str = "*"
    model: str = "*"
    row: str = "*"
    metric: str = "*"

    def fits(self, printed: Printed) -> bool:
        return all(fnmatchcase(getattr(printed, n), getattr(self, n)) for n in _PATTERNS)


def reasons(path: Path) -> tuple[Reason, ...]:
    """The reasons in a TOML file of `[[reason]]` tables, none if there's no such file.

    Each has `why`, a sentence, and any of table, dataset, model, row and metric: patterns with *
    for anything, which is also what one that's left out means. The first that fits a number counts.
    """
    if not path.is_file():
        return ()
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ResultError(f"{path} isn't valid TOML: {error}.") from error
    entries = given.get("reason")
    tables = isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)
    if set(given) != {"reason"} or not tables:
        raise ResultError(
            f"{path} must hold [[reason]] tables and nothing else; it has {listing(given)}."
        )
    found = []
    for i, entry in enumerate(given["reason"], 1):
        unknown = set(entry) - {"why", *_PATTERNS}
        texts = all(isinstance(value, str) for value in entry.values())
        if unknown or not texts or not entry.get("why"):
            raise ResultError(
                f"Reason {i} in {path} must have a `why` and may have {', '.join(_PATTERNS)}, all "
                f"of them texts; got {entry!r}."
            )
        found.append(Reason(**entry))
    return tuple(found)


def reason(line: Line, known: Sequence[Reason]) -> str:
    """Why a number lies outside, as far as is known."""
    if line.failure:
        return f"failed: {line.failure}"
    return next((r.why for r in known if r.fits(line.printed)), NO_REASON)


def stale(lines: Sequence[Line], known: Sequence[Reason]) -> list[Reason]:
    """Reasons that no number outside needs any more."""
    missed = outside(lines)
    needed = {next((r for r in known if r.fits(line.printed)), None) for line in missed}
    return [r for r in known if r not in needed]


# ---- tables -----------------------------------------------------------------------------------

_HEADS = ("Table", "Dataset", "Model", "Row", "Metric")


def compare_table(lines: Sequence[Line], title: str = "Beside the paper") -> Table:
    """Printed, ours, its standard error, trials × people, and whether it's within."""
    names_ = ("Printed", "Ours", "Difference", "Allowed", "Trials × People")
    columns = (*(Column(name) for name in names_), Column("Within", left=True))
    rows = []
    for line in lines:
        ours, size = line.ours, ""
        if ours is not None and ours.trials:
            size = f"{ours.trials} × {line.people:.0f}"
        verdict = {True: "yes", False: "no", None: "not run"}[line.within]
        entries = (
            Entry(line.printed.value),
            Entry() if ours is None else Entry(ours.mean, ours.error),
            Entry(words=signed(line.difference)),
            Entry(line.allowed),
            Entry(words=size) if size else EMPTY,
            Entry(words="failed" if line.failure else verdict),
        )
        rows.append(Row(heads(line), entries))
    return Table("compare", title, _HEADS, columns, tuple(rows))


def outside_table(
    lines: Sequence[Line],
    known: Sequence[Reason],
    title: str = "Numbers outside",
    written: Callable[[str], str] = str,
) -> Table:
    """What lies outside, by how much, and why, as `written` puts it."""
    columns = (
        *(Column(name) for name in ("Printed", "Ours", "Difference")),
        Column("Reason", left=True),
    )
    rows = tuple(
        Row(
            heads(line),
            (
                Entry(line.printed.value),
                Entry(line.ours.mean, line.ours.error) if line.ours else Entry(),
                Entry(words=signed(line.difference)),
                Entry(words=written(reason(line, known))),
            ),
        )
        for line in outside(lines)
    )
    return Table("outside", title, _HEADS, columns, rows)


def counts_table(counts: Sequence[Count], title: str = "") -> Table:
    rows = tuple(Row((c.name,), (Entry(words=str(c)),)) for c in counts)
    return Table("within", title, ("Numbers",), (Column("Within", left=True),), rows)


def people_table(estimates: Estimates, title: str = "People turned down") -> Table:
    """How many people each model turns down, beside what the paper prints."""
    rows: list[Row] = []
    for printed in negatives():
        own = [
            estimates.of(*task, "people")
            for task in estimates.tasks()
            if task[:2] == (printed.dataset, printed.model)
        ]
        # Some methods are run on fewer people; the count is that of those run on all.
        most = max(own, key=lambda estimate: (estimate.mean, estimate.trials), default=None)
        rows.append(
            Row(
                (names.dataset(printed.dataset), names.model(printed.model)),
                (
                    Entry(float(printed.people), decimals=0, notes=() if rows else (1,)),
                    Entry(most.mean, most.error, decimals=0) if most else Entry(),
                ),
            )
        )
    columns = (Column("Printed"), Column("Ours"))
    notes = ("The paper takes at most 1000; a run takes at most as many as its spec says.",)
    return Table("people", title, ("Dataset", "Model"), columns, tuple(rows), notes)


def heads(line: Line) -> tuple[str, ...]:
    printed = line.printed
    return (
        printed.table,
        names.dataset(printed.dataset),
        names.model(printed.model),
        names.method(printed.row),
        names.metric(printed.metric),
    )


def signed(value: float) -> str:
    """A difference with its sign.

    >>> signed(0.5), signed(-0.25), signed(-0.001), signed(float("nan"))
    ('+0.50', '-0.25', '0.00', '–')
    """
    shown = rounded(value)
    return shown if shown in (MISSING, rounded(0.0)) else f"{value:+.2f}"
