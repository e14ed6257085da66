"""A private reference set: rows made up from a few noisy facts about the positives.

Made once for its (ε, δ), it answers everyone: whatever is computed from it costs nothing more.

The facts are four releases of equal worth: how each column is distributed; twice, how many
positives lie nearest to each of some centres, and where their mean lies; and how far they stray
from it. The first centres are drawn from the columns' distributions. Sums are taken of what a
positive is away from its centre, cut to a radius, since that's what a single one can add (DP Lloyd:
Blum et al., PODS 2005; counting from the centre: Su et al., CODASPY 2016).

Points here have only the columns that may change, and lie within public ranges.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stepladder.errors import ResultError
from stepladder.files import replacing
from stepladder.privacy.mechanism import Floats, Labels, noisy_counts, noisy_counts_and_sums
from stepladder.privacy.neighbours import Neighbours

FORMAT = 1
"""Of the files that facts are kept in."""

RELEASES = 4
"""How many noisy facts a reference set is made of."""

BINS = 32
"""Into how many bins a number's range is cut."""

RADIUS = 3.0
"""How far from its centre a positive counts in full."""

SURE = 3.0
"""By how many standard deviations of its noise a count has to stand out to be believed."""

AT_ONCE = 2**22
"""About how many numbers are held at a time."""


@dataclass(frozen=True, eq=False)
class Layout:
    """What the m columns of a point are: numbers in a range, and groups of which one is 1."""

    low: Floats
    """(m,)"""
    high: Floats
    """(m,)"""
    groups: tuple[slice, ...]
    """the one-hot groups of two columns or more; every other column is a number"""

    @property
    def numbers(self) -> Labels:
        grouped = [column for group in self.groups for column in range(group.start, group.stop)]
        return np.setdiff1d(np.arange(len(self.low)), grouped)

    def clipped(self, points: Floats) -> Floats:
        return np.clip(points, self.low, self.high)


@dataclass(frozen=True, eq=False)
class Facts:
    """What is released: enough to make rows up, and nothing else about the positives.

    numbers    (numbers, bins) how many positives have a number in each bin, about
    levels     for each group (levels,) how many have each level, about
    centres    (k, m)
    counts     (k,) how many positives each centre is the nearest of, about
    spreads    (k, m) the standard deviation around each
    noise      the standard deviations of the noise on `numbers` and `levels`, and on `counts`

    `title`, `multiplier` and `neighbours` say under which name and for how much they were paid;
    `made_for` is what the caller wants to find again when the facts are read back.
    """

    layout: Layout
    numbers: Floats
    levels: tuple[Floats, ...]
    centres: Floats
    counts: Floats
    spreads: Floats
    noise: tuple[float, float]
    title: str
    multiplier: float
    neighbours: Neighbours
    made_for: Any = None

    def save(self, file: Path) -> None:
        """Write them as JSON, whole or not at all."""
        content = {
            "format": FORMAT,
            "low": self.layout.low.tolist(),
            "high": self.layout.high.tolist(),
            "groups": [[group.start, group.stop] for group in self.layout.groups],
            "numbers": self.numbers.tolist(),
            "levels": [counted.tolist() for counted in self.levels],
            "centres": self.centres.tolist(),
            "counts": self.counts.tolist(),
            "spreads": self.spreads.tolist(),
            "noise": list(self.noise),
            "title": self.title,
            "multiplier": self.multiplier,
            "neighbours": self.neighbours.value,
            "made_for": self.made_for,
        }
        with replacing(file, "Can't save a private reference set to") as unfinished:
            unfinished.write_text(json.dumps(content), encoding="utf-8")

    @classmethod
    def load(cls, file: Path) -> Facts:
        """Read back what `save` wrote."""
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            if content["format"] != FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {FORMAT!r}")
            low, high = _floats(content["low"]), _floats(content["high"])
            groups = tuple(slice(start, stop) for start, stop in content["groups"])
            found = cls(
                layout=Layout(low, high, groups),
                numbers=_floats(content["numbers"]).reshape(-1, BINS),
                levels=tuple(_floats(counted) for counted in content["levels"]),
                centres=_floats(content["centres"]).reshape(-1, len(low)),
                counts=_floats(content["counts"]),
                spreads=_floats(content["spreads"]).reshape(-1, len(low)),
                noise=(float(content["noise"][0]), float(content["noise"][1])),
                title=str(content["title"]),
                multiplier=float(content["multiplier"]),
                neighbours=Neighbours(content["neighbours"]),
                made_for=content["made_for"],
            )
            if not found._fit_together:
                raise ValueError("its parts don't fit together")
            return found
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise ResultError(
                f"{str(file)!r} isn't a private reference set that was saved here ({error}). "
                "Move it away to have a new one made, which has to be paid for."
            ) from error

    @property
    def _fit_together(self) -> bool:
        """Whether there is one of everything for each column, level and centre."""
        layout, k = self.layout, len(self.centres)
        return (
            len(layout.low) == len(layout.high)
            and len(self.numbers) == len(layout.numbers)
            and [len(counted) for counted in self.levels]
            == [group.stop - group.start for group in layout.groups]
            and k == len(self.counts) == len(self.spreads) > 0
        )


