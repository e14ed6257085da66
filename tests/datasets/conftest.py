"""Every test here has a cache of its own and no network; real tables are asked for by name."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from tests.datasets import small as small_table

from stepladder import datasets
from stepladder.datasets import download

NAMED = os.environ.get("STEPLADDER_DATA")
FOLDER = Path(NAMED) if NAMED else Path(__file__).parents[3] / "shared" / "data"


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("STEPLADDER_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(download, "SERVER", "http://127.0.0.1:9/")  # nobody listens there


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The user cache, on every platform alike; it isn't there yet."""
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path / "cache" / "stepladder"


@pytest.fixture(scope="session")
def real() -> Path:
    """The folder of the real tables."""
    if not FOLDER.is_dir():
        pytest.skip(f"the tables aren't at {FOLDER}; STEPLADDER_DATA says where they are")
    return FOLDER


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> pd.DataFrame:
    """The table `small`, known to `load`; as it was published."""
    monkeypatch.setitem(datasets._TABLES, "small", small_table.TABLE)
    return small_table.ROWS.copy()


@pytest.fixture
def openml(monkeypatch: pytest.MonkeyPatch) -> Callable[[int, pd.DataFrame], list[int]]:
    """Make OpenML hold one data set. Returns the list of what was asked for."""

    def hold(data_id: int, frame: pd.DataFrame) -> list[int]:
        asked: list[int] = []
        text = frame.to_csv(index=False, na_rep="?")

        def fetch_openml(*, data_id: int, as_frame: bool, read_csv_kwargs, **_: object):
            asked.append(data_id)
            assert data_id == held
            assert as_frame
            read = pd.read_csv(
                io.StringIO(text), na_values=["?"], keep_default_na=False, **read_csv_kwargs
            )
            return SimpleNamespace(frame=read)

        held = data_id
        monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
        monkeypatch.setattr(download, "_knock", lambda: None)
        return asked

    return hold
