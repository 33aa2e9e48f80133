"""The native vector environment of senders at a shared bottleneck; base of Rate and SendOrder."""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.baselines.controls.control import Control
from vcgym.envs.call.features.layout import ObservationLayout
from vcgym.envs.call.paths.state import CallState
from vcgym.envs.call.rewards.reward import SENDER, Accounts, outcomes, require_reward
from vcgym.envs.call.sender.batch import SendingBatch, Worlds, worlds_of
from vcgym.envs.environments.render import draw_sender
from vcgym.envs.environments.vector.branches import BranchVectorEnv
from vcgym.envs.environments.vector.settings import OF_SENDERS, grouped
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.ranges import one_of, require_whole
from vcgym.network.kernels.record import records
from vcgym.network.playout.quality import rating
from vcgym.network.scenarios.bottleneck.recipe import data_hash

RELATIVE = ("relative_discrete", "relative_continuous")


def position_of(actions: NDArray[Any], levels: int | None) -> NDArray[np.float64]:
    """Return the positions in 0..1 of actions of one number: indices of `levels` levels, or if that is None numbers from -1 to 1."""
    numbers = actions.reshape(len(actions)).astype(np.float64)
    return np.clip((numbers + 1.0) / 2.0, 0.0, 1.0) if levels is None else numbers / (levels - 1)


class SenderVectorEnv(BranchVectorEnv):
    """A batch of senders with one control set by the agent; each environment's docstring specifies observation, action and reward.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        rate: controller of the rate: the placeholder of an agent, or parameters of a rule.
        order: controller of the order: the placeholder of an agent, or parameters of a rule.
        interval: decisions for which an action holds, >= 1; 1 unless the action is relative.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar environment draws.
        max_episode_steps: decisions after which a call is truncated; None: at its end.
        worlds: number of worlds of split train that are played, see `EpisodeVectorEnv`; None: all.
        arguments: fields of the settings of `vcgym.envs.environments.vector.settings`.
    """

    reset_options = ("kind",)
    settings: ClassVar[tuple[Any, ...]] = OF_SENDERS
    batch: SendingBatch
    rewards: ClassVar[dict[str, Any]]
    forms: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        num_envs: int,
        rate: Any,
        order: Any,
        interval: int,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        worlds: int | None = None,
        **arguments: Any,
    ) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 20), interval=(interval, 1, 1000))
        asked, agent, *_ = grouped(type(self), arguments)
        one_of("action", agent.action, self.forms)
        self.is_relative, self.holds = agent.action in RELATIVE, interval
        if interval > 1 and not self.is_relative:
            raise ValueError(f"interval = {interval} with action {agent.action!r}: allowed is 1 unless action is {' or '.join(RELATIVE)}")
        self.asked, self.scenario, self.action_form = asked, asked.make(), agent.action
        self.controllers: dict[str, Any] = {Control.RATE: rate, Control.ORDER: order}
        chosen = require_reward(agent.reward, self.rewards, (SENDER,))
        world, most = self.scenario, worlds_of(self.scenario, asked.seconds)
        settings = {"pacing": asked.pacing, "log_packets": agent.log_packets, "threads": agent.threads}
        self.batch = self._new_batch(num_envs, rate, order, most, **settings)
        self._kinds = [""] * num_envs
        decisive = (
            rate, order, world.name, data_hash(world), asked.split, asked.seconds, asked.send_queue, float(asked.pacing), chosen,
            agent.observation, agent.action, agent.log_packets, *self._own_arguments(),
            *(() if interval == 1 else (interval,)),
        )  # fmt: skip
        super().__init__(
            self.batch,
            self._layout(),
            agent.observation,
            self._action_space(),
            reward=chosen,
            accounts=Accounts(records(CallState, 0), self.batch.senders),
            arguments=decisive,
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
            max_episode_steps=max_episode_steps,
            worlds=worlds if asked.split == "train" else None,
        )

    def _new_batch(self, num_envs: int, rate: Any, order: Any, most: Worlds, **settings: Any) -> SendingBatch:
        """Return the batch of calls; `settings` are arguments of `SendingBatch`."""
        return SendingBatch(num_envs, rate, order, most, **settings)

    def _own_arguments(self) -> tuple[Any, ...]:
        """Return further arguments that a saved state must match."""
        return ()

    @abstractmethod
    def _layout(self) -> ObservationLayout:
        """Return the parts of an observation."""

    @abstractmethod
    def _action_space(self) -> spaces.Space[Any]:
        """Return the action space of one session."""

    def _refuse_options(self, **options: Any) -> None:
        self.scenario.draw(self.asked.split, 0, **options)

    def _drawn(self, seed: int, **options: Any) -> SharedLink:
        return self.asked.applied(self.scenario.draw(self.asked.split, seed, **options))

    def _reset_row(self, row: int, seed: int, **options: Any) -> None:
        link = self._drawn(seed, **options)
        self.batch.start(row, link)
        self._kinds[row] = link.name

    def _worlds(self) -> dict[str, NDArray[Any]]:
        return {"kind": np.array(self._kinds)}

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """Return R of the audio, shares on time and missing, mean delay, delivery rate and worlds; and the parts of `utility`."""
        counts, ends_us = self.batch.senders["counts"], self.batch.senders["ends_us"]
        created, delivered = (np.maximum(counts[name], 1) for name in ("created", "delivered"))
        audio = counts["on_time"][:, AUDIO] / created[:, AUDIO]
        counted_s = (ends_us - self.batch.senders["counts_from_us"]) * 1e-6
        return {
            "rating": rating(self.batch.senders["expiry_us"] / 1000.0, 1.0 - audio),
            "audio_on_time": audio,
            "video_on_time": counts["on_time"][:, VIDEO] / created[:, VIDEO],
            "missing_share": 1.0 - counts["delivered"].sum(axis=1) / created.sum(axis=1),
            "delay_ms": counts["delay_us"].sum(axis=1) / delivered.sum(axis=1) / 1000.0,
            "delivered_kbps": counts["bytes_delivered"].sum(axis=1) * 8e-3 / counted_s,
            **self._worlds(),
            **outcomes(self.reward, self._rewarded),
        }

    def log(self, row: int) -> NDArray[np.void]:
        """Return the logged packets of one call, see `SendingBatch.log`."""
        return self.batch.log(row)

    def draw(self, axes: Any, row: int) -> None:
        draw_sender(axes, self.batch, row)
