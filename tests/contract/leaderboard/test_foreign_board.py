"""A folder of results that somebody else made: whatever it names, nothing outside it is read as a cell, written or removed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.evaluation.cells import manifest
from vcgym.leaderboard.evaluation.own.local_agent import local_agent
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.report.publish import publish
from vcgym.leaderboard.report.run import run_suite
from vcgym.leaderboard.report.words.remarks import remarks
from vcgym.network.traces.cards import DataError
from vcgym.submissions.accept import accepted

SUITE = Suite("tiny", "v0", 200, (Part("wonderproxy", "correlated", 1),))
SHARE = "0" * 32 + ".parquet"


def stays(level):
    return local_agent(lambda observation: np.tile([0, level], (len(observation), 1)), SUITE, prepare(SUITE), {"action": "relative"})


def run(folder, *names, **own):
    return run_suite(SUITE, prepare(SUITE), {**load_systems(list(names)), **own}, folder, lambda done, note: None)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    run(folder, "DRT-WM", "RR-WM", stay=stays(4))
    return folder


@pytest.fixture
def sent(made, tmp_path):
    """A board in a folder of its own, beside a file of the user."""
    (tmp_path / "victim.txt").write_text("kept")
    (tmp_path / "victim").mkdir()
    (tmp_path / "victim" / f"local-{SHARE}").write_text("kept")
    yield shutil.copytree(made, tmp_path / "sent")
    assert (tmp_path / "victim.txt").read_text() == (tmp_path / "victim" / f"local-{SHARE}").read_text() == "kept"
    assert {path.name for path in tmp_path.iterdir()} == {"victim.txt", "victim", "sent"}


def named(folder, file):
    """Let `board.json` name a file for the user's own system, which the next run of it replaces."""
    board = json.loads((folder / manifest.FILE).read_text())
    board["stay"] = dict.fromkeys([*board["stay"], SHARE], file)
    (folder / manifest.FILE).write_text(json.dumps(board))


NAMES = {
    "as filed": "local-x/../../../victim.txt", "dots": "../../victim.txt", "dots with the prefix": "local-../../victim.txt",
    "absolute": str(Path("/etc/passwd")), "absolute with the prefix": "local-/etc/passwd", "empty": "", "a folder": ".", "NUL": "local-\0",
    "other letters": f"local-{'A' * 32}.parquet", "a longer name": f"local-{SHARE}/x", "another ending": f"local-{'0' * 32}.txt",
    "a line": f"local-{SHARE}\n", "a device": "NUL", "half a character": "\ud800",
}  # fmt: skip


@pytest.mark.parametrize("file", NAMES.values(), ids=NAMES)
def test_a_name_that_is_none_of_a_cell_is_refused_before_anything_is_played(sent, monkeypatch, file):
    named(sent, file)
    before = {path.name: path.read_bytes() for path in sent.iterdir() if path.is_file()}
    monkeypatch.setattr("vcgym.leaderboard.report.run.evaluate", None)
    with pytest.raises(ValueError, match=r"sent/board\.json names no cells of systems: stay\..*; allowed: (text of the form|a valid str)"):
        run(sent, "DRT-WM", stay=stays(7))
    assert {path.name: path.read_bytes() for path in sent.iterdir() if path.is_file()} == before


def test_a_name_of_the_users_own_file_elsewhere_is_not_reached_through_a_link(sent):
    shutil.rmtree(sent / "cells")
    (sent / "cells").symlink_to("../victim")
    named(sent, f"local-{SHARE}")
    with pytest.raises(DataError, match=r"sent/cells: file is 'a link to .*victim'; allowed: a file or folder in"):
        run(sent, "DRT-WM", stay=stays(7))


def test_a_cell_that_is_a_link_is_refused(sent):
    (sent / "cells" / f"local-{SHARE}").symlink_to("../../victim.txt")
    named(sent, f"local-{SHARE}")
    with pytest.raises(DataError, match=rf"local-{SHARE}: file is 'a link to "):
        run(sent, "DRT-WM", stay=stays(7))


def test_submissions_are_not_read_or_copied_through_a_link(sent, tmp_path):
    (sent / "submissions").symlink_to("../victim")
    with pytest.raises(DataError, match=r"sent/submissions: file is 'a link to "):
        accepted(sent)
    assert [path.name for path in (tmp_path / "victim").iterdir()] == [f"local-{SHARE}"]


