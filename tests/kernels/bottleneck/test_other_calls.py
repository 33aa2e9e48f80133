"""Several calls over one bottleneck against a plain simulator; a call alone; counters at every instant; shares."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sending import logs_of, play
from typed import output_of

from twins.plain_calls import draw, plain, rows
from twins.queued import queued
from vcgym.baselines.controls.control import PACING
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.other_calls import number_of
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccDraft, GccWebrtc
from vcgym.baselines.rate.nada.nada import Nada
from vcgym.baselines.rate.scream.scream_v1 import ScreamV1
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.systems import load_system
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.envs.call.sender.effects import Requests
from vcgym.envs.call.sender.no_uplink import BY_PACKET
from vcgym.envs.call.stages import DONE
from vcgym.network.bottleneck.capacity.capacity import constant, steps
from vcgym.network.bottleneck.flow import Tcp, Udp
from vcgym.network.bottleneck.other_call import ORDERS, RATES, OtherCall
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sources import Audio, Encoder, Series, Timeline
from vcgym.network.kernels import rng

pytestmark = pytest.mark.long  # a rule per background call, inside the loop: each set of rules is another loop to compile

RULES = {"gcc_webrtc": GccWebrtc(), "gcc_draft": GccDraft(), "tfrc": Tfrc(), "nada_xmax": Nada(max_signal_ms=500.0)}
SIZES = Series(np.array([9000, 700, 2500, 1300, 400, 5200]), 24.0)


@settings(max_examples=25)
@given(
    names=st.lists(st.sampled_from(["fixed", *RULES]), min_size=2, max_size=3),
    pacings=st.tuples(*[st.sampled_from([BY_PACKET, 1.0, PACING])] * 3),
    starts_ms=st.tuples(*[st.integers(0, 2500)] * 2),
    at_once=st.booleans(),
    kbps=st.integers(400, 3000),
    limit=st.integers(2, 60),
    send_queue=st.integers(2, 40),
    seed=st.integers(0, 2**32),
)
def test_equals_a_plain_simulator(names, pacings, starts_ms, at_once, kbps, limit, send_queue, seed):
    """Whatever rules meet: each packet of each call is captured, sent and there at the same microsecond, or lost."""
    pacings = [*pacings[: len(names) - 1], math.inf] if at_once else list(pacings[: len(names)])
    if pacings[0] == math.inf:
        pacings[0] = PACING
    others = tuple(
        OtherCall(name, pacing=pacing, audio=Audio(160 + i, 20.0), video=SIZES, rates_kbps=(500.0, 60.0, 2500.0), forward_ms=10.0 + 7 * i,
                  backward_ms=12.0, starts_s=ms / 1000, stops_s=math.inf if i else 3.1)
        for i, (name, pacing, ms) in enumerate(zip(names[1:], pacings[1:], starts_ms, strict=False))
    )  # fmt: skip
    link = SharedLink(
        "x", seed, constant(kbps * 1e3), queue_packets=limit, flows=others, video=SIZES, seconds=4.0, send_queue=send_queue,
        rates_kbps=(700.0, 60.0, 2500.0),
    )  # fmt: skip
    rate, starts_s = RULES.get(names[0], FixedRate(700.0)), [0.0, *(of.starts_s for of in others)]
    batch = play(link, rate, pacing=pacings[0])
    expected = plain(link, [rate, *(RULES.get(name, FixedRate(500.0)) for name in names[1:])], pacings, kbps * 1000)
    assert [rows(log, round(at_s * 1e6)) for log, at_s in zip(logs_of(batch), starts_s, strict=True)] == expected
    assert len(expected[0]) > 50


@pytest.mark.parametrize("seed", range(4))
def test_windows_and_paces_equal_a_plain_simulator(seed):
    """A rule with a window beside others, over little capacity and much: its window closes, half a second of silence opens it."""
    rules = {"scream_v2": ScreamV2(), "scream_v1": ScreamV1(), "nada": Nada()}
    others = tuple(
        OtherCall(name, pacing=1.0, video=SIZES, rates_kbps=(500.0, 60.0, 2500.0), forward_ms=10.0 + 7 * i, starts_s=0.4 * i)
        for i, name in enumerate(rules)
    )
    kbps, limit = ((3000, 60), (900, 8), (400, 30), (60, 4))[seed]
    link = SharedLink(
        "x", seed, constant(kbps * 1e3), queue_packets=limit, flows=others, video=SIZES, seconds=8.0, send_queue=30,
        rates_kbps=(700.0, 60.0, 2500.0),
    )  # fmt: skip
    batch, starts_s = play(link, ScreamV2(), pacing=1.5), [0.0, *(of.starts_s for of in others)]
    expected = plain(link, [ScreamV2(), *rules.values()], [1.5, 1.0, 1.0, 1.0], kbps * 1000)
    assert [rows(log, round(at_s * 1e6)) for log, at_s in zip(logs_of(batch), starts_s, strict=True)] == expected
    assert min(map(len, expected)) > 10


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("rate", RULES)
def test_another_call_alone_is_the_same_call(rate, order):
    """All that the first call sends is lost at random; the other call then is what it is as the first, that much later in the trace."""
    trace, begins_s = steps("x", [(0.0, 2.0), (4.0, 0.5), (9.0, 3.0)], 15.0), 3.25
    video = Encoder(key_every=40)
    beside = OtherCall(rate, order, 1.0, video=video, forward_ms=30.0, backward_ms=40.0, starts_s=begins_s, loss=0.0)
    mute = SharedLink("x", 5, trace, flows=(beside,), audio=Audio(1, 1e4), video=None, loss=0.999, seconds=23.25, queue_packets=15)
    other = play(mute, FixedRate(50.0)).log_of_other(0, 0)
    seed = int(rng.stream_key(np.uint64(5), 1, rng.OTHER_CALL))
    alone = SharedLink(
        "x", seed, trace, round(begins_s * 1e6), video=video, forward_ms=30.0, backward_ms=40.0, seconds=20.0, queue_packets=15
    )
    first = play(alone, RULES[rate], Sbpn() if order == "sbpn2" else Fifo(), 1.0).log(0)
    assert rows(other, round(begins_s * 1e6)) == rows(first)
    assert len(first) > 1000
    assert (first["arrived_us"] < 0).any()


def test_as_captured_leaves_at_once():
    beside = OtherCall("fixed", pacing=math.inf, video=Timeline(), rates_kbps=(400.0, 50.0, 4000.0), starts_s=1.0)
    log = play(SharedLink("x", 1, constant(5e6), flows=(beside,), seconds=5.0), FixedRate(300.0)).log_of_other(0, 0)
    assert (log["sent_us"] == log["created_us"]).all()
    assert log["created_us"][0] == 1_000_000
    assert set(log["kind"]) == {AUDIO, VIDEO}


@settings(max_examples=15)
@given(
    seed=st.integers(0, 2**32),
    names=st.lists(st.sampled_from(list(RATES)), min_size=1, max_size=3),
    orders=st.tuples(*[st.sampled_from(list(ORDERS))] * 3),
    kbps=st.integers(200, 3000),
    limit=st.integers(1, 30),
    loss=st.sampled_from([0.0, 0.05]),
    works_ms=st.sampled_from([0.0, 500.0]),
)
def test_packets_in_are_packets_out_at_every_instant(seed, names, orders, kbps, limit, loss, works_ms):
    others = tuple(OtherCall(name, order, starts_s=0.3 * i, loss=loss) for i, (name, order) in enumerate(zip(names, orders, strict=False)))
    flows = (Tcp("cubic", starts_s=1.0), *others, Udp(2e5, off_s=0.5))
    link = SharedLink(
        "x", seed, constant(kbps * 1e3), flows=flows, queue_packets=limit, loss=loss, works_ms=works_ms, seconds=3.0, send_queue=20,
        video=Encoder(key_every=10),
    )  # fmt: skip
    agent = FromAgent(effect=Requests())
    batch = SendingBatch(1, agent, Fifo(), Worlds.of(link), log_packets=9000)
    batch.start(0, link)
    draws, senders = np.random.default_rng(seed), batch.tables.others.senders
    while True:
        batch.play(np.array([0]))
        now_us, bell = int(batch.senders["now_us"][0]), batch.tables.dumbbell
        crossing, of_link = bell.flows.flow[0], bell.queue.link[0]
        told = np.concatenate([batch.senders, senders])
        inside = queued(bell.queue, 0, now_us)
        lost = int(crossing["lost"].sum())
        for sender, log in zip(told, logs_of(batch), strict=True):
            totals = {name: int(sender["counts"][name].sum()) for name in sender["counts"].dtype.names}
            assert totals["created"] == totals["rejected"] + totals["discarded"] + totals["sent"] + sender["queue"]["waiting"]
            assert totals["sent"] == len(log) == totals["delivered"] + totals["lost"] + sender["packets"] - sender["reported"]
            flow = int(sender["flow"])
            lost += sum(draw(seed, flow, rng.PACKET_LOSS, i) < loss for i in range(len(log)))
        sent = int(told["packets"].sum()) + int(crossing["sent"].sum())
        assert sent == lost + of_link["dropped"] + of_link["entered"]
        departed = int((np.sort(bell.queue.departs_us[0, : of_link["entered"]]) <= now_us).sum())
        assert of_link["entered"] == departed + inside
        assert inside <= limit
        if batch.why[0] == DONE:
            break
        batch.senders["answer_bps"] = draws.uniform(5e4, 3e6)
        batch.rate_state.wake_us[0] = now_us + draws.integers(1, 100_000)
    assert of_link["entered"] < bell.queue.departs_us.shape[1]


def share(link, rule, pacing=PACING, sessions=10):
    """Share of the first call of what both delivered in the second half, by session."""
    batch, from_us = play(link, rule, pacing=pacing, sessions=sessions), link.seconds * 5e5
    logs = [logs_of(batch, row) for row in range(sessions)]
    delivered = np.array([[log["size_bytes"][log["arrived_us"] >= from_us].sum() for log in both] for both in logs])
    return delivered[:, 0] / delivered.sum(axis=1)


@pytest.mark.parametrize(("rate", "pacing", "apart"), [("gcc_webrtc", PACING, 0.07), ("tfrc", BY_PACKET, 0.08)])
def test_two_equal_calls_share(rate, pacing, apart):
    link = SharedLink("x", 0, constant(2e6), queue_packets=8192, queue_bytes=75_000, flows=(OtherCall(rate, pacing=pacing),), seconds=120.0)
    shares = share(link, RULES[rate], pacing)
    assert shares.mean() == pytest.approx(0.5, abs=0.03)
    assert abs(shares - 0.5).max() < apart


def test_who_asks_for_less_keeps_it_and_delay_yields_to_loss():
    link = SharedLink("x", 0, constant(2e6), queue_packets=8192, queue_bytes=75_000, seconds=60.0)
    fixed = link._replace(flows=(OtherCall("fixed", rates_kbps=(500.0, 500.0, 500.0)),))
    assert share(fixed, GccWebrtc(), sessions=4).min() > 0.55
    greedy = link._replace(flows=(OtherCall("tfrc", pacing=BY_PACKET),))
    assert share(greedy, GccWebrtc(), sessions=4).max() < 0.1


def test_same_bytes_however_batched():
    flows = (OtherCall("tfrc", starts_s=0.5), Tcp("reno", starts_s=1.0), OtherCall("gcc_draft", "sbpn2", stops_s=3.0))
    links = [SharedLink("x", seed, constant(2e6), flows=flows[: 1 + seed % 3], seconds=5.0, loss=0.01) for seed in range(6)]
    kept = []
    for threads, groups in ((1, [[0, 1, 2, 3, 4, 5]]), (3, [[0, 1, 2, 3, 4, 5]]), (1, [[5], [2, 0], [1, 4, 3]])):
        batch = SendingBatch(6, GccWebrtc(), Fifo(), Worlds.of(*links), log_packets=9000, threads=threads)
        for row, link in enumerate(links):
            batch.start(row, link)
        for group in groups:
            batch.play(np.array(group))
        others = [(row, call) for row, link in enumerate(links) for call in range(sum(isinstance(f, OtherCall) for f in link.flows))]
        kept.append([batch.log(row).tobytes() for row in range(6)] + [batch.log_of_other(*which).tobytes() for which in others])
    assert kept[0] == kept[1] == kept[2]
    assert len(set(kept[0])) == len(kept[0])


SCRIPT = """
import numpy as np
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.order.fifo import Fifo
from vcgym.envs.call.sender.batch import SendingBatch, Worlds
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.shared_link import SharedLink

