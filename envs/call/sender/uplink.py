"""The senders of a batch of calls before the paths: send queue, pacer and a shared bottleneck.

A remote agent observes the features of a sender with the delay of a command's travel time, and its own last commands.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CENTRAL, PACING, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.baselines.rule import require_rule
from vcgym.envs.call.features.layout import Feature, ObservationPart, rate_position
from vcgym.envs.call.features.sender import RATE_FEATURES, RATE_WIDTH
from vcgym.envs.call.sender.batch import PlayedFlow, SendingBatch, worlds_of
from vcgym.envs.call.sender.effects import ORDERS, Schedulers
from vcgym.envs.call.sender.in_flight import LOST, NOT_YET
from vcgym.envs.call.sender.no_uplink import SenderStages
from vcgym.envs.call.sender.onto_paths import STATUSES, Commanded, Uplink, prepare
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import Codel, FqCodel, SharedLink
from vcgym.network.bottleneck.sources import Audio
from vcgym.network.kernels import rng
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.record import records
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe, data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SENDING_SCENARIOS, SendingScenario

# One packet per slot: 64 kbit/s of voice, plus the headers of vcgym.network.bottleneck.sources.Audio.
AUDIO_PER_SLOT = Audio(size_bytes=134, interval_ms=SLOT_US / 1000.0)
LOG_PACKETS = 1 << 16  # packets of a call that `UplinkBatch.played` needs: two minutes at 4 Mbit/s


REMOTE_FEATURES = tuple(
    feature._replace(name=f"{feature.name}[sender]", age="command" if feature.age == "0" else f"{feature.age}, command")
    for feature in RATE_FEATURES
    if feature.name != "elapsed"  # the call has this feature too
)
REMOTE_WIDTH = len(REMOTE_FEATURES)
RATE_COMMANDED = Feature("rate_commanded[sender]", "position on the log scale of targets, -1 to 1", -1, 1, "0")
ORDER_COMMANDED = Feature("order_commanded", "1 for the order last decided, if it is not the first", 0, 1, "0")


def remote_features(rate_held: bool, orders_held: bool) -> tuple[Feature, ...]:
    """Return the features of a remote sender whose rate or order the agent controls."""
    shown = (*REMOTE_FEATURES, RATE_COMMANDED) if rate_held else REMOTE_FEATURES
    orders = tuple(ORDER_COMMANDED._replace(name=f"{ORDER_COMMANDED.name}[{name}]") for name in ORDERS[1:]) if orders_held else ()
    return (*shown, *orders)


@kernel
def observe_remote(uplink, calls, which, rate_held, orders_held, out):
    """Write `remote_features` of each session in `which`, as known at the agent's location, into `out`, float32 (sessions, features).

    `rate_held`: the agent sets the rate. `orders_held`: number of schedulers among which it chooses; 0: it does not.
    """
    for s in which:
        remote, decision = uplink.remote[s], calls[s].slot // calls[s].interval
        for i in range(REMOTE_WIDTH):
            out[s, i] = uplink.statuses[s, decision & (STATUSES - 1), i]
        column = REMOTE_WIDTH
        if rate_held:
            sender = uplink.senders[s]
            out[s, column] = rate_position(float(remote.rate.latest), sender.min_bps, sender.max_bps)
            column += 1
        for order in range(1, orders_held):
            out[s, column + order - 1] = 1.0 if remote.order.latest == order else 0.0


def uplink_seed(seed: int) -> int:
    """Return the seed of a call's bottleneck; a key of its own, since the seed itself is used for the paths."""
    return int(rng.stream_key(np.uint64(seed), 3, rng.SCENARIO))


