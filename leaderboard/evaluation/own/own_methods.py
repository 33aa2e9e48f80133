"""The user's own methods: what `agents.NAME` names, as participants of a suite, and a line on how each plays."""

import hashlib
import json
import os
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vcgym.agents.config.env_arguments import env_defaults
from vcgym.agents.config.training import STUDY
from vcgym.agents.evaluation.own_policy import load_own
from vcgym.agents.evaluation.saved_model import beside
from vcgym.agents.published.shipped import shipped_names
from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import System
from vcgym.envs import name_of
from vcgym.envs.environments.made_with import MADE_WITH
from vcgym.leaderboard.cache import canonical
from vcgym.leaderboard.evaluation.own.bandwidth_model import BandwidthModel
from vcgym.leaderboard.evaluation.own.local_agent import local_agent
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.participants import shipped_agent, study_agents, study_config
from vcgym.leaderboard.evaluation.published import Entrant, LocalAgent, PublishedAgent
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.statistics.seeds import SEED
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain

_UNITS = {"Playout": " arrivals", "Rate": " reports", "Send": " reports", "SendOrder": " opportunities"}
_SAID = ("action", "interval", "features", *Control, "reward")


class _Training(NamedTuple):
    """Training of a method: what names it, its name on the board, the participant, and its arguments in training; None: not known."""

    source: str
    name: str
    participant: Entrant
    trained: Mapping[str, Any] | None


def own_methods(
    agents: Mapping[str, Sequence[str]], options: Mapping[str, Mapping[str, Any]], suite: Suite, parts: Sequence[tuple[Part, Any]]
) -> tuple[dict[str, Entrant], list[str]]:
    """Return the participants of each method, and lines that say with which options they play.

    A method with one training has its own name, with several NAME seed 0, NAME seed 1 and so on, or the seeds of its study.

    Args:
        agents: what is played, by the name of the method: "module:name", a zip of Stable-Baselines3, an .onnx of the Bandwidth Estimation
            Challenge, the name of an agent in data/agents, or the folder of a finished study, whose seeds are all played.
        options: arguments of the environment, by method; see `local_agent`.
        suite: suite to play.
        parts: parts of the suite (`vcgym.leaderboard.evaluation.suites.prepare`).

    Raises:
        ValueError: something cannot be loaded, or does not fit the suite; the message names the method.
    """
    found: dict[str, Entrant] = {}
    told: list[str] = []
    for method, sources in agents.items():
        of_method = options.get(method, {})
        try:
            trainings = []
            for source, given in _of_each(sources, of_method):
                trainings += _loaded(source, given, suite, parts, method)
            _refuse_copies(trainings)
        except ValueError as error:
            raise ValueError(f"agents.{method}: {str(error).removeprefix(f'agents.{method}: ')}") from error
        for number, one in enumerate(trainings):
            name = one.name if len(sources) == 1 else f"{method}{SEED}{number}"
            found[method if len(trainings) == 1 else name] = one.participant
        told += _told(method, trainings, of_method)
        if any(part.traces for part, _ in parts):
            told += _trained_on(method, trainings)
    return found, told


