"""dice-ml behind arrays. Imports dice-ml, so only `DiCE` imports it, and only when it is fitted.

DiCE sees a frame of its own: numbers as floats, categories as text. Rows come and go as arrays,
a category being its index in the list of levels. The library's explainers are kept as they are
but for what stands in the way of using them on many people under constraints:

- statistics of the table are worked out once, not again for every person;
- random sampling and the search for sparser rows, most of the time, run on arrays: the same
  draws, the same rows (tests/methods/test_dice.py compares them with the library's own);
- the tree holds the accepted rows that the person could become. The library looks through the
  10·k nearest rows of all, of which hardly any keeps a handful of features as they are;
- a random start of the genetic search that can't be found doesn't loop for ever.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from dice_ml.data_interfaces.public_data_interface import PublicData
from dice_ml.explainer_interfaces.dice_genetic import DiceGenetic, UserConfigValidationException
from dice_ml.explainer_interfaces.dice_KD import DiceKD
from dice_ml.explainer_interfaces.dice_random import DiceRandom
from dice_ml.model_interfaces.base_model import BaseModel
from numpy.typing import NDArray
from sklearn.neighbors import KDTree
from sklearn.preprocessing import LabelEncoder

from stepladder.table.space import Floats, Mask

Integers = NDArray[np.intp]
Ranges = Sequence[Sequence[float]]
"""For each column the lowest and highest number a person may be given, or the levels' indices."""

OUTCOME = "goal"
SEARCH_STEPS = 10_000
"""The library's own limit on the steps of one search for a sparser row."""
DRAWS = 2_000
"""How many random rows the genetic search tries to start from."""

Refusal = UserConfigValidationException
"""What the library raises when it finds nothing."""


@dataclass(frozen=True, eq=False)
class Declared:
    """The reference table as it's declared to DiCE.

    rows      (n, columns)
    levels    (columns,) how many levels a category has, 0 for a number
    decimals  (columns,) to how many decimals DiCE draws a number
    """

    rows: Floats
    levels: Integers
    decimals: Integers

    @cached_property
    def names(self) -> list[str]:
        """Of one length: the library finds the columns of a category by how they begin."""
        return [f"c{c:05d}" for c in range(len(self.levels))]

    @cached_property
    def numbers(self) -> Integers:
        return np.flatnonzero(self.levels == 0)

    @cached_property
    def categories(self) -> Integers:
        return np.flatnonzero(self.levels > 0)

    @cached_property
    def ends(self) -> tuple[Floats, Floats]:
        return self.rows.min(axis=0), self.rows.max(axis=0)

    @cached_property
    def _dtypes(self) -> dict[int, pd.CategoricalDtype]:
        # Padded, so that the library's label encoders, which sort, count as we do.
        return {
            int(c): pd.CategoricalDtype([f"{level:05d}" for level in range(self.levels[c])])
            for c in self.categories
        }

    def shown(self, column: int, codes: Sequence[float]) -> list[str]:
        known = self._dtypes[column].categories
        return [str(known[int(code)]) for code in codes]

    def frame(self, rows: Floats) -> pd.DataFrame:
        built: dict[str, Any] = {}
        for c, name in enumerate(self.names):
            kind = self._dtypes.get(c)
            column = rows[:, c]
            built[name] = (
                column
                if kind is None
                else pd.Categorical.from_codes(column.astype(np.intp).tolist(), dtype=kind)
            )
        return pd.DataFrame(built)

    def array(self, frame: pd.DataFrame) -> Floats:
        """The rows of a frame that the library made, whatever it did to the dtypes."""
        columns = [frame[name].to_numpy() for name in self.names]
        return np.stack([column.astype(np.float64) for column in columns], axis=1)