flows = (OtherCall("tfrc", "sbpn2", 0.0, starts_s=0.1), OtherCall("gcc_draft", starts_s=0.2), OtherCall("fixed"))
link = SharedLink("x", 3, constant(1e6), flows=flows, seconds=1.0, queue_packets=20)
batch = SendingBatch(1, GccWebrtc(), Fifo(), Worlds.of(link), log_packets=999)
batch.start(0, link)
batch.play(np.arange(1))
print(*(log.tolist() for log in (batch.log(0), *(batch.log_of_other(0, call) for call in range(3)))))
"""


def test_plain_python_sends_the_same_packets():
    said = [output_of(SCRIPT, NUMBA_DISABLE_JIT=off) for off in "01"]
    assert said[0] == said[1]
    assert len(said[0]) > 5000


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (OtherCall("bbr"), "OtherCall.rate = 'bbr': allowed are fixed, gcc_webrtc, gcc_draft, tfrc, nada, scream_v1, scream_v2, nada_xmax"),
        (OtherCall(order="lifo"), "OtherCall.order = 'lifo': allowed are fifo, sbpn2"),
        (OtherCall(starts_s=-1.0), r"OtherCall.starts_s is -1.0; allowed range is \[0.0"),
        (OtherCall(starts_s=5.0, stops_s=4.0), "OtherCall.stops_s is 4.0"),
        (OtherCall(rates_kbps=(300.0, 400.0, 500.0)), "rates_kbps = .* of OtherCall"),
        (OtherCall(audio=None, video=None), "audio and video of OtherCall are None"),
        (OtherCall(audio=Audio(0)), "Audio.size_bytes is 0"),
        (OtherCall(video=Encoder(spread=2.0)), "Encoder.spread is 2.0"),
    ],
)
def test_what_cannot_be_is_refused_before_the_call_begins(call, message):
    link = SharedLink("x", 1, constant(1e6), flows=(call,))
    batch = SendingBatch(1, FixedRate(), Fifo(), Worlds([link.trace], 1, 1))
    with pytest.raises(ValueError, match=message):
        batch.start(0, link)


def test_each_name_of_a_world_has_a_rule():
    assert [number_of(name) for name in RATES] == list(range(len(RATES)))


def test_a_rule_without_a_name_sends_what_the_named_rule_sends():
    def sent(played, **chosen):
        flows = tuple(OtherCall(rate, starts_s=0.2 * i) for i, rate in enumerate(played))
        link = SharedLink("x", 5, constant(2e6), flows=flows, seconds=4.0, queue_packets=30)
        batch = SendingBatch(1, GccWebrtc(), Fifo(), Worlds([link.trace], 2, 2, **chosen), log_packets=9999)
        batch.start(0, link)
        batch.play(np.arange(1))
        return logs_of(batch)

    learned, nada = load_system("learned-rate").rate, Nada()
    for logs in zip(sent(("nada", "scream_v2")), sent((nada, "scream_v2"), rates=(learned, nada)), strict=True):
        np.testing.assert_array_equal(*logs)
    first, of_learned, of_nada = sent((learned, nada), rates=(learned, nada))
    assert min(map(len, (first, of_learned, of_nada))) > 100
    with pytest.raises(ValueError, match=r"rate of an OtherCall = Nada.*: allowed are names and the 1 `rates` that the batch was made for"):
        sent((learned, nada), rates=(learned,))
    with pytest.raises(ValueError, match=r"rate of an OtherCall = Fifo.*: allowed are rules that control rate"):
        sent((learned,), rates=(Fifo(),))


def test_more_calls_than_there_is_room_for():
    link = SharedLink("x", 1, constant(1e6), flows=(OtherCall(),))
    with pytest.raises(ValueError, match="1 flows, 1 of them calls, are not among"):
        SendingBatch(1, FixedRate(), Fifo(), Worlds([link.trace], 1)).start(0, link)
    with pytest.raises(ValueError, match="calls = 2: allowed is 0 to 1"):
        SendingBatch(1, FixedRate(), Fifo(), Worlds([link.trace], 1, 2))
    batch = SendingBatch(1, FixedRate(), Fifo(), Worlds.of(link))
    batch.start(0, link)
    with pytest.raises(ValueError, match="call = 1 of row 0: the row has 1 other calls"):
        batch.log_of_other(0, 1)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ({"queue_packets": 0}, "SharedLink.queue_packets is 0"),
        ({"send_queue": 0}, "SharedLink.send_queue is 0"),
        ({"expiry_ms": -1.0}, "an expiry before creation"),
        ({"seconds": math.nan}, "SharedLink.seconds is nan"),
        ({"audio": None, "video": None}, "audio and video of x are None"),
    ],
)
def test_a_world_that_cannot_be_is_refused(link, message):
    world = SharedLink("x", 1, constant(1e6))._replace(**link)
    with pytest.raises(ValueError, match=message):
        SendingBatch(1, FixedRate(), Fifo(), Worlds([world.trace])).start(0, world)
