"""vcgym-tune with a tiny budget: a study and a system for each pair and sender, and a second call finds them done."""

import os
import subprocess
import sys

import yaml
from omegaconf import OmegaConf

from vcgym.baselines.configured import rule_from
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.receivers.fixed_lag import FixedLag
from vcgym.baselines.routers.direct import Direct
from vcgym.baselines.schedulers.fifo import Fifo
from vcgym.leaderboard.evaluation.rollout import RulePair
from vcgym.leaderboard.sending.rollout import Sender
from vcgym.leaderboard.sending.tuning import SenderGround
from vcgym.leaderboard.tuning.tune_calls import CallGround

SMALL = ["systems=[DRT-FIX]", "sending.senders=[]", "trials=5", "worlds=6", "validation_worlds=4", "packets=300", "folder=found"]
GROUND = CallGround(6, 4, 300, "wonderproxy", "correlated")
SENDERS = ["systems=[]", "sending.senders=[FIXED]", "sending.scenarios=[rate]", "sending.trials=4", "sending.worlds=4",
           "sending.validation_worlds=3", "folder=found"]  # fmt: skip


def read(path):
    """The parts of a system as they were written."""
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    return {control: rule_from(rule, control) if isinstance(rule, dict) else rule for control, rule in written.items()}


def tune(cwd, *overrides, small=SMALL):
    command = [sys.executable, "-m", "vcgym.scripts.tune", *small, *overrides]
    done = subprocess.run(command, cwd=cwd, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_search_is_kept_as_a_system_with_its_study(tmp_path):
    tune(tmp_path)
    study = OmegaConf.load(tmp_path / "found" / "tuning" / "DRT-FIX-tuned.yaml")
    system = RulePair(**read(tmp_path / "found" / "system" / "DRT-FIX-tuned.yaml"))
    assert system == RulePair(Direct(), FixedLag(study["tuned"]["receiver.lag_ms"]))
    assert study.printed == {"receiver.lag_ms": 60.0}
    assert study.budget.packets_in_all == 5 * 6 * 300
    for split in ("train", "validation"):
        for which, pair in (("r_printed", RulePair(Direct(), FixedLag(60.0))), ("r_tuned", system)):
            assert study[split][which] == round(float(GROUND.scores(pair, split).mean()), 3)
    assert study.train.r_tuned > study.train.r_printed
    before = study.copy()
    (searched,) = (tmp_path / "found" / "searched").iterdir()
    began_ns = searched.stat().st_mtime_ns
    assert "validation" in tune(tmp_path)
    assert [file.stat().st_mtime_ns for file in (tmp_path / "found" / "searched").iterdir()] == [began_ns]
    assert OmegaConf.load(tmp_path / "found" / "tuning" / "DRT-FIX-tuned.yaml") == before
    tune(tmp_path, "trials=3")  # another budget is another study
    assert len(list((tmp_path / "found" / "searched").iterdir())) == 2


def test_a_sender_is_tuned_for_a_scenario(tmp_path):
    tune(tmp_path, small=SENDERS)
    study = OmegaConf.load(tmp_path / "found" / "tuning" / "FIXED-rate-tuned.yaml")
    sender = Sender(**read(tmp_path / "found" / "sender" / "FIXED-rate-tuned.yaml"))
    assert sender == Sender(FixedRate(study["tuned"]["rate.rate_kbps"]), Fifo(), 2.5)
    assert (study.objective, study.budget.calls_in_all) == ("mean utility over training worlds", 16)
    ground = SenderGround(4, 3, "rate")
    for split in ("train", "validation"):
        found = float(ground.scores(sender, split).mean())
        assert study[split].utility_tuned == (round(found, 3) if abs(found) >= 1.0 else float(f"{found:.3g}"))
    assert study.train.utility_tuned > study.train.utility_printed
    tune(tmp_path, small=SENDERS)
    assert len(list((tmp_path / "found" / "searched").iterdir())) == 1
