"""Training from an offline set: batches, validation, checkpoints, and publication as an agent like any other.

A killed training resumes from its checkpoint (`vcgym.agents.training.checkpoint`) and ends with the same bytes.
"""

from importlib.metadata import version

import torch
from gymnasium import spaces

from vcgym.agents.config.algorithms import OfflineConfig
from vcgym.agents.config.training import TrainConfig
from vcgym.agents.evaluation.environments import make_envs, observation_parts
from vcgym.agents.evaluation.evaluate import Evaluation, evaluate
from vcgym.agents.networks.observation import network_for
from vcgym.agents.networks.policy import AgentPolicy, output_count
from vcgym.agents.offline.learner import OfflineLearner
from vcgym.agents.offline.recorded import read_set
from vcgym.agents.published.export import publish
from vcgym.agents.tracking.progress import BEFORE, progress
from vcgym.agents.training import checkpoint
from vcgym.agents.training.trained import Log, Trained, identity_of, newest_checkpoint

_FORMAT, _VALIDATION_SEED = 1, 0


def train_offline(config: TrainConfig, settings: OfflineConfig, seed: int, log: Log) -> Trained:
    """Train one agent from the set of `settings` and publish it under `config.folder`/seed-<seed>/agent.

    Raises:
        FileExistsError: the folder holds an earlier training and `config.resume` is false.
        ValueError: the set does not fit the environment, or the newest checkpoint belongs to another training.
    """
    config.data.export()
    torch.set_num_threads(config.threads)
    home = config.folder / f"seed-{seed}"
    newest = newest_checkpoint(config, seed)
    envs = make_envs(config.env, config.evaluation_episodes, "validation")
    parts, observed, actions = observation_parts(envs, flat=True), envs.single_observation_space, envs.single_action_space
    assert isinstance(observed, spaces.Box)
    network = network_for(parts, output_count(actions), settings.hidden, settings.activation)
    learner = OfflineLearner(network, settings, read_set(settings.dataset, config.env), seed)
    identity = {"offline": _FORMAT, "vcgym": version("vcgym"), **identity_of(config, seed)}
    if newest is not None:
        learner.load_state_dict(checkpoint.read(newest, identity))
    with progress(f"training {settings.name} on {config.env.id}, seed {seed}: transitions", config.steps) as report:
        report(learner.updates * settings.batch_size, "" if newest is None else BEFORE)

        def agent() -> AgentPolicy:
            return AgentPolicy(config.env.id, tuple(parts), observed, actions, network, learner.tensors())

        def validate() -> Evaluation:
            found = evaluate(agent(), envs, _VALIDATION_SEED)
            log({"validation/return_mean": found.return_mean, "validation/return_sd": found.return_sd}, drawn)
            report(drawn, f"mean return of a validation call {found.return_mean:.3f}")
            return found

        while (drawn := learner.updates * settings.batch_size) < config.steps:
            metrics, drawn = learner.train_step(), learner.updates * settings.batch_size
            rollouts, rest = divmod(drawn, config.rollout)
            if rest == 0 and rollouts % config.evaluate_every == 0:
                log(metrics, drawn)
                validate()
            if rest == 0 and rollouts % config.checkpoint_every == 0:
                checkpoint.write(checkpoint.folder_of(home), drawn, learner.state_dict(), identity)
        validation = validate()
    checkpoint.write(checkpoint.folder_of(home), drawn, learner.state_dict(), identity)
    envs.close()
    if not (home / "agent").exists():
        publish(home / "agent", agent(), algorithm=settings.name, steps=drawn, seed=seed, config_hash=config.digest())
    return Trained(home / "agent", drawn, validation)
