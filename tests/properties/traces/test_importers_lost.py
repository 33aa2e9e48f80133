"""Marks of a lost probe: whatever a program writes in place of a delay is a lost probe or refused with a hint, never a delay of 0 ms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.network.kernels.slots import LOST
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.trace import TraceError
from vcgym.scripts.importing.formats import Csv

TOLD = {"time_column": "t", "time_unit": "ms", "delay_unit": "ms", "round_trip": False}


def read(tmp_path, rows, column="d", header="t,d", **told):
    path = tmp_path / "s.csv"
    path.write_text("\n".join([header, *rows, ""]))
    return import_csv(path, **TOLD | {"delay_column": column} | told)


def starlink_like(rng, rows):
    """Rows of irtt's three delays, as tools for satellite links write them: -1 in one column of a lost packet, 0 in the others."""
    up, down = rng.uniform(20, 25, rows), rng.uniform(25, 26, rows)
    where = rng.choice([None, 0, 1, 2], rows, p=[0.8, 0.05, 0.05, 0.1])
    where[0] = None
    cells = [[f"{u + d:.6f}", f"{u:.6f}", f"{d:.6f}"] for u, d in zip(up, down, strict=True)]
    for row, at in zip(cells, where, strict=True):
        if at is not None:
            row[:] = ["-1" if n == at else "0" for n in range(3)]
    return [f"{10 * n},{','.join(row)}" for n, row in enumerate(cells)], np.array([at is not None for at in where])


@pytest.mark.parametrize("column", ["rtt", "uplink", "downlink"])
def test_a_packet_lost_in_either_direction_is_lost_in_every_column(tmp_path, column):
    rows, lost = starlink_like(np.random.default_rng(1), 400)
    header = "t,rtt,uplink,downlink"
    made = read(tmp_path, rows, column, header, lost=["-1", "0"])
    assert np.array_equal(made.one_way_delay_us == LOST, lost) and made.one_way_delay_us[~lost].min() > 20_000
    with pytest.raises(TraceError, match=rf"{column} is '-1'; .*format\.lost=-1 if -1 marks a lost packet"):
        read(tmp_path, rows, column, header)
    with pytest.raises(TraceError, match=rf"{column} is 0\.0; allowed: at least .*format\.lost=\[-1,0\] if 0 marks a lost packet"):
        read(tmp_path, rows, column, header, lost="-1")


@pytest.mark.parametrize("mark", ["0", "0.0", "0.000", "-0.0", "0.001", "1.9"])
def test_a_delay_of_zero_or_far_below_the_others_is_refused_with_the_hint(tmp_path, mark):
    rows = [f"{10 * n},{mark if n % 50 == 3 else 20 + n % 7}" for n in range(200)]
    with pytest.raises(
        TraceError, match=r"line 5, d is .*; allowed: at least 2\.3, a tenth of the median; format\.lost=.* marks a lost packet"
    ):
        read(tmp_path, rows)
    assert (read(tmp_path, rows, lost=mark).one_way_delay_us == LOST).sum() == 4
    assert (read(tmp_path, rows, any_delay=True).one_way_delay_us == LOST).sum() == 0


@pytest.mark.parametrize("mark", ["1000", "9999", "10000.0"])
def test_a_timeout_in_place_of_a_delay_is_refused_with_the_hint(tmp_path, mark):
    rows = [f"{10 * n},{mark if n % 50 == 3 else 20 + n % 7}" for n in range(200)]
    with pytest.raises(
        TraceError, match=rf"line 5, d is {float(mark)}; allowed: at most 230, ten times the median; format\.lost=.* marks a lost packet"
    ):
        read(tmp_path, rows)
    assert (read(tmp_path, rows, lost=mark).one_way_delay_us == LOST).sum() == 4
    assert read(tmp_path, rows, any_delay=True).one_way_delay_us.max() == float(mark) * 1e3
    once = [f"{10 * n},{1000 if n == 3 else 20 + n % 7}" for n in range(200)]  # a single one may be an outage that ended
    assert read(tmp_path, once).one_way_delay_us.max() == 1_000_000


