"""The published method's paths on a device, by torch: they come back once, when all have ended.

Directions, moves and points stay there from step to step. So does a model of encoded points that
torch can run there: a torch module, or one of scikit-learn's linear models. Any other is asked on
the host, about points that are brought over for it in every step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from copy import deepcopy
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from stepladder.kernels import gpu
from stepladder.kernels.alpha import Alpha
from stepladder.kernels.tiling import available_threads, spread
from stepladder.methods.base import Question
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step.clusters import Labels
from stepladder.methods.step.planner import Parameters
from stepladder.methods.step.published import Draw, Laid, Order, Rules
from stepladder.methods.step.reference import Reference
from stepladder.model.goal import Goal
from stepladder.model.scorer import Scorer
from stepladder.table.feature import Categorical, Ordinal
from stepladder.table.space import Floats, Space

if TYPE_CHECKING:
    from torch import Tensor, device

ALIKE = 1e-5
"""How far a model's scores on a device may be from those it gives the scorer: float32 is off by
less, and a model that torch runs otherwise than its library does by more."""


def lay(
    question: Question,
    reference: Reference,
    of: Parameters,
    noise: float,
    draw: Draw | None,
    backend: str,
) -> Laid:
    """The paths of n people, all advancing together."""
    import torch

    there = gpu.device_named(backend)
    starts, scorer, pace = question.feasible.start, question.scorer, question.pace
    k, count = reference.slots, len(starts) * reference.slots
    space = SpaceThere(scorer.space, there)
    positives = _kept(reference, there)
    going = np.arange(count).reshape(-1, k).T.ravel()  # paths to one cluster stand together
    today = _sent(scorer.space.to_points(starts), there)
    score_of = _scoring(question, today)
    points, order = today[_sent(going // k, there)], Order(count)
    visited, scored = [points], [question.scores[going // k]]
    order.add(going)
    timed_out = False
    for _ in range(of.max_steps):
        timed_out = pace.expired
        if timed_out or not len(going):
            break
        sizes = np.bincount(going % k, minlength=k)
        toward = _toward(points[:, space.changeable], sizes, positives, of.alpha)
        moves = space.moves(points, toward, of.step_size)
        if draw is not None:
            moves = space.disturbed(moves, noise, _sent(draw(going), there))
        ahead = space.snapped(points + moves)
        try:
            score = score_of(ahead)
        except TimeUpError:
            timed_out = True
            break
        points = ahead
        order.add(going)
        visited.append(points)
        scored.append(score)
        on = ~scorer.met(score)
        if not on.all():
            going, points = going[on], points[_sent(np.flatnonzero(on), there)]
        pace.reached(len(starts) - int(np.count_nonzero(np.bincount(going // k))))
    rows = torch.empty(int(order.counts.sum()), points.shape[1], dtype=torch.float64, device=there)
    for places, part in zip(order.places, visited, strict=True):
        rows[_sent(places, there)] = part
    values = space.values(rows, starts, order, tidy=not scorer.takes_points)
    unfinished = np.zeros(count, dtype=bool)
    unfinished[going] = True
    return Laid(order.counts, values, _brought(rows), order.joined(scored), unfinished, timed_out)


def _toward(points: Tensor, sizes: Labels, positives: list[gpu.Positives], alpha: Alpha) -> Tensor:
    """Equation 1 (t, changeable) toward each point's cluster; those of one stand together."""
    import torch

    parts = torch.split(points, sizes.tolist())
    found = [gpu.cluster_direction(*pair, alpha) for pair in zip(parts, positives, strict=True)]
    return torch.cat(found)


# ---- to the device and back ---------------------------------------------------------------------


def _sent(array: NDArray[Any], there: device) -> Tensor:
    import torch

    return torch.as_tensor(np.ascontiguousarray(array)).to(there)


PIECE = 2**21
"""How many numbers are brought over at a time by each thread, by way of locked memory."""
THREADS = 8
"""As many as it takes: the host's memory is slow when it's new."""


def _brought(tensor: Tensor) -> Floats:
    """A tensor's numbers on the host."""
    import torch

    if tensor.device.type == "cpu" or tensor.numel() <= PIECE:
        return np.asarray(tensor.cpu().numpy())
    host = np.empty(tuple(tensor.shape))
    there, here = tensor.reshape(-1), host.reshape(-1)
    torch.cuda.synchronize(tensor.device)  # what made it is on another stream than what copies it

    def bring(start: int) -> None:
        part = there[start : start + PIECE]
        stream, locked = _lane(tensor.device)
        with torch.cuda.stream(stream):
            locked[: len(part)].copy_(part, non_blocking=True)
        stream.synchronize()
        here[start : start + PIECE] = locked[: len(part)].numpy()

    spread(bring, list(range(0, len(here), PIECE)), min(THREADS, available_threads()))
    return host