class Data(PublicData):  # type: ignore[misc]  # dice-ml ships no types
    """A table that answers the library's questions about it from memory."""

    def __init__(self, declared: Declared, quantile: float) -> None:
        names, low, high = declared.names, *declared.ends
        self.declared = declared
        self._ranges: dict[str, list[Any]] = {
            name: declared.shown(c, range(declared.levels[c]))
            if declared.levels[c]
            else [low[c], high[c]]
            for c, name in enumerate(names)
        }
        frame = declared.frame(declared.rows)
        frame[OUTCOME] = 0
        super().__init__(
            {
                "dataframe": frame,
                "continuous_features": [names[c] for c in declared.numbers],
                "outcome_name": OUTCOME,
                "continuous_features_precision": {
                    names[c]: int(declared.decimals[c]) for c in declared.numbers
                },
            }
        )
        self._mads = super().get_valid_mads()
        self._quantiles = super().get_quantiles_from_training_data(quantile=quantile)
        ends = np.zeros((2, len(names)))
        ends[:, declared.numbers] = np.stack([low, high])[:, declared.numbers]
        self.data_df = declared.frame(ends).assign(**{OUTCOME: 0})  # all that is still asked for

    @property
    def reach(self) -> list[tuple[int, float]]:
        """How far from the person's a number may be to be moved back; the widest first."""
        reach = {name: min(self._quantiles[name], self._mads[name]) for name in self._quantiles}
        wide = sorted(reach.items(), key=lambda item: item[1], reverse=True)
        return [(self.feature_names.index(name), float(far)) for name, far in wide]

    def _set_feature_dtypes(self, data_df: Any, *_: Any) -> Any:
        return data_df  # they're right already; the library would make numbers float32

    def get_features_range(
        self, permitted_range_input: Any = None, features_dict: Any = None
    ) -> Any:
        usual = dict(self._ranges)
        return {**usual, **(permitted_range_input or {})}, usual

    def get_valid_mads(
        self, normalized: bool = False, display_warnings: bool = False, return_mads: bool = True
    ) -> Any:
        if not normalized:
            return dict(self._mads)
        spans = {name: self._ranges[name][1] - self._ranges[name][0] for name in self._mads}
        return {name: mad / spans[name] if spans[name] else 1.0 for name, mad in self._mads.items()}

    def get_quantiles_from_training_data(
        self, quantile: float = 0.05, normalized: bool = False
    ) -> Any:
        return dict(self._quantiles)

    def fit_label_encoders(self) -> dict[str, LabelEncoder]:
        return {
            name: LabelEncoder().fit(self._ranges[name]) for name in self.categorical_feature_names
        }


class Asked(BaseModel):  # type: ignore[misc]  # dice-ml ships no types
    """A model of two classes, the second being the goal; above ½ the goal is met."""

    model_type = "classifier"

    def __init__(self, declared: Declared, share: Callable[[Floats], Floats]) -> None:
        super().__init__(model=share, backend="sklearn")
        self.declared = declared

    def get_output(self, input_instance: Any, model_score: bool = True) -> Any:
        share = self.model(self.declared.array(input_instance))
        return np.column_stack([1.0 - share, share]) if model_score else np.rint(share)


# ---- random sampling, on arrays ---------------------------------------------------------------

Random = DiceRandom
"""The library's own, for comparison."""


def sampled(
    declared: Declared,
    start: Floats,
    vary: Integers,
    ranges: Ranges,
    met: Callable[[Floats], Mask],
    *,
    paths: int,
    samples: int,
    seed: int,
) -> Floats:
    """What the library's `DiceRandom` finds for one person: at most `paths` rows.

    One column of every sample takes a random value, then one more, and so on, until there are
    enough rows that meet the goal; some of those are picked at random. The draws are the
    library's, in its order, from generators of our own instead of the global ones.
    """
    numbers = np.random.RandomState(seed)  # the kind the library draws from
    choices = _python_generator(seed)
    drawn = np.repeat(start[None], samples, axis=0)
    for c in np.sort(vary):
        if declared.levels[c]:
            shares = choices.random_sample(samples)
            drawn[:, c] = np.asarray(ranges[c])[(shares * len(ranges[c])).astype(np.intp)]
            continue
        (low, high), decimals = ranges[c], int(declared.decimals[c])
        if decimals == 0:
            drawn[:, c] = numbers.randint(int(low), int(high) + 1, samples)
        else:
            drawn[:, c] = numbers.uniform(low, high + 10**-decimals, samples).round(decimals)
    rows, each = np.repeat(start[None], samples, axis=0), np.arange(samples)
    found = np.empty((0, len(start)))
    for changed in range(1, len(vary) + 1):
        picked = numbers.choice(vary, (samples, 1), replace=True)[:, 0]
        rows[each, picked] = drawn[each, picked]
        valid = met(rows)
        if valid.any():
            found = _distinct(np.concatenate([found, rows[valid]]))
            if changed >= 2 and len(found) >= paths:
                break
    if len(found) > paths:
        found = found[numbers.choice(len(found), paths, replace=False)]
    return found


def _python_generator(seed: int) -> np.random.RandomState:
    """`random.Random(seed)`, which the library picks levels with, for many draws at a time."""
    *key, position = random.Random(seed).getstate()[1]
    numbers = np.random.RandomState()
    numbers.set_state(("MT19937", np.array(key, dtype=np.uint32), position, 0, 0.0))
    return numbers


