"""What may be asked of a person, in short words."""

from __future__ import annotations

import pytest
from tests.test_markup import texts

import stepladder as sl
from stepladder.table.allowed import allowed


@pytest.mark.parametrize(
    ("feature", "said"),
    [
        (sl.Numeric("a"), "any number"),
        (sl.Numeric("a", multiple=50, unit="$ a month"), "any number ($ a month), in steps of $50"),
        (sl.Numeric("a", multiple=50, integer=True, bounds=(0, 500)), "0 to 500, in steps of 50"),
        (sl.Numeric("a", reach="30%"), "any number; within 30% of today's value"),
        (sl.Numeric("a", reach=500, unit="$"), "any number ($); within $500 of today's value"),
        (
            sl.Numeric("a", reach=0.07, percent=True),
            "any number; within 7 percentage points of today's value",
        ),
        (sl.Numeric("a", reach=(-100, None)), "any number; at most 100 below today's value"),
        (sl.Numeric("a", reach=(None, "5%")), "any number; at most 5% above today's value"),
        (
            sl.Numeric("a", reach=("-20%", "+50%")),
            "any number; at most 20% below and 50% above today's value",
        ),
        (sl.Numeric("a", change="time"), "any number; grows by one per year"),
        (
            sl.Numeric("a", typical=(1, 2), at_once=True, difficulty=0.5, months=1, fill=True),
            "any number; typical: 1 to 2; all at once; difficulty 0.5; takes 1 month; "
            "a gap may be filled",
        ),
        (sl.Numeric("a", months_each=0.5), "any number; 0.5 months for each unit"),
        (sl.Ordinal("a", levels=[1, 2], months_each=24), "1 < 2; 24 months for each level"),
        (
            sl.Categorical("a", not_to=["none"], moves={"over": ["basic", "gold"], "gold": []}),
            "the levels of the table; not to none; from over only to basic, gold; "
            "from gold nowhere",
        ),
        (sl.Derived("a", "loan / b", decimals=3), "worked out: loan / b, in steps of 0.001"),
        (sl.Derived("a", "loan", decimals=2, unit="$"), "worked out: loan, in steps of $0.01"),
        (sl.Derived("a", len), "worked out: by a function of the others"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_every_rule_has_its_words(feature, said):
    assert allowed(feature) == said


def test_a_notebook_shows_what_is_worked_out_and_required():
    schema = sl.Schema(
        [sl.Numeric("loan", change="decrease"), sl.Derived("half", "loan / 2", label="one half")],
        require=["loan >= 0", "half < 9"],
    )
    assert texts(schema._repr_html_())[6:] == [
        *("loan", "loan", "numeric", "decrease", "any number"),
        *("half", "one half", "derived", "with others", "worked out: loan / 2"),
        *("Every row keeps: loan >= 0", "Every row keeps: half < 9"),
    ]
