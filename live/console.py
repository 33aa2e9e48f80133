"""Printed results of the commands of live calls. See docs/live.md."""

import logging

import numpy as np
from rich.console import Console
from rich.table import Table

from vcgym.envs.call.batch import Played
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.kinds import CALL
from vcgym.live import commands
from vcgym.live.call.listening import Repaired
from vcgym.live.call.parties import LiveCall
from vcgym.live.call.stats import Stats, seconds_shown
from vcgym.live.config import CallConfig, EmulateConfig, JoinConfig, MeasureConfig, RelayConfig
from vcgym.live.protocol.nodes import Clock, steady_clock
from vcgym.live.protocol.session import Inbox
from vcgym.network.worlds.world import WorldDraw

_SHOWN = {
    "r": "R", "mouth_to_ear_mean_ms": "mouth to ear, ms", "network_loss": "lost by the network", "clocked_late_loss": "arrived too late",
    "concealed_share": "concealed", "path_changes": "path changes", "plans_sent": "commands", "probes_sent": "probes",
}  # fmt: skip
log = logging.getLogger(__name__)


def call(config: CallConfig) -> None:
    """Play the call; print the table of what was heard and write the WAV and the packets."""
    console = _console()
    played, draw = _play(config, console)
    commands.save(config.folder, played.played, played.media)
    title = f"{config.policy} on {config.world.scenario}, {draw.pair}, {draw.stratum}"
    console.print(_table(title, played.played, played.repaired, played.added))
    p50_us, p99_us = np.percentile(np.abs(played.timer_error_us), (50.0, 99.0))
    console.print(f"Error of arrival times: p50 {p50_us:.0f} us, p99 {p99_us:.0f} us. Heard and packets: {config.folder}", soft_wrap=True)


def join(config: JoinConfig) -> None:
    """Be one party of a call, and print what it did."""
    console, clock = _console(), steady_clock()
    if config.party == "sender":
        with seconds_shown("sending") as on_slot:
            sender = commands.send(config, clock, on_slot)
        added = f" Bytes added: {sender.protection.added:.1%}." if sender.protection else ""
        console.print(f"{len(sender.paths):,} packets, {sender.probes:,} probes.{added} {_arrivals(sender.inbox, clock)}")
    elif config.party == "controller":
        with seconds_shown("deciding") as on_slot:
            controller = commands.control(config, clock, on_slot)
        console.print(f"{controller.learned:,} records, {controller.plans:,} changes of the path. {_arrivals(controller.inbox, clock)}")
    else:
        with seconds_shown("playing") as on_slot:
            receiver = commands.receive(config, clock, on_slot)
        arrivals, played = _arrivals(receiver.inbox, clock), receiver.listening.finish()
        commands.save(config.folder, played, receiver.media)
        console.print(_table(config.policy, played, receiver.listening.repaired(played)))
        console.print(f"{arrivals} Heard and packets: {config.folder}", soft_wrap=True)


def relay(config: RelayConfig) -> None:
    """Run the relay and print its address, then its counts."""
    node = commands.relay(config, lambda address: log.info(f"relay at {address[0]}:{address[1]}"))
    log.info(", ".join(f"{outcome} {count:,}" for outcome, count in node.counts.most_common()) or "nothing arrived")


def emulate(config: EmulateConfig) -> None:
    """Run the emulator and print its address, then its counts."""
    node = commands.emulate(config, lambda address: log.info(f"emulator at {address[0]}:{address[1]}, session in {config.session}"))
    log.info(", ".join(f"{outcome} {count:,}" for outcome, count in node.relay.counts.most_common()) or "nothing arrived")


def measure(config: MeasureConfig) -> None:
    """Measure; print the files, and the series without one."""
    with seconds_shown("probing") as on_slot:
        files, silent = commands.measure(config, on_slot)
    for file in files:
        log.info(file)
    for name in silent:
        log.info(f"{name}: nothing arrived, no trace")


def _console() -> Console:
    return Console(emoji=False, width=None if Console().is_terminal else 120)


def _play(config: CallConfig, console: Console) -> tuple[LiveCall, WorldDraw]:
    if config.stats:
        with Stats(console) as stats:
            return commands.play(config, stats)
    with seconds_shown("playing", config.seconds) as on_slot:
        return commands.play(config, lambda parties: on_slot(parties[0].receiver.listening.slot))


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
