"""The hookline.yaml that `init` writes: what works here is live, the rest is a comment.

Commands come from tables, and folders only with plain names; all else is put into comments as one
line that can be printed.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from hookline.config.checks.budgets import unpriced
from hookline.config.detection import AGENTS
from hookline.domain.text.display import untrusted
from hookline.domain.text.excerpts import first_few
from hookline.queries.doctor.agents import suggested

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookline.hooks.runners.folder import Runner
    from hookline.operations.setup.survey import Survey
    from hookline.operations.setup.trial import TriedCommand
    from hookline.queries.doctor.agents import AgentAnswer

# The agents that report what they cost; a limit on money would never end the others.
REPORTS_MONEY = ("claude",)
_WIDTH = 100

_HEAD = """\
# What Hookline runs, and when. After a change: `hookline check`, then `hookline trust`.
# `hookline points` lists every point for hooks; `hookline why NAME` explains what a hook did.
version: 1
"""
_AGENTS = """\
# The agents on this machine, and the one to use. `permissions: read|work|full` limits it.
"""
_SESSION = """\
# A session ends when its work is done, when it needs a person, or at one of these limits.
"""
_VALIDATION = """\
# Checks of the agent's work, after each iteration. `hookline validate` runs them now.
"""
_STOP = "stop: [evidence]    # done is what is promised, checked and changed"
_LINT = "post_iteration:     # the agent reads what this prints"
_ATTENTION = """\
  # attention_needed:   # when something waits for you
  #   - {notify: desktop}
