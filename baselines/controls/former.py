"""Former words for controls, such as router for path, and former folders of rules. They work for one release and say what to type."""

import functools
import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

from vcgym.baselines.controls.control import FORMER

F = TypeVar("F", bound=Callable[..., Any])
_FOLDERS = {"vcgym.baselines.routers": "path", "vcgym.baselines.receivers": "playout", "vcgym.baselines.schedulers": "order"}


class FormerFolders(MetaPathFinder, Loader):
    """Finder of modules by their former folders: each import gives the module of the new folder itself."""

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the spec of a module in a former folder."""
        return ModuleSpec(fullname, self, is_package=True) if fullname.startswith(tuple(_FOLDERS)) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Import the module by its new name, and warn."""
        folder = ".".join(spec.name.split(".")[:3])
        name = f"vcgym.baselines.{_FOLDERS[folder]}{spec.name.removeprefix(folder)}"
        warnings.warn(f"import {name} in place of {spec.name}, which works for this release", FutureWarning, stacklevel=2)
        module = importlib.import_module(name)
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Run nothing, since the module has run; give it its own spec back."""
        if module.__spec__ is not None:
            module.__spec__ = module.__spec__.loader_state


def find_former_folders() -> None:
    """Let imports of rules by their former folders work."""
    sys.meta_path.insert(0, FormerFolders())


def renamed(given: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return `given` with controls by their names in place of former words.

    Args:
        given: values by control or by other names.
        where: what has them, for the warning.

    Raises:
        ValueError: a control is given by both words.
    """
    former = [word for word in given if word in FORMER]
    if twice := [word for word in former if FORMER[word] in given]:
        raise ValueError(f"{where} has {twice[0]} and {FORMER[twice[0]]}: allowed is {FORMER[twice[0]]} alone")
    for word in former:
        warnings.warn(f"{where}: write {FORMER[word]} in place of {word}, which works for this release", FutureWarning, stacklevel=3)
    return {str(FORMER.get(word, word)): value for word, value in given.items()}


def takes_former_words(function: F) -> F:
    """Let a function take former words as names of its arguments."""

    @functools.wraps(function)
    def renaming(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **renamed(kwargs, function.__qualname__.removesuffix(".__init__")))

    return renaming  # type: ignore[return-value]
