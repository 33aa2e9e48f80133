"""R of live calls beside R of the same worlds in the simulator, the tables of docs/live.md.

`chrt -f 1 python -m lab.studies.live_calls.comparison FILE POLICY,POLICY,... SEED ...` plays the calls of each world at the same time,
one for each policy, adds them to FILE and prints the tables of all in it. A policy is a system or the folder of a trained agent. The time
at which the emulator wakes bounds what can be compared; `chrt` gives it the priority that a busy machine denies it.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

from vcgym.agents.evaluation.play import play
from vcgym.envs.call.counters import ratings_of
from vcgym.live.call.audio import tones
from vcgym.live.call.one_machine import play_live
from vcgym.live.call.policies import live_policy
from vcgym.network.scenarios.scenario import Scenario

SECONDS = 20


def main() -> None:
    """Play and print the tables."""
    file, names, worlds = Path(sys.argv[1]), sys.argv[2].split(","), []
    if file.exists():
        worlds = json.loads(file.read_text(encoding="utf-8"))
    for seed in map(int, sys.argv[3:]):
        worlds.append(_played(names, seed))
        file.write_text(json.dumps(worlds), encoding="utf-8")
    _print(names, worlds)


def _played(names: list[str], seed: int) -> dict[str, Any]:
    """Return world, R of each policy live and simulated, quantiles of the errors of arrival times in us, and the load of the machine."""
    scenario, policies = Scenario("wonderproxy", "correlated", 100 * SECONDS), [live_policy(name) for name in names]
    draw, simulated = scenario.draw("validation", seed), []
    for policy in policies:
        acting = policy.at_receiver or policy.at_path
        envs = acting.environment(scenario)
        envs.split = "validation"
        play(acting.policy, envs, envs.reset(seed=seed)[0])
        simulated.append(float(ratings_of(envs.batch.totals())[0]))
    calls = play_live(scenario, [(policy, draw) for policy in policies], tones(4.0))
    error_us = np.abs(np.concatenate([call.timer_error_us for call in calls]))
    return {
        "world": f"{draw.pair}, {draw.stratum}",
        "live": [float(ratings_of(call.played.totals)[0]) for call in calls],
        "simulated": simulated,
        "packets": error_us.size,
        "error_us": np.percentile(error_us, (50, 99, 100)).tolist(),
        "load": os.getloadavg()[0],
    }


def _print(names: list[str], worlds: list[dict[str, Any]]) -> None:
    live, simulated = (np.array([world[name] for world in worlds]).T for name in ("live", "simulated"))
    difference = live - simulated
    print("| system | R live | R simulated | mean difference | sd over worlds |\n| --- | ---: | ---: | ---: | ---: |")
    for name, of_live, of_simulated, by in zip(names, live, simulated, difference, strict=True):
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