"""
_TYPES = """\
# Types of tasks, with their own agents and gates: `hookline task add GOAL --type feature`.
# task_types:
#   feature:
#     agents: {implementer: [AGENT]}
#     hooks: {before_submit: [rebase_on_main, run_tests, create_pr]}
"""


class _ListItem(NamedTuple):
    """A line of a list, and why it cannot be live."""

    line: str
    why_not: str | None


def configuration(found: Survey, trials: Sequence[TriedCommand] = ()) -> str:
    """The text of a new hookline.yaml for what was found and tried."""
    checks = _checks(found.tests, trials)
    blocks = (
        _HEAD,
        _agents(found),
        _session(found),
        _validation(checks, found.other_tests),
        _hooks(_linters(found.linters), unproven(found, trials)),
        _TYPES.replace("AGENT", _default(found) or "claude"),
    )
    return "\n".join(blocks)


def unproven(found: Survey, trials: Sequence[TriedCommand] = ()) -> str | None:
    """Why `evidence` could not prove an agent's work yet, and what counts instead; None if it can.

    What counts is what the preset `checked` asks for.
    """
    has_check = any(each.why_not is None for each in _checks(found.tests, trials))
    if found.version_control is not None:
        no_check = "no check is active: a promise counts if a file changed, and nothing proves it"
        return None if has_check else no_check
    if has_check:
        return "this is not a git repository: a promise counts if no check fails, changed or not"
    lacking = "no check is active and this is not a git repository"
    return f"{lacking}: the agent's promise is believed, without proof"


def _agents(found: Survey) -> str:
    default = _default(found)
    if default is None:
        names = [each.name for each in found.agents] or ["claude"]
        lines = "".join(f"  {name}: {AGENTS[name]}\n" for name in names)
        return _AGENTS + _commented(f"agent: {names[0]}\nagents:\n{lines}")
    lines = ""
    for agent in found.agents:
        if agent.is_startable:
            lines += f"  {agent.name}: {AGENTS[agent.name]}\n"
        else:
            lines += _comment(f"{agent.name}: {agent.problem}", 2)
            lines += f"  # {agent.name}: {AGENTS[agent.name]}\n"
    return f"{_AGENTS}agent: {default}\nagents:\n{lines}"


def chosen(found: Survey) -> AgentAnswer | None:
    """The agent to use: the first that is logged in, else one that may be, else any that starts.

    One whose login is unknown may use a provider that nobody chose.
    """
    ready = [each for each in found.startable if each.problem is None]
    logged_in = [each for each in ready if each.login == "in"]
    return next(iter(logged_in or ready or found.startable), None)


def _default(found: Survey) -> str | None:
    agent = chosen(found)
    return agent.name if agent is not None else None


def _session(found: Survey) -> str:
    """The limits; that on money only if no agent here would be refused for it."""
    limits = "iterations: 20, budget: {minutes: 120"
    silent = [each.name for each in found.startable if unpriced(each.name, suggested(each.name))]
    if _default(found) not in REPORTS_MONEY:
        return f"{_SESSION}session: {{{limits}}}}}\n"
    if not silent:
        return f"{_SESSION}session: {{{limits}, usd: 10}}}}\n"
    why = f"no `usd: 10`: it would refuse {first_few(silent, 3, ' and ')}, not knowing the cost"
    return f"{_SESSION}session: {{{limits}}}}}  # {why}\n"


# Tests


def _checks(runners: Sequence[Runner], trials: Sequence[TriedCommand]) -> list[_ListItem]:
    tried = {each.command: each for each in trials}
    found = []
    for runner, name in zip(runners, _names("tests", runners, alone="tests_pass"), strict=True):
        command = json.dumps(runner.command)
        line = f"- {{name: {name}, type: command, command: {command}, timeout: 10m}}"
        trial = tried.get(runner.command)
        found.append(_ListItem(_with_source(line, runner), _absent(runner) or _failed(trial)))
    return found


def _failed(trial: TriedCommand | None) -> str | None:
    if trial is None or trial.passed:
        return None
    return f"`{trial.command}` did not pass: {trial.told}"


def _validation(checks: list[_ListItem], others: Iterable[Runner]) -> str:
    also = [f"{each.command} ({each.source})" for each in others]
    note = _comment(f"Also found, and not used: {first_few(also, 3)}") if also else ""
    if not checks:
        example = '- {name: tests_pass, type: command, command: "make test", timeout: 10m}'
        checks = [_ListItem(example, "No tests were found; this is an example.")]
    return _VALIDATION + note + _list("validation:", checks)


# Hooks


def _linters(runners: Sequence[Runner]) -> list[_ListItem]:
    found = []
    for runner, name in zip(runners, _names("lint", runners, alone="lint"), strict=True):
        command = json.dumps(runner.command)
        line = f"- {{name: {name}, command: {command}, timeout: 2m, pipe_output: true}}"
        found.append(_ListItem(_with_source(line, runner), _absent(runner)))
    return found


def _hooks(linters: list[_ListItem], unproven: str | None) -> str:
    if not linters:
        example = '- {name: lint, command: "make lint", timeout: 2m, pipe_output: true}'
        linters = [_ListItem(example, "No linter was found; this is an example.")]
    stop = f"  {_STOP}\n"
    if unproven is not None:
        stop = f"{_comment(f'Not yet: {unproven}.', 2)}  # {_STOP}\n"
    lint = "".join(f"  {line}\n" for line in _list(_LINT, linters).splitlines())
    return f"hooks:\n{stop}{lint}{_ATTENTION}"


# What both lists share


def _names(prefix: str, runners: Sequence[Runner], *, alone: str) -> list[str]:
    """A name for each runner: of its folder, or its language."""
    if len(runners) == 1:
        return [alone]
    folders = [each.folder for each in runners]
    names = []
    for each in runners:
        is_one = each.folder and folders.count(each.folder) == 1
        parts = (prefix, each.folder.replace("/", "_"), "" if is_one else each.language)
        names.append("_".join(part for part in parts if part))
    is_clear = len(set(names)) == len(names)  # `a/b` and `a_b` are not
    return names if is_clear else [f"{prefix}_{number}" for number in range(1, len(names) + 1)]


def _with_source(line: str, runner: Runner) -> str:
    whole = f"{line}  # from {untrusted(runner.source)}"
    return whole if len(whole) < _WIDTH else line


def _absent(runner: Runner) -> str | None:
    return f"{runner.missing} is not on PATH" if runner.missing is not None else None


def _list(key: str, entries: list[_ListItem]) -> str:
    """A key with its entries; those that cannot be live are comments, and say why."""
    if all(each.why_not is not None for each in entries):
        reasons = dict.fromkeys(_comment(each.why_not or "") for each in entries)
        lines = "".join(f"  {each.line}\n" for each in entries)
        return "".join(reasons) + _commented(f"{key}\n{lines}")
    lines = ""
    for line, why_not in entries:
        lines += f"  {line}\n" if why_not is None else f"{_comment(why_not, 2)}  # {line}\n"
    return f"{key}\n{lines}"


def _comment(text: str, indent: int = 0) -> str:
    return f"{' ' * indent}# {untrusted(text)}\n"


def _commented(text: str) -> str:
    return "".join(f"# {line}\n" for line in text.splitlines())
