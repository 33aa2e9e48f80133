"""The commands of submissions: play one on a board, and recompute the scores of a board. See docs/rank.md."""

from itertools import groupby

from rich.console import Console

from vcgym.baselines.system_files import system_names
from vcgym.leaderboard.evaluation.config import LeaderboardConfig
from vcgym.leaderboard.evaluation.own.local_agent import env_of
from vcgym.leaderboard.evaluation.own.own_methods import on_own_traces, own_methods
from vcgym.leaderboard.evaluation.participants import trained_before
from vcgym.leaderboard.evaluation.published import AGENT_KINDS
from vcgym.leaderboard.evaluation.suites import prepare
from vcgym.leaderboard.results.files import read_results
from vcgym.scripts.leaderboard import rank
from vcgym.submissions.accept import accept, accepted
from vcgym.submissions.config import SubmitConfig
from vcgym.submissions.trial import observe
from vcgym.submissions.verify import AGENT, verify


def submit(config: SubmitConfig) -> None:
    """Accept the submission, then play it, and all that the board has accepted before."""
    config.data.export()
    suite = config.played_suite(on_own_traces(config.agents))
    parts = prepare(suite)
    name = accept(config.submission, config.folder, observe(suite, parts), system_names(), env_of(suite))
    Console(emoji=False).print(f"Taken: {name}", highlight=False, markup=False, soft_wrap=True)
    rank(config, suite, parts, *accepted(config.folder))


def verify_board(config: LeaderboardConfig) -> int:
    """Recompute the scores of agents from their actions; return status 1 if one differs."""
    config.data.export()
    console = Console(emoji=False)
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
