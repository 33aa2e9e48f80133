"""Who sends besides the rules: learned agents, which hold one lever; the other is held as it was in their training."""

from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray
from pydantic import ValidationError

from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.evaluate import require_fit
from vcgym.agents.evaluation.play import play
from vcgym.agents.published.export import load_agent
from vcgym.leaderboard.evaluation.published import Published
from vcgym.leaderboard.sending.rollout import MOST_PACKETS, Sender, metrics
from vcgym.network.scenarios.sending_scenarios import SendingScenario
from vcgym.network.scenarios.splits import unlock_test_split

ENVS = ("vcgym/Rate-v0", "vcgym/SendOrder-v0")
_OF_THE_WORLD = {"scenario", "seconds", "send_queue"}  # arguments that the suite chooses


class AgentSender(NamedTuple):
    """A learned agent on the board.

    Attributes:
        agent: the content of its folder.
        env_id: the lever that it holds.
        arguments: of the environment, as in training, but for what the suite chooses; by name.
    """

    agent: Published
    env_id: str
    arguments: tuple[tuple[str, Any], ...]

    @property
    def is_oracle(self) -> bool:
        """An agent is told no more than any sender."""
        return False


Entrant = Sender | AgentSender


def study_agents(name: str, folder: Path) -> dict[str, Entrant]:
    """The agents of a finished study, `name` if it has one seed, else `name` and the seed.

    Args:
        name: on the board.
        folder: what `vcgym-train` wrote, with config.json and seed-<seed>/agent.

    Raises:
        ValueError: no such study, of another environment, or an agent that is missing, broken or does not fit.
    """
    path = folder / "config.json"
    try:
        config = TrainConfig.model_validate_json(path.read_text(encoding="utf-8"))
    except (OSError, ValidationError) as error:
        raise ValueError(f"agents.{name}: {path} is no study's config: {error}") from error
    if config.env.id not in ENVS:
        raise ValueError(f"agents.{name}: {path} is of {config.env.id}; allowed: {', '.join(ENVS)}")
    arguments = tuple(sorted((key, value) for key, value in config.env.options.items() if key not in _OF_THE_WORLD))
    found: dict[str, Entrant] = {}
    for seed in config.seeds:
        home = folder / f"seed-{seed}" / "agent"
        load_agent(home, config.env.id)
        entrant = AgentSender(Published.of(home, load_agent), config.env.id, arguments)
        envs = _envs(entrant, "rate" if config.env.id == ENVS[0] else "order", 1, "validation")
        require_fit(home, envs)
        envs.close()
        found[name if len(config.seeds) == 1 else f"{name} seed {seed}"] = entrant
    return found


@unlock_test_split()
def play_agent(entrant: AgentSender, scenario: SendingScenario, kind: str, runs: int) -> list[dict[str, float]]:
    """The metrics of each call of a kind of the test split: the worlds of `vcgym.leaderboard.sending.suites.links`."""
    policy = entrant.agent.policy()
    envs = _envs(entrant, scenario.name, runs, "test", data=scenario.data, log_packets=MOST_PACKETS)
    observation, _ = envs.reset(seed=list(range(runs)), options={"kind": kind})
    found: dict[int, dict[str, float]] = {}

    def measure(done: NDArray[np.int64]) -> None:
        for row in done.tolist():
            found[row] = metrics(envs.batch.links[row], envs.log(row), envs.batch.totals(), row)

    play(policy, envs, observation, measure)
    envs.close()
    return [found[row] for row in range(runs)]


def _envs(entrant: AgentSender, scenario: str, num_envs: int, split: str, **others: Any) -> Any:
    arguments = dict(entrant.arguments) | {"scenario": scenario, "send_queue": None}
    return gymnasium.make_vec(
        entrant.env_id, num_envs=num_envs, split=split, autoreset_mode=AutoresetMode.NEXT_STEP, **arguments, **others
    ).unwrapped  # fmt: skip
