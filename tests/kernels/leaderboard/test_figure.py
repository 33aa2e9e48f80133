"""Names next to marks cover neither each other nor a mark."""

from itertools import combinations

from matplotlib.figure import Figure

from vcgym.leaderboard.report.figure import _name, style

PLACES = {"learned": (100.0, 1.0), "learned-rl": (103.0, 1.05), "learned-rate": (106.0, 0.95), "GRD": (140.0, 5.0)}


def test_names_of_close_marks_do_not_touch():
    with style():
        figure = Figure(figsize=(5.2, 3.3), layout="constrained")
        axes = figure.add_subplot()
        for x, y in PLACES.values():
            axes.plot([x], [y], "o", markersize=5.0)
        axes.margins(x=0.12)
        _name(figure, list(PLACES), PLACES)
        boxes = [text.get_window_extent() for text in axes.texts]
        marks = axes.transData.transform(list(PLACES.values()))
    written = {text.get_text() for text in axes.texts}
    assert {"learned", "GRD"} <= written and len(written) > 2
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert not any(box.contains(*mark) for box in boxes for mark in marks)
