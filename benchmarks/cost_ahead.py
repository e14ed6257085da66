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
from performance_tasks import PATHS

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

METHODS = ("published", "default")
ASKED = [
    ("default", 1e8, USUAL),
    ("published", 1e8, USUAL),
    ("default", 1e8, 1e6),
    ("published", 1e8, 1e6),
    ("published", 1e6, 1e9),
    ("published", 1e8, 1e9),
]
COLUMNS = ("Core-hours", "Machines for a day", "Memory", "Results")

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

    more: str
    """of what"""
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


def tens(count: float) -> str:
    """A large number, as a power of ten."""
    power = math.floor(math.log10(count))
    front = round(count / 10**power)
    raised = str(power).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if front == 1 else f"{front}·10{raised}"


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
    """What breaks, with more people and with more reference rows, the first of it first."""
    known = {method: (cost_of(found, method), measured(found, method)) for method in METHODS}
    there = {m: (*cost, own) for m, (cost, own) in known.items() if cost is not None and own}
    if "published" not in there:
        return []
    return [*_with_people(there), *_with_rows(*there["published"][1:], found)]


def _with_people(there: Mapping[str, tuple[CostModel, Pilot, Measured]]) -> list[Limit]:
    """What a single process does for all workers: it fills up at so many machines."""
    rates, ends, busy = [], [], []
    for method, (model, pilot, own) in there.items():
        each = model.seconds(1e6, USUAL, pilot) / 1e6 / CORES / EFFICIENCY
        rates.append(f"{own.bytes_out:,.0f} ({method})")
        ends.append(f"{each * NETWORK / own.bytes_out:,.0f} ({method})")
        busy.append(f"{each / own.read:,.0f} ({method})")
    read = max(own.read for *_, own in there.values())
    return [
        Limit(
            "people",
            "The network of the one process that writes the results",
            f"bytes per person: {', '.join(rates)}",
            f"at {USUAL:,} reference rows, as many machines fill it: {', '.join(ends)}; then each "
            "worker has to write its own parts",
        ),
        Limit(
            "people",
            "The one process that hands out people",
            f"{1e6 * read:.1f} µs per person",
            f"as many machines keep it busy: {', '.join(busy)}; 10⁸ people take it "
            f"{read * 1e8 / 60:.0f} minutes",
        ),
    ]


def _with_rows(pilot: Pilot, own: Measured, found: Found) -> list[Limit]:
    """What reference rows fill, and how many pairs there are."""
    copied, rows = HALF * MEMORY / CORES / own.held, HALF * MEMORY / own.memory
    send = own.held * 1e6 * CORES / NETWORK
    pairs = pilot.rows * pilot.positives / PATHS * 1e17
    days = pairs / (pairs_per_second(found.get("gpu", {})) or GPU_PAIRS) / DAY
    return [
        Limit(
            "reference rows",
            "A copy of them in every worker process",
            f"{own.held:,.0f} bytes per row",
            f"from {tens(copied)} rows on, {CORES} copies fill half of a machine (10⁶ rows take "
            f"{send:.0f} s to send to it): fewer workers, or shards, from there",
        ),
        Limit(
            "reference rows",
            "Learning from all of them in one process",
            f"{own.memory:,.0f} bytes and {1e6 * own.fit:.1f} µs per row",
            f"{tens(rows)} rows fill half of a machine, in {own.fit * rows / 60:.0f} minutes: only "
            "shards go further",
        ),
        Limit(
            "both",
            "Comparing everybody with every reference row at every step",
            f"{PER_PAIR * pilot.columns} operations per pair",
            f"10⁸ people and 10⁹ rows are {tens(PER_PAIR * pilot.columns * pairs)} operations: "
            f"{days:,.0f} days of one H200",
        ),
    ]
