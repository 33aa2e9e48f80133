"""Who is ranked: the rules, and the learned agents, trained once and then loaded."""

from collections.abc import Mapping
from pathlib import Path

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.evaluate import require_fit
from vcgym.agents.networks.policy import AgentPolicy
from vcgym.agents.published.export import load_agent, read_card
from vcgym.baselines.rule import is_oracle
from vcgym.leaderboard.evaluation.published import AGENT_ENV, Published, System
from vcgym.leaderboard.evaluation.rollout import RulePair
from vcgym.predictors.table import DelayTable

AGENT, OF_SEED = "PPO", "PPO seed "
"""What the agents trained here are called: one alone, or by their seeds."""


def is_agent_name(name: str) -> bool:
    """Whether an agent trained here may have this name."""
    return name == AGENT or name.startswith(OF_SEED)


def all_systems(
    rules: Mapping[str, RulePair], train: TrainConfig | None, submitted: Mapping[str, Published] | None = None
) -> dict[str, System]:
    """The rules, what was submitted and, if `train` is given, its agents.

    Raises:
        ValueError: a rule is an oracle or is called like an agent, or an agent that is there was trained otherwise.
    """
    oracles = [name for name, pair in rules.items() if is_oracle(pair.router)]
    if submitted and (twice := sorted(rules.keys() & submitted.keys())):
        raise ValueError(f"submissions are called {twice}; allowed: names other than the rules'")
    if oracles:
        raise ValueError(f"systems has {oracles}: an oracle is told true delays and is never ranked; allowed: what a place can know")
    others: dict[str, System] = {**rules, **(submitted or {})}
    if train is None:
        return others
    names = {AGENT if len(train.seeds) == 1 else f"{OF_SEED}{seed}": seed for seed in train.seeds}
    twice = sorted(names.keys() & others.keys())
    if twice:
        raise ValueError(f"systems has {twice}; allowed: names other than the agents' {sorted(names)}")
    return {**others, **_trained_agents(train, names)}


def table_errors(rules: Mapping[str, RulePair]) -> list[str]:
    """What is to be said of the rules that forecast by a table, which is not exact."""
    tables = {name: table for name, pair in rules.items() if isinstance(table := getattr(pair.router, "predictor", None), DelayTable)}
    return [
        f"{name} forecasts by a table, within {table.largest_error_ms:.2f} ms of its network, {table.mean_error_ms:.3f} ms on average"
        for name, table in tables.items()
    ]


def _trained_agents(train: TrainConfig, names: Mapping[str, int]) -> dict[str, Published]:
    folders = {name: train.folder / f"seed-{seed}" / "agent" for name, seed in names.items()}
    for folder in folders.values():
        if folder.exists():
            _refuse_stale(folder, train)
    if not all(folder.exists() for folder in folders.values()):
        from vcgym.agents.training.study import run_study  # torch is needed to train only

        run_study(train)
    envs = make_envs(train.env, 1, "validation")
    for folder in folders.values():
        require_fit(folder, envs)
    envs.close()
    return {name: published_agent(folder) for name, folder in folders.items()}


def published_agent(folder: Path) -> Published:
    """The agent of `vcgym/Call-v0` published in `folder`.

    Raises:
        ValueError: as `vcgym.agents.published.export.load_agent`.
    """
    load_call_agent(folder)
    return Published.of(folder, load_call_agent)


def load_call_agent(folder: Path) -> AgentPolicy:
    """Load a published agent of `vcgym/Call-v0`."""
    return load_agent(folder, AGENT_ENV)


def _refuse_stale(folder: Path, train: TrainConfig) -> None:
    trained = read_card(folder).config_hash
    if trained != train.digest():
        raise ValueError(
            f"{folder} was trained with config {trained}, not with {train.digest()}: choose another train.folder, or remove {train.folder}"
        )
