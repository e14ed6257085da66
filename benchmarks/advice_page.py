"""docs/advice.md and its pictures, from what benchmarks/advice.py measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from advice_brute import two_apart, two_that_differ
from advice_ends import METHODS
from advice_lines import (
    KINDS,
    PERSON,
    TABLES,
    TASK,
    Line,
    Measured,
    brute,
    sets,
    success,
)

from stepladder.bench.render import Column, Entry, Row, Table, markdown
from stepladder.numbers import exact, percent, rounded
from stepladder.view import plots
from stepladder.view.plots.style import Marks, headed, marked, quantity

Chart = Any


def filled(text: str, measured: Measured, promises: Sequence[Line]) -> str:
    """A page with each of its tables between the marks that bear its name."""
    tables = {
        "lines": _verdicts(promises),
        "methods": _methods(measured),
        "tasks": _tasks(measured),
    }
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        text = f"{before}{begin}\n{markdown(table)}\n{end}{after}"
    return text


def _verdicts(promises: Sequence[Line]) -> Table:
    rows = [
        Row(
            (line.promise,),
            (Entry(words=line.verdict, best=line.met is False), Entry(words=line.number)),
        )
        for line in promises
    ]
    columns = (Column("", left=True), Column("Measured", left=True))
    return Table("lines", "", ("Aim",), columns, tuple(rows))


def _methods(measured: Measured) -> Table:
    columns = (
        *("Paths reached", "Things changed", "Effort", "Its median", "Distance", "Holds"),
        *("Tenth short", "Rules kept", "Rows asked", "ms"),
    )
    rows = []
    for method in dict.fromkeys(method for method, _ in measured.cases()):
        at_goals = [_shown(measured, method, goal) for m, goal in measured.cases() if m == method]
        entries = tuple(Entry(words=" / ".join(each)) for each in zip(*at_goals, strict=True))
        rows.append(Row((METHODS[method].label,), entries))
    return Table("methods", "", ("Method",), tuple(map(Column, columns)), tuple(rows))


def _shown(measured: Measured, method: str, goal: float) -> list[str]:
    """What the table of methods has for one of them at one goal."""
    routes = measured.of(method)
    means = _by_task(routes[routes["goal"] == goal])
    reached = success(measured.routes, method).xs(goal, level="goal").mean()
    return [
        percent(reached),
        *(rounded(means[name]) for name in ("things", "effort", "middle", "distance")),
        *(percent(means[name]) for name in ("held", "is_calm", "is_kept")),
        *(exact(round(means[name])) for name in ("rows_asked", "ms")),
    ]


def _by_task(routes: pd.DataFrame) -> Mapping[str, float]:
    """The mean over tasks, each counting the same, of the mean (and median effort) over routes."""
    routes = routes.assign(
        is_calm=(routes["short"] >= routes["goal"]).astype(float),
        is_kept=routes["kept"].astype(float),
    )
    names = ["things", "effort", "distance", "held", "is_calm", "is_kept", "rows_asked", "ms"]
    means: pd.Series[float] = routes.groupby(TASK)[names].mean().mean()
    middle = routes.groupby(TASK)["effort"].median().mean()
    return {**{str(name): float(mean) for name, mean in means.items()}, "middle": float(middle)}


def _tasks(measured: Measured) -> Table:
    """One row per table and kind of model; what is asked at 0.5, then at 0.7."""
    columns: dict[str, Callable[[Measured], pd.Series[str]]] = {
        "A single change, where there's one": _single,
        "Two that differ": _two,
        "Two apart": _apart,
        "Things": lambda m: _median(m, "things"),
        "Effort, (0.1's)": _effort,
        "Holds, (0.1's)": _held,
        "Holds when asked to": lambda m: _mean(m, "holds-effort", "held", "{:.0%}"),
    }
    shown = {name: column(measured) for name, column in columns.items()}
    rows = [
        Row(
            (TABLES[table], KINDS[kind]),
            tuple(
                Entry(words=" / ".join(_at(series, (table, kind, goal)) for goal in (0.5, 0.7)))
                for series in shown.values()
            ),
        )
        for table in TABLES
        for kind in KINDS
    ]
    return Table("tasks", "", ("Table", "Model"), tuple(map(Column, columns)), tuple(rows))


def _at(series: pd.Series[str], task: tuple[str, str, float]) -> str:
    return str(series.get(task, "–"))


def _single(measured: Measured) -> pd.Series[str]:
    offered = measured.of("effort").groupby(PERSON)["things"].min() == 1
    return _shares(measured, "single", offered)


def _two(measured: Measured) -> pd.Series[str]:
    return _shares(measured, "two", sets(measured).map(two_that_differ))


def _apart(measured: Measured) -> pd.Series[str]:
    return _shares(measured, "apart", sets(measured).map(two_apart))


def _shares(measured: Measured, fact: str, got: pd.Series[bool]) -> pd.Series[str]:
    has = brute(measured, fact)
    share = got.reindex(has.index, fill_value=False).astype(float).groupby(TASK).mean()
    return share.map("{:.0%}".format)


def _median(measured: Measured, name: str) -> pd.Series[str]:
    return measured.of("effort").groupby(TASK)[name].median().map("{:g}".format)


def _mean(measured: Measured, method: str, name: str, form: str) -> pd.Series[str]:
    return measured.of(method).groupby(TASK)[name].mean().map(form.format)


def _effort(measured: Measured) -> pd.Series[str]:
    return _beside(measured, "effort", "{:.2f}")


def _held(measured: Measured) -> pd.Series[str]:
    return _beside(measured, "held", "{:.0%}")


def _beside(measured: Measured, name: str, form: str) -> pd.Series[str]:
    """Ours with 0.1's in brackets."""
    own, other = (_mean(measured, method, name, form) for method in ("effort", "before"))
    return own + " (" + other.reindex(own.index).fillna("–") + ")"


