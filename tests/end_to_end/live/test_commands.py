"""The commands of a live call: relays, emulator and the three parties meet over loopback, by secret and session file only."""

import io
import stat
import threading
import wave
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from rich.console import Console

from vcgym.live import commands
from vcgym.live.call.stats import Stats
from vcgym.live.config import CallConfig, EmulateConfig, MeasureConfig, RelayConfig
from vcgym.live.protocol.session import hop_of

SECONDS = 1.5


def test_a_secret_is_made_once_and_is_only_ours(tmp_path):
    secret = commands.read_secret(tmp_path / "secret")
    assert commands.read_secret(tmp_path / "secret") == secret and len(secret) == 32
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    (tmp_path / "other").write_text("too short")
    with pytest.raises(ValueError, match="allowed are 64 hex digits"):
        commands.read_secret(tmp_path / "other")


def test_parties_meet_by_a_session_file(tmp_path, monkeypatch):
    monkeypatch.setattr(commands, "GRACE_US", 1_000_000)
    found, known, secret = [], threading.Semaphore(0), tmp_path / "secret"
    commands.read_secret(secret)

    def started(address):
        found.append(hop_of(address))
        known.release()

    with ThreadPoolExecutor(8) as pool:
        relays = [pool.submit(commands.relay, RelayConfig(secret=secret, seconds=8.0), started) for _ in range(3)]
        for _ in relays:
            assert known.acquire(timeout=60.0)
        session = tmp_path / "session.json"
        world = {"scenario": "table1", "seed": 1}
        emulated = EmulateConfig(world=world, seconds=SECONDS, secret=secret, relays=found[:3], session=session)
        emulator = pool.submit(commands.emulate, emulated, started)
        assert known.acquire(timeout=60.0)
        receiver = pool.submit(commands.receive, CallConfig(do="receive", session=session))
        controller = pool.submit(commands.control, CallConfig(do="control", session=session))
        sender = pool.submit(commands.send, CallConfig(do="send", session=session))
        played, heard = receiver.result()
        assert sender.result() is None and controller.result() is None
        assert emulator.result().relay.counts["forwarded"] >= 100
        counts = [relay.result().counts for relay in relays]
    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    assert set(counts[0]) == {"forwarded"}, "every path crosses the sender's relay, and all that it sees is in order"
    assert np.mean(played.arrived_us >= 0) > 0.5 and len(heard)
    commands.save(tmp_path / "call", played, heard)
    with wave.open(str(tmp_path / "call" / "heard.wav")) as file:
        assert file.getnframes() == len(heard)
    assert np.load(tmp_path / "call" / "packets.npz")["played_us"].shape == (1, 150)


def test_a_call_on_this_machine_is_played():
    shown = io.StringIO()
    with Stats(Console(file=shown, force_terminal=True, width=120)) as stats:
        call, draw = commands.play(CallConfig(seconds=SECONDS, world={"scenario": "table1", "seed": 2}), stats)
    assert "R, 10 s" in shown.getvalue()
    arrived = call.played.arrived_us >= 0
    assert draw.pair and np.mean(arrived) > 0.5
    assert call.timer_error_us.shape == (np.count_nonzero(arrived),) and call.timer_error_us.min() >= 0


def test_a_measurement_above_its_budget_does_not_start(tmp_path):
    config = MeasureConfig(secret=tmp_path / "secret", hosts=["127.0.0.1:1", "127.0.0.1:2"], budget_packets=1000, output=tmp_path / "out")
    with pytest.raises(ValueError, match="24,000 probes are needed: allowed are 1,000"):
        commands.measure(config)
    assert not (tmp_path / "out").exists()
