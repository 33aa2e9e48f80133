"""Sending scenarios: splits, samples, sets of capacity traces, and the mean rate of a trace."""

import gzip
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.shipped.sets.making import cellular_csv, write_cellular
from vcgym.network.bottleneck.capacity.capacity import CapacityTrace, mean_bps, opportunity_trace, rate_trace
from vcgym.network.bottleneck.capacity.files import MIN_BPS
from vcgym.network.bottleneck.capacity.sets import FOLDER, GENERATED, MEASURED, OPPORTUNITIES, place_of_trace, read_set
from vcgym.network.bottleneck.flow import Tcp, describe_flow
from vcgym.network.bottleneck.other_call import OtherCall
from vcgym.network.bottleneck.shared_link import require_link
from vcgym.network.bottleneck.sources import Timeline
from vcgym.network.scenarios.bottleneck.recipe import split_by_place
from vcgym.network.scenarios.bottleneck.sending_scenarios import (
    LOSS,
    RTT_MS,
    SEND_QUEUE,
    SENDING_SCENARIOS,
    SendingScenario,
    order_link,
)
from vcgym.network.scenarios.splits import SPLITS
from vcgym.network.scenarios.splits import unlock_test_split as opened
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.catalogue import shipped
from vcgym.network.traces.reading import TraceError

NO_DATA = ("order", "rate", "calls", "rmcat", "rmcat-extended")


@pytest.mark.parametrize("name", NO_DATA)
def test_draws_follow_from_split_seed_and_kind(name):
    scenario = SendingScenario(name)
    for kind in scenario.kinds:
        links = [scenario.draw("train", seed, kind) for seed in range(4)]
        for link in links:
            require_link(link)
            assert link.name == kind
            assert len(link.flows) <= scenario.flows
            assert link.seconds <= scenario.seconds
            assert any(link.trace is trace for trace in scenario.traces)
        assert links == [scenario.draw("train", seed, kind) for seed in range(4)]
        assert len({link.seed for link in [*links, *(scenario.draw("validation", seed, kind) for seed in range(4))]}) == 8
    assert {scenario.draw("train", seed).name for seed in range(200)} == set(scenario.kinds)


def test_no_trace_is_in_two_splits():
    scenario = SendingScenario("rate")
    with opened():
        for kind in ("steps", "cellular"):
            drawn = {split: {scenario.draw(split, seed, kind).trace.name for seed in range(100)} for split in SPLITS}
            assert not drawn["train"] & drawn["validation"] | drawn["train"] & drawn["test"] | drawn["validation"] & drawn["test"]
            assert all(drawn.values())


def test_the_course_of_rfc_8867():
    """Case 5.1 in 100 s: 1.0, 2.5, 0.6 and 1.0 Mbit/s."""
    with opened():
        traces = {link.trace.name: link for link in (SendingScenario("rate").draw("test", seed, "steps") for seed in range(40))}
    link = traces["rfc8867-5.1"]
    assert link.seconds == 100
    assert [mean_bps(link.trace, at * 10**6, (at + 20) * 10**6) / 1e6 for at in (0, 20, 40, 60, 80)] == [1, 1, 2.5, 0.6, 1]
    assert link.queue_bytes == int(0.3 * (1.0 * 40 + 2.5 * 20 + 0.6 * 20 + 1.0 * 20) / 100 * 1e6 / 8)


def test_queues_last_as_long_as_they_should():
    rate, calls = SendingScenario("rate"), SendingScenario("calls")
    for seed in range(20):
        assert {rate.draw("train", seed, kind).queue_bytes for kind in ("cubic", "wifi")} == {15_000}
        link = calls.draw("train", seed)
        assert link.queue_bytes == max(int(0.3 * link.trace.rates_bps[0] / 8), 15_000)


