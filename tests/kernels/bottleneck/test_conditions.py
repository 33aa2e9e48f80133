"""Delay and loss of a link that change with its rate: against a slow twin in fractions, in whole calls, and in files."""

import json
from fractions import Fraction

import numpy as np
import pytest
from sending import play

from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.network.bottleneck.capacity.alphartc import import_alphartc
from vcgym.network.bottleneck.capacity.capacity import Conditions, choose_trace, constant, cut, rate_trace
from vcgym.network.bottleneck.capacity.files import conditions_of, describe_capacity, read_capacity, write_capacity
from vcgym.network.bottleneck.cross_traffic import CARRIED, allocate_dumbbell, carry
from vcgym.network.bottleneck.queue import DROPPED, require_limits, start_link
from vcgym.network.bottleneck.shared_link import Reverse, SharedLink, require_link
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.traces.cards import Card
from vcgym.network.traces.reading import TraceError

CARD = Card(name="made", description="arithmetic", source="test", licence="MIT", sha256="0" * 64, kind="synthesised", units="us")
SEED, LOST = 7, -2


def changing(times_s, mbps, length_s, delay_ms, jitter_ms, loss):
    made = rate_trace("link", times_s, 1e6 * np.asarray(mbps), length_s)
    return made._replace(conditions=conditions_of(*(np.asarray(values, float) for values in (delay_ms, jitter_ms, loss))))


@kernel
def carry_each(bell, times_us, sizes, loss, out_us):
    for i in range(times_us.size):
        outcome, out_us[i] = carry(bell, 0, 0, i, times_us[i], sizes[i], loss, i, 0)
        if outcome != CARRIED:
            out_us[i] = -outcome


def drawn(purpose, number):
    return rng.uniform(np.uint64(rng.stream_key(np.uint64(SEED), 0, purpose)), number)


