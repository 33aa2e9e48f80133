"""Every compiled version of the laboratory stands where the cache looks."""

import importlib
import pkgutil

import pytest

import lab
from vcgym.network.kernels.compiling.sources import closure


@pytest.mark.long  # imports everything
def test_every_version_stands_where_the_cache_looks():
    """See the test of the same name of vcgym's own rooms."""
    names = [module.name for module in pkgutil.walk_packages(lab.__path__, "lab.") if not module.name.endswith("__main__")]
    modules = [importlib.import_module(name) for name in (*names, "vcgym.baselines.rule")]
    generics = {id(one): one for module in modules for one in vars(module).values() if hasattr(one, "versions")}
    versions = [(generic, cls, version) for generic in generics.values() for cls, version in generic.versions.items()]
    of_the_laboratory = [one for one in versions if one[1].__module__.startswith("lab.")]
    assert len(of_the_laboratory) > 2
    for generic, cls, version in of_the_laboratory:
        assert version.__module__ in closure([cls.__module__, generic.__module__]), (generic, cls)
