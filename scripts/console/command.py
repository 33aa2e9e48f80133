"""Common code of all console commands, and the only module that imports hydra.

A command is a function of a typed config. Hydra composes the defaults of the config, the program's NAME.yaml and the overrides, the config
is checked, and the function is called once. So a YAML lists only choices and differences, and a command without any has none.

An expected failure - a bad file, a value out of range, a full disk - ends the command with one line on stderr and status 1.
VCGYM_TRACEBACK=1 shows its traceback instead. SIGINT, SIGTERM and SIGHUP end it with one line and status 128 + the signal's number.
"""

import os
import re
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import hydra
from hydra.core.config_store import ConfigStore
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, QuotedString
from hydra.errors import HydraException, InstantiationException, OverrideParseException
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, TypeAdapter, ValidationError

from vcgym.agents.config.algorithms import InsidePPOConfig, LibraryConfig, MaskablePPOConfig, OfflineConfig, PPOConfig, SACConfig
from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.names import refusals
from vcgym.baselines.configured import class_of_plugin
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.refusal import shown
from vcgym.scripts.console.program import Program
from vcgym.scripts.console.search_path import option_of
from vcgym.scripts.console.usage import default_of, groups_of, yaml_of

EXPECTED = (OSError, ValueError, ArithmeticError, MemoryError, RecursionError, HydraException, OmegaConfBaseException)
"""Failures that a command reports in one line; any other is a defect and shows its traceback."""
AnyConfig = TypeVar("AnyConfig", bound=BaseModel)
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_TRACEBACK = "VCGYM_TRACEBACK"
_RETRY_S = 0.01
_ALGORITHMS: dict[str, type[BaseModel]] = {
    "ppo": PPOConfig, "maskable_ppo": MaskablePPOConfig, "sac": SACConfig, "inside_ppo": InsidePPOConfig, "library": LibraryConfig,
    "offline": OfflineConfig,
}  # fmt: skip
_FOLDERS = frozenset(("folder", "train.folder", "hydra.run.dir", "hydra.sweep.dir"))


def run(program: Program, name: str, function: Callable[[Any], float | None]) -> None:
    """Run a command of a program with the arguments of this process."""
    kind, title, yaml = program.kind(name), program.title(name), program.yaml(name)
    found: set[Path] = set()  # the user's own folders, in which hydra may make its own

    def task(composed: DictConfig) -> float | None:
        with _failing_in_one_line(name, program), _leaving_nothing(Path(HydraConfig.get().runtime.output_dir), yaml, found):
            returned = function(build(composed, kind))
            if isinstance(returned, int) and returned:
                sys.exit(returned)
            return returned

    task.__module__ = yaml  # hydra uses it as the name of the log
    composed_from = register(program, name)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # makes hydra raise its errors and print nothing
    with _ending_on_signals(title), _failing_in_one_line(name, program):
        refuse_links(yaml)
        sys.argv[1:] = arguments_for_hydra(name, program)
        found.update(Path(value).resolve() for _, value in _texts(sys.argv[1:]) if os.path.isdir(value))
        hydra.main(version_base="1.3", config_path=f"pkg://{program.conf}", config_name=composed_from)(task)()


def arguments_for_hydra(name: str, program: Program) -> list[str]:
    """Return the arguments of this process for hydra, which refuses `--cfg` in a multirun: then those of its first job."""
    if option_of(sys.argv, "-c", "--cfg") is None or not {"-m", "--multirun"} & set(sys.argv):
        return sys.argv[1:] + folders_of_jobs(name, program)
    parser = OverridesParser.create()
    return [_first(word, parser) for word in sys.argv[1:] if word not in ("-m", "--multirun")]


def _first(word: str, parser: OverridesParser) -> str:
    """Return an argument with the first of its values."""
    override = parser.parse_override(word) if "=" in word and not word.startswith("-") else None
    if override is None or not override.is_sweep_override():
        return word
    value = override.value()
    first = value.start if isinstance(value, IntervalSweep) else next(override.sweep_string_iterator())
    return f"{word.partition('=')[0]}={first}"


def folders_of_jobs(name: str, program: Program) -> list[str]:
    """Return the arguments that give each job of a multirun a folder of its own, unless the user names folders."""
    if not {"-m", "--multirun"} & set(sys.argv):
        return []
    typed = {word.partition("=")[0] for word in sys.argv}
    defaults = {key.name: key.default for key in program.keys(name)}
    sweep = [] if "hydra.sweep.dir" in typed else [f"hydra.sweep.dir=outputs/multirun/{name}/${{now:%Y-%m-%d_%H-%M-%S}}"]
    folder = next((key for key in ("folder", "train.folder") if key in defaults), None)
    is_own = folder is None or folder in typed or defaults[folder] == "null"  # null: it follows from other keys
    return sweep if is_own else [*sweep, f"{folder}=${{hydra:sweep.dir}}/${{hydra:job.num}}"]


