"""Rules that tie columns together, on a lender's table: are they kept, and what do they cost?

    python benchmarks/rules.py run                   everything: some minutes
    python benchmarks/rules.py run --people 50       fewer people, to see that it works
    python benchmarks/rules.py run --only brute      one part: kept, undeclared, brute or times
    python benchmarks/rules.py page                  write the tables of docs/rules-bench.md

What is measured goes to results/rules/figures.json. Whatever Stepladder returns is held against the
same rules written out by hand, in `lender_check.py`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import lender
import lender_check
import numpy as np
import pandas as pd
from lender import LENDER, MODELS, SMALL, Terms
from rules_page import filled, too_slow

import stepladder as sl

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "results" / "rules" / "figures.json"
PAGE = ROOT / "docs" / "rules-bench.md"

REFERENCE = 3000
THRESHOLD = 0.6
ROWS, THRESHOLDS = (400,), (0.6, 0.9, 0.97)
"""Of the small case: how many reference rows there are, and what a yes takes."""
REPEATS = 3
"""How often each schema is timed, in turn."""
ALONE = 5
"""How many people are asked about one by one, each time."""
NOTICED = 0.01
"""What a column has to differ from its formula by, as a share, to count where it isn't declared."""

Figures = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Case:
    """A model of one kind, the rows it was trained on, and people whom the lender turns down."""

    train: pd.DataFrame
    model: Any
    people: pd.DataFrame
    threshold: float = THRESHOLD

    def score(self, rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.float64]]:
        answers = self.model.predict_proba(rows[self.train.columns])[:, 1]
        return np.asarray(answers, dtype=np.float64)

    def accepts(self, rows: pd.DataFrame) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """What a yes takes: the model's, and a loan of at most 95 % of the price."""
        return np.asarray((self.score(rows) >= self.threshold) & (rows["ltv"] <= 0.95).to_numpy())


@lru_cache
def turned_down(
    kind: str,
    people: int,
    terms: Terms = LENDER,
    rows: int = REFERENCE,
    threshold: float = THRESHOLD,
) -> Case:
    """A case in which as many people as asked for are turned down."""
    train = lender.table(rows, 0, terms)
    model = lender.trained(kind, train, lender.labels(train, 1))
    applied = lender.applicants(4 * people, 100, terms)
    case = Case(train, model, applied, threshold)
    return replace(case, people=applied[~case.accepts(applied)].head(people))


def fitted(case: Case, schema: sl.Schema, model: Any = None, *, policy: bool = True) -> sl.StEP:
    goal = sl.Goal(threshold=case.threshold, policy=lender.POLICY if policy else ())
    return sl.StEP(random_state=0).fit(case.train, model or case.model, schema=schema, goal=goal)


