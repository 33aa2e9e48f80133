"""The native vector environment of calls over paths, perhaps behind an uplink. The scalar face and three ids stand over it."""

from collections.abc import Sequence
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.baselines.rule import for_kernels, start
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.features.added import CALL, NoFeatures, chain, features_of, fingerprint
from vcgym.envs.call.features.added import PATHS as OF_PATHS
from vcgym.envs.call.features.forecast import forecast_by
from vcgym.envs.call.features.observe import allocate_features, call_layout, clear_features, observe_arrival, observe_feed
from vcgym.envs.call.features.records import RECORDS_SHOWN, show_arrival, show_feed
from vcgym.envs.call.rewards.emodel import EModel
from vcgym.envs.call.rewards.event_delay import EventDelay
from vcgym.envs.call.rewards.on_time import OnTime
from vcgym.envs.call.rewards.reward import PATHS, SENDER, Accounts, Sum, require_reward
from vcgym.envs.call.sender.no_uplink import NO_UPLINK, NoUplink
from vcgym.envs.call.stages import DONE
from vcgym.envs.faces.actions import FORMS, action_space, decode
from vcgym.envs.faces.episodes import OBSERVATIONS, EpisodeVectorEnv, require_whole
from vcgym.envs.faces.render import picture
from vcgym.network.kernels.ranges import one_of
from vcgym.network.kernels.slots import BLOCK_SLOTS, SLOT_US
from vcgym.network.playout.in_flight import SLOTS
from vcgym.network.playout.quality import mos, rating
from vcgym.network.scenarios.scenario import TAU_MS, RecipeMaker, Scenario
from vcgym.network.worlds.world import HISTORY_BLOCKS, WorldDraw

REWARDS = MappingProxyType({"emodel": EModel(), "event": EventDelay()})
LONGEST_DELAY_MS = SLOTS * SLOT_US / 1000.0  # what the calendar of packets in flight holds


class Held(NamedTuple):
    """Controls of the paths that are the agent's, and where it decides. The uplink knows its own."""

    path: bool
    level: bool
    at_arrivals: bool
    interval: int = 1  # packets from decision to decision; without effect at arrivals


