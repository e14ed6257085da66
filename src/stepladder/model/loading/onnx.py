"""A model in an ONNX file, run by onnxruntime on the CPU."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stepladder.errors import ModelError
from stepladder.model.loading.tensors import Declared, Declaring, Tensors

DTYPES = {
    "tensor(float)": "float32",
    "tensor(double)": "float64",
    "tensor(float16)": "float16",
    "tensor(int64)": "int64",
    "tensor(int32)": "int32",
    "tensor(bool)": "bool",
    "tensor(string)": "object",
}
"""NumPy's names for ONNX's types."""


class Onnx(Declaring):
    """Asked like a scikit-learn model: columns by name where it has an input for each."""

    def __init__(self, name: str, session: Any) -> None:
        super().__init__(name, [_declared(given, name) for given in session.get_inputs()])
        scores = [o.name for o in session.get_outputs() if "float" in o.type or "double" in o.type]
        if not scores:
            raise ModelError(
                f"The model {name} answers with labels only. Export it with its probabilities."
            )
        self.session = session
        self.output = scores[0]

    @classmethod
    def opened(cls, runtime: Any, file: Path) -> Onnx:
        options = runtime.SessionOptions()
        options.log_severity_level = 4  # what goes wrong is raised; it needn't be logged too
        session = runtime.InferenceSession(
            str(file), sess_options=options, providers=["CPUExecutionProvider"]
        )
        return cls(file.name, session)

    def predict_proba(self, rows: Any) -> NDArray[Any]:
        answer = self._run(self.lay_out(rows))
        if isinstance(answer, list):  # for each row a map from class to probability
            return np.array([list(row.values()) for row in answer])
        return np.asarray(answer)

    @property
    def classes_(self) -> list[Any]:
        """The classes by name, where the file keeps them with its probabilities.

        Only an answer tells, so it's asked about a row of zeros.
        """
        made_up = {
            each.name: np.zeros((1, each.width or 1)[: max(1, len(each.shape))], each.dtype)
            for each in self.declared
        }
        try:
            answer = self._run(made_up)
        except Exception as error:  # onnxruntime's own; it may not take such a row
            raise AttributeError("the classes aren't known") from error
        if not isinstance(answer, list):
            raise AttributeError("the classes aren't named")
        return list(answer[0])

    def _run(self, tensors: Tensors) -> Any:
        return self.session.run([self.output], tensors)[0]


def _declared(given: Any, model: str) -> Declared:
    if given.type not in DTYPES:
        raise ModelError(
            f"The model {model} has an input {given.name!r} of {given.type}; expected numbers, "
            "booleans or text."
        )
    shape = tuple(size if isinstance(size, int) else None for size in given.shape)
    return Declared(given.name, np.dtype(DTYPES[given.type]), shape)
