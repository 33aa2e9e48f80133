"""Gymnasium's vector cart-pole with the features that the pipeline requires: same-step restarts, a split, a state to save."""

import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleVectorEnv
from gymnasium.vector import AutoresetMode


class Cart(CartPoleVectorEnv):
    """Sessions that start at random, fall or end after `max_episode_steps`, and start again in the same step."""

    def __init__(self, num_envs=1, autoreset_mode=AutoresetMode.SAME_STEP, split="train", max_episode_steps=60):
        super().__init__(num_envs=num_envs, max_episode_steps=max_episode_steps)
        self.metadata = self.metadata | {"autoreset_mode": autoreset_mode}
        self.split = split

    def step(self, action):
        observation, reward, terminated, truncated, infos = super().step(action)
        done = self.prev_done
        if done.any():
            final = observation.copy()
            self.state[:, done] = self.np_random.uniform(-0.05, 0.05, size=(4, done.sum()))
            self.steps[done] = 0
            self.prev_done = np.zeros_like(done)
            infos = {"final_obs": final, "_final_obs": done}
        return self.state.T.astype(np.float32), reward, terminated, truncated, infos

    def get_state(self):
        bits = self.np_random.bit_generator.state
        words = [bits["state"]["state"] >> 64, bits["state"]["state"] % 2**64, bits["state"]["inc"] >> 64, bits["state"]["inc"] % 2**64]
        generator = np.array([*words, bits["has_uint32"], bits["uinteger"]], dtype=np.uint64)
        return {"state": self.state, "steps": self.steps, "generator": generator}

    def set_state(self, state):
        self.state, self.steps = state["state"].copy(), state["steps"].copy()
        self.prev_done = np.zeros(self.num_envs, dtype=bool)
        a, b, c, d, has, integer = (int(x) for x in state["generator"])
        bits = {"state": (a << 64) + b, "inc": (c << 64) + d}
        self.np_random.bit_generator.state = {"bit_generator": "PCG64", "state": bits, "has_uint32": has, "uinteger": integer}


gymnasium.register("test/Cart-v0", vector_entry_point=Cart)
