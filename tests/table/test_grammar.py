"""What can be read as a formula, what can't, and the sentence for each."""

from __future__ import annotations

import ast
import dataclasses
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stepladder.errors import FormulaError
from stepladder.table.formula import Formula
from stepladder.table.grammar import FUNCTIONS, Tree

NODES = (
    *(ast.Name, ast.Load, ast.Call, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare),
    *(ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.USub),
    *(ast.And, ast.Or, ast.Not, ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq),
)


def read(text: str) -> Formula:
    return Formula.parse(text, "The formula of 'ltv'")


def sentence(text: str) -> str:
    with pytest.raises(FormulaError) as caught:
        read(text)
    return str(caught.value)


# ------------------------------------------------------------------------------------- what is read


@pytest.mark.parametrize(
    ("text", "names", "before"),
    [
        ("loan / price", {"loan", "price"}, set()),
        ("was(payment) * loan / was(loan)", {"loan"}, {"payment", "loan"}),
        ("was(a + min(b, was(c))) + d", {"d"}, {"a", "b", "c"}),
        ("`debt (monthly)` + `a``b` + `loan`", {"debt (monthly)", "a`b", "loan"}, set()),
        ("`class` == 'it''s' and `True`", {"class", "True"}, set()),
        ("größe + 年収 + आय + e\u0301tat", {"größe", "年収", "आय", "e\u0301tat"}, set()),
        ("ﬁne + ℌ", {"ﬁne", "ℌ"}, set()),  # Python would read fine and H
        ("min(min, max) + log", {"min", "max", "log"}, set()),
        ("type + match + _", {"type", "match", "_"}, set()),
        ("True or False", set(), set()),
        ("'names `here` # aren''t read' == job", {"job"}, set()),
        ("loan\n  / price\n", {"loan", "price"}, set()),
        ("loan\u00a0/\tprice", {"loan", "price"}, set()),
        ("`was`", {"was"}, set()),
    ],
)
def test_the_names_a_formula_reads(text, names, before):
    formula = read(text)
    assert (formula.names, formula.before) == (names, before)


def test_a_formula_is_its_text_without_the_space_around_it():
    assert read("  a + b\n").text == "a + b"
    assert read(" a") == Formula.parse("a", "The requirement")
    assert hash(read(" a")) == hash(Formula.parse("a", "The requirement"))
    assert read("a + b") != read("a+b")


# ------------------------------------------------------------------------------------- what is not


