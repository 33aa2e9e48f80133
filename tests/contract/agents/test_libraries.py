"""Python blocks of README and docs run, and every algorithm trains on exactly the environments that the table of docs/train.md allows."""

import re
from pathlib import Path

import pytest
import sb3_contrib
import stable_baselines3

from vcgym.agents.sb3 import make_vec_env
from vcgym.leaderboard.evaluation.suites import SUITES, Part, Suite

HOME = Path(__file__).parents[3]
TRAIN = "docs/train.md"
BLOCK = re.compile(r"^```python\n(.+?)^```", re.MULTILINE | re.DOTALL)
PAGES = {
    page: (HOME / page).read_text(encoding="utf-8") for page in ("README.md", "docs/envs.md", "docs/worlds.md", "docs/rules.md", TRAIN)
}
COMPILES_MUCH = ("docs/envs.md", "docs/rules.md", "docs/train.md")  # loops that no other quick test needs
TABLE = re.search(r"^\| algorithm \|(?:.+\n)+", PAGES[TRAIN], re.MULTILINE)[0]
TINY = Suite("tiny", "v0", 200, (Part("table1", "correlated", 1),))
SMALLER = {"100_000": "8", "2_000": "8", "1024": "4", "64": "2", "(100)": "(4)"}
LENGTHS = {"Rate": {"seconds": 1.5, "interval": 1}, "Send": {"seconds": 1.5, "interval": 1}, "SendOrder": {"seconds": 1.5, "interval": 1}}
ON_POLICY, OFF_POLICY = {"n_steps": 4, "batch_size": 8}, {"learning_starts": 4, "batch_size": 4, "buffer_size": 100}
SMALL = {
    **dict.fromkeys(("PPO", "RecurrentPPO", "TRPO", "MaskablePPO"), ON_POLICY),
    **dict.fromkeys(("DQN", "QRDQN", "SAC", "TD3", "DDPG", "TQC", "CrossQ"), OFF_POLICY),
    "A2C": {"n_steps": 4},
    "ARS": {"n_delta": 1},
}


pytestmark = pytest.mark.usefixtures("one_thread")


def table():
    """Yield algorithm, environment, form of the action, and True if the table admits them."""
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in TABLE.splitlines())
    for names, *cells in rows:
        for column, cell in zip(head[1:], cells, strict=True):
            for envs, forms in (part.split(": ") for part in column.split("; ")):
                yield from ((a, e, f, cell == "yes") for a in names.split(", ") for e in envs.split(", ") for f in forms.split(", "))


def made(algorithm, env, form):
    kind = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    policy = "MlpLstmPolicy" if algorithm == "RecurrentPPO" else "LinearPolicy" if algorithm == "ARS" else "MlpPolicy"
    layers = {} if algorithm == "ARS" else {"net_arch": [4]} | ({"lstm_hidden_size": 4} if algorithm == "RecurrentPPO" else {})
    calls = make_vec_env(f"vcgym/{env}-v1", n_envs=2, env_kwargs={"action": form, **LENGTHS.get(env, {"packets": 300})})
    return kind(policy, calls, seed=0, device="cpu", policy_kwargs=layers, **SMALL[algorithm])


def test_the_table_names_every_algorithm():
    known = {name for library in (stable_baselines3, sb3_contrib) for name in library.__all__ if name.isupper() or name[0].isupper()}
    assert {algorithm for algorithm, *_ in table()} == known - {"HerReplayBuffer"}


@pytest.mark.parametrize(("algorithm", "env", "form", "admitted"), list(table()))
def test_an_algorithm_trains_where_the_table_admits_it(algorithm, env, form, admitted):
    if admitted:
        assert made(algorithm, env, form).learn(16).num_timesteps >= 16
        return
    with pytest.raises((AssertionError, ValueError), match=r"only supports|does not support action masking"):
        made(algorithm, env, form).learn(16)


@pytest.mark.parametrize("page", [pytest.param(page, marks=[pytest.mark.long] * (page in COMPILES_MUCH)) for page in PAGES])
def test_every_block_of_a_page_runs_after_the_others(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(SUITES, "default", TINY)
    blocks, run = BLOCK.findall(PAGES[page]), {}
    assert blocks
    for block in blocks:
        exec(re.sub("|".join(map(re.escape, SMALLER)), lambda found: SMALLER[found[0]], block), run)
    if page == TRAIN:
        out = capsys.readouterr().out
        assert "correlated Estimate(value=" in out
        assert re.search(r"^correlation of values -?[01]\.\d+\ncorrelation of advantages -?[01]\.\d+$", out, re.MULTILINE)
