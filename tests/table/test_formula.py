"""What formulas come to, against hand-worked values and against Python row by row."""

from __future__ import annotations

import copy
import math
import pickle
import random
import warnings

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from stepladder.errors import FormulaError, SchemaError
from stepladder.table.formula import Bound, Formula

NAN, INF = math.nan, math.inf
SEEDS = st.integers(0, 2**32 - 1)
LEVELS = {
    "job": ["clerk", "nurse", "none"],
    "past": ["none", "nurse", "pilot"],
    "edu": ["none", "school", "master"],
    "dependants": [0, 1, 3],
    "owner": [True, False],
    "grade": ["A", 1, 2],
}
NAMES = ["loan", "price", "income", "debt-to-income", "größe", "class", *LEVELS]
TODAY = {"loan": 100.0, "price": 200.0, "income": 50.0, "debt-to-income": 0.4, "größe": 7.0}
TODAY |= {"class": 2.0, "job": "clerk", "past": "nurse", "edu": "school", "dependants": 3}
TODAY |= {"owner": True, "grade": 1}


def bound(text: str) -> Bound:
    return Formula.parse(text, "The formula of 'ltv'").bind(NAMES, LEVELS)


def row(**values) -> np.ndarray:
    """One row of values, today's unless said otherwise."""
    given = TODAY | values
    return np.array([[position(name, given[name]) for name in NAMES]], dtype=np.float64)


def position(name: str, value) -> float:
    if name not in LEVELS or value is None:
        return NAN if value is None else value
    return LEVELS[name].index(value)


def worked_out(text: str, **values):
    result = bound(text)(row(**values), row())
    assert result.shape == (1,)
    return result.item()


# ------------------------------------------------------------------------------------- hand-worked


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("loan / price", {}, 0.5),
        ("loan / price", {"price": 0}, INF),
        ("(loan - 100) / (price - 200)", {}, NAN),
        ("loan // 30 + loan % 30", {}, 13),
        ("-loan // 30", {}, -4),
        ("-loan % 30", {}, 20),
        ("-2 ** 2", {}, -4),
        ("2 ** -1", {}, 0.5),
        ("2 ** 3 ** 2", {}, 512),
        ("(0 - 8) ** 0.5", {}, NAN),
        ("9 ** 9 ** 9", {}, INF),
        ("100 - 20 - 5", {}, 75),
        ("1_000 + .5 + 2. + 1e3 + 1E-1", {}, 2002.6),
        ("`debt-to-income` * größe * `class`", {}, 5.6),
        ("min(loan, price, income)", {}, 50),
        ("max(loan, price, income)", {}, 200),
        ("min(loan, price)", {"price": None}, NAN),
        ("abs(income - loan)", {}, 50),
        ("round(2.5) + round(3.5)", {}, 6),
        ("round(loan / 3, 2)", {}, 33.33),
        ("round(loan / 3, -1)", {}, 30),
        ("round(loan, 12)", {"loan": 1e300}, 1e300),
        ("floor(-1.5) + ceil(1.2)", {}, 0),
        ("log(exp(2))", {}, 2),
        ("log(0 - loan)", {}, NAN),
        ("log(0 * loan)", {}, -INF),
        ("exp(1e4)", {}, INF),
        ("was(loan) - loan", {"loan": 80}, 20),
        ("was(loan / price)", {"loan": 80, "price": 1}, 0.5),
        ("was(was(loan)) + was(loan)", {"loan": 80}, 200),
        ("where(job != was(job), 0, größe)", {}, 7),
        ("where(job != was(job), 0, größe)", {"job": "nurse"}, 0),
        ("where(loan > 90, loan > 95, False)", {}, True),
        ("where(owner, 1, 2)", {"owner": False}, 2),
        ("loan < 100 or not loan < 100 and True", {}, True),
        ("not loan > 50 or loan > 50", {}, True),
        ("True or False and False", {}, True),
        ("50 < loan <= 100 < price", {}, True),
        ("50 < loan <= 99 < price", {}, False),
        ("3 > 2 > 1", {}, True),
        ("(loan > 50) + (price > 50)", {}, 2),
        ("-(loan > 50)", {}, -1),
        ("dependants * 2", {}, 6),
        ("dependants == 3", {}, True),
        ("dependants + 1", {"dependants": None}, NAN),
        ("owner", {}, True),
        ("not owner", {}, False),
        ("owner * 10", {}, 10),
        ("owner == True", {}, True),
        ("owner == 1", {"owner": False}, False),
        ("job == 'clerk'", {}, True),
        ('"clerk" != job', {}, False),
        ("job == past", {}, False),
        ("job == past", {"job": "nurse"}, True),
        ("job != past", {"job": "none", "past": "none"}, False),
        ("edu >= 'school'", {}, True),
        ("edu > 'school'", {}, False),
        ("'school' <= edu", {"edu": "none"}, False),
        ("'none' < edu <= 'master'", {}, True),
        ("'none' < was(edu) <= 'master'", {"edu": "none"}, True),
        ("grade == '1'", {}, True),
        ("grade == 'A'", {}, False),
        ("where(loan > 99, 'A', 'B') == 'A'", {}, True),
        ("where(loan > 99, job, 'pilot') == past", {"job": "nurse"}, True),
        ("where(loan > 100, job, 'pilot') == past", {"past": "pilot"}, True),
    ],
)
def test_hand_worked(text, values, expected):
    result = worked_out(text, **values)
    assert isinstance(result, type(expected) if isinstance(expected, bool) else float)
    assert result == pytest.approx(expected, rel=1e-15, nan_ok=True)


