"""A model from a file, an import path or an address, as `stepladder.model.scorer` takes it.

model.skops             a scikit-learn model, of types that are known to be harmless or trusted
model.onnx              ONNX, run by onnxruntime
model.json, model.ubj   XGBoost's own files
model.txt               LightGBM's own file
module:name             a function of a frame, or a fitted model, that Python can import
https://…/v2/models/m   a model behind the Open Inference Protocol
model.pkl, .joblib      a pickle: only if the caller says that it's trusted

A file is opened as what its name says, so a pickle under another name is never run.

skops.py     which types of a .skops file are harmless
compiled.py  compiled parts of such a model, checked before they're used; trees.py: its trees
onnx.py      an ONNX model; served.py: one behind an address; tensors.py is what both are sent
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from stepladder.errors import ExtraError, ModelError, nearest

IMPORT_PATH = re.compile(r"[^\W\d][\w.]*:[^\W\d][\w.]*")
CLUTTER = re.compile(r"^\[[^]]*\] (: \d+ : \w+ : |\S+:\d+: )")
"""What libraries written in C++ put before what they have to say."""

PICKLES = (".pkl", ".pickle", ".joblib")


def load(source: str | Path, *, trust: Iterable[str] = (), trust_pickle: bool = False) -> Any:
    """The model that `source` names.

    trust         types of a .skops file that are taken though they aren't known to be harmless
    trust_pickle  opens pickles, which run whatever they hold
    """
    name = str(source)
    if name.startswith(("http://", "https://")):
        from stepladder.model.loading.served import Served

        return Served.at(name)
    file = Path(source)
    if IMPORT_PATH.fullmatch(name) and not file.exists():
        return _imported(name)
    suffix = file.suffix.lower()
    if suffix not in READERS and suffix not in PICKLES:
        raise ModelError(
            f"Can't tell what kind of model {name!r} is. Expected a file ending in "
            f"{', '.join([*READERS, *PICKLES])}, an import path such as package.module:name, or "
            "an address such as https://host/v2/models/name."
        )
    if not file.is_file():
        raise ModelError(f"There is no model file at {name!r}.")
    if suffix in PICKLES:
        return _from_pickle(file, trust_pickle)
    kind, reader = READERS[suffix]
    try:
        return reader(file, trust)
    except (ModelError, ExtraError):
        raise
    except Exception as error:  # each library has a tree of errors of its own
        message = CLUTTER.sub("", str(error).strip().split("\n")[0]) or type(error).__name__
        raise ModelError(
            f"{name!r} can't be read as {kind}: {message[:200].rstrip('.')}.{_if_pickle(file)}"
        ) from error


# ---- files ------------------------------------------------------------------------------------


def _from_skops(file: Path, trust: Iterable[str]) -> Any:
    from stepladder.model.loading import skops

    library = _extra("skops.io", "skops", "Reading a .skops model", "models")
    if trust:
        _look_here()
    return skops.read(library, file, trust)


def _from_onnx(file: Path, _: Iterable[str]) -> Any:
    from stepladder.model.loading.onnx import Onnx

    runtime = _extra("onnxruntime", "onnxruntime", "Reading an .onnx model", "models")
    return Onnx.opened(runtime, file)


def _from_xgboost(file: Path, _: Iterable[str]) -> Any:
    xgboost = _extra("xgboost", "xgboost", "Reading an XGBoost model")
    if _head(file)[:1] != b"{":
        raise ValueError("it doesn't begin as one does")
    return xgboost.Booster(model_file=str(file))


def _from_lightgbm(file: Path, _: Iterable[str]) -> Any:
    lightgbm = _extra("lightgbm", "lightgbm", "Reading a LightGBM model")
    if not _head(file).startswith(b"tree"):  # LightGBM itself would also write to the terminal
        raise ValueError("it doesn't begin as one does")
    return lightgbm.Booster(model_file=str(file))


READERS: dict[str, tuple[str, Callable[[Path, Iterable[str]], Any]]] = {
    ".skops": ("a skops model", _from_skops),
    ".onnx": ("an ONNX model", _from_onnx),
    ".json": ("an XGBoost model", _from_xgboost),
    ".ubj": ("an XGBoost model", _from_xgboost),
    ".txt": ("a LightGBM model", _from_lightgbm),
}
"""What a file of each ending is, and how it's read."""


def _from_pickle(file: Path, trusted: bool) -> Any:
    if not trusted:
        raise ModelError(
            f"{str(file)!r} is a pickle, and opening a pickle runs whatever program it holds, so "
            "it wasn't opened. Save the model with skops or as ONNX; or, if you made the file "
            "yourself, say so with --trust-pickle (trust_pickle=True)."
        )
    joblib = importlib.import_module("joblib")  # scikit-learn needs it anyway
    try:
        return joblib.load(file)
    except Exception as error:
        raise ModelError(
            f"{str(file)!r} can't be unpickled: {type(error).__name__}: {error}. It needs the "
            "libraries, and best the versions, that it was saved with."
        ) from error


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(16)


def _if_pickle(file: Path) -> str:
    head = _head(file)
    if len(head) > 1 and head[0] == 0x80 and head[1] <= 5:  # how every modern pickle begins
        return " It holds a pickle, which can run any program, so it wasn't opened as one."
    return ""


def _extra(module: str, package: str, purpose: str, extra: str | None = None) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ExtraError(package, extra, purpose) from error


# ---- import paths -----------------------------------------------------------------------------


def _look_here() -> None:
    """Modules of the current folder can be imported, as for a script."""
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())


def _imported(path: str) -> Any:
    """What `module:name` names."""
    module, _, name = path.partition(":")
    _look_here()
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:  # a module may raise anything
        raise ModelError(
            f"The module {module!r} of the model {path!r} can't be imported: "
            f"{type(error).__name__}: {error}. It's looked for in this folder and among the "
            "installed packages."
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ModelError(
                f"{module!r} has no {part!r}, which the model {path!r} names."
                f"{nearest(part, [known for known in dir(found) if known[:1] != '_'])}"
            )
        found = getattr(found, part)
    if isinstance(found, type) or not (callable(found) or hasattr(found, "predict")):
        raise ModelError(
            f"{path!r} is a {type(found).__name__}; expected a function of a frame that returns "
            "one score per row, or a fitted model."
        )
    return found
