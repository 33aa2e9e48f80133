"""The leaderboard as a page, in Markdown and on a terminal: every system, the same bytes for the same files, nothing from a network."""

import html
import io
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.console import Console
from small_board import MODES, SYSTEMS, WORLDS, result, write_board

from vcgym.baselines.system_files import system_names
from vcgym.leaderboard.report.board import boards
from vcgym.leaderboard.report.page.explorer import curves
from vcgym.leaderboard.report.page.picture import picture, robust
from vcgym.leaderboard.report.publish import Stored, board_page, publish
from vcgym.leaderboard.report.table import print_summary
from vcgym.leaderboard.report.text_tables import details
from vcgym.leaderboard.report.words.names import MAX_ROWS, family, few, meaning
from vcgym.leaderboard.report.words.sentences import headline
from vcgym.leaderboard.report.words.systems import in_words, with_id
from vcgym.leaderboard.results.cdf import of_board
from vcgym.leaderboard.results.files import DELAY_CDF, RESULTS, TIMELINE, read, write
from vcgym.leaderboard.statistics import Estimate
from vcgym.network.playout.quality import rating


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_board(tmp_path_factory.mktemp("leaderboard"))


def rows_of(folder):
    return read(RESULTS, folder / "results.parquet").to_pylist()


@pytest.fixture
def with_rows(folder, tmp_path):
    """Writes a copy of the folder with other rows, and returns it."""

    def write_rows(rows):
        shutil.copytree(folder, tmp_path / "changed")
        write(RESULTS, rows, tmp_path / "changed" / "results.parquet")
        return tmp_path / "changed"

    return write_rows


def board_of_rows(rows):
    (board,) = boards(pa.Table.from_pylist(rows, schema=RESULTS.schema))
    return board


def test_a_hostile_name_is_only_a_name(folder, tmp_path):
    hostile = {"DRT-WM": "<img src=//x.y onerror=a()>", "DRT-BF": r"$\frac$ & $x_{", "PPO Call <one>": "![seen](http://x.y/z.png) $^$"}
    for layout, file in ((RESULTS, "results.parquet"), (DELAY_CDF, "cdf.parquet"), (TIMELINE, "timeline.parquet")):
        rows = read(layout, folder / file).to_pylist()
        write(layout, [row | {"system": hostile.get(row["system"], row["system"])} for row in rows], tmp_path / file)
    shutil.copy(folder / "cards.json", tmp_path)
    publish(tmp_path)
    table = (tmp_path / "leaderboard.md").read_text()
    assert "<" not in table and "](" not in table and "&lt;img src=//x.y onerror=a()&gt;" in table
    assert "<img src=//" not in (tmp_path / "report.html").read_text()


def test_tables_are_in_order_of_rank(folder):
    for board in boards(read(RESULTS, folder / "results.parquet")):
        assert [line.system for line in board.lines] == SYSTEMS
        assert [line.rank for line in board.lines] == [str(place) for place in range(1, len(SYSTEMS) + 1)]
        assert board.worlds == WORLDS
        assert [board.lines[0].found[band].value for band in ("<=150", "150-400", ">400")] == [1.0, 0.0, 0.0]


def test_strata_stand_by_themselves(folder):
    for board in boards(read(RESULTS, folder / "results.parquet")):
        assert [(stratum.name, stratum.worlds) for stratum in board.strata] == [("quiet", 3), ("user-node", 3)]
        quiet, user = board.strata
        assert quiet.found["DRT-BF"]["r"].value == pytest.approx(85.0 - 1 + 0.1 * 3)  # seeds 1, 3, 5
        assert user.found["DRT-BF"]["r"].value == pytest.approx(85.0 - 1 + 0.1 * 2)
        assert [quiet.standings[system].rank_low for system in SYSTEMS] == list(range(1, len(SYSTEMS) + 1))
    assert "| 84.30 (2) |" in (folder / "leaderboard.md").read_text()
    assert "<strong>84.30</strong>" in (folder / "report.html").read_text()