@pytest.mark.parametrize("comparison", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("sides", ["loan {} 5", "5 {} loan", "loan {} loan", "was(loan) {} loan"])
def test_every_comparison_with_a_missing_number_is_false(comparison, sides):
    assert worked_out(sides.format(comparison), loan=None) is False


@pytest.mark.parametrize(
    "text",
    [
        *("job == 'clerk'", "job != 'clerk'", "job == was(job)", "job != was(job)", "job != past"),
        *("edu >= 'none'", "edu <= 'master'", "owner", "owner == False", "owner != True"),
    ],
)
def test_every_comparison_with_a_missing_level_is_false(text):
    assert worked_out(text, job=None, edu=None, owner=None) is False


def test_a_missing_truth_is_a_missing_number():
    assert math.isnan(worked_out("owner * 1", owner=None))


@pytest.mark.parametrize(
    ("text", "texts", "codes"),
    [
        ("where(loan > 99, 'A', 'B')", ("A", "B"), [0, 1, 1]),
        ("where(loan > 99, 'none', job)", ("none", "clerk", "nurse"), [0, 2, NAN]),
        ("where(loan > 99, was(job), job)", ("clerk", "nurse", "none"), [0, 1, NAN]),
        ("where(loan > 99, grade, grade)", ("A", "1", "2"), [1, 2, NAN]),
        ("job", ("clerk", "nurse", "none"), [0, 1, NAN]),
        ("'x'", ("x",), [0, 0, 0]),
    ],
)
def test_a_text_is_a_code_into_its_texts(text, texts, codes):
    rows = np.concatenate(
        [row(), row(loan=5, job="nurse", grade=2), row(loan=5, job=None, grade=None)]
    )
    formula = bound(text)
    assert (formula.kind, formula.texts) == ("text", texts)
    np.testing.assert_array_equal(formula(rows, row()), codes)


@pytest.mark.parametrize(
    ("text", "kind", "dtype"),
    [
        ("loan", "number", np.float64),
        ("5", "number", np.float64),
        ("True", "truth", np.bool_),
        ("owner", "truth", np.bool_),
        ("was(owner)", "truth", np.bool_),
    ],
)
def test_the_kind_and_the_shape_of_a_result(text, kind, dtype):
    formula = bound(text)
    assert (formula.kind, formula.texts) == (kind, ())
    for rows, today in [(5, 5), (5, 1), (1, 1), (0, 1), (0, 0)]:
        result = formula(np.repeat(row(), rows, axis=0), np.repeat(row(), today, axis=0))
        assert (result.shape, result.dtype) == ((rows,), dtype)


def test_a_result_is_nobodys_row():
    rows = row()
    for text in ("loan", "was(loan)", "dependants", "job"):
        bound(text)(rows, rows)[:] = -1
    np.testing.assert_array_equal(rows, row())


def test_nothing_is_warned_about():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        text = (
            "1 / 0 + log(0 - 1) + exp(1e9) + 0 / 0 + 5 % 0 + 5 // 0 + (0 - 2) ** 0.5 + 1e308 * 10"
        )
        assert math.isnan(worked_out(text))
        assert math.isnan(worked_out("loan / (loan - 100) - was(1 / (loan - 100))"))
        assert worked_out("loan / 0 >= 5")


# ------------------------------------------------------------------------------- against Python


class Plain(float):
    """A number whose arithmetic is Python's, but never raises, and False beside a missing value."""

    def _over(self, work, other, instead):
        try:
            return Plain(work(float(self), float(other)))
        except ZeroDivisionError:
            return Plain(instead)

    def __add__(self, other):
        return Plain(float(self) + float(other))

    def __sub__(self, other):
        return Plain(float(self) - float(other))

    def __mul__(self, other):
        return Plain(float(self) * float(other))

    def __truediv__(self, other):
        beyond = math.copysign(INF, self) * math.copysign(1, other)
        return self._over(float.__truediv__, other, beyond if abs(self) > 0 else NAN)

    def __floordiv__(self, other):
        return self._over(float.__floordiv__, other, self / other)

    def __mod__(self, other):
        return self._over(float.__mod__, other, NAN)

    def __pow__(self, other):
        with np.errstate(all="ignore"):
            return Plain(np.power(np.array([float(self)]), np.array([float(other)]))[0])

    def __neg__(self):
        return Plain(-float(self))

    def __ne__(self, other):
        return float(self) < float(other) or float(self) > float(other)

    __eq__ = float.__eq__
    __hash__ = float.__hash__


class Words(str):
    """A text of a row; a missing one is empty and compares with nothing."""

    def __eq__(self, other):
        return bool(self) and bool(str(other)) and str(self) == str(other)

    def __ne__(self, other):
        return bool(self) and bool(str(other)) and str(self) != str(other)

    __hash__ = str.__hash__


def _folded(work):
    return lambda *numbers: Plain(work.reduce([float(number) for number in numbers]))


PYTHON = {
    "Plain": Plain,
    "min": _folded(np.minimum),
    "max": _folded(np.maximum),
    "abs": lambda x: Plain(abs(float(x))),
    "floor": lambda x: Plain(math.copysign(math.floor(x), x)) if math.isfinite(x) else x,
    "ceil": lambda x: Plain(math.copysign(math.ceil(x), x)) if math.isfinite(x) else x,
    "where": lambda condition, one, other: Plain(one if condition else other),
}
ORDER = {level: at for at, level in enumerate(LEVELS["edu"])}


class Writer:
    """Writes random formulas, each in our language and as Python: `(ours, python)`.

    Nothing is put in parentheses unless the kinds ask for it, so that precedence decides.
    """

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def truth(self, deep: int) -> tuple[str, str]:
        parts = [self._negated(deep) for _ in range(self.chance.choice([1, 1, 2, 3]))]
        return self._joined(parts, ["and", "or"])

    def _negated(self, deep: int) -> tuple[str, str]:
        ours, python = self.chance.choice([self._comparison, self._comparison, self._condition])(
            deep
        )
        nots = "not " * self.chance.choice([0, 0, 0, 1, 2])
        return nots + ours, nots + python

    def _comparison(self, deep: int) -> tuple[str, str]:
        parts = [self.number(deep - 1) for _ in range(self.chance.choice([2, 2, 3]))]
        return self._joined(parts, ["<", "<=", ">", ">=", "==", "!="])

    def _condition(self, deep: int) -> tuple[str, str]:
        which = self.chance.randrange(6 if deep > 0 else 5)
        if which == 0:
            return "owner", "row['owner']"
        if which == 1:
            return "job != was(job)", "row['job'] != today['job']"
        if which == 2:
            return "job == past", "row['job'] == row['past']"
        if which == 3:
            level = self.chance.choice(LEVELS["job"])
            return f'"{level}" == job', f"row['job'] == {level!r}"
        if which == 4:
            level = self.chance.choice(LEVELS["edu"])
            python = f"(bool(row['edu']) and order[row['edu']] >= {ORDER[level]})"
            return f"edu >= '{level}'", python
        ours, python = self.truth(deep - 1)
        return f"({ours})", f"({python})"

    def number(self, deep: int) -> tuple[str, str]:
        parts = [self._signed(deep) for _ in range(self.chance.choice([1, 2, 3]))]
        return self._joined(parts, ["+", "-", "*", "/", "//", "%", "**"])

    def _signed(self, deep: int) -> tuple[str, str]:
        ours, python = self._atom(deep)
        minus = "-" * self.chance.choice([0, 0, 0, 1, 2])
        return minus + ours, minus + python

    def _atom(self, deep: int) -> tuple[str, str]:
        which = self.chance.randrange(9 if deep > 0 else 4)
        if which < 2:
            name = self.chance.choice(["loan", "price", "class", "dependants"])
            return (f"`{name}`" if name == "class" else name), f"row['{name}']"
        if which == 2:
            number = self.chance.choice(["0", "1", "2", "3", "0.5", ".25", "1_0", "2e1"])
            return number, f"Plain({number})"
        if which == 3:
            return "was(price)", "today['price']"
        if which == 4:
            ours, python = self.truth(deep - 1)
            return f"({ours})", f"Plain({python})"
        if which == 5:
            (c, pc), (a, pa), (b, pb) = self.truth(deep - 1), *self._numbers(deep, 2)
            return f"where({c}, {a}, {b})", f"where({pc}, {pa}, {pb})"
        if which == 6:
            ours, python = self.number(deep - 1)
            return f"({ours})", f"({python})"
        if which == 7:
            function = self.chance.choice(["min", "max"])
            parts = self._numbers(deep, self.chance.choice([2, 3]))
        else:
            function, parts = self.chance.choice(["abs", "floor", "ceil"]), self._numbers(deep, 1)
        ours, python = (", ".join(texts) for texts in zip(*parts, strict=True))
        return f"{function}({ours})", f"{function}({python})"

    def _numbers(self, deep: int, count: int) -> list[tuple[str, str]]:
        return [self.number(deep - 1) for _ in range(count)]

    def _joined(self, parts: list[tuple[str, str]], operators: list[str]) -> tuple[str, str]:
        (ours, python), *rest = parts
        for other, other_python in rest:
            operator = self.chance.choice(operators)
            ours += f" {operator} {other}"
            python += f" {operator} {other_python}"
        return ours, python


def random_row(chance: random.Random) -> dict:
    numbers = {name: chance.choice([-2.0, 0.0, 0.5, 1.0, 3.0, None]) for name in NAMES[:6]}
    texts = {name: chance.choice([*LEVELS[name], None]) for name in ("job", "past", "edu")}
    owner = chance.choice(LEVELS["owner"])
    return numbers | texts | {"dependants": chance.choice([0, 1, 3, None]), "owner": owner}


def as_python(values: dict) -> dict:
    texts = {name: Words(values[name] or "") for name in ("job", "past", "edu")}
    numbers = {
        name: Plain(NAN if value is None else value)
        for name, value in values.items()
        if name not in texts
    }
    return numbers | texts | {"owner": values["owner"]}


@settings(max_examples=500)
@given(SEEDS, st.booleans())
def test_python_comes_to_the_same_row_by_row(seed, truth):
    chance = random.Random(seed)
    writer = Writer(chance)
    ours, python = writer.truth(2) if truth else writer.number(2)
    assume(len(ours) <= 2000)
    people = [random_row(chance) for _ in range(4)]
    today = [random_row(chance) for _ in range(4)]
    program = compile(python, "oracle", "eval")
    expected = [
        eval(program, PYTHON, {"row": as_python(p), "today": as_python(t), "order": ORDER})
        for p, t in zip(people, today, strict=True)
    ]
    formula = bound(ours)
    result = formula(
        np.concatenate([row(**person) for person in people]),
        np.concatenate([row(**person) for person in today]),
    )
    np.testing.assert_array_equal(result, expected, err_msg=ours)


# ---------------------------------------------------------------------------------- parts, excess


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("loan <= price", ["loan <= price"]),
        ("loan <= price and owner", ["loan <= price", "owner"]),
        (
            "owner and (loan < 5 and (0 < price < 9))",
            ["owner", "loan < 5", "0 < price", "price < 9"],
        ),
        ("(loan<5 or owner) and not owner", ["loan<5 or owner", "not owner"]),
        ("loan < 5 or owner and owner", ["loan < 5 or owner and owner"]),
        ("not (owner and owner)", ["not (owner and owner)"]),
        (
            "(loan + 1) <= ((price)) < (income + 1)",
            ["(loan + 1) <= ((price))", "((price)) < (income + 1)"],
        ),
        (
            "(loan < 5) == (price < 5) == owner",
            ["(loan < 5) == (price < 5)", "(price < 5) == owner"],
        ),
        ("'none' < edu <= \"master\"", ["'none' < edu", 'edu <= "master"']),
        ("`debt-to-income`\n< größe\n< 5", ["`debt-to-income`\n< größe", "größe\n< 5"]),
    ],
)
def test_what_has_to_hold_together_is_cut_into_parts(text, parts):
    assert [part.text for part in Formula.parse(text, "The requirement").parts] == parts
    bound(text)


