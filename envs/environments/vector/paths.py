"""The native vector environment of calls over paths, with or without an uplink; base of Relay, Playout and Call."""

from collections.abc import Iterable, Iterator, Mapping
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
from vcgym.envs.call.kinds import CallsOfKinds
from vcgym.envs.call.paths.effects import Headroom, Protections
from vcgym.envs.call.rewards.emodel import EModel, EventDelay, Impairment, Rating
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.reward import PATHS, SENDER, Accounts, Sum, require_reward
from vcgym.envs.call.sender.no_uplink import NO_UPLINK, SenderStages
from vcgym.envs.environments.render import draw_paths
from vcgym.envs.environments.vector.actions import FORMS, action_space, decode, options_of
from vcgym.envs.environments.vector.branches import BranchVectorEnv
from vcgym.envs.environments.vector.observer import Observer
from vcgym.envs.environments.vector.settings import OF_PATHS, RELATIVE, grouped
from vcgym.network.kernels.ranges import one_of, require_whole
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.playout.packet_size import plain_bytes
from vcgym.network.playout.quality import mos, rating
from vcgym.network.scenarios.scenario import Scenario, scenarios_of

REWARDS = MappingProxyType({"emodel": EModel(), "event": EventDelay(), "impairment": Impairment(), "rating": Rating()})


