"""The shipped link tables: their content, and the detection of a changed number or a wrong field."""

import json
from importlib.resources import files

import pytest

from vcgym.network.traces.cards import DataError, LinkTable, load_links, parse_carded


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
