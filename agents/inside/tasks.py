"""Tasks of a learner inside the loop: the controls that an environment leaves to its agent, their surroundings, and the training calls."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.calls import TrainingCalls
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.inside.noise import Noise
from vcgym.agents.inside.sampled import Sampled, bound
from vcgym.baselines.controls.control import Control
from vcgym.baselines.from_agent import FromAgent
from vcgym.envs.call.batch import Batch, CallBatch
from vcgym.envs.call.counters import ratings_of
from vcgym.envs.call.sender.batch import SendingBatch, worlds_of
from vcgym.envs.environments.vector.settings import BottleneckSettings
from vcgym.network.bottleneck.shared_link import SharedLink
from vcgym.network.kernels.slots import SLOT_US
from vcgym.network.scenarios.bottleneck.recipe import BottleneckRecipe
from vcgym.network.scenarios.scenario import Scenario

_LOCATION = ("location", "feedback_loss", "probe_rate")


class Training(NamedTuple):
    """The calls of a training.

    Attributes:
        calls: calls of a rollout, of each kind.
        worlds: training worlds, of all kinds together, sampled once, 0.4 MB each with 17 paths; a rollout draws some of them.
        max_added_ms: half of them have a delay between 0 and this added to every path; 0 over a bottleneck.
        seed: the first seeds of its worlds follow from it.
        threads: threads that play; no effect on results.
    """

    calls: int = 8
    worlds: int = 1000
    max_added_ms: float = 0.0
    seed: int = 0
    threads: int = 1


_USUAL = Training()


class Task(ABC):
    """Controls to learn, and the worlds in which they are played.

    Attributes:
        learned: controls to learn.
        rules: rules of the other controls.
        reward: parameters of the reward.
        slots: length of the longest call in slots of 10 ms.
        training: calls of the training.
        kinds: names of the kinds of worlds.
        pacing: pacing factor of the calls; None: they have no uplink.
    """

    learned: list[str]
    rules: dict[str, Any]
    reward: Any
    slots: int
    training: Training
    kinds: Sequence[str] = ("",)
    pacing: float | None = None

    @abstractmethod
    def worlds(self, split: str, count: int, first_seed: int = 0) -> list[Any]:
        """Return the worlds of each kind: `count` of a split, with seeds from `first_seed` on."""

    @abstractmethod
    def add_delay(self, worlds: Any, max_added_ms: float, draws: np.random.Generator) -> None:
        """Add a delay between 0 and `max_added_ms` to half of the worlds of a kind."""

    @abstractmethod
    def started(self, rules: dict[str, Any], worlds: Any, which: NDArray[np.int64]) -> tuple[Batch, tuple[Any, ...]]:
        """Return a batch with a rule for each control, a call started in each world of these numbers, and states of the rules."""

    @abstractmethod
    def counted(self, batch: Any) -> NDArray[np.void]:
        """Return the calls or the senders of a batch, whose counters rewards read."""

    @abstractmethod
    def packets(self, batch: Any) -> int:
        """Return the packets of finished calls."""

    def rated(self, batch: Any) -> NDArray[np.float64] | None:
        """Return R of finished calls; None: it is not what they are ranked by."""
        return None

    @cached_property
    def training_worlds(self) -> list[Any]:
        """Training worlds of each kind."""
        each, lengths = -(-self.training.worlds // len(self.kinds)), np.random.default_rng(self.training.seed)
        kinds = self.worlds("train", each, self.training.seed * each)
        if self.training.max_added_ms:
            for worlds in kinds:
                self.add_delay(worlds, self.training.max_added_ms, lengths)
        return kinds

    def sampled(self, policy: Any, noise: Noise, exploration: int = 0, every: int = 1) -> Sampled:
        """Return a policy that explores and has a decision in at most one of `every` slots; another `exploration` has other draws."""
        return Sampled(policy, noise, -(-self.slots // every), exploration, self.reward)


class PathsTask(Task):
    """Calls over paths without an uplink.

    Args:
        scenarios: sources of the worlds, one per kind, with calls of one length.
        learned, rules, reward, training: see `Task`.
        location: arguments of `CallBatch` about the location of the path's controller, feedback, the budget of protection and frames.
    """

    def __init__(
        self, scenarios: Sequence[Scenario], learned: list[str], rules: dict[str, Any], reward: Any, training: Training,
        location: dict[str, Any],
    ) -> None:  # fmt: skip
        self.scenarios, self.learned, self.rules, self.reward, self.training = scenarios, learned, rules, reward, training
        self.slots, self.location = scenarios[0].packets, location
        self.kinds = [f"{scenario.name} {scenario.mode}" for scenario in scenarios]

    def worlds(self, split: str, count: int, first_seed: int = 0) -> list[TrainingCalls]:
        return [TrainingCalls.sample(scenario, split, count, first_seed) for scenario in self.scenarios]

    def add_delay(self, worlds: TrainingCalls, max_added_ms: float, draws: np.random.Generator) -> None:
        worlds.add_delay(max_added_ms, draws)

    def started(self, rules: dict[str, Any], worlds: TrainingCalls, which: NDArray[np.int64]) -> tuple[Batch, tuple[Any, ...]]:
        calls, threads = worlds.take(which), self.training.threads
        batch = CallBatch(worlds.scenario, len(which), **rules, **self.location, threads=threads, world=calls.world)
        states = bound(batch.path_state, batch.calls), bound(batch.playout_state, batch.calls)
        batch.path_state, batch.playout_state = states
        for row, draw in enumerate(calls.draws):
            batch.start(row, draw)
        return batch, states

    def counted(self, batch: CallBatch) -> NDArray[np.void]:
        return batch.calls

    def packets(self, batch: CallBatch) -> int:
        return batch.sessions * self.slots

    def rated(self, batch: CallBatch) -> NDArray[np.float64]:
        return ratings_of(batch.totals())


class BottleneckTask(Task):
    """Senders at a shared bottleneck.

    Args:
        scenario: source of the worlds.
        asked: settings of the worlds.
        learned, rules, reward, training: see `Task`.
    """

    def __init__(
        self, scenario: BottleneckRecipe, asked: BottleneckSettings, learned: list[str], rules: dict[str, Any], reward: Any,
        training: Training,
    ) -> None:  # fmt: skip
        self.scenario, self.asked, self.learned, self.rules, self.reward, self.training = scenario, asked, learned, rules, reward, training
        self.seconds = scenario.seconds if asked.seconds is None else asked.seconds
        self.slots, self.pacing = round(self.seconds * 1e6) // SLOT_US, asked.pacing

    def worlds(self, split: str, count: int, first_seed: int = 0) -> list[list[SharedLink]]:
        return [[self.asked.applied(self.scenario.draw(split, first_seed + n)) for n in range(count)]]

    def add_delay(self, worlds: list[SharedLink], max_added_ms: float, draws: np.random.Generator) -> None:
        raise ValueError(f"algorithm.max_added_ms is {max_added_ms:g}; allowed in environments over a bottleneck: 0")

    def started(self, rules: dict[str, Any], worlds: list[SharedLink], which: NDArray[np.int64]) -> tuple[Batch, tuple[Any, ...]]:
        batch = SendingBatch(
            len(which), rules["rate"], rules["order"], worlds_of(self.scenario, self.seconds), pacing=self.asked.pacing,
            threads=self.training.threads,
        )  # fmt: skip
        states = bound(batch.rate_state, batch.senders), bound(batch.order_state, batch.senders)
        batch.rate_state, batch.order_state = states
        for row, number in enumerate(which):
            batch.start(row, worlds[number])
        return batch, states

    def counted(self, batch: SendingBatch) -> NDArray[np.void]:
        return batch.senders

    def packets(self, batch: SendingBatch) -> int:
        return int(batch.senders["packets"].sum())


def task_of(config: EnvConfig, training: Training = _USUAL) -> Task:
    """Return the task of an environment with its kinds of worlds.

    Raises:
        ValueError: its agent sets what no policy learns inside the loop.
    """
    envs = make_envs(config, 1, "train")  # made only to ask which controls are the agent's
    env: Any = envs.unwrapped
    envs.close()
    over_bottleneck = isinstance(getattr(env, "batch", None), SendingBatch)
    controllers = env.controllers if over_bottleneck or (hasattr(env, "controllers") and not env.uplink.part) else {}
    learned = [control for control, one in controllers.items() if isinstance(one, FromAgent)]
    if not learned or not (over_bottleneck or set(learned) <= {Control.PATH, Control.PLAYOUT}):
        raise ValueError(
            f"algorithm is InsidePPO and the agent of {config.id} sets {' and '.join(learned) or 'other controls'}; allowed: environments "
            "over paths without an uplink, whose agent sets path or playout (the lag), and those over a bottleneck"
        )
    rules = {str(control): one for control, one in controllers.items() if control not in learned}
    named = [str(control) for control in learned]
    if over_bottleneck:
        return BottleneckTask(env.scenario, env.asked, named, rules, env.reward, training)
    at = {name: config.options[name] for name in _LOCATION} | {"budget": env.budget, "frame_ms": env.frame_ms}
    return PathsTask([batch.scenario for batch in env.batches], named, rules, env.reward, training, at)
