"""`stepladder schema`: what a table's features are, guessed and written as YAML with comments."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepladder.cli.inputs import names
from stepladder.errors import ResultError

if TYPE_CHECKING:
    from stepladder.feature import Feature
    from stepladder.schema import Schema

MANY = 50
"""From so many levels on, a category may be a name for something."""

HEADER = """\
# What the features of {table} are, and how a person may change them.
# It was guessed: no table says what can be asked of anybody. Check every feature.
#
#   kind      numeric; categorical (levels without an order); ordinal (levels, the lowest first)
#   change    any (if left out), increase, decrease or never
#   bounds    [low, high] of a number, null for an open end
#   typical   [low, high] of most people, as known without the table (for private use)
#   integer   true: whole numbers only
#   decimals  at most so many
#   levels    what a category can be
#   onehot    the 0/1 columns that hold a category, one for each level
#
# And how it's spoken of, where its name won't do:
#   label     what people call it
#   unit      what a number is counted in, such as $ or years
#   percent   true: a share, shown as per cent
#   times     what to multiply a number by to get its unit, such as 1000
#   rise, fall  what to tell a person to do
"""

FEW_DECIMALS = 4
"""Up to how many decimals a column is taken to mean them."""


def schema(
    table: Annotated[Path, typer.Argument(metavar="TABLE", help="A .parquet, .csv or .csv.gz.")],
    never: Annotated[
        list[str] | None, typer.Option(help="Columns that can't change: age,sex. May be repeated.")
    ] = None,
    increase: Annotated[list[str] | None, typer.Option(help="Columns that can only go up.")] = None,
    decrease: Annotated[
        list[str] | None, typer.Option(help="Columns that can only go down.")
    ] = None,
    label: Annotated[
        list[str] | None, typer.Option(help="Columns to leave out: the label, an identity.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="A file, instead of the terminal.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Guess the schema of a table and write it as YAML, to be checked and edited."""
    from stepladder.cli.files import Table, write_text
    from stepladder.schema import Schema

    if out is not None and out.exists() and not force:
        raise ResultError(f"{str(out)!r} is there already; replace it with --force.")
    opened, left_out = Table(table), names(label)
    opened.require(left_out, "--label")
    frame = opened.frame().drop(columns=left_out)
    guessed = _with_decimals(
        Schema.infer(frame, never=names(never), increase=names(increase), decrease=names(decrease)),
        frame,
    )
    text = _commented(guessed, frame, table.name)
    if out is None:
        typer.echo(text, nl=False)
        return
    write_text(text, out)
    typer.echo(f"Written to {out}: {len(guessed)} features to check.", err=True)


def _with_decimals(schema: Schema, frame: Any) -> Schema:
    """The schema with as many decimals for each number as the table has, if those are few."""
    from stepladder.feature import Numeric
    from stepladder.schema import Schema

    def counted(feature: Feature) -> Feature:
        if not isinstance(feature, Numeric) or feature.integer:
            return feature
        seen = frame[feature.name].dropna().to_numpy(dtype=float)
        places = [d for d in range(FEW_DECIMALS + 1) if (seen.round(d) == seen).all()]
        said = {**feature.settings, "decimals": places[0]} if places else feature.settings
        return Numeric(feature.name, **said)

    return Schema(counted(feature) for feature in schema.features)


def _commented(schema: Schema, frame: Any, table: str) -> str:
    """The schema as YAML, with what each setting means and what was seen of each feature."""
    parts = [HEADER.format(table=" ".join(table.split())), "features:\n"]
    for feature, entry in zip(schema.features, schema.to_dict()["features"], strict=True):
        said = {"name": entry.pop("name"), "kind": entry.pop("kind"), "change": "any", **entry}
        parts += [f"# {_seen(feature, frame[feature.name])}\n", _yaml(said)]
    return "".join(parts)


def _seen(feature: Feature, column: Any) -> str:
    """What a table holds of a feature, in a few words."""
    missing = int(column.isna().sum())
    gaps = f"; {missing:,} missing" if missing else ""
    if feature.kind == "numeric":
        return f"seen: {column.min():.10g} to {column.max():.10g}{gaps}"
    count = column.nunique()
    many = "; is it a name for something? then leave it out" if count > MANY else ""
    return f"seen: {count:,} {'level' if count == 1 else 'levels'}{gaps}{many}"


def _yaml(entry: dict[str, Any]) -> str:
    """A feature as an item of a list: a setting a line."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Writes lists in brackets."""

    def bracketed(dumper: Any, items: list[Any]) -> Any:
        return dumper.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=True)

    Dumper.add_representer(list, bracketed)
    item = ""
    for as_it_is in (True, False):  # YAML folds exotic line ends; escaped they survive
        text = yaml.dump(entry, Dumper=Dumper, sort_keys=False, allow_unicode=as_it_is)
        item = "- " + indent(text, "  ")[2:]
        if yaml.safe_load(item) == [entry]:
            break
    return item
