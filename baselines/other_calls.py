"""Rate rules of background calls: one class for several rules, so that one loop plays calls with different rules.

A `RateChoice` is a chain: it has one rule, and the rest of the chain. A row's number selects the rule: 1 is the first of the chain. A row
with number 0 keeps its start rate. Set a row's number in `which` before starting the row.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.rate.gcc.gcc import GccDraft, GccWebrtc
from vcgym.baselines.rate.nada.nada import Nada
from vcgym.baselines.rate.scream.scream_v1 import ScreamV1
from vcgym.baselines.rate.scream.scream_v2 import ScreamV2
from vcgym.baselines.rate.tfrc.tfrc import Tfrc
from vcgym.baselines.rule import (
    Control,
    allocate,
    decide,
    init,
    is_oracle,
    pacing,
    reads_marks,
    record,
    report_every_us,
    require_rule,
    rule,
    see_sender,
    update,
    wake_us,
    window_bytes,
)
from vcgym.network.kernels.generic import forward

NAMED: dict[str, Any] = {
    "gcc_webrtc": GccWebrtc(),
    "gcc_draft": GccDraft(),
    "tfrc": Tfrc(),
    "nada": Nada(),
    "scream_v1": ScreamV1(),
    "scream_v2": ScreamV2(),
    "nada_xmax": Nada(max_signal_ms=500.0),
}
"""Rules that a world may name (`vcgym.network.bottleneck.other_call.RATES`), with the constants of their sources."""


@record
class Start:
    """State of a call."""

    start_bps: float = 0.0


@rule(Control.RATE, learns=False, call=Start)
class StartRate(NamedTuple):
    """End of a chain: keeps the start rate of the call."""

    def init(self, call, start, key):
        call.start_bps = start.start_bps

    def decide(self, call, now_us):
        return np.int64(call.start_bps)


@rule(Control.RATE)
class RateChoice(NamedTuple):
    """A rate rule, and the choice among the rules after it."""

    number: int  # number of the rows that use `chosen`, >= 1
    chosen: Any  # parameters of a rate rule
    others: Any  # a `RateChoice` with greater numbers, or `StartRate`


class RateChoiceState(NamedTuple):
    """State of each rule of the chain; a row uses only the state of its own rule."""

    which: NDArray[np.int64]  # (rows,) number of each row's rule; one array for the whole chain
    chosen: Any
    others: Any


def rate_choice(more: Sequence[Any] = ()) -> RateChoice:
    """Return the choice among the rules of `NAMED` and, after them, the rules of `more`.

    Raises:
        ValueError: one of `more` is no rate rule, is an oracle, or has parameters out of range.
    """
    for params in more:
        require_rule("rate of an OtherCall", params, Control.RATE)
        if is_oracle(params):
            raise ValueError(f"rate of an OtherCall = {params!r}: allowed are rules that are no oracles")
    chain: Any = StartRate()
    rules = [*NAMED.values(), *more]
    for number in range(len(rules), 0, -1):
        chain = RateChoice(number, rules[number - 1], chain)
    return chain


def number_of(rate: Any, more: Sequence[Any] = ()) -> int:
    """Return the number of a background call's rule in `rate_choice(more)`; 0 for a fixed rate.

    Args:
        rate: a name, or one of the rules of `more` (the same object).
        more: as in `rate_choice`.

    Raises:
        ValueError: a rule that is not among `more`.
    """
    if isinstance(rate, str):
        return ("fixed", *NAMED).index(rate)
    places = [place for place, params in enumerate(more) if params is rate]
    if not places:
        raise ValueError(f"rate of an OtherCall = {rate!r}: allowed are names and the {len(more)} `rates` that the batch was made for")
    return 1 + len(NAMED) + places[0]


@allocate.register(RateChoice)
def _allocate(params, sessions, paths):
    others = allocate(params.others, sessions, paths)
    which = others.which if isinstance(others, RateChoiceState) else np.zeros(sessions, np.int64)
    return RateChoiceState(which, allocate(params.chosen, sessions, paths), others)


forward(
    RateChoice,
    "chosen",
    *(init, update, decide, see_sender, window_bytes, pacing, report_every_us, wake_us, reads_marks),
    when="state.which[s] == params.number",
    otherwise="others",
)
