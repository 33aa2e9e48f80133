"""The kinds of items in observations, and the linear rule to which a network over each kind is initialised.

A random path or packet every few milliseconds would only disturb the call, so a policy starts near a heuristic: the skip connection is
initialised to the rule below, everything else near zero, and both are trained.

Paths: stay unless another path is much faster, or has lost much less before the call.
Queue: similar to SBPN2. Audio goes first; a packet that would arrive too late is dropped, unless it is the only one. Unlike SBPN2, the
newest packet goes first, because it has the best chance to arrive in time, and video yields to audio that has less than half of its time
left.
"""

from typing import NamedTuple

STAY, AVOID_PER_100_MS = 6.0, 12.0  # logits
AVOID_PER_PERCENT = 1.5 * AVOID_PER_100_MS  # 1 % concealed costs as much as 152 ms (E-model, slope at zero)
_AUDIO, _NEWER, _LATE, _ALONE = 15.0, 15.0, 30.0, 30.0  # logits
_MARGIN = 0.5  # in expiry times: video with less time to spare yields


class ItemKind(NamedTuple):
    """Kind of item.

    Attributes:
        scores: outputs per item.
        selected: name of the feature that marks the selected item, if any.
        mask: name of the feature that is 1 for an item that is present, if any.
        rule: for each score, the initial weights of the named features in the skip connection; 0 for others.
    """

    scores: int
    selected: str | None
    mask: str | None
    rule: tuple[dict[str, float], ...]


UNKNOWN = ItemKind(scores=1, selected=None, mask=None, rule=({},))  # items of an environment outside this project

ITEM_KINDS = {
    "paths": ItemKind(
        scores=1,
        selected="commanded",
        mask=None,
        rule=({"commanded": STAY, "excess_over_best": -AVOID_PER_100_MS, "history_missing": -AVOID_PER_PERCENT},),
    ),
    "queue": ItemKind(
        scores=2,  # send the packet, drop the packet
        selected=None,
        mask="present",
        rule=(
            {"audio": _AUDIO, "age": -_NEWER},
            {"audio": _AUDIO - _MARGIN * _LATE, "age": -_NEWER, "to_spare": -_LATE, "alone": -_ALONE, "present": _MARGIN * _LATE},
        ),
    ),
}


def item_kind(name: str) -> ItemKind:
    """Return the item kind of a part of an observation; `UNKNOWN` for a part from outside this project."""
    return ITEM_KINDS.get(name, UNKNOWN)