def test_other_calls_of_a_world():
    scenario = SendingScenario("calls")
    every = {"gcc_webrtc", "gcc_draft", "tfrc", "fixed"}
    for kind, rules in (("gcc", {"gcc_webrtc"}), ("tfrc", {"tfrc"}), ("fixed", {"fixed"}), ("mixed", every)):
        links = [scenario.draw("train", seed, kind) for seed in range(60)]
        assert {len(link.flows) for link in links} == {1, 2, 3}
        calls = [(link, flow) for link in links for flow in link.flows if isinstance(flow, OtherCall)]
        assert {call.rate for _, call in calls} == rules
        assert all(describe_flow(call)["starts_us"] <= 10_000_000 for _, call in calls)
        for link, call in calls:
            share_kbps = mean_bps(link.trace) / 1000 / (1 + len(link.flows))
            assert call.rate != "fixed" or 0.3 * share_kbps <= call.rates_kbps[0] <= 0.9 * share_kbps


def test_what_s1_says_of_its_runs():
    scenario = SendingScenario("order")
    assert set(scenario.kinds) == {f"rtt{rtt:.0f}-q{n}" for rtt in RTT_MS for n in SEND_QUEUE} | {f"loss{100 * p:g}" for p in LOSS}
    link = scenario.draw("train", 0, "rtt150-q32")
    assert (link.forward_ms, link.backward_ms, link.send_queue, link.expiry_ms) == (75, 75, 32, 200)
    assert (link.seconds, link.counts_from_s, link.video, link.queue_packets) == (60, 3, Timeline(), 50)
    assert [(flow.control, flow.size_bytes) for flow in link.flows if isinstance(flow, Tcp)] == [("reno", 519)] * 2
    assert scenario.draw("train", 0, "loss5").flows == ()
    assert scenario.draw("train", 0, "loss5").loss == 0.05
    assert order_link("x", 2**64 - 1, scenario.traces[0]).flows[0].starts_s < 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: SendingScenario("moon"), "scenario = 'moon': allowed are " + ", ".join(SENDING_SCENARIOS)),
        (lambda: SendingScenario("rate").draw("train", 0, "fibre"), "kind of scenario rate = 'fibre': allowed are steps"),
        (lambda: SendingScenario("rate").draw("dev", 0), "split = 'dev'"),
        (lambda: SendingScenario("rate").draw("test", 0), "for the leaderboard alone"),
        (lambda: read_set("dsl"), "allowed are generated_cellular"),
    ],
)
def test_what_does_not_exist_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_trace_too_short_to_start_in_is_refused(tmp_path):
    (tmp_path / "short.csv.gz").write_bytes(gzip.compress(b"ms,packets\n0,1\n1,1\n2,1\n3,1\n"))
    with pytest.raises(DataError, match="length of the part of short for a split, us is 600; allowed: at least 1000"):
        SendingScenario("rate-replay", traces=str(tmp_path))


def test_without_a_data_root_nothing_measured(monkeypatch):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(DataError, match="VCGYM_DATA"):
        SendingScenario("rate-measured")


def test_shipped_sample_is_what_its_generator_makes(tmp_path):
    path = shipped() / f"{GENERATED}.csv.gz"
    assert gzip.decompress(path.read_bytes()) == cellular_csv()
    write_cellular(tmp_path / path.name)
    for ending in ("", ".card.json"):
        assert (tmp_path / f"{path.name}{ending}").read_bytes() == (shipped() / f"{path.name}{ending}").read_bytes()
    assert len(path.read_bytes()) < 100_000


