"""Columns of calls over paths with protection: those of the paths, what is left of losses, and the bytes that it takes."""

from vcgym.leaderboard.results.call_columns import CALL, CLOCKED, EVENT
from vcgym.leaderboard.results.columns import Column

_METRICS = (
    Column("residual_loss", "residual loss", "%", 2, -1, "Share of packets that never arrived, nor any copy, earlier frame or repair."),
    Column("coarse_share", "coarse", "%", 2, -1, "Share of packets that came first as a coarse frame of Opus; R takes it as a whole one."),
    Column("protection_share", "protection", "%", 1, -1, "Bytes of protection, headers included, as a share of those without it."),
    Column("overhead", "overhead", "%", 1, -1, "Bytes of protection and probes, headers included, as a share of those without them."),
)
_LOSS = Column("network_loss", "network loss", "%", 2, -1, "Share of packets whose own transmission was lost.")

PROTECTED = CALL._replace(
    mark="protection_share",
    metrics=(*(_LOSS if column.name == _LOSS.name else column for column in CALL.metrics), *_METRICS),
    headline=(
        ("overhead\n%", ("overhead",)),
        ("network / residual\nloss %", ("network_loss", "residual_loss")),
        ("mouth to\near ms", ("mouth_to_ear_mean_ms",)),
        ("concealed\n%", ("concealed_share",)),
    ),
    details=(*CALL.details, *(column.name for column in _METRICS)),
    groups=(*CALL.groups, ("Bytes and repair, %", tuple(column.name for column in _METRICS))),
    published=("RED1", "RED2", "COPY1", "FEC5", "CHIME", "NACK"),
    anchors=None,
    fronts=(CLOCKED, EVENT._replace(losses=("residual_loss", "event_late_loss"))),
    price="overhead",
    drawn=("learned", "RED1", "COPY1", "COPY-RED"),
    footnote=f"{CALL.footnote} Overhead: bytes of protection and probes over those without them; the board names the budget of protection.",
)
"""Calls over paths with protection, ranked by R within a budget of bytes."""

LINKED = PROTECTED._replace(
    mark="link_load",
    metrics=(
        *PROTECTED.metrics,
        Column("link_load", "link load", "", 2, -1, "Bytes of the call over its share of the link, all included."),
    ),
    headline=(("link\nload", ("link_load",)), *PROTECTED.headline),
    details=(*PROTECTED.details, "link_load"),
    groups=(*PROTECTED.groups, ("Link", ("link_load",))),
    footnote=f"{PROTECTED.footnote} Behind a link that many calls share, all protected alike: what one adds, all add.",
)
"""The same behind a shared link."""
