"""What single people can't do, whatever the schema says: what they have locked, and their limits.

Both are given by person, as the caller's index calls them, and become arrays with one row per
person. A label that several rows share stands for all of them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import (
    ColumnError,
    FrameError,
    ParameterError,
    SchemaError,
    listing,
    nearest,
)
from stepladder.numbers import plain
from stepladder.table import frames
from stepladder.table.feature import Categorical, Feature, Level, Numeric
from stepladder.table.frames import Frame
from stepladder.table.schema import Schema
from stepladder.table.space import Floats, Mask

Locked = Iterable[str] | Mapping[Any, Iterable[str]]
"""Names of features for everybody, or {person: names}."""

Limits = Mapping[Any, Mapping[str, Sequence[Any]]] | Frame | None
"""{person: {feature: (low, high)}}, or a frame of `COLUMNS`; None for an open end."""

COLUMNS = ("person", "feature", "low", "high")
"""What a frame of limits holds, one row per person and feature."""

People = Mapping[Hashable, NDArray[np.intp]]
"""The rows of everybody whom a label stands for."""


def locked_mask(schema: Schema, labels: NDArray[Any], locked: Locked) -> Mask:
    """Which features of which people are locked: a mask (n, features)."""
    mask = np.zeros((len(labels), len(schema)), dtype=bool)
    if not isinstance(locked, Mapping):
        mask[:, _positions(schema, "locked", locked)] = True
        return mask
    people = _people(labels)
    for person, names in locked.items():
        rows = _rows_of(people, person, labels, "locked")
        mask[np.ix_(rows, _positions(schema, f"locked[{person!r}]", names))] = True
    return mask


def limit_arrays(schema: Schema, labels: NDArray[Any], limits: Limits) -> tuple[Floats, Floats]:
    """The lowest and the highest value that limits leave to each: two (n, features).

    Infinite where an end is open; a level is its position on the ladder.
    """
    low = np.full((len(labels), len(schema)), -np.inf)
    high = np.full((len(labels), len(schema)), np.inf)
    people = _people(labels)
    for limit in read_limits(schema, limits):
        rows = _rows_of(people, limit.person, labels, "limits")
        low[rows, limit.feature], high[rows, limit.feature] = limit.low, limit.high
    return low, high


# ---- what is given ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Limit:
    """What one person said of one feature, checked but for whether there is such a person."""

    person: Hashable
    feature: int
    """its index in the schema"""
    low: float
    high: float


@dataclass(frozen=True)
class _Given:
    """The same as it was given; `place` says where, in brackets."""

    person: Any
    feature: Any
    ends: tuple[Any, Any]
    place: str = ""
    may_be_text: bool = False
    """whether a number may be written as text: a column that holds levels too can hold no other"""

    @property
    def nothing(self) -> str:
        """How an open end is written."""
        return "empty" if self.may_be_text else "None"

    @property
    def what(self) -> str:
        person = self.person.item() if isinstance(self.person, np.generic) else self.person
        return f"The limits of {person!r} on {self.feature!r}{self.place}"


def read_limits(
    schema: Schema, limits: Limits, *, source: str = "", row: str = "row"
) -> Iterator[Limit]:
    """Limits one by one, each checked against the schema.

    source  the file that a frame was read from, for messages
    row     what its index counts
    """
    if limits is None:
        return
    is_mapping = isinstance(limits, Mapping)
    seen = set[tuple[Hashable, int]]()
    for one in _from_mapping(limits) if is_mapping else _from_frame(limits, source, row):
        limit = _checked(schema, one)
        key = (frames.key(limit.person), limit.feature)
        if key in seen:
            raise ParameterError(f"{one.what} are given twice. Keep one of the rows.")
        seen.add(key)
        yield limit


def _from_mapping(limits: Mapping[Any, Any]) -> Iterator[_Given]:
    for person, own in limits.items():
        if not isinstance(own, Mapping):
            raise ParameterError(
                f"limits[{person!r}] must be a mapping, {{feature: (low, high)}}; got {own!r}."
            )
        for feature, ends in own.items():
            given = _Given(person, feature, (None, None))
            if isinstance(ends, str) or not isinstance(ends, Iterable) or len(pair := [*ends]) != 2:
                raise ParameterError(
                    f"{given.what} must be a pair, (low, high), None for an open end; got {ends!r}."
                )
            yield _Given(person, feature, (pair[0], pair[1]))


def _from_frame(limits: Frame, source: str, row: str) -> Iterator[_Given]:
    try:
        table, labels = frames.read(limits), frames.labels(limits)
    except FrameError as error:
        raise ParameterError(
            "limits must be {person: {feature: (low, high)}}, or a frame with the columns "
            f"{', '.join(COLUMNS)}; got {type(limits).__name__}. {error}"
        ) from error
    for name in COLUMNS:
        if name not in table.columns:
            raise ColumnError(
                f"The frame of limits has no column {name!r}.{nearest(name, table.columns)} "
                f"It needs {', '.join(COLUMNS)}; an empty low or high is an open end."
            )
    columns = (frames.values(table[name]) for name in COLUMNS)
    for label, person, feature, *ends in zip(labels, *columns, strict=True):
        place = f"{source}, {row} {label}" if source else f"{row} {label}"
        for name, cell in (("person", person), ("feature", feature)):
            if cell is None:
                raise ParameterError(f"Limits without a {name} ({place}). Fill it in.")
        yield _Given(person, feature, (ends[0], ends[1]), f" ({place})", may_be_text=True)


# ---- checks -----------------------------------------------------------------------------------


def _checked(schema: Schema, given: _Given) -> Limit:
    try:
        index = schema.position(given.feature)
    except SchemaError as error:
        raise SchemaError(f"{given.what}: {error}") from error
    feature = schema.features[index]
    if isinstance(feature, Categorical):
        raise ParameterError(
            f"{given.what}: limits are for what has an order, and it's {feature.kind}. Lock it "
            "instead, if it can't change."
        )
    if feature.kind == "derived":
        raise ParameterError(
            f"{given.what}: it's worked out from other features. Limit those, or state a "
            "requirement in the schema."
        )
    low, high = (_end(feature, given, end) for end in ("low", "high"))
    if low > high:
        shown = [
            plain(end) if isinstance(feature, Numeric) else repr(given.ends[i])
            for i, end in enumerate((low, high))
        ]
        raise ParameterError(
            f"{given.what} are contradictory: low {shown[0]} is above high {shown[1]}."
        )
    return Limit(given.person, index, low, high)


def _end(feature: Feature, given: _Given, end: str) -> float:
    """One end as values have it, infinite where it's open."""
    value, opened = (given.ends[0], -np.inf) if end == "low" else (given.ends[1], np.inf)
    if value is None:
        return opened
    if not isinstance(feature, Numeric):
        return _position(feature.levels or (), given, end, value)
    number = _number(value, given.may_be_text)
    if np.isnan(number) or number == -opened:
        raise ParameterError(
            f"{given.what}: {end} must be a number, or {given.nothing} for an open end; got "
            f"{value!r}."
        )
    return number


