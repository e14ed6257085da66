"""Rows as the tensors that a model from elsewhere declares: one for each column, or one for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ModelError
from stepladder.table import frames

Tensors = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Declared:
    """An input as a model declares it: `dtype` is NumPy's, object for text."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...]

    @property
    def width(self) -> int | None:
        """How many columns it takes; None if it doesn't say."""
        return 1 if len(self.shape) < 2 else self.shape[1]


class Declaring:
    """A model that declares its inputs, and says what it takes as scikit-learn's models do.

    name      what it's called where something goes wrong
    declared  one input for each column, named after it, or a single one for all columns
    """

    def __init__(self, name: str, declared: Sequence[Declared]) -> None:
        deep = [i for i in declared if len(i.shape) > 2]
        wide = [i for i in declared if i.width != 1]
        if not declared or deep or (wide and len(declared) > 1):
            shapes = ", ".join(f"{i.name} {list(i.shape)}" for i in declared) or "nothing"
            raise ModelError(
                f"The model {name} takes {shapes}. Expected one input for each column, named "
                "after it, or a single one for all columns."
            )
        self.__qualname__ = name
        self.declared = declared
        self.is_matrix = bool(wide)
        if not wide:
            self.feature_names_in_ = [i.name for i in declared]
        elif wide[0].width is not None:
            self.n_features_in_ = wide[0].width

    def lay_out(self, rows: Any) -> Tensors:
        """The tensors for a frame of n rows, or for its cells (n, columns)."""
        if self.is_matrix:
            cells = rows if isinstance(rows, np.ndarray) else frames.read(rows).to_numpy()
            return {self.declared[0].name: self._as(self.declared[0], cells)}
        columns = frames.cells(rows, [i.name for i in self.declared])
        return {
            i.name: self._as(i, columns[i.name]).reshape((-1, 1)[: max(1, len(i.shape))])
            for i in self.declared
        }

    def _as(self, declared: Declared, cells: NDArray[Any]) -> NDArray[Any]:
        if declared.dtype == object:
            return np.array([str(cell) for cell in cells.flat], dtype=object).reshape(cells.shape)
        try:
            given = cells.astype(np.float64)
        except (TypeError, ValueError):
            raise ModelError(
                f"The model {self.__qualname__} takes numbers as {declared.name!r}, but got "
                f"{_odd(cells)!r}. Give it the columns it was trained on."
            ) from None
        laid = given.astype(declared.dtype)
        if declared.dtype.kind in "iu" and (laid != given).any():
            raise ModelError(
                f"The model {self.__qualname__} takes whole numbers as {declared.name!r}, but got "
                f"{given[laid != given][0]:g}. Set integer: true for it in the schema."
            )
        return laid


def _odd(cells: NDArray[Any]) -> Any:
    """The first cell that isn't a number."""
    return next((cell for cell in cells.flat if not frames.is_number(cell)), cells.flat[0])
