"""The ids are known in every process that imports gymnasium, and it loads no compiled code; processes that spawn starts have them too."""

import json
import subprocess
import sys

import pytest
from typed import output_of

from vcgym.envs import DIFFICULTIES, IDS

ALONE = """
import importlib.util, json, sys
importlib.util.find_spec("gymnasium")  # as libraries do that ask whether it is there
import gymnasium
known = [name for name in gymnasium.registry if name.startswith("vcgym/")]
print(json.dumps([known, sorted({"numba", "torch", "stable_baselines3"} & sys.modules.keys())]))
"""
IN_MAIN = """
import sys


def main():
    if sys.argv[1] == "AsyncVectorEnv":
        from gymnasium import make
        from gymnasium.vector import AsyncVectorEnv

        import vcgym.envs

        calls = AsyncVectorEnv([lambda: make("vcgym/Call-v1")] * 2, context=sys.argv[2])
    else:
        from stable_baselines3.common.env_util import make_vec_env
        from stable_baselines3.common.vec_env import SubprocVecEnv

        import vcgym.envs

        calls = make_vec_env("vcgym/Call-v1", n_envs=2, vec_env_cls=SubprocVecEnv, vec_env_kwargs={"start_method": sys.argv[2]})
    calls.reset()
    calls.close()
    print("works")


if __name__ == "__main__":
    main()
"""


def test_gymnasium_alone_knows_every_id_and_loads_no_kernel(tmp_path):
    known, loaded = json.loads(output_of(ALONE, cwd=tmp_path))
    assert known == [*IDS.values(), *DIFFICULTIES] and loaded == []


@pytest.mark.parametrize("start", ["spawn", "forkserver"])
@pytest.mark.parametrize("kind", ["AsyncVectorEnv", "SubprocVecEnv"])
def test_processes_that_do_not_import_the_project_know_them(kind, start, tmp_path):
    (tmp_path / "train.py").write_text(IN_MAIN)
    command = [sys.executable, "-W", "ignore", "train.py", kind, start]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.stdout == "works\n", ran.stderr
