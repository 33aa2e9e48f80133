"""Systems by name: each one builds, and a file that does not give a rule for each control is rejected by name."""

import re
import textwrap
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from vcgym.baselines import system_files
from vcgym.baselines.controls.control import CONTROLS
from vcgym.baselines.rule import allocate
from vcgym.baselines.system_files import system_names
from vcgym.baselines.systems import ORACLE, TUNED, build_system, description, load_study, load_system, load_systems, sources, tuning_trials
from vcgym.leaderboard.evaluation.evaluate import plan
from vcgym.leaderboard.evaluation.participants import all_participants, systems_of
from vcgym.leaderboard.evaluation.suites import REPLAYS, SUITES, Part, Suite
from vcgym.leaderboard.report.words.systems import system_rows

PATH = "path:\n  _target_: Direct\n"
PLAYOUT = "playout:\n  _target_: WMJitter\n"
RATE = "rate:\n  _target_: FixedRate\n"
ORDER = "order:\n  _target_: Fifo\n"
NAMES = system_names()
HOME = Path(__file__).parents[3]


@pytest.mark.parametrize("name", NAMES)
def test_every_system_builds(name):
    system = load_system(name)
    controllers = {"paths": {"path", "playout"}, "bottleneck": {"rate", "order"}, "conference": {"trees"}}
    controllers["whole"] = controllers["paths"] | controllers["bottleneck"]
    assert {control for control in system.rules if CONTROLS[control].required} == controllers[system.plays]
    if system.plays != "whole":
        sets_its_own = system.is_learned and name != "learned-gate"  # a learned rate, but for the gate, whose rules have the system's
        assert (system.pacing is None) == (system.plays != "bottleneck" or sets_its_own)
    for controller, params in system.rules.items():
        if controller not in ("order", "trees"):
            assert isinstance(allocate(params, 2, 5), tuple | np.ndarray)
    assert system.is_oracle == name.startswith(ORACLE)


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Return a function that adds text to the systems of conf/systems.yaml."""
    shipped = Path(str(files("vcgym.conf").joinpath(system_files.SYSTEMS)))

    def write(text):
        (tmp_path / shipped.name).write_text(shipped.read_text(encoding="utf-8").replace("\nsystems:\n", f"\nsystems:\n{text}", 1))
        monkeypatch.setattr(system_files, "files", lambda package: tmp_path if package == "vcgym.conf" else files(package))

    return write


def entry(name, text):
    return f"  {name}:\n{textwrap.indent(text, '    ')}"


def test_no_two_entries_have_one_name():
    text = files("vcgym.conf").joinpath(system_files.SYSTEMS).read_text(encoding="utf-8")
    for section in re.split(r"^\w+:\n", text, flags=re.MULTILINE)[1:]:
        names = re.findall(r"^  ([^\s#][^:]*):", section, re.MULTILINE)
        assert names and len(set(names)) == len(names)
    assert set(system_files.published()) <= set(NAMES)


def test_the_default_suite_names_its_systems_and_all_are_played_on_demand():
    suite = SUITES["default"]
    assert set(systems_of(suite)) == set(suite.systems) and set(systems_of(suite, ["all"])) == set(systems_of(SUITES["correlated-v0"]))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_commands_that_are_said_to_rank_a_new_system_rank_it(page, written):
    written("  MY-WM: {path: Direct, playout: {_target_: WMJitter, quantile: 0.9}}\n")
    assert load_system("MY-WM").playout.quantile == 0.9 and description("MY-WM") == ""
    promised = re.findall(r"`([^`]+)` (?:now |then )?ranks it", (HOME / page).read_text(encoding="utf-8"))
    assert promised
    for command in promised:
        names = re.search(r"systems=\[(.+)\]", command)
        assert "MY-WM" in systems_of(SUITES["default"], names[1].split(",") if names else None), command


@pytest.mark.parametrize("suite", ["correlated-v0", "rate-v0", "order-v0", "calls-v0", "conference-v0"])
def test_a_suite_is_played_by_the_systems_that_fit_it(suite):
    found = systems_of(SUITES[suite])
    plays = {"correlated-v0": "paths", "conference-v0": "conference"}.get(suite, "bottleneck")
    assert {system.plays for system in found.values()} == {plays}
    oracles = {"paths": [], "bottleneck": ["oracle_rate"], "conference": ["oracle_trees"]}
    assert [name for name in found if name.startswith(ORACLE)] == oracles[plays]
    scenario = suite.partition("-")[0]
    if plays != "paths":
        assert {name for name in found if name.endswith(TUNED)} == {
            name for name in NAMES if name.endswith(f"-{scenario}{TUNED}") and load_study(name)["budget"]["scenario"] == scenario
        }


def test_suites_of_your_own_traces_are_played_by_tuned_rules():
    """Those tuned on synthetic worlds play by default, so that no published rule is called first where a tuned one is ahead."""
    own = {name: Suite(name, "of-traces", 0, (Part(name, "", 1),), kind) for name, kind in REPLAYS.items()}
    tuned = {suite: {name for name in systems_of(one) if name.endswith(TUNED)} for suite, one in own.items()}
    assert tuned["rate-replay"] == {name for name in NAMES if name.endswith(f"-rate{TUNED}")} != set()
    assert tuned["replay"] == {name for name in systems_of(SUITES["replay-v0"]) if name.endswith(TUNED)} != set()


FOUR = load_system("VCR-WM").replace(**load_system("FIXED").rules)


@pytest.mark.parametrize(
    ("suite", "mine", "said"),
    [
        ("rate-v0", load_system("DRT-WM"), "MINE has path, playout; allowed: systems with rate and order alone"),
        ("correlated-v0", FOUR, "MINE has path, playout, rate, order; allowed: systems with path and playout alone"),
        ("rate-v0", FOUR, "MINE has path, playout, rate, order; allowed: systems with rate and order alone"),
        ("conference-v0", FOUR, "MINE has path, playout, rate, order; allowed: systems with trees alone"),
        ("correlated-v0", FOUR.replace(playout=None, rate=None, order=None), "MINE has path; allowed: systems with path and playout alone"),
    ],
    ids=["others", "more over paths", "more over a bottleneck", "more in a conference", "one too few"],
)
def test_a_system_of_other_controls_is_refused(suite, mine, said):
    for refuse in (lambda: all_participants(SUITES[suite], {"MINE": mine}, None, {}), lambda: plan(SUITES[suite], [], {"MINE": mine})):
        with pytest.raises(ValueError, match=rf"systems has \['MINE'\], which suite {suite} cannot play: {said}"):
            refuse()


def test_a_shipped_system_with_more_controls_than_the_calls_is_refused(written):
    written("  FOUR: {path: Direct, playout: WMJitter, rate: FixedRate, order: Fifo}\n")
    with pytest.raises(ValueError, match=r"systems has \['FOUR'\], which .* cannot play: FOUR has path, playout, rate, order"):
        systems_of(SUITES["correlated-v0"], ["DRT-WM", "FOUR"])
    assert "FOUR" not in systems_of(SUITES["correlated-v0"], ["all"]) and "FOUR" not in systems_of(SUITES["rate-v0"], ["all"])


def test_an_oracle_of_paths_is_never_ranked():
    with pytest.raises(ValueError, match=r"oracle_VCR5-WM.*never ranked"):
        all_participants(SUITES["correlated-v0"], load_systems(["DRT-WM", "oracle_VCR5-WM"]), None, {})


def test_no_two_systems_have_the_same_rules_but_those_tuned_for_other_worlds():
    rules = [(repr(load_system(name)), name.endswith("-tuned") and load_study(name)["budget"].get("scenario")) for name in NAMES]
    assert len(rules) == len(set(rules))


def test_a_system_takes_rules_of_others_by_name():
    papers = load_system("CALL-PAPERS")
    assert papers.pacing == load_system("GCC-WEBRTC").pacing == 2.5
    assert papers.path == load_system("VCR-WM").path and papers.order == load_system("SBPN2").order
    assert load_system("CALL-LEARNED").trained_packets == sum(
        load_system(name).trained_packets for name in ("learned", "learned-rate", "learned-order")
    )
    assert tuning_trials("CALL-TUNED") == sum(map(tuning_trials, ("VCR-WM-tuned", "GCC-WEBRTC-rate-tuned", "SBPN2-order-tuned"))) > 0
    with pytest.raises(ValueError, match=r"path = 'SBPN2': that system has rate, order; allowed: "):
        build_system("MINE", {"path": "SBPN2", "playout": "VCR-WM"})


@pytest.mark.parametrize(
    ("name", "cited"),
    [
        ("VIA-WM", "SIGCOMM 2016"), ("UNMOD", "RFC 5348"), ("GCC-DRAFT", "draft-ietf-rmcat-gcc-02"), ("NADA", "RFC 8698"),
        ("SCREAM-V1", "RFC 8298"), ("SCREAM-V2", "draft-johansson-ccwg-rfc8298bis-screamv2"),
    ],
)  # fmt: skip
def test_systems_cite_their_sources(name, cited):
    assert cited in sources(load_system(name))
    first, *rest = system_rows({name: load_system(name)})
    assert first[0] == name and cited in first[3]
    assert [row[1] for row in rest] == list(load_system(name).rules)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PATH + PLAYOUT + "relay: 3\n", "relay"),
        (PATH, "playout"),
        (RATE, "order"),
        (PATH + PLAYOUT + "  lagg_ms: 3.0\n", "lagg_ms"),
        (PATH + PLAYOUT + "  bucket_ms: -1.0\n", "bucket_ms"),
        (PATH + PLAYOUT.replace("WMJitter", "WMFlutter"), "WMFlutter"),
        (PATH + PLAYOUT.replace("WMJitter", "vcgym.baselines.playout.flutter.WMJitter"), "flutter"),
        (PLAYOUT.replace("playout:", "path:") + PATH.replace("path:", "playout:"), r"path = WMJitter\("),
        (PATH + PATH.replace("path:", "playout:"), r"playout = Direct\(\)"),
        (PATH + "playout: wmjitter\n", "playout = 'wmjitter'"),
        (RATE.replace("rate:", "order:") + RATE, "FixedRate"),
        (RATE + ORDER.replace("Fifo", "Lifo"), "Lifo"),
        ("- path\n- playout\n", "names no control"),
        ("", "names no control"),
    ],
    ids=[
        "unknown key", "missing playout", "missing order", "unknown parameter", "parameter out of range", "unknown class",
        "unknown module", "swapped", "two paths", "a name", "two rates", "unknown scheduler", "a list", "empty",
    ],
)  # fmt: skip
def test_a_bad_system_is_refused(written, text, message):
    written(entry("BAD", text))
    with pytest.raises(ValueError, match=rf"(?s)^conf/systems\.yaml, BAD: .*{message}.*; allowed: path, playout, rate, order"):
        load_system("BAD")


def test_a_file_that_is_no_yaml_is_refused(written):
    written(entry("BAD", PATH + "playout: [\n"))
    with pytest.raises(ValueError, match=r"^conf/systems\.yaml is not valid YAML: [^\n]*$"):
        load_system("BAD")


def test_a_mapping_is_a_system():
    written = {"rate": {"_target_": "vcgym.baselines.rate.fixed_rate.FixedRate", "rate_kbps": 500.0},
               "order": {"_target_": "vcgym.baselines.order.fifo.Fifo"}, "pacing": 1.0}  # fmt: skip
    system = build_system("here", written)
    assert (system.rate.rate_kbps, system.pacing, system.path) == (500.0, 1.0, None)
