"""A reference set in shards: what it finds in memory, with less memory than it takes."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import MiniBatchKMeans
from tests.scale import made

import stepladder as sl
from stepladder import scale
from stepladder.errors import ConstantError, PositivesError, SchemaError
from stepladder.model.scorer import Scorer
from stepladder.scale import complete, engine, screening, shards

GOAL = sl.Goal(threshold=0.6)


@pytest.fixture
def small(monkeypatch):
    """Shards of some hundred rows, so that a small table has many."""
    monkeypatch.setattr(screening, "ROWS", 100)
    monkeypatch.setattr(screening, "AT_ONCE", 64)


@pytest.fixture
def train(tmp_path) -> str:
    rows = made.table(1500, seed=5).reset_index(drop=True)
    rows.loc[17, "debt"] = None
    rows = rows.assign(liked=np.arange(1500) % 3 > 0)
    (tmp_path / "train").mkdir()
    rows[:900].to_parquet(tmp_path / "train" / "a.parquet", row_group_size=60)
    rows[900:].to_parquet(tmp_path / "train" / "b.parquet", row_group_size=250)
    return str(tmp_path / "train")


def in_memory(train: str) -> pd.DataFrame:
    return pd.read_parquet(train).drop(columns="liked")


def close(given: sl.Recourse, wanted: sl.Recourse) -> None:
    for frame in ("paths", "final"):
        own = ["effort"] if frame == "final" else []  # from a sample, where there are many rows
        one, other = (
            getattr(given, frame).drop(columns=own),
            getattr(wanted, frame).drop(columns=own),
        )
        pd.testing.assert_frame_equal(one, other, rtol=1e-9, atol=1e-9)


def fit(train: str, tmp_path, step: sl.StEP, **more) -> sl.StEP:
    return scale.fit(
        step, train, made.model(), to=tmp_path / "ref", schema=made.SCHEMA, goal=GOAL, **more
    )


def test_one_cluster_gives_the_paths_of_the_same_rows_in_memory(small, train, tmp_path):
    step, people = sl.StEP.published(paths=1), made.table(30, seed=1)
    sharded = fit(train, tmp_path, step)
    step.fit(in_memory(train), made.model(), schema=made.SCHEMA, goal=GOAL)
    np.testing.assert_allclose(sharded.space_.center, step.space_.center, rtol=1e-12)
    np.testing.assert_allclose(sharded.space_.scale, step.space_.scale, rtol=1e-12)
    assert sharded.counts_ == step.counts_
    given, wanted = sharded.recourse(people), step.recourse(people)
    close(given, wanted)
    pd.testing.assert_series_equal(given.final["effort"], wanted.final["effort"], rtol=1e-12)
    assert given.settings["shards"] > 8
    assert given.settings["clusterer"] == "streaming k-means"
    assert "1e-12 of their terms' lengths" in given.settings["tolerance"]


class Streamed:
    """The clusters that shards were given, for the same positives in memory."""

    def __init__(self, folder, columns) -> None:
        self.folder, self.columns = folder, columns

    def fit_predict(self, points):
        labels = np.full(len(points), -1)
        for c in range(3):
            own = np.concatenate([np.load(f) for f in sorted(self.folder.glob(f"*-{c}.npy"))])
            same = (points[:, None, self.columns] == own[None]).all(axis=2).any(axis=1)
            labels[same] = c
        assert (labels >= 0).all()
        return labels


def test_clusters_of_shards_are_followed_as_they_would_be_in_memory(small, train, tmp_path):
    people = made.table(30, seed=1)
    sharded = fit(train, tmp_path, sl.StEP.published(paths=3))
    clusterer = Streamed(tmp_path / "ref", sharded.space_.changeable)
    step = sl.StEP.published(paths=3, clusterer=clusterer)
    step.fit(in_memory(train), made.model(), goal=GOAL, space=sharded.space_)
    close(sharded.recourse(people), step.recourse(people))


def test_streaming_clusters_are_about_as_tight_as_k_means(small, train, tmp_path):
    sharded = fit(train, tmp_path, sl.StEP.published(paths=3))
    step = sl.StEP.published(paths=3)
    step.fit(in_memory(train), made.model(), goal=GOAL, space=sharded.space_)
    points, columns = step.reference_.points, step.reference_.columns

    def inertia(clusters: list[np.ndarray]) -> float:
        return sum(((own - own.mean(axis=0)) ** 2).sum() for own in clusters)

    streamed = [
        np.concatenate([np.load(f) for f in sorted((tmp_path / "ref").glob(f"*-{c}.npy"))])
        for c in range(3)
    ]
    found = [points[step.reference_.clusters == c][:, columns] for c in range(3)]
    assert inertia(streamed) < 1.5 * inertia(found)


def test_labels_are_a_column(small, train, tmp_path):
    sharded = fit(train, tmp_path, sl.StEP.published(paths=1), labels="liked")
    rows = pd.read_parquet(train)
    step = sl.StEP.published(paths=1).fit(
        in_memory(train), made.model(), schema=made.SCHEMA, goal=GOAL, labels=rows["liked"]
    )
    assert sharded.counts_ == step.counts_
    close(sharded.recourse(made.table(9, seed=1)), step.recourse(made.table(9, seed=1)))


def test_people_in_parts_on_shards(small, train, tmp_path):
    sharded, people = fit(train, tmp_path, sl.StEP.published(paths=2)), made.table(20, seed=1)
    scale.recourse(sharded, people, tmp_path / "plan", part_size=7)
    close(sl.Recourse.load(tmp_path / "plan"), sharded.recourse(people))
    with pytest.raises(sl.StepladderError, match="which the client that it was fitted with"):
        scale.recourse(sharded, people, tmp_path / "other", workers=2)


def test_a_cluster_finds_the_same_to_the_last_bit(small, train, rare, tmp_path):
    distributed = pytest.importorskip("distributed")
    step, people = sl.StEP.published(paths=2, max_steps=5), made.table(20, seed=1)
    here = fit(train, tmp_path / "here", step)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        there = fit(train, tmp_path / "there", step, client=client)
        made.assert_same(there.recourse(people), here.recourse(people))
        there = scale.fit(
            sl.StEP(paths=1),
            rare,
            of_the_group(),
            to=tmp_path / "groups",
            schema=GROUPS,
            client=client,
        )
        people = pd.DataFrame({"x": 3.0, "group": [2.0, 20.0, 40.0]})
        assert there.recourse(people).status["outcome"].tolist() == ["reached"] * 3


# ---- the default method -------------------------------------------------------------------------


def test_the_default_method_is_the_same_where_the_sample_holds_everything(small, train, tmp_path):
    people = made.table(20, seed=1)
    sharded = fit(train, tmp_path, sl.StEP(paths=2))
    step = sl.StEP(paths=2).fit(in_memory(train), made.model(), goal=GOAL, space=sharded.space_)
    given, wanted = sharded.recourse(people), step.recourse(people)
    for frame in made.FRAMES:
        pd.testing.assert_frame_equal(
            getattr(given, frame), getattr(wanted, frame), check_exact=True
        )
    assert given.settings["shards"] > 8
    assert "for whoever has none there" in given.settings["tolerance"]


GROUPS = sl.Schema([sl.Numeric("x", decimals=2), sl.Numeric("group", change="never")])


def of_the_group():
    """A yes for what hardly any row has: a value that each group has for itself.

    Made within a function, so that workers, who don't know this file, can have it.
    """

    def model(rows):
        return np.where((rows["x"] - 10 * rows["group"] - 0.03).abs() < 0.02, 0.9, 0.1)

    return model


@pytest.fixture
def rare(tmp_path, monkeypatch) -> str:
    """A hundred positives of fifty groups among many rows, of which a sample has a few."""
    monkeypatch.setattr(screening, "ROWS", 40)
    monkeypatch.setattr(screening, "AT_ONCE", 40)
    monkeypatch.setattr(screening, "SAMPLE", 30)
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.uniform(0, 500, 800).round(2), "group": np.arange(800) % 50.0})
    rows.loc[::8, "x"] = 10 * rows["group"] + 0.03
    rows = rows.sample(frac=1, random_state=0)
    rows.reset_index(drop=True).to_parquet(tmp_path / "rare.parquet", row_group_size=40)
    return str(tmp_path / "rare.parquet")


def test_whoever_has_no_route_in_the_sample_is_answered_from_all_shards(rare, tmp_path):
    groups = pd.read_parquet(rare)
    have = np.unique(groups[of_the_group()(groups) > 0.5]["group"])
    people = pd.DataFrame({"x": 3.0, "group": [*have, 77.0]})
    step = scale.fit(sl.StEP(paths=2), rare, of_the_group(), to=tmp_path / "ref", schema=GROUPS)
    result = step.recourse(people)
    outcomes = result.status["outcome"].tolist()
    assert outcomes == ["reached"] * len(have) + ["unreachable"]
    ends = result.final[result.final["path"] == 0]
    assert (of_the_group()(ends[ends["outcome"] == "reached"]) > 0.5).all()
    seen = []

    def counted(rows):
        seen.append(len(rows))
        return of_the_group()(rows)

    step.scorer_ = Scorer(counted, step.space_, step.scorer_.goal)
    assert step.recourse(people).asked == {"calls": len(seen), "rows": sum(seen)}
    alone = sl.StEP(paths=2).fit(groups, of_the_group(), space=step.space_).recourse(people)
    assert alone.status["outcome"].tolist() == outcomes
    step.pieces = step.pieces[:1]  # what the sample and a single shard would find
    fewer = step.recourse(people).status["outcome"].tolist()
    assert 0 < fewer.count("reached") < len(have)


def test_the_easiest_route_of_all_shards_is_taken():
    def of(*efforts: float) -> complete.Routes:
        return complete.Routes([[e] for e in efforts], np.array(efforts), [2, 3])

    found = complete.easier(of(1.0, np.inf, 2.0), of(0.5, 4.0, 2.0))
    assert found.paths == [[0.5], [4.0], [2.0]]
    assert found.efforts.tolist() == [0.5, 4.0, 2.0]
    assert found.calls == [2, 3, 2, 3]


def test_sums_of_shards_are_the_direction(tmp_path):
    rng = np.random.default_rng(0)
    positives, points = rng.normal(size=(500, 6)), rng.normal(size=(40, 6))
    files = [(tmp_path / f"{i}.npy",) for i in range(7)]
    for (file,), own in zip(files, np.array_split(positives, 7), strict=True):
        np.save(file, own)
    alpha = sl.Volcano(degree=2, cutoff=0.5)
    asked = shards.Asked(points, np.zeros(40, dtype=np.intp), None, alpha)
    found = engine.Here().joined(shards.partial_directions, files, asked, shards.added)
    moves = positives[None] - points[:, None]
    lengths = np.linalg.norm(moves, axis=2)
    terms = moves * alpha(lengths)[..., None]
    most = np.linalg.norm(terms, axis=2).sum(axis=1)
    off = np.linalg.norm(found - terms.sum(axis=1), axis=1)
    assert (off <= 1e-12 * most).all()


@pytest.mark.parametrize("count", range(1, 12))
def test_both_engines_join_by_the_same_tree(count):
    def paired(items: list[str]) -> str:
        while len(items) > 1:
            items = [
                "".join(("(", *items[i : i + 2], ")")) if len(items[i : i + 2]) == 2 else items[i]
                for i in range(0, len(items), 2)
            ]
        return items[0]

    shards_ = [chr(97 + i) for i in range(count)]
    joined = engine.Here().joined(lambda s, _: s, shards_, None, lambda a, b: f"({a}{b})")
    assert joined == paired(shards_)


def test_it_takes_less_memory_than_a_quarter_of_the_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(screening, "ROWS", 2**10)
    monkeypatch.setattr(screening, "AT_ONCE", 2**9)
    monkeypatch.setattr(screening, "SAMPLE", 2**8)
    monkeypatch.setattr(shards, "MEMORY", 2**18)
    names = [f"x{i}" for i in range(20)]
    schema = sl.Schema([sl.Numeric(name) for name in names])
    rng, size = np.random.default_rng(0), 0
    (tmp_path / "train").mkdir()
    for i in range(8):
        rows = pa.table({name: rng.normal(size=2**13) for name in names})
        size += rows.nbytes
        pq.write_table(rows, tmp_path / "train" / f"{i}.parquet", row_group_size=2**10)
    del rows

    def model(rows):
        return 1 / (1 + np.exp(-rows.to_numpy().sum(axis=1)))

    people = pd.DataFrame(rng.normal(-0.5, 0.3, size=(4, 20)), columns=names)
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    tracemalloc.start()
    sharded = scale.fit(
        sl.StEP.published(paths=2, max_steps=2),
        tmp_path / "train",
        model,
        to=tmp_path / "ref",
        schema=schema,
    )
    sharded.recourse(people)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 10e6
    assert peak + pool.bytes_allocated() - before < size / 4


def test_what_shards_cannot_do_is_refused(small, train, tmp_path):
    published = sl.StEP.published
    with pytest.raises(sl.StepladderError, match=r"without a privacy budget, .*; got StEP\("):
        fit(train, tmp_path, sl.StEP(privacy=sl.Budget(8, 1e-6)))
    with pytest.raises(sl.StepladderError, match="takes neither spare_clusters, nor"):
        fit(train, tmp_path, published(spare_clusters=1))
    with pytest.raises(sl.StepladderError, match="which 'random' can't do"):
        fit(train, tmp_path, published(clusterer="random"))
    with pytest.raises(sl.StepladderError, match="labels names 'like', which isn't a column"):
        fit(train, tmp_path, published(), labels="like")
    with pytest.raises(sl.StepladderError, match=r"client must be a distributed.Client, which"):
        fit(train, tmp_path, published(), client="tcp://10.0.0.5:8786")
    with pytest.raises(PositivesError, match="None of the 1,500 reference rows meets the goal"):
        scale.fit(
            published(), train, lambda r: np.zeros(len(r)), to=tmp_path / "0", schema=made.SCHEMA
        )
    levels = sl.Schema([*made.SCHEMA.features[:3], sl.Categorical("job"), made.SCHEMA.features[4]])
    with pytest.raises(SchemaError, match="'job' has no levels in the schema"):
        scale.fit(published(), train, made.model(), to=tmp_path, schema=levels)
    rows = in_memory(train).assign(income=5)
    rows.to_parquet(tmp_path / "constant.parquet")
    with pytest.raises(ConstantError, match="'income' never varies"):
        scale.fit(
            published(),
            tmp_path / "constant.parquet",
            made.model(),
            to=tmp_path,
            schema=made.SCHEMA,
        )
    for step in (published(), sl.StEP()):
        fitted = fit(train, tmp_path / type(step).__name__, step)
        with pytest.raises(sl.StepladderError, match=r"fitted with stepladder.scale.fit"):
            fitted.fit(rows, made.model())
        with pytest.raises(sl.StepladderError, match="Name another folder for the positives"):
            fit(train, tmp_path / type(step).__name__, step)


def test_a_clusterer_that_learns_batch_by_batch_may_be_given(small, train, tmp_path):
    own = MiniBatchKMeans(random_state=1, n_init=1)
    sharded = fit(train, tmp_path, sl.StEP.published(paths=2, clusterer=own))
    assert sharded.recourse(made.table(5, seed=1)).settings["clusterer"] == "streaming"
    assert not hasattr(own, "cluster_centers_")
