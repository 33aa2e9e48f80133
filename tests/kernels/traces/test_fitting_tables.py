"""The shipped link tables and the sample of pairs: their content, and the detection of a changed number or a wrong field."""

import json
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from vcgym.network.scenarios.splits import SPLITS
from vcgym.network.traces.cards import DataError, LinkTable, load_links, parse_carded
from vcgym.network.worlds.links import COLUMNS, DATA_CENTRES, load_sample, parse_sample, relays_of, split_of


@pytest.fixture
def document():
    return json.loads(files("vcgym.data").joinpath("table1.json").read_text(encoding="utf-8"))


def test_ten_places():
    table = load_links("wonderproxy_ten_places")
    assert [place.code for place in table.places if place.role == "endpoint"] == ["BR", "AU", "SG", "ZA", "GR"]
    assert [place.code for place in table.places if place.role == "user"] == ["AR", "IDN", "UGA", "US", "LT"]
    assert len(table.links) == 90
    assert table.card.kind == "fitted"
    for link in table.links:
        assert link.worst.imputed == bool({link.source, link.destination} & {"SG", "LT"})
        assert link.worst.high_ms > link.median.low_ms == link.queue.base_ms


def test_table1():
    table = load_links("table1")
    assert [place.role for place in table.places] == ["city"] * 4
    direct = table.link("SHA", "MOW")
    assert (direct.rtt_ms, direct.loss) == (280.0, 0.0653)
    # The relay sums the paper's motivation rests on.
    assert table.link("SHA", "TYO").rtt_ms + table.link("TYO", "MOW").rtt_ms == 243.0
    via_guangzhou = 1.0 - (1.0 - table.link("SHA", "CAN").loss) * (1.0 - table.link("CAN", "MOW").loss)
    assert via_guangzhou == pytest.approx(0.0074, abs=1e-5)
    assert all(link.queue.assumed and link.queue.base_ms == link.rtt_ms for link in table.links)


def test_an_unknown_table_or_link_is_refused():
    with pytest.raises(DataError, match=r"'table2'; allowed: .*wonderproxy_ten_places, table1"):
        load_links("table2")
    with pytest.raises(DataError, match="link is 'SHA->SHA'; allowed: two different places of SHA, CAN, TYO, MOW"):
        load_links("table1").link("SHA", "SHA")


def test_layout_does_not_count_but_every_number_does(document):
    assert parse_carded(LinkTable, "t.json", json.dumps(document, sort_keys=True)) == load_links("table1")
    document["links"][3]["rtt_ms"] = 28.0
    with pytest.raises(DataError, match=r"t\.json: sha256 of everything but the card is '[0-9a-f]{64}'; allowed: [0-9a-f]{64}"):
        parse_carded(LinkTable, "t.json", json.dumps(document))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("loss", 1.5, "loss"),
        ("loss", -0.1, "loss"),
        ("rtt_ms", -1.0, "rtt_ms"),
        ("rtt_ms", "near", "rtt_ms"),
        ("colour", 1, "colour"),
        ("source", "XXX", "each ordered pair of the places"),
        ("median", {"low_ms": 2.0, "high_ms": 1.0, "a": 1.0, "b": 1.0, "clamped": False}, "above low_ms 2.0"),
    ],
)
def test_a_wrong_field_is_named(document, field, value, message):
    document["links"][0][field] = value
    with pytest.raises(DataError, match=rf"(?s)t\.json: content .*{message}"):
        parse_carded(LinkTable, "t.json", json.dumps(document))


def test_both_directions_of_two_cities_are_in_one_split():
    pairs = {split: {frozenset(pair.split("-")) for pair in load_sample().pairs if split_of(pair) == split} for split in SPLITS}
    assert not (pairs["train"] & pairs["validation"] or pairs["train"] & pairs["test"] or pairs["validation"] & pairs["test"])
    share = {split: len(pairs[split]) / sum(map(len, pairs.values())) for split in SPLITS}
    assert 0.5 < share["train"] < 0.7 and 0.13 < share["test"] < 0.27


def test_no_pair_of_the_world_is_one_of_the_ten_places():
    ten = {place.name for place in load_links("wonderproxy_ten_places").places}
    assert len(ten) == 10
    assert not [pair for pair in load_sample().pairs if set(pair.split("-")) <= ten]


def test_relays_of_a_pair_are_the_first_data_centres_that_are_not_its_ends():
    assert relays_of("Paris-Lagos", 10) == list(DATA_CENTRES[:10])
    assert relays_of(f"{DATA_CENTRES[0]}-{DATA_CENTRES[3]}", 19) == [*DATA_CENTRES[1:3], *DATA_CENTRES[4:21]]


def test_the_sample_is_stratified_and_complete():
    sample = load_sample()
    assert len(sample.pairs) == 900 and len({city for pair in sample.pairs for city in pair.split("-")}) > 200
    for pair in sample.pairs:
        a, b = pair.split("-")
        assert all((a, relay) in sample.row and (relay, b) in sample.row for relay in relays_of(pair, 19)) and (a, b) in sample.row
    base_ms = np.array([sample.links["base_ms"][sample.row[a, b]] for a, b in (pair.split("-") for pair in sample.pairs)])
    assert [int(n) for n in np.histogram(base_ms, [0.0, 100.0, 250.0, np.inf])[0]] == [300, 300, 300]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "number of rows below the header"),
        ("a,b\n1,2\n", "line 1"),
        (",".join(COLUMNS) + "\nA,B,1,2\n", "line 2"),
        (",".join(COLUMNS) + "\nA,B,1" + ",x" * 14 + "\n", "line 2"),
    ],
)
def test_a_broken_sample_is_refused(content, message):
    with pytest.raises(DataError, match=rf"world\.csv: {message}"):
        parse_sample(Path("world.csv"), content.encode(), "card")
