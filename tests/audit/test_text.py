"""An audit in plain text, as whoever has to judge it reads it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.audit.made import HAPPY, SEX, five, handmade, many, path, planted, reaching

from stepladder.audit import audit, text


def lines_of(made):
    return str(made).splitlines()


def joined(made):
    """The text with its folds taken out."""
    return " ".join(str(made).split())


def test_it_prints_as_a_short_table_with_intervals_and_says_how_far_groups_are_apart():
    result, groups = planted([200, 200], [0.9, 0.5])
    lines = lines_of(audit(result, groups))
    assert lines[:5] == [
        "400 people, of whom 400 asked for a route to a yes.",
        "",
        "By group",
        "            asked   have a route   mean distance      mean steps",
        "  group=a     200   90% (85–93%)   2.00 (1.92–2.08)   2.0",
    ]
    assert lines[6:8] == [
        "  Have a route: fewest in group=b (50%), most in group=a (90%); 40 percentage",
        "    points apart (32 to 48), hardly by chance.",
    ]
    assert "Mean steps: no difference seen." in str(lines)
    assert len(lines) < 25


def test_what_may_be_chance_is_said_to_be():
    result, groups = planted([40, 40], [0.9, 0.8])
    assert "10 percentage points apart (-6 to 26), which may be chance." in joined(
        audit(result, groups)
    )


def test_who_had_a_yes_already_is_counted_apart():
    assert "of whom 4 asked for a route to a yes. 1 had a yes already." in str(
        audit(five(), {"sex": SEX}, samples=5)
    )


def test_one_person_has_no_brackets_and_no_verdict():
    said = audit(five(), {"sex": SEX}, samples=20)
    women, man = (next(line for line in lines_of(said) if name in line) for name in ("=f*", "=m*"))
    assert women.split() == ["sex=f*", "2", "50%", "(9–91%)", "2.00", "2.0"]
    assert man.split() == ["sex=m*", "1", "100%", "(21–100%)", "1.00", "2.0"]
    assert "(3.00), shortest in sex=m (1.00); 2.00 apart, and no telling" in joined(said)


def test_a_difference_is_never_minus_nothing_nor_rounded_to_nothing():
    rng = np.random.default_rng(0)
    costs = np.concatenate([rng.normal(2, 0.01, 100), rng.normal(2.001, 0.01, 100)])
    said = joined(audit(many(costs), {"g": ["a"] * 100 + ["b"] * 100}, samples=50))
    assert "-0.00" not in said
    assert "less than 0.01 apart (0.00 to " in said


def test_small_groups_are_marked_and_the_mark_explained():
    result, groups = planted([100, 100, 5], [0.9, 0.9, 0.0])
    made = audit(result, groups, samples=20)
    assert "group=c*" in str(made)
    assert "* fewer than 30 people asked: too few to say much. Differences leave" in joined(made)
    assert "Have a route: no difference seen." in joined(made)  # of the other two
    assert "*" not in str(audit(*planted([100, 100], [0.9, 0.9]), samples=20))


def test_where_only_small_groups_can_be_compared_the_sentence_is_marked():
    said = joined(audit(*planted([5, 5], [1.0, 0.6]), samples=20))
    assert "Have a route: fewest in group=b (60%)" in said
    assert "which may be chance*." in said


def test_one_group_has_nothing_to_be_compared_with():
    said = str(audit(many(np.arange(1.0, 6.0)), {"sex": ["f"] * 5}, samples=20))
    assert said.count("no two groups to compare") == 3


def test_a_group_in_which_nobody_asks_has_no_figures():
    routes = [[path(HAPPY, 1.0)]] * 3 + [reaching(1.0), reaching(2.0)]
    lines = lines_of(audit(handmade(routes), {"sex": list("fffmm")}, samples=20))
    women = next(line for line in lines if "sex=f" in line)
    assert women.split() == ["sex=f*", "0", *[text.NONE] * 3]


def test_of_nobody_there_is_one_line():
    said = str(audit(handmade([]), {"sex": []}, samples=5))
    assert said == "0 people, of whom 0 asked for a route to a yes."


def test_of_many_groups_those_are_shown_in_which_most_asked():
    towns = [f"t{i:02}" for i in range(40)] + ["t07", "t33"]
    made = audit(many(np.ones(42)), {"town": towns}, samples=5)
    shown = [line.split()[0] for line in lines_of(made) if line.startswith("  town=")]
    assert shown == [f"town=t{i}*" for i in ("00", "01", "02", "03", "04", "05", "07", "33")]
    assert "… and 32 more groups, in by_group" in str(made)
    assert len(made.by_group) == 40


@pytest.mark.parametrize(
    "name", ["f", "a name of some twenty five letters", "a name that fills more than a line " * 3]
)
def test_however_long_the_names_no_line_is_wider_than_80(name):
    costs = np.where(np.arange(90) % 3, np.linspace(900, 12345.678, 90), math.nan)
    made = audit(many(costs), {"sex": [name, "m", "x"] * 30, "y": list("ab") * 45}, samples=20)
    assert max(map(len, lines_of(made))) <= 80
    assert name.split()[-1] in str(made)
    assert not any(line != line.rstrip() for line in lines_of(made))


def test_no_words_of_the_trade_are_used():
    said = str(audit(five(), {"sex": SEX}, samples=5)).lower()
    for word in ("success", "cost", "recourse", "metric", "bootstrap", "nan", "none"):
        assert word not in said
