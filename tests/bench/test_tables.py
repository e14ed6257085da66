"""Figures worked out by hand, and the tables that show them in three forms."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.bench.made import CREDIT, LR, Made

from stepladder.bench import fair, names
from stepladder.bench.estimates import NONE, Estimate, Estimates, largest_error
from stepladder.bench.paper import TABLES, negatives
from stepladder.bench.render import (
    EMPTY,
    Column,
    Entry,
    Row,
    Table,
    latex,
    markdown,
    render,
    split,
    text,
)
from stepladder.bench.tables import in_order, labels_run, paper_table, sweep
from stepladder.errors import ParameterError, ResultError

NAN = math.nan


def two_trials() -> Made:
    """Success 1/2 and 1, distance 4 and 7: means 0.75 and 5.5, errors 0.25 and 1.5."""
    made = Made()
    made.trial(seed=0, success=[1, 0], l2_distance=[4, NAN], seconds=3.0, dropped=1)
    made.trial(seed=1, success=[1, 1], l2_distance=[6, 8], seconds=1.0, dropped=0)
    return made


# ---- figures ----------------------------------------------------------------------------------


def test_a_figure_is_the_mean_over_trials_of_the_mean_over_people_with_a_value():
    estimates = two_trials().estimates()
    success = estimates.of(CREDIT, LR, "step", "success")
    assert success == pytest.approx((0.75, 0.25, 2))  # std over n - 1 is 0.354, by √2
    distance = estimates.of(CREDIT, LR, "step", "l2_distance")
    assert distance == pytest.approx((5.5, 1.5, 2))  # not 6, the mean of all three values
    assert distance.error_percent == pytest.approx(100 * 1.5 / 5.5)


def test_time_and_drops_are_by_person_and_trial():
    estimates = two_trials().estimates()
    assert estimates.of(CREDIT, LR, "step", "ms_a_person") == pytest.approx((1000, 500, 2))
    assert estimates.of(CREDIT, LR, "step", "dropped_a_person") == pytest.approx((0.25, 0.25, 2))
    assert estimates.of(CREDIT, LR, "step", "people") == pytest.approx((2, 0, 2))


def test_short_floats_and_categories_give_the_same_figures():
    rows, cells = two_trials().frames()
    kept = rows.astype({"success": np.float32, "l2_distance": np.float32, "method": "category"})
    kept["method"] = kept["method"].cat.add_categories(["nobody"])
    cells["method"] = cells["method"].astype("category")
    kept_figures = Estimates(kept, cells)
    assert kept_figures.tasks() == [(CREDIT, LR, "step")]
    assert kept_figures.of(CREDIT, LR, "step", "l2_distance") == pytest.approx((5.5, 1.5, 2))


def test_a_trial_where_nobody_has_a_value_does_not_count():
    made = two_trials().trial(seed=2, success=[0], l2_distance=[NAN])
    estimate = made.estimates().of(CREDIT, LR, "step", "l2_distance")
    assert estimate == pytest.approx((5.5, 1.5, 2))


def test_a_trial_s_figure_is_a_mean_not_a_median():
    made = Made().trial(path_steps=[1, 2, 9])
    assert made.estimates().of(CREDIT, LR, "step", "path_steps").mean == pytest.approx(4)


def test_one_trial_has_no_standard_error():
    estimate = Made().trial(success=[1, 0]).estimates().of(CREDIT, LR, "step", "success")
    assert estimate.mean == 0.5
    assert math.isnan(estimate.error)
    assert math.isnan(estimate.error_percent)


def test_what_was_not_run_has_no_figure():
    estimates = two_trials().estimates()
    assert estimates.of(CREDIT, LR, "dice", "success") is NONE
    assert estimates.of(CREDIT, LR, "step", "sparsity") is NONE
    assert estimates.trials(CREDIT, LR, "dice") is None


def test_the_largest_error_leaves_out_zero_means_and_single_trials():
    estimates = [
        Estimate(0.0, 0.0, 3),
        Estimate(2.0, 0.1, 3),
        Estimate(-4.0, 0.4, 3),
        Estimate(1, NAN, 1),
    ]
    assert largest_error(estimates) == pytest.approx(10.0)
    assert math.isnan(largest_error(estimates[:1]))


def test_frames_that_are_no_results_are_named():
    rows, cells = two_trials().frames()
    with pytest.raises(ResultError, match=r"rows of these results lack 'seed'"):
        Estimates(rows.drop(columns="seed"), cells)
    with pytest.raises(ResultError, match=r"cells of these results lack 'error'"):
        Estimates(rows, cells.drop(columns="error"))


# ---- the paper's tables -----------------------------------------------------------------------


def test_the_paper_prints_1008_figures_under_labels_that_a_spec_has():
    assert sum(len(layout.printed()) for layout in TABLES.values()) == 1008
    for layout in TABLES.values():
        assert {p.metric for p in layout.printed()} == set(layout.metrics)
        assert {p.row for p in layout.printed()} == set(layout.labels)
    assert TABLES["clusters_kmeans"].labels["3"] == "step"
    assert TABLES["clusters_random"].labels["1"] == "step-k-1"
    assert [n.people for n in negatives()][:3] == [1000, 535, 559]


def test_a_paper_table_is_laid_out_as_the_paper_does():
    made = two_trials()
    made.trial("dice", 0, success=[1, 1], l2_distance=[2, 4])
    made.trial("dice", 1, success=[1, 1], l2_distance=[4, 6])
    table = paper_table(made.estimates(), "methods")
    assert table.heads == ("Dataset", "Method")
    assert [c.name for c in table.columns[:4]] == [
        "Success",
        "Avg Success",
        "ℓ2 Distance",
        "Diversity",
    ]
    assert [c.group for c in table.columns[::4]] == [
        "Logistic Regression",
        "Random Forest",
        "DNN",
        "",
    ]
    assert len(table.rows) == 13
    step, dice, bottom = table.rows[0], table.rows[1], table.rows[-1]
    assert step.heads == ("Credit Card Default", "StEP")
    assert (step.entries[2].value, step.entries[2].error) == pytest.approx((5.5, 1.5))
    # Max Error %: success 0.25 / 0.75 is larger than distance 1.5 / 5.5 and than 1 / 4 of DiCE.
    assert step.entries[-1].value == pytest.approx(100 / 3)
    assert dice.entries[-1].value == pytest.approx(25)
    assert bottom.heads == ("Max Error %", "")
    assert bottom.entries[0].value == pytest.approx(100 / 3)
    assert bottom.entries[2].value == pytest.approx(100 * 1.5 / 5.5)
    assert math.isnan(bottom.entries[5].value)
    assert bottom.entries[-1] == EMPTY


def test_the_paper_tables_show_diversity_as_printed():
    made = Made().trial(diversity=[5.0], diversity_as_printed=[2.0])
    made.trial("step-k-1", diversity=[NAN], diversity_as_printed=[0.0])
    table = paper_table(made.estimates(), "clusters_kmeans")
    assert [row.entries[3].main for row in table.rows[:4]] == ["0.00", "–", "2.00", "–"]


def test_a_crashed_cell_says_so_and_why():
    made = two_trials()
    made.trial("cchvae", 0, error="RuntimeError: out of memory")
    made.trial("cchvae", 1, error="RuntimeError: out of memory")
    table = paper_table(made.estimates(), "methods")
    entries = table.rows[3].entries
    assert [e.main for e in entries[:5]] == ["failed"] * 4 + ["–"]
    assert entries[0].notes == (1,)
    assert table.notes == (
        "C-CHVAE on Credit Card Default, Logistic Regression, seeds 0, 1: "
        "RuntimeError: out of memory",
    )


def test_fewer_trials_than_elsewhere_are_a_footnote():
    made = two_trials()
    made.trial("dice", 0, success=[1], l2_distance=[3])
    made.trial("dice", 1, error="ValueError: no")
    table = paper_table(made.estimates(), "methods")
    dice = table.rows[1].entries
    assert dice[0].main == "1.00"
    assert [table.notes[i - 1] for i in dice[0].notes] == [
        "DiCE on Credit Card Default, Logistic Regression, seed 1: ValueError: no",
        "1 trial instead of 2.",
    ]
    assert dice[2].notes == ()
    assert table.rows[0].entries[0].notes == ()


def test_a_figure_that_some_trials_lack_says_in_how_many_it_is():
    made = two_trials().trial(seed=2, success=[0], l2_distance=[NAN])
    table = sweep(made.estimates(), ("success", "l2_distance"))
    entry = table.rows[0].entries[1]
    assert [table.notes[i - 1] for i in entry.notes] == ["Defined in 2 of 3 trials only."]


def test_a_paper_table_that_is_none_gets_the_nearest_name():
    with pytest.raises(ParameterError, match="Did you mean 'noise_paths'"):
        paper_table(two_trials().estimates(), "noise_path")


def test_labels_run_are_those_of_the_table():
    made = two_trials().trial("step-noise-0.1", success=[1]).trial("other", success=[1])
    assert labels_run(made.estimates(), "noise") == {"step", "step-noise-0.1"}


# ---- sweeps -----------------------------------------------------------------------------------


def test_a_sweep_has_a_row_for_each_label_in_natural_order():
    made = Made()
    for label in ("step-k-10", "step-k-2", "step", "step-size-0.5", "step-size-0.25"):
        made.trial(label, success=[1], sparsity=[2])
    table = sweep(made.estimates(), ("success", "sparsity"))
    assert [row.heads[2] for row in table.rows] == [
        "StEP",
        "StEP-k-2",
        "StEP-k-10",
        "StEP-size-0.25",
        "StEP-size-0.5",
    ]
    assert [c.name for c in table.columns] == ["Success", "Things Changed"]


def test_a_sweep_of_an_unknown_figure_gets_the_nearest_name():
    with pytest.raises(ParameterError, match=r"no metric 'succes'.*Did you mean 'success'"):
        sweep(two_trials().estimates(), ("succes",))


def test_tasks_come_in_the_paper_s_order():
    tasks = [("adult", "dnn", "a"), ("adult", LR, "step"), (CREDIT, "dnn", "face"), ("x", LR, "b")]
    assert in_order(tasks) == [tasks[2], tasks[1], tasks[0], tasks[3]]


def test_names_that_nobody_gave_are_shown_as_they_are():
    assert names.dataset("mine") == "mine"
    assert names.method("step.published") == "StEP as published"
    assert names.method("stepping") == "stepping"
    assert names.metric("my_figure") == "my figure"


# ---- the fair tables --------------------------------------------------------------------------


def fair_results() -> Made:
    made = Made()
    common = {"nearest_l2_distance": [2], "distance_to_positives": [1.5]}
    ours = {**common, "least_distance": [1.6]}
    made.trial("step-by-distance", valid_success=[1], l2_distance=[3], **ours)
    own = {**common, "distance_to_positives": [0.5]}
    made.trial("step.published", valid_success=[0.9], l2_distance=[1], **own)
    made.trial("dice", valid_success=[1], l2_distance=[4], seconds=0.25, dropped=3, **common)
    return made


def test_best_is_the_highest_valid_success_and_the_least_distance_of_valid_methods():
    (table,) = fair.fair_tables(fair_results().estimates())
    assert table.title == "Credit Card Default, Logistic Regression"
    at = {column.name: i for i, column in enumerate(table.columns)}
    best = {
        name: [row.heads[0] for row in table.rows if row.entries[at[name]].best]
        for name in ("Valid Success", "ℓ2", "Nearest ℓ2", "Diversity")
    }
    assert best == {
        "Valid Success": ["StEP by distance", "DiCE"],
        "ℓ2": ["StEP by distance"],  # published is nearer, but too often breaks a rule
        "Nearest ℓ2": ["StEP by distance", "DiCE"],
        "Diversity": [],
    }
    dice = table.rows[2].entries
    assert (dice[at["ms"]].main, dice[at["Dropped"]].main) == ("250.0", "3.00")
    assert table.rows[0].entries[at["Least ℓ2"]].main == "1.60"


def test_the_least_distance_has_a_column_only_where_it_is_known():
    made = Made().trial("step-by-distance", valid_success=[1], least_distance=[NAN], model="dnn")
    (table,) = fair.fair_tables(made.estimates())
    assert "Least ℓ2" not in [column.name for column in table.columns]


def test_the_verdict_counts_where_step_stands_first():
    (standing,) = fair.standings(fair_results().estimates())
    assert standing.most_valid
    assert standing.least_far
    assert standing.other_distance == 4
    assert standing.ratio == pytest.approx(1.25)
    assert standing.near_enough
    assert standing.other_to_positives == (1.5, 1.5)  # of the other methods, not of its old self
    assert fair.verdict([standing])[:2] == [
        "StEP has the highest valid success on 1 of 1 tasks.",
        "Among methods with valid success above 0.95, StEP by distance has the lowest distance on "
        "1 of 1, and StEP by effort the lowest effort on 0.",
    ]
    assert "1.25 times the least possible" in fair.verdict([standing])[2]


def test_by_effort_step_has_a_row_and_a_standing_of_its_own():
    made = fair_results()
    made.trial("step-by-effort", valid_success=[1], effort=[0.4], holds=[0.7], tenth_short=[1])
    made.trial("face", valid_success=[1], effort=[0.9])
    made.trial("cchvae", valid_success=[0.2], effort=[0.1])  # hardly anybody has any
    (standing,) = fair.standings(made.estimates())
    assert (standing.effort, standing.other_effort) == (0.4, 0.9)
    assert standing.least_effort
    assert "by effort the lowest effort on 1." in fair.verdict([standing])[1]
    (table,) = fair.fair_tables(made.estimates())
    at = {column.name: i for i, column in enumerate(table.columns)}
    row = table.rows[0]
    assert row.heads == ("StEP by effort",)
    assert [row.entries[at[name]].main for name in ("Effort", "Holds", "Tenth Short")] == [
        *("0.40", "0.70", "1.00"),
    ]
    assert [r.heads[0] for r in table.rows if r.entries[at["Effort"]].best] == ["StEP by effort"]


def test_step_does_not_stand_first_where_another_does():
    made = Made()
    made.trial("step-by-distance", valid_success=[0.96], l2_distance=[3], least_distance=[1])
    made.rows[0]["nearest_l2_distance"] = 1.6
    made.trial("face", valid_success=[1], l2_distance=[2.9])
    (standing,) = fair.standings(made.estimates())
    assert not standing.most_valid
    assert not standing.least_far
    assert standing.near_enough is False


def test_step_that_failed_stands_nowhere():
    made = (
        Made()
        .trial("step-by-distance", error="no")
        .trial("face", valid_success=[0], l2_distance=[1])
    )
    (standing,) = fair.standings(made.estimates())
    assert not standing.most_valid
    assert not standing.least_far


# ---- forms ------------------------------------------------------------------------------------


def small() -> Table:
    return Table(
        "my_table",
        "Costs of 50% & a_b",
        ("Dataset", "Method"),
        (Column("ℓ2 Distance", "LR"), Column("x|y", "LR"), Column("Last")),
        (
            Row(("A_1", "one"), (Entry(1.234, 0.056, best=True), Entry(notes=(1,)), Entry(2.0))),
            Row(("A_1", "two"), (Entry(words="failed"), Entry(0.5, NAN), Entry(3.0, after="(4)"))),
            Row(("B", "two"), (Entry(-0.001, 0.0), EMPTY, EMPTY)),
        ),
        ("why: <oom> & 100% of {it} ~ ^ \\ $5 #1",),
    )


def test_a_table_in_markdown():
    assert markdown(small()) == (
        "### Costs of 50% &amp; a\\_b\n"
        "\n"
        "| Dataset | Method | LR: ℓ2 Distance | LR: x\\|y | Last |\n"
        "| --- | --- | --: | --: | --: |\n"
        "| A\\_1 | one | **1.23** ±0.06 | –<sup>1</sup> | 2.00 |\n"
        "|  | two | failed | 0.50 | 3.00 (4) |\n"
        "| B | two | 0.00 ±0.00 |  |  |\n"
        "\n"
        "<sup>1</sup> why: &lt;oom&gt; &amp; 100% of {it} ~ ^ \\\\ $5 #1  \n"
    )


def test_a_table_in_latex():
    assert latex(small()) == (
        "% needs the packages booktabs and graphicx\n"
        "\\begin{table}[t]\n"
        "\\centering\\small\n"
        "\\caption{Costs of 50\\% \\& a\\_b}\\label{tab:my-table}\n"
        "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
        "\\begin{tabular}{llrrr}\n"
        "\\toprule\n"
        " &  & \\multicolumn{2}{c}{LR} & \\multicolumn{1}{c}{} \\\\\n"
        "\\cmidrule(lr){3-4}\n"
        "Dataset & Method & $\\ell_2$ Distance & x|y & Last \\\\\n"
        "\\midrule\n"
        "A\\_1 & one & \\textbf{1.23} {\\scriptsize $\\pm$0.06} & --\\textsuperscript{1} & 2.00"
        " \\\\\n"
        " & two & failed & 0.50 & 3.00 {\\scriptsize (4)} \\\\\n"
        "\\midrule\n"
        "B & two & 0.00 {\\scriptsize $\\pm$0.00} &  &  \\\\\n"
        "\\bottomrule\n"
        "\\end{tabular}}\n"
        "\\par\\smallskip{\\footnotesize\\raggedright\\textsuperscript{1} why: "
        "\\textless{}oom\\textgreater{} \\& 100\\% of \\{it\\} \\textasciitilde{} "
        "\\textasciicircum{} \\textbackslash{} \\$5 \\#1\\par}\n"
        "\\end{table}\n"
    )


def test_a_wide_table_puts_errors_below_the_figures():
    columns = tuple(Column(f"c{i}") for i in range(9))
    wide = Table("wide", "Wide", ("Row",), columns, (Row(("r",), (Entry(1, 0.5),) * 9),))
    assert "1.00<br><sub>±0.50</sub>" in markdown(wide)
    assert r"{@{}r@{}}1.00 \\ {\scriptsize $\pm$0.50}\end{tabular}" in latex(wide)


def test_a_long_table_in_latex_runs_over_pages_and_breaks_sentences():
    rows = tuple(Row((f"r{i}",), (Entry(words="A reason of many words. " * 3),)) for i in range(41))
    made = latex(Table("long", "Long", ("Row",), (Column("Why", left=True),), rows))
    assert made.startswith("% needs the packages booktabs and longtable")
    assert r"\begin{longtable}{lp{0.35\linewidth}}" in made
    assert "Row & Why \\\\\n\\endhead\n\\midrule\nr0 & A reason" in made
    assert made.count("\\midrule") == 1
    assert "resizebox" not in made


def test_latex_is_ascii_whatever_the_words_are_made_of():
    words = "ℓ2 ± → × ≤ ≥ – … β ✗ − ’ é 名"
    table = Table("t", words, ("h",), (Column("c"),), (Row((words,), (Entry(words=words),)),))
    made = latex(table)
    assert made.isascii()
    assert r"$\ell_2$ $\pm$ $\to$ $\times$ $\leq$ $\geq$ -- \ldots{} $\beta$" in made


def test_a_table_as_text_keeps_to_the_width_and_splits_by_group():
    estimates = two_trials().estimates()
    table = paper_table(estimates, "methods")
    narrow = text(table, 100)
    assert max(len(line) for line in narrow.splitlines()) <= 100
    for model in ("Logistic Regression", "Random Forest", "DNN"):
        assert f"Methods, {model}" in narrow
    assert "0.75 ±0.25" in narrow
    assert "5.50 ±1.50" in narrow
    assert "Methods, DNN" not in text(table, 400)


def test_a_split_keeps_every_figure_and_the_columns_without_a_group():
    table = paper_table(two_trials().estimates(), "methods")
    parts = split(table)
    assert parts[0].title == "Methods, Logistic Regression"
    assert all(part.columns[-1].name == "Max Error %" for part in parts)
    kept = [entry for part in parts for entry in part.rows[0].entries[:-1]]
    assert kept == list(table.rows[0].entries[:-1])


def test_markup_in_words_is_only_words():
    table = Table("t", "[bold]T", ("h",), (Column("c"),), (Row(("[red]x",), (EMPTY,)),), ("[/] y",))
    assert "[bold]T" in text(table)
    assert "[red]x" in text(table)
    assert "[1] [/] y" in text(table)


def test_render_knows_three_forms():
    table = small()
    assert render(table, "markdown") == markdown(table)
    assert render(table, "latex") == latex(table)
    assert render(table, "text", width=90) == text(table, 90)


def test_numbers_are_shown_as_the_paper_does():
    assert [Entry(x).main for x in (1, 103.678, 0.005001, NAN)] == ["1.00", "103.68", "0.01", "–"]
