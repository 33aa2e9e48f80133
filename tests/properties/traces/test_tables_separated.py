"""What spreadsheets, pandas, tshark and people write for one table: the same numbers are read, or the cause is named."""

import pytest

from vcgym.network.bottleneck.capacity.files import import_throughput
from vcgym.network.traces.importers.rtp import import_rtp
from vcgym.network.traces.importers.table import import_csv
from vcgym.network.traces.reading import TraceError, iso_us

TOLD = {"time_column": "t", "delay_column": "d", "delay_unit": "ms", "round_trip": False}
DELAYS_US = [20_500, 21_000, 22_250]


def delays(tmp_path, content, **told):
    path = tmp_path / "s.csv"
    path.write_bytes(content.encode())
    return import_csv(path, **TOLD | {"time_unit": "ms"} | told)


@pytest.mark.parametrize(
    "content",
    [
        "t;d\n0;20,5\n10;21,0\n20;22,25\n",
        "t\td\n0,0\t20,5\n10,0\t21\n20,0\t2,225e1\n",
        "t d\n0 20,5\n10 21\n20 22,25\n",
        "sep=;\nt;d\n0;20,5\n10;21\n20;22,25\n",
        't;d\n"0";"20,5"\n"10";"21"\n"20";"22,25"\n',
        "t, d\n0, 20.5\n10, 21.0\n20, 22.25\n",
        'sent; "t"; d\nx; 0; 20.5\nx; 10; 21.0\nx; 20; 22.25\n',
        "t ,d \n0 ,20.5 \n10 ,21.0 \n20 ,22.25 \n",
        "t,d,\n0,20.5,\n10,21,\n20,22.25,\n",
        "t,d\n0,20.5,\n10,21,\n20,22.25,\n",
        "# by hand, in ms\n\nt,d\n0,20.5\n# here it rained\n10,21\n\n20,22.25\n\n",
        "\n\nt,d\r\n0,20.5\r\n10,21\r\n20,22.25\r\n",
        "   t      d\n   0   20.5\n  10   21.0\n  20   22.25 \n",
        '"t","d","a; b"\n0,20.5,\n10,21,\n20,22.25,\n',
        "t,note,d\n0,a;b,20.5\n10,,21\n20,x y,22.25\n",
        "t,d\n+0,+20.5\n1e1,21.\n2.0E+1,2225e-2\n",
    ],
)
def test_one_table_in_many_forms(tmp_path, content):
    made = delays(tmp_path, content)
    assert made.one_way_delay_us.tolist() == DELAYS_US and made.sent_us.tolist() == [0, 10_000, 20_000]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("t,d\n0,20,5\n10,21,0\n", r"line 2, number of fields is 3; allowed: 2, as in line 1; a decimal comma needs another separator"),
        ('t,d\n0,"20,5"\n', r"line 2, d is '20,5'; allowed: a number from 0 to 60000"),
        ("t;d\n0;1.020,5\n", r"line 2, d is '1\.020,5'"),
        ("t;d\n0;1,020,5\n", r"line 2, d is '1,020,5'"),
        ("# a\nt,d\n0,20\n1\n", r"line 4, number of fields is 1; allowed: 2, as in line 2"),
        ("t,d,d\n0,20,21\n", r"line 1, header is \['t', 'd', 'd'\]; allowed: each name once"),
        ("#t,d\n0,20\n10,21\n", r"line 2, header is \['0', '20'\]; allowed: names of columns"),
        ("2024-05-01T12:00:00Z,20\n2024-05-01T12:00:01Z,21\n", r"line 1, header is .* has format\.header=false"),
        ("# nothing\n", r"number of rows below the header is 0"),
        ("t,d\n# nothing\n", r"number of rows below the header is 0"),
    ],
)
def test_what_is_ambiguous_is_refused_with_its_cause(tmp_path, content, message):
    with pytest.raises(TraceError, match=message):
        delays(tmp_path, content)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2024-05-01T12:00:00Z", "2024-05-01T12:00:00.010Z"),
        ("2024-05-01T12:00:00.000000000Z", "2024-05-01T12:00:00.010000999Z"),
        ("2024-05-01 12:00:00", "2024-05-01 12:00:00.01"),
        ("2024-05-01T14:00:00+02:00", "2024-05-01T12:00:00.01+00:00"),
        ("2024-05-01 14:00:00.0 +0200 CEST", "2024-05-01 14:00:00.010 +0200 CEST"),
        ("2024-05-01 07:30:00-04:30", "2024-05-01 07:30:00.01-04:30"),
        ("2024-05-01 12:00:00 UTC", "2024-05-01 12:00:00.01 UTC"),
        ("20240501T120000Z", "20240501T120000.010Z"),
        ("2024-05-01t12:00:00z", "2024-05-01t12:00:00.010z"),
        ("2024-05-01T12:00", "2024-05-01T12:00:00.010"),
    ],
)
@pytest.mark.parametrize("unit", [None, "s", "ms", "us", "ns"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_iso_times_need_no_unit(tmp_path, first, second, unit, separator):
    made = delays(tmp_path, f"t{separator}d\n{first}{separator}20\n{second}{separator}21\n", time_unit=unit)
    assert made.sent_us.tolist() == [0, 10_000] and abs(made.start_us - 1_714_564_800_000_000) <= 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "2024-02-31T12:00:00Z",
            "line 3, t is '2024-02-31T12:00:00Z'; allowed: a number, or an ISO 8601 time such as 2024-05-01T12:00:00.010Z",
        ),
        ("12:00:01", "line 3, t is '12:00:01'"),
        ("2024-05-01T12:00:01+99:00", "line 3, t"),
        ("1714564801", "line 3, t is '1714564801'"),
        ("2024-05-01T11:59:59Z", "line 3, t is .*the one before"),
    ],
)
def test_another_time_among_iso_times_is_refused(tmp_path, text, message):
    with pytest.raises(TraceError, match=message):
        delays(tmp_path, f"t,d\n2024-05-01T12:00:00Z,20\n{text},21\n")


