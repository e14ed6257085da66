"""C-CHVAE: the autoencoder, the search around a person, and what becomes of what it finds."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from tests.methods import bank

import stepladder as sl
from stepladder.errors import ExtraError, ParameterError
from stepladder.methods.cchvae import CCHVAE, Found
from stepladder.methods.vae import Autoencoder, Network, train

torch = pytest.importorskip("torch")

SMALL = Network(hidden=(64, 32), latent=6, batch_size=16, learning_rate=5e-3, kl_weight=0.05)
ASKING = bank.REJECTED.head(12)


def small(**settings) -> CCHVAE:
    """A C-CHVAE that trains in a blink."""
    given = {"samples": 200, "rounds": 20, "epochs": 6, "network": SMALL, "random_state": 1}
    return CCHVAE(**({"paths": 2} | given | settings))


@pytest.fixture(scope="module")
def fitted() -> CCHVAE:
    return bank.fitted(small())


@pytest.fixture(scope="module")
def result(fitted) -> sl.Recourse:
    return fitted.recourse(ASKING)


@pytest.fixture(scope="module")
def published() -> CCHVAE:
    return bank.fitted(small(moves_fixed=True, checked=False))


# ---- the autoencoder --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def curve() -> np.ndarray:
    """Points on a bent line, its place on it told by the last two columns but for the sign."""
    place = np.random.default_rng(0).uniform(-1, 1, 600)
    return np.stack([place, place**2, -place, np.sign(place), np.abs(place)], axis=1)


CURVED = np.array([True, True, True, True, False])


@pytest.fixture(scope="module")
def learned(curve) -> Autoencoder:
    network = Network(hidden=(64, 32), latent=2, batch_size=8, learning_rate=3e-3)
    return train(curve, CURVED, network, epochs=8, seed=0)


def test_the_autoencoder_learns_to_give_rows_back(curve, learned):
    assert learned.losses[-1] < 0.9 * learned.losses[0]
    back = learned.decode(learned.encode(curve))
    error = np.sqrt(((back - curve[:, CURVED]) ** 2).mean(axis=0))
    assert (error < 0.35 * curve[:, CURVED].std(axis=0)).all()


def test_codes_end_with_the_scaled_fixed_columns(curve, learned):
    codes = learned.encode(curve)
    assert codes.shape == (600, 3)
    np.testing.assert_allclose(codes[:, 2], learned.scaled(curve)[:, 4], atol=1e-6)


def test_the_decoder_listens_to_the_fixed_columns(curve, learned):
    """|place| is given, so moving it alone must move place² with it."""
    code = learned.encode(curve[curve[:, 0] > 0.2][:50])
    code[:, 2] = 0.1
    low = learned.decode(code)[:, 1]
    code[:, 2] = 0.9
    assert (learned.decode(code)[:, 1] > low).mean() > 0.9


def test_the_arrays_say_what_the_tensors_said(curve, learned):
    rows = torch.as_tensor(learned.scaled(curve)[:, CURVED], dtype=torch.float32)
    for depth, (weight, bias) in enumerate(learned.encoder):
        rows = (rows.relu() if depth else rows) @ torch.as_tensor(weight) + torch.as_tensor(bias)
    np.testing.assert_allclose(learned.encode(curve)[:, :2], rows.numpy(), atol=1e-5)


def test_what_is_decoded_lies_within_the_range_of_the_data(curve, learned):
    codes = np.random.default_rng(0).normal(0, 1000, (200, 3)).astype(np.float32)
    decoded = learned.decode(codes)
    assert (decoded >= curve[:, CURVED].min(axis=0) - 1e-12).all()
    assert (decoded <= curve[:, CURVED].max(axis=0) + 1e-12).all()


def test_a_constant_fixed_column_and_no_fixed_column_are_fine(curve):
    flat = np.column_stack([curve[:, :4], np.full(600, 7.0)])
    for points, mask in ((flat, CURVED), (curve, np.ones(5, dtype=bool))):
        trained = train(points, mask, SMALL, epochs=1, seed=0)
        assert np.isfinite(trained.decode(trained.encode(points))).all()


def test_training_leaves_the_random_state_and_the_threads_of_torch_alone(curve):
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    drawn = np.random.get_state()[1].copy()  # noqa: NPY002  # the state that mustn't change
    first = train(curve[:99], CURVED, SMALL, epochs=1, seed=5)
    torch.manual_seed(99)  # what the caller does in between is their affair
    again = train(curve[:99], CURVED, SMALL, epochs=1, seed=5)
    other = train(curve[:99], CURVED, SMALL, epochs=1, seed=6)
    torch.set_rng_state(state)
    train(curve[:99], CURVED, SMALL, epochs=1, seed=7)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.get_num_threads() == threads
    assert (np.random.get_state()[1] == drawn).all()  # noqa: NPY002  # as above
    for (a, _), (b, _), (c, _) in zip(first.decoder, again.decoder, other.decoder, strict=True):
        assert (a == b).all()
        assert (a != c).any()


# ---- the search -------------------------------------------------------------------------------


def test_shells_lie_one_around_the_other():
    method = small(step=0.5)
    for turn in range(3):
        moves = method._shell(turn, np.zeros(3), width=8)
        lengths = np.linalg.norm(moves, axis=1)
        assert lengths.min() >= 0.5 * turn - 1e-6
        assert lengths.max() <= 0.5 * (turn + 1) + 1e-6
        assert (moves[:, 6:] == 0).all()  # the fixed columns that the decoder is given
        assert (moves != method._shell(turn, np.ones(3), width=8))[:, :6].all()
    assert (small(moves_fixed=True)._shell(0, np.zeros(3), width=8)[:, 6:] != 0).all()


def test_different_rows_are_kept_nearest_first_those_that_break_rules_apart():
    points = np.array([[3.0], [1.0], [1.0], [2.0], [4.0], [5.0]])
    fits = np.array([True, True, True, False, True, False])
    kept = Found(points, points[:, 0], fits).differing(2)
    assert kept.points[:, 0].tolist() == [1, 2, 3, 5]
    assert kept.fits.tolist() == [True, False, True, False]


def test_paths_keep_every_rule_and_end_where_they_say(result):
    bank.assert_sound(result, ASKING)
    assert result.metrics()["success"][0] > 0.8


def test_a_path_is_one_step_and_the_ends_of_a_person_differ(result):
    reached = result.final[result.final["outcome"] == "reached"]
    assert (reached["steps"] == 1).all()
    assert not reached.duplicated(["person", *bank.SCHEMA.names]).any()
    assert (reached.groupby("person").size() == 2).any()


def test_ends_come_nearest_first(result):
    reached = result.final[result.final["outcome"] == "reached"]
    assert (reached.groupby("person")["distance"].diff().dropna() >= 0).all()


def test_what_breaks_a_rule_is_counted(result):
    """The bank's debt may only fall and education only rise: about half of what's decoded."""
    assert result.dropped > 0


def test_locked_features_keep_still(fitted):
    people = ASKING.head(6)
    result = fitted.recourse(people, locked=["job", "income"])
    bank.assert_sound(result, people, locked=("job", "income"))
    for name in ("job", "income"):
        assert (result.paths[name] == people[name].loc[result.paths["person"]].to_numpy()).all()


def test_an_answer_depends_on_nobody_else(fitted, result):
    alone = fitted.recourse(ASKING.iloc[[4]])
    person = ASKING.index[4]
    same = result.paths[result.paths["person"] == person].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone.paths, same)


def test_the_same_seed_gives_the_same_rows_after_another_fit(result):
    again = bank.fitted(small()).recourse(ASKING)
    pd.testing.assert_frame_equal(result.paths, again.paths)
    other = bank.fitted(small(random_state=2)).recourse(ASKING)
    assert not result.paths.equals(other.paths)


def test_a_model_of_points_and_one_of_frames_get_the_same_answer(fitted, result):
    space = fitted.space_
    model = sl.encoded(lambda points: bank.score(space.decode(points)))
    method = small().fit(bank.TRAIN, model, space=space, goal=bank.GOAL)
    assert method.scorer_.takes_points
    pd.testing.assert_frame_equal(method.recourse(ASKING).final, result.final)


def test_who_finds_too_few_gets_those_and_a_reason():
    """A single sample a round can't give two ends in one round."""
    method = bank.fitted(small(samples=1, rounds=1))
    final = method.recourse(ASKING).final
    short = final[final["outcome"] == "unreachable"]
    assert len(short)
    assert short["outcome"].groupby(short["person"]).size().max() <= 2
    reasons = method.recourse(ASKING).status["reason"]
    assert reasons.str.contains("1 rounds of 1 samples").any()


