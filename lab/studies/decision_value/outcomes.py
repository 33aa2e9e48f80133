"""Results of every participant on the same worlds, each sampled once for all participants of a kind."""

from typing import Any

import pyarrow as pa

from lab.studies.decision_value.participants import KINDS, REWARDS
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.paths import PathsPlay
from vcgym.leaderboard.evaluation.rollouts.paired_rollout import batches_together, play_together
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw

# Worlds per pair are these factors times the seeds: series have one pair, and correlated worlds vary most.
PARTS = (Part("wonderproxy", "paper", 1), Part("wonderproxy", "correlated", 2), Part("leo", "replay", 6), Part("stress", "correlated", 2))


def label(part: Part) -> str:
    """Return the label of a part."""
    return f"{part.scenario}, {part.mode}"


@unlock_test_split()
def draw_worlds(part: Part, scenario: Scenario, stratum: str | None = None) -> list[WorldDraw]:
    """Sample the worlds of a part, all of one stratum if given."""
    return [scenario.draw(part.split, seed, pair, stratum) for pair, seed in PathsPlay().worlds(part, scenario)]


def play(part: Part, kind: str, seeds: int, packets: int, threads: int) -> pa.Table:
    """Play a part and return one row of the leaderboard's metrics per reward and world.

    Args:
        part: one of `PARTS`.
        kind: one of `KINDS`.
        seeds: factor on the number of worlds of the part.
        packets: length of the calls.
        threads: threads that share the worlds.
    """
    part, scenario = part._replace(seeds=part.seeds * seeds), Scenario(part.scenario, part.mode, packets)
    draws = draw_worlds(part, scenario)
    systems = [{"path": reward.rule(KINDS[kind]), "playout": WMJitter()} for reward in REWARDS]
    batches = batches_together(scenario, systems, len(draws), log=True)
    play_together(batches, draws, threads)
    found: list[dict[str, Any]] = []
    for reward, batch in zip(REWARDS, batches, strict=True):
        found += rows(batch.played(), system=reward.name, **identity(part, draws))
    return pa.Table.from_pylist(found)


def identity(part: Part, draws: list[WorldDraw]) -> dict[str, Any]:
    """Return the columns that identify the sampled worlds."""
    return {
        "mode": part.mode, "scenario": part.scenario, "split": part.split, "stratum": [draw.stratum for draw in draws],
        "pair": [draw.pair for draw in draws], "seed": list(range(len(draws))),
    }  # fmt: skip
