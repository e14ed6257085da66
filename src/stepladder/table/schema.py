"""The features of a table: guessed from a frame, written to YAML and read back."""

from __future__ import annotations

import datetime as dt
import inspect
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
from stepladder.table import frames, schema_file
from stepladder.table.allowed import allowed, called, may_change
from stepladder.table.derived import Worked, in_working_order
from stepladder.table.feature import (
    Bounds,
    Categorical,
    Change,
    Derived,
    Feature,
    Level,
    Numeric,
    Ordinal,
)
from stepladder.table.formula import Bound, Formula
from stepladder.table.frames import Frame

_KINDS: dict[str, type[Numeric] | type[Ordinal] | type[Categorical] | type[Derived]] = {
    "numeric": Numeric,
    "ordinal": Ordinal,
    "categorical": Categorical,
    "derived": Derived,
}

_KEYS = ("features", "require")
"""The keys of a schema's file."""


FEW_DECIMALS = 4
"""Up to how many decimals a column is taken to mean them."""


@dataclass(frozen=True, repr=False)
class Schema:
    """The features of a table, in order: a frozen value that can be written to YAML and back.

    `require` are requirements between features, such as "loan <= price", that every row of every
    step keeps; they're written as the formulas of derived features are.
    """

    features: tuple[Feature, ...]
    require: tuple[str, ...]

    def __init__(self, features: Iterable[Feature], require: Iterable[str] = ()) -> None:
        features = tuple(features)
        for feature in features:
            if not isinstance(feature, Numeric | Ordinal | Categorical | Derived):
                raise SchemaError(
                    "A schema is a list of Numeric, Ordinal, Categorical and Derived features; "
                    f"got {feature!r} ({type(feature).__name__})."
                )
        if not features:
            raise SchemaError("A schema needs at least one feature; got none.")
        for what, names in (
            ("feature", [(f.name, i) for i, f in enumerate(features)]),
            ("column", [(c, i) for i, f in enumerate(features) for c in f.columns]),
        ):
            twice = [name for name, count in Counter(n for n, _ in names).items() if count > 1]
            if twice:
                last = max(i for name, i in names if name == twice[0])
                raise SchemaError(
                    f"The schema names the {what} {twice[0]!r} more than once.", "features", last
                )
        object.__setattr__(self, "features", features)
        with SchemaError.within("require"):
            object.__setattr__(self, "require", _texts(require))
        self._check_formulas()
        object.__setattr__(self, "_derived", in_working_order(features))

    def _check_formulas(self) -> None:
        """Refuse a formula or a requirement that can't be worked out for a row."""
        for i, feature in enumerate(self.features):
            if isinstance(feature, Derived) and (formula := feature.parsed) is not None:
                with SchemaError.within("features", i, "formula"):
                    if bound := self._bound(formula, f"The formula of {feature.name!r}"):
                        feature.check_result(bound)
        for i, text in enumerate(self.require):
            with SchemaError.within("require", i):
                self._check_requirement(text)

    def _bound(self, formula: Formula, of: str) -> Bound | None:
        """A formula for rows of this schema; None as long as it needs levels that aren't known."""
        used = formula.names | formula.before
        if all(f.levels for f in self.features if f.name in used and isinstance(f, Categorical)):
            return formula.bind(self.names, self.levels)
        for name in sorted(used.difference(self.names)):
            raise SchemaError(
                f"{of} names {name!r}, which is no feature of the schema."
                f"{nearest(name, self.names)} It has {listing(self.names)}."
            )
        return None

    def _check_requirement(self, text: str) -> None:
        of = f"The requirement {text!r}"
        formula = Formula.parse(text, "The requirement")
        bound = self._bound(formula, of)
        if not formula.names:
            raise SchemaError(
                f"{of} reads no feature that a plan could change. Name one, as in 'loan <= price'."
            )
        if bound is not None and bound.kind != "truth":
            what = "text" if bound.kind == "text" else "a number"
            raise SchemaError(
                f"{of} gives {what}, not yes or no. Compare it with something, as in "
                "'loan <= price'."
            )

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.position(name)]

    def __repr__(self) -> str:
        require = f", require={list(self.require)!r}" if self.require else ""
        return "Schema([\n" + "".join(f"    {f!r},\n" for f in self.features) + f"]{require})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows = [(f.name, called(f), f.kind, may_change(f), allowed(f)) for f in self.features]
        return markup.block(
            f"Schema of {len(self)} features",
            markup.table(["feature", "called", "kind", "may change", "allowed"], rows),
            *(markup.paragraph(f"Every row keeps: {text}") for text in self.require),
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
        """The levels that each ordinal and category declares; none for one that doesn't.

        A derived feature is among them if it gives text.
        """
        return {
            f.name: f.levels or ()
            for f in self.features
            if not isinstance(f, Numeric) and not (isinstance(f, Derived) and f.levels is None)
        }

    @property
    def derived(self) -> tuple[Derived, ...]:
        """The derived features, in an order in which each can be worked out."""
        found: tuple[Derived, ...] = self._derived  # type: ignore[attr-defined]  # set when made
        return found

    def with_levels(self, learned: Mapping[str, Sequence[Level]]) -> Schema:
        """The same schema with levels that a table was seen to have, checked against every rule."""
        features = (
            f.but(levels=learned[f.name]) if isinstance(f, Categorical) and f.name in learned else f
            for f in self.features
        )
        return Schema(features, self.require)

    def set_aside(self, columns: Iterable[str]) -> tuple[str, ...]:
        """Those of a table's columns that no feature uses."""
        known = set(self.columns)
        return tuple(column for column in columns if column not in known)

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
        return Schema((feature.rules for feature in self.features), self.require)

    def differs_in(self, fitted: Schema) -> str | None:
        """The first feature on which a fitted schema differs, or "require"; None if there's none.

        Words such as labels and units play no part. A category whose levels are undeclared here
        agrees with any levels that were learned.
        """
        if set(self.names) != set(fitted.names):
            return next(iter(set(self.names) ^ set(fitted.names)))
        for feature in self.features:
            other = fitted[feature.name]
            mine, theirs = feature.rules.settings, other.rules.settings
            if isinstance(feature, Categorical) and feature.levels is None:
                theirs.pop("levels", None)
            if feature.kind != other.kind or mine != theirs:
                return feature.name
        return None if self.require == fitted.require else "require"

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
        derived: Mapping[str, Worked] | None = None,
        require: Iterable[str] = (),
    ) -> Schema:
        """A schema guessed from a frame's dtypes, and safely.

        Text, category and boolean columns are categorical with the levels seen, or ordinal where
        their dtype says that it's ordered (pandas' categories and Arrow's dictionaries can). A
        polars Enum is categorical with all of its levels: it lists what there is, and doesn't say
        that more is higher. Whole-number columns are integer; every other number is numeric, with
        as many decimals as the column has, if those are few (`FEW_DECIMALS`). How many different
        values a numeric column holds plays no part. What a person can't change can't be guessed:
        name it in `never`, `increase` and `decrease`. `onehot` names groups of 0/1 columns that
        hold one category, such as `{"job": ["job_clerk", "job_smith"]}`, and `derived` the columns
        that follow from others, such as `{"ltv": "loan / price"}`.
        """
        table = frames.read(frame)
        ordinal, bounds, onehot = dict(ordinal or {}), dict(bounds or {}), dict(onehot or {})
        derived = dict(derived or {})
        change = _changes(never=never, increase=increase, decrease=decrease)
        categorical = _listed("categorical", categorical)
        integer = _listed("integer", integer)
        grouped = {column: group for group, columns in onehot.items() for column in columns}
        names = list(dict.fromkeys(grouped.get(c, c) for c in table.columns))
        for asked in (change, ordinal, categorical, integer, bounds, derived):
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

        for name in derived:
            if name in {**change, **ordinal, **bounds, **onehot} or name in categorical:
                raise SchemaError(
                    f"{name!r} is derived, so it follows from other features. Leave it out of "
                    "everything but derived and integer."
                )

        def guess(name: str) -> Feature:
            how = change.get(name, Change.ANY)
            if name in onehot:
                return Categorical(name, onehot=onehot[name], change=how)
            if name in ordinal:
                return Ordinal(name, levels=ordinal[name], change=how)
            column = table[name]
            loose = column.dtype == nw.Object and _all_numbers(column)
            is_number = column.dtype.is_numeric() or loose
            whole = name in integer or column.dtype.is_integer() or (loose and _all_whole(column))
            ends, decimals = bounds.get(name, (None, None)), None
            if is_number and not whole:
                decimals = _few_decimals(frames.numbers(column, name), ends)
            if name in derived:
                levels = None if is_number else _guessed_levels(column, name)
                if levels is not None and {type(level) for level in levels} == {bool}:
                    levels = None  # a formula gives truths as they are
                return Derived(name, derived[name], levels=levels, integer=whole, decimals=decimals)
            if name not in categorical and (ladder := frames.order(table, name)) is not None:
                _refuse_odd(ladder, name)
                return Ordinal(name, levels=ladder, change=how)
            if name in categorical or not is_number:
                return Categorical(name, levels=_guessed_levels(column, name), change=how)
            return Numeric(name, bounds=ends, integer=whole, decimals=decimals, change=how)

        guessed = cls((guess(name) for name in names), require)
        for setting, asked in (("bounds", bounds), ("integer", integer)):
            for name in asked:
                if not isinstance(guessed[name], Numeric | Derived):
                    raise SchemaError(
                        f"{setting} is for numbers, but {name!r} is {guessed[name].kind}. Leave it "
                        f"out of {setting}, or pass a column of numbers."
                    )
        return guessed

    # ---- YAML -----------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Plain values only, as they are in the YAML file."""
        for feature in self.derived:
            if not isinstance(feature.formula, str):
                raise SchemaError(
                    f"The derived feature {feature.name!r} is worked out by a function, which no "
                    "file can hold. Write it as a formula in text, such as 'loan / price'."
                )
        features = [{"name": f.name, "kind": f.kind, **f.settings} for f in self.features]
        require = {"require": list(self.require)} if self.require else {}
        return {"features": features, **require}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Schema:
        if not isinstance(content, Mapping) or not isinstance(content.get("features"), list):
            raise SchemaError(
                "A schema file holds a list under the key 'features', such as "
                "features: [{name: income, kind: numeric}].",
                "features",
            )
        for key, held in content.items():
            meant = nearest(key, _KEYS)
            if key not in _KEYS and (meant or not isinstance(held, Mapping)):
                raise SchemaError(
                    f"The schema has an unknown key {key!r}.{meant} Beside {listing(_KEYS)}, only "
                    "settings that features share may have a key of their own.",
                    schema_file.Key(key),
                )
        features = []
        for i, entry in enumerate(content["features"]):
            with SchemaError.within("features", i):
                features.append(_feature_from(entry, i + 1))
        return cls(features, content.get("require") or ())

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
        content, root = schema_file.read(text, path)
        try:
            return cls.from_dict(content)
        except SchemaError as error:
            raise SchemaError(f"{path}{schema_file.position(root, error.at)}: {error}") from error


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


