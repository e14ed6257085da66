"""An audit in plain text, as whoever has to judge it reads it."""

from __future__ import annotations

import numpy as np
from tests.audit.made import HAPPY, SEX, five, handmade, many, path, planted, reaching

from stepladder.audit import audit
from stepladder.numbers import MISSING


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
        "            asked   have a route   mean effort        mean distance",
        "  group=a     200   90% (85–93%)   0.60 (0.58–0.62)   2.00 (1.92–2.08)",
    ]
    assert lines[6:8] == [
        "  Have a route: fewest in group=b (50%), most in group=a (90%); a difference of",
        "    40 percentage points (32 to 48), hardly by chance.",
    ]
    assert "Mean steps: no difference seen." in str(lines)
    assert any(line.startswith("  Have a route within 2.00: ") for line in lines)
    assert len(lines) < 45


def test_what_may_be_chance_is_said_to_be():
    result, groups = planted([40, 40], [0.9, 0.8])
    assert "10 percentage points (−6 to 26), which may be chance." in joined(audit(result, groups))


def test_who_had_a_yes_already_is_counted_apart():
    assert "of whom 4 asked for a route to a yes. 1 had a yes already." in str(
        audit(five(), {"sex": SEX}, samples=5)
    )


def test_one_person_has_no_brackets_and_no_verdict():
    said = audit(five(), {"sex": SEX}, samples=20)
    women, man = (next(line for line in lines_of(said) if name in line) for name in ("=f*", "=m*"))
    assert women.split() == ["sex=f*", "2", "50%", "(9–91%)", "0.60", "2.00"]
    assert man.split() == ["sex=m*", "1", "100%", "(21–100%)", "0.35", "1.00"]
    assert "(3.00), shortest in sex=m (1.00); a difference of 2.00, and no telling" in joined(said)


def test_a_difference_is_never_minus_nothing_nor_rounded_to_nothing():
    rng = np.random.default_rng(0)
    costs = np.concatenate([rng.normal(2, 0.01, 100), rng.normal(2.001, 0.01, 100)])
    said = joined(audit(many(costs), {"g": ["a"] * 100 + ["b"] * 100}, samples=50))
    assert "−0.00" not in said
    assert "less than 0.01 (0.00 to " in said


def test_small_groups_are_marked_and_the_mark_explained():
    result, groups = planted([100, 100, 5], [0.9, 0.9, 0.0])
    made = audit(result, groups, samples=20)
    assert "group=c*" in str(made)
    assert "* of fewer than 30 people: too few to say much. Differences leave" in joined(made)
    assert "Have a route: no difference seen (−9 to 9 percentage points)." in joined(
        made
    )  # of the other two
    assert "*" not in str(audit(*planted([100, 100], [0.9, 0.9]), samples=20))


def test_a_figure_of_few_people_is_marked_though_many_asked():
    made = audit(*planted([100, 100, 100], [0.9, 0.8, 0.04]), samples=100)
    lines = lines_of(made)
    few = next(line for line in lines if "group=c" in line)
    assert few.split()[:5] == ["group=c", "100", "4%", "(2–10%)", "0.60*"]
    assert not any("*" in line for line in lines if "group=a " in line)
    assert "* of fewer than 30 people" in joined(made)
    assert len({line.index("2.00") for line in lines if line.startswith("  group=")}) == 1


def test_where_only_small_groups_can_be_compared_the_sentence_is_marked():
    said = joined(audit(*planted([5, 5], [1.0, 0.6]), samples=20))
    assert "Have a route: fewest in group=b (60%)" in said
    assert "which may be chance*." in said


def test_one_group_has_nothing_to_be_compared_with():
    said = str(audit(many(np.arange(1.0, 6.0)), {"sex": ["f"] * 5}, samples=20))
    assert said.count("no two groups to compare") == 1


def test_a_group_in_which_nobody_asks_has_no_figures():
    routes = [[path(HAPPY, 1.0)]] * 3 + [reaching(1.0), reaching(2.0)]
    lines = lines_of(audit(handmade(routes), {"sex": list("fffmm")}, samples=20))
    women = next(line for line in lines if "sex=f" in line)
    assert women.split() == ["sex=f*", "0", *[MISSING] * 3]


def test_of_nobody_there_is_one_line():
    said = str(audit(handmade([]), {"sex": []}, samples=5))
    assert said == "0 people, of whom 0 asked for a route to a yes."


def test_every_group_is_shown_small_ones_too():
    towns = [f"t{i:02}" for i in range(40) for _ in range(i + 1)]
    said = str(audit(many(np.ones(len(towns))), {"town": towns}, samples=5))
    assert [name for name in set(towns) if f"town={name}" not in said] == []


def test_no_words_of_the_trade_are_used():
    said = str(audit(five(), {"sex": SEX}, samples=5)).lower()
    for word in ("success", "cost", "recourse", "metric", "bootstrap", "nan", "none"):
        assert word not in said
