"""The commands of a live call: relays, emulator and the three parties meet over loopback, by secret and session file only."""

import io
import math
import os
import stat
import sys
import threading
import wave
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from types import SimpleNamespace

import numpy as np
import pytest
from aiortc.rtp import RtpPacket
from rich.console import Console

from vcgym.live import commands, measure
from vcgym.live.call import sender
from vcgym.live.call.audio import RATE_HZ, encoded, read_wav, tones
from vcgym.live.call.stats import Stats
from vcgym.live.config import CallConfig, EmulateConfig, JoinConfig, MeasureConfig, RelayConfig
from vcgym.live.protocol.nodes import open_socket, steady_clock, unix_us
from vcgym.live.protocol.session import Session, address_of, hop_of, read_session
from vcgym.live.protocol.wire import DatagramKind, Header, new_key, route, write
from vcgym.network.kernels.slots import SLOT_US
from vcgym.scripts.console.program import main

SECONDS = 1.5


def test_a_secret_is_made_once_and_is_only_ours(tmp_path):
    secret = commands.read_secret(tmp_path / "secret")
    assert commands.read_secret(tmp_path / "secret") == secret and len(secret) == 32
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    (tmp_path / "other").write_text("too short")
    with pytest.raises(ValueError, match="allowed are 64 hex digits"):
        commands.read_secret(tmp_path / "other")


@pytest.mark.realtime
def test_parties_meet_by_a_session_file(tmp_path, monkeypatch):
    found, known, stop, secret = [], threading.Semaphore(0), threading.Event(), tmp_path / "secret"
    monkeypatch.setattr(commands, "time", SimpleNamespace(monotonic=lambda: math.inf if stop.is_set() else 0.0))  # relays end by the clock
    commands.read_secret(secret)

    def started(address):
        found.append(hop_of(address))
        known.release()

    with ThreadPoolExecutor(8) as pool:
        try:
            relays = [pool.submit(commands.relay, RelayConfig(secret=secret, seconds=1.0), started) for _ in range(3)]
            for _ in relays:
                assert known.acquire(timeout=60.0)
            session = tmp_path / "session.json"
            world = {"scenario": "table1", "seed": 1}
            emulated = EmulateConfig(world=world, seconds=SECONDS, secret=secret, relays=found[:3], session=session)
            emulator = pool.submit(commands.emulate, emulated, started)
            assert known.acquire(timeout=60.0)
            receiver = pool.submit(commands.receive, JoinConfig(party="receiver", session=session), steady_clock())
            controller = pool.submit(commands.control, JoinConfig(party="controller", session=session), steady_clock())
            sent = pool.submit(commands.send, JoinConfig(party="sender", session=session), steady_clock())
            received = receiver.result()
            assert len(sent.result().paths) == 150 and controller.result().is_done
        finally:
            stop.set()
        assert emulator.result().relay.counts["forwarded"] >= 100
        counts = [relay.result().counts for relay in relays]
    assert stat.S_IMODE(session.stat().st_mode) == 0o600
    assert set(counts[0]) == {"forwarded"}, "every path crosses the sender's relay, and all that it sees is in order"
    played = received.listening.finish()
    assert np.mean(played.arrived_us >= 0) > 0.5
    commands.save(tmp_path / "call", played, received.media)
    with wave.open(str(tmp_path / "call" / "heard.wav")) as file:
        assert file.getnframes() > RATE_HZ // 2
    assert np.load(tmp_path / "call" / "packets.npz")["played_us"].shape == (1, 150)


def session_in(folder):
    """Return a session file whose parties have free ports."""
    sender, controller, receiver = (hop_of(address) for address in free(3))
    path = folder / "session.json"
    Session(
        number=1, key=new_key().hex(), packets=150, seed=0, media=[[receiver]], feedback=[controller], commands=[sender], levels=[receiver],
        setup=[controller], history=[[10.0, 50.0, 5.0]],
    ).write(path)  # fmt: skip
    return path


def free(ports):
    """Return free addresses of this machine."""
    with ExitStack() as opened:
        return [opened.enter_context(open_socket()).getsockname() for _ in range(ports)]


@pytest.mark.parametrize(
    ("party", "line"),
    [
        ("controller", "vcgym join: no announcement of the sender reached the router's location within 0.2 s"),
        ("receiver", "vcgym join: no call reached the receiver within 0.2 s"),
        ("sender", "vcgym join: no command reached the sender after 2 announcements"),
    ],
)
def test_a_party_ends_with_one_line_when_the_others_do_not_come(tmp_path, monkeypatch, party, line):
    monkeypatch.setattr(commands, "WAIT_US", 200_000)
    monkeypatch.setattr(sender, "MAX_ANNOUNCEMENTS", 2)
    assert end_of(tmp_path, monkeypatch, "join", f"party={party}", f"session={session_in(tmp_path)}") == line
    assert not (tmp_path / "outputs").exists()


