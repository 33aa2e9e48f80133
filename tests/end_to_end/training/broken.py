"""A cart-pole that is built and reset as any other, and then fails."""

import gymnasium
from cart import Cart


class Broken(Cart):
    """Fails at its first step."""

    def step(self, action):
        raise RuntimeError("worn out")


gymnasium.register("test/Broken-v0", vector_entry_point=Broken)
