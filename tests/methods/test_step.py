"""StEP setting by setting: what each does, and that none of them ever breaks a rule."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose
from pandas.testing import assert_frame_equal
from sklearn.cluster import DBSCAN, AffinityPropagation, KMeans
from sklearn.mixture import GaussianMixture
from tests.methods.bank import GOAL, JOBS, REJECTED, SCHEMA, TRAIN, assert_sound, fitted, score

import stepladder as sl
from stepladder.errors import (
    EmptyFrameError,
    NotFittedError,
    ParameterError,
    PositivesError,
    SchemaError,
)
from stepladder.methods import pace
from stepladder.methods.parts import ONE
from stepladder.methods.step.published import Rules


@pytest.fixture(scope="module")
def step():
    return fitted()


@pytest.fixture(scope="module")
def result(step):
    return step.recourse(REJECTED)


def plane(*rows, **columns):
    """A frame of two free numbers `a` and `b`."""
    return pd.DataFrame(list(rows), columns=["a", "b"], dtype=float, **columns)


PLANE = sl.Schema([sl.Numeric("a"), sl.Numeric("b")])


def unit_space(frame, schema=PLANE):
    """A space in which a number is its own coordinate, so that distances can be read off."""
    fitted_space = sl.Space.fit(schema, frame)
    width = fitted_space.width
    return sl.Space(fitted_space.schema, fitted_space.template, np.zeros(width), np.ones(width))


# ---- the goal --------------------------------------------------------------------------------


def test_the_default_reaches_the_goal_for_everyone(result):
    assert_sound(result, REJECTED)
    assert (result.final["outcome"] == "reached").all()


def test_the_settings_are_echoed_by_the_result(result):
    assert result.settings["method"] == "StEP"
    assert result.settings["alpha"] == "Volcano(degree=2, cutoff=0.5)"
    told = {name: result.settings[name] for name in ("cost", "slack", "holds", "privacy")}
    assert told == {"cost": "effort", "slack": 0.1, "holds": None, "privacy": None}
    positives = int((score(TRAIN) >= GOAL.threshold).sum())
    assert result.reference == {"rows": len(TRAIN), "positives": positives, "missing_value": 0}


def test_projecting_aims_only_at_what_the_person_could_become():
    schema = sl.Schema([sl.Numeric("a"), sl.Categorical("team", change="never")])
    train = pd.DataFrame({"a": [1.0, 2.0, 8.0, 9.0, 0.0], "team": ["x", "x", "y", "y", "y"]})

    def model(frame):  # the x team needs little, the y team much
        need = np.where(frame["team"] == "x", 1.0, 8.0)
        return (frame["a"].to_numpy() >= need) * 1.0

    person = pd.DataFrame({"a": [0.0], "team": ["y"]})
    end = sl.StEP(paths=1).fit(train, model, schema=schema).recourse(person).final.iloc[0]
    assert end["outcome"] == "reached"
    assert end["a"] >= 8.0


def islands(frame):
    """Accepts only far to the left or far to the right."""
    return (np.abs(frame["a"].to_numpy()) >= 2.9) * 1.0


def test_no_more_is_asked_of_a_number_than_a_yes_takes():
    train = plane(*((a, 0) for a in range(11)), (0, 1))

    def model(frame):
        return (frame["a"].to_numpy() >= 3.3) * 1.0

    for slack in (0.0, 0.1):
        step = sl.StEP(paths=1, step_size=8.0, slack=slack)
        end = step.fit(train, model, space=unit_space(train)).recourse(plane((0, 0))).final.iloc[0]
        assert end["steps"] == 1
        least = 3.3 / (1 - slack)
        assert least - 1e-9 <= end["a"] <= 1.1 * least


def test_changes_that_are_not_needed_are_not_asked_for():
    train = plane((5, 5), (6, 5), (5, 6), (0, 0))

    def model(frame):
        return (frame["a"].to_numpy() >= 4) * 1.0

    step = sl.StEP(paths=1).fit(train, model, space=unit_space(train))
    assert set(step.recourse(plane((0, 0))).changes["feature"]) == {"a"}


def test_what_is_taken_back_leaves_no_trace_on_the_way(result):
    final = result.final.set_index(["person", "path"])
    for (person, path), rows in result.paths.groupby(["person", "path"]):
        start, end = rows.iloc[0], final.loc[(person, path)]
        for name in SCHEMA.names:
            if start[name] == end[name]:
                assert (rows[name] == start[name]).all(), f"{name} comes and goes"


def test_no_step_of_continuous_features_is_longer_than_the_step_size():
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(200, 2)) * 4, columns=["a", "b"])

    def model(frame):
        return 1 / (1 + np.exp(6 - frame["a"].to_numpy() - frame["b"].to_numpy()))

    for size in (0.3, 1.0):
        step = sl.StEP(step_size=size, max_steps=200)
        step.fit(train, model, space=unit_space(train))
        found = step.recourse(train[model(train) < 0.1].iloc[:20])
        assert (found.final["outcome"] == "reached").all()
        for routes in found.routes:
            for path in routes:
                moves = np.linalg.norm(np.diff(path.points, axis=0), axis=1)
                assert (moves <= size * (1 + 1e-6)).all()


def test_a_category_changes_however_small_the_steps():
    schema = sl.Schema([sl.Categorical("job", levels=["clerk", "nurse", "smith"])])
    train = pd.DataFrame({"job": ["clerk", "nurse", "smith"]})

    def model(frame):
        return (frame["job"] == "smith").to_numpy() * 1.0

    step = sl.StEP(paths=1, step_size=0.3).fit(train, model, schema=schema)
    assert step.recourse(train.iloc[[0]]).final["outcome"][0] == "reached"


def two_teams():
    """Positives whose team, which nobody can change, sets them further apart than their values."""
    schema = sl.Schema(
        [sl.Numeric("a"), sl.Numeric("b"), *(sl.Numeric(f"t{i}", change="never") for i in range(5))]
    )
    rng = np.random.default_rng(0)
    side, team = np.repeat([0, 1], 20), np.tile([0, 1], 20)
    columns = {"a": 8.0 + side, "b": rng.normal(size=40)}
    columns |= {f"t{i}": team * 1.0 for i in range(5)}
    return schema, pd.DataFrame(columns), side, team


def test_clusters_are_formed_on_what_can_change():
    schema, train, side, team = two_teams()
    for method, expected in ((sl.StEP, side), (sl.StEP.published, team)):
        step = method(paths=2)
        step.fit(train, lambda frame: np.ones(len(frame)), schema=schema)
        labels = step.reference_.clusters
        agreement = (labels == expected).mean()
        assert max(agreement, 1 - agreement) > 0.9


def test_an_outlier_is_clipped_before_clusters_are_formed():
    rng = np.random.default_rng(0)
    groups = np.repeat([[0.0, 0.0], [4.0, 0.0]], 30, axis=0) + 0.1 * rng.normal(size=(60, 2))
    train = plane(*groups, (0, 1000.0))
    sizes = {}
    for method in (sl.StEP, sl.StEP.published):
        step = method(paths=2).fit(train, lambda frame: np.ones(len(frame)), schema=PLANE)
        sizes[method] = sorted(np.bincount(step.reference_.clusters).tolist())
    assert sizes[sl.StEP.published] == [1, 60]
    assert sizes[sl.StEP][0] > 1


def strangers():
    """Two far groups of positives; only the right one is open to the x team."""
    schema = sl.Schema([sl.Numeric("a"), sl.Categorical("team", change="never")])
    train = pd.DataFrame(
        {"a": [-5.0, -5.2, -5.4, 5.0, 5.2, 5.4, 0.0], "team": ["y"] * 3 + ["x"] * 3 + ["x"]}
    )

    def model(frame):
        a, x = frame["a"].to_numpy(), (frame["team"] == "x").to_numpy()
        return np.where(x, (a >= 5) & (a <= 6), a <= -5) * 1.0

    return schema, train, model, train.iloc[[6]]


def test_every_path_is_reached_where_one_cluster_holds_nothing_reachable():
    schema, train, model, person = strangers()
    found = sl.StEP(paths=2).fit(train, model, schema=schema).recourse(person)
    assert list(found.final["outcome"]) == ["reached", "reached"]


def test_whoever_can_reach_nothing_is_told_which_rules_block():
    schema, train, model, _ = strangers()
    schema = sl.Schema([sl.Numeric("a", change="increase"), schema["team"]])
    person = pd.DataFrame({"a": [0.0], "team": ["y"]})
    found = sl.StEP(paths=2).fit(train, model, schema=schema).recourse(person)
    assert list(found.final["outcome"]) == ["unreachable"] * 2
    assert found.status["outcome"][0] == "unreachable"
    assert found.status["reason"][0].endswith(("the rules on a", "the rules on team"))


# ---- noise ----------------------------------------------------------------------------------


def test_noise_keeps_the_length_over_what_is_continuous_and_everything_else():
    step = fitted()
    rules, rng = Rules(step.space_), np.random.default_rng(0)
    moves, draws = (
        rng.normal(size=(50, step.space_.width)),
        rng.normal(size=(50, step.space_.width)),
    )
    moves[0] = 0.0
    noisy = rules.disturbed(moves, 0.5, draws)
    continuous = step.space_.columns_of(lambda f: f.name in ("income", "debt", "savings"))
    assert (rules.continuous == continuous).all()
    assert_allclose(noisy[:, ~continuous], moves[:, ~continuous], rtol=0, atol=0)
    assert (noisy[1:, continuous] != moves[1:, continuous]).all()
    # By the protocol, written out: the sum is scaled over all columns, then cut to these.
    for move, draw, got in zip(moves[1:], draws[1:], noisy[1:], strict=True):
        length = np.linalg.norm(move[continuous])
        total = move + draw * 0.5 * length / np.linalg.norm(draw)
        assert_allclose(got[continuous], (total * length / np.linalg.norm(total))[continuous])


def test_no_noise_is_the_published_method_and_some_noise_is_not():
    plain = fitted(sl.StEP.published()).recourse(REJECTED).paths
    none = fitted(sl.StEP.published(noise=0.0)).recourse(REJECTED).paths
    some = fitted(sl.StEP.published(noise=0.3)).recourse(REJECTED)
    assert_frame_equal(plain, none)
    assert len(some.paths) != len(plain) or not some.paths.equals(plain)
    assert some.settings["noise"] == 0.3


def test_noise_is_drawn_from_the_seed():
    first, again, other = (
        fitted(sl.StEP.published(noise=0.5, clusterer=KMeans(random_state=0), random_state=seed))
        .recourse(REJECTED)
        .paths
        for seed in (1, 1, 2)
    )
    assert_frame_equal(first, again)
    assert not first.equals(other)


def test_noise_belongs_to_the_published_method():
    with pytest.raises(ParameterError, match="noise must be a number of at least 0"):
        sl.StEP.published(noise=-0.1)
    with pytest.raises(TypeError, match="noise"):
        sl.StEP(noise=0.1)


# ---- clusters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "clusterer", ["random", KMeans(n_init=2), GaussianMixture()], ids=["random", "k-means", "mix"]
)
def test_any_clusterer_that_takes_a_number_gives_as_many_paths(clusterer):
    step = fitted(paths=4, clusterer=clusterer)
    found = step.recourse(REJECTED.iloc[:5])
    assert list(found.final["path"]) == [0, 1, 2, 3] * 5
    assert (found.final["outcome"] == "reached").all()
    assert_sound(found, REJECTED)


@pytest.mark.parametrize("published", [False, True])
def test_a_clusterer_that_finds_its_own_number_sets_the_number_of_paths(published):
    clusterer = AffinityPropagation(damping=0.9, preference=-20)
    method = sl.StEP.published if published else sl.StEP
    step = fitted(method(paths=3, clusterer=clusterer))
    own = len(set(step.reference_.clusters.tolist()))
    assert own not in (1, 3)
    found = step.recourse(REJECTED.iloc[:3])
    assert list(found.final["path"]) == list(range(own)) * 3


def test_positives_that_a_clusterer_calls_noise_are_in_no_path():
    rng = np.random.default_rng(0)
    groups = np.repeat([[6.0, 0.0], [0.0, 6.0]], 15, axis=0) + 0.05 * rng.normal(size=(30, 2))
    train = plane(*groups, (2.0, 2.0), (-1, -1))  # the one nearest to the person is a loner

    def model(frame):
        return (frame["a"].to_numpy() + frame["b"].to_numpy() >= 4) * 1.0

    step = sl.StEP(clusterer=DBSCAN(eps=0.5)).fit(train, model, space=unit_space(train))
    assert step.reference_.slots == 2
    assert (step.reference_.clusters == -1).sum() == 1
    found = step.recourse(plane((-1, -1)))
    assert list(found.final["path"]) == [0, 1]
    assert (found.final["outcome"] == "reached").all()
    assert set(found.final["a"].round() > found.final["b"].round()) == {True, False}


@pytest.mark.parametrize("published", [False, True])
def test_fewer_different_positives_than_paths_still_give_all_paths(published):
    train = plane((5, 0), (5, 0), (5, 0), (0, 0), (0, 1))

    def model(frame):
        return (frame["a"].to_numpy() >= 5) * 1.0

    method = sl.StEP.published if published else sl.StEP
    step = method(paths=3, step_size=2.5).fit(train, model, space=unit_space(train))
    final = step.recourse(plane((0, 0))).final
    assert list(final["path"]) == [0, 1, 2]
    assert list(final["outcome"]).count("reached") == 1
    assert set(final["outcome"]) - {"reached"} <= {"stalled", "step_limit", "unreachable"}


def test_spare_clusters_drop_a_cluster_made_of_outliers():
    rng = np.random.default_rng(0)
    groups = [rng.normal(centre, 0.3, (20, 2)) for centre in ((5, 0), (0, 5), (4, 4))]
    rejected = rng.normal(0, 0.5, (40, 2))
    train = plane(*np.concatenate(groups), (60, -55), (61, -56), *rejected)

    def model(frame):  # the way to the two outliers leads along the border, and is long
        return 1 / (1 + np.exp(12 - 4 * (frame["a"].to_numpy() + frame["b"].to_numpy())))

    space = unit_space(train)
    plain = sl.StEP.published(paths=3).fit(train, model, space=space)
    spare = sl.StEP.published(paths=3, spare_clusters=1).fit(train, model, space=space)
    assert (plain.reference_.values > 50).any()
    kept = spare.reference_.clusters
    assert not (spare.reference_.values[kept >= 0] > 50).any()
    assert spare.reference_.slots == 3
    assert np.bincount(kept[kept >= 0]).tolist() == [20, 20, 20]
    found = spare.recourse(plane((0, 0)))
    assert list(found.final["path"]) == [0, 1, 2]
    assert found.settings["spare_clusters"] == 1
    assert found.final["distance"].max() < plain.recourse(plane((0, 0))).final["distance"].max()


def test_spare_clusters_leave_the_number_of_paths_asked_for():
    found = fitted(paths=2, spare_clusters=3).recourse(REJECTED)
    assert list(found.final["path"]) == [0, 1] * len(REJECTED)
    assert (found.final["outcome"] == "reached").all()
    assert_sound(found, REJECTED)


def test_spare_clusters_do_not_keep_a_cluster_that_nobody_can_reach():
    # No path leads to the y team, so none is short.
    schema, train, model, person = strangers()
    train = pd.concat([train, pd.DataFrame({"a": [5.8, 5.9, 0.1], "team": ["x"] * 3})])
    step = sl.StEP(paths=2, spare_clusters=1).fit(train, model, schema=schema)
    reference = step.reference_
    assert (reference.values[reference.clusters >= 0, 0] > 0).all()
    assert list(step.recourse(person).final["outcome"]) == ["reached", "reached"]


def test_spare_clusters_need_someone_who_is_turned_down():
    train = plane((1, 0), (2, 0), (3, 1), (4, 1), (5, 2))
    step = sl.StEP(paths=2, spare_clusters=1)
    with pytest.raises(ParameterError, match="spare_clusters=0"):
        step.fit(train, lambda frame: np.ones(len(frame)), schema=PLANE)


# ---- distance -------------------------------------------------------------------------------


def two_ways(frame):
    return ((frame["a"].to_numpy() >= 4) | (frame["b"].to_numpy() >= 4)) * 1.0


@pytest.mark.parametrize(("weighty", "spared"), [("a", "b"), ("b", "a")])
def test_a_feature_that_weighs_more_is_changed_less(weighty, spared):
    # Two positives equally far: a weight makes the one along the other feature the nearer.
    train = plane((4.5, 0), (0, 4.5), (0, 0))
    step = sl.StEP(paths=1, cost="distance", distance={weighty: 10.0})
    step.fit(train, two_ways, space=unit_space(train))
    assert set(step.recourse(plane((0.0, 0.0))).changes["feature"]) == {spared}


def test_mahalanobis_counts_spread_and_not_units():
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    train.loc[150:, "a"] *= 9.0
    model = two_ways
    step = sl.StEP(distance="mahalanobis").fit(train, model, schema=PLANE)
    found = step.recourse(train[model(train) < 0.5].iloc[:10])
    assert (found.final["outcome"] == "reached").all()
    assert found.settings["distance"] == "mahalanobis"
    plain = sl.StEP().fit(train, model, schema=PLANE).recourse(train[model(train) < 0.5].iloc[:10])
    assert not plain.final.equals(found.final)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("distance", ["mahalanobis", {"income": 3.0, "job": 0.5}])
def test_a_distance_works_with_every_kind_of_feature(published, distance):
    method = sl.StEP.published if published else sl.StEP
    found = fitted(method(distance=distance)).recourse(REJECTED)
    assert (found.final["outcome"] == "reached").mean() > 0.9
    if not published:
        assert_sound(found, REJECTED)


# ---- the model ------------------------------------------------------------------------------


class Counting:
    """The bank's model, and how often it was asked about how many rows."""

    def __init__(self):
        self.asked = []

    def __call__(self, frame):
        self.asked.append(len(frame))
        return score(frame)


