"""Config of `vcgym submit`."""

from vcgym.agents.config.base import AbsolutePath
from vcgym.leaderboard.evaluation.config import LeaderboardConfig


class SubmitConfig(LeaderboardConfig):
    """Ranking of systems, agents and all submissions that a board has accepted.

    Attributes:
        submission: folder of a submission that joins the board.
    """

    submission: AbsolutePath
