"""The oracles of a world as rows of the leaderboard's result file, kind `oracle`, joined with the other rows by world.

| system | what |
|---|---|
| oracle_informed | sees all paths up to now but not the future, with `INFORMED_RECEIVER` |
| oracle_joint_0, _1, _2, _6, _any | best path sequence and playout with at most that many changes per minute, losses hidden (`rating`) |
| oracle_routing_X | the path sequence of oracle_joint_6 in a real call with the receiver of system X |
| oracle_playout_X | the paths of system X with the best playout in hindsight, losses hidden |

Rows of played oracles contain measured values, including random losses. Rows of joint oracles contain expected values: delays exclude
random losses, and loss, concealment and R follow from the loss probabilities. Their columns of the event accounting are NaN.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from lab.studies.oracles.joint import UNLIMITED, Plan
from lab.studies.oracles.rating import best_ratings
from lab.studies.oracles.seen import Seen, along, see
from lab.studies.oracles.sequences import INFORMED_RECEIVER, informed_sequence, play_script
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.envs.call.counters import LONG_RUN_TICKS, WINDOW_TICKS
from vcgym.leaderboard.cache import cached
from vcgym.leaderboard.results import files as results
from vcgym.leaderboard.results.call_metrics import g114_band, rows
from vcgym.leaderboard.results.columns import IDENTITY, MEASURED_TIME
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.kernels.slots import LOST, SLOT_US
from vcgym.network.playout.quality import REDUCED_KNEE_MS, emodel_return, impairment_sum, mos, rating
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.worlds.world import WorldDraw, blocks

JOINT = {"0": 0, "1": 1, "2": 2, "6": 6, "any": UNLIMITED}
_JOINT = "oracle_joint_"
PACKETS_PER_MINUTE = 60_000_000 // SLOT_US
_TICK_MS = SLOT_US / 1000.0


class Drawn(NamedTuple):
    """World of a result row, sampled again."""

    scenario: Scenario
    draw: WorldDraw
    identity: dict[str, Any]


@unlock_test_split()
def drawn(identity: Mapping[str, Any], scenario: Scenario) -> Drawn:
    """Return the world of a result row (given its identity columns).

    Raises:
        ValueError: the row's data or length differ from those of `scenario`, or its world cannot be sampled.
    """
    for name, value in (("card", scenario.layout.card), ("packets", scenario.packets)):
        if identity[name] != value:
            raise ValueError(f"result row of {identity['system']}: {name} is {identity[name]}; allowed: {value}, of the data that are here")
    draw = scenario.draw(identity["split"], identity["seed"], identity["pair"], identity["stratum"])
    none = {"training_decisions": 0, "tuning_trials": 0, "parameters": 0}
    known = {name: identity[name] for name in IDENTITY | CALL.identity}
    unknown: dict[str, list[Any]] = {name: [] for name in MEASURED_TIME if known[name] is None}  # an older file has no such columns
    return Drawn(scenario, draw, known | unknown | {"kind": "oracle", "env": "none"} | none)


def oracle_rows(world: Drawn, references: Mapping[str, System], folder: Path) -> list[dict[str, Any]]:
    """Return all rows of a world from their file in `folder`; compute and save them if it does not exist.

    Args:
        world: result of `drawn`.
        references: systems X whose gap is split into routing and playout.
        folder: folder of the files.

    Raises:
        ValueError: the file is not complete.
    """
    suite = {name: world.identity[name] for name in ("suite", "suite_version")}  # suites may share worlds
    decides = {name: value for name, value in world.identity.items() if name not in ("system", *suite)}

    def make() -> pa.Table:
        return results.table(results.RESULTS, _made(world, references), "oracles")

    return [row | suite for row in cached(folder, (decides, references), make).to_pylist()]


def hindsight_row(world: Drawn) -> dict[str, Any]:
    """Return the row of the oracle with anchored score 100 (`Columns.hundred`); its R is that of `oracle_rows` within twice `GAP`."""
    seen = see(world.scenario, world.draw)
    allowed = dict(zip(JOINT, _limits(world), strict=True))[CALL.hundred.removeprefix(_JOINT)]
    return world.identity | {"system": CALL.hundred} | plan_metrics(seen, best_ratings(seen, [allowed])[0].plan)


def _made(world: Drawn, references: Mapping[str, System]) -> Iterator[dict[str, Any]]:
    seen = see(world.scenario, world.draw)
    best = dict(zip(JOINT, best_ratings(seen, _limits(world)), strict=True))
    path = informed_sequence(_real_delays(world), seen.history)
    yield _row(world, "oracle_informed", play_script(world.scenario, world.draw, path, INFORMED_RECEIVER))
    for name, one in best.items():
        yield world.identity | {"system": f"{_JOINT}{name}"} | plan_metrics(seen, one.plan)
    for name, pair in references.items():
        yield from _apart(world, seen, name, pair, best["6"].plan.path)


def _real_delays(world: Drawn) -> NDArray[np.int32]:
    """Return the delays (paths, packets) of the sampled world, LOST for lost packets."""
    played, packets = world.scenario.world(1), world.scenario.packets
    played.start(0, world.draw)
    return np.concatenate(list(blocks(played, packets)), axis=1)[:, :packets]


def _row(world: Drawn, system: str, played: Played) -> dict[str, Any]:
    return world.identity | {"system": system} | rows(played)[0]


def _limits(world: Drawn) -> list[int]:
    minutes = -(-world.scenario.packets // PACKETS_PER_MINUTE)
    return [k if k == UNLIMITED else k * minutes for k in JOINT.values()]


def _apart(world: Drawn, seen: Seen, name: str, pair: System, best_path: NDArray[np.int16]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a system with only ideal routing, and with only ideal playout."""
    routed = play_script(world.scenario, world.draw, best_path, pair.playout)
    yield _row(world, f"oracle_routing_{name}", routed)
    batch = CallBatch(world.scenario, 1, pair.path, pair.playout, log=True)
    batch.start(0, world.draw)
    batch.play(np.arange(1))
    path = batch.played().path[0]
    alone = along(seen, path)
    plan = best_ratings(alone, (0,))[0].plan
    yield world.identity | {"system": f"oracle_playout_{name}"} | plan_metrics(alone, plan) | _changes(path)