def _lane(there: device) -> tuple[Any, Tensor]:
    """This thread's own stream and locked memory, which is kept: locking it takes time."""
    import torch

    lanes: dict[device, tuple[Any, Tensor]] = _own.__dict__.setdefault("lanes", {})
    if there not in lanes:
        stream: Any = torch.cuda.Stream
        locked = torch.empty(PIECE, dtype=torch.float64, pin_memory=True)
        lanes[there] = stream(there), locked
    return lanes[there]


_own = threading.local()
_lock = threading.Lock()
_clusters: WeakKeyDictionary[Reference, dict[str, list[gpu.Positives]]] = WeakKeyDictionary()


def _kept(reference: Reference, there: device) -> list[gpu.Positives]:
    """Each cluster's positives on a device, for as long as somebody has the reference."""
    with _lock:
        known = _clusters.setdefault(reference, {})
        if there.type not in known:
            known[there.type] = [
                gpu.prepare(positives.points, positives.norm, there)
                for positives in reference.prepared
            ]
        return known[there.type]


# ---- what the published method does to points ---------------------------------------------------


class SpaceThere:
    """A space and the published method's rules on a device: see `Space` and `Rules`."""

    def __init__(self, space: Space, there: device) -> None:
        rules = Rules(space)
        self.space, self.there, self.groups = space, there, rules.groups
        self.changeable = _sent(np.flatnonzero(space.changeable), there)
        self._continuous = _sent(rules.continuous, there)
        self._ordinal = _sent(np.flatnonzero(rules.ordinal), there)
        self._level = _sent(1.0 / space.scale[rules.ordinal], there)
        self._rising = _sent(np.flatnonzero(rules.rising), there)
        self._falling = _sent(np.flatnonzero(rules.falling), there)

    def moves(self, points: Tensor, toward: Tensor, step_size: float) -> Tensor:
        """Moves (t, columns) of a step's length, in whole levels, and none the wrong way."""
        import torch

        sizes = toward.norm(dim=1, keepdim=True)
        toward = toward * torch.where(sizes > 0, step_size / sizes, 0.0)
        moves = torch.zeros_like(points)
        moves[:, self.changeable] = toward
        moves[:, self._ordinal] = (moves[:, self._ordinal] / self._level).round() * self._level
        moves[:, self._rising] = moves[:, self._rising].clamp(min=0.0)
        moves[:, self._falling] = moves[:, self._falling].clamp(max=0.0)
        return moves

    def disturbed(self, moves: Tensor, noise: float, draws: Tensor) -> Tensor:
        """Moves as a person really makes them."""
        import torch

        lengths = moves[:, self._continuous].norm(dim=1, keepdim=True)
        sums = moves + draws * (noise * lengths / draws.norm(dim=1, keepdim=True))
        sizes = sums.norm(dim=1, keepdim=True)
        sums = sums * torch.where(sizes > 0, lengths / sizes, 0.0)
        return torch.where(self._continuous, sums, moves)

    def snapped(self, points: Tensor) -> Tensor:
        """Points, which are changed, with a single level set in each one-hot group."""
        for where in self.groups:
            chosen = points[:, where].argmax(dim=1, keepdim=True)
            points[:, where] = 0.0
            points[:, where].scatter_(1, chosen, 1.0)
        return points

    def values(self, rows: Tensor, starts: Floats, order: Order, *, tidy: bool) -> Floats:
        """The values (rows, features) of all paths; what hasn't moved is shown as it was."""
        import torch

        each = order.counts.reshape(len(starts), -1).sum(axis=1)
        if tidy:  # which only the space can do
            found = _sent(self.space.to_values(_brought(rows)), self.there)
        else:
            found = self._values(rows)
        origin = _sent(starts, self.there).repeat_interleave(_sent(each, self.there), dim=0)
        still = (found - origin).abs() <= _sent(self.space.dust, self.there)
        return _brought(torch.where(still, origin, found))

    def _values(self, rows: Tensor) -> Tensor:
        """`Space.to_values`, untidied. A schema with derived features never gets here."""
        space, features = self.space, self.space.schema.features
        firsts = [space.slices[feature.name].start for feature in features]
        values = rows[:, firsts] * _sent(space.scale[firsts], self.there)
        values += _sent(space.center[firsts], self.there)
        for f, feature in enumerate(features):
            where = space.slices[feature.name]
            if isinstance(feature, Ordinal):
                values[:, f] = values[:, f].round().clamp(0, len(feature.levels or ()) - 1)
            elif isinstance(feature, Categorical) and where.stop - where.start == 1:
                values[:, f] = (rows[:, where.start] > 0.5).double()
            elif isinstance(feature, Categorical):
                values[:, f] = rows[:, where].argmax(dim=1).double()
        return values


