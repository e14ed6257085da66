"""A result as JSON: one object, written batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

import numpy as np
import pandas as pd

from stepladder.result.archive.content import Content, facts, file_names
from stepladder.result.archive.kinds import plain_labels, to_labels
from stepladder.result.archive.writer import Writer, own_points, to_json
from stepladder.result.path import Path
from stepladder.result.recourse import Recourse
from stepladder.table.feature import Categorical
from stepladder.table.space import Floats, Space


class JsonWriter(Writer):
    """One object: the run, a list of people with their paths, and totals."""

    def write(self, result: Recourse) -> None:
        if not self.begun:
            self.stream.write(f'{{"run": {to_json(facts(result))},\n"people": ['.encode())
        names = file_names(result.template.columns)
        labels, points = plain_labels(result.people), iter(own_points(result))
        for i, (label, routes) in enumerate(zip(labels, result.routes, strict=True)):
            paths = [
                {
                    "path": k,
                    "outcome": path.outcome.value,
                    "reason": path.reason,
                    "nearness": number(result.nearness[i, k]),
                    "efforts": _numbers(path.efforts),
                    "ranks": _numbers(path.ranks),
                    "tight": path.tight,
                    "holds": number(path.holds),
                    "rows": _json_rows(result, path, names, points),
                }
                for k, path in enumerate(routes)
            ]
            comma = "," if self.people or i else ""
            self.stream.write(f"{comma}\n{to_json({'person': label, 'paths': paths})}".encode())

    def close(self, totals: Mapping[str, Any]) -> None:
        self.stream.write(f'\n],\n"totals": {to_json(totals)}}}\n'.encode())


def _json_rows(
    result: Recourse, path: Path, names: Sequence[str], points: Iterator[Floats | None]
) -> list[dict[str, Any]]:
    rows = []
    for step, (values, score) in enumerate(zip(path.values, path.scores, strict=True)):
        cells = _cells(result.space, values)
        row = {name: cells[c] for name, c in zip(names, result.template.columns, strict=True)}
        row = {"step": step, **row, "score": number(score)}
        if (point := next(points)) is not None:
            row["point"] = _numbers(point)
        rows.append(row)
    return rows


def _cells(space: Space, values: Floats) -> dict[str, Any]:
    """A row (features,) as plain values by its raw columns; None where one is missing."""
    cells: dict[str, Any] = {}
    for f, feature in enumerate(space.schema.features):
        value = float(values[f])
        if isinstance(feature, Categorical) and feature.onehot:
            for code, name in enumerate(feature.onehot):
                cells[name] = None if np.isnan(value) else int(value == code)
        else:
            cells[feature.name] = None if np.isnan(value) else space.shown(f, value)
    return cells


def number(value: float) -> float | None:
    """A number, or None for NaN, which JSON doesn't know."""
    return None if np.isnan(value) else float(value)


def _numbers(values: Floats | None) -> list[float | None] | None:
    return None if values is None else [number(value) for value in values]


def read_json(file: File) -> Content:
    content = json.loads(file.read_text(encoding="utf-8"))
    run, people = content["run"], content["people"]
    paths = [path for person in people for path in person["paths"]]
    rows = [row for path in paths for row in path["rows"]]
    columns = run["columns"]
    names = file_names(columns, run["format"])
    return Content(
        run=run,
        totals=content["totals"],
        people=to_labels([person["person"] for person in people], run["labels"]["dtype"]),
        slots=np.array([path["path"] for path in paths], dtype=np.int64),
        outcomes=[path["outcome"] for path in paths],
        reasons=[path["reason"] for path in paths],
        nearness=np.array([path["nearness"] for path in paths], dtype=np.float64),
        lengths=np.array([len(path["rows"]) for path in paths], dtype=np.int64),
        rows=pd.DataFrame([[row[name] for name in names] for row in rows], columns=columns),
        scores=np.array([row["score"] for row in rows], dtype=np.float64),
        points=[row.get("point") for row in rows],
        efforts=[path.get("efforts") for path in paths],  # a file of the format before has none
        ranks=[path.get("ranks") for path in paths],
        tight=[path.get("tight", False) for path in paths],
        holds=np.array([path.get("holds") for path in paths], dtype=np.float64),
    )
