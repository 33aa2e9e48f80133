"""The user's own traces, from a log of ping to a row on the leaderboard, with the commands of the README."""

import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest

from vcgym.network.traces.catalogue import shipped

BOARD = ["vcgym.scripts.leaderboard", "suite=replay", "traces=measured", "packets=300", "train=null", "systems=[DRT-WM,RR-WM]"]


def call(cwd, module, *overrides):
    known = {name: value for name, value in os.environ.items() if name != "VCGYM_DATA"}
    return subprocess.run([sys.executable, "-m", module, *overrides], cwd=cwd, env=known, capture_output=True, text=True, check=False)


def log_of_ping(file, level_ms, seed):
    """Write 7,000 replies in 70 s: a level, slow waves and noise; one in a hundred is missing."""
    draws, lines = np.random.default_rng(seed), ["PING 192.0.2.1 (192.0.2.1) 56(84) bytes of data."]
    for n in range(7000):
        if n == 0 or draws.random() > 0.01:
            rtt_ms = level_ms + 4.0 * np.sin(n / 500.0) + draws.gamma(2.0, 1.0)
            stamp_s = 1.6e9 + 0.01 * n + rtt_ms / 1e3
            lines.append(f"[{stamp_s:.6f}] 64 bytes from 192.0.2.1: icmp_seq={n + 1} ttl=57 time={rtt_ms:.1f} ms")
    file.write_text("\n".join([*lines, ""]))


def test_from_a_log_of_ping_to_a_row_of_the_leaderboard(tmp_path):
    for name, level_ms in (("direct", 60.0), ("relay", 40.0)):
        log_of_ping(tmp_path / f"{name}.txt", level_ms, len(name))
        done = call(tmp_path, "vcgym.scripts.data", "do=import", "format=ping", f"file={name}.txt", f"output=measured/{name}.csv.gz")
        assert done.returncode == 0, done.stderr
    done = call(tmp_path, *BOARD)
    assert done.returncode == 0, done.stderr
    rows = pq.read_table(tmp_path / "outputs" / "leaderboard" / "replay" / "results.parquet").to_pylist()
    assert len(rows) == 48 and {row["pair"] for row in rows} == {"measured"} and {row["packets"] for row in rows} == {300}
    delay_ms = {name: np.mean([row["one_way_delay_mean_ms"] for row in rows if row["system"] == name]) for name in ("DRT-WM", "RR-WM")}
    assert delay_ms["DRT-WM"] == pytest.approx(31.0, abs=2.0)  # half the round trips of the first path by name
    assert delay_ms["RR-WM"] == pytest.approx(26.0, abs=2.0)  # both paths in turn
    assert "direct" in (tmp_path / "outputs" / "leaderboard" / "replay" / "cards.json").read_text()


def test_from_a_log_of_throughput_to_a_row_of_the_leaderboard(tmp_path):
    rows = "".join(f"{n},{900 + 400 * (n % 3)}\n" for n in range(300))
    (tmp_path / "drive.csv").write_text(f"second,kbps\n{rows}")
    columns = ["format.time_column=second", "format.time_unit=s", "format.rate_column=kbps", "format.rate_unit=kbps"]
    names = ["file=drive.csv", "output=capacity/drive.csv.gz"]
    done = call(tmp_path, "vcgym.scripts.data", "do=import", "format=throughput", *columns, *names)
    assert done.returncode == 0, done.stderr
    assert "300 entries over 300.0 s, mean 1.30 Mbit/s" in done.stdout
    board = [BOARD[0], "suite=rate-replay", "traces=capacity", "train=null", "systems=[GCC-WEBRTC,FIXED]"]
    done = call(tmp_path, *board)
    assert done.returncode == 0, done.stderr
    found = pq.read_table(tmp_path / "outputs" / "leaderboard" / "rate-replay" / "results.parquet").to_pylist()
    assert len(found) == 60 and {row["trace"] for row in found} == {"drive"}
    assert all(row["capacity_kbps"] == pytest.approx(1300.0, rel=0.05) for row in found)


def test_traces_that_cannot_be_played_end_with_one_line(tmp_path):
    done = call(tmp_path, *BOARD)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "measured: traces is 'missing'; allowed: a folder or file that exists" in done.stderr
    call(tmp_path, "vcgym.scripts.data", "do=import", "format=ping", f"file={shipped()}/sample_ping.txt", "output=measured/home.csv.gz")
    done = call(tmp_path, *BOARD)
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "trace measured/home: slots of 10 ms in its test part is 74; allowed: at least 1324" in done.stderr
    done = call(tmp_path, BOARD[0], "suite=first", "traces=measured")
    assert done.returncode == 1 and "allowed: traces=FOLDER with suite=replay or rate-replay, and only then" in done.stderr
