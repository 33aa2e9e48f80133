"""Compare R with an objective measure of speech: ``python -m lab.studies.listening`` draws the picture of lab/notes/listening.md.

Calls of every stratum carry speech: each packet is 10 ms of Opus, each tick plays what the player of the call played, the decoder conceals
what is missing, and ViSQOL (Hines et al. 2015; Chinen et al. 2020) compares what was heard with what was said. The score is VNSIM, the
similarity from 0 to 1 that its opinion scores are a rising function of, relative to that of the same speech with nothing missing: voices
differ in what Opus leaves of them. The speech is made by eSpeak NG; the sentences are ours.
"""

import csv
import ctypes
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.signal import resample_poly
from scipy.stats import rankdata

from vcgym.baselines.systems import load_system
from vcgym.envs.call.counters import ratings_of
from vcgym.leaderboard.evaluation.rollouts.rollout import play_rules_together
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.statistics.resampling import Estimate, resample
from vcgym.live.call.audio import RATE_HZ, encoded, rendered
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.quality import R_DEFAULT, loss_impairment
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.strata import STRATA

SENTENCES = (
    "The train to the coast leaves every morning at seven.",
    "She put a cup of green tea on the wooden table.",
    "Five large boats were tied up along the quiet harbour.",
    "Please send the report before the end of the week.",
    "A thin fog lay over the fields until the sun came out.",
    "He forgot which of the two keys would open the garden gate.",
    "Their choice of colours made the whole room look smaller.",
    "Most of the children chose juice and a piece of cake.",
)
VOICES = (b"en-us", b"en-gb", b"en-us+f2", b"en-gb+m3")
_SYNCHRONOUS, _UTF8, _CHARACTERS = 2, 1, 1  # of speak_lib.h


def speech(seconds: float, seed: int) -> NDArray[np.int16]:
    """Return speech of one channel at 48 kHz, exactly `seconds` long; seeds differ in voice and in the order of the sentences.

    Raises:
        ModuleNotFoundError: the extra `listening` is not installed.
        OSError: the synthesiser cannot be started.
    """
    import espeakng_loader

    espeak, heard = ctypes.CDLL(espeakng_loader.get_library_path()), list[NDArray[np.int16]]()
    rate_hz = espeak.espeak_Initialize(_SYNCHRONOUS, 0, espeakng_loader.get_data_path().encode(), 0)
    if rate_hz <= 0:
        raise OSError(f"eSpeak NG does not start with the data in {espeakng_loader.get_data_path()}")

    @ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)
    def keep(samples: "ctypes._Pointer[ctypes.c_short]", count: int, _: int | None) -> int:
        if count > 0:
            heard.append(np.ctypeslib.as_array(samples, (count,)).astype(np.int16))
        return 0

    espeak.espeak_SetSynthCallback(keep)
    espeak.espeak_SetVoiceByName(VOICES[seed % len(VOICES)])
    order = np.random.default_rng(seed).permutation(len(SENTENCES))
    while sum(map(len, heard)) < seconds * rate_hz:
        for sentence in order:
            text = SENTENCES[sentence].encode() + b"\0"
            espeak.espeak_Synth(text, len(text), 0, _CHARACTERS, 0, _UTF8, None, None)
    whole = np.concatenate(heard)[: round(seconds * rate_hz)] / 32768.0
    made = resample_poly(whole, RATE_HZ, rate_hz)[: round(seconds * RATE_HZ)]
    return np.rint(32767.0 * 0.5 * made / np.abs(made).max()).astype(np.int16)


SYSTEMS = ("DRT-FIX", "DRT-WM", "RND-WM", "VCR-WM")
PACKETS = 1200
WORLDS = 10
"""Worlds of each stratum, of the validation split."""
TABLE, PICTURE = Path("outputs/listening.csv"), Path("lab/notes/pictures/listening.png")
HEADINGS = ("stratum", "calls", "R", "R without delay")
_VISQOL_HZ = 16_000


class RatedCall(NamedTuple):
    """Call as rated and as measured: R (0 to 93.2), R without delay impairment, and relative similarity (near 1: nothing missing)."""

    stratum: str
    world: int
    system: str
    rating: float
    loss_rating: float
    similarity: float


def similarity(said: NDArray[np.int16], heard: NDArray[np.int16]) -> float:
    """Return ViSQOL's similarity (0 to 1) of two signals of one channel at 48 kHz; it aligns them itself, so delay does not count."""
    from visqol import VisqolApi

    measure = VisqolApi()
    measure.create(mode="speech", use_lattice_model=False)
    one, other = (resample_poly(signal / 32768.0, _VISQOL_HZ, RATE_HZ) for signal in (said, heard))
    return float(measure.measure_from_arrays(one, other, _VISQOL_HZ).vnsim)


