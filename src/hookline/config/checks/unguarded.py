"""Work that would be merged untested, or reviewed by its author alone: `check` warns about it.

Not among the problems that every command knows, because it depends on the files of the project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.config.checks.budgets import unpriced_budgets
from hookline.config.reading.problems import Mark, Problem, Problems
from hookline.domain.work.submissions import NO_TEST
from hookline.hooks.builtin import GATES
from hookline.hooks.builtin.gates.commands import shows_tests
from hookline.hooks.followed import followed_files
from hookline.hooks.gates.resolution import Authorship, gatekeepers
from hookline.hooks.registry import Hook, HookRegistry
from hookline.hooks.scopes import HookScopes
from hookline.points import HOLDING
from hookline.project import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.config.settings import Settings


RUN_TESTS = "run_tests"


def doubts(settings: Settings, root: str) -> list[Problem]:
    """What a valid configuration is warned of where it does not do what it seems to."""
    return [*untested(settings, root), *own_work(settings), *unpriced_budgets(settings)]


def untested(settings: Settings, root: str) -> list[Problem]:
    """A warning where nothing would test the merged result of some work."""
    gates = settings.sections.gates
    if settings.has_errors or not has_gates(settings):
        return []
    report = Problems()
    if gates.test == NO_TEST:
        _warn(report, "`gates.test` is none: nothing tests the merged result")
    elif gates.test is None and not shows_tests(root):
        lacking = list(_lacking(settings))
        if lacking:
            _warn(report, f"nothing tests the merged result of {', '.join(lacking)}")
    return report.problems


def _warn(report: Problems, message: str) -> None:
    help = "set a test: `gates: {test: make check}`, or `run_tests` under before_submit"
    consequence = "work that breaks what others have merged is merged anyway"
    report.warning("untested", Mark(CONFIG_NAME), message, help=help, consequence=consequence)


def has_gates(settings: Settings) -> bool:
    """Whether this configuration is about merging at all."""
    gates = settings.sections.gates
    return bool(
        gates != type(gates)()
        or settings.sections.task_types
        or set(GATES) & set(settings.points)
        or any(set(GATES) & set(own) for own in settings.agent_hooks.values())
    )


def configured_gates(settings: Settings) -> HookScopes:
    """The gates of a configuration, and which agents and types they apply to."""
    registry = HookRegistry(events=settings.events)
    for hook in settings.hooks:
        if not set(GATES).isdisjoint(hook.points):
            registry.add(hook)
    return HookScopes(registry, settings.points, settings.type_hooks, settings.agent_hooks)


def _lacking(settings: Settings) -> Iterator[str]:
    """The types and agents whose work no configured test covers."""
    gates = configured_gates(settings)
    scopes: dict[str, dict[str, str]] = {"tasks without a type": {}}
    scopes |= {f"type {name}": {"task_type": name} for name in settings.sections.task_types}
    scopes |= {f"agent {name}": {"agent": name} for name in settings.agent_hooks}
    for shown, scope in scopes.items():
        hooks = [h for at in HOLDING for h in gates.hooks_at(at, **scope)]
        if not any(hook.enabled and hook.target == RUN_TESTS for hook in hooks):
            yield shown


def own_work(settings: Settings) -> list[Problem]:
    """A warning for each agent whose work no other agent can review at a gate."""
    report = Problems()
    if settings.has_errors:
        return []
    gates = configured_gates(settings)
    for worker in _workers(settings):
        of = f"tasks of type {worker.task_type}" if worker.task_type else "tasks without a type"
        for point in HOLDING:
            hooks = gates.hooks_at(point, agent=worker.agent, task_type=worker.task_type)
            if any(hook.enabled and _is_own(hook, worker) for hook in hooks):
                report.warning(
                    "own-work",
                    Mark(CONFIG_NAME),
                    f"no other agent can review the work of {worker.agent} on {of} at {point}",
                    help="name another agent there: an agent cannot review its own work",
                    consequence="the gate fails, and the task waits for a person",
                )
    return report.problems


def _workers(settings: Settings) -> Iterator[Authorship]:
    """Who works on which tasks, where the configuration leaves no doubt."""
    sections = settings.sections
    only = list(sections.agents) if len(sections.agents) == 1 else []
    for name, kind in sections.task_types.items():
        for agent in kind.agents.implementer or only:
            yield Authorship(agent, name)
    yield from (Authorship(agent) for agent in only)


def _is_own(hook: Hook, worker: Authorship) -> bool:
    """Whether all who would be asked at a gate are the one who does the work."""
    if hook.kind == "agent":
        return hook.target == worker.agent
    named = gatekeepers(hook, worker)
    return (
        bool(named)
        and not any(each.profiles for each in named)
        and any(each.authors for each in named)
    )


def follows_nothing(settings: Settings, root: str) -> list[Problem]:
    """A warning for each rule whose `follow` changes nothing."""
    report = Problems()
    for rule in () if settings.has_errors else settings.sections.validation:
        if rule.follow and not followed_files(root, rule.command or ""):
            report.warning(
                "follow",
                Mark(CONFIG_NAME),
                f"`follow` of the rule '{rule.name}' changes nothing: its command names no test"
                " file that an agent may edit",
                help="it takes one plain command of a test runner: `pytest tests/test_a.py`",
            )
    return report.problems
