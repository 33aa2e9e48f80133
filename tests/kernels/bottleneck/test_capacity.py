"""Capacity traces: formats and rejected input."""

import gzip
import tracemalloc

import numpy as np
import pytest

from vcgym.network.bottleneck.capacity.capacity import (
    choose_trace,
    constant,
    opportunity_trace,
    pool,
    rate_trace,
    steps,
)
from vcgym.network.bottleneck.capacity.files import describe_capacity, read_capacity, read_mahimahi, write_capacity
from vcgym.network.traces.cards import Card
from vcgym.network.traces.reading import TraceError

CARD = Card(name="made", description="arithmetic", source="test", licence="MIT", sha256="0" * 64, kind="synthesised", units="ms")


def test_mahimahi_and_its_counted_form_are_one_trace(tmp_path):
    lines = tmp_path / "lte.down"
    lines.write_text("1\n1\n1\n4\n9\n")
    counted = tmp_path / "lte.csv.gz"
    counted.write_bytes(gzip.compress(b"ms,packets\n1,3\n4,1\n9,1\n"))
    trace, [same] = read_mahimahi(lines), read_capacity(counted)
    assert trace.times_us.tolist() == same.times_us.tolist() == [1000, 1000, 1000, 4000, 9000]
    assert trace.length_us == same.length_us == 9000
    assert (trace.name, same.name) == ("lte.down", "lte")


def test_steps_of_rfc_8867():
    trace = steps("5.1", [(0, 1.0), (40, 2.5), (60, 0.6), (80, 1.0)], 100)
    assert trace.rates_bps.tolist() == [1_000_000, 2_500_000, 600_000, 1_000_000]
    assert trace.times_us.tolist() == [0, 40_000_000, 60_000_000, 80_000_000]


def test_least_rate_is_the_callers_word():
    assert rate_trace("t", [0, 1], [0.0, 5e6], 2, min_bps=1e4).rates_bps.tolist() == [10_000, 5_000_000]


def test_a_pool_holds_each_trace_once():
    one, other = constant(1e6), opportunity_trace("t", [3, 5])
    capacity = pool([one, other], 3)
    choose_trace(capacity, 1, 1, 7000)
    assert capacity.first.tolist() == [0, 1, 0]
    assert capacity.entries.tolist() == [1, 2, 1]
    assert capacity.start_us.tolist() == [0, 2000, 0]


@pytest.mark.parametrize(
    ("times", "rates", "says"),
    [
        ([], [], "shape"),
        ([0, 1], [1e6], "shape"),
        ([0, 1], [1e6, 0.0], "rate of t, bit/s, entry 1"),
        ([0, 1], [1e6, -5.0], "rate of t, bit/s, entry 1"),
        ([0, 1], [np.nan, 1e6], "rate of t, bit/s, entry 0"),
        ([0, 1], [np.inf, 1e6], "rate of t, bit/s, entry 0"),
        ([0, 2, 1], [1e6, 1e6, 1e6], "time of t, s, entry 1"),
        ([0, 0], [1e6, 1e6], "time of t, s, entry 0"),
        ([1, 2], [1e6, 1e6], "first time of t"),
        ([0, np.nan], [1e6, 1e6], "time of t, s, entry 1"),
        ([0, 3], [1e6, 1e6], "length of t"),
    ],
)
def test_refuses_bad_rates(times, rates, says):
    with pytest.raises(TraceError, match=says):
        rate_trace("t", times, rates, 3)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "number of opportunities"),
        ("120\n121\n12", "line 3, time in ms is 12; allowed: at least 121"),
        ("1\n-2\n", "line 2"),
        ("1\nx\n", "line 2"),
        ("1\nnan\n", "line 2"),
        ("5\n4\n", "line 2, time in ms is 4; allowed: at least 5, the one before"),
        ("0.5\n", "line 1, time in ms is 0.5; allowed: a whole number"),
        ("0\n0\n", "last time"),
    ],
)
def test_refuses_bad_files(tmp_path, content, says):
    path = tmp_path / "trace"
    path.write_text(content)
    with pytest.raises(TraceError, match=says):
        read_mahimahi(path)


def test_the_last_line_needs_no_break_and_empty_lines_do_not_count(tmp_path):
    path = tmp_path / "trace"
    for content in (b"1\n2\n3", b"1\r\n2\r\n3", b"1\n\n2\n3\n\n", b"\xef\xbb\xbf1\n 2\n3 \n"):
        path.write_bytes(content)
        assert read_mahimahi(path).times_us.tolist() == [1_000, 2_000, 3_000]
    path.write_bytes(b"1\n\n3\n2\n")
    with pytest.raises(TraceError, match="line 4, time in ms is 2; allowed: at least 3"):
        read_mahimahi(path)


def test_times_that_fall_are_named_across_blocks_of_rows(tmp_path):
    path = tmp_path / "trace"
    path.write_text("".join(f"{n}\n" for n in range(2**14)) + "7\n")
    with pytest.raises(TraceError, match="line 16385, time in ms is 7; allowed: at least 16383"):
        read_mahimahi(path)


@pytest.mark.parametrize("line", ["1", "123456"])
def test_four_megabytes_take_at_most_forty(tmp_path, line):
    path = tmp_path / "big.trace"
    path.write_text(f"{line}\n" * (4_000_000 // (len(line) + 1)))
    tracemalloc.start()
    try:
        write_capacity(read_mahimahi(path), CARD, tmp_path / "big.csv.gz")
        assert tracemalloc.get_traced_memory()[1] < 40_000_000
    finally:
        tracemalloc.stop()


def test_what_came_out_is_said_in_a_line():
    assert describe_capacity(rate_trace("t", [0, 1, 3], [1e6, 4e6, 5e4], 4)) == (
        "3 rates over 4 s, Mbit/s p5 0.05, p50 1, p95 4, smallest 0.05, largest 4, "
        "25 % of the time without capacity (50 kbit/s or raised to it)"
    )
    assert describe_capacity(opportunity_trace("t", [0, 50, 100, 101, 400])) == (
        "5 opportunities over 0.4 s, Mbit/s p5 0, p50 0.12, p95 0.36, smallest 0, largest 0.36, 25 % of the time without capacity"
    )


def test_refuses_a_truncated_archive(tmp_path):
    path = tmp_path / "trace.gz"
    path.write_bytes(gzip.compress(b"1\n2\n3\n" * 100)[:-5])
    with pytest.raises(TraceError):
        read_mahimahi(path)
