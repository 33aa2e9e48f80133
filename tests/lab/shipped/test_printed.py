"""The numbers that the users' pages show are those that their commands print."""

import pytest

from lab.shipped.printed import as_printed, follow, sections

PRINTED = """reading
│ greedy / WMJitter │ rule  │ +0.8 [0.3, 1.3] │ 1        │
│ MINE              │ local │ -0.2 [-0.4, 0]  │ tied 2-3 │
RED1 within 5%: 1.25% added
RED1 within 10%: 3% added
home.csv: 12,000 probes over 120.0 s, 0 lost; sha256 45f91e32
""".splitlines()


@pytest.mark.parametrize(
    ("shown", "wanted"),
    [
        (["greedy / WMJitter  rule   +9.9 [9, 9]  3"], ["greedy / WMJitter  rule   +0.8 [0.3, 1.3]  1"]),
        (["MINE  local  +1 [1, 1]  4"], ["MINE  local  -0.2 [-0.4, 0]  tied 2-3"]),
        (["RED1 within 5%: 0% added", "RED1 within 10%: 0% added"], ["RED1 within 5%: 1.25% added", "RED1 within 10%: 3% added"]),
        (["home.csv: 1 probes over 2 s, 3 lost; ..."], ["home.csv: 12,000 probes over 120.0 s, 0 lost; ..."]),
    ],
)
def test_a_line_gets_the_numbers_that_were_printed_with_its_words(shown, wanted):
    assert as_printed(shown, PRINTED) == wanted


def test_a_line_that_was_not_printed_is_an_error():
    with pytest.raises(ValueError, match="'other words 5' was not printed"):
        as_printed(["other words 5"], PRINTED)


@pytest.mark.long
@pytest.mark.parametrize("page", ["rules", "worlds"])
def test_the_pages_show_what_is_printed_today(tmp_path, page):
    section = sections()[page]
    assert follow(section, tmp_path)[0] == section, f"run: python -m lab.shipped.printed {page}"