def todays(people: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """For each of the rows that a result has, the row that the person has today."""
    return people.loc[rows["person"]].set_index(rows.index)


# ---- are they kept? ---------------------------------------------------------------------------


def kept(kind: str, people: int) -> Figures:
    """What is wrong with everything that is returned, if anything is."""
    case = turned_down(kind, people)
    return judged(case, fitted(case, lender.schema()).recourse(case.people))


def judged(case: Case, result: sl.Recourse) -> Figures:
    """What is wrong with a result, row by row, by rules written out by hand."""
    rows, ends = result.paths, result.final
    today = todays(case.people, rows)
    broken = lender_check.broken(today, rows)
    stepped = lender_check.ill_stepped(today, rows)
    months = lender_check.months(todays(case.people, ends), ends)
    reached = ends["outcome"] == "reached"
    return {
        "people": len(case.people),
        "reached": int((result.status["outcome"] == "reached").sum()),
        "paths": int(reached.sum()),
        "rows": len(rows),
        "inconsistent": int(broken[list(lender_check.LINKS)].any(axis=1).sum()),
        "other_rules": int(broken.drop(columns=[*lender_check.LINKS]).any(axis=1).sum()),
        "wrong_steps": int(stepped.any(axis=1).sum()),
        "wrong_scores": int((np.abs(case.score(rows) - rows["score"]) > 1e-9).sum()),
        "wrong_ends": int((case.accepts(ends) != reached).sum()),
        "wrong_months": int((months != ends["months"]).sum()),
        "which": {
            rule: int(count)
            for rule, count in pd.concat([broken, stepped], axis=1).sum().items()
            if count
        },
    }


def undeclared(kind: str, people: int) -> Figures:
    """How many routes don't hang together when the links aren't declared."""
    return free(turned_down(kind, people))


def free(case: Case) -> Figures:
    """What comes of a case when everything that is derived is a number like any other."""
    ends = fitted(case, lender.undeclared()).recourse(case.people).final
    ends = ends[ends["outcome"] == "reached"]
    broken = lender_check.broken(todays(case.people, ends), ends, tolerance=NOTICED)
    broken = broken[list(lender_check.LINKS)]
    first = broken[ends.groupby("person")["distance"].transform("min") == ends["distance"]]
    nearest = first.groupby(ends.loc[first.index, "person"]).first()
    smaller = ends["loan"] < todays(case.people, ends)["loan"]
    return {
        "people": len(nearest),
        "inconsistent_people": int(nearest.any(axis=1).sum()),
        "routes": len(ends),
        "inconsistent": int(broken.any(axis=1).sum()),
        "smaller_loans": int(smaller.sum()),
        "smaller_loans_with_payment_off": int((smaller & broken["payment"]).sum()),
        "which": {rule: int(count) for rule, count in broken.sum().items()},
    }


# ---- brute force ------------------------------------------------------------------------------


def brute(kind: str, people: int) -> list[Figures]:
    """Everything that people could become, listed: does anybody miss a route?"""
    return [
        compared(turned_down(kind, people, SMALL, rows, threshold))
        for rows, threshold in product(ROWS, THRESHOLDS)
    ]


def compared(case: Case) -> Figures:
    """What brute force finds for some people, and what Stepladder does."""
    result = fitted(case, lender.schema(SMALL)).recourse(case.people)
    ends = result.final[result.final["outcome"] == "reached"]
    everything = pd.concat([_could_become(case.people.loc[[who]]) for who in case.people.index])
    today = case.people.loc[everything["person"]].set_index(everything.index)
    everything = lender_check.completed(today, everything)
    allowed = ~lender_check.broken(today, everything, SMALL).any(axis=1)
    everything = everything[allowed]
    everything = everything[case.accepts(everything)]
    found, ours = set(everything["person"]), set(ends["person"])
    columns = list(case.train.columns)
    listed = set(map(tuple, everything[["person", *columns]].to_numpy()))
    return {
        "threshold": case.threshold,
        "people": len(case.people),
        "listed": len(allowed),
        "allowed": int(allowed.sum()),
        "accepted": len(everything),
        "by_brute_force": len(found),
        "by_us": len(ours),
        "missed": sorted(map(int, found - ours)),
        "only_by_us": sorted(map(int, ours - found)),
        "ends_not_listed": sum(
            tuple(row) not in listed for row in ends[["person", *columns]].to_numpy()
        ),
    }


def _could_become(today: pd.DataFrame) -> pd.DataFrame:
    """Every combination of values that one person's features may take by themselves."""
    row, steps = today.iloc[0], SMALL.multiples
    ranges = {
        "loan": np.arange(steps["loan"], row["loan"], steps["loan"]),
        "card": np.arange(0, row["card"], steps["card"]),
        "term": np.arange(steps["term"], 361, steps["term"]),
        "income": steps["income"] * np.arange(1.3 * row["income"] // steps["income"] + 1),
    }
    ranges["income"] = ranges["income"][ranges["income"] > row["income"]]
    values = {name: sorted({row[name], *map(float, others)}) for name, others in ranges.items()}
    values["account"] = [
        level for level in lender.ACCOUNTS if level == row["account"] or level in ("basic", "plus")
    ]
    choices = pd.DataFrame(list(product(*values.values())), columns=list(values))
    others = today.drop(columns=list(values)).loc[today.index.repeat(len(choices))]
    made = pd.concat([choices, others.reset_index(drop=True)], axis=1)[list(today.columns)]
    return made.assign(person=today.index[0])


# ---- times ------------------------------------------------------------------------------------


def times(kind: str, people: int) -> Figures:
    """Seconds with the links declared and without, taken in turn in one run.

    Without, twice: with the derived columns as free numbers, so that all ends are reachable that
    are with them, and more; and for a model that works them out by itself, so that the very same
    ends are, but for requirements. All people follow the formulas, which the latter needs.
    """
    case = turned_down(kind, people)
    applied = lender.table(4 * people, 200)
    case = Case(case.train, case.model, applied[~case.accepts(applied)].head(people))

    def by_itself(rows: pd.DataFrame) -> Any:
        return case.score(lender.filled(rows))

    ways = {
        "declared": fitted(case, lender.schema(), policy=False),
        "free numbers": fitted(case, lender.undeclared(), policy=False),
        "in the model": fitted(case, lender.underived(), by_itself, policy=False),
    }
    figures: Figures = {"people": len(case.people), "repeats": REPEATS}
    for size, asked in (
        ("all", [case.people]),
        ("alone", [case.people.iloc[[i]] for i in range(min(ALONE, people))]),
    ):
        taken = _in_turn(ways, asked)
        ratios = {
            way: statistics.median(
                one / other for one, other in zip(taken["declared"], taken[way], strict=True)
            )
            for way in taken
        }
        figures[size] = {
            way: {
                "seconds": statistics.median(taken[way]) / len(asked),
                "ratio": ratios[way],
                **_model_work(ways[way], asked),
            }
            for way in ways
        }
    return figures


def _in_turn(ways: dict[str, sl.StEP], asked: list[pd.DataFrame]) -> dict[str, list[float]]:
    """CPU seconds for all that is asked, a few times, one way after the other."""
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for step in ways.values():
        step.recourse(asked[0].head(2))  # imports and caches warm up outside the clock
    for _ in range(REPEATS):
        for way, step in ways.items():
            start = time.process_time()
            for rows in asked:
                step.recourse(rows)
            taken[way].append(time.process_time() - start)
    return taken


def _model_work(step: sl.StEP, asked: list[pd.DataFrame]) -> dict[str, float]:
    """How often the model is asked, and about how many rows, on average."""
    work = [step.recourse(rows).asked for rows in asked]
    return {name: statistics.mean(one[name] for one in work) for name in ("calls", "rows")}


# ---- the run ----------------------------------------------------------------------------------

PARTS: dict[str, Callable[[str, int], Any]] = {
    "kept": kept,
    "undeclared": undeclared,
    "brute": brute,
    "times": times,
}


def run(people: int, only: str | None) -> Iterator[tuple[str, str, Any]]:
    """The figures of each part for each kind of model, as they are measured."""
    for part, measure in PARTS.items():
        for kind in MODELS:
            if only in (None, part):
                figures = measure(kind, people)
                print(f"{part}, {kind}: {json.dumps(figures)}", flush=True)
                yield part, kind, figures


def faults(figures: Figures) -> list[str]:
    """What isn't as promised, in words."""
    found = []
    for kind, own in figures.get("kept", {}).items():
        for name in ("inconsistent", "other_rules", "wrong_steps", "wrong_scores", "wrong_ends"):
            if own[name]:
                found.append(f"{kind}: {name} {own[name]} of {own['rows']} rows")
    for kind, each in figures.get("brute", {}).items():
        for own in each:
            what = f"{kind}, a goal of {own['threshold']:g}"
            if own["missed"]:
                found.append(f"{what}: brute force finds routes for {len(own['missed'])} more")
            if own["ends_not_listed"]:
                found.append(f"{what}: {own['ends_not_listed']} ends aren't among the rows listed")
    for words, ratio in too_slow(figures["times"]).items() if "times" in figures else ():
        found.append(f"links take {ratio:.2f} times the time without, {words}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=["run", "page"])
    parser.add_argument("--people", type=int, default=1000)
    parser.add_argument("--only", choices=list(PARTS))
    given = parser.parse_args()
    figures = json.loads(FIGURES.read_text()) if FIGURES.exists() else {}
    if given.what == "page":
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
        return
    for part, kind, own in run(given.people, given.only):
        figures.setdefault(part, {})[kind] = own
        if given.people == 1000:
            FIGURES.parent.mkdir(parents=True, exist_ok=True)
            FIGURES.write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n")
    wrong = faults(figures)
    print("\n".join(wrong) or "Everything is as promised.")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
