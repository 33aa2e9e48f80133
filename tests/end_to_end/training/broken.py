"""A cart-pole that can be built and reset, but fails in its first step."""

import gymnasium
from cart import Cart


class Broken(Cart):
    """Fails at its first step."""

    def step(self, action):
        raise RuntimeError("worn out")


gymnasium.register("test/Broken-v0", vector_entry_point=Broken)
