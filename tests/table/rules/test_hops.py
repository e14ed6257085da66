"""Where levels may go: worked by hand, and held against a search over single hops."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepladder as sl
from stepladder.errors import SchemaError
from stepladder.table.rules.hops import Hops

LEVELS = ("a", "b", "c", "d", "e")


def hops(kind: type = sl.Ordinal, **settings: Any) -> Hops:
    return Hops(sl.Schema([kind("x", levels=LEVELS, **settings)]))


def settled(over: Hops, wanted: list[float], start: float, *limits: float) -> list[float]:
    rows = np.array(wanted, dtype=float)[:, None]
    ends = [np.array([[end]]) for end in limits]
    return over.settled(rows, np.array([[start]]), *ends)[:, 0].tolist()


def test_a_level_that_cant_be_got_to_is_left_for_todays_or_on_a_ladder_for_the_nearest():
    moves = {"a": ["b"], "b": ["e"]}
    rest = {"c": [], "d": [], "e": []}
    assert settled(hops(sl.Categorical, moves=moves | rest), [0, 1, 2, 3, 4], 0) == [0, 1, 0, 0, 4]
    assert settled(hops(moves=moves | rest), [0, 1, 2, 3, 4], 0) == [0, 1, 1, 4, 4]
    # As near to today's as to another: they stay.
    assert settled(hops(moves={"a": ["c"], "c": []}), [1], 0) == [0]


def test_nobody_hops_to_not_to_nor_through_it_and_who_is_there_stays():
    over = hops(sl.Categorical, not_to=["b"], moves={"a": ["b"], "b": ["c"]})
    assert settled(over, [0, 1, 2], 0) == [0, 0, 0]
    assert settled(over, [0, 1, 2], 1) == [0, 1, 2]  # from c anywhere but to b


def test_a_gap_is_filled_with_any_level_but_not_to():
    over = hops(sl.Categorical, not_to=["b"], moves={"a": ["c"]})
    assert settled(over, [0, 2], np.nan) == [0, 2]
    assert np.isnan(settled(over, [1], np.nan)[0])
    assert over.broken(np.array([[1.0], [2.0]]), np.array([[np.nan]]))[:, 0].tolist() == [
        True,
        False,
    ]


def test_no_hop_leads_beyond_the_limits_not_even_on_the_way():
    over = hops(moves={"a": ["e"], "b": ["c"], "e": ["c"]})
    assert over.chain(0, 0, 2) == (4, 2)
    assert over.chain(0, 0, 2, -np.inf, 3.0) == ()
    assert settled(over, [2], 0) == [2]
    assert settled(over, [2], 0, 0, 3) == [0]
    assert over.broken(np.array([[2.0]]), np.array([[0.0]]), np.array([[0.0]]), np.array([[3.0]]))


def test_rows_of_one_person_and_rows_of_many_are_settled_alike():
    over = hops(moves={"a": ["b"], "b": ["c"], "c": []})
    rows, start = np.array([[0.0], [2.0], [4.0]]), np.zeros((3, 1))
    alone = over.settled(rows.copy(), start[:1])
    assert (alone == over.settled(rows.copy(), start)).all()
    assert (over.broken(rows, start[:1]) == over.broken(rows, start)).all()


def test_a_chain_is_as_short_as_it_can_be():
    over = hops(
        sl.Categorical, moves={"a": ["b", "c"], "b": ["d"], "c": ["e"], "d": ["e"], "e": []}
    )
    assert over.chain(0, 0, 4) == (2, 4)
    assert over.chain(0, 0, 0) == ()
    assert over.chain(0, 4, 0) == ()


def ladders() -> st.SearchStrategy[dict[str, Any]]:
    to = st.lists(st.sampled_from(LEVELS), max_size=3, unique=True)
    return st.fixed_dictionaries(
        {
            "change": st.sampled_from(["any", "increase", "decrease"]),
            "not_to": st.lists(st.sampled_from(LEVELS), max_size=2, unique=True),
            "moves": st.dictionaries(st.sampled_from(LEVELS), to, min_size=1),
        }
    )


@given(ladders(), st.integers(0, 4), st.integers(0, 4))
def test_what_is_offered_is_what_single_hops_lead_to(settings, one, other):
    settings["moves"] = {
        level: [to for to in others if to != level] for level, others in settings["moves"].items()
    }
    low, high = min(one, other), max(one, other)
    try:
        feature = sl.Ordinal("x", levels=LEVELS, **settings)
    except SchemaError:  # no way from anywhere
        return
    over = Hops(sl.Schema([feature]))
    if not over.allowed:
        return
    for start in range(5):
        seen, ring = {start}, [start]
        while ring:
            here = ring.pop()
            for there in range(low, high + 1):
                if there not in seen and feature.allows(LEVELS[here], LEVELS[there]):
                    seen.add(there)
                    ring.append(there)
        rows = np.arange(5.0)[:, None]
        ends = np.array([[float(low)]]), np.array([[float(high)]])
        broken = over.broken(rows, np.array([[float(start)]]), *ends)[:, 0]
        assert set(np.flatnonzero(~broken).tolist()) == seen
        for there in seen - {start}:
            chain = (start, *over.chain(0, start, there, float(low), float(high)))
            assert chain[-1] == there
            assert len(set(chain)) == len(chain)
            for a, b in pairwise(chain):
                assert feature.allows(LEVELS[int(a)], LEVELS[int(b)])
                assert low <= b <= high


@pytest.mark.parametrize("kind", [sl.Ordinal, sl.Categorical])
def test_a_schema_without_rules_for_levels_has_no_hops(kind):
    over = hops(kind)
    assert over.allowed == {}
    assert not over.broken(np.array([[4.0]]), np.array([[0.0]])).any()
