"""Disciplines of the bottleneck's queue beside drop-tail without marks."""

from typing import NamedTuple

from vcgym.network.kernels.ranges import require_within


class Threshold(NamedTuple):
    """Drop-tail that marks: an ECN-capable packet that would wait longer than `delay_ms` for those before it enters marked."""

    delay_ms: float = 20.0


Discipline = Threshold


def require_discipline(discipline: Discipline) -> None:
    """Refuse a discipline that cannot be.

    Raises:
        ValueError: a number out of its range.
    """
    require_within(discipline, delay_ms=(0.0, 60e3))