def test_time_that_runs_out_is_an_outcome():
    def never(frame: pd.DataFrame) -> np.ndarray:
        """Accepts some reference rows and nothing that the search will find."""
        return np.where(frame["savings"].isin(bank.TRAIN["savings"][:50]), 0.9, 0.1)

    method = small(rounds=10**6).fit(bank.TRAIN, never, schema=bank.SCHEMA, goal=bank.GOAL)
    result = method.recourse(ASKING.head(5), time_budget=0.3)
    assert set(result.final["outcome"]) == {"timed_out"}
    assert result.status["reason"].str.contains("time budget").all()


def test_progress_ends_with_everybody(fitted):
    told: list[tuple[int, int]] = []
    fitted.recourse(ASKING, progress=lambda done, total: told.append((done, total)))
    assert told[-1] == (len(ASKING), len(ASKING))


def test_a_fitted_method_can_be_pickled(fitted, result):
    again = pickle.loads(pickle.dumps(fitted))
    pd.testing.assert_frame_equal(again.recourse(ASKING).final, result.final)


# ---- as published -----------------------------------------------------------------------------


def test_published_is_as_the_paper_ran_it():
    method = CCHVAE.published(paths=4, random_state=3, step=0.5)
    assert not method.honours_rules
    assert method.settings == {
        "method": "CCHVAE.published",
        "paths": 4,
        "step": 0.5,
        "samples": 1000,
        "rounds": 50,
        "epochs": 5,
        "random_state": 3,
        "moves_fixed": True,
        "checked": False,
        "hidden": [512, 256],
        "latent": 8,
        "batch_size": 32,
        "learning_rate": 1e-3,
        "kl_weight": 0.3,
    }


