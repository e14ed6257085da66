"""`stepladder schema`: what a table's features are, guessed and written as YAML with comments."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepladder.cli.inputs import names
from stepladder.errors import (
    DtypeError,
    EmptyFrameError,
    MissingValueError,
    ResultError,
    listing,
)

if TYPE_CHECKING:
    from stepladder.table.feature import Feature
    from stepladder.table.schema import Schema

MANY = 50
"""A category with more levels than this may be a name for something."""

HEADER = """\
# What the features of {table} are, and how a person may change them.
#
# It was guessed, and no table says what can be asked of anybody. So check every
# feature: can it change, and which way? How far, and how long does it take?
# What do people call it? A setting after "# " is a suggestion; take the "# "
# away to use it.
#
#   kind         numeric; categorical (levels without an order); ordinal
#                (levels, the lowest first); derived (worked out from others)
#   change       any (if left out), increase, decrease, never, or, for a number,
#                time: it grows by one per year
#   bounds       [low, high] of a number, null for an open end
#   typical      [low, high] of most people, as known without the table (for
#                private use)
#   integer      true: whole numbers only
#   decimals     how many at most
#   levels       what a category can be
#   onehot       the 0/1 columns that hold a category, one for each level
#   formula      how a derived feature is worked out, such as loan / price;
#                was(x) is today's value
#
# What may be asked of a person, where there's more to say:
#   reach        how far from today's value a number may go: 30%, [-20%, +50%],
#                500 or [-100, null]
#   multiple     what an asked-for number is a multiple of, such as 50
#   not_to       levels that nobody is advised to move to
#   moves        where a level may go in one step, and nowhere else:
#                {{overdrawn: [basic]}}
#   at_once      true: it changes in a single step
#   difficulty   how hard a change is beside others; 1 is usual
#   months       how long a change takes, however large
#   months_each  or how long each unit or level takes
#   fill         true: a missing value may be filled in
#
# And how it's spoken of, where its name won't do:
#   label        what people call it
#   labels       what they call its levels: {{A11: in debit}}
#   unit         what a number is counted in, such as $ or years
#   percent      true: a share, shown as per cent
#   times        what to multiply a number by to get its unit, such as 1000
#   rise, fall   what to tell a person to do
features:
"""

FOOTER = """
# Requirements between features, which every row of every step keeps:
# require:
# - loan <= price
"""


def schema(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A .parquet, .csv or .csv.gz.")],
    never: Annotated[
        list[str] | None, typer.Option(help="Columns that can't change: age,sex. May be repeated.")
    ] = None,
    increase: Annotated[list[str] | None, typer.Option(help="Columns that can only go up.")] = None,
    decrease: Annotated[
        list[str] | None, typer.Option(help="Columns that can only go down.")
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(
            "--leave-out", "--label", help="Columns that aren't features: a label, an identity."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file, instead of the terminal.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there already.")
    ] = False,
) -> None:
    """Guess the schema of a table and write it as YAML, to be checked and edited."""
    from stepladder.cli.tablefile import TableFile
    from stepladder.files import write_text
    from stepladder.table.schema import Schema

    if out is not None and out.exists() and not force:
        raise ResultError(f"{str(out)!r} is there already; replace it with --force.")
    opened, left_out = TableFile(table), names(leave_out)
    opened.require(left_out, "--leave-out")
    frame = opened.frame().drop(columns=left_out)
    if not len(frame):
        raise EmptyFrameError(f"{str(table)!r} has no rows, so there's nothing to guess from.")
    try:
        guessed = Schema.infer(
            frame,
            never=names(never),
            increase=names(increase),
            decrease=names(decrease),
            categorical=_unordered(opened.empty, frame),
        )
    except (DtypeError, MissingValueError) as error:
        unfit = [name for name in frame.columns if not _fits(frame[[name]])]
        way_out = f"To drop it here: --leave-out {','.join([*left_out, *unfit])}"
        raise type(error)(f"{error} {way_out}") from error
    text = _commented(guessed, frame, table.name)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(text, out)
    typer.echo(f"Written to {out}: {len(guessed)} features to check.", err=True)
    named = [f.name for f in guessed.features if _is_name(f, frame[f.name])]
    if named:
        typer.echo(
            f"Is {listing(named)} a name for each row? Then write it again with --leave-out "
            f"{','.join([*left_out, *named])} --force.",
            err=True,
        )


def _unordered(table: Any, frame: Any) -> list[str]:
    """The columns without an order of which pandas may say otherwise: those of polars' Enum."""
    from stepladder.table import frames

    levelled = [name for name in frame if frame[name].dtype == "category"]
    return [name for name in levelled if frames.order(frames.read(table), name) is None]


