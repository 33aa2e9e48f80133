"""What the report page shows, part by part; `vcgym.leaderboard.report.publish` puts them together, page.js moves them."""
