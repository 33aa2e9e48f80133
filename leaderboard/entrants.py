"""The learned agents of a leaderboard: trained once, then loaded."""

from vcgym.agents.config import TrainConfig
from vcgym.agents.export import load_agent
from vcgym.agents.policy import AgentPolicy
from vcgym.leaderboard.run import AGENT_ENV


def trained_agents(config: TrainConfig) -> dict[str, AgentPolicy]:
    """The published agents of a study, "PPO" or "PPO seed 1" and so on; trains those that are not there yet."""
    folders = {seed: config.folder / f"seed-{seed}" / "agent" for seed in config.seeds}
    if not all(folder.exists() for folder in folders.values()):
        from vcgym.agents.study import run_study  # torch is needed to train only

        run_study(config)
    only = len(folders) == 1
    return {"PPO" if only else f"PPO seed {seed}": load_agent(folder, AGENT_ENV) for seed, folder in folders.items()}
