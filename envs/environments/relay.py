"""Relay: the agent chooses the path."""

from typing import Any, NamedTuple

from vcgym.baselines.controls.control import CENTRAL, Control
from vcgym.baselines.from_agent import in_place_of
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rule import require_rule
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.paths import PathsVectorEnv

PLAYOUT = WMJitter()


class RelayVectorEnv(PathsVectorEnv):
    """Path selection: choose the relay path of a call every `interval` packets, by default at a central location.

    Observation: float32 features (docs/envs.md: name, unit, range, age), computed from the records that have reached the location; or,
        with ``observation="records"``, a dict of the new records (512, 8) int64, their count, the history (paths, 3), a key and the slot.
    Action: ``Discrete(2)``, 0 stays and 1 takes the other path with the smallest expected delay; discrete: ``Discrete(paths)``; continuous:
        ``Box(-1, 1, (paths,))``, the largest score wins. The command reaches the sender after the part of the control delay between
        location and sender; the first one belongs to call set-up and takes effect at once.
    Reward: ``impairment`` (default), what is lost of R, summed over the 10-ms ticks of the clocked player since the last decision:
        -(Id(P) + 378.5 concealed) / 6000; or ``emodel``: (93.2 - Id(P) - 378.5 concealed) / 100; or ``event``: minus end-to-end delay in
        units of 100 ms per packet emitted, minus 10 per packet lost or late; or a reward object.
    End of episode: truncation at the end of the call (6,000 packets, 60 steps); packets in flight are counted in the last step.
    Source: the routing half of VCRoute (arXiv 2310.05054); `playout` controls the lag, by default WMJitter of the same paper.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        playout: rule that sets the lag or target.
        interval: packets between decisions, >= 1.
        arguments: those of every environment over paths, docs/envs.md.
    """

    def __init__(self, num_envs: int = 1, playout: NamedTuple = PLAYOUT, interval: int = 100, **arguments: Any) -> None:
        require_rule("playout", playout, Control.PLAYOUT)
        setters = {Control.PATH: in_place_of(Control.PATH, CENTRAL), Control.PLAYOUT: playout}
        super().__init__(num_envs, setters, (Control.PATH,), interval, False, **arguments)


class RelayEnv(ScalarEnv):
    __doc__ = RelayVectorEnv.__doc__
    vector_class = RelayVectorEnv
