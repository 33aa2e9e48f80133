"""Train a small agent with all parts of a third-party package, named by its entry points; print its rewards and observation."""

import json

import gymnasium
import numpy as np
from stable_baselines3 import PPO

import vcgym.envs  # noqa: F401  (registers the ids)
from vcgym.baselines.configured import rule_from

WORLD = {"scenario": "two-roads", "mode": "paper", "packets": 120, "action": "discrete", "interval": 10}
rate, router = (rule_from({"_target_": name}, "rule") for name in ("half-rate", "newest-best"))
env = gymnasium.make("vcgym/Call-v1", uplink="rate", rate=rate, features=("late-of-path",), reward="steady", **WORLD)
agent = PPO("MlpPolicy", env, n_steps=24, batch_size=24, n_epochs=1, device="cpu", seed=0).learn(48)
observation, _ = env.reset(seed=1)
action, _ = agent.predict(observation, deterministic=True)
for _ in range(10):
    env.step(action)
senders = env.unwrapped.native.batch.uplink.senders
routed = gymnasium.make_vec("vcgym/Call-v1", num_envs=1, path=router, reward="steady", **WORLD).unwrapped
routed.reset(seed=1)
taken = set()
for _ in range(12):
    routed.step(np.array([20]))
    taken.add(int(routed.batch.calls["to_sender"]["latest"][0]))
print(  # noqa: T201
    json.dumps(
        {
            "paths": [feature.name for feature in env.unwrapped.native.layout.parts["paths"].features],
            "allowed": bool(env.action_space.contains(action)),
            "target_kbps": float(senders["target_bps"][0]) / 1000.0,
            "router_paths": sorted(taken),
        }
    )
)
