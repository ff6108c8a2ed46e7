"""Files from a server of our own: fetched once, refused where their checksum differs."""

import hashlib
import os
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mlnlearn.data import fetch as module
from mlnlearn.data.catalog import VARIABLE
from mlnlearn.data.fetch import PUBLIC_GRAPHS, fetch, fetch_graph
from mlnlearn.errors import InputError

CONTENT = b"Anna\tknows\tBob\n"
SUM = hashlib.sha256(CONTENT).hexdigest()


class Quiet(SimpleHTTPRequestHandler):
    asked = 0

    def log_message(self, *arguments):
        type(self).asked += 1


@pytest.fixture
def server(tmp_path):
    folder = tmp_path / "served"
    folder.mkdir()
    (folder / "kg.tsv").write_bytes(CONTENT)
    Quiet.asked = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/kg.tsv"
        running.shutdown()


def test_a_file_is_fetched_once(server, tmp_path):
    for _ in range(2):
        assert fetch(server, SUM, tmp_path / "cache").read_bytes() == CONTENT
    assert Quiet.asked == 1


def test_another_checksum_is_refused_and_nothing_kept(server, tmp_path):
    with pytest.raises(InputError, match="another checksum than 000000000000…"):
        fetch(server, "0" * 64, tmp_path / "cache")
    assert not any((tmp_path / "cache").glob("*"))


def test_without_the_web_it_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match="cannot fetch the file") as caught:
        fetch("http://127.0.0.1:9/kg.tsv", SUM, tmp_path / "cache")
    assert "without the web, put the file into" in str(caught.value)


def test_a_public_graph_is_a_split_of_three_files(server, tmp_path, monkeypatch):
    graphs = {"friends": ((server, SUM),) * 3}
    monkeypatch.setattr(module, "PUBLIC_GRAPHS", graphs)
    with pytest.warns(match="left out"):  # all three parts are the same triple
        assert fetch_graph("Friends", tmp_path / "cache").train.rows() == [("Anna", "knows", "Bob")]
    with pytest.raises(InputError, match="there are: friends; did you mean 'friends'"):
        fetch_graph("freinds", tmp_path / "cache")


@pytest.mark.skipif(VARIABLE not in os.environ, reason="no benchmark data on this machine")
@pytest.mark.parametrize(("name", "folder"), [("umls", "umls_kg"), ("wn18rr", "wn18rr")])
def test_checksums_are_those_of_the_files_that_results_are_of(name, folder):
    for part, (_, expected) in zip(("train", "valid", "test"), PUBLIC_GRAPHS[name], strict=True):
        content = (Path(os.environ[VARIABLE]) / folder / f"{part}.tsv").read_bytes()
        assert hashlib.sha256(content).hexdigest() == expected
