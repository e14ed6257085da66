"""The tables and pictures of docs/performance.md."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import cost_ahead
import growth
import pandas as pd
from advice_lines import KINDS, TABLES
from alone_peers import PEERS
from performance_lines import Line
from performance_tasks import ARRAYS, Figures

from stepladder.bench.render import Column, Entry, Row, Table, markdown
from stepladder.numbers import exact, percent, rounded
from stepladder.view import plots
from stepladder.view.plots.style import GRID, Marks, beside, headed, kind, marked, panel, quantity

Chart = Any
Found = Mapping[str, Any]

TAKE_ARRAYS = {
    "encoded-logistic": "logistic regression, of points",
    "encoded-network": "torch network, of points",
    "onnx": "network, an ONNX file",
}
METHODS = {"published": "Published", "default": "Default"}


def filled(text: str, found: Found, aims: Sequence[Line]) -> str:
    """A page with each of its tables between the marks that bear its name."""
    tables = {"lines": _aims(aims), **{name: table(found) for name, table in MADE.items()}}
    for name, table in tables.items():
        begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
        before, rest = text.split(begin)
        after = rest.split(end)[1]
        text = f"{before}{begin}\n{markdown(table)}\n{end}{after}"
    return text


def _aims(aims: Sequence[Line]) -> Table:
    rows = [
        Row(
            (line.promise,),
            (Entry(words=line.verdict, best=line.met is False), Entry(words=told(line.number))),
        )
        for line in aims
    ]
    columns = (Column("", left=True), Column("Measured", left=True))
    return Table("lines", "", ("Aim",), columns, tuple(rows))


def told(text: str) -> str:
    """A line with the names of tasks as people write them."""
    for name in sorted(_tasks(), key=len, reverse=True):
        text = text.replace(name, ", ".join(_heads(name)))
    return text


def _tasks() -> list[str]:
    return [f"{table}-{own}" for table in TABLES for own in (*KINDS, *TAKE_ARRAYS)]


def _heads(task: str) -> tuple[str, str]:
    """A task's table and model."""
    table, own = task.split("-", 1)
    return TABLES[table], {**KINDS, **TAKE_ARRAYS}[own]


def _table(
    name: str, heads: Sequence[str], columns: Sequence[str], rows: Sequence[Row], left: bool = False
) -> Table:
    made = tuple(Column(column, left=left) for column in columns)
    return Table(name, "", tuple(heads), made, tuple(rows))


def _words(*cells: str) -> tuple[Entry, ...]:
    return tuple(Entry(words=cell) for cell in cells)


def _pair(before: float | None, now: float, decimals: int = 0) -> str:
    """A number with what it was before in brackets."""
    first = rounded(now, decimals)
    return first if before is None else f"{first} ({rounded(before, decimals)})"


# ---- alone --------------------------------------------------------------------------------------


def _alone(found: Found) -> Table:
    rows = []
    for name, task in found["alone"].items():
        now, before = task["now"], task.get("before", {})
        rows.append(
            Row(
                _heads(name),
                _words(
                    exact(now["people"]),
                    _pair(before.get("calls"), now["calls"]),
                    _pair(before.get("rows"), now["rows"]),
                    _pair(before.get("cpu_ms"), now["cpu_ms"], 1),
                    _pair(before.get("model_cpu_ms"), now["model_cpu_ms"], 1),
                    _pair(before.get("ours_cpu_ms"), now["ours_cpu_ms"], 1),
                    _pair(before.get("ms"), now["ms"], 1),
                    rounded(now["first_cpu_ms"], 1),
                    rounded(now["again_cpu_ms"], 1),
                ),
            )
        )
    columns = (
        *("People", "Calls", "Rows asked", "ms", "The model's", "Ours", "On the clock"),
        *("The first", "The same again"),
    )
    return _table("alone", ("Table", "Model"), columns, rows)


def _peers(found: Found) -> Table:
    """One row per library: over the tasks it was asked about, beside ours on the same."""
    rows = []
    for peer, about in PEERS.items():
        asked = {
            name: task["peers"][peer]
            for name, task in found["alone"].items()
            if peer in task.get("peers", {})
        }
        answered = {name: one for name, one in asked.items() if "why_not" not in one}
        if not answered:
            why = next((one["why_not"] for one in asked.values()), "not asked")
            rows.append(Row((about.label,), _words("–", "–", "–", "–", "–", why)))
            continue
        rates = [
            one["cpu_ms"] / found["alone"][name]["now"]["cpu_ms"] for name, one in answered.items()
        ]
        late, people = (
            sum(one.get(of, 0) for one in answered.values()) for of in ("late", "people")
        )
        mean = pd.DataFrame(answered).T[["cpu_ms", "routes", "valid", "broken"]].mean()
        rows.append(
            Row(
                (about.label,),
                _words(
                    exact(round(mean["cpu_ms"])),
                    f"{pd.Series(rates).median():.1f} ({min(rates):.1f} to {max(rates):.1f})",
                    rounded(mean["routes"], 1),
                    percent(mean["valid"]),
                    percent(mean["broken"]),
                    f"{people - late} of {people}",
                ),
            )
        )
    ours = pd.DataFrame([task["now"] for task in found["alone"].values() if "peers" in task])
    if len(ours):
        own = _words(exact(round(ours["cpu_ms"].mean())), "1", rounded(ours["routes"].mean(), 1))
        last = _words("100%", "0%", f"{int(ours['people'].sum())} of {int(ours['people'].sum())}")
        rows.insert(0, Row(("Stepladder",), (*own, *last)))
    columns = ("ms", "Times ours", "Routes", "Valid", "Break a rule", "Answered in 10 s")
    return _table("peers", ("Library",), columns, rows)


