"""Settings every test shares, and the ids of the environments."""

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import gymnasium
import pytest
from absolute import ABSOLUTE
from gymnasium.envs.registration import load_env_creator
from hypothesis import settings
from hypothesis.configuration import set_hypothesis_home_dir

from vcgym.envs import IDS
from vcgym.envs.environments.vector.paths import PathsVectorEnv
from vcgym.network.scenarios import splits

# No deadline: a property may pay for compiling a kernel. Derandomised: the same examples on every run and every machine.
settings.register_profile("vcgym", deadline=None, derandomize=True)
settings.load_profile("vcgym")
set_hypothesis_home_dir(Path(__file__).parents[1] / "outputs" / "cache" / "hypothesis")


@pytest.fixture(params=IDS.values())
def env_id(request):
    """Each registered environment in turn, unless a test names its own."""
    return request.param


@pytest.fixture(scope="session", autouse=True)
def own_temporary_folder():
    """One folder for everything that libraries leave in the temporary folder, such as the logs of Stable-Baselines3; removed at the end."""
    with tempfile.TemporaryDirectory(prefix="v-", ignore_cleanup_errors=True) as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", folder)
        patch.setattr(tempfile, "tempdir", folder)
        yield


@pytest.fixture
def one_thread():
    """One thread of torch, so that processes of the tests leave each other room."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@cache
def vector_env(env_id):
    """The batch of an environment with absolute actions."""
    return gymnasium.make_vec(env_id, **ABSOLUTE[env_id]).unwrapped


@pytest.fixture
def short(env_id):
    """Arguments of a call of 15 absolute decisions or more."""
    length = {"packets": 150} if isinstance(vector_env(env_id), PathsVectorEnv) else {"seconds": 1.5}
    return ABSOLUTE[env_id] | length


@pytest.fixture
def shortest(env_id):
    """Arguments of a call so short that every session ends at least twice within forty absolute decisions."""
    env = vector_env(env_id)
    if not isinstance(env, PathsVectorEnv):
        return ABSOLUTE[env_id] | {"seconds": 0.2 if hasattr(env, "action_masks") else 0.6}
    return ABSOLUTE[env_id] | {"packets": 12 if env.at_arrivals else 6 * env.interval, "scenario": "table1"}


@pytest.fixture
def decides_on_time(env_id):
    """True if the decisions of an environment are equally far apart, so that calls of one length end together."""
    env = vector_env(env_id)
    return isinstance(env, PathsVectorEnv) and not env.at_arrivals


@pytest.fixture(params=[name for name in ABSOLUTE if issubclass(load_env_creator(gymnasium.spec(name).vector_entry_point), PathsVectorEnv)])
def path_env_id(request):
    """Each environment of calls over paths in turn."""
    return request.param


@pytest.fixture
def test_split_opened():
    """Lets a test draw worlds of the test split, as the leaderboard does."""
    with splits.unlock_test_split():
        yield


@pytest.fixture
def python_path():
    """PYTHONPATH of a process that imports from `folder` first, then from wherever this one does."""

    def first(folder):
        return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))

    return first


@pytest.fixture
def visit(tmp_path):
    """Opens a page on disk in chromium; by the end it must have asked for nothing but itself, or its `site`, and complained of nothing."""
    from playwright.sync_api import sync_playwright

    switches = ("no-sandbox", "disable-gpu", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync")
    arguments = [f"--{switch}" for switch in switches]
    allowed, requests, complaints = ["data:"], [], []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch_persistent_context(tmp_path, executable_path=shutil.which("chromium"), args=arguments)

        def opened(path, site=None):
            page = browser.new_page()
            page.on("request", lambda request: requests.append(request.url))
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            allowed.append((site or path).as_uri())
            page.goto(path.as_uri())
            return page

        yield opened
        browser.close()
    assert [url for url in requests if not url.startswith(tuple(allowed))] == []
    assert complaints == []
