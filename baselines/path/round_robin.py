"""Round robin: the paths in turn, one step per decision (not per slot, so that a slow controller still visits every path)."""

from typing import NamedTuple

from vcgym.baselines.rule import Control, record, rule


@record
class Call:
    turn: int = 0
    paths: int = 0


@rule(Control.PATH, learns=False, call=Call)
class RoundRobin(NamedTuple):
    def init(self, call, start, key):
        call.paths = start.mean_ms.size

    def decide(self, call, now_us):
        path = call.turn
        call.turn = (path + 1) % call.paths
        return path
