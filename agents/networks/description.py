"""The set network, described once: torch builds its module from this description, and the compiled forward pass walks its layers.

    e_i      = encode [x_i, x_c]                          each item i with features x_i; x_c the context
    z        = [x_c, mean_i e_i, max_i e_i, e_selected]   over the items; without items: x_c
    t        = trunk z
    scores_i = score [e_i, t] + skip x_i                  of each item
    rest     = rest t                                     outputs that score no item

The same small network encodes every item, so a trained network works on any number of items in any order (Zaheer et al. 2017, "Deep Sets",
arXiv 1703.06114). Features are of order one, with long tails; all stages except `skip` receive their arcsinh, unless the network is raw.

One feature of an item may be a mask: 1 for a present item, 0 for an absent one. Mean and maximum then cover the present items, the maximum
is at least 0, and the scores of an absent item are ABSENT. One feature may mark the selected item, whose encoding is added to the pool.

Lags are ordered, so two outputs suffice for their logits: with `lag_peak`, `rest` is a position and a log width on the log scale of lags,
and the logit of a lag at x is -((x - position) / width)^2 / 2. The position is relative to the excess peak, a feature of the context.
"""

from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vcgym.envs.environments.vector.actions import LEVELS

ABSENT = -1e6  # logit of an absent item
LAG_WIDTH = 0.1  # initial width of the logits of lags, which lie between -1 and 1
STAGES = ("encode", "trunk", "score", "skip", "rest")

Count = Annotated[int, Field(ge=1)]
Index = Annotated[int, Field(ge=0)]
Activation = Literal["tanh", "relu", "linear"]


class Strict(BaseModel):
    """Frozen record that rejects unknown fields and implicit type conversions."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Layer(Strict):
    """Layer activation(weight x + bias) with weight (outputs, inputs); layers of `skip` have no bias."""

    inputs: Count
    outputs: Count
    activation: Activation


class Items(Strict):
    """The items of a set.

    Attributes:
        width: features of one item.
        scores: outputs per item.
        selected: feature that marks the selected item; None: no item is selected.
        mask: feature that is 1 for a present item; None: all items are present.
    """

    width: Count
    scores: Count = 1
    selected: Index | None = None
    mask: Index | None = None

    @model_validator(mode="after")
    def _features_exist(self) -> Self:
        for name in ("selected", "mask"):
            index = getattr(self, name)
            if index is not None and index >= self.width:
                raise ValueError(f"{name} is {index}; allowed: below the {self.width} features of an item")
        return self


class SetNetwork(Strict):
    """A set network, layer by layer; see the module docstring.

    Attributes:
        items: description of the items; None for a network without items.
        context: number of context features, which follow those of the items.
        encode, trunk, score, skip, rest: layers of each stage, first to last.
        lag_peak: context feature around which lags are ranked; None: `rest` is the output.
        raw: true: every stage receives the features as they are, as networks of other libraries do.
    """

    items: Items | None
    context: Annotated[int, Field(ge=0)]
    encode: list[Layer] = []
    trunk: Annotated[list[Layer], Field(min_length=1)]
    score: list[Layer] = []
    skip: list[Layer] = []
    rest: list[Layer] = []
    lag_peak: Index | None = None
    raw: bool = False

    @model_validator(mode="after")
    def _layers_fit(self) -> Self:
        hidden, wanted = self.trunk[-1].outputs, {"trunk": self.pooled, "encode": 0, "score": 0, "skip": 0, "rest": self.trunk[-1].outputs}
        if self.items:
            wanted |= {"encode": self.items.width + self.context, "score": self.encoding + hidden, "skip": self.items.width}
        for stage, inputs in wanted.items():
            layers: list[Layer] = getattr(self, stage)
            for number, (layer, fits) in enumerate(zip(layers, [inputs, *(before.outputs for before in layers)], strict=False)):
                if layer.inputs != fits:
                    raise ValueError(f"{stage}.{number} has {layer.inputs} inputs; allowed: {fits}")
        if {len(stage) > 0 for stage in (self.encode, self.score, self.skip)} != {self.items is not None}:
            raise ValueError("encode, score and skip must have layers with items, and none without")
        if self.items and {self.score[-1].outputs, *(layer.outputs for layer in self.skip)} != {self.items.scores}:
            raise ValueError(f"score and skip must end in {self.items.scores} outputs, the scores of an item")
        if self.lag_peak is not None and (self.lag_peak >= self.context or not self.rest or self.rest[-1].outputs != 2):
            raise ValueError(f"lag_peak is {self.lag_peak}; allowed: a feature of the context, with a rest of 2 outputs")
        return self

    def output_count(self, items: int) -> int:
        """Return the number of outputs for `items` items."""
        rest = LEVELS if self.lag_peak is not None else self.rest[-1].outputs if self.rest else 0
        return items * (self.items.scores if self.items else 0) + rest

    @property
    def encoding(self) -> int:
        """Number of outputs of `encode`."""
        return self.encode[-1].outputs if self.encode else 0

    @property
    def pooled(self) -> int:
        """Number of inputs of `trunk`."""
        if self.items is None:
            return self.context
        return self.context + (2 if self.items.selected is None else 3) * self.encoding

    def layers(self) -> Iterator[tuple[str, Layer]]:
        """Yield name and layer in the order of the stages; the tensors of a layer are NAME.weight and NAME.bias."""
        for stage in STAGES:
            for number, layer in enumerate(getattr(self, stage)):
                yield f"{stage}.{number}", layer

    def tensor_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return name and shape of every tensor."""
        shapes: dict[str, tuple[int, ...]] = {}
        for name, layer in self.layers():
            shapes[f"{name}.weight"] = (layer.outputs, layer.inputs)
            if not name.startswith("skip"):
                shapes[f"{name}.bias"] = (layer.outputs,)
        return shapes


def set_network(
    items: Items | None, context: int, rest: int, hidden: int, activation: Activation, lag_peak: int | None = None
) -> SetNetwork:  # fmt: skip
    """Describe a set network with one encoder layer, two trunk layers and two score layers.

    Args:
        items: description of the items; None for a network without items.
        context: number of context features.
        rest: number of outputs that score no item; may be 0 with items.
        hidden: units per layer.
        activation: activation function between layers.
        lag_peak: context feature around which lags are ranked; see the module docstring.
    """
    inner = {"activation": activation}
    pooled = context + (0 if items is None else 2 if items.selected is None else 3) * hidden
    of_items: dict[str, Any] = {} if items is None else {
        "encode": [Layer(inputs=items.width + context, outputs=hidden, **inner)],
        "score": [Layer(inputs=2 * hidden, outputs=hidden, **inner), Layer(inputs=hidden, outputs=items.scores, activation="linear")],
        "skip": [Layer(inputs=items.width, outputs=items.scores, activation="linear")],
    }  # fmt: skip
    ends = 2 if lag_peak is not None else rest
    return SetNetwork(
        items=items,
        context=context,
        trunk=[Layer(inputs=pooled, outputs=hidden, **inner), Layer(inputs=hidden, outputs=hidden, **inner)],
        rest=[Layer(inputs=hidden, outputs=ends, activation="linear")] if ends else [],
        lag_peak=lag_peak,
        **of_items,
    )