# ---- pictures ---------------------------------------------------------------------------------


def draw(measured: Measured, folder: Path) -> None:
    """The page's pictures."""
    plots.save(_compared(measured), folder / "advice-methods.svg")
    plots.save(_certainty(measured), folder / "advice-certainty.svg")


SHOWN = {
    "middle": "Median effort of a route",
    "things": "Things changed",
    "held": "Share that holds when retrained",
    "is_calm": "Share that does a tenth short",
}


def _compared(measured: Measured, goal: float = 0.7) -> Chart:
    """Methods side by side at one goal, over all tasks that each was run on."""
    found = []
    for method, at in measured.cases():
        if at == goal and method != "bare":
            routes = measured.of(method)
            means = _by_task(routes[routes["goal"] == goal])
            found += [
                {"method": METHODS[method].label, "metric": words, "value": means[name]}
                for name, words in SHOWN.items()
            ]
    return plots.methods(pd.DataFrame(found), width=760)


def _certainty(measured: Measured) -> Chart:
    """Each method on each task: what its routes ask, and how many of them hold."""
    chosen = ["effort", "holds-effort", "before", "published", "dice-genetic"]
    methods = [method for method in chosen if measured.ran(method)]
    points = pd.concat(
        [
            measured.of(method)
            .groupby(TASK)[["effort", "held"]]
            .mean()
            .reset_index()
            .assign(method=METHODS[method].label)
            for method in methods
        ]
    )
    width = 700
    marks = Marks("method", [METHODS[method].label for method in methods], "Method", width)
    channels = {
        "x": quantity(
            "effort",
            scale={"type": "log", "nice": False},
            title="Mean effort of a route (log scale)",
        ),
        "y": quantity(
            "held",
            title="Share of retrained models that say yes",
            axis={"format": "%"},
            scale={"domain": [0.3, 1]},
        ),
        **marks.points(),
    }
    notes = ["One mark per table, model and goal. Up and to the left is better."]
    heading = headed("What routes ask, and how surely they hold", notes, width)
    chart = marked(points[["effort", "held", "method"]], "point", channels, filled=True, size=60)
    return chart.properties(width=width - 90, height=380, **heading)
