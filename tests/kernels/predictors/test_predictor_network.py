"""The network of the paper: a plain numpy twin, rejected input, and inside the loop of a call."""

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from untrained import random_network

from vcgym.baselines.path.top_k import Choice, TopK
from vcgym.baselines.path.vcroute.vcroute import VCRoute
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rule import allocate
from vcgym.envs.call.batch import CallBatch
from vcgym.network.scenarios.scenario import Scenario
from vcgym.predictors.mlp import LAYERS, Network, make_network
from vcgym.predictors.predictor import LastValue, predict_e2e, predict_each, require_predictor

SEEDS = [3, 4, 5, 6]
PACKETS = 700
FIVE = TopK(choice=Choice.BEST_FIVE)


def with_biases(seed):
    """A random network whose biases and scaling are no round numbers either."""
    draws = np.random.default_rng(seed)
    network = random_network(seed)
    layers = [
        (getattr(network, f"weights_{n}"), draws.normal(0.0, 0.3, biases).astype(np.float32)) for n, (_, biases) in enumerate(LAYERS, 1)
    ]
    return make_network(layers, (310.0, 95.0), (150.0, 61.0), 420.0, 170.0)


def twin(network, transmit_ms, jitter_ms):
    """The same in float64, layer by layer."""
    wide = Network(*(values.astype(np.float64) for values in network))
    units = (np.stack([transmit_ms, jitter_ms], axis=-1) - wide.input_mean_ms) * wide.input_per_sd
    for n in (1, 2, 3):
        units = np.maximum(units @ getattr(wide, f"weights_{n}") + getattr(wide, f"biases_{n}"), 0.0)
    return wide.output_mean_ms[0] + wide.output_sd_ms[0] * (units @ wide.weights_4 + wide.biases_4[0])


def test_parameter_count():
    """L1: 8,577 parameters, 192 + 4,160 + 4,160 + 65 (IV-B2)."""
    network = random_network(0)
    trained = [values for name, values in network._asdict().items() if name.startswith(("weights", "biases"))]
    assert sum(values.size for values in trained) == 8577
    assert all(values.ctypes.data % 64 == 0 for values in trained)  # cache lines
    assert [sum(math.prod(shape) for shape in layer) for layer in LAYERS] == [192, 4160, 4160, 65]


@pytest.mark.parametrize("network", [random_network(1), with_biases(2), with_biases(3)])
def test_equals_the_twin(network):
    draws = np.random.default_rng(0)
    transmit_ms, jitter_ms = draws.uniform(0.0, 1000.0, 5000), draws.uniform(0.0, 500.0, 5000)
    expected = twin(network, transmit_ms, jitter_ms)
    found = predict_each(network, transmit_ms, jitter_ms)
    # Relative to the size of what is summed: an output near 0 ms is a difference of large numbers.
    size_ms = network.output_mean_ms[0] + network.output_sd_ms[0]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5 * size_ms)
    assert found.dtype == np.float64
    assert np.ptp(expected) > 50.0


NETWORK = with_biases(4)
delays = st.one_of(st.floats(0.0, 5000.0), st.sampled_from([0.0, 500.0, 1000.0]))


@given(st.lists(st.tuples(delays, delays), max_size=11))
@example([(500.0, 250.0)])  # every unit of the first layer at its kink
def test_four_in_lockstep_are_the_bits_of_each_alone(pairs):
    """Whatever stands beside an input, and whether it is one of four or left over."""
    transmit_ms, jitter_ms = np.array(pairs, np.float64).reshape(-1, 2).T
    for predictor in (NETWORK, LastValue()):
        alone = [predict_e2e(predictor, *pair) for pair in zip(transmit_ms, jitter_ms, strict=True)]
        assert predict_each(predictor, transmit_ms, jitter_ms).tobytes() == np.array(alone, np.float64).tobytes()


WRONG = {
    "NaN": ("weights_2", lambda a: np.full_like(a, np.nan), ValueError, r"Network.weights_2 holds nan; allowed are finite"),
    "infinity": ("biases_4", lambda a: np.full_like(a, np.inf), ValueError, r"Network.biases_4 holds inf"),
    "shape": ("weights_3", lambda a: a[:, :63].copy(), ValueError, r"Network.weights_3 has shape \(64, 63\).*allowed is \(64, 64\)"),
    "order": ("weights_1", np.asfortranarray, ValueError, r"Network.weights_1 .* not C-contiguous"),
    "type": ("weights_2", lambda a: a.astype(np.float64), TypeError, r"Network.weights_2 is of type float64; allowed is .* float32"),
    "list": ("biases_1", lambda a: a.tolist(), TypeError, r"Network.biases_1 is of type list"),
    "scale": ("output_sd_ms", np.zeros_like, ValueError, r"Network.output_sd_ms holds 0.0; allowed are numbers above 0"),
}


@pytest.mark.parametrize(("field", "spoil", "error", "message"), WRONG.values(), ids=WRONG)
def test_bad_networks_are_refused(field, spoil, error, message):
    network = random_network(0)
    bad = network._replace(**{field: spoil(getattr(network, field))})
    for refuses in (require_predictor, lambda bad: allocate(VCRoute(predictor=bad), 1, 9), lambda bad: predict_each(bad, 1.0, 1.0)):
        with pytest.raises(error, match=message):
            refuses(bad)


def test_making_one_refuses_too():
    layers = [(getattr(NETWORK, f"weights_{n}"), getattr(NETWORK, f"biases_{n}")) for n in (1, 2, 3, 4)]
    with pytest.raises(ValueError, match=r"layers has 3 entries; allowed is 4"):
        make_network(layers[:3], (0.0, 0.0), (1.0, 1.0), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"input_sd_ms is \(1.0, 0.0\); allowed are numbers above 0"):
        make_network(layers, (0.0, 0.0), (1.0, 0.0), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"Network.input_mean_ms holds nan"):
        make_network(layers, (0.0, math.nan), (1.0, 1.0), 0.0, 1.0)
    with pytest.raises(TypeError, match=r"predictor is None, a NoneType; allowed here: .*LastValue.*Network"):
        allocate(VCRoute(predictor=None), 1, 9)


def calls(predictor, threads=1):
    recipe = Scenario("wonderproxy", "correlated", PACKETS)
    batch = CallBatch(recipe, len(SEEDS), VCRoute(topk=FIVE, predictor=predictor), WMJitter(), log=True, threads=threads)
    for row, seed in enumerate(SEEDS):
        batch.start(row, recipe.draw("train", seed))
    batch.play(np.arange(len(SEEDS)))
    return batch


@pytest.mark.long
def test_inside_a_call():
    """One thread or two play the same bytes, and the predictor matters."""
    batch = calls(NETWORK)
    played, two = batch.played(), calls(NETWORK, threads=2)
    assert np.array_equal(played.path, two.played().path) and np.array_equal(played.played_us, two.played().played_us)
    assert two.path_state.arms.tobytes() == batch.path_state.arms.tobytes()
    assert all(len(np.unique(path)) > 1 for path in played.path)
    assert not np.array_equal(played.path, calls(LastValue()).played().path)
