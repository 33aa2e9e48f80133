"""Participants: systems of rules, and learned agents, which are trained once and then loaded."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from vcgym.agents.config.algorithms import InsidePPOConfig
from vcgym.agents.config.base import digest_of
from vcgym.agents.config.env_arguments import env_defaults
from vcgym.agents.config.names import EVERY
from vcgym.agents.config.training import STUDY, TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.evaluate import require_fit
from vcgym.agents.published.export import agent_of, load_agent, read_card
from vcgym.agents.published.shipped import shipped_folder
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import ORACLE, TUNED, System, learned_system, load_study, load_systems
from vcgym.baselines.zoo import CARD, LEARNED, read_learned
from vcgym.leaderboard.cache import canonical
from vcgym.leaderboard.evaluation.evaluate import require_controls
from vcgym.leaderboard.evaluation.kinds.sender import SENDER
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import AGENT_ENV, NOT_PLAYED, ORDER_ENV, PATHS_ENVS, RATE_ENV, Entrant, PublishedAgent
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.leaderboard.statistics.seeds import SEED
from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import MAX_JSON_BYTES, read_plain
from vcgym.network.traces.refusal import faults, one_line

AGENT, OF_SEED = "PPO", f"PPO{SEED}"
"""Names of the agents trained here: one alone, or by their seeds."""
SENDER_ENVS = {RATE_ENV: "rate", ORDER_ENV: "order"}
"""Environments of agents that send over a bottleneck, and a scenario to try them on."""
_TUNED_ON = {"rate-replay": "rate"}
"""Suite of traces of your own -> scenario on which the rules that it shows are tuned; a rule tuned on the traces is named by its file."""


def is_agent_name(name: str) -> bool:
    """Return True if the name is allowed for an agent trained here."""
    return name == AGENT or name.startswith(OF_SEED)


def systems_of(suite: Suite, names: list[str] | None = None) -> dict[str, System]:
    """Return the systems that play a suite.

    Args:
        suite: suite to play.
        names: names of systems; None: those that the suite names. [`EVERY`], or None for a suite without names: all that control what the
            suite's calls have, except systems tuned for another bottleneck scenario and oracles that the suite does not show.

    Raises:
        ValueError: a name is unknown, or a system controls something else.
    """
    chosen = names or list(suite.systems)
    whole = not chosen or chosen == [EVERY]
    found = load_systems([name for name in system_names() if _is_shown(name, suite)] if whole else chosen)
    if whole:
        return {name: system for name, system in found.items() if system.fits(suite.kind.controls)}
    require_controls(suite, found)
    return found


def _is_shown(name: str, suite: Suite) -> bool:
    if name.startswith(ORACLE):
        return name in suite.columns.oracles
    tuned_on = (*suite.scenarios, _TUNED_ON.get(suite.name))
    tuned_apart = suite.kind.tuned_apart
    return not tuned_apart or not name.endswith(TUNED) or load_study(name)["budget"].get("scenario") in tuned_on


def all_participants(
    suite: Suite, systems: Mapping[str, System], train: TrainConfig | None, agents: Mapping[str, Entrant]
) -> dict[str, Entrant]:
    """Return the systems, the agents and, if `train` is given, the agents that it trains.

    Raises:
        ValueError: a name occurs twice, the suite does not show an oracle, a system controls something else, or an existing agent has
            another training config.
    """
    oracles = [name for name, system in systems.items() if system.is_oracle and name not in suite.columns.oracles]
    if twice := sorted(systems.keys() & agents.keys()):
        raise ValueError(f"agents are called {twice}; allowed: names other than the systems'")
    if oracles:
        raise ValueError(f"systems has {oracles}: an oracle is told true delays and is never ranked; allowed: what a location can know")
    others: dict[str, Entrant] = {**systems, **agents}
    rules = {name for name, one in agents.items() if isinstance(one, System)}
    if not suite.kind.env_ids and (own := sorted(agents.keys() - rules)):
        allowed = " and ".join(suite.kind.controls)
        raise ValueError(f"agents has {own}; allowed on suite {suite.name}-{suite.version}: systems with {allowed}")
    require_controls(suite, others)
    if train is None:
        return others
    if twice := sorted(_homes(train).keys() & others.keys()):
        raise ValueError(f"systems has {twice}; allowed: names other than the agents' {sorted(_homes(train))}")
    return {**others, **_trained_agents(train)}


def study_agents(name: str, folder: Path, suite: Suite) -> dict[str, Entrant]:
    """Return the agents of a finished study, named `name` if it has one seed, else `name` and the seed.

    Args:
        name: name on the board.
        folder: folder of `vcgym train` (config.json and seed-<seed>/agent), or of `python -m lab train-pair` or `train-rate`
            (seed-<seed>/learned.json).
        suite: suite to play.

    Raises:
        ValueError: the study does not exist or has another environment, or an agent is missing, broken or does not fit.
    """
    if pairs := sorted(folder.glob(f"seed-*/{LEARNED}.json")):
        homes = {name if len(pairs) == 1 else f"{name} {path.parent.name.replace('-', ' ')}": path.parent for path in pairs}
        return {called: _learned(home, suite) for called, home in homes.items()}
    config = study_config(name, folder)
    env = config.env.id
    _require_played(name, folder / STUDY, env, suite)
    homes = {
        name if len(config.seeds) == 1 else f"{name}{SEED}{seed}": folder / f"seed-{seed}" / "agent" for seed in config.seeds
    }  # fmt: skip
    return {called: _agent(home, env, _form_of(config)) for called, home in homes.items()}


def study_config(name: str, folder: Path) -> TrainConfig:
    """Return the config of the study in `folder`, which is called `name` on the board.

    Raises:
        ValueError: it is missing or broken.
    """
    path = folder / STUDY
    try:
        return TrainConfig.model_validate_json(read_plain(path, MAX_JSON_BYTES))
    except (DataError, ValidationError) as error:
        fault = faults(error) if isinstance(error, ValidationError) else error.args[2]
        raise ValueError(one_line(f"agents.{name}: {path} is not the config of a study: {fault}")) from error


def shipped_agent(name: str, shipped: str, suite: Suite) -> PublishedAgent:
    """Return the agent `shipped` of data/agents, called `name` on the board; it plays with the defaults of its environment.

    Raises:
        ValueError: its environment does not play the suite.
    """
    home = shipped_folder(shipped)
    env = read_card(home).env_id
    _require_played(name, home, env, suite)
    return _agent(home, env, ())


def _require_played(name: str, path: Path, env: str, suite: Suite) -> None:
    if env not in suite.kind.env_ids:
        raise ValueError(f"agents.{name}: {path} is of {env}; allowed: {', '.join(suite.kind.env_ids) or 'systems of rules'}")


def _agent(home: Path, env: str, form: tuple[tuple[str, Any], ...]) -> PublishedAgent:
    """Return the agent in `home`; one that sends is tried on a scenario."""
    agent = published_agent(home, form, env)
    if env in PATHS_ENVS:
        return agent
    part = Part(SENDER_ENVS[env], "", 1, "validation")
    envs = SENDER.envs(agent, part, part.scenario, "features")
    require_fit(home, envs)
    envs.close()
    return agent


def trained_before(train: TrainConfig) -> dict[str, Entrant]:
    """Return the agents that `all_participants` trains, if each of them is there, of this config; nothing is trained."""
    if not all((home / f"{LEARNED}{CARD}").exists() or (home / "agent").exists() for home in _homes(train).values()):
        return {}
    try:
        return _trained_agents(train)
    except ValueError:  # of another config: they are others than those of the board
        return {}


def _homes(train: TrainConfig) -> dict[str, Path]:
    """Return the folder of each agent of a training, by its name on a board."""
    return {AGENT if len(train.seeds) == 1 else f"{OF_SEED}{seed}": train.folder / f"seed-{seed}" for seed in train.seeds}


def _trained_agents(train: TrainConfig) -> dict[str, Entrant]:
    """Return the agents of a training, which is done if their files are not there."""
    homes = _homes(train)
    inside = isinstance(train.algorithm, InsidePPOConfig)
    trained = [(home / (f"{LEARNED}{CARD}" if inside else "agent")).exists() for home in homes.values()]
    for home, there in zip(homes.values(), trained, strict=True):
        if there:
            _refuse_stale(home, train, inside)
    if not all(trained):
        from vcgym.agents.training.study import run_study  # imported here: only training needs torch

        run_study(train)
    if inside:
        return {name: learned_system(home, LEARNED) for name, home in homes.items()}
    envs = make_envs(train.env, 1, "validation")
    for home in homes.values():
        require_fit(home / "agent", envs)
    envs.close()
    return {name: published_agent(home / "agent", _form_of(train), train.env.id) for name, home in homes.items()}


def _form_of(train: TrainConfig) -> tuple[tuple[str, Any], ...]:
    """Return the arguments with which an agent was trained and plays, as far as they are not the environment's defaults."""
    defaults, options = env_defaults(train.env.id), train.env.options
    other = (name for name in options.keys() - NOT_PLAYED if canonical(options[name]) != canonical(defaults[name]))
    return tuple((name, options[name]) for name in sorted(other))


def published_agent(folder: Path, form: tuple[tuple[str, Any], ...] = (), env: str = AGENT_ENV) -> PublishedAgent:
    """Return the agent published in `folder`, with the arguments `form` that are not the defaults of its id `env`.

    Raises:
        ValueError: see `vcgym.agents.published.export.load_agent`.
    """
    load_agent(folder, env)
    return PublishedAgent.read(folder, agent_of, env, form)


def _learned(home: Path, suite: Suite) -> System:
    system = learned_system(home, LEARNED)
    require_controls(suite, {str(home): system})
    return system


def _refuse_stale(home: Path, train: TrainConfig, inside: bool) -> None:
    trained = digest_of(read_learned(home, LEARNED).file.study["config"]) if inside else read_card(home / "agent").config_hash
    if trained != train.digest():
        raise ValueError(
            f"{home} was trained with config {trained}, not with {train.digest()}: choose another train.folder, or remove {train.folder}"
        )
