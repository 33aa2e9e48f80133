"""Pictures of README and docs/envs.md, environments and two calls in full: ``python -m lab.shipped.pictures`` draws them again."""

from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

from lab.shipped.board import kept_boards
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.systems import load_system
from vcgym.conference.env.central import ConferenceVectorEnv
from vcgym.envs import IDS
from vcgym.envs.environments.render import DOTS_PER_INCH, INCHES
from vcgym.leaderboard.evaluation.together import batches_together, play_together
from vcgym.leaderboard.report.board import Board
from vcgym.leaderboard.report.words.names import few
from vcgym.leaderboard.report.words.systems import in_words
from vcgym.network.kernels.slots import BLOCK_SLOTS, LOST
from vcgym.network.scenarios.scenario import Scenario

FOLDER = Path(__file__).parents[2] / "docs" / "pictures"
GREEDY = load_system("GRD+EWMA-tuned")


class Oldest:
    """First in, first out, as an agent of SendOrder."""

    reads, action = "features", "discrete"

    def predict(self, observation: np.ndarray, state: None = None) -> tuple[np.ndarray, None]:
        """Return the slot of the oldest packet for each session, and no state."""
        return np.zeros(len(observation), np.int64), state


RENDERED: dict[str, tuple[Any, dict[str, Any], int, int]] = {
    "Relay": (RulePolicy(GREEDY.path), {"interval": 10}, 100, 8),
    "Playout": (RulePolicy(GREEDY.playout), {"interval": 1}, 330, 3),
    "Call": (RulePolicy(GREEDY.path, GREEDY.playout), {"interval": 10}, 45, 5),
    "SendOrder": (Oldest(), {"interval": 1, "send_queue": 5, "overflow": Fifo()}, 700, 3),
}
"""Policy of each environment, its arguments, number of decisions before the picture, and seed of the world."""
BLOCKS = 8  # of 5.12 s
LEAST = -50.0  # %, the smallest score that is drawn
GREY, BLUE, RED = "#b8bec6", "#1f4ea1", "#c83c28"


def rendered(name: str, policy: Any, arguments: dict[str, Any], decisions: int, seed: int) -> None:
    """Draw an environment after some decisions of a policy."""
    envs: Any = gymnasium.make_vec(IDS[name], num_envs=1, observation=policy.reads, action=policy.action, **arguments)
    observation, _ = envs.reset(seed=seed)
    state: Any = None
    for _ in range(decisions):
        action, state = policy.predict(observation, state)
        observation, _, _, truncated, _ = envs.step(action)
        if truncated.any():
            break
    _save(lambda axes: envs.unwrapped.draw(axes, 0), name.lower())


def conference(decisions: int, seed: int) -> None:
    """Draw a conference of four parties whose sources add 2 kbit/s to every link at each decision."""
    envs = ConferenceVectorEnv(1, "random", 4)
    envs.reset(seed=seed)
    for _ in range(decisions):
        envs.step(np.full((1, 64), 0.05))
    _save(lambda axes: envs.draw(axes, 0), "conference")


def leads(board: Board) -> None:
    """Draw the anchored score of the best system of each family; random paths are off the axis."""
    assert board.axis is not None
    scores = board.axis.scores
    shown = [line for line in reversed(few(board)) if scores[line.system].value > LEAST]

    def drawn(axes: Any) -> None:
        for kind, label, color in (("agent", "learned", BLUE), ("tuned", "rule, tuned", RED), ("rule", "rule, as published", GREY)):
            found = [(at, scores[line.system]) for at, line in enumerate(shown) if line.kind == kind]
            at, middle = [at for at, _ in found], [score.value for _, score in found]
            ends = [[score.value - score.low for _, score in found], [score.high - score.value for _, score in found]]
            axes.errorbar(middle, at, xerr=ends, fmt="o", color=color, capsize=3, label=f"{label}, 95 % interval")
        axes.axvline(100.0, color="black", linestyle=":", label="hindsight, which knows the future")
        axes.set_yticks(range(len(shown)), [in_words(line.system) for line in shown])
        axes.set_xlabel(f"% of hindsight's gain over {in_words(board.published)}, {board.worlds} worlds")

    _save(drawn, "leads", "lower right")


