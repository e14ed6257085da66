"""A table in LaTeX, with the rules of booktabs."""

from __future__ import annotations

import unicodedata
from itertools import groupby

from stepladder.bench.render.table import WIDE, Column, Entry, Table, with_heads

LONG = 40
"""A table with more rows than this runs over several pages of LaTeX."""
SENTENCE = 40
"""Words longer than this are broken into lines in LaTeX."""


def latex(table: Table) -> str:
    """A table for a paper; its first line names the packages that it needs."""
    beside, long = len(table.columns) <= WIDE, len(table.rows) > LONG
    caption = rf"\caption{{{_tex(table.title)}}}\label{{tab:{table.name.replace('_', '-')}}}"
    shape = "l" * len(table.heads) + "".join(map(_tex_column, _transposed(table)))
    names = [*map(_tex, table.heads), *(_tex(c.name) for c in table.columns)]
    head = [r"\toprule", *_tex_groups(table), _tex_row(names)]
    body: list[str] = []
    last = ""
    for row, shown in with_heads(table):
        # A rule before each block; where every row is one of its own, only before the first.
        if not body or (len(row.heads) > 1 and row.heads[0] != last):
            body.append(r"\midrule")
        last = row.heads[0]
        cells = [_tex_entry(entry, beside=beside, long=long) for entry in row.entries]
        body.append(_tex_row([*map(_tex, shown), *cells]))
    notes = [
        rf"\par\smallskip{{\footnotesize\raggedright\textsuperscript{{{i}}} {_tex(note)}\par}}"
        for i, note in enumerate(table.notes, 1)
    ]
    if long:
        needs = "booktabs and longtable"
        open_ = [
            r"{\tiny\setlength{\tabcolsep}{2pt}",
            rf"\begin{{longtable}}{{{shape}}}",
            rf"{caption}\\",
        ]
        lines = [*open_, *head, r"\endhead", *body, r"\bottomrule", r"\end{longtable}", *notes, "}"]
    else:
        needs = "booktabs and graphicx"
        # A table that is too wide is made smaller, one that isn't stays as it is.
        fitted = r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
        open_ = [r"\begin{table}[t]", r"\centering\small", caption, fitted]
        rules = [r"\bottomrule", r"\end{tabular}}", *notes, r"\end{table}"]
        lines = [*open_, rf"\begin{{tabular}}{{{shape}}}", *head, *body, *rules]
    return "\n".join([f"% needs the packages {needs}", *lines]) + "\n"


def _transposed(table: Table) -> list[tuple[Column, list[Entry]]]:
    """Each column with its entries."""
    return [(c, [row.entries[i] for row in table.rows]) for i, c in enumerate(table.columns)]


def _tex_column(column: tuple[Column, list[Entry]]) -> str:
    """Numbers stand right, words left, and sentences in a paragraph."""
    if not column[0].left:
        return "r"
    sentences = any(len(entry.main) > SENTENCE for entry in column[1])
    return r"p{0.35\linewidth}" if sentences else "l"


def _tex_groups(table: Table) -> list[str]:
    """The line of group names, with a rule under each."""
    if not any(column.group for column in table.columns):
        return []
    cells, rules, at = [""] * len(table.heads), [], len(table.heads) + 1
    for group, members in groupby(table.columns, key=lambda column: column.group):
        size = len(list(members))
        cells.append(rf"\multicolumn{{{size}}}{{c}}{{{_tex(group)}}}")
        if group:
            rules.append(rf"\cmidrule(lr){{{at}-{at + size - 1}}}")
        at += size
    return [_tex_row(cells), "".join(rules)]


def _tex_entry(entry: Entry, *, beside: bool, long: bool) -> str:
    main = _tex(entry.main)
    if entry.best:
        main = rf"\textbf{{{main}}}"
    if entry.notes:
        main += rf"\textsuperscript{{{','.join(map(str, entry.notes))}}}"
    if not entry.aside:
        return main
    # A long table is set so small already that nothing in it can be smaller.
    aside = _tex(entry.aside) if long else rf"{{\scriptsize {_tex(entry.aside)}}}"
    if beside:
        return f"{main} {aside}"
    return rf"\begin{{tabular}}[t]{{@{{}}r@{{}}}}{main} \\ {aside}\end{{tabular}}"


def _tex_row(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


_TEX = {
    "\\": r"\textbackslash{}",
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "ℓ2": r"$\ell_2$",
    "ℓ": r"$\ell$",
    "±": r"$\pm$",
    "β": r"$\beta$",
    "→": r"$\to$",
    "×": r"$\times$",
    "≤": r"$\leq$",
    "≥": r"$\geq$",
    "–": "--",
    "−": "$-$",
    "✗": r"$\times$",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
}


def _tex(words: str) -> str:
    """Words that LaTeX prints as they are.

    >>> print(_tex("50% of a_b & ℓ2"))
    50\\% of a\\_b \\& $\\ell_2$
    """
    words = " ".join(words.replace("ℓ2", "\0").split())
    return "".join(_TEX["ℓ2"] if sign == "\0" else _TEX.get(sign) or _plain(sign) for sign in words)


def _plain(sign: str) -> str:
    """A sign without its accents; a sign that LaTeX may not know is a question mark."""
    return unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode() or "?"
