"""The small language of derived features, requirements and policies.

    loan / price
    where(job != was(job), 0, seniority)
    `debt (monthly)` <= 0.43 * income and education >= "school"

Numbers, texts in quotes, True and False, names of features (odd ones in backticks), arithmetic,
comparison, and/or/not, parentheses and the functions in `FUNCTIONS`; nothing else can be said. A
quote inside a text or a backtick inside a name is doubled. `was(…)` is worked out on today's row.

A formula is read (grammar.py), bound to features, which checks its kinds and makes NumPy closures,
and then worked out at the cost of one array operation per operator, without a loop over rows.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import FormulaError, listing, nearest
from stepladder.table.grammar import ORDER, Tree
from stepladder.table.kind import Level

Floats = NDArray[np.float64]
Kind = Literal["number", "truth", "text"]
Run = Callable[[Floats, Floats], Any]
"""Rows (n, features) and today's rows (n or 1, features) to n values, or to one for all."""

_ARITHMETIC: dict[type[ast.operator], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.mod,
    ast.Pow: np.power,
}
_ONE_NUMBER: dict[str, np.ufunc] = {
    "abs": np.abs,
    "ceil": np.ceil,
    "exp": np.exp,
    "floor": np.floor,
    "log": np.log,
}


def _differ(left: Any, right: Any) -> Any:
    """`left != right`, and False beside a missing value, as every other comparison is."""
    return (left < right) | (left > right)


_COMPARISON: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: _differ,
}


# ------------------------------------------------------------------------------------- the value


@dataclass(frozen=True)
class Formula:
    """A formula that can be read; it knows nothing of a schema yet. Equal if its text is.

    `names` are the features it reads from a row itself, `before` those it reads from today's row.

    >>> formula = Formula.parse("was(payment) * loan / was(loan)", "The formula of 'payment'")
    >>> sorted(formula.names), sorted(formula.before)
    (['loan'], ['loan', 'payment'])
    """

    text: str
    names: frozenset[str] = field(compare=False)
    before: frozenset[str] = field(compare=False)
    _of: str = field(compare=False, repr=False)
    _tree: Tree = field(compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, of: str) -> Formula:
        """Read a formula; `of` begins the sentence if it's wrong: "The formula of 'ltv'"."""
        tree = Tree.read(text, of)
        read = {True: set[str](), False: set[str]()}
        tree.check(tree.root, read)
        return cls(tree.source.text, frozenset(read[False]), frozenset(read[True]), of, tree)

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula.parse, (self.text, self._of)

    @property
    def parts(self) -> tuple[Formula, ...]:
        """What has to hold together, one by one; the formula itself if it can't be cut.

        >>> formula = Formula.parse("0 < a <= b and (c or d)", "The requirement")
        >>> [part.text for part in formula.parts]
        ['0 < a', 'a <= b', 'c or d']
        """
        texts = list(self._tree.parts(self._tree.root))
        return (self,) if len(texts) == 1 else tuple(Formula.parse(t, self._of) for t in texts)

    def bind(self, names: Sequence[str], levels: Mapping[str, Sequence[Level]]) -> Bound:
        """The formula for rows whose columns are these features, once its kinds are checked.

        A feature in `levels` reads as numbers if its levels are all numbers, as truth if they are
        all booleans, and else as text.
        """
        read = self.names | self.before
        used = tuple((name, tuple(levels[name])) for name in sorted(read) if name in levels)
        return Bound(self, tuple(names), used, _Binder(self._tree, names, levels))


