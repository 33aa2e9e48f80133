"""The round trip of docs/live.md: measure emulated worlds, tune a rule on what was measured, and play it live.

`python -m lab.studies.live_calls.round_trip measure FOLDER` probes every path of some worlds of an emulated scenario at once and writes
traces; `copy FOLDER` writes the same worlds in virtual time. `vcgym-data do=fit file=FOLDER output=FOLDER/../fitted.json` fits them. `tune
FOLDER` searches a grid on the replay of the traces, on the fitted scenario, and on worlds of the scenario itself. `play FOLDER SEED ...`
plays these rules live on other worlds, `simulate FOLDER` in the simulator. Run `measure` and `play` with `chrt -f 1`.
"""

import json
import os
import sys
from contextlib import ExitStack
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.path.greedy import Greedy
from vcgym.baselines.playout.adaptive_ewma import AdaptiveEwma
from vcgym.baselines.systems import System
from vcgym.envs.call.batch import LOCATIONS, CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.live.call.audio import tones
from vcgym.live.call.one_machine import network, play_live
from vcgym.live.call.parties import relays_of, vias
from vcgym.live.call.policies import of_system
from vcgym.live.call.sender import LEAD_US
from vcgym.live.forwarding.emulator import emulated
from vcgym.live.measuring.measure import MeasuredDelays, Prober, write_traces
from vcgym.live.protocol.nodes import NEVER_US, open_socket, serve, steady_clock
from vcgym.live.protocol.wire import new_key
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import WorldDraw

SCENARIO, MODE = "table1", "correlated"
MEASURED_WORLDS, MEASURED_SLOTS = 8, 4500
CALL_SLOTS, TRAINING_CALLS, SIMULATED_CALLS = 2000, 60, 200
PUBLISHED = (0.998, 4.0, 5.0)
GRID = tuple(product((0.98, 0.99, 0.995, 0.998), (0.5, 1.0, 2.0, 3.0, 4.0, 6.0), (0.0, 5.0, 20.0)))
"""Values of alpha and deviations of AdaptiveEwma, and of margin_ms of Greedy."""


def main() -> None:
    """Run a step."""
    step, folder, *seeds = sys.argv[1:]
    {"measure": measure, "copy": copy, "tune": tune, "play": play, "simulate": simulate}[step](Path(folder), *seeds)


def measure(folder: Path) -> None:
    """Measure the paths of the worlds and write a folder of traces for each."""
    scenario, secret, clock = Scenario(SCENARIO, MODE, MEASURED_SLOTS), new_key(), steady_clock()
    worlds = [emulated(scenario, scenario.draw("train", seed), LOCATIONS["central"]) for seed in range(MEASURED_WORLDS)]
    with ExitStack() as opened:
        relays = [opened.enter_context(open_socket()) for _ in range(relays_of(scenario))]
        emulators = [(opened.enter_context(open_socket()), world) for world in worlds]
        ends = [opened.enter_context(open_socket()) for _ in worlds]
        with network(secret, emulators, relays, clock):
            start_us, parts = clock() + LEAD_US, []
            for number, (emulator, end) in enumerate(zip(emulators, ends, strict=True)):
                paths = [[emulator[0], *(relays[n] for n in (0, *via)), end] for via in vias(scenario)]
                routes = [[one.getsockname() for one in hops] for hops in paths]
                parts.append((end, Prober(secret, routes, 1000 * (number + 1), MEASURED_SLOTS, start_us)))
            serve(parts, lambda: all(prober.due_us == NEVER_US for _, prober in parts), clock)
    for number, ((_, prober), world) in enumerate(zip(parts, worlds, strict=True)):
        names = [f"path-{path:03d}" for path in range(scenario.paths)]
        write_traces(MeasuredDelays(names, prober.delay_us, "one-way delay, one clock"), folder / f"world-{number}", SCENARIO)
        both = (prober.delay_us >= 0) & (world.delay_us >= 0)
        error_us = np.abs(prober.delay_us - world.delay_us)[both]
        missed = np.mean((prober.delay_us < 0) != (world.delay_us < 0))
        print(f"world {number}: p50 {np.median(error_us):.0f} us, p99 {np.percentile(error_us, 99):.0f} us, {missed:.4%} lost only in one")


