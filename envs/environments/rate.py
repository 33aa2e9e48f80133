"""Rate: the agent chooses the target bitrate."""

from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from vcgym.baselines.controls.control import SENDER, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.baselines.rule import NEVER_US, require_rule
from vcgym.envs.call.features.intervals import INTERVAL_FEATURES, SHORT_US, observe_intervals
from vcgym.envs.call.features.layout import ObservationLayout, ObservationPart, compressed_features
from vcgym.envs.call.features.sender import RATE_FEATURES, compress_senders, observe_senders
from vcgym.envs.call.rewards.emodel import AudioEModel
from vcgym.envs.call.rewards.utility import Utility
from vcgym.envs.call.sender.effects import MAX_AIM_MS, MIN_AIM_MS, Requests
from vcgym.envs.call.sender.laws import AIM, LAW_FEATURES, LAWS, Laws, observe_laws
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.sender import RELATIVE, SenderVectorEnv, position_of
from vcgym.envs.environments.vector.settings import GROUPS, RateSettings, SenderAgentSettings, taken
from vcgym.network.kernels.ranges import one_of

FEATURES = ("reports", "intervals")
STEPS = (0.5, 0.7, 0.85, 0.95, 1.0, 1.02, 1.05, 1.1, 1.25)  # 0.85: GCC's decrease
AIMS = 3
_MAX = np.array([10**9, 10**8, 10**9])  # bit/s, us, us


