"""The tables of docs/privacy-results.md, from the lines that benchmarks/privacy.py measured."""

from __future__ import annotations

import math

import pandas as pd

from stepladder.bench import names
from stepladder.bench.render import Column, Entry, Row, Table, markdown
from stepladder.numbers import rounded

ONCE, PER_DIRECTION = "once", "per direction"
NEXT_TO_NO_NOISE = 1e6
KEYS = "dataset", "model", "way", "epsilon"
"""What tells one line from another."""

BEGIN, END = "<!-- utility: begin -->\n", "<!-- utility: end -->\n"

MATTERS = {ONCE: 0.5, PER_DIRECTION: 1.0}
"""The ε at which each way has to be good enough."""
WITHOUT = {ONCE: math.inf, PER_DIRECTION: NEXT_TO_NO_NOISE}
SHOWN = {math.inf: "none", NEXT_TO_NO_NOISE: "10⁶"}

COUNTS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six"}

DECIMALS = {
    "success": 3,
    "avg_success": 3,
    "l2_distance": 2,
    "distance_to_positives": 2,
    "model_alone": 2,
    "angle": 0,
    "angle_median": 0,
}
"""The numbers in a table, and how many digits of each mean something."""
HEADS = {"model_alone": "Model Alone", "angle": "Angle", "angle_median": "Median Angle"}
WITH_BRACKETS = "success", "avg_success", "l2_distance", "distance_to_positives"


def between(text: str) -> tuple[str, str, str]:
    """A page up to its tables, the tables, and what follows them; marks aren't part of tables.

    >>> between("Text\\n<!-- utility: begin -->\\n| 1 |\\n<!-- utility: end -->\\nMore\\n")[1]
    '| 1 |\\n'
    """
    if text.count(BEGIN) != 1 or text.count(END) != 1 or text.index(END) < text.index(BEGIN):
        raise ValueError(
            f"The page needs the lines {BEGIN.strip()!r} and {END.strip()!r}, once each and in "
            "that order, to have its tables put between them."
        )
    before, rest = text.split(BEGIN)
    tables, after = rest.split(END)
    return before + BEGIN, tables, END + after


def rendered(lines: pd.DataFrame) -> str:
    """All that is between the marks."""
    parts = [_promises(lines), _words(lines)]
    for way, title in (
        (ONCE, "Paid once: up to {people} people from a single ε = {epsilon}"),
        (PER_DIRECTION, "Paid per direction: ε = {epsilon} for a walk of up to 10 steps"),
    ):
        own = lines[lines["way"] == way]
        if len(own):
            heading = title.format(people=f"{own['people'].max():,}", epsilon=f"{MATTERS[way]:g}")
            every = markdown(_every(own, way))
            parts += [
                markdown(_short(own, way, heading)),
                f"<details><summary>Paid {way}, every ε</summary>\n\n{every}\n</details>",
            ]
    return "\n" + "\n\n".join(part.strip() for part in parts) + "\n\n"


def _promises(lines: pd.DataFrame) -> str:
    """What was asked for, and what came out."""
    once, each = (
        lines[(lines["way"] == way) & (lines["epsilon"] == epsilon)]
        for way, epsilon in MATTERS.items()
    )
    return (
        f"- pay once at ε = {MATTERS[ONCE]:g}: success {_range(once, 'success')}, average success "
        f"{_range(once, 'avg_success')} over {_tasks(once)} (asked: 0.99, 0.95)\n"
        f"- pay per direction at ε = {MATTERS[PER_DIRECTION]:g}: success "
        f"{_range(each, 'success')} over {_tasks(each)} (asked: 0.95)"
    )


def _range(lines: pd.DataFrame, name: str) -> str:
    """From the least, rounded down so that no promise seems kept that isn't, to the most."""
    least, most = lines[name].min(), lines[name].max()
    if math.isnan(least):
        return "not measured"
    return f"from {rounded(math.floor(least * 1e3 + 1e-6) / 1e3, 3)} to {rounded(most, 3)}"


def _tasks(lines: pd.DataFrame) -> str:
    count = len(lines)
    return "one task" if count == 1 else f"{COUNTS.get(count, str(count))} tasks"


def _words(lines: pd.DataFrame) -> str:
    """What is in the tables."""
    most = lines.groupby("way")["people"].max()
    people = " and ".join(f"{count:,} (paid {way})" for way, count in most.items())
    return (
        "People are those whom a model scores below 0.5, of the test and then of the validation "
        f"rows, up to {people}; the goal is 0.7, k = 3, δ = 1/n² with n train rows, one trial. "
        "*ℓ2 distance* and *to positives*, from an end to the five nearest real positives, are in "
        "standard deviations of the train rows, whatever the method measured in; nobody but this "
        "evaluation is told the latter. *Model alone* is the share of successful paths that went "
        "on by what the model says alone, since their direction drowned in the noise. *Angle* is "
        "the mean one, in degrees, at the start of 100 people, to the direction without noise "
        "(paid per direction; one of which nothing is heard counts as 90) or to the one over the "
        "real positives (paid once). A cluster with few rows that a person could become is lost in "
        "the noise, which draws the mean away from the median. The noise has no seed: another run "
        "differs by chance."
    )


def _short(lines: pd.DataFrame, way: str, title: str) -> Table:
    """One row per task, at the ε that matters; numbers without privacy follow in brackets."""
    shown = _estimates(way)
    plain = lines[lines["epsilon"] == WITHOUT[way]].set_index(["dataset", "model"])
    rows = []
    for line in lines[lines["epsilon"] == MATTERS[way]].to_dict("records"):
        task = line["dataset"], line["model"]
        entries = [Entry(line["people"], decimals=0)]
        for name in shown:
            known = name in WITH_BRACKETS and task in plain.index
            after = f"({rounded(plain.loc[task, name], DECIMALS[name])})" if known else ""
            entries.append(Entry(line[name], after=after, decimals=DECIMALS[name]))
        heads = names.dataset(task[0]), names.model(task[1])
        rows.append(Row(heads, tuple(entries)))
    what = "without privacy" if way == ONCE else f"at ε = {SHOWN[WITHOUT[way]]}"
    title = f"{title} (in brackets: {what})"
    columns = Column("People"), *_columns(shown)
    return Table(f"privacy_{way}", title, ("Dataset", "Model"), columns, tuple(rows))


def _every(lines: pd.DataFrame, way: str) -> Table:
    """One row per task and ε."""
    shown = _estimates(way)
    rows = []
    for line in lines.to_dict("records"):
        epsilon = SHOWN.get(line["epsilon"], f"{line['epsilon']:g}")
        heads = names.dataset(line["dataset"]), names.model(line["model"]), epsilon
        rows.append(Row(heads, tuple(Entry(line[n], decimals=DECIMALS[n]) for n in shown)))
    heads = "Dataset", "Model", "ε"
    return Table(f"privacy_{way}_all", "", heads, _columns(shown), tuple(rows))


def _estimates(way: str) -> tuple[str, ...]:
    return tuple(name for name in DECIMALS if way == PER_DIRECTION or name != "model_alone")


def _columns(shown: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(Column(HEADS.get(name) or names.metric(name)) for name in shown)
