"""A private reference set: what is released, what one row can move, and the rows made of it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import differential_evolution

from stepladder.errors import ResultError
from stepladder.privacy import mechanism
from stepladder.privacy.mechanism import UNITS
from stepladder.privacy.neighbours import Neighbours
from stepladder.privacy.reference import (
    BINS,
    RELEASES,
    Facts,
    Layout,
    facts,
    made_up,
    nearest_centre,
)

# Two numbers, then one of three levels.
LAYOUT = Layout(
    np.array([-10.0, 0.0, 0.0, 0.0, 0.0]), np.array([10.0, 20.0, 1.0, 1.0, 1.0]), (slice(2, 5),)
)
MIDDLES = np.array([[-6.0, 4.0, 1, 0, 0], [5.0, 16.0, 0, 1, 0], [6.0, 3.0, 0, 0, 1]])
SIZES = [300, 200, 100]
NO_NOISE = 1e-6


def rng(seed=0):
    return np.random.default_rng(seed)


def blobs():
    """Three kinds of positives, each with a level of its own, and which kind each is."""
    kinds = np.repeat(np.arange(3), SIZES)
    points = MIDDLES[kinds].copy()
    points[:, :2] += rng().normal(scale=0.5, size=(len(kinds), 2))
    return points, kinds


def assert_laid_out(points, layout):
    assert np.all((points >= layout.low) & (points <= layout.high))
    for group in layout.groups:
        assert np.array_equal(
            np.sort(points[:, group], axis=1)[:, :-1], 0 * points[:, group][:, 1:]
        )
        assert np.all(points[:, group].sum(axis=1) == 1)


# ------------------------------------------------------------------------------- sensitivity


@st.composite
def layouts(draw):
    widths = draw(st.lists(st.integers(2, 4), max_size=2))
    numbers = draw(st.integers(0 if widths else 1, 10))
    low = draw(arrays(np.float64, numbers, elements=st.floats(-50, 50)))
    wide = draw(arrays(np.float64, numbers, elements=st.sampled_from([0.0, 1e-9, 1.0, 6.0, 200.0])))
    groups, start = [], numbers
    for width in widths:
        groups.append(slice(start, start + width))
        start += width
    ones = np.ones(sum(widths))
    return Layout(np.append(low, 0 * ones), np.append(low + wide, ones), tuple(groups))


@st.composite
def neighbouring(draw):
    """A layout, points in it and about it, and another row."""
    layout = draw(layouts())
    m, n = len(layout.low), draw(st.integers(1, 8))
    elements = st.floats(-60, 260) | st.sampled_from([0.0, 1.0, -1e6, 1e6, 1e-12])
    points = draw(arrays(np.float64, (n + 1, m), elements=elements))
    for group in layout.groups:
        levels = draw(arrays(np.intp, n + 1, elements=st.integers(0, group.stop - group.start - 1)))
        points[:, group] = np.eye(group.stop - group.start)[levels]
    if draw(st.booleans()):  # as columns are picked from a wider table
        points = np.asfortranarray(points)
    return layout, points[:-1], points[-1]


def passed(points, layout, answers, centres, neighbours, seed, multiplier=0.05):
    """What is passed on to have noise added, as `answers` are given in turn."""
    heard = []

    def hear(sums, spread):
        heard.append((sums, spread))
        return answers(len(heard) - 1, sums)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "with_noise", hear)
        facts(points, layout, multiplier, centres, rng(seed), neighbours)
    return heard


@settings(max_examples=150)
@given(
    neighbouring(),
    st.sampled_from(["added", "removed", "replaced"]),
    st.integers(1, 5),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 0.05, 3.0]),
)
def test_each_release_gets_noise_for_as_much_as_one_row_can_move_it(
    case, change, centres, seed, loudness
):
    layout, points, row = case
    kind = Neighbours.REPLACE_ONE if change == "replaced" else Neighbours.ADD_OR_REMOVE
    others = {
        "added": np.vstack([points, row]),
        "removed": points[1:],
        "replaced": np.vstack([points[1:], row]),
    }[change]
    noise, released = rng(seed), []

    def first(turn, sums):
        noisy = sums + np.round(noise.normal(size=sums.shape) * loudness * UNITS)
        released.append(noisy.astype(np.float64))
        return released[-1]

    one = passed(points, layout, first, centres, kind, seed)
    # The neighbour is asked the same questions: had it got the same answers, what would differ?
    other = passed(others, layout, lambda turn, sums: released[turn], centres, kind, seed)
    assert len(one) == len(other) == RELEASES
    columns = len(layout.numbers) + len(layout.groups)
    for turn, ((sums, spread), (theirs, same)) in enumerate(zip(one, other, strict=True)):
        apart = sum((int(a) - int(b)) ** 2 for a, b in zip(sums.flat, theirs.flat, strict=True))
        places = columns if turn == 0 else 1  # of a row: one in each column, then one share
        rows = 2 if change == "replaced" else 1  # which count, so that their squares add up
        assert apart <= places * rows * UNITS**2
        assert spread == same == pytest.approx(0.05 * math.sqrt(places * rows))


def test_a_row_can_move_each_release_by_all_that_is_claimed():
    # Otherwise the noise would be more than is due.
    layout = Layout(np.zeros(2), np.full(2, 90.0), ())
    crowd, row = np.zeros((100, 2)), np.full((1, 2), 90.0)
    same, released = Neighbours.ADD_OR_REMOVE, []

    def first(turn, sums):
        released.append(sums.astype(np.float64))
        return released[-1]

    one = passed(crowd, layout, first, 1, same, 0)
    other = passed(np.vstack([crowd, row]), layout, lambda turn, _: released[turn], 1, same, 0)
    moved = [np.linalg.norm((a - b) / UNITS) for (a, _), (b, _) in zip(one, other, strict=True)]
    assert moved == pytest.approx([math.sqrt(2), 1, 1, 1], rel=1e-6)


@pytest.mark.parametrize("turn", range(RELEASES))
def test_a_search_for_the_worst_replacement_comes_within_a_percent_of_the_bound(turn):
    layout = Layout(np.zeros(2), np.full(2, 90.0), ())
    crowd = rng().uniform(0, 90, size=(20, 2))

    def harm(genes):
        released = []

        def first(_, sums):
            released.append(sums.astype(np.float64))
            return released[-1]

        one, other = (np.vstack([crowd, row]) for row in (genes[:2], genes[2:]))
        kind = Neighbours.REPLACE_ONE
        here = passed(one, layout, first, 2, kind, 0)[turn][0]
        there = passed(other, layout, lambda t, _: released[t], 2, kind, 0)[turn][0]
        return (
            -math.sqrt(
                sum((int(a) - int(b)) ** 2 for a, b in zip(here.flat, there.flat, strict=True))
            )
            / UNITS
        )

    bound = math.sqrt(2 * (2 if turn == 0 else 1))  # two columns are counted, then one share
    found = differential_evolution(
        harm,
        [(0, 90)] * 4,
        maxiter=40,
        popsize=8,
        seed=0,
        polish=False,
        callback=lambda best, convergence: harm(best) < -0.995 * bound,
    )
    assert 0.99 * bound <= -found.fun <= bound


@given(neighbouring(), st.integers(1, 5))
def test_which_centre_is_nearest_is_a_question_to_each_point_alone(case, centres):
    layout, points, _ = case
    where = rng().uniform(layout.low, layout.high, size=(centres, len(layout.low)))
    alone = [nearest_centre(points[[i]], where)[0] for i in range(len(points))]
    assert nearest_centre(points, where).tolist() == alone
    assert nearest_centre(points[:0], where).tolist() == []


def test_many_points_are_answered_in_parts_as_at_once(monkeypatch):
    points, where = rng().normal(size=(1000, 3)), rng(1).normal(size=(7, 3))
    at_once = nearest_centre(points, where)
    monkeypatch.setattr("stepladder.privacy.reference.AT_ONCE", 100)
    assert np.array_equal(nearest_centre(points, where), at_once)


# ------------------------------------------------------------------------------------ facts


def test_with_hardly_any_noise_the_facts_are_true():
    points, kinds = blobs()
    found = facts(points, LAYOUT, NO_NOISE, 12, rng())
    assert found.numbers.shape == (2, BINS)
    for column, counted in enumerate(found.numbers):
        edges = np.linspace(LAYOUT.low[column], LAYOUT.high[column], BINS + 1)
        assert counted == pytest.approx(np.histogram(points[:, column], edges)[0], abs=1e-3)
    assert found.levels[0] == pytest.approx(SIZES, abs=1e-3)
    assert found.counts == pytest.approx(
        np.bincount(nearest_centre(points, found.centres), minlength=12), abs=1e-3
    )
    # Several centres may share a kind; together they count and place it as it is.
    used = found.counts > 0.5
    whose = nearest_centre(found.centres[used], MIDDLES)
    for kind, size in enumerate(SIZES):
        counts, places = found.counts[used][whose == kind], found.centres[used][whose == kind]
        assert counts.sum() == pytest.approx(size, abs=1e-2)
        mean = points[kinds == kind].mean(axis=0)
        assert counts @ places / counts.sum() == pytest.approx(mean, abs=0.1)


def test_a_single_centre_finds_the_mean_and_the_spread():
    layout = Layout(np.array([-8.0, -8.0]), np.array([8.0, 8.0]), ())
    points = rng().normal([1.0, -2.0], [0.2, 0.6], size=(5000, 2))
    found = facts(points, layout, NO_NOISE, 1, rng())
    assert found.counts == pytest.approx([5000], abs=1e-2)
    assert found.centres[0] == pytest.approx(points.mean(axis=0), abs=0.01)
    assert found.spreads[0] == pytest.approx([0.2, 0.6], rel=0.05)


def test_the_facts_say_how_noisy_they_are():
    points, _ = blobs()
    once = facts(points, LAYOUT, 2.0, 4, rng())
    assert once.noise == pytest.approx((2 * math.sqrt(3), 2 * math.sqrt(2)))
    twice = facts(points, LAYOUT, 2.0, 4, rng(), Neighbours.REPLACE_ONE)
    assert twice.noise == pytest.approx((2 * math.sqrt(6), 4))
    # 1,280 bins without a positive; the limits are five standard errors wide, as in test_mechanism.
    empty = np.concatenate([facts(points[:0], LAYOUT, 2.0, 4, rng()).numbers for _ in range(20)])
    assert empty.std() == pytest.approx(2 * math.sqrt(3), rel=0.1)


def test_two_calls_with_the_same_seed_have_different_noise():
    points, _ = blobs()
    one, other = (facts(points, LAYOUT, 1.0, 4, rng()) for _ in range(2))
    assert not np.array_equal(one.numbers, other.numbers)
    assert not np.array_equal(one.counts, other.counts)


@pytest.mark.parametrize("multiplier", [NO_NOISE, 3.0])
def test_no_positives_at_all_still_give_rows(multiplier):
    found = facts(np.empty((0, 5)), LAYOUT, multiplier, 6, rng())
    assert_laid_out(found.centres[:, :2], Layout(LAYOUT.low[:2], LAYOUT.high[:2], ()))
    assert_laid_out(made_up(found, 50, rng()), LAYOUT)


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_noise_alone_still_gives_rows_within_the_ranges(neighbours):
    points, _ = blobs()
    for multiplier in (20.0, 1e3, 1e7):
        found = facts(points, LAYOUT, multiplier, 6, rng(), neighbours)
        assert np.all((found.centres >= LAYOUT.low) & (found.centres <= LAYOUT.high))
        assert np.all(found.spreads >= 0)
        assert_laid_out(made_up(found, 200, rng()), LAYOUT)


def test_points_out_of_range_count_at_its_end():
    layout = Layout(np.zeros(1), np.full(1, 5.0), ())
    found = facts(np.array([[-1e9], [1e9], [1e9]]), layout, NO_NOISE, 1, rng())
    assert found.numbers[0][[0, -1]] == pytest.approx([1, 2], abs=1e-3)


# ------------------------------------------------------------------------------ made-up rows


def test_made_up_rows_are_like_the_positives():
    points, kinds = blobs()
    rows = made_up(facts(points, LAYOUT, NO_NOISE, 12, rng()), 3000, rng(1))
    assert_laid_out(rows, LAYOUT)
    whose = nearest_centre(rows, MIDDLES)
    for kind, size in enumerate(SIZES):
        ours, theirs = rows[whose == kind], points[kinds == kind]
        assert len(ours) / len(rows) == pytest.approx(size / sum(SIZES), abs=0.05)
        assert ours.mean(axis=0) == pytest.approx(theirs.mean(axis=0), abs=0.2)
        assert ours[:, :2].std(axis=0) == pytest.approx(theirs[:, :2].std(axis=0), rel=0.4)
        assert np.array_equal(ours[0, 2:], theirs[0, 2:])


def test_the_same_facts_and_seed_make_the_same_rows():
    points, _ = blobs()
    found = facts(points, LAYOUT, 1.0, 4, rng())
    one, other, different = (made_up(found, 40, rng(seed)) for seed in (3, 3, 4))
    assert np.array_equal(one, other)
    assert not np.array_equal(one, different)


@given(neighbouring(), st.integers(1, 4), st.integers(0, 99))
@settings(max_examples=30)
def test_made_up_rows_keep_to_any_layout(case, centres, seed):
    layout, points, _ = case
    assert_laid_out(made_up(facts(points, layout, 0.1, centres, rng(seed)), 20, rng()), layout)


# -------------------------------------------------------------------------------------- files


@pytest.fixture
def found():
    points, _ = blobs()
    return facts(points, LAYOUT, 1.0, 4, rng(), Neighbours.REPLACE_ONE, "a set")


def test_saved_facts_are_the_same_facts(found, tmp_path):
    found.save(tmp_path / "facts.json")
    loaded = Facts.load(tmp_path / "facts.json")
    assert np.array_equal(loaded.layout.low, found.layout.low)
    assert np.array_equal(loaded.layout.high, found.layout.high)
    assert loaded.layout.groups == found.layout.groups
    for name in ("numbers", "centres", "counts", "spreads"):
        ours, theirs = getattr(found, name), getattr(loaded, name)
        assert ours.shape == theirs.shape
        assert np.array_equal(ours, theirs)
    assert [counted.tolist() for counted in loaded.levels] == [c.tolist() for c in found.levels]
    for name in ("noise", "title", "multiplier", "neighbours", "made_for"):
        assert getattr(loaded, name) == getattr(found, name)
    assert np.array_equal(made_up(found, 30, rng()), made_up(loaded, 30, rng()))
    assert [file.name for file in tmp_path.iterdir()] == ["facts.json"]


def test_facts_without_groups_or_numbers_are_saved_too(tmp_path):
    for layout in (
        Layout(np.zeros(1), np.ones(1), ()),
        Layout(np.zeros(2), np.ones(2), (slice(0, 2),)),
    ):
        found = facts(np.ones((9, len(layout.low))), layout, 1.0, 1, rng())
        found.save(tmp_path / "facts.json")
        loaded = Facts.load(tmp_path / "facts.json")
        assert np.array_equal(made_up(loaded, 9, rng()), made_up(found, 9, rng()))


def spoilt(content, **changes):
    return json.dumps({**content, **changes})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda good: "not json",
        lambda good: "",
        lambda good: "[1, 2]",
        lambda good: "null",
        lambda good: json.dumps({k: v for k, v in good.items() if k != "counts"}),
        lambda good: spoilt(good, format=99),
        lambda good: spoilt(good, counts=["many"] * 4),
        lambda good: spoilt(good, counts=good["counts"][1:]),
        lambda good: spoilt(good, counts=[math.nan] * 4),
        lambda good: spoilt(good, numbers=[1.0] * 31),
        lambda good: spoilt(good, levels=[[1.0, 2.0]]),
        lambda good: spoilt(good, spreads=[[1.0] * 5]),
        lambda good: spoilt(good, high=good["high"][1:]),
        lambda good: spoilt(good, neighbours="next door"),
        lambda good: spoilt(good, noise=[]),
    ],
)
def test_a_file_that_holds_something_else_is_refused(spoil, found, tmp_path):
    file = tmp_path / "facts.json"
    found.save(file)
    file.write_text(spoil(json.loads(file.read_text())))
    with pytest.raises(ResultError, match=r"facts\.json' isn't a private reference set.*paid for"):
        Facts.load(file)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ResultError, match=r"none\.json' isn't a private reference set"):
        Facts.load(tmp_path / "none.json")
