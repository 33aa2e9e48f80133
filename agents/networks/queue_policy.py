"""The network of `vcgym.agents.networks.queue_network` without torch, each row by itself and in double precision."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.networks.layers import affine, compress, squash
from vcgym.envs.call.features.sender import PLACE_FEATURES, PLACE_WIDTH
from vcgym.network.kernels.jit import allocating_kernel

SCORES = 2  # of a place: send, throw away
ABSENT = -1e6  # logit of a place without a packet
_PRESENT = [feature.name for feature in PLACE_FEATURES].index("present")


def queue_shapes(features: int, places: int, hidden: int, outputs: int) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the tensors of `vcgym.agents.networks.queue_network.QueueNet`.

    Raises:
        ValueError: so many places do not fit the observation or the outputs.
    """
    call = features - places * PLACE_WIDTH
    if call < 0 or outputs != SCORES * places:
        raise ValueError(f"places is {places}; allowed: those of {outputs} outputs, {outputs // SCORES}, within {features} features")
    layers = {
        "encode": (hidden, PLACE_WIDTH + call), "trunk0": (hidden, call + 2 * hidden), "trunk1": (hidden, hidden),
        "score0": (hidden, 2 * hidden), "score1": (SCORES, hidden),
    }  # fmt: skip
    shapes: dict[str, tuple[int, ...]] = {"habit.weight": (SCORES, PLACE_WIDTH)}
    for name, shape in layers.items():
        shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
    return shapes


def queue_outputs(tensors: Mapping[str, NDArray[np.float32]], rows: NDArray[np.float64], places: int, tanh: bool) -> NDArray[np.float64]:
    """Logits float64 (sessions, 2 places) for features (sessions, features)."""
    width = places * PLACE_WIDTH
    compressed = compress(rows)
    of_places, call = rows[:, :width].reshape(-1, PLACE_WIDTH), np.ascontiguousarray(compressed[:, width:])
    present = of_places[:, _PRESENT].reshape(len(rows), places)

    def layer(name: str, inputs: NDArray[np.float64]) -> NDArray[np.float64]:
        outputs: NDArray[np.float64] = affine(inputs, tensors[f"{name}.weight"], tensors[f"{name}.bias"])
        squash(outputs, tanh)
        return outputs

    encoded = layer("encode", np.concatenate([compressed[:, :width].reshape(-1, PLACE_WIDTH), np.repeat(call, places, axis=0)], axis=1))
    trunk = layer("trunk1", layer("trunk0", _pool(encoded, present, call)))
    inner = layer("score0", np.concatenate([encoded, np.repeat(trunk, places, axis=0)], axis=1))
    scores = affine(inner, tensors["score1.weight"], tensors["score1.bias"])
    scores += affine(of_places.copy(), tensors["habit.weight"], np.zeros(SCORES, np.float32))
    scores[of_places[:, _PRESENT] <= 0.0] = ABSENT
    return np.ascontiguousarray(scores.reshape(len(rows), places, SCORES).transpose(0, 2, 1)).reshape(len(rows), SCORES * places)


@allocating_kernel
def _pool(encoded, present, call):
    """[call, mean, highest, at least 0] of each session over the packets that are there; `encoded` (sessions * places, hidden)."""
    sessions, places = present.shape
    features, hidden = call.shape[1], encoded.shape[1]
    out = np.zeros((sessions, features + 2 * hidden))
    for s in range(sessions):
        out[s, :features] = call[s]
        there = 0.0
        for p in range(places):
            there += present[s, p]
        for h in range(hidden):
            highest = 0.0
            for p in range(places):
                value = encoded[s * places + p, h] * present[s, p]
                out[s, features + h] += value / max(there, 1.0)
                highest = max(highest, value)
            out[s, features + hidden + h] = highest
    return out
