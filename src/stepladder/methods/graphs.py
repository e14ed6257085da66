"""Graphs over data rows, and the nearest ends of every node: what FACE goes by.

No graph is ever held as a dense n×n array. The ε graph isn't held at all: where rows lie close
together it is nearly complete, so its edges are computed block by block whenever they are asked
for. The others have few edges, and are held sparse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.spatial.distance import cdist
from scipy.special import gammaln
from sklearn.neighbors import NearestNeighbors

from stepladder.table.space import Floats, Mask

Indices = NDArray[np.intp]

CELLS = 2**22
"""How many (node, neighbour, end) triples are looked at together."""

OFFSET = 2.024
LONGEST = float(np.exp(OFFSET))
"""The longest edge, 7.57, that `Closeness` doesn't weigh below zero."""

# ---- weights ----------------------------------------------------------------------------------
# FACE weighs an edge by f(density)·length, f being positive and falling. The kNN and the KDE graph
# use f(z) = log(1 + 1/z): it is -log(z) where rows are rare, and doesn't fall below zero where they
# crowd, which a shortest path couldn't bear.


class Weigh(Protocol):
    """How heavy an edge is."""

    def __call__(self, tails: Floats, heads: Floats, lengths: Floats) -> Floats:
        """The weights (e,) of edges from points (e, m) to points (e, m), of lengths (e,) > 0."""


@dataclass(frozen=True)
class Closeness:
    """-log(length) + 2.024: the ε graph's weight as the StEP paper ran it. Long edges are light."""

    def __call__(self, tails: Floats, heads: Floats, lengths: Floats) -> Floats:
        return np.maximum(OFFSET - np.log(lengths), 0.0)  # at `LONGEST`, rounding


@dataclass(frozen=True)
class Sparseness:
    """f(r / length)·length: the kNN graph's weight.

    A ball of radius r holds `neighbours` of the `rows`, if they are spread over a unit cube.
    """

    neighbours: int
    rows: int

    def __call__(self, tails: Floats, heads: Floats, lengths: Floats) -> Floats:
        m = tails.shape[-1]
        log_volume = m / 2 * np.log(np.pi) - gammaln(m / 2 + 1)  # of the unit ball
        radius = np.exp((np.log(self.neighbours / self.rows) - log_volume) / m)
        return np.asarray(np.log1p(lengths / radius) * lengths)