def _floats(values: Any) -> Floats:
    """What a file holds as finite numbers."""
    found = np.array(values, dtype=np.float64)
    if not np.isfinite(found).all():
        raise ValueError("it holds a number that isn't finite")
    return found


def facts(
    points: Floats,
    layout: Layout,
    multiplier: float,
    centres: int,
    rng: np.random.Generator,
    neighbours: Neighbours = Neighbours.ADD_OR_REMOVE,
    title: str = "",
) -> Facts:
    """The facts about positives (n, m): `RELEASES` releases of this multiplier each.

    `rng` draws the first centres, which is no secret; the noise comes from OpenDP.
    """
    # In memory row by row, so that sums within a row don't depend on how many others there are.
    points = np.ascontiguousarray(layout.clipped(points))
    numbers, levels, column_noise = _columns(points, layout, multiplier, neighbours)
    where = _drawn_from_columns(layout, numbers, levels, column_noise, centres, rng)
    noise = math.sqrt(2) * multiplier * neighbours.moves_counted

    def around(where: Floats, of: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
        nearest = nearest_centre(points, where)
        counts, sums = noisy_counts_and_sums(
            of(points - where[nearest]) / RADIUS,
            multiplier,
            groups=nearest,
            count=centres,
            neighbours=neighbours,
        )
        believed = counts > SURE * noise
        means = RADIUS * sums / np.maximum(counts, 1.0)[:, None]
        return counts, np.where(believed[:, None], means, 0.0)

    for _ in range(2):
        _, shift = around(where, lambda away: away)
        where = layout.clipped(where + shift)
    counts, deviation = around(where, np.abs)
    # The mean absolute deviation of a normal distribution is √(2/π) of its standard deviation.
    spreads = np.maximum(deviation, 0.0) * math.sqrt(math.pi / 2)
    return Facts(
        layout=layout,
        numbers=numbers,
        levels=levels,
        centres=where,
        counts=counts,
        spreads=spreads,
        noise=(column_noise, noise),
        title=title,
        multiplier=multiplier,
        neighbours=neighbours,
    )


def made_up(found: Facts, count: int, rng: np.random.Generator) -> Floats:
    """`count` points (count, m) as the facts describe them; a group holds a single 1.

    Where no centre's count stands out from the noise, columns are drawn one by one.
    """
    layout, noise = found.layout, found.noise[1]
    weights = np.where(found.counts > SURE * noise, found.counts, 0.0)
    if not weights.any():
        return _drawn_from_columns(layout, found.numbers, found.levels, found.noise[0], count, rng)
    which = rng.choice(len(weights), size=count, p=weights / weights.sum())
    points = found.centres[which] + found.spreads[which] * rng.standard_normal(
        (count, len(layout.low))
    )
    points = layout.clipped(points)
    for group in layout.groups:
        shares = found.centres[:, group]
        doubt = 2 * RADIUS * noise / np.maximum(found.counts, 1.0)
        sure = np.where(shares > doubt[:, None], shares, 0.0)
        sure[sure.sum(axis=1) == 0] = shares[sure.sum(axis=1) == 0]
        points[:, group] = _one_of(np.maximum(sure, 0.0)[which], rng)
    return points


def nearest_centre(points: Floats, centres: Floats) -> Labels:
    """(n,) which centre (k, m) each point is nearest to: a question to that point alone."""
    points = np.ascontiguousarray(points)
    labels = np.empty(len(points), dtype=np.intp)
    size = max(1, AT_ONCE // max(1, centres.size))
    for start in range(0, len(points), size):
        part = slice(start, start + size)
        apart = np.square(points[part, None] - centres).sum(axis=2)
        labels[part] = apart.argmin(axis=1)
    return labels


def _columns(
    points: Floats, layout: Layout, multiplier: float, neighbours: Neighbours
) -> tuple[Floats, tuple[Floats, ...], float]:
    """How each column is distributed: one release, since a row adds one to each column."""
    numbers = layout.numbers
    low, high = layout.low[numbers], layout.high[numbers]
    share = (points[:, numbers] - low) / np.maximum(high - low, np.finfo(float).tiny)
    bins = np.clip((share * BINS).astype(np.intp), 0, BINS - 1)
    counted = [np.bincount(column, minlength=BINS) for column in bins.T]
    for group in layout.groups:
        level = points[:, group].argmax(axis=1)
        counted.append(np.bincount(level, minlength=group.stop - group.start))
    each = len(counted)
    if not each:
        return np.empty((0, BINS)), (), 0.0
    noisy = noisy_counts(np.concatenate(counted), each, multiplier, neighbours)
    parts = np.split(noisy, np.cumsum([len(column) for column in counted])[:-1])
    noise = math.sqrt(each) * multiplier * neighbours.moves_counted
    in_bins = np.array(parts[: len(numbers)]).reshape(len(numbers), BINS)
    return in_bins, tuple(parts[len(numbers) :]), noise


def _drawn_from_columns(
    layout: Layout,
    numbers: Floats,
    levels: tuple[Floats, ...],
    noise: float,
    count: int,
    rng: np.random.Generator,
) -> Floats:
    """`count` points whose columns are drawn one by one."""
    points = np.zeros((count, len(layout.low)))
    for column, counted in zip(layout.numbers, numbers, strict=True):
        likely = np.tile(_likely(counted, noise), (count, 1))
        bins = _one_of(likely, rng).argmax(axis=1)
        share = (bins + rng.random(count)) / BINS
        width = layout.high[column] - layout.low[column]
        points[:, column] = layout.low[column] + share * width
    for group, counted in zip(layout.groups, levels, strict=True):
        points[:, group] = _one_of(np.tile(_likely(counted, noise), (count, 1)), rng)
    return points


def _likely(counted: Floats, noise: float) -> Floats:
    """Noisy counts less those that don't stand out; all alike where none does."""
    sure = np.where(counted > SURE * noise, counted, 0.0)
    return sure if sure.any() else np.ones_like(counted)


def _one_of(weights: Floats, rng: np.random.Generator) -> Floats:
    """For each row of weights (n, levels) a single 1, drawn in proportion to them."""
    weights = weights + (weights.sum(axis=1, keepdims=True) == 0)
    edges = weights.cumsum(axis=1)
    drawn = rng.random((len(weights), 1)) * edges[:, -1:]
    chosen = np.minimum((edges <= drawn).sum(axis=1), weights.shape[1] - 1)
    ones = np.zeros_like(weights)
    ones[np.arange(len(weights)), chosen] = 1.0
    return ones
