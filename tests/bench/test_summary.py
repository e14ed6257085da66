"""What the page of results begins with says what the tables below it do."""

from __future__ import annotations

from tests.bench.made import Made

from stepladder.bench.compare import compare
from stepladder.bench.summary import of_fair, of_paper


def fairly() -> Made:
    made = Made()
    for model, distance in (("logistic_regression", 2), ("dnn", 4)):
        own = {"valid_success": [1], "model": model}
        made.trial("step-by-distance", l2_distance=[distance], effort=[0.6], **own)
        made.trial("step-by-effort", l2_distance=[5], effort=[0.5], **own)
        made.trial("face", l2_distance=[6], effort=[1.5], **own)
    return made


def test_the_fair_comparison_in_sentences_and_as_means_over_tasks():
    sentences, drawing = of_fair(fairly().estimates())
    assert "StEP has the highest valid success on 2 of 2 tasks." in sentences
    assert "the lowest distance on 2 of 2, and StEP by effort the lowest effort on 2." in sentences
    assert sentences.endswith("StEP by effort 0.50, StEP by distance 0.60, FACE 1.50.")
    rows = drawing.frame.set_index(["method", "metric"])
    assert rows.loc[("StEP by distance", "ℓ2 Distance")].tolist() == [3, 2, 4]
    assert drawing.markdown.endswith("](pictures/results-fair.svg)")


def test_the_paper_s_numbers_are_counted():
    made = Made().trial("step", success=[1], avg_success=[0.5])
    sentence, drawing = of_paper(compare(made.estimates()))
    assert sentence.startswith("Of the numbers that the paper prints, ours agree with ")
    assert " of StEP's." in sentence
    assert drawing.frame["value"].between(0, 1).all()


def test_where_nothing_was_run_nothing_is_drawn():
    assert of_paper(compare(Made().trial("mine", success=[1]).estimates()))[1] is None
