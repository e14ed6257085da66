"""Models that may replace this one: whom they stop, how sure that is, and what is stated of it."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from statistics import NormalDist

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta
from sklearn.ensemble import RandomForestClassifier

import stepladder as sl
from stepladder.errors import ModelError, ParameterError
from stepladder.methods import base
from stepladder.methods.face import FACE
from stepladder.methods.pace import Pace, TimeUpError
from stepladder.model.successors import FLAT, Successors, pooled_prior
from stepladder.result.path import Outcome

RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({"income": RNG.normal(0, 1, 300), "debt": RNG.normal(0, 1, 300)})
SCHEMA = sl.Schema.infer(FRAME, increase=["income"])
SPACE = sl.Space.fit(SCHEMA, FRAME)
GOAL = sl.Goal(threshold=0.5)


FOREST = RandomForestClassifier(4, random_state=0).fit(FRAME, FRAME["income"] > 0)


class Line:
    """A model that says yes from some income on, and counts the rows it's asked about."""

    def __init__(self, start: float) -> None:
        self.start = start
        self.asked = 0

    def __call__(self, frame: pd.DataFrame) -> np.ndarray:
        self.asked += len(frame)
        return 1 / (1 + np.exp(self.start - frame["income"].to_numpy()))


def lines(*starts: float) -> list[Line]:
    return [Line(start) for start in starts]


def searched(*starts: float, goal: sl.Goal = GOAL) -> Successors:
    """Successors of which these are searched on, and as many more kept back."""
    models = [model for start in starts for model in lines(start, 0.0)]
    return Successors.of(models, SPACE, goal)


def at(*incomes: float) -> np.ndarray:
    return SPACE.read(pd.DataFrame({"income": incomes, "debt": 0.0}))


def naive(starts: list[float], income: float, holds: float) -> bool:
    """The rule, one row and one model at a time."""
    margins = [np.clip(income - start, -4, 4) for start in starts]
    no = sum(margin < 0 for margin in margins)
    mean, spread = np.mean(margins), np.std(margins, ddof=1)
    needed = NormalDist().inv_cdf(holds) + 0.7
    return bool(no <= (1 - holds) * len(starts) + 1e-9 and mean >= spread * needed)


@pytest.mark.parametrize("holds", [0.5, 0.8, 0.9, 0.95])
def test_a_row_is_sure_by_refusals_and_by_the_mean_beside_the_spread(holds):
    starts = RNG.normal(0, 0.7, 12).tolist()
    incomes = np.linspace(-2, 4, 121)
    found = searched(*starts).sure(at(*incomes), holds)
    assert found.tolist() == [naive(starts, income, holds) for income in incomes]
    assert 0 < found.sum() < len(found)


def test_whether_a_row_is_sure_does_not_depend_on_its_company():
    own = searched(*RNG.normal(0, 0.7, 8))
    rows = at(*RNG.uniform(-1, 3, 60))
    together = own.sure(rows, 0.9)
    alone = np.concatenate([own.sure(rows[[i]], 0.9) for i in range(len(rows))])
    assert 0 < together.sum() < 60
    assert together.tolist() == alone.tolist()
    assert own.sure(rows[:0], 0.9).shape == (0,)


def test_the_likeliest_to_refuse_is_asked_first_and_a_refused_row_no_further():
    models = [model for start in (0.0, 5.0, 1.0, 9.0) for model in lines(start, 0.0)]
    own = Successors.of(models, SPACE, GOAL, at(2.0, 6.0))
    assert [scorer.model.start for scorer in own.searched] == [9.0, 5.0, 0.0, 1.0]
    before = [model.asked for model in models]
    own.sure(at(2.0, 2.5, 6.0, 10.0), 0.9)  # none may refuse
    assert [m.asked - b for m, b in zip(models, before, strict=True)][::2] == [1, 1, 1, 4]
    assert [m.asked - b for m, b in zip(models, before, strict=True)][1::2] == [0] * 4


def test_a_score_far_beyond_the_line_is_no_reason_for_doubt():
    own = searched(0.0, 0.1, -0.1, -60.0)  # the last is certain
    assert own.sure(at(3.0), 0.9).all()


def test_models_that_agree_are_sure_and_one_alone_decides():
    assert searched(0.0, 0.0, 0.0).sure(at(-0.1, 0.0, 0.1), 0.99).tolist() == [False, True, True]
    assert searched(0.0).sure(at(-0.1, 0.1), 0.99).tolist() == [False, True]


def test_a_range_goes_by_the_prediction_itself():
    def predicts(offset: float):
        return lambda frame: frame["income"].to_numpy() + offset

    goal = sl.Goal.between(10, None)
    models = [predicts(offset) for offset in (0.0, 0.0, 1.0, 0.0, -1.0, 0.0)]
    own = Successors.of(models, SPACE, goal)
    assert own.sure(at(11.5, 12.5), 0.9).tolist() == [False, True]  # the spread is 1
    assert own.votes(at(9.0, 10.0)).tolist() == [0, 3]


