"""Bad arguments are rejected before work starts; the error names the field, the value and the allowed values."""

import gymnasium
import pytest
from absolute import ABSOLUTE, SENDERS
from untrained import random_network

from twins.sender_policy import OrderPolicy, RatePolicy
from vcgym.baselines.from_agent import FromAgent
from vcgym.baselines.order.fifo import Fifo
from vcgym.baselines.order.sbpn import Sbpn
from vcgym.baselines.path.direct import Direct
from vcgym.baselines.playout.wmjitter import WMJitter
from vcgym.baselines.protection.fixed import FixedProtection
from vcgym.baselines.rate.fixed_rate import FixedRate
from vcgym.baselines.rate.gcc.gcc import GccWebrtc
from vcgym.baselines.rate.oracle_rate import OracleRate
from vcgym.envs.call.rewards.emodel import EModel
from vcgym.envs.call.rewards.utility import Utility
from vcgym.leaderboard.evaluation.published import NOT_PLAYED
from vcgym.network.scenarios.paths.linked import Table1
from vcgym.network.traces.cards import DataError

RELAY, PLAYOUT, CALL, RATE, ORDER, _ = "vcgym/Relay-v1", "vcgym/Playout-v1", "vcgym/Call-v1", *SENDERS
EVERYWHERE = [
    ({"num_envs": 0}, "num_envs = 0: allowed are integers from 1"),
    ({"num_envs": 2.0}, r"num_envs = 2\.0: allowed are integers from 1"),
    ({"threads": 0}, "threads = 0: allowed are integers from 1 to 256"),
    ({"scenario": "mars"}, "scenario = 'mars': allowed are (wonderproxy, world, |order, rate, calls, rmcat, rate-measured)"),
    ({"split": "holdout"}, "split = 'holdout': allowed are train, validation, test"),
    ({"split": "test"}, "split = 'test': allowed are train, validation; worlds of the test split are for the leaderboard alone"),
    ({"reward": "delay"}, "reward = 'delay': allowed are (emodel, event|utility, emodel|timely, utility, emodel|on_time, missed, emodel)"),
    ({"observation": "pixels"}, "observation = 'pixels': allowed are features, dict(, records)?$"),
    ({"action": "box"}, "action = 'box': allowed are "),
    ({"render_mode": "human"}, "render_mode = 'human': allowed is None"),
    ({"autoreset_mode": "sometimes"}, "autoreset_mode = 'sometimes': allowed are NEXT_STEP, SAME_STEP, DISABLED"),
]
OF_PATHS = [
    ({"packets": 0}, "packets = 0: allowed are integers from 1 to 1000000"),
    ({"packets": "600"}, "packets = '600': allowed are integers"),
    ({"packets": True}, "packets = True: allowed are integers"),
    ({"mode": "replay"}, "mode of scenario wonderproxy = 'replay': allowed are correlated, paper"),
    ({"scenario": "replay"}, "scenario replay: traces is None; allowed: a folder of traces"),
    ({"scenario": "leo"}, "mode of scenario leo = 'correlated': allowed are replay"),
    ({"location": "moon"}, "location = 'moon': allowed are sender, central, receiver"),
    ({"feedback_loss": 1}, "feedback_loss = 1: allowed is 0 <= share < 1"),
    ({"feedback_loss": float("nan")}, "feedback_loss = nan: allowed is 0 <= share < 1"),
    ({"feedback_loss": "0.1"}, r"feedback_loss = '0\.1': allowed are numbers, 0 <= share < 1"),
    ({"probe_rate": -1.0}, r"probe_rate = -1\.0: allowed is 0 to 100"),
    ({"probe_rate": None}, "probe_rate = None: allowed are numbers, 0 to 100"),
]
OF_SENDERS = [
    ({"seconds": 0}, r"seconds = 0: allowed are numbers from 0\.1 to 3600"),
    ({"seconds": float("nan")}, "seconds = nan: allowed are numbers"),
    ({"seconds": "60"}, "seconds = '60': allowed are numbers"),
    ({"send_queue": 0}, "send_queue = 0: allowed are integers from 1 to 1024"),
    ({"send_queue": 2.5}, r"send_queue = 2\.5: allowed are integers"),
    ({"pacing": -1.0}, r"pacing = -1\.0: allowed are numbers from 0 to 1000"),
    ({"log_packets": -1}, "log_packets = -1: allowed are integers from 0"),
    ({"observation": "records"}, "observation = 'records': allowed are features, dict$"),
]
OF_ONE = [
    *((CALL, {"interval": interval}, f"interval = {interval}: allowed are integers from 1") for interval in (0, -3, 1.5)),
    (RELAY, {"playout": Direct()}, r"playout = Direct\(\): allowed are rules that control playout"),
    (RELAY, {"playout": "wmjitter"}, "playout = 'wmjitter': allowed are rules that control playout"),
    (RELAY, {"playout": FromAgent()}, r"playout = FromAgent\(.*\): allowed are rules that control playout"),
    (RELAY, {"reward": Utility()}, "reward = .*: allowed are .*, or parameters of a reward that reads"),
    (RELAY, {"reward": 3}, "reward = .*: allowed are .*, or parameters of a reward that reads"),
    (RELAY, {"scenario": Table1, "mode": "replay"}, "mode of scenario Table1 = 'replay'"),
    (PLAYOUT, {"path": WMJitter()}, r"path = WMJitter\(.*\): allowed are rules that control path"),
    (PLAYOUT, {"path": None}, "path = None: allowed are rules that control path"),
    (PLAYOUT, {"observation": "records", "interval": 10}, "interval = 10 with observation 'records': allowed is 1"),
    (PLAYOUT, {"predictor": random_network(3)}, "predictor is a Network: allowed is None unless the agent sets the path"),
    (CALL, {"observation": "records", "predictor": random_network(3)}, "predictor is a Network: allowed is None"),
    (CALL, {"predictor": "mine"}, "predictor is 'mine', a str; allowed here: .*Network"),
    (CALL, {"observation": "records", "action": "relative"}, "'records': allowed are features and dict with action relative"),
    (CALL, {"reward": "mos"}, "reward = .*: allowed are .*, or parameters of a reward that reads"),
    (CALL, {"frame_ms": 30}, "frame_ms = 30: allowed is 10, 20, 40, with an uplink 10"),
    (CALL, {"frame_ms": 40, "packets": 202}, "packets = 202: allowed with frame_ms = 40 is a multiple of 4, in slots of 10 ms"),
    (CALL, {"frame_ms": 20, "interval": 5}, "interval = 5: allowed with frame_ms = 20 is a multiple of 2, in slots of 10 ms"),
    (CALL, {"frame_ms": 20, "uplink": "rate"}, "frame_ms = 20: allowed is 10, 20, 40, with an uplink 10"),
    (CALL, {"protection": 3}, "protection = 3: allowed are rules that control protection"),
    (CALL, {"protection": None, "uplink": "rate"}, "protection = None: allowed is False with an uplink"),
    (CALL, {"protection": FixedProtection(earlier=2), "uplink": "rate"}, r"protection = FixedProtection\(.*\): allowed is False"),
    (CALL, {"protection": None, "protection_budget": -1}, "protection_budget = -1: allowed are numbers from 0 to 100"),
    (CALL, {"uplink": "mars"}, "uplink = 'mars': allowed are order, rate, calls, rmcat, rate-measured"),
    (CALL, {"uplink": "rate", "rate": Fifo()}, r"rate = Fifo\(\): allowed are .*GccDraft, GccWebrtc"),
    (CALL, {"uplink": "rate", "rate": FromAgent()}, r"rate = FromAgent\(.*\): allowed are "),
    (CALL, {"uplink": "rate", "order": FromAgent()}, r"order = FromAgent\(.*\): allowed are rules that control order, as "),
    (CALL, {"uplink": "rate", "order": GccWebrtc()}, r"order = GccWebrtc\(.*\): allowed are rules that control order, as "),
    (CALL, {"uplink": "rate", "path": WMJitter()}, r"path = WMJitter\(.*\): allowed are rules that control path, as "),
    (CALL, {"uplink": "rate", "path": GccWebrtc()}, r"path = GccWebrtc\(.*\): allowed are rules that control path, as "),
    (CALL, {"uplink": "rate", "playout": Direct()}, r"playout = Direct\(\): allowed are rules that control playout, as "),
    (CALL, {"uplink": "rate", "pacing": -1.0}, r"pacing = -1\.0: allowed is 0 to 1000"),
    (CALL, {"rate": GccWebrtc()}, r"rate = GccWebrtc\(.*\): allowed is None without an uplink"),
    (CALL, {"order": Fifo()}, r"order = Fifo\(\): allowed is None without an uplink"),
    (CALL, {"path": Direct(), "playout": WMJitter()}, "path, playout are all set by rules: allowed is at least one"),
    (
        CALL, {"uplink": "rate", "path": Direct(), "playout": WMJitter(), "rate": GccWebrtc(), "order": Fifo()},
        "path, playout, rate, order are all set by rules",
    ),
    (RATE, {"order": WMJitter()}, r"order = WMJitter\(.*\): allowed are rules that control order, as Fifo, .*Sbpn"),
    (RATE, {"order": GccWebrtc()}, r"order = GccWebrtc\(.*\): allowed are rules that control order, as Fifo, .*Sbpn"),
    (RATE, {"order": "fifo"}, "order = 'fifo': allowed are .*Fifo"),
    (RATE, {"order": FromAgent()}, r"order = FromAgent\(.*\): allowed are rules that control order, as Fifo"),
    (RATE, {"reward": "on_time"}, "reward = 'on_time': allowed are utility, emodel"),
    (RATE, {"reward": EModel()}, "reward = .*: allowed are .*, or parameters of a reward that reads"),
    (RATE, {"features": "pixels"}, "features = 'pixels': allowed are reports, intervals"),
    (ORDER, {"overflow": FixedRate()}, r"overflow = FixedRate\(.*\): allowed are rules that control order, as Fifo"),
    (ORDER, {"overflow": Sbpn}, "overflow = .*: allowed are rules that control order, as Fifo"),
    (ORDER, {"overflow": "reject"}, "overflow = 'reject': allowed are .*Fifo"),
    (ORDER, {"reward": "utility"}, "reward = 'utility': allowed are on_time, missed, emodel"),
    (ORDER, {"rate": Fifo()}, r"rate = Fifo\(\): allowed are rules that control rate, as .*FixedRate, GccDraft, GccWebrtc, .*Tfrc"),
    (ORDER, {"rate": WMJitter()}, r"rate = WMJitter\(.*\): allowed are "),
    (ORDER, {"rate": FromAgent()}, r"rate = FromAgent\(.*\): allowed are "),
    (ORDER, {"interval": 10}, "interval = 10 with action 'discrete': allowed is 1"),
]  # fmt: skip
REFUSED = [
    *((env_id, *case) for env_id in ABSOLUTE for case in EVERYWHERE + (OF_SENDERS if env_id in SENDERS else OF_PATHS)),
    *OF_ONE,
]


