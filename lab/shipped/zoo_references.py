"""Write data/zoo_references.csv, what the scores of the zoo lie between: ``python -m lab.shipped.zoo_references [NAME ...]``.

For each environment the best published rule (0), the best tuned rule, the learned rule, random actions, the constant action that is best
on training worlds, controllers that are told what comes in the next h ms (100 ms: 100), and a bound, each with its score on the first
validation worlds.

Told are the path, the lag of the learned rule, or both (`lab.studies.oracles.told`), and the capacity (`OracleRate`); each h has the best
horizon up to h on training worlds. SendOrder has none: with the capacity told, its rate decides more than any order.
Bounds: Call and Relay have path and playout in hindsight, at most 6 changes of path a minute; Playout the paths of the published rule with
the best playout in hindsight (`lab.studies.oracles`). Senders have no hindsight. Their bounds are too high for any agent: for Rate and
Send the utility of the capacity, without delay, loss and other flows; for SendOrder all packets that the published rule created, on time.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from lab.studies.headroom.oracle_rows import plan_metrics
from lab.studies.oracles.rating import best_ratings
from lab.studies.oracles.seen import along, see
from lab.studies.oracles.sequences import play_script
from lab.studies.oracles.told import ToldLag, told_sequence
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.rate.oracle_rate import OracleRate
from vcgym.baselines.systems import System, load_system
from vcgym.envs import name_of
from vcgym.envs.call.batch import CallBatch, Played
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.network.bottleneck.capacity.capacity import mean_bps
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import replace_file
from vcgym.network.worlds.world import WorldDraw
from vcgym.scripts.zoo.runs import Reference, read_references, references_path, write_references
from vcgym.scripts.zoo.scoring import score_agent, score_systems

WORLDS = {"Rate": 200, "Send": 200, "SendOrder": 200}  # 50 of other names
CHANGES = 6  # of path, per minute
FOLDER = Path("outputs/zoo_references")
PATHS = Scenario("wonderproxy", "correlated", 6000)


class Rivals(NamedTuple):
    """Rules that the agents of an environment are compared with: the best published, tuned and learned ones of the same other controls.

    So rules of order have the rate of SBPN, as agents of SendOrder have.
    """

    published: str
    tuned: str
    learned: str


RIVALS = {
    "vcgym/Relay-v1": Rivals("VIA-WM", "GRD-WM-tuned", "learned"),
    "vcgym/Playout-v1": Rivals("DRT-WM", "DRT-WM-tuned", "learned"),
    "vcgym/Call-v1": Rivals("VIA-BF", "GRD+EWMAH-tuned", "learned"),
    "vcgym/Rate-v1": Rivals("SCREAM-V2", "SCREAM-V2-rate-tuned", "learned-gate"),
    "vcgym/Send-v1": Rivals("SCREAM-V2", "SCREAM-V2", "learned-gate"),
    "vcgym/SendOrder-v1": Rivals("SBPN2-E", "SBPN2-order-tuned", "learned-order"),
}
TRIED_WORLDS = 50  # of the training split, for each constant action
TOLD_MS = (0, 100, 500, 2000)
ORDERS = {"published": "SBPN2-E", "tuned": "SBPN2-order-tuned", "learned": "SBPN2-order-tuned"}
"""Role -> system whose order a rule of Send has."""
AT_MOST_100 = "vcgym/Relay-v1", "vcgym/Send-v1"  # more foresight gives nothing there: on training worlds of Send +0.004 at 200 ms
RATE_MS = 300  # a longer mean of the capacity has less utility


class Constant:
    """Policy that repeats one action."""

    reads = "features"

    def __init__(self, action: int) -> None:
        self.action = action

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """Return the action for each session."""
        return np.full(len(observation), self.action), state


class RandomActions:
    """Policy that draws each action from the space, the same ones in each run."""

    reads = "features"

    def __init__(self, space: Any) -> None:
        self.space = space
        space.seed(0)

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """Return an action for each session."""
        return np.array([self.space.sample() for _ in observation]), state


def main(names: Sequence[str]) -> None:
    """Score the environments of these names, or all; what the folder has is kept. Write the table, with the rows of others as they are."""
    shipped = read_references(references_path()) if names else []
    found: list[Reference] = []
    for env_id in RIVALS:
        anew = not names or name_of(env_id) in names
        found += _of_env(env_id) if anew else [one for one in shipped if one.env == env_id]
    write_references(found, references_path(), "lab.shipped.zoo_references")
    print(f"{references_path()}: {len(found)} rows")


def rivals(env_id: str) -> dict[str, tuple[str, System]]:
    """Return the rules of an environment by role, each with its name; on Relay and Playout they have the other control of the agents."""
    found = {role: (name, load_system(name)) for role, name in RIVALS[env_id]._asdict().items()}
    if env_id == "vcgym/Relay-v1":
        return {role: (f"path of {name}", system.replace(playout=WMJitter())) for role, (name, system) in found.items()}
    if env_id == "vcgym/Playout-v1":
        path = found["published"][1].path
        return {role: (f"playout of {name}", system.replace(path=path)) for role, (name, system) in found.items()}
    if env_id == "vcgym/Send-v1":
        return {role: (f"{name}, order of {ORDERS[role]}", system.replace(order=_order(role))) for role, (name, system) in found.items()}
    return found


def _order(role: str) -> Any:
    return load_system(ORDERS[role]).order


def _of_env(env_id: str) -> Iterator[Reference]:
    name = name_of(env_id)
    worlds = WORLDS.get(name, 50)
    for role, (called, system) in rivals(env_id).items():
        yield Reference(env_id, role, called, _kept(f"{name}-{role}", partial(_of_system, env_id, system, worlds)))
    yield Reference(env_id, "random", "random actions", _kept(f"{name}-random", partial(_random, env_id, worlds)))
    action, scores = _kept(f"{name}-constant", partial(_constant, env_id, worlds))
    yield Reference(env_id, "constant", f"action {action}", scores)
    for ahead_ms in TOLD_MS:
        told = _told(env_id, ahead_ms, worlds)
        if told is not None:
            yield Reference(env_id, f"told-{ahead_ms}", told.words, _kept(f"{name}-told-{ahead_ms}", told.scores))
    bounds: dict[str, Callable[[int], float]] = {"Rate": _capacity, "Send": _capacity, "SendOrder": _created, "Playout": _playout}
    found = [_kept(f"{name}-bound-{seed}", partial(bounds.get(name, _joint), seed)) for seed in range(worlds)]
    yield Reference(
        env_id, "bound", {"Rate": "capacity", "Send": "capacity", "SendOrder": "every packet on time"}.get(name, "hindsight"), found
    )


class _Told(NamedTuple):
    words: str
    scores: Callable[[], list[float]]


def _told(env_id: str, ahead_ms: int, worlds: int) -> _Told | None:
    """Return the controller that is told the next `ahead_ms`; None if there is none, or it is that of a shorter time."""
    if env_id == "vcgym/SendOrder-v1" or (env_id in AT_MOST_100 and ahead_ms > 100) or (env_id == "vcgym/Playout-v1" and not ahead_ms):
        return None
    learned = rivals(env_id)["learned"][1]
    if env_id in ("vcgym/Rate-v1", "vcgym/Send-v1"):
        sender = load_system("oracle_rate").replace(rate=OracleRate(ahead_ms=min(ahead_ms, RATE_MS)))
        sender = sender if env_id == "vcgym/Rate-v1" else sender.replace(order=_order("tuned"))
        return _Told("capacity", partial(_of_system, env_id, sender, worlds))
    words = {"vcgym/Relay-v1": "path", "vcgym/Playout-v1": "playout"}.get(env_id, "path and playout")
    return _Told(words, lambda: [_of_told(words, learned, ahead_ms, seed) for seed in range(worlds)])


def _of_told(what: str, learned: System, ahead_ms: int, seed: int) -> float:
    draw = PATHS.draw("validation", seed)
    seen = see(PATHS, draw)
    if what == "playout":
        path = _played(learned.path, learned.playout, draw).path[0]
        return _rating(_played(learned.path, ToldLag(learned.playout, along(seen, path).delay_us, ahead_ms), draw))
    path = told_sequence(seen.delay_us, seen.chance, ahead_ms)
    lag = learned.playout if what == "path" else ToldLag(learned.playout, along(seen, path).delay_us, ahead_ms)
    return _rating(play_script(PATHS, draw, path, lag))


def _played(router: Any, receiver: Any, draw: WorldDraw) -> Played:
    batch = CallBatch(PATHS, 1, router, receiver, log=True)
    batch.start(0, draw)
    batch.play(np.arange(1))
    return batch.played()


def _rating(played: Played) -> float:
    return float(rows(played)[0]["r"])


def _kept(stem: str, make: Callable[[], Any]) -> Any:
    path = FOLDER / f"{stem}.json"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        replace_file(path, json.dumps(make()).encode())
    return json.loads(path.read_bytes())


def _of_system(env_id: str, system: System, worlds: int) -> list[float]:
    return score_systems(env_id, [system], worlds)[0]


def _random(env_id: str, worlds: int) -> list[float]:
    space = gymnasium.spec(env_id).make().action_space
    return score_agent(RandomActions(space), env_id, {}, worlds)


def _constant(env_id: str, worlds: int) -> tuple[int, list[float]]:
    """Return the action that is best on training worlds if it is always taken, and its scores."""
    space: Any = gymnasium.spec(env_id).make().action_space
    means = [np.mean(score_agent(Constant(action), env_id, {}, TRIED_WORLDS, "train")) for action in range(space.n)]
    action = int(np.argmax(means))
    return action, score_agent(Constant(action), env_id, {}, worlds)


def _joint(seed: int) -> float:
    seen = see(PATHS, PATHS.draw("validation", seed))
    return float(plan_metrics(seen, best_ratings(seen, (CHANGES,))[0].plan)["r"])


def _playout(seed: int) -> float:
    draw, pair = PATHS.draw("validation", seed), rivals("vcgym/Playout-v1")["published"][1]
    alone = along(see(PATHS, draw), _played(pair.path, pair.playout, draw).path[0])
    return float(plan_metrics(alone, best_ratings(alone, (0,))[0].plan)["r"])


def link_of(name: str, seed: int) -> SharedLink:
    """Return a validation world of a scenario of senders."""
    return SendingScenario(name).draw("validation", seed)


def _capacity(seed: int) -> float:
    link = link_of("rate", seed)
    seconds: NDArray[np.int64] = np.arange(math.ceil(link.counts_from_s), int(link.seconds)) * 1_000_000
    most_bps = 1000.0 * link.rates_kbps[2]
    rates = [min(mean_bps(link.trace, link.start_us + at, link.start_us + at + 1_000_000), most_bps) for at in seconds.tolist()]
    return float(0.6 * np.log1p(4e-6 * np.array(rates)).mean())


def _created(seed: int) -> float:
    batch = started_batch(load_system(RIVALS["vcgym/SendOrder-v1"].published), [link_of("order", seed)])
    batch.play(np.arange(1))
    created = batch.totals().created[0]
    return float(created[AUDIO] + 0.25 * created[VIDEO])


if __name__ == "__main__":
    main(sys.argv[1:])