def test_rows_that_do_not_hold_are_ranked():
    own = searched(*RNG.normal(0, 0.7, 8))
    ranks = own.surest(at(-1.0, 0.2, 0.1, 0.9))
    assert ranks.argsort().tolist() == [0, 2, 1, 3]


def test_only_those_kept_back_vote():
    models = lines(9.0, 0.0, 9.0, 1.0, 9.0, 2.0, 9.0)
    own = Successors.of(models, SPACE, GOAL)
    assert own.count == 3
    assert own.votes(at(-1.0, 0.5, 1.5, 2.5)).tolist() == [0, 1, 2, 3]


def test_what_is_stated_is_the_lower_end_of_a_beta_distribution():
    own = searched(*[0.0] * 24)
    assert own.stated(np.array([24]))[0] == pytest.approx(0.1 ** (1 / 25))
    more = own.with_prior(np.repeat([24, 23, 20], [60, 30, 10]))
    a, b = more.prior
    assert (a, b) != FLAT
    assert more.stated(np.array([20, 24])) == pytest.approx(
        beta.ppf(0.1, [a + 20, a + 24], [b + 4, b])
    )
    assert own.prior == FLAT
    assert a + b <= 24 + sum(FLAT)


def test_a_gap_that_a_successor_cannot_score_is_a_refusal():
    def fussy(frame: pd.DataFrame) -> np.ndarray:
        if frame["debt"].isna().any():
            raise ValueError("no gaps, please")
        return np.ones(len(frame))

    rows = at(3.0, 3.0)
    rows[1, 1] = np.nan
    own = Successors.of([*lines(0.0, 0.0), fussy, fussy], SPACE, GOAL)
    assert own.votes(rows).tolist() == [2, 1]
    assert own.sure(rows, 0.9).tolist() == [True, False]


def test_successors_can_be_pickled():
    own = pickle.loads(pickle.dumps(searched(0.0, 1.0)))
    assert own.votes(at(0.5)).tolist() == [2]


# ---- the prior --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("a", "b", "most"),
    [(20.0, 1.0, 0.93), (5.0, 5.0, 0.93), (2.0, 0.5, 0.96), (60.0, 2.0, 0.99)],
)
def test_what_is_stated_is_true_for_nine_in_ten(a, b, most):
    random = np.random.default_rng(0)
    true = []
    for _ in range(20):
        seen = random.binomial(24, random.beta(a, b, 150))
        own = searched(*[0.0] * 24).with_prior(seen)
        holds = random.beta(a, b, 300)
        true.append((holds >= own.stated(random.binomial(24, holds))).mean())
    assert 0.87 <= np.mean(true) <= most  # a prior worth 24 votes can't know all of the last


def test_a_pooled_prior_states_more_than_the_flat_one_where_paths_mostly_hold():
    random = np.random.default_rng(0)
    votes = random.binomial(24, random.beta(60, 2, 200))
    flat = searched(*[0.0] * 24)
    stated = [(own.stated(votes) >= 0.9).mean() for own in (flat, flat.with_prior(votes))]
    assert stated[0] < 0.6
    assert stated[1] > 0.75


def test_the_prior_is_the_one_that_votes_come_from():
    random = np.random.default_rng(0)
    a, b = pooled_prior(random.binomial(24, random.beta(12, 3, 5000)), 24)
    assert a == pytest.approx(12, rel=0.15)
    assert b == pytest.approx(3, rel=0.15)


@pytest.mark.parametrize("votes", [[], [24] * 19])
def test_too_few_paths_teach_nothing(votes):
    assert pooled_prior(np.array(votes, dtype=int), 24) == FLAT


@pytest.mark.parametrize("vote", [0, 12, 24])
def test_unanimous_paths_make_nothing_certain(vote):
    own = searched(*[0.0] * 24).with_prior(np.full(100, vote))
    low, high = own.stated(np.array([0, 24]))
    assert 0 <= low < high < 0.96


# ---- in a method ------------------------------------------------------------------------------


@pytest.fixture
def models() -> list[Line]:
    return lines(*np.linspace(-0.5, 0.7, 12))


def stated(method: sl.Method, models: list[Line] | None, people: pd.DataFrame) -> sl.Recourse:
    return method.fit(FRAME, Line(0.0), schema=SCHEMA, successors=models).recourse(people)


def flat(result: sl.Recourse) -> Iterator[tuple[Outcome, float, float]]:
    for own in result.routes:
        for path in own:
            yield path.outcome, path.values[-1][0], path.holds


PEOPLE = FRAME[FRAME["income"] < -0.2].head(8)


@pytest.mark.parametrize(
    "method", [sl.StEP(), sl.StEP.published(), FACE()], ids=["step", "published", "face"]
)
def test_every_method_states_how_likely_its_ends_hold(method, models):
    found = list(flat(stated(method, models, PEOPLE)))
    assert any(outcome is Outcome.REACHED for outcome, *_ in found)
    for outcome, income, holds in found:
        if outcome is not Outcome.REACHED:
            assert np.isnan(holds)
            continue
        yes = sum(income >= model.start for model in models[1::2])
        assert holds == pytest.approx(beta.ppf(0.1, 1 + yes, 1 + 6 - yes))


