"""What is no packet of the call, copies above all, is news of its path to an observation and no more."""

import numpy as np
import pytest

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import COPY, MEDIA, PROBE, REPAIR, Record
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.features.added import NoFeatures
from vcgym.envs.call.features.call import CALL, CALL_WIDTH
from vcgym.envs.call.features.observe import allocate_features, clear_features, observe_feed
from vcgym.envs.call.features.path import PATH, PATH_WIDTH
from vcgym.envs.call.paths.feed import append
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario


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
