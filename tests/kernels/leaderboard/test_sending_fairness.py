"""Jain's index, the played cases, and the page."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.leaderboard.report.fairness import HEADINGS, RULES, fairness, pairings, pairings_of, play_pairing
from vcgym.network.bottleneck.other_call import RATES, OtherCall
from vcgym.network.bottleneck.shared_link import require_link
from vcgym.network.bottleneck.sharing import jain


def test_jain_of_what_is_known():
    assert jain([3.0, 3.0, 3.0]) == pytest.approx(1.0)
    assert jain([5.0, 0.0, 0.0, 0.0]) == pytest.approx(0.25)
    assert jain([[1.0, 3.0], [2.0, 2.0]]) == pytest.approx([0.8, 1.0])


@given(st.lists(st.floats(0.1, 1e6), min_size=1, max_size=8), st.floats(0.1, 10.0))
def test_jain_has_its_bounds_and_no_unit(rates, scale):
    assert 1.0 / len(rates) - 1e-9 <= jain(rates) <= 1.0 + 1e-9
    assert jain(np.array(rates) * scale) == pytest.approx(jain(rates))


def test_cases_of_rfc_8867():
    found = {(one.case, one.rule): one for one in pairings() if one.case.startswith("rfc")}
    assert set(RULES) == set(RATES)
    for one in pairings():
        require_link(one.link)
        assert all(isinstance(flow, OtherCall) and flow.rate == one.against for flow in one.link.flows)
    three, five = (found[case, "gcc_webrtc"].link for case in ("rfc8867-5.4", "rfc8867-5.5"))
    assert [(flow.starts_s, flow.stops_s) for flow in three.flows] == [(20.0, 119.0), (40.0, 119.0)]
    assert (three.trace.rates_bps[0], three.forward_ms, three.seconds, three.queue_bytes) == (3_500_000, 50.0, 119.0, 131_250)
    assert [five.forward_ms, *(flow.forward_ms for flow in five.flows)] == [10.0, 25.0, 50.0, 100.0, 150.0]
    assert [flow.starts_s for flow in five.flows] == [10.0, 20.0, 30.0, 40.0]
    assert (five.trace.rates_bps[0], five.seconds) == (4_000_000, 300.0)


def test_a_pairing_is_played():
    pairing = next(one for one in pairings() if (one.case, one.rule, one.against) == ("late", "gcc_webrtc", "tfrc"))
    shares = play_pairing(pairing, 2)
    assert shares.bps.shape == shares.delay_ms.shape == (2, 2)
    assert (shares.bps[:, 0] < shares.bps[:, 1]).all()
    assert 1.7e6 < shares.bps.sum(axis=1).min() <= shares.bps.sum(axis=1).max() <= 2.0e6
    assert shares.bps.tobytes() == play_pairing(pairing, 2).bps.tobytes()


def test_a_system_shares_with_each_rule_and_with_cubic_and_its_like():
    """GCC as a system of its own has the same half beside itself as by name, and next to nothing beside CUBIC."""
    found = {(one.case, one.against): one for one in pairings_of({"MINE": RULES["gcc_webrtc"]})}
    assert {against for _, against in found} == {"MINE", *RULES, "cubic"} and len(found) == 2 * (len(RULES) + 2)
    shares = play_pairing(found["pair", "cubic"], 2)
    assert (shares.bps[:, 0] < 0.2 * shares.bps[:, 1]).all() and 1.7e6 < shares.bps.sum(axis=1).max() < 2.0e6
    assert np.isnan(shares.delay_ms[:, 1]).all() and not np.isnan(shares.delay_ms[:, 0]).any()
    (by_name,) = (one for one in pairings() if (one.case, one.rule, one.against) == ("pair", "gcc_webrtc", "gcc_webrtc"))
    assert play_pairing(found["pair", "MINE"], 2).bps.tobytes() == play_pairing(by_name, 2).bps.tobytes()


def test_the_page(tmp_path):
    few = [one for one in pairings() if one.case == "pair"][:2]
    rows = fairness(tmp_path, few, lambda done, what: None, runs=2)
    assert [row[:3] for row in rows] == [["pair", "gcc_webrtc", "gcc_webrtc"], ["pair", "gcc_webrtc", "gcc_draft"]]
    page = (tmp_path / "sending_fairness.md").read_text()
    assert all(heading in page for heading in HEADINGS)
    assert rows[0][3] in page