def _feature_from(entry: Any, number: int) -> Feature:
    if not isinstance(entry, Mapping) or "name" not in entry:
        raise SchemaError(f"Feature {number} of the file has no name; got {entry!r}.")
    settings = dict(entry)
    name, kind = settings.pop("name"), settings.pop("kind", None)
    if not isinstance(kind, str) or kind not in _KINDS:
        raise SchemaError(
            f"Feature {name!r} has the kind {kind!r}; expected one of {listing(_KINDS)}.", "kind"
        )
    if kind == "derived" and "formula" not in settings:
        raise SchemaError(
            f"Feature {name!r} is derived, so it needs a formula, such as formula: loan / price."
        )
    taken = list(inspect.signature(_KINDS[kind]).parameters)
    known = [f.name for f in fields(_KINDS[kind]) if f.name in taken and f.name != "name"]
    for setting in settings:
        if setting not in taken:
            raise SchemaError(
                f"Feature {name!r} has an unknown setting {setting!r}.{nearest(setting, known)} "
                f"A {kind} feature knows {', '.join(known)}.",
                schema_file.Key(setting),
            )
    return _KINDS[kind](name, **settings)


def _texts(require: Any) -> tuple[str, ...]:
    """Requirements as they were given."""
    if isinstance(require, str):
        raise SchemaError(f"require must be a list of texts: require=[{require!r}].")
    texts = tuple(require) if isinstance(require, Iterable) else None
    if texts is None or isinstance(require, Mapping):
        raise SchemaError(
            f"require must be a list of texts such as 'loan <= price', got {require!r}."
        )
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise SchemaError(
                f"A requirement must be text such as 'loan <= price', got {text!r}.", i
            )
    return texts