# ---- the model ----------------------------------------------------------------------------------

Answers = Callable[["Tensor"], "Tensor"]
"""A model's answers (t,) or (t, classes) about points (t, columns)."""


def _scoring(question: Question, today: Tensor) -> Callable[[Tensor], Floats]:
    """What scores points on a device: the model there if it can be, else the scorer on the host."""
    import torch

    scorer, pace = question.scorer, question.pace

    def on_host(points: Tensor) -> Floats:
        return scorer.score_points(_brought(points))

    answers = _answers(scorer, today.device)
    if answers is None:
        return on_host

    def asked(points: Tensor) -> Floats | None:
        with torch.inference_mode():
            found = _picked(answers(points), scorer)
        return None if found is None or len(found) != len(points) else _brought(found.double())

    def on_device(points: Tensor) -> Floats:
        scores = np.empty(len(points))
        for part in pace.parts(len(points)):
            found = asked(points[part])
            if found is None or not _are_scores(found, scorer.goal):
                return on_host(points)  # which says what is wrong
            scores[part] = found
        return scores

    try:
        found = asked(today)
    except Exception:  # noqa: BLE001  # a module may raise anything on a device it doesn't know
        return on_host
    same = found is not None and np.allclose(found, question.scores, rtol=0, atol=ALIKE)
    return on_device if same else on_host


def _are_scores(found: Floats, goal: Goal) -> bool:
    low, high = (-np.inf, np.inf) if goal.is_range else (-1e-6, 1 + 1e-6)
    return bool(np.isfinite(found).all() and (found >= low).all() and (found <= high).all())


def _answers(scorer: Scorer, there: device) -> Answers | None:
    """A model's answers about encoded points, worked out on a device; None if torch can't."""
    from torch import nn

    if not scorer.takes_points:
        return None
    if not isinstance(scorer.model, nn.Module):
        return _linear(scorer.model, scorer.goal, there)
    try:
        # A copy: the caller's may be on another device, and in training mode.
        module = deepcopy(scorer.model).to(there).eval()
    except Exception:  # noqa: BLE001  # whatever a module has in it that can't be copied
        return None
    first = next(module.parameters(), None)

    def answers(points: Tensor) -> Tensor:
        found: Tensor = module(points if first is None else points.to(first.dtype))
        return found

    return answers


def _linear(model: Any, goal: Goal, there: device) -> Answers | None:
    """The answers of one of scikit-learn's linear models; None for one that isn't."""
    from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

    # Exactly these: what inherits from one may answer otherwise.
    if type(model) not in (LogisticRegression, LinearRegression, Ridge):
        return None
    coefficients = _sent(np.atleast_2d(np.asarray(model.coef_, dtype=np.float64)).T, there)
    intercept = _sent(np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)), there)
    if type(model) is not LogisticRegression or goal.is_range:
        return (lambda points: points @ coefficients + intercept) if goal.is_range else None

    def probabilities(points: Tensor) -> Tensor:
        import torch

        found = points @ coefficients + intercept
        if found.shape[1] > 1:
            return found.softmax(dim=1)
        return torch.cat([(-found).sigmoid(), found.sigmoid()], dim=1)

    return probabilities


def _picked(answers: Tensor, scorer: Scorer) -> Tensor | None:
    """The desired class's column of a model's answers, or the sum of several classes' columns.

    None for what only the host's scorer can tell.
    """
    goal, classes = scorer.goal, getattr(scorer.model, "classes_", None)
    if answers.ndim == 2 and answers.shape[1] == 1:
        answers = answers[:, 0]
    if goal.is_range:
        return answers if answers.ndim == 1 else None
    if answers.ndim == 1:
        wanted = goal.classes
        return answers if wanted in ((), (1,)) else 1.0 - answers if wanted == (0,) else None
    named = list(range(answers.shape[1]) if classes is None else classes)
    desired = goal.classes or (named[1],)
    if answers.ndim != 2 or any(label not in named for label in desired):
        return None
    return answers[:, sorted(named.index(label) for label in desired)].sum(dim=1)
