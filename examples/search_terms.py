"""Genetic programming searches the terms of a rule of playout: its lag is an expression of five features of arrivals.

An expression is a tree: the name of a feature, a number, or an operator with two trees. A rule plays it as instructions, which are data, so
nothing compiles anew. Children come by mutation and crossover. The best one is written as a file for `vcgym score rule=found_terms.py`.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vcgym.baselines.playout.jitter_window import JitterWindow, accumulated_jitter
from vcgym.baselines.records import MEDIA
from vcgym.baselines.rule import Control, record, rule
from vcgym.leaderboard.scoring.suites import score_rules
from vcgym.network.kernels.slots import microseconds

FEATURES = "jitter", "fast", "slow", "deviation", "peak"  # in ms, averages over 16 and 512 packets
OPERATORS = {"+": "({} + {})", "-": "({} - {})", "*": "({} * {})", "max": "max({}, {})", "min": "min({}, {})"}
NUMBER, NOTHING, LONGEST = len(FEATURES), len(FEATURES) + 1 + len(OPERATORS), 15


@record
class Call:
    window: JitterWindow = JitterWindow()
    seen: NDArray[np.float64] = np.zeros(5)
    stack: NDArray[np.float64] = np.zeros(16)


@rule(Control.PLAYOUT, call=Call)
class Terms(NamedTuple):
    """A lag that is an expression of five features of arrivals."""

    code: NDArray[np.int64]
    numbers: NDArray[np.float64]

    def update(self, call, record):
        if record.kind == MEDIA:
            _, fast, slow, deviation, peak = call.seen
            jitter = max(0, accumulated_jitter(call.window, record.sent_us, record.arrived_us)) / 1000.0  # the first packet has none
            call.seen[0], call.seen[4] = jitter, max(jitter, peak * (1.0 - 1.0 / 256.0))
            call.seen[1], call.seen[2] = fast + (jitter - fast) / 16.0, slow + (jitter - slow) / 512.0
            call.seen[3] = deviation + (abs(jitter - slow) - deviation) / 512.0

    def decide(self, call, now_us):
        top = 0
        for i in range(self.code.size):
            op = self.code[i]
            if op <= 5:
                call.stack[top] = self.numbers[i] if op == 5 else call.seen[op]
                top += 1
            elif op < 11:
                top -= 1
                a, b = call.stack[top - 1], call.stack[top]
                call.stack[top - 1] = a + b if op == 6 else a - b if op == 7 else a * b if op == 8 else max(a, b) if op == 9 else min(a, b)
        return microseconds(min(max(call.stack[0], 0.0), 1000.0))


def made(tree: Any) -> Terms:
    """Return the rule of a tree."""
    code, numbers = np.full(LONGEST, NOTHING), np.zeros(LONGEST)
    for i, node in enumerate(_postfix(tree)):
        code[i], numbers[i] = (NUMBER, node) if isinstance(node, float) else ([*FEATURES, None, *OPERATORS].index(node), 0.0)
    return Terms(code, numbers)


def _postfix(tree: Any) -> list[Any]:
    return [*_postfix(tree[1]), *_postfix(tree[2]), tree[0]] if isinstance(tree, tuple) else [tree]


def text(tree: Any) -> str:
    """Return a tree as an expression of Python."""
    return OPERATORS[tree[0]].format(*map(text, tree[1:])) if isinstance(tree, tuple) else str(tree)


def grown(draws: np.random.Generator, depth: int) -> Any:
    """Return a random tree."""
    if depth and draws.random() < 0.8:
        return str(draws.choice([*OPERATORS])), grown(draws, depth - 1), grown(draws, depth - 1)
    return str(draws.choice(FEATURES)) if draws.random() < 0.6 else round(10.0 ** draws.uniform(-1.0, 1.5), 2)


def changed(draws: np.random.Generator, tree: Any, graft: Any) -> Any:
    """Return a tree in which one place has a graft, or another number if it is one."""
    if not isinstance(tree, tuple) or draws.random() < 0.25:
        return float(round(tree * np.exp(0.4 * draws.normal()), 2)) if isinstance(tree, float) and draws.random() < 0.7 else graft
    one, left, right = tree
    return (one, changed(draws, left, graft), right) if draws.random() < 0.5 else (one, left, changed(draws, right, graft))


def file_of(tree: Any) -> str:
    """Return a rule file with the expression of a tree."""
    own = Path(__file__).read_text(encoding="utf-8")
    rest = own[own.index("from typing") : own.index("    def decide")]
    kept = re.sub(r"^(?:FEATURES|OPERATORS|NUMBER|from vcgym.leaderboard|    code|    numbers).*\n", "", rest, flags=re.MULTILINE)
    names, value = ", ".join(FEATURES), f"microseconds(min(max({text(tree)}, 0.0), 1000.0))"
    return f"{kept}    def decide(self, call, now_us):\n        {names} = call.seen\n        return {value}\n"


def main(generations: int = 25, children: int = 16, seed: int = 0, share: int = 1) -> Any:
    """Search, print the best score after each generation, write found_terms.py, and return the best tree; for `share` see `score_rules`."""
    draws, scored, trees = np.random.default_rng(seed), dict[Any, float](), list[Any]([("+", "slow", ("*", 4.0, "deviation"))])
    for _ in range(generations):
        parents = sorted(scored, key=lambda tree: -scored[tree])[:children] or trees[:]
        while len(trees) < children:
            one, other = (parents[draws.integers(len(parents), size=3).min()] for _ in range(2))  # each the best of three
            child = changed(draws, one, changed(draws, other, grown(draws, 1)) if draws.random() < 0.3 else grown(draws, 2))
            trees += [child] if len(_postfix(child)) <= LONGEST and child not in scored and child not in trees else []
        scored |= {tree: one.value for tree, (one, _) in zip(trees, score_rules([*map(made, trees)], share=share), strict=True)}
        best, trees = max(scored, key=lambda tree: scored[tree]), []
        print(f"{len(scored)} rules scored, best {scored[best]:+.3f} R: {text(best)}", flush=True)
    Path("found_terms.py").write_text(file_of(best), encoding="utf-8")
    print("on validation worlds %+.3f [%+.3f, %+.3f] R to the tuned rule" % score_rules([made(best)], "validation", share)[0][0])  # noqa: UP031
    return best


if __name__ == "__main__":
    main()
