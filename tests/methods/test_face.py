"""FACE: its graphs against Dijkstra written out, its rules, and the slips of the paper's runs."""

from __future__ import annotations

import heapq
import itertools
import math
import pickle

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.errors import ParameterError, PositivesError
from stepladder.methods import graphs
from stepladder.methods.face import FACE, Memo
from stepladder.methods.graphs import (
    LONGEST,
    Closeness,
    Listed,
    OneWay,
    Rareness,
    Sparseness,
    Within,
    nearest_ends,
)

FREE = OneWay(np.zeros(3, dtype=bool), np.zeros(3, dtype=bool))
RISING = OneWay(np.array([True, False, False]), np.array([False, False, True]))


# ---- by hand, with nothing of the library's -----------------------------------------------------


def edge_weight(kind, points, i, j, neighbours):
    """The weight of an edge between two rows that are joined, from the definition."""
    length = math.dist(points[i], points[j])
    if kind == "epsilon":
        return -math.log(length) + 2.024
    m, n = len(points[i]), len(points)
    if kind == "knn":
        volume = math.pi ** (m / 2) / math.gamma(m / 2 + 1)
        radius = (neighbours / (n * volume)) ** (1 / m)
        return math.log(1 + length / radius) * length
    width = n ** (-1 / (m + 4))
    half_way = [(a + b) / 2 for a, b in zip(points[i], points[j], strict=True)]
    bumps = [math.exp(-(math.dist(half_way, y) ** 2) / (2 * width**2)) for y in points]
    density = sum(bumps) / (n * (2 * math.pi * width**2) ** (m / 2))
    return math.log(1 + 1 / density) * length


def dense_weights(kind, points, one_way, threshold=1.2, neighbours=4):
    n = len(points)
    weights = np.full((n, n), np.inf)
    nearest = [
        sorted((j for j in range(n) if j != i), key=lambda j: math.dist(points[i], points[j]))
        for i in range(n)
    ]
    for i, j in itertools.permutations(range(n), 2):
        step, length = points[j] - points[i], math.dist(points[i], points[j])
        joined = length > 0 and (kind == "knn" or length <= threshold)
        if kind != "epsilon":
            joined &= j in nearest[i][:neighbours] or i in nearest[j][:neighbours]
        joined &= not ((step[one_way.rising] < 0).any() or (step[one_way.falling] > 0).any())
        if joined:
            weights[i, j] = edge_weight(kind, points, i, j, neighbours)
    return weights


def dijkstra(weights, start):
    """The cost of the lightest path from `start` to each node."""
    costs, queue = np.full(len(weights), np.inf), [(0.0, start)]
    while queue:
        cost, node = heapq.heappop(queue)
        if cost < costs[node]:
            costs[node] = cost
            for other in np.flatnonzero(np.isfinite(weights[node])):
                heapq.heappush(queue, (cost + weights[node, other], other))
    return costs


def sparse_graph(kind, points, one_way, threshold=1.2, neighbours=4):
    if kind == "epsilon":
        return Within(points, threshold, one_way)
    if kind == "knn":
        return Listed.nearby(
            points, neighbours, np.inf, Sparseness(neighbours, len(points)), one_way
        )
    return Listed.nearby(points, neighbours, threshold, Rareness(points), one_way)


