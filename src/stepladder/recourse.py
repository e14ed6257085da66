"""The result for many people: what each path was, how it ended, and why.

A method hands over one `Path` for each person and slot. Everything else (long frames, metrics,
files) is read off them.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path as File
from typing import Any
from uuid import uuid4

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from stepladder import frames
from stepladder.errors import ExtraError, ResultError
from stepladder.frames import Frame, Template
from stepladder.metrics import Paths, nearest_distance, summary
from stepladder.schema import Schema
from stepladder.scorer import Goal
from stepladder.space import Floats, Space


class Outcome(StrEnum):
    """How a path ended. Failure is data: each comes with a reason."""

    REACHED = "reached"
    ALREADY_POSITIVE = "already_positive"
    STEP_LIMIT = "step_limit"
    STALLED = "stalled"
    UNREACHABLE = "unreachable"
    MISSING_VALUE = "missing_value"
    TIMED_OUT = "timed_out"


@dataclass(frozen=True, eq=False)
class Path:
    """One person's route: s steps, so s + 1 rows, the first being where they stand today."""

    outcome: Outcome
    reason: str
    values: Floats
    """(s + 1, features) the rows"""
    points: Floats
    """(s + 1, columns) the same rows, encoded"""
    scores: Floats
    """(s + 1,)"""

    @property
    def steps(self) -> int:
        return len(self.scores) - 1

    @property
    def length(self) -> float:
        return float(np.linalg.norm(np.diff(self.points, axis=0), axis=1).sum())

    @property
    def distance(self) -> float:
        return float(np.linalg.norm(self.points[-1] - self.points[0]))


FORMAT = 1
"""Of the files that `Recourse.save` writes."""

TAKEN = ("person", "path", "step", "outcome", "score", "distance", "steps")
"""Names of result columns; a feature of such a name is shown with an underscore behind it."""


