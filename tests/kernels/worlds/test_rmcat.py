"""The test cases of RFC 8867 and RFC 8869: they match the tables, and invalid cases are rejected."""

import math

import numpy as np
import pytest

from vcgym.network.bottleneck.capacity.capacity import mean_bps
from vcgym.network.bottleneck.flow import Tcp
from vcgym.network.bottleneck.other_call import SAME, OtherCall
from vcgym.network.bottleneck.shared_link import Air, Threshold
from vcgym.network.bottleneck.sources import Encoder
from vcgym.network.scenarios.bottleneck.rmcat import CASES, EXTENDED_CASES, Case, case_link, media, traces_of
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

ONE = Case(10.0, ((0, 1.0),), (media(),))
TWO = ONE._replace(second_mbps=((0, 2.0),))


def link(case):
    return case_link("x", 1, case, traces_of("x", case))


def test_cases_are_those_of_the_tables():
    scenario = SendingScenario("rmcat")
    assert scenario.kinds == tuple(CASES)
    drawn = {kind: scenario.draw("train", 3, kind) for kind in CASES}
    assert {kind: (of.trace.rates_bps / 1e6).tolist() for kind, of in drawn.items() if len(of.trace.rates_bps) > 1} == {
        "5.1-50": [1.0, 2.5, 0.6, 1.0], "5.1-100": [1.0, 2.5, 0.6, 1.0], "5.2": [4.0, 2.0, 3.5, 1.0, 2.0], "5.3": [2.0, 1.0, 0.5, 2.0],
    }  # fmt: skip
    assert {kind: mean_bps(of.trace) / 1e6 for kind, of in drawn.items() if len(of.trace.rates_bps) == 1} == pytest.approx(
        {"5.4": 3.5, "5.5": 4, "5.6-300": 2, "5.6-1000": 2, "5.7": 2, "5.8": 3.5, "wifi-cbr": 1, "wifi-tcp": 1, "wifi-both": 1}
    )
    calls = {kind: [flow for flow in of.flows if isinstance(flow, OtherCall)] for kind, of in drawn.items()}
    assert {kind: 1 + len(of) for kind, of in calls.items()} == {
        "5.1-50": 1, "5.1-100": 1, "5.2": 2, "5.3": 2, "5.4": 3, "5.5": 5, "5.6-300": 1, "5.6-1000": 1, "5.7": 2, "5.8": 3, "wifi-cbr": 1,
        "wifi-tcp": 1, "wifi-both": 2,
    }  # fmt: skip
    assert all(of.rate == SAME and of.rates_kbps == (170.0, 170.0, 1520.0) for flows in calls.values() for of in flows)
    assert [of.starts_s for of in calls["5.5"]] == [10.0, 20.0, 30.0, 40.0]
    assert [drawn["5.5"].forward_ms, *(of.forward_ms for of in calls["5.5"])] == [10.0, 25.0, 50.0, 100.0, 150.0]
    assert [of.pauses_s for of in calls["5.8"]] == [((40.0, 60.0),), ()]
    assert drawn["5.6-300"].queue_bytes == 75_000
    assert drawn["5.6-1000"].queue_bytes == 250_000
    assert drawn["5.6-300"].pauses_s == ((0.0, 5.0),)
    assert (drawn["5.3"].reverse.trace.rates_bps / 1e6).tolist() == [2.0, 0.8, 2.0]
    assert calls["5.3"][0].backwards
    short = [flow for flow in drawn["5.7"].flows if isinstance(flow, Tcp)]
    assert [flow.file_bytes for flow in short] == [(100_000, 1_000_000)] * 10
    assert sum(flow.starts_s == 0.0 for flow in short) == 2


def test_extended_cases_are_those_of_the_tables():
    scenario = SendingScenario("rmcat-extended")
    assert scenario.kinds == tuple(EXTENDED_CASES)
    drawn = {kind: scenario.draw("train", 3, kind) for kind in EXTENDED_CASES}
    assert {kind: 1 + sum(isinstance(flow, OtherCall) for flow in of.flows) for kind, of in drawn.items()} == {
        "6.1-3.5": 3, "6.1-2": 3, "6.2-5.1": 1, "6.2-5.4": 3, "6.3": 3, "wifi-one": 1, "wifi-both-cbr": 2, "wifi-both-tcp": 2, "air-16": 16,
        "air-24": 24, "air-32": 32, "air-cbr": 24, "air-tcp": 24, "air-slow": 16, "air-varying": 16,
    }  # fmt: skip
    for kind in ("6.1-3.5", "6.1-2"):
        assert [drawn[kind].priority, *(flow.priority for flow in drawn[kind].flows)] == [2.0, 1.0, 1.0]
    two = drawn["6.3"]
    assert (two.trace.rates_bps[0], two.second.trace.rates_bps[0], two.queue_bytes, two.second.queue_bytes) == (2e6, 1.5e6, 75_000, 56_250)
    assert [two.forward_ms, *(flow.forward_ms for flow in two.flows)] == [100.0, 40.0, 40.0]
    assert [flow.at_second for flow in two.flows] == [False, True]
    assert {drawn[kind].discipline for kind in ("6.2-5.1", "6.2-5.4")} == {Threshold(20.0)}
    assert [flow.starts_s for flow in drawn["air-cbr"].flows if not isinstance(flow, OtherCall)] == [40.0] * 4
    assert [drawn["air-slow"].station_mbps, *(flow.station_mbps for flow in drawn["air-slow"].flows)] == [6.5] * 4 + [None] * 12
    courses = {scenario.draw("train", seed, "air-varying").trace.name for seed in range(60)}
    assert len(courses) == 8
    assert 0.5 < min(drawn["air-varying"].trace.rates_bps) / 52e6 < max(drawn["air-varying"].trace.rates_bps) / 52e6 < 1.0


