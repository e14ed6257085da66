"""What the writers of all kinds of files share."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from stepladder.privacy.pay import Guarantee
from stepladder.result.archive.content import encoded
from stepladder.result.recourse import Recourse
from stepladder.table.space import Floats


class Writer(ABC):
    """Writes results to an open file: any number of batches of one run, and then the end."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self.people = self.dropped = 0
        self.asked: Counter[str] = Counter()
        self.privacy: Guarantee | None = None
        self.begun = False

    def add(self, result: Recourse) -> None:
        """Write the paths of a batch of people."""
        self.write(result)
        self.begun = True
        self.people += len(result.people)
        self.dropped += result.dropped
        self.asked.update(result.asked)
        self.privacy = result.privacy

    def end(self) -> None:
        """Write what closes the file, if there is one."""
        if self.begun:
            self.close(
                {
                    "people": self.people,
                    "dropped": self.dropped,
                    "asked": dict(self.asked),
                    "privacy": None if self.privacy is None else self.privacy.to_dict(),
                }
            )
            self.begun = False

    @abstractmethod
    def write(self, result: Recourse) -> None:
        """Write a batch's people and their paths; before the first, what holds for all."""

    @abstractmethod
    def close(self, totals: Mapping[str, Any]) -> None:
        """Write what is known in the end."""


def own_points(result: Recourse) -> list[Floats | None]:
    """The points of all rows that aren't those of their rows; None for the others."""
    flat = [path for routes in result.routes for path in routes]
    if not flat:
        return []
    points = np.concatenate([path.points for path in flat])
    expected = encoded(result.space, np.concatenate([path.values for path in flat]))
    same = (points == expected) | (np.isnan(points) & np.isnan(expected))
    return [
        None if is_same else point for point, is_same in zip(points, same.all(axis=1), strict=True)
    ]


def to_json(content: Any) -> str:
    return json.dumps(content, allow_nan=False, default=_plain)


def _plain(value: Any) -> Any:
    """NumPy's scalars and dates as JSON knows them."""
    return value.item() if hasattr(value, "item") else str(value)
