"""Local agents: a user's own policy is matched to a suite and tried once on each scenario before any call is played."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vcgym.agents.config.env import EnvConfig, env_defaults
from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.envs import VERSIONS
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import Play
from vcgym.leaderboard.evaluation.published import AGENT_ENV, ORDER_ENV, RATE_ENV, LocalAgent
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.refusal import shown

FORMS = ("relative", "discrete", "continuous")
NEWEST_FORMS = ("relative_discrete", "relative_continuous")  # of ids of version 1
_CHOSEN = {"scenario", "mode", "packets", "burst", "tau_ms", "traces", "threads", "max_episode_steps", "seconds", "send_queue", "uplink"}


def env_of(suite: Suite) -> str:
    """Return the id of the environment in which agents play a suite.

    Raises:
        ValueError: no agent can play it.
    """
    if not suite.envs:
        raise ValueError(f"suite {suite.name}-{suite.version} has no calls that an agent controls alone; allowed there: systems of rules")
    return suite.envs[0]


def local_agent(acts: Any, suite: Suite, parts: Iterable[tuple[Part, Any]], options: Mapping[str, Any] | None = None) -> LocalAgent:
    """Return a user's policy as a participant of a suite, after a trial on each scenario.

    Args:
        acts: see `OwnPolicy`.
        suite: suite to play, in its id of version 1 whose spaces are the policy's, else in `env_of(suite)`.
        parts: parts of the suite (`vcgym.leaderboard.evaluation.suites.prepare`).
        options: arguments of the environment, as in training, added to those of the policy's attribute `options`; without `action` its
            form follows from the policy's `action_space`.

    Raises:
        ValueError: the policy does not fit the observations or actions of a scenario, or it fails.
    """
    own, given = OwnPolicy(acts), {**getattr(acts, "options", {}), **(options or {})}
    opened = {(part.scenario, part.mode): (part, scenario) for part, scenario in parts}
    env = _newest(own, suite, given, next(iter(opened.values()))) or env_of(suite)
    if chosen := sorted(_CHOSEN & given.keys()):
        raise ValueError(f"agent_options has {', '.join(chosen)}, which suite {suite.name} chooses; allowed: other arguments of {env}")
    complete = EnvConfig(id=env, options=given).options
    given = {name: complete[name] for name in given}
    if own.action_space is not None and "action" not in given:
        given["action"] = _form(own, env, given, suite.play, next(iter(opened.values())))
    if env in (RATE_ENV, ORDER_ENV) and own.reads != "features":
        given["observation"] = own.reads
    agent = LocalAgent(own, env, tuple(sorted(given.items())))
    for part, scenario in opened.values():
        _try(agent, suite.play, part, scenario)
    return agent


def _newest(own: OwnPolicy, suite: Suite, given: Mapping[str, Any], first: tuple[Part, Any]) -> str | None:
    """Return the id of the suite, other than its first, whose spaces in a form without paths or slots of a queue are the policy's."""
    if own.action_space is None or "action" in given or "observation" in given:
        return None
    for env in [one for one in suite.envs if VERSIONS[one]]:
        known = {name: value for name, value in given.items() if name in env_defaults(env)}
        for form in NEWEST_FORMS:
            envs = suite.play.envs(LocalAgent(own, env, tuple({**known, "action": form}.items())), *first)
            observed, acted = envs.single_observation_space, envs.single_action_space
            envs.close()
            if acted == own.action_space and own.observation_space in (None, observed):
                return env
    return None


def _form(own: OwnPolicy, env: str, given: Mapping[str, Any], play: Play, first: tuple[Part, Any]) -> str:
    """Return the form of the action whose space equals the policy's."""
    spaces = dict(_spaces(own, env, given, play, first))
    for form, space in spaces.items():
        if space == own.action_space:
            return form
    allowed = ", ".join(f"{space} ({form})" for form, space in spaces.items())
    raise ValueError(f"action space of the agent is {own.action_space}; allowed on {first[0].scenario}: {allowed}")


def _spaces(
    own: OwnPolicy, env: str, given: Mapping[str, Any], play: Play, first: tuple[Part, Any]
) -> Iterator[tuple[str, Any]]:  # fmt: skip
    for form in NEWEST_FORMS if VERSIONS[env] else FORMS:
        agent = LocalAgent(own, env, tuple({**given, "action": form}.items()))
        try:
            envs = play.envs(agent, *first)
        except ValueError:  # the environment does not have this form
            continue
        yield form, envs.single_action_space
        envs.close()


@unlock_test_split()
def _try(agent: LocalAgent, play: Play, part: Part, scenario: Any) -> None:
    """Ask the policy for one decision on a scenario."""
    envs, wanted = play.envs(agent, part, scenario), agent.own.observation_space
    try:
        if wanted is not None and wanted.shape != envs.single_observation_space.shape:
            hint = "; a policy of action=relative plays any number of paths" if agent.env == AGENT_ENV else ""
            raise ValueError(f"it observes {wanted.shape} features, here are {envs.single_observation_space.shape}{hint}")
        observation, _ = envs.reset(seed=0)
        actions, _ = agent.own.predict(observation)
        envs.step(actions)
    except Exception as error:  # user code may raise anything
        why = f"{type(error).__name__} {shown(str(error), 160)[1:-1]}"
        raise ValueError(f"agent cannot play {part.scenario}, mode {part.mode}: {why}") from error
    finally:
        envs.close()
