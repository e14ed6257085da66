"""How a formula is read: its text becomes a tree, or the sentence for what is wrong in it.

Nothing is ever run as Python. `_words` cuts the text into words and knows no others, `_check_order`
says whether they may follow one another, and Python's parser only tells which operator binds
tighter: it sees placeholders for names, numbers and texts. What it makes of them has to be one of
a few kinds of node.
"""

from __future__ import annotations

import ast
import keyword
import math
import re
import sys
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

from stepladder.errors import FormulaError, nearest

LONGEST = 2_000
DEEPEST = 100
MOST_DECIMALS = 12


class Usage(NamedTuple):
    """How a function is written, and how many values it takes."""

    form: str
    least: int
    most: int | None


FUNCTIONS = {
    "abs": Usage("abs(x)", 1, 1),
    "ceil": Usage("ceil(x)", 1, 1),
    "exp": Usage("exp(x)", 1, 1),
    "floor": Usage("floor(x)", 1, 1),
    "log": Usage("log(x)", 1, 1),
    "max": Usage("max(x, y, …)", 2, None),
    "min": Usage("min(x, y, …)", 2, None),
    "round": Usage("round(x) or round(x, decimals)", 1, 2),
    "was": Usage("was(x)", 1, 1),
    "where": Usage("where(condition, x, y)", 3, 3),
}

ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
COMPARISONS = (*ORDER, ast.Eq, ast.NotEq)

