"""Structure of the laboratory: no two modules import each other, and every compiled version stands where the cache looks."""

import importlib
import pkgutil
from graphlib import TopologicalSorter

import grimp
import pytest

import lab
from vcgym.network.kernels.compiling.sources import closure


def test_no_two_modules_import_each_other():
    graph = grimp.build_graph("lab", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert list(TopologicalSorter(imports).static_order())  # raises CycleError; imports within functions count


@pytest.mark.long  # imports everything
def test_every_version_stands_where_the_cache_looks():
    """See the test of the same name of vcgym's own rooms."""
    names = [module.name for module in pkgutil.walk_packages(lab.__path__, "lab.") if not module.name.endswith("__main__")]
    modules = [importlib.import_module(name) for name in names]
    generics = {id(one): one for module in modules for one in vars(module).values() if hasattr(one, "versions")}
    versions = [(generic, cls, version) for generic in generics.values() for cls, version in generic.versions.items()]
    of_the_laboratory = [one for one in versions if one[1].__module__.startswith("lab.")]
    assert len(of_the_laboratory) > 2
    for generic, cls, version in of_the_laboratory:
        assert version.__module__ in closure([cls.__module__, generic.__module__]), (generic, cls)
