"""docs/rules-bench.md, from the figures that benchmarks/rules.py measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from stepladder.bench.render import Column, Entry, Row, Table, markdown
from stepladder.numbers import exact, percent

Figures = Mapping[str, Any]

MODELS = {"logistic": "Logistic regression", "trees": "Boosted trees", "network": "Network"}
SIZES = {"all": "all at once", "alone": "one person alone"}
MOST = 1.1
"""How many times as long it may take with the links as without."""
WAYS = {
    "declared": "declared",
    "free numbers": "not declared: free numbers",
    "in the model": "not declared: the model works them out",
}


def filled(text: str, figures: Figures) -> str:
    """A page with each of its tables between the marks that bear its name.

    >>> filled("<!-- brute: begin -->\\nold\\n<!-- brute: end -->\\n", {})
    '<!-- brute: begin -->\\nold\\n<!-- brute: end -->\\n'
    """
    for name, table in TABLES.items():
        if name in figures:
            begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
            before, rest = text.split(begin)
            after = rest.split(end)[1]
            aim = f"{_aim(figures[name])}\n\n" if name == "times" else ""
            text = f"{before}{begin}\n{aim}{markdown(table(figures[name]))}\n{end}{after}"
    return text


def _kept(figures: Figures) -> Table:
    columns = {
        "People": "people",
        "With a route": "reached",
        "Rows": "rows",
        "Inconsistent": "inconsistent",
        "Other rules broken": "other_rules",
        "Steps that aren't one": "wrong_steps",
        "Wrong scores": "wrong_scores",
        "Wrong ends": "wrong_ends",
    }
    rows = [
        Row((MODELS[kind],), tuple(_count(own[name]) for name in columns.values()))
        for kind, own in figures.items()
    ]
    return _table("kept", ("Model",), columns, rows)


def _undeclared(figures: Figures) -> Table:
    columns = (
        "People",
        "Nearest route inconsistent",
        "Routes",
        "Inconsistent",
        "With a smaller loan",
        "Payment off",
        "Housing above total",
    )
    rows = []
    for kind, own in figures.items():
        shares = (
            (own["people"], own["inconsistent_people"]),
            (own["routes"], own["inconsistent"]),
            (own["smaller_loans"], own["smaller_loans_with_payment_off"]),
        )
        entries = [
            entry for whole, part in shares for entry in (_count(whole), _share(part, whole))
        ]
        above = own["which"]["housing_ratio <= total_ratio"]
        rows.append(Row((MODELS[kind],), (*entries, _share(above, own["routes"]))))
    return _table("undeclared", ("Model",), columns, rows)


def _brute(figures: Figures) -> Table:
    columns = {
        "People": "people",
        "Rows listed": "listed",
        "Allowed": "allowed",
        "Accepted": "accepted",
        "Brute force finds a route for": "by_brute_force",
        "Stepladder": "by_us",
        "Ends not listed": "ends_not_listed",
    }
    rows = [
        Row(
            (MODELS[kind], f"{own['threshold']:g}"),
            tuple(_count(own[name]) for name in columns.values()),
        )
        for kind, each in figures.items()
        for own in each
    ]
    return _table("brute", ("Model", "Goal"), columns, rows)


def _times(figures: Figures) -> Table:
    columns = (
        *("All at once: seconds", "Declared takes", "Rows asked about"),
        *("One person: milliseconds", "Declared takes", "Rows asked about"),
    )
    rows = []
    for kind, own in figures.items():
        for way, words in WAYS.items():
            entries = []
            for size, unit, decimals in (("all", 1, 1), ("alone", 1000, 0)):
                one = own[size][way]
                entries += [
                    Entry(one["seconds"] * unit, decimals=decimals),
                    Entry(words=" ") if way == "declared" else Entry(one["ratio"], after="times"),
                    _count(round(one["rows"])),
                ]
            rows.append(Row((MODELS[kind], words), tuple(entries)))
    return _table("times", ("Model", "Links"), columns, rows)


def too_slow(figures: Figures) -> dict[str, float]:
    """Where declaring the links takes longer than it may, and how many times as long at most."""
    slowest = {
        words: max(own[size][way]["ratio"] for own in figures.values() for way in list(WAYS)[1:])
        for size, words in SIZES.items()
    }
    return {words: ratio for words, ratio in slowest.items() if ratio >= MOST}


def _aim(figures: Figures) -> str:
    """Whether the aim is met, in words."""
    slow = too_slow(figures)
    ends = [f"missed for {words} (up to {ratio:.2f} times)" for words, ratio in slow.items()]
    ends += [f"met for {words}" for words in SIZES.values() if words not in slow]
    return f"The aim, less than {MOST:.1f} times the time without, is {' and '.join(ends)}."


def _table(name: str, heads: tuple[str, ...], columns: Any, rows: list[Row]) -> Table:
    return Table(name, "", heads, tuple(map(Column, columns)), tuple(rows))


def _count(number: int) -> Entry:
    return Entry(words=exact(number))


def _share(part: int, whole: int) -> Entry:
    return Entry(words=exact(part), after=f"({percent(part / whole)})" if whole else "")


TABLES: Mapping[str, Callable[[Figures], Table]] = {
    "kept": _kept,
    "undeclared": _undeclared,
    "brute": _brute,
    "times": _times,
}