def test_a_receiver_whose_sender_vanishes_ends_with_its_call_and_keeps_the_recording(tmp_path, monkeypatch, capsys):
    path = session_in(tmp_path)
    session = read_session(path)
    at = address_of(session.media[0][-1])

    def send_two():
        """Send the packets of two slots, until the receiver is there."""
        with open_socket() as opened:
            while not (tmp_path / "call" / "packets.npz").exists():
                now_us = unix_us()
                for slot in (140, 141):
                    header = Header(DatagramKind.MEDIA, 0, 1, slot, now_us + (slot - 140) * SLOT_US, route(at))
                    packet = RtpPacket(payload_type=111, payload=next(encoded(tones(0.1)))).serialize()
                    opened.sendto(write(header, packet, session.secret), at)
                stop.wait(0.2)

    stop, other = threading.Event(), threading.Thread(target=send_two)
    other.start()
    try:
        assert end_of(tmp_path, monkeypatch, "join", "party=receiver", f"session={path}", "folder=call") is None
    finally:
        stop.set()
        other.join()
    assert "datagrams arrived, the last one" in capsys.readouterr().out
    assert np.load(tmp_path / "call" / "packets.npz")["arrived_us"][0, 140] >= 0
    assert (tmp_path / "call" / "heard.wav").exists()


def end_of(folder, monkeypatch, name, *overrides):
    """Run a command of live calls in `folder`; return what it ends with."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["vcgym", name, *overrides])
    try:
        main()
    except SystemExit as ended:
        return ended.code
    return None


BAD_ADDRESSES = {
    "a port out of range": ("measure", ['hosts=["127.0.0.1:7000","127.0.0.1:70000"]', "output=new", "secret=key"], "127.0.0.1:70000"),
    "a host out of range": ("measure", ['hosts=["127.0.0.1:7000","127.0.0.256:7000"]', "output=new", "secret=key"], "127.0.0.256:7000"),
    "no port": ("measure", ['hosts=["127.0.0.1:7000","127.0.0.1"]', "output=new", "secret=key"], "'127.0.0.1'"),
    "every address of this machine": ("emulate", ['relays=["0.0.0.0:7000"]', "session=new", "secret=key"], "0.0.0.0:7000"),
    "too few relays": ("emulate", ['relays=["127.0.0.1:7000"]', "session=new", "secret=key"], "relays are 1; allowed: 5 or more"),
    "a name": ("relay", ["host=localhost", "secret=key"], "'localhost'"),
    "an address of another machine": ("relay", ["host=192.0.2.1", "port=7000", "secret=key"], "192.0.2.1:7000: "),
}


@pytest.mark.parametrize(("name", "overrides", "named"), BAD_ADDRESSES.values(), ids=BAD_ADDRESSES)
def test_a_bad_address_ends_a_command_with_one_line_that_names_it(tmp_path, monkeypatch, name, overrides, named):
    line = end_of(tmp_path, monkeypatch, name, *overrides)
    assert line.startswith(f"vcgym {name}: ") and named in line and "\n" not in line and len(line) < 320


def test_a_port_in_use_is_named(tmp_path, monkeypatch):
    with open_socket() as used:
        port = used.getsockname()[1]
        line = end_of(tmp_path, monkeypatch, "relay", f"port={port}", "secret=key")
    assert line == f"vcgym relay: 127.0.0.1:{port}: Address already in use"


def test_a_measurement_that_nobody_answers_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(measure, "WAIT_US", 50_000)
    hosts = ",".join(f'"{hop_of(address)}"' for address in free(2))
    line = end_of(tmp_path, monkeypatch, "measure", f"hosts=[{hosts}]", "output=new", "secret=key", "seconds=1")
    assert line.startswith("vcgym measure: none of 400 probes told a delay: 127.0.0.1_") and not (tmp_path / "new").exists()


@pytest.mark.parametrize("reader", [read_wav, read_session, commands.read_secret])
@pytest.mark.parametrize("broken", ["/dev/zero", "a pipe"])
def test_what_is_no_regular_file_is_refused(tmp_path, reader, broken):
    if broken == "a pipe":
        os.mkfifo(tmp_path / "file")
    else:
        (tmp_path / "file").symlink_to(broken)
    with pytest.raises(ValueError, match="a folder, pipe or device"):
        reader(tmp_path / "file")


@pytest.mark.realtime
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
