"""vcgym-evaluate: play a published agent and print its return. See conf/evaluate.yaml."""

import logging

from vcgym.agents.config.training import EvaluateConfig
from vcgym.agents.evaluation.evaluate import evaluate_agent
from vcgym.agents.tracking.progress import progress
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("evaluate", EvaluateConfig)
def main(config: EvaluateConfig) -> None:
    """Evaluate the agent and print the result."""
    with progress(f"decisions of each of {config.episodes} calls", None) as on_progress:
        result = evaluate_agent(config, on_progress)
    log.info(f"{config.agent}: return {result.return_mean:.3f}, sd {result.return_sd:.3f}, over {result.episodes} {config.split} episodes")


if __name__ == "__main__":
    main()