def cloud(seed, kind, n=45):
    """Random points; in the ε graph, where that leaves no ties, some are in the same place."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 3))
    if kind == "epsilon":
        points[:5] = points[5:10]
    return points, rng.random(n) < 0.15


# ---- the nearest ends ---------------------------------------------------------------------------


@pytest.mark.parametrize("one_way", [FREE, RISING], ids=["free", "one-way"])
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("kind", ["epsilon", "knn", "kde"])
def test_the_nearest_ends_are_those_of_dijkstra_from_every_node(kind, seed, one_way, monkeypatch):
    monkeypatch.setattr(graphs, "CELLS", 500)  # several blocks
    points, ends = cloud(seed, kind)
    weights = dense_weights(kind, points, one_way)
    found = nearest_ends(sparse_graph(kind, points, one_way), ends, 3)
    for node in range(len(points)):
        costs = np.where(ends, dijkstra(weights, node), np.inf)
        np.testing.assert_allclose(found.costs[node], np.sort(costs)[:3], rtol=1e-9)
        for rank in np.flatnonzero(np.isfinite(found.costs[node])):
            path = found.path(node, rank)
            assert path[0] == node
            assert path[-1] == found.ends[node, rank]
            walked = sum(weights[i, j] for i, j in itertools.pairwise(path))
            assert walked == pytest.approx(found.costs[node, rank])


@pytest.mark.parametrize("kind", ["epsilon", "knn", "kde"])
def test_somebody_joined_to_the_graph_gets_what_dijkstra_from_them_finds(kind):
    points, ends = cloud(7, kind)
    weights = dense_weights(kind, points, FREE)
    joins = np.full(len(points), np.inf)
    joins[[3, 11, 20, 42]] = [0.4, 1.1, 0.7, 0.2]
    entries = np.flatnonzero(np.isfinite(joins))
    whole = np.full((len(points) + 1, len(points) + 1), np.inf)
    whole[:-1, :-1], whole[-1, :-1] = weights, joins
    costs = np.where(ends, dijkstra(whole, len(points))[:-1], np.inf)
    found = nearest_ends(sparse_graph(kind, points, FREE), ends, 4)
    paths = found.lightest(entries, joins[entries])
    walked = [joins[p[0]] + sum(weights[i, j] for i, j in itertools.pairwise(p)) for p in paths]
    np.testing.assert_allclose(walked, np.sort(costs)[:4])
    assert len({path[-1] for path in paths}) == 4


def test_where_ends_run_out_costs_are_infinite():
    points = np.array([[0.0, 0, 0], [1, 0, 0], [9, 0, 0]])
    found = nearest_ends(Within(points, 3.0, FREE), np.array([False, True, False]), 2)
    assert found.ends.tolist() == [[1, -1], [1, -1], [-1, -1]]
    assert found.costs[0].tolist() == [2.024, np.inf]
    assert found.lightest(np.array([2]), np.array([0.5])) == []


def test_a_graph_of_one_node_has_no_edges():
    lone = Listed.nearby(np.zeros((1, 3)), 5, np.inf, Closeness(), FREE)
    assert nearest_ends(lone, np.array([True]), 2).ends.tolist() == [[0, -1]]


def test_rows_in_the_same_place_arent_joined():
    points = np.array([[0.0, 0, 0], [0, 0, 0], [1, 0, 0]])
    graph = Listed.nearby(points, 2, np.inf, Sparseness(2, 3), FREE)
    assert np.argwhere(graph.weights.toarray()).tolist() == [[0, 2], [1, 2], [2, 0], [2, 1]]


def test_sparse_graphs_stay_sparse():
    points = np.random.default_rng(0).normal(size=(2000, 3))
    for weigh in (Sparseness(8, 2000), Rareness(points[:100])):
        graph = Listed.nearby(points, 8, np.inf, weigh, FREE)
        assert graph.weights.nnz <= 2 * 8 * 2000
        assert (graph.weights.data > 0).all()


def test_the_epsilon_graph_is_only_ever_asked_for_in_blocks(monkeypatch):
    monkeypatch.setattr(graphs, "CELLS", 10_000)
    cells = []
    real = Within.edges

    def spied(self, nodes, among):
        to, weights = real(self, nodes, among)
        cells.append(weights.size)
        return to, weights

    monkeypatch.setattr(Within, "edges", spied)
    rng = np.random.default_rng(0)
    nearest_ends(Within(rng.normal(size=(1000, 3)), 1.0, FREE), rng.random(1000) < 0.1, 3)
    assert max(cells) <= 10_000


# ---- the method ---------------------------------------------------------------------------------

KINDS = ["epsilon", "knn", "kde"]
YOUNG = bank.TRAIN.assign(age=bank.TRAIN["age"] // 20)
ASKING = bank.REJECTED.assign(age=bank.REJECTED["age"] // 20)
ASKING = ASKING[bank.score(ASKING) < bank.GOAL.threshold]


def fitted(method: FACE) -> FACE:
    return method.fit(YOUNG, bank.score, schema=bank.SCHEMA, goal=bank.GOAL)


@pytest.mark.parametrize("kind", KINDS)
def test_paths_are_sound(kind):
    result = fitted(FACE(graph=kind)).recourse(ASKING)
    bank.assert_sound(result, ASKING)
    assert (result.final["outcome"] == "reached").mean() > 0.3
    assert set(result.final["outcome"]) <= {"reached", "unreachable"}
    assert result.dropped == 0


@pytest.mark.parametrize("kind", KINDS)
def test_every_stop_is_a_row_of_the_reference_table(kind):
    result = fitted(FACE(graph=kind)).recourse(ASKING)
    stops = result.paths[result.paths["step"] > 0].round({"savings": 9})
    known = YOUNG.round({"savings": 9})
    assert len(stops)
    assert len(stops.merge(known, on=list(YOUNG.columns))) == len(stops)


@pytest.mark.parametrize("kind", KINDS)
def test_no_step_goes_back_on_a_one_way_feature(kind):
    paths = fitted(FACE(graph=kind)).recourse(ASKING).paths
    walks = paths.groupby(["person", "path"])
    assert (walks["debt"].diff().fillna(0) <= 0).all()
    assert (paths["education"].map(bank.LEVELS.index).groupby([paths["person"], paths["path"]])
            .diff().fillna(0) >= 0).all()  # fmt: skip


def test_the_answer_is_dijkstras_on_the_graph_with_the_person_in_it():
    """One person's paths, from a graph that is built by hand, them included."""
    method, threshold = fitted(FACE(paths=2)), 3.0
    space, answered = method.space_, 0
    for person in range(len(ASKING)):
        today = ASKING.iloc[[person]]
        alike = YOUNG[(YOUNG["age"] == today["age"].item())]
        points = space.encode(pd.concat([alike, today]))
        frame = pd.concat([alike, today])
        debt, level = frame["debt"].to_numpy(), frame["education"].map(bank.LEVELS.index).to_numpy()
        lengths = np.linalg.norm(points[:, None] - points[None], axis=2)
        joined = (lengths > 0) & (lengths <= threshold)
        joined &= (debt[None] <= debt[:, None]) & (level[None] >= level[:, None])
        weights = np.where(joined, 2.024 - np.log(np.where(joined, lengths, 1.0)), np.inf)
        costs = dijkstra(weights, len(alike))[:-1]
        costs[bank.score(alike) < bank.GOAL.threshold] = np.inf
        reached = [p for p in method.recourse(today).routes[0] if p.outcome == "reached"]
        walked = [
            sum(2.024 - math.log(np.linalg.norm(b - a)) for a, b in itertools.pairwise(path.points))
            for path in reached
        ]
        best = np.sort(costs)[:2]
        np.testing.assert_allclose(walked, best[np.isfinite(best)])
        answered += len(reached) > 0
    assert answered > 3


