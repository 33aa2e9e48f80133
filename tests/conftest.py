"""Settings every test shares."""

from pathlib import Path

from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

# No deadline: a property may pay for compiling a kernel. Derandomised: the same examples on every run and every machine.
settings.register_profile("vcgym", deadline=None, derandomize=True)
settings.load_profile("vcgym")
set_hypothesis_home_dir(Path(__file__).parents[1] / "outputs" / "cache" / "hypothesis")