@given(SEEDS)
def test_parts_hold_together_where_the_whole_does(seed):
    chance = random.Random(seed)
    text, _ = Writer(chance).truth(1)
    rows = np.concatenate([row(**random_row(chance)) for _ in range(6)])
    today = np.concatenate([row(**random_row(chance)) for _ in range(6)])
    formula = Formula.parse(text, "The requirement")
    parts = [part.bind(NAMES, LEVELS)(rows, today) for part in formula.parts]
    whole = formula.bind(NAMES, LEVELS)(rows, today)
    np.testing.assert_array_equal(np.logical_and.reduce(parts), whole, err_msg=text)


def test_a_part_is_named_as_the_whole_is():
    part = Formula.parse("loan < 5 and prise < 6", "The requirement").parts[1]
    with pytest.raises(FormulaError, match=r'^The requirement, at character 1 of "prise < 6": '):
        part.bind(NAMES, LEVELS)


@pytest.mark.parametrize(
    ("text", "excess"),
    [
        ("loan <= price", -100),
        ("loan < price", -100),
        ("loan >= price", 100),
        ("(loan > price - 100)", 0),
        ("dependants <= 1", 2),
        ("owner <= 0", 1),
        ("loan <= was(loan) - 10", 10),
        ("loan / 0 <= price / 0", 0),
        ("5 <= loan / 0", -INF),
    ],
)
def test_by_how_much_a_comparison_is_missed(text, excess):
    formula = bound(text)
    assert formula.excess_is_known
    assert formula.excess(row(), row()).tolist() == [excess]


