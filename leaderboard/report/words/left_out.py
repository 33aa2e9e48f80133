"""Systems left out of a board, each with the reason: a file in the folder of results, repeated in table and page."""

import json
from collections.abc import Mapping
from pathlib import Path

from vcgym.network.traces.cards import DataError
from vcgym.network.traces.plain_file import read_json, replace_file
from vcgym.network.traces.refusal import shown

FILE = "left_out.json"


def write_left_out(reasons: Mapping[str, str], folder: Path) -> None:
    """Replace the file of a run in `folder` by the reasons, by agent; without reasons, remove it."""
    if reasons:
        replace_file(folder / FILE, (json.dumps(dict(sorted(reasons.items())), indent=1) + "\n").encode())
    else:
        (folder / FILE).unlink(missing_ok=True)


def left_out_lines(folder: Path) -> list[str]:
    """Return a sentence for each reason why systems were left out of the run in `folder`.

    Raises:
        DataError: the file is broken.
    """
    reasons = read_json(folder / FILE) if (folder / FILE).exists() else {}
    for name, reason in reasons.items():
        if not isinstance(reason, str):
            raise DataError(folder / FILE, shown(name), reason, "the reason, a text")
    names = {reason: [name for name, its in reasons.items() if its == reason] for reason in reasons.values()}
    return [f"Left out: {', '.join(of_reason)}, which {reason}." for reason, of_reason in names.items()]
