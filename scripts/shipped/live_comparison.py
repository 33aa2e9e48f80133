"""R of live calls beside R of the same worlds in the simulator, the tables of docs/live.md.

`chrt -f 1 python -m vcgym.scripts.shipped.live_comparison` plays the calls of a world at the same time, one for each system. The time at
which the emulator wakes bounds what can be compared; `chrt` gives it the priority that a busy machine denies it.
"""

import os
import sys

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.systems import load_systems
from vcgym.envs.call.batch import CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.live.call.audio import tones
from vcgym.live.call.one_machine import play_live
from vcgym.network.scenarios.scenario import Scenario

SYSTEMS = ["DRT-WM", "DRT-NEQ", "GRD-WM", "RR-WM", "VIA-WM", "VCR-WM", "LEARNED-correlated"]
WORLDS = 10
SECONDS = 20


def main() -> None:
    """Play and print the tables."""
    scenario, systems = Scenario("wonderproxy", "correlated", 100 * SECONDS), load_systems(SYSTEMS)
    live, simulated = np.zeros((2, len(SYSTEMS), WORLDS))
    error_us: list[NDArray[np.int64]] = []
    names, samples = [], tones(4.0)
    for world in range(WORLDS):
        draw = scenario.draw("validation", world)
        names.append(f"{draw.pair}, {draw.stratum}")
        for row, system in enumerate(systems.values()):
            batch = CallBatch(scenario, 1, system.router, system.receiver)
            batch.start(0, draw)
            batch.play(np.arange(1))
            simulated[row, world] = ratings_of(batch.totals())[0]
        calls = play_live(scenario, [(system, draw) for system in systems.values()], samples)
        live[:, world] = [ratings_of(call.played.totals)[0] for call in calls]
        error_us += [call.timer_error_us for call in calls]
        sys.stderr.write(f"{names[-1]}: {np.round(live[:, world] - simulated[:, world], 2)}, load {os.getloadavg()[0]:.1f}\n")
    _print(live, simulated, np.abs(np.concatenate(error_us)), names)


def _print(live: NDArray[np.float64], simulated: NDArray[np.float64], error_us: NDArray[np.int64], names: list[str]) -> None:
    difference = live - simulated
    print("| system | R live | R simulated | mean difference | sd over worlds |\n| --- | ---: | ---: | ---: | ---: |")
    for name, of_live, of_simulated, by in zip(SYSTEMS, live, simulated, difference, strict=True):
        print(f"| {name} | {of_live.mean():.2f} | {of_simulated.mean():.2f} | {by.mean():+.2f} | {by.std(ddof=1):.2f} |")
    print("\n| world | mean difference | largest |\n| --- | ---: | ---: |")
    for name, by in zip(names, difference.T, strict=True):
        print(f"| {name} | {by.mean():+.2f} | {by[np.argmax(np.abs(by))]:+.2f} |")
    ranks = np.argsort(np.argsort(np.stack([live, simulated]).mean(axis=2), axis=1), axis=1)
    half = 1.96 * difference.std(ddof=1) / np.sqrt(difference.size)
    print(f"\nAll: {difference.mean():+.3f} R, 95 % interval half-width {half:.3f}, sd {difference.std(ddof=1):.2f}.")
    print(f"Rank correlation of the systems' means: {np.corrcoef(*ranks).item(1):.3f}.")
    p50, p90, p99 = np.percentile(error_us, (50, 90, 99))
    print(f"Error of arrival times over {error_us.size:,} packets: p50 {p50:.0f} us, p90 {p90:.0f} us, p99 {p99:.0f} us.")


if __name__ == "__main__":
    main()