def test_the_natural_mix_is_a_board_of_its_own():
    natural = [result(s, SYSTEMS.index(s), "correlated", seed) | {"stratum": "natural"} for s in SYSTEMS[:3] for seed in range(4)]
    declared = [result(s, SYSTEMS.index(s), "correlated", 9 + seed) for s in SYSTEMS[:3] for seed in range(2)]
    found = boards(pa.Table.from_pylist(natural + declared, schema=RESULTS.schema))
    assert [(board.mode, board.worlds, len(board.strata)) for board in found] == [("correlated", 2, 2), ("correlated-natural", 4, 0)]
    assert found[1].conditions["strata"] == "natural"


def test_the_terminal_shows_a_row_for_each_family_and_ends_with_three_sentences(folder):
    ranked, texts = boards(read(RESULTS, folder / "results.parquet")), []
    for width in (80, 120, 160):
        screen = io.StringIO()
        print_summary(ranked, Console(file=screen, width=width))
        texts.append(screen.getvalue())
        assert max(map(len, texts[-1].splitlines())) <= width
        assert "\N{HORIZONTAL ELLIPSIS}" not in texts[-1] and " -10.0 [-10.0, -10.0] " in texts[-1]
    narrow, wide, text = texts
    assert " kind " in wide and " kind " not in narrow and " id " in text and " id " not in wide
    assert "\ndirect path / count buffer " in narrow
    rows = [name for name in SYSTEMS if f" {name} " in text.partition("is first")[0].partition(" kind ")[2]]
    assert rows == [line.system for line in few(ranked[0])]
    assert "DRT-BF" in rows and "DRT-WM" not in rows and "PPO Call <one>" in rows and len(rows) <= MAX_ROWS
    assert " ".join(headline(ranked[0])) in " ".join(text.split())


def test_the_sentences_say_who_where_and_how_my_agent_did(folder):
    first, where, mine = headline(boards(read(RESULTS, folder / "results.parquet"))[0])
    assert first == (
        "BestHistory-FixedLag60 is first of 12 systems over 6 worlds: R 85.2 [85.0, 85.5], MOS 0.00. "
        "Against direct path / count buffer (DRT-BF), the best published system of this board: +1.0 [1.0, 1.0]."
    )
    assert where == (
        "Its lead over direct path / count buffer is largest in quiet, +1.0 [1.0, 1.0], and smallest in user-node, +1.0 [1.0, 1.0]."
    )
    assert mine.startswith("Your agent PPO Call <one>, rank 12: R 74.2 [")
    assert mine.endswith(" Against direct path / count buffer (DRT-BF), the best published system of this board: -10.0 [-10.0, -10.0].")


def test_tied_systems_are_not_called_first_and_one_s_own_may_be():
    rows = [result(s, SYSTEMS.index(s), "correlated", seed) for s in ("DRT-BF", "VIA-BF", "PPO Call <one>") for seed in range(8)]
    noisy = [row | {"r": 80.0 + (3.0 * row["seed"]) % 7.0 + (row["system"] == "VIA-BF") * (row["seed"] % 3 - 0.9)} for row in rows]
    own = [row | {"r": row["r"] + 5.0 + 0.01 * row["seed"]} if row["kind"] == "agent" else row for row in noisy]
    tied = headline(board_of_rows([row for row in noisy if row["kind"] == "rule"]))
    assert " is first of 2 systems over 8 worlds (1 of them is not told apart from it: rank 1-2): R " in tied[0]
    assert tied[2].startswith("No agent of yours was played")
    assert headline(board_of_rows(own))[2] == "Your agent PPO Call <one> is that system."


def test_systems_that_are_equal_everywhere_have_a_picture_too():
    rows = [result(s, 0, "correlated", seed) for s in ("DRT-BF", "DRT-WM") for seed in range(4)]
    who, where = picture(board_of_rows(rows))
    assert [mark.words for panel in (who, where) for lane in panel.lanes for mark in lane.marks] == ["0"] * 3
    assert all(("50.00%", "0") in panel.lines for panel in (who, where))


