"""docs/reference/env_tables.md matches the code."""

from pathlib import Path

import gymnasium

import vcgym.envs  # noqa: F401  (registers the ids)
from lab.shipped.env_tables import markdown

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "env_tables.md"


def assert_described(features):
    page = markdown()
    for feature in features:
        assert f"| `{feature.name.split('[')[0]}` |" in page
        assert all((feature.name, feature.unit, feature.age)) and feature.low < feature.high


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == markdown(), "run: python -m lab.shipped.env_tables > docs/reference/env_tables.md"


def test_every_feature_has_its_line(env_id, short):
    env = gymnasium.make(env_id, **short).unwrapped
    assert len(env.native.layout.features) == env.observation_space.shape[0]
    assert_described(env.native.layout.features)
