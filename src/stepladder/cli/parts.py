"""`stepladder recourse --to FOLDER`: people in parts, here or on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    import pandas as pd

    from stepladder.cli.inputs import Inputs
    from stepladder.cli.limits import LimitsFile
    from stepladder.cli.recourse import Run as Counts
    from stepladder.scale.run import Run
    from stepladder.table.space import Space

To = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        help="A folder for results in Parquet parts, instead of --out: a run that was stopped goes "
        "on there.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS", help="A Dask scheduler, whose workers answer the parts of --to."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(min=1, help="Instead: this many processes of this machine answer them."),
]


def check_parts(
    to: Path | None,
    out: Path | None,
    scheduler: str | None,
    workers: int | None,
    time_budget: float | None,
    *,
    private: bool,
    bought: Path | None,
) -> None:
    """Refuse options that don't go together."""
    if to is None:
        for option, given in (("--scheduler", scheduler), ("--workers", workers)):
            if given is not None:
                raise typer.BadParameter(f"{option} answers parts: name a folder for them, --to.")
        return
    if out is not None:
        raise typer.BadParameter("Results go to a file, --out, or to a folder, --to; give one.")
    if scheduler is not None and workers is not None:
        raise typer.BadParameter("--scheduler and --workers each name a cluster; give one.")
    if time_budget is not None:
        raise typer.BadParameter(
            "--time-budget doesn't go with --to: stop it whenever you like, and it goes on later."
        )
    if private and bought is None:
        raise typer.BadParameter(
            "--to with a privacy budget needs --bought FILE: a run that goes on later would pay "
            "again."
        )


class Parts:
    """The people of a command, in parts for a folder."""

    def __init__(
        self,
        to: Path,
        inputs: Inputs,
        space: Space,
        identity: str | None,
        limit: int | None,
        limits: LimitsFile | None,
    ) -> None:
        from stepladder.scale.people import BatchPeople, Survey
        from stepladder.scale.run import PART

        self.size = PART
        self._to, self._limits = to, limits
        self._survey = Survey(space)
        self._own_limits: list[pd.DataFrame] = []
        self._people = BatchPeople(
            lambda: inputs.people(space, identity, limit, PART), inputs.set_aside(identity)
        )

    def look(self, people: pd.DataFrame) -> None:
        """Look at some people before anybody is answered."""
        from stepladder.scale.people import Part

        self._survey.add(Part(self._survey.parts, people, people.index.to_numpy()))
        if self._limits is not None:
            self._own_limits.append(self._limits.of(people))

    def run(self, counts: Counts) -> Run:
        """The run over them, once the method is fitted."""
        import pandas as pd

        from stepladder.scale.asked import Asked
        from stepladder.scale.run import Run

        limits: Any = pd.concat(self._own_limits) if self._own_limits else None
        asked = Asked(
            counts.locked,
            limits,
            "raise" if counts.invalid == "raise" else "outcome",
            counts.set_aside,
            counts.fingerprints,
        )
        return Run(counts.method, self._people, self._survey, asked, self.size, self._to)