def refuse_links(name: str) -> None:
    """Refuse a typed folder, which may be somebody else's, in which hydra's log or its copies of the config are links: it follows them.

    Raises:
        DataError: the message names the link.
    """
    for key, value in _texts(sys.argv[1:]):
        if key in _FOLDERS and value:
            folder = Path(os.path.expanduser(value))
            for path in (folder / ".hydra", *folder.glob(".hydra/*"), folder / f"{name}.log"):
                if path.is_symlink():
                    raise DataError(path, "file", f"a link to {os.readlink(path)}", "a file of the run, no link")


@contextmanager
def _failing_in_one_line(name: str, program: Program) -> Iterator[None]:
    """End the command with one line on an expected failure, unless tracebacks are enabled."""
    try:
        yield
    except ModuleNotFoundError as error:
        program.end_without(name, error)
        raise
    except Exception as error:
        is_of_numba = any(kind.__name__ == "NumbaError" for kind in type(error).__mro__)  # by name: most commands do not load numba
        is_expected = is_of_numba or isinstance(error, EXPECTED) or _is_of_plugin(error)
        if os.environ.get(_TRACEBACK) == "1" or not is_expected:
            raise
        if is_of_numba:  # of a version whose errors are as they are
            from vcgym.network.kernels.compiling.not_compiled import why_not_compiled

            sys.exit(f"{program.title(name)}: {why_not_compiled(error)}")
        sys.exit(program.refusal(name, _text(error) or type(error).__name__))


@contextmanager
def _leaving_nothing(folder: Path, name: str, found: Collection[Path]) -> Iterator[None]:
    """Remove what hydra made in its `folder` for a command that failed before it wrote anything, and parent folders that become empty.

    None of the folders in `found`, which were there before, is removed; `name` is that of the command's YAML.
    """
    try:
        yield
    except EXPECTED:
        if folder != Path.cwd() and {path.name for path in folder.iterdir()} <= {".hydra", f"{name}.log"}:
            shutil.rmtree(folder / ".hydra", ignore_errors=True)
            (folder / f"{name}.log").unlink(missing_ok=True)
            for above in (folder, *folder.parents):
                if (
                    above.resolve() in found
                    or above.is_symlink()
                    or above == Path.cwd()
                    or not above.is_relative_to(Path.cwd())
                    or any(above.iterdir())
                ):
                    break
                above.rmdir()
        raise


def _is_of_plugin(error: BaseException) -> bool:
    """Return True if a launcher or a sweeper of hydra raised an error, such as that of Slurm where there is none."""
    return any("hydra_plugins" in Path(frame.f_code.co_filename).parts for frame, _ in traceback.walk_tb(error.__traceback__))


