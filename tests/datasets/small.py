"""A table small enough to check by hand, for what holds for every table."""

from __future__ import annotations

import numpy as np
import pandas as pd

from stepladder.datasets import content
from stepladder.datasets.dataset import Cleaned, Kind, OpenML, Provenance, PublishedTable
from stepladder.table.schema import Schema

COLUMNS: dict[str, Kind] = {"years": "whole", "rate": "number", "job": "text", "paid": "whole"}
ROWS = pd.DataFrame(
    {
        "years": [3, 1, 4, 1, 5, 9, 2, 6, 5, 3],
        "rate": [0.1, np.nan, 2.5, -0.123456789, 0.0, 12345.678, 0.3, 0.7, 1e-9, 2.0],
        "job": ["smith", "clerk", np.nan, "smith", "é", "clerk", "smith", "clerk", "é", "smith"],
        "paid": [1, 0, 1, 1, 0, 1, 0, 0, 1, 1],
    }
)


def _clean(raw: pd.DataFrame) -> Cleaned:
    rows = raw.dropna().reset_index(drop=True)
    labels = rows.pop("paid").to_numpy()
    return Cleaned(rows, labels, Schema.infer(rows, never=["years"]))


def _arrange(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.rename(columns={"class": "paid"})[list(COLUMNS)]


TABLE = PublishedTable(
    name="small",
    columns=COLUMNS,
    checksum=content.checksum(ROWS, COLUMNS),
    provenance=Provenance("Nobody (2026)", "CC0", "https://example.org/small"),
    source=OpenML(1234, _arrange, "the file as it is"),
    clean=_clean,
)
