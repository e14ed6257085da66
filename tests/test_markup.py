"""What a notebook shows of a schema, a result, a walk, and of what is text."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from html import escape

import pytest
from tests.methods import bank

import stepladder as sl
from stepladder import markup
from stepladder.audit import audit
from stepladder.methods.step.why import why_not
from stepladder.table.allowed import allowed
from stepladder.words import plans as words

SPOKEN = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), integer=True, unit="$ a month"),
        sl.Numeric(
            "loan",
            integer=True,
            change="decrease",
            typical=(20, 250),
            unit="$",
            times=1000,
            fall="borrow less",
        ),
        sl.Ordinal("education", levels=bank.LEVELS, change="increase", label="schooling"),
        sl.Categorical("job", levels=["clerk", "smith"], onehot=["job_a", "job_b"]),
    ]
)


def texts(html: str) -> list[str]:
    """The texts of well-formed HTML, in order."""
    return [text.strip() for text in ET.fromstring(html).itertext() if text.strip()]


def test_everything_is_escaped():
    html = markup.block("<b>", markup.table(["<i>"], [["a & b", 3]]), markup.paragraph("<script>"))
    assert texts(html) == ["<b>", "<i>", "a & b", "3", "<script>"]


def test_figures_stand_to_the_right_and_texts_to_the_left():
    made = ET.fromstring(markup.table(["who", "count"], [["a", 3]], numbers=[1]))
    styles = [cell.attrib["style"].partition(";")[0] for cell in made.iter() if cell.text]
    assert styles == ["text-align: left", "text-align: right"] * 2


def test_a_schema_is_a_table_of_its_features():
    shown = texts(SPOKEN._repr_html_())
    assert shown[:6] == [
        "Schema of 4 features",
        *("feature", "called", "kind", "may change", "allowed"),
    ]
    rows = [shown[i : i + 5] for i in range(6, len(shown), 5)]
    assert rows == [
        ["income", "income", "numeric", "any", "from $0 a month, in steps of $1"],
        [
            *("loan", "loan; “borrow less”", "numeric", "decrease"),
            "any number ($), in steps of $1,000; typical: $20,000 to $250,000",
        ],
        ["education", "schooling", "ordinal", "increase", "school < bachelor < master"],
        ["job", "job", "categorical", "any", "clerk, smith; columns: job_a, job_b"],
    ]


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        (sl.Numeric("a"), "any number"),
        (sl.Numeric("a", bounds=(None, 3), unit="years"), "up to 3 years"),
        (sl.Numeric("a", bounds=(0, 1), percent=True, decimals=2), "0% to 100%, in steps of 1%"),
        (sl.Categorical("a"), "the levels of the table"),
        (sl.Ordinal("a", levels=range(10)), "0 < 1 < 2 < 3 < 4 < 5 < 6 < 7, … (2 more)"),
    ],
)
def test_what_is_allowed_is_said_in_short(feature, said):
    assert allowed(feature) == said


def test_a_result_shows_how_people_fared_and_the_first_of_them():
    result = bank.fitted().recourse(bank.REJECTED)
    shown = texts(result._repr_html_())
    assert shown[0] == f"{len(bank.REJECTED)} people, 3 paths each; a yes takes 60%"
    assert shown[shown.index("reached") + 1] == str(len(bank.REJECTED))
    assert f"… and {len(bank.REJECTED) - 10} more people: see result.status" in shown


def test_changes_and_scores_are_shown_as_in_words():
    rows = bank.TRAIN[["income", "debt"]]
    schema = sl.Schema(
        [
            sl.Numeric("income", integer=True, change="increase", unit="$ a year", label="pay"),
            sl.Numeric("debt", change="never", unit="$"),
        ]
    )
    step = sl.StEP(paths=1).fit(rows, lambda frame: frame["income"] / 1e5, schema=schema)
    person = rows.iloc[[0]].assign(income=20_000, debt=1234.5)
    result, walk = step.recourse(person), step.walk(person)
    end = result.final["income"].iloc[0]
    row = texts(result._repr_html_())[-8:]
    assert row[:4] == [str(person.index[0]), "reached", "20%", "1"]  # the first path
    assert row[5] == f"{result.final['effort'].iloc[0]:.2f}"
    assert row[-2].endswith("%")
    assert row[-1] == f"pay: $20,000 → ${end:,} a year"
    shown = texts(walk._repr_html_())
    assert shown[0] == "The score is 20%; a yes takes 50%"
    assert shown[4:10] == ["pay", "$20,000 a year", "increase", "debt", "$1,234.50", "never"]
    offered = next(i for i, text in enumerate(shown) if text.startswith("pay: $20,000 → "))
    assert shown[offered - 1] == "1"
    walk.lock("income")
    assert texts(walk._repr_html_())[6] == "locked"


def test_nobody_is_shown_as_nobody():
    assert texts(bank.fitted().recourse(bank.REJECTED.iloc[:0])._repr_html_())[-1] == "changes"


def test_a_walk_shows_where_it_stands_and_its_offers():
    walk = bank.fitted().walk(bank.REJECTED.iloc[[0]])
    shown = texts(walk._repr_html_())
    assert f"{walk.row['income'].iloc[0]:,}" in shown
    assert "next step" in shown
    while not walk.done:
        walk.take(walk.directions()[0].path)
    assert texts(walk._repr_html_())[-1] == "the goal is met"


def test_a_look_at_a_paid_walk_costs_nothing():
    pytest.importorskip("opendp")
    schema = sl.Schema(
        [sl.Numeric("income", bounds=(0, 100_000)), sl.Numeric("age", change="never")]
    )
    budget = sl.Budget(1, 1e-6)
    step = sl.StEP(privacy=sl.PayPerDirection(budget), paths=1)
    rows = bank.TRAIN[["income", "age"]]
    step.fit(rows, lambda frame: frame["income"] / 1e5, schema=schema)
    spent = budget.spent
    walk = step.walk({"income": 20_000, "age": 40})
    assert texts(walk._repr_html_())[-1] == "directions haven't been asked for from here"
    assert budget.spent == spent


def test_plans_audits_and_reasons_show_their_text_escaped():
    result = bank.fitted().recourse(bank.REJECTED.iloc[:4])
    plan = words.plans(result)[0]
    found = audit(result, {"<b>": ["<i>", "x", "<i>", "x"]}, samples=5)
    reason = why_not(bank.fitted(), bank.REJECTED.iloc[[0]], locked=bank.SCHEMA.names)
    for shown in (plan, found, reason):
        assert f">{escape(str(shown))}</pre>" in shown._repr_html_()
    assert "&lt;b&gt;=&lt;i&gt;" in found._repr_html_()
