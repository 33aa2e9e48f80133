"""Plans and path changes are counted as in the paper, relative to the sent packets."""

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

import vcgym.envs  # noqa: F401  (registers the ids)

PACKETS = 30_000
CHANGES = np.array([447, 34_020 // 20])  # the second in a twentieth of the paper's call


def test_shares_as_printed():
    """R7: 447 plans in 30,000 packets are 1.49 %; 34,020 path changes in 600,000 are 5.67 %."""
    env = gymnasium.make_vec(
        "vcgym/Relay-v1", num_envs=2, interval=1, mode="paper", packets=PACKETS, location="sender", probe_rate=0.0,
        observation="records", action="exact", autoreset_mode=AutoresetMode.DISABLED,
    ).unwrapped  # fmt: skip
    env.reset(seed=[3, 4])
    for slot in range(PACKETS):
        env.step(slot * (CHANGES + 1) // PACKETS % 2)
    totals = env.batch.totals()
    np.testing.assert_array_equal(totals.plans_sent, CHANGES)
    np.testing.assert_array_equal(totals.path_changes, CHANGES)
    assert np.round(100.0 * totals.path_changes / PACKETS, 2).tolist() == [1.49, 5.67]
