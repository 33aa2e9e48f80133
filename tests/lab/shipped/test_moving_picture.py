"""README's moving picture: the command makes it, of what the two calls played."""

import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from lab.shipped import moving_picture as moving

HOME = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def found():
    return moving.courses(list(moving.SYSTEMS), moving.SEED, moving.LAST + 100)


def test_readme_shows_all_frames_of_a_small_file():
    file = HOME / "docs" / "pictures" / "stall.gif"
    assert "](docs/pictures/stall.gif)" in (HOME / "README.md").read_text(encoding="utf-8") and file.stat().st_size < 500_000
    with Image.open(file) as shown:
        assert shown.n_frames == (moving.LAST - moving.FIRST) // moving.SLOTS_PER_FRAME
        assert shown.size == (2 * moving.WIDTH, moving.HEIGHT)


@pytest.mark.long
def test_the_command_draws_it(tmp_path, monkeypatch):
    monkeypatch.setattr(moving, "LAST", moving.FIRST + 20)
    monkeypatch.setattr(sys, "argv", ["moving_picture.py", str(tmp_path / "short.gif")])
    moving.main()
    with Image.open(tmp_path / "short.gif") as drawn:
        assert drawn.n_frames == 10 and drawn.info["duration"] == moving.FRAME_MS and drawn.size == (2 * moving.WIDTH, moving.HEIGHT)


def test_the_caption_says_what_happens(found):
    direct, pair = found
    assert set(direct.path.tolist()) == {0} and pair.path[moving.FIRST] == 0
    stalls = np.flatnonzero(direct.arrived - np.arange(len(direct.arrived)) > 50)[0]  # half a second late
    moves = np.flatnonzero(pair.path[moving.FIRST :])[0] + moving.FIRST
    assert moving.FIRST < stalls < moves < stalls + 60 and set(pair.path[moving.FIRST : moving.LAST].tolist()) <= set(moving.PATHS)
    concealed = [np.count_nonzero(one.ticks[moving.FIRST : moving.LAST] == moving.CONCEALED) for one in found]
    assert concealed[0] > 1.5 * concealed[1]


def test_a_tick_without_a_packet_conceals_or_stretches():
    arrived, played = np.array([0.0, 1.0, 2.5, -1.0, 4.0, 5.0]), np.array([3, 4, 6, -1, 8, 10])
    # 5: packet 2 is there, so the one before is stretched; 7: packet 3 is lost; 9: packet 5 is there
    kinds = moving.kinds_of(arrived, played).tolist()
    assert kinds == [-1, -1, -1, 0, 0, moving.STRETCHED, 0, moving.CONCEALED, 0, moving.STRETCHED, 0]
    late = moving.kinds_of(np.array([0.0, 5.0]), np.array([1, 5]))
    assert late.tolist() == [-1, 0, moving.CONCEALED, moving.CONCEALED, moving.CONCEALED, 0]
