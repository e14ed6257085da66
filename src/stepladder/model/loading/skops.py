"""A scikit-learn model from a .skops file, of types that are known to be harmless.

skops makes an object of whatever class a file names, and gives it whatever state the file holds;
it looks up functions by name. So a file is as harmless as the names in it. skops knows the
estimators, NumPy's arrays and ufuncs, and lists every other name; what is taken of that list:

- scikit-learn's own classes that are written in Python. They are made without calling `__init__`,
  and their state is set as attributes, so nothing runs. Left out are modules that do more than
  compute: see `DOING_MORE`.
- scikit-learn's public metrics and feature scores, which searches and selectors keep and which only
  compute.
- A few others, each with its reason in `OTHERS`.

A name is taken for one way of making it only (skops calls it a loader), so that a class which is
harmless as an object isn't also called as a function, nor given a state that it has no use for.

Of what is compiled, numbers may say where to read next, and are followed unchecked. Such types are
taken if `trees` and `compiled` check them, and otherwise only if the caller trusts them by name.
"""

from __future__ import annotations

import importlib
import json
import sys
import zipfile
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any

from stepladder.errors import ModelError, listing

OTHERS: Mapping[str, str] = {
    # What a number is, saved as an empty array of it: imputers and discretizers keep one.
    "numpy.dtype": "DTypeNode",
    # Gradient boosting on a category dtype keeps `check_array` with its settings. A partial calls
    # nothing but a function that has been found harmless itself.
    "functools.partial": "PartialNode",
    "sklearn.utils.validation.check_array": "FunctionNode",
    # Tables of nodes, which `trees` looks through.
    "sklearn.tree._tree.Tree": "TreeNode",
    # What a nearest-neighbour model looks its rows up in, which `compiled` looks through.
    "sklearn.neighbors._kd_tree.KDTree": "ObjectNode",
    "sklearn.neighbors._ball_tree.BallTree": "ObjectNode",
    # Sparse matrices, whose format `compiled` checks: models made on sparse columns keep them.
    "scipy.sparse._csr.csr_matrix": "SparseMatrixNode",
    "scipy.sparse._csr.csr_array": "SparseMatrixNode",
    "scipy.sparse._csc.csc_matrix": "SparseMatrixNode",
    "scipy.sparse._csc.csc_array": "SparseMatrixNode",
    # Distances that hold no table whose size would have to fit the rows.
    "sklearn.metrics._dist_metrics.EuclideanDistance64": "ObjectNode",
    "sklearn.metrics._dist_metrics.ManhattanDistance64": "ObjectNode",
    "sklearn.metrics._dist_metrics.ChebyshevDistance64": "ObjectNode",
}
"""Names beyond Python classes of scikit-learn's own, and the loader that each is taken with."""

DOING_MORE = frozenset(
    {
        *("tests", "conftest", "_testing", "_mocking", "estimator_checks"),  # run and write
        *("datasets", "externals"),  # fetch and read files; others' code
        *("parallel", "callback"),  # call what they hold, in other processes
    }
)
"""Parts of module names under which scikit-learn does more than compute."""

SCORES = ("sklearn.metrics", "sklearn.feature_selection")
"""Modules whose public functions only compute."""


def read(skops: Any, file: Path, trust: Iterable[str] = ()) -> Any:
    """The model in a file; `trust` names types that are taken though they aren't known."""
    types: list[str] = skops.get_untrusted_types(file=file)
    loaders, trusted = _loaders(file), {trust} if isinstance(trust, str) else set(trust)
    unknown = [name for name in types if name not in trusted and not _is_taken(name, loaders[name])]
    if unknown:
        options = " ".join(f"--trust {name}" for name in unknown)
        raise ModelError(
            f"{str(file)!r} holds types that aren't known to be harmless: "
            f"{listing(unknown, most=len(unknown))}. If you know where it comes from, say so with "
            f"{options} (trust={unknown!r} in Python)."
        )
    from stepladder.model.loading import compiled, trees

    model = skops.load(file, trusted=types)
    if not trees.are_sound(model):
        raise ModelError(
            f"{str(file)!r} holds a damaged tree: a node names others or a feature that aren't "
            "there, and following it could crash Python. Save the model again."
        )
    if damaged := compiled.damaged(model):
        raise ModelError(
            f"{str(file)!r} holds a damaged {damaged}: its parts don't fit together, so using it "
            "could crash Python. Save the model again."
        )
    return model


def _loaders(file: Path) -> Mapping[str, set[str]]:
    """In which ways a file wants an object of each name to be made."""
    with zipfile.ZipFile(file) as opened:
        waiting: list[Any] = [json.loads(opened.read("schema.json"))]
    found = defaultdict[str, set[str]](set)
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if isinstance(loader := part.get("__loader__"), str):
                found[f"{part.get('__module__')}.{part.get('__class__')}"].add(loader)
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part
    return found


def _is_taken(name: str, loaders: set[str]) -> bool:
    """Whether a name is known to be harmless in each way that a file wants it made."""
    expected = OTHERS.get(name) or _loader_of_own(name)
    return expected is not None and loaders == {expected}


def _loader_of_own(name: str) -> str | None:
    """The loader that a class or function of scikit-learn's is taken with; None if it isn't."""
    module, _, own = name.rpartition(".")
    parts = module.split(".")
    if parts[0] != "sklearn" or DOING_MORE.intersection(parts):
        return None
    try:
        found = getattr(importlib.import_module(module), own, None)
    except ImportError:
        return None
    if getattr(found, "__module__", None) != module or getattr(found, "__name__", None) != own:
        return None
    if isinstance(found, FunctionType):
        return "FunctionNode" if _is_score(found) else None
    if not isinstance(found, type) or not all(map(_is_python, found.__mro__)):
        return None
    if issubclass(found, dict):
        return "DictNode"
    return "TupleNode" if issubclass(found, tuple) else "ObjectNode"


def _is_score(function: FunctionType) -> bool:
    homes = [importlib.import_module(home) for home in SCORES]
    return any(
        function.__name__ in home.__all__ and getattr(home, function.__name__) is function
        for home in homes
    )


def _is_python(kind: type) -> bool:
    """Whether a class is written in Python, or is one of Python's own."""
    if kind.__module__ == "builtins":
        return True
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return file is not None and file.endswith(".py")
