"""Submissions that a leaderboard has taken: copies beside its results, played with the others from then on."""

from collections.abc import Collection, Iterable
from pathlib import Path

from vcgym.agents.published.new_folder import new_folder
from vcgym.leaderboard.evaluation.participants import is_agent_name
from vcgym.leaderboard.evaluation.published import PublishedAgent
from vcgym.leaderboard.submissions.folder import RefusedError
from vcgym.leaderboard.submissions.load import read, take

FOLDER = "submissions"  # within that of the results


def accept(folder: Path, board: Path, paths: Iterable[int], rules: Collection[str]) -> str:
    """Check the submission in `folder`, copy it to the results in `board`, and return its name.

    Args:
        folder: of the submission.
        board: of the results.
        paths: how many paths the worlds have that it is to play.
        rules: names of all rules that may be played beside it.

    Raises:
        RefusedError: it is not taken, or a rule, an agent of ours or another submission has its name.
    """
    submission = take(folder, paths)
    name = submission.card.name
    if name in rules or is_agent_name(name):
        raise RefusedError(folder, f"is called {name!r}, as a system of this leaderboard is", "another name")
    kept = board / FOLDER / name
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with new_folder(kept) as draft:
            for file, content in submission.published.files:
                (draft / file).write_bytes(content)
    elif read(kept).published != submission.published:
        raise RefusedError(folder, f"is called {name!r} as {kept} is, which differs", "another name, or remove the old one")
    return name


def accepted(board: Path, paths: Iterable[int]) -> dict[str, PublishedAgent]:
    """Return the submissions that lie with the results in `board`, checked again, by name.

    Raises:
        RefusedError: one is not as it must be.
    """
    paths, kept = list(paths), board / FOLDER
    found = [take(folder, paths) for folder in sorted(kept.iterdir()) if not folder.name.startswith(".")] if kept.is_dir() else []
    return {submission.card.name: submission.published for submission in found}
