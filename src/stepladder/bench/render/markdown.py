"""A table in GitHub's Markdown."""

from __future__ import annotations

from stepladder.bench.render.table import WIDE, Entry, Table, with_heads


def markdown(table: Table, *, level: int = 3) -> str:
    """GitHub's Markdown; it has no column groups, so a group's name leads its columns' names."""
    beside = len(table.columns) <= WIDE
    names = [escaped(f"{c.group}: {c.name}" if c.group else c.name) for c in table.columns]
    if table.columns and not beside:
        names = [
            f"{escaped(c.group)}<br>{escaped(c.name)}" if c.group else escaped(c.name)
            for c in table.columns
        ]
    lines = [
        _piped([*map(escaped, table.heads), *names]),
        _piped(["---"] * len(table.heads) + [":--" if c.left else "--:" for c in table.columns]),
    ]
    for row, heads in with_heads(table):
        cells = [_md_entry(entry, beside=beside) for entry in row.entries]
        lines.append(_piped([*map(escaped, heads), *cells]))
    title = [f"{'#' * level} {escaped(table.title)}", ""] if table.title else []
    notes = [f"<sup>{i}</sup> {escaped(note)}  " for i, note in enumerate(table.notes, 1)]
    return "\n".join([*title, *lines, *(["", *notes] if notes else [])]) + "\n"


def _md_entry(entry: Entry, *, beside: bool) -> str:
    main = escaped(entry.main)
    if entry.best:
        main = f"**{main}**"
    marks = ",".join(map(str, entry.notes))
    main += f"<sup>{marks}</sup>" if marks else ""
    if not entry.aside:
        return main
    return main + (
        f" {escaped(entry.aside)}" if beside else f"<br><sub>{escaped(entry.aside)}</sub>"
    )


def _piped(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def escaped(words: str) -> str:
    """Words that Markdown leaves alone."""
    for sign in "\\`*_|[]":
        words = words.replace(sign, f"\\{sign}")
    words = words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return " ".join(words.split())
