"""The commands that train and evaluate agents."""

import logging

from vcgym.agents.config.training import EvaluateConfig, OfflineDataConfig, SweepConfig, TrainConfig
from vcgym.agents.evaluation.evaluate import env_of, evaluate_agent
from vcgym.agents.tracking.progress import progress

log = logging.getLogger(__name__)


def train(config: TrainConfig) -> float:
    """Train the agents and print their folders; return the mean validation return of the seeds."""
    from vcgym.agents.training.study import run_study  # imported here, as below: an evaluation trains nothing

    results = run_study(config)
    for trained in results:
        log.info(f"{trained.agent}: validation return {trained.validation.return_mean:.3f} after {trained.steps:,} transitions")
    return sum(trained.validation.return_mean for trained in results) / len(results)


def evaluate(config: EvaluateConfig) -> None:
    """Evaluate the agent and print the result, and over paths its R on each kind of worlds next to that of a rule."""
    from vcgym.agents.published.export import load_agent
    from vcgym.scripts.regret import compared, summary

    with progress(f"decisions of each of {config.episodes} calls", None) as on_progress:
        result = evaluate_agent(config, on_progress)
    returned = f"return {result.return_mean:.3f}, sd {result.return_sd:.3f}, over {result.episodes} {config.split} episodes"
    env = env_of(config)
    log.info(f"{config.agent}: {returned} of {env.id}")
    results = []
    for one in compared(load_agent(config.agent, env_id=env.id), config, env):
        log.info(one.line)
        results.append(one)
    if len(results) > 1:
        log.info(summary(results))


def record_sets(config: OfflineDataConfig) -> None:
    """Play the behaviour policies, write their sets and print the mean return of each."""
    from vcgym.agents.offline.recorded import record, write_set

    config.data.export()
    for behaviour in config.behaviours:
        recorded = []
        with progress(f"calls of {behaviour} in {config.env.id}", config.calls) as on_progress:
            for call in record(config.env, behaviour, config.calls, config.seed, config.split):
                recorded.append(call)
                on_progress(len(recorded), "")
        folder, returns = write_set(config.folder, config.env, behaviour, recorded), [call.rewards.sum() for call in recorded]
        decisions = sum(len(call.actions) for call in recorded)
        log.info(f"{folder}: {decisions:,} decisions of {len(recorded):,} calls, mean return of a call {sum(returns) / len(returns):.3f}")


def sweep(config: SweepConfig) -> None:
    """Run the sweep; print the best agent's folder and values."""
    from vcgym.agents.sweeps.sweep import run_sweep

    best = run_sweep(config)
    values = f"learning_rate={best.learning_rate:.3g} ent_coef={best.ent_coef:.3g}"
    log.info(f"{best.agent}: {values}: validation return {best.return_mean:.3f}")
