"""The suites of `vcgym score`: training worlds alone, a reference that plays them, and an interval over kinds."""

import numpy as np
import pyarrow as pa
import pytest

from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import load_system
from vcgym.leaderboard.evaluation.frozen import definition_hash, worlds_hash
from vcgym.leaderboard.play import play
from vcgym.leaderboard.scoring.suites import difference, task_of

WORLDS = {  # control -> hash of the definition and of the worlds of its suite
    Control.PATH: ("69e239c784075e55", "801dd791e3b55be2"),
    Control.PLAYOUT: ("19b26cb042f97d63", "801dd791e3b55be2"),
    Control.RATE: ("3c5e2845d143a4fc", "88936b793d084c01"),
    Control.ORDER: ("10cca9c1e4a2494e", "8c619724efeff2e6"),
    Control.PROTECTION: ("5445412dbf40a65b", "654fb95654e2f652"),
}

pytestmark = pytest.mark.timeout(300)


@pytest.mark.parametrize("control", Control)
def test_a_score_shows_training_worlds_alone(control):
    suite, reference = task_of(control)
    assert {part.split for part in suite.parts} == {"train"}
    assert load_system(reference).fits(suite.kind.controls) and control in load_system(reference).rules
    assert "rate-measured" not in suite.scenarios


@pytest.mark.parametrize("control", Control)
def test_the_worlds_of_a_score_never_change(control):
    suite, _ = task_of(control)
    assert (definition_hash(suite), worlds_hash(suite)) == WORLDS[control]


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
    schema, names = rows[1].schema, pa.array(["other"] * len(rows[1]))
    other = rows[1].set_column(schema.get_field_index("system"), schema.field("system"), names)
    same, none = difference(rows[1], other, "r")
    assert same == (0.0, 0.0, 0.0) and set(none.values()) == {0.0}