_SAID_OTHERWISE = {
    **{"=": "==", "=>": ">=", "=<": "<=", "<>": "!=", "≤": "<=", "≥": ">=", "≠": "!="},
    **{"&": "and", "&&": "and", "|": "or", "||": "or", "!": "not", "~": "not", "^": "**"},
    **{"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "[": "(", "]": ")", "{": "(", "}": ")"},
    **{"“": '"', "”": '"', "„": '"', "‘": "'", "’": "'"},
}
_KEYWORDS_SAID_OTHERWISE = {
    "if": "where(condition, x, y)",
    "else": "where(condition, x, y)",
    "is": "==",
    "in": "x == 'a' or x == 'b'",
}
_FUNCTIONS_SAID_OTHERWISE = {
    **{"sqrt": "x ** 0.5", "pow": "x ** y", "sum": "x + y", "ln": "log(x)"},
    **{"int": "floor(x)", "if": "where(condition, x, y)", "iif": "where(condition, x, y)"},
}


# -------------------------------------------------------------------------------------- its words


def _checked_text(text: str, of: str) -> str:
    if not isinstance(text, str):
        raise FormulaError(f'{of} must be text such as "loan / price"; got {text!r}.')
    text = text.strip()
    if not text:
        raise FormulaError(f'{of} is empty; write one such as "loan / price".')
    if len(text) > LONGEST:
        raise FormulaError(
            f"{of} has {len(text):,} characters, and at most {LONGEST:,} are allowed; put parts of "
            "it into derived features of their own."
        )
    return text


@dataclass(frozen=True)
class Source:
    """The text of a formula, and the sentence for what is wrong in it."""

    text: str
    of: str

    def wrong(self, start: int, problem: str) -> FormulaError:
        """`problem` begins after a colon and ends with its own full stop or question mark."""
        quote = "'" if '"' in self.text else '"'
        begin, end = max(0, start - 60), start + 60
        shown = "…" * (begin > 0) + self.text[begin:end] + "…" * (end < len(self.text))
        sentence = f"at character {start + 1} of {quote}{shown}{quote}: {problem}"
        one_line = "".join(c if c.isprintable() else " " for c in sentence)
        return FormulaError(f"{self.of}, {one_line}")


class Word(NamedTuple):
    """A value, or a sign: what stands between values, and/or/not, parentheses and commas too."""

    kind: Literal["number", "truth", "text", "name", "quoted", "sign"]
    value: float | bool | str
    start: int
    end: int

    @property
    def sign(self) -> str:
        return str(self.value) if self.kind == "sign" else ""


_WORD = re.compile(
    r"""
      (?P<space>\s+)
    | (?P<number>(?:[0-9]+(?:_[0-9]+)*\.?(?:[0-9]+)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)
    | (?P<name>(?:[A-Za-z_]|[^\x00-\x7f\s])(?:[A-Za-z0-9_]|[^\x00-\x7f\s])*)
    | (?P<text>'(?:[^']|'')*' | "(?:[^"]|"")*")
    | (?P<quoted>`(?:[^`]|``)*`)
    | (?P<odd>=>|=<|<>|&&|\|\|)
    | (?P<sign>\*\*|//|[<>=!]=|[-+*/%<>(),])
    | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def _words(source: Source) -> Iterator[Word]:
    """The words of a formula, or the error for the first that isn't one."""
    for found in _WORD.finditer(source.text):
        kind, text, start, end = str(found.lastgroup), found[0], found.start(), found.end()
        if kind == "number":
            yield Word("number", _number(source, text, start, end), start, end)
        elif kind == "name":
            yield _named(source, text, start, end)
        elif kind == "text":
            yield Word("text", text[1:-1].replace(text[0] * 2, text[0]), start, end)
        elif kind == "quoted":
            if text == "``":
                raise source.wrong(start, "the name in backticks is empty.")
            yield Word("quoted", text[1:-1].replace("``", "`"), start, end)
        elif kind == "sign":
            yield Word("sign", text, start, end)
        elif kind != "space":
            raise _no_word(source, text, start)


def _number(source: Source, text: str, start: int, end: int) -> float:
    tail = re.compile(r"[\w.]*").match(source.text, end)
    if tail and tail[0]:
        raise source.wrong(
            start, f"{text + tail[0]!r} isn't a number; write one such as 1000, 0.35 or 1.5e6."
        )
    number = float(text)
    if math.isinf(number):
        raise source.wrong(
            start, f"the number is too large; numbers go up to {sys.float_info.max:.1e}."
        )
    return number


def _named(source: Source, text: str, start: int, end: int) -> Word:
    if text in ("True", "False"):
        return Word("truth", text == "True", start, end)
    if text in ("and", "or", "not"):
        return Word("sign", text, start, end)
    if keyword.iskeyword(text):
        otherwise = _KEYWORDS_SAID_OTHERWISE.get(text)
        instead = f"write {otherwise} instead, or " if otherwise else ""
        raise source.wrong(
            start,
            f"{text!r} isn't used in formulas; {instead}put it in backticks if it's the name of a "
            f"feature: `{text}`.",
        )
    if not text.isidentifier():
        odd = next(i for i in range(len(text)) if not text[: i + 1].isidentifier())
        raise _no_word(source, text[odd], start + odd)
    return Word("name", text, start, end)


def _no_word(source: Source, text: str, start: int) -> FormulaError:
    if text in ("'", '"', "`"):
        what = "name" if text == "`" else "text"
        return source.wrong(start, f"the {what} that begins here isn't closed; end it with {text}.")
    if text in _SAID_OTHERWISE:
        return source.wrong(
            start, f"{text!r} isn't used in formulas; write {_SAID_OTHERWISE[text]} instead."
        )
    hint = f"a name that contains it goes in backticks: `a{text}b`"
    if unicodedata.category(text) == "Sc":
        hint = "write an amount as a number alone, without its currency"
    elif not text.isprintable():
        hint = "take it out"
    return source.wrong(start, f"{text!r} isn't used in formulas; {hint}.")


# ------------------------------------------------------------------- how they follow one another


def _check_order(source: Source, words: Sequence[Word]) -> None:
    """Whether every operator stands between values, and every parenthesis has its partner."""
    opened: list[tuple[Word, bool]] = []  # and whether a function's
    value_is_next = True
    for before, word in zip([None, *words], words, strict=False):
        if before is None or value_is_next:
            _check_value(
                source, before, word, is_call=bool(opened) and opened[-1] == (before, True)
            )
        else:
            _check_sign(source, before, word, opened)
        if word.sign == "(":
            opened.append((word, not value_is_next))
        elif word.sign == ")":
            opened.pop()
        value_is_next = word.sign not in ("", ")")
    if value_is_next:
        raise _value_missing(source, words[-1])
    if opened:
        raise source.wrong(opened[-1][0].start, "this parenthesis is never closed; add a ')'.")


def _check_value(source: Source, before: Word | None, word: Word, is_call: bool) -> None:
    """Whether a word may stand where a value is expected."""
    if word.sign in ("", "-", "(") or (word.sign == ")" and is_call):
        return
    if word.sign == "not":
        if before is not None and before.sign not in ("(", ",", "and", "or", "not"):
            problem = f"'not' can't follow {before.sign!r}; put it in parentheses: (not …)."
            raise source.wrong(word.start, problem)
    elif word.sign == "+":
        raise source.wrong(word.start, "a value needs no '+' before it; take it out.")
    elif before is None:
        raise source.wrong(word.start, f"a value is missing before {word.sign!r}.")
    else:
        raise _value_missing(source, before)


def _value_missing(source: Source, after: Word) -> FormulaError:
    hint = " For per cent write a share: 0.3 for 30%." if after.sign == "%" else ""
    return source.wrong(after.start, f"a value is missing after {after.sign!r}.{hint}")


def _check_sign(
    source: Source, before: Word, word: Word, opened: Sequence[tuple[Word, bool]]
) -> None:
    """Whether a word may follow a value."""
    problem = ""
    if word.sign == ")" and not opened:
        problem = "this parenthesis was never opened; take it out."
    elif word.sign == "," and not (opened and opened[-1][1]):
        problem = (
            "a comma only separates what a function is given; write 1000 for 1,000 and 0.5 for 0,5."
        )
    elif word.sign == "(" and before.kind != "name":
        problem = "an operator is missing before '('; write * to multiply."
    elif word.sign in ("", "not"):
        here = source.text[word.start : word.end]
        problem = f"an operator is missing before {here}."
        if here.lower() in ("and", "or"):
            problem += f" Did you mean {here.lower()}?"
        elif word.kind == before.kind == "name":
            odd = f"{before.value} {here}"
            problem += f" A name with a space in it goes in backticks: `{odd}`."
    if problem:
        raise source.wrong(word.start, problem)


def _too_deep(source: Source) -> FormulaError:
    return FormulaError(
        f"{source.of} is nested more than {DEEPEST} deep; put parts of it into derived features of "
        "their own."
    )


# --------------------------------------------------------------------------------------- the tree


@dataclass(frozen=True, eq=False)
class Tree:
    """The words of a formula as Python's precedence ties them together."""

    source: Source
    words: tuple[Word, ...]
    starts: tuple[int, ...]
    """where each word begins in what Python's parser was given"""
    root: ast.expr

    @classmethod
    def read(cls, text: str, of: str) -> Tree:
        """The tree of a text; `of` begins the sentence if it has none."""
        source = Source(_checked_text(text, of), of)
        words = tuple(_words(source))
        _check_order(source, words)
        starts, script = [], ""
        for number, word in enumerate(words):
            starts.append(len(script))
            script += (word.sign or f"_{number}") + " "
        try:
            root = ast.parse(script, mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # in the right order
            raise _too_deep(source) from None
        return cls(source, words, tuple(starts), root)

    def word(self, node: ast.Name) -> Word:
        return self.words[int(node.id[1:])]

    def _first(self, node: ast.expr) -> Word:
        return self.words[bisect_right(self.starts, node.col_offset) - 1]

    def _last(self, node: ast.expr) -> Word:
        return self.words[bisect_right(self.starts, node.end_col_offset or 0) - 1]

    def written(self, node: ast.expr) -> str:
        """The node as it stands in the text."""
        return self.source.text[self._first(node).start : self._last(node).end]

    def shown(self, node: ast.expr) -> str:
        """The node as it's quoted in a sentence."""
        written = self.written(node)
        return written if len(written) <= 40 else f"{written[:39]}…"

    def wrong(self, node: ast.expr, problem: str) -> FormulaError:
        return self.source.wrong(self._first(node).start, problem)

    def check(
        self, node: ast.expr, read: Mapping[bool, set[str]], today: bool = False, depth: int = 1
    ) -> None:
        """Let only known nodes through, and collect the names that are read: today's under True."""
        if depth > DEEPEST:
            raise _too_deep(self.source)
        match node:
            case ast.Name():
                word = self.word(node)
                if word.kind in ("name", "quoted"):
                    read[today].add(str(word.value))
                return
            case ast.Call(func=ast.Name() as function, args=inside, keywords=[]):
                self._check_call(node, self.word(function))
                today = today or self.word(function).value == "was"
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, ARITHMETIC):
                inside = [left, right]
            case ast.UnaryOp(op=ast.USub() | ast.Not(), operand=operand):
                inside = [operand]
            case ast.BoolOp(values=inside):
                pass
            case ast.Compare(left=left, ops=ops, comparators=rest) if all(
                isinstance(operator, COMPARISONS) for operator in ops
            ):
                inside = [left, *rest]
            case _:
                raise self.wrong(node, f"{self.shown(node)} can't be used in a formula.")
        for part in inside:
            self.check(part, read, today, depth + 1)

    def _check_call(self, node: ast.Call, function: Word) -> None:
        name, given = str(function.value), len(node.args)
        if name not in FUNCTIONS:
            otherwise = _FUNCTIONS_SAID_OTHERWISE.get(name)
            hint = f" Write {otherwise}." if otherwise else nearest(name, FUNCTIONS)
            known = ", ".join(FUNCTIONS)
            raise self.wrong(
                node,
                f"there is no function {name!r}; there are {known}."
                + (hint or " To multiply, write *."),
            )
        usage = FUNCTIONS[name]
        if given < usage.least or given > (usage.most or given):
            count = f"{given} value{'s' * (given != 1)}"
            raise self.wrong(node, f"{name} is written {usage.form}; here it's given {count}.")
        if name == "round" and given == 2:
            self.decimals(node)

    def decimals(self, node: ast.Call) -> int:
        """The second argument of round, a number that is written out."""
        argument = node.args[1]
        minus = isinstance(argument, ast.UnaryOp) and isinstance(argument.op, ast.USub)
        number = argument.operand if isinstance(argument, ast.UnaryOp) else argument
        value = self.word(number).value if isinstance(number, ast.Name) else None
        whole = isinstance(value, float) and value.is_integer() and value <= MOST_DECIMALS
        if not whole or (number is not argument and not minus):
            raise self.wrong(
                argument,
                f"the decimals of round must be a whole number from -{MOST_DECIMALS} to "
                f"{MOST_DECIMALS}, written out; got {self.shown(argument)}.",
            )
        assert isinstance(value, float)
        return int(-value if minus else value)

    def parts(self, node: ast.expr) -> Iterator[str]:
        """The texts of what is tied together by `and` or in a chain of comparisons."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            for value in node.values:
                yield from self.parts(value)
        elif isinstance(node, ast.Compare) and len(node.ops) > 1:
            yield from self._links(node)
        else:
            yield self.written(node)

    def _links(self, node: ast.Compare) -> Iterator[str]:
        """`a < b`, `b <= c` of the chain `a < b <= c`, each operand with its parentheses."""
        operands = [node.left, *node.comparators]
        signs = []
        for left, right in pairwise(operands):
            between = self.words[
                self.words.index(self._last(left)) + 1 : self.words.index(self._first(right))
            ]
            signs += [word for word in between if word.sign not in ("(", ")")]
        begins = [self._first(node).start, *(word.end for word in signs)]
        ends = [*(word.start for word in signs), self._last(node).end]
        for link in range(len(signs)):
            yield self.source.text[begins[link] : ends[link + 1]].strip()
