"""The native vector environment: one batch of calls, one decision of each per step. The scalar face and the three ids stand over it."""

from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from vcgym.baselines.rule import start
from vcgym.envs.actions import FORMS, action_space, decode
from vcgym.envs.batch import CallBatch, Played
from vcgym.envs.features import Feature, allocate_senses, clear_senses, layout, observe_arrival, observe_feed
from vcgym.envs.forecast import Forecast, forecaster, named
from vcgym.envs.observe import RECORDS_SHOWN, show_arrival, show_feed
from vcgym.envs.rewards import ACCOUNTS, REWARDS, earn_emodel, earn_event
from vcgym.envs.session import DONE
from vcgym.envs.snapshot import restore, snapshot
from vcgym.network import rng
from vcgym.network.quality import mos, rating
from vcgym.network.scenario import TAU_MS, Scenario, one_of
from vcgym.network.wire import SLOTS
from vcgym.network.world import BLOCK_SLOTS, HISTORY_BLOCKS, SLOT_US

OBSERVATIONS = ("features", "records")
LONGEST_DELAY_MS = SLOTS * SLOT_US / 1000.0  # what the calendar of packets in flight holds


class Held(NamedTuple):
    """Which levers the agent holds, and where it is asked."""

    path: bool
    level: bool
    at_arrivals: bool