# ---- bulk ---------------------------------------------------------------------------------------


def _bulk(found: Found) -> Table:
    rows = []
    for name, task in found["bulk"].items():
        now, before, harder = task["now"], task["before"], task["compared"]
        cells = _words(
            exact(now["people"]),
            _pair(before["rows"], now["rows"]),
            _pair(before["calls"], now["calls"]),
            _pair(before["cpu_ms"], now["cpu_ms"], 2),
            _pair(before["ours_cpu_ms"], now["ours_cpu_ms"], 2),
            f"{harder['harder'] + harder['lost']}; {harder['worst']:.3f}",
            _pair(before["first_effort"], now["first_effort"], 3),
            _pair(before["all_effort"], now["all_effort"], 3),
            _pair(before["choices"], now["choices"], 2),
        )
        rows.append(Row(_heads(name), cells))
    columns = (
        *("People", "Rows asked", "Calls", "ms", "Ours", "Harder; the worst"),
        *("First effort", "All efforts", "Different routes"),
    )
    return _table("bulk", ("Table", "Model"), columns, rows)


# ---- growth and what follows --------------------------------------------------------------------


def _growth(found: Found) -> Table:
    rows = []
    for one in found["growth"].values():
        heads = (METHODS[one["method"]], _model(one["kind"]))
        cells = _words(
            exact(one["people"]),
            exact(one["reference"]),
            rounded(one["cpu"], 1),
            rounded(1e3 * one["cpu"] / one["people"], 3),
            exact(round(one["rows"] / one["people"])),
            rounded(one["peak"] / growth.GIB, 2),
            rounded(one["fit_cpu"], 1),
        )
        rows.append(Row(heads, cells))
    columns = (
        *("People", "Reference rows", "Seconds", "ms per person", "Rows asked per person"),
        *("Peak GiB", "Learning, s"),
    )
    return _table("growth", ("Method", "Model"), columns, rows)


def _model(own: str) -> str:
    return {**KINDS, **TAKE_ARRAYS}[own]


def _predicted(found: Found) -> Table:
    rows = [
        Row(
            (METHODS[run["method"]], _model(run["kind"])),
            _words(
                exact(run["people"]),
                exact(run["reference"]),
                rounded(run["cpu"], 1),
                rounded(run["predicted"], 1),
                rounded(run["ratio"], 2),
            ),
        )
        for run in found["cost_model"].get("tried", ())
        if run["held_out"]
    ]
    columns = ("People", "Reference rows", "Seconds", "Predicted", "Times")
    return _table("predicted", ("Method", "Model"), columns, rows)


def _constants(found: Found) -> Table:
    """What each term costs, in microseconds; an operation in picoseconds."""
    rows = []
    for method, constants in found["cost_model"].get("constants", {}).items():
        cells = [small(seconds) for seconds in constants.values()]
        rows.append(Row((METHODS[method],), _words(*cells)))
    first: Mapping[str, Any] = next(iter(found["cost_model"].get("constants", {}).values()), {})
    return _table("constants", ("Method",), [term.capitalize() for term in first], rows)