def test_what_is_locked_stays():
    result = fitted(FACE()).recourse(ASKING, locked=["job", "owner"])
    bank.assert_sound(result, ASKING, locked=("job", "owner"))
    assert (result.final["outcome"] == "reached").any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_doesnt_depend_on_who_else_asks(kind):
    method, few = fitted(FACE(graph=kind)), ASKING.head(6)
    together = method.recourse(few).final
    alone = pd.concat([method.recourse(few.iloc[[i]]).final for i in range(len(few))])
    pd.testing.assert_frame_equal(together, alone.reset_index(drop=True))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_seed_gives_the_same_rows(kind):
    first, again = (fitted(FACE(graph=kind, random_state=4)).recourse(ASKING) for _ in range(2))
    pd.testing.assert_frame_equal(first.paths, again.paths)


def test_a_fitted_face_can_be_sent_elsewhere():
    for method in (FACE(graph="kde"), FACE.published(graph="knn")):
        sent = pickle.loads(pickle.dumps(fitted(method)))
        pd.testing.assert_frame_equal(sent.recourse(ASKING).paths, method.recourse(ASKING).paths)


def test_only_the_first_rows_are_used():
    result = fitted(FACE(rows=100)).recourse(ASKING)
    stops = result.paths[result.paths["step"] > 0]["income"]
    assert set(stops) <= set(YOUNG["income"].iloc[:100])


def test_a_path_longer_than_max_steps_is_left_out():
    steps = fitted(FACE(max_steps=1)).recourse(ASKING).final
    assert (steps["steps"] <= 1).all()
    assert (steps["outcome"] == "unreachable").any()


def test_rows_that_break_the_schemas_own_bounds_are_no_stops():
    train = YOUNG.assign(income=np.where(np.arange(len(YOUNG)) % 2, YOUNG["income"], 200_000))
    schema = sl.Schema(
        [sl.Numeric("income", bounds=(0, 100_000), integer=True), *bank.SCHEMA.features[1:]]
    )
    method = FACE().fit(train, bank.score, schema=schema, goal=bank.GOAL)
    assert (method.recourse(ASKING).paths["income"] <= 100_000).all()
    assert len(method.rows_.values) == len(YOUNG) // 2


def test_time_out_is_an_outcome():
    final = fitted(FACE()).recourse(ASKING, time_budget=1e-9).final
    assert set(final["outcome"]) == {"timed_out"}


# ---- as published -------------------------------------------------------------------------------


def two_hops():
    """Age never changes. A person of age 1 at 0; rows lead on to a positive of another age."""
    schema = sl.Schema([sl.Numeric("x"), sl.Numeric("age", change="never")])
    train = pd.DataFrame({"x": [2.0, 4.0, -30.0, 30.0], "age": [1.0, 0.0, -30.0, 29.0]})
    space = sl.Space(
        schema, sl.Space.fit(schema, train).template, center=np.zeros(2), scale=np.ones(2)
    )

    def score(frame):
        return (frame["x"].to_numpy() > 3) * 0.9

    return space, train, score


