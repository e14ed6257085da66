"""What a table's features are and how each may change.

Three kinds (numeric, ordinal, categorical), each with a `Change`: any, increase, decrease or
never. (Coming from DiCE: `features_to_vary` is every feature whose change isn't never, and
`permitted_range` is `bounds` or `levels`.)
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from numbers import Integral, Real
from pathlib import Path
from typing import Any, ClassVar

import narwhals.stable.v2 as nw
import numpy as np

from stepladder import frames
from stepladder.errors import (
    ColumnError,
    DtypeError,
    MissingValueError,
    SchemaError,
    listing,
    nearest,
)
from stepladder.frames import Frame

Level = bool | int | float | str
Bounds = tuple[float | None, float | None]


class Change(StrEnum):
    """How a feature may move away from the value a person has today."""

    ANY = "any"
    INCREASE = "increase"
    DECREASE = "decrease"
    NEVER = "never"


@dataclass(frozen=True, init=False, repr=False)
class _Feature:
    """What the three kinds share."""

    ordered: ClassVar[bool] = True
    kind: ClassVar[str]

    name: str
    change: Change = Change.ANY

    def __init__(self, name: str, change: Change | str) -> None:
        self._set(name=name)
        if not isinstance(name, str):
            raise self._wrong("name must be a text", name)
        if not name.strip():
            raise self._wrong("name must not be empty", name)
        try:
            self._set(change=Change(change))
        except ValueError:
            known = listing(how.value for how in Change)
            raise self._wrong(f"change must be one of {known}", change) from None

    def _set(self, **settings: Any) -> None:
        for key, value in settings.items():
            object.__setattr__(self, key, value)

    def _wrong(self, problem: str, *got: Any) -> SchemaError:
        """The error for this feature: what is wrong, and what came if it isn't in the sentence."""
        came = f", got {got[0]!r}" if got else ""
        return SchemaError(f"{type(self).__name__}({self.name!r}): {problem}{came}.")

    @property
    def columns(self) -> tuple[str, ...]:
        """The frame's columns this feature is read from."""
        return (self.name,)

    @property
    def settings(self) -> dict[str, Any]:
        """What was set beyond the name and the kind, as plain values."""
        said = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name != "name" and getattr(self, field.name) != field.default
        }
        if "change" in said:
            said["change"] = said["change"].value
        return {key: list(v) if isinstance(v, tuple) else v for key, v in said.items()}

    def __repr__(self) -> str:
        said = "".join(
            f", {key}={tuple(value) if isinstance(value, list) else value!r}"
            for key, value in self.settings.items()
        )
        return f"{type(self).__name__}({self.name!r}{said})"


@dataclass(frozen=True, init=False, repr=False)
class Numeric(_Feature):
    """A number: `bounds` (either end may be None), whole only, or at most so many decimals.

    >>> Numeric("income", bounds=(0, None))
    Numeric('income', bounds=(0.0, None))
    """

    kind: ClassVar[str] = "numeric"
    bounds: Bounds = (None, None)
    integer: bool = False
    decimals: int | None = None

    def __init__(
        self,
        name: str,
        *,
        change: Change | str = Change.ANY,
        bounds: Sequence[float | None] = (None, None),
        integer: bool = False,
        decimals: int | None = None,
    ) -> None:
        super().__init__(name, change)
        if not isinstance(integer, bool | np.bool_):
            raise self._wrong("integer must be True or False", integer)
        whole_number = isinstance(decimals, Integral) and not isinstance(decimals, bool)
        if decimals is not None and not (whole_number and 0 <= decimals <= 12):
            raise self._wrong("decimals must be a whole number between 0 and 12", decimals)
        if integer and decimals:
            raise self._wrong(f"integer=True means no decimals, but decimals={decimals}")
        self._set(
            bounds=self._pair(bounds),
            integer=bool(integer),
            decimals=None if decimals is None else int(decimals),
        )
        self._check_bounds()

    def _pair(self, bounds: Sequence[float | None]) -> Bounds:
        ends = list(bounds) if isinstance(bounds, Iterable) else []
        if len(ends) != 2 or not all(
            end is None or (isinstance(end, Real) and math.isfinite(end)) for end in ends
        ):
            raise self._wrong("bounds must be two numbers, None for an open end", bounds)
        low, high = (None if end is None else float(end) for end in ends)
        return low, high

    def _check_bounds(self) -> None:
        low, high = self.limits
        if low > high:
            raise self._wrong(f"bounds are the wrong way round: low {low:g} is above high {high:g}")
        if self.places is not None and low != -math.inf and high != math.inf:
            scale = 10.0**self.places
            if math.ceil(low * scale) > math.floor(high * scale):
                raise self._wrong(f"no allowed value lies within the bounds {low:g} to {high:g}")

    @property
    def limits(self) -> tuple[float, float]:
        """The bounds as floats, infinite where open."""
        low, high = self.bounds
        return (-math.inf if low is None else low, math.inf if high is None else high)

    @property
    def places(self) -> int | None:
        """How many decimals a value may have; None if any number."""
        return 0 if self.integer else self.decimals


