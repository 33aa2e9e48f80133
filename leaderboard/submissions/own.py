"""The user's own methods: what `agents.NAME` names, as participants of a suite, and a line on how each plays."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vcgym.agents.config.env import env_defaults
from vcgym.agents.evaluation.own_policy import load_own
from vcgym.agents.evaluation.saved_model import beside
from vcgym.agents.published.shipped import shipped_names
from vcgym.baselines.controls.control import CONTROLS
from vcgym.baselines.systems import System
from vcgym.envs import name_of
from vcgym.leaderboard.evaluation.local import local_agent
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.participants import shipped_agent, study_agents
from vcgym.leaderboard.evaluation.published import LocalAgent, Participant
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.statistics.seeds import SEED
from vcgym.leaderboard.submissions.bandwidth_model import BandwidthModel
from vcgym.network.kernels.slots import SLOT_US

_UNITS = {"Playout": " arrivals", "Rate": " reports", "SendOrder": " opportunities"}
_SAID = ("action", "interval", "features", *CONTROLS, "reward")


def own_methods(
    agents: Mapping[str, Sequence[str]], options: Mapping[str, Mapping[str, Any]], suite: Suite, parts: Sequence[tuple[Part, Any]]
) -> tuple[dict[str, Participant], list[str]]:
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
    found: dict[str, Participant] = {}
    told: list[str] = []
    for name, items in agents.items():
        try:
            of_items = _of_each(items, options.get(name, {}))
            players = [(item, *one) for item, given in of_items for one in _loaded(item, given, suite, parts, name)]
        except ValueError as error:
            raise ValueError(f"agents.{name}: {str(error).removeprefix(f'agents.{name}: ')}") from error
        single, alone = len(players) == 1, len(items) == 1
        for number, (_, called, player) in enumerate(players):
            found[name if single else called if alone else f"{name}{SEED}{number}"] = player
        told += _told(name, [(item, player) for item, _, player in players], options.get(name, {}))
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


def _loaded(
    item: str, options: Mapping[str, Any] | None, suite: Suite, parts: Iterable[tuple[Part, Any]], name: str
) -> list[tuple[str, Participant]]:
    """Return each training of one item, with the name that a study gives it."""
    if item.endswith((".zip", ".onnx")) or (":" in item and not Path(item).exists()):
        acts = BandwidthModel(item) if item.endswith(".onnx") else load_own(item)
        if isinstance(acts, System):
            return [(name, acts.replace(is_local=True))]
        return [(name, local_agent(acts, suite, parts, options, beside(Path(item)) if item.endswith(".zip") else None))]
    if options:
        raise ValueError(f"agent_options.{name} is {dict(options)}; allowed: none for {item}, which has its options")
    if item in shipped_names():
        return [(name, shipped_agent(name, item, suite))]
    return list(study_agents(name, Path(item).expanduser().absolute(), suite).items())


def _told(name: str, players: Sequence[tuple[str, Participant]], options: Mapping[str, Any]) -> list[str]:
    """Return one line for all trainings of a method that play alike."""
    said: dict[str, list[str]] = {}
    for item, player in players:
        said.setdefault(_played(name, player, options), []).append(Path(item).name)
    return [f"{name}, {files[0]}{f' and {len(files) - 1} more' if len(files) > 1 else ''}: {words}." for words, files in said.items()]


def _played(name: str, player: Participant, options: Mapping[str, Any]) -> str:
    """Return how a participant plays, and how that is known."""
    if isinstance(player, System):
        return ", ".join(f"{control} {_text(rule)}" for control, rule in player.rules.items())
    known, given = env_defaults(player.env), dict(player.arguments)
    made_with = player.own.made_with if isinstance(player, LocalAgent) else {"options": given}
    trained = {**known, **made_with["options"]} if made_with else {}
    words = []
    for key in _SAID:
        value = trained.get(key) if key == "reward" else given.get(key, known.get(key))
        if value is not None and value is not False:  # False: a control that calls go without
            other = bool(trained) and key in options and _text(value) != _text(trained[key])
            words.append(_setting(key, value, player.env) + (f" in place of {_text(trained[key])} in training" if other else ""))
    if isinstance(player, LocalAgent) and player.own.between.layers:
        words.append(f"behind {player.own.between.told}")
    if made_with:
        return ", ".join(words) + ("" if any(" in place of " in word for word in words) else ", as in training")
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
