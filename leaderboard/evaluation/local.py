"""Local agents: a user's own policy is matched to a suite and tried once on each scenario before any call is played."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.plays.play import Play
from vcgym.leaderboard.evaluation.published import AGENT_ENV, NOT_PLAYED, PATHS_ENVS, LocalAgent
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.refusal import shown

FORMS = ("relative", "discrete", "continuous")


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
        suite: suite to play, in the environment of the policy's training, or if it names none in the first that plays the suite.
        parts: parts of the suite (`vcgym.leaderboard.evaluation.suites.prepare`).
        options: arguments of the environment, as in training. They precede those of the policy's attribute `options`, and these the ones
            that its action space carries (`vcgym.agents.sb3`); without `action` the form follows from the action space.

    Raises:
        ValueError: the policy does not fit the observations or actions of a scenario, was trained in another environment, or fails.
    """
    own = OwnPolicy(acts)
    trained = own.made_with or {"env": env_of(suite), "options": {}}
    env = trained["env"]
    named = {**getattr(acts, "options", {}), **(options or {})}
    if chosen := sorted(NOT_PLAYED - {"reward"} & named.keys()):
        raise ValueError(f"agent_options has {', '.join(chosen)}, which suite {suite.name} chooses; allowed: other arguments of {env}")
    if env not in suite.envs:
        raise ValueError(f"agent was trained in {env}; allowed on suite {suite.name}: agents of {', '.join(suite.envs)}")
    given = {**trained["options"], **named}
    complete = EnvConfig(id=env, options=given).options
    given = {name: complete[name] for name in given if name not in NOT_PLAYED}
    opened = {(part.scenario, part.mode): (part, scenario) for part, scenario in parts}
    if own.action_space is not None and "action" not in given:
        given["action"] = _form(own, env, given, suite.play, next(iter(opened.values())))
    if env not in PATHS_ENVS and own.reads != "features":
        given["observation"] = own.reads
    agent = LocalAgent(own, env, tuple(sorted(given.items())))
    for part, scenario in opened.values():
        _try(agent, suite.play, part, scenario)
    return agent


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
    for form in FORMS:
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
        if agent.own.action_space is not None and agent.own.action_space != envs.single_action_space:
            form = dict(agent.arguments).get("action")
            raise ValueError(f"it acts in {agent.own.action_space}, action={form} here takes {envs.single_action_space}")
        observation, _ = envs.reset(seed=0)
        actions, _ = agent.own.predict(observation)
        envs.step(actions)
    except Exception as error:  # user code may raise anything
        why = f"{type(error).__name__} {shown(str(error), 160)[1:-1]}"
        raise ValueError(f"agent cannot play {part.scenario}, mode {part.mode}: {why}") from error
    finally:
        envs.close()
