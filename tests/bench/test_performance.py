"""The performance benchmarks: their measures worked out by hand, and the page up to date."""

from __future__ import annotations

from contextlib import suppress

import alone
import alone_peers
import bulk
import cost_ahead
import cost_model
import growth
import numpy as np
import pandas as pd
import performance
import performance_others
import performance_page
import pytest
from advice_tasks import Task, schema_of
from cost_model import CostModel, Pilot, pilot_for, terms
from performance_tasks import Clock
from sklearn.linear_model import LogisticRegression

import stepladder as sl

# ---- the model's own time -----------------------------------------------------------------------


def test_the_clock_counts_what_a_model_is_asked_and_leaves_it_of_its_kind():
    model = LogisticRegression().fit(np.arange(8.0).reshape(-1, 1), [0, 1] * 4)
    expected, clock = model.predict_proba(np.ones((3, 1))), Clock()
    clock.attach(sl.encoded(model))
    assert type(model) is LogisticRegression
    np.testing.assert_array_equal(model.predict_proba(np.ones((3, 1))), expected)
    model.predict_proba(np.ones((5, 1)))
    assert (clock.calls, clock.rows) == (2, 8)
    assert clock.cpu > 0
    assert 0 < clock.wall < 1
    clock.reset()
    assert (clock.calls, clock.rows, clock.wall, clock.cpu) == (0, 0, 0.0, 0.0)


def test_a_scorer_asks_a_torch_model_under_the_clock():
    torch = pytest.importorskip("torch")
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    space = sl.Space.fit(sl.Schema([sl.Numeric("x")]), frame)
    network = torch.nn.Sequential(torch.nn.Linear(1, 1), torch.nn.Sigmoid()).eval()
    clock = Clock()
    clock.attach(network)
    from stepladder.model.scorer import Scorer

    Scorer(sl.encoded(network), space, sl.Goal()).score(space.read(frame))
    assert (clock.calls, clock.rows) == (1, 4)


# ---- peers --------------------------------------------------------------------------------------


def test_an_answer_that_takes_too_long_is_given_up(monkeypatch):
    def never() -> pd.DataFrame:
        while True:
            with suppress(Exception):  # as a library may
                sum(range(1000))

    monkeypatch.setattr(alone_peers, "LIMIT", 0.05)
    with pytest.raises(alone_peers.TooLateError):
        alone_peers.in_time(never)
    there = pd.DataFrame({"x": [1]})
    assert alone_peers.in_time(lambda: there) is there


# ---- what routes are worth ----------------------------------------------------------------------


def found(efforts: dict[int, list[float]], **settings: object) -> pd.DataFrame:
    """Routes of people with these efforts, all of them sound."""
    rows = [(person, effort) for person, own in efforts.items() for effort in own]
    frame = pd.DataFrame(rows, columns=["person", "effort"])
    return frame.assign(**{"accepted": True, "kept": True, "choice": True, **settings})


def test_somebody_whose_easiest_route_is_harder_or_gone_is_counted():
    before = found({0: [1.0, 2.0], 1: [1.0], 2: [1.0], 3: [2.0]})
    now = found({0: [3.0, 1.04], 1: [1.06], 3: [1.0], 4: [9.0]})
    told = bulk.compared(before, now)
    assert (told["harder"], told["lost"], told["easier"]) == (1, 1, 1)
    assert told["worst"] == pytest.approx(1.06)


def test_means_count_every_person_the_same():
    told = bulk.worth(found({0: [1.0, 3.0], 2: [4.0]}), people=4)
    assert told["success"] == 0.5
    assert told["first_effort"] == pytest.approx(2.5)
    assert told["all_effort"] == pytest.approx(3.0)
    assert (told["routes"], told["choices"]) == (0.75, 0.75)
    assert (told["not_accepted"], told["broken"]) == (0, 0)
    unsound = bulk.worth(found({0: [1.0, 3.0]}, accepted=False, kept=[True, False]), people=1)
    assert (unsound["not_accepted"], unsound["broken"]) == (2, 1)


class Hours:
    """Says yes from 50 hours a week on."""

    def predict_proba(self, rows: pd.DataFrame) -> np.ndarray:
        yes = 1.0 * (rows["hours-per-week"] >= 50).to_numpy()
        return np.stack([1 - yes, yes], axis=1)


