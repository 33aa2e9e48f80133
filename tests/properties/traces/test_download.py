"""A set is downloaded completely and with the stated hash, or not at all; the catalogue detects later changes."""

import gzip
import hashlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from vcgym.agents.published.export import CARD, WEIGHTS, load_agent
from vcgym.agents.published.shipped import shipped_folder, shipped_names
from vcgym.baselines.system_files import learned_folders
from vcgym.baselines.systems import load_system
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.catalogue import entries, shipped, verify
from vcgym.network.traces.download import Source, download, sources
from vcgym.network.traces.importers.ping import import_ping_text
from vcgym.predictors.published import shipped_network

LOG = (shipped() / "sample_ping.txt").read_bytes()
PACKED = gzip.compress(LOG)


@pytest.fixture
def server(monkeypatch):
    """Serves /NAME as the test says: status, length that the header states (None: no header), body."""
    answers = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            status, length, body = answers[self.path]
            self.send_response(status)
            if length is not None:
                self.send_header("Content-Length", str(length))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    monkeypatch.setenv("no_proxy", "127.0.0.1")
    served = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()

    def source(body, *, file="log.txt.gz", status=200, stated="true", **fields):
        answers[f"/{file}"] = (status, len(body) if stated == "true" else stated, body)
        base = {"name": "log", "file": f"ping/{file}", "url": f"http://127.0.0.1:{served.server_port}/{file}", "max_bytes": 100_000}
        words = {"description": "a log", "source": "a test", "licence": "MIT", "units": "ms", "kind": "synthesised"}
        return Source(**base | words | fields)

    yield source
    served.shutdown()
    thread.join()
    served.server_close()


def test_what_came_is_kept_with_its_card(server, tmp_path):
    path = download(server(PACKED), tmp_path)
    assert path == tmp_path / "ping" / "log.txt.gz"
    assert path.read_bytes() == PACKED
    card = import_ping_text(path).card
    assert (card.licence, card.kind, card.sha256) == ("MIT", "synthesised", hashlib.sha256(LOG).hexdigest())
    assert "http://127.0.0.1" in card.source
    assert sorted(file.name for file in path.parent.iterdir()) == ["log.txt.gz", "log.txt.gz.card.json"]
    with pytest.raises(DataError, match=r"log\.txt\.gz: file is 'existing'"):
        download(server(b"other"), tmp_path)
    assert path.read_bytes() == PACKED


def test_without_a_stated_length_it_is_read_to_its_end(server, tmp_path):
    assert download(server(PACKED, stated=None, sha256=hashlib.sha256(LOG).hexdigest()), tmp_path).read_bytes() == PACKED


BAD = {
    "another hash": ({"body": PACKED, "sha256": "0" * 64}, r"sha256 of the content is '151d3f.*allowed: 0000"),
    "cut off": ({"body": PACKED[:500], "stated": len(PACKED)}, r"size in bytes is 500; allowed: .*the body was cut off"),
    "cut off, no length stated": ({"body": PACKED[:500], "stated": None}, r"log\.txt\.gz: file is 'EOFError"),
    "too large, as stated": ({"body": b"", "stated": 200_000}, r"size in bytes is '200000'; allowed: at most 100000"),
    "too large, not stated": ({"body": b"x" * 200_000, "stated": None}, r"size in bytes is 'more than 100000'; allowed: at most 100000"),
    "moved": ({"body": b"gone", "status": 404}, r"answer is '404 Not Found'"),
    "a page instead": ({"body": b"<html>", "stated": "true"}, r"/log\.txt\.gz: file is .BadGzipFile"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_not_the_file_leaves_nothing(server, tmp_path, name):
    arguments, message = BAD[name]
    with pytest.raises(DataError, match=message):
        download(server(**arguments), tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_no_connection_is_said_so(tmp_path, monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    words = {"description": "d", "source": "s", "licence": "l", "units": "u"}
    source = Source(name="log", file="ping/log.txt", url="http://127.0.0.1:1/log.txt", max_bytes=10, **words)
    with pytest.raises(DataError, match=r"connection is 'URLError.*allowed: a machine that is online"):
        download(source, tmp_path)


def test_the_known_sets_have_safe_addresses_and_a_format_that_exists():
    assert all(source.url.startswith("https://") for source in sources().values())
    formats = {path.stem for path in (shipped().parent / "conf" / "format").glob("*.yaml")}
    assert {source.format for source in sources().values()} - {None} <= formats


def test_all_that_is_shipped_is_as_its_card_says():
    found = list(entries(shipped()))
    of_the_predictor = {"predictor/predictor.json", "predictor/predictor.safetensors"}  # the first is the second's card
    of_the_zoo = {f"zoo/{name}.safetensors" for name, home in learned_folders().items() if home.name == "zoo"}  # as NAME.json is of these
    of_agents = {f"agents/{name}/{file}" for name in shipped_names() for file in (CARD, WEIGHTS)}  # the first describes the second
    assert {entry.name for entry in found if entry.state == "no card"} == of_the_predictor | of_the_zoo | of_agents
    # The first two refuse weights that are not those of their card, agents those that are not of the card's network.
    assert shipped_network() is not None
    assert all(load_system(name) for name in learned_folders())
    assert all(load_agent(shipped_folder(name)) for name in shipped_names())
    without = 2 + len(of_the_zoo) + len(of_agents)
    assert verify(found) == (len(found) - without, without)
    assert {"sample_ping.txt", "table1.json"} <= {entry.name for entry in found}


def test_the_first_change_is_named(tmp_path):
    for name in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / name).write_text(f"{name}\n")
        card = json.loads((shipped() / "sample_series.csv.card.json").read_text())
        card["sha256"] = hashlib.sha256(f"{name}\n".encode()).hexdigest()
        (tmp_path / f"{name}.card.json").write_text(json.dumps(card))
    (tmp_path / "plain.txt").write_text("no card")
    (tmp_path / "list.json").write_text("[1]")
    (tmp_path / "README.md").write_text("not data")
    assert verify(entries(tmp_path)) == (3, 2)
    (tmp_path / "b.csv").write_text("B.csv\n")
    (tmp_path / "c.csv").unlink()
    assert {entry.name: entry.state for entry in entries(tmp_path)} == {
        "a.csv": "as said",
        "b.csv": "differs",
        "c.csv": "missing",
        "list.json": "no card",
        "plain.txt": "no card",
    }
    with pytest.raises(DataError, match=r"b\.csv: sha256 of the content is .*as its card says"):
        verify(entries(tmp_path))
    (tmp_path / "b.csv").write_text("b.csv\n")
    with pytest.raises(DataError, match=r"c\.csv: sha256 of the content is 'file missing'"):
        verify(entries(tmp_path))
    (tmp_path / "a.csv.card.json").write_text("{}")
    with pytest.raises(DataError, match=r"a\.csv\.card\.json: card is"):
        list(entries(tmp_path))
    (tmp_path / "a.csv.card.json").unlink()
    (tmp_path / "a.csv.card.json").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"a\.csv\.card\.json: file is 'a folder, pipe or device'"):
        list(entries(tmp_path))
    table = json.loads((shipped() / "table1.json").read_text())
    table["places"].reverse()
    (tmp_path / "a.csv.card.json").unlink()
    (tmp_path / "a.json").write_text(json.dumps(table))
    with pytest.raises(DataError, match=r"a\.json: sha256 of the content"):
        verify(entries(tmp_path))