class LeverVectorEnv(EpisodeVectorEnv):
    """A batch of calls whose controls `held` are the agent's; each environment's docstring specifies observation, action and reward.

    Args:
        num_envs: how many calls are played side by side, >= 1.
        held: which levers the agent holds.
        router: who holds the path: `vcgym.envs.call.controllers.Agent`, or parameters of a rule.
        receiver: who holds the level: a holder of `vcgym.envs.call.controllers`, or parameters of a rule.
        scenario: name, see `vcgym.network.scenarios.scenario`; a class of `Recipe` from anywhere; or a `Scenario`, whose settings hold.
        mode: how its statistics become packets: correlated, paper or replay.
        split: train or validation; test is the leaderboard's.
        packets: length of a call, 1 to 1,000,000.
        reward: emodel, event, or parameters of a reward (`vcgym.envs.call.rewards.reward`).
        observation: features (a flat Box), dict (its parts) or records.
        action: discrete, continuous or exact.
        features: added to those of each path or of the call: objects of `vcgym.envs.call.features.added`, or names of plug-ins.
        predictor: adds predicted_e2e to the features of each path (Relay, Call): None, shipped, or parameters of `vcgym.predictors`.
        place: of the router's lever: sender, central or receiver.
        feedback_loss: share of feedback that is lost, 0 <= share < 1.
        probe_rate: probes per second on each idle path, >= 0.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        burst: of mode paper: which measured burst its draws are fitted to, worst or median.
        tau_ms: of mode correlated: correlation time of queueing, 0 to 60,000.
        traces: of scenario replay: a folder or files of traces.
        threads: how many threads share the sessions; without effect on the result.
        log: keep per-packet outcomes, for `played`.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar face draws.
    """

    reset_options: ClassVar[tuple[str, ...]] = ("pair", "stratum")

    def __init__(
        self,
        num_envs: int,
        held: Held,
        router: NamedTuple,
        receiver: NamedTuple,
        scenario: str | RecipeMaker | Scenario = "wonderproxy",
        mode: str = "correlated",
        split: str = "train",
        packets: int = 6000,
        reward: Any = "emodel",
        observation: str = "features",
        action: str = "discrete",
        features: Sequence[Any] = (),
        predictor: Any = None,
        place: str = "central",
        feedback_loss: float = 0.0,
        probe_rate: float = 1.0,
        data: str | None = None,
        burst: str = "worst",
        tau_ms: float = TAU_MS,
        traces: str | Sequence[str] | None = None,
        threads: int = 1,
        log: bool = False,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        require_whole(
            num_envs=(num_envs, 1, 1 << 20),
            interval=(held.interval, 1, RECORDS_SHOWN // 2),
            packets=(packets, 1, 1_000_000),
            threads=(threads, 1, 256),
        )
        for name, value, bound in (("feedback_loss", feedback_loss, "0 <= share < 1"), ("probe_rate", probe_rate, "0 to 100")):
            if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
                raise ValueError(f"{name} = {value!r}: allowed are numbers, {bound}")
        for name, chosen, allowed in (("observation", observation, OBSERVATIONS), ("action", action, FORMS)):
            one_of(name, chosen, allowed)
        if render_mode is not None:
            raise ValueError(f"render_mode = {render_mode!r}: allowed is None")
        world = scenario if isinstance(scenario, Scenario) else Scenario(scenario, mode, packets, data, burst, tau_ms, traces)
        world.pairs(split)  # refuses an unknown split
        if predictor is not None and (held.at_arrivals or observation == "records"):
            kind = type(predictor).__name__
            raise ValueError(f"predictor is a {kind}: allowed is None, but for the features of an agent that holds the path")
        self._added = chain([*([] if predictor is None else [forecast_by(predictor)]), *features])
        if held.at_arrivals and features_of(self._added, OF_PATHS):
            raise ValueError(f"features = {features!r}: allowed are features of the call for an agent at the receiver")
        self.held, self.split = held, split
        self.action_form = action
        self.uplink = self._make_uplink(num_envs, world)
        self.batch = CallBatch(
            world, num_envs, router, receiver, place, feedback_loss, probe_rate, log, threads, uplink=self.uplink, interval=held.interval
        )
        self._no_paths = np.zeros((num_envs, 0, 0), np.float32)
        self._features = allocate_features(num_envs, world.paths, self._added)
        chosen = require_reward(reward, REWARDS, (PATHS, SENDER) if self.uplink.part else (PATHS,))
        # The data included.
        arguments = (
            router, receiver, world.name, world.mode, split, world.packets, chosen, observation, action, place, feedback_loss, probe_rate,
            burst, float(tau_ms), log, world.layout.card, fingerprint(self._added), held.interval, *self.uplink.arguments,
        )  # fmt: skip
        self._levers = held.path, held.level, self.uplink.rate_held, self.uplink.orders_held
        path_names = () if held.at_arrivals else world.layout.path_names
        added = {"of_path": features_of(self._added, OF_PATHS), "of_call": features_of(self._added, CALL)}
        self._added = for_kernels(self._added)
        layout = call_layout(path_names, *([self.uplink.part] if self.uplink.part else []), **added)
        acted = action_space(action, world.paths, *self._levers)
        rewarded = Sum(chosen, OnTime(audio=0.0)) if self.uplink.part else chosen, Accounts(self.batch.calls, self.uplink.senders)
        shown = layout, observation, self._records(world.paths)
        super().__init__(num_envs, *shown, acted, *rewarded, arguments, autoreset_mode, self.batch.shares)

    def _make_uplink(self, sessions: int, scenario: Scenario) -> NoUplink:
        """Return the stages that packets pass before they go onto a path."""
        return NO_UPLINK

    def _records(self, paths: int) -> dict[str, spaces.Space[Any]]:
        most = np.iinfo(np.int64).max
        history = np.tile([HISTORY_BLOCKS * BLOCK_SLOTS, LONGEST_DELAY_MS, LONGEST_DELAY_MS], (paths, 1)).astype(np.float64)
        return {
            "count": spaces.Box(0, RECORDS_SHOWN, (), np.int64),
            "history": spaces.Box(np.zeros_like(history), history, dtype=np.float64),
            "key": spaces.Box(0, np.iinfo(np.uint64).max, (), np.uint64),
            "records": spaces.Box(-1, most, (RECORDS_SHOWN, 8), np.int64),
            "slot": spaces.Box(0, most, (), np.int64),
            **self.uplink.records(),
        }

    @property
    def chosen_from(self) -> str | None:
        """Return the part of an observation whose items the agent chooses among; None if a rule chooses the path."""
        return "paths" if self.held.path else None

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

    def _advance(self, rows: NDArray[np.int64]) -> None:
        self.batch.advance(rows)

    def _done(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        done: NDArray[np.bool_] = self.batch.why[rows] == DONE
        return done

    def _answer(self, actions: NDArray[Any], rows: NDArray[np.int64]) -> None:
        decided = decode(self.action_form, self.batch.scenario.paths, actions, *self._levers)
        self.batch.tables.answers["path"], self.batch.tables.answers["level_us"] = decided.path, decided.level_us
        self.uplink.answer(decided.rate, self.action_form != "exact", decided.order)


    def _write_observations(self, rows: NDArray[np.int64], shown: dict[str, NDArray[Any]]) -> None:
        batch = self.batch
        if self.observation_kind != "records":
            if self.held.at_arrivals:
                observe_arrival(batch.calls, rows, self._features, batch.receiver, self._added, self._no_paths, shown["call"])
                return
            observe_feed(batch.calls, rows, self._features, batch.history, self._added, shown["paths"], shown["call"])
            if self.uplink.part:
                self.uplink.observe(batch.calls, rows, shown["sender"])
            return
        shown["history"][rows] = batch.history[rows]
        shown["slot"][rows] = batch.calls["slot"][rows]
        shown["key"][rows] = [batch.key(row, "receiver" if self.held.at_arrivals else "router") for row in rows]
        shown["records"][rows] = 0
        if self.held.at_arrivals:
            show_arrival(batch.calls, rows, batch.receiver, shown["records"], shown["count"])
        elif not show_feed(batch.calls, rows, shown["records"], shown["count"]):
            raise OverflowError(f"more than {RECORDS_SHOWN} records have come since the last decision: use a smaller interval")
        self.uplink.show(batch.calls, rows, shown)

    def _outcomes(self) -> dict[str, NDArray[Any]]:
        """R, MOS, mean mouth-to-ear delay, concealed share, pair, stratum."""
        counters = self.batch.calls["counters"]
        ticks = np.maximum(counters["ticks_played"] + counters["ticks_stretched"] + counters["ticks_concealed"], 1)
        offset_ms, concealed = counters["offset_us_sum"] / ticks / 1000.0, counters["ticks_concealed"] / ticks
        r = rating(offset_ms, concealed)
        draws = [draw for draw in self.batch.draws if draw is not None]  # who is stepped has been reset
        return {
            "r": r, "mos": mos(r), "mouth_to_ear_ms": offset_ms, "concealed_share": concealed,
            "pair": np.array([draw.pair for draw in draws]), "stratum": np.array([draw.stratum for draw in draws]),
            **self.uplink.outcomes(),
        }  # fmt: skip

    def picture(self, row: int) -> NDArray[np.uint8]:
        """Draw the call so far, see `vcgym.envs.faces.render.picture`."""
        return picture(self.batch, row)

    def played(self) -> Played:
        """Every call packet by packet, as it stands; needs ``log=True``."""
        return self.batch.played()

    def _living(self) -> dict[str, Any]:
        batch = self.batch
        return {
            "calls": batch.calls, "tables": batch.tables, "router": batch.router_state, "receiver": batch.receiver_state,
            "history": batch.history, "features": self._features, "world": batch.world.rows, "delay_us": batch.world.delay_us,
            **self.uplink.living(),
        }  # fmt: skip

    def _world_names(self) -> list[str]:
        """Return the name of each sampled world; its parameters are stored in the world's rows."""
        kinds = map(self.uplink.kind, range(self.num_envs))
        return [
            f"{draw.pair}\t{draw.stratum}\t{draw.seed}\t{kind}" if draw else "" for draw, kind in zip(self.batch.draws, kinds, strict=True)
        ]

    def _take_world_names(self, names: list[str]) -> None:
        named = [name.split("\t") if name else None for name in names]
        self.batch.draws = [WorldDraw(of[0], of[1], int(of[2]), {}) if of else None for of in named]
        for row, of in enumerate(named):
            self.uplink.take_kind(row, of[3] if of else "")