@dataclass(frozen=True, init=False, repr=False)
class _Levelled(_Feature):
    """A feature whose values are levels out of a list."""

    levels: tuple[Level, ...] | None = None

    def __init__(self, name: str, change: Change | str, levels: Iterable[Level] | None) -> None:
        super().__init__(name, change)
        self._set(levels=None if levels is None else self._listed(levels))

    def _listed(self, levels: Iterable[Level]) -> tuple[Level, ...]:
        if isinstance(levels, str) or not isinstance(levels, Iterable):
            raise self._wrong("levels must be a list of levels, not one text or number", levels)
        # NumPy scalars become Python's, so that a schema can be written down.
        plain = tuple(v.item() if isinstance(v, np.generic) else v for v in levels)
        if not plain:
            raise self._wrong("levels must name at least one level", levels)
        for level in plain:
            odd_float = isinstance(level, float) and not math.isfinite(level)
            if odd_float or not isinstance(level, bool | int | float | str):
                raise self._wrong("levels must be texts, numbers or booleans", level)
        twice = [v for v, count in Counter(plain).items() if count > 1]
        if twice:
            raise self._wrong(f"levels name {twice[0]!r} more than once")
        return plain


@dataclass(frozen=True, init=False, repr=False)
class Ordinal(_Levelled):
    """A level on a ladder: `levels` from lowest to highest.

    >>> Ordinal("education", levels=["school", "bachelor", "master"], change="increase")
    Ordinal('education', change='increase', levels=('school', 'bachelor', 'master'))
    """

    kind: ClassVar[str] = "ordinal"

    def __init__(
        self,
        name: str,
        *,
        levels: Iterable[Level] | None = None,
        change: Change | str = Change.ANY,
    ) -> None:
        super().__init__(name, change, levels)
        if self.levels is None:
            raise SchemaError(
                f"Ordinal({name!r}) needs its levels, lowest first: "
                f'Ordinal({name!r}, levels=["low", "middle", "high"]).'
            )


@dataclass(frozen=True, init=False, repr=False)
class Categorical(_Levelled):
    """One of several unordered levels; without `levels`, those of the frame a space is fitted on.

    A category that the frame holds as several 0/1 columns names them, one a level:

    >>> Categorical("job", levels=["clerk", "smith"], onehot=["job_clerk", "job_smith"])
    Categorical('job', levels=('clerk', 'smith'), onehot=('job_clerk', 'job_smith'))
    """

    ordered: ClassVar[bool] = False
    kind: ClassVar[str] = "categorical"
    onehot: tuple[str, ...] | None = None

    def __init__(
        self,
        name: str,
        *,
        levels: Iterable[Level] | None = None,
        change: Change | str = Change.ANY,
        onehot: Sequence[str] | None = None,
    ) -> None:
        super().__init__(name, change, onehot if levels is None else levels)
        self._set(onehot=None if onehot is None else tuple(onehot))
        if self.change not in (Change.ANY, Change.NEVER):
            raise self._wrong(
                f"change={self.change.value!r} needs an order; make it Ordinal, "
                "or use change='any' or 'never'"
            )
        if self.onehot is not None:
            self._check_onehot(self.onehot, len(self.levels or ()))

    def _check_onehot(self, onehot: tuple[str, ...], levels: int) -> None:
        if not all(isinstance(column, str) for column in onehot):
            raise self._wrong("onehot must be a list of column names", onehot)
        if len(set(onehot)) < max(2, len(onehot)):
            raise self._wrong("onehot must name two or more different columns", onehot)
        if len(onehot) != levels:
            raise self._wrong(
                f"onehot names {len(onehot)} columns for {levels} levels; each level needs one "
                "column"
            )

    @property
    def columns(self) -> tuple[str, ...]:
        return self.onehot or (self.name,)


