"""The ids of the environments, known wherever gymnasium is imported: `gymnasium.make("vcgym/Call-v1")` after `import gymnasium` alone.

Gymnasium 1.0 dropped the entry points by which 0.29 found ids. So `vcgym.pth`, which lies beside the installed package, imports this
module whenever Python starts, also in the processes that spawn, forkserver and Ray start. It loads nothing until gymnasium is imported;
`vcgym.envs` then registers names and compiles nothing.
"""

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType


class _BehindGymnasium(MetaPathFinder):
    """Finder that lets the others find gymnasium, and has `vcgym.envs` imported behind it."""

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != "gymnasium":
            return None
        asked = (finder.find_spec(name, path, target) for finder in sys.meta_path if finder is not self)
        spec = next((found for found in asked if found is not None), None)
        if spec is None or spec.loader is None:
            return spec
        run = spec.loader.exec_module

        def run_and_register(module: ModuleType) -> None:
            run(module)
            importlib.import_module("vcgym.envs")

        spec.loader.exec_module = run_and_register  # type: ignore[method-assign]
        return spec


if "gymnasium" not in sys.modules:
    sys.meta_path.insert(0, _BehindGymnasium())
