"""The law of an application's rate, whole against a plain twin and part by part, and its profiles."""

import json

import numpy as np
import pytest

from lab.papers.applications.application import Application
from lab.papers.applications.profile import APPLICATIONS, Profile, load_profile
from twins.application import PlainApplication
from twins.reports import drawn_reports
from vcgym.baselines.records import PacketFeedback, RateLimits
from vcgym.baselines.rule import allocate, decide, init, update
from vcgym.network.traces.cards import DataError, canonical_sha256, parse_carded
from vcgym.network.traces.catalogue import shipped

LINEAR = Application(hold_s=2.0, rises_kbps=100.0, max_loss=0.1)
SUDDEN = Application(max_queuing_ms=60.0, max_loss=0.02, yields_to=0.8, rises_kbps=2.0, power=3.0)
PROBING = Application(growth=0.08, rises_kbps=0.0, peak=1.2, settles_s=6.0, every_ms=200.0)
LAYERED = Application(layers_kbps=np.array([200.0, 500.0, 1000.0]), hold_s=1.0, rises_kbps=80.0, max_loss=0.25)


def started(params, start_kbps=300.0):
    state = allocate(params, 1, 1)
    init(params, state, 0, RateLimits(start_kbps * 1000, 100e3, 4e6), np.uint64(1))
    return state


@pytest.mark.parametrize("params", [LINEAR, SUDDEN, PROBING, LAYERED], ids=["linear", "sudden", "probing", "layered"])
@pytest.mark.parametrize("seed", range(2))
def test_whole_equals_its_twin(params, seed):
    state, twin = started(params), PlainApplication(params, 300.0, 100.0)
    found, wanted = [], []
    for packets, _, known_us in drawn_reports(seed):
        for record in packets:
            update(params, state, 0, record)
        found.append(decide(params, state, 0, known_us))
        wanted.append(twin.report(packets) * 1000.0)
    assert len(set(wanted)) > (2 if params.layers_kbps.size else 10)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1.0)


def rates(params, lost, seconds, start_kbps=300.0):
    """Rates in kbit/s, second by second, where the tenth packets of the second numbers `lost` are lost."""
    state, found = started(params, start_kbps), []
    for second in range(seconds):
        for i in range(10):
            at_us = second * 1_000_000 + i * 100_000
            arrived_us = -1 if second in lost and i < 5 else at_us + 20_000
            update(params, state, 0, PacketFeedback(10 * second + i, 1000, at_us, arrived_us, at_us + 40_000))
        found.append(decide(params, state, 0, second * 1_000_000 + 940_000) / 1000.0)
    return found


def test_it_yields_holds_rises_and_stays_at_nominal():
    found = rates(LINEAR, {5}, 20)
    assert found[:5] == pytest.approx([394, 494, 594, 694, 794], abs=1)
    assert found[5:8] == pytest.approx([100.0, 100.0, 100.0], abs=1)  # half of 80 kbit/s is below the least rate
    assert found[9] == pytest.approx(300, abs=1)
    assert found[-1] == LINEAR.nominal_kbps == 1000.0


def test_it_probes_above_nominal_and_settles():
    found = rates(PROBING._replace(growth=0.9), {5}, 16, 900.0)
    assert found[4] == 1000.0
    assert max(found[6:11]) == 1200.0
    assert found[-1] == 1000.0


def test_a_relay_sends_layers():
    found = rates(LAYERED, {12}, 30)
    assert set(found) == {200.0, 500.0, 1000.0}
    assert found[12] == 200.0


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("yields_to", 0.0, r"Application\.yields_to is 0\.0; allowed range is \["),
        ("nominal_kbps", -1.0, r"Application\.nominal_kbps is -1\.0"),
        ("layers_kbps", np.array([500.0, 200.0]), r"Application\.layers_kbps is \[500\.0, 200\.0\]; allowed are rising rates above 0"),
    ],
)
def test_parameters_out_of_range_are_refused(field, value, words):
    with pytest.raises(ValueError, match=words):
        allocate(LINEAR._replace(**{field: value}), 1, 1)


def test_profiles():
    zoom, meet, teams = map(load_profile, APPLICATIONS)
    assert [profile.nominal_kbps() for profile in (zoom, meet, teams)] == [770.0, 950.0, 1440.0]
    assert [profile.nominal_kbps("pinned", 8) for profile in (zoom, meet, teams)] == [1000.0, 1000.0, 2900.0]
    assert zoom.down()[1][2] == pytest.approx(1.2 * 770.0)  # FEC of the relay
    assert meet.down()[0].layers_kbps[0] == 190.0
    assert str(teams.down()) == str(teams.up())  # its relay forwards
    for profile in (zoom, meet, teams):
        for rule, (start_kbps, min_kbps, max_kbps) in (profile.up(), profile.down()):
            allocate(rule, 1, 1)
            assert 0.0 < min_kbps <= start_kbps <= max_kbps
    with pytest.raises(ValueError, match=r"viewing, parties = pinned, 5 of Zoom: allowed are speaker 2, pinned 3, pinned 8"):
        zoom.nominal_kbps("pinned", 5)
    with pytest.raises(ValueError, match=r"application 'skype': allowed are zoom, meet, teams"):
        load_profile("skype")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda of: of["relay"].update(layers_kbps=[]), r"relay\.layers_kbps"),
        (lambda of: of["relay"]["layers_kbps"].reverse(), "layers_kbps is"),
        (lambda of: of.update(relay=None), "relay of media 'simulcast' is none"),
        (lambda of: of["sender"]["growth"].update(value=-0.1), r"sender\.growth\.value"),
        (lambda of: of["rates"][0]["kbps"].update(value=-950.0), r"rates\.0\.kbps\.value"),
        (lambda of: of["sender"]["hold_s"].update(source=""), r"sender\.hold_s\.source"),
        (lambda of: of.update(rates=[]), "rates"),
    ],
)
def test_a_profile_that_cannot_be_is_refused_with_its_field(spoil, words):
    body = json.loads((shipped() / "applications" / "meet.json").read_text())
    card = body.pop("card")
    spoil(body)
    text = json.dumps({"card": card | {"sha256": canonical_sha256(body)}} | body)
    with pytest.raises(DataError, match=words) as refused:
        parse_carded(Profile, "meet.json", text)
    assert len(str(refused.value)) <= 300
