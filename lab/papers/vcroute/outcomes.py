"""The worlds of the claims and the results of every system on them; each world is sampled once for all systems."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vcgym.baselines.systems import System
from vcgym.envs.call.batch import Played
from vcgym.leaderboard.evaluation.together import batches_together, every_pair, play_together
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.results.cdf import delay_cdf
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

TAUS_MS = (0.0, 50.0, 200.0, 1000.0)
MIN_WORLDS = 30  # minimum for a scenario with few pairs

_PER_PACKET = ("path", "arrived_us", "emitted_us", "flushed", "played_us")


class Setting(NamedTuple):
    """Kind of worlds for claims about the scenario `about`: `scenario` in one mode, with further arguments of `Scenario`."""

    label: str
    about: str
    scenario: str
    mode: str
    arguments: Mapping[str, Any] = MappingProxyType({})

    def worlds(self, packets: int) -> Scenario:
        """Return the scenario that samples these worlds, for calls of `packets` packets."""
        return Scenario(self.scenario, self.mode, packets, **self.arguments)


class Statistic(NamedTuple):
    """Statistic of calls: its column ("{}" is replaced by the accounting), its unit, and the aggregation over worlds."""

    column: str
    unit: str
    over_worlds: Callable[[np.ndarray], Any]


STATISTICS = {
    "mean_ms": Statistic("{}_end_to_end_delay_mean_ms", "ms", np.mean),
    "p50_ms": Statistic("{}_end_to_end_delay_p50_ms", "ms", np.mean),
    "largest_ms": Statistic("{}_largest_ms", "ms", np.max),
    "smallest_ms": Statistic("{}_smallest_ms", "ms", np.min),
    "loss": Statistic("{}_loss", "%", np.mean),
    "one_way_ms": Statistic("one_way_delay_mean_ms", "ms", np.mean),
    "plans_per_packet": Statistic("plans_per_packet", "%", np.mean),
    "changes_per_packet": Statistic("changes_per_packet", "%", np.mean),
    "paths_used": Statistic("paths_used", "", np.mean),
    "overhead_ms": Statistic("overhead_ms", "ms", np.max),
    "overhead_share": Statistic("{}_overhead_share", "%", np.max),
}


def settings(scenario: str) -> list[Setting]:
    """Return the settings in which a claim about `scenario` is judged; in mode replay, measured series replace WonderProxy."""
    bursts = ("median", "worst") if scenario == "wonderproxy" else ("worst",)  # in other scenarios a link has one distribution
    found = [
        Setting(f"paper, {burst} burst" if len(bursts) > 1 else "paper", scenario, scenario, "paper", {"burst": burst}) for burst in bursts
    ]
    found += [Setting(f"correlated, {tau_ms:g} ms", scenario, scenario, "correlated", {"tau_ms": tau_ms}) for tau_ms in TAUS_MS]
    return [*found, Setting("replay", scenario, "leo", "replay")] if scenario == "wonderproxy" else found


def play(setting: Setting, systems: Mapping[str, System], seeds: int, packets: int, threads: int) -> pa.Table:
    """Play a setting; return a row per system and world: leaderboard metrics, further `STATISTICS`, means of paths, delay counts.

    Args:
        setting: kind of worlds.
        systems: systems by name.
        seeds: worlds per pair; more if there would be fewer than `MIN_WORLDS` in all.
        packets: length of the calls.
        threads: threads that share the worlds.
    """
    scenario = setting.worlds(packets)
    return play_worlds(scenario, every_pair(scenario, seeds, MIN_WORLDS), systems, threads)


def play_worlds(
    scenario: Scenario, draws: Sequence[WorldDraw], systems: Mapping[str, System], threads: int, location: str = "central"
) -> pa.Table:
    """Play systems, routers at `location`, on sampled worlds; the seed of a row is the world's index in `draws`. See `play`."""
    batches = batches_together(scenario, [system.rules for system in systems.values()], len(draws), True, location)
    play_together(batches, draws, threads)
    identity = {
        "mode": scenario.mode, "scenario": scenario.name, "split": "all",
        "stratum": [draw.stratum for draw in draws], "pair": [draw.pair for draw in draws], "seed": list(range(len(draws))),
    }  # fmt: skip
    found = []
    for system, batch in zip(systems, batches, strict=True):
        played = batch.played()
        calls = rows(played, system=system, **identity)
        found += [call | more for call, more in zip(calls, _more(played, calls, batch.history), strict=True)]
    return pa.Table.from_pylist(found)


def _more(played: Played, calls: list[dict[str, Any]], history: NDArray[np.float64]) -> list[dict[str, Any]]:
    packets = played.path.shape[1]
    sent_us = np.arange(packets, dtype=np.int64) * played.packet_us
    ends_us = {"event": np.where(played.flushed, -1, played.emitted_us), "clocked": played.played_us}
    found = []
    for s, call in enumerate(calls):
        alone = replace(played, **{name: getattr(played, name)[s : s + 1] for name in _PER_PACKET})
        more: dict[str, Any] = {"plans_per_packet": call["plans_sent"] / packets, "changes_per_packet": call["path_changes"] / packets}
        more["paths_used"] = len(np.unique(played.path[s]))
        # A plan has the delay of the direct path (section VI-C5), spread over the packets of the call.
        more["overhead_ms"] = more["plans_per_packet"] * float(history[s, 0, 1])
        more["path_mean_ms"] = history[s, :, 1].tolist()
        for accounting, cdf in delay_cdf(alone).items():
            more[f"{accounting}_packets_within"], more[f"{accounting}_packets_sent"] = cdf.packets_within.tolist(), cdf.packets_sent
        for accounting, end_us in ends_us.items():
            delay_us = (end_us[s] - sent_us)[end_us[s] >= 0]
            more[f"{accounting}_largest_ms"] = float(delay_us.max()) / 1000.0 if delay_us.size else float("nan")
            more[f"{accounting}_smallest_ms"] = float(delay_us.min()) / 1000.0 if delay_us.size else float("nan")
            more[f"{accounting}_loss"] = call["network_loss"] + call[f"{accounting}_late_loss"]
            more[f"{accounting}_overhead_share"] = more["overhead_ms"] / call[f"{accounting}_end_to_end_delay_mean_ms"]
        found.append(more)
    return found
