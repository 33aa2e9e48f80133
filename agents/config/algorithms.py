"""Configs of the learning algorithms."""

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from vcgym.agents.config.base import AbsolutePath, Config

Share = Annotated[float, Field(ge=0, le=1)]


class PPOConfig(Config):
    """Proximal policy optimisation (Schulman et al. 2017, arXiv 1707.06347) on the set network of `vcgym.agents.networks.description`.

    Attributes:
        num_envs: calls played in parallel unless a study says otherwise; here and below.
        steps: transitions of a training unless a study says otherwise.
        learning_rate: Adam's step size at the start.
        schedule: constant step size, or linear decay to zero at the last step.
        n_steps: decisions per session and rollout; a rollout has num_envs * n_steps transitions.
        batch_size: transitions per gradient step; must divide the size of a rollout.
        n_epochs: passes over each rollout.
        gamma: discount per decision.
        gae_lambda: lambda of generalised advantage estimation (Schulman et al. 2015, arXiv 1506.02438).
        clip_range: allowed relative change of an action's probability per rollout.
        ent_coef: weight of the entropy bonus.
        vf_coef: weight of the value loss.
        max_grad_norm: larger gradients are scaled down to this norm.
        hidden: units per layer of the policy and of the value network.
        activation: activation function between layers.
    """

    num_envs: ClassVar[int] = 256
    steps: ClassVar[int] = 400_000

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    schedule: Literal["constant", "linear"] = "linear"
    n_steps: Annotated[int, Field(ge=2)] = 32
    batch_size: Annotated[int, Field(ge=2)] = 512
    n_epochs: Annotated[int, Field(ge=1)] = 2
    gamma: Share = 0.95
    gae_lambda: Share = 0.95
    clip_range: Annotated[float, Field(gt=0, lt=1)] = 0.2
    ent_coef: Annotated[float, Field(ge=0)] = 0.0
    vf_coef: Annotated[float, Field(ge=0)] = 0.5
    max_grad_norm: Annotated[float, Field(gt=0)] = 0.5
    hidden: Annotated[int, Field(ge=1)] = 64
    activation: Literal["tanh", "relu"] = "relu"


class MaskablePPOConfig(PPOConfig):
    """Maskable PPO (Huang and Ontanon 2020, arXiv 2006.14171): PPO that never samples an action the environment masks."""

    masked: Literal[True] = True


class SACConfig(Config):
    """Soft actor-critic (Haarnoja et al. 2018, arXiv 1812.05905) on the set network, for a Box of actions; the critics are MLPs.

    Attributes:
        learning_rate: Adam's step size at the start.
        schedule: constant step size, or linear decay to zero at the last step.
        n_steps: decisions per session between updates; num_envs * n_steps transitions are called a rollout.
        gradient_steps: gradient steps per update.
        batch_size: transitions per gradient step, sampled from the replay buffer.
        buffer_size: transitions in the replay buffer.
        learning_starts: transitions before the first update, with uniformly random actions.
        tau: update rate of the target critics.
        gamma: discount per decision.
        ent_coef: weight of the entropy; "auto" learns it.
        hidden: units per layer of the actor and of the critics.
        activation: activation function between layers.
    """

    num_envs: ClassVar[int] = 64
    steps: ClassVar[int] = 400_000

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 1e-3
    schedule: Literal["constant", "linear"] = "linear"
    n_steps: Annotated[int, Field(ge=1)] = 4
    gradient_steps: Annotated[int, Field(ge=1)] = 8
    batch_size: Annotated[int, Field(ge=2)] = 512
    buffer_size: Annotated[int, Field(ge=1)] = 300_000
    learning_starts: Annotated[int, Field(ge=0)] = 20_000
    tau: Annotated[float, Field(gt=0, le=1)] = 0.005
    gamma: Share = 0.97
    ent_coef: Annotated[float, Field(ge=0)] | Literal["auto"] = "auto"
    hidden: Annotated[int, Field(ge=1)] = 64
    activation: Literal["tanh", "relu"] = "relu"


