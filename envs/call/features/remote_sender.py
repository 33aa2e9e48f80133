"""Features of the sender as they reach the place of an agent: as old as a command from there, and what was commanded last."""

from vcgym.envs.call.features.path import Feature
from vcgym.envs.call.features.sender import RATE_FEATURES, rate_place
from vcgym.envs.call.sender.controllers import ORDERS
from vcgym.envs.call.sender.onto_paths import STATUSES
from vcgym.network.kernels.jit import kernel

SENDER_FEATURES = tuple(
    feature._replace(age="command" if feature.age == "0" else f"{feature.age}, command")
    for feature in RATE_FEATURES
    if feature.name != "elapsed"
)
SENDER_WIDTH = len(SENDER_FEATURES)
RATE_COMMANDED = Feature("rate_commanded", "place on the log scale of targets, -1 to 1", -1, 1, "0")
ORDER_COMMANDED = Feature("order_commanded", "1 for the order last decided, if it is not the first", 0, 1, "0")


def sender_layout(rate_held: bool, orders_held: bool) -> tuple[Feature, ...]:
    """The features in order; names end in [sender], those of orders in the order's name."""
    shown = (*SENDER_FEATURES, RATE_COMMANDED) if rate_held else SENDER_FEATURES
    orders = tuple(ORDER_COMMANDED._replace(name=f"{ORDER_COMMANDED.name}[{name}]") for name in ORDERS[1:]) if orders_held else ()
    return (*(feature._replace(name=f"{feature.name}[sender]") for feature in shown), *orders)


@kernel
def observe_sender(uplink, calls, which, rate_held, orders_held, first, out):
    """Write the features of each session of `which` into row `s` of `out`, from column `first` on."""
    for s in which:
        own, decision = uplink.own[s], calls[s].slot // calls[s].interval
        for i in range(SENDER_WIDTH):
            out[s, first + i] = uplink.statuses[s, decision & (STATUSES - 1), i]
        column = first + SENDER_WIDTH
        if rate_held:
            out[s, column] = rate_place(uplink.senders[s], float(own.rate.latest))
            column += 1
        for order in range(1, orders_held):
            out[s, column + order - 1] = 1.0 if own.order.latest == order else 0.0
