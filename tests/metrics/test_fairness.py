"""How far groups lie apart: by hand, the six notions, and whether the intervals can be trusted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import ks_2samp
from tests.metrics.crowd import COUNTS, INF, NAN, SEEDS, by_hand, drawn, people, random_people

from stepladder.metrics import members
from stepladder.metrics.fairness import NOTIONS, Gap, compare
from stepladder.metrics.groups import MEASURES, by_group


def gaps(made, rng, samples=1000):
    """The gaps among all groups."""
    return {name: gap for name, (gap,) in compare(made, rng, samples).gaps.items()}


def test_gaps_by_hand():
    found = gaps(by_hand(), np.random.default_rng(0))
    assert list(found) == [*MEASURES, "trade_off"]
    success = found["success"]
    assert (success.lowest, success.highest) == (1, 0)
    assert success.gap == pytest.approx(0.3)
    assert success.ratio == pytest.approx(5 / 8)
    assert success.gap_interval[0] < 0 < success.gap < success.gap_interval[1] <= 1
    cost = found["cost_of_effectiveness"]
    assert (cost.lowest, cost.highest, cost.gap, cost.ratio) == (0, 1, INF, 0.0)
    trade_off = found["trade_off"]  # 2/5 less 1/4 at 2, 3/5 less 1/4 at 3, then 2/4 at 5
    assert (trade_off.lowest, trade_off.highest, trade_off.at) == (1, 0, 3.0)
    assert trade_off.gap == pytest.approx(0.35)
    assert math.isnan(trade_off.ratio)


def test_there_are_six_notions_each_with_its_gap_and_its_definition():
    assert len(NOTIONS) == 6
    assert set(NOTIONS.values()) <= set(gaps(by_hand(), np.random.default_rng(0), samples=1))
    for name in set(NOTIONS.values()) & set(MEASURES):
        assert "The paper:" in MEASURES[name].of.__doc__


@given(seed=SEEDS, n=st.integers(0, 40), count=COUNTS)
@example(seed=128, n=4, count=2)  # two groups of the same costs
def test_the_trade_off_is_the_largest_gap_within_any_budget(seed, n, count):
    made = random_people(seed, n, count)
    found = gaps(made, np.random.default_rng(0), samples=2)["trade_off"]
    asking = len(np.unique(made.codes[made.asked]))
    if asking < 2 or not made.reached.any():
        assert math.isnan(found.gap)
        return
    within = {}
    for budget in np.unique(made.cost[made.reached]):
        shares = by_group(replace(made, budget=budget))["within_budget"]
        within[budget] = np.nanmax(shares) - np.nanmin(shares)
    assert found.gap == pytest.approx(max(within.values()))
    if found.gap:
        assert within[found.at] == pytest.approx(found.gap)
    else:  # the same at every cost, so at none of them furthest apart
        assert math.isnan(found.at)
        assert found.lowest is found.highest is None


def test_the_trade_off_of_two_groups_is_the_distance_of_kolmogorov_and_smirnov():
    made = drawn(np.random.default_rng(0), 700, shift=0.1)  # more costs than the grid has places
    first, second = (np.where(made.reached, made.cost, 1e9)[made.codes == code] for code in (0, 1))
    found = gaps(made, np.random.default_rng(0), samples=200)["trade_off"]
    assert found.gap == pytest.approx(ks_2samp(first, second).statistic)


@given(seed=SEEDS, n=st.integers(2, 25))
def test_the_paper_s_definitions_give_our_figures_when_actions_are_one_s_own(seed, n):
    """An action for each path, which works for the person whose path it is and for nobody else."""
    made = random_people(seed, n, 2)
    actions = [(i, float(made.cost[i])) for i in range(n) if made.reached[i]]
    budgets = sorted({cost for _, cost in actions})

    def eff(some, group):
        return sum(any(i == x for i, _ in some) for x in group) / len(group)

    def within(c):
        return [(i, cost) for i, cost in actions if cost <= c]

    values = by_group(made)
    affected = [[i for i in range(n) if made.asked[i] and made.codes[i] == g] for g in (0, 1)]
    for g, group in enumerate(affected):
        if not group:
            continue
        assert values["success"][g] == pytest.approx(eff(actions, group))
        assert values["within_budget"][g] == pytest.approx(eff(within(made.budget), group))
        enough = [c for c in budgets if eff(within(c), group) >= made.effectiveness - 1e-9]
        assert values["cost_of_effectiveness"][g] == min(enough, default=INF)
        own = [cost for i, cost in actions if i in group]
        mean = sum(own) / len(own) if own else NAN
        assert values["mean_cost"][g] == pytest.approx(mean, nan_ok=True)
    if all(affected) and budgets:
        apart = [abs(eff(within(c), affected[0]) - eff(within(c), affected[1])) for c in budgets]
        found = gaps(made, np.random.default_rng(0), samples=1)["trade_off"]
        assert found.gap == pytest.approx(max(apart))


# ---- intervals ----------------------------------------------------------------------------------


def covers(interval, value):
    return interval[0] - 1e-12 <= value <= interval[1] + 1e-12


@pytest.mark.parametrize("count", [2, 4])
def test_groups_that_are_alike_have_gaps_whose_interval_holds_zero(count):
    """In about 95 of 100 tables, however many groups the furthest pair was picked from.

    Over 1000 tables the shares lie between 93% and 98%; of 300, each is good to about 1.4%.
    """
    hits, tables = dict.fromkeys([*MEASURES, "trade_off"], 0), 300
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        found = gaps(drawn(rng, 60, count=count), rng, samples=200)
        for name, gap in found.items():
            hits[name] += covers(gap.gap_interval, 0.0)
    assert min(hits.values()) >= 0.90 * tables, hits


def test_of_many_small_groups_alike_few_tables_show_a_difference():
    """66 pairs: percentiles on the normal scale held 0 in but 91% of the tables."""
    hits, tables = dict.fromkeys(("mean_cost", "mean_steps", "choice"), 0), 200
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        found = gaps(drawn(rng, 30, count=12), rng, samples=200)
        for name in hits:
            hits[name] += covers(found[name].gap_interval, 0.0)
    assert min(hits.values()) >= 0.95 * tables, hits


def test_intervals_know_how_few_have_a_path_though_many_asked():
    """Of 40 who ask about three have one: percentiles alone held the true mean 71 times in 100."""
    truth = {"mean_cost": 2.0, "median_cost": 1.836, "mean_steps": 4.5}
    hits = {(name, kind): [] for name in truth for kind in ("figure", "gap")}
    for seed in range(250):
        rng = np.random.default_rng(seed)
        codes, cost = np.repeat([0, 1], [40, 200]), rng.gamma(4.0, 0.5, 240)
        cost[rng.random(240) >= np.where(codes == 0, 0.075, 0.8)] = NAN
        found = compare(people(codes, cost, steps=rng.integers(1, 9, 240)), rng, samples=200)
        for name, value in truth.items():
            own, (gap,) = found.measured[name], found.gaps[name]
            for kind, interval, true in (
                ("figure", (own.low[0], own.high[0]), value),
                ("gap", gap.gap_interval, 0.0),
            ):
                if not math.isnan(interval[0]):
                    hits[name, kind].append(covers(interval, true))
    assert all(len(hit) > 150 and np.mean(hit) >= 0.88 for hit in hits.values()), hits


def test_of_two_people_an_interval_is_wide_and_of_costs_never_below_nothing():
    made = people([0, 0, *[1] * 30], [1.0, 1.2, *np.linspace(2.0, 4.0, 30)])
    found = compare(made, np.random.default_rng(0), samples=200)
    cost = found.measured["mean_cost"]
    assert (cost.low[0], cost.high[0]) == (
        pytest.approx(0.18, abs=0.01),
        pytest.approx(2.02, abs=0.01),
    )
    assert (found.measured["choice"].low >= 0)[~np.isnan(found.measured["choice"].low)].all()
    wider = people([0, 0, *[1] * 30], [1.0, 2.0, *np.linspace(2.0, 4.0, 30)])
    low = compare(wider, np.random.default_rng(0), samples=200).measured["mean_cost"].low
    assert low[0] == 0.0


def test_an_interval_holds_the_true_difference_about_95_times_in_100():
    hits = {"success": 0, "mean_cost": 0, "ratio": 0}
    tables = 200
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        found = gaps(drawn(rng, 100, shift=1.0, chance=0.9, unlucky=0.6), rng, samples=300)
        success, cost = found["success"], found["mean_cost"]
        hits["success"] += covers(success.gap_interval, 0.3)
        hits["mean_cost"] += covers(cost.gap_interval, 1.0)
        hits["ratio"] += covers(success.ratio_interval, 0.6 / 0.9)
    assert all(0.90 <= hit / tables <= 0.99 for hit in hits.values()), hits


def test_identical_groups_are_exactly_alike():
    half = drawn(np.random.default_rng(0), 50, count=1)
    twice = people(np.repeat([0, 1], 50), np.tile(half.cost, 2), choices=np.tile(half.choices, 2))
    for name, gap in gaps(twice, np.random.default_rng(0)).items():
        assert (gap.gap, gap.lowest, gap.highest) == (0.0, None, None)
        if name == "mean_steps":  # one step each: no draw differs
            assert all(map(math.isnan, (*gap.gap_interval, *gap.ratio_interval)))
        else:
            assert covers(gap.gap_interval, 0.0)
            assert name == "trade_off" or (gap.ratio == 1.0 and covers(gap.ratio_interval, 1.0))


def test_a_planted_disparity_is_found():
    rng = np.random.default_rng(0)
    found = gaps(drawn(rng, 300, shift=1.0, chance=0.9, unlucky=0.5, count=3), rng)
    for name in ("success", "choice", "within_budget", "trade_off"):
        assert found[name].lowest == 2
        assert found[name].gap_interval[0] > 0.1
    for name in ("no_recourse", "mean_cost", "median_cost"):
        assert found[name].highest == 2
        assert found[name].gap_interval[0] > 0.1
        assert found[name].ratio_interval[1] < 1
    assert found["cost_of_effectiveness"].gap == INF
    assert covers(found["mean_steps"].gap_interval, 0.0)


def test_a_share_never_lies_beyond_one():
    rng = np.random.default_rng(0)
    for size in (2, 5, 20):
        for name, gap in gaps(drawn(rng, size, count=8), rng, samples=100).items():
            if name == "trade_off" or MEASURES[name].is_share:
                low, high = gap.gap_interval
                assert math.isnan(low) or -1 <= low <= gap.gap <= high <= 1


def test_an_interval_of_a_group_holds_its_true_figure_about_95_times_in_100():
    truth = {"success": 0.8, "no_recourse": 0.2, "mean_cost": 2.0, "choice": 1.6}
    hits, tables = dict.fromkeys(truth, 0), 300
    for seed in range(tables):
        rng = np.random.default_rng(seed)
        found = compare(drawn(rng, 80, count=2), rng, samples=200).measured
        for name, value in truth.items():
            hits[name] += covers((found[name].low[0], found[name].high[0]), value)
    assert all(0.90 <= hit / tables <= 0.99 for hit in hits.values()), hits


DRAWN = [name for name, measure in MEASURES.items() if not measure.is_share]


def test_figures_of_groups_have_their_values_and_ends():
    made = by_hand()
    found = compare(made, np.random.default_rng(0), samples=200).measured
    assert list(found) == list(MEASURES)
    for name, values in by_group(made).items():
        np.testing.assert_array_equal(found[name].value, values)
        known = ~np.isnan(found[name].low)
        assert (found[name].low <= values)[known].all()
        assert (values <= found[name].high)[known].all()


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("cost", [[0.1], [0.1] * 7, [NAN] * 3], ids=["alone", "alike", "no path"])
def test_where_every_draw_is_the_same_there_is_no_interval(name, cost):
    """Not one of no width, nor one as wide as the computer's rounding."""
    others = np.random.default_rng(0).gamma(4.0, 0.5, 30)
    codes = np.repeat([0, 1], [len(cost), 30])
    steps, choices = np.r_[np.full(len(cost), 3), 1:31], np.r_[np.full(len(cost), 2), 1:31]
    made = people(codes, [*cost, *others], steps=steps, choices=choices)
    found = compare(made, np.random.default_rng(0), samples=100)
    assert math.isnan(found.measured[name].low[0])
    assert math.isnan(found.measured[name].high[0])
    assert found.measured[name].low[1] < found.measured[name].high[1]
    (gap,) = found.gaps[name]
    assert all(map(math.isnan, (*gap.gap_interval, *gap.ratio_interval)))


