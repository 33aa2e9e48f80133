"""SendOrder: the agent chooses which packet leaves, or is thrown away."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.rule import Control, require_rule
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.envs.call.features.layout import ObservationLayout, Part
from vcgym.envs.call.features.sender.queue import QUEUE_FEATURES, observe_queues
from vcgym.envs.call.features.sender.records import ITEM_WIDTH, show_queue
from vcgym.envs.call.features.sender.sender import ORDER_FEATURES, observe_order_senders
from vcgym.envs.call.sender.batch import BY_PACKET
from vcgym.envs.call.sender.controllers import OrderAgent
from vcgym.envs.faces.scalar import ScalarEnv
from vcgym.envs.faces.vector.sender_vector import SendingVectorEnv
from vcgym.network.kernels.ranges import one_of
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

RATE = Tfrc()
OVERFLOW = Fifo()
PLACES = 5  # of the queue in the seed paper on SBPN
EMPTY_PLACE = ("refuse", "newest")
_LATEST = np.iinfo(np.int64).max


class SendOrderVectorEnv(SendingVectorEnv):
    """Packet scheduling: at each transmission opportunity choose the queued packet to send or drop.

    Observation: float32 features (docs/envs.md), of each place of the queue, oldest first, and of what reports have told; or, with
        ``observation="records"``, a dict of what waits (L, 5) int64: created_us, expires_us, size_bytes, kind (0 video, 1 audio), frame;
        its count, now_us and the smoothed round trip rtt_us (0: no report yet).
    Action: ``Discrete(2 L)`` with a queue of L packets: a < L sends the a-th oldest, L + a throws it away, and the agent is asked again if
        more wait. `action_masks` says which places hold a packet; another one is refused, or, with ``empty_place="newest"``, means the
        newest that waits.
    Reward: ``on_time`` (default): 1 per audio packet that arrives before its expiry, 0.25 per video packet; or ``emodel`` of the audio.
        Paid when a report tells of the packet.
    End of episode: truncation when the call is over (60 s, about 90 decisions a second); what is on its way is settled in the last step.
    Source: the control of SBPN over TFRC; `rate` controls the rate, by default TFRC, what gives way in a full queue by the rule `overflow`,
        by default the packet that comes. With ``send_queue=None`` the queue is as long as the world says, and there are as many places
        as the longest of the scenario has.
    """

    chosen_from = "queue"
    rewards = ("on_time", "emodel")
    forms = ("discrete",)

    def __init__(
        self,
        num_envs: int = 1,
        rate: NamedTuple = RATE,
        overflow: NamedTuple = OVERFLOW,
        scenario: str | BottleneckRecipe = "order",
        send_queue: int | None = PLACES,
        pacing: float = BY_PACKET,
        reward: str = "on_time",
        empty_place: str = "refuse",
        **arguments: Any,
    ) -> None:
        require_rule("rate", rate, Control.RATE)
        require_rule("overflow", overflow, Control.ORDER)
        one_of("empty_place", empty_place, EMPTY_PLACE)
        recipe = SendingScenario(scenario, arguments.get("data"), arguments.get("traces")) if isinstance(scenario, str) else scenario
        self.places = longest_queue(recipe) if send_queue is None else send_queue
        self.empty_place = empty_place
        super().__init__(
            num_envs, rate, OrderAgent(overflow), recipe, send_queue=send_queue, pacing=pacing, reward=reward, **arguments
        )  # fmt: skip

    def _own_arguments(self) -> tuple[Any, ...]:
        return (self.empty_place,)

    def _layout(self) -> ObservationLayout:
        slots = tuple(map(str, range(self.places)))
        return ObservationLayout(Part("queue", QUEUE_FEATURES, slots), Part("sender", ORDER_FEATURES))

    def _records(self) -> dict[str, spaces.Space[Any]]:
        return {
            "count": spaces.Box(0, self.places, (), np.int64),
            "now_us": spaces.Box(0, _LATEST, (), np.int64),
            "records": spaces.Box(0, _LATEST, (self.places, ITEM_WIDTH), np.int64),
            "rtt_us": spaces.Box(0, _LATEST, (), np.int64),
        }

    def _action_space(self) -> spaces.Space[Any]:
        return spaces.Discrete(2 * self.places)

    def action_masks(self) -> NDArray[np.bool_]:
        """Return a mask of the actions allowed now, (num_envs, 2 L); all of them for a session that is done."""
        waiting = self.batch.senders["queue"]["waiting"][:, None]
        held = np.arange(self.places) < np.where(waiting > 0, waiting, self.places)
        return np.concatenate([held, held], axis=1)

    def _answer(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        place, thrown = actions % self.places, actions >= self.places
        waiting = self.batch.senders["queue"]["waiting"]
        if self.empty_place == "newest":
            place = np.minimum(place, np.maximum(waiting, 1) - 1)
        empty = rows[place[rows] >= waiting[rows]]
        if len(empty):
            row = empty[0]
            raise ValueError(
                f"action {actions[row]} of session {row}: {waiting[row]} packets wait, allowed are 0 to {waiting[row] - 1} (send) and "
                f"{self.places} to {self.places + waiting[row] - 1} (throw away); see action_masks, or empty_place='newest'"
            )
        self.batch.senders["answer_order"] = np.where(thrown, -1 - place, place)

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        if self.observation_kind != "records":
            observe_queues(batch.senders, rows, shown["queue"])
            observe_order_senders(batch.senders, batch.tables.flight, rows, shown["sender"])
            return
        shown["now_us"][rows] = batch.senders["now_us"][rows]
        shown["rtt_us"][rows] = batch.senders["rtt_us"][rows].astype(np.int64)
        shown["records"][rows] = 0
        show_queue(batch.senders, rows, shown["records"], shown["count"])


def longest_queue(scenario: BottleneckRecipe) -> int:
    """Return how many packets may wait at the sender in the longest queue of a scenario."""
    return max(scenario.draw("train", 0, kind).send_queue for kind in scenario.kinds)


class SendOrderEnv(ScalarEnv):
    __doc__ = SendOrderVectorEnv.__doc__
    vector_class = SendOrderVectorEnv
    native: SendOrderVectorEnv

    def action_masks(self) -> NDArray[np.bool_]:
        """Return a mask of the actions allowed now, (2 L,), as MaskablePPO wants it."""
        return self.native.action_masks()[0]