def test_names_of_systems_are_said_in_words_and_fall_into_families():
    assert family("VCR5O-WM-tuned") == family("VCR2+NEQ-paper-tuned") == "VCR" and family("GRD+EWMAH-tuned") == "GRD"
    assert family("mine-WM") == family("mine-WM-start") == "mine-WM" and meaning("mine-WM") == ""
    for name in system_names():
        assert name.startswith("oracle_") or all(meaning(name).split("; ")), name
    assert meaning("VIA-BF") == "Via (SIGCOMM 2016); count buffer with a NetEQ-like target"


def test_each_shipped_system_has_words_of_its_own():
    words = {name: in_words(name) for name in system_names()}
    assert len(set(words.values())) == len(words) and all(words[name] != name for name in words if name != "NADA")
    assert in_words("GRD+EWMA-tuned") == "greedy / EWMA, tuned" and in_words("VIA-BF") == "Via / count buffer"
    assert in_words("SCREAM-V2-rate-tuned") == "SCReAM v2, tuned for rate" and in_words("CALL-PLAIN") == "plain WebRTC call"
    assert with_id("MY-WM") == in_words("MY-WM") == "MY-WM" and with_id("VIA-BF") == "Via / count buffer (VIA-BF)"


def test_markdown_has_all_rows_and_what_a_number_needs_beside_it(folder):
    text = (folder / "leaderboard.md").read_text()
    for mode in MODES:
        assert f"## Mode {mode} ({WORLDS} worlds)" in text
    for fact in ("suite: small 1", "seeds: 6 (0 to 5)", "data card: 12ab34cd", "environment: vcgym/Call-v1", "delay impairment: reduced"):
        assert text.count(f"- {fact}\n") == len(MODES)
    for mode, of_mode in zip(MODES, text.split("## Mode ")[1:], strict=True):
        assert of_mode.startswith(mode)
        profile = of_mode.split("Performance profile")[1]
        cells = [line.split(" | ") for line in profile.splitlines() if line.startswith("| ") and "[0" in line]
        shares = {name[2:]: [cell.split()[0] for cell in of_system] for name, *of_system in cells}
        best, sixth, last = (shares[html.escape(in_words(SYSTEMS[place]))] for place in (0, 5, 11))
        assert (best, sixth, last) == (["0", *["100"] * 3], ["0", "83", "100", "100"], ["0", "0", "100", "100"])
        whole = of_mode.split("All 12 systems")[1].split("Pareto front")[0]
        for system in SYSTEMS:  # three tables have the id, two the words
            assert sum(whole.count(f"| {html.escape(name)} |") for name in {system, in_words(system)}) == 5, system
        assert of_mode.count("Pareto front of delay and loss as ") == 2


def test_a_system_without_a_distribution_is_named(folder):
    stored = Stored.read(folder)
    lacking = {place: {name: cdf for name, cdf in of.items() if name != "DRT-BF"} for place, of in stored.cdfs.items()}
    with pytest.raises(ValueError, match=r"no event delay distribution in mode 'correlated' for systems \['DRT-BF'\]"):
        board_page([(boards(stored.results), stored._replace(cdfs=lacking))])


@pytest.mark.long
def test_results_older_than_some_columns_are_shown_without_them_and_it_is_said(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "older")
    file = tmp_path / "older" / "results.parquet"
    lacked = ["mos", "g114_band", "concealed_share", "probes_sent", "clocked_end_to_end_delay_mean_ms"]
    pq.write_table(pq.read_table(file).drop_columns(lacked), file)
    for new, old in zip(publish(folder), publish(tmp_path / "older"), strict=True):
        assert [line.standing for line in old.lines] == [line.standing for line in new.lines]
        assert all(np.isnan(line.found["mos"].value) for line in old.lines)
        assert sum(old.lines[0].found[band].value for band in ("<=150", "150-400", ">400")) == 0.0
    said = "These results are older than mos, g114_band, clocked_end_to_end_delay_mean_ms, concealed_share, probes_sent: they have no value"
    for name in ("leaderboard.md", "report.html"):
        assert said in (tmp_path / "older" / name).read_text() and "older than" not in (folder / name).read_text()


