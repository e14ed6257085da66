"""The paper's figures: our directions point where its arrows do, and MIM's points away."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from stepladder.errors import ResultError
from stepladder.kernels.direction import directions
from stepladder.view import figures, plots
from stepladder.view.figures import FIGURES, Arrow, Panel

DEGREES = 10.0
"""How far a computed direction may lie from an arrow that was drawn by hand."""

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"


def arrows(name: str) -> dict[str, tuple[Arrow, Panel]]:
    """The named arrows of a figure with the panel each is in."""
    return {a.name: (a, panel) for panel in FIGURES[name]().panels for a in panel.arrows if a.name}


STEP = [("loan", "d1"), ("loan", "d2"), ("off-data", "d2")]
STEP += [("clustering", "d"), ("clustering", "d1"), ("clustering", "d2")]


@pytest.mark.parametrize(("figure", "name"), STEP)
def test_steps_directions_point_where_the_papers_arrows_do(figure: str, name: str):
    arrow, _ = arrows(figure)[name]
    assert arrow.off <= DEGREES


def test_every_arrow_of_step_is_compared():
    ours = {(f, n) for f in FIGURES for n in arrows(f)} - {("off-data", "d1")}
    assert ours - {("mim", "MIM"), ("mim", "StEP")} == set(STEP)


def test_the_path_goes_roughly_along_the_directions_offered_on_the_way():
    legs = [a for panel in figures.loan().panels for a in panel.arrows if not a.name]
    assert len(legs) == 2
    assert all(leg.off <= 15 for leg in legs)


def test_mim_points_away_from_everyone_accepted_as_in_the_paper():
    arrow, panel = arrows("mim")["MIM"]
    assert arrow.off <= DEGREES
    assert ((panel.accepted - arrow.start) @ arrow.toward < 0).all()
    pull = directions(arrow.start, panel.accepted, figures.ALPHA)
    push = directions(arrow.start, panel.rejected, figures.ALPHA)
    np.testing.assert_allclose(arrow.toward, pull - push)


def test_step_points_toward_everyone_accepted_where_mim_runs_away():
    arrow, panel = arrows("mim")["StEP"]
    assert ((panel.accepted - arrow.start) @ arrow.toward > 0).all()


def test_the_shortest_way_over_the_boundary_leads_away_from_the_accepted():
    """Less credit score and a little more in the bank, as the paper says; away from the people."""
    arrow, panel = arrows("off-data")["d1"]
    assert arrow.toward[0] < 0 < arrow.toward[1]
    assert arrow.off <= 30
    middle = panel.accepted.mean(axis=0) - arrow.start
    assert middle @ arrow.toward < 0
    good, _ = arrows("off-data")["d2"]
    assert middle @ good.toward > 0


def test_one_direction_for_two_clusters_leads_between_them():
    found = arrows("clustering")
    low, middle, high = (found[name][0].angle for name in ("d1", "d", "d2"))
    assert low + 20 < middle < high - 20


@pytest.mark.parametrize("name", FIGURES)
def test_the_boundary_parts_the_points_as_the_paper_says(name: str):
    for panel in FIGURES[name]().panels:
        for points, accepted in ((panel.accepted, True), (panel.rejected, False)):
            if panel.boundary is figures.UPRIGHT:
                beyond = points[:, 0] > 5
            else:
                height = 5 * np.cos((points[:, 0] - 1.5) / 2.5)
                beyond = (points[:, 0] > 5.4) | (points[:, 1] > height)
            assert (beyond == accepted).all()


@pytest.mark.parametrize("width", [320, 1200])
def test_the_figures_are_written(width: int, tmp_path: Path):
    files = figures.write(tmp_path, width=width)
    assert [f.name for f in files] == [f"{name}.svg" for name in FIGURES]
    assert all(f.read_text(encoding="utf-8").startswith("<svg") for f in files)
    with pytest.raises(ResultError, match="Choose a folder"):
        figures.write(tmp_path / "nowhere")


@pytest.mark.parametrize("width", [320, 900])
@pytest.mark.parametrize("name", FIGURES)
def test_no_line_of_text_is_wider_than_the_figure(name: str, width: int, tmp_path: Path):
    chart = figures.draw(FIGURES[name](), width=width)
    plots.save(chart, tmp_path / "figure.svg")
    found = re.search(r'<svg[^>]* width="([\d.]+)"', (tmp_path / "figure.svg").read_text("utf-8"))
    assert found is not None
    title = chart.to_dict()["title"]
    longest = max(len(line) for line in title["subtitle"])
    assert longest * 6 <= float(found[1])


def test_the_guide_shows_every_figure():
    assert {f"{name}.svg" for name in FIGURES} <= {file.name for file in PICTURES.iterdir()}