FORMS = {
    "a list": [], "a text for a system": {"stay": "x"}, "a list for a system": {"stay": [SHARE]}, "null for a system": {"stay": None},
    "a number for a file": {"stay": {SHARE: 1}}, "null for a file": {"stay": {SHARE: None}},
    "a list for a file": {"stay": {SHARE: [SHARE]}}, "a line in a name": {"a\nb": {SHARE: SHARE}}, "a long name": {"x" * 401: {}},
    "no name": {"": {SHARE: SHARE}}, "another share": {"stay": {"x": SHARE}}, "nested": {"stay": {SHARE: {SHARE: SHARE}}},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_board_of_another_form_is_refused(sent, form):
    (sent / manifest.FILE).write_text(json.dumps(form))
    with pytest.raises(ValueError, match=r"sent/board\.json(: content is| names no cells of systems: )"):
        run(sent, "DRT-WM")


def test_a_board_without_a_cell_of_a_system_says_so(sent):
    board = json.loads((sent / manifest.FILE).read_text())
    (sent / manifest.FILE).write_text(json.dumps(board | {"other": {}, "third": {SHARE: SHARE}}))
    run(sent, "DRT-WM")
    assert remarks(sent) == [f"Left out: other, third, which {manifest.STALE}."]


def test_cells_of_another_system_or_of_none_are_refused_by_name(sent):
    board = json.loads((sent / manifest.FILE).read_text())
    own, other = *board["stay"].values(), *board["RR-WM"].values()
    shutil.copy(sent / "cells" / other, sent / "cells" / own)
    with pytest.raises(ValueError, match=rf"cells/{own} is not the file of this cell.*not those of 'stay'"):
        run(sent, "DRT-WM")
    table = pq.read_table(sent / "cells" / other)
    other_timing = table.set_column(table.schema.get_field_index("decision_us"), "decision_us", table["hardware"])
    for broken in (table.drop_columns(["delays"]), other_timing, table.drop_columns(["r"])):
        pq.write_table(broken, sent / "cells" / own)
        with pytest.raises(ValueError, match=rf"cells/{own} is not the file of this cell"):
            run(sent, "DRT-WM")


TEXTS = {
    "left_out.json": ['{"mine": ["failed"]}', '{"mine": null}', '{"mine": {}}', "[]", '{"mine": "a", "mine": "b"}'],
    "measured.json": ['{"lines": 5}', '{"lines": null}', "{}", '{"lines": [1]}', '{"lines": "text"}'],
}


@pytest.mark.parametrize(("file", "content"), [(file, content) for file, contents in TEXTS.items() for content in contents])
def test_remarks_that_are_no_texts_are_refused(sent, file, content):
    (sent / file).write_text(content)
    with pytest.raises(DataError, match=rf"sent/{file}: "):
        remarks(sent)


@pytest.mark.parametrize(
    "content", ["[]", '{"x": 1}', '{"x": {"scenarios": "a", "cards": []}}', '{"x": {"scenarios": [], "cards": [1]}}', "[" * 9999]
)
def test_cards_that_are_none_are_refused(sent, content):
    (sent / "cards.json").write_text(content)
    with pytest.raises(ValueError, match=r"sent/cards\.json"):
        publish(sent)


@pytest.mark.parametrize("picture", ["../victim.txt", "/dev/zero", "."])
def test_a_page_repeats_no_file_that_a_picture_leads_to(sent, picture):
    (sent / "trees-x.png").symlink_to(picture)
    with pytest.raises(DataError, match=r"sent/trees-x\.png: file is "):
        publish(sent)


def test_files_of_results_that_are_links_are_replaced(sent):
    for name in ("results.parquet", "timing.parquet", "cdf.parquet", "cards.json", "leaderboard.md", "report.html", "left_out.json"):
        (sent / name).unlink(missing_ok=True)
        (sent / name).symlink_to("../victim.txt")
    run(sent, "DRT-WM")
    assert not [path.name for path in sent.iterdir() if path.is_symlink()]


RUN = """
import fcntl, sys
from pathlib import Path
from vcgym.baselines.systems import load_systems
from vcgym.leaderboard.evaluation.cells import manifest
from vcgym.leaderboard.evaluation.suites import Part, Suite, prepare
from vcgym.leaderboard.report.run import run_suite

suite, counts, flock = Suite("tiny", "v0", 200, (Part("wonderproxy", "correlated", 1),)), manifest._is_valid, fcntl.flock

def told(word, go_on, *given):
    print(word, flush=True)
    if word == "has read":
        sys.stdin.readline()
    return go_on(*given)

manifest._is_valid = lambda *given: told("has read", counts, *given)
fcntl.flock = lambda *given: told("waits", flock, *given)
run_suite(suite, prepare(suite), load_systems([sys.argv[2]]), Path(sys.argv[1]), lambda done, note: None)
"""


def test_of_two_runs_at_once_neither_loses_the_systems_of_the_other(sent):
    """The second one begins when the first has read the board and not yet written it."""
    runs = []
    for name, until in (("GRD-WM", {"has read\n"}), ("DRT-FIX", {"has read\n", "waits\n"})):
        command = [sys.executable, "-c", RUN, str(sent), name]
        runs.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        while runs[-1].stdout.readline() not in {*until, ""}:
            pass
    for one in runs:
        one.communicate("\n" * 20)
        assert one.returncode == 0
    assert json.loads((sent / manifest.FILE).read_text()).keys() == {"DRT-WM", "RR-WM", "stay", "GRD-WM", "DRT-FIX"}
    assert {*pq.read_table(sent / "results.parquet")["system"].to_pylist()} == {"DRT-WM", "RR-WM", "stay", "GRD-WM", "DRT-FIX"}
