"""The commands of the laboratory: every YAML composes and builds, and what is wrong ends with one line."""

import sys
from pathlib import Path

import pytest
from hydra import compose, initialize_config_module

from lab.commands import LAB
from lab.learners.pair_config import PairConfig
from vcgym.scripts.console import command

CONF = Path(__file__).parents[3] / "lab" / "conf"


@pytest.fixture(autouse=True)
def without_measured_series(monkeypatch):
    monkeypatch.delenv("VCGYM_DATA", raising=False)


def built(name, *overrides):
    with initialize_config_module("lab.conf", version_base="1.3"):
        return command.build(compose(command.register(LAB, name), list(overrides)), LAB.kind(name))


def end_of(monkeypatch, *words):
    """Run a command in this process; return what it ends with."""
    monkeypatch.setattr(sys, "argv", ["lab", *words])
    with pytest.raises(SystemExit) as ended:
        LAB.main()
    return ended.value.code


def test_every_yaml_is_of_a_command():
    assert {path.stem for path in CONF.glob("*.yaml")} <= {LAB.yaml(name) for name in LAB.commands}


@pytest.mark.parametrize("name", LAB.commands)
def test_every_config_builds_and_means_what_python_means(name):
    assert built(name) == LAB.kind(name)()


@pytest.mark.parametrize("name", LAB.commands)
@pytest.mark.parametrize("override", ["+unheard_of=1", "learnrate=1", "threads=many", "[["])
def test_a_bad_argument_ends_every_command_with_one_line(tmp_path, monkeypatch, name, override):
    monkeypatch.chdir(tmp_path)
    line = end_of(monkeypatch, name, override)
    assert line.startswith(f"{LAB.title(name)}: ") and "\n" not in line


@pytest.mark.parametrize("content", [None, b"", b"PAR1 and no more"], ids=["absent", "empty", "no Parquet"])
@pytest.mark.parametrize(
    ("name", "file", "override"),
    [
        ("headroom", "results.parquet", "results=."),
        ("make-set", "wonderproxy/ten_places.csv", "set=wonderproxy_ten_places source=. output=new"),
        ("make-set", "shaper/bent_pipe_victoria_1_latency.csv", "set=leo_ping_10ms source=. output=new"),
    ],
)
def test_a_bad_file_ends_a_command_with_one_line_that_names_it(tmp_path, monkeypatch, name, file, override, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / file).parent.mkdir(exist_ok=True)
    if content is not None:
        (tmp_path / file).write_bytes(content)
    line = end_of(monkeypatch, name, *override.split())
    assert line.startswith(f"{LAB.title(name)}: ") and "\n" not in line and Path(file).name in line


def test_a_begun_pair_with_a_bad_run_ends_with_one_line_that_names_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    (tmp_path / "pair").mkdir()
    (tmp_path / "pair" / "config.json").write_text(PairConfig(worlds=["table1 paper"]).model_dump_json())
    for content in (b"", b"0" * 31, b"\xff" * 32):  # empty, cut, not UTF-8
        (tmp_path / "pair" / "mlflow_run").write_bytes(content)
        line = end_of(monkeypatch, "train-pair", "folder=pair", "resume=true", "worlds=[table1 paper]")
        assert line.startswith("python -m lab train-pair: ") and "\n" not in line and "mlflow_run" in line
