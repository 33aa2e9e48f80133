"""Independent PPO with shared parameters: each call over a bottleneck is a row of Stable-Baselines3's VecEnv, with an agent of its own.

The agents learn from the utility of their own call alone. PettingZoo's form of the environment then plays a validation world with them.
"""

from stable_baselines3 import PPO

from vcgym.agents.sb3 import NativeVecEnv
from vcgym.envs import SharedRate
from vcgym.envs.environments.shared_rate import SharedRateVectorEnv


def main(decisions: int = 200_000, calls: int = 4, bottlenecks: int = 16, world: int = 0) -> None:
    """Train, and print how the calls of a validation world share.

    Args:
        decisions: decisions over all calls.
        calls: calls of each bottleneck.
        bottlenecks: bottlenecks in parallel.
        world: seed of the validation world.
    """
    rows = NativeVecEnv(SharedRateVectorEnv(bottlenecks, calls, autoreset_mode="SAME_STEP"))
    agent = PPO("MlpPolicy", rows, n_steps=128, batch_size=1024, n_epochs=5, learning_rate=5e-4, gamma=0.97, seed=0, device="cpu")
    agent.learn(decisions)
    env = SharedRate(calls, split="validation")
    observations, infos = env.reset(seed=world)
    while env.agents:
        actions = {call: agent.predict(observations[call], deterministic=True)[0] for call in env.agents}
        observations, _, _, _, infos = env.step(actions)
    shared = {name: round(float(infos["call_0"][name]), 3) for name in ("used", "jain", "least", "queueing_ms")}
    print(f"world {world}, {calls} calls: {shared}")


if __name__ == "__main__":
    main()