def listen(stratum: str) -> list[RatedCall]:
    """Play every system on the worlds of a stratum and measure what a listener hears."""
    scenario = Scenario("cloud", mode="correlated", packets=PACKETS)
    pairs = scenario.pairs("validation")
    draws = [scenario.draw("validation", seed, pairs[seed % len(pairs)], stratum) for seed in range(WORLDS)]
    said = [speech(PACKETS * SLOT_US / 1e6, seed) for seed in range(WORLDS)]
    packets = [dict(enumerate(itertools.islice(encoded(one), PACKETS))) for one in said]
    in_time_us = SLOT_US * np.arange(PACKETS)
    complete = [similarity(one, rendered(in_time_us, of_one)) for one, of_one in zip(said, packets, strict=True)]
    found = []
    rollouts = play_rules_together([load_system(name) for name in SYSTEMS], scenario, draws)
    for system, rollout in zip(SYSTEMS, rollouts, strict=True):
        played = rollout.played
        ratings, totals = ratings_of(played.totals), played.totals
        share = totals.ticks_concealed / (totals.ticks_played + totals.ticks_stretched + totals.ticks_concealed)
        for world in range(WORLDS):
            score = similarity(said[world], rendered(played.played_us[world], packets[world])) / complete[world]
            loss_rating = R_DEFAULT - float(loss_impairment(100.0 * share[world]))
            found.append(RatedCall(stratum, world, system, float(ratings[world]), loss_rating, score))
    return found


def correlation(one: NDArray[np.float64], other: NDArray[np.float64], worlds: NDArray[np.int64]) -> Estimate:
    """Return Spearman's rank correlation of two measures, with the interval over worlds.

    Args:
        one: (W, systems) first measure.
        other: (W, systems) second measure.
        worlds: (strata,) number of worlds of each stratum; those of one stratum are adjacent.
    """

    def of_resamples(values: NDArray[np.float64]) -> NDArray[np.float64]:
        flat = np.moveaxis(values, 1, -1).reshape(2, values.shape[2], -1)  # (2, R, W * systems)
        ranks = rankdata(flat, axis=-1)
        ranks -= ranks.mean(axis=-1, keepdims=True)
        return ((ranks[0] * ranks[1]).sum(axis=-1) / np.sqrt((ranks**2).sum(axis=-1).prod(axis=0)))[None]

    spread = resample(np.stack([one.T, other.T]), worlds, of_resamples, noise=one.mean(axis=1)[None])
    return spread.estimates()[0]


def draw(calls: list[RatedCall], path: Path) -> None:
    """Draw the relative similarity of each call over R and over R without delay, a colour for each stratum."""
    figure = Figure(figsize=(8.0, 3.4), layout="constrained")
    both = figure.subplots(1, 2, sharey=True)
    for axes, field, label in zip(both, ("rating", "loss_rating"), ("R", "R without delay impairment"), strict=True):
        for stratum in STRATA:
            points = np.array([(getattr(call, field), call.similarity) for call in calls if call.stratum == stratum]).reshape(-1, 2)
            axes.scatter(points[:, 0], points[:, 1], s=9, alpha=0.7, label=stratum)
        axes.set_xlabel(label)
    both[0].set_ylabel("relative similarity, ViSQOL")
    both[1].legend(fontsize=7)
    figure.savefig(path, dpi=75, metadata={"Software": None})


def main() -> None:
    """Play the calls, write them and the picture, and print the correlations."""
    calls = [call for stratum in STRATA for call in listen(stratum)]
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([RatedCall._fields, *calls])
    draw(calls, PICTURE)
    rows = []
    for name in ("all", *STRATA):
        chosen = [call[3:] for call in calls if name in ("all", call.stratum)]
        by_system = np.array(chosen).reshape(-1, len(SYSTEMS), WORLDS, 3)
        rated, without_delay, heard = by_system.transpose(3, 0, 2, 1).reshape(3, -1, len(SYSTEMS))
        found = [correlation(one, heard, np.full(len(by_system), WORLDS)) for one in (rated, without_delay)]
        rows.append([name, str(len(chosen)), *(f"{one.value:.2f} [{one.low:.2f}, {one.high:.2f}]" for one in found)])
    print(markdown_table(HEADINGS, rows, HEADINGS[:1]))


if __name__ == "__main__":
    main()
