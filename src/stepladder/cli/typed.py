"""What is typed in a walk, read as rows have it: what is shown is what is typed.

    feature value, feature value, …

A feature goes by its name or its label, in quotes or not, in any case; `=` may stand before the
value. A level may stand in quotes too, and has to if it holds a comma and a feature's name.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from stepladder.errors import ParameterError, listing, nearest
from stepladder.table.amounts import amount
from stepladder.table.feature import Feature, Numeric
from stepladder.table.schema import Schema
from stepladder.words import plans as words

MOST = 20
"""How many features or levels are listed."""

QUOTE = "[\"'“”‘’]?"

AND = r"\s*[,;]\s*(?:and\s+)?|\s+and\s+"
"""What stands between one feature and the next."""

QUOTED = "\"[^\"]*\"|'[^']*'|“[^”]*”|‘[^’]*’"

NUMBER = re.compile(
    r"""(?P<sign>[-+]?) \s* (?P<before>[^\d.+-]*)
    (?P<number>[-+]? (?:\d{1,3}(?:,\d{3})+ | \d+ | (?=\.\d)) (?:\.\d*)?)
    (?P<after>.*)""",
    re.VERBOSE,
)

PER_CENT = re.compile(r"\bper ?cent\b", re.IGNORECASE)


# ---- features ---------------------------------------------------------------------------------


def place(schema: Schema, said: str) -> int:
    """Where the feature stands that goes by this name or label."""
    wanted = _plain(said)
    names, labels = [f.name for f in schema.features], [f.label for f in schema.features]
    for same in (str, str.casefold):
        for spoken in (names, labels):
            found = [place for place, name in enumerate(spoken) if same(name) == same(wanted)]
            if len(found) == 1:
                return found[0]
            if found:
                either = listing((names[place] for place in found), MOST)
                raise ParameterError(f"{wanted!r} could be any of {either}; use that name.")
    close = nearest(wanted, [*labels, *names]) or nearest(wanted.partition(" ")[0], labels)
    raise ParameterError(
        f"There's no feature called {wanted!r}.{close} There are {listing(labels, MOST)}."
    )


def places(schema: Schema, said: str) -> list[int]:
    """The features of a list of names or labels, each once."""
    if not said:
        known = listing((f.label for f in schema.features), MOST)
        raise ParameterError(f"Which feature? There are {known}.")
    named = (f"{name} {more}".strip() for name, more in _split(schema, said))
    return list(dict.fromkeys(place(schema, name) for name in named))


def begins_with_feature(schema: Schema, said: str) -> bool:
    return re.match(_start(schema), said, re.IGNORECASE) is not None


def pairs(schema: Schema, said: str) -> Iterator[tuple[int, str]]:
    """The features that a line tells of, each once, and what it says of each."""
    seen = set[int]()
    for name, value in _split(schema, said):
        where = place(schema, name)
        feature = schema.features[where]
        if isinstance(feature, Numeric):  # what follows the comma isn't part of a number
            _, *more = re.split(r"[,;]\s*(?=[^\W\d])", value, maxsplit=1)
            if more:
                raise _no_feature(schema, more[0])
        if where in seen:
            raise ParameterError(f"The line tells of {feature.label} twice. Say it once.")
        seen.add(where)
        yield where, value


def _split(schema: Schema, said: str) -> Iterator[tuple[str, str]]:
    """The names of features in a line, and what stands behind each, up to the next."""
    start = _start(schema)
    pair = re.compile(
        rf"{QUOTE}(?P<name>{_names(schema)}){QUOTE}"
        rf"(?:\s*[=:]\s*|(?={AND}|[,;]|$)|\s+)(?P<value>{QUOTED}|.*?)"
        rf"(?:[,;\s]*$|(?:{AND})(?={start})|\s+(?={start}\s*=))",
        re.IGNORECASE,
    )
    at = 0
    while at < len(said):
        found = pair.match(said, at)
        if found is None:
            raise _no_feature(schema, said[at:])
        yield found["name"], found["value"]
        at = found.end()


def _no_feature(schema: Schema, said: str) -> ParameterError:
    """The error for a text that should begin with a feature."""
    name, *_ = re.split(r"\s*[=:]|\s+\W*\d", said)
    try:
        place(schema, name)
    except ParameterError as error:
        return error
    return ParameterError(f"Can't read {said!r}: expected a feature and its value.")


def _names(schema: Schema) -> str:
    """A pattern of every name and label, the longest first."""
    known = {spoken for feature in schema.features for spoken in (feature.name, feature.label)}
    return "|".join(
        r"\s+".join(map(re.escape, spoken.split())) for spoken in sorted(known, key=len)[::-1]
    )


def _start(schema: Schema) -> str:
    """A pattern of a feature where a value may follow."""
    return rf"{QUOTE}(?:{_names(schema)}){QUOTE}(?=\s*[=:]|[\s,;]|$)"


def _plain(said: str) -> str:
    """Without quotes around, and with single spaces."""
    said = said.strip()
    return " ".join((said[1:-1] if re.fullmatch(QUOTED, said) else said).split())


# ---- values -----------------------------------------------------------------------------------


def value(feature: Feature, said: str, now: Any) -> float:
    """A value as it's shown, and as rows have it; `now` is the one it has."""
    said = _plain(said)
    if not said:
        raise ParameterError(
            f"What is {feature.label} now? Such as: "
            f"happened {feature.label} {words.value(feature, now)}"
        )
    if isinstance(feature, Numeric):
        return _within(feature, number(feature, said, now))
    levels = feature.levels or ()
    for same in (str, str.casefold):
        for code, level in enumerate(levels):
            spoken = (_plain(str(level)), words.value(feature, level))
            if same(said) in map(same, spoken):
                return float(code)
    known = [words.value(feature, level) for level in levels]
    raise ParameterError(
        f"{feature.label} can't be {said!r}: it's one of {listing(known, MOST)}."
        f"{nearest(said, known)}"
    )


