"""People side by side: the same rows to the last bit, and what can't be done so."""

from __future__ import annotations

import joblib
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.methods.bank import GOAL, PEOPLE, REJECTED, SCHEMA, TRAIN, fitted, score

import stepladder as sl
from stepladder.errors import ParameterError
from stepladder.methods import parts

MANY = pd.concat([REJECTED] * 4, ignore_index=True)


@pytest.fixture(scope="module")
def step():
    return fitted()


@pytest.fixture
def small(monkeypatch):
    """Few people at a time, so that there are several parts."""
    monkeypatch.setattr(parts, "ONE", 16)
    monkeypatch.setattr("stepladder.methods.step.default.ONE", 16)
    monkeypatch.setattr("stepladder.methods.step.method.ONE", 16)


NUMBERS = ["income", "debt", "savings", "age"]


@pytest.mark.parametrize("n_jobs", [2, 3, -1])
def test_any_number_of_processes_gives_the_same_rows(n_jobs):
    train, schema = TRAIN[NUMBERS], sl.Schema([SCHEMA[name] for name in NUMBERS])
    model = make_pipeline(StandardScaler(), LogisticRegression())
    model.fit(train, score(TRAIN) >= GOAL.threshold)
    step = sl.StEP().fit(train, model, schema=schema)
    few = PEOPLE[NUMBERS]
    many = pd.concat([few] * (1 + 4 * parts.ONE // len(few)), ignore_index=True)
    alone, together = step.recourse(many), step.recourse(many, n_jobs=n_jobs)
    assert alone.asked["calls"] > 30  # so there's more than one part
    assert_frame_equal(together.final, alone.final, check_exact=True)
    assert_frame_equal(together.paths, alone.paths, check_exact=True)
    assert together.asked == alone.asked


@pytest.mark.usefixtures("small")
def test_noise_is_everybodys_own_however_they_are_cut():
    noisy = sl.StEP.published(noise=0.5).fit(TRAIN, score, schema=SCHEMA, goal=GOAL)
    with joblib.parallel_config(backend="threading"):
        side_by_side = noisy.recourse(MANY, n_jobs=2)
    alone = noisy.recourse(MANY)
    assert_frame_equal(side_by_side.final, alone.final, rtol=1e-9)
    twins = alone.final.drop(columns="person").iloc[:: len(REJECTED) * 3]
    assert len(twins.drop_duplicates()) > 1


@pytest.mark.usefixtures("small")
def test_progress_comes_part_by_part(step):
    seen = []
    with joblib.parallel_config(backend="threading"):
        step.recourse(MANY, n_jobs=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (len(MANY), len(MANY))
    assert len(seen) > 2


@pytest.mark.usefixtures("small")
def test_time_that_is_up_is_up_for_all(step):
    with joblib.parallel_config(backend="threading"):
        late = step.recourse(MANY, n_jobs=2, time_budget=1e-6)
    assert set(late.final["outcome"]) == {"timed_out"}


@pytest.mark.parametrize("n_jobs", [0, 1.5, "2", True, None])
def test_what_is_no_number_of_processes_is_refused(step, n_jobs):
    with pytest.raises(ParameterError, match="n_jobs must be a whole number of processes, or -1"):
        step.recourse(REJECTED, n_jobs=n_jobs)


@pytest.mark.usefixtures("small")
def test_a_model_that_stays_where_it_is_says_so():
    class Here:
        n_features_in_ = None

        def __reduce__(self):
            raise TypeError("no way out")

        def __call__(self, frame):
            return score(frame)

    step = sl.StEP().fit(TRAIN, Here(), schema=SCHEMA, goal=GOAL)
    with pytest.raises(ParameterError, match=r"hands the method .*no way out\).* n_jobs=1, or"):
        step.recourse(MANY, n_jobs=2)
    with joblib.parallel_config(backend="threading"):
        assert (step.recourse(MANY, n_jobs=2).final["outcome"] == "reached").all()
