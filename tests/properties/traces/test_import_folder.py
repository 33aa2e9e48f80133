"""Imports of a folder by the command: on past bad files and past those that are there, said at the end and by the status."""

import io
from contextlib import redirect_stdout

import numpy as np
import pytest

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.trace_file import read_trace
from vcgym.scripts.importing.command import import_data
from vcgym.scripts.importing.config import ImportConfig
from vcgym.scripts.importing.formats import Csv, Fping, Ping, summary


def reply(n, ms=20.0):
    return f"64 bytes from 192.0.2.1: icmp_seq={n} ttl=57 time={ms} ms\n"


def import_folder(folder, output, form=None):
    with redirect_stdout(io.StringIO()) as printed:
        status = import_data(ImportConfig(format=form or Ping(interval_ms=10.0), file=folder, output=output))
    return status, printed.getvalue().splitlines()


def test_a_bad_file_does_not_stop_the_others(tmp_path):
    logs, output = tmp_path / "logs", tmp_path / "out"
    (logs / "day").mkdir(parents=True)
    for name in ("192.0.2.1.txt", "192.0.2.2.txt", "day/home.log.gz"):
        (logs / name).write_text("".join(reply(n) for n in range(5)))
    (logs / "day" / "home.log.gz").rename(logs / "day" / "home.log")
    (logs / "[bad] file.txt").write_text("64 bytes from 192.0.2.1: icmp_seq=1\n")
    (logs / "empty.txt").touch()
    (logs / ".hidden").write_text("x")
    status, said = import_folder(logs, output)
    assert status == 1 and said[-1] == "5 files: 3 imported, 0 left as they were, 2 refused"
    assert sum(line.startswith("refused: ") for line in said) == 2 and any("[bad] file.txt: line 1 is" in line for line in said)
    written = sorted(path.relative_to(output).as_posix() for path in output.rglob("*.csv.gz"))
    assert written == ["192.0.2.1.csv.gz", "192.0.2.2.csv.gz", "day/home.csv.gz"]
    kept = (output / "192.0.2.1.csv.gz").read_bytes()
    (logs / "[bad] file.txt").unlink()
    (logs / "empty.txt").write_text("".join(reply(n) for n in range(5)))
    status, said = import_folder(logs, output)
    assert status == 0 and said[-1] == "4 files: 1 imported, 3 left as they were, 0 refused"
    assert (output / "192.0.2.1.csv.gz").read_bytes() == kept


def test_files_that_would_take_one_name_are_refused_before_work(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    for name in ("a.txt", "a.log"):
        (logs / name).write_text(reply(0))
    with pytest.raises(DataError, match=r"a\.txt: name is 'a\.txt'; allowed: one that differs from a\.log by more than its ending"):
        import_folder(logs, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_folder_of_logs_of_many_hosts(tmp_path):
    logs = tmp_path / "logs"
    logs.mkdir()
    lines = [f"[{1_700_000_000 + n / 100 + ms / 1e3:.5f}] {host} : [{n}], 64 bytes, {ms} ms ({ms} avg, 0% loss)\n"
             for n in range(5) for host, ms in (("a", 20.0), ("b", 30.0))]  # fmt: skip
    (logs / "one.txt").write_text("".join(lines))
    status, said = import_folder(logs, tmp_path / "out", Fping())
    assert status == 0 and said[-1] == "1 files: 1 imported, 0 left as they were, 0 refused"
    assert sorted(path.name for path in (tmp_path / "out" / "one").glob("*.csv.gz")) == ["a.csv.gz", "b.csv.gz"]
    assert import_folder(logs, tmp_path / "out", Fping())[1][-1] == "1 files: 0 imported, 1 left as they were, 0 refused"


def test_the_line_of_an_import_has_the_quantiles_of_the_delays(tmp_path):
    delays = np.random.default_rng(1).gamma(2.0, 10.0, 1_000) + 20.0
    cells = ["" if n % 50 == 7 else f"{delay:.3f}" for n, delay in enumerate(delays)]
    (tmp_path / "s.csv").write_text("".join(["t,d\n", *(f"{10 * n},{cell}\n" for n, cell in enumerate(cells))]))
    form = Csv(time_column="t", time_unit="ms", delay_column="d", delay_unit="ms", round_trip=False)
    ((_, _, found),) = form.imported(tmp_path / "s.csv", tmp_path / "s.csv.gz")
    kept = np.array([float(cell) for cell in cells if cell])
    p50, p95, p99 = np.percentile(kept, [50, 95, 99])
    delays = f"one-way delays p50 {p50:.4g}, p95 {p95:.4g}, p99 {p99:.4g}, largest {kept.max():.4g} ms"
    assert found == (
        f"1,000 probes over 10.0 s, 20 lost (2 %), {delays}, a probe in 100 % of slots, one per 10 ms (95 %: 10 ms), largest gap 0.01 s"
    )
    assert summary(read_trace(tmp_path / "s.csv.gz")) == found
