"""Compare simulator and kernel: ``python -m lab.studies.live_kernel.table`` prints the table of lab/notes/live_kernel.md.

It needs root and takes about 20 minutes of real time, but little of a core.
"""

import itertools
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
from numpy.typing import NDArray

from lab.studies.live_kernel.comparison import KernelCase, MeasuredFlows, case, play, simulate
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.statistics.resampling import interval
from vcgym.network.bottleneck.sources import Audio

RATES_MBPS, QUEUES_MS = (2.0, 5.0, 10.0), (50.0, 200.0)
PAIRS = (("CUBIC", "CUBIC"), ("Reno", "CUBIC"), ("GCC-WEBRTC", "CUBIC"), ("UNMOD", "CUBIC"), ("SBPN2", "CUBIC"), ("FIXED", "CUBIC"))
"""First flow and second. Where both are TCP, a call of 40 kbit/s beside them measures the waiting time."""
SECONDS, FROM_S = 40.0, 10.0
RUNS, SEEDS, AT_ONCE = 4, 16, 6
HEADINGS = (
    "flows", "Mbit/s", "queue ms", "share %", "simulated", "diff. %", "wait ms", "simulated", "diff. %", "p95 ms", "simulated", "diff. %"
)  # fmt: skip


def case_of(first: str, second: str, mbps: float, queue_ms: float) -> KernelCase:
    """Return the case of a pair of flows; the call of FIXED has half of the rate."""
    if first in ("CUBIC", "Reno"):
        probe = case(load_system("FIXED"), mbps * 1e6, queue_ms, (first.lower(), second.lower()), SECONDS, FROM_S)
        return probe._replace(link=probe.link._replace(audio=Audio(100, 20.0), video=None))
    made = case(load_system(first), mbps * 1e6, queue_ms, (second.lower(),), SECONDS, FROM_S)
    return made._replace(system=made.system.replace(rate=FixedRate(500.0 * mbps))) if first == "FIXED" else made


def measures(runs: list[MeasuredFlows], alike: bool) -> NDArray[np.float64]:
    """Return (3, runs): share of the first flow, of equal flows of the smaller, in %; mean and 95th percentile of the wait in ms."""
    pairs = np.array([run.bps[-2:] for run in runs])
    shares = 100.0 * pairs / pairs.sum(axis=1, keepdims=True)
    return np.array([shares.min(axis=1) if alike else shares[:, 0], [run.mean_ms for run in runs], [run.p95_ms for run in runs]])


def row(of_case: tuple[str, str, float, float], kernel: list[MeasuredFlows]) -> list[str]:
    """Return a row of the table: each measure with its 95 % interval, of the kernel and of the simulator, and the difference."""
    first, second, mbps, queue_ms = of_case
    cells = [f"{first} beside {second}", f"{mbps:g}", f"{queue_ms:g}"]
    simulated = simulate(case_of(*of_case), SEEDS)
    for of_kernel, of_simulator in zip(measures(kernel, first == second), measures(simulated, first == second), strict=True):
        real, model = interval([of_kernel]), interval([of_simulator])
        cells += [f"{one.value:.1f} ± {one.high - one.value:.1f}" for one in (real, model)]
        cells.append(f"{100.0 * (model.value / real.value - 1.0):+.1f}")
    return cells


def main() -> None:
    """Play every case and print the table."""
    cases = [(*pair, mbps, queue_ms) for pair, mbps, queue_ms in itertools.product(PAIRS, RATES_MBPS, QUEUES_MS)]
    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        runs = [[pool.submit(play, case_of(*of_case)) for of_case in cases] for _ in range(RUNS)]
        kernel = [[of_run[number].result() for of_run in runs] for number in range(len(cases))]
    print(markdown_table(HEADINGS, [row(*both) for both in zip(cases, kernel, strict=True)], HEADINGS[:1]))


if __name__ == "__main__":
    main()
