"""Call: the agent chooses path and lag."""

from typing import Any

from vcgym.envs.levers import Agent, Commanded
from vcgym.envs.scalar import ScalarEnv
from vcgym.envs.vector import Held, LeverVectorEnv


class CallVectorEnv(LeverVectorEnv):
    """Path and lag of a call together, decided every `interval` packets, by default at a central place.

    Observation: as of Relay: float32 features (docs/envs.md) of the records that have reached the place, or the records themselves.
    Action: ``MultiDiscrete([paths, 32])``: the path, and the lag on a log scale, 10 ms * 100 ** (a / 31); continuous:
        ``Box(-1, 1, (paths + 1,))``, the largest of the scores wins, the last value is the lag on the same scale. Commands reach sender and
        receiver after the parts of the control delay that lie between them and the place; the first one belongs to call set-up and holds
        at once.
    Reward: as of Relay: ``emodel`` (default) or ``event``.
    End of episode: truncation when the call is over (6,000 packets, 600 steps); what is in flight is settled in the last step.
    Source: VCRoute with WMJitter (arXiv 2310.05054), both levers in one hand.
    """

    def __init__(self, num_envs: int = 1, interval: int = 10, **arguments: Any) -> None:
        super().__init__(num_envs, Held(path=True, level=True, at_arrivals=False), Agent(interval), Commanded(), **arguments)


class CallEnv(ScalarEnv):
    __doc__ = CallVectorEnv.__doc__
    vector_class = CallVectorEnv
