"""What is typed in a walk, read into the values of a row: values are typed as they are shown.

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
from stepladder.table.amounts import amount, within
from stepladder.table.feature import Derived, Feature, Numeric
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

DASHES = ("-", "−", "–", "—")

PER_CENT = re.compile(r"\bper ?cent\b", re.IGNORECASE)


# ---- features ---------------------------------------------------------------------------------


def position(schema: Schema, text: str) -> int:
    """The index of the feature that goes by this name or label."""
    wanted = _plain(text)
    names, labels = [f.name for f in schema.features], [f.label for f in schema.features]
    for same in (str, str.casefold):
        for spoken in (names, labels):
            found = [index for index, name in enumerate(spoken) if same(name) == same(wanted)]
            if len(found) == 1:
                return found[0]
            if found:
                either = listing((names[index] for index in found), MOST)
                raise ParameterError(f"{wanted!r} could be any of {either}; use that name.")
    close = nearest(wanted, [*labels, *names]) or nearest(wanted.partition(" ")[0], labels)
    raise ParameterError(
        f"There's no feature called {wanted!r}.{close} There are {listing(labels, MOST)}."
    )


def positions(schema: Schema, text: str) -> list[int]:
    """The features of a list of names or labels, each once."""
    if not text:
        known = listing((f.label for f in schema.features), MOST)
        raise ParameterError(f"Which feature? There are {known}.")
    named = (f"{name} {more}".strip() for name, more in _split(schema, text))
    return list(dict.fromkeys(position(schema, name) for name in named))


def begins_with_feature(schema: Schema, text: str) -> bool:
    return re.match(_start(schema), text, re.IGNORECASE) is not None


def pairs(schema: Schema, text: str) -> Iterator[tuple[int, str]]:
    """The features that a line names, each once, and what it says of each."""
    seen = set[int]()
    for name, value in _split(schema, text):
        index = position(schema, name)
        feature = schema.features[index]
        if isinstance(feature, Numeric):  # what follows the comma isn't part of a number
            _, *more = re.split(r"[,;]\s*(?=[^\W\d])", value, maxsplit=1)
            if more:
                raise _no_feature(schema, more[0])
        if index in seen:
            raise ParameterError(f"The line names {feature.label} twice. Name it once.")
        seen.add(index)
        yield index, value


def _split(schema: Schema, text: str) -> Iterator[tuple[str, str]]:
    """The names of features in a line, and what follows each, up to the next."""
    start = _start(schema)
    pair = re.compile(
        rf"{QUOTE}(?P<name>{_names(schema)}){QUOTE}"
        rf"(?:\s*[=:]\s*|(?={AND}|[,;]|$)|\s+)(?P<value>{QUOTED}|.*?)"
        rf"(?:[,;\s]*$|(?:{AND})(?={start})|\s+(?={start}\s*=))",
        re.IGNORECASE,
    )
    at = 0
    while at < len(text):
        found = pair.match(text, at)
        if found is None:
            raise _no_feature(schema, text[at:])
        yield found["name"], found["value"]
        at = found.end()


def _no_feature(schema: Schema, text: str) -> ParameterError:
    """The error for a text that should begin with a feature."""
    name, *_ = re.split(r"\s*[=:]|\s+\W*\d", text)
    try:
        position(schema, name)
    except ParameterError as error:
        return error
    return ParameterError(f"Can't read {text!r}: expected a feature and its value.")


def _names(schema: Schema) -> str:
    """A pattern of every name and label, the longest first."""
    known = {spoken for feature in schema.features for spoken in (feature.name, feature.label)}
    return "|".join(
        r"\s+".join(map(re.escape, spoken.split())) for spoken in sorted(known, key=len)[::-1]
    )


def _start(schema: Schema) -> str:
    """A pattern of a feature where a value may follow."""
    return rf"{QUOTE}(?:{_names(schema)}){QUOTE}(?=\s*[=:]|[\s,;]|$)"


def _plain(text: str) -> str:
    """Without quotes around it, and with single spaces."""
    text = text.strip()
    return " ".join((text[1:-1] if re.fullmatch(QUOTED, text) else text).split())


# ---- values -----------------------------------------------------------------------------------


def value(feature: Feature, text: str, now: Any) -> float:
    """A value typed as it's shown, as rows hold it; `now` is the present one."""
    text = _plain(text)
    if not text:
        raise ParameterError(
            f"What is {feature.label} now? Such as: "
            f"happened {feature.label} {words.value(feature, now)}"
        )
    if isinstance(feature, Numeric):
        return _within(feature, number(feature, text, now))
    if isinstance(feature, Derived) and feature.levels is None:
        return number(feature, text, now)
    levels = feature.levels or ()
    for same in (str, str.casefold):
        for code, level in enumerate(levels):
            spoken = (_plain(str(level)), words.value(feature, level))
            if same(text) in map(same, spoken):
                return float(code)
    known = [words.value(feature, level) for level in levels]
    raise ParameterError(
        f"{feature.label} can't be {text!r}: it's one of {listing(known, MOST)}."
        f"{nearest(text, known)}"
    )