KNOWN = "abs, ceil, exp, floor, log, max, min, round, was, where"
COMMA = "a comma only separates what a function is given; write 1000 for 1,000 and 0.5 for 0,5."
DECIMALS = "the decimals of round must be a whole number from -12 to 12, written out; got "


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("loan +", 6, "a value is missing after '+'."),
        ("* loan", 1, "a value is missing before '*'."),
        ("a < > b", 3, "a value is missing after '<'."),
        ("a * () + b", 5, "a value is missing after '('."),
        ("min(a, b,)", 9, "a value is missing after ','."),
        ("min(*a)", 4, "a value is missing after '('."),
        ("min(**a)", 4, "a value is missing after '('."),
        ("30% < a", 3, "a value is missing after '%'. For per cent write a share: 0.3 for 30%."),
        ("a > +5", 5, "a value needs no '+' before it; take it out."),
        ("a < not b", 5, "'not' can't follow '<'; put it in parentheses: (not …)."),
        ("a not b", 3, "an operator is missing before not."),
        ("f'x'", 2, "an operator is missing before 'x'."),
        ("2 a", 3, "an operator is missing before a."),
        ("a AND b", 3, "an operator is missing before AND. Did you mean and?"),
        (
            "monthly income > 5",
            9,
            "an operator is missing before income. A name with a space in it goes in backticks: "
            "`monthly income`.",
        ),
        ("2 (a)", 3, "an operator is missing before '('; write * to multiply."),
        ("(a)(b)", 4, "an operator is missing before '('; write * to multiply."),
        ("`min`(a, b)", 6, "an operator is missing before '('; write * to multiply."),
        ("(a + (b)", 1, "this parenthesis is never closed; add a ')'."),
        ("a) + b", 2, "this parenthesis was never opened; take it out."),
        ("a < 1,000", 6, COMMA),
        ("min((a, b), c)", 7, COMMA),
        ("'abc", 1, "the text that begins here isn't closed; end it with '."),
        ("a + `abc", 5, "the name that begins here isn't closed; end it with `."),
        ("``", 1, "the name in backticks is empty."),
        ("a = 3", 3, "'=' isn't used in formulas; write == instead."),
        ("a => 3", 3, "'=>' isn't used in formulas; write >= instead."),
        ("a <> 3", 3, "'<>' isn't used in formulas; write != instead."),
        ("a≤3", 2, "'≤' isn't used in formulas; write <= instead."),
        ("a && b", 3, "'&&' isn't used in formulas; write and instead."),
        ("a ^ 2", 3, "'^' isn't used in formulas; write ** instead."),
        ("a − b", 3, "'−' isn't used in formulas; write - instead."),
        ("a == ‘x’", 6, "'‘' isn't used in formulas; write ' instead."),
        ("a[0]", 2, "'[' isn't used in formulas; write ( instead."),
        (
            "loan.price",
            5,
            "'.' isn't used in formulas; a name that contains it goes in backticks: `a.b`.",
        ),
        (
            "größe@2",
            6,
            "'@' isn't used in formulas; a name that contains it goes in backticks: `a@b`.",
        ),
        (
            "a > €5",
            5,
            "'€' isn't used in formulas; write an amount as a number alone, without its currency.",
        ),
        (
            "class + 1",
            1,
            "'class' isn't used in formulas; put it in backticks if it's the name of a feature: "
            "`class`.",
        ),
        (
            "a if b else c",
            3,
            "'if' isn't used in formulas; write where(condition, x, y) instead, or put it in "
            "backticks if it's the name of a feature: `if`.",
        ),
        ("0x10", 1, "'0x10' isn't a number; write one such as 1000, 0.35 or 1.5e6."),
        ("5j", 1, "'5j' isn't a number; write one such as 1000, 0.35 or 1.5e6."),
        ("1.2.3", 1, "'1.2.3' isn't a number; write one such as 1000, 0.35 or 1.5e6."),
        ("10k", 1, "'10k' isn't a number; write one such as 1000, 0.35 or 1.5e6."),
        ("1e999", 1, "the number is too large; numbers go up to 1.8e+308."),
        ("sqrt(a)", 1, f"there is no function 'sqrt'; there are {KNOWN}. Write x ** 0.5."),
        ("a + lgo(a)", 5, f"there is no function 'lgo'; there are {KNOWN}. Did you mean 'log'?"),
        ("rate (3)", 1, f"there is no function 'rate'; there are {KNOWN}. To multiply, write *."),
        ("eval(a)", 1, f"there is no function 'eval'; there are {KNOWN}. To multiply, write *."),
        ("min(a)", 1, "min is written min(x, y, …); here it's given 1 value."),
        ("abs()", 1, "abs is written abs(x); here it's given 0 values."),
        ("where(a, b)", 1, "where is written where(condition, x, y); here it's given 2 values."),
        ("round(a, b)", 10, f"{DECIMALS}b."),
        ("round(a, 99)", 10, f"{DECIMALS}99."),
        ("round(a, 1.5)", 10, f"{DECIMALS}1.5."),
        ("round(a, not 1)", 10, f"{DECIMALS}not 1."),
        ("round(a, 'b')", 10, f"{DECIMALS}'b'."),
        ("round(a, True)", 10, f"{DECIMALS}True."),
    ],
)
def test_what_cannot_be_read_is_answered_with_its_place_and_a_way_out(text, place, problem):
    assert sentence(text) == f"The formula of 'ltv', at character {place} of \"{text}\": {problem}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "The formula of 'ltv' is empty; write one such as \"loan / price\"."),
        (" \n", "The formula of 'ltv' is empty; write one such as \"loan / price\"."),
        (5, "The formula of 'ltv' must be text such as \"loan / price\"; got 5."),
        (None, "The formula of 'ltv' must be text such as \"loan / price\"; got None."),
        (
            "a" * 2001,
            "The formula of 'ltv' has 2,001 characters, and at most 2,000 are allowed; put parts "
            "of it into derived features of their own.",
        ),
    ],
)
def test_a_formula_that_is_no_text_of_a_readable_length(text, said):
    assert sentence(text) == said


@pytest.mark.parametrize(
    "text",
    [
        "+".join("a" * 900),
        "**".join("a" * 600),
        "-" * 1999 + "a",
        "not " * 450 + "a",
        "(" * 999 + "a" + ")" * 999,
        "abs(" * 390 + "a" + ")" * 390,
        "(a<" * 300 + "a" + ")" * 300,
    ],
    ids=lambda text: text[:8],
)
def test_what_is_nested_too_deeply_is_refused(text):
    assert sentence(text) == (
        "The formula of 'ltv' is nested more than 100 deep; put parts of it into derived features "
        "of their own."
    )


def test_a_long_formula_is_quoted_around_the_place():
    text = "a + " * 30 + "b c" + " + a" * 30
    assert sentence(text) == (
        "The formula of 'ltv', at character 123 of "
        f'"…{text[62:182]}…": an operator is missing before c. A name with a space in it goes in '
        "backticks: `b c`."
    )


