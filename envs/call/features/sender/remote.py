"""Features of a sender at a remote agent's location, delayed by a command's travel time; and the last commands."""

from vcgym.envs.call.features.layout import Feature
from vcgym.envs.call.features.scales import rate_position
from vcgym.envs.call.features.sender.sender import RATE_FEATURES
from vcgym.envs.call.sender.effects import ORDERS
from vcgym.envs.call.sender.onto_paths import STATUSES
from vcgym.network.kernels.jit import kernel

REMOTE_FEATURES = tuple(
    feature._replace(name=f"{feature.name}[sender]", age="command" if feature.age == "0" else f"{feature.age}, command")
    for feature in RATE_FEATURES
    if feature.name != "elapsed"  # the call has this feature too
)
REMOTE_WIDTH = len(REMOTE_FEATURES)
RATE_COMMANDED = Feature("rate_commanded[sender]", "position on the log scale of targets, -1 to 1", -1, 1, "0")
ORDER_COMMANDED = Feature("order_commanded", "1 for the order last decided, if it is not the first", 0, 1, "0")


def remote_features(rate_held: bool, orders_held: bool) -> tuple[Feature, ...]:
    """Return the features of a remote sender whose rate or order the agent controls."""
    shown = (*REMOTE_FEATURES, RATE_COMMANDED) if rate_held else REMOTE_FEATURES
    orders = tuple(ORDER_COMMANDED._replace(name=f"{ORDER_COMMANDED.name}[{name}]") for name in ORDERS[1:]) if orders_held else ()
    return (*shown, *orders)


@kernel
def observe_remote(uplink, calls, which, rate_held, orders_held, out):
    """Write `remote_features` of each session in `which`, as known at the agent's location, into `out`, float32 (sessions, features).

    `rate_held`: the agent sets the rate. `orders_held`: number of schedulers among which it chooses; 0: it does not.
    """
    for s in which:
        remote, decision = uplink.remote[s], calls[s].slot // calls[s].interval
        for i in range(REMOTE_WIDTH):
            out[s, i] = uplink.statuses[s, decision & (STATUSES - 1), i]
        column = REMOTE_WIDTH
        if rate_held:
            sender = uplink.senders[s]
            out[s, column] = rate_position(float(remote.rate.latest), sender.min_bps, sender.max_bps)
            column += 1
        for order in range(1, orders_held):
            out[s, column + order - 1] = 1.0 if remote.order.latest == order else 0.0
