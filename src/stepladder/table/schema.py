"""The features of a table: guessed from a frame, written to YAML and read back."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from stepladder import markup
from stepladder.errors import (
    ColumnError,
    DtypeError,
    MissingValueError,
    SchemaError,
    listing,
    nearest,
)
from stepladder.files import replacing
from stepladder.table import frames
from stepladder.table.amounts import amount, value
from stepladder.table.feature import Bounds, Categorical, Change, Feature, Level, Numeric, Ordinal
from stepladder.table.frames import Frame

_KINDS: dict[str, type[Numeric] | type[Ordinal] | type[Categorical]] = {
    "numeric": Numeric,
    "ordinal": Ordinal,
    "categorical": Categorical,
}

FEW_DECIMALS = 4
"""Up to how many decimals a column is taken to mean them."""

MOST_LEVELS = 8
"""How many levels of a feature a notebook shows."""


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

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(f.name, _called(f), f.kind, f.change.value, allowed(f)) for f in self.features]
        return markup.block(
            f"Schema of {len(self)} features",
            markup.table(["feature", "called", "kind", "may change", "allowed"], rows),
        )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f.name for f in self.features)

    @property
    def columns(self) -> tuple[str, ...]:
        """The frame's columns, in the schema's order."""
        return tuple(c for f in self.features for c in f.columns)

    @property
    def levels(self) -> dict[str, tuple[Level, ...]]:
        """The levels that each ordinal and category declares; none for one that doesn't."""
        return {f.name: f.levels or () for f in self.features if not isinstance(f, Numeric)}

    def set_aside(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of a table's columns that no feature uses."""
        return tuple(column for column in columns if column not in self.columns)

    def position(self, name: str) -> int:
        """The index of a feature; the error for an unknown name suggests the nearest right one."""
        try:
            return self.names.index(name)
        except ValueError:
            raise SchemaError(
                f"The schema has no feature {name!r}.{nearest(name, self.names)} "
                f"It has {listing(self.names)}."
            ) from None

    @property
    def rules(self) -> Schema:
        """The same schema without labels, units and other words: two that say the same are equal.

        What was planned or saved under one schema holds under any other with the same rules.
        """
        return Schema(feature.rules for feature in self.features)

    def differs_in(self, fitted: Schema) -> str | None:
        """The first feature on which a fitted schema differs; None if there's none.

        Words such as labels and units play no part. A category whose levels are undeclared here
        agrees with any levels that were learned.
        """
        if set(self.names) != set(fitted.names):
            return next(iter(set(self.names) ^ set(fitted.names)))
        for feature in self.features:
            other = fitted[feature.name]
            undeclared = isinstance(feature, Categorical) and feature.levels is None
            if undeclared and isinstance(other, Categorical):
                agrees = feature.change is other.change
            else:
                agrees = feature.rules == other.rules
            if not agrees:
                return feature.name
        return None

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

        Text, category and boolean columns are categorical with the levels seen, or ordinal where
        their dtype says that it's ordered (pandas' categories and Arrow's dictionaries can). A
        polars Enum is categorical with all of its levels: it lists what there is, and doesn't say
        that more is higher. Whole-number columns are integer; every other number is numeric, with
        as many decimals as the column has, if those are few (`FEW_DECIMALS`). How many different
        values a numeric column holds plays no part. What a person can't change can't be guessed:
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
            if name not in categorical and (levels := frames.order(table, name)) is not None:
                _refuse_odd(levels, name)
                return Ordinal(name, levels=levels, change=how)
            loose = column.dtype == nw.Object and _all_numbers(column)
            if name in categorical or not (column.dtype.is_numeric() or loose):
                return Categorical(name, levels=_guessed_levels(column, name), change=how)
            whole = name in integer or column.dtype.is_integer() or (loose and _all_whole(column))
            ends, decimals = bounds.get(name, (None, None)), None
            if not whole:
                decimals = _few_decimals(frames.numbers(column, name), ends)
            return Numeric(name, bounds=ends, integer=whole, decimals=decimals, change=how)

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
        """Plain values only, as they are in the YAML file."""
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
        with replacing(Path(path)) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        try:
            text = Path(path).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise SchemaError(f"There is no schema file at {str(path)!r}.") from None
        except UnicodeDecodeError as error:
            raise SchemaError(f"{path}: not UTF-8 text: {error}. Save it as UTF-8.") from error
        content = _from_yaml(text, path)
        try:
            return cls.from_dict(content)
        except SchemaError as error:
            raise SchemaError(f"{path}: {error}") from error


def _called(feature: Feature) -> str:
    """What people call a feature, and its changes where they have a name of their own."""
    changes = [getattr(feature, way, "") for way in ("rise", "fall")]
    return "; ".join([feature.label, *(f"“{change}”" for change in changes if change)])


def allowed(feature: Feature) -> str:
    """What a feature's values can be, in short.

    >>> allowed(Numeric("income", bounds=(0, None), integer=True, unit="$ a month"))
    'from $0 a month, in steps of $1'
    """
    if not isinstance(feature, Numeric):
        levels = [value(feature, level) for level in feature.levels or ()]
        words = _few(levels, " < " if feature.ordered else ", ") or "the levels of the table"
        if feature.columns != (feature.name,):
            words += f"; columns: {_few(feature.columns, ', ')}"
        return words
    unit = f" ({feature.unit})" if feature.unit else ""
    words = _range(feature, *feature.bounds) or f"any number{unit}"
    if feature.most_decimals is not None:
        words += f", in steps of {amount(feature, 10**-feature.most_decimals)[0]}"
    if feature.typical is not None:
        words += f"; typical: {_range(feature, *feature.typical)}"
    return words


def _few(items: Sequence[str], between: str) -> str:
    rest = len(items) - MOST_LEVELS
    return between.join(items[:MOST_LEVELS]) + (f", … ({rest} more)" if rest > 0 else "")


def _range(feature: Numeric, low: float | None, high: float | None) -> str:
    """Two ends in words; empty if both are open."""
    if low is None:
        return "" if high is None else f"up to {value(feature, high)}"
    if high is None:
        return f"from {value(feature, low)}"
    return f"{amount(feature, low)[0]} to {value(feature, high)}"


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


def _few_decimals(numbers: NDArray[np.float64], bounds: Bounds) -> int | None:
    """With how many decimals a column and its bounds are written; None if they're many, or the
    column holds no number."""
    if not np.isfinite(numbers).any():
        return None
    ends = [end for end in bounds if frames.is_number(end)]  # anything else is refused elsewhere
    seen = np.append(numbers, np.array(ends, dtype=np.float64))
    seen = seen[np.isfinite(seen)]
    return next((d for d in range(FEW_DECIMALS + 1) if (seen.round(d) == seen).all()), None)


def _guessed_levels(column: nw.Series[Any], name: str) -> tuple[Level, ...]:
    if isinstance(column.dtype, nw.Enum):  # it knows them, seen or not
        _refuse_odd(column.dtype.categories, name)
        return tuple(column.dtype.categories)
    present = [v for v in frames.values(column) if v is not None]
    if not present:
        raise MissingValueError(
            f"Column {name!r} holds no value at all, so what it is can't be guessed. Drop it, "
            "or declare it in a Schema of your own."
        )
    _refuse_odd(present, name)
    return seen_levels(present)


def _refuse_odd(present: Iterable[Any], name: str) -> None:
    """Refuse what is neither a number nor a level."""
    for v in present:
        if isinstance(v, bool | np.bool_ | str) or frames.is_number(v):
            continue
        is_time = isinstance(v, dt.date | dt.time | dt.timedelta)
        what = f"dates or times, such as {v}" if is_time else f"{v!r} ({type(v).__name__})"
        raise DtypeError(
            f"Column {name!r} holds {what}; expected numbers, texts or booleans. Drop it, or turn "
            f"it into {'a number, such as days since then' if is_time else 'one of these'}."
        )


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


def _from_yaml(text: str, path: str | Path) -> Any:
    """What YAML says, in which no key appears twice: neither of two rules is dropped silently."""
    import yaml

    class Loader(yaml.SafeLoader):
        """Refuses a key that appears twice, and says where a value can't be read."""

        def compose_mapping_node(self, anchor: Any) -> Any:
            node, seen = super().compose_mapping_node(anchor), set[tuple[str, str]]()
            for key, _ in node.value:
                if (key.tag, str(key.value)) in seen:
                    raise yaml.MarkedYAMLError(
                        problem=f"{key.value!r} appears here a second time; keep one of the two",
                        problem_mark=key.start_mark,
                    )
                seen.add((key.tag, str(key.value)))
            return node

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            try:
                return super().construct_object(node, deep)
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise yaml.MarkedYAMLError(
                    problem=f"{str(node.value)[:40]!r} can't be read as what it looks like "
                    f"({error}); put it in quotes if it's text",
                    problem_mark=node.start_mark,
                ) from error

    where = ""
    try:
        return yaml.load(text, Loader)
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        where = _position(before.count("\n"), len(before) - before.rfind("\n") - 1)
        raise SchemaError(
            f"{path}{where}: the character U+{error.character:04X} can't be in YAML. Delete it."
        ) from error
    except RecursionError:
        raise SchemaError(f"{path}: not YAML of a schema: it's nested too deeply.") from None
    except yaml.YAMLError as error:
        if mark := getattr(error, "problem_mark", None):
            where = _position(mark.line, mark.column)
        problem = getattr(error, "problem", None) or error
        raise SchemaError(f"{path}{where}: not YAML: {problem}.") from error


def _position(line: int, column: int) -> str:
    """Where something is in a file, counted from 0 here and from 1 by people."""
    return f", line {line + 1}, column {column + 1}"


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