def test_a_formula_with_quotes_or_odd_characters_is_quoted_in_one_line():
    assert sentence('job == "x" +\n').startswith(
        "The formula of 'ltv', at character 12 of 'job == \"x\" +': "
    )
    assert sentence("a\n + \x00").startswith("The formula of 'ltv', at character 6 of \"a  +  \": ")
    assert sentence("a 'b\nc'").endswith("an operator is missing before 'b c'.")
    assert sentence("a\x00b").endswith("'\\x00' isn't used in formulas; take it out.")


# ------------------------------------------------------------------------------------------- safety


SNIPPETS = [
    "__import__('os').system('touch {trap}')",
    "open('{trap}', 'w')",
    "().__class__.__bases__[0].__subclasses__()",
    "[open('{trap}', 'w') for _ in (1,)]",
    "(lambda: open('{trap}', 'w'))()",
    'f\'{{open("{trap}", "w")}}\'',
    "(a := open('{trap}', 'w'))",
    "exec('open(1)')",
    "a.__class__",
    "a['b']",
    "{{a: b}}",
    "{{*a}}",
    "min(*a, **b)",
    "min(a, key=b)",
    "a if b else c",
    "a is b",
    "a in b",
    "a not in b",
    "await a",
    "yield a",
    "b'abc'",
    "r'abc'",
    "1j",
    "...",
    "None",
    "~a",
    "a @ b",
    "a << b",
    "a; b",
    "a # b",
    "a \\\n b",
    "import os",
    "a = b",
    "`a`.b",
    "min.a",
    "was",
    "where()()",
    "(was)(a)",
    "-" * 1000,
    "9**9**9**9**9",
    "1" * 1500,
    "1e9999",
    "0" * 1900,
    "\x00",
    "\ud800",
    "a\u202eb",
]


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_no_snippet_of_python_runs_or_takes_long(snippet, tmp_path):
    trap = tmp_path / "trap"
    began = time.perf_counter()
    is_allowed_or_refused(snippet.format(trap=trap))
    assert time.perf_counter() - began < 1
    assert not trap.exists()


def is_one_sentence(message: str) -> None:
    assert message.startswith("The formula of 'ltv'")
    assert message.endswith((".", "?"))
    assert "\n" not in message


def is_allowed_or_refused(text: str) -> None:
    try:
        formula = read(text)
    except FormulaError as error:
        is_one_sentence(str(error))
        return
    nodes = list(ast.walk(formula._tree.root))
    assert all(isinstance(node, NODES) for node in nodes)
    functions = [node.func for node in nodes if isinstance(node, ast.Call)]
    assert all(formula._tree.word(function).value in FUNCTIONS for function in functions)
    assert all(part.parts == (part,) for part in formula.parts)


FRAGMENTS = st.sampled_from(
    [
        *("a", "b", "was", "min", "where", "round", "class", "__class__", "if", "True", "`", "``"),
        *(
            "+",
            "-",
            "*",
            "**",
            "/",
            "//",
            "%",
            "<",
            "<=",
            "==",
            "!=",
            "=",
            ":=",
            "and",
            "or",
            "not",
        ),
        *(
            "(",
            ")",
            ",",
            "[",
            "]",
            ".",
            "'",
            '"',
            "#",
            "\\",
            "\n",
            " ",
            "1",
            "0.5",
            "1e5",
            "é",
            "ﬁ",
        ),
        *("a + b", "min(a, b)", "was(a)", "a < b", "'x'", "`a b`", "(a)", "not a", "-a"),
    ]
)


@given(st.text(max_size=60))
@example("\ud800'\ud800")
@example("1_")
@example("a" + "\u0301" * 50)
def test_any_text_is_read_or_refused(text):
    is_allowed_or_refused(text)


@given(st.lists(FRAGMENTS, max_size=12), st.sampled_from(["", " "]))
def test_any_pile_of_words_is_read_or_refused(fragments, between):
    is_allowed_or_refused(between.join(fragments))


@pytest.mark.parametrize(
    "python",
    [
        *("a.b", "a[0]", "lambda: a", "[a for a in b]", "(a := b)", "f'{a}'", "a if b else c"),
        *("a is b", "a in b", "~a", "+a", "a @ b", "a << b", "a & b", "a()()", "(a, b)", "5"),
        *("_0(*a, *b)", "_0(a=1)", "_0(**a)"),
    ],
)
def test_only_known_nodes_get_through_even_if_the_words_did(python):
    tree = Tree.read("min", "The formula of 'ltv'")
    let_through = dataclasses.replace(tree, root=ast.parse(python, mode="eval").body)
    with pytest.raises(FormulaError, match="can't be used in a formula"):
        let_through.check(let_through.root, {True: set(), False: set()})
