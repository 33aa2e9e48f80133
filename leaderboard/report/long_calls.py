"""Boards with calls so long that R leaves ITU-T G.107: a second R, with the whole delay impairment, next to the ranked one.

R has the reduced delay impairment, which is a fit for up to `REDUCED_RANGE_MS` (`vcgym.network.playout.quality`). The second R follows from
two stored columns, the mean mouth-to-ear delay and the concealed share of a call, as R itself does; it is computed for reports, never
stored, and nothing is ranked by it.
"""

import pyarrow as pa

from vcgym.leaderboard.results.columns import Column, Columns
from vcgym.network.playout.quality import REDUCED_RANGE_MS, rating_whole

_DELAY = "mouth_to_ear_mean_ms"
WHOLE = Column("r_g107", "R G.107", "", 2, 1, "R with the whole delay impairment of ITU-T G.107.", centre="iqm")


def share_beyond_range(columns: Columns, rows: pa.Table) -> float:
    """Return the share of rows whose mean mouth-to-ear delay is above `REDUCED_RANGE_MS`; 0 for other suites than of calls over paths."""
    return float((rows[_DELAY].to_numpy() > REDUCED_RANGE_MS).mean()) if _DELAY in columns.metric else 0.0


def long_columns(columns: Columns) -> Columns:
    """Return the columns of a board with the second R: next to MOS in the first text table, and under Quality on the page."""
    groups = tuple((heading, (WHOLE.name, *names) if heading == "Quality" else names) for heading, names in columns.groups)
    return columns._replace(metrics=(*columns.metrics, WHOLE), headline=((WHOLE.label, (WHOLE.name,)), *columns.headline), groups=groups)


def with_whole(rows: pa.Table) -> pa.Table:
    """Return the rows with the column `WHOLE`."""
    values = rating_whole(rows[_DELAY].to_numpy(), rows["concealed_share"].to_numpy())
    return rows.append_column(WHOLE.name, pa.array(values))