def test_worlds_of_a_case_differ_in_what_is_random_alone():
    scenario = SendingScenario("rmcat")
    one, other = (scenario.draw("train", seed, "5.4") for seed in (1, 2))
    assert one.seed != other.seed
    assert one._replace(seed=0) == other._replace(seed=0)
    starts = [[flow.starts_s for flow in scenario.draw("train", seed, "5.7").flows if isinstance(flow, Tcp)] for seed in range(200)]
    assert np.mean(np.array(starts)[:, 2:]) == pytest.approx(10.0, rel=0.1)


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (ONE._replace(media=()), r"Case.media of x is \(\): allowed is at least one flow"),
        (ONE._replace(media=(media(backwards=True),)), "Case.media of x is .*: allowed is at least one flow, the first not backwards"),
        (ONE._replace(mbps=((0, 1.0), (5, -2.0))), r"rate of x, bit/s, entry 1 is .*-2000000"),
        (ONE._replace(mbps=((0, 1.0), (0, 2.0))), "time of x, s, entry 0 is .*0"),
        (ONE._replace(reverse_mbps=((0, 0.0),)), "rate of x back, bit/s, entry 0 is .*0"),
        (ONE._replace(media=(media(pauses_s=((1.0, 3.0), (2.0, 4.0))),)), r"pauses_s = \(\(1.0, 3.0\), \(2.0, 4.0\)\) of x"),
        (ONE._replace(media=(media(), media(pauses_s=((3.0, 1.0),)))), r"pauses_s = \(\(3.0, 1.0\),\) of OtherCall"),
        (ONE._replace(media=(media(2.0, pauses_s=((1.0, 3.0),)),)), "pauses_s = .* of x: allowed are up to 2 intervals"),
        (ONE._replace(media=(media(), media(5.0, 4.0))), "OtherCall.stops_s is 4.0"),
        (ONE._replace(media=(media(way_ms=-1.0),)), "SharedLink.forward_ms is -1.0"),
        (ONE._replace(media=(media(), media(backwards=True))), "backwards = True of an OtherCall of x: allowed with a bottleneck"),
        (ONE._replace(media=(media(), media(at_second=True))), "at_second = True of an OtherCall of x: allowed with a bottleneck"),
        (TWO._replace(hop_ms=51.0), "Second.hop_ms is 51.0"),
        (TWO._replace(reverse_mbps=((0, 1.0),)), "second = Second.* of x: allowed without outages, discipline, `reverse` and `air`"),
        (TWO._replace(second_mbps=((0, -1.0),)), "rate of x second, bit/s, entry 0 is .*-1000000"),
        (ONE._replace(media=(media(priority=0.0),)), "SharedLink.priority is 0.0"),
        (ONE._replace(media=(media(), media(priority=math.nan))), "OtherCall.priority is nan"),
        (ONE._replace(media=(media(station_mbps=6.5),)), "station_mbps = 6.5 of x: allowed is .* with a medium `air`, None without"),
        (ONE._replace(air=Air(mbps=0.0)), "Air.mbps is 0.0"),
        (ONE._replace(air=Air(), media=(media(), media(station_mbps=-1.0))), "station_mbps = -1.0 of x: allowed is 0.1 to 10,000"),
        (ONE._replace(air=Air(), reverse_mbps=((0, 1.0),)), "air = .* of x with a bottleneck `reverse`"),
        (ONE._replace(traffic=(Tcp(file_bytes=(10, 5)),)), r"Tcp.file_bytes is \(10, 5\)"),
        (ONE._replace(traffic=(Tcp(file_bytes=(10, 50), idle_s=math.nan),)), "Tcp.idle_s is nan"),
    ],
)
def test_what_cannot_be_a_case_is_refused(case, message):
    with pytest.raises(ValueError, match=message):
        link(case)


def test_media_are_the_encoder_of_the_rfc():
    assert link(ONE).video == Encoder(min_kbps=150.0)
