"""vcgym-leaderboard: train a small agent if there is none, play the suite, print the ranks, write the page. See conf/leaderboard.yaml.

With do=add the submission in `folder` joins; with do=verify the agents' scores are recomputed from their actions, and the command fails if
one is not what they come to; with do=page all suites that lie beside each other get one page.
"""

import sys

import hydra
from omegaconf import DictConfig
from rich.console import Console

from vcgym.agents.progress import progress
from vcgym.leaderboard.config import LeaderboardConfig
from vcgym.leaderboard.evaluation.cells import plan
from vcgym.leaderboard.evaluation.participants import all_systems, table_errors
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.report.publish import publish_together
from vcgym.leaderboard.report.run import prepare, run_suite, show
from vcgym.leaderboard.submissions.accept import accept, accepted
from vcgym.leaderboard.submissions.folder import RefusedError
from vcgym.leaderboard.submissions.verify import verify
from vcgym.scripts.schema import CONF, build, register
from vcgym.baselines.systems import load_systems, system_names

register()


@hydra.main(version_base="1.3", config_path=CONF, config_name="leaderboard")
def main(composed: DictConfig) -> None:
    """Compose, do it; a submission that is refused and a file that is not there end with their error and status 1."""
    config = build(composed, LeaderboardConfig)
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=120)
    try:
        if config.do == "verify":
            sys.exit(_verify(config, console))
        _run(config, console)
    except (RefusedError, FileNotFoundError) as error:
        sys.exit(f"vcgym-leaderboard: {error}")


def _run(config: LeaderboardConfig, console: Console) -> None:
    if config.do == "page":
        home = config.folder.parent
        publish_together(sorted(path.parent for path in home.glob("*/results.parquet")), home / "report.html")
        console.print(f"Report: {home / 'report.html'}", soft_wrap=True)
        return
    board = config.board if config.do == "add" else config.folder
    suite = SUITES[config.suite]
    parts = prepare(suite)
    rules = load_systems(config.systems)
    paths = [scenario.paths for _, scenario in parts]
    if config.do == "add":
        console.print(f"Taken: {accept(config.folder, board, paths, system_names())}")
    if len(parts) < len(suite.parts):
        console.print("Replay worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    for said in table_errors(rules):
        console.print(f"{said}.")
    systems = all_systems(rules, config.train, accepted(board, paths))
    with progress(f"suite {suite.name}-{suite.version}", len(plan(suite, parts, systems))) as tell:
        page = run_suite(suite, parts, systems, board, tell, config.threads, config.workers, config.ray.address)
    show(board, console)
    console.print(f"Report: {page}", soft_wrap=True)


def _verify(config: LeaderboardConfig, console: Console) -> int:
    try:
        verdicts = verify(config.folder, lambda done, name: console.print(f"replayed {done} calls of {name}", highlight=False))
    except ValueError as error:  # a file that is not what a run writes
        sys.exit(f"vcgym-leaderboard: {error}")
    for verdict in verdicts:
        said = f"{verdict.system}: {', '.join(map(str, verdict.world))}  {verdict.said}".rstrip()
        console.print(f"{'equal' if verdict.equal else 'NOT equal'}: {said}", highlight=False, soft_wrap=True, markup=False)
    equal = sum(verdict.equal for verdict in verdicts)
    console.print(f"{equal} of {len(verdicts)} rows of agents are what their actions come to.")
    return int(equal < len(verdicts))


if __name__ == "__main__":
    main()