@pytest.mark.parametrize("cost", [[9.0], [9.0] * 7, [NAN] * 3], ids=["alone", "alike", "no path"])
def test_the_trade_off_with_a_group_that_never_strays_has_no_interval(cost):
    others = np.random.default_rng(0).gamma(4.0, 0.5, 30)
    made = people(np.repeat([0, 1], [len(cost), 30]), [*cost, *others])
    found = gaps(made, np.random.default_rng(0), samples=100)["trade_off"]
    assert (found.lowest, found.highest) == (0, 1)
    assert found.gap > 0.5
    assert all(map(math.isnan, found.gap_interval))


def test_figures_apart_by_rounding_alone_are_alike():
    found = gaps(people([0] * 3 + [1] * 7, [0.1] * 10), np.random.default_rng(0), samples=20)
    assert (found["mean_cost"].gap, found["mean_cost"].ratio) == (0.0, 1.0)
    assert found["mean_cost"].lowest is found["mean_cost"].highest is None


# ---- where there's little to say ----------------------------------------------------------------


def same(first: dict[str, Gap], second: dict[str, Gap]) -> bool:
    return repr(first) == repr(second)


def test_one_group_alone_has_no_gap():
    found = gaps(people([0, 0, 0], [1.0, 2.0, NAN]), np.random.default_rng(0))
    assert same(found, dict.fromkeys([*MEASURES, "trade_off"], Gap(compared=1)))