def _texts(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield key and value of the arguments that are texts, as hydra reads them."""
    parser = OverridesParser.create()
    for word in words:
        override = parser.parse_override(word) if "=" in word and not word.startswith("-") else None
        values = [] if override is None else [*override.sweep_iterator()] if override.is_discrete_sweep() else [override.value()]
        for value in values:
            if override and isinstance(value, str | QuotedString):
                yield override.key_or_group, value.text if isinstance(value, QuotedString) else value


@contextmanager
def _ending_on_signals(title: str) -> Iterator[None]:
    """End the command on a signal as on an error, so that runs are closed and drafts removed; a second signal ends it at once."""
    ended: list[int] = []

    def end(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        sys.stderr.write(f"{title}: ended by {signal.Signals(number).name}\n")
        ended.append(number)
        sys.exit(128 + number)

    def end_again(dropped: Any) -> None:
        """Exit a moment later if Python dropped the exit, as it drops every exception of a destructor or of a callback from C."""
        if ended and dropped.exc_type is SystemExit:
            signal.setitimer(signal.ITIMER_REAL, _RETRY_S)
        else:
            sys.__unraisablehook__(dropped)

    before = {number: signal.getsignal(number) for number in (*_SIGNALS, signal.SIGALRM)}
    for number in _SIGNALS:
        if before[number] is not signal.SIG_IGN:  # nohup
            signal.signal(number, end)
    signal.signal(signal.SIGALRM, lambda number, frame: sys.exit(128 + ended[0]))
    sys.unraisablehook = end_again
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        sys.unraisablehook = sys.__unraisablehook__
        for number, handler in before.items():
            signal.signal(number, handler)


def _text(error: BaseException) -> str:
    if isinstance(error, InstantiationException) and error.__cause__:
        key = re.search(r"full_key: (\S+)", str(error))
        where = key[1] if key else ""
        return refusals(error.__cause__, where) if isinstance(error.__cause__, ValidationError) else _text(error.__cause__)
    if isinstance(error, ValidationError):
        return refusals(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'a file'}: {error.strerror}"
    if isinstance(error, RecursionError | MemoryError):
        return f"{type(error).__name__}: {error}"
    if isinstance(error, OverrideParseException):
        return f"{shown(error.override)} is not of hydra's grammar; put the value in quotes, such as \"key='value'\""
    missing = r"Could not find '([\w/]+)/([^']*)'\s+Available options in '[\w/]+':\s+(.*?)\s+Config search"
    if choice := re.search(missing, str(error), re.DOTALL):
        allowed = ", ".join(name for name in choice[3].split() if not name.endswith("_schema"))
        of_plugins = " and those of installed plugins of hydra" if choice[1].startswith("hydra/") else ""
        return f"{choice[1]} is {choice[2]!r}; allowed: {allowed}{of_plugins}"
    if unknown := re.match(r"Could not override '([^']+)'", str(error)):
        return f"{unknown[1]} is no key of this command; --help lists those that are"
    return str(error)


def register(program: Program, command: str) -> str:
    """Register the defaults of a command's config and of the choices of its groups; return the name of what hydra composes."""
    store, name, kind = ConfigStore.instance(), program.yaml(command), program.kind(command)
    chosen = {group.rpartition("@")[2] for group, _, choice in groups_of(name, program.conf) if choice != "null"}
    has_yaml = bool(yaml_of(name, program.conf))
    store.store(name=f"{name}_schema", node=schema(kind, chosen) if has_yaml else _in_place_of_yaml(kind))
    store.store(group="env", name="env_schema", node=schema(EnvConfig))
    for algorithm, of_algorithm in _ALGORITHMS.items():
        store.store(group="algorithm", name=f"{algorithm}_schema", node=schema(of_algorithm))
    return name if has_yaml else f"{name}_schema"


def build(composed: DictConfig, kind: type[AnyConfig]) -> AnyConfig:
    """Check the config composed by hydra and return it as a `kind`."""
    if missing := sorted(OmegaConf.missing_keys(composed)):
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{', '.join(missing)} {verb} not given; type {' '.join(f'{key}=...' for key in missing)}")
    config = instantiate(OmegaConf.create(_with_classes(OmegaConf.to_container(composed, resolve=True))), _convert_="all")
    if not isinstance(config, kind):
        raise ValueError(f"_target_ is {type(config).__name__}; allowed: {kind.__name__}")
    return config


def _with_classes(written: Any) -> Any:
    """Return a resolved config in which each `_target_` that is the name of an entry point is its class, which hydra imports."""
    if isinstance(written, str):
        return _escaped(_escaped(written))  # hydra.utils.instantiate resolves twice
    if isinstance(written, list):
        return [_with_classes(value) for value in written]
    if not isinstance(written, dict):
        return written
    named = {key: _with_classes(value) for key, value in written.items()}
    target = named.get("_target_")
    if isinstance(target, str) and "." not in target and (found := class_of_plugin(target)):
        named["_target_"] = found
    return named


def _escaped(text: str) -> str:
    return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", text)


def _in_place_of_yaml(kind: type[BaseModel]) -> DictConfig:
    """Return what hydra composes for a command without a YAML, which logs into its folder or, if it has none, to the terminal alone."""
    is_printed = "folder" not in kind.model_fields or kind.model_fields["folder"].default_factory is not None
    node = schema(kind)
    node["defaults"] = [*([{"override hydra/job_logging": "stdout"}] if is_printed else []), "_self_"]
    node["hydra"] = {"output_subdir": None, "run": {"dir": "." if is_printed else "${folder}"}}
    return node


def schema(kind: type[BaseModel], left_out: Collection[str] = (), within: str = "") -> DictConfig:
    """Return `_target_` and the default of each field of a config: "???" if it is required, null if it follows from other fields.

    Keys in `left_out` come from groups; `within` precedes those of this config.
    """
    found = OmegaConf.create({"_target_": f"{kind.__module__}.{kind.__qualname__}"})
    for name, field in kind.model_fields.items():
        factory = field.default_factory
        if f"{within}{name}" in left_out:
            continue
        if isinstance(factory, type) and issubclass(factory, BaseModel):
            found[name] = schema(factory, left_out, f"{within}{name}.")
        else:
            default = "???" if field.is_required() else default_of(field)
            found[name] = TypeAdapter(Any).dump_python(default, mode="json")
            if isinstance(default, dict):
                OmegaConf.set_struct(found[name], False)  # the config checks the keys
    return found
