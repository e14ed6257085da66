"""What a run will cost, from what smaller runs did: fitted to growth.json, and tried on other runs.

    python benchmarks/cost_model.py     fit it, predict the runs that were held out, and look ahead

A method's CPU seconds are taken to be

    τ · rows + c0 + c1 · people + c2 · calls
      + c3 · rows (as arrays) + c4 · rows (as frames) + c5 · operations

with `rows` asked of the model in so many `calls`, τ the model's own time for one of them, and
operations 4 · columns for every pair of a point and a positive that is compared. The constants are
fitted to runs of up to 10⁵ people and 3·10⁵ reference rows, each counting by its relative error;
how many rows a person takes, in how many calls, and τ come from a small run with the same model.
What is found goes to results/performance/cost_model.json.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from performance_lines import Line, show
from performance_tasks import PATHS, Figures, keep, read
from scipy.optimize import nnls

TERMS = ("run", "person", "call", "row as array", "row as frame", "operation")
WITHIN = 0.25
"""How far a prediction may be off, as a share."""

PER_PAIR = 4
"""Operations for each column of a pair: two for its distance, two for what it adds."""


@dataclass(frozen=True)
class Pilot:
    """What a small run with the same model tells of a large one."""

    rows: float
    """asked of the model per person"""
    calls: float
    """of the model, per batch of people"""
    tau: float
    """seconds the model takes for a row"""
    positives: float
    """per reference row"""
    columns: int
    as_frames: bool

    @classmethod
    def of(cls, run: Mapping[str, Any]) -> Pilot:
        return cls(
            rows=run["rows"] / run["people"],
            calls=run["calls"] / batches(run["method"], run["people"], run["positives"]),
            tau=run["model_cpu"] / run["rows"],
            positives=run["positives"] / run["reference"],
            columns=run["columns"],
            as_frames=not run["kind"].startswith("encoded"),
        )


PAIRS, TOGETHER, PART = 2**24, {"published": 1024, "default": 128}, 2000
"""How many pairs of a person and a positive a method takes on at once, how many people at most, and
how many make a part."""


def batches(method: str, people: float, positives: float) -> float:
    """How many times people are taken on together."""
    size = max(1, min(TOGETHER[method], PAIRS // max(1, int(positives))))
    parts, rest = divmod(int(people), PART)
    return float(parts * np.ceil(PART / size) + np.ceil(rest / size))


def terms(method: str, people: float, reference: float, pilot: Pilot) -> list[float]:
    """How much there is of each term."""
    rows, positives = people * pilot.rows, reference * pilot.positives
    # A step of the published method meets the positives of one cluster; the default method's
    # screening goes by everybody's distance to every positive.
    met = (rows - people) * positives / PATHS if method == "published" else people * positives
    return [
        1.0,
        people,
        pilot.calls * batches(method, people, positives),
        0.0 if pilot.as_frames else rows,
        rows if pilot.as_frames else 0.0,
        PER_PAIR * pilot.columns * met,
    ]


@dataclass(frozen=True)
class CostModel:
    """A method's constants, in seconds."""

    method: str
    constants: tuple[float, ...]

    @classmethod
    def fitted(cls, method: str, runs: Sequence[Mapping[str, Any]]) -> CostModel:
        """The constants, none below 0, with the least squared relative errors."""
        ours = np.array([run["cpu"] - run["model_cpu"] for run in runs])
        amounts = np.array(
            [terms(method, run["people"], run["reference"], Pilot.of(run)) for run in runs]
        )
        scale = amounts.max(axis=0)  # so that all columns weigh alike
        scale[scale == 0] = 1.0
        found, _ = nnls(amounts / scale / ours[:, None], np.ones(len(runs)))
        return cls(method, tuple((found / scale).tolist()))

    def seconds(self, people: float, reference: float, pilot: Pilot) -> float:
        """CPU seconds of a run, without `fit`."""
        amounts = terms(self.method, people, reference, pilot)
        own = float(np.dot(self.constants, amounts))
        return own + pilot.tau * people * pilot.rows


def pilot_for(run: Mapping[str, Any], known: Iterable[Mapping[str, Any]]) -> Pilot:
    """The known run with the same method and model that is most like this one."""
    alike = [one for one in known if (one["method"], one["kind"]) == (run["method"], run["kind"])]

    def apart(one: Mapping[str, Any]) -> tuple[float, float]:
        gaps = (abs(np.log(one[by] / run[by])) for by in ("reference", "people"))
        near, far = gaps
        return float(near), float(far)

    return Pilot.of(min(alike, key=apart))


def tried(found: Figures) -> tuple[dict[str, CostModel], list[Figures]]:
    """The models of both methods, and the runs that were held out beside what is predicted."""
    runs, models, told = list(found.values()), {}, []
    known = [run for run in runs if run["fitted_to"]]
    for method in ("published", "default"):
        own = [run for run in known if run["method"] == method]
        if len(own) <= 2:
            continue
        models[method] = model = CostModel.fitted(method, own)
        for run in runs:
            if run["method"] == method:
                pilot = pilot_for(run, known)
                predicted = model.seconds(run["people"], run["reference"], pilot)
                told.append(
                    {
                        **{name: run[name] for name in ("method", "kind", "people", "reference")},
                        "held_out": not run["fitted_to"],
                        "cpu": run["cpu"],
                        "predicted": round(predicted, 3),
                        "ratio": round(predicted / run["cpu"], 4),
                    }
                )
    return models, told


def lines(told: Sequence[Figures]) -> list[Line]:
    held = [run for run in told if run["held_out"]]
    if not held:
        return []
    worst = max(held, key=lambda run: abs(run["ratio"] - 1))
    return [
        Line(
            "Predicts runs it wasn't fitted to within a quarter",
            all(abs(run["ratio"] - 1) <= WITHIN for run in held),
            f"{len(held)} runs, {min(run['ratio'] for run in held):.2f} to "
            f"{max(run['ratio'] for run in held):.2f} times what was measured; the worst is "
            f"{worst['method']} ({worst['kind']}), {worst['people']:,} people, "
            f"{worst['reference']:,} reference rows",
        )
    ]


def main() -> None:
    found = read("growth")
    models, told = tried(found)
    constants = {name: dict(zip(TERMS, m.constants, strict=True)) for name, m in models.items()}
    keep("cost_model", {"constants": constants, "tried": told})
    for run in told:
        print(
            f"{'held out' if run['held_out'] else 'fitted':>8}  {run['method']} ({run['kind']}): "
            f"{run['people']:,} people, {run['reference']:,} reference rows: {run['cpu']:.2f} s, "
            f"predicted {run['predicted']:.2f} ({run['ratio']:.2f})"
        )
    for name, own in constants.items():
        print(name, {term: f"{value:.3g}" for term, value in own.items()})
    sys.exit(not show(lines(told)))


if __name__ == "__main__":
    main()