@dataclass(frozen=True, eq=False)
class Rareness:
    """f(the density half-way)·length: the KDE graph's weight.

    The density is that of Gaussians around a sample (s, m) of the rows, as wide as Scott's rule has
    it in a standardised space.
    """

    sample: Floats

    def __call__(self, tails: Floats, heads: Floats, lengths: Floats) -> Floats:
        count, m = self.sample.shape
        width = count ** (-1.0 / (m + 4))
        constant = np.log(count) + m / 2 * np.log(2 * np.pi * width**2)
        own = np.einsum("ij,ij->i", self.sample, self.sample)
        weights, rows = np.empty(len(lengths)), max(1, CELLS // count)
        for start in range(0, len(lengths), rows):
            block = slice(start, start + rows)
            half_way = (tails[block] + heads[block]) / 2
            # -(|a|² - 2ab + |b|²) / 2w², |a|² being added at the end
            exponents = (half_way @ self.sample.T - own / 2) / width**2
            highest = exponents.max(axis=1)
            total = np.log(np.exp(exponents - highest[:, None]).sum(axis=1)) + highest
            total -= np.einsum("ij,ij->i", half_way, half_way) / (2 * width**2)
            weights[block] = np.logaddexp(0.0, constant - total)
        return weights * lengths


# ---- graphs -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class OneWay:
    """The columns (m,) that never fall along an edge, and those that never rise."""

    rising: Mask
    falling: Mask

    def kept(self, tails: Floats, heads: Floats) -> Mask:
        """Which moves from points (…, m) to points (…, m) keep to that; the two broadcast."""
        kept = np.ones(np.broadcast_shapes(tails.shape[:-1], heads.shape[:-1]), dtype=bool)
        for column in np.flatnonzero(self.rising):
            kept &= heads[..., column] >= tails[..., column]
        for column in np.flatnonzero(self.falling):
            kept &= heads[..., column] <= tails[..., column]
        return kept


class Graph(Protocol):
    """Directed edges between n nodes, none of which weighs less than zero."""

    @property
    def size(self) -> int:
        """n"""

    @property
    def degrees(self) -> Indices:
        """(n,) how many edges leave each node at most."""

    @property
    def least(self) -> float:
        """What no edge is lighter than; infinite without edges."""

    def leads_to(self, nodes: Indices) -> Mask:
        """(n,) which nodes may have an edge to one of these."""

    def edges(self, nodes: Indices, among: Indices) -> tuple[Indices, Floats]:
        """The edges that leave b nodes: where to, (b, c) or the same (1, c) for all, and their
        weights (b, c), infinite for no edge. Those to nodes not in `among` may be left out."""


@dataclass(frozen=True, eq=False)
class Within:
    """The ε graph of points (n, m): an edge of weight `Closeness` if 0 < distance ≤ threshold."""

    points: Floats
    threshold: float
    one_way: OneWay

    @property
    def size(self) -> int:
        return len(self.points)

    @property
    def degrees(self) -> Indices:
        return np.full(len(self.points), len(self.points), dtype=np.intp)

    @property
    def least(self) -> float:
        return max(OFFSET - float(np.log(self.threshold)), 0.0)

    def leads_to(self, nodes: Indices) -> Mask:
        return np.ones(len(self.points), dtype=bool)

    def edges(self, nodes: Indices, among: Indices) -> tuple[Indices, Floats]:
        tails, heads = self.points[nodes], self.points[among]
        lengths = cdist(tails, heads)
        joined = (lengths > 0) & (lengths <= self.threshold)
        joined &= self.one_way.kept(tails[:, None], heads[None])
        weights = np.full(lengths.shape, np.inf)
        weights[joined] = Closeness()(tails, heads, lengths[joined])
        return among[None], weights


@dataclass(frozen=True, eq=False)
class Listed:
    """A graph whose few edges are held in a sparse array (n, n)."""

    weights: csr_array

    @classmethod
    def nearby(
        cls, points: Floats, neighbours: int, threshold: float, weigh: Weigh, one_way: OneWay
    ) -> Listed:
        """An edge if one of two points (n, m) is among the nearest of the other, and isn't beyond
        the threshold nor the same point: at most 2·n·neighbours edges."""
        n = len(points)
        count = min(neighbours, n - 1)
        if count < 1:
            return cls(csr_array((n, n)))
        search = NearestNeighbors(n_neighbors=count).fit(points)
        near = search.kneighbors(return_distance=False).astype(np.intp).ravel()
        own = np.repeat(np.arange(n), count)
        pairs = np.unique(np.minimum(own, near) * n + np.maximum(own, near))
        tails, heads = np.divmod(pairs, n)
        lengths = np.linalg.norm(points[tails] - points[heads], axis=1)
        kept = (lengths > 0) & (lengths <= threshold)
        tails, heads, lengths = tails[kept], heads[kept], lengths[kept]
        weights = weigh(points[tails], points[heads], lengths)
        tails, heads = np.concatenate([tails, heads]), np.concatenate([heads, tails])
        on = one_way.kept(points[tails], points[heads])
        weights = np.concatenate([weights, weights])[on]
        return cls(csr_array((weights, (tails[on], heads[on])), shape=(n, n)))

    @property
    def size(self) -> int:
        return int(self.weights.shape[0])

    @property
    def degrees(self) -> Indices:
        return np.asarray(np.diff(self.weights.indptr), dtype=np.intp)

    @property
    def least(self) -> float:
        return float(self.weights.data.min(initial=np.inf))

    def leads_to(self, nodes: Indices) -> Mask:
        there = np.zeros(self.size)
        there[nodes] = 1.0
        return np.asarray(self.weights @ there > 0)

    def edges(self, nodes: Indices, among: Indices) -> tuple[Indices, Floats]:
        starts = self.weights.indptr[nodes]
        counts = self.weights.indptr[nodes + 1] - starts
        offsets = np.arange(counts.max(initial=1))
        there = offsets < counts[:, None]
        at = np.where(there, starts[:, None] + offsets, 0)
        weights = np.where(there, self.weights.data[at], np.inf)
        return self.weights.indices[at].astype(np.intp), weights


# ---- the nearest ends -------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Nearest:
    """The k ends that are nearest to each of n nodes, the nearest first.

    costs  (n, k) the weight of the lightest path there; infinite where there is no such end
    ends   (n, k) the node it ends at, or -1
    """

    costs: Floats
    ends: Indices
    _entries: Indices  # (n, k) where each path is written down below
    _nodes: Indices  # (entries,) the node a path starts at
    _nexts: Indices  # (entries,) the entry of the rest of it, or -1

    def lightest(self, entries: Indices, weights: Floats) -> list[list[int]]:
        """The lightest paths of somebody who is joined to the nodes `entries` by edges of `weights`
        (e,): to k different ends at most, each given by the nodes it goes by.

        Their k nearest ends are among the k nearest of those nodes, so this is what Dijkstra from
        where they stand would find.
        """
        k = self.costs.shape[1]
        totals = (weights[:, None] + self.costs[entries]).ravel()
        paths: dict[int, list[int]] = {}
        for index in totals.argsort(kind="stable"):
            if len(paths) == k or not np.isfinite(totals[index]):
                break
            node, rank = int(entries[index // k]), int(index % k)
            end = int(self.ends[node, rank])
            if end not in paths:
                paths[end] = self.path(node, rank)
        return list(paths.values())

    def path(self, node: int, rank: int) -> list[int]:
        """The nodes from `node` to its end number `rank`, both included."""
        entry, nodes = int(self._entries[node, rank]), []
        while entry >= 0:
            nodes.append(int(self._nodes[entry]))
            entry = int(self._nexts[entry])
        return nodes


def nearest_ends(graph: Graph, ends: Mask, k: int) -> Nearest:
    """The k different ends with the lightest paths from each node, among those in the mask (n,).

    What Dijkstra from every single node would find, but found for all nodes together: in round h,
    each node learns from its neighbours the best paths of at most h edges. A node is settled once
    its k paths weigh no more than h + 1 of the lightest edges, so where ends are near it takes
    part in few rounds. Time: that of the edges, k times a round; memory: n·k and `CELLS`.
    """
    n, sources, degrees = graph.size, np.flatnonzero(ends), graph.degrees
    costs = np.full((n, k), np.inf)
    found, entries = np.full((n, k), -1, dtype=np.intp), np.full((n, k), -1, dtype=np.intp)
    costs[sources, 0], found[sources, 0] = 0.0, sources
    entries[sources, 0] = np.arange(len(sources))
    nodes, nexts = [sources], [np.full(len(sources), -1, dtype=np.intp)]
    written, rounds, changed = len(sources), 0, sources
    while len(changed) and np.isfinite(graph.least):
        rounds += 1
        news, moved = changed, np.zeros(n, dtype=bool)
        unsettled = (costs[:, -1] > rounds * graph.least) & graph.leads_to(news)
        for block in _blocks(np.flatnonzero(unsettled), k * degrees):
            heard = _heard(*graph.edges(block, news), costs, found, entries, k)
            own = costs[block], found[block], entries[block]
            cost, end, entry, fresh = _merged(own, heard, k)
            count = int(fresh.sum())
            nodes.append(np.broadcast_to(block[:, None], fresh.shape)[fresh])
            nexts.append(entry[fresh])
            entry[fresh] = written + np.arange(count)
            written += count
            costs[block], found[block], entries[block] = cost, end, entry
            moved[block] = fresh.any(axis=1)
        changed = np.flatnonzero(moved)
    return Nearest(costs, found, entries, np.concatenate(nodes), np.concatenate(nexts))


def _blocks(nodes: Indices, widths: Indices) -> Iterator[Indices]:
    """The nodes in blocks of at most `CELLS` cells (or one node), the widest nodes first.

    A block is a rectangle: as wide as the widest of its nodes.
    """
    nodes = nodes[np.argsort(-widths[nodes], kind="stable")]
    while len(nodes):
        rows = max(1, CELLS // max(1, int(widths[nodes[0]])))
        yield nodes[:rows]
        nodes = nodes[rows:]


Offers = tuple[Floats, Indices, Indices]
"""The costs, ends and entries (b, k) of the best paths of b nodes."""


def _heard(
    to: Indices, weights: Floats, costs: Floats, found: Indices, entries: Indices, k: int
) -> Offers:
    """The best k paths that b nodes hear of from the neighbours `to` (b, c) or (1, c)."""
    if len(to) == 1:  # the same neighbours for all: leave out what none of them knows
        neighbour, slot = np.nonzero(np.isfinite(costs[to[0]]))
        totals = weights[:, neighbour] + costs[to[0][neighbour], slot]
        end, entry = found[to[0][neighbour], slot][None], entries[to[0][neighbour], slot][None]
    else:
        totals = (weights[:, :, None] + costs[to]).reshape(len(weights), -1)
        end, entry = (a[to].reshape(len(to), -1) for a in (found, entries))
    cost, picked = _best(totals, end, k)
    end, entry = (np.broadcast_to(a, totals.shape) for a in (end, entry))
    return cost, np.take_along_axis(end, picked, axis=1), np.take_along_axis(entry, picked, axis=1)


def _merged(own: Offers, heard: Offers, k: int) -> tuple[Floats, Indices, Indices, Mask]:
    """The best k of a node's own paths and those it heard of, and which of them are new to it.

    The entry of a new one is still that of its rest, from the neighbour on.
    """
    costs, ends, entries = (np.concatenate(pair, axis=1) for pair in zip(own, heard, strict=True))
    cost, picked = _best(costs, ends, k)  # its own come first: an equal cost is no news
    end, entry = (np.take_along_axis(a, picked, axis=1) for a in (ends, entries))
    known = np.isfinite(cost)
    fresh = known & (picked >= own[0].shape[1])
    return cost, np.where(known, end, -1), np.where(known, entry, -1), fresh


def _best(costs: Floats, ends: Indices, k: int) -> tuple[Floats, Indices]:
    """The lowest costs (b, k) of k different ends, and where in (b, q) they are.

    `ends` is (b, q), or the same (1, q) for all. Costs are infinite where ends run out.
    """
    left = costs.copy()
    lowest, picked = np.empty((len(costs), k)), np.empty((len(costs), k), dtype=np.intp)
    rows = np.arange(len(costs))
    for rank in range(k):
        picked[:, rank] = left.argmin(axis=1)
        lowest[:, rank] = left[rows, picked[:, rank]]
        chosen = np.broadcast_to(ends, left.shape)[rows, picked[:, rank]]
        if rank < k - 1:
            left[ends == chosen[:, None]] = np.inf
    return lowest, picked
