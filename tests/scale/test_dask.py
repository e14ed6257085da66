"""Parts on a cluster of real processes: the same rows, also when a worker is killed."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.scale import made

import stepladder as sl
from stepladder import scale
from stepladder.errors import ExtraError, LevelError
from stepladder.scale import dask

distributed = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client() -> Iterator[object]:
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def parts(folder: Path) -> int:
    return len(list(folder.glob("part-*.parquet")))


def test_the_same_rows_as_one_process(client, tmp_path):
    people = made.table(40, seed=1)
    scale.recourse(made.fitted(), people, tmp_path, client=client, part_size=9)
    made.assert_same(sl.Recourse.load(tmp_path), made.fitted().recourse(people))


def test_by_the_address_of_a_scheduler_and_from_a_file(client, tmp_path):
    made.table(3000, seed=2).to_parquet(tmp_path / "people.parquet")
    method, address = made.fitted("published"), client.scheduler.address
    for name, where in (("here", None), ("there", address)):
        scale.recourse(method, tmp_path / "people.parquet", tmp_path / name, client=where)
    made.assert_same(sl.Recourse.load(tmp_path / "there"), sl.Recourse.load(tmp_path / "here"))
    assert (tmp_path / "here" / "part-000001.parquet").read_bytes() == (
        tmp_path / "there" / "part-000001.parquet"
    ).read_bytes()


@pytest.mark.parametrize("victims", [1, 2])
def test_a_worker_that_is_killed_costs_time_and_no_answers(client, tmp_path, victims):
    people, left = made.table(700, seed=3), []
    pids = list(client.run(os.getpid).values())[:victims]

    def kill() -> None:
        while parts(tmp_path / "plan") < 2:
            time.sleep(0.01)
        left.append(28 - parts(tmp_path / "plan"))
        for pid in pids:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    method = made.fitted("published")
    scale.recourse(method, people, tmp_path / "plan", client=client, part_size=25)
    killer.join()
    client.wait_for_workers(2, timeout=60)
    assert left[0] > 0  # it wasn't over yet
    assert set(pids).isdisjoint(client.run(os.getpid).values())
    scale.recourse(method, people, tmp_path / "here", part_size=25)
    made.assert_same(sl.Recourse.load(tmp_path / "plan"), sl.Recourse.load(tmp_path / "here"))


def test_an_error_on_a_worker_is_told_as_it_is_here(client, tmp_path):
    people = made.table(20, seed=1)
    people.loc["person 13", "studies"] = "astrology"
    with pytest.raises(LevelError, match="astrology"):
        scale.recourse(made.fitted(), people, tmp_path, client=client, part_size=5, invalid="raise")


def test_a_part_that_no_worker_survives_is_given_up_in_a_sentence(client, tmp_path, monkeypatch):
    def model(rows):
        if (rows["income"] == 199).any():
            os.kill(os.getpid(), signal.SIGKILL)
        return np.where(rows["income"] > 60, 0.9, 0.1)

    step = sl.StEP.published(paths=1).fit(made.table(100, seed=0), model, schema=made.SCHEMA)
    people = made.table(40, seed=1)
    people.loc["person 39", "income"] = 199
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    with pytest.raises(sl.StepladderError, match=r"Part \d of 10 people was given up: one worker"):
        scale.recourse(step, people, tmp_path, client=client, part_size=10)
    client.wait_for_workers(2, timeout=60)


def test_a_method_that_cannot_travel(client, tmp_path):
    lock = threading.Lock()

    def locked(rows):
        with lock:
            return made.model().predict_proba(rows)[:, 1]

    method = sl.StEP().fit(made.table(100, seed=0), locked, schema=made.SCHEMA)
    with pytest.raises(sl.StepladderError, match=r"can't be sent to workers: .*lock"):
        scale.recourse(method, made.table(5, seed=1), tmp_path, client=client)


def test_what_a_cluster_can_be(tmp_path, monkeypatch):
    monkeypatch.setattr(dask, "PATIENCE", "1s")
    method, people = made.fitted(), made.table(5, seed=1)
    with pytest.raises(sl.StepladderError, match=r"client must be a distributed.Client"):
        scale.recourse(method, people, tmp_path, client=2)
    with pytest.raises(sl.StepladderError, match="give one of them"):
        scale.recourse(method, people, tmp_path, client="tcp://x:1", workers=2)
    with pytest.raises(sl.StepladderError, match="workers must be a whole number"):
        scale.recourse(method, people, tmp_path, workers=0)
    with pytest.raises(
        sl.StepladderError, match=r"No Dask scheduler answers at 'tcp://127.0.0.1:9'"
    ):
        scale.recourse(method, people, tmp_path, client="tcp://127.0.0.1:9")


def test_without_dask_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ExtraError, match=r"pip install 'stepladder\[dask\]'"):
        scale.recourse(made.fitted(), made.table(5, seed=1), tmp_path, workers=2)
    scale.recourse(made.fitted(), made.table(5, seed=1), tmp_path)  # here it takes none