@pytest.mark.parametrize(("env_id", "arguments", "message"), REFUSED, ids=lambda value: str(value)[:60])
def test_arguments(env_id, arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gymnasium.make_vec(env_id, **ABSOLUTE[env_id] | {"num_envs": 2} | arguments)


def test_an_unknown_argument(env_id):
    with pytest.raises(TypeError, match="pakets"):
        gymnasium.make_vec(env_id, pakets=60)


def test_the_scalar_environment_draws_in_one_mode(env_id):
    with pytest.raises(ValueError, match="render_mode = 'ansi': allowed are rgb_array"):
        type(gymnasium.make(env_id).unwrapped)(render_mode="ansi")


@pytest.mark.parametrize(
    ("env_id", "arguments"),
    [
        *((env_id, {"scenario": "leo", "mode": "replay"}) for env_id in (RELAY, PLAYOUT, CALL)),
        *((env_id, {"scenario": "rate-measured"}) for env_id in SENDERS),
        (CALL, {"uplink": "rate-measured"}),
    ],
)
def test_measured_data_that_is_not_there(env_id, arguments, tmp_path, monkeypatch):
    missing = tmp_path / "nowhere"
    with pytest.raises(DataError, match=rf"data folder: data \({missing}\) is '{missing}'|{missing}"):
        gymnasium.make_vec(env_id, **arguments, data=str(missing))
    monkeypatch.delenv("VCGYM_DATA", raising=False)
    with pytest.raises(DataError, match="VCGYM_DATA"):
        gymnasium.make_vec(env_id, **arguments)


@pytest.mark.parametrize(
    ("policy", "params"),
    [(RatePolicy, Fifo()), (RatePolicy, "gcc"), (RatePolicy, OracleRate()), (OrderPolicy, WMJitter()), (OrderPolicy, None)],
)
def test_policies_of_no_rule(policy, params):
    with pytest.raises(ValueError, match=r"(rate|order) = .*: allowed are "):
        policy(params)


def test_boards_of_calls_without_protection_take_none_from_an_agent():
    assert {"protection", "protection_budget", "frame_ms"} <= NOT_PLAYED
