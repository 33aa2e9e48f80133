"""Names and files in a config. Each check imports only what it needs, so a command can refuse a value before it loads anything else."""

import os
import re
import zipfile
from importlib.machinery import PathFinder
from importlib.util import find_spec
from pathlib import Path
from symtable import symtable
from typing import Annotated

from pydantic import AfterValidator, ValidationError
from pydantic_core import PydanticCustomError

from vcgym.agents.config.base import AbsolutePath
from vcgym.agents.published.shipped import shipped_names
from vcgym.baselines.system_files import system_names
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults, shown

_REFUSED = "refused"  # type of the errors of these checks
EVERY = "all"
"""In place of names of systems: all that fit."""
SET_BY_VCGYM = frozenset(("num_envs", "autoreset_mode", "split", "render_mode", "observation", "log", "log_packets", "data"))
"""Arguments of an environment that a config cannot set: the pipeline sets them, or agents need their defaults."""


def refusals(error: ValidationError, where: str = "") -> str:
    """Return the faults that pydantic found, in one line; of a value that may have several types, what a check of this module says.

    Args:
        error: the validation error.
        where: name of the validated field, if it is part of another document.
    """
    for one in error.errors(include_url=False):
        if one["type"] == _REFUSED:
            field = ".".join([*filter(None, [where]), *(str(part) for part in one["loc"] if "[" not in str(part))])
            return f"{field} is {shown(one['input'])}; {one['msg']}"
    return faults(error, where)


def refused(allowed: str) -> PydanticCustomError:
    """Return the error of a check that refuses a value and says what is allowed."""
    return PydanticCustomError(_REFUSED, "allowed: {allowed}", {"allowed": allowed})


def _existing(path: Path) -> Path:
    if not path.exists():
        raise refused("a file or folder that exists")
    return path


def _trained(folder: Path) -> Path:
    if not (folder / "card.json").is_file():
        raise refused("a folder with the card.json of a trained agent, such as outputs/train/study/seed-0/agent")
    return folder


def _traces(path: Path) -> Path:
    if _existing(path).is_dir() and not any(file.is_file() and file.suffix in (".gz", ".csv") for file in path.rglob("*")):
        raise refused("traces (*.csv.gz), or a folder of them")
    return path


def _require_system(name: str) -> None:
    if name not in (known := system_names()):
        raise refused(", ".join(known))


def _system(name: str) -> str:
    if name != EVERY:
        _require_system(name)
    return name


def _policy(name: str) -> str:
    if not os.path.isdir(os.path.expanduser(name)):
        _require_system(name)
    return name


def _agent(name: str) -> str:
    if name in shipped_names() or os.path.isdir(os.path.expanduser(name)):
        return name
    if file := re.fullmatch(r"(.+)\.py(:.+)?", name):
        path = Path(file[1]).absolute()
        raise refused(f"module:name; type {path.name}{file[2] or ':NAME'} in the folder {path.parent}")
    if name.endswith((".zip", ".onnx")) or "/" in name:
        if not Path(name).is_file():
            raise refused("a file or folder that exists")
        if name.endswith(".onnx") and find_spec("onnxruntime") is None:
            raise refused("an .onnx where onnxruntime is installed; type pip install '.[onnx]' in a checkout")
        if name.endswith(".zip") and not zipfile.is_zipfile(name):
            raise refused("a zip that model.save() of Stable-Baselines3 wrote; this file is no zip")
        return name
    module, _, wanted = name.partition(":")
    if not module or not wanted:
        allowed = "module:name, a .zip that Stable-Baselines3 has saved, an .onnx, a folder of vcgym train"
        raise refused(f"{allowed}, {', '.join(shipped_names())}")
    top = module.partition(".")[0]
    found = PathFinder.find_spec(top, [os.getcwd()]) or find_spec(top)
    if found is None:
        raise refused(f"a module that can be imported; {top} is neither installed nor in {os.getcwd()}")
    if found.origin and found.origin.endswith(".py") and top == module:
        _require_defined(Path(found.origin), module, wanted)
    return name


def _require_defined(file: Path, module: str, wanted: str) -> None:
    """Refuse a name that a module does not have, unless only its execution tells; the message lists what it defines, but for imports."""
    try:
        text = read_plain(file, MAX_JSON_BYTES).decode("utf-8-sig")
        symbols = {one.get_name(): one for one in symtable(text, str(file), "exec").get_symbols()}
    except (ValueError, SyntaxError, RecursionError):
        return
    if wanted not in symbols and "__getattr__" not in symbols and not re.search(r"\bimport\s*\*", text):
        raise refused(", ".join(f"{module}:{name}" for name, one in symbols.items() if one.is_assigned()) or f"a name that {file} defines")


ExistingPath = Annotated[AbsolutePath, AfterValidator(_existing)]
"""A file or folder that exists."""
TrainedAgent = Annotated[AbsolutePath, AfterValidator(_trained)]
"""Folder of a trained agent."""
Traces = Annotated[AbsolutePath, AfterValidator(_traces)]
"""A file of traces, or a folder of them."""
SystemName = Annotated[str, AfterValidator(_system)]
"""Name of a system, or `EVERY`."""
PolicyName = Annotated[str, AfterValidator(_policy)]
"""Name of a system, or a folder."""
AgentName = Annotated[str, AfterValidator(_agent)]
"""Your own method: module:name, a .zip, an .onnx or a folder; or the name of a shipped agent."""
