"""SendOrder: the agent chooses the packet to send or drop."""

from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.controls.control import SENDER, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.baselines.order.sbpn import Overflow, Sbpn
from vcgym.baselines.rule import require_rule
from vcgym.envs.call.features.layout import ObservationLayout, ObservationPart, compressed_features
from vcgym.envs.call.features.sender import (
    ORDER_FEATURES,
    QUEUE_FEATURES,
    compress_senders,
    observe_best,
    observe_order_senders,
    observe_queues,
)
from vcgym.envs.call.rewards.emodel import AudioEModel
from vcgym.envs.call.rewards.on_time import Missed, OnTime
from vcgym.envs.call.sender.effects import MAX_MARGIN, MIN_MARGIN, PacketChoice, choose_by_margin
from vcgym.envs.environments.render import draw_queue
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.sender import RELATIVE, SenderVectorEnv, position_of
from vcgym.envs.environments.vector.settings import GROUPS, OrderSettings, taken
from vcgym.network.bottleneck.shared_link import SharedLink

EVICTS = Sbpn(overflow=Overflow.EVICTS)
MARGINS = 4


class SendOrderVectorEnv(SenderVectorEnv):
    """Packet scheduling: at transmission opportunities choose the packets to send or drop.

    Observation: float32 features (docs/envs.md) of the packet that SBPN would send and of the reports; with ``action="discrete"`` of each
        queued packet, oldest first, in place of the former.
    Action: ``Discrete(8)``: SBPN2, but video is dropped with less than 3 ** (a % 4 / 3) half round trips left, and if a >= 4 the last
        packet too (`vcgym.envs.call.sender.effects`). Discrete: ``Discrete(2 L)`` with a queue of L packets: a < L sends the a-th oldest;
        L + a drops it, and the agent decides again unless the queue is empty. `action_masks` marks the slots that hold a packet; an index
        of an empty slot means the newest queued packet.
    Reward: ``missed`` (default): -0.1 per audio packet that does not arrive before its expiry, -0.025 per video packet; or ``on_time``: 1
        and 0.25 per packet that does; or ``emodel`` of the audio. Given when a report includes the packet.
    End of episode: truncation at the end of the call (60 s, about 90 opportunities per second); packets in flight are counted in the last
        step.
    Source: the control of SBPN over TFRC; `rate` controls the rate, by default TFRC; the scheduler `overflow` chooses the victim in a full
        queue. With ``send_queue=None`` the world sets the length of the queue, and L is the longest in the scenario.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        rate: rule that sets the rate.
        overflow: rule that chooses the packet to drop from a full queue; None: that of SBPN that drops the worst of all packets.
        scenario: name, see docs/worlds.md, or any `BottleneckRecipe`.
        send_queue: capacity of the send queue in packets, 1 to 1024; None: set by the scenario.
        pacing: transmission opportunities per packet time at the target, 0 to 1000; 0: spaced by the mean packet size at the target.
        reward: missed, on_time or emodel, or parameters of a reward.
        interval: transmission opportunities for which a decision holds, >= 1; 1 unless the action is relative.
        action: relative_discrete, relative_continuous or discrete.
        arguments: those of every environment of senders, docs/envs.md.
    """

    chosen_from = "queue"
    rewards: ClassVar = {"on_time": OnTime(), "missed": Missed(), "emodel": AudioEModel()}
    forms = ("discrete", *RELATIVE)

    settings = GROUPS["SendOrder"]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        own = taken(OrderSettings, arguments)
        require_rule("rate", own.rate, Control.RATE)
        overflow = EVICTS if own.overflow is None else own.overflow
        require_rule("overflow", overflow, Control.ORDER)
        agent = in_place_of(Control.ORDER, SENDER, effect=PacketChoice(overflow))
        super().__init__(num_envs, own.rate, agent, own.interval, scenario=own.scenario, reward=own.reward, **arguments)
        self._margin, self._alone = np.ones(num_envs), np.zeros(num_envs, bool)

    @cached_property
    def slots(self) -> int:
        """Return the maximum number of packets among which the agent chooses."""
        if self.asked.send_queue is not None:
            return int(self.asked.send_queue)
        return max(self.scenario.draw("train", 0, kind).send_queue for kind in self.scenario.kinds)

    def _drawn(self, seed: int, **options: Any) -> SharedLink:
        link = super()._drawn(seed, **options)
        if not self.is_relative and link.send_queue > self.slots:
            allowed = f"up to {self.slots}, the longest of seed 0, unless the argument send_queue sets it"
            raise ValueError(f"send_queue of seed {seed} in scenario {self.scenario.name} is {link.send_queue}; allowed: {allowed}")
        return link

    def _layout(self) -> ObservationLayout:
        if self.is_relative:
            parts = {"best": QUEUE_FEATURES, "sender": ORDER_FEATURES}
            return ObservationLayout(*(ObservationPart(name, compressed_features(features)) for name, features in parts.items()))
        return ObservationLayout(
            ObservationPart("queue", QUEUE_FEATURES, tuple(map(str, range(self.slots)))), ObservationPart("sender", ORDER_FEATURES)
        )

    def _action_space(self) -> spaces.Space[Any]:
        if self.action_form == "relative_continuous":
            return spaces.Box(-1.0, 1.0, (2,), np.float32)
        return spaces.Discrete(2 * (MARGINS if self.action_form == "relative_discrete" else self.slots))

    @property
    def action_masks(self) -> Callable[[], NDArray[np.bool_]]:
        """Return the function of the masks of valid actions, (num_envs, 2 L); all are valid for a session that is done.

        Raises:
            AttributeError: in the relative forms, in which every action is valid.
        """
        if self.is_relative:
            raise AttributeError(f"action_masks: every action of form {self.action_form} is valid")
        return self._masks

    def _masks(self) -> NDArray[np.bool_]:
        waiting = self.batch.senders["queue"]["waiting"][:, None]
        is_present = np.arange(self.slots) < np.where(waiting > 0, waiting, self.slots)
        return np.concatenate([is_present, is_present], axis=1)

    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        if self.is_relative:
            if self.action_form == "relative_discrete":
                x, self._alone = position_of(actions % MARGINS, MARGINS), actions >= MARGINS
            else:
                x, self._alone = position_of(actions[:, 0], None), actions[:, 1] > 0.0
            self._margin = MIN_MARGIN * (MAX_MARGIN / MIN_MARGIN) ** x
            self._repeat_action(rows)
            return
        slot, thrown = actions % self.slots, actions >= self.slots
        waiting = self.batch.senders["queue"]["waiting"]
        slot = np.minimum(slot, np.maximum(waiting, 1) - 1)
        self.batch.senders["answer_order"] = np.where(thrown, -1 - slot, slot)

    def _repeat_action(self, rows: NDArray[np.int64]) -> None:
        choose_by_margin(self.batch.senders, rows, self._margin, self._alone)

    def draw(self, axes: Any, row: int) -> None:
        draw_queue(axes, self.batch, row)

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        observe_order_senders(batch.senders, batch.tables.flight, rows, shown["sender"])
        if self.is_relative:
            observe_best(batch.senders, rows, shown["best"])
            compress_senders(rows, shown["sender"])
        else:
            observe_queues(batch.senders, rows, shown["queue"])


class SendOrderEnv(ScalarEnv):
    vector_class = SendOrderVectorEnv
    native: SendOrderVectorEnv

    @property
    def action_masks(self) -> Callable[[], NDArray[np.bool_]]:
        """Return the function of the mask of valid actions, (2 L,), in the form required by MaskablePPO.

        Raises:
            AttributeError: see `SendOrderVectorEnv.action_masks`.
        """
        masks = self.native.action_masks
        return lambda: masks()[0]