def test_published_points_are_not_rounded_but_for_categories(published):
    result = published.recourse(ASKING)
    ends = np.stack([path.points[-1] for routes in result.routes for path in routes])
    jobs = ends[:, published.space_.slices["job"]]
    assert np.isin(jobs, (0, 1)).all()
    assert (jobs.sum(axis=1) == 1).all()
    owner = ends[:, published.space_.slices["owner"]]  # a single column isn't a group
    assert ((owner > 0) & (owner < 1)).any()
    names = list(bank.SCHEMA.names)
    ages = result.paths["age"].to_numpy() - ASKING["age"].loc[result.paths["person"]]
    assert (ages == 0).all()
    broken = [
        sl.Feasible.of(result.space, ASKING.loc[[person]]).check(rows[names])
        for person, rows in result.paths.groupby("person")
    ]
    assert any(broken)  # nobody held them to the rules


def test_published_gives_all_or_nothing():
    def reached(paths: int) -> pd.Series:
        method = small(paths=paths, samples=20, rounds=3, step=5, moves_fixed=True, checked=False)
        final = bank.fitted(method).recourse(ASKING).final
        return (final["outcome"] == "reached").groupby(final["person"]).sum()

    assert set(reached(3)) == {0, 3}
    assert (reached(3) > 0).sum() < (reached(1) > 0).sum()  # one or two were found, and not shown


def test_published_knows_no_locked_features(published):
    with pytest.raises(ParameterError, match="locked"):
        published.recourse(ASKING, locked=["job"])


# ---- bad input --------------------------------------------------------------------------------


def test_without_torch_fit_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExtraError, match=r"stepladder\[torch\]"):
        bank.fitted(small())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"paths": 0}, "paths must be a whole number of at least 1"),
        ({"step": 0}, "step must be a number above 0"),
        ({"samples": 2.5}, "samples must be a whole number"),
        ({"rounds": True}, "rounds must be a whole number"),
        ({"network": (512, 256)}, "network must be a Network"),
    ],
)
def test_hyper_parameters_are_checked(settings, said):
    with pytest.raises(ParameterError, match=said):
        CCHVAE(**settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"hidden": ()}, "hidden must be the widths"),
        ({"hidden": "512"}, "hidden must be the widths"),
        ({"hidden": (0,)}, "hidden must be a whole number of at least 1"),
        ({"latent": 0}, "latent must be"),
        ({"learning_rate": 0}, "learning_rate must be"),
        ({"kl_weight": -1}, "kl_weight must be"),
    ],
)
def test_networks_are_checked(settings, said):
    with pytest.raises(ParameterError, match=said):
        Network(**settings)
