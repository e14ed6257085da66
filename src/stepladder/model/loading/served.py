"""A model behind an address that speaks the Open Inference Protocol, version 2: JSON over HTTP.

GET  …/v2/models/NAME        what it takes and what it answers
POST …/v2/models/NAME/infer  rows as tensors in, scores as a tensor out

https://github.com/kserve/open-inference-protocol
"""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from http.client import HTTPException
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ModelError
from stepladder.model.loading.tensors import Declared, Declaring, Tensors
from stepladder.table import frames

TIMEOUT = 30.0
"""Seconds that a server may take for one answer."""

PAUSES = 0.5, 2.0
"""Seconds before each new try, when a server is busy or can't be reached."""

BUSY = 429, 502, 503, 504
"""HTTP's status codes for: later, perhaps."""

BATCH = 1024
"""Rows in one request."""

DTYPES = {
    **{f"FP{bits}": f"float{bits}" for bits in (16, 32, 64)},
    **{f"INT{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"UINT{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "BOOL": "bool",
    "BYTES": "object",
}
"""NumPy's names for the protocol's types."""

TYPES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


class Served(Declaring):
    """A function of a frame that asks a server for its scores.

    `output` is the name of the one wanted; None for the first that holds numbers with decimals.
    """

    def __init__(
        self, url: str, declared: list[Declared], output: str | None, parameters: dict[str, str]
    ) -> None:
        super().__init__(url, declared)
        self.output = output
        self.parameters = parameters

    @staticmethod
    def at(address: str) -> Any:
        """The model at `…/v2/models/NAME`; `#output` behind it chooses one of its outputs."""
        url, _, output = address.partition("#")
        url = url.rstrip("/").removesuffix("/infer")
        if "/v2/models/" not in url:
            raise ModelError(
                f"{address!r} isn't the address of a model: expected one such as "
                "https://host/v2/models/name (Open Inference Protocol, version 2)."
            )
        metadata = _json(url)
        inputs, outputs = _tensors(metadata, "inputs", url), _tensors(metadata, "outputs", url)
        names = [each["name"] for each in outputs]
        if output and names and output not in names:
            raise ModelError(f"{url} has no output {output!r}; it has {', '.join(names)}.")
        floats = [each["name"] for each in outputs if _is_float(each)]
        wanted = output or next(iter(floats), None)
        if not inputs:
            return Undeclared(url, wanted)
        return Served(url, [_declared(each, url) for each in inputs], wanted, {})

    def __call__(self, rows: Any) -> NDArray[Any]:
        """The scores (n,) or (n, classes) of a frame."""
        tensors = self.lay_out(rows)
        return np.concatenate([self._asked(part) for part in _parts(tensors)])

    def _asked(self, tensors: Tensors) -> NDArray[Any]:
        content: dict[str, Any] = {"inputs": [_written(*each) for each in tensors.items()]}
        if self.output is not None:
            content["outputs"] = [{"name": self.output}]
        if self.parameters:
            content["parameters"] = self.parameters
        url = self.__qualname__
        count = len(next(iter(tensors.values())))
        return _scores(_json(f"{url}/infer", content), self.output, count, url)


class Undeclared:
    """A served model that doesn't say what it takes: it gets each column by name, as MLServer's
    models take a frame."""

    def __init__(self, url: str, output: str | None) -> None:
        self.__qualname__ = url
        self.output = output

    def __call__(self, rows: Any) -> NDArray[Any]:
        table = frames.read(rows)
        declared = [
            Declared(name, np.dtype(_nearest_to(dtype)), (None, 1))
            for name, dtype in table.schema.items()
        ]
        return Served(self.__qualname__, declared, self.output, {"content_type": "pd"})(rows)


def _nearest_to(dtype: nw.dtypes.DType) -> str:
    if dtype == nw.Boolean:
        return "bool"
    return "float64" if dtype.is_numeric() else "object"


def _tensors(answer: dict[str, Any], which: str, url: str) -> list[dict[str, Any]]:
    """The inputs or outputs that a server lists, each with its name."""
    tensors = answer.get(which) or []
    odd = [
        each
        for each in (tensors if isinstance(tensors, list) else [None])
        if not isinstance(each, dict) or not isinstance(each.get("name"), str)
    ]
    if odd:
        raise ModelError(
            f"{url} doesn't list its {which} as the Open Inference Protocol has it, but says "
            f"{str(tensors)[:80]!r}; expected a list with a name and a datatype for each."
        )
    return list(tensors)


def _is_float(tensor: dict[str, Any]) -> bool:
    return str(tensor.get("datatype")).startswith("FP")


def _declared(given: dict[str, Any], url: str) -> Declared:
    dtype, shape = DTYPES.get(str(given.get("datatype"))), given.get("shape", [])
    is_shape = isinstance(shape, list) and all(type(size) is int for size in shape)
    if dtype is None or not is_shape:
        raise ModelError(f"{url} declares an input that isn't in the protocol: {str(given)[:200]}.")
    sizes = tuple(size if size >= 0 else None for size in shape)
    return Declared(given["name"], np.dtype(dtype), sizes)


def _parts(tensors: Tensors) -> Iterator[Tensors]:
    count = len(next(iter(tensors.values())))
    for start in range(0, count, BATCH):
        yield {name: cells[start : start + BATCH] for name, cells in tensors.items()}


def _written(name: str, cells: NDArray[Any]) -> dict[str, Any]:
    """A tensor as the protocol writes it."""
    text = {"parameters": {"content_type": "str"}} if cells.dtype == object else {}
    tensor = {"name": name, "datatype": TYPES[cells.dtype], "shape": list(cells.shape)}
    return {**tensor, "data": cells.ravel().tolist(), **text}


def _scores(answer: dict[str, Any], output: str | None, count: int, url: str) -> NDArray[Any]:
    """The scores in an answer about `count` rows."""
    outputs = _tensors(answer, "outputs", url)
    fit = [
        each for each in outputs if each["name"] == output or (output is None and _is_float(each))
    ]
    if not fit:
        came = ", ".join(f"{each['name']} ({each.get('datatype')})" for each in outputs)
        raise ModelError(
            f"{url} answered with {came or 'no output'}, which aren't scores. Name the output "
            f"that holds them behind the address, such as {url}#predict_proba."
        )
    try:
        scores = np.asarray(fit[0]["data"], dtype=np.float64).reshape(fit[0]["shape"])
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise ModelError(f"{url} answered with a tensor that isn't one: {error}.") from error
    if not scores.ndim or len(scores) != count:
        raise ModelError(f"{url} answered with the shape {scores.shape} for {count} rows.")
    return scores


# ---- HTTP -------------------------------------------------------------------------------------


def _json(url: str, content: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the server says to a GET, or to a POST of `content`; tried again where it's busy."""
    body = None if content is None else json.dumps(content).encode()
    request = urllib.request.Request(
        url, body, {"Content-Type": "application/json", "Accept": "application/json"}
    )
    why = ""
    for pause in (*PAUSES, None):
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
                return _object(answer.read(), url)
        except urllib.error.HTTPError as error:
            with error:
                why = f"refused, {error.code} {error.reason}{_reason(error)}"
            if error.code not in BUSY:
                break
        except TimeoutError:
            why = f"didn't answer within {TIMEOUT:g} seconds"
        except (OSError, HTTPException) as error:
            why = f"can't be reached: {getattr(error, 'reason', None) or error!r}"
        if pause is not None:
            time.sleep(pause)
    raise ModelError(f"The model at {url} {why.rstrip('.')}.")


def _object(body: bytes, url: str) -> dict[str, Any]:
    try:
        answer = json.loads(body)
    except (RecursionError, ValueError):
        answer = None
    if not isinstance(answer, dict):
        raise ModelError(
            f"{url} didn't answer in JSON as the Open Inference Protocol has it, but with "
            f"{body[:60]!r}."
        )
    return answer


def _reason(error: urllib.error.HTTPError) -> str:
    """What the server says of it, in `error` as the protocol has it, or in plain text."""
    text = error.read(2000).decode(errors="replace").strip()
    try:
        message = json.loads(text)["error"]
    except (LookupError, RecursionError, TypeError, ValueError):
        message = text
    return f": {' '.join(str(message).split())[:300]}" if message else ""
