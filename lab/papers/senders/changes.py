"""Experiments for statements of S1 that are reproduced in none of our settings: one changed setting, the first that makes it hold.

With two TCP flows: another round trip or room of the send queue than the statement's own, at any rate of the bottleneck; these calls are
played anyway. With random loss: another link, round trip or send queue at any loss; these are played in addition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from lab.papers.causes import WORLD, Experiment, first_that_holds
from lab.papers.senders.measures import Played, measured
from lab.papers.senders.statements import SendingStatement
from vcgym.baselines.systems import System
from vcgym.leaderboard.evaluation.rollouts.sender_rollout import play_sender
from vcgym.network.bottleneck.capacity.capacity import constant
from vcgym.network.scenarios.bottleneck.sending_scenarios import LOSS, LOSSY_MBPS, order_link

OTHER_LINKS: dict[str, tuple[float, float, int]] = {
    "a link of 1 Mbit/s": (1.0, 80.0, 5), "a round trip of 150 ms": (LOSSY_MBPS, 150.0, 5), "room for 32 packets": (LOSSY_MBPS, 80.0, 32),
}  # fmt: skip
"""Mbit/s, round trip in ms, and send queue in packets."""


def play_lossy(senders: Mapping[str, System], seeds: Sequence[int]) -> Played:
    """Play senders on `OTHER_LINKS` at each level of loss."""
    played = {}
    for name, (mbps, rtt_ms, send_queue) in OTHER_LINKS.items():
        trace = constant(mbps * 1e6)
        for loss in LOSS[1:]:
            links = [order_link("loss", seed, trace, rtt_ms, send_queue, loss, flows=0) for seed in seeds]
            for sender, system in senders.items():
                played[f"{name}, {100 * loss:g} % loss", "", sender] = play_sender(system, links, [trace], 0).metrics
    return played


def experiments(statements: Iterable[SendingStatement], tcp: Played, lossy: Played) -> Iterator[Experiment]:
    """Yield an experiment per statement about random loss, or about one kind of calls beside TCP flows.

    Args:
        statements: statements to find a setting for.
        tcp: calls beside two TCP flows.
        lossy: result of `play_lossy`.
    """
    for statement in statements:
        kinds = {term.kind for term in statement.terms}
        if statement.setting == "loss":
            found = [(WORLD, label, measured(statement, lossy, label)) for label in dict.fromkeys(label for label, _, _ in lossy)]
            yield first_that_holds(statement, statement.unit, found)
        elif statement.setting == "tcp" and len(kinds) == 1:
            others = dict.fromkeys((kind, label) for label, kind, _ in tcp if kind not in kinds)
            changed = [(f"{kind}, {label}", measured(_with_kind(statement, kind), tcp, label)) for kind, label in others]
            yield first_that_holds(statement, statement.unit, [(WORLD, name, ours) for name, ours in changed])


def _with_kind(statement: SendingStatement, kind: str) -> SendingStatement:
    return statement.model_copy(update={"terms": tuple(term.model_copy(update={"kind": kind}) for term in statement.terms)})