@pytest.mark.parametrize(
    "text",
    [
        *("loan == price", "loan != price", "0 < loan < price", "not loan < price", "owner"),
        *("loan", "edu <= 'school'", "loan < 5 and price < 5", "where(loan < 5, 1, 2)"),
    ],
)
def test_other_forms_have_no_excess(text):
    formula = bound(text)
    assert not formula.excess_is_known
    assert formula.excess(row(), row()) is None


def test_the_excess_of_what_is_missing_is_missing():
    assert np.isnan(bound("loan <= price").excess(row(loan=None), row())).all()


@given(*[st.floats(allow_nan=False)] * 2, st.sampled_from(["<", "<=", ">", ">="]))
def test_the_excess_says_whether_it_is_kept(loan, price, comparison):
    formula = bound(f"loan {comparison} price")
    values = row(loan=loan, price=price)
    excess = formula.excess(values, values)
    kept = excess < 0 if comparison in "<>" else excess <= 0
    assert kept == formula(values, values)


# -------------------------------------------------------------------------------- as a value


def test_formulas_travel_by_their_text():
    formula = Formula.parse("loan / `debt-to-income` + `nowhere`", "The formula of 'ltv'")
    again = pickle.loads(pickle.dumps(formula))
    assert (again, again.names, hash(again)) == (formula, formula.names, hash(formula))
    assert copy.deepcopy(formula) == formula
    assert len(pickle.dumps(formula)) < 300
    with pytest.raises(FormulaError, match=r"^The formula of 'ltv', at character 27 of"):
        again.bind(NAMES, LEVELS)


