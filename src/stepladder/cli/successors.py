"""Models that may replace the one that is asked: made here, or read from a folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from stepladder.cli.inputs import names
from stepladder.errors import ModelError, ParameterError

if TYPE_CHECKING:
    import pandas as pd

    from stepladder.cli.inputs import Inputs
    from stepladder.table.space import Space

COUNT = 48
"""How many models are retrained: half to search on, half to state how likely a yes holds."""


def _probability(given: float | None) -> float | None:
    if given is not None and not 0 < given < 1:
        meant = f" Did you mean {given / 100:g}?" if 1 < given < 100 else ""
        raise typer.BadParameter(f"{given:g} isn't a probability above 0 and below 1.{meant}")
    return given


Holds = Annotated[
    float | None,
    typer.Option(
        callback=_probability,
        help="With which probability a path has to hold under a retrained model; with "
        "--retrain-on or --successors.",
    ),
]
RetrainOn = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help=f"The column of --data with the labels that the model was trained on: {COUNT} models "
        "like it are trained on resampled rows, and state how likely paths hold.",
    ),
]
SuccessorsFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A folder of model files that may replace the model, to be asked instead.",
    ),
]


@dataclass(frozen=True)
class Replacements:
    """Where the models come from that may replace the one that is asked, if from anywhere."""

    column: str | None
    folder: Path | None

    @classmethod
    def of(cls, holds: float | None, retrain_on: str | None, folder: Path | None) -> Replacements:
        """What --holds, --retrain-on and --successors say, if they go together."""
        if retrain_on is not None and folder is not None:
            raise typer.BadParameter(
                "--retrain-on makes the models that --successors has; give one of them."
            )
        if holds is not None and retrain_on is None and folder is None:
            raise typer.BadParameter(
                f"--holds {holds:g} takes models that may replace this one: give --retrain-on "
                "COLUMN, the column of --data with the labels, or --successors FOLDER."
            )
        return cls(retrain_on, folder)

    def models(
        self,
        inputs: Inputs,
        space: Space,
        rows: pd.DataFrame,
        *,
        trust: list[str] | None,
        trust_pickle: bool,
        quiet: bool = False,
    ) -> list[Any] | None:
        """The models, once they are made or read; None where none are asked for."""
        if self.folder is not None:
            return _loaded(self.folder, names(trust), trust_pickle)
        return None if self.column is None else _made(self.column, inputs, space, rows, quiet)


def _made(column: str, inputs: Inputs, space: Space, rows: pd.DataFrame, quiet: bool) -> list[Any]:
    from rich.console import Console

    from stepladder.model.retraining import successors
    from stepladder.progress import Bar

    console = Console(stderr=True, highlight=False)
    with (
        inputs.reference.blamed(),
        Bar("models", COUNT, console=console, shown=not quiet) as bar,
    ):
        try:
            return successors(
                inputs.model,
                inputs.without_labels(rows),
                rows[column],
                COUNT,
                progress=lambda done, _: bar.reached(done),
                space=space,
            )
        except ParameterError as error:
            raise ParameterError(f"--retrain-on {column}: {error}") from error


def _loaded(folder: Path, trust: list[str], trust_pickle: bool) -> list[Any]:
    """The models of a folder, in the order of their names."""
    from stepladder.model.loading import load
    from stepladder.model.successors import FEWEST

    if not folder.is_dir():
        raise ModelError(f"There is no folder at {str(folder)!r}, which --successors names.")
    files = sorted(
        file for file in folder.iterdir() if file.is_file() and not file.name.startswith(".")
    )
    if len(files) < FEWEST:
        raise ModelError(
            f"--successors {folder} has {len(files)} model file{'s' * (len(files) != 1)}; expected "
            f"{FEWEST} at least, and {COUNT} are usual. --retrain-on COLUMN makes them, of a model "
            "that can be cloned."
        )
    return [load(file, trust=trust, trust_pickle=trust_pickle) for file in files]
