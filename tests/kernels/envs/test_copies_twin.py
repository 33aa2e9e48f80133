"""A whole call whose packets also leave on further paths equals the slow twin; its stage is written here, since vcgym has none."""

from typing import NamedTuple

import numpy as np
import pytest

from twins.session import Inside, assert_equal, twin, world_of
from vcgym.baselines.controls.control import Control
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.path.round_robin import RoundRobin
from vcgym.baselines.playout.count_buffer import CountTarget
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.records import COPY, MEDIA, PROBE, REPAIR, Record
from vcgym.envs.call.batch import LOCATIONS, CallBatch
from vcgym.envs.call.features.added import NoFeatures
from vcgym.envs.call.features.call import CALL, CALL_WIDTH
from vcgym.envs.call.features.observe import allocate_features, clear_features, observe_feed
from vcgym.envs.call.features.path import PATH, PATH_WIDTH
from vcgym.envs.call.paths.feed import append
from vcgym.envs.call.paths.routing import NoSender, delay_on, send
from vcgym.envs.call.sender.no_uplink import NoUplink
from vcgym.envs.call.stages import capture, is_draining, leave, pass_on, reveal, sent_onto_path_us
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.in_flight import push
from vcgym.network.scenarios.scenario import Scenario


class Copies(NamedTuple):
    """Sender whose packets leave at once, and copies of them on so many further paths, counted on from the packet's own."""

    further: int


for stage in (pass_on, reveal, leave, is_draining, sent_onto_path_us):
    stage.register(Copies)(stage.versions[NoSender])


@capture.register(Copies)
def _capture(sender, calls, s, path):
    call = calls.rows[s]
    packet, delay = call.slot, delay_on(calls, s, path)
    fits = send(calls, s, packet, path, packet * SLOT_US + delay if delay != LOST else np.int64(LOST))
    for ahead in range(1, 1 + sender.further):
        other = (path + ahead) % calls.delay_us.shape[2]
        copy_delay = delay_on(calls, s, other)
        if copy_delay != LOST:
            fits = push(call.in_flight, packet, COPY, other, copy_delay) and fits
    return fits


class WithCopies(NoUplink):
    def __init__(self, further):
        self.inside = Copies(further)


@pytest.mark.parametrize(
    ("rules", "mode", "further", "feedback_loss"),
    [
        ((Greedy(), WMJitter()), "paper", 1, 0.0),
        ((Greedy(), WMJitter()), "correlated", 2, 0.3),
        ((RoundRobin(), CountTarget(60.0)), "paper", 1, 0.0),
    ],
)
def test_a_call_with_copies(rules, mode, further, feedback_loss):
    packets, recipe = 560, Scenario("table1", mode, 560)
    draw = recipe.draw("train", 60)
    batch = CallBatch(recipe, 1, *rules, "central", feedback_loss, 1.0, log=True, uplink=WithCopies(further))
    batch.start(0, draw)
    batch.play(np.array([0]))
    delays, history = world_of(recipe, draw, packets)
    inside = (Inside(rule, history, batch.key(0, control)) for rule, control in zip(rules, (Control.PATH, Control.PLAYOUT), strict=True))
    expected = twin(delays, packets, history, draw.seed, 100, LOCATIONS["central"], feedback_loss, *inside, copies=further)
    assert_equal(batch.played(), 0, expected)
    assert expected["ticks_concealed"] < expected["ticks_played"]


def features_of_call(records):
    """Features of the call after its feed has held `records`."""
    batch = CallBatch(Scenario("table1", "paper", 1000), 1, Direct(), WMJitter(), "receiver", probe_rate=0.0)
    batch.start(0, batch.scenario.draw("train", 0))
    state, rows = allocate_features(1, batch.scenario.paths, NoFeatures()), np.array([0])
    clear_features(state, 0, batch.history)
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
