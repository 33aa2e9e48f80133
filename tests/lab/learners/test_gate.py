"""A small fit of a gate of rates: its weights are those of least squares, and the same command writes the same bytes."""

import numpy as np
import pytest

from lab.learners.gate import GateConfig, GateWorlds, driven_by, fit, main
from vcgym.agents.controllers.learned_aim import WIDTH, LearnedAim
from vcgym.agents.controllers.learned_gate import NADA, RULES, LearnedGate
from vcgym.baselines.configured import rule_from
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.zoo import LEARNED, read_learned, save_learned

pytestmark = pytest.mark.long  # compiles the loop of a gate


@pytest.fixture
def config(tmp_path):
    draws, aim = np.random.default_rng(0), tmp_path / "aim"
    shapes = (WIDTH + 1, 4), (5, 4), (5,)
    rate = LearnedAim(*(draws.normal(0.0, 0.3, shape).astype(np.float32) for shape in shapes))
    aim.mkdir()
    save_learned(aim, LEARNED, {"rate": rate, "order": Fifo()}, {"budget": {"packets": 0}}, "random weights", "a test")
    kinds = ["rate cellular", "rate cubic"]
    return GateConfig(aim=[aim], worlds=4, validation_worlds=2, margins=[0.05], kinds=kinds, folder=tmp_path / "one")


def test_a_fit_writes_a_gate_and_the_same_again(config, tmp_path):
    main(config)
    main(config.model_copy(update={"folder": tmp_path / "two"}))
    one, two = (tmp_path / folder / "seed-0" for folder in ("one", "two"))
    assert (one / "learned.safetensors").read_bytes() == (two / "learned.safetensors").read_bytes()
    found = read_learned(one, LEARNED)
    gate = rule_from(found.rules["rate"], "rate")
    assert isinstance(gate, LearnedGate) and gate.margin == found.file.study["margin"] == 0.05
    assert found.file.study["validation"].keys() == {"rate cellular", "rate cubic"}


def test_a_rule_that_is_best_everywhere_is_predicted_to_be(config):
    worlds = GateWorlds(config, 0)
    scores = {"cellular": [0.1, 0.4, 0.0], "cubic": [0.2, 0.3, 0.25]}  # of each rule, in each world
    of_kind = {f"rate {kind}": values for kind, values in scores.items()}
    play = worlds.play

    def played(rate, kind, split, seeds):
        driver = int(np.argmax(rate.weights[:, -1]))
        return np.full(len(seeds), of_kind[kind][driver]), play(rate, kind, split, seeds)[1]

    worlds.play = played
    weights = fit(worlds, range(4), lambda number, kind: None)
    _, state = play(worlds.gate(driven_by(NADA)), "rate cellular", "train", range(4))
    x = np.hstack([state.notes[0, :20], np.ones((20, 1))])
    predicted = x @ weights.T
    assert predicted.shape == (20, RULES) and (predicted.argmax(axis=1) == NADA).all()
    assert np.abs(predicted.mean(axis=0) - [-0.3, 0.0, -0.4]).max() < 0.15  # less the best rule's