@dataclass(frozen=True, init=False)
class Bound:
    """A formula that can be worked out on rows.

    A missing value (NaN) makes arithmetic missing, and every comparison with it False.

    >>> ltv = Formula.parse("loan / price", "The formula of 'ltv'").bind(["loan", "price"], {})
    >>> rows = np.array([[80.0, 100.0], [90.0, 0.0]])
    >>> ltv(rows, rows).tolist()
    [0.8, inf]
    """

    formula: Formula
    names: tuple[str, ...]
    levels: tuple[tuple[str, tuple[Level, ...]], ...]
    kind: Kind
    texts: tuple[str, ...]
    """what each code of a text result stands for"""
    _run: Run = field(compare=False, repr=False)
    _excess: Run | None = field(compare=False, repr=False)

    def __init__(
        self,
        formula: Formula,
        names: tuple[str, ...],
        levels: tuple[tuple[str, tuple[Level, ...]], ...],
        binder: _Binder,
    ) -> None:
        result = binder.bound(binder.tree.root)
        settings = {"formula": formula, "names": names, "levels": levels, "kind": result.kind}
        settings |= {"texts": result.texts, "_run": result.run, "_excess": binder.excess()}
        for key, value in settings.items():
            object.__setattr__(self, key, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return Formula.bind, (self.formula, self.names, dict(self.levels))

    def __call__(self, values: Floats, start: Floats) -> NDArray[Any]:
        """Rows (n, features) and today's (n or 1, features) to (n,) numbers, truths or codes.

        A code is a float, as positions of levels are, and NaN where it's missing.
        """
        return _worked_out(self._run, values, start)

    @property
    def excess_is_known(self) -> bool:
        """Whether it's one comparison of numbers by <, <=, > or >=."""
        return self._excess is not None

    def excess(self, values: Floats, start: Floats) -> Floats | None:
        """By how much the comparison is missed (n,); 0 or less if kept (0 misses a < or >).

        None unless `excess_is_known`.
        """
        return None if self._excess is None else _worked_out(self._excess, values, start)


def _worked_out(run: Run, values: Floats, start: Floats) -> NDArray[Any]:
    with np.errstate(all="ignore"):
        result = run(values, start)
    if result.shape == (len(values),) and result.base is None:
        return np.asarray(result)
    everyone = np.empty(len(values), result.dtype)  # not a view of the rows
    everyone[:] = result
    return everyone


# --------------------------------------------------------------------------- binding it to features


@dataclass(frozen=True)
class _Term:
    """What a node is, and how to work it out."""

    kind: Kind
    run: Run
    texts: tuple[str, ...] = ()
    """of a text: what its codes stand for"""
    form: Literal["feature", "literal", "other"] = "other"
    number: Run | None = None
    """of a feature that reads as truth: 0 and 1, NaN where missing"""

    @property
    def as_number(self) -> Run:
        if self.kind == "number":
            return self.run
        if self.number is not None:
            return self.number
        run = self.run
        return lambda values, start: run(values, start).astype(np.float64)


class _Side(NamedTuple):
    """One side of a comparison."""

    node: ast.expr
    term: _Term


class _Binder:
    """Turns the nodes of a tree into terms, for one list of features."""

    def __init__(
        self, tree: Tree, names: Sequence[str], levels: Mapping[str, Sequence[Level]]
    ) -> None:
        self.tree = tree
        self.columns = {name: column for column, name in enumerate(names)}
        self.levels = levels

    def bound(self, node: ast.expr, today: bool = False) -> _Term:
        """Assumes a checked tree."""
        match node:
            case ast.Name():
                return self._word(node, today)
            case ast.BinOp():
                return self._arithmetic(node, today)
            case ast.UnaryOp(op=ast.USub()):
                run = self._number(node.operand, today, "-")
                return _Term("number", lambda values, start: np.negative(run(values, start)))
            case ast.UnaryOp():
                run = self._truth(node.operand, today, "'not'")
                return _Term("truth", lambda values, start: np.logical_not(run(values, start)))
            case ast.BoolOp():
                return self._joined(node, today)
            case ast.Compare():
                return self._compared(node, today)
            case _:
                assert isinstance(node, ast.Call)
                return self._called(node, today)

    def excess(self) -> Run | None:
        """By how much the only comparison is missed."""
        root = self.tree.root
        if not (
            isinstance(root, ast.Compare) and len(root.ops) == 1 and isinstance(root.ops[0], ORDER)
        ):
            return None
        left, right = self.bound(root.left), self.bound(root.comparators[0])
        if "text" in (left.kind, right.kind):
            return None
        if isinstance(root.ops[0], ast.Gt | ast.GtE):
            left, right = right, left
        low, high = left.as_number, right.as_number

        def run(values: Floats, start: Floats) -> Any:
            below, above = low(values, start), high(values, start)
            return np.where(below == above, 0.0, below - above)  # also where both are infinite

        return run

    # ---- one word

    def _word(self, node: ast.Name, today: bool) -> _Term:
        word = self.tree.word(node)
        if word.kind == "number":
            number = np.float64(word.value)
            return _Term("number", lambda values, start: number)
        if word.kind == "truth":
            truth = np.bool_(word.value)
            return _Term("truth", lambda values, start: truth)
        if word.kind == "text":
            first = np.float64(0)
            return _Term("text", lambda values, start: first, (str(word.value),), "literal")
        if word.value not in self.columns:
            raise self._unknown(node, str(word.value))
        return self._feature(node, str(word.value), today)

    def _unknown(self, node: ast.Name, name: str) -> FormulaError:
        start = self.tree.word(node).start
        odd = [n for n in self.columns if n != name and self.tree.source.text.startswith(n, start)]
        having = [feature for feature, levels in self.levels.items() if name in levels]
        if odd:
            best = max(odd, key=len).replace("`", "``")
            hint = f" If you mean {max(odd, key=len)!r}, write it in backticks: `{best}`."
        elif having:
            hint = f" The level of {having[0]!r} is written in quotes: {name!r}."
        elif name.casefold() in ("true", "false", "and", "or", "not"):
            written = name.capitalize() if name[0] in "tTfF" else name.lower()
            hint = f" Did you mean {written}?"
        else:
            hint = nearest(name, self.columns) or f" There are {listing(self.columns)}."
        return self.tree.wrong(node, f"there is no feature {name!r}.{hint}")

    def _feature(self, node: ast.Name, name: str, today: bool) -> _Term:
        column = self.columns[name]

        def run(values: Floats, start: Floats) -> Any:
            return (start if today else values)[:, column]

        if name not in self.levels:
            return _Term("number", run)
        levels = tuple(self.levels[name])
        if all(isinstance(level, bool) for level in levels):
            number = _through(run, _looked_up(levels))
            return _Term("truth", lambda v, s: number(v, s) == 1, number=number)
        if all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels):
            return _Term("number", _through(run, _looked_up(levels)))
        texts = tuple(map(str, levels))
        if len({*texts}) < len(texts):
            twice = next(text for text in texts if texts.count(text) > 1)
            raise self.tree.wrong(
                node, f"{name!r} has two levels that are written {twice}; rename one of them."
            )
        return _Term("text", run, texts, "feature")

    # ---- kinds

    def _number(self, node: ast.expr, today: bool, taker: str) -> Run:
        term = self.bound(node, today)
        if term.kind != "text":
            return term.as_number
        hint = "write a number without quotes"
        if term.form != "literal":
            hint = f"make a number of it: where({self.tree.shown(node)} == {term.texts[0]!r}, 1, 0)"
        raise self.tree.wrong(
            node, f"{self.tree.shown(node)} is text, and {taker} takes numbers; {hint}."
        )

    def _truth(self, node: ast.expr, today: bool, taker: str) -> Run:
        term = self.bound(node, today)
        if term.kind == "truth":
            return term.run
        shown = self.tree.shown(node)
        if term.kind == "number":
            problem = f"{shown} is a number, and {taker} takes conditions; write {shown} > 0."
        elif term.form == "literal":
            problem = f"{shown} is text, and {taker} takes conditions; compare a feature with it."
        else:
            example = f"{shown} == {term.texts[0]!r}"
            problem = f"{shown} is text, and {taker} takes conditions; write {example}."
        raise self.tree.wrong(node, problem)

    # ---- operators

    def _arithmetic(self, node: ast.BinOp, today: bool) -> _Term:
        work = _ARITHMETIC[type(node.op)]
        left = self._number(node.left, today, "arithmetic")
        right = self._number(node.right, today, "arithmetic")
        return _Term(
            "number", lambda values, start: work(left(values, start), right(values, start))
        )

    def _joined(self, node: ast.BoolOp, today: bool) -> _Term:
        both = isinstance(node.op, ast.And)
        runs = [self._truth(value, today, "'and'" if both else "'or'") for value in node.values]
        return _Term("truth", _folded(np.logical_and if both else np.logical_or, runs))

    def _compared(self, node: ast.Compare, today: bool) -> _Term:
        """A comparison or a chain of them; what stands between two is worked out once."""
        sides = [_Side(side, self.bound(side, today)) for side in (node.left, *node.comparators)]
        tests = [
            self._test(operator, left, right)
            for operator, (left, right) in zip(node.ops, pairwise(sides), strict=True)
        ]
        first, *rest = [term.run if term.kind == "text" else term.as_number for _, term in sides]

        def run(values: Floats, start: Floats) -> Any:
            left = first(values, start)
            kept: Any = np.True_
            for test, side in zip(tests, rest, strict=True):
                right = side(values, start)
                kept = kept & test(left, right)
                left = right
            return kept

        return _Term("truth", run)

    def _test(self, operator: ast.cmpop, left: _Side, right: _Side) -> Callable[[Any, Any], Any]:
        """How the values of two sides are compared."""
        compare = _COMPARISON[type(operator)]
        if left.term.kind != "text" and right.term.kind != "text":
            return compare
        literal, other = (left, right) if left.term.form == "literal" else (right, left)
        if {left.term.kind, right.term.kind} != {"text"}:
            raise self._not_comparable(left, right)
        if literal.term.form == "literal":
            self._check_level(literal, other)
        if isinstance(operator, ORDER) and {literal.term.form, other.term.form} != {
            "literal",
            "feature",
        }:
            raise self._unordered(left.node)
        texts = _union(other.term.texts, literal.term.texts)
        recode, recode_right = _recoded(left.term, texts), _recoded(right.term, texts)
        return lambda a, b: compare(recode(a), recode_right(b))

    def _not_comparable(self, left: _Side, right: _Side) -> FormulaError:
        text, other = (left, right) if left.term.kind == "text" else (right, left)
        shown, compared = self.tree.shown(text.node), self.tree.shown(other.node)
        if text.term.form != "literal":
            known = listing(text.term.texts)
            return self.tree.wrong(
                other.node, f"{shown} is text, and {compared} isn't; compare it with {known}."
            )
        what, way_out = "a number", "write a number without quotes"
        if other.term.kind == "truth":
            what, way_out = "True or False", "write one of them without quotes"
        return self.tree.wrong(text.node, f"{compared} is {what}, and {shown} is text; {way_out}.")

    def _check_level(self, literal: _Side, other: _Side) -> None:
        text, texts = literal.term.texts[0], other.term.texts
        if other.term.form == "literal":
            raise self.tree.wrong(
                literal.node, "two texts in quotes are compared; write a feature on one side."
            )
        if text not in texts:
            what = "has no level" if other.term.form == "feature" else "is never"
            hint = nearest(text, texts) or f" It can be {listing(texts)}."
            raise self.tree.wrong(
                literal.node, f"{self.tree.shown(other.node)} {what} {text!r}.{hint}"
            )

    def _unordered(self, node: ast.expr) -> FormulaError:
        return self.tree.wrong(
            node,
            "texts have no order, but levels do: with <, <=, > and >= write a feature on one side "
            "and one of its levels in quotes on the other.",
        )

    # ---- functions

    def _called(self, node: ast.Call, today: bool) -> _Term:
        assert isinstance(node.func, ast.Name)
        name = str(self.tree.word(node.func).value)
        if name == "was":
            return self.bound(node.args[0], today=True)
        if name == "where":
            return self._where(node, today)
        if name == "round":
            run = self._number(node.args[0], today, name)
            decimals = self.tree.decimals(node) if len(node.args) == 2 else 0
            return _Term("number", lambda values, start: _rounded(run(values, start), decimals))
        runs = [self._number(argument, today, name) for argument in node.args]
        if name in ("min", "max"):
            return _Term("number", _folded(np.minimum if name == "min" else np.maximum, runs))
        return _Term("number", _through(runs[0], _ONE_NUMBER[name]))

    def _where(self, node: ast.Call, today: bool) -> _Term:
        condition = self._truth(node.args[0], today, "the first place of where")
        one, other = (self.bound(argument, today) for argument in node.args[1:])
        kinds = {one.kind, other.kind}
        if kinds == {"text"}:
            texts = _union(one.texts, other.texts)
            chosen = _through(one.run, _recoded(one, texts))
            otherwise = _through(other.run, _recoded(other, texts))
            return _Term("text", _either(condition, chosen, otherwise), texts)
        if "text" in kinds:
            raise self.tree.wrong(
                node,
                f"where gives {self.tree.shown(node.args[1])} or {self.tree.shown(node.args[2])}, "
                "and only one of them is text; make both numbers, or both text in quotes.",
            )
        if kinds == {"truth"}:
            return _Term("truth", _either(condition, one.run, other.run))
        return _Term("number", _either(condition, one.as_number, other.as_number))


