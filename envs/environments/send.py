"""Send: the agent chooses the law of the rate, and the order of the queue."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.from_agent import REMOTE, FromAgent
from vcgym.envs.call.features.layout import ObservationLayout, ObservationPart
from vcgym.envs.call.rewards.emodel import AudioEModel
from vcgym.envs.call.rewards.on_time import Timely
from vcgym.envs.call.rewards.utility import Utility
from vcgym.envs.call.sender.effects import ORDERS, Schedulers
from vcgym.envs.call.sender.uplink import ORDER_COMMANDED
from vcgym.envs.environments.rate import RateVectorEnv
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.sender import RELATIVE
from vcgym.envs.environments.vector.settings import GROUPS, SendSettings, taken

_OTHERS = np.arange(1, len(ORDERS))


class SendVectorEnv(RateVectorEnv):
    """Rate and order: choose which law sets the target bitrate, and which scheduler the order of packets; when, as in Rate.

    Observation: float32 features (docs/envs.md) of the reports, of the laws, and of the order in force.
    Action: ``Discrete(15)``: the law, as in Rate, is a // 3, and the order a % 3: first in, first out; SBPN2; audio first, which drops
        video only from a full queue.
    Reward: ``timely`` (default), per decision: seconds x (0.6 ln(4 r + 1) - 10 m), with r the Mbit/s that arrive by their expiry and m the
        share of audio packets that do not; or ``utility`` or ``emodel``.
    End of episode: truncation at the end of the call (60 to 125 s); packets in flight are counted in the last step.
    Source: the controls of SBPN over TFRC, both set by the agent.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        scenario: name, see docs/worlds.md, or any `BottleneckRecipe`.
        pacing: transmission opportunities per packet time at the target, 0 to 1000; 0: spaced by the mean packet size at the target.
        reward: timely, utility or emodel, or parameters of a reward.
        action: relative_discrete, or relative_continuous: that of Rate, then a score of each order, of which the largest counts.
        interval: default intervals between reports (50 ms) for which a decision holds, >= 1.
        arguments: those of every environment of senders, docs/envs.md.
    """

    rewards: ClassVar = {"timely": Timely(), "utility": Utility(), "emodel": AudioEModel()}
    forms = RELATIVE
    settings = GROUPS["Send"]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        own = taken(SendSettings, arguments)
        super().__init__(num_envs, pacing=own.pacing, reward=own.reward, interval=own.interval, **arguments)

    def _order(self, given: Any) -> Any:
        return FromAgent(REMOTE, Schedulers())  # the agent sets which scheduler decides, and is asked with the rate only

    def _layout(self) -> ObservationLayout:
        return ObservationLayout(*super()._layout().parts.values(), ObservationPart("order", (ORDER_COMMANDED,), ORDERS[1:]))

    def _action_space(self) -> spaces.Space[Any]:
        of_rate = super()._action_space()
        if isinstance(of_rate, spaces.Discrete):
            return spaces.Discrete(int(of_rate.n) * len(ORDERS))
        return spaces.Box(-1.0, 1.0, (of_rate.shape[0] + len(ORDERS),), np.float32)  # type: ignore[index]

    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        if self.action_form == "relative_discrete":
            of_rate, orders = np.divmod(actions, len(ORDERS))
        else:
            of_rate, orders = actions[:, : -len(ORDERS)], np.argmax(actions[:, -len(ORDERS) :], axis=1)
        super().apply_actions(of_rate, rows)
        self.batch.senders["queue"]["governs"][rows] = orders[rows]

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        super()._write_observations(rows, shown)
        shown["order"][rows, :, 0] = self.batch.senders["queue"]["governs"][rows, None] == _OTHERS


class SendEnv(ScalarEnv):
    vector_class = SendVectorEnv
