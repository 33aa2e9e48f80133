"""Relay: the agent chooses the path."""

from typing import Any, NamedTuple

from vcgym.baselines.receivers.wmjitter import WMJitter
from vcgym.baselines.rule import Control, require_rule
from vcgym.envs.call.controllers import Agent
from vcgym.envs.faces.scalar import ScalarEnv
from vcgym.envs.faces.vector.paths import Controls, PathsVectorEnv

RECEIVER = WMJitter()


class RelayVectorEnv(PathsVectorEnv):
    """Path selection: choose the relay path of a call every `interval` packets, by default at a central location.

    Observation: float32 features (docs/envs.md: name, unit, range, age), computed from the records that have reached the location; or,
        with ``observation="records"``, a dict of the new records (512, 8) int64, their count, the history (paths, 3), a key and the slot.
    Action: ``Discrete(paths)``; continuous: ``Box(-1, 1, (paths,))``, the largest score wins. The command reaches the sender after the part
        of the control delay between location and sender; the first one belongs to call set-up and takes effect at once.
    Reward: ``emodel`` (default), summed over the 10-ms ticks of the clocked player since the last decision:
        (93.2 - Id(P) - 378.5 concealed) / 100; or ``event``: minus end-to-end delay in units of 100 ms per packet emitted, minus 10 per
        packet lost or late; or a reward object.
    End of episode: truncation at the end of the call (6,000 packets, 600 steps); packets in flight are counted in the last step.
    Source: the routing half of VCRoute (arXiv 2310.05054); `receiver` controls the lag, by default WMJitter of the same paper.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        receiver: rule that sets the lag.
        interval: packets between decisions, >= 1.
        arguments: those of every environment over paths, docs/envs.md.
    """

    def __init__(self, num_envs: int = 1, receiver: NamedTuple = RECEIVER, interval: int = 10, **arguments: Any) -> None:
        require_rule("receiver", receiver, Control.LAG, Control.TARGET)
        controls = Controls(path=True, lag=False, at_arrivals=False, interval=interval)
        super().__init__(num_envs, controls, Agent(interval), receiver, **arguments)


class RelayEnv(ScalarEnv):
    __doc__ = RelayVectorEnv.__doc__
    vector_class = RelayVectorEnv
