"""Work that would be merged untested: `hookline check` warns of it.

Not among the problems that every command knows, because it depends on the files of the project.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.config.problems import Mark, Report
from hookline.domain.submissions import NO_TEST
from hookline.hooks.builtin import GATES
from hookline.hooks.builtin.test_runners import tells_of_tests
from hookline.hooks.registry import HookRegistry
from hookline.hooks.standing import Standing
from hookline.project import CONFIG_NAME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.config.problems import Problem
    from hookline.config.settings import Settings

RUN_TESTS = "run_tests"


def untested(settings: Settings, root: str) -> list[Problem]:
    """A warning where nothing would test the merged result of some work."""
    gates = settings.sections.gates
    if settings.has_errors or not has_gates(settings):
        return []
    report = Report()
    if gates.test == NO_TEST:
        _warn(report, "`gates.test` is none: nothing tests the merged result")
    elif gates.test is None and not tells_of_tests(root):
        lacking = list(_lacking(settings))
        if lacking:
            _warn(report, f"nothing tests the merged result of {', '.join(lacking)}")
    return report.problems


def _warn(report: Report, message: str) -> None:
    report.warning(
        "untested",
        Mark(CONFIG_NAME),
        message,
        help="name what does: `gates: {test: make check}`, or `run_tests` under before_submit",
        consequence="work that passes alone and breaks what others merged is merged all the same",
    )


def has_gates(settings: Settings) -> bool:
    """Whether this configuration is about merging at all."""
    gates = settings.sections.gates
    return bool(
        gates != type(gates)()
        or settings.sections.task_types
        or set(GATES) & set(settings.points)
        or any(set(GATES) & set(own) for own in settings.agent_hooks.values())
    )


def _lacking(settings: Settings) -> Iterator[str]:
    """Whose work no configured tests would see."""
    registry = HookRegistry(events=settings.events)
    for hook in settings.hooks:
        if not set(GATES).isdisjoint(hook.points):
            registry.add(hook)
    standing = Standing(registry, settings.points, settings.type_hooks, settings.agent_hooks)
    scopes: dict[str, dict[str, str]] = {"tasks without a type": {}}
    scopes |= {f"type {name}": {"task_type": name} for name in settings.sections.task_types}
    scopes |= {f"agent {name}": {"agent": name} for name in settings.agent_hooks}
    for shown, scope in scopes.items():
        hooks = [
            h for at in ("before_submit", "before_merge") for h in standing.hooks_at(at, **scope)
        ]
        if not any(hook.enabled and hook.target == RUN_TESTS for hook in hooks):
            yield shown
