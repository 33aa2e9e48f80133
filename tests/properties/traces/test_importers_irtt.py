"""Results of irtt: round trips and the delays of each direction, losses by direction, clocks that are apart or drift."""

import gzip
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.importers.irtt import import_irtt
from vcgym.network.traces.trace import Trace, TraceError

START_NS = 1_700_000_000 * 10**9
UP_NS, DOWN_NS = 18_000_000, 22_000_000  # smallest delays
LOST_IN = {3: "true_up", 5: "true_down", 7: "true", 8: "true_down"}


def trip(number, lost="false", apart_ns=0):
    """A round trip sent 10 ms after the one before; the server's clock is `apart_ns` ahead."""
    up_ns, down_ns = UP_NS + 1_000 * (number % 4), DOWN_NS + 1_000 * (number % 3)
    sent = {"wall": START_NS + 10_000_000 * number, "monotonic": 77 + 10_000_000 * number}
    delay = {"receive": down_ns - apart_ns, "rtt": up_ns + down_ns, "send": up_ns + apart_ns} if lost in ("false", False) else {}
    stamps = {"client": {"receive": {}, "send": sent}, "server": {"receive": {}, "send": {}}, "late": False}
    return {"seqno": number, "lost": lost, "timestamps": stamps, "delay": delay, "ipdv": {}}


def result(trips):
    return {"version": {"irtt": "0.9.1", "json_format": 1}, "system_info": {}, "config": {}, "stats": {"lost": []}, "round_trips": trips}


def read(tmp_path, trips, name="r.json", indent=None, **told):
    path = tmp_path / name
    content = json.dumps(result(trips), indent=indent).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return import_irtt(path, **told)


def trips(pings=20, apart_ns=0, lost=LOST_IN):
    return [trip(n, lost.get(n, "false"), apart_ns) for n in range(pings)]


@pytest.mark.parametrize(("name", "indent"), [("r.json", None), ("r.json", 4), ("r.json.gz", 2)])
def test_round_trips_need_no_clocks(tmp_path, name, indent):
    made = read(tmp_path, trips(apart_ns=3_000_000_000), name, indent)
    assert made.round_trip and made.start_us == START_NS // 1000
    assert made.sent_us.tolist() == (10_000 * np.arange(20)).tolist()
    assert np.flatnonzero(made.one_way_delay_us == LOST).tolist() == sorted(LOST_IN)
    assert made.one_way_delay_us[0] == (UP_NS + DOWN_NS) // 1000
    assert made.notes == ("lost up 1, down 2, somewhere 1", "the server's clock is +2998 ms off if both directions are as fast")


@pytest.mark.parametrize("apart_ns", [0, 3_000_000_000, -7_000_000_000])
@pytest.mark.parametrize(("delay", "lost", "absent"), [("send", [3, 7], [5, 8]), ("receive", [5, 7, 8], [3])])
def test_one_way_delays_whose_clocks_are_apart(tmp_path, delay, lost, absent, apart_ns):
    """A packet lost on the way down had arrived up; its delay up is unknown, so no probe stands for it."""
    made = read(tmp_path, trips(apart_ns=apart_ns), delay=delay)
    numbers = np.array([n for n in range(20) if n not in absent])
    assert not made.round_trip and made.sent_us.tolist() == (10_000 * numbers).tolist()
    assert numbers[made.one_way_delay_us == LOST].tolist() == lost
    assert made.one_way_delay_us[made.one_way_delay_us != LOST].min() == (UP_NS + DOWN_NS) // 2000
    off_ms = (apart_ns - 2_000_000) / 1e6
    assert made.notes[1] == f"the server's clock is {off_ms:+.6g} ms off if both directions are as fast, removed"
    assert made.notes[2].startswith("no clock drift found")
    assert made.notes[3] == f"left out without a {delay} delay: {len(absent)}"


def test_clocks_that_show_one_time_are_kept(tmp_path):
    for delay, least_ns in (("send", UP_NS), ("receive", DOWN_NS)):
        made = read(tmp_path, trips(), delay=delay, offset="keep")
        assert made.one_way_delay_us[made.one_way_delay_us != LOST].min() == least_ns // 1000
    with pytest.raises(TraceError, match=r"round trip 0, receive delay in us is -2978000; .*format\.offset=remove"):
        read(tmp_path, trips(apart_ns=3_000_000_000), delay="receive", offset="keep")


