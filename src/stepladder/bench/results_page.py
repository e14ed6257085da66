"""The page of results, written from folders of results and the paper's numbers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pandas as pd

from stepladder.bench import fair, names
from stepladder.bench import spec as specs
from stepladder.bench.compare import (
    AIM,
    Line,
    Reason,
    by_group,
    by_table,
    compare,
    counts_table,
    outside,
    outside_table,
    people_table,
)
from stepladder.bench.estimates import Estimates, largest_error
from stepladder.bench.paper import TABLES, PaperTable
from stepladder.bench.render import Column, Entry, Row, Table, escaped, markdown, split
from stepladder.bench.summary import Drawing, of_fair, of_paper
from stepladder.bench.tables import (
    MAX_ERROR,
    Footnotes,
    failures,
    in_order,
    labels_run,
    paper_columns,
    sweep,
)
from stepladder.numbers import rounded

OUTSIDE = "✗"


@dataclass(frozen=True, eq=False)
class Run:
    """The frames of one folder of results, and the reasons kept beside them."""

    folder: str
    rows: pd.DataFrame
    cells: pd.DataFrame
    reasons: tuple[Reason, ...] = ()

    @cached_property
    def estimates(self) -> Estimates:
        return Estimates(self.rows, self.cells)

    @property
    def kind(self) -> str:
        """fair, sweep, or published for a run with tables of the paper."""
        found = fitting(self.estimates)
        return found[0] if found[0] in ("fair", "sweep") else "published"

    @property
    def name(self) -> str:
        """What its spec is called, which is what its folder is."""
        return self.folder.rstrip("/").rsplit("/", 1)[-1]


def fitting(estimates: Estimates) -> list[str]:
    """The tables that suit a run: "fair" (StEP is there as it is now and as published),
    those of the paper with at least two methods' rows, or "sweep"."""
    methods = {method for _, _, method in estimates.tasks()}
    if fair.PUBLISHED in methods:
        return ["fair"]
    known = {label for layout in TABLES.values() for label in layout.labels.values()}
    found = [name for name in TABLES if len(labels_run(estimates, name)) > 1]
    return found if found and methods <= known else ["sweep"]


def page(runs: Sequence[Run], command: str) -> str:
    """The page in Markdown; `command` is what writes it again."""
    sections = {"published": _published, "fair": _fair, "sweep": _sweep}
    parts = [
        f"<!-- Written by `{command}` from {', '.join(run.folder for run in runs)}; "
        "don't edit it by hand. -->",
        "# Benchmark results",
        *_summary(runs),
        "## What was run",
        _introduction(runs, command),
    ]
    for kind, section in sections.items():
        for run in runs:
            parts += section(run) if run.kind == kind else []
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _summaries(runs: Sequence[Run]) -> list[tuple[str, Drawing | None]]:
    """What was found in each run that is more than a sweep."""
    found = []
    for run in runs:
        if run.kind == "published":
            lines = compare(run.estimates)
            if any(line.within is not None for line in lines):
                found.append(of_paper(lines))
        elif run.kind == "fair":
            found.append(of_fair(run.estimates))
    return found


def drawings(runs: Sequence[Run]) -> list[Drawing]:
    """The pictures that the page shows, to be drawn into `pictures/` beside it."""
    return [drawing for _, drawing in _summaries(runs) if drawing is not None]


def _summary(runs: Sequence[Run]) -> list[str]:
    parts = []
    for sentences, drawing in _summaries(runs):
        parts += [sentences, *([] if drawing is None else [drawing.markdown])]
    return parts


def _introduction(runs: Sequence[Run], command: str) -> str:
    lines = [
        "Every number on this page comes from the rows in "
        + ", ".join(f"`{run.folder}`" for run in runs)
        + ", one row per dataset, model, method, trial and person. A number is the mean over "
        "trials of the mean over people; ± is its standard error over trials (their standard "
        "deviation divided by the root of their number).",
        "",
        *(_what_was_run(run) for run in runs),
        "",
        "To make it again:",
        "",
        "```sh",
        *(f"stepladder bench run {run.name} --out {run.folder}" for run in runs),
        command,
        "```",
    ]
    return "\n".join(lines)


