"""The user's own traces, from a log of ping to a row on the leaderboard, with the commands of the README."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError
from typed import attempt, call

from vcgym.leaderboard.evaluation.bars import of_any_kind
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.network.traces.catalogue import shipped

BOARD = ["leaderboard", "suite=replay", "traces=measured", "packets=300", "train=null", "systems=[DRT-WM,RR-WM]"]


def log_of_ping(file, level_ms, seed):
    """Write 7,000 replies in 70 s: a level, slow waves and noise; one in a hundred is missing."""
    draws, lines = np.random.default_rng(seed), ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
    for n in range(7000):
        if n == 0 or draws.random() > 0.01:
            rtt_ms = level_ms + 4.0 * np.sin(n / 500.0) + draws.gamma(2.0, 1.0)
            stamp_s = 1.6e9 + 0.01 * n + rtt_ms / 1e3
            lines.append(f"[{stamp_s:.6f}] 64 bytes from 192.0.2.1: icmp_seq={n + 1} ttl=57 time={rtt_ms:.1f} ms")
    file.write_text("\n".join([*lines, ""]))


@pytest.fixture
def two_paths(tmp_path):
    """A folder that holds the folder `measured` of two imported logs."""
    for name, level_ms in (("direct", 60.0), ("relay", 40.0)):
        log_of_ping(tmp_path / f"{name}.txt", level_ms, len(name))
        call(tmp_path, "import", "format=ping", f"file={name}.txt", f"output=measured/{name}.csv.gz")
    return tmp_path


def test_from_a_log_of_ping_to_a_row_of_the_leaderboard(two_paths):
    call(two_paths, *BOARD)
    rows = pq.read_table(two_paths / "outputs" / "leaderboard" / "replay" / "results.parquet").to_pylist()
    assert {row["system"] for row in rows} == {"DRT-WM", "RR-WM", of_any_kind()} and len(rows) == 72  # the reference plays too
    assert {row["split"] for row in rows} == {"all"}
    assert {row["pair"] for row in rows} == {"measured"} and {row["packets"] for row in rows} == {300}
    delay_ms = {name: np.mean([row["one_way_delay_mean_ms"] for row in rows if row["system"] == name]) for name in ("DRT-WM", "RR-WM")}
    assert delay_ms["DRT-WM"] == pytest.approx(31.0, abs=2.0)  # half the round trips of the first path by name
    assert delay_ms["RR-WM"] == pytest.approx(26.0, abs=2.0)  # both paths in turn
    assert "direct" in (two_paths / "outputs" / "leaderboard" / "replay" / "cards.json").read_text()


def test_sparse_paths_of_one_time_without_headers_are_read_and_marked(tmp_path):
    """Two paths in a folder, probed every 200 ms, with -1 for a lost ping and a gap of 65 s, separated by semicolons."""
    (tmp_path / "logs").mkdir()
    for name, level_ms in (("cable", 60), ("radio", 40)):
        draws = np.random.default_rng(level_ms)
        at_ms = 1.7e12 + 200.0 * np.arange(600) + np.where(np.arange(600) > 300, 65_000.0, 0.0)
        cells = (f"{at:.0f};{-1 if draws.random() < 0.04 else level_ms + draws.gamma(2.0, 1.0):.3f}" for at in at_ms)
        (tmp_path / "logs" / f"{name}.csv").write_text("\n".join([*cells, ""]))
    told = ["time_column=1", "time_unit=ms", "delay_column=2", "delay_unit=ms", "round_trip=true", "header=false", "lost=-1"]
    columns = [f"format.{one}" for one in told]
    printed = call(tmp_path, "import", "format=csv", "file=logs", "output=measured", *columns)
    for words in ("measured/cable.csv.gz: 600 probes", "one per 200 ms (95 %: 200 ms), largest gap 65.2 s, cut into 2 parts"):
        assert words in printed
    printed = call(tmp_path, *BOARD[:4], "train=null", "systems=[DRT-WM]", "split=all", "offsets=common", "direct=radio")
    said = " ".join(printed.split())
    for words in (
        "Played: all of 1 x 2 traces.",
        "Direct path: radio.",
        "largest gap 65.2 s (measured/radio); 2 gaps of 5 s or more, which no call spans.",
        "Sparse: measured/radio, measured/cable: one probe per 200 ms; jitter between packets",
    ):
        assert words in said
        assert words in (tmp_path / "outputs" / "leaderboard" / "replay" / "leaderboard.md").read_text()
        assert words in (tmp_path / "outputs" / "leaderboard" / "replay" / "report.html").read_text()
    rows = pq.read_table(tmp_path / "outputs" / "leaderboard" / "replay" / "results.parquet").to_pylist()
    assert {row["split"] for row in rows} == {"all"}
    assert np.mean([row["one_way_delay_mean_ms"] for row in rows]) == pytest.approx(21.0, abs=2.0)


def test_from_a_log_of_throughput_to_a_row_of_the_leaderboard(tmp_path):
    rows = "".join(f"{n},{900 + 400 * (n % 3)}\n" for n in range(300))
    (tmp_path / "drive.csv").write_text(f"second,kbps\n{rows}")
    columns = ["format.time_column=second", "format.time_unit=s", "format.rate_column=kbps", "format.rate_unit=kbps"]
    names = ["file=drive.csv", "output=capacity/drive.csv.gz"]
    printed = call(tmp_path, "import", "format=throughput", *columns, *names)
    assert "300 rates over 300 s, Mbit/s p5 0.9, p50 1.3, p95 1.7, smallest 0.9, largest 1.7, 0 % of the time" in printed
    board = [BOARD[0], "suite=rate-replay", "traces=capacity", "train=null", "systems=[GCC-WEBRTC,FIXED]"]
    printed = call(tmp_path, *board)
    found = pq.read_table(tmp_path / "outputs" / "leaderboard" / "rate-replay" / "results.parquet").to_pylist()
    assert len(found) == 60 and {row["trace"] for row in found} == {"drive"}
    assert all(row["capacity_kbps"] == pytest.approx(1300.0, rel=0.05) for row in found)


def test_a_dying_link_is_imported_on_request_and_says_what_was_raised(tmp_path):
    (tmp_path / "dying.csv").write_text("second,kbps\n" + "".join(f"{n},{200 if n % 3 else 20}\n" for n in range(300)))
    columns = ["format.time_column=second", "format.time_unit=s", "format.rate_column=kbps", "format.rate_unit=kbps"]
    command = ["import", "format=throughput", *columns, "file=dying.csv", "output=capacity/dying.csv.gz"]
    refused = attempt(tmp_path, *command)
    assert refused.returncode == 1
    assert "is the unit right? format.any_rate=true takes any" in refused.stderr
    printed = call(tmp_path, *command, "format.any_rate=true")
    assert "33.3 % of the time without capacity (50 kbit/s or raised to it)" in printed


def test_a_fit_of_own_traces_is_ranked_by_a_command(two_paths):
    assert "suite=fitted traces=" in call(two_paths, "fit", "file=measured", "output=measured.json")
    board = [BOARD[0], "suite=fitted", "packets=300", "train=null", "systems=[DRT-WM,RR-WM]"]
    printed = call(two_paths, *board, "traces=measured.json")
    folder = two_paths / "outputs" / "leaderboard" / "fitted"
    rows = pq.read_table(folder / "results.parquet").to_pylist()
    assert len(rows) == 72 and {(row["scenario"], row["mode"], row["stratum"]) for row in rows} == {("fitted", "correlated", "fitted")}
    delay_ms = {name: np.mean([row["one_way_delay_mean_ms"] for row in rows if row["system"] == name]) for name in ("DRT-WM", "RR-WM")}
    assert delay_ms["DRT-WM"] == pytest.approx(31.0, abs=2.0) and delay_ms["RR-WM"] == pytest.approx(26.0, abs=2.0)
    assert str(two_paths) not in (folder / "cards.json").read_text()
    assert "Played: worlds drawn from laws fitted to measured, cards" in printed
    refused = attempt(two_paths, *board, "traces=measured")
    assert refused.returncode == 1 and "allowed: one scenario file, *.json" in refused.stderr


def test_traces_that_cannot_be_played_end_with_one_line(tmp_path):
    done = attempt(tmp_path, *BOARD)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "traces is 'measured'; allowed: a file or folder that exists" in done.stderr
    attempt(tmp_path, "import", "format=ping", f"file={shipped()}/sample_ping.txt", "output=measured/home.csv.gz")
    done = attempt(tmp_path, *BOARD)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "trace measured/home: slots of 10 ms is 366; allowed: at least 1324" in done.stderr
    done = attempt(tmp_path, *BOARD, "split=test")
    assert "trace measured/home: slots of 10 ms in its test part is 74; allowed: at least 1324" in done.stderr
    done = attempt(tmp_path, BOARD[0], "suite=default", "traces=measured")
    assert done.returncode == 1
    assert "allowed: traces=FOLDER with suite=replay or rate-replay, traces=FILE.json with suite=fitted" in done.stderr


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"suite": "default", "split": "all"}, "split is 'all'; allowed: with suite=replay or rate-replay and traces=FOLDER"),
        ({"suite": "rate-replay", "traces": "home.csv.gz", "offsets": "common"}, "suite is 'rate-replay', offsets is 'common'"),
    ],
)
def test_keys_of_own_traces_are_for_these(tmp_path, monkeypatch, fields, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "home.csv.gz").touch()
    with pytest.raises(ValidationError, match=message):
        LeaderboardConfig(**fields)