def test_routes_are_judged_by_the_model_and_the_rules():
    schema = schema_of("adult")
    row = {
        feature.name: feature.levels[0] if feature.kind == "categorical" else 10
        for feature in schema.features
    }
    people = pd.DataFrame([row])
    train = pd.DataFrame([{**row, "hours-per-week": hours} for hours in range(20, 60)])
    task = Task("adult", "made", 0, train, np.ones(40), Hours(), people)
    ends = pd.DataFrame(
        [
            {**row, "hours-per-week": 52},
            {**row, "hours-per-week": 54},  # hardly another amount
            {**row, "hours-per-week": 49},  # not a yes
            {**row, "hours-per-week": 50, "age": 11},  # nobody chooses their age
            {**row, "hours-per-week": 50},  # isn't reached
        ]
    ).assign(person=0, path=range(5), outcome=["reached"] * 4 + ["stalled"])
    told = bulk.routes(task, ends)
    assert told["accepted"].tolist() == [True, True, False, True]
    assert told["kept"].tolist() == [True, True, True, False]
    assert told["choice"].tolist() == [True, False, False, False]


# ---- growth -------------------------------------------------------------------------------------


def test_drawn_rows_are_of_the_same_kind_and_within_bounds():
    schema = sl.Schema(
        [
            sl.Numeric("debt", bounds=(0, 100), integer=True),
            sl.Numeric("rate"),
            sl.Categorical("job", levels=["a", "b"]),
        ]
    )
    rows = pd.DataFrame({"debt": [100, 1, 0], "rate": [0.5, 0.25, 0.0], "job": ["a", "b", "a"]})
    made = growth.drawn(rows, schema, 500, (0, 1))
    assert made.dtypes.equals(rows.dtypes)
    assert made["debt"].between(0, 100).all()
    assert made["rate"].nunique() > 100
    assert set(made["job"]) == {"a", "b"}
    assert growth.drawn(rows, schema, 500, (0, 1)).equals(made)


def test_slopes_are_of_log_scales():
    runs = pd.DataFrame({"people": [10, 100, 1000], "cpu": [1.0, 10.0, 1000.0]})
    assert growth.slopes(runs, "people") == pytest.approx([1.0, 2.0])


# ---- the cost model -----------------------------------------------------------------------------

TRUE = {
    "published": (0.2, 2e-4, 1e-3, 4e-6, 0.0, 3e-11),
    "default": (0.1, 1e-3, 2e-3, 5e-6, 2e-5, 1e-10),
}


def made_run(method: str, kind: str, people: int, reference: int, off: float = 1.0) -> dict:
    """A run whose cost is what the constants say, times `off`."""
    pilot = Pilot(20.0, 30.0, 1e-6, 0.5, 26, as_frames=not kind.startswith("encoded"))
    amounts = terms(method, people, reference, pilot)
    model_cpu = pilot.tau * people * pilot.rows
    batches = cost_model.batches(method, people, reference * pilot.positives)
    return {
        "method": method,
        "kind": kind,
        "people": people,
        "reference": reference,
        "fitted_to": people < 10**6 and reference < 10**6,
        "rows": people * pilot.rows,
        "calls": pilot.calls * batches,
        "positives": int(reference * pilot.positives),
        "columns": pilot.columns,
        "model_cpu": model_cpu,
        "cpu": off * float(np.dot(TRUE[method], amounts)) + model_cpu,
    }


def made_runs(method: str, off: float = 1.0) -> dict[str, dict]:
    kinds = ["encoded-logistic"] + ["logistic"] * (method == "default")
    sizes = [(10**n, 6000) for n in (2, 3, 4, 5, 6)] + [(500, 10**n) for n in (3, 4, 5, 6)]
    runs = [made_run(method, kind, *size) for kind in kinds for size in sizes]
    held = [{**run, "cpu": run["cpu"] * off} if not run["fitted_to"] else run for run in runs]
    return {str(i): run for i, run in enumerate(held)}


@pytest.mark.parametrize("method", ["published", "default"])
def test_constants_are_found_again_and_predict_what_was_held_out(method):
    runs = list(made_runs(method).values())
    model = CostModel.fitted(method, [run for run in runs if run["fitted_to"]])
    held = [run for run in runs if not run["fitted_to"]]
    assert held
    for run in held:
        pilot = pilot_for(run, [run for run in runs if run["fitted_to"]])
        predicted = model.seconds(run["people"], run["reference"], pilot)
        assert predicted == pytest.approx(run["cpu"], rel=0.02)


def test_a_prediction_that_is_off_by_more_than_a_quarter_is_missed():
    for off, met in ((1.0, True), (1.2, True), (2.0, False)):
        _, told = cost_model.tried(made_runs("published", off))
        (line,) = cost_model.lines(told)
        assert line.met is met


def test_the_pilot_is_the_run_most_like_it():
    runs = list(made_runs("default").values())
    asked = made_run("default", "logistic", 2000, 90_000)
    known = [{**run, "model_cpu": run["rows"] * i} for i, run in enumerate(runs)]
    chosen = pilot_for(asked, known)
    like = [
        i
        for i, run in enumerate(runs)
        if (run["kind"], run["people"], run["reference"]) == ("logistic", 500, 10**5)
    ]
    assert [chosen.tau] == like