def copy(folder: Path) -> None:
    """Write the delays that `measure` would find without an error."""
    scenario = Scenario(SCENARIO, MODE, MEASURED_SLOTS)
    for seed in range(MEASURED_WORLDS):
        world = emulated(scenario, scenario.draw("train", seed), LOCATIONS["central"])
        names = [f"path-{path:03d}" for path in range(scenario.paths)]
        delay_us = world.delay_us[:, :MEASURED_SLOTS].astype(np.int64)
        write_traces(MeasuredDelays(names, delay_us, "one-way delay, virtual time"), folder / f"world-{seed}", SCENARIO)


def tune(folder: Path) -> None:
    """Search the grid on replays of the traces, on the fitted scenario and on worlds of the scenario; write the choices to chosen.json."""
    slots = CALL_SLOTS // 2
    replay = Scenario("replay", "replay", slots, traces=str(folder))
    fitted = Scenario(str(folder.parent / "fitted.json"), MODE, slots)
    chosen = {}
    for name, scenario in (("measured", replay), ("fitted", fitted), ("true", Scenario(SCENARIO, MODE, slots))):
        draws = [scenario.draw("train", 100 + seed) for seed in range(TRAINING_CALLS)]
        found = [float(_each_r(scenario, _system(values), draws).mean()) for values in GRID]
        chosen[name] = GRID[int(np.argmax(found))]
        print(f"{name}: R {max(found):.2f} with {chosen[name]}, {found[GRID.index(PUBLISHED)]:.2f} with published values")
    (folder.parent / "chosen.json").write_text(json.dumps(chosen), encoding="utf-8")


def play(folder: Path, *seeds: str) -> None:
    """Play the chosen rules and the published values live on worlds that were neither measured nor tuned on; show R with earlier runs."""
    chosen: dict[str, Any] = json.loads((folder.parent / "chosen.json").read_text(encoding="utf-8"))
    chosen["published"] = PUBLISHED
    scenario, file = Scenario(SCENARIO, MODE, CALL_SLOTS), folder.parent / "played.json"
    policies = {name: of_system(_system(values)) for name, values in chosen.items()}
    calls = [(name, (policy, scenario.draw("validation", int(seed)))) for seed in seeds for name, policy in policies.items()]
    found: dict[str, list[float]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {name: [] for name in chosen}
    played = play_live(scenario, [call for _, call in calls], tones(2.0))
    for (name, _), call in zip(calls, played, strict=True):
        found[name].append(float(ratings_of(call.played.totals)[0]))
    p50, p99, longest = np.percentile(np.abs(np.concatenate([call.timer_error_us for call in played])), (50, 99, 100))
    print(f"error of arrival times p50 {p50:.0f}, p99 {p99:.0f}, maximum {longest:.0f} us, load {os.getloadavg()[0]:.1f}")
    file.write_text(json.dumps(found), encoding="utf-8")
    _print({name: np.array(by) for name, by in found.items()})


def simulate(folder: Path) -> None:
    """Play the chosen rules and the published values in the simulator on worlds of the scenario; show R and differences from the true."""
    chosen: dict[str, Any] = json.loads((folder.parent / "chosen.json").read_text(encoding="utf-8"))
    scenario = Scenario(SCENARIO, MODE, CALL_SLOTS)
    draws = [scenario.draw("validation", seed) for seed in range(SIMULATED_CALLS)]
    found = {name: _each_r(scenario, _system(values), draws) for name, values in (chosen | {"published": PUBLISHED}).items()}
    _print(found)


def _print(found: dict[str, NDArray[np.float64]]) -> None:
    for name, by in found.items():
        difference = by - found["true"]
        error = difference.std(ddof=1) / np.sqrt(len(by))
        print(f"{name}: R {by.mean():.2f} over {len(by)} worlds; minus true {difference.mean():+.2f}, error {error:.2f}")


def _system(values: Any) -> System:
    alpha, deviations, margin_ms = values
    return System(Greedy(margin_ms=margin_ms), AdaptiveEwma(alpha=alpha, deviations=deviations))


def _each_r(scenario: Scenario, system: System, draws: list[WorldDraw]) -> NDArray[np.float64]:
    batch = CallBatch(scenario, len(draws), system.path, system.playout)
    for row, draw in enumerate(draws):
        batch.start(row, draw)
    batch.play(np.arange(len(draws)))
    found: NDArray[np.float64] = ratings_of(batch.totals())
    return found


if __name__ == "__main__":
    main()