def _fits(column: Any) -> bool:
    """Whether a frame of one column can be guessed."""
    from stepladder.table.schema import Schema

    try:
        return bool(Schema.infer(column))
    except (DtypeError, MissingValueError):
        return False


def _commented(schema: Schema, frame: Any, table: str) -> str:
    """The schema as YAML, with what each setting means and what was seen of each feature."""
    entries = schema.to_dict()["features"]
    listed = "\n".join(
        _entry(feature, settings, frame[feature.name])
        for feature, settings in zip(schema.features, entries, strict=True)
    )
    return HEADER.format(table=" ".join(table.split())) + listed + FOOTER


def _entry(feature: Feature, settings: dict[str, Any], column: Any) -> str:
    """A feature as an item of a list, one line per setting; what may be added follows a #."""
    first = {"name": settings["name"], "kind": settings["kind"], "change": "any"}
    lines = [_line(key, value) + _or(feature, key) for key, value in {**first, **settings}.items()]
    if feature.kind == "numeric":
        if ends := _ends(column):
            lines.append(f"# {_line('bounds', ends)}  # as seen; null for an open end")
        lines.append(f"# {_line('unit', '')}  # such as $ or years")
    lines.append(indent(_line("label", feature.label), "# "))
    return f"# {_seen(feature, column)}\n- " + indent("\n".join(lines), "  ")[2:] + "\n"


def _or(feature: Feature, setting: str) -> str:
    """What a setting could be instead, as a comment."""
    from stepladder.table.feature import Categorical, Change

    if setting == "change":
        left_out = {
            "ordinal": [Change.TIME],
            "categorical": [Change.INCREASE, Change.DECREASE, Change.TIME],
        }.get(feature.kind, [])
        known = [how for how in Change if how not in (feature.change, *left_out)]
        return f"  # or {', '.join(how.value for how in known)}"
    if setting == "kind" and isinstance(feature, Categorical) and len(feature.levels or ()) > 2:
        return "  # or ordinal, if the levels have an order: lowest first"
    return ""


def _is_name(feature: Feature, column: Any) -> bool:
    """Whether levels are so many that they look like names for rows."""
    return feature.kind != "numeric" and column.nunique() > max(MANY, 0.9 * column.count())


def _seen(feature: Feature, column: Any) -> str:
    """What a table holds of a feature, in a few words."""
    missing = int(column.isna().sum())
    gaps = f"; {missing:,} missing" if missing else ""
    if feature.kind == "numeric":
        infinite = column.count() - len(_numbers(column))
        gaps += f"; {infinite:,} infinite, so correct the table" if infinite else ""
        return f"seen: {' to '.join(f'{end:.10g}' for end in _ends(column)) or 'nothing'}{gaps}"
    count = column.nunique()
    many = "; is it a name for something? then leave it out" if count > MANY else ""
    return f"seen: {count:,} {'level' if count == 1 else 'levels'}{gaps}{many}"


def _ends(column: Any) -> list[float]:
    """The lowest and the highest number of a column; nothing if it holds none."""
    seen = _numbers(column)
    ends = [seen.min(), seen.max()] if len(seen) else []
    return [int(end) if end.is_integer() else float(end) for end in ends]


def _numbers(column: Any) -> Any:
    """The numbers of a column, without those that are missing or infinite: none has such bounds."""
    numbers = column.dropna().to_numpy(dtype=float)
    return numbers[abs(numbers) < float("inf")]


def _line(setting: str, value: Any) -> str:
    """A setting as YAML."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes lists in brackets."""

    def bracketed(dumper: Any, items: list[Any]) -> Any:
        return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)

    Dumper.add_representer(list, bracketed)
    text = ""
    for as_it_is in (True, False):  # YAML folds exotic line ends; escaped they survive
        text = yaml.dump({setting: value}, Dumper=Dumper, allow_unicode=as_it_is)
        if yaml.safe_load(text) == {setting: value}:
            break
    return text.rstrip("\n")
