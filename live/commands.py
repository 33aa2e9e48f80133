"""Commands of live calls: a relay, an emulator, a measurement, one party of a call, and a whole call on this machine. See docs/live.md."""

import logging
import secrets
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from vcgym.envs.call.batch import LOCATIONS, Played
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.kinds import CALL
from vcgym.live.call.audio import encoded, read_wav, rendered, tones, write_wav
from vcgym.live.call.controller import Controller
from vcgym.live.call.listening import Repaired
from vcgym.live.call.parties import GRACE_US, Addresses, LiveCall, Parties, play_live, session_over
from vcgym.live.call.policies import LivePolicy, live_policy
from vcgym.live.call.protection import LiveProtection, protection_of
from vcgym.live.call.receiver import Receiver
from vcgym.live.call.sender import LEAD_US, LiveSender
from vcgym.live.call.stats import OnSlot, Stats, seconds_shown, unseen
from vcgym.live.config import CallConfig, EmulateConfig, JoinConfig, MeasureConfig, PolicyConfig, RelayConfig, WorldConfig
from vcgym.live.emulator import Emulator, emulated
from vcgym.live.measure import measure_pairs, measure_session, write_traces
from vcgym.live.protocol.nodes import Clock, Node, open_socket, serve, steady_clock, unix_us
from vcgym.live.protocol.session import Inbox, address_of, read_session
from vcgym.live.protocol.wire import KEY_BYTES, Address, new_key
from vcgym.live.relay import Limits, Relay
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import read_plain, replace_file
from vcgym.network.worlds.world import WorldDraw

_SHOWN = {
    "r": "R", "mouth_to_ear_mean_ms": "mouth to ear, ms", "network_loss": "lost by the network", "clocked_late_loss": "arrived too late",
    "concealed_share": "concealed", "path_changes": "path changes", "plans_sent": "commands", "probes_sent": "probes",
}  # fmt: skip
TEST_SIGNAL_S = 4.0
MAX_SECRET_BYTES = 1024
WAIT_US = 60_000_000
"""Time from the start of a party until it ends because nobody has called."""
log = logging.getLogger(__name__)


def play_call(config: CallConfig) -> None:
    """Play the call; print the table of what was heard and write the WAV and the packets."""
    console = _console()
    played, draw = _played(config, console)
    save(config.folder, played.played, played.media)
    title = f"{config.policy} on {config.world.scenario}, {draw.pair}, {draw.stratum}"
    console.print(_table(title, played.played, played.repaired, played.added))
    p50_us, p99_us = np.percentile(np.abs(played.timer_error_us), (50.0, 99.0))
    console.print(f"Error of arrival times: p50 {p50_us:.0f} us, p99 {p99_us:.0f} us. Heard and packets: {config.folder}", soft_wrap=True)


def join_call(config: JoinConfig) -> None:
    """Be one party of a call, and print what it did."""
    console, clock = _console(), steady_clock()
    if config.party == "sender":
        with seconds_shown("sending") as on_slot:
            sender = send(config, clock, on_slot)
        added = f" Bytes added: {sender.protection.added:.1%}." if sender.protection else ""
        console.print(f"{len(sender.paths):,} packets, {sender.probes:,} probes.{added} {_arrivals(sender.inbox, clock)}")
    elif config.party == "controller":
        with seconds_shown("deciding") as on_slot:
            controller = control(config, clock, on_slot)
        console.print(f"{controller.learned:,} records, {controller.plans:,} changes of the path. {_arrivals(controller.inbox, clock)}")
    else:
        with seconds_shown("playing") as on_slot:
            receiver = receive(config, clock, on_slot)
        arrivals, played = _arrivals(receiver.inbox, clock), receiver.listening.finish()
        save(config.folder, played, receiver.media)
        console.print(_table(config.policy, played, receiver.listening.repaired(played)))
        console.print(f"{arrivals} Heard and packets: {config.folder}", soft_wrap=True)


def run_relay(config: RelayConfig) -> None:
    """Run the relay and print its address, then its counts."""
    node = relay(config, lambda address: log.info(f"relay at {address[0]}:{address[1]}"))
    log.info(", ".join(f"{outcome} {count:,}" for outcome, count in node.counts.most_common()) or "nothing arrived")


def run_emulator(config: EmulateConfig) -> None:
    """Run the emulator and print its address, then its counts."""
    node = emulate(config, lambda address: log.info(f"emulator at {address[0]}:{address[1]}, session in {config.session}"))
    log.info(", ".join(f"{outcome} {count:,}" for outcome, count in node.relay.counts.most_common()) or "nothing arrived")


