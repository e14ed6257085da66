"""`stepladder audit`: what groups of people are offered, from a saved result."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import pandas as pd
import typer

from stepladder.cli import Exit
from stepladder.cli.groups import Groups, Identity, grouped, opened
from stepladder.cli.inputs import Quiet, names, not_read_from
from stepladder.errors import ResultError

if TYPE_CHECKING:
    from stepladder.audit import Audit

AUDITS = {".json": "every table of the audit", ".csv": "one row per group"}
"""What an audit is written to, and what the file then holds."""


def audit(
    result: Annotated[
        Path,
        typer.Argument(
            metavar="RESULT",
            help="What stepladder recourse or Recourse.save wrote as .parquet or .json.",
        ),
    ],
    by: Annotated[
        list[str], typer.Option(help="Columns: sex,race. Each is looked at, and every pair.")
    ],
    groups: Groups = None,
    identity: Identity = None,
    budget: Annotated[
        float | None, typer.Option(min=0, help="The cost that one notion asks about (the median).")
    ] = None,
    smallest: Annotated[
        int, typer.Option(min=1, help="A group in which fewer people asked is marked as small.")
    ] = 30,
    out: Annotated[
        Path | None,
        typer.Option(help="A file: .json (everything) or .csv (one row per group)."),
    ] = None,
    quiet: Quiet = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as one JSON object.")
    ] = False,
) -> None:
    """Compare what groups of people are offered."""
    from stepladder.audit import audit as audited
    from stepladder.result.recourse import Recourse

    wanted = names(by)
    if not wanted:
        raise typer.BadParameter("--by names at least one column, such as sex.")
    if out is not None:
        _check_out(out, result, groups)
    table = opened(groups, identity)
    found = Recourse.load(result)
    made = audited(found, grouped(found, wanted, table, identity), smallest=smallest, budget=budget)
    if out is not None:
        _write(made, out)
    if as_json:
        typer.echo(json.dumps(made.to_dict(), indent=2))
    elif not quiet:
        typer.echo(str(made))
    if out is not None and not quiet:
        typer.echo(f"Written to {out}: {AUDITS[out.suffix.lower()]}.", err=True)
    if made.asked and not any(found.best_at(i)[0] is not None for i in range(len(found.people))):
        raise typer.Exit(Exit.NOBODY)


def _check_out(out: Path, *read: Path | None) -> None:
    from stepladder.files import check_place

    if out.suffix.lower() not in AUDITS:
        raise ResultError(
            f"Can't write an audit to {str(out)!r}: expected a name that ends in "
            f"{', '.join(AUDITS)}."
        )
    not_read_from("--out", out, *read)
    check_place(out)


def _write(made: Audit, out: Path) -> None:
    from stepladder.files import write_text

    content = made.to_dict()
    if out.suffix.lower() == ".csv":
        write_text(pd.DataFrame(content["by_group"]).to_csv(index=False), out)
    else:
        write_text(json.dumps(content, indent=2) + "\n", out)
