"""Files of metric values: one is whole after a kill, and what is none is refused by name."""

import pytest

from vcgym.agents.tracking.points import MetricPoint, append, read


def test_points_survive_a_kill_while_one_is_written(tmp_path):
    path = tmp_path / "points.jsonl"
    append(path, MetricPoint({"a": 1.0}, 1, 10))
    path.write_text(path.read_text() + '[{"a": 2.')
    assert list(read(path)) == [MetricPoint({"a": 1.0}, 1, 10)]
    append(path, MetricPoint({"a": 3.0}, 3, 30))
    assert [point.steps for point in read(path)] == [1, 3]
    path.write_text("[1]\n")
    with pytest.raises(ValueError, match=r"points\.jsonl: line 1 is "):
        list(read(path))


@pytest.mark.parametrize("content", ['{"a": 1}', "[[1], 2, 3]", '[{"a": "x"}, 2, 3]', '[{"a": 1}, 2]', "[" * 9999, "9" * 9999])
def test_a_line_that_is_no_point_is_refused(tmp_path, content):
    (tmp_path / "points.jsonl").write_text(f"{content}\n")
    with pytest.raises(ValueError, match=r"points\.jsonl: line 1 is ") as refused:
        list(read(tmp_path / "points.jsonl"))
    assert len(str(refused.value)) < 400 and "\n" not in str(refused.value)


def test_points_are_not_appended_through_a_link(tmp_path):
    (tmp_path / "victim.txt").write_text("kept\nwithout an end")
    (tmp_path / "points.jsonl").symlink_to("victim.txt")
    for use in (lambda path: append(path, MetricPoint({"a": 1.0}, 1, 1)), lambda path: list(read(path))):
        with pytest.raises(ValueError, match=r"points\.jsonl: file is "):
            use(tmp_path / "points.jsonl")
    assert (tmp_path / "victim.txt").read_text() == "kept\nwithout an end"