def measure(config: MeasureConfig) -> None:
    """Measure, and write the traces; print their files, and the series that have none because nothing arrived.

    Raises:
        ValueError: more probes are needed than the budget allows.
        TimeoutError: no probe came back.
    """
    secret, number = read_secret(config.secret), secrets.randbits(63)
    session = None if config.session is None else read_session(config.session)
    slots = session.packets if session else round(config.seconds * 1e6 / SLOT_US)
    probes = slots * (len(session.media) if session else len(config.hosts) ** 2)
    if probes > config.budget_packets:
        raise ValueError(f"{probes:,} probes are needed: allowed are {config.budget_packets:,}, the budget_packets")
    with seconds_shown("probing") as on_slot:
        if session:
            found = measure_session(secret, session, number, on_slot)
        else:
            found = measure_pairs(secret, [address_of(hop) for hop in config.hosts], slots, number, config.host, on_slot)
    silent = [name for name, delay_us in zip(found.names, found.delay_us, strict=True) if (delay_us == LOST).all()]
    if len(silent) == len(found.names):
        raise TimeoutError(f"none of {probes:,} probes told a delay: {', '.join(silent)}")
    for file in write_traces(found, config.output, f"{slots} slots"):
        log.info(file)
    for name in silent:
        log.info(f"{name}: nothing arrived, no trace")


def read_secret(path: Path) -> bytes:
    """Return the secret in a file; make one that only its owner may read if there is none.

    Raises:
        ValueError: the file cannot be read, or holds something else.
    """
    if not path.exists():
        path.touch(0o600, exist_ok=False)
        path.write_text(new_key().hex() + "\n", encoding="ascii")
    text = read_plain(path, MAX_SECRET_BYTES).decode("ascii", "replace").strip()
    if len(text) != 2 * KEY_BYTES or set(text) - set("0123456789abcdef"):
        raise ValueError(f"{path} holds {len(text)} characters: allowed are {2 * KEY_BYTES} hex digits")
    return bytes.fromhex(text)


def relay(config: RelayConfig, started: Callable[[Address], None]) -> Relay:
    """Run a relay for its time; `started` is told its address. Return it, with its counts."""
    node = Relay(read_secret(config.secret), unix_us(), Limits(config.sessions, config.packets_per_s))
    end_s = time.monotonic() + (config.seconds or np.inf)
    with open_socket(config.host, config.port) as opened:
        started(opened.getsockname())
        serve([(opened, node)], lambda: time.monotonic() > end_s)
    return node


def emulate(config: EmulateConfig, started: Callable[[Address], None]) -> Emulator:
    """Write the session file, then run the emulator until the call must be over; `started` is told its address. Return it."""
    scenario, draw = world_of(config.world, config.seconds)
    secret, world = read_secret(config.secret), emulated(scenario, draw, LOCATIONS[config.world.location])
    clock = steady_clock()
    node = Emulator(secret, world, clock())
    end_s = time.monotonic() + config.seconds + (WAIT_US + GRACE_US) / 1e6
    with open_socket(config.host) as opened:
        ends = _free(config.sender, config.controller, config.receiver)
        addresses = Addresses(opened.getsockname(), [address_of(hop) for hop in config.relays], *ends)
        session_over(scenario, draw, world, secret, addresses).write(config.session)
        started(opened.getsockname())
        serve([(opened, node)], lambda: time.monotonic() > end_s, clock)
    return node


def play(config: CallConfig, watch: Callable[[list[Parties]], None] = lambda parties: None) -> tuple[LiveCall, WorldDraw]:
    """Play a whole call on this machine; return it and its world."""
    scenario, draw = world_of(config.world, config.seconds)
    (call,) = play_live(scenario, [(_policy(config), draw)], _spoken(config), config.world.location, watch)
    return call, draw


def send(config: JoinConfig, clock: Clock, on_slot: OnSlot = unseen) -> LiveSender:
    """Run the sender of a session by a clock; it ends with the call. Return it.

    Raises:
        TimeoutError: no command has reached it.
    """
    session = read_session(config.session)
    protection = None if config.protection is None else LiveProtection(session, protection_of(config.protection), config.budget)
    node = LiveSender(session, encoded(_spoken(config)), clock() + LEAD_US, protection)
    _run(node, session.commands[-1], clock, lambda: on_slot(len(node.paths)), lambda: len(node.paths) == session.packets)
    return node


def control(config: JoinConfig, clock: Clock, on_slot: OnSlot = unseen) -> Controller:
    """Run the router's location of a session by a clock; it ends with the call. Return it.

    Raises:
        TimeoutError: no announcement has reached it within WAIT_US.
    """
    session = read_session(config.session)
    node = Controller(session, _policy(config))
    ended = _ended(node, "announcement of the sender reached the router's location")
    _run(node, session.feedback[-1], clock, lambda: on_slot(node.slot), ended)
    return node


