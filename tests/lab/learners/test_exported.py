"""A pair in ONNX decides like the compiled rules: the router exactly, the lag within a microsecond; torch is not loaded."""

import subprocess
import sys

import gymnasium
import numpy as np
import onnxruntime
import pytest

from lab.learners.exported.lag_graph import lag_graph
from lab.learners.exported.pair import export_pair
from lab.learners.exported.router_graph import router_graph
from lab.learners.pair import PAIRS, specialist
from vcgym.agents.controllers.learned_router import ABOVE, BELOW
from vcgym.baselines.policy import RulePolicy
from vcgym.baselines.records import MEDIA, PROBE, Record, read_record
from vcgym.baselines.rule import allocate, decide, start, update
from vcgym.baselines.systems import load_system
from vcgym.network.kernels.slots import SLOT_US

PATHS = 3
DTYPES = {"tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(bool)": np.bool_}
OTHER_LAG_US = 1  # tolerance: the network sums in another order


class Deciding:
    """A graph with its state, which begins as zeros and is forgotten by `begins`."""

    def __init__(self, content, paths=PATHS):
        self.session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
        self.state = {
            one.name: np.zeros([paths if isinstance(length, str) else length for length in one.shape], DTYPES[one.type])
            for one in self.session.get_inputs()
        }

    def __call__(self, **given):
        names = [one.name for one in self.session.get_outputs()]
        inputs = self.state | {name: np.asarray(value, self.state[name].dtype) for name, value in given.items()}
        found = dict(zip(names, self.session.run(names, inputs), strict=True))
        self.state |= {name.removeprefix("next."): value for name, value in found.items() if name.startswith("next.")}
        return int(found[names[0]])


def started(params, history):
    state = allocate(params, 1, len(history))
    start(params, state, np.ones(1, np.bool_), history[None], np.zeros(1, np.uint64))
    return state


def history_of(seed, paths=PATHS):
    draws = np.random.default_rng(seed)
    history = np.stack([draws.integers(2, 1024, paths), draws.uniform(80.0, 160.0, paths), draws.uniform(1.0, 20.0, paths)], axis=1)
    history[draws.random(paths) < 0.3] = 0.0  # nothing is known of these
    return history


def records(packets, seed):
    """Media and probes in order of arrival: paths that change and become slow, losses, bursts, overtaken packets, a silence."""
    draws = np.random.default_rng(seed)
    path = np.repeat(draws.integers(0, PATHS, packets // 60), 60)
    delay_us = np.array([150_000, 100_000, 220_000])[path] + draws.gamma(1.0, 5000.0, packets).astype(np.int64)
    delay_us += 150_000 * np.repeat(draws.integers(0, 3, packets // 120), 120) * (path == 1)
    delay_us[draws.random(packets) < 0.02] += 80_000
    sent_us = 10_000 * np.arange(packets)
    sent_us[packets // 2 :] += 2_500_000
    order = np.argsort(sent_us + delay_us, kind="stable")
    for n in order[draws.random(packets) > 0.03].tolist():
        arrived_us = int(sent_us[n] + delay_us[n])
        kind = PROBE if draws.random() < 0.1 else MEDIA
        yield Record(kind, int(sent_us[n]) // 10_000, int(path[n]), int(sent_us[n]), arrived_us, arrived_us + 50_000, 40_000, 0)


def pair(name):
    return load_system(name) if name == "learned" else specialist(name)


@pytest.mark.parametrize("name", ["correlated", pytest.param("learned", marks=pytest.mark.long)])
@pytest.mark.parametrize("restless", [False, True])
def test_the_router_decides_as_the_compiled_rule_in_whole_calls(name, restless):
    params, changes = pair(name).path, 0
    if restless:
        params.prices[..., [BELOW.margin_ms, ABOVE.margin_ms]] = -5.0
    calls = gymnasium.make_vec(
        "vcgym/Relay-v1",
        num_envs=2,
        scenario="wonderproxy",
        mode="correlated",
        packets=2000,
        interval=10,
        observation="records",
        action="exact",
    )
    shown, _ = calls.reset(seed=5)
    policy, graphs, done = RulePolicy(params), [Deciding(router_graph(params), shown["history"].shape[1]) for _ in range(2)], False
    state, before = None, None
    while not done:
        paths, state = policy.predict(shown, state)
        for s, graph in enumerate(graphs):
            history = shown["history"][s]
            for n in range(shown["count"][s]):
                graph(begins=before is None and n == 0, history=history, learns=True, record=read_record(shown["records"][s], n))
            begins = before is None and shown["count"][s] == 0
            assert graph(begins=begins, history=history, decides=True, now_us=shown["slot"][s] * SLOT_US) == paths[s]
        changes += before is not None and int((paths != before).sum())
        before = paths
        shown, _, _, truncated, _ = calls.step(paths)
        done = truncated.any()
    calls.close()
    for s, graph in enumerate(graphs):
        for part, rows in (("call", state[0].call[s]), ("arm", state[0].arms[s])):
            for field in rows.dtype.names:
                assert np.allclose(graph.state[f"{part}.{field}"], rows[field], rtol=1e-12, atol=0.0), field
    assert changes >= (20 if restless else 2)


@pytest.mark.parametrize("name", ["all-worlds", pytest.param("learned", marks=pytest.mark.long)])
def test_the_lag_decides_as_the_compiled_rule_in_every_call(name):
    params = pair(name).playout
    graph, different, arrivals = Deciding(lag_graph(params)), 0, 0
    for seed in range(2):
        history, begins = history_of(seed), True
        state = started(params, history)
        for record in records(1200, seed):
            update(params, state, 0, record)
            lag_us = decide(params, state, 0, record.arrived_us)
            off_us = abs(graph(begins=begins, history=history, record=record) - lag_us)
            begins = False
            assert off_us <= OTHER_LAG_US
            different, arrivals = different + (off_us > 0), arrivals + 1
    assert different < 0.01 * arrivals


def test_one_router_serves_any_number_of_paths():
    params, history = specialist("all-worlds").path, history_of(3, 40)
    graph, state = Deciding(router_graph(params), 40), started(params, history)
    for begins, record in zip([True] + 49 * [False], records(120, 5), strict=False):
        update(params, state, 0, record)
        graph(begins=begins, history=history, learns=True, record=record)
        assert graph(history=history, decides=True, now_us=record.known_us) == decide(params, state, 0, record.known_us)


def test_what_is_not_asked_for_changes_nothing():
    params, history = specialist("all-worlds").path, history_of(0)
    graph = Deciding(router_graph(params))
    graph(begins=True, history=history)
    before = graph.state
    graph(history=history, record=Record(MEDIA, 0, 1, 0, 90_000, 140_000, 0, 0), now_us=10_000)
    assert all(np.array_equal(before[name], value) for name, value in graph.state.items())


def test_files_are_written_without_torch(tmp_path):
    (home,) = (PAIRS / "all-worlds").glob("seed-*")
    code = (
        "import sys; from pathlib import Path\n"
        "from lab.learners.exported.pair import export_pair\nfrom vcgym.baselines.systems import learned_system\n"
        f"export_pair(learned_system(Path({str(home)!r}), 'learned'), Path({str(tmp_path)!r}))\n"
        "assert not {'torch', 'onnx', 'mlflow'} & sys.modules.keys()"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    again = tmp_path / "again"
    again.mkdir()
    files = export_pair(specialist("all-worlds"), again)
    assert [file.name for file in files] == ["path.onnx", "playout.onnx"]
    assert all(file.read_bytes() == (tmp_path / file.name).read_bytes() and file.stat().st_size < 60_000 for file in files)
