"""Tasks of a learner inside the loop: the controls that an environment leaves to its agent, their surroundings, and the training calls."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.inside.policies import POLICIES
from vcgym.baselines.from_agent import FromAgent
from vcgym.envs.call.batch import Batch, CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.envs.call.sender.batch import SendingBatch
from vcgym.envs.environments.vector.settings import BottleneckSettings
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe, rates_of
from vcgym.network.scenarios.scenario import Scenario
from vcgym.network.scenarios.settings import WorldSettings

_LOCATION = ("location", "feedback_loss", "probe_rate")


class Task(ABC):
    """Controls to learn, and the worlds in which they are played.

    Attributes:
        learned: controls to learn.
        rules: rules of the other controls.
        reward: parameters of the reward.
        slots: length of the longest call in slots of 10 ms.
        kinds: number of kinds of worlds.
        pacing: pacing factor of the calls; None: they have no uplink.
    """

    learned: list[str]
    rules: dict[str, Any]
    reward: Any
    slots: int
    kinds: int = 1
    pacing: float | None = None

    @abstractmethod
    def worlds(self, split: str, count: int, first_seed: int = 0) -> list[Any]:
        """Return the worlds of each kind: `count` of a split, with seeds from `first_seed` on."""

    @abstractmethod
    def lengthen(self, worlds: Any, max_added_ms: float, draws: np.random.Generator) -> None:
        """Add a delay between 0 and `max_added_ms` to half of the worlds of a kind."""

    @abstractmethod
    def batch(self, rules: dict[str, Any], worlds: Any, sessions: int, threads: int) -> Batch:
        """Return a batch with a rule for each control, for worlds of a kind."""

    @abstractmethod
    def start(self, batch: Any, worlds: Any, which: NDArray[np.int64]) -> None:
        """Start a call in each row, each in the world of that number."""

    @abstractmethod
    def counted(self, batch: Any) -> NDArray[np.void]:
        """Return the calls or the senders of a batch, whose counters rewards read."""

    @abstractmethod
    def packets(self, batch: Any) -> int:
        """Return the packets of finished calls."""

    def rating(self, batch: Any) -> float | None:
        """Return the mean R of finished calls; None: it is not what they are ranked by."""
        return None


class PathsTask(Task):
    """Calls over paths without an uplink.

    Args:
        scenarios: sources of the worlds, one per kind, with calls of one length.
        learned, rules, reward: see `Task`.
        location: arguments of `CallBatch` about the location of the path's controller, feedback, the budget of protection and frames.
    """

    def __init__(
        self, scenarios: Sequence[Scenario], learned: list[str], rules: dict[str, Any], reward: Any, location: dict[str, Any]
    ) -> None:  # fmt: skip
        self.scenarios, self.learned, self.rules, self.reward, self.location = scenarios, learned, rules, reward, location
        self.slots, self.kinds = scenarios[0].packets, len(scenarios)

    def worlds(self, split: str, count: int, first_seed: int = 0) -> list[TrainingCalls]:
        return [TrainingCalls.evenly(scenario, split, count, first_seed) for scenario in self.scenarios]

    def lengthen(self, worlds: TrainingCalls, max_added_ms: float, draws: np.random.Generator) -> None:
        worlds.lengthen(max_added_ms, draws)

    def batch(self, rules: dict[str, Any], worlds: TrainingCalls, sessions: int, threads: int) -> CallBatch:
        some = worlds.some(np.zeros(sessions, np.int64))
        return CallBatch(worlds.scenario, sessions, **rules, **self.location, threads=threads, world=some.world)

    def start(self, batch: CallBatch, worlds: TrainingCalls, which: NDArray[np.int64]) -> None:
        calls = worlds.some(which)
        batch.world = calls.world
        for row, draw in enumerate(calls.draws):
            batch.start(row, draw)

    def counted(self, batch: CallBatch) -> NDArray[np.void]:
        return batch.calls

    def packets(self, batch: CallBatch) -> int:
        return batch.sessions * self.slots

    def rating(self, batch: CallBatch) -> float:
        return float(ratings_of(batch.totals()).mean())


class BottleneckTask(Task):
    """Senders at a shared bottleneck.

    Args:
        scenario: source of the worlds.
        asked: settings of the worlds.
        learned, rules, reward: see `Task`.
    """

    def __init__(
        self, scenario: BottleneckRecipe, asked: BottleneckSettings, learned: list[str], rules: dict[str, Any], reward: Any
    ) -> None:  # fmt: skip
        self.scenario, self.asked, self.learned, self.rules, self.reward = scenario, asked, learned, rules, reward
        self.seconds = scenario.seconds if asked.seconds is None else asked.seconds
        self.slots, self.pacing = round(self.seconds * 1e6) // SLOT_US, asked.pacing

    def worlds(self, split: str, count: int, first_seed: int = 0) -> list[list[SharedLink]]:
        return [[self.asked.applied(self.scenario.draw(split, first_seed + n)) for n in range(count)]]

    def lengthen(self, worlds: list[SharedLink], max_added_ms: float, draws: np.random.Generator) -> None:
        raise ValueError(f"algorithm.max_added_ms is {max_added_ms:g}; allowed in environments over a bottleneck: 0")

    def batch(self, rules: dict[str, Any], worlds: list[SharedLink], sessions: int, threads: int) -> SendingBatch:
        world = self.scenario
        return SendingBatch(
            sessions, rules["rate"], rules["order"], world.traces, world.flows, world.series, pacing=self.asked.pacing,
            seconds=self.seconds, threads=threads, calls=world.calls, rates=rates_of(world),
        )  # fmt: skip

    def start(self, batch: SendingBatch, worlds: list[SharedLink], which: NDArray[np.int64]) -> None:
        for row, number in enumerate(which):
            batch.start(row, worlds[number])

    def counted(self, batch: SendingBatch) -> NDArray[np.void]:
        return batch.senders

    def packets(self, batch: SendingBatch) -> int:
        return int(batch.senders["packets"].sum())


def task_of(config: EnvConfig, kinds: Sequence[str] = ()) -> Task:
    """Return the task of an environment, in worlds of other kinds if some are named.

    Raises:
        ValueError: its agent sets what no policy learns inside the loop; or no such kind of worlds.
        DataError: data of a kind is missing or broken.
    """
    envs = make_envs(config, 1, "train")
    env: Any = envs.unwrapped
    envs.close()
    over_bottleneck = isinstance(getattr(env, "batch", None), SendingBatch)
    setters = env.setters if over_bottleneck or (hasattr(env, "setters") and not env.uplink.part) else {}
    learned = [control for control, setter in setters.items() if isinstance(setter, FromAgent)]
    fit = [control for control in learned if control in POLICIES]
    if not learned or fit != learned:
        raise ValueError(
            f"algorithm is InsidePPO and the agent of {config.id} sets {' and '.join(learned) or 'other controls'}; allowed: environments "
            "over paths without an uplink, whose agent sets path or playout (the lag), and those over a bottleneck"
        )
    rules = {str(control): setter for control, setter in setters.items() if control not in learned}
    named = [str(control) for control in learned]
    if over_bottleneck:
        if kinds:
            raise ValueError(f"algorithm.kinds is {list(kinds)}; allowed in environments over a bottleneck: none")
        return BottleneckTask(env.scenario, env.asked, named, rules, env.reward)
    asked = (kind.split() for kind in kinds)
    scenarios = [Scenario(WorldSettings.among(config.options | {"scenario": name, "mode": mode})) for name, mode in asked]
    at = {name: config.options[name] for name in _LOCATION} | {"budget": env.budget, "frame_ms": env.frame_ms}
    return PathsTask(scenarios or [env.batch.scenario], named, rules, env.reward, at)