def twin(trace, start_us, times_us, sizes, loss, limit_packets):
    """The same link, packet by packet: rate, loss and delay are looked up in the trace written out from the start."""

    def at(us):
        place = (us + start_us) % trace.length_us
        return max(i for i, begins in enumerate(trace.times_us.tolist()) if begins <= place)

    def served(us, bits):
        while True:
            place = (us + start_us) % trace.length_us
            entry = max(i for i, begins in enumerate(trace.times_us.tolist()) if begins <= place)
            ends = [*trace.times_us.tolist(), trace.length_us][entry + 1]
            per_us = Fraction(int(trace.rates_bps[entry]), 10**6)
            if bits <= (ends - place) * per_us:
                return us + bits / per_us
            bits, us = bits - (ends - place) * per_us, us + ends - place

    free, left, last, passed, found = Fraction(0), [], 0, 0, []
    floor_us = min(max(d - j, 0) for d, j in zip(trace.conditions.delay_us.tolist(), trace.conditions.jitter_us.tolist(), strict=True))
    for number, (now_us, size) in enumerate(zip(times_us.tolist(), sizes.tolist(), strict=True)):
        gone = 1 - (1 - loss) * (1 - trace.conditions.loss[at(now_us)])
        if drawn(rng.PACKET_LOSS, number) < gone:
            found.append(LOST)
            continue
        left = [departs for departs in left if departs > now_us]
        if len(left) >= limit_packets:
            found.append(DROPPED)
            continue
        free = served(max(free, Fraction(now_us)), Fraction(8 * size))
        departs_us = -int(-free // 1)
        left.append(departs_us)
        entry = at(departs_us)
        delay_us, jitter_us = int(trace.conditions.delay_us[entry]) - floor_us, int(trace.conditions.jitter_us[entry])
        if jitter_us:
            delay_us = max(delay_us + round((2 * drawn(rng.JITTER, passed) - 1) * jitter_us), 0)
        passed += 1
        last = max(last, departs_us + delay_us)
        found.append(last)
    return found


@pytest.mark.parametrize("seed", range(8))
def test_packets_take_the_delay_and_the_loss_that_the_slow_twin_says(seed):
    draws = np.random.default_rng(seed)
    entries = int(draws.integers(1, 6))
    times_s = np.append(0.0, np.sort(draws.uniform(0.01, 0.5, entries - 1)).round(4))
    trace = changing(
        times_s, draws.uniform(0.2, 5.0, entries).round(3), 0.6, draws.integers(0, 80, entries),
        draws.integers(0, 30, entries) * (seed % 2), draws.choice([0.0, 0.02, 0.5, 1.0], entries),
    )  # fmt: skip
    start_us, loss = int(draws.integers(0, 2_000_000)), [0.0, 0.1][seed % 2]
    times_us, sizes = np.sort(draws.integers(0, 3_000_000, 400)), draws.integers(1, 1_500, 400)
    bell = allocate_dumbbell([constant(1e6), trace], 1, 1)
    bell.flows.seed[0] = SEED
    choose_trace(bell.capacity, 0, 1, start_us)
    start_link(bell.queue, bell.capacity, 0, *require_limits(20))
    out_us = np.empty(400, np.int64)
    carry_each(bell, times_us, sizes, loss, out_us)
    assert out_us.tolist() == twin(trace, start_us % trace.length_us, times_us, sizes, loss, 20)


STEPS = changing([0, 10], [1.0, 0.4], 20, [5, 60], [0, 0], [0.0, 0.1])


@pytest.fixture
def folder(tmp_path):
    write_capacity(STEPS, CARD, tmp_path / "links" / "steps.csv.gz")
    return tmp_path / "links"


def test_what_is_written_is_read_back(folder):
    [again] = read_capacity(folder / "steps.csv.gz")
    assert again.length_us == STEPS.length_us
    for one, other in zip(again.conditions, STEPS.conditions, strict=True):
        np.testing.assert_array_equal(one, other)
    assert again.times_us.tolist() == STEPS.times_us.tolist() and again.rates_bps.tolist() == STEPS.rates_bps.tolist()
    part = cut(STEPS, 0.25, 0.75)
    assert part.conditions.delay_us.tolist() == [5_000, 60_000] and part.times_us.tolist() == [0, 5_000_000]
    assert cut(STEPS, 0.6, 0.8).conditions.loss.tolist() == [0.1]


def test_a_call_meets_capacity_delay_and_loss_that_change_together():
    link = SharedLink("steps", 1, STEPS, forward_ms=5.0, backward_ms=5.0, queue_packets=8192, seconds=20.0, rates_kbps=(300.0,) * 3)
    log = play(link, FixedRate(300.0)).log(0)
    transit_ms, second = (log["arrived_us"] - log["sent_us"]) / 1e3, log["sent_us"] >= 10_000_000
    lost = log["arrived_us"] < 0
    assert not lost[~second].any() and 0.05 < lost[second].mean() < 0.15
    first = transit_ms[~second & (log["sent_us"] < 9_900_000)]
    assert first.min() < 7.0 and transit_ms[second & ~lost][:-9].min() > 60.0  # the last leave in the next turn of the trace
    assert np.diff(log["arrived_us"][~lost]).min() >= 0


def test_a_world_has_the_smallest_delay_of_its_trace(folder):
    link = SendingScenario("rate-replay", traces=str(folder)).draw("train", 0)
    assert (link.forward_ms, link.backward_ms) == (5.0, 5.0)
    with pytest.raises(ValueError, match="delay and loss that change are allowed without `reverse`, `second` and `air`"):
        require_link(link._replace(reverse=Reverse(constant(1e6))))


def written(tmp_path, document):
    path = tmp_path / "trace.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document))
    return path


def test_alphartc_is_imported_as_its_player_plays_it(tmp_path):
    entries = [
        {"duration": 2_000, "capacity": 1_000, "loss": 0, "time": 0.0},
        {"duration": 500.5, "capacity": 300.5, "rtt": 101, "loss": 0.02, "jitter": 3},
        {"duration": 1_000, "capacity": 0},
        {"duration": 7, "capacity": 2_000, "rtt": 0, "loss": None, "jitter": 0},
    ]
    made = import_alphartc(written(tmp_path, {"type": "video", "downlink": {}, "uplink": {"trace_pattern": entries}}))
    assert made.times_us.tolist() == [0, 2_000_000, 2_500_500, 3_500_500] and made.length_us == 3_507_500
    assert made.rates_bps.tolist() == [1_000_000, 300_500, 50_000, 2_000_000]
    assert [values.tolist() for values in made.conditions] == [[0, 50_500, 50_500, 0], [0, 3_000, 3_000, 0], [0.0, 0.02, 1.0, 0.02]]
    assert "one-way delay 0 to 50.5 ms with jitter of up to 3 ms, loss 0 to 100 %" in describe_capacity(made)
    plain = import_alphartc(written(tmp_path, {"trace_pattern": [{"duration": 1_000, "capacity": 700}]}))
    assert plain.conditions is None and plain.length_us == 1_000_000
    down = written(tmp_path, {"uplink": {}, "downlink": {"trace_pattern": [{"duration": 1_000, "capacity": 700, "loss": 0.5}]}})
    assert import_alphartc(down, "downlink").conditions.loss.tolist() == [0.5]
    with pytest.raises(TraceError, match=r"trace_pattern of uplink is None; .*this file has one with format\.direction=downlink"):
        import_alphartc(down)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"duration": 1, "capacity": 1, "loss": 2}, r"entry 2 of trace_pattern, loss is 2; allowed: a number from 0 to 1"),
        ({"duration": 1, "capacity": -1}, r"entry 2 of trace_pattern, capacity is -1"),
        ({"duration": 1}, r"entry 2 of trace_pattern, capacity is None"),
        ({"capacity": 1}, r"entry 2 of trace_pattern, duration is None"),
        ({"duration": 0, "capacity": 1}, r"entry 2 of trace_pattern, duration is 0; allowed: above 0"),
        ({"duration": "1", "capacity": 1}, r"entry 2 of trace_pattern, duration is '1'"),
        ({"duration": 1, "capacity": True}, r"entry 2 of trace_pattern, capacity is True"),
        (7, r"entry 2 of trace_pattern is 7; allowed: an object with fields of capacity, duration, jitter, loss, rtt, time"),
        ({"duration": 1, "capacity": 1, "delay": 50}, r"entry 2 of trace_pattern is \['delay'\]; allowed: an object with fields"),
        ({"duration": 9_000, "capacity": 700_000}, r"capacity, median in kbit/s is 350250\.0; .*format\.any_rate=true"),
    ],
)
def test_a_bad_entry_is_named(tmp_path, entry, message):
    with pytest.raises(TraceError, match=message):
        import_alphartc(written(tmp_path, {"uplink": {"trace_pattern": [{"duration": 1_000, "capacity": 500}, entry]}}))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"uplink": 3}', '{"uplink": {"trace_pattern": []}}', '{"uplink": {"trace_pattern": {}}}'])
def test_no_pattern_is_refused(tmp_path, text):
    with pytest.raises(Exception, match=r"trace\.json: (content|trace_pattern of uplink) is"):
        import_alphartc(written(tmp_path, text))


def test_files_of_conditions_are_checked(tmp_path):
    head, path = "t_s,mbps,delay_ms,jitter_ms,loss\n", tmp_path / "link.csv"
    for rows, message in (
        ("0,1,5,0,1.5\n", "line 2, loss is '1.5'"),
        ("0,1,5,0,0.1\n1,,5,0,0.1\n", "line 3, mbps is ''; allowed: a number; the last row"),
        ("0,1,5,0,0.1\n1,1,,0,0.1\n2,1,5,0,0.1\n", "line 3, delay_ms is ''"),
        ("0,,,,\n", "line 2, mbps is ''"),
    ):
        path.write_text(head + rows)
        with pytest.raises(TraceError, match=message):
            read_capacity(path)
    path.write_text("t_s,mbps,loss\n0,1,0.1\n")
    with pytest.raises(TraceError, match="a column delay_ms"):
        read_capacity(path)
    assert Conditions(np.array([5]), np.array([9]), np.zeros(1)).floor_us == 0