# ---- past these machines ------------------------------------------------------------------------


def test_what_is_ahead_follows_from_the_constants_and_what_rows_weigh():
    runs = made_runs("published")
    for run in runs.values():
        run |= {
            "method_bytes": 5000 + 1000 * run["reference"],
            "fit_peak": 10**8 + 2000 * run["reference"],
            "fit_cpu": 1e-5 * run["reference"],
            "resumed_cpu": 2e-6 * run["people"],
            "bytes_out": 4000 * run["people"],
        }
    constants = dict(zip(cost_model.TERMS, TRUE["published"], strict=True))
    given = {"growth": runs, "cost_model": {"constants": {"published": constants}}}
    own = cost_ahead.measured(given, "published")
    assert own == cost_ahead.Measured(2e-6, 4000, 2000, 1000, pytest.approx(1e-5))
    *_, last = cost_ahead.plans(given)
    assert (last.people, last.reference, last.memory, last.results) == (1e8, 1e9, 1e12, 4e11)
    model, pilot = cost_ahead.cost_of(given, "published")
    assert last.seconds == pytest.approx(model.seconds(1e8, 1e9, pilot) + 1e4)
    day = cost_ahead.CORES * cost_ahead.EFFICIENCY * cost_ahead.DAY
    assert last.machines - 1 < last.seconds / day <= last.machines
    assert last.cells()[2:] == ("1 TB in shards", "400 GB")
    told = {limit.what: limit for limit in cost_ahead.limits(given)}
    copies = told["A copy of them in every worker process"]
    assert copies.rate == "1,000 bytes per row"
    assert "from 2·10⁶ rows on" in copies.breaks  # 128 GiB over 64 workers
    assert "7·10⁷ rows" in told["Learning from all of them in one process"].breaks


# ---- the page -----------------------------------------------------------------------------------


def test_the_page_has_what_was_measured():
    text = performance.PAGE.read_text(encoding="utf-8")
    measured = performance.measured()
    made = performance_page.filled(text, measured, performance.lines(measured))
    assert made == text, "python benchmarks/performance.py writes it"


def test_numbers_and_names_are_written_as_people_read_them():
    assert [cost_ahead.size(count) for count in (3.2e9, 512, 1.5e15)] == [
        "3.2 GB",
        "512 B",
        "1.5 PB",
    ]
    assert [cost_ahead.tens(count) for count in (1e8, 6000, 4.2e19)] == ["10⁸", "6·10³", "4·10¹⁹"]
    small = [performance_page.small(seconds) for seconds in (0.25, 3.2e-4, 2e-11, 0)]
    assert small == ["250 ms", "320 µs", "20 ps", "0"]
    told = performance_page.told("at most 3 (adult-encoded-network)")
    assert told == "at most 3 (Adult, torch network, of points)"


def test_lines_say_what_is_missed():
    quick = {"calls": 9, "cpu_ms": 5.0, "ours_cpu_ms": 2.0, "model_cpu_ms": 3.0}
    slow = {"calls": 30, "cpu_ms": 50.0, "ours_cpu_ms": 30.0, "model_cpu_ms": 20.0}
    peers = {"dice-random": {"cpu_ms": 20.0}, "nice": {"cpu_ms": 1.0}}
    for one, met in ((quick, True), (slow, False)):
        told = alone.lines(
            {"adult-forest": {"now": one, "peers": peers}, "adult-onnx": {"now": one}}
        )
        assert [line.met for line in told] == [met] * 4


def test_lines_of_the_other_benchmarks_are_told():
    cluster = {"speed": {"times_faster": 1.8, "people": 4000, "kept": True}}
    (line,) = performance_others.cluster(cluster)
    assert (line.met, line.number) == (True, "1.80 times (4,000 people)")
    shape = {"threads": 1, "columns": 24, "people": 1000, "positives": 2000, "dtype": "float64"}
    figures = [
        {**shape, "by": "NumPy tiles", "of_matmul": 0.49},
        {**shape, "by": "NumPy tiles", "of_matmul": 0.6},
        {**shape, "by": "another", "of_matmul": 0.1},
    ]
    (line,) = performance_others.kernel(figures)
    assert (line.met, line.number) == (False, "at least 49% (24 columns, 1,000 × 2,000)")
    one = {"points": 10, "positives": 20, "milliseconds": 50.0, "error": 2e-6}
    gpu = {"kernel": {"32": {**one, "plain_torch_milliseconds": 1000.0}}}
    (line,) = performance_others.gpu(gpu)
    assert line.met
    assert performance_others.pairs_per_second(gpu) == pytest.approx(4000)
    assert performance_others.pairs_per_second({}) is None
