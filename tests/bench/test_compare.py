"""The paper's figures beside ours: the rule at its edges, counts, reasons and the page."""

from __future__ import annotations

import math

import pytest
from tests.bench.made import CREDIT, LR, Made

from stepladder.bench.compare import (
    Line,
    Reason,
    allowed,
    by_group,
    by_table,
    compare,
    compare_table,
    count,
    counts_table,
    outside,
    outside_table,
    people_table,
    reason,
    reasons,
    stale,
)
from stepladder.bench.estimates import Estimate
from stepladder.bench.paper import TABLES, Printed
from stepladder.bench.render import text
from stepladder.bench.results_page import Run, page
from stepladder.bench.tables import paper_table
from stepladder.errors import ResultError

NAN = math.nan


def printed(value: float, max_error: float = 100.0, row: str = "step") -> Printed:
    return Printed("methods", CREDIT, LR, row, "l2_distance", value, max_error)


def line(value: float, ours: float, error: float = 0.0, method: str = "step", trials=10) -> Line:
    return Line(printed(value, row=method), method, Estimate(ours, error, trials))


# ---- the rule ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ours", "within"), [(11.0, True), (11.01, False), (9.0, True), (8.99, False), (NAN, False)]
)
def test_a_step_figure_may_differ_by_a_tenth(ours, within):
    assert line(10.0, ours).within is within


@pytest.mark.parametrize("method", ["dice", "face", "cchvae"])
def test_a_baseline_may_differ_by_a_fifth(method):
    assert line(10.0, 12.0, method=method).within
    assert line(10.0, 12.01, method=method).within is False


@pytest.mark.parametrize("method", ["step-k-2", "step-random-6", "step-noise-0.1"])
def test_every_step_row_is_held_to_a_tenth(method):
    assert line(10.0, 11.5, method=method).within is False


def test_half_a_unit_of_the_last_digit_is_within():
    assert line(0.0, 0.005).within
    assert line(0.0, 0.0051).within is False
    assert line(0.02, 0.015).within


def test_twice_the_combined_error_is_within():
    # Ten trials as noisy as theirs: √(3² + 3²) = 4.243, twice that is 8.485.
    assert line(10.0, 18.48, 3.0).within
    assert line(10.0, 18.49, 3.0).within is False


def test_their_error_is_no_larger_than_they_print():
    # Theirs is at most 1 % of 10; ours is 3: 2 √(3² + 0.1²) = 6.0033.
    assert allowed(printed(10.0, 1.0), Estimate(0, 3.0, 10), 0.1) == pytest.approx(6.003332)


def test_their_ten_trials_are_less_noisy_than_our_three():
    # Ours of 3 trials is 3, so ten would have 3 √0.3 = 1.643.
    expected = 2 * math.sqrt(9 + 9 * 0.3)
    assert allowed(printed(10.0), Estimate(0, 3.0, 3), 0.1) == pytest.approx(expected)


def test_one_trial_has_no_error_to_hide_behind():
    assert allowed(printed(10.0), Estimate(0, NAN, 1), 0.1) == 1.0


@pytest.mark.parametrize(("ours", "close"), [(11.0, True), (11.01, False), (NAN, False)])
def test_by_the_share_alone_no_error_helps(ours, close):
    assert line(10.0, ours, 5.0).close is close


def test_figures_that_were_not_run_are_neither():
    absent = Line(printed(1.0), "step", None)
    assert absent.within is None
    assert not absent.close
    assert math.isnan(absent.difference)


# ---- lines and counts -------------------------------------------------------------------------


def results() -> Made:
    """Of Credit under LR: StEP with 1.00, 0.91, 7.06 as printed and no diversity; FACE crashed."""
    made = Made()
    for seed, distance in ((0, 6.96), (1, 7.16)):
        made.trial("step", seed, success=[1, 1], avg_success=[0.91] * 2, l2_distance=[distance] * 2)
    made.trial("face", 0, error="ValueError: no graph")
    return made


def test_every_printed_figure_has_a_line():
    lines = compare(results().estimates())
    assert len(lines) == 1008
    first = lines[2]
    assert first.printed.value == 7.06
    assert first.ours is not None
    assert first.ours == pytest.approx((7.06, 0.1, 2))
    assert (first.people, first.method, first.group) == (2, "step", "step")


def test_the_same_figure_counts_in_every_table_that_prints_it():
    ran = [x for x in compare(results().estimates()) if x.ours is not None and x.method == "step"]
    assert {x.printed.table for x in ran} == set(TABLES) - {"clusters_random"}


