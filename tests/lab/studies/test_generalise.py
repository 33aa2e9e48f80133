"""A small run of the study of generalisation goes on where it was, and gives the table and the curve."""

import pytest

from lab.studies import generalise
from vcgym.agents.config.algorithms import PPOConfig


@pytest.mark.long  # three trainings
def test_a_small_run_is_made_once_and_tabled(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(generalise, "PICTURES", tmp_path)
    small = {"algorithm": PPOConfig(n_steps=32, batch_size=128), "num_envs": 4, "steps": 128, "packets": 300, "episodes": 3}
    config = generalise.GeneraliseConfig(
        kinds=["wonderproxy correlated", "table1 paper"], worlds=[2], seeds=[0], folder=tmp_path / "made", **small
    )
    with caplog.at_level("INFO"):
        generalise.main(config)
    rows = generalise.read(tmp_path / "made" / "rows.csv")
    names = [one.name for one in generalise.trainings(config)]
    assert names == ["2 worlds", "all kinds", "without wonderproxy correlated", "without table1 paper"]
    assert [row["kind"] for row in rows if row["training"] == "all kinds"] == config.kinds * 2
    assert len(generalise.values(rows, "2 worlds", "train", config.kinds[0])) == 1
    assert (tmp_path / "generalise.png").stat().st_size > 5000
    for name in names:
        assert f"| {name} | " in caplog.text
    monkeypatch.setattr(generalise, "train", lambda *_: pytest.fail("it trains again"))
    generalise.main(config)
    assert generalise.read(tmp_path / "made" / "rows.csv") == rows