@pytest.mark.long
def test_oracles_older_than_a_column_are_anchors_of_newer_results(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "with")
    of_rule = [row for row in rows_of(folder) if row["system"] == "DRT-BF"]
    oracles = [row | {"system": "oracle_joint_6", "kind": "oracle", "r": row["r"] + 6.0} for row in of_rule]
    file = tmp_path / "with" / "oracles.parquet"
    write(RESULTS, oracles, file)
    pq.write_table(pq.read_table(file).drop_columns(["probes_sent"]), file)
    assert all(board.axis is not None and len(board.notes) == 2 for board in publish(tmp_path / "with"))


def test_distributions_of_a_board_add_up(folder):
    whole = of_board(Stored.read(folder).cdfs, "paper", "event")[SYSTEMS[0]]
    assert (whole.packets_sent, whole.packets_within[12]) == (2000 * WORLDS, 1000 * WORLDS)


def test_curves_of_the_page_are_those_of_the_file_within_a_thousandth(folder):
    stored = Stored.read(folder)
    (places,) = curves(stored.cdfs, "paper", SYSTEMS, "event")
    assert [pair["pair"] for pair in places["pairs"]] == [f"A>B{seed}" for seed in range(WORLDS)]
    for place, (first, *shares) in enumerate(places["pairs"][0]["curves"]):
        true = stored.cdfs["paper", "places", "A>B0", "event"][SYSTEMS[place]].share[::2]
        drawn = np.concatenate([np.zeros(first), np.array(shares) / 1000.0, np.full(len(true) - first - len(shares), shares[-1] / 1000.0)])
        assert np.abs(drawn - true).max() <= 0.0011


def test_the_picture_shows_shares_of_what_was_attainable_where_hindsight_is_known(folder, with_rows):
    rows = rows_of(folder)
    oracles = [
        row | {"system": name, "kind": "oracle", "r": row["r"] + gain}
        for row in rows
        if row["system"] == "DRT-BF"
        for name, gain in (("oracle_joint_6", 6.0), ("oracle_informed", 3.0))
    ]
    home = with_rows(rows + oracles)
    for board in publish(home):
        who, _ = picture(board)
        assert who.axis == "% of attainable: 0 = direct path / count buffer, the best published system; 100 = hindsight"
        marks = {lane.label: lane.marks[0] for lane in who.lanes}
        published = in_words("DRT-BF")
        assert [marks[name].words.split()[0] for name in ("BestHistory-FixedLag60", published, "PPO Call <one>")] == ["17", "0", "-167"]
        assert (marks[published].role, marks["PPO Call <one>"].role, marks["PPO Call <one>"].place.beyond) == ("published", "mine", "left")
        assert headline(board)[0].endswith("+1.0 [1.0, 1.0], 17 [17, 17] % of attainable.")
    assert 'data-value="oracle_joint_6"' not in (home / "report.html").read_text()  # never in the table
    without = picture(boards(read(RESULTS, folder / "results.parquet"))[0])
    assert [panel.title for panel in without] == ["Who is ahead", "Where"]
    assert without[0].axis.startswith("R above direct path / count buffer")
    table = details(boards(read(RESULTS, home / "results.parquet"))[0])[0]
    assert table.headings == ["system", "all (6)", "quiet (3)", "user-node (3)"]
    assert "0 = direct path / count buffer, 100 = hindsight" in table.title and table.rows[0][1].startswith("6.00 [")
    scores = {name: [cell.split()[0] for cell in cells] for name, *cells in table.rows[1:]}
    assert scores[published] == ["0"] * 3 and scores[in_words("oracle_informed")] == ["50"] * 3 and scores["PPO Call <one>"] == ["-167"] * 3
    assert f"| {in_words('oracle_informed')} | 50 [" in (home / "leaderboard.md").read_text()


