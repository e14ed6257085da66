"""One tree of errors. Each says what was wrong, what came, what was expected, and a way out.

StepladderError
├── ParameterError        a hyper-parameter or an argument is out of range
├── SchemaError           the schema contradicts itself, or its file can't be read
│   └── FormulaError          a formula can't be read, or doesn't fit the features
├── FrameError            a frame doesn't fit the schema
│   ├── EmptyFrameError       it has no rows
│   ├── ColumnError           a column is missing or appears twice
│   ├── DtypeError            a column holds something other than its feature says
│   ├── MissingValueError     a value is missing where one is needed
│   ├── NotFiniteError        a value is infinite
│   ├── LevelError            a category or ordinal level the schema doesn't know
│   ├── BoundsError           a row already breaks the bounds of its own schema
│   └── ConstantError         a changeable column never varies, so it has no scale
├── PositivesError        too few reference rows meet the goal
├── ModelError            a model can't be loaded, raises, or returns something that isn't a score
├── NotFittedError        a method was asked for recourse before `fit`
├── ResultError           a saved result or walk can't be read back
├── DatasetError          a table can't be found, read or downloaded, or isn't the one it should be
├── BudgetError           a query would cost more privacy than its budget has left, or a ledger
│                         can't be used
└── ExtraError            an optional dependency isn't installed

What goes wrong for one person in an otherwise good call isn't an error but an `Outcome`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches


class StepladderError(Exception):
    """The root of everything this library raises on purpose."""


class ParameterError(StepladderError, ValueError):
    """A hyper-parameter or an argument is out of range."""


class SchemaError(StepladderError, ValueError):
    """The schema contradicts itself, or its file can't be read."""

    def __init__(self, message: str, *at: str | int) -> None:
        """`at` is where in the schema it's wrong: the keys and indices that lead there."""
        super().__init__(message)
        self.at = at

    @staticmethod
    @contextmanager
    def within(*at: str | int) -> Iterator[None]:
        """What goes wrong inside goes wrong at this place of the schema."""
        try:
            yield
        except SchemaError as error:
            error.at = (*at, *error.at)
            raise


class FormulaError(SchemaError):
    """A formula can't be read, or doesn't fit the features."""


class TableWarning(UserWarning):
    """A table works, but isn't quite what its schema says: the schema may be wrong."""


class FrameError(StepladderError, ValueError):
    """A frame doesn't fit the schema."""


class EmptyFrameError(FrameError):
    """A frame has no rows."""


class ColumnError(FrameError):
    """A column is missing or appears twice."""


class DtypeError(FrameError):
    """A column holds something other than its feature says."""


class MissingValueError(FrameError):
    """A value is missing where one is needed."""


class NotFiniteError(FrameError):
    """A value is infinite."""


class LevelError(FrameError):
    """A category or ordinal level the schema doesn't know."""


class BoundsError(FrameError):
    """A row already breaks the bounds of its own schema."""


class ConstantError(FrameError):
    """A changeable column never varies in the frame a space is fitted on."""


class PositivesError(StepladderError, ValueError):
    """Too few reference rows meet the goal."""


class ModelError(StepladderError, RuntimeError):
    """A model can't be loaded, raises, or returns something that isn't a score."""


class NotFittedError(StepladderError, RuntimeError):
    """A method was asked for recourse before `fit`."""


class ResultError(StepladderError, ValueError):
    """A saved result or walk can't be read back."""


class DatasetError(StepladderError, RuntimeError):
    """A table can't be found, read or downloaded, or isn't the one it should be."""


class BudgetError(StepladderError, RuntimeError):
    """A query would cost more privacy than its budget has left, or a ledger can't be used."""


class ExtraError(StepladderError, ImportError):
    """An optional dependency isn't installed."""

    def __init__(self, package: str, extra: str | None, purpose: str) -> None:
        """`extra` is the one that brings the package; None if none does."""
        what = package if extra is None else f"'stepladder[{extra}]'"
        super().__init__(
            f"{purpose} needs {package}, which isn't installed. Install it with: pip install {what}"
        )


def nearest(name: object, known: Iterable[object]) -> str:
    """` Did you mean 'x'?` for the known name closest to `name`, or nothing.

    >>> nearest("incom", ["age", "income"]), nearest("AGE", ["age", "income"])
    (" Did you mean 'income'?", " Did you mean 'age'?")
    >>> nearest("zebra", ["age", "income"])
    ''
    """
    by_text = {str(k): k for k in known}
    folded = {text.casefold(): text for text in by_text}
    given = str(name)
    close = get_close_matches(given, by_text, n=1) or [
        folded[text] for text in get_close_matches(given.casefold(), folded, n=1)
    ]
    return f" Did you mean {by_text[close[0]]!r}?" if close else ""


def listing(items: Iterable[object], most: int = 5) -> str:
    """`'a', 'b', … (7 more)`: a list short enough to read in a sentence.

    >>> listing(["a", "b", "c"], most=2)
    "'a', 'b', … (1 more)"
    """
    shown = [repr(item) for item in items]
    rest = len(shown) - most
    return ", ".join(shown[:most]) + (f", … ({rest} more)" if rest > 0 else "")
