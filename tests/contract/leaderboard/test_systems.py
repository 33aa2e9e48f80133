"""Systems as YAML: each one there builds, and what is no pair of a router and a receiver is refused by its file's name."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rule import Control, allocate, is_oracle, require_rule
from vcgym.leaderboard.evaluation.participants import all_systems
from vcgym.scripts import systems
from vcgym.scripts.systems import load_systems

ROUTER = "router:\n  _target_: vcgym.baselines.routers.direct.Direct\n"
RECEIVER = "receiver:\n  _target_: vcgym.baselines.receivers.wmjitter.WMJitter\n"


CONTROLS = {"router": (Control.PATH,), "receiver": (Control.LAG, Control.TARGET)}
FILES = sorted(file.stem for file in Path(str(files("vcgym.conf").joinpath("system"))).glob("*.yaml"))


@pytest.mark.parametrize("name", FILES)
def test_every_system_builds(name):
    pair = load_systems([name])[name]
    for lever, params in pair._asdict().items():
        require_rule(lever, params, *CONTROLS[lever])
        assert isinstance(allocate(params, 2, 5), tuple | np.ndarray)


@pytest.mark.parametrize("lever", ["router", "receiver"])
def test_a_rule_of_the_rate_controls_no_path_and_no_lag(lever):
    with pytest.raises(ValueError, match=rf"{lever} = GccWebrtc\(.*allowed are rules that control (path|lag or target)"):
        require_rule(lever, GccWebrtc(), *CONTROLS[lever])


@pytest.mark.parametrize("name", FILES)
def test_an_oracle_is_named_so_and_left_out_unless_asked_for(name):
    told = any(is_oracle(params) for params in load_systems([name])[name])
    assert told == name.startswith("oracle_") == (name not in load_systems(None))


def test_an_oracle_is_never_ranked():
    with pytest.raises(ValueError, match=r"oracle_VCR5-WM.*never ranked"):
        all_systems(load_systems(["DRT-WM", "oracle_VCR5-WM"]), None)


def test_no_two_systems_are_the_same_pair():
    pairs = [tuple(map(repr, pair)) for pair in load_systems(FILES).values()]
    assert len(pairs) == len(set(pairs))


def test_an_unknown_system_is_refused():
    with pytest.raises(ValueError, match=r"systems has 'SKY-NET'; allowed: .*DRT-WM"):
        load_systems(["DRT-WM", "SKY-NET"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ROUTER + RECEIVER + "relay: 3\n", "relay"),
        (ROUTER, "receiver"),
        (ROUTER + RECEIVER + "  lagg_ms: 3.0\n", "lagg_ms"),
        (ROUTER + RECEIVER + "  bucket_ms: -1.0\n", "bucket_ms"),
        (ROUTER + RECEIVER.replace("WMJitter", "WMFlutter"), "WMFlutter"),
        (ROUTER + RECEIVER.replace("wmjitter", "flutter"), "flutter"),
        (RECEIVER.replace("receiver:", "router:") + ROUTER.replace("router:", "receiver:"), r"router = WMJitter\(.*\): allowed are"),
        (ROUTER + ROUTER.replace("router:", "receiver:"), r"receiver = Direct\(\): allowed are"),
        (ROUTER + "receiver: wmjitter\n", "receiver = 'wmjitter': allowed are"),
        (ROUTER + "receiver:\n  _target_: vcgym.envs.call.controllers.Agent\n", "call.controllers.Agent'; allowed: a class of"),
        ("- router\n- receiver\n", ""),
        ("", ""),
        (ROUTER + "receiver: [\n", ""),
    ],
    ids=[
        "unknown key", "missing key", "unknown parameter", "parameter out of range", "unknown class", "unknown module", "swapped",
        "two routers", "a name", "an agent", "a list", "empty", "no YAML",
    ],
)  # fmt: skip
def test_a_bad_file_is_refused(tmp_path, monkeypatch, text, message):
    monkeypatch.setattr(systems, "files", lambda package: tmp_path)
    (tmp_path / "system").mkdir()
    (tmp_path / "system" / "BAD.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"(?s)^conf/system/BAD\.yaml: .*{message}.*; allowed: router and receiver"):
        load_systems(["BAD"])
