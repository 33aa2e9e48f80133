"""Many calls over one bottleneck: rules, constant actions and independent PPO, in efficiency and fairness.

In each row all calls have one rule, one law, or an agent trained by PPO; agents share parameters and see nothing of each other. The worlds
are those of `vcgym.envs.SharedRate`. Agents are trained with `trained_calls` calls, and play with each number of `calls`. In rows with two
names the first call differs from the others. With a common reward each agent learns from the mean utility of all calls.
"""

import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from stable_baselines3 import PPO

from vcgym.agents.config.base import AbsolutePath, Config
from vcgym.agents.sb3 import NativeVecEnv
from vcgym.baselines.systems import load_system
from vcgym.envs.call.sender.batch import PlayedFlow, SendingBatch, worlds_of
from vcgym.envs.environments.shared_rate import SharedRateVectorEnv
from vcgym.leaderboard.report.table import markdown_table
from vcgym.leaderboard.results.columns import interval_text
from vcgym.leaderboard.results.sender_metrics import utility
from vcgym.leaderboard.statistics.resampling import interval
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.bottleneck.sharing import sharing
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.bottleneck.together import CallsTogether
from vcgym.network.traces.plain_file import replace_file

log = logging.getLogger(__name__)

Scores = dict[str, NDArray[np.float64]]
"""Scores by name, (kinds, worlds)."""
Act = Callable[[NDArray[np.float32]], NDArray[np.int64]]

LAWS = {"SCReAM": 0, "NADA": 1, "aim 27 ms": 3, "aim 60 ms": 4}  # constant actions of Rate
HEADINGS = ("calls", "all calls", "utility/s", "above reference", "used %", "Jain's index", "least / mean", "queueing ms", "first / mean")
_LOG_PACKETS = 1 << 17


class ManyCallsConfig(Config):
    """Rows of the table, and the training of their agents.

    Attributes:
        systems: systems whose rule of the rate plays all calls; the first is the reference.
        calls: numbers of calls.
        worlds: validation worlds of each kind.
        seeds: seeds of trainings; none: no agents.
        decisions: decisions of a training, over all calls.
        trained_calls: number of calls in training.
        folder: folder of the agents and the table.
    """

    systems: Annotated[list[str], Field(min_length=1)] = Field(
        default=[
            "SCREAM-V2-rate-tuned", "SCREAM-V1-rate-tuned", "NADA-rate-tuned", "NADA-XMAX-rate-tuned", "GCC-WEBRTC-rate-tuned",
            "GCC-DRAFT-rate-tuned", "UNMOD-rate-tuned", "FIXED-rate-tuned", "learned-rate",
        ]
    )  # fmt: skip
    calls: Annotated[list[int], Field(min_length=1)] = Field(default=[2, 4, 8])
    worlds: Annotated[int, Field(ge=2, le=1000)] = 12
    seeds: list[int] = Field(default=[0, 1, 2])
    decisions: Annotated[int, Field(ge=1)] = 400_000
    trained_calls: Annotated[int, Field(ge=2, le=32)] = 4
    folder: AbsolutePath = Path("outputs/many-calls")


class TeamEnvs(SharedRateVectorEnv):
    """The same calls, each with the mean reward of all calls of its bottleneck."""

    def step(self, actions: NDArray[Any]) -> Any:
        """Step, see `EpisodeVectorEnv.step`."""
        observations, rewards, *others = super().step(actions)
        of_first, beside = np.split(rewards, [self.bottlenecks])
        mean = (of_first + beside.reshape(self.bottlenecks, -1).sum(axis=1)) / self.calls
        return observations, np.concatenate([mean, np.repeat(mean, self.calls - 1)]), *others


def trained(config: ManyCallsConfig, seed: int, envs_class: type[SharedRateVectorEnv] = SharedRateVectorEnv) -> PPO:
    """Return an agent for all calls: PPO over the rows of 16 bottlenecks; read from the folder, if it has been trained before."""
    file = config.folder / f"{envs_class.__name__}-{seed}-{config.trained_calls}-{config.decisions}.zip"
    if not file.exists():
        envs = NativeVecEnv(envs_class(16, config.trained_calls, autoreset_mode="SAME_STEP"))
        envs.seed(1_000_000 * seed)
        agent = PPO("MlpPolicy", envs, n_steps=128, batch_size=1024, n_epochs=5, learning_rate=5e-4, gamma=0.97, seed=seed, device="cpu")
        agent.learn(config.decisions).save(file)
    return PPO.load(file, device="cpu")


