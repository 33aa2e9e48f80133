"""Write the fit report: ``python -m vcgym.scripts.shipped.fit_report`` with VCGYM_DATA set makes docs/fit.md."""

from pathlib import Path

from vcgym.leaderboard.report.fit_page import fit_page
from vcgym.network.traces.cards import data_root


def main() -> None:
    """Compare the parameters with the measurements and write the page."""
    Path("docs/fit.md").write_text(fit_page(data_root()), encoding="utf-8")


if __name__ == "__main__":
    main()