def test_crashes_and_missing_figures_are_outside_and_what_was_not_run_is_not():
    lines = compare(results().estimates())
    missed = {(x.method, x.printed.metric) for x in outside(lines)}
    assert ("face", "success") in missed
    assert ("step", "diversity") in missed
    assert ("step", "success") not in missed
    assert not any(x.method in ("dice", "cchvae") for x in outside(lines))


def test_counts_say_how_many_of_how_many():
    lines = [line(10, 11), line(10, 12, 1.0), line(10, 20), Line(printed(1), "step", None)]
    counted = count(lines, "some")
    assert (counted.within, counted.close, counted.run, counted.printed) == (2, 1, 3, 4)
    assert str(counted) == "2 of 3 (66.6 %), 1 by the share alone; 1 of the 4 printed not run"
    assert str(count(lines[:1], "all")) == "1 of 1 (100.0 %), 1 by the share alone"
    assert str(count(lines[3:], "none")) == "not run"


def test_counts_by_group_and_by_table():
    lines = compare(results().estimates())
    groups = {c.name: (c.within, c.run, c.printed) for c in by_group(lines)}
    # 5 tables with 4 figures each; of "paths" only success was recorded, diversity never.
    assert groups["StEP"] == (3 * 3 + 2 * 1, 20, 792)
    assert groups["Baselines"] == (0, 8, 216)
    assert groups["FACE"] == (0, 8, 72)
    assert groups["DiCE"] == (0, 0, 72)
    tables = {c.name: (c.within, c.run, c.printed) for c in by_table(lines)}
    assert tables["Methods, StEP"] == (3, 4, 36)
    assert tables["Methods, baselines"] == (0, 4, 108)
    assert sum(c.printed for c in by_table(lines)) == 1008
    assert "Noise in what people do, baselines" not in tables


def test_the_comparison_as_a_table():
    lines = compare(results().estimates())
    table = compare_table([lines[2], lines[3], lines[12], next(x for x in lines if not x.ours)])
    assert [[e.main for e in row.entries] for row in table.rows] == [
        ["7.06", "7.06", "0.00", "0.71", "2 × 2", "yes"],
        ["2.58", "–", "–", "0.26", " ", "no"],
        ["1.00", "–", "–", "–", " ", "not run"],
        ["1.00", "–", "–", "–", " ", "not run"],
    ]
    assert table.rows[0].entries[1].aside == "±0.10"
    assert table.rows[0].heads == (
        "methods",
        "Credit Card Default",
        "Logistic Regression",
        "StEP",
        "ℓ2 Distance",
    )
    face = next(x for x in lines if x.method == "face")
    assert compare_table([face]).rows[0].entries[-1].main == "failed"


def test_people_turned_down_are_those_of_the_method_that_saw_most():
    made = Made().trial("step", 0, success=[1] * 5).trial("step", 1, success=[1] * 7)
    made.trial("dice", 0, success=[1] * 2)
    table = people_table(made.estimates())
    assert [e.main for e in table.rows[0].entries] == ["1000", "6"]
    assert table.rows[0].entries[1].aside == "±1"
    assert [e.main for e in table.rows[1].entries] == ["535", "–"]


# ---- reasons ----------------------------------------------------------------------------------


def test_the_first_reason_that_fits_counts(tmp_path):
    file = tmp_path / "reasons.toml"
    file.write_text(
        '[[reason]]\ntable = "noise*"\nwhy = "noise"\n'
        '[[reason]]\nrow = "step"\nmetric = "*distance"\nwhy = "outliers"\n'
        '[[reason]]\nwhy = "all"\ndataset = "adult"\n'
    )
    known = reasons(file)
    assert reason(line(1, 2), known) == "outliers"
    assert reason(line(1, 2, method="dice"), known) == "no reason found yet"
    assert [r.why for r in stale([line(1, 2), line(1, 1)], known)] == ["noise", "all"]


def test_a_crash_is_its_own_reason():
    crashed = Line(printed(1), "step", Estimate(NAN, NAN, 0), failure="ValueError: no")
    assert reason(crashed, (Reason("outliers"),)) == "failed: ValueError: no"


