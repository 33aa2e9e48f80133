"""Regret of an agent on each kind of worlds, to the best tuned rule of that kind: `vcgym evaluate` of agents over paths.

The regret on a kind is the rule's mean R less the agent's, over the same worlds. The rule is that of the board with these worlds, chosen on
validation worlds (`vcgym.leaderboard.evaluation.bars`). An agent that also sets the protection is compared with the rule COPY-HELD within
its budget; its cost is what protection added to the bytes.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.config.training import EvaluateConfig
from vcgym.agents.evaluation.environments import make_envs
from vcgym.agents.evaluation.play import Policy, play
from vcgym.baselines.controls.control import Control
from vcgym.baselines.systems import load_system
from vcgym.envs.environments.vector.paths import PathsVectorEnv
from vcgym.leaderboard.evaluation.bars import bar_of, of_any_kind
from vcgym.leaderboard.evaluation.kinds.paths import play_rules
from vcgym.leaderboard.evaluation.kinds.protected import bytes_beyond
from vcgym.leaderboard.evaluation.suites import SUITES
from vcgym.leaderboard.results.call_metrics import rows
from vcgym.leaderboard.statistics.resampling import interval

PROTECTED = "COPY-HELD"


class OfKind(NamedTuple):
    """Results on one kind of worlds; arrays (worlds,) float64, costs None where the agent does not set the protection."""

    kind: str
    reference: str
    r: NDArray[np.float64]
    rule_r: NDArray[np.float64]
    cost: NDArray[np.float64] | None
    rule_cost: NDArray[np.float64] | None

    @property
    def line(self) -> str:
        """Return the line of this kind in the report."""
        found = interval([self.r - self.rule_r])
        said = f"{self.kind}: R {self.r.mean():.2f}, {found.value:+.2f} [{found.low:+.2f}, {found.high:+.2f}] to {self.reference}"
        if self.cost is None or self.rule_cost is None:
            return said
        return f"{said}, with {100 * self.cost.mean():.1f} % more bytes, and {100 * self.rule_cost.mean():.1f} %"


def reference_of(kind: str) -> str:
    """Return the best tuned rule of a kind, SCENARIO MODE: that of the board with fewest others, else the rule for any kind."""
    scenario, _, mode = kind.partition(" ")
    found = []
    for suite in SUITES.values():
        scenarios = {part.scenario for part in suite.parts if part.mode == mode and part.stratum not in ("natural", "one-second-bursts")}
        if scenario in scenarios and (bar := bar_of(f"{suite.name}-{suite.version}", mode)):
            found.append((len(scenarios), bar))
    return min(found, key=lambda one: one[0], default=(0, of_any_kind()))[1]


def compared(policy: Policy, config: EvaluateConfig, env: EnvConfig) -> Iterator[OfKind]:
    """Yield the results of an agent on each kind of worlds of an environment; none where calls have no paths, or an uplink."""
    envs: Any = make_envs(env, 1, config.split).unwrapped
    envs.close()
    if not isinstance(envs, PathsVectorEnv) or envs.uplink.part:
        return
    sets_protection = Control.PROTECTION in envs.controls
    for batch, kind in zip(envs.batches, envs.kinds, strict=True):
        options = env.options | ({"scenario": [kind]} if len(envs.kinds) > 1 else {})
        mode = AutoresetMode.NEXT_STEP  # a call that is done is there until the next step
        of_kind: Any = gymnasium.make_vec(env.id, num_envs=config.episodes, split=config.split, autoreset_mode=mode, **options)
        infos: dict[str, NDArray[np.float64]] = {}

        def note(done: NDArray[np.int64], native: Any = of_kind.unwrapped, infos: Any = infos) -> None:
            for name, values in native._outcomes().items():
                infos.setdefault(name, np.array(values))[done] = values[done]

        observation, begun = of_kind.reset(seed=config.seed)
        play(policy, of_kind, observation, note)
        of_kind.close()
        name = PROTECTED if sets_protection else reference_of(kind)
        draws = [batch.scenario.draw(config.split, int(seed)) for seed in begun["seed"]]
        budget: dict[str, Any] = {"budget": envs.budget} if sets_protection else {}
        (finished,) = play_rules([load_system(name)], batch.scenario, draws, **budget)
        rule_r = np.array([row["r"] for row in rows(finished.calls)])
        rule_cost = bytes_beyond(finished.calls)[0] if sets_protection else None
        yield OfKind(kind, name, infos["rating"], rule_r, infos["protection_share"] if sets_protection else None, rule_cost)


def summary(results: Sequence[OfKind]) -> str:
    """Return the line with mean and worst regret over several kinds."""
    found = interval([one.rule_r - one.r for one in results])
    worst = max(results, key=lambda one: float(np.mean(one.rule_r - one.r)))
    mean = f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
    return f"regret to the best tuned rule of each kind: mean {mean}, worst {np.mean(worst.rule_r - worst.r):.2f} ({worst.kind})"
