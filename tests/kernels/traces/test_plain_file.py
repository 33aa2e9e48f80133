"""Files that are replaced atomically."""

import errno
import os

import pytest

from vcgym.network.traces.plain_file import replace_file


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