def _changes(path: NDArray[np.int16]) -> dict[str, Any]:
    changes = int((np.diff(path) != 0).sum())
    return {"path_changes": changes, "plans_sent": changes}


def plan_metrics(seen: Seen, plan: Plan) -> dict[str, Any]:
    """Return every metric of a result row for a plan, in expectation over the hidden losses."""
    units = np.arange(len(plan.path))
    heard = plan.played_tick >= 0
    chance, delay_us = seen.chance[plan.path, units], seen.delay_us[plan.path, units]
    late = ~heard & (delay_us != LOST)
    heard_ms = (plan.played_tick - units)[heard] * _TICK_MS
    unknown = {column.name: float("nan") for column in CALL.metrics if column.type == "float64"}
    return unknown | _plan_score(plan) | _plan_concealment(plan) | {
        "clocked_end_to_end_delay_mean_ms": float(heard_ms.mean()) if heard.any() else float("nan"),
        **{f"clocked_end_to_end_delay_p{p}_ms": float(np.percentile(heard_ms, p)) if heard.any() else float("nan") for p in (50, 95, 99)},
        "one_way_delay_mean_ms": float(delay_us[heard].mean()) / 1000.0 if heard.any() else float("nan"),
        "playout_delay_mean_ms": float(heard_ms.mean() - delay_us[heard].mean() / 1000.0) if heard.any() else float("nan"),
        "network_loss": float(chance.mean()),
        "clocked_late_loss": float((1.0 - chance)[late].sum() / len(units)),
        **_changes(plan.path),
        "probes_sent": 0,
    }  # fmt: skip


def _plan_score(plan: Plan) -> dict[str, Any]:
    r = float(rating(plan.delay_ms, plan.share))
    full = len(plan.level) // WINDOW_TICKS or 1
    cut = min(full * WINDOW_TICKS, len(plan.level))
    offset_ms, concealed = (part[:cut].reshape(full, -1).mean(axis=1) for part in (plan.level * _TICK_MS, plan.concealed))
    excess_ms = np.maximum(0.0, plan.level * _TICK_MS - REDUCED_KNEE_MS)
    impairment = impairment_sum(1000.0 * _TICK_MS * plan.level.sum(), 1000.0 * excess_ms.sum())
    return {
        "r": r,
        "r_p5": float(np.percentile(rating(offset_ms, concealed), 5.0)),
        "mos": float(mos(r)),
        "mouth_to_ear_mean_ms": plan.delay_ms,
        "g114_band": g114_band(plan.delay_ms),
        "return_emodel": float(emodel_return(len(plan.level), impairment, plan.concealed.sum())),
    }


def _plan_concealment(plan: Plan) -> dict[str, Any]:
    """Return the expected concealed share, and runs of the plan's own concealment without random losses."""
    given_up = np.concatenate([[False], plan.concealed >= 1.0, [False]])
    ends = np.flatnonzero(given_up[1:] != given_up[:-1])
    runs = ends[1::2] - ends[::2]
    return {
        "concealed_share": plan.share,
        "conceal_runs": len(runs),
        "conceal_run_mean_ms": float(runs.mean()) * _TICK_MS if len(runs) else 0.0,
        "conceal_run_longest_ms": float(runs.max()) * _TICK_MS if len(runs) else 0.0,
        "conceal_runs_over_60_ms_share": float((runs > LONG_RUN_TICKS).mean()) if len(runs) else 0.0,
    }
