"""Who calls: a person, or an agent or a hook; and the commands that only people may use."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from hookline.errors import HooklineError, PeopleOnly
from hookline.project import find_project

# Agents and hooks; and what effects and sessions start, such as tests that an agent wrote.
MAX_ANCESTORS, MAX_VARIABLES = 64, 1 << 20
AGENT_VARIABLES = ("HOOKLINE_AGENT", "HOOKLINE_HOOK", "HOOKLINE_EFFECT_ID", "HOOKLINE_SESSION")
# Only what a session starts has both: its agent, and the checks of the agent's work.
_IN_SESSION = ("HOOKLINE_SESSION", "HOOKLINE_EFFECT_ID")
_OF_SESSION = ("HOOKLINE_RUN_ID", "HOOKLINE_TASK_ID", "HOOKLINE_ITERATION", "HOOKLINE_CLAIM_TOKEN")
_OF_HOOK = ("HOOKLINE_HOOK", "HOOKLINE_CAUSE", "HOOKLINE_DEPTH")
_IDENTITY = frozenset((*AGENT_VARIABLES, *_OF_SESSION, *_OF_HOOK, "HOOKLINE_DIR"))


def under_agent(environ: Mapping[str, str]) -> bool:
    """Whether this process was started by an agent or a hook, whatever it does to its variables."""
    return names_agent(environ) or names_agent(as_called(environ))


def as_called(environ: Mapping[str, str], folder: str | None = None) -> Mapping[str, str]:
    """The environment, with the agent and session that this process really belongs to.

    An agent can drop or replace its variables, but not those of the processes above it. Of these
    the outermost in a session counts, because an agent can also start a process with variables of
    its choice. One that cut itself off from those that started it is found while an agent's turn
    lasts, whose keeper is its parent then; after that, and under a hook, it is not.
    """
    above = list(_callers(folder or _folder(environ)))
    in_session = [each for each in above if is_in_session(each)]
    if not in_session and (names_agent(environ) or not above):
        return environ
    caller = in_session[-1] if in_session else above[0]
    # How deep hooks have called one another is counted from the nearest.
    hook = [name for name in _OF_HOOK if name in environ] if environ.get("HOOKLINE_HOOK") else ()
    return {**environ, **caller, **{name: environ[name] for name in hook}}


def is_in_session(environ: Mapping[str, str]) -> bool:
    """Whether an environment is that of a session's agent, or of a check of its work."""
    return all(environ.get(name) for name in _IN_SESSION)


def names_agent(environ: Mapping[str, str]) -> bool:
    """Whether an environment is that of an agent or a hook."""
    return any(environ.get(name) for name in AGENT_VARIABLES)


def _folder(environ: Mapping[str, str]) -> str | None:
    try:
        return find_project(os.getcwd(), environ).folder
    except (HooklineError, OSError):
        return None


def started_by_agent(pid: int, folder: str) -> bool:
    """Whether a process is an agent or a hook of a project, or has one of these above it."""
    return any(_callers(folder, pid))


def _callers(folder: str | None, pid: int | None = None) -> Iterator[dict[str, str]]:
    """The agents and hooks of this very project above this process, the nearest first.

    Of another process, it is looked at itself, too.
    """
    if folder is None:
        return
    for variables in _ancestors(os.getppid() if pid is None else pid):
        found = {name: value for name, _, value in variables if name in _IDENTITY}
        if names_agent(found) and _is_same(found.pop("HOOKLINE_DIR", ""), folder):
            yield {**found, "HOOKLINE_DIR": folder}


def _is_same(named: str, folder: str) -> bool:
    """Whether two paths are one folder: a link leads to the same project."""
    try:
        return named == os.path.abspath(folder) or os.path.samefile(named, folder)
    except (OSError, ValueError):
        return False


def _ancestors(pid: int) -> Iterator[list[tuple[str, str, str]]]:
    """The variables of a process and of those above it, the nearest first."""
    for _ in range(MAX_ANCESTORS):
        if pid <= 1:
            break
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                variables = os.fsdecode(file.read(MAX_VARIABLES)).split("\0")
            with open(f"/proc/{pid}/stat", "rb") as file:
                # The name of a program may hold blanks and parentheses.
                pid = int(file.read(4096).rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # another user's, gone, or no /proc at all
            break
        yield [each.partition("=") for each in variables]


def refuse_agents(environ: Mapping[str, str], command: str) -> None:
    """For the commands that only people may use."""
    if under_agent(environ):
        raise PeopleOnly(
            f"only a person can run `hookline {command}`; this runs under an agent or a hook"
        )