def test_without_successors_nothing_is_stated(models):
    assert all(np.isnan(holds) for *_, holds in flat(stated(sl.StEP(), None, PEOPLE)))


def test_what_is_stated_is_the_same_alone_and_in_a_batch(models):
    together = [holds for *_, holds in flat(stated(sl.StEP(), models, PEOPLE))]
    alone = [
        holds
        for i in range(len(PEOPLE))
        for *_, holds in flat(stated(sl.StEP(), models, PEOPLE.iloc[[i]]))
    ]
    np.testing.assert_array_equal(together, alone)


def test_rows_asked_of_successors_are_counted_apart(models):
    plain = stated(sl.StEP(), None, PEOPLE)
    assert set(plain.asked) == {"calls", "rows"}
    own = stated(sl.StEP(), models, PEOPLE)
    ends = sum(outcome is Outcome.REACHED for outcome, *_ in flat(own))
    assert own.asked == {**plain.asked, "successors": 6 * ends}


def test_people_who_need_no_path_are_asked_about_nobody(models):
    result = stated(sl.StEP(), models, FRAME[FRAME["income"] > 1].head(3))
    assert result.asked["successors"] == 0


def test_successors_keep_to_the_time_budget():
    pace = Pace(1, False, time_budget=1e-9)
    own = searched(0.0, 0.0).in_parts(pace.successor_parts)
    with pytest.raises(TimeUpError):
        own.votes(at(1.0))
    assert (pace.tally.successors, pace.tally.rows) == (0, 0)


def test_paths_found_in_time_stay_where_votes_come_too_late(models):
    class LateStEP(sl.StEP):
        """A method that takes all the time there is."""

        def answer(self, question: sl.Question) -> sl.Answer:
            answer = super().answer(question)
            question.pace._deadline = 0.0
            return answer

    step = LateStEP().fit(FRAME, Line(0.0), schema=SCHEMA, successors=models)
    found = list(flat(step.recourse(PEOPLE.head(1), time_budget=60)))
    assert any(outcome is Outcome.REACHED for outcome, *_ in found)
    assert all(np.isnan(holds) for *_, holds in found)


def test_to_hold_takes_successors():
    with pytest.raises(ParameterError, match=r"holds=0\.9 needs successors.*sl\.successors\("):
        sl.StEP(holds=0.9).fit(FRAME, Line(0.0), schema=SCHEMA)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "at least 2 models.*got 0"),
        (lines(0.0), "at least 2 models.*got 1"),
        (Line(0.0), "must be a list of models; got Line"),
        ("model.skops", "must be a list of models; got str"),
        (FOREST, "must be a list of models; got RandomForestClassifier"),
        ({"a": Line(0.0), "b": Line(1.0)}, "must be a list of models; got dict"),
    ],
)
def test_a_list_that_will_not_do_is_answered(given, message):
    with pytest.raises(ParameterError, match=message):
        sl.StEP().fit(FRAME, Line(0.0), schema=SCHEMA, successors=given)


@pytest.mark.parametrize("broken", [object(), lambda frame: np.full(len(frame), 7.0)])
def test_a_successor_that_cannot_be_asked_is_named_by_its_number(broken):
    with pytest.raises(ModelError, match="Successor 2: "):
        sl.StEP().fit(FRAME, Line(0.0), schema=SCHEMA, successors=[*lines(0, 0), broken])


def test_a_private_method_learns_nothing_from_whom_successors_refuse():
    pytest.importorskip("opendp")
    typical = [sl.Numeric(name, typical=(-3, 3)) for name in FRAME.columns]
    models = lines(0.0, 0.0, 2.0, 0.0)

    def order(step: sl.StEP) -> list[float]:
        step.fit(FRAME, Line(0.0), schema=sl.Schema(typical), successors=models)
        return [scorer.model.start for scorer in step.successors_.searched]

    assert order(sl.StEP()) == [2.0, 0.0]
    assert order(sl.StEP(privacy=sl.Budget(5.0, 1e-6))) == [0.0, 2.0]


@pytest.mark.parametrize(("votes", "outcome"), [(24, Outcome.REACHED), (20, Outcome.UNSURE)])
def test_a_path_is_reached_where_those_kept_back_state_as_much_as_is_wanted(votes, outcome):
    rows = at(0.0, 1.0)
    path = sl.Path(Outcome.UNSURE, "may not hold", rows, rows, np.array([0.1, 0.6]))
    kept = [0.5] * votes + [9.0] * (24 - votes)
    own = Successors.of([m for start in kept for m in lines(9.0, start)], SPACE, GOAL)
    ((told,),) = base.stated([[path]], own, 0.8)
    assert told.holds == own.stated(np.array([votes]))[0]
    assert told.outcome is outcome
