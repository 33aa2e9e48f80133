"""Parts of the report page; `vcgym.leaderboard.report.publish` puts them together, page.js moves them."""
