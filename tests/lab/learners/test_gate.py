"""A small fit of a gate of rates: its weights are those of least squares, and the same command writes the same bytes."""

from types import SimpleNamespace

import numpy as np
import pytest

from lab.learners.gate import GateConfig, GateWorlds, Seconds, driven_by, fit, main, softmax_weights
from vcgym.agents.controllers.learned_aim import WIDTH, LearnedAim
from vcgym.agents.controllers.learned_gate import NADA, RULES, LearnedGate, Reported
from vcgym.agents.controllers.learned_gate import WIDTH as WIDTH_OF_GATE
from vcgym.baselines.configured import rule_from
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.zoo import LEARNED, read_learned, save_learned
from vcgym.network.kernels.record import records

pytestmark = pytest.mark.long  # compiles the loop of a gate


@pytest.fixture
def config(tmp_path):
    draws, aim = np.random.default_rng(0), tmp_path / "aim"
    shapes = (WIDTH + 1, 4), (5, 4), (5,)
    rate = LearnedAim(*(draws.normal(0.0, 0.3, shape).astype(np.float32) for shape in shapes))
    aim.mkdir()
    save_learned(aim, LEARNED, {"rate": rate, "order": Fifo()}, {"budget": {"packets": 0}}, "random weights", "a test")
    kinds = ["rate cellular", "rate cubic"]
    return GateConfig(aim=[aim], worlds=4, rounds=1, validation_worlds=2, kinds=kinds, folder=tmp_path / "one")


def test_a_fit_writes_a_gate_and_the_same_again(config, tmp_path):
    main(config)
    main(config.model_copy(update={"folder": tmp_path / "two"}))
    one, two = (tmp_path / folder / "seed-0" for folder in ("one", "two"))
    assert (one / "learned.safetensors").read_bytes() == (two / "learned.safetensors").read_bytes()
    found = read_learned(one, LEARNED)
    gate = rule_from(found.rules["rate"], "rate")
    assert isinstance(gate, LearnedGate) and np.abs(gate.weights).max() > 0.1
    assert found.file.study["validation"].keys() == {"rate cellular", "rate cubic"}


def test_a_rule_that_is_best_everywhere_is_predicted_to_be(config):
    worlds = GateWorlds(config, 0)
    scores = {"cellular": [0.1, 0.4, 0.0], "cubic": [0.2, 0.3, 0.25]}  # of each rule, in each world
    of_kind = {f"rate {kind}": values for kind, values in scores.items()}
    play = worlds.play

    def played(weights, kind, split, seeds):
        driver = int(np.argmax(weights[:, -1]))
        return np.full(len(seeds), of_kind[kind][driver]), play(weights, kind, split, seeds)[1]

    worlds.play = played
    weights = fit(worlds, range(4), 1, lambda number, kind: None)
    _, state = play(driven_by(NADA), "rate cellular", "train", range(4))
    x = np.hstack([state.notes[0, :20], np.ones((20, 1))])
    assert weights.shape == (RULES, WIDTH_OF_GATE + 1) and ((x @ weights.T).argmax(axis=1) == NADA).all()


def test_weights_split_seconds_by_what_tells_their_best_rules_apart():
    x = np.hstack([np.eye(2, 3, dtype=np.float32).repeat(5, axis=0), np.ones((10, 1), np.float32)])
    behind = np.repeat([[0.0, -0.2, -0.4], [-0.3, -0.1, 0.0]], 5, axis=0)
    found = softmax_weights(x, behind, np.full(10, 0.1))
    assert (x @ found.T).argmax(axis=1).tolist() == [0] * 5 + [2] * 5


def test_each_scenario_has_the_same_weight(config):
    worlds = GateWorlds(config.model_copy(update={"kinds": None}), 0)
    seconds = Seconds(worlds)
    for kind in worlds.kinds:
        reported = records(Reported, 2)
        reported["stretch"]["decisions"] = 3, 9
        state = SimpleNamespace(gate=SimpleNamespace(reported=reported), notes=np.zeros((2, 9, WIDTH_OF_GATE), np.float32))
        seconds.add(kind, state, np.zeros((RULES, 2)))
    of_kind = [sum(part.sum() for _, _, part in seconds.parts[2 * n : 2 * n + 2]) for n in range(len(worlds.kinds))]
    for name in ("rate", "calls", "rmcat"):
        assert sum(one for one, kind in zip(of_kind, worlds.kinds, strict=True) if kind.split()[0] == name) == pytest.approx(1.0)
