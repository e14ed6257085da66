"""Past the machines that were measured on: what 10⁸ people and 10⁹ reference rows would take.

From the cost model's constants, what memory and files were measured to take, and machines as they
can be rented, whose cores are taken to be as fast as the one that was measured on.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cost_model import PER_PAIR, CostModel, Pilot
from growth import FEW, USUAL
from performance_others import pairs_per_second

from stepladder.numbers import exact

CORES, MEMORY, NETWORK = 64, 256 * 2**30, 1.25e9
"""A machine: cores, bytes of memory, and bytes per second of its network (10 Gbit/s)."""
EFFICIENCY = 0.85
"""What a worker does of what it would alone: two are to do 1.7 times as much as one."""
HALF = 0.5
"""The share of a machine's memory that reference rows may fill."""
DAY = 86_400.0
GPU_PAIRS = 65_536 * 1_048_576 / 0.055
"""Pairs of 32 columns per second that one H200 is aimed to compare, where none was measured."""

ASKED = [
    ("default", 1e8, USUAL),
    ("published", 1e8, USUAL),
    ("default", 1e8, 1e6),
    ("published", 1e8, 1e6),
    ("published", 1e6, 1e9),
    ("published", 1e8, 1e9),
]
COLUMNS = ("Core-hours", "Machines for a day", "Reference rows", "Results")

Found = Mapping[str, Any]


@dataclass(frozen=True)
class Measured:
    """What was measured of memory, files and `fit`, per person or per reference row."""

    read: float
    """seconds for the one process that hands out the people to look at one, twice"""
    bytes_out: float
    memory: float
    """bytes per reference row, while learning from it"""
    held: float
    """bytes per reference row that each worker process is sent, and keeps"""
    fit: float
    """seconds per reference row"""


@dataclass(frozen=True)
class Plan:
    """What a run would take."""

    method: str
    people: float
    reference: float
    seconds: float
    """of CPU"""
    machines: int
    memory: float
    results: float

    def cells(self) -> tuple[str, ...]:
        copies = CORES * self.memory <= HALF * MEMORY
        parts = " in each worker" if copies else " in shards"
        return (
            exact(round(self.seconds / 3600)),
            exact(self.machines),
            f"{size(self.memory)}{parts}",
            size(self.results),
        )


@dataclass(frozen=True)
class Limit:
    """Something that stops growing before the rest."""

    what: str
    rate: str
    breaks: str


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit, bytes_ in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= bytes_:
            amount = count / bytes_
            return f"{amount:.0f} {unit}" if amount >= 10 else f"{amount:.2g} {unit}"
    return f"{count:.0f} B"


def runs(found: Found, method: str, by: str) -> list[Any]:
    """The runs of a method in which only people, or only reference rows, differ; in order."""
    fixed = ("reference", USUAL) if by == "people" else ("people", FEW[method])
    own = [
        run
        for run in found["growth"].values()
        if run["method"] == method
        and run["kind"] == "encoded-logistic"
        and run[fixed[0]] == fixed[1]
    ]
    return sorted(own, key=lambda run: run[by])


def measured(found: Found, method: str) -> Measured | None:
    """What runs with more and more people, and reference rows, say of one more; None without."""
    people, rows = runs(found, method, "people"), runs(found, method, "reference")
    if len(people) < 2 or len(rows) < 2:
        return None
    most, least, large = people[-1], rows[0], rows[-1]
    more = large["reference"] - least["reference"]
    return Measured(
        read=most["resumed_cpu"] / most["people"],
        bytes_out=most["bytes_out"] / most["people"],
        memory=(large["fit_peak"] - least["fit_peak"]) / more,
        held=(large["method_bytes"] - least["method_bytes"]) / more,
        fit=(large["fit_cpu"] - least["fit_cpu"]) / more,
    )


def cost_of(found: Found, method: str) -> tuple[CostModel, Pilot] | None:
    """The method's cost model, and a run to go by."""
    constants = found["cost_model"].get("constants", {}).get(method)
    people = runs(found, method, "people")
    if constants is None or not people:
        return None
    return CostModel(method, tuple(constants.values())), Pilot.of(people[-1])


def plans(found: Found) -> list[Plan]:
    """Every run that is looked ahead to."""
    made = []
    for method, people, reference in ASKED:
        cost, own = cost_of(found, method), measured(found, method)
        if cost is None or own is None:
            continue
        model, pilot = cost
        seconds = model.seconds(people, reference, pilot) + own.fit * reference
        memory, results = own.held * reference, own.bytes_out * people
        in_time = math.ceil(seconds / (CORES * EFFICIENCY * DAY))
        machines = max(in_time, math.ceil(memory / (HALF * MEMORY)))
        title = method.capitalize()
        made.append(Plan(title, people, reference, seconds, machines, memory, results))
    return made


def limits(found: Found) -> list[Limit]:
    """What breaks, the first of it first, by how far it is."""
    cost, own = cost_of(found, "published"), measured(found, "published")
    if cost is None or own is None:
        return []
    model, pilot = cost
    each = model.seconds(1e6, USUAL, pilot) / 1e6
    busy = each / own.read / CORES if own.read else math.inf
    wire = each * NETWORK / own.bytes_out / CORES
    copied, rows = HALF * MEMORY / CORES / own.held, HALF * MEMORY / own.memory
    send = own.held * 1e6 * CORES / NETWORK
    pairs = pilot.rows * pilot.positives / 3
    operations = PER_PAIR * pilot.columns * pairs * 1e9 * 1e8
    gpu_days = pairs * 1e9 * 1e8 / (pairs_per_second(found.get("gpu", {})) or GPU_PAIRS) / DAY
    return [
        Limit(
            "A copy of the reference rows in every worker process",
            f"{own.held:,.0f} bytes per reference row",
            f"from {copied:.1e} rows on, {CORES} of them fill half of a machine's "
            f"{MEMORY / 2**30:.0f} GiB (10⁶ rows take {send:.0f} s to send to one machine): fewer "
            "workers, or shards, from there",
        ),
        Limit(
            "`fit` of all reference rows in one process",
            f"{own.memory:,.0f} bytes and {1e6 * own.fit:.1f} µs per reference row",
            f"from {rows:.1e} rows on they fill half of a machine, which takes "
            f"{own.fit * rows / 3600:.1f} hours: only shards go further",
        ),
        Limit(
            "The network of the process that writes the results",
            f"{own.bytes_out:,.0f} bytes per person",
            f"more than {max(1, int(wire))} machines of {CORES} cores (published, {USUAL:,} "
            "reference rows) only wait for it",
        ),
        Limit(
            "The one process that hands out people",
            f"{1e6 * own.read:.1f} µs per person",
            f"more than {max(1, int(busy))} machines are idle; 10⁸ people take it "
            f"{own.read * 1e8 / 3600:.1f} hours",
        ),
        Limit(
            "Comparing everybody with every reference row",
            f"{PER_PAIR * pilot.columns} operations per pair",
            f"10⁸ people and 10⁹ rows are {operations:.0e} operations: {gpu_days:,.0f} days of one "
            "H200, so rows that stand for many others have to be picked first",
        ),
    ]