def _what_was_run(run: Run) -> str:
    cells = run.cells
    finished = cells[cells["error"] == ""]
    crashed = len(cells) - len(finished)
    return (
        f"- `{run.folder}`: {_sizes(finished)}. {len(cells):,} cells, of "
        f"which {crashed or 'none'} failed, and {len(run.rows):,} rows. {_versions(finished)}"
    )


def _sizes(cells: pd.DataFrame) -> str:
    """How many trials of how many people each family of methods had."""
    sizes: dict[tuple[int, int], dict[str, None]] = {}
    by_method = cells.groupby(cells["method"].astype(str))
    for label, trials, people in zip(
        by_method.groups, by_method["seed"].nunique(), by_method["people"].max(), strict=True
    ):
        family = names.method(names.family(str(label)) or str(label))
        sizes.setdefault((int(trials), int(people)), {})[family] = None
    texts = [
        f"{', '.join(methods)}: {trials} trial{'' if trials == 1 else 's'} of up to {people:,}"
        for (trials, people), methods in sorted(sizes.items(), reverse=True)
    ]
    return f"{'; '.join(texts)} people" if texts else "nothing finished"


def _versions(cells: pd.DataFrame) -> str:
    """Every version that any cell was run with."""
    found: dict[str, set[str]] = {}
    if "versions" in cells:
        for text in cells["versions"].astype(str).unique():
            for package, version in json.loads(text).items():
                found.setdefault(package, set()).add(version)
    if not found:
        return ""
    return ", ".join(f"{name} {' and '.join(sorted(v))}" for name, v in sorted(found.items())) + "."


# ---- beside the paper -------------------------------------------------------------------------


def _published(run: Run) -> list[str]:
    estimates = run.estimates
    lines = compare(estimates)
    missed = outside(lines)
    parts = [
        "## Beside the paper",
        "Hamer, Perello, Valladares, Viswanathan and Zick print 1,008 numbers in six tables "
        "(Simple Steps to Success, TMLR 2024). Ours is *within* if it differs by no more than the "
        "largest of 10 % of the printed number (20 % for a baseline), twice the combined standard "
        "error, and 0.005, half a unit of the last printed digit. *By the share alone* leaves the "
        "standard errors out.",
        _groups(lines),
        _folded("Table by table", counts_table(by_table(lines))),
    ]
    parts += [
        "Each entry has our number, its standard error and, in brackets, the paper's number. "
        f"{OUTSIDE} marks ours as outside. {MAX_ERROR} is the largest standard error of a row, "
        "over all models, in percent of its number. Diversity and proximal diversity are computed "
        "as the paper's tables do, failed paths included.",
    ]
    for layout in TABLES.values():
        parts.append(f"### {layout.title}")
        parts += [markdown(part, level=4) for part in split(beside(lines, layout))]
        parts.append(_folded(MAX_ERROR, largest_errors(lines, layout)))
    parts.append(markdown(people_table(estimates)))
    failed = [words for task in in_order(estimates.tasks()) for words in failures(estimates, task)]
    if failed:
        parts += ["### Trials that failed", "\n".join(f"- {escaped(words)}" for words in failed)]
    if missed:
        parts.append(f"### The {len(missed)} numbers outside")
        notes = Footnotes()
        table = outside_table(lines, run.reasons, "", written=lambda why: str(notes.add(why)))
        parts += [markdown(table), "\n".join(f"{i}. {why}" for i, why in enumerate(notes.all, 1))]
    return parts


def _folded(summary: str, table: Table) -> str:
    return f"<details><summary>{summary}</summary>\n\n{markdown(table)}\n</details>"


