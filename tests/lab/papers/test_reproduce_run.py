"""A tiny reproduction, from worlds to verdicts, page and document; killed in the middle and resumed."""

import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

import pytest

from lab.papers.judge import WORDS
from lab.papers.reproduce import run
from lab.papers.reproduce.config import ReproduceConfig
from lab.papers.reproduce.parts import MEDIAN, MODES
from lab.papers.vcroute.statements import SYSTEMS, load_statements
from lab.papers.verdicts import VERDICTS
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.results.files import read

pytestmark = pytest.mark.long  # plays, or trains

WRITTEN = ("verdicts.parquet", "reproduction.md", "reproduce.html")
HOME = Path(__file__).parents[3]
TINY = {"packets": 120, "seeds": 1, "min_worlds": 2}


def reproduced(folder, threads):
    """Two scenarios of six, in all their modes without measured series."""
    config = ReproduceConfig(folder=folder, threads=threads, **TINY)
    parts = [part for part in run.parts_to_play(config) if part.setting.about in ("wonderproxy", "synthetic-9")]
    told = []
    run.reproduce(config, load_systems(list(SYSTEMS)), parts, lambda done, note: told.append(done))
    assert told == list(range(len(parts) + 1))
    return folder


@pytest.fixture(scope="module", autouse=True)
def no_clock():
    """A cost that is always the same, and no measured series."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "packet_cost_ms", lambda system: 1e-3)
        patch.delenv("VCGYM_DATA", raising=False)
        yield


@pytest.fixture(scope="module")
def written(tmp_path_factory, no_clock):
    return reproduced(tmp_path_factory.mktemp("reproduce"), 2)


def test_every_statement_has_a_verdict_in_every_mode(written):
    table = read(VERDICTS, written / "verdicts.parquet")
    names = {statement.id for statement in load_statements()}
    for mode in MODES:
        rows = [row for row in table.to_pylist() if row["mode"] == mode]
        assert {row["statement"] for row in rows} == names
        assert {row["verdict"] for row in rows} <= set(WORDS)
        assert all(row["reason"] for row in rows)
    assert MEDIAN in table["mode"].to_pylist()
    assert {row["verdict"] for row in table.to_pylist() if row["mode"] == "replay" and row["accounting"] != "any"} == {"cannot"}


class Outside(HTMLParser):
    """Collects whatever a page would ask for."""

    def __init__(self):
        super().__init__()
        self.addresses, self.tags = [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.addresses += [value for name, value in attributes if name in ("src", "href", "xlink:href") and value[:1] != "#"]


def test_the_page_asks_for_nothing_and_has_all_pictures(written):
    text = (written / "reproduce.html").read_text()
    page = Outside()
    page.feed(text)
    assert page.addresses == ["data:,"]
    for number in (9, 10, 11, 14, 17):
        assert f"Figure {number}" in text
    assert text.count("<figure>") == 3 * 3 + 2 + 1 + 2  # hosts in three modes, scale in two, errors, a call in two


def test_the_document_has_a_line_for_every_statement(written):
    lines = (written / "reproduction.md").read_text().splitlines()
    head = lines.index("| statement | source | published | paper | paper, median burst | correlated | replay |")
    rows = lines[head + 2 :]
    assert len(rows) == len(load_statements())
    assert all(row.count(" | ") == 6 for row in rows)
    assert not any("nan" in line.split() for line in lines)


def test_a_killed_run_goes_on_and_gives_the_same_bytes(written, tmp_path):
    options = [f"{name}={value}" for name, value in TINY.items()]
    command = [sys.executable, "-m", "lab", "reproduce", f"folder={tmp_path}", *options]
    process = subprocess.Popen(command, cwd=HOME, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and len(list((tmp_path / "parts").glob("*.parquet"))) < 3:
        time.sleep(0.05)
    process.kill()
    assert process.wait() != 0
    done = {path: path.stat().st_mtime_ns for path in (tmp_path / "parts").glob("*.parquet")}
    assert 3 <= len(done) < len(list((written / "parts").iterdir()))
    (tmp_path / "parts" / ".draft.parquet.123").write_bytes(b"part of a file")
    reproduced(tmp_path, 1)
    assert {path: path.stat().st_mtime_ns for path in done} == done
    for name in (*WRITTEN, *(f"parts/{path.name}" for path in (written / "parts").iterdir())):
        assert (tmp_path / name).read_bytes() == (written / name).read_bytes()
