"""Environments with absolute actions, if they have such, and a decision as often as the stages allow or every 10 packets: what a rule
outside the loop has."""

from vcgym.baselines.order.fifo import Fifo
from vcgym.envs import IDS

_PATHS = {"action": "discrete", "reward": "emodel"}
ABSOLUTE = {
    IDS["Relay"]: {**_PATHS, "interval": 10},
    IDS["Playout"]: {**_PATHS, "interval": 1},
    IDS["Call"]: {**_PATHS, "interval": 10},
    IDS["Rate"]: {"action": "continuous", "interval": 1},
    IDS["Send"]: {"interval": 1},
    IDS["SendOrder"]: {"action": "discrete", "reward": "on_time", "interval": 1, "send_queue": 5, "overflow": Fifo()},
}
"""Arguments by id."""
BY_PARTS = dict.fromkeys(IDS.values(), "records") | {IDS["Rate"]: "dict", IDS["Send"]: "dict", IDS["SendOrder"]: "dict"}
"""The least usual observation by id: records, where the environment has them."""
SENDERS = IDS["Rate"], IDS["SendOrder"], IDS["Send"]
