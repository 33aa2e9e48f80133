"""vcgym-tune with a tiny budget: a study and a system for each pair, and a second call finds them done."""

import os
import subprocess
import sys

from hydra.utils import instantiate
from omegaconf import OmegaConf

from vcgym.baselines.direct import Direct
from vcgym.baselines.fixed_lag import FixedLag
from vcgym.leaderboard.rollout import RulePair
from vcgym.leaderboard.tuning import Budget, call_ratings

SMALL = ["systems=[DRT-FIX]", "trials=5", "worlds=6", "validation_worlds=4", "packets=300", "folder=found"]
BUDGET = Budget(5, 6, 4, 300, "wonderproxy", "correlated", 0)


def tune(cwd, *overrides):
    command = [sys.executable, "-m", "vcgym.scripts.tune", *SMALL, *overrides]
    done = subprocess.run(command, cwd=cwd, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_search_is_kept_as_a_system_with_its_study(tmp_path):
    tune(tmp_path)
    study = OmegaConf.load(tmp_path / "found" / "study" / "DRT-FIX-tuned.yaml")
    system = RulePair(**instantiate(OmegaConf.load(tmp_path / "found" / "system" / "DRT-FIX-tuned.yaml")))
    assert system == RulePair(Direct(), FixedLag(study["tuned"]["receiver.lag_ms"]))
    assert study.printed == {"receiver.lag_ms": 60.0}
    assert study.budget.packets_in_all == 5 * 6 * 300
    for split, worlds in (("train", 6), ("validation", 4)):
        for which, pair in (("r_printed", RulePair(Direct(), FixedLag(60.0))), ("r_tuned", system)):
            assert study[split][which] == round(float(call_ratings(pair, BUDGET, split, worlds).mean()), 3)
    assert study.train.r_tuned > study.train.r_printed
    before = study.copy()
    assert "its study is in" in tune(tmp_path)
    assert OmegaConf.load(tmp_path / "found" / "study" / "DRT-FIX-tuned.yaml") == before
    assert "validation" in tune(tmp_path, "trials=3")  # another budget is another study
