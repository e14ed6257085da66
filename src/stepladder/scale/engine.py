"""Where work on shards is done: here, one after the other, or by the workers of a cluster.

Either way what is joined is joined by the same tree, so sums are rounded alike.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from stepladder.errors import ParameterError
from stepladder.scale.dask import RETRIES, distributed, held_by


class Engine(ABC):
    """Does work on shards. `shared` is what all of them need beside their own."""

    @abstractmethod
    def joined(
        self,
        work: Callable[[Any, Any], Any],
        shards: Sequence[Any],
        shared: Any,
        join: Callable[[Any, Any], Any],
    ) -> Any:
        """What work makes of all shards, joined in pairs of neighbours, and those again."""

    @abstractmethod
    def chained(self, work: Callable[[Any, Any], Any], shards: Sequence[Any], begin: Any) -> Any:
        """What work makes of the shards in turn, each beginning with what the last one left."""


class Here(Engine):
    """In this process, with one shard in memory at a time."""

    def joined(
        self,
        work: Callable[[Any, Any], Any],
        shards: Sequence[Any],
        shared: Any,
        join: Callable[[Any, Any], Any],
    ) -> Any:
        if len(shards) == 1:
            return work(shards[0], shared)
        left = 1 << (len(shards) - 1).bit_length() - 1  # as pairs of neighbours come out
        return join(
            self.joined(work, shards[:left], shared, join),
            self.joined(work, shards[left:], shared, join),
        )

    def chained(self, work: Callable[[Any, Any], Any], shards: Sequence[Any], begin: Any) -> Any:
        for shard in shards:
            begin = work(shard, begin)
        return begin


class Cluster(Engine):
    """By the workers of a Dask client, which have to reach the files of the shards."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def joined(
        self,
        work: Callable[[Any, Any], Any],
        shards: Sequence[Any],
        shared: Any,
        join: Callable[[Any, Any], Any],
    ) -> Any:
        with held_by(self._client, shared) as held:
            found = [self._task(work, shard, held) for shard in shards]
            while len(found) > 1:
                pairs = [found[i : i + 2] for i in range(0, len(found), 2)]
                found = [self._task(join, *pair) if len(pair) == 2 else pair[0] for pair in pairs]
            return found[0].result()

    def chained(self, work: Callable[[Any, Any], Any], shards: Sequence[Any], begin: Any) -> Any:
        with held_by(self._client, begin) as held:
            state = held
            for shard in shards:
                state = self._task(work, shard, state)
            return state.result()

    def _task(self, work: Callable[..., Any], *of: Any) -> Any:
        return self._client.submit(work, *of, retries=RETRIES, pure=False)


def engine_of(client: Any) -> Engine:
    """This process, or the workers of the caller's client."""
    if client is None:
        return Here()
    if not isinstance(client, distributed().Client):
        raise ParameterError(
            "client must be a distributed.Client, which the method keeps using; for example "
            f"distributed.Client('tcp://10.0.0.5:8786'). Got {client!r}."
        )
    return Cluster(client)
