"""Write data/zoo_references.csv, what the scores of the zoo lie between: ``python -m lab.shipped.zoo_references``.

For each environment the best published rule (0), the best tuned rule, the learned rule, random actions and a bound in hindsight (100), each
with its score on the first validation worlds. Call and Relay: path and playout in hindsight, at most 6 changes of path a minute; Playout:
the paths of the published rule with the best playout in hindsight (`lab.studies.oracles`). Senders have no hindsight. Their bounds are too
high for any agent: for Rate the utility of the capacity, without delay, loss and other flows; for SendOrder all packets that the published
rule created, on time.
"""

import json
import math
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from lab.studies.headroom.oracle_rows import plan_metrics
from lab.studies.oracles.rating import best_ratings
from lab.studies.oracles.seen import along, see
from vcgym.baselines.systems import System, load_system
from vcgym.envs.call.batch import CallBatch
from vcgym.leaderboard.evaluation.kinds.sender import started_batch
from vcgym.network.bottleneck.capacity.capacity import mean_bps
from vcgym.network.bottleneck.send_queue import AUDIO, VIDEO
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.scenarios.bottleneck.sending_scenarios import SendingScenario
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.traces.plain_file import replace_file
from vcgym.scripts.zoo.runs import Reference, references_path, write_references
from vcgym.scripts.zoo.scoring import score_agent, score_systems

WORLDS = 50
CHANGES = 6  # of path, per minute
FOLDER = Path("outputs/zoo_references")
PATHS = Scenario("wonderproxy", "correlated", 6000)


class Rival(NamedTuple):
    """Rules that the agents of an environment are compared with: the best published one and the best tuned one of the same other controls.

    So rules of order have the rate of SBPN, as agents of SendOrder have.
    """

    published: str
    tuned: str


_CALLS = Rival("VIA-BF", "GRD+EWMAH-tuned")
RIVALS = {
    "vcgym/Relay-v1": _CALLS,
    "vcgym/Playout-v1": Rival("DRT-WM", "DRT-WM-tuned"),
    "vcgym/Call-v1": _CALLS,
    "vcgym/Rate-v1": Rival("SCREAM-V2", "SCREAM-V2-rate-tuned"),
    "vcgym/SendOrder-v1": Rival("SBPN2-E", "SBPN2-order-tuned"),
}


class RandomActions:
    """Policy that draws each action from the space, the same ones in each run."""

    reads = "features"

    def __init__(self, space: Any) -> None:
        self.space = space
        space.seed(0)

    def predict(self, observation: Any, state: Any = None, episode_start: Any = None, deterministic: bool = True) -> tuple[Any, Any]:
        """Return an action for each session."""
        return np.array([self.space.sample() for _ in observation]), state


def main() -> None:
    """Score what is missing in the folder, and write the table."""
    found = [one for env_id in RIVALS for one in _of_env(env_id)]
    write_references(found, references_path(), "lab.shipped.zoo_references")
    print(f"{references_path()}: {len(found)} rows")


def _of_env(env_id: str) -> Iterator[Reference]:
    rival, name = RIVALS[env_id], env_id.removeprefix("vcgym/").removesuffix("-v1")
    learned = {"Rate": "learned-rate", "SendOrder": "learned-order"}.get(name, "learned")
    pair = load_system(learned)
    systems = {
        "published": (rival.published, load_system(rival.published)),
        "tuned": (rival.tuned, load_system(rival.tuned)),
        "learned": (learned, pair),
    }
    if name == "Relay":
        systems["learned"] = f"path of {learned}", System(pair.path, load_system("VIA-WM").playout)
    if name == "Playout":
        systems["learned"] = f"playout of {learned}", System(load_system("DRT-WM").path, pair.playout)
    for role, (called, system) in systems.items():
        yield Reference(env_id, role, called, _kept(f"{name}-{role}", partial(_of_system, env_id, system)))
    yield Reference(env_id, "random", "random actions", _kept(f"{name}-random", partial(_random, env_id)))
    bounds: dict[str, Callable[[int], float]] = {"Rate": _capacity, "SendOrder": _created, "Playout": _playout}
    worlds = [_kept(f"{name}-bound-{seed}", partial(bounds.get(name, _joint), seed)) for seed in range(WORLDS)]
    yield Reference(env_id, "bound", {"Rate": "capacity", "SendOrder": "every packet on time"}.get(name, "hindsight"), worlds)


def _kept(stem: str, make: Callable[[], Any]) -> Any:
    path = FOLDER / f"{stem}.json"
    FOLDER.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        replace_file(path, json.dumps(make()).encode())
    return json.loads(path.read_bytes())


def _of_system(env_id: str, system: System) -> list[float]:
    return score_systems(env_id, [system], WORLDS)[0]


def _random(env_id: str) -> list[float]:
    space = gymnasium.spec(env_id).make().action_space
    return score_agent(RandomActions(space), env_id, {}, WORLDS)


def _joint(seed: int) -> float:
    seen = see(PATHS, PATHS.draw("validation", seed))
    return float(plan_metrics(seen, best_ratings(seen, (CHANGES,))[0].plan)["r"])


def _playout(seed: int) -> float:
    draw, pair = PATHS.draw("validation", seed), load_system(RIVALS["vcgym/Playout-v1"].published)
    batch = CallBatch(PATHS, 1, pair.path, pair.playout, log=True)
    batch.start(0, draw)
    batch.play(np.arange(1))
    alone = along(see(PATHS, draw), batch.played().path[0])
    return float(plan_metrics(alone, best_ratings(alone, (0,))[0].plan)["r"])


def _link(name: str, seed: int) -> SharedLink:
    return SendingScenario(name).draw("validation", seed)


def _capacity(seed: int) -> float:
    link = _link("rate", seed)
    seconds: NDArray[np.int64] = np.arange(math.ceil(link.counts_from_s), int(link.seconds)) * 1_000_000
    most_bps = 1000.0 * link.rates_kbps[2]
    rates = [min(mean_bps(link.trace, link.start_us + at, link.start_us + at + 1_000_000), most_bps) for at in seconds.tolist()]
    return float(0.6 * np.log1p(4e-6 * np.array(rates)).mean())


def _created(seed: int) -> float:
    batch = started_batch(load_system(RIVALS["vcgym/SendOrder-v1"].published), [_link("order", seed)])
    batch.play(np.arange(1))
    created = batch.totals().created[0]
    return float(created[AUDIO] + 0.25 * created[VIDEO])


if __name__ == "__main__":
    main()
