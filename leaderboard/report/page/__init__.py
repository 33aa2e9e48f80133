"""Parts of the report page; `vcgym.leaderboard.report.publish` assembles them, and page.js makes them interactive."""
