"""Where tables are looked for, what is read there, and how a download is kept."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from stepladder import datasets
from stepladder.datasets import folders
from stepladder.errors import DatasetError, ExtraError, ParameterError

WRITE = {
    ".csv": lambda frame, file: frame.to_csv(file, index=False),
    ".csv.gz": lambda frame, file: frame.to_csv(file, index=False),
    ".parquet": lambda frame, file: frame.to_parquet(file),
}


def write(frame: pd.DataFrame, folder: Path, ending: str = ".csv") -> str:
    folder.mkdir(parents=True, exist_ok=True)
    WRITE[ending](frame, folder / f"small{ending}")
    return str(folder / f"small{ending}")


def test_all_endings_are_tried_here():
    assert tuple(WRITE) == folders.ENDINGS


@pytest.mark.parametrize("ending", folders.ENDINGS)
def test_each_format_gives_the_same_table(small, tmp_path, ending):
    file = write(small, tmp_path, ending)
    loaded = datasets.load("small", tmp_path)
    expected = small.dropna().reset_index(drop=True).drop(columns="paid")
    pd.testing.assert_frame_equal(loaded.rows, expected, check_exact=True)
    assert loaded.provenance.read_from == file


def test_folders_are_looked_in_in_order(small, tmp_path, monkeypatch, cache):
    given, named = tmp_path / "given", tmp_path / "named"
    files = [write(small, folder) for folder in (given, named, cache)]
    monkeypatch.setenv("STEPLADDER_DATA", str(named))
    for file in files:
        assert datasets.load("small", given).provenance.read_from == file
        Path(file).unlink()
    with pytest.raises(DatasetError, match="in none of the folders"):
        datasets.load("small", given)


def test_within_a_folder_a_plain_csv_comes_first(small, tmp_path):
    packed, plain = write(small, tmp_path, ".csv.gz"), write(small, tmp_path, ".csv")
    assert datasets.load("small", tmp_path).provenance.read_from == plain
    Path(plain).unlink()
    assert datasets.load("small", str(tmp_path)).provenance.read_from == packed


def test_a_wrong_file_is_an_error_even_if_a_later_folder_has_the_right_one(small, tmp_path, cache):
    write(small, cache)
    file = write(small.iloc[1:], tmp_path)
    with pytest.raises(DatasetError) as caught:
        datasets.load("small", tmp_path)
    assert str(caught.value).startswith(f"{file} isn't the table 'small'")
    assert "Replace the file, or remove it" in str(caught.value)


def test_a_wrong_file_in_the_cache_may_go(small, cache):
    write(small.iloc[1:], cache)
    with pytest.raises(DatasetError, match=r"Remove the file, and the table is downloaded again\."):
        datasets.load("small")


def test_a_data_dir_that_is_not_there_is_refused(small, tmp_path):
    with pytest.raises(
        ParameterError, match=r"data_dir must be a folder that exists; got .*nowhere"
    ):
        datasets.load("small", tmp_path / "nowhere")


def test_a_named_folder_that_is_not_there_is_said(small, tmp_path, monkeypatch):
    monkeypatch.setenv("STEPLADDER_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match=r"STEPLADDER_DATA \(.*nowhere, which isn't there yet\)"):
        datasets.load("small")


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet"])
def test_a_file_cut_short_cannot_be_read(small, tmp_path, ending):
    file = Path(write(small, tmp_path, ending))
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    with pytest.raises(DatasetError) as caught:
        datasets.load("small", tmp_path)
    assert str(caught.value).startswith(f"{file} can't be read: ")


def test_an_empty_file_cannot_be_read(small, tmp_path):
    (tmp_path / "small.csv").touch()
    with pytest.raises(DatasetError, match=r"small\.csv can't be read: "):
        datasets.load("small", tmp_path)


def test_parquet_without_pyarrow_is_answered_with_the_extra(small, tmp_path, monkeypatch):
    write(small, tmp_path, ".parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setattr("pandas.read_parquet", _no_engine)
    with pytest.raises(ExtraError, match=r"Reading .*small\.parquet needs pyarrow"):
        datasets.load("small", tmp_path)


def _no_engine(*_: object) -> pd.DataFrame:
    raise ImportError("Unable to find a usable engine")


def test_an_index_that_was_written_is_left_out(small, tmp_path):
    small.to_csv(tmp_path / "small.csv")
    assert len(datasets.load("small", tmp_path)) == 8


def test_spaces_after_commas_and_question_marks_are_read_as_uci_writes_them(small, tmp_path):
    text = small.to_csv(index=False, na_rep="?").replace(",", ", ")
    (tmp_path / "small.csv").write_text(text, encoding="utf-8")
    assert len(datasets.load("small", tmp_path)) == 8


# ---- the cache ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/stepladder"),
        ("linux", {"XDG_CACHE_HOME": "relative"}, "/home/me/.cache/stepladder"),
        ("linux", {"XDG_CACHE_HOME": ""}, "/home/me/.cache/stepladder"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/home/me/Library/Caches/stepladder"),
        ("win32", {"LOCALAPPDATA": "/local"}, "/local/stepladder"),
        ("win32", {}, "/home/me/AppData/Local/stepladder"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the paths are written the other way")
def test_the_cache_is_where_the_platform_keeps_such_things(
    monkeypatch, platform, variables, expected
):
    monkeypatch.setattr("sys.platform", platform)
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert folders.user_cache() == Path(expected)


def test_what_is_kept_is_read_back(small, cache):
    folders.keep(small, cache, "small")
    assert [file.name for file in cache.iterdir()] == ["small.csv.gz"]
    assert datasets.load("small").provenance.read_from == str(cache / "small.csv.gz")


def test_an_interrupted_write_leaves_nothing_behind(small, cache, monkeypatch):
    def interrupted(frame: pd.DataFrame, file: str, **_: object) -> None:
        Path(file).write_text("years,ra")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", interrupted)
    with pytest.raises(KeyboardInterrupt):
        folders.keep(small, cache, "small")
    assert list(cache.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_warned_of(small, tmp_path):
    (tmp_path / "taken").touch()
    with pytest.warns(UserWarning, match="can't be kept in .*taken.*downloaded again next time"):
        folders.keep(small, tmp_path / "taken", "small")
