"""Settings every test shares, and the ids of the environments: a new one is covered by every test that asks for `env_id`."""

from pathlib import Path

import gymnasium
import pytest
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

import vcgym.envs  # noqa: F401  (registers the ids)

# No deadline: a property may pay for compiling a kernel. Derandomised: the same examples on every run and every machine.
settings.register_profile("vcgym", deadline=None, derandomize=True)
settings.load_profile("vcgym")
set_hypothesis_home_dir(Path(__file__).parents[1] / "outputs" / "cache" / "hypothesis")


@pytest.fixture(params=[name for name in gymnasium.registry if name.startswith("vcgym/")])
def env_id(request):
    """Each registered environment in turn, unless a test names its own."""
    return request.param
