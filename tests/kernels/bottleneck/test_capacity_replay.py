"""Scenario rate-replay: the user's own capacity traces, imported or not, are played; splits; rejected input."""

import gzip

import gymnasium
import numpy as np
import pytest

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.network.bottleneck.capacity.capacity import cut, mean_bps, opportunity_trace, rate_trace
from vcgym.network.bottleneck.capacity.files import import_throughput, read_capacity, read_mahimahi, write_capacity
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.splits import SPLITS, unlock_test_split
from vcgym.network.traces.cards import Card, DataError
from vcgym.network.traces.reading import TraceError

CARD = Card(name="made", description="arithmetic", source="test", licence="MIT", sha256="0" * 64, kind="synthesised", units="us")


def rates(name, mbps=1.0, seconds=60):
    return rate_trace(name, np.arange(seconds), [1e6 * (mbps + 0.5 * (n % 3)) for n in range(seconds)], seconds)


def chances(name):
    return opportunity_trace(name, np.repeat(np.arange(1, 20_001, 10), 2))


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two traces, one of each form."""
    made = tmp_path / "capacity"
    for trace in (rates("home"), chances("train")):
        write_capacity(trace, CARD, made / f"{trace.name}.csv.gz")
    return made


def test_what_is_written_is_read_back(folder):
    for trace in (rates("home"), chances("train")):
        [again] = read_capacity(folder / f"{trace.name}.csv.gz")
        assert again.name == trace.name and again.length_us == trace.length_us
        np.testing.assert_array_equal(again.times_us, trace.times_us)
        np.testing.assert_array_equal(again.rates_bps, trace.rates_bps)
    with pytest.raises(DataError, match="existing"):
        write_capacity(rates("home"), CARD, folder / "home.csv.gz")
    with pytest.raises(DataError, match=r"allowed: a name ending in \.csv\.gz"):
        write_capacity(rates("home"), CARD, folder / "home.txt")


def test_a_part_of_a_trace_carries_what_the_trace_carried_then():
    for trace in (rates("home"), chances("train")):
        for low, high in ((0.0, 0.6), (0.6, 0.8), (0.8, 1.0)):
            part = cut(trace, low, high)
            assert mean_bps(part) == pytest.approx(mean_bps(trace, int(low * trace.length_us), int(high * trace.length_us)), rel=1e-9)
            assert part.rates_bps[0] == 0 or part.times_us[0] == 0
    middle = cut(rate_trace("x", [0, 10], [1e6, 2e6], 20), 0.25, 0.75)
    assert (middle.times_us.tolist(), middle.rates_bps.tolist(), middle.length_us) == ([0, 5_000_000], [1_000_000, 2_000_000], 10_000_000)
    with pytest.raises(TraceError, match="length between 70% and 80% of the trace, us is 0; allowed: at least 1"):
        cut(rate_trace("short", [0], [1e6], 3e-6), 0.7, 0.8)
    with pytest.raises(TraceError, match="between 0% and 20% of the trace is 0"):
        cut(opportunity_trace("late", [90, 100]), 0.0, 0.2)


def test_few_traces_are_split_in_time_many_by_name(folder):
    scenario = SendingScenario("rate-replay", traces=str(folder))
    with unlock_test_split():
        lengths = {split: {scenario.draw(split, seed).trace.length_us for seed in range(20)} for split in SPLITS}
    assert lengths == {"train": {36_000_000, 11_994_600}, "validation": {12_000_000, 3_998_200}, "test": {12_000_000, 3_998_200}}
    for n in range(3):
        write_capacity(rates(f"more{n}"), CARD, folder / f"more{n}.csv.gz")
    scenario = SendingScenario("rate-replay", traces=str(folder))
    with unlock_test_split():
        names = {split: {scenario.draw(split, seed).trace.name for seed in range(40)} for split in SPLITS}
    assert [len(names[split]) for split in SPLITS] == [3, 1, 1] and len(set().union(*names.values())) == 5


@pytest.mark.parametrize("sender_env_id", ["vcgym/Rate-v1", "vcgym/SendOrder-v1"])
def test_senders_play_it(folder, sender_env_id):
    env = gymnasium.make(sender_env_id, scenario="rate-replay", traces=str(folder), seconds=4.0)
    env.reset(seed=1)
    truncated = False
    while not truncated:
        _, _, _, truncated, info = env.step(env.action_space.sample())
    assert info["kind"] == "replay" and info["delivered_kbps"] > 0.0


def test_an_uplink_plays_it(folder):
    env = gymnasium.make("vcgym/Call-v1", packets=200, uplink=SendingScenario("rate-replay", traces=str(folder)))
    env.reset(seed=1)
    truncated = False
    while not truncated:
        _, _, _, truncated, info = env.step(env.action_space.sample())
    assert info["kind"] == "replay"


def test_throughput_and_mahimahi_are_imported(tmp_path):
    (tmp_path / "drive.csv").write_text("when,kbps\n" + "".join(f"{1000 + 500 * n},{900 + 100 * (n % 4)}\n" for n in range(40)))
    trace = import_throughput(tmp_path / "drive.csv", time_column="when", time_unit="ms", rate_column="kbps", rate_unit="kbps")
    assert trace.name == "drive" and trace.rates_bps[:2].tolist() == [900_000, 1_000_000] and trace.length_us == 20_000_000
    for unit, message in (("Mbps", r"median in bit/s is 1\.05e\+09|median in bit/s is 1050000000"), ("bps", "median in bit/s is 1050.0")):
        with pytest.raises(TraceError, match=f"{message}.*allowed: 300000 to 3e\\+08; is the unit right?"):
            import_throughput(tmp_path / "drive.csv", time_column="when", time_unit="ms", rate_column="kbps", rate_unit=unit)
    columns = {"time_column": "when", "rate_column": "kbps"}
    fast = import_throughput(tmp_path / "drive.csv", **columns, time_unit="ms", rate_unit="Mbps", any_rate=True)
    assert fast.rates_bps[:2].tolist() == [900_000_000, 1_000_000_000]
    with pytest.raises(TraceError, match=r"mean spacing in s is 500\.0; allowed: 0\.02 to 20; .* format\.any_spacing=true takes any"):
        import_throughput(tmp_path / "drive.csv", **columns, time_unit="s", rate_unit="kbps")
    sparse = import_throughput(tmp_path / "drive.csv", **columns, time_unit="s", rate_unit="kbps", any_spacing=True)
    assert sparse.times_us[:2].tolist() == [0, 500_000_000]
    (tmp_path / "lte.down").write_text("1\n1\n5\n")
    write_capacity(read_mahimahi(tmp_path / "lte.down"), CARD, tmp_path / "lte.csv.gz")
    assert gzip.decompress((tmp_path / "lte.csv.gz").read_bytes()) == b"ms,packets\n1,2\n5,1\n"


@pytest.mark.parametrize("separator", ["\t", " ", "  ", ",", ";", ", "])
def test_two_columns_without_a_header_are_read(tmp_path, separator):
    (tmp_path / "cooked.txt").write_text("".join(f"{0.25 + 0.5 * n}{separator}{1.5 + n % 2:.6f}\n" for n in range(40)))
    columns = {"time_column": "1", "time_unit": "s", "rate_column": "2", "rate_unit": "Mbps"}
    trace = import_throughput(tmp_path / "cooked.txt", **columns, header=False)
    assert trace.times_us[:2].tolist() == [0, 500_000] and trace.rates_bps[:2].tolist() == [1_500_000, 2_500_000]
    assert trace.length_us == 20_000_000 and len(trace.times_us) == 40
    with pytest.raises(TraceError, match=r"header=false"):
        import_throughput(tmp_path / "cooked.txt", **columns)


def test_what_cannot_be_played_is_refused(tmp_path, folder):
    (tmp_path / "empty").mkdir()
    (tmp_path / "other.csv.gz").write_bytes(gzip.compress(b"time,rate\n0,1\n"))
    (tmp_path / "nan.csv.gz").write_bytes(gzip.compress(b"t_s,mbps\n0,nan\n"))
    (tmp_path / "flood.csv.gz").write_bytes(gzip.compress(b"ms,packets\n" + b"".join(b"%d,8333\n" % n for n in range(2_000))))
    (tmp_path / "wide.csv.gz").write_bytes(gzip.compress(b"ms,packets\n0,1000000\n"))
    (tmp_path / "half.csv.gz").write_bytes(gzip.compress(b"ms,packets\n0.5,1\n"))
    (tmp_path / "still.csv.gz").write_bytes(gzip.compress(b"trace,t_s,mbps\na,0,1\nb,0,1\na,1,1\na,1,1\n"))
    for traces, message in (
        (None, r"scenario rate-replay: traces is None; allowed: a folder of capacity traces \(\*\.csv\.gz\), or files"),
        (str(tmp_path / "empty"), r"empty: number of files \*\.csv\.gz is 0"),
        (str(tmp_path / "gone.csv.gz"), r"gone\.csv\.gz: file is .No such file"),
        (str(tmp_path / "other.csv.gz"), r"header is \['time', 'rate'\]; allowed: ms and packets; or t_s or t_start_s, mbps"),
        (str(tmp_path / "nan.csv.gz"), r"line 2, mbps is 'nan'"),
        (str(tmp_path / "flood.csv.gz"), r"line 1202, packets so far is 10007933; allowed: at most 10000000"),
        (str(tmp_path / "wide.csv.gz"), r"line 2, packets is '1000000'; allowed: a number from 0 to 8333"),
        (str(tmp_path / "half.csv.gz"), r"line 2, ms is 0\.5; allowed: a whole number"),
        (str(tmp_path / "still.csv.gz"), r"line 5, t_s is 1\.0; allowed: above 1\.0, the one before"),
        ([str(folder / "home.csv.gz")] * 2, r"names of the traces is \['home', 'home'\]; allowed: each name once"),
    ):
        with pytest.raises(DataError, match=message):
            SendingScenario("rate-replay", traces=traces)
    with pytest.raises(ValueError, match="allowed is None in scenario rate; scenario rate-replay takes traces"):
        SendingScenario("rate", traces=str(folder))
