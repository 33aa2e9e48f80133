"""The moving picture of README: ``python -m lab.shipped.moving_picture`` plays one call with two systems and draws `stall.gif` again.

The direct path stalls for two seconds, a bad moment of that world. Each panel has packets on paths, those that wait at the receiver, and
below what the listener gets, tick by tick. It is four times slower than the call.
"""

import sys
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.together import batches_together, play_together
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario

SYSTEMS = {"DRT-WM": "direct path / WMJitter", "learned": "learned pair"}
SEED, FIRST, LAST = 16, 2010, 2290  # world of the validation split, and slots of the moment
SLOTS_PER_FRAME, FRAME_MS = 2, 80
PATHS = (0, 4, 1, 8)  # that are drawn: those in use, and two more
WIDTH, HEIGHT, SHARPER = 380, 250, 3  # of a panel, and how much larger it is drawn
X0, X1, MIDDLE, BEND, BAR_Y, BAR_H, TICK_W, TICKS = 30, 300, 108, (0, -62, 62, -34), 196, 22, 2, 165
"""Sender, receiver, the direct path, how far each path bends, and the bar of ticks below."""
GREY, BLUE, RED, BLACK, WHITE, PALE = "#c4cad1", "#1f4ea1", "#d03a26", "#24292f", "#ffffff", "#eef1f4"
PLAYED, STRETCHED, CONCEALED = range(3)
HEARD = {PLAYED: BLUE, STRETCHED: "#8fb0e0", CONCEALED: RED}


class CallCourse(NamedTuple):
    """Course of a call, times in slots: path, arrival and turn (negative: none) of each packet, and the kind of each tick (-1: none)."""

    path: NDArray[np.int16]
    arrived: NDArray[np.float64]
    played: NDArray[np.int64]
    ticks: NDArray[np.int64]


def courses(systems: Sequence[str], seed: int, packets: int) -> list[CallCourse]:
    """Play one validation world with each system."""
    scenario = Scenario("wonderproxy", "correlated", packets)
    batches = batches_together(scenario, [load_system(name).rules for name in systems], 1, log=True)
    play_together(batches, [scenario.draw("validation", seed)])
    found = []
    for batch in batches:
        call = batch.played()
        played = call.played_us[0] // SLOT_US
        found.append(CallCourse(call.path[0], call.arrived_us[0] / SLOT_US, played, kinds_of(call.arrived_us[0] / SLOT_US, played)))
    return found


