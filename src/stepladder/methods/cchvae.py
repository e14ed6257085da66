"""C-CHVAE: look for counterfactuals around a person in the latent space of an autoencoder.

Pawelczyk, Broelemann and Kasneci, "Learning Model-Agnostic Counterfactual Explanations for
Tabular Data", WWW 2020, https://doi.org/10.1145/3366423.3380087, in the form that CARLA gave it
(Pawelczyk et al., NeurIPS 2021 datasets and benchmarks) and that the StEP paper compares with: k
counterfactuals instead of one, and categories of more than two levels.

A person is encoded; points are drawn in shells around the code, each further out than the last;
they are decoded, and the model is asked about them, until k meet the goal.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from stepladder.checks import finite, whole_number
from stepladder.errors import ParameterError
from stepladder.methods.base import Answer, Method, Question, ReferenceTable, standing
from stepladder.methods.pace import TimeUpError
from stepladder.methods.trails import offered
from stepladder.methods.vae import Network, Singles, train
from stepladder.model.scorer import Scorer
from stepladder.result.path import Outcome
from stepladder.table.feasible import Feasible
from stepladder.table.feature import Categorical
from stepladder.table.space import Floats, Mask, Space

CANDIDATES = 2**15
"""About how many decoded rows are held at a time."""


class CCHVAE(Method):
    """Counterfactuals from the latent neighbourhood of a person.

    paths          how many counterfactuals each person gets
    step           how much further out each round's shell lies
    samples        how many codes a round draws
    rounds         after how many rounds the search gives up
    epochs         how often the autoencoder sees each reference row
    random_state   the seed; the same seed gives the same rows
    network        how the autoencoder is built and trained: see `Network`
    moves_fixed    whether a shell also reaches into the fixed columns that the decoder is given
                   (CARLA's does); what is returned keeps the person's values all the same
    checked        whether what is found must be a row that the person could become. If not, points
                   are taken as they are decoded, and fewer than `paths` of them count as none

    The autoencoder learns from all reference rows, whatever the model says of them. A person's
    answer doesn't depend on who else is asked about. Learned by `fit`: `autoencoder_`.
    """

    def __init__(
        self,
        paths: int = 3,
        step: float = 1.0,
        samples: int = 1000,
        rounds: int = 50,
        epochs: int = 5,
        random_state: int = 0,
        *,
        network: Network | None = None,
        moves_fixed: bool = False,
        checked: bool = True,
    ) -> None:
        self.paths = whole_number("paths", paths, 1)
        self.step = finite("step", step, above=0.0)
        self.samples = whole_number("samples", samples, 1)
        self.rounds = whole_number("rounds", rounds, 1)
        self.epochs = whole_number("epochs", epochs, 1)
        self.random_state = whole_number("random_state", random_state, 0)
        self.network = Network() if network is None else network
        if not isinstance(self.network, Network):
            raise ParameterError(
                f"network must be a Network or None; got {network!r}. "
                "For example: network=Network(hidden=(64, 32), latent=4)."
            )
        self.moves_fixed = moves_fixed
        self.checked = checked

    @classmethod
    def published(cls, paths: int = 3, random_state: int = 0, step: float = 1.0) -> CCHVAE:
        """As the StEP paper ran it: nothing is rounded but categories, one-way features go both
        ways, and whoever has fewer than `paths` counterfactuals in a round has none."""
        return cls(paths, step, random_state=random_state, moves_fixed=True, checked=False)

    @property
    def settings(self) -> dict[str, Any]:
        """The hyper-parameters, as results echo them."""
        return {
            "method": "CCHVAE" if self.checked else "CCHVAE.published",
            "paths": self.paths,
            "step": self.step,
            "samples": self.samples,
            "rounds": self.rounds,
            "epochs": self.epochs,
            "random_state": self.random_state,
            "moves_fixed": self.moves_fixed,
            "checked": self.checked,
            **asdict(self.network),
            "hidden": list(self.network.hidden),
        }

    @property
    def batch(self) -> int:
        """How many people are answered at a time."""
        return max(1, CANDIDATES // self.samples)

    @property
    def honours_rules(self) -> bool:
        """Whether paths keep the schema's rules."""
        return self.checked

    def learn(self, table: ReferenceTable) -> None:
        points = table.space.to_points(table.values)
        self.autoencoder_ = train(
            points,
            table.space.changeable,
            self.network,
            epochs=self.epochs,
            seed=self.random_state,
        )

    def answer(self, question: Question) -> Answer:
        """Round by round, everybody who still searches looks at one shell."""
        feasible, scores, pace = question.feasible, question.scores, question.pace
        found = [Found.nothing(feasible.space) for _ in range(len(feasible))]
        searching, timed_out = np.arange(len(feasible)), False
        # One by one: a product with others' rows in it would round them differently.
        points = feasible.space.to_points(feasible.start)
        codes = np.concatenate([self.autoencoder_.encode(point[None]) for point in points])
        for turn in range(self.rounds):
            timed_out = pace.expired
            if timed_out or not len(searching):
                break
            people = feasible.take(searching)
            points = self._decoded(people, codes[searching], turn)
            look = self._rows if self.checked else self._points
            try:
                round_found = look(people, points, question.scorer)
            except TimeUpError:
                timed_out = True
                break
            for i, seen in zip(searching, round_found, strict=True):
                found[i] = self._kept(found[i], seen)
            enough = [found[i].fits.sum() >= self.paths for i in searching]
            searching = searching[~np.array(enough)]
            pace.reached(len(feasible) - len(searching))
        if not self.checked:
            for i in searching:
                found[i] = Found.nothing(feasible.space)
        paths, dropped = offered(
            feasible,
            scores,
            [[row[None] for row in own.points] for own in found],
            self.scorer_,  # a few rows, which are in time to be shown
            self.paths,
            checked=self.checked,
            reason=f"{self.rounds} rounds of {self.samples} samples found too few counterfactuals",
        )
        if timed_out:
            why = "the time budget ended during the search"
            for i in searching:
                late = standing(
                    feasible.space, feasible.start[i], scores[i], Outcome.TIMED_OUT, why
                )
                paths[i] = [late if p.outcome is Outcome.UNREACHABLE else p for p in paths[i]]
        return Answer(paths, dropped)

    def _shell(self, turn: int, person: Floats, width: int) -> Singles:
        """Moves (samples, width) of a code, evenly in all directions, as long as the shell says.

        They are drawn for the values (features,) of one person, so that nobody's answer depends on
        who else is asked about.
        """
        random = np.random.default_rng((self.random_state, turn, crc32(person.tobytes())))
        reach = width if self.moves_fixed else self.network.latent
        moves = np.zeros((self.samples, width), dtype=np.float32)
        drawn = random.standard_normal((self.samples, reach), dtype=np.float32)
        lengths = self.step * (turn + random.random((self.samples, 1)))
        moves[:, :reach] = drawn * (lengths / np.linalg.norm(drawn, axis=1, keepdims=True))
        return moves

    def _decoded(self, people: Feasible, codes: Singles, turn: int) -> Floats:
        """The points (n, samples, columns) that n people's codes stand for once they are moved.

        What a person can't change is theirs, and each category is its largest column.
        """
        space = people.space
        here = space.to_points(people.start)
        points = np.repeat(here[:, None], self.samples, axis=1)
        for own, person, code in zip(points, people.start, codes, strict=True):
            moved = code + self._shell(turn, person, len(code))
            own[:, space.changeable] = self.autoencoder_.decode(moved)
        for where in _groups(space):
            chosen = points[:, :, where].argmax(axis=2)
            points[:, :, where] = np.eye(where.stop - where.start)[chosen]
        if self.checked:
            low, high = people.box
            points = np.where((low == high)[:, None], here[:, None], points)
        return points

    def _kept(self, before: Found, now: Found) -> Found:
        """What a person keeps of a round."""
        if not self.checked:
            return now.first(self.paths)  # the paper's search begins anew in each round
        return before.and_then(now).differing(self.paths)

    def _points(self, people: Feasible, points: Floats, scorer: Scorer) -> list[Found]:
        """Each person's points that meet the goal, and how far off they are once scaled."""
        flat = points.reshape(-1, people.space.width)
        met = scorer.met(scorer.score_points(flat)).reshape(points.shape[:2])
        here = people.space.to_points(people.start)[:, None]
        away = np.linalg.norm((points - here) / self.autoencoder_.extent, axis=2)
        return [Found.of(own[ok], far[ok]) for own, far, ok in zip(points, away, met, strict=True)]

    def _rows(self, people: Feasible, points: Floats, scorer: Scorer) -> list[Found]:
        """Each person's rows that meet the goal, as they'd see them, and which keep the rules."""
        space, (count, samples, width) = people.space, points.shape
        each = people.take(np.repeat(np.arange(count), samples))
        values = space.grid.nearest(space.to_values(points.reshape(-1, width)))
        values = np.where(np.abs(values - each.start) <= space.dust, each.start, values)
        values = each.complete(values)
        workable = np.flatnonzero(each.workable(values))
        yes = np.zeros(len(values), dtype=bool)
        yes[workable] = scorer.met(scorer.score(values[workable]))
        met = (yes & each.passes(values)).reshape(count, samples)
        fits = each.keeps(values).reshape(count, samples)
        shown = space.to_points(values).reshape(points.shape)
        away = np.linalg.norm(shown - space.to_points(people.start)[:, None], axis=2)
        return [
            Found(own[ok], far[ok], fit[ok])
            for own, far, fit, ok in zip(shown, away, fits, met, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class Found:
    """One person's counterfactuals."""

    points: Floats
    """(m, columns)"""
    away: Floats
    """(m,) how far from the person"""
    fits: Mask
    """(m,) which keep the rules"""

    @classmethod
    def of(cls, points: Floats, away: Floats) -> Found:
        """Counterfactuals that nobody holds to rules."""
        return cls(points, away, np.ones(len(away), dtype=bool))

    @classmethod
    def nothing(cls, space: Space) -> Found:
        return cls.of(np.empty((0, space.width)), np.empty(0))

    def and_then(self, more: Found) -> Found:
        """These, and then more."""
        return Found(
            np.concatenate([self.points, more.points]),
            np.concatenate([self.away, more.away]),
            np.concatenate([self.fits, more.fits]),
        )

    def first(self, count: int) -> Found:
        """The `count` nearest."""
        return self._take(np.argsort(self.away, kind="stable")[:count])

    def differing(self, count: int) -> Found:
        """The `count` nearest different rows that keep the rules, and as many that don't."""
        if not len(self.away):
            return self
        _, unlike = np.unique(self.points, axis=0, return_index=True)
        once = self._take(unlike)
        fit, unfit = (once._take(np.flatnonzero(m)).first(count) for m in (once.fits, ~once.fits))
        return fit.and_then(unfit).first(2 * count)

    def _take(self, rows: NDArray[np.intp]) -> Found:
        return Found(self.points[rows], self.away[rows], self.fits[rows])


def _groups(space: Space) -> list[slice]:
    """The columns of each category of more than two levels that may change."""
    slices = [
        space.slices[feature.name]
        for feature in space.schema.features
        if isinstance(feature, Categorical) and feature.chosen
    ]
    return [where for where in slices if where.stop - where.start > 1]