def receive(config: JoinConfig, clock: Clock, on_slot: OnSlot = unseen) -> Receiver:
    """Run the receiver of a session by a clock; it ends with the call. Return it.

    Raises:
        TimeoutError: no two packets of a call have reached it within WAIT_US.
    """
    session = read_session(config.session)
    node = Receiver(session, _policy(config))
    _run(node, session.media[0][-1], clock, lambda: on_slot(node.listening.slot), _ended(node, "call reached the receiver"))
    return node


def _run(node: Node, hop: str, clock: Clock, watch: Callable[[], None], ended: Callable[[], bool]) -> None:
    """Run a party at its address until it has ended; `watch` is called about every 10 ms."""

    def done() -> bool:
        watch()
        return ended()

    with open_socket(*address_of(hop)) as opened:
        serve([(opened, node)], done, clock)


def _ended(node: Controller | Receiver, awaited: str) -> Callable[[], bool]:
    """Return a function that says whether a party has ended; it raises TimeoutError if it has not begun within WAIT_US from now on."""
    limit_s = time.monotonic() + WAIT_US / 1e6

    def ended() -> bool:
        if not node.has_begun and time.monotonic() > limit_s:
            raise TimeoutError(f"no {awaited} within {WAIT_US / 1e6:g} s")
        return node.is_done

    return ended


def save(folder: Path, played: Played, media: Mapping[int, bytes]) -> None:
    """Write the packets with totals and windows, the arrays of `vcgym.envs.call.batch.Played` by name; then what was heard of the media."""
    content = BytesIO()
    packets = {name: getattr(played, name) for name in ("path", "arrived_us", "emitted_us", "flushed", "played_us", "windows")}
    np.savez_compressed(content, packet_us=played.packet_us, **packets, **played.totals._asdict())
    replace_file(folder / "packets.npz", content.getvalue())
    write_wav(folder / "heard.wav", rendered(played.played_us[0], media))


def world_of(config: WorldConfig, seconds: float) -> tuple[Scenario, WorldDraw]:
    """Return scenario and world of a config, for calls of `seconds`."""
    packets = round(seconds * 1e6 / SLOT_US)
    scenario = Scenario(config.scenario, config.mode, packets, traces=None if config.traces is None else str(config.traces))
    return scenario, scenario.draw(config.split, config.seed, stratum=config.stratum)


def _policy(config: PolicyConfig) -> LivePolicy:
    return live_policy(config.policy, config.protection, config.budget)


def _spoken(config: PolicyConfig) -> NDArray[np.int16]:
    return tones(TEST_SIGNAL_S) if config.wav is None else read_wav(config.wav)


def _free(*hops: str) -> list[Address]:
    """Return addresses; a free port takes the place of port 0."""
    with ExitStack() as opened:
        return [opened.enter_context(open_socket(*address_of(hop))).getsockname() for hop in hops]


def _console() -> Console:
    return Console(emoji=False, width=None if Console().is_terminal else 120)


def _played(config: CallConfig, console: Console) -> tuple[LiveCall, WorldDraw]:
    if config.stats:
        with Stats(console) as stats:
            return play(config, stats)
    with seconds_shown("playing", config.seconds) as on_slot:
        return play(config, lambda parties: on_slot(parties[0].receiver.listening.slot))


def _arrivals(inbox: Inbox, clock: Clock) -> str:
    silent_s = (clock() - inbox.newest_us) / 1e6
    return f"{inbox.opened:,} datagrams arrived, the last one {silent_s:.1f} s before the end; {inbox.refused:,} refused."


def _table(title: str, played: Played, repaired: Repaired, added: float | None = None) -> Table:
    """Return the table of a call; `added` bytes are a share of those without protection, None where only the sender knows."""
    packets = played.path.size
    (row,) = rows(played)
    row["network_loss"] = repaired.lost / packets
    table = Table("quantity", "value", title=title, title_justify="left")
    for name, label in _SHOWN.items():
        column = CALL.metric[name]
        table.add_row(label, f"{column.factor * row[name]:.4g}{' %' if column.unit == '%' else ''}")
    shown = {
        "repaired by a copy": repaired.by_copy,
        "repaired by an earlier frame": repaired.by_frame,
        "repaired too late": repaired.too_late,
    }
    shares = {label: number / packets for label, number in shown.items()} | ({} if added is None else {"bytes added": added})
    for label, share in shares.items():
        table.add_row(label, f"{100.0 * share:.4g} %")
    return table