def test_a_bound_formula_travels_with_the_levels_it_reads():
    formula = bound("where(job == was(job), loan, dependants) <= price")
    again = pickle.loads(pickle.dumps(formula))
    assert again == formula
    assert hash(again) == hash(formula)
    assert [name for name, _ in again.levels] == ["dependants", "job"]
    assert again(row(job="nurse"), row()).tolist() == [True]
    assert again.excess(row(job="nurse"), row()).tolist() == [-197]
    assert formula != bound("loan <= price")
    assert formula != formula.formula.bind([*NAMES, "more"], LEVELS)


def test_a_formula_cannot_be_altered():
    with pytest.raises(AttributeError):
        bound("loan").kind = "text"
    with pytest.raises(AttributeError):
        bound("loan").formula.text = "price"


# ------------------------------------------------------------------------------------- kinds, names


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("loan / prise", 8, "there is no feature 'prise'. Did you mean 'price'?"),
        ("was(lone)", 5, "there is no feature 'lone'. Did you mean 'loan'?"),
        (
            "zebra",
            1,
            "there is no feature 'zebra'. There are 'loan', 'price', 'income', "
            "'debt-to-income', 'größe', … (7 more).",
        ),
        (
            "1 + debt-to-income",
            5,
            "there is no feature 'debt'. If you mean 'debt-to-income', write it in backticks: "
            "`debt-to-income`.",
        ),
        (
            "job == clerk",
            8,
            "there is no feature 'clerk'. The level of 'job' is written in quotes: 'clerk'.",
        ),
        ("owner == true", 10, "there is no feature 'true'. Did you mean True?"),
        ("job == 'clerc'", 8, "job has no level 'clerc'. Did you mean 'clerk'?"),
        (
            "'zebra' != was(job)",
            1,
            "was(job) has no level 'zebra'. It can be 'clerk', 'nurse', 'none'.",
        ),
        (
            "where(owner, 'A', 'B') == 'C'",
            27,
            "where(owner, 'A', 'B') is never 'C'. It can be 'A', 'B'.",
        ),
        ("'a' == 'b'", 1, "two texts in quotes are compared; write a feature on one side."),
        (
            "loan + job",
            8,
            "job is text, and arithmetic takes numbers; make a number of it: "
            "where(job == 'clerk', 1, 0).",
        ),
        ("-'5'", 2, "'5' is text, and - takes numbers; write a number without quotes."),
        (
            "min(loan, job)",
            11,
            "job is text, and min takes numbers; make a number of it: where(job == 'clerk', 1, 0).",
        ),
        (
            "round(job, 1)",
            7,
            "job is text, and round takes numbers; make a number of it: "
            "where(job == 'clerk', 1, 0).",
        ),
        ("loan and owner", 1, "loan is a number, and 'and' takes conditions; write loan > 0."),
        ("owner or loan", 10, "loan is a number, and 'or' takes conditions; write loan > 0."),
        ("not loan", 5, "loan is a number, and 'not' takes conditions; write loan > 0."),
        ("not job", 5, "job is text, and 'not' takes conditions; write job == 'clerk'."),
        (
            "'x' and owner",
            1,
            "'x' is text, and 'and' takes conditions; compare a feature with it.",
        ),
        (
            "where(loan, 1, 2)",
            7,
            "loan is a number, and the first place of where takes conditions; write loan > 0.",
        ),
        (
            "where(owner, 1, 'a')",
            1,
            "where gives 1 or 'a', and only one of them is text; make both numbers, or both text "
            "in quotes.",
        ),
        (
            "job == 1",
            8,
            "job is text, and 1 isn't; compare it with 'clerk', 'nurse', 'none'.",
        ),
        ("loan > '5'", 8, "loan is a number, and '5' is text; write a number without quotes."),
        (
            "'3' == dependants",
            1,
            "dependants is a number, and '3' is text; write a number without quotes.",
        ),
        (
            "owner == 'yes'",
            10,
            "owner is True or False, and 'yes' is text; write one of them without quotes.",
        ),
        (
            "edu < was(edu)",
            1,
            "texts have no order, but levels do: with <, <=, > and >= write a feature on one side "
            "and one of its levels in quotes on the other.",
        ),
        (
            "where(owner, 'A', 'B') < 'A'",
            1,
            "texts have no order, but levels do: with <, <=, > and >= write a feature on one side "
            "and one of its levels in quotes on the other.",
        ),
    ],
)
def test_what_does_not_fit_the_features_is_answered_with_its_place_and_a_way_out(
    text, place, problem
):
    with pytest.raises(SchemaError) as caught:
        bound(text)
    assert (
        str(caught.value) == f"The formula of 'ltv', at character {place} of \"{text}\": {problem}"
    )


