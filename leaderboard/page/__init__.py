"""What the report page shows, part by part; `vcgym.leaderboard.report` puts them together, page.js moves them."""
