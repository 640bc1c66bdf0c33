"""What a failed turn means: whether the agent can be asked again later, or needs a person first.

Read from agents' own codes and from what their vendors send, never from what a model says.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple

from hookline.adapters.agents.known_agents import UNKNOWN, KnownAgent
from hookline.adapters.agents.lines import shown
from hookline.domain.sessions.turns import AgentProblem, AgentTurn, ModelWait

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.sessions.turns import ProblemKind


OVERLOADED = frozenset({429, 500, 502, 503, 504, 529})
_OVERLOADED = re.compile(
    r"overloaded|at capacity|high demand|rate.?limit|too many requests"
    r"|\b(?:status|error|code)\b:?\s+\(?(?:429|500|502|503|504|529)\b",
    re.IGNORECASE,
)
_USAGE_LIMIT = re.compile(
    r"usage.limit|hit your .{0,40}limit|limit reached.{0,20}resets", re.IGNORECASE
)
_UNREACHABLE = re.compile(
    r"connection (?:error|failed|refused|reset)|(?:could not|unable to|cannot) connect"
    r"|fetch failed|stream disconnected|E(?:CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT|AI_AGAIN)\b",
    re.IGNORECASE,
)
_EPOCH = re.compile(r"limit reached\|(\d{10})\b")
_MOMENT = re.compile(
    r"try again at (?:([A-Z][a-z]{2}) (\d{1,2})(?:st|nd|rd|th), (\d{4}) )?(\d{1,2}):(\d{2}) ([AP]M)"
)
# Such moments have no seconds, and one that has just passed is not tomorrow's.
GRACE = timedelta(minutes=5)


def model_wait(error: str, now: float | None = None) -> ModelWait | None:
    """The wait that an agent's error asks for, if it does."""
    if _USAGE_LIMIT.search(error):
        return ModelWait(kind="usage_limit", until=_until(error, now or time.time()))
    if _OVERLOADED.search(error):
        return ModelWait(kind="overloaded")
    return ModelWait(kind="unreachable") if _UNREACHABLE.search(error) else None


def _until(error: str, now: float) -> float | None:
    if epoch := _EPOCH.search(error):
        return float(epoch[1])
    told = _MOMENT.search(error)
    if told is None:
        return None
    today = datetime.fromtimestamp(now)
    month, day, year, *clock = told.groups()
    date = f"{month} {day} {year}" if month else today.strftime("%b %d %Y")
    try:
        moment = datetime.strptime(f"{date} {' '.join(clock)}", "%b %d %Y %I %M %p")
    except ValueError:
        return None
    if not month and moment < today - GRACE:
        moment += timedelta(days=1)
    return (moment + timedelta(minutes=1)).timestamp()


SHOWN = 200
# How a shell exits that cannot start a program: it is not there, or may not be started.
NOT_STARTED = (126, 127)
_LIMITED: Literal["usage_limit"] = "usage_limit"
_BUSY: Literal["overloaded"] = "overloaded"
_AWAY: Literal["unreachable"] = "unreachable"
_BY_STATUS: dict[int, ProblemKind] = {401: "key", 402: "credit", 403: "key", 404: "model"}
# How Google and OpenAI say with a 429 that an account is empty, where the agent drops their code.
# Of Google, and of others who borrowed them, the second words also mean a limit that resets.
_EMPTY = re.compile(
    r"credits are depleted"
    r"|exceeded your current quota, please check your plan and billing details"
    r"(?!.*(?:rate.limit|retry in|quota exceeded for|aliyun|alibaba))",
    re.IGNORECASE | re.DOTALL,
)
# The codes of agents and vendors, in any case of letters.
_PROBLEMS: dict[str, ProblemKind] = {
    **dict.fromkeys(
        (
            "account_on_hold",
            "api_key_invalid",
            "authentication",
            "authentication_error",
            "authorization",
            "cloud_credential_error",
            "invalid_api_key",
            "oauth_org_not_allowed",
            "permission_error",
            "policy",
            "unauthorized",
            "verification_required",
        ),
        "key",
    ),
    "authentication_failed": "login",
    **dict.fromkeys(("billing_error", "insufficient_quota", "quota"), "credit"),
    **dict.fromkeys(("model_not_found", "not_found_error"), "model"),
    "sandbox_error": "sandbox",
}
_WAITS: dict[str, Literal["usage_limit", "overloaded", "unreachable"]] = {
    **dict.fromkeys(("usage_limit_exceeded", "usage_limit_reached"), _LIMITED),
    **dict.fromkeys(
        (
            "api_error",
            "internal_server_error",
            "overloaded",
            "overloaded_error",
            "rate_limit",
            "rate_limit_error",
            "rate_limit_exceeded",
            "server_error",
            "server_overloaded",
        ),
        _BUSY,
    ),
    **dict.fromkeys(("connection_failed", "http_connection_failed"), _AWAY),
}


