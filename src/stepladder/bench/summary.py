"""What the page of results begins with: what was found, in sentences, and what to draw of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stepladder.bench import fair, names
from stepladder.bench.compare import Line, by_group, by_table
from stepladder.bench.estimates import Estimates
from stepladder.bench.tables import in_order
from stepladder.numbers import rounded

DRAWN = ("valid_success", "effort", "l2_distance", "holds")
"""What the picture of the fair comparison shows, where it's known."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """A picture to draw: one row per method and metric, with the ends of a range where known."""

    name: str
    """of its file, without what it ends in"""
    finding: str
    """what it shows, for those who don't see it"""
    frame: pd.DataFrame

    @property
    def markdown(self) -> str:
        return f"![{self.finding}](pictures/{self.name}.svg)"


def of_paper(lines: Sequence[Line]) -> tuple[str, Drawing | None]:
    """How many of the paper's numbers ours agree with, and a picture table by table."""
    counts = [count for count in by_group(lines)[:2] if count.run]
    found = " and ".join(f"{c.within:,} of {c.run:,} of {_whose(c.name)}" for c in counts)
    sentence = f"Of the numbers that the paper prints, ours agree with {found or 'none'}."
    rows = [
        {"method": count.name, "metric": "share of numbers within", "value": count.share}
        for count in by_table(lines)
        if count.run
    ]
    if not rows:
        return sentence, None
    return sentence, Drawing("results-paper", sentence.removesuffix("."), pd.DataFrame(rows))


def _whose(group: str) -> str:
    return "StEP's" if group == "StEP" else "the baselines'"


def of_fair(estimates: Estimates) -> tuple[str, Drawing | None]:
    """How StEP stands in the fair comparison, and a picture of the methods over all tasks."""
    sentences = fair.verdict(fair.standings(estimates))[:2]
    rows, efforts = [], {}
    tasks = in_order(estimates.tasks())
    for method in dict.fromkeys(method for *_, method in tasks):
        for metric in DRAWN:
            values = [estimates.of(*task, metric).mean for task in tasks if task[2] == method]
            known = [value for value in values if not np.isnan(value)]
            if known:
                mean = float(np.mean(known))
                ends = {"low": min(known), "high": max(known)}
                label = {"method": names.method(method), "metric": names.metric(metric)}
                rows.append({**label, "value": mean, **ends})
                if metric == "effort":
                    efforts[method] = mean
    if efforts:
        asked = [f"{names.method(method)} {rounded(effort)}" for method, effort in efforts.items()]
        sentences.append(f"The effort of a route, on average over tasks: {', '.join(asked)}.")
    if not rows:
        return " ".join(sentences), None
    finding = "Methods compared over all tasks; bars run from the lowest task to the highest"
    return " ".join(sentences), Drawing("results-fair", finding, pd.DataFrame(rows))