def _distinct(rows: Floats) -> Floats:
    """Each row once, where it comes first."""
    plain = np.ascontiguousarray(rows + 0.0)  # no negative zeros: bytes are compared
    keys = plain.view(np.dtype((np.void, plain.itemsize * plain.shape[1])))[:, 0]
    return rows[np.sort(np.unique(keys, return_index=True)[1])]


def sparser(
    declared: Declared,
    rows: Floats,
    start: Floats,
    reach: list[tuple[int, float]],
    met: Callable[[Floats], Mask],
) -> Floats:
    """Numbers near the person's own, moved towards it for as long as the goal is met.

    The library's "linear" search: one smallest unit at a time, the widest column first.
    """
    rows = rows.copy()
    for row in rows:
        for c, far in reach:
            if abs(start[c] - row[c]) <= far:
                row[c] = _moved(row, c, start[c], int(declared.decimals[c]), met)
    return rows


def _moved(row: Floats, c: int, goal: float, decimals: int, met: Callable[[Floats], Mask]) -> float:
    gap = goal - row[c]
    if abs(gap) <= 10e-4:
        return float(row[c])
    steps = np.full(SEARCH_STEPS + 1, np.sign(gap) * 10**-decimals)
    steps[0] = row[c]
    values = np.add.accumulate(steps)
    gaps = goal - values
    over = (np.abs(gaps[1:]) <= 10e-4) | (gaps[1:] * gaps[:-1] <= 0)
    last = int(over.argmax()) + 1 if over.any() else SEARCH_STEPS
    done, size = 0, 16
    while done < last:
        ahead = values[done + 1 : min(done + size, last) + 1]
        asked = np.repeat(row[None], len(ahead), axis=0)
        asked[:, c] = ahead
        missed = ~met(asked)
        if missed.any():
            return float(values[done + int(missed.argmax())])
        done, size = done + len(ahead), size * 4
    return float(values[last])


# ---- the library's other searches, for one person under constraints ---------------------------


class _OfReachable:
    """A tree of the accepted rows that the person could become: set `reachable` before."""

    reachable: Floats
    least = 0
    """Rows are repeated until there are so many."""

    def build_KD_tree(self, *_: Any) -> tuple[Any, KDTree | None, Any]:  # noqa: N802  # theirs
        declared: Declared = self.data_interface.declared  # type: ignore[attr-defined]
        rows = self.reachable
        if 0 < len(rows) < self.least:
            rows = np.resize(rows, (self.least, rows.shape[1]))
        frame = declared.frame(rows)
        tree = KDTree(pd.get_dummies(frame).to_numpy(np.float64)) if len(rows) else None
        frame[OUTCOME] = 0
        frame[self.predicted_outcome_name] = 1  # type: ignore[attr-defined]
        return frame, tree, np.ones(len(rows))


class Tree(_OfReachable, DiceKD):  # type: ignore[misc]  # dice-ml ships no types
    """The nearest accepted rows of the table."""


class Genetic(_OfReachable, DiceGenetic):  # type: ignore[misc]  # dice-ml ships no types
    """Rows bred from the nearest accepted ones."""

    def do_random_init(
        self, num_inits: int, features_to_vary: Any, query_instance: Any, *_: Any
    ) -> Floats:
        """Random rows, those that meet the goal first; the library draws until all do."""
        declared: Declared = self.data_interface.declared
        rows = np.repeat(np.asarray(query_instance, dtype=np.float64)[None], DRAWS, axis=0)
        for c, name in enumerate(declared.names):
            if name not in features_to_vary:
                continue
            if declared.levels[c]:
                rows[:, c] = np.random.choice(self.feature_range[name], DRAWS)  # noqa: NPY002
            else:
                low, high = self.feature_range[name]
                drawn = np.random.uniform(low, high, DRAWS)  # noqa: NPY002  # theirs, seeded
                rows[:, c] = drawn.round(int(declared.decimals[c]))
        fits = self.predict_fn_scores(rows)[:, 1] >= self.stopping_threshold
        order = np.argsort(~fits, kind="stable")
        return np.asarray(np.resize(rows[order], (num_inits, rows.shape[1])))

    def label_decode(self, labelled_input: Any) -> pd.DataFrame:
        rows = np.atleast_2d(np.asarray(labelled_input, dtype=np.float64))
        return self.data_interface.declared.frame(rows)  # type: ignore[no-any-return]
