"""Features of paths and call are a function of the records at the location, the history and the commands: a slow twin recomputes them.

What is no packet of the call, copies above all, is news of its path and no more.
"""

import math

import gymnasium
import numpy as np
import pytest
from absolute import ABSOLUTE

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import COPY, MEDIA, PROBE, REPAIR, Record
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.features.added import NoFeatures
from vcgym.envs.call.features.call import CALL, CALL_WIDTH
from vcgym.envs.call.features.observe import allocate_features, clear_features, observe_feed
from vcgym.envs.call.features.path import PATH, PATH_WIDTH
from vcgym.envs.call.paths.feed import append
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import HISTORY_BLOCKS

START_LEVEL_US = 80_000


def clip(value, low=0.0, high=20.0):
    return min(max(value, low), high)


def place(level_us):
    """-1 at 10 ms, 1 at 1 s."""
    return math.log10(clip(level_us, 10_000, 1_000_000) / 10_000) - 1.0


def smooth(values, gain):
    """Exponential smoothing that starts at the first value."""
    mean = values[0]
    for value in values[1:]:
        mean += gain * (value - mean)
    return mean


def of_path(records, now_us, mean_ms, sd_ms):
    """Newest delay, its age, smoothed delay and deviation in ms and s."""
    if not records:
        return mean_ms, math.inf, mean_ms, sd_ms
    delays = [(r.arrived_us - r.sent_us) / 1000.0 for r in records]
    newest = max(range(len(records)), key=lambda i: (records[i].sent_us, i))
    deviation = delays[0] / 2.0
    for i in range(1, len(delays)):
        deviation += (abs(delays[i] - smooth(delays[:i], 1 / 8)) - deviation) / 4.0
    return delays[newest], (now_us - records[newest].sent_us) / 1e6, smooth(delays, 1 / 8), deviation


def of_call(media, now_us, elapsed, commanded_us):
    """The last twelve features."""
    if not media:
        return [elapsed, place(commanded_us), place(commanded_us), 20.0, *[0.0] * 8]
    last = media[-1]
    delays = [(r.arrived_us - r.sent_us) / 1000.0 for r in media]
    jitter, floor, peaks = 0.0, delays[0], [0.0, 0.0, 0.0]
    late, missing, newest = 0.0, 0.0, -1
    for i, record in enumerate(media):
        late += (record.late - late) / 64.0
        for _ in range(min(max(record.packet - newest - 1, 0), 64)):
            missing += (1.0 - missing) / 64.0
        missing -= missing / 64.0
        newest = max(newest, record.packet)
        if i > 0:
            passed_s = (record.arrived_us - media[i - 1].arrived_us) / 1e6
            jitter += (abs(delays[i] - delays[i - 1]) - jitter) / 16.0
            floor = min(floor + 5.0 * passed_s, delays[i])
            peaks = [peak * math.exp(-passed_s / time) for peak, time in zip(peaks, (0.5, 2.0, 8.0), strict=True)]
        peaks = [max(peak, delays[i] - floor) for peak in peaks]
    ages = (now_us - max(r.sent_us for r in media)) / 1e6, (last.known_us - last.arrived_us) / 1e5
    scaled = [jitter / 100.0, (delays[-1] - floor) / 100.0, *(peak / 100.0 for peak in peaks)]
    return [elapsed, place(commanded_us), place(last.lag_us), *map(clip, ages), *map(clip, scaled), late, missing]


@pytest.mark.parametrize(("mode", "feedback_loss"), [("correlated", 0.0), ("paper", 0.3)])
def test_features_equal_their_twin(path_env_id, mode, feedback_loss):
    arguments = ABSOLUTE[path_env_id] | {"packets": 300, "mode": mode, "feedback_loss": feedback_loss, "action": "exact"}
    shown = gymnasium.make(path_env_id, **arguments).unwrapped
    told = gymnasium.make(path_env_id, observation="records", **arguments).unwrapped
    features, _ = shown.reset(seed=3)
    observation, _ = told.reset(seed=3)
    draws, records, over = np.random.default_rng(0), [], False
    path, level_us, at_receiver = 0, START_LEVEL_US, shown.native.at_arrivals
    while not over:
        records += [Record(*map(int, row)) for row in observation["records"][: observation["count"]]]
        slot, history = int(observation["slot"]), observation["history"]
        now_us = records[-1].arrived_us if at_receiver else slot * 10_000
        media = [record for record in records if record.kind == MEDIA]
        expected = []
        if not at_receiver:
            rows = [of_path([r for r in records if r.path == p], now_us, *history[p, 1:]) for p in range(len(history))]
            best_ms = min(row[2] for row in rows)
            for p, (newest_ms, age_s, now_ms, deviation_ms) in enumerate(rows):
                in_100_ms = (*history[p, 1:], newest_ms, now_ms, deviation_ms, now_ms - best_ms)
                mean, sd, newest, smoothed, deviation, excess = (clip(value / 100.0) for value in in_100_ms)
                lost_percent = clip(100.0 * (1.0 - history[p, 0] / (HISTORY_BLOCKS * BLOCK_SLOTS)))
                expected += [mean, sd, lost_percent, newest, clip(age_s), smoothed, deviation, excess, float(p == path)]
        expected += of_call(media, now_us, min(slot / 300, 1.0), level_us)
        np.testing.assert_allclose(features, np.array(expected, np.float32), rtol=1e-5, atol=1e-6)
        path, level = int(draws.integers(len(history))), int(draws.integers(0, 1_200_000))
        action = np.array([value for control, value in (("path", path), ("playout", level)) if control in shown.native.controls])
        level_us = level if "playout" in shown.native.controls else START_LEVEL_US
        action = action if action.size > 1 else action[0]
        features, _, _, over, _ = shown.step(action)
        observation, *_ = told.step(action)


def features_of_call(records):
    """Features of the call after its feed has held `records`."""
    batch = CallBatch(Scenario("table1", "paper", 1000), 1, Direct(), WMJitter(), location="receiver", probe_rate=0.0)
    batch.start(0, batch.scenario.draw("train", 0))
    state, rows = allocate_features(1, batch.scenario.paths, NoFeatures()), np.array([0])
    clear_features(state, 0, batch.history[0])
    for record in records:
        assert append(batch.calls[0].feed, record)
    batch.calls[0].slot = 900
    seen = np.zeros((1, batch.scenario.paths, PATH_WIDTH), np.float32), np.zeros((1, CALL_WIDTH), np.float32)
    observe_feed(batch.calls, rows, state, batch.history, NoFeatures(), *seen)
    return seen


def record_of(kind, packet, path, delay_us):
    return Record(kind, packet, path, packet * SLOT_US, packet * SLOT_US + delay_us, 0, 80_000, 0)


def test_a_copy_is_news_of_its_path_and_no_packet_of_the_call():
    packets = [record_of(MEDIA, 2 * n, 0, 50_000) for n in range(200)]
    further = [record_of(kind, 2 * n, 1, 53_000) for n in range(200) for kind in (COPY, REPAIR, PROBE)]
    paths, call = features_of_call(packets)
    paths_then, call_then = features_of_call(packets + further)
    assert call_then.tolist() == call.tolist()
    assert call[0, CALL.missing_share] == pytest.approx(0.5, abs=0.02)
    assert (paths_then[0] != paths[0]).any(axis=1).tolist() == [False, True, *[False] * (len(paths[0]) - 2)]
    assert paths_then[0, 1, PATH.newest_delay] == pytest.approx(0.53)