@pytest.mark.parametrize("text", ["01/05/2024 12:00:00", "12:00:00.010", "May  1 2024 12:00:00", "2024-05-01", "2024-05-01 12:00:00.5 PM"])
def test_another_form_of_time_is_refused_with_the_form(tmp_path, text):
    with pytest.raises(TraceError, match=r"line 2, t is .*; allowed: a number, or an ISO 8601 time such as 2024-05-01T12:00:00\.010Z"):
        delays(tmp_path, f"t,d\n{text},20\n{text},21\n")


def test_a_number_without_a_unit_is_refused(tmp_path):
    with pytest.raises(TraceError, match=r"line 2, t is '0'; allowed: a number, or an ISO 8601 time .*; a number needs its unit"):
        delays(tmp_path, "t,d\n0,20\n10,21\n", time_unit=None)


def test_iso_times_by_reply_and_of_lost_packets(tmp_path):
    rows = ["2024-05-01T12:00:00.030Z,20", ",", "2024-05-01T12:00:00.050Z,20"]
    made = delays(tmp_path, "\n".join(["t,d", *rows, ""]), time_unit=None, time_of="reply")
    assert made.sent_us.tolist() == [0, 10_000, 20_000] and (made.one_way_delay_us < 0).tolist() == [False, True, False]


def test_arrivals_and_throughput_have_the_same_reader(tmp_path):
    path = tmp_path / "s.csv"
    for separator in ("\t", ";", ", "):
        rows = [["frame.time_epoch", "rtp.seq", "rtp.timestamp"]]
        rows += [[f"2024-05-01T12:00:00.{20 * n:03d}Z", str(n), str(960 * n)] for n in range(40)]
        path.write_text("".join(f"{separator.join(row)}\n" for row in rows))
        made = import_rtp(path, sample_rate_hz=48_000)
        assert made.arrived_us.tolist() == made.sent_us.tolist() == [20_000 * n for n in range(40)]
        rates = [["t", "r"], *([f"2024-05-01T12:00:{n:02d}Z", "2.5"] for n in range(9))]
        path.write_text("".join(f"{separator.join(row)}\n" for row in rates))
        trace = import_throughput(path, time_column="t", rate_column="r", rate_unit="Mbps")
        assert trace.length_us == 9_000_000 and trace.rates_bps.tolist() == [2_500_000] * len(trace.rates_bps)


def test_an_iso_time_is_that_of_the_calendar():
    assert iso_us("1970-01-01T00:00:00Z") == 0 and iso_us("1969-12-31T23:59:59.999999Z") == -1
    assert iso_us("2000-03-01 00:00:00+01:00") == 951_865_200_000_000  # date -d "2000-03-01 00:00:00+01:00" +%s
    for text in ("", "1700000000", "2024-05-01", "2024-13-01T00:00:00", "2024-05-01T25:00:00", "today", "2024-05-01T12:00:00.Z"):
        assert iso_us(text) is None
