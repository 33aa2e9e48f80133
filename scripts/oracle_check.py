"""vcgym-oracle-check: check that no system beats its oracle on random worlds with hidden losses. See conf/oracle_check.yaml."""

from rich.console import Console

from vcgym.agents.tracking.progress import progress
from vcgym.leaderboard.evaluation.participants import systems_of
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.headroom.check import SCENARIOS, compare, summary
from vcgym.leaderboard.headroom.config import OracleCheckConfig
from vcgym.network.scenarios.scenario import Scenario
from vcgym.scripts.console.command import command


@command("oracle_check", OracleCheckConfig)
def main(config: OracleCheckConfig) -> None:
    """Play the systems, compare them with their oracles, and print the result."""
    scenarios = [Scenario(name, mode, config.packets) for name, mode in SCENARIOS]
    with progress("oracle check", config.worlds) as on_progress:
        found = compare(scenarios, systems_of(SUITES["first"], config.systems), config.worlds, config.per_world, on_progress, config.first)
    Console().print(summary(found), highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