Feature = Numeric | Ordinal | Categorical
_KINDS: dict[str, type[Numeric] | type[Ordinal] | type[Categorical]] = {
    "numeric": Numeric,
    "ordinal": Ordinal,
    "categorical": Categorical,
}


@dataclass(frozen=True, repr=False)
class Schema:
    """The features of a table, in order: a frozen value that can be written to YAML and back."""

    features: tuple[Feature, ...]

    def __init__(self, features: Iterable[Feature]) -> None:
        features = tuple(features)
        for feature in features:
            if not isinstance(feature, Numeric | Ordinal | Categorical):
                raise SchemaError(
                    "A schema is a list of Numeric, Ordinal and Categorical features; "
                    f"got {feature!r} ({type(feature).__name__})."
                )
        if not features:
            raise SchemaError("A schema needs at least one feature; got none.")
        for what, names in (
            ("feature", [f.name for f in features]),
            ("column", [c for f in features for c in f.columns]),
        ):
            twice = [name for name, count in Counter(names).items() if count > 1]
            if twice:
                raise SchemaError(f"The schema names the {what} {twice[0]!r} more than once.")
        object.__setattr__(self, "features", features)

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.position(name)]

    def __repr__(self) -> str:
        return "Schema([\n" + "".join(f"    {f!r},\n" for f in self.features) + "])"

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The frame's columns, in the schema's order."""
        return tuple(c for f in self.features for c in f.columns)

    def position(self, name: str) -> int:
        """Where a feature stands; an unknown name is answered with the nearest right one."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(
                f"The schema has no feature {name!r}.{nearest(name, self.names)} "
                f"It has {listing(self.names)}."
            ) from None

    # ---- guessing -------------------------------------------------------------------------

    @classmethod
    def infer(
        cls,
        frame: Frame,
        *,
        never: Iterable[str] = (),
        increase: Iterable[str] = (),
        decrease: Iterable[str] = (),
        ordinal: Mapping[str, Sequence[Level]] | None = None,
        categorical: Iterable[str] = (),
        integer: Iterable[str] = (),
        bounds: Mapping[str, Bounds] | None = None,
        onehot: Mapping[str, Sequence[str]] | None = None,
    ) -> Schema:
        """A schema guessed from a frame's dtypes, and safely.

        Text, category and boolean columns are categorical with the levels seen; whole-number
        columns are integer; every other number is numeric. How many different values a
        numeric column holds plays no part. What a person can't change can't be guessed:
        name it in `never`, `increase` and `decrease`. `onehot` names groups of 0/1 columns that
        hold one category, such as `{"job": ["job_clerk", "job_smith"]}`.
        """
        table = frames.read(frame)
        ordinal, bounds, onehot = dict(ordinal or {}), dict(bounds or {}), dict(onehot or {})
        change = _changes(never=never, increase=increase, decrease=decrease)
        categorical = _listed("categorical", categorical)
        integer = _listed("integer", integer)
        grouped = {column: group for group, columns in onehot.items() for column in columns}
        names = list(dict.fromkeys(grouped.get(c, c) for c in table.columns))
        for asked in (change, ordinal, categorical, integer, bounds):
            for name in asked:
                if name not in names:
                    raise ColumnError(
                        f"The frame has no column {name!r}.{nearest(name, names)} "
                        f"It has {listing(names)}."
                    )
        for column in grouped:
            if column not in table.columns:
                raise ColumnError(
                    f"The frame has no column {column!r}.{nearest(column, table.columns)}"
                )

        def guess(name: str) -> Feature:
            how = change.get(name, Change.ANY)
            if name in onehot:
                return Categorical(name, onehot=onehot[name], change=how)
            if name in ordinal:
                return Ordinal(name, levels=ordinal[name], change=how)
            column = table[name]
            loose = column.dtype == nw.Object and _all_numbers(column)
            if name in categorical or not (column.dtype.is_numeric() or loose):
                return Categorical(name, levels=_guessed_levels(column, name), change=how)
            whole = name in integer or column.dtype.is_integer() or (loose and _all_whole(column))
            return Numeric(name, bounds=bounds.get(name, (None, None)), integer=whole, change=how)

        guessed = cls(guess(name) for name in names)
        for setting, asked in (("bounds", bounds), ("integer", integer)):
            for name in asked:
                if not isinstance(guessed[name], Numeric):
                    raise SchemaError(
                        f"{setting} is for numbers, but {name!r} is {guessed[name].kind}. Leave it "
                        f"out of {setting}, or pass a column of numbers."
                    )
        return guessed

    # ---- YAML -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain values only, as they stand in the YAML file."""
        return {"features": [{"name": f.name, "kind": f.kind, **f.settings} for f in self.features]}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        if not isinstance(content, Mapping) or not isinstance(content.get("features"), list):
            raise SchemaError(
                "A schema file holds a list under the key 'features', such as\n"
                "features:\n- name: income\n  kind: numeric"
            )
        return cls(_feature_from(entry, i) for i, entry in enumerate(content["features"], 1))

    def save(self, path: str | Path) -> None:
        import yaml  # only schemas on disk need it

        content = self.to_dict()
        text = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None)
        if yaml.safe_load(text) != content:  # YAML folds exotic line ends; escaped they survive
            text = yaml.safe_dump(content, sort_keys=False, default_flow_style=None)
        Path(path).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        import yaml

        try:
            content = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise SchemaError(f"There is no schema file at {str(path)!r}.") from None
        except UnicodeDecodeError as error:
            raise SchemaError(f"{path}: not UTF-8 text: {error}. Save it as UTF-8.") from error
        except yaml.YAMLError as error:
            mark = getattr(error, "problem_mark", None)
            where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
            problem = getattr(error, "problem", None) or error
            raise SchemaError(f"{path}{where}: not YAML: {problem}.") from error
        try:
            return cls.from_dict(content)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from error