def ends(feature: Feature, text: str, now: Any) -> tuple[float | None, float | None]:
    """Two values typed as they're shown, from where to where; a dash is an open end, None.

    >>> ends(Numeric("income", unit="$ a month"), "$3,200 a month to -", 3000)
    (3200.0, None)
    """
    if not feature.ordered:
        raise ParameterError(
            f"Limits are for what has an order, and {feature.label} has none; lock it if it can't "
            "change."
        )
    parts, wrong = text.split(), list[ParameterError]()
    for cut in range(1, len(parts)):  # a value may be several words
        before, after = parts[:cut], parts[cut:]
        if after[0].lower() == "to":
            after = after[1:]
        try:
            low, high = (_end(feature, " ".join(side), now) for side in (before, after))
        except ParameterError as error:
            wrong.append(error)
            continue
        if low is not None and high is not None and low > high:
            raise ParameterError(f"The limits of {feature.label} begin with the lower one: {text}.")
        return low, high
    if len(wrong) == 1:
        raise wrong[0]
    raise ParameterError(
        f"From where to where can {feature.label} go? Such as: "
        f"limit {feature.label} {words.value(feature, now)} -, with - for an open end."
    )


def times(feature: Feature, text: str) -> float:
    """How many times as hard something is: '3', '1.5 times', '×2'.

    >>> times(Numeric("income"), "3 times")
    3.0
    """
    found = re.fullmatch(r"[x×]?\s*(\d+(?:\.\d*)?)\s*(?:x|×|times)?", text.strip(), re.IGNORECASE)
    if found is None or not float(found[1]) > 0:
        raise ParameterError(
            f"How many times as hard is {feature.label}? Such as: hard {feature.label} 3."
        )
    return float(found[1])


def _end(feature: Feature, text: str, now: Any) -> float | None:
    return None if text in DASHES else value(feature, text, now)


def number(feature: Numeric | Derived, text: str, now: Any) -> float:
    """A number as people write it, in the unit it's shown in, as rows hold it.

    In per cent, 35, 35% and 35 per cent are the same. 1 and less need the sign: 0.35 may be meant
    as 35%.

    >>> number(Numeric("income", unit="$ a month"), "$3,200", 3000)
    3200.0
    >>> number(Numeric("share", percent=True), "35", 0.4)
    0.35
    """
    per_cent = feature.percent or feature.unit.startswith("%")
    plain = PER_CENT.sub("%", text) if per_cent else text
    found = NUMBER.fullmatch(plain.replace("−", "-"))
    around = set() if found is None else {*f"{found['before']} {found['after']}".casefold().split()}
    if found is None or not around <= _unit(feature):
        raise _no_number(feature, text, now)
    if "+" in (found["sign"], found["number"][0]):
        raise ParameterError(f"Say what {feature.label} is now, not by how much it rose.")
    times = Decimal(str(100 if feature.percent else feature.times))
    try:
        shown = Decimal((found["sign"] + found["number"]).replace(",", ""))
        raw = float(shown / times)
    except ArithmeticError:
        raise _no_number(feature, text, now) from None
    if not math.isfinite(raw):
        raise _no_number(feature, text, now)
    if per_cent and not around and 0 < abs(shown) <= 1:
        either = [words.value(feature, float(meant / times)) for meant in (shown, 100 * shown)]
        raise ParameterError(
            f"Is {feature.label} {either[0]} or {either[1]}? Write it with the % sign."
        )
    return raw


def _unit(feature: Numeric | Derived) -> set[str]:
    """The words that may stand around a number: of the unit, of one and of many."""
    if feature.percent:
        return {"%"}
    one = words.value(feature, 1 / feature.times)
    return {*f"{feature.unit} {one}".casefold().split()}


def _no_number(feature: Numeric | Derived, text: str, now: Any) -> ParameterError:
    example = words.value(feature, now)
    several = " Commas go between features." if re.search(r"\d\s.*\d", text) else ""
    return ParameterError(
        f"{feature.label} is a number, such as {example}; {text!r} isn't one.{several}"
    )


def _within(feature: Numeric, raw: float) -> float:
    """A number that lies within the feature's bounds.

    It may have more digits than plans do, as any row that a person comes with.
    """
    if not feature.limits[0] <= raw <= feature.limits[1]:
        shown = amount(feature, raw)[0]
        raise ParameterError(f"{feature.label} can't be {shown}: {_bounds(feature)}.")
    return raw


def _bounds(feature: Numeric) -> str:
    lies = "it's" if None in feature.bounds else "it lies"
    return f"{lies} {within(feature, *feature.bounds)}"
