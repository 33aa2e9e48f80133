"""Local agents: a user's own policy is matched to a suite and tried once on each scenario before any call is played."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from traceback import walk_tb
from typing import Any

from pydantic import ValidationError

from vcgym.agents.config.env import EnvConfig
from vcgym.agents.evaluation.own_policy import OwnPolicy
from vcgym.agents.evaluation.saved_model import Normaliser
from vcgym.envs import without_difficulty
from vcgym.leaderboard.evaluation.kinds.kind import Kind
from vcgym.leaderboard.evaluation.part import Part
from vcgym.leaderboard.evaluation.published import NOT_PLAYED, PATHS_ENVS, LocalAgent
from vcgym.leaderboard.evaluation.suites import Suite
from vcgym.network.scenarios.splits import unlock_test_split
from vcgym.network.traces.refusal import faults, one_line, shown

FORMS = ("relative_discrete", "relative_continuous", "relative", "discrete", "continuous")


def env_of(suite: Suite) -> str:
    """Return the id of the environment in which submitted agents play a suite, and a policy that names none.

    Raises:
        ValueError: no agent can play it.
    """
    if not suite.kind.env_ids:
        raise ValueError(f"suite {suite.name}-{suite.version} has no calls that an agent controls alone; allowed there: systems of rules")
    return suite.kind.env_ids[0]


def local_agent(
    acts: Any, suite: Suite, parts: Iterable[tuple[Part, Any]], options: Mapping[str, Any] | None = None, found: Normaliser | None = None
) -> LocalAgent:
    """Return a user's policy as a participant of a suite, after a trial on each scenario.

    Args:
        acts: see `OwnPolicy`.
        suite: suite to play, in the environment of the policy's training; of one that names none, in that whose spaces it has, and of a
            function in the first that plays the suite.
        parts: parts of the suite (`vcgym.leaderboard.evaluation.suites.prepare`).
        options: arguments of the environment, as in training. They precede those of the policy's attribute `options`, and these the ones
            that its action space carries; without `action` the form follows from the action space. Two more: `env_id`, the environment;
            `normalize`, for a saved model, the file of its VecNormalize, or None if it had none.
        found: file of a normaliser beside a saved model, used without `normalize`.

    Raises:
        ValueError: the policy does not fit the observations or actions of a scenario, was trained in another environment, or fails.
    """
    default = env_of(suite)
    own = OwnPolicy(acts)
    named = {**getattr(acts, "options", {}), **(options or {})}
    file, env_id = _normaliser(named, found), named.pop("env_id", getattr(acts, "env_id", None))
    if isinstance(env_id, str):
        env_id, named = without_difficulty(env_id, named)
    if chosen := sorted(NOT_PLAYED - {"reward"} & named.keys()):
        raise ValueError(f"agent_options has {', '.join(chosen)}, which suite {suite.name} chooses; allowed: other arguments of its calls")
    opened = {(part.scenario, part.mode): (part, scenario) for part, scenario in parts}
    first = next(iter(opened.values()))
    env = _environment(own, env_id, suite) or _fitting(own, named, suite, first) or default
    given = _arguments(env, {**(own.made_with or {"options": {}})["options"], **named})
    if own.action_space is not None and "action" not in given:
        given["action"] = _form(own, env, given, suite.kind, first)
    own.reads = given.pop("observation", own.reads)
    if env not in PATHS_ENVS and own.reads != "features":
        given["observation"] = own.reads
    agent = LocalAgent(own, env, tuple(sorted(given.items())))
    with closing(suite.kind.envs(agent, *first, own.reads)) as envs:
        own.complete(envs.single_observation_space, file)
    for part, scenario in opened.values():
        _try(agent, suite.kind, part, scenario)
    return agent


def _normaliser(named: dict[str, Any], found: Normaliser | None) -> Normaliser | None:
    """Take `normalize` from the arguments of the environment."""
    if "normalize" not in named:
        return found
    file = named.pop("normalize")
    if file is not None and not isinstance(file, str | Path):
        raise ValueError(f"normalize is {shown(file)}; allowed: the file that VecNormalize.save wrote, or null")
    return None if file is None else Normaliser(Path(os.path.expanduser(file)))


def _environment(own: OwnPolicy, env_id: Any, suite: Suite) -> str | None:
    """Return the id that the user or the policy names, or None.

    Raises:
        ValueError: no agent of it plays the suite, or the two differ.
    """
    trained = own.made_with["env"] if own.made_with else None
    for env, how in ((env_id, "agent_options has env_id"), (trained, "agent was trained in")):
        if env is not None and env not in suite.kind.env_ids:
            raise ValueError(f"{how} {env}; allowed on suite {suite.name}: agents of {', '.join(suite.kind.env_ids)}")
    if env_id is not None and trained not in (None, env_id):
        raise ValueError(f"agent_options has env_id {env_id}; allowed: {trained}, in which the agent was trained")
    return env_id or trained


def _fitting(own: OwnPolicy, named: Mapping[str, Any], suite: Suite, first: tuple[Part, Any]) -> str | None:
    """Return the first environment that has the policy's spaces, or None."""
    if own.action_space is None or own.observation_space is None:
        return None
    for env in suite.kind.env_ids:
        for _, observed, acts in _spaces(own, env, named, suite.kind, first):
            if acts == own.action_space and observed.shape == own.observation_space.shape:
                return env
    return None


