"""Result rows equal hand counts and a slow twin; every packet is accounted for once."""

import statistics
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vcgym.leaderboard.results.call_metrics import g114_band, rows
from vcgym.leaderboard.results.cdf import GRID_MS, delay_cdf
from vcgym.leaderboard.results.kinds import CALL
from vcgym.network.playout.quality import mos, rating

PACKET_US = 10_000
TOTALS = (
    *("plans_sent", "path_changes", "probes_sent", "return_emodel", "return_event", "offset_us_sum"),
    *("ticks_played", "ticks_stretched", "ticks_concealed", "conceal_runs", "conceal_longest_ticks", "conceal_runs_long"),
)


def call(arrived_us, emitted_us, flushed, played_us, windows=((0, 0, 0),), **totals):
    """A batch of one finished call, totals zero unless given."""
    return SimpleNamespace(
        packet_us=PACKET_US,
        path=np.zeros((1, len(arrived_us)), np.int16),
        arrived_us=np.array([arrived_us], np.int64),
        emitted_us=np.array([emitted_us], np.int64),
        flushed=np.array([flushed], bool),
        played_us=np.array([played_us], np.int64),
        windows=np.array([windows], np.int64),
        totals=SimpleNamespace(**{name: np.array([totals.get(name, 0)]) for name in TOTALS}),
    )


EXAMPLE = call(  # sent at 0, 10, 20, 30, 40 ms: two in time, one discarded, one lost, one flushed
    arrived_us=[50_000, 70_000, 95_000, -1, 92_000],
    emitted_us=[50_000, 80_000, -1, -1, 95_000],
    flushed=[False, False, False, False, True],
    played_us=[90_000, 100_000, -1, -1, 130_000],
    ticks_played=2,
    ticks_stretched=1,
    ticks_concealed=2,
    offset_us_sum=450_000,
    conceal_runs=1,
    conceal_longest_ticks=2,
    path_changes=3,
    plans_sent=4,
    probes_sent=5,
    return_emodel=2.5,
    return_event=-7.0,
)


def test_a_row_holds_what_one_counts_by_hand():
    (row,) = rows(EXAMPLE, system="example")
    expected = {
        "system": "example",
        "event_end_to_end_delay_mean_ms": 60.0,
        "event_end_to_end_delay_p50_ms": 60.0,
        "event_end_to_end_delay_p95_ms": 69.0,
        "clocked_end_to_end_delay_mean_ms": 90.0,
        "one_way_delay_mean_ms": 55.0,
        "reordering_delay_mean_ms": 5.0,
        "playout_delay_mean_ms": (40.0 + 30.0 + 38.0) / 3,
        "network_loss": 0.2,
        "event_late_loss": 0.2,
        "clocked_late_loss": 0.2,
        "flushed_share": 0.2,
        "concealed_share": 0.4,
        "mouth_to_ear_mean_ms": 90.0,
        "g114_band": "<=150",
        "r": rating(90.0, 0.4),
        "r_p5": rating(90.0, 0.4),
        "mos": mos(rating(90.0, 0.4)),
        "conceal_runs": 1,
        "conceal_run_mean_ms": 20.0,
        "conceal_run_longest_ms": 20.0,
        "conceal_runs_over_60_ms_share": 0.0,
        "burst_r": 2.0 * 0.6,
        "path_changes": 3,
        "plans_sent": 4,
        "probes_sent": 5,
        "return_emodel": 2.5,
        "return_event": -7.0,
    }
    assert set(row) == {"system", *CALL.metric}
    assert {name: row[name] for name in expected} == pytest.approx(expected)


def test_the_fifth_percentile_leaves_out_a_last_window_under_half_full():
    windows = [(1000, 0, 1000 * 100_000), (1000, 100, 1000 * 200_000), (500, 0, 500 * 150_000), (499, 499, 0), (0, 0, 0)]
    (row,) = rows(call([50_000], [50_000], [False], [90_000], windows=windows, ticks_played=1))
    kept = [rating(100.0, 0.0), rating(200.0, 0.1), rating(150.0, 0.0)]
    assert row["r_p5"] == pytest.approx(np.percentile(kept, 5.0))


