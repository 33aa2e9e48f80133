"""Parts of an observation: their shapes are complete, and a flat observation is their concatenation."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

from vcgym.envs.call.features.forecast import FORECAST_FEATURE
from vcgym.envs.call.features.layout import Feature, ObservationLayout, ObservationPart, columns
from vcgym.envs.call.features.observe import call_layout
from vcgym.envs.call.sender.uplink import remote_features


def flattened(layout, parts):
    return np.concatenate([parts[name].reshape(len(parts[name]), -1) for name in layout.parts], axis=1)


@pytest.mark.parametrize("paths", range(1, 40))
def test_no_number_of_paths_makes_a_width_ambiguous(paths):
    names = tuple(map(str, range(paths)))
    for forecast in ((), (FORECAST_FEATURE,)):
        for rate_held in (False, True):
            for orders_held in (False, True):
                sender = remote_features(rate_held, orders_held)
                layout = call_layout(names, ObservationPart("sender", sender), of_path=forecast)
                shapes = {name: part.shape for name, part in layout.parts.items()}
                assert shapes == {"paths": (paths, 9 + len(forecast)), "call": (12,), "sender": (len(sender),)}
                flat = np.arange(2.0 * len(layout.features)).reshape(2, -1)
                parts = layout.split(flat)
                assert {name: part.shape[1:] for name, part in parts.items()} == shapes
                np.testing.assert_array_equal(flattened(layout, parts), flat)
                assert layout.features[layout.slices["call"].start].name == "elapsed"


def test_a_name_that_two_features_share_is_refused():
    feature = Feature("rtt", "100 ms", 0, 20, "0")
    with pytest.raises(ValueError, match="rtt"):
        columns([feature, feature])


def test_features_of_items_carry_the_item():
    layout = ObservationLayout(ObservationPart("queue", (Feature("age", "s", 0, 1, "0"), Feature("size", "bytes", 0, 9, "0")), ("0", "1")))
    assert [feature.name for feature in layout.features] == ["age[0]", "size[0]", "age[1]", "size[1]"]
    assert layout.box.high.tolist() == [1, 9, 1, 9]
    assert layout.parts["queue"].space.high.tolist() == [[1, 9], [1, 9]]


def test_parts_are_the_flat_observation(env_id, short):
    flat, by_part = (
        gymnasium.make_vec(env_id, num_envs=3, observation=kind, autoreset_mode=AutoresetMode.SAME_STEP, **short).unwrapped
        for kind in ("features", "dict")
    )
    flat.action_space.seed(1)
    seen, shown = flat.reset(seed=2)[0], by_part.reset(seed=2)[0]
    for _ in range(40):
        assert by_part.observation_space.contains(shown)
        np.testing.assert_array_equal(flattened(flat.layout, shown), seen)
        action = flat.action_space.sample()
        seen, shown = flat.step(action)[0], by_part.step(action)[0]