@pytest.mark.parametrize("published", [False, True])
def test_the_model_is_asked_once_for_all_people_at_each_step(published):
    model = Counting()
    step = (sl.StEP.published if published else sl.StEP)()
    step.fit(TRAIN, model, schema=SCHEMA, goal=GOAL)
    calls = []
    for times in (1, ONE // len(REJECTED)):
        model.asked.clear()
        many = pd.concat([REJECTED] * times, ignore_index=True)
        found = step.recourse(many)
        calls.append(len(model.asked))
    if published:
        assert calls == [1 + found.final["steps"].max()] * 2
    assert calls[1] <= calls[0] * 1.3  # a few people are asked about with more foresight


def test_the_model_sees_the_columns_order_and_dtypes_it_was_given():
    seen = []

    def model(frame):
        seen.append(frame)
        return score(frame)

    step = sl.StEP().fit(TRAIN, model, schema=SCHEMA, goal=GOAL)
    step.recourse(REJECTED)
    for frame in seen:
        assert list(frame.columns) == list(TRAIN.columns)
        assert (frame.dtypes == TRAIN.dtypes).all()


def test_a_positive_must_carry_the_desired_label_where_labels_are_given():
    labels = np.where(TRAIN["job"] == "smith", "yes", "no")
    goal = sl.Goal(threshold=0.6, desired="yes")
    step = sl.StEP().fit(TRAIN, score, schema=SCHEMA, goal=goal, labels=labels)
    jobs = step.reference_.values[:, SCHEMA.position("job")]
    assert (jobs == JOBS.index("smith")).all()
    assert len(jobs) == ((score(TRAIN) >= 0.6) & (labels == "yes")).sum()
    for given in (pd.Series(labels), list(labels)):
        again = sl.StEP().fit(TRAIN, score, schema=SCHEMA, goal=goal, labels=given)
        assert len(again.reference_.values) == len(jobs)


def test_labels_of_another_length_are_refused():
    with pytest.raises(ParameterError, match=r"expected \(400,\), got \(3,\)"):
        sl.StEP().fit(TRAIN, score, schema=SCHEMA, goal=GOAL, labels=[1, 0, 1])


def test_labels_that_leave_no_positive_are_named_as_the_reason():
    labels = (score(TRAIN) < GOAL.threshold).astype(int)
    with pytest.raises(PositivesError, match="desired label"):
        sl.StEP().fit(TRAIN, score, schema=SCHEMA, goal=GOAL, labels=labels)


def test_positives_with_decimals_they_should_not_have_are_rounded_but_not_in_published():
    train = pd.DataFrame({"a": [4.4, 5.0, 0.0], "b": [0.0, 1.0, 2.0]})
    schema = sl.Schema([sl.Numeric("a", integer=True), sl.Numeric("b")])

    def model(frame):  # accepts what a person, who can't have 4.4, could never be
        return (np.abs(frame["a"].to_numpy(float) - 4.4) < 0.2) * 1.0

    default = sl.StEP(paths=1).fit(train, model, schema=schema)
    published = sl.StEP.published(paths=1).fit(train, model, schema=schema)
    assert default.reference_.values[:, 0].tolist() == [4.0]
    assert published.reference_.values[:, 0].tolist() == [4.4]
    found = default.recourse(train.iloc[[2]])
    assert found.status["outcome"].tolist() == ["unreachable"]
    assert found.status["reason"].iloc[0].endswith("to give up the rules on a")


def test_a_reference_row_with_a_gap_is_no_positive_but_is_counted():
    train = TRAIN.astype({"savings": float})
    train.loc[:9, "savings"] = np.nan
    step = sl.StEP().fit(train, score, schema=SCHEMA, goal=GOAL)
    assert step.recourse(REJECTED.iloc[:1]).reference["missing_value"] == 10
    assert len(step.reference_.values) == (score(TRAIN)[10:] >= GOAL.threshold).sum()


# ---- who asks -------------------------------------------------------------------------------


@pytest.mark.parametrize("published", [False, True])
def test_what_a_person_gets_does_not_depend_on_who_else_asks(published):
    step = fitted(sl.StEP.published() if published else None)
    together = step.recourse(REJECTED)
    alone = [step.recourse(REJECTED.iloc[[i]]).paths for i in range(len(REJECTED))]
    assert_frame_equal(together.paths, pd.concat(alone, ignore_index=True), rtol=1e-12)
    backwards = step.recourse(REJECTED.iloc[::-1])
    by_person = backwards.final.sort_values(["person", "path"], ignore_index=True)
    expected = together.final.sort_values(["person", "path"], ignore_index=True)
    assert_frame_equal(by_person, expected, rtol=1e-12)


def test_people_beyond_one_batch_get_the_same_as_in_one(monkeypatch, step, result):
    monkeypatch.setattr("stepladder.methods.step.method.PAIRS", 4 * len(step.reference_.values))
    done = []
    found = step.recourse(REJECTED, progress=lambda n, total: done.append(n))
    assert_frame_equal(found.paths, result.paths, rtol=1e-12)
    assert done == sorted(done)
    assert done[-1] == len(REJECTED)


def test_the_same_seed_gives_the_same_rows(result):
    assert_frame_equal(fitted().recourse(REJECTED).paths, result.paths)


def test_another_seed_gives_other_clusters():
    one, two = (fitted(random_state=seed, clusterer="random") for seed in (0, 1))
    assert (one.reference_.clusters != two.reference_.clusters).any()


def test_global_random_state_plays_no_part(result):
    state = np.random.get_state()  # noqa: NPY002
    np.random.seed(123)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert_frame_equal(fitted().recourse(REJECTED).paths, result.paths)
    assert (np.random.get_state()[1] == before).all()  # noqa: NPY002
    np.random.set_state(state)  # noqa: NPY002


def test_index_and_dtypes_survive(step, result):
    people = REJECTED.astype({"income": "Int32", "age": "int16", "job": "category"})
    people.index = [f"p{i}" for i in range(len(people))]
    found = step.recourse(people)
    for frame in (found.paths, found.final):
        assert list(dict.fromkeys(frame["person"])) == list(people.index)
        for name in people:
            kind = frame[name].dtype
            assert kind == people[name].dtype or name == "job"
    assert isinstance(found.final["job"].dtype, pd.CategoricalDtype)
    assert (found.final["income"].astype(int) == result.final["income"]).all()


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_people_in_another_library_get_frames_of_their_kind(step, result, library):
    kind = pl.DataFrame if library == "polars" else pa.Table
    people = pa.Table.from_pandas(REJECTED, preserve_index=False)
    people = pl.from_arrow(people) if library == "polars" else people
    found = step.recourse(people)
    for name in ("paths", "final", "changes", "status"):
        frame = getattr(found, name)
        assert isinstance(frame, kind)
        assert len(frame) == len(getattr(result, name))
    assert isinstance(found.metrics(), kind)
    final = found.final.to_pandas()
    assert list(final["person"]) == [i for i in range(len(REJECTED)) for _ in range(3)]
    for name in SCHEMA.names:
        assert list(final[name]) == list(result.final[name])


def test_nobody_asking_is_answered_with_empty_frames(step):
    found = step.recourse(REJECTED.iloc[:0])
    for name in ("paths", "final", "changes", "status"):
        assert len(getattr(found, name)) == 0


def test_someone_at_the_goal_already_is_left_in_peace(step):
    people = TRAIN[score(TRAIN) >= 0.9].iloc[:2]
    found = step.recourse(people)
    assert set(found.final["outcome"]) == {"already_positive"}
    assert (found.final["steps"] == 0).all()
    assert found.changes.empty


def test_someone_with_a_gap_is_told_and_the_others_are_served(step, result):
    people = REJECTED.copy()
    people.loc[people.index[1], ["savings", "debt"]] = np.nan
    found = step.recourse(people)
    assert found.status["outcome"].iloc[1] == "missing_value"
    assert found.status["reason"].iloc[1] == "no value for debt, savings"
    others = result.final[result.final["person"] != people.index[1]]
    mine = found.final[found.final["person"] != people.index[1]]
    assert_frame_equal(mine, others, rtol=1e-12)


# ---- locks ----------------------------------------------------------------------------------


def test_a_locked_feature_stays_as_it_is(step):
    locked = ("income", "job")
    found = step.recourse(REJECTED, locked=locked)
    assert_sound(found, REJECTED, locked)
    assert not set(found.changes["feature"]) & set(locked)
    assert set(step.recourse(REJECTED).changes["feature"]) & set(locked)


def test_with_everything_locked_nothing_is_reachable_and_the_locks_are_named(step):
    found = step.recourse(REJECTED.iloc[:2], locked=SCHEMA.names)
    assert set(found.final["outcome"]) == {"unreachable"}
    assert "give up the rules on" in found.status["reason"].iloc[0]


def test_a_lock_on_an_unknown_feature_is_refused(step):
    with pytest.raises(SchemaError, match="Did you mean 'income'"):
        step.recourse(REJECTED, locked=["incom"])


def test_the_published_method_knows_no_locks():
    with pytest.raises(ParameterError, match="change='never'"):
        fitted(sl.StEP.published()).recourse(REJECTED, locked=["income"])


# ---- progress and time ----------------------------------------------------------------------


@pytest.mark.parametrize("published", [False, True])
def test_progress_rises_to_the_total(published):
    told = []
    people = pd.concat([REJECTED, TRAIN[score(TRAIN) > 0.9].iloc[:2]])
    fitted(sl.StEP.published() if published else None).recourse(
        people, progress=lambda done, total: told.append((done, total))
    )
    done = [n for n, _ in told]
    assert done == sorted(done)
    assert done[-1] == len(people)
    assert {total for _, total in told} == {len(people)}
    assert len(told) > 2


def test_progress_can_be_a_bar(step, capsys):
    step.recourse(REJECTED, progress=True)
    assert f"{len(REJECTED)}/{len(REJECTED)}" in capsys.readouterr().out


def test_nothing_is_printed_unless_asked(step, capsys):
    step.recourse(REJECTED)
    out, err = capsys.readouterr()
    assert out == err == ""


class Clock:
    """A clock that a slow model moves on by a second a call."""

    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now

    def slow(self, frame):
        self.now += 1.0
        return score(frame)

    def by_row(self, frame):
        self.now += self.each * len(frame)
        return score(frame)


@pytest.mark.parametrize("published", [False, True])
@pytest.mark.parametrize("budget", [1, 2, 3, 4, 6, 8])
def test_when_time_is_up_what_was_found_is_returned(monkeypatch, published, budget):
    clock = Clock()
    monkeypatch.setattr(pace, "time", clock)
    method = (sl.StEP.published if published else sl.StEP)(step_size=0.2)
    method.fit(TRAIN, clock.slow, schema=SCHEMA, goal=GOAL)
    begun = clock.now
    found = method.recourse(REJECTED, time_budget=budget)
    assert clock.now - begun <= budget + 9  # it ends with what it was about to check
    outcomes = set(found.final["outcome"])
    assert "timed_out" in outcomes
    assert outcomes <= {"timed_out", "reached"}
    assert len(found.final) == 3 * len(REJECTED)
    late = found.status["outcome"] == "timed_out"
    assert found.status["reason"][late].str.contains("time budget").all()
    if not published:
        assert_sound(found, REJECTED)


@pytest.mark.parametrize("budget", [0.05, 0.2, 1.0, 5.0])
@pytest.mark.parametrize("each", [2e-6, 2e-4, 2e-3])
@pytest.mark.parametrize("published", [False, True])
def test_a_call_ends_soon_after_its_budget(monkeypatch, published, each, budget):
    """At most a fifth late, and one call of a hundred rows; the model takes all the time."""
    clock = Clock()
    clock.each = each
    monkeypatch.setattr(pace, "time", clock)
    method = (sl.StEP.published if published else sl.StEP)()
    method.fit(TRAIN, clock.by_row, schema=SCHEMA, goal=GOAL)
    begun = clock.now
    found = method.recourse(pd.concat([REJECTED] * 10, ignore_index=True), time_budget=budget)
    assert clock.now - begun <= 1.2 * budget + 100 * each
    assert set(found.final["outcome"]) <= {"timed_out", "reached", "step_limit", "stalled"}


def test_with_too_little_time_those_who_come_first_have_all_their_paths(monkeypatch, result):
    """People get what they'd get in any time, or what was found until then, or nothing."""
    clock = Clock()
    clock.each = 1e-3
    monkeypatch.setattr(pace, "time", clock)
    slow = sl.StEP().fit(TRAIN, clock.by_row, schema=SCHEMA, goal=GOAL)
    answered = []
    for budget in (2.0, 8.0, 20.0):
        found = slow.recourse(REJECTED, time_budget=budget)
        assert_sound(found, REJECTED)
        same = [
            all(np.array_equal(a.values, b.values) for a, b in zip(mine, theirs, strict=True))
            for mine, theirs in zip(found.routes, result.routes, strict=True)
        ]
        assert same == sorted(same, reverse=True)
        answered.append(sum(same))
        late = found.final[~np.repeat(same, 3)]
        assert set(late["outcome"]) <= {"reached", "timed_out"}
        assert (late["steps"] <= 1).all()
    assert 0 < answered[0] < answered[1] <= answered[2] == len(REJECTED)


def test_with_time_enough_the_budget_changes_nothing(step, result):
    assert_frame_equal(step.recourse(REJECTED, time_budget=3600).paths, result.paths)


# ---- crowds ---------------------------------------------------------------------------------


def test_one_who_is_far_off_costs_the_others_no_memory():
    random = np.random.default_rng(0)
    rows = pd.DataFrame(random.normal(size=(400, 6)), columns=list("abcdef"))
    schema = sl.Schema([sl.Numeric(name) for name in rows])

    def model(frame: pd.DataFrame) -> np.ndarray:
        return 1 / (1 + np.exp(np.clip(2 - frame.sum(axis=1).to_numpy(), -50, 50)))

    step = sl.StEP(max_steps=1000).fit(rows, model, schema=schema, goal=sl.Goal(0.7))
    people = rows[model(rows) < 0.5].head(150).reset_index(drop=True)

    def peak() -> int:
        tracemalloc.start()
        try:
            result = step.recourse(people)
            assert (result.final["outcome"] == "reached").all()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    usual = peak()
    people.loc[0] -= 200.0
    assert peak() < 1.5 * usual  # 450 paths of 500 rows would be ten times as much


def test_nobody_is_advised_to_take_a_quadrillion_steps():
    rows = pd.DataFrame({"a": np.linspace(-1, 1, 50)})
    step = sl.StEP(max_steps=3).fit(
        rows, lambda frame: (frame["a"] > 0).to_numpy(float), schema=sl.Schema([sl.Numeric("a")])
    )
    final = step.recourse(pd.DataFrame({"a": [-1e17, -9.0]})).final
    assert (final["outcome"] == "reached").all()
    assert (final["steps"] == 3).all()


def test_ends_are_the_same_in_fewer_longer_steps(result):
    few = fitted(step_size=0.1, max_steps=2).recourse(REJECTED)
    assert_sound(few, REJECTED)
    assert (few.final["outcome"] == "reached").all()
    assert few.final["steps"].max() == 2
    assert_frame_equal(
        few.final.drop(columns="steps"), result.final.drop(columns="steps"), rtol=1e-12
    )


def test_too_few_steps_of_the_published_method_are_named_as_the_reason():
    found = fitted(sl.StEP.published(step_size=0.1, max_steps=2)).recourse(REJECTED)
    late = found.final["outcome"] == "step_limit"
    assert late.any()
    assert (found.final["steps"][late] == 2).all()
    reasons = found.status["reason"][found.status["outcome"] == "step_limit"]
    assert reasons.str.contains("after 2 steps").all()


# ---- bad input ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paths": 0}, "paths must be a whole number of at least 1; got 0"),
        ({"paths": 2.0}, "paths must be a whole number"),
        ({"paths": True}, "paths must be a whole number"),
        ({"max_steps": 0}, "max_steps must be a whole number"),
        ({"max_changes": 0}, "max_changes must be a whole number of at least 1; got 0"),
        ({"max_changes": 1.5}, "max_changes must be a whole number"),
        ({"max_changes": True}, "max_changes must be a whole number"),
        ({"max_changes": "two"}, "max_changes must be a whole number"),
        ({"random_state": -1}, "random_state must be a whole number of at least 0"),
        ({"random_state": None}, "random_state must be a whole number"),
        ({"spare_clusters": -1}, "spare_clusters must be"),
        ({"step_size": 0}, "step_size must be a number above 0; got 0"),
        ({"step_size": float("nan")}, "step_size must be a number above 0"),
        ({"step_size": float("inf")}, "step_size must be a number above 0"),
        ({"step_size": "1"}, "step_size must be a number above 0"),
        ({"alpha": 2}, "alpha must be a Volcano, Sloped, Power or Unit; got 2"),
        ({"distance": "manhattan"}, "distance must be"),
        ({"slack": 1}, "slack must be"),
        ({"slack": -0.1}, "slack must be"),
        ({"holds": 0}, "holds must be"),
        ({"holds": 1.0}, "holds must be"),
        ({"cost": "money"}, "cost must be 'effort', 'distance' or a function .*; got 'money'"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_a_setting_out_of_range_is_refused_by_name(settings, said):
    with pytest.raises(ParameterError, match=said):
        sl.StEP(**settings)


def test_whole_numbers_of_numpy_are_whole_numbers():
    step = sl.StEP(paths=np.int64(2), max_steps=np.int32(5), step_size=np.float32(0.5))
    assert (step.paths, step.max_steps, step.step_size) == (2, 5, 0.5)
    assert type(step.paths) is int


@pytest.mark.parametrize("weights", [{"income": 0.0}, {"income": -1.0}, {"income": "x"}])
def test_a_weight_must_be_above_zero(weights):
    with pytest.raises(ParameterError, match=r"distance\['income'\]"):
        fitted(distance=weights)


def test_a_weight_of_an_unknown_feature_is_refused():
    with pytest.raises(SchemaError, match="Did you mean 'income'"):
        fitted(distance={"incom": 2.0})


def test_a_clusterer_that_is_none_is_refused():
    with pytest.raises(ParameterError, match="scikit-learn clusterer"):
        fitted(clusterer="k-means")


@pytest.mark.parametrize("budget", [0, -1, float("nan")])
def test_a_time_budget_must_be_above_zero(step, budget):
    with pytest.raises(ParameterError, match="time_budget"):
        step.recourse(REJECTED, time_budget=budget)


def test_recourse_before_fit_is_refused():
    with pytest.raises(NotFittedError, match="fit"):
        sl.StEP().recourse(REJECTED)


def test_fit_needs_a_schema_or_a_space():
    with pytest.raises(SchemaError, match=r"Schema\.infer"):
        sl.StEP().fit(TRAIN, score)


def test_a_space_of_another_schema_is_refused(step):
    other = sl.Schema([sl.Numeric(name) for name in ("a", "b")])
    with pytest.raises(SchemaError, match="space"):
        sl.StEP().fit(TRAIN, score, schema=other, space=step.space_)


def test_a_schema_in_which_nothing_changes_is_refused():
    fixed = sl.Schema([sl.Numeric("a", change="never"), sl.Numeric("b", change="never")])
    with pytest.raises(SchemaError, match="at least one feature"):
        sl.StEP().fit(plane((0, 0), (1, 1)), islands, schema=fixed)


def test_no_reference_rows_are_refused(step):
    with pytest.raises(EmptyFrameError):
        sl.StEP().fit(TRAIN.iloc[:0], score, schema=SCHEMA)
    with pytest.raises(EmptyFrameError, match="reference"):
        sl.StEP().fit(TRAIN.iloc[:0], score, space=step.space_)


def test_no_positives_are_refused_with_the_best_score_there_is():
    best = score(TRAIN).max()
    with pytest.raises(PositivesError, match=f"the nearest scores {best:.3f}"):
        sl.StEP().fit(TRAIN, score, schema=SCHEMA, goal=sl.Goal(threshold=1.0))


def test_one_reference_row_is_enough_for_one_path():
    train = plane((5, 5))
    space = unit_space(plane((0, 0), (5, 5)))
    step = sl.StEP(paths=1).fit(train, islands, space=space)
    assert step.recourse(plane((0, 0))).final["outcome"][0] == "reached"


def test_more_paths_than_positives_are_refused():
    with pytest.raises(PositivesError, match="Ask for 1 at most"):
        sl.StEP(paths=2).fit(plane((5, 5), (0, 0)), islands, schema=PLANE)


def test_it_shows_its_settings():
    assert repr(sl.StEP(paths=2, step_size=0.5)) == "StEP(paths=2, step_size=0.5)"
    assert repr(sl.StEP(max_changes=2)) == "StEP(max_changes=2)"
    assert repr(sl.StEP.published()) == "StEP.published()"
    assert sl.StEP(paths=2).settings["step_size"] == 1.0


def test_what_is_more_difficult_is_asked_for_less():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame(rng.normal(size=(200, 2)), columns=["a", "b"])

    def model(frame: pd.DataFrame) -> np.ndarray:
        return 1 / (1 + np.exp(-2 * (frame["a"] + frame["b"]).to_numpy()))

    def asked(difficulty: float) -> float:
        schema = sl.Schema([sl.Numeric("a", difficulty=difficulty), sl.Numeric("b")])
        step = sl.StEP(paths=1).fit(rows, model, schema=schema, goal=sl.Goal(0.7))
        changes = step.recourse(rows[model(rows) < 0.5].head(20)).changes
        changes = changes[changes["feature"] == "a"]
        return float((changes["after"] - changes["before"]).abs().sum())

    assert asked(5) < asked(1) / 2
