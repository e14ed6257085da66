"""The report: one HTML file on a result, to be handed to whoever has to judge it.

It needs no network and no script, prints well, and the same input gives the same bytes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd

import stepladder
from stepladder import frames
from stepladder.audit import Audit, audit
from stepladder.errors import ParameterError
from stepladder.feature import Change, Feature, Numeric
from stepladder.frames import Frame
from stepladder.methods.base import whole
from stepladder.methods.step import StEP
from stepladder.metrics import METRICS
from stepladder.path import Outcome
from stepladder.recourse import Recourse
from stepladder.view import plots, words
from stepladder.view.page import Table, render, write
from stepladder.view.plots.style import WIDTH
from stepladder.view.provenance import data_hash, model_hash, schema_hash
from stepladder.view.spread import asking, changed, distributions, nearest_paths
from stepladder.view.why import WhyNot, why_not

__all__ = ["report", "write"]

REASONS = 10
"""How many reasons for having no route are told, the most frequent first."""

MOST_ROWS = 20_000
"""How many rows the model is asked about, at most, to find what would open one person a route."""

MOST_GROUPS = 30
"""Groups in one chart, at most; tables have all of them."""

NONE = "–"
"""What a table holds where there is no figure."""

MARK = f"{words.HELD}*"
"""What marks a small group; it stays with its name."""

ENDS = {
    Outcome.REACHED: "a route to a yes",
    Outcome.ALREADY_POSITIVE: "a yes already",
    Outcome.STEP_LIMIT: "no route within the steps allowed",
    Outcome.STALLED: "no route that gets all the way",
    Outcome.UNREACHABLE: "no route among the possible changes",
    Outcome.MISSING_VALUE: "a value is missing",
    Outcome.TIMED_OUT: "time ran out",
}

CHANGES = {
    Change.ANY: "any way",
    Change.INCREASE: "may only rise",
    Change.DECREASE: "may only fall",
    Change.NEVER: "never",
}


def report(
    result: Recourse,
    *,
    step: StEP | None = None,
    groups: Audit | Frame | Mapping[str, Any] | Sequence[str] | str | None = None,
    people: int = 10,
    title: str | None = None,
    model: str | File | bytes | None = None,
    data: Frame | None = None,
    date: str | dt.date | None = None,
) -> str:
    """A result as one HTML page; `write` makes it a file.

    step    the fitted method, to tell those without a route what would open one
    groups  what `stepladder.audit.audit` divides people by, or an audit that was made
    people  how many people's plans are shown, spread evenly over the result's order
    model   the model's file or its bytes, for its fingerprint
    data    the table the method was fitted on, for its fingerprint
    date    left out unless given
    """
    people = whole("people", people, 0)
    if step is not None and not isinstance(step, StEP):
        raise ParameterError(f"report(step) takes a fitted sl.StEP; got {step!r}.")
    asked, paths = asking(result), nearest_paths(result)
    shown = chosen(asked, people)
    draws_scores = any(not math.isnan(result.routes[place][0].scores[0]) for place in asked)
    return render(
        "report.html.j2",
        title=title or "Routes to a yes",
        date=None if date is None else str(date),
        lead=_lead(result, len(asked), len(paths)),
        summary=_summary(result, asked),
        outcomes=_outcomes(result),
        reasons=_reasons(result, asked),
        figures=_figures(result),
        spread=_picture(distributions, result) if draws_scores else None,
        changes=_changes(result),
        audits=None if groups is None else _audits(result, groups),
        shown=[_shown(result, place, step) for place in shown],
        asked=len(asked),
        goal=result.goal,
        settings=_settings(result, model, data),
        schema=_schema(result),
        privacy=None if result.privacy is None else str(result.privacy).splitlines(),
        words=words,
    )


def chosen(places: Sequence[int], count: int) -> list[int]:
    """`count` of the places, evenly over their order, whoever they are.

    >>> chosen(range(100), 4)
    [12, 37, 62, 87]
    """
    if len(places) <= count:
        return list(places)
    return [places[(2 * i + 1) * len(places) // (2 * count)] for i in range(count)]


def _picture(draw: Any, *about: Any) -> str:
    return plots.picture(lambda width: draw(*about, width=width), width=WIDTH)


# ---- the summary ------------------------------------------------------------------------------


def _lead(result: Recourse, asked: int, reached: int) -> str:
    if not asked:
        return "Nobody in this result asked for a route."
    already = len(result.people) - asked
    rest = f" {already:,} more had a yes already." if already else ""
    return (
        f"{reached:,} of {asked:,} who asked have a route to a yes ({reached / asked:.0%}).{rest}"
    )


def _summary(result: Recourse, asked: Sequence[int]) -> Table:
    paths = nearest_paths(result)
    several = sum(_choices(result, place) > 1 for place in asked)
    moved = [int((path.values[-1] != path.values[0]).sum()) for path in paths]
    rows = [
        ("Asked for a route", f"{len(asked):,}", ""),
        ("Have a route", f"{len(paths):,}", _share(len(paths), len(asked))),
        ("Have several different routes", f"{several:,}", _share(several, len(asked))),
        ("Have none", f"{len(asked) - len(paths):,}", _share(len(asked) - len(paths), len(asked))),
        ("Steps on the nearest route", *_middle([path.steps for path in paths])),
        ("Things to change on it", *_middle(moved)),
        ("Distance to its end", *_middle([path.distance for path in paths], ".2f")),
    ]
    return Table(
        "Everyone",
        ("", "Figure", ""),
        tuple(rows),
        numbers=(1,),
        note="Distance is how far the end of a route lies from where a person stands today, on the "
        "scale on which the method compares people.",
    )


def _choices(result: Recourse, place: int) -> int:
    """How many routes that end differently a person has."""
    reached = [path for path in result.routes[place] if path.outcome is Outcome.REACHED]
    return len({path.values[-1].tobytes() for path in reached})


def _share(part: int, of: int) -> str:
    return f"{part / of:.0%}" if of else ""


def _middle(values: Sequence[float], form: str = "g") -> tuple[str, str]:
    """The median, and what it is."""
    if not values:
        return NONE, ""
    return format(float(np.median(values)), form), f"median; at most {max(values):{form}}"


def _outcomes(result: Recourse) -> Table:
    found = Counter(result.best(place)[1] for place in range(len(result.people)))
    rows = [
        (ENDS[outcome], f"{found[outcome]:,}", _share(found[outcome], len(result.people)))
        for outcome in ENDS
        if found[outcome]
    ]
    return Table("How it ended", ("Outcome", "People", "Share"), tuple(rows), numbers=(1, 2))


def _reasons(result: Recourse, asked: Sequence[int]) -> Table | None:
    """Why people have no route, the most frequent reasons first; None if everyone has one."""
    best = [result.best(place) for place in asked]
    found = Counter((outcome, why) for slot, outcome, why in best if slot is None)
    if not found:
        return None
    told = found.most_common(REASONS)
    rows = [(ENDS[outcome], why, f"{count:,}") for (outcome, why), count in told]
    rest = found.total() - sum(count for _, count in told)
    if rest:
        rows.append(("", "other reasons", f"{rest:,}"))
    return Table(
        "Why some have no route", ("Outcome", "Reason", "People"), tuple(rows), numbers=(2,)
    )


def _figures(result: Recourse) -> Table:
    (found,) = frames.read(result.metrics()).rows(named=True)
    rows = [
        (_capital(METRICS[name].meaning), name.replace("_", " "), _number(value))
        for name, value in found.items()
        if not name.endswith("as_printed")
    ]
    return Table(
        "Figures over all routes",
        ("Meaning", "Metric", "Mean"),
        tuple(rows),
        numbers=(2,),
        note="People who had a yes already aren't counted.",
    )


def _changes(result: Recourse) -> Table | None:
    paths = nearest_paths(result)
    if not paths:
        return None
    rows = [
        (feature.label, f"{count:,}", _share(count, len(paths)))
        for feature, count in changed(result, paths)
        if feature.change is not Change.NEVER or count
    ]
    return Table(
        "What the nearest routes change",
        ("Feature", "Routes", "Share"),
        tuple(rows),
        numbers=(1, 2),
    )


def _number(value: Any, form: str = ".2f") -> str:
    if value is None or math.isnan(value):
        return NONE
    return "∞" if math.isinf(value) else format(value, form).replace("-", "−")


def _capital(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


# ---- groups -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Audited:
    """People divided in one way, as the page shows it."""

    by: str
    picture: str | None
    tables: tuple[Table, ...]


def _audits(result: Recourse, groups: Any) -> list[_Audited]:
    found = groups if isinstance(groups, Audit) else audit(result, groups)
    kinds = {name: _rows(getattr(found, name)) for name in ("by_group", "gaps", "notions")}
    audits = []
    for by in dict.fromkeys(row["by"] for row in kinds["by_group"]):
        counts, gaps, notions = (
            [row for row in rows if row["by"] == by] for rows in kinds.values()
        )
        drawn = _drawable(counts)
        audits.append(
            _Audited(
                by=by,
                picture=_picture(plots.by_group, drawn) if len(drawn) <= MOST_GROUPS else None,
                tables=(_counts(by, counts, found), _gaps(by, gaps), _notions(by, notions)),
            )
        )
    return audits


def _rows(frame: Frame) -> list[dict[str, Any]]:
    return frames.read(frame).rows(named=True)


def _drawable(counts: list[dict[str, Any]]) -> pd.DataFrame:
    """The groups as `plots.by_group` takes them; only shares have an interval of their own."""
    rows = []
    for row in counts:
        low, high = _wilson(row["success"], row["asked"])
        rows.append(
            {
                "group": row["group"],
                "people": row["asked"],
                "small": row["small"],
                "success": row["success"],
                "success_low": low,
                "success_high": high,
                "cost": row["mean_cost"],
                "cost_low": math.nan,
                "cost_high": math.nan,
            }
        )
    return pd.DataFrame(rows)


def _wilson(share: float, count: int, z: float = 1.96) -> tuple[float, float]:
    """Where a share of `count` people lies with 95% confidence (Wilson's interval)."""
    if not count:
        return math.nan, math.nan
    middle = (share + z**2 / (2 * count)) / (1 + z**2 / count)
    reach = z * math.sqrt(share * (1 - share) / count + (z / (2 * count)) ** 2) / (1 + z**2 / count)
    return max(0.0, middle - reach), min(1.0, middle + reach)


def _counts(by: str, counts: list[dict[str, Any]], found: Audit) -> Table:
    rows = [
        (
            row["group"] + MARK * row["small"],
            f"{row['people']:,}",
            f"{row['asked']:,}",
            _number(row["success"], ".0%"),
            _number(row["mean_cost"]),
            _number(row["mean_steps"], ".1f"),
        )
        for row in counts
    ]
    few = any(row["small"] for row in counts)
    return Table(
        f"Recourse by {by}",
        ("Group", "People", "Asked", "With a route", "Mean distance", "Mean steps"),
        tuple(rows),
        numbers=(1, 2, 3, 4, 5),
        note=f"* Fewer than {found.smallest} asked: too few to say much." if few else "",
    )


def _gaps(by: str, gaps: list[dict[str, Any]]) -> Table:
    rows = [
        (
            row["measure"].replace("_", " ") + MARK * row["small"],
            *_apart(row),
            _between(row, "ratio"),
        )
        for row in gaps
    ]
    return Table(
        f"How far groups by {by} lie apart",
        ("Measure", "Worst off", "Best off", "Difference", "Ratio"),
        tuple(rows),
        numbers=(3, 4),
        note=_INTERVALS + _SMALL * any(row["small"] for row in gaps),
    )


def _notions(by: str, notions: list[dict[str, Any]]) -> Table:
    rows = [
        (row["notion"].replace("_", " ") + MARK * row["small"], *_apart(row), _number(row["at"]))
        for row in notions
    ]
    return Table(
        f"Six notions of fair recourse by {by}",
        ("Notion", "Worst off", "Best off", "Difference", "At"),
        tuple(rows),
        numbers=(3, 4),
        note="“At” is the cost or the share of a group that a notion speaks of. "
        + _INTERVALS
        + _SMALL * any(row["small"] for row in notions),
    )


_INTERVALS = "In brackets: where a figure lies with 95% confidence."
_SMALL = " * Groups of few people are among those compared."


def _apart(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["worst_off"] or NONE, row["best_off"] or NONE, _between(row, "gap")


def _between(row: dict[str, Any], figure: str) -> str:
    """A figure with its interval."""
    if math.isnan(row[figure]):
        return NONE
    value, low, high = (_number(row[f"{figure}{end}"]) for end in ("", "_low", "_high"))
    return f"{value} ({low} to {high})"


# ---- people -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Shown:
    """One person, as the page shows them."""

    plan: words.Plan
    today: str
    why: WhyNot | None
    picture: str | None


def _shown(result: Recourse, place: int, step: StEP | None) -> _Shown:
    # Alone under a name that is text: others may be called the same, and names may be dates.
    name = np.array([str(pd.Index(result.people).tolist()[place])], dtype=object)
    alone = replace(result, people=name, routes=[result.routes[place]])
    (plan,) = words.plans(alone)
    paths = result.routes[place]
    has_picture = not math.isnan(plan.score) and any(path.steps for path in paths)
    return _Shown(
        plan=plan,
        today=_today(result.space.schema.features, plan.today),
        why=_why(alone, plan, step),
        picture=_picture(plots.person, alone, name[0]) if has_picture else None,
    )


def _today(features: Sequence[Feature], today: Mapping[str, Any]) -> str:
    return "; ".join(f"{f.label}: {words.value(f, today[f.name])}" for f in features)


def _why(alone: Recourse, plan: words.Plan, step: StEP | None) -> WhyNot | None:
    """What would open a route to someone who has none, where a method is there to be asked."""
    path = alone.routes[0][0]
    unreachable = alone.best(0)[1] is Outcome.UNREACHABLE
    if step is None or plan.routes or not unreachable or step.is_published or step.is_private:
        return None
    row = alone.space.to_frame(path.values[:1], alone.template)
    why = why_not(step, row, most_rows=MOST_ROWS)
    return why if why.openings else None


# ---- settings ---------------------------------------------------------------------------------


def _settings(result: Recourse, model: Any, data: Any) -> Table:
    if data is None:
        fingerprint = "not given"
    elif result.privacy is not None:  # a guess at the rows could be checked against it
        fingerprint = "left out, since the reference rows are kept private"
    else:
        fingerprint = data_hash(data)
    settings = dict(result.settings)
    rows = [
        ("stepladder", stepladder.__version__),
        ("Goal", str(result.goal)),
        ("Model, SHA-256", "not given" if model is None else model_hash(model)),
        ("Data, SHA-256", fingerprint),
        ("Schema, SHA-256", schema_hash(result.space.schema)),
        ("Seed", _plainly(settings.pop("random_state", None))),
        *(
            (f"Reference: {name.replace('_', ' ')}", f"{n:,}")
            for name, n in result.reference.items()
        ),
        ("Paths dropped, since they broke a rule or missed the goal", f"{result.dropped:,}"),
        *((_capital(name.replace("_", " ")), _plainly(v)) for name, v in settings.items()),
    ]
    return Table("How this result was made", ("Setting", "Value"), tuple(rows))


def _plainly(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_plainly(part)}" for key, part in value.items()) or "none"
    return str(value)


def _schema(result: Recourse) -> Table:
    rows = [
        (f.name, f.label, f.kind, CHANGES[f.change], _allowed(f))
        for f in result.space.schema.features
    ]
    return Table(
        "The schema: what may change, and how",
        ("Feature", "Called", "Kind", "May change", "Allowed"),
        tuple(rows),
    )


def _allowed(feature: Feature) -> str:
    if not isinstance(feature, Numeric):
        return ", ".join(words.value(feature, level) for level in feature.levels or ()) or NONE
    low, high = feature.bounds
    ends = [None if end is None else words.value(feature, end) for end in (low, high)]
    if ends == [None, None]:
        return NONE
    if ends[1] is None:
        return f"from {ends[0]}"
    return f"up to {ends[1]}" if ends[0] is None else f"{ends[0]} to {ends[1]}"