def _of_each(items: Sequence[str], options: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the options of each item; of several normalisers each has its own.

    Raises:
        ValueError: there are more or fewer normalisers than items.
    """
    files = options.get("normalize")
    if not isinstance(files, list | tuple):
        return [(item, options) for item in items]
    if len(files) != len(items):
        raise ValueError(f"normalize has {len(files)} files; allowed: one for all, or one for each of {len(items)} agents")
    return [(item, {**options, "normalize": file}) for item, file in zip(items, files, strict=True)]


def on_own_traces(agents: Mapping[str, Sequence[str]]) -> bool:
    """Return True if an agent says that it was trained on traces of its user's own; nothing is loaded."""
    return any(trained.get("traces") for items in agents.values() for item in items if (trained := _says(item)))


def _says(item: str) -> Mapping[str, Any] | None:
    """Return the arguments of the environment in training that the file of an agent names as plain text; None: it names none."""
    path = Path(os.path.expanduser(item))
    files = [path / STUDY] if path.is_dir() else [path]
    files = sorted(path.glob("seed-*/learned.json")) or files if path.is_dir() else files
    try:
        if item.endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                if archive.getinfo("data").file_size > MAX_JSON_BYTES:
                    return None
                found: Any = json.loads(archive.read("data"))["action_space"][MADE_WITH]
        else:
            content = json.loads(read_plain(files[0], MAX_JSON_BYTES))
            found = (content["study"]["config"] if "study" in content and "weights_sha256" in content else content)["env"]
        return dict(found["options"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, zipfile.BadZipFile):  # what is broken is refused where it is loaded
        return None


def _trained_on(name: str, players: Sequence[_Training]) -> list[str]:
    """Return lines that say whether a method was trained on traces of one's own."""
    said: dict[str, None] = {}
    for one in players:
        trained = one.trained if one.trained is not None else _says(one.source)
        if trained is None:
            said[f"On what {name} was trained is not known: if on these traces, split=test plays what training leaves out."] = None
        elif trained.get("traces"):
            named = ", ".join(map(str, [trained["traces"]] if isinstance(trained["traces"], str) else trained["traces"]))
            said[f"{name} was trained on traces of your own, {named}: split=test plays what training leaves out of them."] = None
        else:
            said[f"{name} was trained on {_text(trained.get('scenario', 'other worlds'))}, not on these traces."] = None
    return list(said)


def _refuse_copies(players: Sequence[_Training]) -> None:
    """Refuse a method that has the same agent twice, under one name or several: its seeds count as independent trainings."""
    seen: dict[Any, str] = {}
    for one in players:
        content = _content_of(one)
        if content in seen:
            raise ValueError(
                f"{seen[content]} and {one.source} are the same agent; allowed: each training once, as seeds count as independent"
            )
        seen[content] = one.source


def _content_of(one: _Training) -> Any:
    """Return what two copies of an agent have in common, and no other."""
    if isinstance(one.participant, PublishedAgent):
        return one.participant.files
    if isinstance(one.participant, System):
        return repr(canonical(one.participant.rules))
    path = Path(os.path.expanduser(one.source))
    if not path.is_file():
        return one.source
    if one.source.endswith(".zip"):
        with zipfile.ZipFile(path) as archive:
            weights = [name for name in archive.namelist() if name == "policy.pth"]
            return hashlib.sha256(archive.read(weights[0]) if weights else path.read_bytes()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _loaded(item: str, options: Mapping[str, Any] | None, suite: Suite, parts: Iterable[tuple[Part, Any]], name: str) -> list[_Training]:
    """Return each training of one item, with the name that a study gives it."""
    if item.endswith((".zip", ".onnx")) or (":" in item and not Path(item).exists()):
        acts = BandwidthModel(item) if item.endswith(".onnx") else load_own(item)
        if isinstance(acts, System):
            return [_Training(item, name, acts.replace(is_local=True), None)]
        local = local_agent(acts, suite, parts, options, beside(Path(item)) if item.endswith(".zip") else None)
        return [_Training(item, name, local, local.own.made_with["options"] if local.own.made_with else None)]
    if options:
        raise ValueError(f"agent_options.{name} is {dict(options)}; allowed: none for {item}, which has its options")
    if item in shipped_names():
        return [_Training(item, name, shipped_agent(name, item, suite), None)]
    folder = Path(os.path.expanduser(item)).absolute()
    found = study_agents(name, folder, suite)
    is_known = any(isinstance(one, PublishedAgent) for one in found.values())
    trained = study_config(name, folder).env.options if is_known else None
    return [_Training(item, called, one, trained) for called, one in found.items()]


def _told(name: str, players: Sequence[_Training], options: Mapping[str, Any]) -> list[str]:
    """Return one line for all trainings of a method that play alike."""
    said: dict[str, list[str]] = {}
    for one in players:
        said.setdefault(_played(name, one, options), []).append(Path(one.source).name)
    return [f"{name}, {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}: {words}." for words, files in said.items()]


def _played(name: str, one: _Training, options: Mapping[str, Any]) -> str:
    """Return how a participant plays, and how that is known."""
    player = one.participant
    if isinstance(player, System):
        return ", ".join(f"{control} {_text(rule)}" for control, rule in player.rules.items())
    known, given = env_defaults(player.env), dict(player.arguments)
    trained = {} if one.trained is None else {**known, **one.trained}
    words = []
    for key in _SAID:
        value = trained.get(key) if key == "reward" else given.get(key, known.get(key))
        if value is not None and value is not False:  # False: a control that calls go without
            other = bool(trained) and key in options and _text(value) != _text(trained[key])
            words.append(_setting(key, value, player.env) + (f" in place of {_text(trained[key])} in training" if other else ""))
    if isinstance(player, LocalAgent) and player.own.between.layers:
        words.append(f"behind {player.own.between.names}")
    if trained:
        return ", ".join(words) + ("" if any(" in place of " in word for word in words) else ", as in training")
    if not isinstance(player, LocalAgent):
        return f"{', '.join(words)}; it ships, and plays with the defaults of {player.env}"
    free = [key for key in ("interval", "features") if key in known and key not in given]
    hint = f"; {' and '.join(free)} by default: agent_options.{name}={{{free[0]}: ...}} says otherwise" if free else ""
    return ", ".join(words) + hint


def _setting(key: str, value: Any, env: str) -> str:
    """Return an argument in words; an interval in its unit."""
    after = "" if key != "interval" else _UNITS.get(name_of(env), f" packets ({value * SLOT_US / 1e6:g} s)")
    return f"{key} {_text(value)}{after}"


def _text(value: Any) -> str:
    """Return a rule, a reward or features by the names of their classes."""
    if isinstance(value, tuple | list) and not hasattr(value, "_fields"):
        return ", ".join(map(_text, value)) or "none"
    if isinstance(value, Mapping) and "_target_" in value:
        return str(value["_target_"]).rpartition(".")[2]
    return str(value) if isinstance(value, bool | int | float | str) else type(value).__name__