class UplinkBatch(SenderStages):
    """Senders whose packets continue over the paths of calls.

    Args:
        sessions: number of calls, >= 1.
        paths: number of paths of each call.
        scenario: scenario of the bottleneck: a name in vcgym.network.scenarios.bottleneck.sending_scenarios, or an object.
        rate: a rate rule; None: the agent sets the rate.
        order: a scheduler; None: the agent selects one of ORDERS, initially the first.
        pacing: pacing factor relative to the target; 0: spaced by the mean packet size.
        keeps_order: True if packets keep their order within a path.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        log_packets: number of packets of each call kept for `played`.
        seconds: length of the longest call, for `played`.
    """

    def __init__(
        self,
        sessions: int,
        paths: int,
        scenario: str | BottleneckRecipe,
        rate: Any = None,
        order: Any = None,
        pacing: float = PACING,
        keeps_order: bool = True,
        data: str | None = None,
        log_packets: int = 0,
        seconds: float = 0.0,
    ) -> None:
        if isinstance(scenario, str):
            one_of("uplink", scenario, SENDING_SCENARIOS)
        world = SendingScenario(scenario, data) if isinstance(scenario, str) else scenario
        if rate is not None:
            require_rule("rate", rate, Control.RATE)
        if order is not None:
            require_rule("order", order, Control.ORDER)
        rate_by = in_place_of(Control.RATE, CENTRAL) if rate is None else rate
        order_by = in_place_of(Control.ORDER, CENTRAL, effect=Schedulers()) if order is None else order
        self.scenario = world
        self.controls = tuple(control for control, rule in ((Control.RATE, rate), (Control.ORDER, order)) if rule is None)
        self._sets_rate, self._orders = rate is None, len(ORDERS) if order is None else 0
        self.sending = SendingBatch(
            sessions, rate_by, order_by, worlds_of(world, seconds), pacing=pacing, log_packets=log_packets,
            followed_by_paths=True,
        )  # fmt: skip
        self._new_remote = records(Commanded, 1)
        self._new_remote.keeps_order = keeps_order
        self.senders = self.sending.senders
        self.inside = Uplink(
            records(Commanded, sessions),
            self.sending.senders,
            self.sending.tables,
            self.sending.rate,
            self.sending.rate_state,
            self.sending.order,
            np.zeros((sessions, paths), np.int64),
            np.zeros((sessions, SLOTS), np.int64),
            np.zeros((sessions, STATUSES, RATE_WIDTH), np.float32),
        )
        self.part = ObservationPart("sender", remote_features(self._sets_rate, self._orders > 0))
        self.arguments = (world.name, data_hash(world), rate, order, float(pacing))
        self.links: list[SharedLink | None] = [None] * sessions
        self._kinds = [""] * sessions

    def refuse(self, split: str, kind: str | None) -> None:
        self.scenario.draw(split, 0, kind)

    def draw(self, row: int, split: str, seed: int, kind: str | None = None) -> None:
        self.links[row] = self.scenario.draw(split, uplink_seed(seed), kind)

    def start(self, row: int, packets: int, control_us: int, to_sender_us: int, report_loss: float) -> None:
        link = self.links[row]
        assert link is not None
        if isinstance(link.discipline, Codel | FqCodel):
            raise ValueError(f"discipline = {link.discipline} of {link.name} before paths: allowed are None and Threshold")
        if link.air is not None:
            raise ValueError(f"air = {link.air} of {link.name} before paths: allowed is None")
        # A report takes whole slots, at least one, so that all reported packets have left the bottleneck.
        slots = max(-(-control_us // SLOT_US), 1)
        seconds = packets * SLOT_US * 1e-6
        self.sending.start(row, link._replace(audio=AUDIO_PER_SLOT, seconds=max(seconds, 0.1), counts_from_s=0.0))
        sender = self.sending.senders[row]
        sender["ends_us"], sender["backward_us"], sender["report_loss"] = packets * SLOT_US, slots * SLOT_US, report_loss
        if -(-to_sender_us // SLOT_US) >= STATUSES:
            raise OverflowError(f"session {row}: the sender is {to_sender_us} us away, allowed are less than {STATUSES * SLOT_US}")
        self.inside.remote[row] = self._new_remote[0]
        remote, departures = self.inside.remote[row], self.sending.tables.departures
        remote.rate.latest = remote.rate.in_force = int(sender["target_bps"])
        remote.rate.delay_us = remote.order.delay_us = to_sender_us
        departures.next[row] = departures.settled[row] = 0
        prepare(self.inside, row, to_sender_us)
        self._kinds[row] = link.name

    def answer(self, decided: Mapping[Control, NDArray[Any]], is_position: bool) -> None:
        for control in self.controls:
            value = decided[control]
            if control is Control.RATE and is_position:
                senders = self.sending.senders
                value = np.rint(senders["min_bps"] * (senders["max_bps"] / senders["min_bps"]) ** value)
            self.inside.remote[f"answer_{control}"] = value

    def observe(self, calls: NDArray[Any], rows: NDArray[np.int64], out: NDArray[np.float32]) -> None:
        observe_remote(self.inside, calls, rows, self._sets_rate, self._orders, out)

    def outcomes(self) -> dict[str, NDArray[Any]]:
        """Return shares of captured video on time and of captured audio never sent; mean video delay in ms; kind of the world."""
        totals = self.sending.totals()
        created = np.maximum(totals.created, 1)
        return {
            "video_on_time": totals.on_time[:, VIDEO] / created[:, VIDEO],
            "audio_unsent": 1.0 - totals.sent[:, AUDIO] / created[:, AUDIO],
            "video_delay_ms": totals.delay_us[:, VIDEO] / np.maximum(totals.delivered[:, VIDEO], 1) / 1000.0,
            "kind": np.array(self._kinds),
        }

    def kind(self, row: int) -> str:
        return self._kinds[row]

    def played(self, row: int) -> PlayedFlow:
        """Return a finished call from capture to the end of its paths; needs `log_packets` and `seconds`.

        Raises:
            OverflowError: the call sent more packets than are kept.
        """
        link, log = self.sending.links[row], self.sending.log(row)
        assert link is not None
        if len(log) >= self.sending.tables.log.shape[1]:
            raise OverflowError(f"{link.name}: more than {self.sending.tables.log.shape[1]} packets were sent")
        log["arrived_us"][log["arrived_us"] == NOT_YET] = LOST
        return PlayedFlow(link, log, self.sending.totals(), row, self.sending.tables.targets[row], 0.0, False)
