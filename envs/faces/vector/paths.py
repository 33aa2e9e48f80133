"""The native vector environment of calls over paths, with or without an uplink; base of Relay, Playout and Call."""

from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.baselines.rule import for_kernels, start
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.features.added import CALL, Added, NoFeatures, chain, features_of, fingerprint
from vcgym.envs.call.features.added import PATHS as OF_PATHS
from vcgym.envs.call.features.forecast import forecast_by
from vcgym.envs.call.features.observe import allocate_features, call_layout, clear_features, observe_arrival, observe_feed
from vcgym.envs.call.features.records import RECORDS_SHOWN, show_arrival, show_feed
from vcgym.envs.call.features.relative import allocate_slots, fill_slots, relative_layout
from vcgym.envs.call.headroom import in_headroom
from vcgym.envs.call.rewards.emodel import EModel, Impairment
from vcgym.envs.call.rewards.event_delay import EventDelay
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.rating import Rating
from vcgym.envs.call.rewards.reward import PATHS, SENDER, Accounts, Sum, require_reward
from vcgym.envs.call.sender.no_uplink import NO_UPLINK, SenderStages
from vcgym.envs.faces.render import draw_paths
from vcgym.envs.faces.vector.actions import FORMS, action_space, decode
from vcgym.envs.faces.vector.checks import require_whole
from vcgym.envs.faces.vector.episodes import EpisodeVectorEnv
from vcgym.envs.faces.vector.settings import CallAgentSettings, LocationSettings, WorldSettings, grouped
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.playout.quality import mos, rating
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import HISTORY_BLOCKS

REWARDS = MappingProxyType({"emodel": EModel(), "event": EventDelay(), "impairment": Impairment(), "rating": Rating()})
MAX_DELAY_MS = SLOTS * SLOT_US / 1000.0  # limit of the calendar of packets in flight


class Controls(NamedTuple):
    """Controls behind the sender that the agent sets, and its decision points. The uplink has its own."""

    path: bool
    lag: bool
    at_arrivals: bool
    interval: int = 1  # packets between decisions; ignored at arrivals