def test_of_nobody_there_is_nothing_to_say():
    nobody = people([], [])
    assert all(len(values) == 0 for values in by_group(nobody).values())
    assert math.isnan(gaps(nobody, np.random.default_rng(0))["success"].gap)


def test_a_group_in_which_nobody_asks_is_counted_but_not_compared():
    made = people([0, 0, 1, 1, 2, 2], [1, 2, 3, 4, NAN, NAN], asked=[1, 1, 1, 1, 0, 0])
    found = gaps(made, np.random.default_rng(0))
    assert by_group(made)["selection_rate"].tolist() == [0.0, 0.0, 1.0]
    assert math.isnan(by_group(made)["success"][2])
    assert found["selection_rate"].gap == 1.0
    assert found["success"].gap == 0.0
    assert found["mean_cost"].gap == 2.0
    assert found["trade_off"].gap == 1.0


def test_when_nobody_has_a_path_the_groups_are_alike_and_costs_are_unknown():
    found = gaps(people([0, 1] * 10, [NAN] * 20), np.random.default_rng(0))
    assert (found["success"].gap, found["success"].ratio) == (0.0, 1.0)
    assert (found["no_recourse"].gap, found["no_recourse"].ratio) == (0.0, 1.0)
    assert found["cost_of_effectiveness"].gap == 0.0  # no cost is enough in either
    assert all(math.isnan(found[name].gap) for name in ("mean_cost", "median_cost", "trade_off"))