@dataclass(frozen=True, eq=False)
class Recourse:
    """The paths of n people, k each, as frames of the caller's kind.

    `settings` echo the method, `reference` counts what it was fitted on.
    """

    space: Space
    goal: Goal
    template: Template
    people: NDArray[Any]
    routes: Sequence[Sequence[Path]] = field(repr=False)
    settings: Mapping[str, Any]
    reference: Mapping[str, int]
    positives: Floats | None = field(default=None, repr=False)

    # ---- frames ---------------------------------------------------------------------------

    @cached_property
    def paths(self) -> Frame:
        """Every row of every path: person, path, step, the raw features, score."""
        flat = self._flat
        lengths = [path.steps + 1 for path in flat]
        return self._frame(
            {
                "person": np.repeat(self._person_of_path, lengths),
                "path": np.repeat(self._slot_of_path, lengths),
                "step": _joined([np.arange(n) for n in lengths], np.int64),
            },
            _stacked([path.values for path in flat], len(self.space.schema)),
            {"score": _joined([path.scores for path in flat], np.float64)},
        )

    @cached_property
    def final(self) -> Frame:
        """Where every path ended: person, path, outcome, score, distance, steps, raw features."""
        flat = self._flat
        return self._frame(
            {
                "person": self._person_of_path,
                "path": self._slot_of_path,
                "outcome": np.array([path.outcome.value for path in flat], dtype=object),
                "score": np.array([path.scores[-1] for path in flat], dtype=np.float64),
                "distance": np.array([path.distance for path in flat], dtype=np.float64),
                "steps": np.array([path.steps for path in flat], dtype=np.int64),
            },
            self._ends,
        )

    @cached_property
    def changes(self) -> Frame:
        """What each path asks for: person, path, feature, before, after.

        Values of different features share a column, so polars and PyArrow frames hold them as
        text; a pandas frame holds them as they are.
        """
        ends, starts = self._ends, np.repeat(self._starts, self._slots, axis=0)
        moved = np.argwhere((ends != starts) & ~np.isnan(ends))
        features = self.space.schema.features
        cells = [
            (self.space.shown(f, starts[row, f]), self.space.shown(f, ends[row, f]))
            for row, f in moved
        ]
        if self.template.library != "pandas":
            cells = [(str(before), str(after)) for before, after in cells]
        columns = {
            "person": self._person_of_path[moved[:, 0]],
            "path": self._slot_of_path[moved[:, 0]],
            "feature": _objects([features[f].name for f in moved[:, 1]]),
            "before": _objects([before for before, _ in cells]),
            "after": _objects([after for _, after in cells]),
        }
        return self._plain(columns)

    @cached_property
    def status(self) -> Frame:
        """One row a person: outcome, reason, and the nearest path that reaches the goal."""
        best = [self.best(i) for i in range(len(self.people))]
        return self._plain(
            {
                "person": self.people,
                "outcome": _objects([outcome.value for _, outcome, _ in best]),
                "reason": _objects([reason for *_, reason in best]),
                "best_path": pd.array([slot for slot, *_ in best], dtype="Int64"),
            }
        )

    def best(self, person: int) -> tuple[int | None, Outcome, str]:
        """The nearest successful path of the person at a position, an outcome and a reason."""
        routes = self.routes[person]
        reached = [slot for slot, path in enumerate(routes) if path.outcome is Outcome.REACHED]
        if not reached:
            nearest = max(routes, key=lambda p: float(self.goal.margin(p.scores[-1:])[0]))
            return None, nearest.outcome, nearest.reason
        slot = min(reached, key=lambda s: routes[s].distance)
        missed = [f"path {s}: {path.reason}" for s, path in enumerate(routes) if s not in reached]
        said = f"{len(reached)} of {len(routes)} paths reach {self.goal}"
        return slot, Outcome.REACHED, "; ".join([said, *missed])

    # ---- figures --------------------------------------------------------------------------

    def metrics(self) -> Frame:
        """Success, distance, diversity and the rest (see `stepladder.metrics`) as one row.

        People who were already at the goal asked for nothing and aren't counted.
        """
        return self._plain({k: np.array([v]) for k, v in summary(self._measured()).items()})

    def _measured(self) -> Paths:
        asked = [
            i
            for i, routes in enumerate(self.routes)
            if routes[0].outcome is not Outcome.ALREADY_POSITIVE
        ]
        n, k, width = len(asked), max(self._slots, 1), self.space.width
        flat = [path for i in asked for path in self.routes[i]]
        starts = np.repeat(self._starts[asked], k, axis=0)
        ends = _stacked([path.values[-1:] for path in flat], len(self.space.schema))
        return Paths(
            start=_stacked([self.routes[i][0].points[:1] for i in asked], width),
            ends=_stacked([p.points[-1:] for p in flat], width).reshape(n, k, width),
            reached=np.array([p.outcome is Outcome.REACHED for p in flat], bool).reshape(n, k),
            lengths=np.array([p.length for p in flat], float).reshape(n, k),
            steps=np.array([p.steps for p in flat], np.int64).reshape(n, k),
            changed=(ends != starts).sum(axis=1).reshape(n, k),
            nearness=self.nearness[asked],
        )

    @cached_property
    def nearness(self) -> Floats:
        """(n, k) the mean distance from each successful end to its nearest positives."""
        reached = np.array([path.outcome is Outcome.REACHED for path in self._flat], dtype=bool)
        near = np.full(len(reached), np.nan)
        if self.positives is not None and reached.any():
            ends = _stacked([path.points[-1:] for path in self._flat], self.space.width)
            near[reached] = nearest_distance(ends[reached], self.positives)
        return near.reshape(len(self.people), max(self._slots, 1))

    # ---- files ----------------------------------------------------------------------------

    def save(self, path: str | File) -> None:
        """Write everything to a `.parquet` or `.json` file, whole or not at all."""
        file = File(path)
        if file.suffix not in (".parquet", ".json"):
            raise ResultError(
                f"Can't save to {file.name!r}: expected a name that ends in .parquet or .json. "
                "For CSV write one of the frames, such as result.final.to_csv(…)."
            )
        unfinished = file.with_name(f".{file.name}.{uuid4().hex}")
        try:
            (self._write_json if file.suffix == ".json" else self._write_parquet)(unfinished)
            unfinished.replace(file)
        except OSError as error:
            raise ResultError(
                f"Can't save to {str(file)!r}: {error.strerror or error}. Choose a folder that "
                "is there, can be written to and has room."
            ) from error
        finally:
            unfinished.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | File) -> Recourse:
        """Read a result back from a file that `save` wrote."""
        file = File(path)
        if not file.is_file():
            raise ResultError(f"There is no result at {str(file)!r}.")
        try:
            return cls._read_json(file) if file.suffix == ".json" else cls._read_parquet(file)
        except ResultError:
            raise
        except (AttributeError, LookupError, OSError, TypeError, ValueError) as error:
            raise ResultError(
                f"{file.name!r} isn't a result saved by stepladder ({error}). "
                "Expected a file written by result.save()."
            ) from error

    def _facts(self) -> dict[str, Any]:
        """All that isn't rows, as plain values."""
        return {
            "format": FORMAT,
            "library": self.template.library,
            "dtypes": _said_dtypes(self.template),
            "schema": self.space.schema.to_dict(),
            "center": self.space.center.tolist(),
            "scale": self.space.scale.tolist(),
            "goal": asdict(self.goal),
            "settings": dict(self.settings),
            "reference": dict(self.reference),
            "paths": self._slots,
            "people": _said_labels(self.people),
            "people_dtype": str(self.people.dtype),
            "nearness": _without_nan(self.nearness),
        }

    @classmethod
    def _from_facts(cls, facts: dict[str, Any], space: Space, routes: list[list[Path]]) -> Recourse:
        result = cls(
            space=space,
            goal=Goal(**facts["goal"]),
            template=space.template,
            people=_objects(facts["people"]).astype(facts["people_dtype"]),
            routes=routes,
            settings=facts["settings"],
            reference=facts["reference"],
        )
        near = np.array(facts["nearness"], dtype=np.float64).reshape(
            len(routes), max(facts["paths"], 1)
        )
        result.__dict__["nearness"] = near  # the positives aren't saved, what they gave is
        return result

    def _write_json(self, file: File) -> None:
        rows = frames.read(self._rows).rows(named=True)
        entries, at = [], 0
        for path, slot, person in zip(
            self._flat, self._slot_of_path.tolist(), self._person_of_path.tolist(), strict=True
        ):
            entries.append(
                {
                    "person": person,
                    "path": slot,
                    "outcome": path.outcome.value,
                    "reason": path.reason,
                    "scores": _without_nan(path.scores),
                    "rows": [_plain_row(row) for row in rows[at : at + path.steps + 1]],
                    "points": _without_nan(path.points),
                }
            )
            at += path.steps + 1
        content = {**self._facts(), "routes": entries}
        file.write_text(json.dumps(content, allow_nan=False, default=_plain_cell), encoding="utf-8")

    @classmethod
    def _read_json(cls, file: File) -> Recourse:
        content = json.loads(file.read_text(encoding="utf-8"))
        entries = content["routes"]
        schema = Schema.from_dict(content["schema"])
        rows = pd.DataFrame(
            [row for entry in entries for row in entry["rows"]], columns=list(schema.columns)
        )
        return cls._from_rows(
            content,
            rows,
            lengths=[len(entry["scores"]) for entry in entries],
            outcomes=[(entry["outcome"], entry["reason"]) for entry in entries],
            scores=[s for entry in entries for s in entry["scores"]],
            points=[p for entry in entries for p in entry["points"]],
        )

    def _write_parquet(self, file: File) -> None:
        pyarrow, parquet = _parquet()
        rows = self._rows
        if self.template.library == "pandas":
            table = pyarrow.Table.from_pandas(rows, preserve_index=False)
        else:
            table = frames.read(rows).to_arrow()
        lengths = [path.steps + 1 for path in self._flat]
        points = _stacked([path.points for path in self._flat], self.space.width)
        extra = {
            "path": np.repeat(np.arange(len(lengths)), lengths),
            "score": _joined([path.scores for path in self._flat], np.float64),
            "point": list(points),
        }
        for name, column in extra.items():
            table = table.append_column(f"stepladder.{name}", pyarrow.array(column))
        facts = self._facts()
        facts["outcomes"] = [(path.outcome.value, path.reason) for path in self._flat]
        text = json.dumps(facts, allow_nan=False, default=_plain_cell)
        table = table.replace_schema_metadata({**(table.schema.metadata or {}), "stepladder": text})
        parquet.write_table(table, file)

    @classmethod
    def _read_parquet(cls, file: File) -> Recourse:
        _, parquet = _parquet()
        table = parquet.read_table(file)
        facts = json.loads((table.schema.metadata or {})[b"stepladder"])
        columns = {
            name: table[f"stepladder.{name}"].to_pylist() for name in ("path", "score", "point")
        }
        table = table.drop_columns([f"stepladder.{name}" for name in columns])
        rows: Frame = table
        if facts["library"] == "pandas":
            rows = table.to_pandas()
        elif facts["library"] == "polars":
            rows = importlib.import_module("polars").from_arrow(table)
        lengths = np.bincount(columns["path"], minlength=len(facts["outcomes"])).tolist()
        return cls._from_rows(
            facts, rows, lengths, facts["outcomes"], columns["score"], columns["point"]
        )

    @classmethod
    def _from_rows(
        cls,
        facts: dict[str, Any],
        rows: Frame,
        lengths: list[int],
        outcomes: Sequence[Sequence[str]],
        scores: list[Any],
        points: list[Any],
    ) -> Recourse:
        if facts["format"] != FORMAT:
            raise ResultError(
                f"The result was saved in format {facts['format']!r}, but this version of "
                f"stepladder reads {FORMAT!r}. Use the version that saved it."
            )
        template = _said_template(facts["dtypes"]) or Template.of(rows)
        schema = Schema.from_dict(facts["schema"])
        space = Space(schema, template, np.array(facts["center"]), np.array(facts["scale"]))
        values = space.read(rows, allow_missing=True)
        score = np.array(scores, dtype=np.float64)
        point = np.array(points, dtype=np.float64).reshape(len(score), space.width)
        flat, at = [], 0
        for (outcome, reason), length in zip(outcomes, lengths, strict=True):
            part = slice(at, at + length)
            flat.append(Path(Outcome(outcome), reason, values[part], point[part], score[part]))
            at += length
        slots = facts["paths"]
        if len(flat) != slots * len(facts["people"]) or set(template.columns) != set(
            schema.columns
        ):
            raise ValueError("its parts don't fit together")
        routes = [flat[i * slots : (i + 1) * slots] for i in range(len(facts["people"]))]
        return cls._from_facts(facts, space, routes)

    # ---- pieces ---------------------------------------------------------------------------

    @property
    def _slots(self) -> int:
        return len(self.routes[0]) if len(self.routes) else 0

    @cached_property
    def _flat(self) -> list[Path]:
        return [path for routes in self.routes for path in routes]

    @cached_property
    def _person_of_path(self) -> NDArray[Any]:
        return np.repeat(self.people, self._slots)

    @cached_property
    def _slot_of_path(self) -> NDArray[np.int64]:
        return np.tile(np.arange(self._slots), len(self.people))

    @cached_property
    def _starts(self) -> Floats:
        return _stacked([routes[0].values[:1] for routes in self.routes], len(self.space.schema))

    @cached_property
    def _ends(self) -> Floats:
        return _stacked([path.values[-1:] for path in self._flat], len(self.space.schema))

    @property
    def _rows(self) -> Frame:
        """Every row of every path, raw features only."""
        values = _stacked([path.values for path in self._flat], len(self.space.schema))
        return self.space.to_frame(values, self.template)

    def _frame(
        self,
        before: Mapping[str, NDArray[Any]],
        values: Floats,
        after: Mapping[str, NDArray[Any]] | None = None,
    ) -> Frame:
        rows = frames.read(self.space.to_frame(values, self.template))
        columns: dict[str, Any] = dict(before)
        for name in rows.columns:
            columns[_free_name(name, rows.columns)] = rows[name].to_native()
        return self._plain({**columns, **(after or {})})

    def _plain(self, columns: Mapping[str, Any]) -> Frame:
        if self.template.library != "pandas":
            columns = {
                name: [None if v is pd.NA else v for v in column.tolist()]
                if isinstance(column, np.ndarray | pd.api.extensions.ExtensionArray)
                else column
                for name, column in columns.items()
            }
        return self.template.build(columns)