def test_least_rate_and_length_of_a_measured_trace(tmp_path):
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "fcc_broadband.csv.gz").write_bytes(gzip.compress(b"trace,t_s,mbps\nb,5.0,1.5\nb,6.0,0.0\na,0,2\nb,7.5,3\n"))
    a, b = read_set("fcc_broadband", str(tmp_path))
    assert (a.name, a.times_us.tolist(), a.rates_bps.tolist(), a.length_us) == ("a", [0], [2_000_000], 1_000_000)
    assert (b.times_us.tolist(), b.length_us) == ([0, 1_000_000, 2_500_000], 3_750_000)
    assert b.rates_bps.tolist() == [1_500_000, MIN_BPS, 3_000_000]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("a,0,1\na,0,1\n", "above 0.0, the one before"),
        ("a,1,1\na,0,1\n", "above 1.0, the one before"),
        ("a,0,-1\n", "mbps"),
        ("a,0,nan\n", "mbps"),
        ("", "at least 1"),
        ("a,0", "number of fields|line break"),
    ],
)
def test_a_broken_set_is_refused(tmp_path, rows, message):
    folder = tmp_path / FOLDER
    folder.mkdir()
    (folder / "norway_hsdpa.csv.gz").write_bytes(gzip.compress(b"trace,t_s,mbps\n" + rows.encode()))
    with pytest.raises(TraceError, match=message):
        read_set("norway_hsdpa", str(tmp_path))


def test_a_set_that_is_not_there(tmp_path):
    for name, message in ((MEASURED[0], "number of files"), (MEASURED[-1], "allowed: a plain file of at most")):
        with pytest.raises(TraceError, match=message):
            read_set(name, str(tmp_path))


def test_rides_stay_together():
    traces = tuple(
        CapacityTrace(f"{test}tram.a-b-report.2010-01-0{day}_1200CET.log_{cut}", *rate_trace("x", [0], [1e6], 1.0)[1:])
        for test in ("", "test_norway_")
        for day in range(1, 10)
        for cut in (0, 320)
    )
    split = split_by_place("norway_hsdpa", traces)
    assert sum(map(len, split.values())) == len(traces) == 36
    places = {name: {place_of_trace("norway_hsdpa", trace.name) for trace in found} for name, found in split.items()}
    assert not places["train"] & (places["validation"] | places["test"])
    assert {name: len(found) for name, found in places.items()} == {"train": 6, "validation": 2, "test": 1}


RATES = st.lists(st.tuples(st.integers(1, 5000), st.integers(1, 50)), min_size=1, max_size=6)


@given(RATES, st.integers(0, 30_000), st.integers(1, 30_000))
def test_mean_rate_of_a_trace(parts, from_ms, lasts_ms):
    ends_ms = np.cumsum([ms for ms, _ in parts])
    trace = rate_trace("x", (ends_ms - [ms for ms, _ in parts]) / 1000, [1e5 * mbps for _, mbps in parts], ends_ms[-1] / 1000)
    every_ms = np.repeat([1e5 * mbps for _, mbps in parts], [ms for ms, _ in parts])
    expected = every_ms[np.arange(from_ms, from_ms + lasts_ms) % ends_ms[-1]].mean()
    assert mean_bps(trace, from_ms * 1000, (from_ms + lasts_ms) * 1000) == pytest.approx(expected, rel=1e-9)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=10), st.integers(0, 200), st.integers(1, 200))
def test_mean_rate_of_opportunities(gaps, from_ms, lasts_ms):
    times = np.cumsum(gaps)
    if times[-1] == 0:
        return
    chances = np.concatenate([times + turn * times[-1] for turn in range(-1, 1 + math.ceil((from_ms + lasts_ms) / times[-1]))])
    expected = np.count_nonzero((chances > from_ms) & (chances <= from_ms + lasts_ms)) * 12_000 / lasts_ms * 1000
    found = mean_bps(opportunity_trace("x", times), from_ms * 1000, (from_ms + lasts_ms) * 1000)
    assert found == pytest.approx(expected, rel=1e-9)


@pytest.mark.data
def test_measured_sets():
    scenario = SendingScenario("rate-measured")
    for kind in scenario.kinds:
        assert [scenario.draw("train", seed, kind) for seed in range(3)] == [scenario.draw("train", seed, kind) for seed in range(3)]
        require_link(scenario.draw("validation", 0, kind))
    for name in MEASURED:
        traces = read_set(name)
        assert traces
        assert all(trace.rates_bps.min() >= MIN_BPS for trace in traces) or name in OPPORTUNITIES
