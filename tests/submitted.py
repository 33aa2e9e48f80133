"""Folders of submissions, as tests edit them and have them refused."""

import json

import numpy as np
import pytest

from vcgym.leaderboard.submissions.folder import RefusedError
from vcgym.leaderboard.submissions.load import take


def write_card(folder, card):
    (folder / "card.json").write_text(json.dumps(card))


def edit_card(folder, *place, value):
    card = inner = json.loads((folder / "card.json").read_text())
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    write_card(folder, card)


def refused(folder, *words):
    with pytest.raises(RefusedError) as caught:
        take(folder, observed(5))
    message = str(caught.value)
    assert "; allowed: " in message and all(word in message for word in words), message


def observations(paths, sessions=6):
    rng = np.random.default_rng(4)
    return rng.normal(size=(sessions, paths * 9 + 12)).astype(np.float32)


def observed(*paths):
    return {str(count): np.concatenate([np.zeros((1, count * 9 + 12), np.float32), observations(count)]) for count in paths}
