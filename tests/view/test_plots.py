"""The pictures: what they show is what was computed, and they can be read anywhere."""

from __future__ import annotations

import cProfile
import errno
import json
import pstats
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.audit import audit
from stepladder.errors import (
    ColumnError,
    EmptyFrameError,
    ExtraError,
    NotFittedError,
    ParameterError,
    ResultError,
    SchemaError,
)
from stepladder.view import plots
from stepladder.view.plots.plane import Chosen, Principal, usual
from stepladder.view.plots.style import (
    COLOURS,
    DARK,
    DASHES,
    INK,
    MOST,
    PAPER,
    QUIET,
    SHADE,
    SHAPES,
    sampled,
)
from stepladder.words import plans as words

STEP = bank.fitted(paths=3, step_size=0.5)
RESULT = STEP.recourse(bank.REJECTED.iloc[:6])
PERSON = RESULT.people.tolist()[0]

GROUPS = pd.DataFrame(
    {
        "group": ["women", "men", "people of a long and rather wordy group"],
        "asked": [1200, 950, 7],
        "small": [False, False, True],
        "success": [0.95, 0.9, 0.0],
        "success_low": [0.93, 0.87, 0.0],
        "success_high": [0.96, 0.92, 0.4],
        "mean_cost": [1.2, 1.4, np.nan],
        "mean_cost_low": [1.1, 1.3, np.nan],
        "mean_cost_high": [1.3, 1.5, np.nan],
    }
)
METHODS = pd.DataFrame(
    {
        "method": ["StEP", "FACE"] * 3,
        "metric": ["success"] * 2 + ["l2_distance"] * 2 + ["diversity"] * 2,
        "value": [1.0, 0.7, 1.2, 2.9, 3.0, 1.0],
    }
)

HALVES = {"half": ["first"] * 3 + ["second"] * 3}

DRAWN = {
    "person": lambda width: plots.person(RESULT, PERSON, width=width),
    "map": lambda width: plots.map(STEP, RESULT, PERSON, ("income", "debt"), width=width),
    "map of everyone": lambda width: plots.map(STEP, RESULT, rows=bank.TRAIN, width=width),
    "map of levels": lambda width: plots.map(STEP, features=("education", "job"), width=width),
    "before_after": lambda width: plots.before_after(RESULT, PERSON, width=width),
    "certainty": lambda width: plots.certainty(RESULT, PERSON, width=width),
    "how_far": lambda width: plots.how_far(RESULT, HALVES, width=width),
    "asked": lambda width: plots.asked(RESULT, HALVES, width=width),
    "clusters": lambda width: plots.clusters(STEP, width=width),
    "by_group": lambda width: plots.by_group(GROUPS, width=width),
    "methods": lambda width: plots.methods(METHODS, width=width),
}


def tables(chart: Any) -> list[pd.DataFrame]:
    """The frames that a chart draws."""
    return [pd.DataFrame(rows) for rows in chart.to_dict()["datasets"].values()]


def table(chart: Any, *columns: str) -> pd.DataFrame:
    """The first frame of a chart that has these columns."""
    return next(t for t in tables(chart) if set(columns) <= set(t.columns))


def said(chart: Any) -> str:
    """The words on top of a chart."""
    title = chart.to_dict()["title"]
    return " ".join([*title["text"], *title["subtitle"]])