class PathsVectorEnv(BranchVectorEnv):
    """A batch of calls with some controls set by the agent; each environment's docstring specifies observation, action and reward.

    Each kind of worlds, named in `kinds`, has a batch of calls and an observer, in `batches` and `observers`; a single one is `batch` too.

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
        worlds: number of worlds of split train that are played, see `EpisodeVectorEnv`; None: all.
        arguments: fields of `WorldSettings`, and of the settings of `vcgym.envs.environments.vector.settings`.
    """

    reset_options: ClassVar[tuple[str, ...]] = ("pair", "stratum", "kind")
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
        worlds: int | None = None,
        **arguments: Any,
    ) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 20), interval=(interval, 1, RECORDS_SHOWN // 2))
        settings, at, agent, *_ = grouped(type(self), arguments)
        one_of("action", agent.action, FORMS)
        if at_arrivals and interval > 1 and agent.observation == "records":
            raise ValueError(f"interval = {interval} with observation 'records': allowed is 1, which shows every arrival")
        self.holds = interval if at_arrivals else 1
        scenarios = scenarios_of(settings)
        for scenario in scenarios:
            scenario.pairs(split)  # rejects an unknown split
        self.kinds = tuple(f"{scenario.name} {scenario.mode}" for scenario in scenarios)
        self.interval, self.at_arrivals, self.split, self.agent = interval, at_arrivals, split, agent
        self.uplink = self._make_uplink(num_envs, scenarios[0])
        self.controllers = {control: self._agent_of(control) if rule is None else rule for control, rule in rules.items()}
        by_control: dict[str, Any] = {str(control): controller for control, controller in self.controllers.items()}
        self.batches = [
            CallBatch(
                scenario, num_envs, **vars(at), log=agent.log, threads=agent.threads, uplink=self.uplink, interval=interval,
                budget=self.budget, frame_ms=self.frame_ms, **by_control,
            )
            for scenario in scenarios
        ]  # fmt: skip
        self.observers = [Observer(batch, agent, at_arrivals) for batch in self.batches]
        self.observer = self.observers[0]
        self.slots = self.observer.slots
        set_by_agent = (*(control for control in rules if rules[control] is None), *self.uplink.controls)
        self._acted = options_of(set_by_agent, scenarios[0].paths)
        self.controls = tuple(self._acted)
        self._of_kinds = CallsOfKinds(self.batches) if len(scenarios) > 1 else None
        if self._of_kinds is not None:
            self._require_alike(set_by_agent)
        reward = require_reward(agent.reward, REWARDS, (PATHS, SENDER) if self.uplink.part else (PATHS,))
        super().__init__(
            self._of_kinds or self.batches[0],
            self.observer.layout,
            agent.observation,
            action_space(agent.action, self._acted),
            reward=Sum(reward, OnTime(audio=0.0)) if self.uplink.part else reward,
            accounts=Accounts(self.batches[0].calls, self.uplink.senders),
            arguments=self._decisive(reward, vars(at).values()),
            autoreset_mode=autoreset_mode,
            render_mode=render_mode,
            max_episode_steps=max_episode_steps,
            worlds=worlds if split == "train" else None,
        )

    def _require_alike(self, controls: Iterable[Control]) -> None:
        """Reject kinds of worlds that an agent cannot play alike, because their numbers of paths show in observations or actions."""
        paths, form = [batch.scenario.paths for batch in self.batches], self.agent.action
        spaces = [action_space(form, options_of(controls, count)) for count in paths]
        shapes = [{name: part.shape for name, part in observer.layout.parts.items()} for observer in self.observers]
        if any(space != spaces[0] for space in spaces) or any(shape != shapes[0] for shape in shapes):
            counts = ", ".join(f"{kind} {count}" for kind, count in zip(self.kinds, paths, strict=True))
            raise ValueError(f"action = {form!r} with numbers of paths {counts}: allowed are {', '.join(RELATIVE)}, and two paths or more")
        if self.agent.log:
            raise ValueError(f"log = True with {len(paths)} kinds of worlds: allowed is one")

    def _parts(self, rows: NDArray[np.int64]) -> Iterator[tuple[CallBatch, Observer, NDArray[np.int64]]]:
        """Yield batch and observer of each kind that some of `rows` play, and these rows."""
        for number, mine in ((0, rows),) if self._of_kinds is None else self._of_kinds.numbered(rows):
            yield self.batches[number], self.observers[number], mine

    def _kind_of(self, row: int) -> int:
        """Return the number of the kind that a session plays."""
        return 0 if self._of_kinds is None else int(self._of_kinds.kind[row])

    def _decisive(self, reward: Any, at: Iterable[Any]) -> tuple[Any, ...]:
        """Return all that affects the future of the calls."""
        agent, protected, long = self.agent, Control.PROTECTION in self.controllers, self.frame_ms != FRAMES_MS[0]
        worlds = (one for batch in self.batches for one in batch.scenario.identity)
        return (
            *self.controllers.values(), *worlds, self.split, reward, agent.observation, agent.action, *at, agent.log,
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
        if self._of_kinds is None:
            self.uplink.refuse(self.split, kind)
        elif kind is not None:
            one_of("kind", kind, self.kinds)
        elif options:
            raise ValueError(f"options of reset {', '.join(options)} with {len(self.kinds)} kinds of worlds: allowed with a kind")
        chosen = self.kinds.index(kind) if kind in self.kinds else 0
        self.batches[chosen].scenario.draw(self.split, 0, **options)

    def _reset_row(self, row: int, seed: int, kind: str | None = None, **options: Any) -> None:
        if self._of_kinds is None:
            self.uplink.draw(row, self.split, seed, kind)
        else:
            self._of_kinds.kind[row] = seed % len(self.kinds) if kind is None else self.kinds.index(kind)
        number = self._kind_of(row)
        self.batches[number].start(row, self.batches[number].scenario.draw(self.split, seed, **options))
        self.observers[number].clear(row)

    def _after_reset(self, rows: NDArray[np.int64]) -> None:
        for _, observer, mine in self._parts(rows):
            observer.begin(mine)

    def apply_actions(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        for batch, observer, _ in self._parts(rows):
            order = None if observer.slots is None else observer.slots.order
            decided = decode(self.agent.action, self._acted, actions, order)
            batch.answer(decided)
            self.uplink.answer(decided, self.agent.action != "exact")

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        for _, observer, mine in self._parts(rows):
            observer.write(mine, shown)

    def _repeat_action(self, rows: NDArray[np.int64]) -> None:
        self._write_observations(rows, self._shown)  # every arrival counts in the features

    def _worlds(self) -> dict[str, NDArray[Any]]:
        """Return pair and stratum, and with several kinds or an uplink the kind of a world."""
        numbers = [self._kind_of(row) for row in range(self.num_envs)]
        draws = [self.batches[number].draws[row] for row, number in enumerate(numbers)]
        pairs, strata = np.array([(draw.pair, draw.stratum) if draw else ("", "") for draw in draws]).T  # none before a masked reset
        if self._of_kinds is not None:
            return {"pair": pairs, "stratum": strata, "kind": np.array(self.kinds)[numbers]}
        kinds = np.array([self.uplink.kind(row) for row in range(self.num_envs)])
        return {"pair": pairs, "stratum": strata, **({"kind": kinds} if self.uplink.part else {})}

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """Return R, MOS, mean mouth-to-ear delay and concealed share of the calls, in addition to their worlds."""
        counters = self.batches[0].calls["counters"]
        ticks = np.maximum(counters["ticks_played"] + counters["ticks_stretched"] + counters["ticks_concealed"], 1)
        offset_ms, concealed = counters["offset_us_sum"] / ticks / 1000.0, counters["ticks_concealed"] / ticks
        r = rating(offset_ms, concealed)
        return {
            "rating": r, "mos": mos(r), "mouth_to_ear_ms": offset_ms, "concealed_share": concealed,
            **self._worlds(), **self.uplink.outcomes(), **self._spent(),
        }  # fmt: skip

    def _spent(self) -> dict[str, NDArray[Any]]:
        """Return the bytes of protection so far as a share of those of a whole call without it, in calls with protection."""
        if self.batches[0].protecting is None:
            return {}
        batch, share = self.batches[0], np.zeros(self.num_envs)
        plain = plain_bytes(batch.packet_us) * (batch.packets * SLOT_US // batch.packet_us)
        for one, _, mine in self._parts(np.arange(self.num_envs)):
            assert one.protecting is not None
            share[mine] = one.protecting.rows["counts"]["extra_bytes"][mine] / plain
        return {"protection_share": share}

    def _paid(self) -> dict[str, NDArray[np.float64]]:
        return {"cost": self._spent()["protection_share"]} if Control.PROTECTION in self.controls else {}

    def draw(self, axes: Any, row: int) -> None:
        draw_paths(axes, self.batches[self._kind_of(row)], row)

    def played(self) -> Played:
        """Return the current state of every call packet by packet; needs ``log=True``."""
        return self.batch.played()
