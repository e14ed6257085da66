"""Parts answered by the workers of a Dask cluster (extra: dask).

Dask does the scheduling: it moves the method to whoever needs it, and answers a part again whose
worker was lost. Parts come back as the bytes of a Parquet file, which this process writes; so
workers need no disk in common, and a part is there once or not at all.
"""

from __future__ import annotations

import importlib
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from stepladder.checks import whole_number
from stepladder.errors import ExtraError, ParameterError, ResultError
from stepladder.methods.base import Method
from stepladder.scale.asked import Asked
from stepladder.scale.people import Part

Question = tuple[Part, Asked]
Answered = tuple[Part, bytes]

AHEAD = 2
"""How many parts wait for each thread of the workers, so that none is ever idle."""

RETRIES = 2
"""How often Dask asks again for a part that raised an error, such as a model that couldn't be
reached; a worker that is lost doesn't count."""

PATIENCE = "10s"
"""How long a scheduler may take to answer."""

LARGE = "10 GB"
"""Up to what size Dask doesn't warn of what is sent: a method may hold many reference rows."""


@contextmanager
def client_of(given: Any, workers: int | None) -> Iterator[Any]:
    """A client of a cluster: the caller's, that of an address, or of new processes; else None."""
    if given is None and workers is None:
        yield None
        return
    distributed = _distributed()
    if given is not None and workers is not None:
        raise ParameterError("client= and workers= each name a cluster; give one of them.")
    if isinstance(given, distributed.Client):
        yield given
    elif workers is not None:
        count = whole_number("workers", workers, 1)
        with (
            distributed.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
    elif isinstance(given, str):
        with _connected(distributed, given) as client:
            yield client
    else:
        raise ParameterError(
            "client must be a distributed.Client, or a scheduler's address such as "
            f"'tcp://10.0.0.5:8786'; got {given!r}."
        )


def _connected(distributed: Any, address: str) -> Any:
    try:
        return distributed.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"No Dask scheduler answers at {address!r}: {error}. Is the address right, and is "
            "`dask scheduler` running there?"
        ) from error


def answered(client: Any, method: Method, questions: Iterator[Question]) -> Iterator[Answered]:
    """Parts with their answers, in the order in which workers finish them.

    No more of them are under way than the workers can take up soon, however many there are.
    """
    distributed, dask = _distributed(), importlib.import_module("dask")
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
        # A task, not scattered data: that is gone with the last worker that holds it, whereas the
        # result of a task is made again.
        held = client.submit(pickle.loads, _pickled(method), pure=False)
        parts: dict[Any, Part] = {}
        under_way = distributed.as_completed()

        def send() -> None:
            room = AHEAD * max(1, sum(client.nthreads().values()))
            while under_way.count() < room and (question := next(questions, None)) is not None:
                part, asked = question
                future = client.submit(_answer, asked, held, part, retries=RETRIES, pure=False)
                parts[future.key] = part
                under_way.add(future)

        try:
            send()
            for future in under_way:
                content = _result(distributed, future, parts[future.key])
                yield parts.pop(future.key), content
                future.release()
                send()
        finally:
            client.cancel([*under_way.futures, held])


def _answer(asked: Asked, method: Method, part: Part) -> bytes:
    return asked.answer(method, part)


def _result(distributed: Any, future: Any, part: Part) -> bytes:
    try:
        content: bytes = future.result()
    except distributed.KilledWorker as error:
        raise ResultError(
            f"Part {part.number} of {len(part.labels):,} people was given up: one worker after the "
            "other died on it, which usually means too little memory. Ask again with a smaller "
            "part_size in a new folder, or with workers that have more memory: finished parts are "
            "kept."
        ) from error
    return content


def _pickled(method: Method) -> bytes:
    dumps = importlib.import_module("distributed.protocol.pickle").dumps
    try:
        pickled: bytes = dumps(method)
    except (AttributeError, TypeError, ValueError, pickle.PicklingError) as error:
        raise ParameterError(
            f"This {type(method).__name__} can't be sent to workers: {error}. Its model, above "
            "all, has to be one that Python can pickle; or leave client and workers out."
        ) from error
    return pickled


def _distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise ExtraError("dask.distributed", "dask", "A cluster") from error
