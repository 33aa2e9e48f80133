"""Other software measured in the same run: CartPole in two vector environments, a SimPy forwarder, and DRT-WM in plain Python."""

import importlib.util
from collections.abc import Generator, Iterator
from typing import Any

import gymnasium
import numpy as np

from lab.bench.measure import Absent, Effort, Measurement, median_ratio, rate
from lab.bench.packets import CALLS, PACKETS, SYSTEMS, calls
from lab.bench.plain import forward
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.world import blocks

NUM_ENVS = 64
STEPS = 500
TWO_HOPS_S = (0.050, 0.080)


def sync_vector_cartpole(effort: Effort) -> Iterator[Measurement]:
    """Yield the steps per second of 64 CartPoles in gymnasium's SyncVectorEnv."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=NUM_ENVS, vectorization_mode="sync")
    yield _cartpole("sync_vector_cartpole_64", envs, effort)
    envs.close()


def envpool_cartpole(effort: Effort) -> Iterator[Measurement | Absent]:
    """Yield the steps per second of 64 CartPoles in EnvPool, which steps them in C++ on its own threads."""
    if importlib.util.find_spec("envpool") is None:
        yield Absent("envpool_cartpole_64", "envpool is not installed")
        return
    import envpool

    envs = envpool.make_gymnasium("CartPole-v1", num_envs=NUM_ENVS, num_threads=2)
    yield _cartpole("envpool_cartpole_64", envs, effort, threads=2)
    envs.close()


def _cartpole(name: str, envs: gymnasium.vector.VectorEnv, effort: Effort, threads: int = 1) -> Measurement:
    actions = np.random.default_rng(0).integers(0, 2, (effort.part(STEPS), NUM_ENVS))
    envs.reset()

    def run() -> None:
        for action in actions:
            envs.step(action)

    return rate(name, "steps/s", actions.size, run, effort, threads)


def simpy_two_hops(effort: Effort) -> Iterator[Measurement | Absent]:
    """Yield the packets per second of a SimPy model with one process per packet, which waits for two hops and is counted."""
    if importlib.util.find_spec("simpy") is None:
        yield Absent("simpy_two_hops", "simpy is not installed: pip install simpy")
        return
    import simpy

    packets = effort.part(PACKETS)

    def run() -> None:
        world, arrived = simpy.Environment(), []

        def packet(number: int) -> Generator[simpy.Event, Any, None]:
            for hop_s in TWO_HOPS_S:
                yield world.timeout(hop_s)
            arrived.append((number, world.now))

        def sender() -> Generator[simpy.Event, Any, None]:
            for number in range(packets):
                world.process(packet(number))
                yield world.timeout(0.010)

        world.process(sender())
        world.run()

    yield rate("simpy_two_hops", "packets/s/core", packets, run, effort)


def plain_python(effort: Effort) -> Iterator[Measurement]:
    """Yield the packets per second of DRT-WM in plain Python."""
    delays_us = _delays_of_the_direct_path(effort)
    yield rate("plain_python_drt_wm", "packets/s/core", len(delays_us), lambda: forward(delays_us), effort)


def over_plain_python(effort: Effort) -> Iterator[Measurement]:
    """Yield the ratio of packets per second, compiled loop to plain Python, of DRT-WM on the same kind of worlds."""
    delays_us = _delays_of_the_direct_path(effort)
    scenario, sessions = Scenario("wonderproxy", "paper", len(delays_us)), effort.part(CALLS, minimum=2)
    fast = calls(SYSTEMS["drt_wm"], scenario, sessions)
    yield median_ratio(
        "drt_wm_over_plain_python", (len(delays_us), lambda: forward(delays_us)), (sessions * scenario.packets, fast), effort
    )  # fmt: skip


def _delays_of_the_direct_path(effort: Effort) -> list[int]:
    packets = effort.part(PACKETS)
    scenario = Scenario("wonderproxy", "paper", packets)
    world = scenario.world(1)
    world.start(0, scenario.draw("train", 0))
    delays_us: list[int] = np.concatenate([block[0] for block in blocks(world, packets)]).tolist()
    return delays_us[:packets]
