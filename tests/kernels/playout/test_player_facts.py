"""The clocked player on streams whose outcome follows by hand (facts P14-P17). 10-ms packets, times in ms."""

from collections import deque

import numpy as np
import pytest

from twins.playback import Playback, play_arrivals, play_emissions
from vcgym.network.playout.player import CONCEALED, FAST, STRETCHED

LOST = -1


def _play(delays_ms: list[int], level_ms: int | list[int]) -> Playback:
    """Packets every 10 ms; a delay of LOST never arrives."""
    delay_ms = np.array(delays_ms, np.int64)
    sent_ms = np.arange(len(delay_ms), dtype=np.int64) * 10
    arrived_ms = np.where(delay_ms == LOST, -1, sent_ms + delay_ms)
    level = np.broadcast_to(np.array(level_ms, np.int64), delay_ms.shape)
    return play_arrivals(sent_ms * 1000, np.where(arrived_ms < 0, -1, arrived_ms * 1000), level * 1000)


def _summary(heard: Playback) -> tuple[int, int, int]:
    """Ticks concealed, ticks in all, packets late."""
    return heard.ticks(CONCEALED), len(heard.tick_kind), int(heard.late.sum())


def _steps_ms(heard: Playback) -> dict[int, float]:
    """End-to-end delay of each played packet that differs from the one played before, by sent time."""
    played = [(10 * k, e2e / 1000) for k, e2e in enumerate(heard.end_to_end_us) if e2e >= 0]
    return {ts: e2e for (ts, e2e), (_, before) in zip(played, [(0, -1.0), *played], strict=False) if e2e != before}


def test_constant_delay() -> None:
    """P14: a delay of 50 ms, a target of 40 ms."""
    heard = _play([50] * 1000, 40)
    assert heard.tick_us[0] == 90_000
    assert _summary(heard) == (0, 1000, 0)
    assert set(heard.end_to_end_us.tolist()) == {90_000}
    assert set(heard.tick_offset_us.tolist()) == {90_000}


@pytest.mark.parametrize(
    ("delays_ms", "concealed", "late"),
    [
        ([50] * 500 + [LOST] + [50] * 499, 1, 0),
        ([50] * 500 + [95] + [50] * 499, 1, 1),
        ([50] * 500 + [85] + [50] * 499, 0, 0),
        ([50] * 900 + [LOST] * 100, 100, 0),
    ],
    ids=["one lost", "one reordered beyond the offset", "one reordered within it", "last 100 lost"],
)
def test_loss_and_reordering(delays_ms: list[int], concealed: int, late: int) -> None:
    """P14: the same with packets lost or reordered."""
    assert _summary(_play(delays_ms, 40)) == (concealed, 1000, late)


@pytest.mark.parametrize(
    ("level_ms", "concealed", "ticks", "steps_ms", "stretched"),
    [
        (0, 3, 1003, {0: 50, 3000: 80}, 0),
        (20, 1, 1003, {0: 70, 3000: 80, 5000: 90, 5090: 100}, 2),
        (30, 0, 1003, {0: 80, 5000: 90, 5090: 100, 5180: 110}, 3),
    ],
)
def test_delay_steps_up(level_ms: int, concealed: int, ticks: int, steps_ms: dict[int, int], stretched: int) -> None:
    """P15: from 50 to 80 ms."""
    heard = _play([50] * 300 + [80] * 700, level_ms)
    assert _summary(heard) == (concealed, ticks, 0)
    assert _steps_ms(heard) == steps_ms
    assert heard.ticks(STRETCHED) == stretched


def test_level_steps_down() -> None:
    """P16: the target falls from 100 to 40 ms."""
    level_ms = [100 if 10 * k + 50 < 3000 else 40 for k in range(1000)]
    heard = _play([50] * 1000, level_ms)
    assert heard.ticks(FAST) == 6
    assert _summary(heard) == (0, 994, 0)
    assert _steps_ms(heard) == {0: 150, 2860: 140, 2970: 130, 3080: 120, 3190: 110, 3300: 100, 3410: 90}


def test_outage_that_releases_everything_at_once() -> None:
    """P16: 3 s of packets held and released together."""
    heard = _play([50] * 300 + [6050 - 10 * k for k in range(300, 600)] + [50] * 400, 40)
    assert _summary(heard) == (296, 1000, 296)
    assert _steps_ms(heard) == {0: 90}


def _spikes() -> list[int]:
    delays_ms = [50] * 1050
    for k in range(50, 1050, 50):
        delays_ms[k : k + 4] = [90, 80, 70, 60]
    return delays_ms


@pytest.mark.parametrize(("level_ms", "concealed", "mean_ms"), [(0, 80, 64.10), (20, 40, 72.86), (40, 0, 90.0)])
def test_spikes_by_arrival(level_ms: int, concealed: int, mean_ms: float) -> None:
    """P17: played from arrivals, a higher target conceals less."""
    heard = _play(_spikes(), level_ms)
    assert (heard.ticks(CONCEALED), len(heard.tick_kind)) == (concealed, 1050)
    assert heard.late.sum() == 1050 - (heard.played_us >= 0).sum()
    assert heard.end_to_end_us[heard.end_to_end_us >= 0].mean() / 1000 == pytest.approx(mean_ms, abs=0.005)


def _watermark_emissions_ms(delays_ms: list[int], lag_ms: int) -> list[int]:
    """Emission time of each packet of a first-in-first-out stream under a fixed lag; what is left at the end is flushed."""
    emitted_ms: list[int] = []
    waiting: deque[int] = deque()
    for k, delay_ms in enumerate(delays_ms):
        waiting.append(10 * k)
        while waiting and waiting[0] <= 10 * k - lag_ms:
            waiting.popleft()
            emitted_ms.append(10 * k + delay_ms)
    return emitted_ms + [emitted_ms[-1]] * len(waiting)


@pytest.mark.parametrize(("lag_ms", "mean_ms"), [(0, 88.10), (20, 108.17), (40, 128.25)])
def test_spikes_by_emission(lag_ms: int, mean_ms: float) -> None:
    """P17: played from emissions, a higher lag only adds delay."""
    emitted_ms = np.array(_watermark_emissions_ms(_spikes(), lag_ms), np.int64)
    heard = play_emissions(np.arange(1050, dtype=np.int64) * 10_000, emitted_ms * 1000)
    assert _summary(heard) == (4, 1054, 0)
    assert heard.end_to_end_us.mean() / 1000 == pytest.approx(mean_ms, abs=0.005)
