"""Suites never change within a version: definition and sampled worlds; no world occurs twice."""

from collections import Counter

import pytest

from vcgym.leaderboard.evaluation import frozen
from vcgym.leaderboard.evaluation.frozen import DATA, FROZEN, definition_hash, require_frozen_data, worlds_hash
from vcgym.leaderboard.evaluation.suites import MEASURED, SUITES, Part, Suite, prepare
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.paths.linked import STRATA
from vcgym.network.traces.cards import DataError

NOT_SHIPPED = {"leo", MEASURED}
WITHOUT_SERIES = [name for name, suite in SUITES.items() if not NOT_SHIPPED & set(suite.scenarios)]
WITH_SERIES = sorted(set(SUITES) - set(WITHOUT_SERIES))


def test_every_suite_is_frozen_under_its_name():
    assert set(FROZEN) == set(SUITES)
    assert [name for name, suite in SUITES.items() if name != "default" and name != f"{suite.name}-{suite.version}"] == []


@pytest.mark.parametrize("name", SUITES)
def test_definitions_have_not_changed(name):
    assert definition_hash(SUITES[name]) == FROZEN[name].definition, "a changed suite needs a new version"


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.data] * (name in WITH_SERIES)) for name in SUITES])
def test_worlds_have_not_changed(name):
    assert worlds_hash(SUITES[name]) == FROZEN[name].worlds, "a suite whose worlds come out otherwise needs a new version"


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_is_played_on_the_data_it_is_frozen_on(name, monkeypatch):
    suite = SUITES[name]
    parts = prepare(suite)
    assert {part.scenario for part in suite.parts} <= DATA.keys()
    require_frozen_data(suite, parts)
    if not parts:
        return  # all its worlds are measured, and not here
    monkeypatch.setitem(DATA, parts[-1][0].scenario, "0" * 16)
    with pytest.raises(DataError, match=rf"hash of the data is '.*'; allowed: 0000000000000000, the data of suite {suite.name}"):
        require_frozen_data(suite, parts)
    require_frozen_data(suite._replace(name="mine"), parts)


def test_suites_over_bottlenecks_have_every_kind_and_their_runs():
    for name, runs in (("order-v0", 30), ("calls-v0", 30), ("rmcat-v0", 30), ("rmcat-v1", 12)):
        parts = SUITES[name].parts
        assert [part.stratum for part in parts] == list(SendingScenario(parts[0].scenario).kinds)
        assert {part.seeds for part in parts} == {runs}


@pytest.mark.parametrize("has_some", [False, True], ids=["no data", "a set that these do not need"])
def test_measured_worlds_are_left_out_without_their_data(has_some, monkeypatch, tmp_path):
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    if has_some:
        monkeypatch.setenv("VCGYM_DATA", str(tmp_path))
        (tmp_path / "leo_ping_10ms").mkdir()
    assert {part.scenario for part, _ in prepare(SUITES["rate-v0"])} == {"rate"}
    if has_some:
        (tmp_path / "leo_ping_10ms").rmdir()
    assert {part.scenario for part, _ in prepare(SUITES["measured-v0"])} == {"5g-urban", "5g-weak", "starlink-ping"}


def test_rate_v0_without_measured_worlds_is_frozen():
    parts = tuple(part for part in SUITES["rate-v0"].parts if part.scenario != MEASURED)
    assert worlds_hash(SUITES["rate-v0"]._replace(parts=parts)) == FROZEN["rate-v0"].worlds.split()[0]


def test_measured_v0_without_what_cannot_ship_is_frozen():
    suite = SUITES["measured-v0"]
    assert worlds_hash(suite._replace(parts=tuple(part for part in suite.parts if part.scenario != "leo"))) == "25039e86a379eb6a"


TINY = Suite("tiny", "v0", 600, (Part("table1", "correlated", 2),))


def test_a_changed_generator_is_noticed(monkeypatch):
    before = worlds_hash(TINY)
    assert worlds_hash(TINY) == before
    part = TINY.parts[0]
    assert worlds_hash(TINY._replace(parts=(part._replace(first_seed=1),))) != before
    assert definition_hash(TINY._replace(parts=(part._replace(seeds=3),))) != definition_hash(TINY)
    monkeypatch.setattr("vcgym.network.scenarios.paths.linked.NATURAL", "quiet")  # draws its bad hours otherwise
    assert worlds_hash(TINY._replace(parts=(part._replace(stratum="quiet"),))) != frozen.worlds_hash(TINY)


@pytest.mark.parametrize("name", WITHOUT_SERIES)
def test_no_world_is_played_twice(name):
    met = Counter(
        (part.scenario, part.mode, part.stratum or "drawn", *world)
        for part, scenario in prepare(SUITES[name])
        for world in SUITES[name].kind.worlds(part, scenario)
    )
    assert max(met.values()) == 1


@pytest.mark.parametrize("name", ["correlated-v0", "default"])
def test_declared_strata_have_their_weights_and_share_no_seed(name):
    declared = [(part, len(SUITES[name].kind.worlds(part, scenario))) for part, scenario in prepare(SUITES[name]) if part.stratum in STRATA]
    total = sum(n for _, n in declared)
    assert {part.stratum: n / total for part, n in declared} == pytest.approx(STRATA)
    assert min(part.seeds for part, _ in declared) >= (10 if name == "correlated-v0" else 4)
    assert len(correlated_seeds(name)) == sum(n for part, n in declared) + 100 * (name == "correlated-v0")


def test_what_the_default_suite_says_can_be_checked_on_other_worlds():
    assert not correlated_seeds("default") & correlated_seeds("correlated-v0")


def correlated_seeds(name):
    kind, parts = SUITES[name].kind, prepare(SUITES[name])
    return {seed for part, scenario in parts if part.mode == "correlated" for _, seed in kind.worlds(part, scenario)}
