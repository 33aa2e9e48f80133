"""Accepted submissions of a leaderboard: copies in its folder of results, played in every later run."""

from collections.abc import Collection
from pathlib import Path

from vcgym.agents.published.new_folder import new_folder
from vcgym.leaderboard.evaluation.own.onnx_model import RefusedError
from vcgym.leaderboard.evaluation.participants import is_agent_name
from vcgym.leaderboard.evaluation.published import AGENT_ENV, PublishedAgent
from vcgym.network.traces.plain_file import inside
from vcgym.network.traces.refusal import shown
from vcgym.submissions.load import CARD, Submission, read
from vcgym.submissions.trial import Observed, try_submission

FOLDER = "submissions"  # within the folder of results


def accept(folder: Path, board: Path, observed: Observed, rules: Collection[str], env: str = AGENT_ENV) -> str:
    """Take the submission in `folder`, copy it to the results in `board`, and return its name, which none of the played `rules` has.

    Raises:
        RefusedError: it is rejected, or a rule, an agent trained here or another submission has its name.
    """
    submission = take(folder, observed, env)
    name = submission.card.name
    if name in rules or is_agent_name(name):
        raise RefusedError(folder, f"is called {name!r}, as a system of this leaderboard is", "another name")
    kept = inside(board, f"{FOLDER}/{name}")
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(kept) as draft:
            for file, content in submission.published.files:
                (draft / file).write_bytes(content)
    elif read(kept).published.files != submission.published.files:
        raise RefusedError(folder, f"is called {name!r} as {kept} is, which differs", "another name, or remove the old one")
    return name


def take(folder: Path, observed: Observed, env: str = AGENT_ENV) -> Submission:
    """Read, check and try a submission (docs/rank.md) for a suite that agents play in the environment `env`.

    The trial is over the observations of `vcgym.submissions.trial.observe`.

    Raises:
        RefusedError: naming the file, what is wrong, and what is allowed.
    """
    submission = read(folder)
    if not observed:
        raise RefusedError(folder, "is for a suite without trial calls", "suites of calls over paths or over a bottleneck alone")
    if submission.published.env != env:
        raise RefusedError(folder / CARD, f"describes a model for {submission.published.env}", f"{env}, as the suite has")
    try_submission(folder / submission.card.weights, submission.published.files, observed)
    return submission


def accepted(board: Path) -> tuple[dict[str, PublishedAgent], dict[str, str]]:
    """Read the submissions in `board` again; return the valid ones by name, and the rejected ones with the reason."""
    kept, taken, left_out = inside(board, FOLDER), dict[str, PublishedAgent](), dict[str, str]()
    for folder in sorted(kept.iterdir()) if kept.is_dir() else []:
        if folder.name.startswith("."):
            continue
        try:
            submission = read(folder)
            taken[submission.card.name] = submission.published
        except RefusedError as error:
            left_out[shown(folder.name)[1:-1]] = f"is refused: {error}"
    return taken, left_out
