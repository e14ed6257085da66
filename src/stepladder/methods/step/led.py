"""Candidates that directions lead to: they're what makes the search complete.

A latent point follows equation 1 toward positives that the person could really become, and what it
comes to is pared down to what a yes needs. The nearest of those positives are candidates too: each
is a row that the person could have tomorrow and that gets a yes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from stepladder.methods.base import Question
from stepladder.methods.pace import TimeUpError
from stepladder.methods.step import finish, refine
from stepladder.methods.step.judge import Ends, Judge
from stepladder.methods.step.mixed import mixed
from stepladder.methods.step.reference import Reference
from stepladder.methods.step.search import Search, Trail
from stepladder.methods.step.targets import Targets, reachable, share
from stepladder.table.feasible import Feasible
from stepladder.table.space import Floats

Indices = NDArray[np.intp]

NEAREST = 2
"""How many of the nearest positives of each path are candidates themselves."""


@dataclass(frozen=True, eq=False)
class Led:
    """Where the directions of n people lead, k paths each."""

    each: Feasible
    """for each path, the set of the person whose it is"""
    targets: Targets
    trail: Trail
    slots: int


def led(question: Question, people: Indices, reference: Reference, search: Search) -> Led:
    """Where the directions of some people lead."""
    feasible = question.feasible.take(people)
    return _followed(question, people, reference, search, _targets(feasible, question, reference))


def to_clusters(question: Question, reference: Reference, search: Search) -> Led:
    """Where everybody's directions to each cluster lead: nothing is shared, or put together."""
    people, pace = np.arange(len(question.feasible)), question.pace
    targets = reachable(question.feasible, reference, question.scorer, pace)
    return _followed(question, people, reference, search, targets)


def _followed(
    question: Question, people: Indices, reference: Reference, search: Search, targets: Targets
) -> Led:
    feasible, k = question.feasible.take(people), reference.slots
    each = feasible.take(np.repeat(np.arange(len(people)), k))
    scores = np.repeat(question.scores[people], k)
    trail = search.follow(each, scores, targets, reference, question.scorer, question.pace)
    return Led(each, targets, trail, k)


def candidates(found: Led, judge: Judge, reference: Reference) -> Ends:
    """What directions lead to as candidates; `judge` is about the same people.

    Where the cost is a distance, change is spent where it earns the most score for its distance.
    """
    paths, rows = _arrived(found)
    if judge.cost.kind == "distance":
        rows = _nearer(found, rows, judge, reference)
    which, targets = _nearest(found)
    paths, rows = np.concatenate([paths, which]), np.concatenate([rows, targets])
    return pared(paths // found.slots, rows, judge)


def pared(person: Indices, rows: Floats, judge: Judge) -> Ends:
    """Rows (c, features) that get a yes, and what is left of them when changes are undone.

    Every change that a yes doesn't need is undone in full, in three orders: what saves the most
    distance for what it costs, the dearest first, and the easiest first.
    """
    own = judge.feasible.take(person)
    effort = judge.cost.efforts(own, rows)
    waste = finish.waste(rows, own, judge.cost.weights, judge.scorer)
    cheap = np.where(effort > 0, 1 / np.where(effort > 0, effort, 1.0), 0.0)
    orders, three = np.concatenate([waste, effort, cheap]), np.tile(np.arange(len(rows)), 3)
    left = finish.reset(rows[three], own.take(three), orders, judge.scorer)
    return judge.ends(np.tile(person, 4), np.concatenate([rows, left]))


def _arrived(found: Led) -> tuple[Indices, Floats]:
    """The paths that got to a yes, and their ends (p, features)."""
    done = np.flatnonzero(found.trail.reached)
    rows = [found.trail.values[path][-1:] for path in done]
    return done, np.concatenate([found.each.start[:0], *rows])


def _nearer(found: Led, rows: Floats, judge: Judge, reference: Reference) -> Floats:
    """Nearer ends (p, features) of the paths that got to a yes."""
    paths, scorer = np.flatnonzero(found.trail.reached), judge.scorer
    if not len(paths):
        return rows
    own = found.each.take(paths)
    ends = finish.shortened(found.trail, rows, paths, found.each, scorer)
    ends = refine.refined(ends, rows, paths, found.targets.take(paths), own, reference, scorer)
    return finish.taken_back(ends, own, reference.weights, scorer)


def _nearest(found: Led) -> tuple[Indices, Floats]:
    """The nearest targets of each path: which path each is of, and their rows (t, features)."""
    path, rank = np.nonzero(found.targets.valid)
    firsts = np.arange(len(path)) - np.searchsorted(path, path) < NEAREST
    return path[firsts], found.targets.values[path[firsts], rank[firsts]]


def _targets(feasible: Feasible, question: Question, reference: Reference) -> Targets:
    """Whom each path could lead to; as many as are found in time."""
    count, k = len(feasible), reference.slots
    targets = reachable(feasible, reference, question.scorer, question.pace)
    lost = ~targets.valid.reshape(count, -1).any(axis=1)
    _mix(targets, np.flatnonzero(lost), feasible, question, reference)
    share(targets, k)
    if reference.ranges is not None:
        # Made-up positives have no more to say than rows put together from their values.
        short = np.unique(np.flatnonzero(~targets.valid.any(axis=1)) // k)
        _mix(targets, short, feasible, question, reference)
    return targets


def _mix(
    targets: Targets,
    people: Indices,
    feasible: Feasible,
    question: Question,
    reference: Reference,
) -> None:
    """Give some people's paths without any target one that is put together. In place."""
    slots = reference.slots
    if not len(people):
        return
    try:
        rows, met = mixed(feasible.take(people), reference, question.scorer, question.pace)
    except TimeUpError:
        return
    paths = (people[:, None] * slots + np.arange(slots)).ravel()
    met &= ~targets.valid[paths].any(axis=1)
    paths = paths[met]
    targets.values[paths, 0] = rows[met]
    targets.points[paths, 0] = feasible.space.to_points(rows[met])[:, reference.columns]
    targets.valid[paths, 0] = True