class PathsVectorEnv(EpisodeVectorEnv):
    """A batch of calls with some controls set by the agent; each environment's docstring specifies observation, action and reward.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        controls: controls of the agent.
        router: controller of the path: `vcgym.envs.call.controllers.Agent`, or parameters of a rule.
        receiver: controller of the lag: one of `vcgym.envs.call.controllers`, or parameters of a rule.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar face draws.
        max_episode_steps: decisions after which a call is truncated; None: at its end.
        arguments: fields of the settings of `vcgym.envs.faces.vector.settings`.
    """

    reset_options: ClassVar[tuple[str, ...]] = ("pair", "stratum")
    settings = (WorldSettings, LocationSettings, CallAgentSettings)
    batch: CallBatch

    def __init__(
        self,
        num_envs: int,
        controls: Controls,
        router: NamedTuple,
        receiver: NamedTuple,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        max_episode_steps: int | None = None,
        **arguments: Any,
    ) -> None:
        require_whole(num_envs=(num_envs, 1, 1 << 20), interval=(controls.interval, 1, RECORDS_SHOWN // 2))
        settings, at, agent = grouped(type(self), arguments)
        one_of("action", agent.action, FORMS)
        world = settings.make()
        added = _added_features(agent, controls)
        self.controls, self.split, self.action_form = controls, settings.split, agent.action
        self.uplink = self._make_uplink(num_envs, world)
        location = at.location, at.feedback_loss, at.probe_rate
        if agent.action == "relative":
            receiver = in_headroom(receiver)
        self.batch = CallBatch(
            world, num_envs, router, receiver, *location, agent.log, agent.threads, uplink=self.uplink, interval=controls.interval
        )  # fmt: skip
        self._no_paths = np.zeros((num_envs, 0, 0), np.float32)
        self._features = allocate_features(num_envs, world.paths, added)
        chosen = require_reward(agent.reward, REWARDS, (PATHS, SENDER) if self.uplink.part else (PATHS,))
        # Includes the data.
        decisive = (
            router, receiver, world.name, world.mode, settings.split, world.packets, chosen, agent.observation, agent.action, *location,
            settings.burst, float(settings.tau_ms), agent.log, world.layout.card, fingerprint(added), controls.interval,
            *self.uplink.arguments,
        )  # fmt: skip
        self._acted = controls.path, controls.lag, self.uplink.sets_rate, self.uplink.orders
        path_names = () if controls.at_arrivals else world.layout.path_names
        shown = {"of_path": features_of(added, OF_PATHS), "of_call": features_of(added, CALL)}
        self._added = for_kernels(added)
        layout = call_layout(path_names, *([self.uplink.part] if self.uplink.part else []), **shown)
        self.slots = allocate_slots(num_envs, layout) if agent.action == "relative" else None
        layout = layout if self.slots is None else relative_layout(layout)
        acted = action_space(agent.action, world.paths, *self._acted)
        reward = Sum(chosen, OnTime(audio=0.0)) if self.uplink.part else chosen
        accounts = Accounts(self.batch.calls, self.uplink.senders)
        observed = layout, agent.observation, self._records(world.paths)
        super().__init__(self.batch, *observed, acted, reward, accounts, decisive, autoreset_mode, render_mode, max_episode_steps)

    def _make_uplink(self, sessions: int, scenario: Scenario) -> SenderStages:
        """Return the stages before the paths."""
        return NO_UPLINK

    def _records(self, paths: int) -> dict[str, spaces.Space[Any]]:
        highest = np.iinfo(np.int64).max
        history = np.tile([HISTORY_BLOCKS * BLOCK_SLOTS, MAX_DELAY_MS, MAX_DELAY_MS], (paths, 1)).astype(np.float64)
        return {
            "count": spaces.Box(0, RECORDS_SHOWN, (), np.int64),
            "history": spaces.Box(np.zeros_like(history), history, dtype=np.float64),
            "key": spaces.Box(0, np.iinfo(np.uint64).max, (), np.uint64),
            "records": spaces.Box(-1, highest, (RECORDS_SHOWN, 8), np.int64),
            "slot": spaces.Box(0, highest, (), np.int64),
            **self.uplink.records(),
        }

    @property
    def chosen_from(self) -> str | None:
        """Return the part of an observation whose items are the agent's choices; None if a rule chooses the path."""
        return ("paths" if self.slots is None else "slots") if self.controls.path else None

    def _refuse_options(self, kind: str | None = None, **options: Any) -> None:
        self.uplink.refuse(self.split, kind)
        self.batch.scenario.draw(self.split, 0, **options)

    def _start(self, row: int, seed: int, kind: str | None = None, **options: Any) -> None:
        self.uplink.draw(row, self.split, seed, kind)
        self.batch.start(row, self.batch.scenario.draw(self.split, seed, **options))
        clear_features(self._features, row, self.batch.history)

    def _begun(self, rows: NDArray[np.int64]) -> None:
        if not isinstance(self._added, NoFeatures):
            begun = np.isin(np.arange(self.num_envs), rows)
            start(self._added, self._features.added, begun, self.batch.history, np.zeros(self.num_envs, np.uint64))

    def _answer(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        order = None if self.slots is None else self.slots.order
        answer = decode(self.action_form, self.batch.scenario.paths, actions, *self._acted, order)
        self.batch.tables.answers["path"], self.batch.tables.answers["level_us"] = answer.path, answer.lag_us
        self.uplink.answer(answer.rate, self.action_form != "exact", answer.order)

    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        if self.observation_kind != "records":
            self._write_features(rows, shown)
            return
        shown["history"][rows] = batch.history[rows]
        shown["slot"][rows] = batch.calls["slot"][rows]
        shown["key"][rows] = [batch.key(row, "receiver" if self.controls.at_arrivals else "router") for row in rows]
        shown["records"][rows] = 0
        if self.controls.at_arrivals:
            show_arrival(batch.calls, rows, batch.receiver, shown["records"], shown["count"])
        elif not show_feed(batch.calls, rows, shown["records"], shown["count"]):
            raise OverflowError(f"more than {RECORDS_SHOWN} records have arrived since the last decision: use a smaller interval")
        self.uplink.show(batch.calls, rows, shown)

    def _write_features(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch, slots = self.batch, self.slots
        paths, call = shown.get("paths" if slots is None else "slots", self._no_paths), shown["call"]
        of_paths, of_call = (paths, call) if slots is None else (slots.paths, slots.call)
        if self.controls.at_arrivals:
            observe_arrival(batch.calls, rows, self._features, batch.receiver, self._added, of_paths, of_call)
        else:
            observe_feed(batch.calls, rows, self._features, batch.history, self._added, of_paths, of_call)
        if slots is not None:
            fill_slots(rows, slots, paths, call)
        if self.uplink.part:
            self.uplink.observe(batch.calls, rows, shown["sender"])

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
            **self._worlds(), **self.uplink.outcomes(),
        }  # fmt: skip

    def draw(self, axes: Any, row: int) -> None:
        """Draw the call so far, see `vcgym.envs.faces.render.draw_paths`."""
        draw_paths(axes, self.batch, row)

    def played(self) -> Played:
        """Return the current state of every call packet by packet; needs ``log=True``."""
        return self.batch.played()


def _added_features(agent: CallAgentSettings, controls: Controls) -> Added | NoFeatures:
    """Return the added features, the forecast of a predictor first.

    Raises:
        ValueError: features do not fit the observation.
    """
    predictor, features = agent.predictor, agent.features or ()
    if predictor is not None and (controls.at_arrivals or agent.observation == "records"):
        kind = type(predictor).__name__
        raise ValueError(f"predictor is a {kind}: allowed is None unless the agent sets the path and observes features")
    added = chain([*([] if predictor is None else [forecast_by(predictor)]), *features])
    if controls.at_arrivals and features_of(added, OF_PATHS):
        raise ValueError(f"features = {features!r}: allowed are features of the call for an agent at the receiver")
    return added
