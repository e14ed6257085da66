"""What a notebook shows of a schema, a result and a walk."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest
from tests.methods import bank

import stepladder as sl
from stepladder import markup


def texts(html: str) -> list[str]:
    """The texts of well-formed HTML, in order."""
    return [text.strip() for text in ET.fromstring(html).itertext() if text.strip()]


def test_everything_is_escaped():
    html = markup.block("<b>", markup.table(["<i>"], [["a & b", 3]]), markup.paragraph("<script>"))
    assert texts(html) == ["<b>", "<i>", "a & b", "3", "<script>"]


def test_a_schema_is_a_table_of_its_features():
    shown = texts(bank.SCHEMA._repr_html_())
    assert shown[:5] == ["Schema of 7 features", "feature", "kind", "may change", "beyond that"]
    assert "bounds: 0 to open; integer: yes" in shown
    assert "levels: 'school', 'bachelor', 'master'" in shown


def test_a_result_shows_how_people_fared_and_the_first_of_them():
    result = bank.fitted().recourse(bank.REJECTED)
    shown = texts(result._repr_html_())
    assert shown[0] == repr(result)
    assert shown[shown.index("reached") + 1] == str(len(bank.REJECTED))
    assert f"… and {len(bank.REJECTED) - 10} more people: see result.status" in shown
    person = str(bank.REJECTED.index[0])
    assert any("→" in text for text in shown[shown.index(person) :])


def test_nobody_is_shown_as_nobody():
    assert texts(bank.fitted().recourse(bank.REJECTED.iloc[:0])._repr_html_())[-1] == "changes"


def test_a_walk_shows_where_it_stands_and_its_offers():
    walk = bank.fitted().walk(bank.REJECTED.iloc[[0]])
    shown = texts(walk._repr_html_())
    assert str(walk.row["income"].iloc[0]) in shown
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