def test_a_call_in_which_nothing_came_out_has_losses_but_no_delay():
    (row,) = rows(call([-1, -1], [-1, -1], [False, False], [-1, -1]))
    assert (row["network_loss"], row["event_late_loss"], row["conceal_runs"], row["burst_r"]) == (1.0, 0.0, 0, 1.0)
    assert row["g114_band"] == "none"
    undefined = ("r", "r_p5", "mos", "concealed_share", "event_end_to_end_delay_p99_ms", "one_way_delay_mean_ms")
    assert all(np.isnan(row[name]) for name in undefined)


@pytest.mark.parametrize(("delay_ms", "band"), [(0.0, "<=150"), (150.0, "<=150"), (150.1, "150-400"), (400.0, "150-400"), (400.1, ">400")])
def test_bands_include_their_upper_end(delay_ms, band):
    assert g114_band(delay_ms) == band


def test_identity_varies_by_session_or_holds_for_all():
    two = SimpleNamespace(**{name: np.repeat(value, 2, axis=0) for name, value in vars(EXAMPLE).items() if isinstance(value, np.ndarray)})
    two.packet_us = PACKET_US
    two.totals = SimpleNamespace(**{name: np.repeat(value, 2) for name, value in vars(EXAMPLE.totals).items()})
    made = rows(two, system="both", pair=["a>b", "a>c"], seed=np.array([7, 8]))
    assert [(row["system"], row["pair"], row["seed"]) for row in made] == [("both", "a>b", 7), ("both", "a>c", 8)]
    with pytest.raises(ValueError, match="'seed' has 3 values for 2 sessions"):
        rows(two, seed=[1, 2, 3])


# None: lost; otherwise delay in ms, wait at the receiver (None: discarded, "flush": out at the end), wait at the player (None: late)
FATE = st.one_of(
    st.none(),
    st.tuples(st.integers(0, 900), st.one_of(st.none(), st.just("flush"), st.integers(0, 300)), st.one_of(st.none(), st.integers(0, 300))),
)


@given(st.lists(FATE, min_size=1, max_size=40))
def test_packets_in_are_emitted_flushed_late_or_lost(fates):
    columns = {"arrived": [], "emitted": [], "flushed": [], "played": []}
    delays_ms = {"event": [], "clocked": []}
    for k, fate in enumerate(fates):
        sent_ms = 10 * k
        arrived = emitted = played = -1
        if fate is not None:
            delay, wait, play = fate
            arrived = sent_ms + delay
            emitted = arrived if wait == "flush" else -1 if wait is None else arrived + wait
            played = -1 if play is None else arrived + play
            if wait not in (None, "flush"):
                delays_ms["event"].append(delay + wait)
            if play is not None:
                delays_ms["clocked"].append(delay + play)
        columns["arrived"].append(1000 * arrived if arrived >= 0 else -1)
        columns["emitted"].append(1000 * emitted if emitted >= 0 else -1)
        columns["flushed"].append(fate is not None and fate[1] == "flush")
        columns["played"].append(1000 * played if played >= 0 else -1)
    played = call(columns["arrived"], columns["emitted"], columns["flushed"], columns["played"])
    (row,) = rows(played)
    packets = len(fates)
    event_out, clocked_out = len(delays_ms["event"]), len(delays_ms["clocked"])
    assert event_out / packets + row["flushed_share"] + row["event_late_loss"] + row["network_loss"] == pytest.approx(1.0)
    assert clocked_out / packets + row["clocked_late_loss"] + row["network_loss"] == pytest.approx(1.0)
    for accounting, twin in delays_ms.items():
        if twin:
            assert row[f"{accounting}_end_to_end_delay_mean_ms"] == pytest.approx(statistics.fmean(twin))
            assert row[f"{accounting}_end_to_end_delay_p50_ms"] == pytest.approx(statistics.median(twin))
        cdf = delay_cdf(played)[accounting]
        assert cdf.packets_within.tolist() == [sum(delay <= limit for delay in twin) for limit in GRID_MS]
        assert cdf.packets_sent == packets - (sum(columns["flushed"]) if accounting == "event" else 0)