def number(feature: Numeric, said: str, now: Any) -> float:
    """A number as people write it, in the unit it's shown in, as rows have it.

    In per cent, 35, 35% and 35 per cent are the same. 1 and less need the sign: 0.35 may be meant
    as 35%.

    >>> number(Numeric("income", unit="$ a month"), "$3,200", 3000)
    3200.0
    >>> number(Numeric("share", percent=True), "35", 0.4)
    0.35
    """
    per_cent = feature.percent or feature.unit.startswith("%")
    plain = PER_CENT.sub("%", said) if per_cent else said
    found = NUMBER.fullmatch(plain.replace("−", "-"))
    around = set() if found is None else {*f"{found['before']} {found['after']}".casefold().split()}
    if found is None or not around <= _unit(feature):
        raise _no_number(feature, said, now)
    if "+" in (found["sign"], found["number"][0]):
        raise ParameterError(f"Say what {feature.label} is now, not by how much it rose.")
    times = Decimal(str(100 if feature.percent else feature.times))
    try:
        shown = Decimal((found["sign"] + found["number"]).replace(",", ""))
        raw = float(shown / times)
    except ArithmeticError:
        raise _no_number(feature, said, now) from None
    if not math.isfinite(raw):
        raise _no_number(feature, said, now)
    if per_cent and not around and 0 < abs(shown) <= 1:
        either = [words.value(feature, float(meant / times)) for meant in (shown, 100 * shown)]
        raise ParameterError(
            f"Is {feature.label} {either[0]} or {either[1]}? Write it with the % sign."
        )
    return raw


def _unit(feature: Numeric) -> set[str]:
    """The words that may stand around a number: of the unit, of one and of many."""
    if feature.percent:
        return {"%"}
    one = words.value(feature, 1 / feature.times)
    return {*f"{feature.unit} {one}".casefold().split()}


def _no_number(feature: Numeric, said: str, now: Any) -> ParameterError:
    example = words.value(feature, now)
    several = " Commas go between features." if re.search(r"\d\s.*\d", said) else ""
    return ParameterError(
        f"{feature.label} is a number, such as {example}; {said!r} isn't one.{several}"
    )


def _within(feature: Numeric, raw: float) -> float:
    """A number that lies within the feature's bounds.

    It may have more digits than plans do, as any row that a person comes with.
    """
    if not feature.limits[0] <= raw <= feature.limits[1]:
        said = amount(feature, raw)[0]
        raise ParameterError(f"{feature.label} can't be {said}: {_bounds(feature)}.")
    return raw


def _bounds(feature: Numeric) -> str:
    low, high = feature.bounds
    if low is None:
        return f"it's at most {words.value(feature, high)}"
    if high is None:
        return f"it's at least {words.value(feature, low)}"
    return f"it lies between {amount(feature, low)[0]} and {words.value(feature, high)}"
