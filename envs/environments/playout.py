"""Playout: the agent chooses the receiver's lag."""

from typing import Any, NamedTuple

from vcgym.baselines.controls.control import RECEIVER, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.rule import require_rule
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.paths import PathsVectorEnv

PATH = Direct()
LAG = in_place_of(Control.PLAYOUT, RECEIVER)
"""Placeholder of an agent at the receiver."""


class PlayoutVectorEnv(PathsVectorEnv):
    """Playout control: choose the watermark lag at a packet arrival, before the watermark moves, for `interval` arrivals.

    Observation: float32 features of the call (docs/envs.md), computed from the arrivals so far, including the current one; or, with
        ``observation="records"`` and ``interval=1``, that arrival as the only new record. A packet marked ``late`` is discarded for any
        action.
    Action: ``Discrete(8)``, a headroom above the newest delay, 5 ms * 32 ** (a / 7); discrete: ``Discrete(32)``, the lag on a log scale,
        10 ms * 100 ** (a / 31); continuous: ``Box(-1, 1, (1,))`` on the same scale. It takes effect at once.
    Reward: ``impairment`` (default), what is lost of R, summed over the 10-ms ticks of the clocked player since the last decision:
        -(Id(P) + 378.5 concealed) / 6000; or ``emodel``: (93.2 - Id(P) - 378.5 concealed) / 100; or ``event``: minus end-to-end delay in
        units of 100 ms per packet emitted, minus 10 per packet lost or late; or a reward object.
    End of episode: truncation after the last arrival; in that step the queue is flushed and the player plays to the end.
    Source: the receiver half of VCRoute (WMJitter, arXiv 2310.05054); the path is controlled by `path`, by default Direct.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        path: rule that sets the path.
        interval: arrivals for which a decision holds, >= 1.
        arguments: those of every environment over paths, docs/envs.md.
    """

    def __init__(self, num_envs: int = 1, path: NamedTuple = PATH, interval: int = 10, **arguments: Any) -> None:
        require_rule("path", path, Control.PATH)
        setters = {Control.PATH: path, Control.PLAYOUT: LAG}
        super().__init__(num_envs, setters, (Control.PLAYOUT,), interval, True, **arguments)


class PlayoutEnv(ScalarEnv):
    __doc__ = PlayoutVectorEnv.__doc__
    vector_class = PlayoutVectorEnv