def svg(chart: Any, folder: Path) -> str:
    plots.save(chart, folder / "chart.svg")
    return (folder / "chart.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize("width", [320, 1200])
@pytest.mark.parametrize("name", DRAWN)
def test_a_picture_is_no_wider_than_asked(name: str, width: int, tmp_path: Path):
    found = re.search(r'<svg[^>]* width="([\d.]+)"', svg(DRAWN[name](width), tmp_path))
    assert found is not None
    assert 0.75 * width <= float(found[1]) <= width + 5  # text is as wide as the font has it


@pytest.mark.parametrize("width", [100, "wide", None, True, float("nan")])
def test_a_width_that_is_none_is_refused(width):
    with pytest.raises(ParameterError, match="width, in pixels, must be a number of at least 280"):
        plots.by_group(GROUPS, width=width)


@pytest.mark.parametrize("name", DRAWN)
def test_labels_of_an_axis_stand_at_their_ticks(name: str):
    """Pushed inward, the last two of a narrow axis would run into each other."""
    assert DRAWN[name](600).to_dict()["config"]["axis"]["labelFlush"] is False


def test_a_picture_is_drawn_without_copying_it_again_and_again():
    """Altair copies a chart with all its panels whenever it's changed: 3.9 million calls."""
    profile = cProfile.Profile()
    draw = DRAWN["person"]
    draw(600)  # the libraries are there
    profile.runcall(plots.picture, draw)
    assert pstats.Stats(profile).total_calls < 900_000


def test_no_two_kinds_look_alike_without_colour():
    looks = {(SHAPES[i % len(SHAPES)], COLOURS[i % len(COLOURS)]) for i in range(30)}
    assert len(looks) == 30
    assert len(set(SHAPES)) == len(SHAPES) == len({tuple(dash) for dash in DASHES})


# ---- one person ---------------------------------------------------------------------------------


def test_the_routes_drawn_are_those_told_in_words():
    plan = words.plan(RESULT, PERSON)
    scores = tables(plots.person(RESULT, PERSON))
    drawn = next(t for t in scores if "route" in t and t["value"].between(0, 1).all())
    assert drawn["route"].unique().tolist() == [str(i + 1) for i in range(len(plan.routes))]
    for name, rows in drawn.groupby("route"):
        route = plan.routes[int(name) - 1]
        assert rows["value"].iloc[0] == pytest.approx(plan.score)
        assert rows["value"].iloc[-1] == pytest.approx(route.steps[-1].score)


def test_values_are_drawn_in_their_unit():
    rows = pd.DataFrame({"loan": np.arange(1, 101)})
    schema = sl.Schema([sl.Numeric("loan", integer=True, unit="$", times=1000)])
    step = sl.StEP(paths=1).fit(rows, lambda f: (f["loan"] < 50).astype(float), schema=schema)
    result = step.recourse(pd.DataFrame({"loan": [90]}))
    chart = plots.person(result, 0)
    drawn = [t for t in tables(chart) if "route" in t]
    assert drawn[1]["value"].iloc[0] == 90_000
    assert "Loan, in $" in str(chart.to_dict())


def test_the_goal_is_marked_where_it_lies():
    assert [0.6] in [
        t["value"].tolist() for t in tables(plots.person(RESULT, PERSON)) if "value" in t
    ]
    assert "what a yes takes (60%)" in said(plots.person(RESULT, PERSON))


def test_a_range_of_predictions_is_a_goal_too(tmp_path: Path):
    rows = pd.DataFrame({"a": np.linspace(0, 100, 200)})
    schema = sl.Schema([sl.Numeric("a", decimals=1)])
    goal = sl.Goal.between(40, 60)
    step = sl.StEP(paths=2).fit(rows, lambda f: f["a"].to_numpy(), schema=schema, goal=goal)
    result = step.recourse(pd.DataFrame({"a": [5.0, 95.0]}))
    shade = table(plots.person(result, 1), "low", "high")
    assert shade.to_numpy().tolist() == [[40, 60]]
    assert svg(plots.map(step, result, 1), tmp_path)  # one feature has one dimension


def test_someone_without_a_route_sees_the_attempts_and_why():
    rows = bank.REJECTED.iloc[[0]]
    result = STEP.recourse(rows, locked=bank.SCHEMA.names)
    chart = plots.person(result, rows.index[0])
    assert words.plan(result, rows.index[0]).note in said(chart)
    yes = STEP.recourse(bank.PEOPLE[bank.score(bank.PEOPLE) > 0.7].iloc[[0]])
    assert "a yes already" in said(plots.person(yes, yes.people[0]))


def test_a_person_who_cannot_be_drawn_is_said():
    rows = bank.REJECTED.iloc[[0]].assign(savings=np.nan)
    result = STEP.recourse(rows)
    with pytest.raises(ParameterError, match=r"nothing to draw.*no value for savings"):
        plots.person(result, rows.index[0])
    with pytest.raises(ParameterError, match=r"nothing to draw.*no value for savings"):
        plots.map(STEP, result, rows.index[0])
    with pytest.raises(ParameterError, match="nobody called 'Ada'"):
        plots.person(RESULT, "Ada")
    with pytest.raises(ParameterError, match="nobody called 'Ada'"):
        plots.map(STEP, RESULT, "Ada")


# ---- maps ---------------------------------------------------------------------------------------


def two(rows: int = 300) -> tuple[sl.StEP, pd.DataFrame]:
    """A model whose boundary is the line debt = income - 2000."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"income": rng.normal(3000, 800, rows), "debt": rng.normal(900, 300, rows)}
    )
    schema = sl.Schema([sl.Numeric("income"), sl.Numeric("debt")])

    def model(f: pd.DataFrame) -> Any:
        return 1 / (1 + np.exp((2000 + f["debt"] - f["income"]) / 200))

    return sl.StEP(paths=2).fit(frame, model, schema=schema), frame


def test_the_shade_ends_where_the_model_changes_its_mind():
    step, frame = two()
    shade = table(plots.map(step, features=("income", "debt"), rows=frame), "area", "high")
    inside = shade[shade["high"] < shade["high"].max() - 30].iloc[1:]  # the first is an edge
    assert len(inside) > 10
    np.testing.assert_allclose(inside["high"], inside["x"] - 2000, atol=5)


def test_the_rows_drawn_are_told_apart_by_what_the_model_says():
    step, frame = two()
    drawn = table(plots.map(step, features=("income", "debt"), rows=frame), "met")
    np.testing.assert_array_equal(drawn["met"], drawn["x"] - drawn["y"] >= 2000)
    alone = table(plots.map(step, features=("income", "debt")), "met")
    assert alone["met"].all()


def test_the_paths_drawn_are_the_results():
    chart = plots.map(STEP, RESULT, PERSON, ("income", "debt"))
    trail = table(chart, "route", "step")
    first = RESULT.paths[RESULT.paths["person"] == PERSON].iloc[0]
    assert trail[["x", "y"]].iloc[0].tolist() == [first["income"], first["debt"]]
    everyone = table(plots.map(STEP, RESULT, features=("income", "debt")), "route", "step")
    assert everyone["route"].nunique() > trail["route"].nunique()


def test_at_most_five_thousand_points_are_drawn_and_it_is_said():
    step, _ = two(6000)
    frame = two(7000)[1]
    chart = plots.map(step, rows=frame, seed=3)
    assert len(table(chart, "met")) == MOST
    assert re.search(r"5,000 of 6,\d{3} rows are drawn, chosen at random", said(chart))
    assert chart.to_dict() == plots.map(step, rows=frame, seed=3).to_dict()
    assert chart.to_dict() != plots.map(step, rows=frame, seed=4).to_dict()
    assert sampled(3, seed=0).tolist() == [0, 1, 2]


def test_long_paths_are_points_too():
    step = bank.fitted(sl.StEP.published(paths=9, step_size=0.001))
    result = step.recourse(bank.REJECTED)
    chart = plots.map(step, result, rows=bank.table(6000))
    walked, rows = table(chart, "route", "step"), table(chart, "met")
    assert 0 < len(walked) <= MOST / 2
    assert len(walked) + len(rows) == MOST
    shown = re.search(r"Paths of (\d+) of 25 people", said(chart))
    assert shown is not None
    assert 0 < int(shown[1]) < 25


def test_the_shade_agrees_with_the_model_along_each_route():
    """Though routes change what isn't on the map, and not alike."""
    for index, person in enumerate(RESULT.people.tolist()):
        chart = plots.map(STEP, RESULT, person, ("income", "debt")).to_dict()
        slots = RESULT.choices_at(index)
        for panel, slot in zip(chart["concat"], slots, strict=True):
            shade, trail = (
                pd.DataFrame(chart["datasets"][panel["layer"][layer]["data"]["name"]])
                for layer in (0, 3)
            )
            trail["yes"] = RESULT.routes[index][slot].scores >= bank.GOAL.threshold
            last = trail.drop_duplicates(["x", "y"], keep="last")  # steps may not show on the map
            found = [shaded(shade, x, y) for x, y in zip(last["x"], last["y"], strict=True)]
            assert found == last["yes"].tolist()


def shaded(shade: pd.DataFrame, x: float, y: float) -> bool:
    """Whether a position lies in the shade."""
    for _, area in shade.groupby("area"):
        inside = area["x"].iloc[0] <= x <= area["x"].iloc[-1]
        low, high = (np.interp(x, area["x"], area[end]) for end in ("low", "high"))
        if inside and low <= y <= high:
            return True
    return False


def test_a_map_says_whose_slice_it_is():
    alone = said(plots.map(STEP, RESULT, PERSON, ("income", "debt")))
    assert f"yes to person {PERSON}, all other values being as they are along that route" in alone
    usually = said(plots.map(STEP, RESULT, features=("income", "debt")))
    assert re.search(r"yes to someone usual \(savings: \S+; education: \w+; job: \w+;", usually)
    assert "Their other values are their own" in usually


def test_what_is_derived_follows_on_a_map_and_policy_counts():
    """The model sees the ratio only, and the bank lends at most 60."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"loan": rng.uniform(10, 100, 200), "price": rng.uniform(60, 140, 200)})
    rows["ratio"] = rows["loan"] / rows["price"]
    schema = sl.Schema(
        [sl.Numeric("loan"), sl.Numeric("price"), sl.Derived("ratio", "loan / price")]
    )
    goal = sl.Goal(policy=["loan <= 60"])
    step = sl.StEP(paths=1).fit(rows, lambda f: (f["ratio"] < 0.5) * 1.0, schema=schema, goal=goal)
    shade = table(plots.map(step, features=("loan", "price"), rows=rows), "area", "high")
    for loan, price in ((30, 100), (30, 70), (55, 130), (30, 55), (55, 90), (70, 139)):
        if price > shade["low"].min():
            assert shaded(shade, loan, price) == (loan / price < 0.5 and loan <= 60)


def test_a_plane_goes_through_the_row_it_is_drawn_for():
    space, values = STEP.space_, STEP.reference_.values
    person = space.read(bank.REJECTED.iloc[[0]])
    for plane in (
        Principal.of(space, values, person[0]),
        Chosen.named(space, ("income", "job"), person[0]),
    ):
        found = plane.values(plane.positions(person), person)
        np.testing.assert_allclose(found, person, atol=1e-6)
    middle = usual(space, values)
    assert middle[0] == pytest.approx(np.median(values[:, 0]), abs=0.5)
    assert middle[4] == np.bincount(values[:, 4].astype(int)).argmax()


def test_a_dimension_never_holds_what_cannot_change(tmp_path: Path):
    frame = bank.TRAIN[["income", "age"]]
    schema = sl.Schema([sl.Numeric("income"), sl.Numeric("age", change="never")])
    step = sl.StEP(paths=1).fit(
        frame, lambda f: (f["income"] > 50_000).astype(float), schema=schema
    )
    base = step.reference_.values[[0, 0]]
    plane = Principal.of(step.space_, step.reference_.values, base[0])
    assert np.unique(plane.values(np.array([[0.0, 0.0], [1.0, 1.0]]), base)[:, 1]).size == 1
    assert "no difference" in svg(plots.map(step), tmp_path)


def test_a_map_without_a_yes_on_it_has_no_shade(tmp_path: Path):
    step, frame = two()
    rows = frame.assign(income=frame["income"] - 9000)
    chart = plots.map(step, features=("income", "debt"), rows=rows)
    assert "Circles" not in said(chart)
    assert svg(chart, tmp_path)


def test_a_map_that_cannot_be_drawn_is_said():
    with pytest.raises(ParameterError, match="don't belong together"):
        plots.map(two()[0], RESULT, PERSON)
    with pytest.raises(ParameterError, match="two different names"):
        plots.map(STEP, features=("income", "income"))
    with pytest.raises(ParameterError, match="two different names"):
        plots.map(STEP, features="income")
    with pytest.raises(SchemaError, match="Did you mean 'income'"):
        plots.map(STEP, features=("incom", "debt"))
    with pytest.raises(ParameterError, match="needs the result"):
        plots.map(STEP, person=PERSON)
    with pytest.raises(ParameterError, match=r"fitted sl\.StEP; got str"):
        plots.clusters("step")
    with pytest.raises(NotFittedError):
        plots.clusters(sl.StEP())
    with pytest.raises(ParameterError, match="no row without a missing value"):
        plots.map(STEP, rows=bank.TRAIN.iloc[:3].assign(savings=np.nan))


def test_every_cluster_is_drawn_with_its_size():
    chart = plots.clusters(STEP)
    drawn = table(chart, "cluster")
    sizes = np.bincount(STEP.reference_.clusters)
    assert set(drawn["cluster"]) == {f"{c + 1} ({n:,} rows)" for c, n in enumerate(sizes)}


# ---- privacy ------------------------------------------------------------------------------------

PRIVATE = sl.Schema(
    [
        sl.Numeric("income", bounds=(0, None), typical=(10_000, 90_000), integer=True),
        sl.Numeric("debt", bounds=(0, 9_000), decimals=2, change="decrease"),
        sl.Numeric("savings", typical=(-2, 2)),
        *bank.SCHEMA.features[3:],
    ]
)


def private(pay: object) -> sl.StEP:
    step = sl.StEP(privacy=pay)  # type: ignore[arg-type]
    return step.fit(bank.TRAIN, bank.score, schema=PRIVATE, goal=bank.GOAL)


def test_of_a_private_method_only_made_up_rows_are_drawn():
    step = private(sl.Budget(4.0, 1e-6))
    chart = plots.map(step, features=("income", "savings"))
    drawn = {tuple(row) for row in table(chart, "met")[["x", "y"]].to_numpy().tolist()}
    made_up = {tuple(row) for row in step.reference_.values[:, [0, 2]].tolist()}
    real = {tuple(row) for row in bank.TRAIN[["income", "savings"]].to_numpy().tolist()}
    assert drawn <= made_up
    assert not drawn & real
    for each in (chart, plots.clusters(step)):
        assert "no real row is shown" in said(each)
    with pytest.raises(ParameterError, match="privacy budget"):
        plots.map(step, rows=bank.TRAIN)


def test_a_method_that_pays_for_each_direction_has_no_map():
    step = private(sl.PayPerDirection(sl.Budget(4.0, 1e-6)))
    for draw in (plots.map, plots.clusters):
        with pytest.raises(ParameterError, match="holds no rows that may be shown"):
            draw(step)


# ---- tables -------------------------------------------------------------------------------------


def test_groups_are_drawn_with_what_is_known_of_them():
    chart = plots.by_group(GROUPS)
    success, cost = (t for t in tables(chart) if "kind" in t)
    assert success["value"].tolist() == [0.95, 0.9, 0.0]
    assert success["kind"].tolist() == ["enough people", "enough people", "few people"]
    assert cost["value"].tolist() == [1.2, 1.4]
    assert "Hollow" in said(chart)
    assert "No mark" in said(chart)
    whole = plots.by_group(GROUPS.iloc[:2])
    assert "Hollow" not in said(whole)
    assert "No mark" not in said(whole)


def test_beside_a_group_stands_how_many_people_and_no_bracket():
    named = table(plots.by_group(GROUPS.assign(asked=[1200, 1, 7])), "kind")["name"].tolist()
    held = "\N{NO-BREAK SPACE}"
    assert named[:2] == [f"women, 1,200{held}people", f"men, 1{held}person"]
    assert named[2].split("\n")[-1] == f"7{held}people"
    assert "brackets" not in said(plots.by_group(GROUPS))


@pytest.mark.parametrize(("width", "named"), [(320, [0, 1, 2]), (600, [0, 2]), (1200, [0])])
def test_only_the_first_panel_in_a_line_names_the_rows(width: int, named: list[int]):
    panels = plots.methods(METHODS, width=width).to_dict()["concat"]
    axes = [panel["layer"][1]["encoding"]["y"]["axis"] for panel in panels]
    assert [i for i, axis in enumerate(axes) if axis.get("labels", True)] == named
    assert len({panel["width"] for panel in panels}) == 1


def test_a_group_in_which_nobody_has_a_route_leaves_an_axis_that_can_be_drawn(tmp_path: Path):
    nobody = GROUPS.assign(
        **dict.fromkeys(["mean_cost", "mean_cost_low", "mean_cost_high"], np.nan)
    )
    cost = plots.by_group(nobody).to_dict()["concat"][1]
    assert cost["layer"][1]["encoding"]["x"]["scale"]["domain"] == [0.0, 1.0]
    assert svg(plots.by_group(nobody), tmp_path)


def test_an_audit_is_drawn_as_it_is():
    found = audit(RESULT, {"group": ["a"] * 5 + ["b"]})
    chart = plots.by_group(found.by_group)
    success = next(t for t in tables(chart) if "kind" in t)
    assert success["value"].tolist() == found.by_group["success"].tolist()


def test_without_intervals_no_bars_are_spoken_of():
    unknown = GROUPS.assign(**{name: np.nan for name in GROUPS if name.endswith(("low", "high"))})
    assert "Bars" in said(plots.by_group(GROUPS))
    assert "Bars" not in said(plots.by_group(unknown))


def test_other_frames_will_do():
    ours, theirs = plots.by_group(GROUPS), plots.by_group(pl.from_pandas(GROUPS))
    assert ours.to_dict() == theirs.to_dict()


def test_methods_may_have_intervals():
    assert "Bars" not in said(plots.methods(METHODS))
    chart = plots.methods(METHODS.assign(low=METHODS["value"] * 0.9, high=METHODS["value"] * 1.1))
    assert "Bars" in said(chart)
    assert len(chart.to_dict()["concat"]) == 3


def test_a_frame_that_lacks_something_is_refused():
    with pytest.raises(ColumnError, match=r"no column 'success'.*Did you mean"):
        plots.by_group(GROUPS.rename(columns={"success": "sucess"}))
    with pytest.raises(EmptyFrameError, match="nothing to draw"):
        plots.methods(METHODS.iloc[:0])


# ---- files --------------------------------------------------------------------------------------


def test_a_chart_can_be_saved_as_svg_png_and_html(tmp_path: Path):
    chart = plots.methods(METHODS)
    for suffix, start in ((".svg", b"<svg"), (".png", b"\x89PNG"), (".html", b"<!DOCTYPE html>")):
        plots.save(chart, tmp_path / f"chart{suffix}")
        assert (tmp_path / f"chart{suffix}").read_bytes().lstrip().startswith(start)
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert not re.search(r"<(script|link)\b[^>]*\b(src|href)=", page)
    assert len(list(tmp_path.iterdir())) == 3


def test_names_are_text_on_a_page_whatever_they_hold(tmp_path: Path):
    name = "</script><script>alert(1)</script><!--<script> “é” const spec = {};"
    chart = plots.by_group(GROUPS.replace({"group": {"men": name}})).properties(title=name)
    plots.save(chart, tmp_path / "chart.html")
    page = (tmp_path / "chart.html").read_text(encoding="utf-8")
    assert page.count("</script") == page.count("<script") == 2  # the library and the chart
    assert "<!--" not in page
    held = re.findall(r"^ *const spec = (.*);$", page, flags=re.MULTILINE)
    assert [json.loads(spec) for spec in held] == [chart.to_dict()]


@pytest.mark.parametrize("name", ["chart.pdf", "chart", "chart.SVG2"])
def test_another_kind_of_file_is_refused(name: str, tmp_path: Path):
    with pytest.raises(ResultError, match=r"ends in \.svg, \.png or \.html"):
        plots.save(plots.methods(METHODS), tmp_path / name)


def test_a_folder_that_is_not_there_is_said(tmp_path: Path):
    (tmp_path / "file").touch()
    for folder in ("nowhere", "file"):
        with pytest.raises(ResultError, match="Choose a folder that exists"):
            plots.save(plots.methods(METHODS), tmp_path / folder / "chart.svg")


def test_a_full_disk_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "chart.svg"
    file.write_text("before")
    write = Path.write_bytes

    def full(self: Path, content: bytes) -> int:
        write(self, content[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(ResultError, match="No space left on device"):
        plots.save(plots.methods(METHODS), file)
    assert [f.name for f in tmp_path.iterdir()] == ["chart.svg"]
    assert file.read_text() == "before"


@pytest.mark.parametrize("name", DRAWN)
def test_every_colour_has_one_for_dark_pages(name: str, tmp_path: Path):
    text = svg(DRAWN[name](600), tmp_path)
    style, drawn = re.fullmatch(
        r"<svg[^>]*><style>(.*?)</style>(.*)</svg>", text, re.DOTALL
    ).groups()  # type: ignore[union-attr]
    assert style.startswith("@media screen and (prefers-color-scheme: dark)")
    used = set(re.findall(r'(?:fill|stroke)="(#?\w+)"', drawn)) - {"none", "transparent"}
    assert used <= set(DARK)
    assert all(f'[fill="{colour}"]{{fill:{DARK[colour]}}}' in style for colour in used)


def test_colours_of_text_can_be_read_on_either_page():
    for text in (INK, QUIET, *COLOURS):
        assert contrast(text, PAPER) >= 4.5
        assert contrast(DARK[text], DARK[PAPER]) >= 4.5
    assert contrast(INK, SHADE) >= 4.5
    assert contrast(DARK[INK], DARK[SHADE]) >= 4.5


def contrast(one: str, other: str) -> float:
    """How well two colours are told apart, as the Web Content Accessibility Guidelines have it."""
    shares = [[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in (one, other)]
    linear = [
        [s / 12.92 if s <= 0.03928 else ((s + 0.055) / 1.055) ** 2.4 for s in c] for c in shares
    ]
    dark, light = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in linear)
    return (light + 0.05) / (dark + 0.05)


def test_a_page_gets_one_picture_for_phones_and_one_for_the_rest():
    asked: list[float] = []

    def draw(width: float) -> Any:
        asked.append(width)
        return plots.by_group(GROUPS, width=width)

    html = plots.picture(draw)
    assert sorted(asked) == [320, 600]
    assert html.count("data:image/svg+xml;base64,") == 2
    assert 'alt="Routes by group. ' in html


@pytest.mark.parametrize(
    ("module", "package"), [("altair", "altair"), ("vl_convert", "vl-convert")]
)
def test_a_missing_extra_is_one_sentence(
    module: str, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    chart = None if module == "altair" else plots.methods(METHODS)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ExtraError, match=rf"{package}.*pip install 'stepladder\[view\]'"):
        plots.methods(METHODS) if chart is None else plots.save(chart, tmp_path / "chart.svg")
