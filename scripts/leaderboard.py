"""vcgym leaderboard: play a suite, print the ranks, write the page. See conf/leaderboard.yaml.

For suites over paths it trains a small agent if there is none. list=systems prints the systems of the suite with their sources. do=add adds
the submission in `folder`. do=verify recomputes the agents' scores from their actions, and fails if one differs. do=page writes one page
for all suites with results in the same parent folder. do=export output=FILE.tex or FILE.csv writes a table. do=fairness lets calls share a
bottleneck. do=courses draws systems in the test cases of RMCAT, or on the dumbbell if the suite is of conferences. do=swaps says which
control explains the difference of two systems.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from vcgym.agents.config.names import EVERY
from vcgym.agents.tracking.progress import progress
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import System, load_system
from vcgym.leaderboard.evaluation.bars import references
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.leaderboard.evaluation.kinds.paths import PATHS
from vcgym.leaderboard.evaluation.local import env_of
from vcgym.leaderboard.evaluation.participants import all_participants, systems_of, trained_before
from vcgym.leaderboard.evaluation.plan import plan
from vcgym.leaderboard.evaluation.published import AGENT_KINDS, Entrant
from vcgym.leaderboard.evaluation.suites import SUITES, Suite, prepare
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.courses import draw_courses_of, suite_of_courses
from vcgym.leaderboard.report.export import export
from vcgym.leaderboard.report.fairness import HEADINGS, fairness, pairings, pairings_of
from vcgym.leaderboard.report.publish import publish_together
from vcgym.leaderboard.report.run import run_suite, show
from vcgym.leaderboard.report.system_list import system_rows
from vcgym.leaderboard.results.files import read_results, read_with_oracles
from vcgym.leaderboard.submissions.accept import accept, accepted
from vcgym.leaderboard.submissions.own import on_own_traces, own_methods
from vcgym.leaderboard.submissions.trial import observe
from vcgym.leaderboard.submissions.verify import AGENT, verify
from vcgym.leaderboard.swaps import swaps
from vcgym.scripts.console.command import command


@command("leaderboard", LeaderboardConfig)
def main(config: LeaderboardConfig) -> int:
    """Run the command; return status 1 if a score was not reproduced."""
    config.data.export()
    console = Console() if Console().is_terminal else Console(width=120)
    if config.do == "verify":
        return _verify(config, console)
    _run(config, console)
    return 0


def _run(config: LeaderboardConfig, console: Console) -> None:
    suite = config.played_suite(on_own_traces(config.agents))
    if config.list:
        _print_rows(("system", "control", "rule", "source"), system_rows(systems_of(suite, config.systems)), console)
    elif config.do == "page":
        home = config.folder.parent
        publish_together(sorted(path.parent for path in home.glob("*/results.parquet")), home / "report.html")
        console.print(f"Report: {home / 'report.html'}", soft_wrap=True)
    elif config.do == "export":
        assert config.output is not None
        export(boards(read_with_oracles(config.folder)), config.output, config.systems or ())
        console.print(f"Table: {config.output}", soft_wrap=True)
    elif config.do == "fairness":
        played = pairings_of(_sharing(config)) if config.systems or config.agents else pairings()
        with progress("calls that share", len(played)) as on_progress:
            rows = fairness(config.folder, played, on_progress)
        _print_rows(HEADINGS, rows, console)
        console.print(f"Page: {config.folder / 'sending_fairness.md'}", soft_wrap=True)
    elif config.do == "courses":
        of = suite_of_courses(suite)
        for name, system in systems_of(of, config.systems).items():
            for picture in draw_courses_of(of, name, system, config.folder):
                console.print(f"Picture: {picture}", soft_wrap=True)
    elif config.do == "swaps":
        first, second = systems_of(suite, config.systems)
        _print_rows(*swaps(first, second, suite, config.folder, config.threads), console)
    else:
        _play(config, suite, console)


def _sharing(config: LeaderboardConfig) -> dict[str, System]:
    """Return the systems that share a bottleneck with the rules."""
    suite = SUITES["rate-v0"]
    found: dict[str, Entrant] = dict(systems_of(suite, config.systems)) if config.systems else {}
    found |= own_methods(config.agents, config.agent_options, suite, prepare(suite))[0]
    outside = sorted(name for name, one in found.items() if not isinstance(one, System))
    if outside:
        raise ValueError(f"agents has {outside}; do=fairness allows: rules and learned rules, which play inside the loop")
    return {name: one for name, one in found.items() if isinstance(one, System)}


def _play(config: LeaderboardConfig, suite: Suite, console: Console) -> None:
    board = config.board if config.do == "add" else config.folder
    parts = prepare(suite)
    systems = systems_of(suite, config.systems)
    systems |= {name: load_system(name) for name in references(f"{suite.name}-{suite.version}") if name not in systems}
    if config.do == "add":
        console.print(f"Taken: {accept(config.folder, board, observe(suite, parts), system_names(), env_of(suite))}")
    if len(parts) < len(suite.parts):
        console.print("Measured worlds are left out: data.root or VCGYM_DATA names no folder of measured series.")
    submitted, left_out = accepted(board)
    own, told = own_methods(config.agents, config.agent_options, suite, parts)
    for line in told:
        console.print(line, highlight=False, markup=False, soft_wrap=True)
    participants = all_participants(suite, systems, config.train if suite.kind == PATHS else None, {**submitted, **own})
    with progress(f"suite {suite.name}-{suite.version}: parts done", len(plan(suite, parts, participants))) as on_progress:
        ranked = run_suite(suite, parts, participants, board, on_progress, config.threads, config.workers, config.ray.address, left_out)
    show(ranked, board, console, [] if config.systems in (None, [EVERY]) else config.systems or [])


def _print_rows(headings: Sequence[str], rows: Iterable[Sequence[str]], console: Console) -> None:
    table = Table(*headings, box=SIMPLE_HEAD)
    for row in rows:
        table.add_row(*(cell.replace("[", r"\[") for cell in row))
    console.print(table)


def _verify(config: LeaderboardConfig, console: Console) -> int:
    own = config.suites_of_traces()
    known = trained_before(config.train) if config.train else {}
    if config.agents:
        suite = config.played_suite(on_own_traces(config.agents))
        known |= own_methods(config.agents, config.agent_options, suite, prepare(suite))[0]

    def report(done: int, name: str) -> None:
        console.print(f"replayed {done} calls of {name}", highlight=False)

    verdicts = verify(config.folder, report, own, known, config.threads)
    for name, of_agent in groupby((verdict for verdict in verdicts if not verdict.checked), lambda verdict: verdict.system):
        rows = list(of_agent)
        text = f"not verified: {name}, {len(rows)} results: it {rows[0].said.replace('NAME', name)}"
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    rules = [row for row in read_results(config.folder / "results.parquet").to_pylist() if row.get("kind", AGENT) not in AGENT_KINDS]
    if rules:
        how = "the command of the run with folder=NEW plays the same worlds with the same seeds again, and its rows must be equal"
        text = f"not verified: {len(rules)} results of {len({row['system'] for row in rules})} rules, which log no actions; {how}"
        console.print(text, highlight=False, soft_wrap=True, markup=False)
    verdicts = [verdict for verdict in verdicts if verdict.checked]
    for verdict in verdicts:
        text = f"{verdict.system}: {', '.join(map(str, verdict.world))}  {verdict.said}".rstrip()
        console.print(f"{'equal' if verdict.equal else 'NOT equal'}: {text}", highlight=False, soft_wrap=True, markup=False)
    equal = sum(verdict.equal for verdict in verdicts)
    console.print(f"{equal} of {len(verdicts)} agent results reproduced.")
    return int(equal < len(verdicts))


if __name__ == "__main__":
    main()