def seen_levels(values: Iterable[Any]) -> tuple[Level, ...]:
    """The different values of a column, sorted; missing ones left out."""
    seen = {v for v in values if v is not None}
    try:
        return tuple(sorted(seen))
    except TypeError:  # a mix of types has no order of its own
        return tuple(sorted(seen, key=lambda v: (type(v).__name__, str(v))))


def _all_numbers(column: nw.Series[Any]) -> bool:
    present = [v for v in frames.values(column) if v is not None]
    return bool(present) and all(frames.is_number(v) for v in present)


def _all_whole(column: nw.Series[Any]) -> bool:
    return all(v is None or isinstance(v, Integral) for v in frames.values(column))


def _guessed_levels(column: nw.Series[Any], name: str) -> tuple[Level, ...]:
    present = [v for v in frames.values(column) if v is not None]
    if not present:
        raise MissingValueError(
            f"Column {name!r} holds no value at all, so it can't be guessed what it is. Drop it, "
            "or declare it in a Schema of your own."
        )
    known = bool | np.bool_ | str
    odd = [v for v in present if not isinstance(v, known) and not frames.is_number(v)]
    if odd:
        raise DtypeError(
            f"Column {name!r} holds {odd[0]!r} ({type(odd[0]).__name__}), which is neither a "
            "number nor a level. Turn it into a number (such as days since a date) or a text, "
            "or drop it."
        )
    return seen_levels(present)


def _listed(what: str, names: Iterable[str]) -> list[str]:
    """Names as a list; a single text is a slip, not a list of its letters."""
    if isinstance(names, str):
        raise SchemaError(f"{what}={names!r} must be a list of names: {what}=[{names!r}].")
    return list(names)


def _changes(**named: Iterable[str]) -> dict[str, Change]:
    """{feature: change} from the lists of `infer`, each feature in one list at most."""
    change: dict[str, Change] = {}
    for how, names in named.items():
        for name in _listed(how, names):
            if name in change and change[name] != how:
                raise SchemaError(
                    f"{name!r} is asked to change {change[name].value!r} and {how!r}."
                )
            change[name] = Change(how)
    return change


def _feature_from(entry: Any, number: int) -> Feature:
    if not isinstance(entry, Mapping) or "name" not in entry:
        raise SchemaError(f"Feature {number} of the file has no name; got {entry!r}.")
    settings = dict(entry)
    name, kind = settings.pop("name"), settings.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SchemaError(
            f"Feature {name!r} has the kind {kind!r}; expected one of {listing(_KINDS)}."
        )
    known = [field.name for field in fields(_KINDS[kind]) if field.name != "name"]
    for setting in settings:
        if setting not in known:
            raise SchemaError(
                f"Feature {name!r} has an unknown setting {setting!r}.{nearest(setting, known)} "
                f"A {kind} feature knows {', '.join(known)}."
            )
    return _KINDS[kind](name, **settings)