def small(seconds: float) -> str:
    """Seconds in a unit in which they can be read."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6), ("ns", 1e-9), ("ps", 1e-12)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return "0"


def _ahead(found: Found) -> Table:
    rows = [
        Row(
            (plan.method, cost_ahead.tens(plan.people), cost_ahead.tens(plan.reference)),
            _words(*plan.cells()),
        )
        for plan in cost_ahead.plans(found)
    ]
    heads = ("Method", "People", "Reference rows")
    return _table("ahead", heads, cost_ahead.COLUMNS, rows)


def _breaks(found: Found) -> Table:
    rows = [
        Row((limit.more, limit.what), _words(limit.rate, limit.breaks))
        for limit in cost_ahead.limits(found)
    ]
    return _table("breaks", ("More", "What"), ("Measured", "So it ends"), rows, left=True)


MADE: dict[str, Callable[[Found], Table]] = {
    "alone": _alone,
    "peers": _peers,
    "bulk": _bulk,
    "growth": _growth,
    "constants": _constants,
    "predicted": _predicted,
    "ahead": _ahead,
    "breaks": _breaks,
}


# ---- pictures -----------------------------------------------------------------------------------

WIDTH = 760


def draw(found: Found, folder: Path) -> None:
    """The page's pictures, as far as there's something to draw."""
    if found["alone"]:
        plots.save(_alone_chart(found["alone"]), folder / "alone.svg")
    if found["bulk"]:
        plots.save(_bulk_chart(found["bulk"]), folder / "bulk.svg")
    if found["growth"]:
        plots.save(_growth_chart(found["growth"]), folder / "growth.svg")


def _alone_chart(found: Figures) -> Chart:
    """Every task: what an answer took before, takes now, and takes others."""
    rows = []
    for name, task in found.items():
        label = ", ".join(_heads(name))
        if name.endswith(ARRAYS):
            continue
        for code, words in (("before", "The commit before"), ("now", "Stepladder")):
            if code in task:
                rows.append({"task": label, "who": words, "ms": task[code]["cpu_ms"]})
        for peer, one in task.get("peers", {}).items():
            if "cpu_ms" in one and PEERS[peer].library and PEERS[peer].label != "alibi":
                rows.append({"task": label, "who": PEERS[peer].label, "ms": one["cpu_ms"]})
    frame = pd.DataFrame(rows)
    marks = Marks("who", list(dict.fromkeys(frame["who"])), None, WIDTH)
    marks = Marks(marks.field, marks.kinds, "Who answers", WIDTH)
    channels = {
        "y": kind("task", title=None, sort=None, axis={**GRID, "labelLimit": 0}),
        "x": quantity(
            "ms",
            title="CPU milliseconds per person, one at a time (log scale)",
            scale={"type": "log"},
            axis=GRID,
        ),
        **marks.points(),
    }
    heading = headed("One person alone", ["Further left is faster."], WIDTH)
    chart = marked(frame, "point", channels, filled=True, size=70)
    return chart.properties(width=WIDTH - 230, height={"step": 24}, **heading)


def _bulk_chart(found: Figures) -> Chart:
    """Every task: our own time per person, before and now."""
    rows = [
        {
            "task": ", ".join(_heads(name)),
            "code": words,
            "ms": task[code]["ours_cpu_ms"],
        }
        for name, task in found.items()
        for code, words in (("before", "The commit before"), ("now", "Now"))
    ]
    frame = pd.DataFrame(rows)
    marks = Marks("code", ["The commit before", "Now"], "Code", WIDTH)
    channels = {
        "y": kind("task", title=None, sort=None, axis={**GRID, "labelLimit": 0}),
        "x": quantity(
            "ms", title="Our own CPU milliseconds per person", axis=GRID, scale={"domainMin": 0}
        ),
        **marks.points(),
    }
    heading = headed("A thousand people at once", ["At most 2 ms is aimed at."], WIDTH)
    chart = marked(frame, "point", channels, filled=True, size=70)
    return chart.properties(width=WIDTH - 230, height={"step": 24}, **heading)


def _growth_chart(found: Figures) -> Chart:
    """CPU seconds and peak memory by people and by reference rows, on log scales."""
    panels = []
    for column, title in (("cpu", "CPU seconds"), ("gib", "Peak memory, GiB")):
        for by, words in (("people", "People"), ("reference", "Reference rows")):
            parts = [
                growth.sweep(found, method, by).assign(who=label)
                for method, label in METHODS.items()
            ]
            frame = pd.concat([part for part in parts if len(part)] or parts)
            if not len(frame):
                continue
            frame["gib"] = frame["peak"] / growth.GIB
            panels.append(_panel(frame[[by, column, "who"]], by, words, column, title))
    heading = headed(
        "Cost grows with people and reference rows, memory with reference rows only",
        ["Log scales: a line that rises by one decade per decade is linear."],
        WIDTH,
    )
    return beside(panels, 2, **heading)


def _panel(frame: pd.DataFrame, by: str, words: str, column: str, title: str) -> Chart:
    marks = Marks("who", list(METHODS.values()), "Method", WIDTH)
    log = {"type": "log"}
    decades = {**GRID, "values": [10.0**n for n in range(-2, 7)], "format": "~s"}
    axes = {
        "x": quantity(by, title=f"{words} (log scale)", scale=log, axis=decades),
        "y": quantity(column, title=f"{title} (log scale)", scale=log, axis=decades)
        if column == "cpu"
        else quantity(column, title=title, scale={"domainMin": 0}, axis=GRID),
    }
    channels = {**axes, **marks.lines(), "color": marks.points()["color"]}
    line = marked(frame, "line", channels, point={"filled": True, "size": 60})
    return panel([line], f"{title} by {words.lower()}", WIDTH / 2 - 90, 220)
