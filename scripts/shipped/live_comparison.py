"""R of live calls beside R of the same worlds in the simulator, the tables of docs/live.md.

`chrt -f 1 python -m vcgym.scripts.shipped.live_comparison FILE SEED ...` plays the calls of each world at the same time, one for each
system, adds them to FILE and prints the tables of all in it. The time at which the emulator wakes bounds what can be compared; `chrt` gives
it the priority that a busy machine denies it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.baselines.systems import load_systems
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.live.call.audio import tones
from vcgym.live.call.one_machine import play_live
from vcgym.network.scenarios.scenario import Scenario

SYSTEMS = ["DRT-WM", "DRT-NEQ", "GRD-WM", "RR-WM", "VIA-WM", "VCR-WM", "LEARNED-correlated"]
SECONDS = 20


def main() -> None:
    """Play and print the tables."""
    file, worlds = Path(sys.argv[1]), []
    if file.exists():
        worlds = json.loads(file.read_text(encoding="utf-8"))
    for seed in map(int, sys.argv[2:]):
        worlds.append(_played(seed))
        file.write_text(json.dumps(worlds), encoding="utf-8")
    _print(worlds)


def _played(seed: int) -> dict[str, Any]:
    """Return world, R of each system live and simulated, quantiles of the errors of arrival times in us, and the load of the machine."""
    scenario, systems = Scenario("wonderproxy", "correlated", 100 * SECONDS), load_systems(SYSTEMS)
    draw, simulated = scenario.draw("validation", seed), []
    for system in systems.values():
        batch = CallBatch(scenario, 1, system.router, system.receiver)
        batch.start(0, draw)
        batch.play(np.arange(1))
        simulated.append(float(ratings_of(batch.totals())[0]))
    calls = play_live(scenario, [(system, draw) for system in systems.values()], tones(4.0))
    error_us = np.abs(np.concatenate([call.timer_error_us for call in calls]))
    return {
        "world": f"{draw.pair}, {draw.stratum}",
        "live": [float(ratings_of(call.played.totals)[0]) for call in calls],
        "simulated": simulated,
        "packets": error_us.size,
        "error_us": np.percentile(error_us, (50, 99, 100)).tolist(),
        "load": os.getloadavg()[0],
    }


def _print(worlds: list[dict[str, Any]]) -> None:
    live, simulated = (np.array([world[name] for world in worlds]).T for name in ("live", "simulated"))
    difference = live - simulated
    print("| system | R live | R simulated | mean difference | sd over worlds |\n| --- | ---: | ---: | ---: | ---: |")
    for name, of_live, of_simulated, by in zip(SYSTEMS, live, simulated, difference, strict=True):
        print(f"| {name} | {of_live.mean():.2f} | {of_simulated.mean():.2f} | {by.mean():+.2f} | {by.std(ddof=1):.2f} |")
    print("\n| world | mean difference | largest | error p50, p99, maximum, us | load |\n| --- | ---: | ---: | ---: | ---: |")
    for world, by in zip(worlds, difference.T, strict=True):
        errors = " / ".join(f"{error:.0f}" for error in world["error_us"])
        print(f"| {world['world']} | {by.mean():+.2f} | {by[np.argmax(np.abs(by))]:+.2f} | {errors} | {world['load']:.0f} |")
    ranks = np.argsort(np.argsort(np.stack([live, simulated]).mean(axis=2), axis=1), axis=1)
    error = difference.mean(axis=0).std(ddof=1) / np.sqrt(len(worlds))  # calls of a world share its stalls
    print(f"\nAll: {difference.mean():+.3f} R, standard error over worlds {error:.3f}, sd over calls {difference.std(ddof=1):.2f}.")
    print(f"Rank correlation of the systems' means: {np.corrcoef(*ranks).item(1):.3f}.")


if __name__ == "__main__":
    main()
