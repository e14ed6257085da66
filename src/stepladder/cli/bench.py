"""`stepladder bench …`: run a spec, and render what it found.

The bench itself is imported by the commands that need it, so that `--help` is quick.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from stepladder.cli import Exit
from stepladder.cli.help import Command
from stepladder.errors import ParameterError, listing, nearest
from stepladder.files import write_text, writing

if TYPE_CHECKING:
    from stepladder.bench.compare import Line, Reason
    from stepladder.bench.estimates import Estimates
    from stepladder.bench.render import Table
    from stepladder.bench.summary import Drawing

PIPED = 160
"""Columns of text where there's no terminal to ask."""

REASONS = "reasons.toml"

app = typer.Typer(no_args_is_help=True, help="Compare recourse methods on the same people.")


class Form(StrEnum):
    markdown = "markdown"
    latex = "latex"
    text = "text"


Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="A folder of results.")]
Format = Annotated[Form, typer.Option("--format", help="What to write.")]
Out = Annotated[Path | None, typer.Option("--out", help="A file, instead of the terminal.")]


@app.command(cls=Command)
def run(
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A TOML file or a packaged spec.")],
    out: Annotated[
        Path | None, typer.Option("--out", help="Where results go (results/<name of the spec>).")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option("--jobs", min=1, help="Tasks at a time (the number of CPUs).")
    ] = None,
    data: Annotated[
        Path | None, typer.Option("--data", help="Where the datasets lie ($STEPLADDER_DATA).")
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", help="A pattern dataset/model/method, * for any; may be repeated."),
    ] = None,
) -> None:
    """Run what a spec asks for and a folder doesn't have yet.

    It may be stopped at any moment; the same command goes on where it stopped.
    """
    from stepladder.bench import runner
    from stepladder.bench.spec import load
    from stepladder.cli.progress import RunBar, cells

    asked = load(spec)
    folder = out or Path("results") / asked.name
    bar = RunBar()
    try:
        runner.run(asked, folder, jobs=jobs, data_dir=data, only=tuple(only or ()), watch=bar)
    except KeyboardInterrupt as error:
        bar.finished()
        typer.echo(
            f"Stopped. {cells(bar.before + bar.ran - bar.failed)} finished and kept in {folder}; "
            "the same command goes on from there.",
            err=True,
        )
        raise typer.Exit(Exit.INTERRUPTED) from error
    failed = f", {bar.failed} of them failed" if bar.failed else ""
    typer.echo(f"{cells(bar.ran)} run{failed}. See them: stepladder bench table {_quoted(folder)}")
    if bar.ran and bar.failed == bar.ran and not bar.before:
        raise typer.Exit(Exit.ERROR)


@app.command(cls=Command)
def table(
    folder: Folder,
    name: Annotated[
        list[str] | None,
        typer.Option("--table", help="One of the paper's six, fair or sweep; may be repeated."),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option("--metric", help="A column of the sweep table; may be repeated."),
    ] = None,
    form: Format = Form.text,
    out: Out = None,
) -> None:
    """Tables of a folder's results; without --table, those that it has rows for."""
    from stepladder.bench.results_page import fitting

    estimates = _estimates(folder)
    wanted = list(name) if name else fitting(estimates)
    made = [t for each in wanted for t in _tables(estimates, each, tuple(metric or ()))]
    _write(made, form, out)


@app.command(cls=Command)
def compare(
    folder: Folder,
    outside: Annotated[
        bool, typer.Option("--outside", help="Only what lies outside, with the reasons.")
    ] = False,
    form: Format = Form.text,
    out: Out = None,
) -> None:
    """Every number that the paper prints beside ours: within or not."""
    from stepladder.bench import compare as beside

    estimates = _estimates(folder)
    lines = beside.compare(estimates)
    known = _reasons(folder, lines)
    counts = beside.by_group(lines) + beside.by_table(lines)
    ran = [line for line in lines if line.ours is not None]
    if outside:
        made = [beside.outside_table(lines, known)]
    else:
        made = [beside.compare_table(ran), beside.people_table(estimates)]
    _write([*made, beside.counts_table(counts, "Numbers within")], form, out)


@app.command(cls=Command)
def page(
    folders: Annotated[list[Path], typer.Argument(metavar="FOLDER...", help="Folders of results.")],
    out: Out = None,
) -> None:
    """The page of results in Markdown; with --out its pictures too, in a folder beside it."""
    from stepladder.bench import results_page as pages
    from stepladder.bench.compare import compare as lines_of
    from stepladder.bench.estimates import Estimates
    from stepladder.bench.results import Results

    runs = []
    for folder in folders:
        results = Results(folder)
        lines = lines_of(Estimates(results.rows, results.cells))
        known = _reasons(folder, lines)
        runs.append(pages.Run(folder.as_posix(), results.rows, results.cells, known))
    words = [*(_quoted(folder) for folder in folders), *(["--out", _quoted(out)] if out else [])]
    _put(pages.page(runs, f"stepladder bench page {' '.join(words)}"), out)
    if out is not None:
        _draw(pages.drawings(runs), out.parent / "pictures")


# ---- pieces -----------------------------------------------------------------------------------


def _draw(drawings: list[Drawing], folder: Path) -> None:
    from stepladder.view import plots

    folder.mkdir(exist_ok=True)
    for drawing in drawings:
        plots.save(plots.methods(drawing.frame, width=900), folder / f"{drawing.name}.svg")


def _estimates(folder: Path) -> Estimates:
    from stepladder.bench.estimates import Estimates
    from stepladder.bench.results import Results

    results = Results(folder)
    return Estimates(results.rows, results.cells)


def _reasons(folder: Path, lines: list[Line]) -> tuple[Reason, ...]:
    """The reasons kept in a folder; those that explain nothing are named."""
    from stepladder.bench.compare import reasons, stale

    known = reasons(folder / REASONS)
    for reason in stale(lines, known):
        typer.echo(f"{folder / REASONS}: no number outside needs {reason.why!r}.", err=True)
    return known


def _tables(estimates: Estimates, name: str, metrics: tuple[str, ...]) -> list[Table]:
    from stepladder.bench.fair import fair_tables
    from stepladder.bench.paper import TABLES
    from stepladder.bench.tables import SWEPT, paper_table, sweep

    if metrics and name != "sweep":
        raise ParameterError("--metric chooses columns of --table sweep; other tables have theirs.")
    if name == "fair":
        return fair_tables(estimates)
    if name == "sweep":
        return [sweep(estimates, metrics or SWEPT)]
    if name not in TABLES:
        known = [*TABLES, "fair", "sweep"]
        raise ParameterError(
            f"There is no table {name!r}.{nearest(name, known)} There are "
            f"{listing(known, most=len(known))}."
        )
    return [paper_table(estimates, name)]


def _write(tables: list[Table], form: Form, out: Path | None) -> None:
    from stepladder.bench.render import render

    terminal = out is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else PIPED
    _put("\n".join(render(table, form.value, width=width) for table in tables), out)


def _put(text: str, out: Path | None) -> None:
    if out is None:
        typer.echo(text, nl=False)
        return
    with writing(out):
        out.parent.mkdir(parents=True, exist_ok=True)
    write_text(text, out)
    typer.echo(f"Written to {out}.", err=True)


def _quoted(path: Path) -> str:
    return shlex.quote(path.as_posix())
