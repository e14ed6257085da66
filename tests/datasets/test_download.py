"""A table that no folder has is downloaded, checked and kept; or it's said what to do instead."""

from __future__ import annotations

import hashlib
import io
import json
import socket
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pandas as pd
import pytest

from stepladder import datasets
from stepladder.datasets import download
from stepladder.errors import DatasetError, ExtraError


@pytest.fixture
def theirs(small: pd.DataFrame) -> pd.DataFrame:
    """The small table as OpenML has it."""
    return small.rename(columns={"paid": "class"})


def test_a_download_is_kept_and_not_asked_for_again(theirs, openml, cache):
    asked = openml(1234, theirs)
    first, second = datasets.load("small"), datasets.load("small")
    assert asked == [1234]
    assert first.provenance.read_from == "OpenML data set 1234"
    assert second.provenance.read_from == str(cache / "small.csv.gz")
    pd.testing.assert_frame_equal(first.rows, second.rows, check_exact=True)


def test_a_download_of_something_else_is_refused_and_not_kept(theirs, openml, cache):
    openml(1234, theirs.iloc[1:])
    with pytest.raises(DatasetError) as caught:
        datasets.load("small")
    assert str(caught.value).startswith("OpenML data set 1234 isn't the table 'small', or its rows")
    assert "Put small.csv, small.csv.gz or small.parquet in one of: " in str(caught.value)
    assert not cache.exists()


def test_other_columns_at_openml_are_named(theirs, openml):
    openml(1234, theirs.drop(columns="rate"))
    with pytest.raises(DatasetError, match=r"isn't the table 'small' any more: .*'years', 'job'"):
        datasets.load("small")


def test_a_bar_moves_while_a_table_is_downloaded(theirs, openml, monkeypatch, capsys):
    pytest.importorskip("rich")
    monkeypatch.setenv("FORCE_COLOR", "1")  # as in a terminal
    openml(1234, theirs)
    datasets.load("small", progress=True)
    assert "Downloading small from OpenML" in capsys.readouterr().out


def test_nothing_is_printed_unless_asked_for(theirs, openml, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    openml(1234, theirs)
    datasets.load("small")
    assert capsys.readouterr() == ("", "")


def test_a_bar_without_rich_is_answered_with_the_extra(theirs, openml, monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    openml(1234, theirs)
    with pytest.raises(ExtraError, match="progress=True needs rich"):
        datasets.load("small", progress=True)


# ---- without a network --------------------------------------------------------------------------


@pytest.mark.usefixtures("small")
def test_without_a_network_the_error_says_what_to_put_where(tmp_path, cache):
    started = time.monotonic()
    with pytest.raises(DatasetError) as caught:
        datasets.load("small", tmp_path)
    assert time.monotonic() - started < 5
    assert isinstance(caught.value.__cause__, OSError)
    message = str(caught.value)
    assert message.startswith(
        "The table 'small' is in none of the folders looked in, and OpenML data set 1234 can't be "
        "downloaded: "
    )
    assert message.endswith(
        f" Put small.csv, small.csv.gz or small.parquet in one of: data_dir ({tmp_path}); "
        f"STEPLADDER_DATA (not set); the user cache ({cache}, which isn't there yet). It holds the "
        "columns 'years', 'rate', 'job', 'paid': the file as it is, from https://example.org/small"
    )


@pytest.mark.usefixtures("small")
def test_a_server_that_never_answers_is_given_up(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setattr(download, "SERVER", f"http://127.0.0.1:{silent.getsockname()[1]}/")
        monkeypatch.setattr(download, "SECONDS", 0.2)
        started = time.monotonic()
        with pytest.raises(DatasetError, match=r"can't be downloaded: .*timed out"):
            datasets.load("small")
        assert time.monotonic() - started < 2


class Refusing(BaseHTTPRequestHandler):
    def do_HEAD(self) -> None:
        self.send_response(405)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.fixture
def server() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Refusing) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/"
        running.shutdown()
        thread.join()


def test_a_server_that_answers_anything_is_there(theirs, openml, monkeypatch, server):
    knock = download._knock
    asked = openml(1234, theirs)
    monkeypatch.setattr(download, "_knock", knock)
    monkeypatch.setattr(download, "SERVER", server)
    datasets.load("small")
    assert asked == [1234]


def test_a_refusal_of_openml_is_said(theirs, openml, monkeypatch):
    openml(1234, theirs)

    def refuses(**_: object) -> None:
        raise ValueError("Dataset with data_id 1234 not found.")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuses)
    with pytest.raises(DatasetError, match=r"can't be downloaded: Dataset with data_id 1234 not"):
        datasets.load("small")


# ---- through scikit-learn itself ----------------------------------------------------------------


class Answer(io.BytesIO):
    def info(self) -> dict[str, str]:
        return {}


def test_scikit_learn_reads_an_arff_file_as_we_ask_it_to(small, monkeypatch):
    """Nominal numbers, quoted texts and gaps included; only the network is a stand-in."""
    nominal = {"job": "{'smith',clerk,é}", "class": "{0,1}"}
    frame = small.rename(columns={"paid": "class"})
    lines = frame.to_csv(index=False, header=False, na_rep="?").replace("smith", "'smith'")
    heads = [f"@ATTRIBUTE {name} {nominal.get(name, 'NUMERIC')}" for name in frame]
    arff = "\n".join(["@RELATION small", *heads, "@DATA", lines]).encode()
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": "nominal" if name in nominal else "numeric",
            "is_target": str(name == "class").lower(),
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": str(frame[name].isna().sum()),
        }
        for i, name in enumerate(frame)
    ]
    described = {
        "status": "active",
        "version": "1",
        "name": "small",
        "description": "",
        "format": "ARFF",
        "file_id": "1",
        "url": "https://www.openml.org/data/v1/download/1/small.arff",
        "md5_checksum": hashlib.md5(arff).hexdigest(),
    }
    answers = {
        "https://www.openml.org/api/v1/json/data/1234": {"data_set_description": described},
        "https://www.openml.org/api/v1/json/data/features/1234": {
            "data_features": {"feature": features}
        },
        "https://www.openml.org/api/v1/json/data/qualities/1234": {
            "data_qualities": {"quality": [{"name": "NumberOfInstances", "value": str(len(frame))}]}
        },
    }

    def urlopen(request, *_: object, **__: object) -> Answer:
        if request.full_url == described["url"]:
            return Answer(arff)
        return Answer(json.dumps(answers[request.full_url]).encode())

    monkeypatch.setattr("sklearn.datasets._openml.urlopen", urlopen)
    monkeypatch.setattr(download, "_knock", lambda: None)
    loaded = datasets.load("small")
    expected = small.dropna().reset_index(drop=True).drop(columns="paid")
    pd.testing.assert_frame_equal(loaded.rows, expected, check_exact=True)