class InsidePPOConfig(Config):
    """PPO inside the loop (`vcgym.agents.inside`): the compiled loop draws and records decisions, torch updates between rollouts.

    A rollout is `num_envs` whole calls of each kind of worlds (env.options.scenario). With several kinds the advantages of each are divided
    by the root of their standard deviation, because on short paths R varies by hundredths where it varies by points on long ones. Training
    worlds are sampled once: env.options.worlds of all kinds together, 0.4 MB each with 17 paths, by default 1000. The environment's
    features and actions play no part: the lag is set at each arrival, the path is kept or changed every 200 ms, every five reports a rate
    gets the queueing delay that it aims at, and an order the time that each video packet must have left. A lag that learns alone, beside a
    path that a rule sets, learns better than in turns with a path (`vcgym.agents.inside.learner`).

    Attributes:
        learning_rate: Adam's step size at the start; it falls linearly to zero at the last step.
        replicas: calls of a rollout in the same world, each other's baseline, an even number; must divide num_envs.
        max_added_ms: half of them have a delay between 0 and this added to every path: calls over longer distances; 0 over a bottleneck.
        calls_per_step: calls per gradient step.
        n_epochs: passes over each rollout.
        gamma: discount per 10 ms, for the lag.
        path_gamma: discount per 10 ms, for the path, the rate and the order.
        clip_range: allowed relative change of an action's probability per rollout.
        noise_sd: standard deviation of the noise on the network's output for the lag, one is about 10 to 20 ms, for the aim of a
            rate, or for the margin of an order.
        noise_memory: correlation of this noise from decision to decision.
        mirrored: every second replica has the noise of the one before with the other sign.
        hidden: units in each of the two layers of a policy; an order has no layers.
    """

    num_envs: ClassVar[int] = 8
    steps: ClassVar[int] = 20_000_000

    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    replicas: Annotated[int, Field(ge=2, multiple_of=2)] = 2
    max_added_ms: Annotated[float, Field(ge=0, le=1000)] = 0.0
    calls_per_step: Annotated[int, Field(ge=1)] = 2
    n_epochs: Annotated[int, Field(ge=1)] = 1
    gamma: Share = 0.98
    path_gamma: Share = 0.998
    clip_range: Annotated[float, Field(gt=0, lt=1)] = 0.2
    noise_sd: Annotated[float, Field(gt=0)] = 0.5
    noise_memory: Annotated[float, Field(ge=0, lt=1)] = 0.9
    mirrored: bool = True
    hidden: Annotated[int, Field(ge=1, le=256)] = 32


class LibraryConfig(Config):
    """An algorithm of Stable-Baselines3 or sb3-contrib as it comes: its own networks and its own defaults.

    Attributes:
        name: class of the library; `vcgym.agents.training.learners` says which actions it takes.
        arguments: arguments of this class that are not its defaults, such as algorithm.arguments.learning_rate=0.001.
        rollout: decisions that count as a rollout: evaluations and checkpoints come at multiples of it.
    """

    num_envs: ClassVar[int] = 1
    steps: ClassVar[int] = 100_000

    name: Literal["PPO", "A2C", "TRPO", "RecurrentPPO", "DQN", "QRDQN", "SAC", "TD3", "TQC", "ARS"] = "PPO"
    arguments: dict[str, Any] = Field(default={})
    rollout: Annotated[int, Field(ge=1)] = 2048


class OfflineConfig(Config):
    """Learning from a set of `vcgym offline-data` alone: behaviour cloning (BC), or implicit Q-learning (IQL, arXiv 2110.06169).

    Attributes:
        name: the algorithm.
        dataset: folder of a set of the environment.
        learning_rate: Adam's step size.
        batch_size: transitions per gradient step, drawn from the set.
        gamma: discount per decision, of IQL, as what follows.
        expectile: of Q over the logged actions, which is the value of an observation; 1 would be their maximum.
        temperature: factor of advantages in the weights of actions, in standard deviations of returns; 0 is cloning.
        tau: update rate of the target critics.
        hidden: units in each of the two layers of the policy and of the critics.
        activation: activation function between layers of the policy.
    """

    num_envs: ClassVar[int] = 1
    steps: ClassVar[int] = 2_048_000
    rollout: ClassVar[int] = 100  # batches, after a multiple of which evaluations and checkpoints come

    name: Literal["BC", "IQL"] = "BC"
    dataset: AbsolutePath = Path("outputs/offline/vcgym/call/mixture-v0")
    learning_rate: Annotated[float, Field(gt=0, le=1)] = 2e-3
    batch_size: Annotated[int, Field(ge=2)] = 1024
    gamma: Share = 0.95
    expectile: Annotated[float, Field(gt=0, lt=1)] = 0.9
    temperature: Annotated[float, Field(ge=0)] = 100.0
    tau: Annotated[float, Field(gt=0, le=1)] = 0.005
    hidden: Annotated[int, Field(ge=1)] = 64
    activation: Literal["tanh", "relu"] = "relu"


Algorithm = PPOConfig | MaskablePPOConfig | SACConfig | InsidePPOConfig | LibraryConfig | OfflineConfig
