"""The named parts of an observation, as saved in a card: nothing is inferred from the length of a vector.

A network over items starts near a heuristic, since a random path or packet every few milliseconds would only disturb the call: the skip
connection is initialised to the linear rule of the kind of items, everything else near zero, and both are trained.

Paths: stay unless another path is much faster, or has lost much less before the call.
Queue: similar to SBPN2. Audio goes first; a packet that would arrive too late is dropped, unless it is the only one. Unlike SBPN2, the
newest packet goes first, because it has the best chance to arrive in time, and video yields to audio that has less than half of its time
left.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple

from pydantic import Field

from vcgym.agents.networks.description import Activation, Items, SetNetwork, Strict, set_network
from vcgym.envs.environments.vector.actions import LEVELS

CALL = "call"
_LAG_PEAK = "excess_peak_2s"
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


class ObservedPart(Strict):
    """A part of an observation.

    Attributes:
        name: name of the part, such as paths or call.
        items: number of items, whose features follow each other; None: the part is not a set.
        features: names of the features (of one item).
    """

    name: str
    items: Annotated[int, Field(ge=1)] | None = None
    features: list[str]

    @property
    def size(self) -> int:
        """Number of entries of the observation in this part."""
        return (self.items or 1) * len(self.features)


def item_part(parts: Sequence[ObservedPart]) -> ObservedPart | None:
    """Return the part that is a set; None if there is none.

    Raises:
        ValueError: more than one part is a set, or the set is not the first part.
    """
    sets = [index for index, part in enumerate(parts) if part.items is not None]
    if sets not in ([], [0]):
        raise ValueError(f"parts {sets} of the observation are sets of items; allowed: the first part alone")
    return parts[0] if sets else None


def count_items(parts: Sequence[ObservedPart]) -> int:
    """Return the number of items in an observation; 0 without items."""
    of_items = item_part(parts)
    return (of_items.items or 0) if of_items else 0


def context_features(parts: Sequence[ObservedPart]) -> list[str]:
    """Return the names of the features that belong to no item, in order."""
    return [name for part in parts if part.items is None for name in part.features]


def require_network(network: SetNetwork, parts: Sequence[ObservedPart], entries: int, outputs: int) -> None:
    """Refuse a network that does not fit an observation of `entries` numbers and an action of `outputs` outputs.

    Raises:
        ValueError: naming what differs.
    """
    of_items, context, items = item_part(parts), len(context_features(parts)), count_items(parts)
    features = sum(part.size for part in parts)
    if features != entries:
        raise ValueError(f"observation has {features} features, expected {entries} as observation_space has")
    widths = (len(of_items.features) if of_items else 0), context
    wanted = (network.items.width if network.items else 0), network.context
    if widths != wanted:
        raise ValueError(f"observation has {widths} features of an item and of the context, expected {wanted} as the network has")
    made = network.output_count(items)
    if made != outputs:
        raise ValueError(f"network has {made} outputs, expected {outputs} as action_space needs")


def network_for(parts: Sequence[ObservedPart], outputs: int, hidden: int, activation: Activation) -> SetNetwork:
    """Describe the set network of an agent.

    Args:
        parts: parts of its observation.
        outputs: number of outputs, see `vcgym.agents.networks.policy.output_count`.
        hidden: units per layer.
        activation: activation function between layers.

    Raises:
        ValueError: the items have more scores than there are outputs.
    """
    of_items, context = item_part(parts), context_features(parts)
    items, rest = None, outputs
    if of_items is not None:
        kind, features = item_kind(of_items.name), of_items.features
        selected, mask = (features.index(name) if name in features else None for name in (kind.selected, kind.mask))
        items = Items(width=len(features), scores=kind.scores, selected=selected, mask=mask)
        rest -= kind.scores * count_items(parts)
        if rest < 0:
            raise ValueError(f"{count_items(parts)} {of_items.name} have {kind.scores} scores each; allowed: {outputs} outputs in all")
    of_call_alone = [part.name for part in parts if part.items is None] == [CALL]
    peak = context.index(_LAG_PEAK) if of_call_alone and rest == LEVELS else None
    return set_network(items, len(context), rest, hidden, activation, peak)