def test_many_marks_do_not_hide_themselves_in_the_median(tmp_path):
    with pytest.raises(TraceError, match=r"line 2, d is 0\.0; .*format\.lost=0"):
        read(tmp_path, [f"{10 * n},{0 if n % 3 else 20}" for n in range(1, 200)])


@pytest.mark.parametrize("mark", ["nan", "NaN", "inf", "-", "*", "lost", "Timeout", "NA", "null", "999999", "-1000", "none"])
def test_every_mark_is_named_by_its_hint(tmp_path, mark):
    rows = [f"{10 * n},{mark if n in (3, 7) else 20 + n % 7}" for n in range(50)]
    with pytest.raises(TraceError) as refused:
        read(tmp_path, rows)
    assert f"format.lost={mark} if {mark} marks a lost packet" in str(refused.value) and "line 5, d is" in str(refused.value)
    for told in (mark, mark.upper(), ["x", mark.lower()]):
        assert np.flatnonzero(read(tmp_path, rows, lost=told).one_way_delay_us == LOST).tolist() == [3, 7]


@pytest.mark.parametrize("mark", ["0", "-1"])
@pytest.mark.parametrize("apart_ms", [200.0, 3_000.0])
def test_a_mark_is_not_the_smallest_delay_of_two_clocks(tmp_path, mark, apart_ms):
    rows = [f"{10 * n},{mark if n in (3, 7) else apart_ms + n % 9}" for n in range(50)]
    with pytest.raises(TraceError, match=rf"line 5, d is {mark}\.0; allowed: near the others, .*; format\.lost={mark} if"):
        read(tmp_path, rows, floor_ms=5.0)
    made = read(tmp_path, rows, floor_ms=5.0, lost=mark)
    assert np.flatnonzero(made.one_way_delay_us == LOST).tolist() == [3, 7] and made.one_way_delay_us.max() == 13_000
    least = [f"{10 * n},{n % 9}" for n in range(50)]  # whose author took the smallest off
    assert read(tmp_path, least, floor_ms=5.0).one_way_delay_us.max() == 13_000


def test_marks_typed_on_a_command_line():
    told = {"time_column": "t", "time_unit": "ms", "delay_column": "d", "delay_unit": "ms", "round_trip": True}
    for typed, marks in (
        (-1, ["-1"]),
        ([-1, 0], ["-1", "0"]),
        ("[-1, 0]", ["-1", "0"]),
        ("lost", ["lost"]),
        ([], []),
        (float("nan"), ["nan"]),
    ):
        assert Csv(**told, lost=typed).lost == marks


@given(
    st.lists(st.sampled_from(["20.5", "31", "0", "-1", "", "nan"]), min_size=2, max_size=40), st.sets(st.sampled_from(["0", "-1", "nan"]))
)
def test_no_mark_is_ever_a_delay(tmp_path_factory, cells, told):
    path = tmp_path_factory.getbasetemp() / "marks.csv"
    path.write_text("".join(["t,d\n", *(f"{10 * n},{cell}\n" for n, cell in enumerate(cells))]))
    try:
        made = import_csv(path, **TOLD, delay_column="d", lost=sorted(told))
    except TraceError:
        assert set(cells) - told - {"20.5", "31", ""} or not set(cells) & {"20.5", "31"}
    else:
        assert ((made.one_way_delay_us == LOST) == [cell not in ("20.5", "31") for cell in cells]).all()


def test_spacing_and_level_of_any_size_are_told(tmp_path):
    slow = [f"{5_000 * n},20" for n in range(9)]
    with pytest.raises(TraceError, match=r"mean spacing in ms is 5000\.0; .*format\.any_spacing=true takes any"):
        read(tmp_path, slow)
    assert np.diff(read(tmp_path, slow, any_spacing=True).sent_us).tolist() == [5_000_000] * 8
    near = [f"{10 * n},0.2" for n in range(9)]
    with pytest.raises(TraceError, match=r"median in ms is 0\.2; .*format\.any_delay=true takes any"):
        read(tmp_path, near)
    assert read(tmp_path, near, any_delay=True).one_way_delay_us.tolist() == [200] * 9
