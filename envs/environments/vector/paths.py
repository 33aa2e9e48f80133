"""The native vector environment of calls over paths, with or without an uplink; base of Relay, Playout and Call."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.baselines.controls.control import CENTRAL, RECEIVER, Control
from vcgym.baselines.from_agent import AS_DECIDED, FromAgent, in_place_of
from vcgym.envs.call.batch import FRAMES_MS, MAX_BUDGET, CallBatch, Played
from vcgym.envs.call.features.added import fingerprint
from vcgym.envs.call.features.observe import RECORDS_SHOWN
from vcgym.envs.call.paths.effects import Headroom, Protections
from vcgym.envs.call.rewards.emodel import EModel, EventDelay, Impairment, Rating
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.reward import PATHS, SENDER, Accounts, Sum, require_reward
from vcgym.envs.call.sender.no_uplink import NO_UPLINK, SenderStages
from vcgym.envs.environments.render import draw_paths
from vcgym.envs.environments.vector.actions import FORMS, action_space, decode, options_of
from vcgym.envs.environments.vector.episodes import EpisodeVectorEnv
from vcgym.envs.environments.vector.observer import Observer
from vcgym.envs.environments.vector.settings import OF_PATHS, RELATIVE, grouped
from vcgym.network.kernels.ranges import one_of, require_whole
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.packet_size import plain_bytes
from vcgym.network.playout.quality import mos, rating
from vcgym.network.scenarios.scenario import Scenario

REWARDS = MappingProxyType({"emodel": EModel(), "event": EventDelay(), "impairment": Impairment(), "rating": Rating()})


class PathsVectorEnv(EpisodeVectorEnv):
    """A batch of calls with some controls set by the agent; each environment's docstring specifies observation, action and reward.

    Attributes:
        controls: controls of the agent, with those of the uplink.
        interval: slots between its decisions; at arrivals, arrivals for which a decision holds.
        at_arrivals: True for an agent at the receiver, which decides at each arrival.
        budget: of protection, see `CallBatch`.
        frame_ms: see `CallBatch`.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        rules: for each control behind the sender the parameters of a rule; None: the agent sets it.
        interval: slots of 10 ms between decisions, >= 1; at arrivals, arrivals for which a decision holds.
        at_arrivals: True for an agent at the receiver.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar environment draws.
        max_episode_steps: decisions after which a call is truncated; None: at its end.
        split: train or validation; test is reserved for the leaderboard.
        arguments: fields of `WorldSettings`, and of the settings of `vcgym.envs.environments.vector.settings`.
    """

    reset_options: ClassVar[tuple[str, ...]] = ("pair", "stratum")
    settings: ClassVar[tuple[Any, ...]] = OF_PATHS
    batch: CallBatch
    budget: float = MAX_BUDGET
    frame_ms: int = FRAMES_MS[0]

    def __init__(
        self,
        num_envs: int,
        rules: Mapping[Control, Any],
        interval: int,
        at_arrivals: bool,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        split: str = "train",
        **arguments: Any,
    ) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 20), interval=(interval, 1, RECORDS_SHOWN // 2))
        settings, at, agent, *_ = grouped(type(self), arguments)
        one_of("action", agent.action, FORMS)
        if at_arrivals and interval > 1 and agent.observation == "records":
            raise ValueError(f"interval = {interval} with observation 'records': allowed is 1, which shows every arrival")
        self.holds = interval if at_arrivals else 1
        world = settings.scenario if isinstance(settings.scenario, Scenario) else Scenario(settings)
        world.pairs(split)  # rejects an unknown split
        self.interval, self.at_arrivals, self.split, self.agent = interval, at_arrivals, split, agent
        self.uplink = self._make_uplink(num_envs, world)
        self.controllers = {control: self._agent_of(control) if rule is None else rule for control, rule in rules.items()}
        by_control: dict[str, Any] = {str(control): controller for control, controller in self.controllers.items()}
        self.batch = CallBatch(
            world, num_envs, **vars(at), log=agent.log, threads=agent.threads, uplink=self.uplink, interval=interval, budget=self.budget,
            frame_ms=self.frame_ms, **by_control,
        )  # fmt: skip
        self.observer = Observer(self.batch, agent, at_arrivals)
        self.slots = self.observer.slots
        self._acted = options_of((*(control for control in rules if rules[control] is None), *self.uplink.controls), world.paths)
        self.controls = tuple(self._acted)
        reward = require_reward(agent.reward, REWARDS, (PATHS, SENDER) if self.uplink.part else (PATHS,))
        super().__init__(
            self.batch,
            self.observer.layout,
            agent.observation,
            action_space(agent.action, self._acted),
            reward=Sum(reward, OnTime(audio=0.0)) if self.uplink.part else reward,
            accounts=Accounts(self.batch.calls, self.uplink.senders),
            arguments=self._decisive(reward, vars(at).values()),
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
            max_episode_steps=max_episode_steps,
        )

    def _decisive(self, reward: Any, at: Iterable[Any]) -> tuple[Any, ...]:
        """Return all that affects the future of the calls."""
        agent, protected, long = self.agent, Control.PROTECTION in self.controllers, self.frame_ms != FRAMES_MS[0]
        return (
            *self.controllers.values(), *self.batch.scenario.identity, self.split, reward, agent.observation, agent.action, *at, agent.log,
            fingerprint(self.observer.added), self.interval, *self.uplink.arguments, *([self.budget] if protected else ()),
            *([self.frame_ms] if long else ()),
        )  # fmt: skip

    def _agent_of(self, control: Control) -> FromAgent:
        """Return the placeholder of the agent for a control, with the effect of its decisions."""
        effect: Any = AS_DECIDED
        if control is Control.PROTECTION:
            effect = Protections()
        elif control is Control.PLAYOUT and self.agent.action in RELATIVE:
            effect = Headroom()
        return in_place_of(control, RECEIVER if self.at_arrivals else CENTRAL, effect)

    def _make_uplink(self, sessions: int, scenario: Scenario) -> SenderStages:
        """Return the stages before the paths."""
        return NO_UPLINK

    @property
    def chosen_from(self) -> str | None:
        """Return the part of an observation whose items are the agent's choices; None if the path is no choice of its own."""
        is_joint = self.agent.action == "relative_continuous" or (self.agent.action == "relative_discrete" and len(self.controls) > 1)
        return None if is_joint or Control.PATH not in self.controls else "paths" if self.slots is None else "slots"

    def _refuse_options(self, kind: str | None = None, **options: Any) -> None:
        self.uplink.refuse(self.split, kind)
        self.batch.scenario.draw(self.split, 0, **options)

    def _reset_row(self, row: int, seed: int, kind: str | None = None, **options: Any) -> None:
        self.uplink.draw(row, self.split, seed, kind)
        self.batch.start(row, self.batch.scenario.draw(self.split, seed, **options))
        self.observer.clear(row)

    def _after_reset(self, rows: NDArray[np.int64]) -> None:
        self.observer.begin(rows)

    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        order = None if self.slots is None else self.slots.order
        decided = decode(self.agent.action, self._acted, actions, order)
        self.batch.answer(decided)
        self.uplink.answer(decided, self.agent.action != "exact")

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        self.observer.write(rows, shown)

    def _repeat_action(self, rows: NDArray[np.int64]) -> None:
        self.observer.write(rows, self._shown)  # every arrival counts in the features

    def _worlds(self) -> dict[str, NDArray[Any]]:
        """Return pair and stratum and, with an uplink, the kind of its world."""
        draws = [(draw.pair, draw.stratum) if draw else ("", "") for draw in self.batch.draws]  # not started yet: a masked reset
        pairs, strata = np.array(draws).T
        kinds = np.array([self.uplink.kind(row) for row in range(self.num_envs)])
        return {"pair": pairs, "stratum": strata, **({"kind": kinds} if self.uplink.part else {})}

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """Return R, MOS, mean mouth-to-ear delay and concealed share of the calls, in addition to their worlds."""
        counters = self.batch.calls["counters"]
        ticks = np.maximum(counters["ticks_played"] + counters["ticks_stretched"] + counters["ticks_concealed"], 1)
        offset_ms, concealed = counters["offset_us_sum"] / ticks / 1000.0, counters["ticks_concealed"] / ticks
        r = rating(offset_ms, concealed)
        return {
            "rating": r, "mos": mos(r), "mouth_to_ear_ms": offset_ms, "concealed_share": concealed,
            **self._worlds(), **self.uplink.outcomes(), **self._spent(),
        }  # fmt: skip

    def _spent(self) -> dict[str, NDArray[Any]]:
        """Return the bytes of protection as a share of those without it, in calls with protection."""
        protecting = self.batch.protecting
        if protecting is None:
            return {}
        plain = plain_bytes(self.batch.packet_us) * (self.batch.packets * SLOT_US // self.batch.packet_us)
        return {"protection_share": protecting.rows["counts"]["extra_bytes"] / plain}

    def draw(self, axes: Any, row: int) -> None:
        draw_paths(axes, self.batch, row)

    def played(self) -> Played:
        """Return the current state of every call packet by packet; needs ``log=True``."""
        return self.batch.played()
