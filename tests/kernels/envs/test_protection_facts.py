"""Protection in a call meets the closed forms: what is left of losses, how long repair takes, and how many bytes go beyond the plain ones.

p is the loss; after a lost packet of a path the next one arrives with chance q (Gilbert). The numbers are computed by hand from

    RED with n frames   p^(n + 1), in runs p (1 - q)^n      a frame d slots back   p (p + (1 - p) (1 - q / (1 - p))^d)
    copies              the product of the paths' losses    MDS (n, k)             p P[Bin(n - 1, p) >= n - k]
"""

import hashlib
from functools import partial

import numpy as np
import pytest

from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.fixed_lag import FixedLag
from vcgym.baselines.protection.fixed import FixedCopies, FixedProtection
from vcgym.baselines.protection.several import BothProtections
from vcgym.envs.call.batch import CallBatch
from vcgym.network.playout.packet_size import PLAIN, earlier_bytes, repair_bytes
from vcgym.network.scenarios.recipe import Layout, Recipe
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.worlds.model import LinkWorld
from vcgym.network.worlds.paper import Paper
from vcgym.network.worlds.quantiles import TABLE_POINTS

CALLS, PACKETS, DELAY_MS = 100, 6000, 20.0


class Lossy(Recipe):
    """Three paths with the same constant delay that lose packets."""

    modes = ("paper",)

    def __init__(self, settings, loss=0.0):
        self.strata, self.loss = {"independent": 1.0}, loss
        self.layout = Layout(("a", "b", "c"), np.arange(3)[:, None], hashlib.sha256(b"lossy").hexdigest())

    def pairs(self, split):
        return ["here-there"]

    def world(self, sessions):
        return LinkWorld(Paper(), sessions, self.layout.path_links)

    def parameters(self, split, pair, stratum, draws):
        return {"quantiles_ms": np.full((3, TABLE_POINTS), DELAY_MS), "loss": np.full(3, self.loss)}


def played(loss, protection, q=None):
    """Return finished calls; q None: independent losses."""
    scenario = Scenario(partial(Lossy, loss=loss), "paper", PACKETS, loss_run_slots=1.0 if q is None else (1.0 - loss) / q)
    batch = CallBatch(scenario, CALLS, Direct(), FixedLag(400.0), log=True, protection=protection)
    for row in range(CALLS):
        batch.start(row, scenario.draw("train", row))
    batch.play(np.arange(CALLS))
    return batch.played()


ONE, TWO, THREE = 0b10, 0b110, 0b1110


@pytest.mark.parametrize(
    ("loss", "q", "protection", "left"),
    [
        (0.1, None, FixedProtection(earlier=ONE), 0.01),
        (0.1, None, FixedProtection(earlier=TWO), 0.001),
        (0.02, 0.25, FixedProtection(earlier=ONE), 0.015),
        (0.02, 0.25, FixedProtection(earlier=TWO), 0.01125),
        (0.02, 0.25, FixedProtection(earlier=THREE), 0.0084375),
        (0.02, 0.25, FixedProtection(earlier=1 << 2), 0.011276),
        (0.02, 0.25, FixedProtection(earlier=1 << 10), 0.001431),
        (0.02, 0.25, FixedProtection(earlier=1 << 2 | 1 << 4), 0.006357),  # simulated by the fact sheet
        (0.1, None, FixedCopies(), 0.01),
        (0.1, None, FixedCopies(copies=2), 0.001),
        (0.02, 0.25, FixedCopies(after=3), 0.0004),
        (0.1, None, FixedProtection(repair=1, covers=2), 0.019),
        (0.1, None, FixedProtection(repair=1, covers=4), 0.03439),
        (0.1, None, FixedProtection(repair=2, covers=4), 0.008146),
        (0.1, None, FixedProtection(repair=2, covers=8), 0.022516),
        (0.02, 0.25, FixedProtection(repair=1, covers=4), 0.017841),
        (0.02, 0.25, FixedProtection(repair=2, covers=8), 0.015937),
    ],
)  # fmt: skip
def test_what_is_left_of_losses(loss, q, protection, left):
    outcome = played(loss, protection, q)
    of_calls = np.mean(outcome.arrived_us[:, :-20] < 0, axis=1)  # the last packets have no successors
    error = of_calls.std(ddof=1) / np.sqrt(CALLS)
    assert of_calls.mean() == pytest.approx(left, abs=4.0 * error + 1e-6)
    assert error < 0.1 * left + 1e-4
    lost = outcome.protection["lost"] / PACKETS
    assert lost.mean() == pytest.approx(loss, abs=4.0 * lost.std(ddof=1) / np.sqrt(CALLS))


def test_how_long_a_repair_takes():
    # Given repair, j slots with chance p^(j - 1) (1 - p) / (1 - p^n): 10.909 ms for n = 2, p = 0.1.
    outcome = played(0.1, FixedProtection(earlier=TWO))
    repaired_ms = (outcome.arrived_us - 10_000 * np.arange(PACKETS)) / 1000.0 - DELAY_MS
    waits = repaired_ms[(outcome.arrived_us >= 0) & (repaired_ms > 0.0)]
    assert waits.mean() == pytest.approx(10.909, abs=0.05)
    # The repair packet leaves one slot after the fourth packet, so the i-th waits for (5 - i) slots.
    blocks = played(0.02, FixedProtection(repair=1, covers=4))
    waits = ((blocks.arrived_us - 10_000 * np.arange(PACKETS)) / 1000.0 - DELAY_MS)[blocks.arrived_us >= 0]
    assert waits[waits > 0.0].mean() == pytest.approx(25.0, abs=0.5)
    assert waits.max() == pytest.approx(40.0)


@pytest.mark.parametrize(
    ("protection", "bytes_of_packet"),
    [
        (FixedProtection(earlier=ONE), 205.0), (FixedProtection(earlier=TWO), 289.0), (FixedProtection(earlier=THREE), 373.0),
        (FixedProtection(repair=1, covers=4), 120.0 + 140.0 / 4.0), (FixedCopies(), 240.0),
        (BothProtections(FixedProtection(earlier=ONE), FixedCopies()), 410.0),
    ],
)  # fmt: skip
def test_bytes(protection, bytes_of_packet):
    extra = played(0.0, protection).protection["extra_bytes"]
    assert PLAIN + extra.max() / PACKETS == pytest.approx(bytes_of_packet, rel=1e-3)
    assert extra.min() == extra.max()


def test_sizes_of_the_fact_sheet():
    assert PLAIN == 120 and earlier_bytes(0) == 85 and earlier_bytes(2) == 84
    assert [repair_bytes(covered, PLAIN) for covered in (4, 15, 16, 46, 47)] == [140, 140, 144, 144, 152]