def _free_name(name: str, features: Sequence[str]) -> str:
    """A feature's name in a result: the names of its own columns are taken."""
    shown = name
    while shown in TAKEN or (shown != name and shown in features):
        shown += "_"
    return shown


def _said_dtypes(template: Template) -> dict[str, Any] | None:
    """The dtypes of a pandas frame as plain values; None for other libraries."""
    if template.library != "pandas":
        return None
    return {name: _said_dtype(dtype) for name, dtype in template.empty.dtypes.items()}


def _said_dtype(dtype: Any) -> Any:
    if isinstance(dtype, pd.CategoricalDtype):
        return {"categories": dtype.categories.tolist(), "ordered": bool(dtype.ordered)}
    if isinstance(dtype, pd.ArrowDtype):  # its own name for text means another dtype to pandas
        return {"arrow": str(dtype.pyarrow_dtype)}
    return str(dtype)


def _dtype(said: Any) -> Any:
    if isinstance(said, dict) and "arrow" in said:
        return pd.ArrowDtype(importlib.import_module("pyarrow").type_for_alias(said["arrow"]))
    return pd.CategoricalDtype(**said) if isinstance(said, dict) else said


def _said_template(dtypes: Mapping[str, Any] | None) -> Template | None:
    """The template of a pandas frame whose dtypes were said so."""
    if dtypes is None:
        return None
    return Template(pd.DataFrame({n: pd.Series(dtype=_dtype(said)) for n, said in dtypes.items()}))


def _said_labels(people: NDArray[Any]) -> list[Any]:
    """What people are called, as plain values; dates as the whole numbers NumPy keeps."""
    said: list[Any] = people.astype(np.int64 if people.dtype.kind in "mM" else object).tolist()
    return said


def _joined(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=dtype)


def _stacked(parts: Sequence[Floats], width: int) -> Floats:
    return np.concatenate(parts) if parts else np.empty((0, width))


def _objects(cells: list[Any]) -> NDArray[Any]:
    """An object array, so that NumPy doesn't turn a mix of values into text."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


def _without_nan(array: Floats) -> Any:
    """Nested lists with None for NaN, which JSON doesn't know."""
    plain = array.astype(object)
    plain[np.isnan(array)] = None
    return plain.tolist()


def _plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: None if pd.isna(v) else v for name, v in row.items()}


def _plain_cell(value: Any) -> Any:
    """NumPy's scalars and dates as JSON knows them."""
    return value.item() if hasattr(value, "item") else str(value)


def _parquet() -> tuple[Any, Any]:
    try:
        return importlib.import_module("pyarrow"), importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise ExtraError("pyarrow", "parquet", "Saving to Parquet") from error