def _number(value: Any, may_be_text: bool) -> float:
    """A number as a float; NaN if it isn't one."""
    is_text = may_be_text and isinstance(value, str)
    if not (is_text or frames.is_number(value)):
        return np.nan
    try:
        return float(value)
    except ValueError:  # a text that is no number
        return np.nan
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _position(levels: Sequence[Level], given: _Given, end: str, value: Any) -> float:
    """Where a level stands on the ladder."""
    known = [frames.key(level) for level in levels]
    if isinstance(value, Hashable) and frames.key(value) in known:
        return float(known.index(frames.key(value)))
    if given.may_be_text and value in (spoken := [str(level) for level in levels]):
        return float(spoken.index(value))
    raise ParameterError(
        f"{given.what}: {end} must be a level, or {given.nothing} for an open end; got {value!r}."
        f"{nearest(value, levels)} The levels are {listing(levels)}."
    )


def _positions(schema: Schema, what: str, names: Any) -> NDArray[np.intp]:
    if isinstance(names, str):
        raise ParameterError(f"{what} must be a list of names: {what}=[{names!r}].")
    if not isinstance(names, Iterable):
        raise ParameterError(f"{what} must be a list of names; got {names!r}.")
    return np.array([schema.position(name) for name in names], dtype=np.intp)


def _people(labels: NDArray[Any]) -> People:
    rows: dict[Hashable, list[int]] = {}
    for row, label in enumerate(frames.plain_labels(labels)):
        rows.setdefault(frames.key(label), []).append(row)
    return {key: np.array(found) for key, found in rows.items()}


def _rows_of(people: People, person: Any, labels: NDArray[Any], what: str) -> NDArray[np.intp]:
    """The rows of everybody who is called so."""
    rows = people.get(frames.key(person)) if isinstance(person, Hashable) else None
    if rows is None:
        known = frames.plain_labels(labels)
        raise ParameterError(
            f"{what} names {person!r}, but nobody is called that.{nearest(person, known)} "
            f"There are {listing(known) or 'no people'}."
        )
    return rows