def test_when_everyone_has_a_path_success_is_the_same():
    found = gaps(people([0, 1] * 10, np.arange(1.0, 21.0)), np.random.default_rng(0))
    success = found["success"]
    assert (success.gap, success.ratio, success.lowest) == (0.0, 1.0, None)
    assert success.gap_interval[0] < -0.2 < 0.2 < success.gap_interval[1]  # ten of ten in both
    assert success.ratio_interval[0] < 0.8
    assert success.ratio_interval[1] > 1.2
    assert found["mean_cost"].gap == 1.0


# ---- draws --------------------------------------------------------------------------------------


def test_the_same_draws_give_the_same_gaps():
    made = drawn(np.random.default_rng(1), 40)
    first, second = (gaps(made, np.random.default_rng(5), samples=50) for _ in range(2))
    assert same(first, second)
    assert not same(first, gaps(made, np.random.default_rng(6), samples=50))


def test_the_size_of_a_tile_changes_nothing(monkeypatch):
    made = drawn(np.random.default_rng(1), 40)
    whole = gaps(made, np.random.default_rng(5), samples=50)
    monkeypatch.setattr(members, "TILE", 700)
    assert same(whole, gaps(made, np.random.default_rng(5), samples=50))


def test_the_order_of_people_doesn_t_matter():
    made = drawn(np.random.default_rng(1), 40)
    order = np.random.default_rng(2).permutation(80)
    arrays = {
        k: getattr(made, k)[order] for k in ("codes", "asked", "cost", "steps", "effort", "choices")
    }
    mixed = replace(made, **arrays)
    first, second = (gaps(some, np.random.default_rng(5), samples=50) for some in (made, mixed))
    assert same(first, second)


