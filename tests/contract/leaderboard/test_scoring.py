"""The suites of `vcgym score`: training worlds alone, a reference that plays them, and an interval over kinds."""

import numpy as np
import pytest

from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.play import play
from vcgym.leaderboard.scoring.suites import difference, task_of

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("control", Control)
def test_a_score_shows_training_worlds_alone(control):
    suite, reference = task_of(control)
    assert {part.split for part in suite.parts} == {"train"}
    assert load_system(reference).fits(suite.kind.controls) and control in load_system(reference).rules
    assert "rate-measured" not in suite.scenarios


def test_another_control_is_refused():
    with pytest.raises(ValueError, match=r"controls 'trees'; allowed: path, playout, rate, order, protection"):
        task_of("trees")


def test_the_score_is_the_mean_over_kinds(tmp_path):
    suite, reference = task_of(Control.PATH)
    small = suite._replace(packets=300, parts=tuple(part._replace(seeds=1) for part in suite.parts if part.stratum != "quiet"))
    rows = [play(named={name: load_system(name)}, suite=small, folder=tmp_path) for name in ("GRD-WM-tuned", reference)]
    found, kinds = difference(*rows, "r")
    assert kinds.keys() == {"best-link", "many-links", "relay-node", "user-node", "transition", "5g-urban"}
    assert found.value == pytest.approx(np.mean([*kinds.values()])) and found.low < found.value < found.high
    same, none = difference(rows[1], rows[1].set_column(0, "system", [["other"] * len(rows[1])]), "r")
    assert same == (0.0, 0.0, 0.0) and set(none.values()) == {0.0}
