"""Pictures of calls show the past alone, and the window is closed with its environment."""

import gymnasium
import pytest
from absolute import ABSOLUTE
from matplotlib import pyplot
from matplotlib.figure import Figure


def test_the_window_is_closed_with_the_environment(env_id, short):
    open_before = pyplot.get_fignums()
    env = gymnasium.make(env_id, render_mode="human", **short)
    env.reset(seed=4)
    assert len(pyplot.get_fignums()) == len(open_before) + 1
    env.close()
    env.close()
    assert pyplot.get_fignums() == open_before


def pictures(env_id, steps, **arguments):
    """Yield the batch of an environment and its drawn axes before each decision of a short call."""
    env = gymnasium.make(env_id, render_mode="rgb_array", **ABSOLUTE[env_id] | arguments)
    env.action_space.seed(1)
    env.reset(seed=4)
    first = env.render()
    for _ in range(steps):
        env.step(env.action_space.sample())
        axes = Figure().add_subplot()
        env.unwrapped.native.draw(axes, 0)
        yield env.unwrapped.native.batch, axes
    assert env.render().shape == first.shape == (400, 720, 3) and (env.render() != first).any()


def test_delays_of_paths(path_env_id):
    for batch, axes in pictures(path_env_id, 12, packets=2000):
        assert 0 < max(max(line.get_xdata(), default=0) for line in axes.lines) < batch.calls["slot"][0] / 100
    assert axes.get_xlabel() == "time in the call (s)" and axes.get_ylabel() == "delay of a packet (ms)" and axes.get_title()
    assert gymnasium.make(path_env_id, packets=200).unwrapped.render() is None


def test_targets_of_a_rate():
    for batch, axes in pictures("vcgym/Rate-v1", 90, seconds=6.0):
        assert len(axes.lines[0].get_xdata()) == int(batch.senders[0].now_us) // 1_000_000
    assert axes.get_ylabel() == "target bitrate (kbit/s)"


@pytest.mark.long
def test_packets_of_a_queue():
    for batch, axes in pictures("vcgym/SendOrder-v1", 90, seconds=6.0):
        assert sum(bar.get_x() > 0.0 for bar in axes.patches) == batch.senders[0].queue.waiting
    assert axes.get_ylabel() == "time left until it must arrive (ms)"
