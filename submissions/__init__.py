"""Submissions: a folder with a card and weights, read without pickle and without running its code, played, logged and replayed."""

COMMANDS = {
    ("vcgym.submissions.config", "vcgym.submissions.commands"): {
        "submit": ("SubmitConfig", "submit", "check a submission and play it on a board", "leaderboard"),
    },
    ("vcgym.leaderboard.evaluation.config", "vcgym.submissions.commands"): {
        "verify": ("LeaderboardConfig", "verify_board", "recompute the scores of a board's agents from their actions", "leaderboard"),
    },
}