def kinds_of(arrived: NDArray[np.float64], played: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the kind of each tick, -1 before the first: a tick that plays nothing stretches the packet before it, or conceals."""
    at: dict[int, list[int]] = {}
    for packet in np.flatnonzero(played >= 0).tolist():
        at.setdefault(int(played[packet]), []).append(packet)
    kinds = np.full(max(at) + 1, -1)
    turns = sorted(at)
    for before, after in pairwise(turns):
        kinds[before] = PLAYED
        missing, following = at[after][0] - at[before][-1] - 1, at[after][0]
        for done, tick in enumerate(range(before + 1, after)):
            kinds[tick] = STRETCHED if arrived[following] <= tick and done >= missing else CONCEALED
    kinds[turns[-1]] = PLAYED
    return kinds


def place(path: int, share: float) -> tuple[float, float]:
    """Return where a packet is that has made a share of its way over a drawn path."""
    return X0 + share * (X1 - X0), MIDDLE + BEND[PATHS.index(path)] * 4.0 * share * (1.0 - share)


def panel(title: str, course: CallCourse, now: float) -> Image.Image:
    """Draw a call at a time in slots."""
    picture = Image.new("RGB", (WIDTH * SHARPER, HEIGHT * SHARPER), WHITE)
    draw = ImageDraw.Draw(picture)
    sent = np.arange(int(now) + 1)
    in_use = int(course.path[int(now)])
    for path in PATHS:
        line = [at for share in np.linspace(0.0, 1.0, 40) for at in _scaled(*place(path, share))]
        draw.line(line, fill=BLACK if path == in_use else GREY, width=SHARPER * (2 if path == in_use else 1))
    _word(draw, (X0, 14), title, 15, "lm", bold=True)
    for at_x, word in ((X0, "speaks"), (X1, "listens")):
        _dot(draw, at_x, MIDDLE, 9, WHITE, BLACK)
        _word(draw, (at_x, MIDDLE + 20), word, 11, "mm")
    _word(draw, ((X0 + X1) / 2, MIDDLE + BEND[1] - 11), "over a relay", 10, "mm")
    _word(draw, ((X0 + X1) / 2, MIDDLE + 9), "direct path", 10, "mm")
    _word(draw, (X1 + 14, MIDDLE + 26), "packets", 10, "lt")
    _word(draw, (X1 + 14, MIDDLE + 37), "that wait", 10, "lt")
    arrived = course.arrived[sent]
    for packet in np.flatnonzero((arrived < 0) | (arrived > now)).tolist():
        if (path := int(course.path[packet])) in PATHS and packet >= FIRST - 300:
            at = (now - packet) / (course.arrived[packet] - packet) if course.arrived[packet] >= 0 else 2.0
            if at <= 1.0:
                _dot(draw, *place(path, at), 2.6, BLUE)
    played = course.played[sent]
    waiting = int(np.count_nonzero((arrived >= 0) & (arrived <= now) & (played > now)))
    for n in range(min(waiting, 40)):
        _dot(draw, X1 + 20 + 7 * (n % 8), MIDDLE - 4 + 14 - 7 * (n // 8), 2.6, BLUE)
    delays = [packet for packet in sent[-300:].tolist() if 0 <= course.played[packet] <= now]
    delay_ms = 10 * (int(course.played[delays[-1]]) - delays[-1])
    shown = course.ticks[FIRST : int(now) + 1]
    _word(draw, (X0, BAR_Y - 12), "what is heard:", 12, "lm")
    _word(draw, (X0 + 96, BAR_Y - 12), "played", 12, "lm", BLUE)
    _word(draw, (X0 + 144, BAR_Y - 12), "concealed", 12, "lm", RED)
    _word(draw, (X0 + TICK_W * TICKS, BAR_Y + BAR_H + 13), f"heard {delay_ms} ms after it was said", 12, "rm")
    draw.rectangle((*_scaled(X0, BAR_Y), *_scaled(X0 + TICK_W * TICKS, BAR_Y + BAR_H)), fill=PALE)
    first = max(len(shown) - TICKS, 0)
    for n, kind in enumerate(shown[first:].tolist()):
        left = X0 + TICK_W * n
        draw.rectangle((*_scaled(left, BAR_Y), *_scaled(left + TICK_W - 0.5, BAR_Y + BAR_H)), fill=HEARD.get(kind, PALE))
    concealed_ms = 10 * int(np.count_nonzero(shown == CONCEALED))
    _word(draw, (X0, BAR_Y + BAR_H + 13), f"concealed: {concealed_ms} ms", 12, "lm", RED if concealed_ms else BLACK)
    return picture.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS)


def frames(found: Sequence[CallCourse], first: int, last: int) -> Iterator[Image.Image]:
    """Yield the frames of a moment, both calls next to each other."""
    for now in range(first, last, SLOTS_PER_FRAME):
        both = Image.new("RGB", (len(found) * WIDTH, HEIGHT), WHITE)
        for n, (title, course) in enumerate(zip(SYSTEMS.values(), found, strict=True)):
            both.paste(panel(title, course, float(now)), (n * WIDTH, 0))
        yield both


def save(pictures: Sequence[Image.Image], path: Path) -> None:
    """Write a GIF of few colours, the same in all frames; the last frame stays for two seconds."""
    palette = pictures[len(pictures) // 2].quantize(24, Image.Quantize.MAXCOVERAGE)
    drawn = [picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in pictures]
    lasts = [FRAME_MS] * (len(drawn) - 1) + [2000]
    drawn[0].save(path, save_all=True, append_images=drawn[1:], duration=lasts, loop=0, optimize=True, disposal=1)


def main() -> None:
    """Draw the moving picture, into docs/pictures or the named file."""
    path = Path(sys.argv[1]) if sys.argv[1:] else Path(__file__).parents[2] / "docs" / "pictures" / "stall.gif"
    save(list(frames(courses(list(SYSTEMS), SEED, LAST + 100), FIRST, LAST)), path)


def _scaled(x: float, y: float) -> tuple[float, float]:
    return x * SHARPER, y * SHARPER


def _dot(draw: Any, x: float, y: float, radius: float, fill: str, outline: str | None = None) -> None:
    draw.ellipse((*_scaled(x - radius, y - radius), *_scaled(x + radius, y + radius)), fill=fill, outline=outline, width=2 * SHARPER)


def _word(draw: Any, at: tuple[float, float], word: str, size: int, anchor: str, fill: str = BLACK, bold: bool = False) -> None:
    file = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"DejaVuSans{'-Bold' if bold else ''}.ttf"
    draw.text(_scaled(*at), word, fill=fill, font=ImageFont.truetype(file, size * SHARPER), anchor=anchor)


if __name__ == "__main__":
    main()
