"""Effect of an agent that chooses the law of a rate: SCReAM v2, NADA or an aim for the queue.

Both rules, with tuned parameters, learn from all reports and decide at each as if they drove. The law that drives sets the target at each
report, the pacing, the window and the interval of reports: a rule as it does alone, an aim as in `vcgym.envs.call.sender.effects`, from the
target in force. An agent is asked again at the first report from `due_us` on.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.from_agent import follow, is_asked, see_reports
from vcgym.baselines.rule import (
    NEVER_US,
    allocate,
    decide,
    init,
    pacing,
    reads_marks,
    report_every_us,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.baselines.systems import load_system
from vcgym.envs.call.features.layout import Feature, compressed, rate_position
from vcgym.envs.call.features.stretch import STRETCH_FEATURES, STRETCH_WIDTH, Stretch, end_stretch, learn_stretch, write_stretch
from vcgym.envs.call.sender.effects import MAX_AIM_MS, MIN_AIM_MS, aimed_bps
from vcgym.network.kernels.jit import kernel
from vcgym.network.kernels.record import record, records, restart

SCREAM, NADA, AIM = LAWS = range(3)
SYSTEMS = "SCREAM-V2-rate-tuned", "NADA-rate-tuned"
LAW_FEATURES = (
    *STRETCH_FEATURES,
    Feature("scream_above", "2 natural logarithms, SCReAM's target over that in force, compressed", -1, 1, "report_age", 2.0),
    Feature("nada_above", "2 natural logarithms, NADA's target over that in force, compressed", -1, 1, "report_age", 2.0),
    Feature("nada_drives", "1 if NADA drives", 0, 1, "0"),
    Feature("aim_drives", "1 if an aim drives", 0, 1, "0"),
    Feature("aim", "position of the aim on its log scale, -1 to 1", -1, 1, "0"),
)


class Laws(NamedTuple):
    """Effect: the rules, and the pacing factor of the call with NADA, which scales it; SCReAM has its own."""

    scream: Any
    nada: Any
    nada_pacing: float

    @classmethod
    def tuned(cls) -> Self:
        """Return the laws with the rules of `SYSTEMS`."""
        scream, nada = map(load_system, SYSTEMS)
        return cls(scream.rate, nada.rate, float(nada.pacing or 0.0))


@record
class Chosen:
    """State of a session: the choice of the agent, sums over reports, and the targets of all laws."""

    stretch: Stretch
    law: int = SCREAM
    aim_ms: float = MIN_AIM_MS
    due_us: int = 0  # next decision
    followed_us: int = 0  # `due_us` of the decision that is in force
    target_bps: float = 0.0
    min_bps: float = 0.0
    max_bps: float = 0.0
    of_laws_bps: NDArray[np.float64] = np.zeros(len(LAWS))  # their targets


class LawsState(NamedTuple):
    """States of the rules, and of the agent's choice."""

    scream: Any
    nada: Any
    chosen: NDArray[np.void]


_NEW = records(Chosen, 1)


@allocate.register(Laws)
def _allocate(params, sessions, paths):
    return LawsState(allocate(params.scream, sessions, paths), allocate(params.nada, sessions, paths), records(Chosen, sessions))


@init.register(Laws)
def _init(params, state, s, start, key):
    init(params.scream, state.scream, s, start, key)
    init(params.nada, state.nada, s, start, key)
    restart(state.chosen[s : s + 1], _NEW)
    chosen = state.chosen[s]
    chosen.target_bps = start.start_bps
    chosen.of_laws_bps[:] = start.start_bps
    chosen.min_bps, chosen.max_bps = start.min_bps, start.max_bps


@update.register(Laws)
def _update(params, state, s, record):
    update(params.scream, state.scream, s, record)
    update(params.nada, state.nada, s, record)
    learn_stretch(state.chosen[s].stretch, record)


@see_sender.register(Laws)
def _see_sender(params, state, s, status):
    see_sender(params.scream, state.scream, s, status)
    see_sender(params.nada, state.nada, s, status)


@see_reports.register(Laws)
def _see_reports(params, state, s, stats):
    chosen = state.chosen[s]
    chosen.of_laws_bps[AIM] = aimed_bps(stats, chosen.target_bps, chosen.aim_ms)


@is_asked.register(Laws)
def _is_asked(params, state, s, now_us):
    return now_us >= state.chosen[s].due_us


@follow.register(Laws)
def _follow(params, state, s, now_us):
    chosen = state.chosen[s]
    if chosen.due_us > chosen.followed_us:
        if now_us > 0:  # nothing comes before the first decision
            end_stretch(chosen.stretch, now_us)
        chosen.followed_us = chosen.due_us
    chosen.of_laws_bps[SCREAM] = decide(params.scream, state.scream, s, now_us)
    chosen.of_laws_bps[NADA] = decide(params.nada, state.nada, s, now_us)
    chosen.target_bps = min(max(chosen.of_laws_bps[chosen.law], chosen.min_bps), chosen.max_bps)
    return chosen.target_bps


@window_bytes.register(Laws)
def _window_bytes(params, state, s):
    return window_bytes(params.scream, state.scream, s) if state.chosen[s].law == SCREAM else np.int64(NEVER_US)


@wake_us.register(Laws)
def _wake_us(params, state, s):
    return wake_us(params.scream, state.scream, s) if state.chosen[s].law == SCREAM else np.int64(NEVER_US)


@reads_marks.register(Laws)
def _reads_marks(params, state, s):
    return reads_marks(params.scream, state.scream, s)


@pacing.register(Laws)
def _pacing(params, state, s, default):
    if state.chosen[s].law == SCREAM:
        return pacing(params.scream, state.scream, s, default)
    return pacing(params.nada, state.nada, s, params.nada_pacing) if state.chosen[s].law == NADA else default


@report_every_us.register(Laws)
def _report_every_us(params, state, s, default_us):
    if state.chosen[s].law == SCREAM:
        return report_every_us(params.scream, state.scream, s, default_us)
    return report_every_us(params.nada, state.nada, s, default_us) if state.chosen[s].law == NADA else default_us


@kernel
def observe_laws(senders, state, which, out):
    """Write LAW_FEATURES of each session in `which`, which is asked, into its row of `out`, float32 (sessions, features)."""
    for s in which:
        chosen, row = state.chosen[s], out[s]
        write_stretch(chosen.stretch, chosen.target_bps, senders[s].now_us, row)
        for i in range(STRETCH_WIDTH):
            row[i] = compressed(row[i])
        for one in (SCREAM, NADA):
            row[STRETCH_WIDTH + one] = compressed(2.0 * np.log(chosen.of_laws_bps[one] / chosen.target_bps))
        row[STRETCH_WIDTH + 2] = 1.0 if chosen.law == NADA else 0.0
        row[STRETCH_WIDTH + 3] = 1.0 if chosen.law == AIM else 0.0
        row[STRETCH_WIDTH + 4] = rate_position(chosen.aim_ms, MIN_AIM_MS, MAX_AIM_MS)
