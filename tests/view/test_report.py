"""The report: one whole page whose figures are the result's, with nothing in it but text."""

from __future__ import annotations

import datetime as dt
import errno
import hashlib
import itertools
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.methods import bank, linked

import stepladder as sl
from stepladder.audit import audit
from stepladder.errors import ExtraError, ModelError, ParameterError, ResultError
from stepladder.metrics import METRICS, fairness
from stepladder.result.provenance import data_hash, model_hash, schema_hash
from stepladder.view import page
from stepladder.view.plots.asked import asked_for
from stepladder.view.plots.routes import route_title
from stepladder.view.plots.style import DARK, PAPER
from stepladder.view.report import compared, report, write
from stepladder.view.report.everyone import ROUTES
from stepladder.view.report.examples import chosen
from stepladder.view.report.settings import rules
from stepladder.view.spread import distributions, easiest_paths
from stepladder.words import plans as words

STEP = bank.fitted(paths=2, step_size=1.0)
RESULT = STEP.recourse(bank.PEOPLE.iloc[:30])

VOID = {"meta", "img", "source", "br"}


class Outline(HTMLParser):
    """What a page is made of: its tags, texts, headings and pictures."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[str, str]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if re.fullmatch("h[1-6]", tag):
            self.headings.append((tag, ""))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text += data
        if self.open and re.fullmatch("h[1-6]", self.open[-1]):
            tag, said = self.headings[-1]
            self.headings[-1] = tag, said + data


@pytest.fixture(scope="module")
def html() -> str:
    return report(
        RESULT,
        step=STEP,
        groups=["owner"],
        people=2,
        title="The bank",
        model=b"model",
        data=bank.TRAIN,
        date=dt.date(2026, 5, 1),
    )


@pytest.fixture(scope="module")
def outline(html) -> Outline:
    return Outline(html)


def test_a_page_holds_all_it_needs_and_runs_nothing(html, outline):
    assert "script" not in [tag for tag, _ in outline.tags]
    for _, attributes in outline.tags:
        for name in ("src", "srcset", "href"):
            if name in attributes:
                assert attributes[name].startswith(("data:", "#"))
        assert not [name for name in attributes if name.startswith("on")]
    assert "url(" not in html
    assert "@import" not in html
    assert "default-src 'none'" in html


def test_headings_are_nested_without_a_gap(outline):
    levels = [int(tag[1]) for tag, _ in outline.headings]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later <= earlier + 1 for earlier, later in itertools.pairwise(levels))
    sections = [text for tag, text in outline.headings if tag == "h2"]
    assert sections == [
        *("What was found", "Summary", "Distributions"),
        *("Groups", "People", "Settings and provenance"),
    ]


def test_tables_have_captions_and_pictures_have_words(outline):
    tags = [tag for tag, _ in outline.tags]
    assert tags.count("table") == tags.count("caption") > 5
    pictures = [attributes for tag, attributes in outline.tags if tag == "img"]
    people = [text for tag, text in outline.headings if text.startswith("Person ")]
    plans = [words.plan(RESULT, int(text.split()[1])) for text in people]
    # the distributions, three of the groups, and one or two of a person
    assert len(pictures) == 4 + sum(1 + (len(plan.routes) > 1) for plan in plans)
    assert all(len(picture["alt"] or "") > 40 for picture in pictures)


def test_a_picture_says_what_it_shows_to_those_who_cannot_see_it(outline):
    texts = [attributes["alt"] or "" for tag, attributes in outline.tags if tag == "img"]
    often = next(one for one in asked_for(RESULT, easiest_paths(RESULT)) if one.total)
    assert f"changes most often: {often}." in texts[0]
    counts = audit(RESULT, ["owner"]).by_group
    assert f"{counts['mean_effort'].max():.2f}" in texts[1]
    assert "half have a route within effort" in texts[2]
    assert "most often" in texts[3]
    person = next(text for text in texts if text.startswith("Before and after"))
    plan = words.plan(RESULT, int(re.findall(r"for person (\d+)", person)[0]))
    assert str(plan.routes[0]) in person


def test_the_summary_counts_what_the_result_holds(outline):
    status = RESULT.status["outcome"]
    asked = int((status != "already_positive").sum())
    reached = int((status == "reached").sum())
    assert f"{reached} of {asked} who asked have a route to a yes" in outline.text
    assert f"{len(RESULT.people) - asked} more had a yes already" in outline.text


def test_plans_stand_there_in_words(outline):
    said = " ".join(outline.text.split())
    asked = RESULT.status.loc[RESULT.status["outcome"] != "already_positive", "person"].tolist()
    for person in (asked[i] for i in chosen(range(len(asked)), 2)):
        plan = words.plan(RESULT, person)
        assert f"Person {person}" in [text for _, text in outline.headings]
        assert plan.standing in said
        for route in plan.routes:
            assert route_title(plan, plan.routes.index(route) + 1) in said
            assert all(str(task) in said for task in route.tasks)
            assert route.ending(plan.goal) in said


def test_what_follows_how_long_it_takes_and_what_is_broken_today_stand_there_too():
    broken = linked.REJECTED[linked.REJECTED["loan"] > linked.REJECTED["price"]].head(4)
    result = linked.fitted().recourse(broken)
    html = report(result, people=4)
    said = " ".join(Outline(html).text.split())
    months = []
    for plan in words.plans(result):
        assert plan.caution in said
        months.append(plan.routes[0].months)
        for route in plan.routes:
            assert f"{route.consequence} {route.ending(plan.goal)}" in said
    easiest = rows_below(html, "The easiest route of each")
    assert ["Months it takes", f"{np.median(months):g}", f"{max(months):g}"] in easiest
    assert "Months" not in Outline(report(RESULT, people=0)).text


def test_where_it_comes_from_is_told(outline):
    for told in (
        sl.__version__,
        hashlib.sha256(b"model").hexdigest(),
        data_hash(bank.TRAIN),
        schema_hash(RESULT.space.schema),
        str(RESULT.goal),
        "Seed",
        "2026-05-01",
        "The bank",
    ):
        assert told in outline.text


def test_the_same_input_gives_the_same_bytes():
    few = STEP.recourse(bank.REJECTED.iloc[:2])
    assert report(few, people=1) == report(few, people=1)


def test_what_was_not_given_is_said_and_no_date_is_made_up():
    said = report(RESULT, people=0)
    assert said.count("not given") == 2
    assert str(dt.date.today().year) not in Outline(said).text


def test_names_are_text_whatever_they_hold():
    name = "<script>alert(1)</script>"
    schema = sl.Schema([sl.Numeric(name), sl.Categorical("kind", levels=["<b>", "&amp;"])])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({name: rng.normal(size=60), "kind": rng.choice(["<b>", "&amp;"], 60)})
    step = sl.StEP(paths=1).fit(rows, lambda f: 1 / (1 + np.exp(-f[name])), schema=schema)
    people = rows[rows[name] < 0].head(3).set_axis([name, "<i>", "c"])
    result = step.recourse(people)
    said = report(result, groups=["kind"], people=3, title=name, date=name)
    outline = Outline(said)
    assert {"script", "b", "i"} & {tag for tag, _ in outline.tags} == set()
    assert "<script" not in said
    assert f"Person {name}" in outline.text


def test_someone_without_a_route_is_told_why_and_what_would_open_one():
    schema = sl.Schema([sl.Numeric("income", change="never"), sl.Numeric("other")])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"income": rng.normal(size=80), "other": rng.normal(size=80)})
    step = sl.StEP(paths=1).fit(rows, lambda f: 1 / (1 + np.exp(-f["income"])), schema=schema)
    people = rows[rows["income"] < 0].head(2)
    result = step.recourse(people)
    said = Outline(report(result, step=step, people=1)).text
    assert "0 of 2 who asked" in said
    assert "Why some have no route" in said
    assert "with income other than" in said
    assert "with income other than" not in Outline(report(result, people=1)).text


def test_frames_of_other_libraries_give_the_same_page():
    plain = bank.PEOPLE.iloc[:6].reset_index(drop=True)
    polars = pl.DataFrame(plain.to_dict("list"))
    pages = {
        report(STEP.recourse(frame), data=frame, groups=["job"], people=0)
        for frame in (plain, polars, polars.to_arrow())
    }
    assert len(pages) == 1


def test_a_missing_value_dates_and_twins_are_no_trouble():
    people = bank.REJECTED.iloc[:3].astype({"income": float})
    people.iloc[0, 0] = np.nan
    people.index = pd.DatetimeIndex(["2026-01-01", "2026-01-02", "2026-01-02"])
    said = Outline(report(STEP.recourse(people), people=3)).text
    assert "there is no value for income" in said
    assert said.count("Person 2026-01-02") == 2


def test_an_invalid_row_is_counted_and_its_reason_listed():
    people = bank.REJECTED.iloc[:3].copy()
    people.iloc[0, people.columns.get_loc("income")] = -5
    said = Outline(report(STEP.recourse(people), people=3)).text
    assert "Have none: a value isn't valid" in said
    assert "'income' is -5, outside the schema's own bounds" in said
    assert "there is no valid value for income" in said


@pytest.mark.parametrize("rows", [0, 1])
def test_a_result_in_which_nobody_asked_has_a_page(rows):
    accepted = bank.PEOPLE[bank.score(bank.PEOPLE) >= bank.GOAL.threshold].iloc[:rows]
    groups = ["owner"] if rows else None
    said = Outline(report(STEP.recourse(accepted), groups=groups)).text
    assert "Nobody in this result asked" in said


def test_a_goal_that_is_a_range_has_a_page():
    step = sl.StEP(paths=1)
    step.fit(
        bank.TRAIN, lambda f: 100 * bank.score(f), schema=bank.SCHEMA, goal=sl.Goal.between(60, 95)
    )
    said = Outline(report(step.recourse(bank.REJECTED.iloc[:3]), people=1)).text
    assert "a yes takes 60 to 95" in said


def rows_below(html: str, caption: str) -> list[list[str]]:
    """The cells of the table of that caption, row by row."""
    table = html.split(f"<caption>{caption}</caption>")[1].split("</table>", maxsplit=1)[0]
    body = table.split("<tbody")[1]
    return [
        [unescape(cell) for cell in re.findall(r"<t[hd] [^>]*>(.*?)</t[hd]>", row)]
        for row in body.split("</tr>")[:-1]
    ]


def test_every_metric_is_told_in_plain_words_and_only_where_it_has_a_value(html):
    told = {name for name in METRICS if not name.endswith("as_printed")} - {"success"}
    assert set(ROUTES) == told
    caption = "All routes, not only the easiest"
    rows = dict(rows_below(html, caption))
    assert len(rows) == len(ROUTES)
    assert not {"–", "nan"} & set(rows.values())
    loaded = replace(RESULT, positives=None)  # as from a file of `stepladder recourse`
    fewer = dict(rows_below(report(loaded, people=0), caption))
    assert rows.keys() - fewer.keys() == {ROUTES["distance_to_positives"][0]}


def test_no_name_from_the_code_is_put_before_a_reader(outline):
    prose = outline.text.split("How this result was made")[0]
    assert not re.findall(r"\b\w+_\w+\b", prose)
    for jargon in ("l2", "sparsity", "proximal", "selection rate", "effectiveness cost", "metric"):
        assert jargon not in prose


def test_columns_that_were_set_aside_are_told_and_do_not_change_the_fingerprint():
    people, made = bank.REJECTED.iloc[:2].assign(note="x"), "How this result was made"
    rows = dict(rows_below(report(STEP.recourse(people), people=0, data=bank.PEOPLE), made))
    more = dict(rows_below(report(RESULT, people=0, data=bank.PEOPLE.assign(note=1)), made))
    said = "Columns set aside, which the schema doesn't name"
    assert (rows[said], more[said]) == ("note", "none")
    assert rows["Data, SHA-256"] == more["Data, SHA-256"]


# ---- groups -------------------------------------------------------------------------------------

TWELVE = STEP.recourse(bank.REJECTED.iloc[:12])


def test_small_groups_are_marked_and_an_audit_made_before_is_shown():
    found = audit(RESULT, ["owner"], smallest=20)
    html = report(RESULT, groups=found, people=0)
    names = [row[0] for row in rows_below(html, "What groups by owner are offered")]
    assert "True\N{NO-BREAK SPACE}*" in names
    assert "* of fewer than 20 people: too few to say much." in html


def test_figures_of_groups_are_the_audits_with_its_ranges():
    found = audit(TWELVE, {"half": ["a"] * 6 + ["b"] * 6})
    html = report(TWELVE, groups=found, people=0)
    first = found.by_group.iloc[0]
    assert rows_below(html, "What groups by half are offered")[0] == [
        "a\N{NO-BREAK SPACE}*",
        "6",
        "100% (61–100%)",
        *(
            f"{first[name]:{form}} ({first[name + '_low']:{form}}–{first[name + '_high']:{form}})"
            for name, form in (("mean_effort", ".2f"), ("mean_cost", ".2f"))
        ),
    ]


def test_a_figure_of_few_people_is_marked_though_many_asked():
    found = audit(TWELVE, {"half": ["a"] * 6 + ["b"] * 6}, smallest=3)
    counts = found.by_group.assign(reached=[6, 2])  # as if all but two had none
    html = report(TWELVE, groups=replace(found, by_group=counts), people=0)
    many, few = rows_below(html, "What groups by half are offered")
    mark = "\N{NO-BREAK SPACE}*"
    assert not any(mark in cell for cell in (*many, *few[:3]))
    assert all(mark in cell for cell in few[3:])
    assert "* of fewer than 3 people" in html


def test_of_one_person_no_range_is_told():
    html = report(TWELVE, groups={"who": ["one"] + ["rest"] * 11}, people=0)
    alone, rest = rows_below(html, "What groups by who are offered")
    assert alone[0].startswith("one")
    assert "(" in rest[3]
    assert "(" not in alone[3]
    assert "(" not in alone[4]


def test_nobody_is_called_worst_off_where_groups_are_alike():
    html = report(TWELVE, groups={"half": ["a"] * 6 + ["b"] * 6}, people=0)
    caption = "How groups by half differ, those of few people included"
    rows = {row[0]: row[1:] for row in rows_below(html, caption)}
    assert rows["Have a route"] == [
        "–",
        "–",
        "no difference seen (−39 to 39 percentage points)",
        "–",
    ]
    worst, best, apart, ratio = rows["Mean distance"]
    ends = [end.split(":\N{NO-BREAK SPACE}") for end in (worst, best)]
    assert {name for name, _ in ends} == {"half=a", "half=b"}
    values = [float(measured) for _, measured in ends]
    assert float(apart.split()[0]) == pytest.approx(values[0] - values[1], abs=0.011)
    assert float(ratio) == pytest.approx(values[1] / values[0], abs=0.01)


def test_what_is_compared_is_told_once_and_explained():
    html = report(TWELVE, groups={"half": ["a"] * 6 + ["b"] * 6}, people=0)
    rows = rows_below(html, "How groups by half differ, those of few people included")
    names = [row[0] for row in rows]
    assert len(names) == len(set(names)) == len(compared.MEASURES) - 1
    assert "Had a yes already" not in names  # nobody had
    assert any(name.startswith("Distance until 70% have a route") for name in names)
    said = " ".join(Outline(html).text.split())
    for name, measure in compared.MEASURES.items():
        is_told = name != "selection_rate"
        assert (f"{measure.term}: {measure.meaning}." in said) == is_told


def test_every_measure_of_an_audit_has_plain_words_but_the_one_that_would_be_told_twice():
    known = {*fairness.NOTIONS.values(), *audit(TWELVE, ["owner"]).gaps["measure"]}
    assert known - set(compared.MEASURES) == {"no_recourse"}


def test_small_groups_are_compared_again_only_where_that_changes_who_differs():
    many = {"who": ["a"] * 5 + ["b"] * 5 + ["c"] * 2}
    found = audit(TWELVE, many, smallest=5)
    html = report(TWELVE, groups=found, people=0)
    first = {row[0]: row[1:3] for row in rows_below(html, "How groups by who differ")}
    caption = "How groups by who differ, those of few people included"
    again = {row[0]: row[1:3] for row in rows_below(html, caption)}
    assert 0 < len(again) < len(first)
    assert all(ends != first.get(name) for name, ends in again.items())


def test_a_group_by_itself_is_compared_with_nobody():
    html = report(TWELVE, groups={"all": ["same"] * 12}, people=0)
    assert "What groups by all are offered" in html
    assert "How groups by all differ" not in html


# ---- people -------------------------------------------------------------------------------------


def test_people_are_chosen_evenly_whoever_they_are():
    assert chosen(range(5), 10) == [0, 1, 2, 3, 4]
    assert chosen(range(10), 1) == [5]
    assert chosen(range(9), 3) == [1, 4, 7]
    assert chosen([], 3) == []


def test_how_often_a_feature_changes_and_which_way_is_counted_on_the_easiest_routes():
    counts = asked_for(RESULT, easiest_paths(RESULT))
    best = RESULT.status.dropna(subset="best_path")[["person", "best_path"]]
    ours = RESULT.changes.merge(
        best.astype({"best_path": int}),
        left_on=["person", "path"],
        right_on=["person", "best_path"],
    )
    found = {one.feature.name: one.total for one in counts if one.total}
    assert found == ours["feature"].value_counts().to_dict()
    assert [one.total for one in counts] == sorted((one.total for one in counts), reverse=True)
    income = ours[ours["feature"] == "income"]
    rises = (income["after"] > income["before"]).sum()
    of = {one.feature.name: one for one in counts}
    assert (of["income"].raised, of["income"].lowered) == (rises, len(income) - rises)
    html = report(RESULT, people=0)
    assert {row[0]: row[1] for row in rows_below(html, "What the easiest routes change")} == {
        one.feature.label: str(one) for one in counts if one.feature.chosen or one.total
    }


def test_the_bars_of_the_distributions_add_up_to_the_people():
    tables = [pd.DataFrame(rows) for rows in distributions(RESULT).to_dict()["datasets"].values()]
    bars = [table["people"].sum() for table in tables if "people" in table]
    asked = int((RESULT.status["outcome"] != "already_positive").sum())
    assert sorted(bars) == sorted([len(easiest_paths(RESULT))] * 3 + [asked])


# ---- fingerprints -----------------------------------------------------------------------------


def test_a_table_has_one_fingerprint_in_every_library():
    frame = pd.DataFrame({"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": [True, False]})
    cells = {"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": [True, False]}
    assert data_hash(frame) == data_hash(pl.DataFrame(cells)) == data_hash(frame.set_axis([7, 8]))


@pytest.mark.parametrize(
    "other",
    [
        {"a": [2, 1], "b": ["x", "y"]},
        {"a": [1, 2], "c": ["x", "y"]},
        {"a": [1.0, 2.5], "b": ["x", "y"]},
        {"a": [1, 2], "b": ["x", None]},
        {"a": [1, 2**63], "b": ["x", "y"]},
    ],
)
def test_another_content_has_another_fingerprint(other):
    assert data_hash(pl.DataFrame({"a": [1, 2], "b": ["x", "y"]})) != data_hash(pd.DataFrame(other))


def test_a_model_is_known_by_its_bytes(tmp_path: Path):
    file = tmp_path / "model.skops"
    file.write_bytes(b"abc")
    assert model_hash(file) == model_hash(str(file)) == model_hash(b"abc")
    with pytest.raises(ModelError, match="can't be read: No such file"):
        model_hash(tmp_path / "other")
    with pytest.raises(ParameterError, match="give the file's name or its bytes; got StEP"):
        model_hash(STEP)


def test_a_private_result_tells_what_was_spent_and_no_fingerprint_of_its_rows():
    schema = sl.Schema([sl.Numeric("a", typical=(-3, 3)), sl.Numeric("b", typical=(-3, 3))])
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(400, 2)).round(2), columns=["a", "b"])
    step = sl.StEP(paths=1, privacy=sl.Budget(epsilon=5, delta=1e-6))
    step.fit(rows, lambda f: 1 / (1 + np.exp(-2 * f["a"] - f["b"])), schema=schema)
    result = step.recourse(rows[rows["a"] < -0.5].head(2))
    said = Outline(report(result, people=0, data=rows)).text
    assert "kept private" in said
    assert data_hash(rows) not in said
    assert "Covered: any one row of the reference table" in " ".join(said.split())


# ---- bad input --------------------------------------------------------------------------------


def test_a_wrong_method_or_number_of_people_is_answered_in_a_sentence():
    with pytest.raises(ParameterError, match=r"takes a fitted sl\.StEP; got 3"):
        report(RESULT, step=3)
    with pytest.raises(ParameterError, match="people"):
        report(RESULT, people=-1)


def test_a_missing_library_names_the_extra(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "jinja2", None)
    page._environment.cache_clear()
    with pytest.raises(ExtraError, match=r"jinja2.*stepladder\[view\]"):
        report(RESULT, people=0)


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, html: str
):
    file = tmp_path / "report.html"
    write(html, file)
    assert file.read_text(encoding="utf-8") == html

    def full(self, text, **_):
        self.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(ResultError, match="No space left on device"):
        write("other", file)
    assert file.read_bytes() == html.encode()
    assert [found.name for found in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize("name", ["report.pdf", "missing/report.html"])
def test_a_wrong_name_is_answered_in_a_sentence(tmp_path: Path, name: str):
    with pytest.raises(ResultError, match="Can't write a page to"):
        write("", tmp_path / name)
    assert list(tmp_path.iterdir()) == []


# ---- as it's seen -----------------------------------------------------------------------------

chromium = pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium isn't installed")


def seen(folder: Path, html: str, probe: str, width: int, *settings: str) -> str:
    """What a script says of a page in a window of some width."""
    script = f"<script>addEventListener('load', () => document.title = {probe})</script>"
    policy = re.compile(r"<meta http-equiv=[^>]*>")  # which would stop the script
    write(policy.sub("", html) + script, folder / "inner.html")
    frame = f"<iframe src=inner.html style='width:{width}px;height:900px;border:0'></iframe>"
    reading = (
        "<script>addEventListener('load', () => document.title = "
        "document.querySelector('iframe').contentDocument.title)</script>"
    )
    scheme = "<meta name=color-scheme content='light dark'>"
    write(f"<!DOCTYPE html>{scheme}<title></title>{frame}{reading}", folder / "outer.html")
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += ["--hide-scrollbars", "--allow-file-access-from-files", *settings]
    done = subprocess.run(
        [*command, f"--user-data-dir={folder / 'profile'}", (folder / "outer.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = re.search(r"<title>(.*?)</title>", done.stdout)
    assert found is not None
    return unescape(found[1])


@chromium
@pytest.mark.parametrize("width", [320, 1200])
def test_nothing_sticks_out_of_the_window(tmp_path: Path, html: str, width: int):
    assert seen(tmp_path, html, "document.documentElement.scrollWidth", width) == str(width)


@chromium
@pytest.mark.parametrize(("scheme", "paper"), [(0, DARK[PAPER]), (1, PAPER)])
def test_a_page_is_as_dark_as_its_reader_likes_and_so_are_its_pictures(
    tmp_path: Path, html: str, scheme: int, paper: str
):
    """A picture's corner has the colour of the page."""
    probe = """(() => {
        const canvas = document.createElement('canvas'), image = document.querySelector('img');
        const pen = canvas.getContext('2d');
        pen.drawImage(image, 0, 0);
        const corner = [...pen.getImageData(2, 2, 1, 1).data].slice(0, 3).join(', ');
        return `${getComputedStyle(document.body).backgroundColor} rgb(${corner})`;
    })()"""
    colour = f"rgb({', '.join(str(int(paper[i : i + 2], 16)) for i in (1, 3, 5))})"
    setting = f"--blink-settings=preferredColorScheme={scheme}"
    assert seen(tmp_path, html, probe, 900, setting) == f"{colour} {colour}"


def test_paper_is_white_numbered_and_has_a_page_for_each_person(html):
    style = html.split("<style>")[1].split("</style>")[0]
    dark = [part for part in style.split("@media") if "prefers-color-scheme: dark" in part]
    assert dark
    assert all(part.lstrip().startswith("screen and") for part in dark)
    printed = style.split("@media print")[1]
    assert "counter(page)" in printed
    assert re.search(r"\.person \+ \.person \{ break-before: page; \}", printed)


def test_the_rules_of_a_schema_are_told_in_words():
    schema = sl.Schema(
        [
            sl.Numeric("age", change="time"),
            sl.Categorical("account", levels=["none", "basic"], not_to=["none"], months=2),
            sl.Derived("half", "age / 2"),
        ],
        require=["age >= half", "age < 99"],
    )
    table = rules(SimpleNamespace(space=SimpleNamespace(schema=schema)))
    assert table.rows == (
        ("age", "age", "a number", "with time", "any number; grows by one per year"),
        (
            "account",
            "account",
            "one of several",
            "any way",
            "none, basic; not to none; takes 2 months",
        ),
        ("half", "half", "worked out", "with others", "worked out: age / 2"),
    )
    assert table.note == "Every row keeps: age ≥ half; age < 99."
