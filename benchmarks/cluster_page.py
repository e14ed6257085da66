"""The figures in docs/scale.md, from those that benchmarks/cluster.py measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Figures = Mapping[str, Any]

BEGIN, END = "<!-- measured: begin -->\n", "<!-- measured: end -->\n"


def filled(text: str, figures: Figures) -> str:
    """A page with what was measured between its marks.

    >>> filled("<!-- measured: begin -->\\nold\\n<!-- measured: end -->\\n", {})
    '<!-- measured: begin -->\\n<!-- measured: end -->\\n'
    """
    before, rest = text.split(BEGIN)
    lines = [LINES[name](own) for name, own in figures.items()]
    return f"{before}{BEGIN}{''.join(f'- {line}{NEW}' for line in lines)}{END}{rest.split(END)[1]}"


NEW = "\n"


def _speed(own: Figures) -> str:
    return (
        f"{own['people']:,} people, default method, logistic regression on credit card clients: "
        f"one worker {own['one_worker_s']:g} s, two {own['two_workers_s']:g} s, "
        f"{own['times_faster']:g} times as fast."
    )


def _killed(own: Figures) -> str:
    same = own["same_as_parts_in_one_process"] and own["same_as_one_call"]
    return (
        f"One of two workers killed by SIGKILL while {own['people']:,} people were answered: "
        f"{'every row is' if same else 'not every row is'} that of one process."
    )


def _reference(own: Figures) -> str:
    return (
        f"{own['reference_rows']:,} reference rows of {own['columns']} numbers "
        f"({own['reference_gib']:g} GiB) on two workers with {own['workers_memory_gib']:g} GiB "
        f"together: fitted in {own['fit_s']:,} s, {own['people']} people answered in "
        f"{own['people_s']:,} s; no worker ever took more than {own['peak_of_a_worker_mib']:,} MiB."
    )


LINES = {"speed": _speed, "killed": _killed, "reference": _reference}
