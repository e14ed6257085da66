"""The audit of privacy: sound mechanisms pass, broken ones are caught.

Noise can't be seeded, so chance has to be kept out by numbers. What is sound is judged at a
confidence of 99.999 %, which by itself keeps a false alarm below one in 100,000 for each case
(and with so few runs the bounds stay far below the claim: by more than 20 of their standard
deviations for a direction). What is broken is judged at 95 %, with so many runs that its bound lies
at least four standard deviations above the claim: 1.26 ± 0.05 for half the noise on a direction,
2.4 ± 0.3, and never below 1.3 in 20,000 simulations, for an eighth of it on a reference set.
"""

from __future__ import annotations

import math

import numpy as np
import privacy_audit
import pytest
from privacy_audit import CASES, CONFIDENCE, DELTA, EPSILON, Case, Scores, lower_bound, tapped

from stepladder.privacy import mechanism

SOUND = [name for name, case in CASES.items() if case.sound]
BROKEN = [name for name, case in CASES.items() if not case.sound]


@pytest.mark.parametrize("name", SOUND)
def test_a_sound_mechanism_is_not_flagged(name):
    audit = CASES[name].audit(quick=True, confidence=1 - 1e-5)
    assert not audit.caught
    assert audit.as_expected
    assert "not caught" in str(audit)


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_mechanism_is_caught(name):
    audit = CASES[name].audit(quick=True)
    assert audit.caught
    assert audit.as_expected
    assert "CAUGHT" in str(audit)


def test_the_papers_printed_noise_is_a_tenth_of_what_is_due():
    alpha = privacy_audit.PRINTED
    assert alpha.bound == pytest.approx(0.1)
    due = math.sqrt(2 * math.log(1.25 / DELTA)) / EPSILON  # by the paper's own rule, with C² as C
    assert privacy_audit.multiplier_printed(alpha) == pytest.approx(due / 10)


def test_both_ways_of_paying_are_audited_at_the_noise_that_their_budget_gives():
    # What 1 / m² of one Gaussian adds up to; see test_accountant for the figure itself.
    whole = privacy_audit.multiplier_due()
    assert privacy_audit.multiplier_due(10) == pytest.approx(whole * math.sqrt(10))


# -------------------------------------------------------------------------------- the attacks


@pytest.mark.parametrize(
    ("attack", "runs", "steps"),
    [(privacy_audit.half_the_noise, 4000, 1), (privacy_audit.walk, 800, 10)],
)
def test_the_score_of_directions_is_a_log_likelihood_ratio(attack, runs, steps):
    # Then its mean is ∓ μ²/2 and its spread μ, μ² being the sum of 1 / multiplier².
    scores = attack(runs)
    mu = math.sqrt(steps) / privacy_audit.multiplier_due(steps)
    mu *= 2 if attack is privacy_audit.half_the_noise else 1
    for side, sign in ((scores.without, -1), (scores.present, 1)):
        assert len(side) == runs
        assert side.mean() == pytest.approx(sign * mu**2 / 2, abs=5 * mu / math.sqrt(runs))
        assert side.std() == pytest.approx(mu, rel=5.5 / math.sqrt(2 * runs))


def test_the_score_of_a_reference_set_uses_all_four_releases():
    multiplier = 1.0
    scores = privacy_audit.attack_reference(multiplier, 300)
    mu = math.sqrt(4) / multiplier
    for side, sign in ((scores.without, -1), (scores.present, 1)):
        assert side.mean() == pytest.approx(sign * mu**2 / 2, abs=6 * mu / math.sqrt(300))
        assert side.std() == pytest.approx(mu, rel=6 / math.sqrt(600))


@pytest.mark.parametrize("attack", [privacy_audit.attack_offers, privacy_audit.attack_made_up])
def test_the_public_face_can_be_attacked_too(attack):
    scores = attack(2)
    assert np.isfinite([*scores.without, *scores.present]).all()


def test_the_tap_is_closed_again():
    real = mechanism.with_noise
    with tapped(lambda sums, spread: sums):
        assert mechanism.with_noise is not real
    assert mechanism.with_noise is real


# ------------------------------------------------------------------------- from scores to ε


def test_a_bound_worked_by_hand():
    # Told apart every time: of n runs in a half, n hits and no false alarm.
    n = 500
    scores = Scores(without=np.zeros(2 * n), present=np.ones(2 * n))
    least = 0.025 ** (1 / n)
    by_hand = math.log((least - DELTA) / (1 - least))
    assert lower_bound(scores) == pytest.approx(by_hand)
    other_way = Scores(without=-np.arange(2.0 * n), present=np.ones(2 * n) * -1e9)
    assert lower_bound(other_way) == 0  # the row never lowers the score


def test_scores_that_do_not_differ_show_nothing():
    rng = np.random.default_rng(0)
    same = Scores(rng.normal(size=20_000), rng.normal(size=20_000))
    assert lower_bound(same) < 0.05
    assert lower_bound(Scores(np.zeros(100), np.zeros(100))) == 0


def test_both_directions_of_the_attack_are_tried():
    rng = np.random.default_rng(0)
    # Only low scores are certain, and what they say is that the row is not there.
    without = np.where(rng.random(20_000) < 0.3, -10.0, rng.normal(size=20_000))
    assert lower_bound(Scores(without, rng.normal(size=20_000))) > 3


def test_the_bound_of_a_known_epsilon_is_seldom_above_it():
    # Randomised response has exactly ε = 1 at every threshold: the hardest case there is.
    rng = np.random.default_rng(0)
    honest = math.e / (1 + math.e)
    bounds = np.array(
        [
            lower_bound(
                Scores(
                    (rng.random(2000) > honest).astype(float),
                    (rng.random(2000) < honest).astype(float),
                ),
                delta=0.0,
            )
            for _ in range(400)
        ]
    )
    assert (bounds > 1).mean() <= 1 - CONFIDENCE
    assert np.median(bounds) > 0.8


# ------------------------------------------------------------------------------- the command

CERTAIN = Scores(np.zeros(1000), np.ones(1000))
NOTHING = Scores(np.zeros(1000), np.zeros(1000))


@pytest.mark.parametrize(
    ("sound", "scores", "status"),
    [(True, NOTHING, 0), (True, CERTAIN, 1), (False, CERTAIN, 0), (False, NOTHING, 1)],
)
def test_the_status_says_whether_all_is_as_it_should_be(sound, scores, status, monkeypatch, capsys):
    case = Case("a mechanism", sound, lambda runs: scores, 1000, 1000)
    monkeypatch.setattr(privacy_audit, "CASES", {"one": case})
    monkeypatch.setattr("sys.argv", ["privacy_audit.py", "--quick"])
    assert privacy_audit.main() == status
    said = capsys.readouterr().out
    assert "a mechanism" in said
    assert ("WRONGLY" in said) == bool(status)
