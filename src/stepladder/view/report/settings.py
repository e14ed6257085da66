"""How a result was made, and from what: fingerprints, settings, and what was allowed to change."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path as File
from typing import Any

import stepladder
from stepladder.numbers import MISSING
from stepladder.result.provenance import check_same, data_hash, model_hash, schema_hash
from stepladder.result.recourse import Recourse
from stepladder.table.allowed import allowed, terms
from stepladder.table.feature import Categorical, Change, Derived, Feature, Ordinal
from stepladder.table.frames import Frame
from stepladder.view.page import PageTable
from stepladder.words import plans as words

CHANGES = {
    Change.ANY: "any way",
    Change.INCREASE: "may only rise",
    Change.DECREASE: "may only fall",
    Change.NEVER: "never",
    Change.TIME: "with time",
}

KINDS = {
    "numeric": "a number",
    "ordinal": "levels in order",
    "categorical": "one of several",
    "derived": "worked out",
}

REFERENCE = {
    "rows": "Reference rows",
    "positives": "Reference rows with a yes",
    "missing_value": "Reference rows left out, since a value is missing",
    "made_up": "Rows made up in place of the reference rows",
}
"""What the counts of a result's reference rows are called."""


def made(result: Recourse, model: str | File | bytes | None, data: Frame | None) -> PageTable:
    """Where the result comes from."""
    if result.privacy is not None:  # a guess at the rows could be checked against it
        rows_hash = "left out, since the reference rows are kept private"
    else:
        rows_hash = _fingerprint(
            result, "data", None if data is None else data_hash(result.space.own(data))
        )
    rows = [
        ("Version of stepladder", stepladder.__version__),
        ("What counts as a yes", str(result.goal)),
        (
            "Model, SHA-256",
            _fingerprint(result, "model", None if model is None else model_hash(model)),
        ),
        ("Data, SHA-256", rows_hash),
        ("Schema, SHA-256", schema_hash(result.space.schema)),
        ("Seed", _plainly(result.settings.get("random_state"))),
        *((REFERENCE.get(name, name), f"{n:,}") for name, n in result.reference.items()),
        ("Routes dropped, since they broke a rule or missed the goal", f"{result.dropped:,}"),
        ("Columns set aside, which the schema doesn't name", ", ".join(result.set_aside) or "none"),
    ]
    return PageTable(
        "How this result was made",
        ("What", "Value"),
        tuple(rows),
        note="A SHA-256 is a fingerprint: whoever has the same file or table gets the same one.",
    )


def _fingerprint(result: Recourse, what: str, given: str | None) -> str:
    """The fingerprint that the result has, or the one given; an error if they differ."""
    known = result.fingerprints.get(what)
    check_same(what, known, given)
    return known or given or "not given"


def called(result: Recourse) -> PageTable:
    """The method's settings, under the names that it takes them by."""
    rows = [
        (name, _plainly(value)) for name, value in result.settings.items() if name != "random_state"
    ]
    return PageTable("Settings, as the method names them", ("Setting", "Value"), tuple(rows))


def _plainly(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_plainly(part)}" for key, part in value.items()) or "none"
    return str(value)


def rules(result: Recourse) -> PageTable:
    """The schema: what may change, and how."""
    rows = [
        (
            f.label,
            f.name,
            KINDS[f.kind],
            "with others" if isinstance(f, Derived) else CHANGES[f.change],
            _allowed(f),
        )
        for f in result.space.schema.features
    ]
    schema = result.space.schema
    require = [words.requirement(text, schema) for text in schema.require]
    return PageTable(
        "The schema: what may change, and how",
        ("What", "Column", "Kind", "May change", "Values allowed"),
        tuple(rows),
        note=f"Every row keeps: {'; '.join(require)}." if require else "",
    )


def _allowed(feature: Feature) -> str:
    if not isinstance(feature, Ordinal | Categorical):
        return allowed(feature)
    levels = ", ".join(words.value(feature, level) for level in feature.levels or ()) or MISSING
    return "; ".join([levels, *terms(feature)])