def call(name: str, title: str, stratum: str, systems: dict[str, str], seed: int, seconds: tuple[float, float]) -> None:
    """Draw one call with each of two systems: the delays of all paths, of the packets, and of the heard audio."""
    scenario = Scenario("wonderproxy", "correlated", BLOCKS * BLOCK_SLOTS)
    draw = scenario.draw("validation", seed, stratum=stratum)
    batches = batches_together(scenario, [load_system(system).rules for system in systems], 1, log=True)
    play_together(batches, [draw])
    world, blocks = scenario.world(1), []
    world.start(0, draw)
    for _ in range(BLOCKS):
        blocks.append(world.delay_us[0, :, :BLOCK_SLOTS].copy())
        world.fill(np.zeros(1, np.int64))
    delay_ms = np.concatenate(blocks, axis=1) / 1000.0
    delay_ms[delay_ms == LOST / 1000.0] = np.nan
    shown = slice(*(int(100 * at) for at in seconds))
    at_s = np.arange(delay_ms.shape[1]) / 100.0

    def drawn(axes: Any) -> None:
        axes.plot(at_s[shown], delay_ms[:, shown].T, color=GREY, linewidth=0.5)
        axes.plot([], [], color=GREY, label="each path")
        for (system, behaviour), batch, color in zip(systems.items(), batches, (RED, BLUE), strict=True):
            played = batch.played()
            sent_us = np.arange(played.played_us.shape[1]) * played.packet_us
            heard = played.played_us[0] >= 0
            used_ms = _used(delay_ms, played.path[0])[shown]
            axes.plot(at_s[shown], used_ms, color=color, linewidth=1.0, alpha=0.6, label=f"{system}: {behaviour}")
            heard_ms = np.where(heard, (played.played_us[0] - sent_us) / 1000.0, np.nan)
            axes.plot(at_s[shown], heard_ms[shown], color=color, linewidth=1.8, label="... when it is heard")
            missing = np.flatnonzero(~heard[shown]) + shown.start
            axes.plot(at_s[missing], np.full(len(missing), 4.0 if color == RED else 12.0), "|", color=color, markersize=5)
        top = 1.6 * np.nanmax(_used(delay_ms, batches[0].played().path[0])[shown])
        axes.set(xlim=seconds, ylim=(0, top), xlabel="time in the call (s)", ylabel="delay (ms)", title=title)

    _save(drawn, name)


def _used(delay_ms: np.ndarray, path: np.ndarray) -> np.ndarray:
    return delay_ms[path[: delay_ms.shape[1]], np.arange(min(len(path), delay_ms.shape[1]))]


def _save(draw: Any, name: str, corner: Literal["upper right", "upper left", "lower right"] = "upper right") -> None:
    figure = Figure(figsize=INCHES, dpi=DOTS_PER_INCH, layout="constrained")
    axes = figure.add_subplot()
    draw(axes)
    axes.legend(loc=corner, fontsize="small")
    axes.grid(color="#e8eaed")
    FOLDER.mkdir(exist_ok=True)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    picture = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3])
    picture.quantize(128, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(FOLDER / f"{name}.png", optimize=True)


def main() -> None:
    """Draw all pictures."""
    leads(kept_boards()[0])
    for name, arguments in RENDERED.items():
        rendered(name, *arguments)
    conference(20, 3)
    call("relay_avoided", "A bad relay avoided", "best-link", {"BEST-WM": "stays", "GRD+EWMA-tuned": "leaves"}, 5, (16.0, 36.0))
    lags = {"DRT-FIX": "a lag of 60 ms", "DRT-EWMA-tuned": "a lag that follows"}
    call("burst_ridden_out", "A burst ridden out", "user-node", lags, 5, (16.0, 36.0))


if __name__ == "__main__":
    main()
