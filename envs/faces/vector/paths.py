"""The native vector environment of calls over paths, perhaps behind an uplink; Relay, Playout and Call are made of it."""

from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.baselines.rule import for_kernels, start
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.bounds import require_in_bounds
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
from vcgym.network.worlds.world import HISTORY_BLOCKS, WorldDraw

REWARDS = MappingProxyType({"emodel": EModel(), "event": EventDelay(), "impairment": Impairment(), "rating": Rating()})
MAX_DELAY_MS = SLOTS * SLOT_US / 1000.0  # what the calendar of packets in flight holds


class Controls(NamedTuple):
    """Controls behind the sender that the agent sets, and where it decides. The uplink knows its own."""

    path: bool
    lag: bool
    at_arrivals: bool
    interval: int = 1  # packets from decision to decision; without effect at arrivals


class PathsVectorEnv(EpisodeVectorEnv):
    """A batch of calls, some controls of which the agent sets; each environment's docstring specifies observation, action and reward.

    Args:
        num_envs: how many calls are played side by side, >= 1.
        controls: what the agent sets.
        router: controller of the path: `vcgym.envs.call.controllers.Agent`, or parameters of a rule.
        receiver: controller of the lag: one of `vcgym.envs.call.controllers`, or parameters of a rule.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar face draws.
        max_episode_steps: decisions after which a call is cut off; None: it is played to its end.
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
        settings, at, agent = grouped(self.settings, arguments)
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
        # The data included.
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
        """Return the stages that packets pass before they go onto a path."""
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
        """Return the part of an observation whose items the agent chooses among; None if a rule chooses the path."""
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
            raise OverflowError(f"more than {RECORDS_SHOWN} records have come since the last decision: use a smaller interval")
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
        """Return pair and stratum, and behind an uplink the kind of its world."""
        draws = [(draw.pair, draw.stratum) if draw else ("", "") for draw in self.batch.draws]  # not yet begun: a masked reset
        pairs, strata = np.array(draws).T
        kinds = np.array([self.uplink.kind(row) for row in range(self.num_envs)])
        return {"pair": pairs, "stratum": strata, **({"kind": kinds} if self.uplink.part else {})}

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """Return R, MOS, mean mouth-to-ear delay and concealed share of the calls, beside their worlds."""
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
        """Return every call packet by packet, as it stands; needs ``log=True``."""
        return self.batch.played()

    def _living(self) -> dict[str, Any]:
        batch = self.batch
        return {
            "calls": batch.calls, "tables": batch.tables, "router": batch.router_state, "receiver": batch.receiver_state,
            "history": batch.history, "features": self._features, "world": batch.world.rows, "delay_us": batch.world.delay_us,
            **self.uplink.living(), **({} if self.slots is None else {"slots": self.slots}),
        }  # fmt: skip

    def _refuse_state(self, arrays: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        windows, probes = batch.tables.windows.shape[1], batch.tables.probe_path.size
        require_in_bounds(arrays["calls"], arrays["tables.answers"], batch.packets, batch.scenario.paths, windows, probes)
        if self.slots is not None and not np.isin(arrays["slots.order"], np.arange(batch.scenario.paths)).all():
            raise ValueError(f"state holds slots of paths that are not there; allowed: 0 to {batch.scenario.paths - 1}")
        for name in ("interval", "feedback_loss"):
            if (arrays["calls"][name] != batch.calls[name]).any():
                raise ValueError(f"state of another env: {name} is {arrays['calls'][name][0]}; allowed: {batch.calls[name][0]}")

    def _world_names(self) -> list[str]:
        """Return the name of each sampled world; its parameters are stored in the world's rows."""
        kinds = map(self.uplink.kind, range(self.num_envs))
        return [
            f"{draw.pair}\t{draw.stratum}\t{draw.seed}\t{kind}" if draw else "" for draw, kind in zip(self.batch.draws, kinds, strict=True)
        ]

    def _take_world_names(self, names: list[str]) -> None:
        named = [name.split("\t") if name else None for name in names]
        self.batch.draws = [WorldDraw(parts[0], parts[1], int(parts[2]), {}) if parts else None for parts in named]
        for row, parts in enumerate(named):
            self.uplink.take_kind(row, parts[3] if parts else "")


def _added_features(agent: CallAgentSettings, controls: Controls) -> Added | NoFeatures:
    """Return the features that are added, the forecast of a predictor first.

    Raises:
        ValueError: features that do not fit the observation.
    """
    predictor, features = agent.predictor, agent.features or ()
    if predictor is not None and (controls.at_arrivals or agent.observation == "records"):
        kind = type(predictor).__name__
        raise ValueError(f"predictor is a {kind}: allowed is None, but for the features of an agent that sets the path")
    added = chain([*([] if predictor is None else [forecast_by(predictor)]), *features])
    if controls.at_arrivals and features_of(added, OF_PATHS):
        raise ValueError(f"features = {features!r}: allowed are features of the call for an agent at the receiver")
    return added
