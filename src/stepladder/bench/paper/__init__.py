"""The numbers that the paper prints, as facts to be compared with.

Hamer, Perello, Valladares, Viswanathan and Zick, "Simple Steps to Success: A Method for
Step-Based Counterfactual Explanations", TMLR 2024.

One CSV per table, one line per number: dataset, model, the row's own label, metric,
value, and the "Max Error %" of its row, which is the largest ratio of standard error to mean in it.
`poi_counts.csv` holds how many people each model turned down.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import NamedTuple

TRIALS = 10
"""How many trials each printed number is the mean of."""

OF_ENDS = ("success", "avg_success", "l2_distance", "diversity")
OF_PATHS = ("success", "path_length", "path_steps", "proximal_diversity")

OURS = {
    "diversity": "diversity_as_printed",
    "proximal_diversity": "proximal_diversity_as_printed",
}
"""Our names for the numbers that the paper prints by another definition than its text's."""


def scale(table: str, row: str, metric: str) -> float:
    """What our number is multiplied by to be the one that a table prints.

    Diversity is a sum over pairs of ends that the paper divides by k(k+1)/2, but by 9 where k is
    3 (see `diversity_as_printed`). In the table of random clusters it divides by 6 there, too: all
    three datasets under logistic regression and the network say so.
    """
    return 9 / 6 if (table, row, metric) == ("clusters_random", "3", "diversity") else 1.0


class Printed(NamedTuple):
    """One printed number."""

    table: str
    dataset: str
    model: str
    row: str
    """the row's label in the paper: a method, a noise or a number of clusters"""
    metric: str
    value: float
    max_error_percent: float
    """of the row: no number in it has a larger standard error than this share of itself"""


class Negatives(NamedTuple):
    """How many people a model turned down, at most 1000, on average over the trials."""

    dataset: str
    model: str
    people: int


@dataclass(frozen=True)
class PaperTable:
    """How one table of the paper is laid out, and which of our methods each row is."""

    name: str
    title: str
    head: str
    """what its rows differ in, which is also their column in the CSV"""
    metrics: tuple[str, ...]
    labels: dict[str, str]
    """the label of a row → the label of the method in our spec"""

    def printed(self) -> tuple[Printed, ...]:
        """Every number of the table, in the order of the CSV."""
        return _printed(self.name, self.head)


_METHODS = {name: name for name in ("step", "dice", "face", "cchvae")}
_NOISE = {"0.0": "step", **{noise: f"step-noise-{noise}" for noise in ("0.1", "0.3", "0.5")}}
_KMEANS = {str(k): "step" if k == 3 else f"step-k-{k}" for k in range(1, 7)}
# One cluster is all positives, however they are dealt out.
_RANDOM = {str(k): "step-k-1" if k == 1 else f"step-random-{k}" for k in range(1, 7)}

TABLES = {
    table.name: table
    for table in (
        PaperTable("methods", "Methods", "method", OF_ENDS, _METHODS),
        PaperTable("methods_paths", "Methods: paths", "method", OF_PATHS, _METHODS),
        PaperTable("noise", "Noise in what people do", "noise", OF_ENDS, _NOISE),
        PaperTable("noise_paths", "Noise in what people do: paths", "noise", OF_PATHS, _NOISE),
        PaperTable("clusters_kmeans", "Number of k-means clusters", "k", OF_ENDS, _KMEANS),
        PaperTable("clusters_random", "Number of random clusters", "k", OF_ENDS, _RANDOM),
    )
}
"""The six tables, by name."""


def negatives() -> tuple[Negatives, ...]:
    """The counts of people turned down that the paper prints."""
    return tuple(
        Negatives(line["dataset"], line["model"], int(line["negatives"]))
        for line in _lines("poi_counts")
    )


@cache
def _printed(name: str, head: str) -> tuple[Printed, ...]:
    return tuple(
        Printed(
            name,
            line["dataset"],
            line["model"],
            line[head],
            line["metric"],
            float(line["value"]),
            float(line["max_error_percent"]),
        )
        for line in _lines(name)
    )


def _lines(name: str) -> list[dict[str, str]]:
    text = (files(__name__) / f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
