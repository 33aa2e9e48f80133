"""Environments over paths: Relay, where the agent chooses the path; Playout, the lag; Call, both, and what else of a call no rule sets."""

from typing import Any

from vcgym.baselines.controls.control import BOTTLENECK, CONTROLS, PATHS, PROTECTED, Control
from vcgym.baselines.rule import require_rule
from vcgym.envs.call.batch import MAX_BUDGET
from vcgym.envs.call.sender.no_uplink import NO_UPLINK, SenderStages
from vcgym.envs.environments.scalar import ScalarEnv
from vcgym.envs.environments.vector.paths import PathsVectorEnv
from vcgym.envs.environments.vector.settings import GROUPS, CallSettings, PlayoutSettings, RelaySettings, taken
from vcgym.network.kernels.ranges import require_number
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.scenario import Scenario


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

    settings = GROUPS["Relay"]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        own = taken(RelaySettings, arguments)
        require_rule("playout", own.playout, Control.PLAYOUT)
        super().__init__(num_envs, {Control.PATH: None, Control.PLAYOUT: own.playout}, own.interval, False, **arguments)


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

    settings = GROUPS["Playout"]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        own = taken(PlayoutSettings, arguments)
        require_rule("path", own.path, Control.PATH)
        super().__init__(num_envs, {Control.PATH: own.path, Control.PLAYOUT: None}, own.interval, True, **arguments)


class CallVectorEnv(PathsVectorEnv):
    """Joint control of a call: path and lag, with `uplink` also rate and order, every `interval` slots of 10 ms, by default centrally.

    Observation: float32 features (docs/envs.md: name, unit, range, age), computed from the records that have reached the location; with an
        uplink also features of the sender, delayed by the travel time of a command to it. With ``observation="records"``, a dict of the new
        records (512, 8) int64, their count, the history (paths, 3), a key and the slot. If the agent sets the protection, features also
        say what was lost, and what the budget still holds.
    Action: ``Discrete(16)``: a // 8 stays or takes the other path with the smallest expected delay, a % 8 is a headroom above the newest
        delay, 5 ms * 32 ** (a % 8 / 7). Further controls are further digits of the number, the last one counting fastest: with an uplink
        the target bitrate, 32 levels on a log scale from the call's minimum to its maximum, and the scheduler: first in, first out; SBPN2;
        audio first. With ``protection=None`` the protection: none; a copy of each packet on another path; copies where there is reason for
        them (COPY-HELD); one earlier frame in each packet; three; a repair packet for each four. Discrete: ``MultiDiscrete([paths, 32])``,
        a column for each control: the path, and the lag on a log scale, 10 ms * 100 ** (a / 31). Continuous: ``Box(-1, 1)`` with a score
        per path, the lag, the rate, and a score per scheduler and per protection; the largest score wins. Controls set by rules are left
        out. Commands reach sender and receiver after their parts of the control delay; the first one belongs to call set-up and takes
        effect at once.
    Reward: ``impairment`` (default), what is lost of R, summed over the 10-ms ticks of the clocked player since the last decision:
        -(Id(P) + 378.5 concealed) / 6000; or ``emodel``: (93.2 - Id(P) - 378.5 concealed) / 100; or ``event``: minus end-to-end delay in
        units of 100 ms per packet emitted, minus 10 per packet lost or late; or a reward object. With an uplink, plus 0.25 per video packet
        on time, given when it and all packets sent before it have arrived.
    End of episode: truncation at the end of the call (6,000 slots, 120 steps); packets at the sender or in flight are counted in the last
        step.
    Source: VCRoute with WMJitter (arXiv 2310.05054), one agent for both; the uplink's controls are those of GCC, and of SBPN over TFRC.

    Args:
        num_envs: number of calls played in parallel, >= 1.
        interval: slots between decisions, >= 1.
        path: rule that sets the path; None: the agent does.
        playout: rule that sets the lag or target; None: the agent does.
        uplink: scenario of a bottleneck before the paths, see docs/worlds.md; None: packets leave at once.
        rate: with an uplink, rule that sets the rate; None: the agent does.
        order: with an uplink, scheduler; None: the agent selects one.
        pacing: with an uplink, transmission opportunities per packet time at the target; 0: spaced by the mean packet size at the target.
        protection: rule that sets the protection; None: the agent does; False: packets leave unprotected. False with an uplink.
        protection_budget: bytes that protection may add, as a share of those without it; 0 to 100.
        frame_ms: duration of the frame of a packet, 10, 20 or 40; a packet leaves when its frame is complete. 10 with an uplink.
        arguments: those of every environment over paths, docs/envs.md.
    """

    settings = GROUPS["Call"]

    def __init__(self, num_envs: int = 1, **arguments: Any) -> None:
        own = taken(CallSettings, arguments)
        rules = {Control.PATH: own.path, Control.PLAYOUT: own.playout}
        rules |= {} if own.protection is False else {Control.PROTECTION: own.protection}
        require_number("protection_budget", own.protection_budget, 0.0, MAX_BUDGET)
        _require_agent(own.uplink, {**rules, Control.RATE: own.rate, Control.ORDER: own.order})
        self.budget, self.frame_ms = own.protection_budget, own.frame_ms
        self._uplink, self._logs = own.uplink, bool(arguments.get("log"))
        self._sender = {"rate": own.rate, "order": own.order, "pacing": own.pacing}
        super().__init__(num_envs, rules, own.interval, False, **arguments)

    def _make_uplink(self, sessions: int, scenario: Scenario) -> SenderStages:
        if self._uplink is None:
            return NO_UPLINK
        if len(self.kinds) > 1:
            raise ValueError(f"scenario = {', '.join(self.kinds)} with uplink {self._uplink!r}: allowed is one kind of worlds")
        from vcgym.envs.call.sender.uplink import (  # imported here: other calls of a bottleneck load every rate rule
            LOG_PACKETS,
            UplinkBatch,
        )

        logged: dict[str, Any] = {"log_packets": LOG_PACKETS, "seconds": scenario.packets * SLOT_US * 1e-6} if self._logs else {}
        keeps_order, data = scenario.mode == "correlated", scenario.settings.data
        return UplinkBatch(sessions, scenario.paths, self._uplink, keeps_order=keeps_order, data=data, **logged, **self._sender)


def _require_agent(uplink: Any, rules: dict[Control, Any]) -> None:
    """Reject values that are no rules, rules for controls that the call lacks, and calls without a control for the agent."""
    if Control.PROTECTION in rules and uplink is not None:
        raise ValueError(f"protection = {rules[Control.PROTECTION]!r}: allowed is False with an uplink")
    for control, rule in rules.items():
        if rule is not None and CONTROLS[control].part == BOTTLENECK and uplink is None:
            raise ValueError(f"{control} = {rule!r}: allowed is None without an uplink")
        if rule is not None:
            require_rule(control, rule, control)
    there = [control for control in rules if uplink is not None or CONTROLS[control].part in (PATHS, PROTECTED)]
    if all(rules[control] is not None for control in there):
        raise ValueError(f"{', '.join(there)} are all set by rules: allowed is at least one None, set by the agent")


class RelayEnv(ScalarEnv):
    vector_class = RelayVectorEnv


class PlayoutEnv(ScalarEnv):
    vector_class = PlayoutVectorEnv


class CallEnv(ScalarEnv):
    vector_class = CallVectorEnv