class LeverVectorEnv(VectorEnv[Any, NDArray[Any], NDArray[Any]]):
    """A batch of calls whose levers `held` are held by the agent; see the environments' docstrings for what an agent meets.

    Args:
        num_envs: how many calls are played side by side, >= 1.
        held: which levers the agent holds.
        router: who holds the path: `vcgym.envs.levers.Agent`, or parameters of a rule.
        receiver: who holds the level: a holder of `vcgym.envs.levers`, or parameters of a rule.
        scenario: name of the scenario, see `vcgym.network.scenario`.
        mode: how its statistics become packets: correlated, paper or replay.
        split: train or validation; test is the leaderboard's.
        packets: length of a call, 1 to 1,000,000.
        reward: emodel or event.
        observation: features or records.
        action: discrete, continuous or exact.
        predictor: adds predicted_e2e to the features of each path (Relay, Call): None, shipped, or parameters of `vcgym.predictors`.
        place: of the router's lever: sender, central or receiver.
        feedback_loss: share of feedback that is lost, 0 <= share < 1.
        probe_rate: probes per second on each idle path, >= 0.
        data: folder of measured data; None: the environment variable VCGYM_DATA.
        burst: of mode paper: which measured burst its draws are fitted to, worst or median.
        tau_ms: of mode correlated: correlation time of queueing, 0 to 60,000.
        threads: how many threads share the sessions; without effect on the result.
        log: keep per-packet outcomes, for `played`.
        autoreset_mode: NEXT_STEP, SAME_STEP or DISABLED.
        render_mode: None; only the scalar face draws.
    """

    def __init__(
        self,
        num_envs: int,
        held: Held,
        router: NamedTuple,
        receiver: NamedTuple,
        scenario: str = "wonderproxy",
        mode: str = "correlated",
        split: str = "train",
        packets: int = 6000,
        reward: str = "emodel",
        observation: str = "features",
        action: str = "discrete",
        predictor: Any = None,
        place: str = "central",
        feedback_loss: float = 0.0,
        probe_rate: float = 1.0,
        data: str | None = None,
        burst: str = "worst",
        tau_ms: float = TAU_MS,
        threads: int = 1,
        log: bool = False,
        autoreset_mode: AutoresetMode = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
    ) -> None:
        interval = getattr(router, "interval", 1)
        counts = (
            ("num_envs", num_envs, 1 << 20),
            ("interval", interval, RECORDS_SHOWN // 2),
            ("packets", packets, 1_000_000),
            ("threads", threads, 256),
        )
        for name, value, high in counts:
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= high:
                raise ValueError(f"{name} = {value!r}: allowed are integers from 1 to {high}")
        for name, value, bound in (("feedback_loss", feedback_loss, "0 <= share < 1"), ("probe_rate", probe_rate, "0 to 100")):
            if isinstance(value, bool) or not isinstance(value, float | int | np.floating | np.integer):
                raise ValueError(f"{name} = {value!r}: allowed are numbers, {bound}")
        for name, value, allowed in (("reward", reward, REWARDS), ("observation", observation, OBSERVATIONS), ("action", action, FORMS)):
            one_of(name, value, allowed)
        if render_mode is not None:
            raise ValueError(f"render_mode = {render_mode!r}: allowed is None")
        world = Scenario(scenario, mode, packets, data, burst, tau_ms)
        world.pairs(split)  # refuses an unknown split
        if predictor is not None and (held.at_arrivals or observation != "features"):
            kind = type(predictor).__name__
            raise ValueError(f"predictor is a {kind}: allowed is None, but for the features of an agent that holds the path")
        self._forecast = forecaster(predictor)
        forecasts = isinstance(self._forecast, Forecast)
        self.num_envs, self.held, self.split, self.render_mode = num_envs, held, split, render_mode
        self.reward_kind, self.observation_kind, self.action_form = reward, observation, action
        self.metadata = {"render_modes": [], "autoreset_mode": AutoresetMode(autoreset_mode)}
        self.batch = CallBatch(world, num_envs, router, receiver, place, feedback_loss, probe_rate, log, threads)
        self._senses = allocate_senses(num_envs, world.paths, self._forecast)
        self.layout: list[Feature] = layout(() if held.at_arrivals else world.layout.path_names, forecasts)
        self.single_observation_space = self._observation_space(world.paths)
        self.single_action_space = action_space(action, world.paths, held.path, held.level)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._shown = self._nothing_shown()
        # What a state must agree on: all that can change what comes next, the data included.
        self._arguments = ", ".join(map(str, (
            type(self).__name__, num_envs, router, receiver, scenario, mode, split, packets, reward, observation, action, place,
            feedback_loss, probe_rate, burst, float(tau_ms), log, AutoresetMode(autoreset_mode).value, world.layout.card,
            named(self._forecast),
        )))  # fmt: skip
        self._seeds = np.zeros(num_envs, np.uint64)
        self._episodes = np.full(num_envs, -1, np.int64)
        self._over = np.zeros(num_envs, bool)
        self._paid = np.zeros((num_envs, ACCOUNTS), np.int64)

    def _observation_space(self, paths: int) -> spaces.Space[Any]:
        if self.observation_kind == "features":
            low, high = (np.array([getattr(feature, end) for feature in self.layout], np.float32) for end in ("low", "high"))
            return spaces.Box(low, high, dtype=np.float32)
        most = np.iinfo(np.int64).max
        history = np.tile([HISTORY_BLOCKS * BLOCK_SLOTS, LONGEST_DELAY_MS, LONGEST_DELAY_MS], (paths, 1)).astype(np.float64)
        return spaces.Dict(
            count=spaces.Box(0, RECORDS_SHOWN, (), np.int64),
            history=spaces.Box(np.zeros_like(history), history, dtype=np.float64),
            key=spaces.Box(0, np.iinfo(np.uint64).max, (), np.uint64),
            records=spaces.Box(-1, most, (RECORDS_SHOWN, 8), np.int64),
            slot=spaces.Box(0, most, (), np.int64),
        )

    def _nothing_shown(self) -> dict[str, NDArray[Any]]:
        """Room for the observations shown last: a masked reset shows those of the other sessions again."""
        if self.observation_kind == "features":
            return {"features": np.zeros((self.num_envs, len(self.layout)), np.float32)}
        return {
            "count": np.zeros(self.num_envs, np.int64),
            "history": np.zeros_like(self.batch.history),
            "key": np.zeros(self.num_envs, np.uint64),
            "records": np.zeros((self.num_envs, RECORDS_SHOWN, 8), np.int64),
            "slot": np.zeros(self.num_envs, np.int64),
        }

    def reset(
        self, *, seed: int | list[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        """Begin new calls.

        Args:
            seed: session i plays world ``seed + i`` of the split (or ``seed[i]``), and then worlds that follow from it. None: go on.
            options: reset_mask (num_envs,) bool: only these sessions. pair, stratum: play these, see `Scenario.draw`.

        Returns:
            Observations of all sessions, and infos.
        """
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        rows = np.arange(self.num_envs) if mask is None else np.flatnonzero(self._checked_mask(mask))
        for name in options:
            one_of("option of reset", name, ("reset_mask", "pair", "stratum"))
        self.batch.scenario.draw(self.split, 0, **options)  # refuses an unknown pair or stratum before anything moves
        seeds = self._checked_seeds(seed)
        super().reset(seed=seed if isinstance(seed, int) else None)
        for row in rows:
            given = seeds[row]
            if given is not None or self._episodes[row] < 0:
                self._seeds[row] = given if given is not None else self.np_random.integers(1 << 31)
                self._episodes[row] = -1
        self._begin(rows, **options)
        return self._observe(rows), {}

    @property
    def paths_observed(self) -> int:
        """How many paths the features describe."""
        return 0 if self.held.at_arrivals else self.batch.scenario.paths

    @property
    def has_begun(self) -> bool:
        """Whether every session has been reset at least once."""
        return bool((self._episodes >= 0).all())

    def _checked_seeds(self, seed: int | list[int | None] | None) -> list[int | None]:
        seeds = seed if isinstance(seed, list) else [None if seed is None else seed + i for i in range(self.num_envs)]
        if len(seeds) != self.num_envs:
            raise ValueError(f"seed has length {len(seeds)}: allowed is {self.num_envs}, one per session")
        for given in seeds:
            if given is not None and not 0 <= given < 1 << 64:
                raise ValueError(f"seed = {given!r}: allowed are integers from 0 to 2**64 - 1")
        return seeds

    def _checked_mask(self, mask: Any) -> NDArray[np.bool_]:
        if not isinstance(mask, np.ndarray) or mask.shape != (self.num_envs,) or mask.dtype != np.bool_ or not mask.any():
            raise ValueError(f"reset_mask = {mask!r}: allowed is a bool array of shape ({self.num_envs},) with at least one True")
        return mask

    def _begin(self, rows: NDArray[np.int64], pair: str | None = None, stratum: str | None = None) -> None:
        for row in rows:
            self._episodes[row] += 1
            episode = int(self._episodes[row])
            seed = int(self._seeds[row]) if episode == 0 else int(rng.stream_key(self._seeds[row], episode, rng.SCENARIO))
            self.batch.start(row, self.batch.scenario.draw(self.split, seed, pair, stratum))
            clear_senses(self._senses, row)
        if isinstance(self._forecast, Forecast):
            begun = np.isin(np.arange(self.num_envs), rows)
            start(self._forecast, self._senses.forecast, begun, self.batch.history, np.zeros(self.num_envs, np.uint64))
        self._over[rows] = False
        self._paid[rows] = 0
        self.batch.play(rows)

    def step(self, actions: NDArray[Any]) -> tuple[Any, NDArray[np.float64], NDArray[np.bool_], NDArray[np.bool_], dict[str, Any]]:
        """Play every session to its next decision.

        Raises:
            ResetNeeded: before the first reset, or, with autoreset disabled, for a session that is over.
            ValueError: an action outside the space.
        """
        mode = self.metadata["autoreset_mode"]
        if (self._episodes < 0).any() or (mode is AutoresetMode.DISABLED and self._over.any()):
            raise ResetNeeded(
                f"sessions {np.flatnonzero((self._episodes < 0) | self._over).tolist()} must be reset before they are stepped"
            )
        starting = np.flatnonzero(self._over)
        running = np.flatnonzero(~self._over)
        self._answer(actions)
        self.batch.play(running)
        rewards = self._rewards()
        self._begin(starting)
        truncated = self.batch.calls["why"] == DONE
        truncated[starting] = False
        infos = self._infos(truncated)
        observations = self._observe(np.arange(self.num_envs))
        over = np.flatnonzero(truncated)
        if mode is AutoresetMode.SAME_STEP and len(over):
            infos = {
                "final_obs": self._objects(observations, over),
                "_final_obs": truncated.copy(),
                "final_info": infos,
                "_final_info": truncated.copy(),
            }
            self._begin(over)
            observations = self._observe(over)
        else:
            self._over = truncated.copy()
        return observations, rewards, np.zeros(self.num_envs, bool), truncated, infos

    def _answer(self, actions: NDArray[Any]) -> None:
        actions, space = np.asarray(actions), self.action_space
        # A float where an index is wanted would be cut off silently, NaN included.
        same_kind = np.can_cast(actions.dtype, space.dtype or actions.dtype, "same_kind")
        if not same_kind or not space.contains(actions.astype(space.dtype)):
            raise ValueError(f"action {actions!r} of {actions.dtype}: allowed are values of {space}")
        path, level = decode(self.action_form, self.batch.scenario.paths, self.held.path, self.held.level, actions)
        self.batch.calls["answer_path"] = path
        self.batch.calls["answer_level_us"] = level

    def _rewards(self) -> NDArray[np.float64]:
        """What has been earned since the last decision."""
        earned = np.empty(self.num_envs)
        (earn_emodel if self.reward_kind == "emodel" else earn_event)(self.batch.calls, self._paid, earned)
        return earned

    def _observe(self, rows: NDArray[np.int64]) -> Any:
        """Renew the observations of `rows`; returns those of all sessions, freshly allocated."""
        batch, shown = self.batch, self._shown
        if self.observation_kind == "features":
            if self.held.at_arrivals:
                observe_arrival(batch.calls, rows, self._senses, batch.receiver, shown["features"])
            else:
                observe_feed(batch.calls, rows, self._senses, batch.history, self._forecast, shown["features"])
            return shown["features"].copy()
        shown["history"][rows] = batch.history[rows]
        shown["slot"][rows] = batch.calls["slot"][rows]
        shown["key"][rows] = [batch.key(row, "receiver" if self.held.at_arrivals else "router") for row in rows]
        shown["records"][rows] = 0
        if self.held.at_arrivals:
            show_arrival(batch.calls, rows, batch.receiver, shown["records"], shown["count"])
        elif not show_feed(batch.calls, rows, shown["records"], shown["count"]):
            raise OverflowError(f"more than {RECORDS_SHOWN} records have come since the last decision: use a smaller interval")
        return {name: value.copy() for name, value in shown.items()}

    @staticmethod
    def _objects(observations: Any, over: NDArray[np.int64]) -> NDArray[np.object_]:
        """Copies of the last observations of the sessions that are over, as gymnasium's object array."""
        length = len(observations["slot"]) if isinstance(observations, dict) else len(observations)
        last = np.full(length, None, dtype=object)
        for row in over:
            last[row] = {k: v[row].copy() for k, v in observations.items()} if isinstance(observations, dict) else observations[row].copy()
        return last

    def _infos(self, truncated: NDArray[np.bool_]) -> dict[str, Any]:
        """For calls that are over: R, MOS, mean mouth-to-ear delay, concealed share, pair, stratum."""
        if not truncated.any():
            return {}
        books = self.batch.calls["books"]
        ticks = np.maximum(books["ticks_played"] + books["ticks_stretched"] + books["ticks_concealed"], 1)
        offset_ms, concealed = books["offset_us_sum"] / ticks / 1000.0, books["ticks_concealed"] / ticks
        r = rating(offset_ms, concealed)
        draws = [draw for draw in self.batch.draws if draw is not None]  # who is stepped has been reset
        values: dict[str, NDArray[Any]] = {
            "r": r, "mos": mos(r), "mouth_to_ear_ms": offset_ms, "concealed_share": concealed,
            "pair": np.array([draw.pair for draw in draws]), "stratum": np.array([draw.stratum for draw in draws]),
        }  # fmt: skip
        infos: dict[str, Any] = {}
        for name, value in values.items():
            infos[name] = np.where(truncated, value, np.zeros_like(value))
            infos[f"_{name}"] = truncated.copy()
        return infos

    def played(self) -> Played:
        """Every call packet by packet, as it stands; needs ``log=True``."""
        return self.batch.played()

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Everything that moves, as plain arrays: `set_state` on an env of the same arguments goes on where this one stood."""
        return snapshot(self._arguments, self.batch, self._senses, self._own(), self.np_random)

    def set_state(self, state: dict[str, NDArray[Any]]) -> None:
        """Take over a state of `get_state`.

        Raises:
            ValueError: it is the state of an env of other arguments.
        """
        restore(state, self._arguments, self.batch, self._senses, self._own(), self.np_random)

    def _own(self) -> dict[str, NDArray[Any]]:
        own = {name: getattr(self, name) for name in ("_seeds", "_episodes", "_over", "_paid")}
        return own | {f"_shown.{name}": value for name, value in self._shown.items()}
