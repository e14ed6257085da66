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
    library = distributed()
    if given is not None and workers is not None:
        raise ParameterError("client= and workers= each name a cluster; give one of them.")
    if isinstance(given, library.Client):
        yield given
    elif workers is not None:
        count = whole_number("workers", workers, 1)
        with (
            library.LocalCluster(
                n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            library.Client(cluster) as client,
        ):
            yield client
    elif isinstance(given, str):
        with _connected(library, given) as client:
            yield client
    else:
        raise ParameterError(
            "client must be a distributed.Client, or a scheduler's address such as "
            f"'tcp://10.0.0.5:8786'; got {given!r}."
        )


def _connected(library: Any, address: str) -> Any:
    try:
        return library.Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise ParameterError(
            f"No Dask scheduler answers at {address!r}: {error}. Is the address right, and is "
            "`dask scheduler` running there?"
        ) from error


@contextmanager
def held_by(client: Any, what: Any) -> Iterator[Any]:
    """Something that all workers can have, as a future, until it's no longer needed.

    It's the result of a task, not scattered data: that would be gone with the last worker that
    holds it, whereas the result of a task is made again.
    """
    config = importlib.import_module("dask").config
    with config.set({"distributed.admin.large-graph-warning-threshold": LARGE}):
        held = client.submit(pickle.loads, _pickled(what), pure=False)
    try:
        yield held
    finally:
        held.release()


def answered(client: Any, method: Method, questions: Iterator[Question]) -> Iterator[Answered]:
    """Parts with their answers, in the order in which workers finish them.

    No more of them are under way than the workers can take up soon, however many there are.
    """
    library = distributed()
    parts: dict[Any, Part] = {}
    under_way = library.as_completed()
    with held_by(client, method) as held:

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
                content = _result(library, future, parts[future.key])
                yield parts.pop(future.key), content
                future.release()
                send()
        finally:
            client.cancel(list(under_way.futures))


def _answer(asked: Asked, method: Method, part: Part) -> bytes:
    return asked.answer(method, part)


def _result(library: Any, future: Any, part: Part) -> bytes:
    try:
        content: bytes = future.result()
    except library.KilledWorker as error:
        raise ResultError(
            f"Part {part.number} of {len(part.labels):,} people was given up: one worker after the "
            "other died on it, which usually means too little memory. Ask again with a smaller "
            "part_size in a new folder, or with workers that have more memory: finished parts are "
            "kept."
        ) from error
    return content


def _pickled(what: Any) -> bytes:
    dumps = importlib.import_module("distributed.protocol.pickle").dumps
    try:
        pickled: bytes = dumps(what)
    except (AttributeError, TypeError, ValueError, pickle.PicklingError) as error:
        raise ParameterError(
            f"This {type(what).__name__} can't be sent to workers: {error}. Its model, above "
            "all, has to be one that Python can pickle; or leave client and workers out."
        ) from error
    return pickled


def distributed() -> Any:
    try:
        return importlib.import_module("distributed")
    except ImportError as error:
        raise ExtraError("dask.distributed", "dask", "A cluster") from error