class FailedRequest(NamedTuple):
    """What is known of a request to a model that failed: words, an HTTP status, a code."""

    said: str
    status: int | None = None
    code: str | None = None


class Cause(NamedTuple):
    """Why a turn failed: a problem for a person, or something to wait for; neither if unknown."""

    problem: AgentProblem | None = None
    wait: ModelWait | None = None


def cause_of(agent: KnownAgent, failed: FailedRequest) -> Cause:
    """What a failed request means; codes come first, then the status, then the agent's words."""
    code, status = (failed.code or "").lower(), failed.status
    kind = _PROBLEMS.get(code) or _BY_STATUS.get(status or 0)
    if status == 429 and _EMPTY.search(failed.said):
        kind = "credit"
    if kind == "login" and status is not None:  # something was sent, and refused
        kind = "key"
    if kind is not None:
        number = f"{status}: " if status is not None else ""
        return Cause(problem=problem(agent, kind, f"{number}{failed.said}"))
    return Cause(wait=_wait(code, status, failed.said))


def _wait(code: str, status: int | None, said: str) -> ModelWait | None:
    told = model_wait(said)
    if told is not None and told.kind == _LIMITED:  # words say until when
        return told
    if _WAITS.get(code) == _LIMITED:
        return ModelWait(kind=_LIMITED)
    if status in OVERLOADED:
        return ModelWait(kind=_BUSY)
    return ModelWait(kind=_WAITS[code]) if code in _WAITS else told


def unable(found: AgentProblem) -> AgentTurn:
    """The turn of an agent that cannot even begin."""
    return AgentTurn(error=found.told, problem=found, stop_reason="error")


# In words


def problem(agent: KnownAgent, kind: ProblemKind, said: str, hint: str = "") -> AgentProblem:
    """A problem of an agent in sentences: what is wrong, and what repairs it."""
    why = shown(said, SHOWN).rstrip(". ")
    about = f" ({why})" if why else ""
    say = _WORDS[kind]
    message, help, command = say(agent, about, hint)
    return AgentProblem(kind=kind, message=message, help=help, command=command)


def outdated(agent: KnownAgent, version: str) -> AgentProblem:
    """An agent that is older than all that Hookline can talk to."""
    least = ".".join(map(str, agent.minimum))
    return AgentProblem(
        kind="outdated",
        message=f"{agent.title} {version} is too old: Hookline needs {least} or newer",
        help=f"Update it with `{agent.install}@latest`",
        command=f"{agent.install}@latest",
    )


def _missing(agent: KnownAgent, about: str, hint: str) -> _Words:
    how = f"Install it with `{agent.install}`" if agent.install else "Install it"
    help = f"{how}, or correct `command:` of that agent in hookline.yaml"
    return _Words(f"{agent.title} cannot be started{about}", help, agent.install)


def _login(agent: KnownAgent, about: str, hint: str) -> _Words:
    more = "" if "not logged in" in about.lower() else about
    message = f"{agent.title} is not logged in{more}"
    return _Words(message, _log_in(agent, hint, "set"), agent.login)


def _key(agent: KnownAgent, about: str, hint: str) -> _Words:
    message = f"The key or login of {_inner(agent)} was refused{about}"
    return _Words(message, _log_in(agent, hint, "correct"), agent.login)


def _log_in(agent: KnownAgent, hint: str, verb: str) -> str:
    if not agent.login:
        return f"Log in to it{f': {hint}' if hint else ''}"
    key = f", or {verb} {agent.variable}" if agent.variable else ""
    return f"Log in with `{agent.login}`{key}"


def _credit(agent: KnownAgent, about: str, hint: str) -> _Words:
    message = f"The account of {_inner(agent)} has no credit left{about}"
    return _Words(message, "Add credit to it, or log in to another one", "")


def _model(agent: KnownAgent, about: str, hint: str) -> _Words:
    message = f"{agent.title} does not have the model, or may not use it{about}"
    return _Words(message, "Set `model:` of that agent in hookline.yaml to one that it has", "")


def _sandbox(agent: KnownAgent, about: str, hint: str) -> _Words:
    message = f"The sandbox of {_inner(agent)} cannot work here, so no command of it runs{about}"
    help = "If this machine is itself a sandbox, set `permissions: full` for that agent"
    return _Words(message, hint or help, "")


def _inner(agent: KnownAgent) -> str:
    """Its name inside a sentence."""
    return "the agent" if agent is UNKNOWN else agent.title


class _Words(NamedTuple):
    message: str
    help: str
    command: str


_WORDS: dict[ProblemKind, Callable[[KnownAgent, str, str], _Words]] = {
    "missing": _missing,
    "login": _login,
    "key": _key,
    "credit": _credit,
    "model": _model,
    "sandbox": _sandbox,
}