def of_agent(agent: PPO) -> Act:
    """Return the best action of an agent in each row."""
    return lambda observations: agent.predict(observations, deterministic=True)[0]


def of_law(action: int) -> Act:
    """Return the same action for each row."""
    return lambda observations: np.full(len(observations), action)


def scores(link: SharedLink, flows: Sequence[PlayedFlow]) -> dict[str, float]:
    """Return `sharing`, and the mean utility per second of the calls."""
    utilities = [utility(flow.link, flow.log, flow.totals, flow.row) for flow in flows]
    return {**sharing(link, flows), "utility": float(np.mean(utilities))}


def played_by_rule(system: str, calls: int, worlds: int) -> Scores:
    """Return the scores where one rule plays all calls."""
    loaded, recipe = load_system(system), CallsTogether(SendingScenario("rate"), calls)
    limits, found = worlds_of(recipe)._replace(same=True), []
    for kind in recipe.kinds:
        batch = SendingBatch(worlds, loaded.rate, loaded.order, limits, pacing=loaded.pacing or 0.0, log_packets=_LOG_PACKETS)
        links = [recipe.draw("validation", seed, kind) for seed in range(worlds)]
        for row, link in enumerate(links):
            batch.start(row, link)
        batch.play(np.arange(worlds))
        found.append([scores(link, batch.flows(row)) for row, link in enumerate(links)])
    return _stacked(found)


def played_by_agents(first: Act, others: Act, calls: int, worlds: int) -> Scores:
    """Return the scores where `first` acts for the first call of each bottleneck, and `others` for the others."""
    envs, found = SharedRateVectorEnv(worlds, calls, split="validation", log_packets=_LOG_PACKETS), []
    for kind in envs.scenario.kinds:
        observations, _ = envs.reset(seed=0, options={"kind": kind})
        of_kind: dict[int, dict[str, float]] = {}
        while len(of_kind) < worlds:
            actions = np.concatenate([first(observations[:worlds]), others(observations[worlds:])])
            observations, _, _, truncated, _ = envs.step(actions)
            for row in set(np.flatnonzero(truncated[:worlds]).tolist()) - of_kind.keys():
                link = envs.batch.links[row]
                assert link is not None
                of_kind[row] = scores(link, envs.batch.flows(row))
        found.append([of_kind[row] for row in range(worlds)])
    return _stacked(found)


def _stacked(found: list[list[dict[str, float]]]) -> Scores:
    return {name: np.array([[one[name] for one in of_kind] for of_kind in found]) for name in found[0][0]}


def main(config: ManyCallsConfig) -> None:
    """Train, play all rows, and write many_calls.md with 95 % intervals over worlds."""
    torch.set_num_threads(1)
    config.folder.mkdir(parents=True, exist_ok=True)
    agents = {f"PPO, seed {seed}": of_agent(trained(config, seed)) for seed in config.seeds}
    teams = {f"PPO, common reward, seed {seed}": of_agent(trained(config, seed, TeamEnvs)) for seed in config.seeds}
    laws = {f"always {name}": of_law(action) for name, action in LAWS.items()}
    pairs = {f"{a} against {b}": (LAWS[a], LAWS[b]) for a, b in (("NADA", "SCReAM"), ("SCReAM", "NADA"))}
    rows: list[list[str]] = []
    for calls in config.calls:
        played = {name: played_by_rule(name, calls, config.worlds) for name in config.systems}
        played |= {name: played_by_agents(act, act, calls, config.worlds) for name, act in (laws | agents | teams).items()}
        played |= {name: played_by_agents(of_law(a), of_law(b), calls, config.worlds) for name, (a, b) in pairs.items()}
        for name, act in agents.items():
            played[f"NADA against {name}"] = played_by_agents(of_law(LAWS["NADA"]), act, calls, config.worlds)
        reference = played[config.systems[0]]
        rows += [[str(calls), name, *_cells(one, reference)] for name, one in played.items()]
        replace_file(config.folder / "many_calls.md", markdown_table(HEADINGS, rows, HEADINGS[1:2]).encode())
        log.info(f"{calls} calls: {config.folder / 'many_calls.md'}")


def _cells(one: Scores, reference: Scores) -> list[Any]:
    above = interval_text(interval(list(one["utility"] - reference["utility"])), 3, style="+")
    shown = (("utility", 3, 1), ("used", 1, 100), ("jain", 3, 1), ("least", 2, 1), ("queueing_ms", 0, 1), ("first", 2, 1))
    utility_text, *others = (interval_text(interval(list(one[name])), decimals, factor) for name, decimals, factor in shown)
    return [utility_text, above, *others]