def test_as_published_a_path_may_change_what_never_changes_and_by_default_not():
    space, train, score = two_hops()
    person = pd.DataFrame({"x": [0.0], "age": [1.0]})
    slipped = FACE.published(paths=1).fit(train, score, space=space).recourse(person)
    assert slipped.paths["x"].tolist() == [0.0, 2.0, 4.0]
    assert slipped.paths["age"].tolist() == [1.0, 1.0, 0.0]
    honest = FACE(paths=1).fit(train, score, space=space).recourse(person)
    assert honest.final["outcome"].tolist() == ["unreachable"]
    assert "reference rows" in honest.status["reason"][0]


def test_as_published_the_join_counts_the_persons_immutables_once_more():
    space, train, score = two_hops()
    near = train.assign(age=[2.0, 2.0, -30.0, 29.0])
    far = train.assign(age=[2.5, 2.5, -30.0, 29.0])
    for table, age, reached in ((near, 2.0, True), (far, 2.5, False)):  # √(4+4) < 3 < √(4+6.25)
        person = pd.DataFrame({"x": [0.0], "age": [age]})
        slipped = FACE.published(paths=1).fit(table, score, space=space).recourse(person)
        assert (slipped.final["outcome"] == "reached").tolist() == [reached]
        honest = FACE(paths=1).fit(table, score, space=space).recourse(person)
        assert honest.final["outcome"].tolist() == ["reached"]


def test_as_published_rows_are_compared_over_immutables_too():
    space, train, score = two_hops()
    train = train.assign(age=[1.0, 5.0, -30.0, 29.0])  # √(4+16) > 3 between the first two
    person = pd.DataFrame({"x": [0.0], "age": [1.0]})
    result = FACE.published(paths=1).fit(train, score, space=space).recourse(person)
    assert result.final["outcome"].tolist() == ["unreachable"]


def test_as_published_a_person_is_joined_only_to_rows_with_their_own_immutables():
    space, train, score = two_hops()
    person = pd.DataFrame({"x": [0.0], "age": [0.5]})
    result = FACE.published(paths=1).fit(train, score, space=space).recourse(person)
    assert result.final["outcome"].tolist() == ["unreachable"]


def test_as_published_fewer_than_k_is_none_and_by_default_it_is_what_there_is():
    space, train, score = two_hops()
    train = train.assign(age=[1.0, 1.0, -30.0, 29.0])
    person = pd.DataFrame({"x": [0.0], "age": [1.0]})
    for k, outcomes in ((1, ["reached"]), (2, ["unreachable"] * 2)):
        result = FACE.published(paths=k).fit(train, score, space=space).recourse(person)
        assert result.final["outcome"].tolist() == outcomes
    honest = FACE(paths=2).fit(train, score, space=space).recourse(person)
    assert honest.final["outcome"].tolist() == ["reached", "unreachable"]


def test_as_published_locked_features_are_refused():
    with pytest.raises(ParameterError, match="locked"):
        fitted(FACE.published()).recourse(ASKING, locked=["job"])


# ---- bad input ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"paths": 0}, "paths must be a whole number"),
        ({"graph": "star"}, "graph must be one of"),
        ({"distance_threshold": 0}, "above 0"),
        ({"distance_threshold": 8.0}, "at most 7.57"),
        ({"neighbours": 0}, "neighbours"),
        ({"rows": 0}, "rows"),
        ({"max_steps": 0}, "max_steps"),
        ({"random_state": -1}, "random_state"),
    ],
)
def test_a_wrong_setting_is_answered_with_a_sentence(wrong, words):
    with pytest.raises(ParameterError, match=words):
        FACE(**wrong)


def test_only_the_epsilon_graph_limits_the_threshold():
    assert FACE(graph="kde", distance_threshold=8.0).distance_threshold == 8.0
    assert FACE(distance_threshold=LONGEST).distance_threshold == LONGEST


def test_the_widest_epsilon_graph_still_ends():
    result = fitted(FACE(distance_threshold=LONGEST)).recourse(ASKING)
    bank.assert_sound(result, ASKING)


def test_no_positive_among_the_first_rows_is_an_error():
    order = np.argsort(bank.score(YOUNG))
    with pytest.raises(PositivesError, match="first 5 reference rows"):
        FACE(rows=5).fit(YOUNG.iloc[order], bank.score, schema=bank.SCHEMA, goal=bank.GOAL)


def test_settings_name_the_method():
    assert FACE().settings["method"] == "FACE"
    assert FACE.published(graph="kde").settings | {"method": "FACE.published", "graph": "kde"} == (
        FACE.published(graph="kde").settings
    )


def test_what_is_worked_out_once_is_kept_within_bounds_and_not_pickled():
    memo = Memo()
    for number in range(Memo.MOST + 10):
        memo[number.to_bytes(4, "big")] = None
    assert len(memo) == Memo.MOST
    assert (0).to_bytes(4, "big") not in memo  # the oldest gave way
    assert len(pickle.loads(pickle.dumps(memo))) == 0