@pytest.mark.parametrize("ppm", [100.0, -100.0])
@pytest.mark.parametrize("delay", ["send", "receive"])
def test_a_drift_of_the_two_clocks_is_removed_from_one_way_delays_unless_it_is_to_be_kept(tmp_path, delay, ppm):
    """The server's clock is 3 s ahead and gains `ppm`: over 5 minutes 30 ms."""
    pings, apart_ns = 3_000, 3_000_000_000
    rise_ns = [round(1e-6 * ppm * 100_000_000 * n) for n in range(pings)]
    some = [trip(n, apart_ns=apart_ns + rise) for n, rise in enumerate(rise_ns)]
    for n, one in enumerate(some):
        one["timestamps"]["client"]["send"] = {"wall": START_NS + 100_000_000 * n, "monotonic": 100_000_000 * n}
    one_clock = read(tmp_path, some)
    assert not any("drift" in note for note in one_clock.notes) and "the server's clock is +2998 ms off" in one_clock.notes[0]
    made = read(tmp_path, some, delay=delay)
    signed = ppm if delay == "send" else -ppm
    assert made.notes[1] == f"clock drift {signed:.1f} ppm ({0.2999 * signed:.1f} ms over the log) removed"
    assert made.one_way_delay_us.min() == pytest.approx((UP_NS + DOWN_NS) / 2_000, abs=2) and np.ptp(made.one_way_delay_us) <= 5
    kept = read(tmp_path, some, delay=delay, drift="keep")
    assert kept.notes[1].endswith("kept") and kept.one_way_delay_us.min() == pytest.approx((UP_NS + DOWN_NS) / 2_000, abs=2)
    assert (kept.one_way_delay_us[-1] - kept.one_way_delay_us[0]) / 1e3 == pytest.approx(0.2999 * signed, abs=0.01)


def test_losses_as_booleans_and_numbers_out_of_order(tmp_path):
    some = [trip(n, n == 4) for n in (1, 0, 2, 4, 3, 5)]
    made = read(tmp_path, some)
    assert np.flatnonzero(made.one_way_delay_us == LOST).tolist() == [4] and made.sent_us.tolist() == (10_000 * np.arange(6)).tolist()


def test_times_of_one_clock_alone(tmp_path):
    for clock, start_us in (("wall", START_NS // 1000), ("monotonic", 0)):
        some = trips(6, lost={})
        for one in some:
            one["timestamps"]["client"]["send"] = {clock: one["timestamps"]["client"]["send"][clock]}
        made = read(tmp_path, some)
        assert made.sent_us.tolist() == (10_000 * np.arange(6)).tolist() and made.start_us == start_us


BAD = {
    "no server stamps": (lambda one: one[0]["delay"].pop("send"), "send", "number of round trips with a send delay is 0; .*--tstamp=both"),
    "no number": (lambda one: one[0].pop("seqno"), "rtt", "entry 0, seqno is None"),
    "a number twice": (lambda one: one.append(one[0]), "rtt", "seqno is 0; allowed: each number once"),
    "no time": (lambda one: one[0]["timestamps"]["client"].pop("send"), "rtt", "seqno 0, client send is nan"),
    "a text": (lambda one: one[0]["delay"].update(rtt="20ms"), "rtt", "entry 0, delay.rtt is '20ms'; allowed: a number of ns"),
    "another loss": (
        lambda one: one[0].update(lost="perhaps"),
        "rtt",
        "entry 0, lost is 'perhaps'; allowed: false, true, true_up, true_down",
    ),
    "no object": (lambda one: one.insert(0, 7), "rtt", "entry 0, lost is 'None'"),
    "none": (lambda one: one.clear(), "rtt", "number of round trips is 0"),
    "two days": (lambda one: one.append(trip(2 * 8_640_000)), "rtt", "round trip 1, us after the first is 172800000000; allowed: at most"),
    "too long": (lambda one: one[0]["delay"].update(rtt=61 * 10**9), "rtt", "round trip 0, rtt delay in us is 61000000"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_result_is_refused(tmp_path, name):
    spoil, delay, message = BAD[name]
    some = trips(1, lost={})
    spoil(some)
    with pytest.raises(TraceError, match=message):
        read(tmp_path, some, delay=delay)


def test_a_result_that_was_cut_off_or_is_something_else_is_refused(tmp_path):
    path, whole = tmp_path / "r.json", json.dumps(result(trips())).encode()
    for cut in range(100, len(whole) - 2, 97):
        path.write_bytes(whole[:cut])
        with pytest.raises(TraceError, match=r"the file may have been cut off|round_trips is None"):
            import_irtt(path)
    for other in (b"", b"{}", b"[1, 2]", b"t,d\n1,2\n", b"\xff\xfe{", b'{"round_trips": null}', b'{"round_trips": [' + b"[" * 100_000):
        path.write_bytes(other)
        with pytest.raises(TraceError, match=r"r\.json"):
            import_irtt(path)


@given(st.lists(st.sampled_from([trip(0), trip(1, "true"), trip(2, "true_up"), {}, [], 1, None, {"seqno": 1, "lost": False}]), max_size=4))
def test_any_round_trips_are_a_trace_or_a_trace_error(tmp_path_factory, some):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(result(some)))
    try:
        assert isinstance(import_irtt(path), Trace)
    except TraceError as error:
        assert str(error).startswith(str(path))
