"""Files that are replaced atomically, locks, and names in a folder that somebody else may have made."""

import errno
import fcntl
import os
import subprocess
import sys

import pytest

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import inside, locked, read_json, replace_file


def test_what_is_written_takes_the_place_of_the_old(tmp_path):
    path = tmp_path / "new" / "state.json"
    replace_file(path, b"1")
    replace_file(path, b"22")
    assert path.read_bytes() == b"22"
    assert os.listdir(path.parent) == ["state.json"]


@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_is_named(tmp_path, monkeypatch, failing):
    path = tmp_path / "state.json"
    replace_file(path, b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left") as caught:
        replace_file(path, b"new")
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["state.json"]


LEADING_OUT = {
    "dots": "../victim.txt", "dots inside": "local-x/../../victim.txt", "only dots": "..", "a dot": ".", "empty": "",
    "an empty part": "a//b", "absolute": "/etc/passwd", "with a slash at the end": "a/", "NUL": "a\0b", "a line": "a\nb",
    "a backslash": "..\\victim.txt",
    "a drive": "C:victim.txt", "a device": "NUL", "a device with an ending": "com1.parquet", "half a character": "\ud800",
    "a link": "link", "a link within": "folder/link", "a folder that is a link": "away/victim.txt", "the folder itself": "self",
    "a link to what is not there": "nowhere", "a link to itself and then out": "round/../../victim.txt",
}  # fmt: skip


@pytest.fixture
def planted(tmp_path):
    """A folder with links that lead out of it, beside a file that they lead to."""
    folder = tmp_path / "sent"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "victim.txt").write_text("kept")
    (folder / "link").symlink_to(tmp_path / "victim.txt")
    (folder / "folder" / "link").symlink_to("../../victim.txt")
    (folder / "away").symlink_to(tmp_path)
    (folder / "self").symlink_to(".")
    (folder / "nowhere").symlink_to(tmp_path / "nothing")
    (folder / "round").symlink_to("round")
    (folder / "within").symlink_to("folder")
    return folder


@pytest.mark.parametrize("name", LEADING_OUT.values(), ids=LEADING_OUT)
def test_no_name_leads_out_of_its_folder(planted, name):
    with pytest.raises(DataError, match=r"sent.*; allowed: .*") as refused:
        inside(planted, name)
    assert "\n" not in str(refused.value) and len(str(refused.value)) <= 300


@pytest.mark.parametrize("name", ["a.parquet", "folder/a.txt", "not/there/yet", "within/a.txt", "..a", "nul0", "\u00e9 \u4e2d #,="])
def test_other_names_are_those_of_files_in_it(planted, name):
    assert inside(planted, name) == planted / name


def test_a_folder_that_the_user_names_may_be_a_link(planted, tmp_path):
    (tmp_path / "named").symlink_to(planted)
    assert inside(tmp_path / "named", "folder/a.txt") == tmp_path / "named" / "folder" / "a.txt"


def test_a_draft_and_a_file_that_are_links_are_replaced_and_not_followed(tmp_path):
    (tmp_path / "victim.txt").write_text("kept")
    for name in ("made.txt", f".made.txt.{os.getpid()}"):
        (tmp_path / name).symlink_to("victim.txt")
    replace_file(tmp_path / "made.txt", b"new")
    assert (tmp_path / "victim.txt").read_text() == "kept"
    assert not (tmp_path / "made.txt").is_symlink() and (tmp_path / "made.txt").read_bytes() == b"new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["made.txt", "victim.txt"]


def test_a_lock_that_is_a_link_is_refused_and_its_file_not_emptied(tmp_path):
    (tmp_path / "victim.txt").write_text("kept")
    (tmp_path / ".lock").symlink_to("victim.txt")
    with pytest.raises(OSError, match=r"\.lock"), locked(tmp_path / ".lock"):
        pass
    assert (tmp_path / "victim.txt").read_text() == "kept"


def test_the_lock_of_a_killed_process_is_free(tmp_path):
    hold = "import sys\nfrom pathlib import Path\nfrom vcgym.network.traces.plain_file import locked\n"
    hold += "with locked(Path(sys.argv[1])):\n    print('held', flush=True)\n    sys.stdin.read()\n"
    with subprocess.Popen([sys.executable, "-c", hold, tmp_path / "lock"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout.readline() == b"held\n"
        with (tmp_path / "lock").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        holder.kill()
        holder.wait()
        with locked(tmp_path / "lock"), (tmp_path / "lock").open() as file, pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_key_twice_is_refused(tmp_path):
    (tmp_path / "a.json").write_text('{"a": 1, "b": {"c": 1, "c": 2}}')
    with pytest.raises(DataError, match=r"a\.json: content is .*key 'c' occurs twice"):
        read_json(tmp_path / "a.json")