class RateVectorEnv(SenderVectorEnv):
    """Rate control: choose at set-up, and then whenever `interval` receiver reports should have arrived, which law sets the target bitrate.

    Observation: float32 features (docs/envs.md: name, unit, range, age of each), computed from reports and the sender's own queue.
        With ``features="intervals"`` these are the 150 numbers of the Bandwidth Estimation Challenge
        (`vcgym.envs.call.features.intervals`), and the receiver reports every 60 ms.
    Action: ``Discrete(5)``, the law that drives (`vcgym.envs.call.sender.laws`): 0 SCReAM v2, 1 NADA, both tuned, from 2 on an aim for the
        queueing delay, 12 ms * 5 ** ((a - 2) / 2) (`vcgym.envs.call.sender.effects`). Continuous: ``Box(-1, 1, (1,))``, the target on a log
        scale from the call's minimum rate to its maximum; discrete: ``Discrete(9)``, a factor on the current target (docs/envs.md); exact:
        bit/s (0: unchanged), the interval to the receiver's next report in us (0: the default), and the time in us until a decision without
        a report (0: none). It takes effect at once.
    Reward: ``utility`` (default), per decision: seconds x (0.6 ln(4 r + 1) - d - 10 l), with r the delivery rate in Mbit/s, d the delay
        beyond propagation in s, l the loss; or ``emodel`` of the audio.
    End of episode: truncation at the end of the call (60 to 125 s); packets in flight are counted in the last step.
    Source: the control of GCC and TFRC; `order` is the scheduler, by default first in, first out. The reward is R3Net's
        (arXiv 1912.02222).

    Args:
        num_envs: number of calls played in parallel, >= 1.
        order: rule that sets the order.
        scenario: name, see docs/worlds.md, or any `BottleneckRecipe`.
        pacing: transmission opportunities per packet time at the target, 0 to 1000; 0: spaced by the mean packet size at the target.
        reward: utility or emodel, or parameters of a reward.
        action: relative_discrete, relative_continuous, discrete, continuous or exact.
        interval: default intervals between reports (50 ms) for which a decision holds, >= 1; 1 unless the action is relative.
        features: reports: the features of docs/envs.md; intervals: those of the Bandwidth Estimation Challenge, a report every 60 ms.
        arguments: those of every environment of senders, docs/envs.md.
    """

    rewards: ClassVar = {"utility": Utility(), "emodel": AudioEModel()}
    forms: ClassVar[tuple[str, ...]] = ("continuous", "discrete", "exact", *RELATIVE)

    settings = GROUPS["Rate"]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        own = taken(RateSettings, arguments)
        one_of("features", own.features, FEATURES)
        self.features = own.features
        chooses = arguments.get("action", SenderAgentSettings.action) in RELATIVE
        agent = in_place_of(Control.RATE, SENDER, effect=Laws.tuned() if chooses else Requests())
        super().__init__(num_envs, agent, self._order(own.order), own.interval, pacing=own.pacing, reward=own.reward, **arguments)
        self.interval, self.holds = own.interval, 1  # the law follows the reports in between
        self._reported, self._smallest_us = np.zeros(num_envs, np.int64), np.full(num_envs, -1, np.int64)

    def _order(self, given: Any) -> Any:
        """Return the controller of the order."""
        require_rule("order", given, Control.ORDER)
        return given

    def _own_arguments(self) -> tuple[Any, ...]:
        return () if self.features == "reports" else (self.features,)

    def _layout(self) -> ObservationLayout:
        if self.features == "intervals":
            return ObservationLayout(ObservationPart("intervals", INTERVAL_FEATURES))
        if not self.is_relative:
            return ObservationLayout(ObservationPart("sender", RATE_FEATURES))
        return ObservationLayout(ObservationPart("sender", compressed_features(RATE_FEATURES)), ObservationPart("laws", LAW_FEATURES))

    def _action_space(self) -> spaces.Space[Any]:
        if self.action_form in ("continuous", "relative_continuous"):
            return spaces.Box(-1.0, 1.0, (1 if self.action_form == "continuous" else len(LAWS) + 1,), np.float32)
        if self.action_form == "relative_discrete":
            return spaces.Discrete(AIM + AIMS)
        if self.action_form == "discrete":
            return spaces.Discrete(len(STEPS))
        return spaces.Box(np.zeros(3, np.int64), _MAX, dtype=np.int64)

    def _reset_row(self, row: int, seed: int, **options: Any) -> None:
        super()._reset_row(row, seed, **options)
        self._reported[row], self._smallest_us[row] = 0, -1
        if self.features == "intervals":
            self.batch.senders["default_report_every_us"][row] = self.batch.senders["report_us"][row] = SHORT_US

    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        senders = self.batch.senders
        if self.action_form == "exact":
            asked, wanted = self.batch.rate_state, actions.astype(np.int64)
            senders["answer_bps"] = wanted[:, 0]
            asked.every_us[rows] = wanted[rows, 1]
            asked.wake_us[rows] = np.where(wanted[rows, 2] > 0, senders["now_us"][rows] + wanted[rows, 2], NEVER_US)
        elif self.is_relative:
            self._choose_laws(actions[rows], rows)
        elif self.action_form == "discrete":
            senders["answer_bps"] = senders["target_bps"] * np.array(STEPS)[actions]
        else:
            position = (actions[:, 0].astype(np.float64) + 1.0) / 2.0
            senders["answer_bps"] = senders["min_bps"] * (senders["max_bps"] / senders["min_bps"]) ** position

    def _choose_laws(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        """Let a law drive each of `rows` for as long as `interval` reports of the call's default take; `actions` (rows, ...)."""
        senders, chosen = self.batch.senders[rows], self.batch.rate_state.chosen
        if self.action_form == "relative_discrete":
            laws, x = np.minimum(actions, AIM), position_of(np.maximum(actions - AIM, 0), AIMS)
        else:
            laws, x = np.argmax(actions[:, : len(LAWS)], axis=1), position_of(actions[:, len(LAWS)], None)
        chosen["law"][rows] = laws
        chosen["aim_ms"][rows] = np.where(laws == AIM, MIN_AIM_MS * (MAX_AIM_MS / MIN_AIM_MS) ** x, chosen["aim_ms"][rows])
        # A report may come a little early.
        chosen["due_us"][rows] = senders["now_us"] + ((self.interval - 0.5) * senders["default_report_every_us"]).astype(np.int64)

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        if self.features == "reports":
            observe_senders(batch.senders, rows, shown["sender"])
            if self.is_relative:
                compress_senders(rows, shown["sender"])
                observe_laws(batch.senders, batch.rate_state, rows, shown["laws"])
        else:
            observe_intervals(batch.senders, batch.tables.flight, rows, self._reported, self._smallest_us, shown["intervals"])


class RateEnv(ScalarEnv):
    vector_class = RateVectorEnv
