"""Calls over measured time: how many of them count as independent.

Calls that are cut from the same traces overlap or touch: two of the same seconds say the same thing twice, and two of neighbouring
seconds much of it. What a call has of each trace, without the history before it, is a stretch of measured time. Each stretch is taken half
of its length further at both ends, and the results of two calls correlate by the share of what they then have in common, as with blocks of
two calls (Kuensch, The jackknife and the bootstrap for general stationary observations, Annals of Statistics 17, 1989: Bartlett weights;
Politis and Romano, The stationary bootstrap, JASA 89, 1994). So a mean over n calls has D times the variance of one over n independent
calls, with D the mean over calls of the sum of these shares, and n calls count as n / D (Kish, Survey Sampling, 1965, section 8.2), rounded
down: calls one after another as half of them. Where a call has several paths, D is that of the path whose stretches have most in common:
results that are sums of parts of single paths have no larger variance.

Blocks of one call would be enough if what is measured had no memory beyond a call; lab/notes/statistics.md compares the choices.

An interval over such calls covers other times of the same traces, not other traces. `coverage` has the simulated coverage.
"""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

Stretch = tuple[str, int, int]
"""Part of a trace: its name, and where it begins and ends, in any unit of time."""
Stretches = tuple[Stretch, ...]
"""Parts of the traces that one call plays; of a trace that is played in a circle there may be two."""


@lru_cache(maxsize=512)
def independent_calls(calls: tuple[Stretches, ...]) -> float:
    """Return the number of independent calls that these calls count as, 1 to their number; a call without stretches is independent."""
    roles = [list(dict.fromkeys(name for name, _, _ in call)) for call in calls]
    needed = [
        _shared(calls, [names[role] if role < len(names) else "" for names in roles]) for role in range(max(map(len, roles), default=0))
    ]
    return len(calls) / max([1.0, *(float(one) / len(calls) for one in needed)])


def _shared(calls: Sequence[Stretches], chosen: Sequence[str]) -> float:
    """Return the sum over pairs of calls of the share of the first one's stretch of its chosen trace that the second has or is near to."""
    total = float(sum(not name for name in chosen))
    for trace in {name for name in chosen if name}:
        of_trace = [(number, begin, end) for number, call in enumerate(calls) for name, begin, end in call if name == trace]
        number, begin, end = (np.array(column, np.int64) for column in zip(*of_trace, strict=True))
        near = (end - begin) / 2.0
        common = np.minimum((end + near)[:, None], end + near) - np.maximum((begin - near)[:, None], begin - near)
        of_calls = np.zeros((len(calls), len(calls)))
        np.add.at(of_calls, (number[:, None], number), np.maximum(common, 0.0))
        own = np.array([name == trace for name in chosen])
        length = np.bincount(number, end - begin, len(calls))[own]
        total += float(np.minimum(of_calls[own] / (2.0 * length[:, None]), 1.0).sum())
    return total
