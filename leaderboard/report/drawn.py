"""Pictures of systems over time: those that a suite's stages have, with the board or on request."""

from collections.abc import Callable, Mapping
from pathlib import Path

from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.stages import CASES, CONFERENCE
from vcgym.leaderboard.evaluation.suites import SUITES, Suite
from vcgym.leaderboard.report.courses import draw_courses
from vcgym.leaderboard.report.network_course import draw_network_course
from vcgym.leaderboard.report.session_rates import draw_session_rates

Draw = Callable[[str, System, Path, Suite], Path]
"""Draws a system in worlds of a suite: its name, the system, a folder, the suite -> path of the picture."""


def _cases(name: str, system: System, folder: Path, suite: Suite) -> Path:
    return draw_courses(name, system, folder, suite.scenarios[0])


def _session_rates(name: str, system: System, folder: Path, suite: Suite) -> Path:
    return draw_session_rates(name, system, folder)


def _network(name: str, system: System, folder: Path, suite: Suite) -> Path:
    return draw_network_course(name, system, folder)


_WITH_BOARD: dict[str, tuple[Draw, ...]] = {CONFERENCE.name: (_network,)}
_COURSES: dict[str, tuple[Draw, ...]] = {CASES.name: (_cases,), CONFERENCE.name: (_session_rates, _network)}


def draw_with_board(suite: Suite, systems: Mapping[str, System], folder: Path) -> None:
    """Draw the pictures that belong on a suite's page, of the first system that is no oracle."""
    for draw in (draw for stage in suite.stages for draw in _WITH_BOARD.get(stage.name, ())):
        for name, system in [(name, system) for name, system in systems.items() if not system.is_oracle][:1]:
            draw(name, system, folder, suite)


def suite_of_courses(suite: Suite) -> Suite:
    """Return the suite whose worlds are drawn over time: `suite` if it has such, else rmcat-v0."""
    return suite if any(stage.name in _COURSES for stage in suite.stages) else SUITES["rmcat-v0"]


def draw_courses_of(suite: Suite, name: str, system: System, folder: Path) -> list[Path]:
    """Draw a system over time in worlds of a suite of `suite_of_courses`, and return the paths of the pictures."""
    return [draw(name, system, folder, suite) for stage in suite.stages for draw in _COURSES.get(stage.name, ())]