def test_no_file_is_no_reasons(tmp_path):
    assert reasons(tmp_path / "reasons.toml") == ()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("[[reason]\n", "isn't valid TOML"),
        ("[reasons]\nwhy = 'x'\n", r"must hold \[\[reason\]\] tables and nothing else"),
        ("[[reason]]\nwhy = 'x'\ndatset = 'adult'\n", "Reason 1 .* 'datset'"),
        ("[[reason]]\nmodel = 'dnn'\n", "Reason 1 .* must have a `why`"),
        ("[[reason]]\nwhy = 'x'\nrow = 3\n", "all of them texts"),
        ("reason = ['x']\n", r"must hold \[\[reason\]\] tables"),
    ],
)
def test_reasons_that_cannot_be_read_are_explained(tmp_path, words, said):
    file = tmp_path / "reasons.toml"
    file.write_text(words)
    with pytest.raises(ResultError, match=said):
        reasons(file)


def test_what_lies_outside_is_listed_with_its_difference_and_reason():
    table = outside_table([line(10, 12, 0.5), line(10, 10)], (Reason("because"),))
    (row,) = table.rows
    assert [e.main for e in row.entries] == ["10.00", "12.00", "+2.00", "because"]
    assert row.entries[1].aside == "±0.50"


def test_counts_as_text():
    shown = text(counts_table([count([line(1, 1)], "StEP")], "Within"))
    assert "1 of 1 (100.0 %)" in shown


# ---- the page ---------------------------------------------------------------------------------


def made_page() -> str:
    fairly = Made()
    fairly.trial("step-by-distance", valid_success=[1], l2_distance=[2], least_distance=[1])
    fairly.trial("step.published", valid_success=[0.5], l2_distance=[1])
    runs = [
        Run(
            "results/published", *results().frames(), (Reason("not recorded", metric="diversity"),)
        ),
        Run("results/fair", *fairly.frames()),
    ]
    return page(runs, "stepladder bench page results/published results/fair --out docs/x.md")


def test_the_page_says_how_it_was_made_and_is_the_same_every_time():
    made = made_page()
    assert made.splitlines()[0] == (
        "<!-- Written by `stepladder bench page results/published results/fair --out docs/x.md` "
        "from results/published, results/fair; don't edit it by hand. -->"
    )
    assert made == made_page()
    assert "stepladder bench run published --out results/published\n" in made
    assert "stepladder bench run fair --out results/fair\n" in made
    assert (
        "- `results/published`: StEP: 2 trials of up to 2 people. "
        "3 cells, of which 1 failed, and 4 rows. numpy 2.4."
    ) in made
    assert (
        "- `results/fair`: StEP by distance, StEP as published: 1 trial of up to 1 people. "
        "2 cells, of which none failed, and 2 rows. numpy 2.4."
    ) in made


def test_the_page_puts_the_paper_s_figure_beside_each_of_ours():
    lines = made_page().splitlines()
    first = lines[lines.index("#### Methods, Logistic Regression") + 4]
    assert first == (
        "| Credit Card Default | StEP | 1.00 ±0.00 (1.00) | 0.91 ±0.00 (0.91) | "
        "7.06 ±0.10 (7.06) | – (2.58) ✗ |"
    )
    dice, face = lines[lines.index(first) + 1 : lines.index(first) + 3]
    assert dice.startswith("|  | DiCE | – (1.00) | – (1.00) |")
    assert face.startswith("|  | FACE | failed (0.54) ✗ |")


def test_the_page_gives_the_verdict_the_figures_outside_and_the_fair_tables():
    made = made_page()
    assert (
        "| StEP | 11 of 20 (55.0 %), 11 by the share alone; 772 of the 792 printed not run |"
        in made
    )
    assert "StEP: at least 90 % was the aim, missed." in made
    assert "### The 17 numbers outside" in made
    assert made.count("failed: ValueError: no graph") == 1
    assert (
        "- FACE on Credit Card Default, Logistic Regression, seed 0: ValueError: no graph" in made
    )
    assert made.count(". not recorded") == 1
    assert made.count(". no reason found yet") == 1
    assert "- StEP has the highest valid success on 1 of 1 tasks." in made
    assert "| StEP as published | – | – | 0.50 |" in made


def test_a_page_of_one_folder_has_one_half():
    made = page([Run("results/published", *results().frames())], "x")
    assert "## The fair comparison" not in made
    assert "## Beside the paper" in made


def test_the_random_table_divides_the_diversity_of_three_clusters_by_six():
    estimates = Made().trial("step-random-3", diversity_as_printed=[0.06]).estimates()
    (line,) = (
        line
        for line in compare(estimates)
        if line.ours is not None and line.printed.metric == "diversity"
    )
    assert (line.printed.table, line.printed.row) == ("clusters_random", "3")
    assert line.ours.mean == pytest.approx(0.09)
    table = text(paper_table(estimates, "clusters_random"), width=200)
    assert "0.09" in table