# -------------------------------------------------------------------------------- working it out


def _through(run: Run, work: Callable[[Any], Any]) -> Run:
    return lambda values, start: work(run(values, start))


def _folded(join: Callable[[Any, Any], Any], runs: Sequence[Run]) -> Run:
    first, *rest = runs

    def run(values: Floats, start: Floats) -> Any:
        result = first(values, start)
        for other in rest:
            result = join(result, other(values, start))
        return result

    return run


def _either(condition: Run, one: Run, other: Run) -> Run:
    return lambda v, s: np.where(condition(v, s), one(v, s), other(v, s))


def _rounded(values: Any, decimals: int) -> Any:
    """Half to even; a number too large to have so many decimals stays as it is."""
    small = np.abs(values) < 2.0**52 / 10.0**decimals
    return np.where(small, np.round(np.where(small, values, 0.0), decimals), values)


def _looked_up(table: Sequence[Level]) -> Callable[[Any], Any]:
    """Positions (NaN: missing) to what the table holds there."""
    if [float(entry) for entry in table] == list(range(len(table))):
        return lambda codes: codes
    entries = np.array([*table, math.nan], dtype=np.float64)  # missing is the last, at -1
    return lambda codes: entries[np.where(np.isnan(codes), -1, codes).astype(np.intp)]


def _recoded(term: _Term, texts: Sequence[str]) -> Callable[[Any], Any]:
    """The codes of a text, counted in other texts that have all of its own."""
    if term.form == "literal":
        code = np.float64(texts.index(term.texts[0]))
        return lambda codes: code
    return _looked_up([texts.index(text) for text in term.texts])


def _union(texts: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*texts, *others]))
