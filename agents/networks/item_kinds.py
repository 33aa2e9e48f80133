"""The sets of items that environments show, and the linear rule near which a network over each begins.

A random path or packet every few milliseconds is all disturbance, so a policy starts near a sensible rule: the skip connection begins as
the rule below, everything else near zero, and both are learned on.

Paths: stay unless another path is much faster, or lost much less before the call.
Queue: near SBPN2. Audio first; what would come too late is thrown away, unless it is alone. Other than SBPN2 the newest goes first, which
has the best chance to be in time, and video makes room for audio with less than half of its time to spare.
"""

from typing import NamedTuple

STAY, AVOID_PER_100_MS = 6.0, 12.0  # logits
AVOID_PER_PERCENT = 1.5 * AVOID_PER_100_MS  # 1 % concealed costs as much as 152 ms (E-model, slope at zero)
_AUDIO, _NEWER, _LATE, _ALONE = 15.0, 15.0, 30.0, 30.0  # logits
_MARGIN = 0.5  # expiry times that video has to spare, or it makes room


class ItemKind(NamedTuple):
    """Kind of item.

    Attributes:
        scores: outputs per item.
        selected: name of the feature that marks the selected item, if any.
        mask: name of the feature that is 1 for an item that is present, if any.
        rule: for each score, the initial weight of the named features in the skip connection; 0 for others.
    """

    scores: int
    selected: str | None
    mask: str | None
    rule: tuple[dict[str, float], ...]


UNKNOWN = ItemKind(scores=1, selected=None, mask=None, rule=({},))  # items of an environment from outside

ITEM_KINDS = {
    "paths": ItemKind(
        scores=1,
        selected="commanded",
        mask=None,
        rule=({"commanded": STAY, "excess_over_best": -AVOID_PER_100_MS, "history_missing": -AVOID_PER_PERCENT},),
    ),
    "queue": ItemKind(
        scores=2,  # to send it, to throw it away
        selected=None,
        mask="present",
        rule=(
            {"audio": _AUDIO, "age": -_NEWER},
            {"audio": _AUDIO - _MARGIN * _LATE, "age": -_NEWER, "to_spare": -_LATE, "alone": -_ALONE, "present": _MARGIN * _LATE},
        ),
    ),
}


def item_kind(name: str) -> ItemKind:
    """Return the kind of the items of a part of an observation; `UNKNOWN` for a part that is not of this project."""
    return ITEM_KINDS.get(name, UNKNOWN)
