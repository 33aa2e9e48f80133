"""The native vector environment of senders that share a bottleneck. The scalar face and the ids Rate and SendOrder stand over it."""

from abc import abstractmethod
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.envs.call.features.layout import ObservationLayout
from vcgym.envs.call.paths import CALL
from vcgym.envs.call.rewards.emodel import AudioEModel
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.reward import SENDER, Accounts, outcomes, require_reward
from vcgym.envs.call.rewards.utility import Utility
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.envs.call.stages import DONE
from vcgym.envs.faces.sender_render import picture
from vcgym.envs.faces.vector.episodes import OBSERVATIONS, EpisodeVectorEnv, require_whole
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.ranges import one_of
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe, data_hash
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario

REWARDS = MappingProxyType({"utility": Utility(), "emodel": AudioEModel(), "on_time": OnTime()})


class SendingVectorEnv(EpisodeVectorEnv):
    """A batch of senders, one control of which is the agent's; each environment's docstring specifies observation, action and reward.

    Args:
        num_envs: how many calls are played side by side, >= 1.
        rate: who holds the rate: `RateAgent`, or parameters of a rule.
        order: who holds the order: `OrderAgent`, or parameters of a rule.
        scenario: name, see `vcgym.network.scenarios.bottleneck.sending_scenarios`, or a `BottleneckRecipe` from anywhere.
        split: train or validation; test is the leaderboard's.
        seconds: length of a call, 0.1 to 3600; None: as the scenario says.
        send_queue: packets that may wait at the sender, 1 to 1024; None: as the scenario says.
        pacing: transmission opportunities per packet time at the target, 0 to 1000; 0: packets of mean size in a row, at the target.
        reward: utility (Rate alone), emodel or on_time (SendOrder alone), or parameters of a reward (`vcgym.envs.call.rewards.reward`).
        observation: features (a flat Box), dict (its parts) or records.
        action: form of the action.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        traces: of scenario rate-replay: a folder or files of capacity traces.
        threads: how many threads share the sessions; without effect on the result.
        log_packets: how many packets of each call are kept, for `log`.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar face draws.
    """

    reset_options = ("kind",)
    rewards: ClassVar[tuple[str, ...]]
    forms: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        num_envs: int,
        rate: Any,
        order: Any,
        scenario: str | BottleneckRecipe,
        split: str = "train",
        seconds: float | None = None,
        send_queue: int | None = None,
        pacing: float = 0.0,
        reward: Any = "emodel",
        observation: str = "features",
        action: str = "discrete",
        data: str | None = None,
        traces: str | Sequence[str] | None = None,
        threads: int = 1,
        log_packets: int = 0,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 20), threads=(threads, 1, 256), log_packets=(log_packets, 0, 10_000_000))
        if send_queue is not None:
            require_whole(send_queue=(send_queue, 1, 1024))
        for name, value, low, high in (("seconds", seconds, 0.1, 3600.0), ("pacing", pacing, 0.0, 1000.0)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, float | int) or not low <= value <= high):
                raise ValueError(f"{name} = {value!r}: allowed are numbers from {low:g} to {high:g}")
        named = (("observation", observation, OBSERVATIONS), ("action", action, self.forms))
        for name, chosen, allowed in named:
            one_of(name, chosen, allowed)
        if render_mode is not None:
            raise ValueError(f"render_mode = {render_mode!r}: allowed is None")
        self.scenario = SendingScenario(scenario, data, traces) if isinstance(scenario, str) else scenario
        self.split, self.seconds, self.send_queue = split, seconds, send_queue
        self.scenario.draw(split, 0)  # refuses an unknown split
        self.action_form = action
        chosen = require_reward(reward, {name: REWARDS[name] for name in self.rewards}, (SENDER,))
        world = self.scenario
        lasts_s = world.seconds if seconds is None else seconds
        self.batch = SendingBatch(
            num_envs, rate, order, world.traces, world.flows, world.series, pacing, log_packets, lasts_s, threads, calls=world.calls
        )
        self._kinds = [""] * num_envs
        everything = (
            rate, order, world.name, data_hash(world), split, seconds, send_queue, float(pacing), chosen, observation, action, log_packets,
            *self._own_arguments(),
        )  # fmt: skip
        shown, rewarded = (self._layout(), observation, self._records()), (chosen, Accounts(np.zeros(0, CALL), self.batch.senders))
        super().__init__(num_envs, *shown, self._action_space(), *rewarded, everything, autoreset_mode, self.batch.shares)

    def _own_arguments(self) -> tuple[Any, ...]:
        """Return further arguments that a state must agree on."""
        return ()

    @abstractmethod
    def _layout(self) -> ObservationLayout:
        """Return the parts of an observation of features."""

    @abstractmethod
    def _records(self) -> dict[str, spaces.Space[Any]]:
        """Return the parts of an observation of records."""

    @abstractmethod
    def _action_space(self) -> spaces.Space[Any]:
        """Return the action space of one session."""

    def _refuse_options(self, **options: Any) -> None:
        self.scenario.draw(self.split, 0, **options)

    def _start(self, row: int, seed: int, **options: Any) -> None:
        link = self._with_arguments(self.scenario.draw(self.split, seed, **options))
        self.batch.start(row, link)
        self._kinds[row] = link.name

    def _with_arguments(self, link: SharedLink) -> SharedLink:
        if self.seconds is not None:
            link = link._replace(seconds=self.seconds, counts_from_s=link.counts_from_s if link.counts_from_s < self.seconds else 0.0)
        return link if self.send_queue is None else link._replace(send_queue=self.send_queue)

    def _advance(self, rows: NDArray[np.int64]) -> None:
        self.batch.advance(rows)

    def _done(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        done: NDArray[np.bool_] = self.batch.why[rows] == DONE
        return done


    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """R of the audio, shares on time and missing, mean delay, rate delivered, kind of the world; and the parts of `utility`."""
        counts, ends_us = self.batch.senders["counts"], self.batch.senders["ends_us"]
        created, delivered = (np.maximum(counts[name], 1) for name in ("created", "delivered"))
        audio = counts["on_time"][:, AUDIO] / created[:, AUDIO]
        counted_s = (ends_us - self.batch.senders["counts_from_us"]) * 1e-6
        return {
            "r": rating(self.batch.senders["expiry_us"] / 1000.0, 1.0 - audio),
            "audio_on_time": audio,
            "video_on_time": counts["on_time"][:, VIDEO] / created[:, VIDEO],
            "missing_share": 1.0 - counts["delivered"].sum(axis=1) / created.sum(axis=1),
            "delay_ms": counts["delay_us"].sum(axis=1) / delivered.sum(axis=1) / 1000.0,
            "delivered_kbps": counts["bytes_delivered"].sum(axis=1) * 8e-3 / counted_s,
            "kind": np.array(self._kinds),
            **outcomes(self.reward, self._rewarded),
        }

    def log(self, row: int) -> NDArray[np.void]:
        """Return the packets of one call that were kept, see `SendingBatch.log`."""
        return self.batch.log(row)

    def picture(self, row: int) -> NDArray[np.uint8]:
        """Draw the call so far, see `vcgym.envs.faces.sender_render.picture`."""
        return picture(self.batch, row)

    def _living(self) -> dict[str, Any]:
        batch = self.batch
        return {
            "senders": batch.senders, "dumbbell": batch.tables.dumbbell, "flight": batch.tables.flight, "log": batch.tables.log,
            "targets": batch.tables.targets, "others": batch.tables.others, "rate": batch.rate_state, "history": batch.history,
        }  # fmt: skip

    def _world_names(self) -> list[str]:
        return list(self._kinds)

    def _take_world_names(self, names: list[str]) -> None:
        self._kinds = names