# ---- small groups -------------------------------------------------------------------------------


def test_where_a_group_is_small_gaps_are_told_without_it_and_with_it():
    made = drawn(np.random.default_rng(1), 40, count=3, shift=1.0, unlucky=0.2)
    drop = np.flatnonzero(made.codes == 2)[20:]  # the last group is half as large
    arrays = {n: getattr(made, n) for n in ("codes", "asked", "cost", "steps", "effort", "choices")}
    made = replace(made, **{name: np.delete(array, drop) for name, array in arrays.items()})
    found = compare(made, np.random.default_rng(5), 50, smallest=25).gaps
    every = gaps(made, np.random.default_rng(5), samples=50)
    values = by_group(made)
    for name, (some, both) in found.items():
        assert (some.compared, some.small, both.compared, both.small) == (2, False, 3, True)
        assert repr(replace(both, small=False)) == repr(every[name])
        if name in values:
            first, second = values[name][:2]
            assert some.gap == abs(first - second)
    some, both = found["trade_off"]
    assert some.gap < both.gap
    assert both.lowest == 2
    assert {some.lowest, some.highest} == {0, 1}


def test_a_group_is_small_by_how_many_a_figure_rests_on():
    """Forty ask in each group, but of the third only four have a path."""
    cost = np.tile(np.linspace(1.0, 2.0, 40), 3)
    cost[84:] = NAN
    found = compare(people(np.repeat([0, 1, 2], 40), cost), np.random.default_rng(0), 50, 30)
    assert found.counts["reached"].tolist() == [40, 40, 4]
    assert [gap.compared for gap in found.gaps["success"]] == [3]
    assert not found.gaps["success"][0].small
    large, every = found.gaps["mean_cost"]
    assert (large.compared, large.small, large.gap) == (2, False, 0.0)
    assert (every.compared, every.small, every.lowest) == (3, True, 2)


def test_where_no_two_groups_are_large_enough_all_are_compared():
    made = drawn(np.random.default_rng(1), 20, count=3)
    for among in compare(made, np.random.default_rng(0), 20, smallest=21).gaps.values():
        (gap,) = among
        assert (gap.compared, gap.small) == (3, True)
