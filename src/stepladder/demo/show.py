"""The demo's page in the terminal: a summary of everyone, and a few people's plans."""

from __future__ import annotations

import io
import pickle
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

import stepladder as sl
from stepladder import datasets
from stepladder.demo import lender
from stepladder.demo.chosen import instructive, situation
from stepladder.numbers import plain
from stepladder.progress import Bar
from stepladder.view.report import report, write
from stepladder.words.plans import Plan, Route, capital, needed, plans

GOAL = sl.Goal(threshold=lender.THRESHOLD)

PAPERS = 0.01
"""How hard it is to hand in papers, beside other changes: next to nothing."""

WIDEST = 100
"""Columns beyond which lines get too long to read."""

INDENT = 2
"""Columns before what is to be done."""


@dataclass(frozen=True)
class Demo:
    """Everything that the page tells of."""

    rows: pd.DataFrame
    train: pd.DataFrame
    model: Any
    skill: float
    """How often the model ranks an approved application above a rejected one it hasn't seen."""
    rejected: pd.DataFrame
    groups: pd.DataFrame
    """Race and sex of everyone in `rejected`, which the model doesn't see."""
    result: sl.Recourse
    seconds: float
    """What finding all routes took."""


def work(seed: int, console: Console) -> Demo:
    """Train the model and find routes for everyone it turns down."""
    # On so small a table threads wait for one another more than they work.
    with threadpool_limits(limits=1):
        return _work(seed, console)


def _work(seed: int, console: Console) -> Demo:
    with Bar("Training a model", console=console):
        applications = datasets.load("mortgage")
        rows, approved = applications.rows, applications.labels
        train, test = train_test_split(
            np.arange(len(rows)), test_size=0.3, random_state=seed, stratify=approved
        )
        model = lender.fitted(rows.iloc[train], approved[train], seed)
        scores = model.predict_proba(rows)[:, 1]
    rejected = rows[scores < lender.THRESHOLD]
    step = sl.StEP(paths=3, step_size=0.25, random_state=seed)
    with Bar("Finding routes", len(rejected), console=console) as bar:
        started = time.perf_counter()
        step.fit(
            rows.iloc[train],
            model,
            schema=_weighed(applications.schema),
            goal=GOAL,
        )
        result = step.recourse(rejected, progress=lambda done, _: bar.reached(done))
        seconds = time.perf_counter() - started
    skill = float(roc_auc_score(approved[test], scores[test]))
    assert applications.groups is not None
    groups = applications.groups.loc[rejected.index]
    return Demo(rows, rows.iloc[train], model, skill, rejected, groups, result, seconds)


def _weighed(schema: sl.Schema) -> sl.Schema:
    """The table's schema, in which papers are as easy to hand in as they are.

    Hardly anybody's are missing, so by ranks alone it would be a large change.
    """
    features = [
        feature.but(difficulty=PAPERS) if feature.name == "paperwork" else feature
        for feature in schema.features
    ]
    return sl.Schema(features, schema.require)


def introduction(demo: Demo) -> Group:
    return Group(
        Text("Stepladder: routes from a no to a yes", style="bold"),
        Text(
            f"{len(demo.rows):,} mortgage applications made in Boston in 1990 (Hunter and Walker, "
            "1996). A gradient-boosted model has learned how the lenders decided, without race, "
            "sex, marital status or age. Of an approved and a rejected application it hasn't "
            f"seen, it ranks the right one higher {demo.skill:.0%} of the time. It says "
            f"yes from a score of {needed(GOAL)}."
        ),
    )


def summary(demo: Demo, made: list[Plan]) -> Panel:
    """Everyone in a few numbers."""
    people, rejected = len(demo.rows), len(demo.rejected)
    routes = [plan.routes[0] for plan in made]
    several = sum(len(plan.routes) > 1 for plan in made)
    single = sum(any(len(route.changes) == 1 for route in plan.routes) for plan in made)
    facts = [
        ("Applicants", f"{people:,}", ""),
        ("  accepted", f"{people - rejected:,}", _share(people - rejected, people)),
        ("  turned down", f"{rejected:,}", _share(rejected, people)),
        ("Have a route to a yes", f"{len(made):,}", _share(len(made), rejected)),
        ("  two or three", f"{several:,}", _share(several, rejected)),
        ("  one with one thing to do", f"{single:,}", _share(single, rejected)),
        ("On the easiest route", "", ""),
        ("  things to do", *_spread([len(r.changes) for r in routes])),
        ("  months it takes", *_spread([r.months for r in routes])),
        (
            "Time for all routes",
            f"{demo.seconds:.1f} s",
            f"{1000 * demo.seconds / max(rejected, 1):.0f} ms each",
        ),
    ]
    grid = Table.grid(padding=(0, 2))
    grid.add_column()
    grid.add_column(justify="right", style="bold", no_wrap=True)
    grid.add_column(style="dim")
    for fact in facts:
        grid.add_row(*fact)
    return _panel("Everyone", grid)


def _share(part: int, total: int) -> str:
    return f"{100 * part / total:.0f}%" if total else ""


def _spread(counts: Sequence[float]) -> tuple[str, str]:
    if not counts:
        return "-", ""
    return plain(float(np.median(counts))), f"median; at most {plain(max(counts))}"


def page(plan: Plan) -> Panel:
    """One person's plan: each of their routes, the easiest first."""
    parts: list[Any] = [Text(situation(plan))]
    for number, route in enumerate(plan.routes):
        lead = "Or instead: " if number else ""
        parts += [Text(), Text(capital(f"{lead}{route.kind}"), style="bold"), _tasks(route)]
        rest = [route.consequence, route.ending(GOAL), route.certainty]
        parts.append(Padding(" ".join(filter(None, rest)), (0, 0, 0, INDENT)))
    return _panel(f"Applicant {plan.person}", Group(*parts))


def _tasks(route: Route) -> Any:
    """What to do: numbered, where it's several things."""
    tasks = [Text(str(task), style="green") for task in route.tasks]
    if len(tasks) == 1:
        return Padding(tasks[0], (0, 0, 0, INDENT))
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(justify="right", width=INDENT + 1)
    grid.add_column(overflow="fold")
    for number, task in enumerate(tasks, 1):
        grid.add_row(f"{number}.", task)
    return grid


def _panel(title: str, content: Any) -> Panel:
    return Panel(
        content, title=f"[bold]{title}[/]", title_align="left", padding=(1, 2), box=box.ROUNDED
    )


def show(people: int, seed: int, file: Path | None, width: int | None) -> None:
    """Print the page, with the plans of `people` of them, and write the report to a file."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # where no box can be drawn, words still show
        sys.stdout.reconfigure(errors="replace")
    console = Console(highlight=False)
    console.width = width or min(console.width, WIDEST)
    demo = work(seed, console)
    made = [plan for plan in plans(demo.result) if plan.routes]
    console.print(introduction(demo), "")
    console.print(summary(demo, made))
    for plan in instructive(made, people):
        console.print(page(plan))
    console.print(
        "Each row of each route was scored again by the model after rounding, and keeps every "
        "rule of the schema in src/stepladder/datasets/mortgage.py."
    )
    if file is not None:
        text = report(
            demo.result,
            groups=demo.groups,
            title="Mortgage applications in Boston, 1990",
            model=pickle.dumps(demo.model),
            data=demo.train,
        )
        write(text, file)
        console.print(f"All of it, as a report: {file}")