def test_a_long_operand_is_cut_in_the_sentence():
    with pytest.raises(FormulaError) as caught:
        bound("not (" + " + ".join(["loan"] * 30) + ")")
    shown = "loan + loan + loan + loan + loan + loan…"
    assert f": {shown} is a number" in str(caught.value)


def test_levels_that_are_written_alike_are_refused():
    formula = Formula.parse("a == '1'", "The requirement")
    with pytest.raises(FormulaError, match="'a' has two levels that are written 1; rename one"):
        formula.bind(["a"], {"a": [1, "1"]})


def test_a_feature_is_found_as_the_schema_spells_it():
    formula = Formula.parse("ﬁne * `a``b`", "The formula")
    assert formula.bind(["ﬁne", "a`b"], {})(np.array([[2.0, 3.0]]), np.zeros((1, 2))) == 6
    with pytest.raises(FormulaError, match=r"there is no feature 'ﬁne'\. Did you mean 'fine'"):
        formula.bind(["fine", "a`b"], {})


def test_the_deepest_formula_that_is_read_is_worked_out():
    text = " + ".join(["loan"] * 100)
    assert worked_out(text) == 10_000
    assert worked_out("(" * 99 + "loan < " * 2 + "loan" + ")" * 99) is False


def test_what_stands_in_a_chain_is_worked_out_once():
    # Twice at every level would be 2**40 times.
    text = "(loan < " * 40 + "loan" + " < loan)" * 40
    assert worked_out(text) in (True, False)
