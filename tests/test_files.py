"""Files are written whole or not at all."""

from __future__ import annotations

import pytest

from stepladder.errors import ResultError
from stepladder.files import replacing


def test_a_file_takes_its_place_once_it_is_whole(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with replacing(file) as unfinished:
        unfinished.write_text("new")
        assert file.read_text() == "old"
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("a.txt", "new")]


def test_what_goes_wrong_leaves_what_was_there(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")
    with pytest.raises(RuntimeError, match="stop"):
        written_by_half(file)
    assert [(f.name, f.read_text()) for f in tmp_path.iterdir()] == [("a.txt", "old")]


def written_by_half(file):
    with replacing(file) as unfinished:
        unfinished.write_text("half")
        raise RuntimeError("stop")


def test_a_folder_that_is_not_there_is_one_sentence(tmp_path):
    with (
        pytest.raises(ResultError, match=r"Can't save to '.*a\.txt': No such file or directory\."),
        replacing(tmp_path / "nowhere" / "a.txt", "Can't save to") as unfinished,
    ):
        unfinished.write_text("new")