def test_a_board_with_long_calls_shows_a_second_r(folder, with_rows):
    """At 600 ms R is 17 below that of G.107; a board whose calls are all within 350 ms has one R and no word about it."""
    rows = rows_of(folder)
    long = [row | {"mouth_to_ear_mean_ms": 600.0, "concealed_share": 0.0} if row["system"] == SYSTEMS[1] else row for row in rows]
    long = [row | {"r": float(rating(row["mouth_to_ear_mean_ms"], row["concealed_share"]))} for row in long if row["mode"] == "paper"]
    short = [row | {"mouth_to_ear_mean_ms": 350.0} for row in rows if row["mode"] == "correlated"]
    home = with_rows([*long, *short])
    of_short, of_long = publish(home)
    assert of_long.long_share == pytest.approx(1.0 / len(SYSTEMS)) and of_short.long_share == 0.0
    assert not any("G.107" in sentence for sentence in headline(of_short))
    assert headline(of_long)[-1].startswith("8.3 % of these calls have more than 350 ms mouth to ear, where R is below that of ITU-T G.107")
    (line,) = (line for line in of_long.lines if line.system == SYSTEMS[1])
    assert line.found["r_g107"].value - line.found["r"].value == pytest.approx(17.17, abs=0.01)
    text = (home / "leaderboard.md").read_text()
    assert text.count("| R [95 %] | R G.107 | MOS |") == 1 and text.count("| R [95 %] | MOS |") == 1
    assert f"| {line.found['r_g107'].value:.2f} |" in text
    page = (home / "report.html").read_text()
    assert page.count("R with the whole delay impairment of ITU-T G.107.") == 1  # heading of one of the two tables


@pytest.mark.long
def test_a_very_bad_system_does_not_squeeze_the_scale_and_its_mark_says_so(folder, with_rows):
    home = with_rows([row | {"r": row["r"] - 60.0 * (row["system"] == "RandomPath-WM")} for row in rows_of(folder)])
    publish(home)
    page = (home / "report.html").read_text()
    low, high = (float(end) for end in re.search(r'data-stratum="all" data-low="([-\d.]+)" data-high="([-\d.]+)"', page).groups())
    assert 70.0 < low < 75.0 and 85.0 < high < 90.0
    assert re.search(r'class="range beyond">&lsaquo; 2\d\.\d+ to 2\d\.\d+</span>', page)
    assert 'class="range beyond' not in (folder / "report.html").read_text()


def test_a_scale_holds_all_but_outliers_and_always_the_best():
    usual = [Estimate(80.0 + place, 79.0 + place, 81.0 + place) for place in range(5)]
    assert robust(usual) == pytest.approx((79.0 - 0.24, 85.0 + 0.24))
    scale = robust([*usual, Estimate(20.0, 10.0, 30.0), Estimate(99.0, 70.0, 100.0)])
    assert scale.high > 99.0 and 70.0 < scale.low < 80.0
    assert scale.interval(Estimate(20.0, 10.0, 30.0)) == ("0.00%", "0.00%", "0.00%", "left", (True, False))
    assert scale.interval(Estimate(99.0, 70.0, 110.0))[3:] == ("", (True, True))
    assert scale.interval(Estimate(float("nan"), 1.0, 2.0)) is None
    assert robust([Estimate(-one.value, -one.high, -one.low) for one in usual], -1) == pytest.approx((-85.24, -78.76))
    assert robust([]) == (0.0, 1.0)


def test_names_of_systems_cannot_break_out_of_the_page(folder):
    page = (folder / "report.html").read_text()
    assert "<one>" not in page and "PPO Call &lt;one&gt;" in page and "PPO Call \\u003cone>" in page
    assert "<link" in page and "http" not in page.replace("http://www.w3.org/", "").split("<script", 1)[1]