def _groups(lines: Sequence[Line]) -> str:
    """The verdict: counts, and the aims beside them."""
    counts = by_group(lines)
    table = counts_table(counts)
    aims = [f"{100 * AIM['step']:.0f} %", f"{100 * AIM['baselines']:.0f} %"]
    verdicts = []
    for count, aim in zip(counts, aims, strict=False):
        reached = "not run" if not count.run else "met" if _meets(count.share, aim) else "missed"
        verdicts.append(f"{count.name}: at least {aim} was the aim, {reached}.")
    return markdown(table) + "\n" + " ".join(verdicts)


def _meets(share: float, aim: str) -> bool:
    return 100 * share >= float(aim.removesuffix(" %"))


def beside(lines: Sequence[Line], layout: PaperTable) -> Table:
    """One of the paper's tables, the printed number after each of ours."""
    rows = [Row(heads, tuple(map(_beside, own))) for heads, own in _rows(lines, layout)]
    heads = ("Dataset", names.HEADS[layout.head])
    return Table(layout.name, layout.title, heads, paper_columns(layout), tuple(rows))


def largest_errors(lines: Sequence[Line], layout: PaperTable) -> Table:
    """The "Max Error %" of each row of one of the paper's tables, the printed one after ours."""
    rows = []
    for heads, own in _rows(lines, layout):
        largest = largest_error(line.ours for line in own if line.ours is not None)
        rows.append(Row(heads, (Entry(largest, after=_printed(own[0].printed.max_error_percent)),)))
    heads = ("Dataset", names.HEADS[layout.head])
    return Table(f"{layout.name}_error", "", heads, (Column(MAX_ERROR),), tuple(rows))


def _rows(
    lines: Sequence[Line], layout: PaperTable
) -> Iterator[tuple[tuple[str, str], list[Line]]]:
    """The numbers of each row of a table, under their heads."""
    rows: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        if line.printed.table == layout.name:
            heads = (names.dataset(line.printed.dataset), names.method(line.printed.row))
            rows.setdefault(heads, []).append(line)
    yield from rows.items()


def _beside(line: Line) -> Entry:
    after = _printed(line.printed.value)
    if line.within is False:
        after = f"{after} {OUTSIDE}"
    if line.ours is None:
        return Entry(after=after)
    words = "failed" if line.failure else ""
    return Entry(line.ours.mean, line.ours.error, words=words, after=after)


def _printed(value: float) -> str:
    return f"({rounded(value)})"


# ---- the fair comparison ----------------------------------------------------------------------


def _fair(run: Run) -> list[str]:
    estimates = run.estimates
    found = fair.standings(estimates)
    return [
        "## The fair comparison",
        "Every method gets the same people, positives, constraints, threshold and time; the "
        "scaling is fitted on the train rows. *Valid success* is the share of people with a path "
        "that meets the goal on the row they would see and breaks no rule. *ℓ2* is the mean "
        "distance to a person's ends, *nearest* to the nearest of them, and *least* the closed "
        "form of the least possible under logistic regression (the gap in log odds over the norm "
        "of the coefficients of the continuous columns that may change). *Effort* is what the "
        "routes ask of a person and *things changed* how many things they do; *holds* is the share "
        "of models, retrained on rows drawn anew, that still say yes to an end, and *tenth short* "
        "the share of ends that are still a yes with numbers that change by a tenth less, each "
        "alone and all together. *To positives* is the distance from an end to the nearest five, "
        "*ms* are "
        "milliseconds per person (on two shared cores: compare them with each other only), and "
        "*dropped* counts the paths per person that a method found but that broke a rule or missed "
        "the goal on the row shown, and weren't passed on.",
        "\n".join(f"- {sentence}" for sentence in fair.verdict(found)),
        markdown(fair.standings_table(found)),
        "In each task, bold is the highest valid success, and the lowest distance among methods "
        f"with valid success above {fair.ENOUGH}.",
        *(markdown(table) for table in fair.fair_tables(estimates)),
    ]


# ---- sweeps -----------------------------------------------------------------------------------


def _sweep(run: Run) -> list[str]:
    about = specs.load(run.name).about if run.name in specs.packaged() else run.name
    return [
        f"## {run.name}",
        about,
        _folded("The numbers", replace(sweep(run.estimates), title="")),
    ]
