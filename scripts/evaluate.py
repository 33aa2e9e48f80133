"""vcgym evaluate: play a published agent and print its return. See conf/evaluate.yaml."""

import logging

from vcgym.agents.config.training import EvaluateConfig
from vcgym.agents.evaluation.evaluate import env_of, evaluate_agent
from vcgym.agents.tracking.progress import progress
from vcgym.scripts.console.command import command

log = logging.getLogger(__name__)


@command("evaluate", EvaluateConfig)
def main(config: EvaluateConfig) -> None:
    """Evaluate the agent and print the result."""
    with progress(f"decisions of each of {config.episodes} calls", None) as on_progress:
        result = evaluate_agent(config, on_progress)
    returned = f"return {result.return_mean:.3f}, sd {result.return_sd:.3f}, over {result.episodes} {config.split} episodes"
    log.info(f"{config.agent}: {returned} of {env_of(config).id}")


if __name__ == "__main__":
    main()
