"""An evolution strategy searches the constants of a rule of playout, each within the range of its annotation.

The rules of a generation have one class and so compile once; they play training worlds, as `vcgym score` does. Each is drawn around a mean,
which moves to that of the best quarter, with steps that shrink. At the end the best one plays validation worlds next to the tuned rule.
"""

from typing import Annotated, NamedTuple

import numpy as np

from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, record, rule
from vcgym.leaderboard.scoring.suites import score_rules
from vcgym.network.kernels.slots import microseconds


@record
class Call:
    window: JitterWindow = JitterWindow()
    fast_ms: float = 0.0
    slow_ms: float = 0.0
    deviation_ms: float = 0.0
    peak_ms: float = 0.0


@rule(Control.PLAYOUT, call=Call)
class Weighted(NamedTuple):
    """A lag that is a weighted sum: of averages of the jitter of 2 s, of its deviation, and of its decaying peak."""

    base_ms: Annotated[float, (0.0, 40.0)] = 10.0
    fast: Annotated[float, (0.0, 2.0)] = 0.5
    slow: Annotated[float, (0.0, 2.0)] = 0.5
    deviation: Annotated[float, (0.0, 8.0)] = 4.0
    peak: Annotated[float, (0.0, 1.0)] = 0.1
    fast_log2: Annotated[float, (0.0, 8.0)] = 4.0  # of packets
    slow_log2: Annotated[float, (6.0, 12.0)] = 9.0
    peak_log2: Annotated[float, (4.0, 12.0)] = 8.0

    def update(self, call, record):
        if record.kind == MEDIA:
            jitter_ms = max(0, accumulated_jitter(call.window, record.sent_us, record.arrived_us)) / 1000.0  # the first packet has none
            call.fast_ms += (jitter_ms - call.fast_ms) * 2.0**-self.fast_log2
            call.slow_ms += (jitter_ms - call.slow_ms) * 2.0**-self.slow_log2
            call.deviation_ms += (abs(jitter_ms - call.slow_ms) - call.deviation_ms) * 2.0**-self.slow_log2
            call.peak_ms = max(jitter_ms, call.peak_ms * (1.0 - 2.0**-self.peak_log2))

    def decide(self, call, now_us):
        mean_ms = self.fast * call.fast_ms + self.slow * call.slow_ms
        return microseconds(self.base_ms + mean_ms + self.deviation * call.deviation_ms + self.peak * call.peak_ms)


def main(generations: int = 25, children: int = 16, seed: int = 0, share: int = 1) -> Weighted:
    """Search, print the best score after each generation, and return the best rule; `share` is for tests, see `score_rules`."""
    draws = np.random.default_rng(seed)
    low, high = np.array([kind.__metadata__[0] for kind in Weighted.__annotations__.values()]).T
    mean, step = (np.array(Weighted()) - low) / (high - low), 0.2
    best, best_score = Weighted(), -np.inf
    for generation in range(generations):
        points = np.clip(mean + step * draws.standard_normal((children, len(mean))), 0.0, 1.0)
        points[0] = mean
        rules = [Weighted(*map(float, low + point * (high - low))) for point in points]
        scores = np.array([found.value for found, _ in score_rules(rules, share=share)])
        first = int(scores.argmax())
        if scores[first] > best_score:
            best, best_score = rules[first], scores[first]
        mean, step = points[np.argsort(-scores)[: children // 4]].mean(axis=0), 0.93 * step
        print(f"{(generation + 1) * children} rules scored, best {best_score:+.3f} R", flush=True)
    print(best)
    validated, _ = score_rules([best], "validation", share)[0]
    print("on validation worlds {:+.3f} [{:+.3f}, {:+.3f}] R to the tuned rule".format(*validated))
    return best


if __name__ == "__main__":
    main()
