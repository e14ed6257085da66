"""Every method by its name, loaded only when it's asked for.

A name with `.published` behind it is that method exactly as the paper ran it. Somebody else's
method goes by where Python finds it: `package.module:Class`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from typing import Any

from stepladder.errors import ParameterError, listing, nearest
from stepladder.methods.base import Method

WHERE = {
    "step": ("stepladder.methods.step", "StEP"),
    "dice": ("stepladder.methods.dice", "DiCE"),
    "face": ("stepladder.methods.face", "FACE"),
    "cchvae": ("stepladder.methods.cchvae", "CCHVAE"),
    "mim": ("stepladder.methods.mim", "MIM"),
}
"""The module and class of each family of methods."""

AS_PUBLISHED = ".published"

UNPUBLISHED = ("mim",)
"""Methods that have no version of their own for the paper's experiments."""

NAMES = (*WHERE, *(name + AS_PUBLISHED for name in WHERE if name not in UNPUBLISHED))
"""What `make` knows."""


def make(name: str, settings: Mapping[str, Any] | None = None) -> Method:
    """The method of that name with these hyper-parameters.

    >>> make("step.published", {"paths": 2})
    StEP.published(paths=2)
    """
    maker = _imported(name) if ":" in name else _maker(name)
    known = list(signature(maker).parameters)
    for setting in settings or {}:
        if setting not in known:
            raise ParameterError(
                f"{name} has no setting {setting!r}.{nearest(setting, known)} "
                f"It has {listing(known, most=20)}."
            )
    made: Method = maker(**(settings or {}))
    return made


def _maker(name: str) -> Any:
    """What makes one of our own methods."""
    if name not in NAMES:
        raise ParameterError(
            f"There's no method {name!r}.{nearest(name, NAMES)} There are "
            f"{listing(NAMES, most=9)}, or give the import path of one: package.module:Class."
        )
    module, title = WHERE[name.removesuffix(AS_PUBLISHED)]
    method = getattr(import_module(module), title)
    return method.published if name.endswith(AS_PUBLISHED) else method


def _imported(path: str) -> type[Method]:
    """The class that `module:Class` names."""
    module, _, title = path.partition(":")
    try:
        found = getattr(import_module(module), title)
    except (ImportError, AttributeError, ValueError) as error:
        raise ParameterError(
            f"The method {path!r} can't be imported: {error}. It's looked for among the installed "
            "packages and on PYTHONPATH."
        ) from error
    if not (isinstance(found, type) and issubclass(found, Method)):
        raise ParameterError(f"{path!r} isn't a method: expected a subclass of sl.Method.")
    return found