def _arguments(env: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of an environment that are not the suite's.

    Raises:
        ValueError: it has no such argument.
    """
    try:
        complete = EnvConfig(id=env, options=dict(given)).options
    except ValidationError as error:
        raise ValueError(faults(error)) from error
    return {name: complete[name] for name in given if name not in NOT_PLAYED}


def _form(own: OwnPolicy, env: str, given: Mapping[str, Any], kind: Kind, first: tuple[Part, Any]) -> str:
    """Return the form of the action whose space equals the policy's."""
    forms = list(_spaces(own, env, given, kind, first))
    for form, _, space in forms:
        if space == own.action_space:
            return form
    allowed = ", ".join(f"{space} ({form})" for form, _, space in forms)
    raise ValueError(f"action space of the agent is {own.action_space}; allowed on {first[0].scenario}: {allowed}, of {env}")


def _spaces(
    own: OwnPolicy, env: str, given: Mapping[str, Any], kind: Kind, first: tuple[Part, Any]
) -> Iterator[tuple[str, Any, Any]]:  # fmt: skip
    """Yield each form of the action that an environment has, with the spaces of observations and actions."""
    for form in FORMS if "action" not in given else (given["action"],):
        agent = LocalAgent(own, env, tuple({**given, "action": form}.items()))
        try:
            envs = kind.envs(agent, *first, own.reads)
        except (ValueError, TypeError):  # the environment has no such form or argument
            continue
        yield form, envs.single_observation_space, envs.single_action_space
        envs.close()


@unlock_test_split()
def _try(agent: LocalAgent, kind: Kind, part: Part, scenario: Any) -> None:
    """Ask the policy for one decision on a scenario."""
    envs, wanted = kind.envs(agent, part, scenario, agent.own.reads), agent.own.observation_space
    try:
        if wanted is not None and wanted.shape != envs.single_observation_space.shape:
            relative = "; a policy of a relative action plays any number of paths" if agent.env in PATHS_ENVS else ""
            raise ValueError(f"it observes {wanted.shape} features, here are {envs.single_observation_space.shape}{relative}")
        if agent.own.action_space is not None and agent.own.action_space != envs.single_action_space:
            form = dict(agent.arguments).get("action")
            raise ValueError(f"it acts in {agent.own.action_space}, action={form} here takes {envs.single_action_space}")
        observation, _ = envs.reset(seed=0)
        actions, _ = agent.own.predict(observation)
        envs.step(actions)
    except Exception as error:  # user code may raise anything
        why = f"{type(error).__name__} {shown(one_line(str(error), 160), 160)[1:-1]}{_raised_at(error)}"
        said = _asked(agent, kind, part, scenario, envs) if wanted is None else ""
        raise ValueError(f"agent cannot play {part.scenario}, mode {part.mode}: {why}{said}") from error
    finally:
        envs.close()


def _raised_at(error: Exception) -> str:
    """Return file and line of the user's code that an error came from; "" if it came from none."""
    frames = [
        (frame.f_code.co_filename, line)
        for frame, line in walk_tb(error.__traceback__)
        if not frame.f_globals.get("__name__", "").startswith("vcgym.") and "site-packages" not in frame.f_code.co_filename
    ]
    lines = [line for file, line in frames if file == frames[0][0]]
    return f" ({Path(frames[0][0]).name}, line {lines[-1]})" if lines else ""


def _asked(agent: LocalAgent, kind: Kind, part: Part, scenario: Any, envs: Any) -> str:
    """Return what a policy without spaces was asked for, and how many numbers it would see in each form."""
    given = {name: value for name, value in agent.arguments if name != "action"}
    numbers: dict[Any, list[str]] = {}
    for form, observed, _ in _spaces(agent.own, agent.env, given, kind, (part, scenario)):
        numbers.setdefault(observed.shape, []).append(form)
    forms = "; ".join(f"{shape} numbers with action={' or '.join(of_shape)}" for shape, of_shape in numbers.items())
    asked = f"actions of {one_line(str(envs.action_space), 80)} on observations of one call, {envs.single_observation_space.shape} numbers"
    return f"; it was asked for {asked}; {agent.env} has {forms}; another environment: agent_options.NAME.env_id=ID"
