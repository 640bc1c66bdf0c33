"""Defaults that changed since a version: `hookline check` names those that touch a project.

Who trusted a configuration meant what it did then. So they are named until it is trusted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline.config.untested import RUN_TESTS, has_gates
from hookline.hooks.templates import OPTION
from hookline.points import DECIDE, GATE, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from hookline.config.settings import Settings
    from hookline.hooks.registry import Hook


class ChangedDefault(msgspec.Struct, frozen=True):
    """What was so without being said, what is so now, and what to do about it."""

    name: str
    since: str
    was: str
    now: str
    remedy: str


class _Change(NamedTuple):
    told: ChangedDefault
    touches: Callable[[Settings], bool]


def changed_defaults(settings: Settings, version: str) -> list[ChangedDefault]:
    """Those that a configuration relied on under an older version, such as 0.1."""
    return [
        change.told
        for change in _CHANGES
        if _numbers(version) < _numbers(change.told.since) and change.touches(settings)
    ]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _all_hooks(settings: Settings) -> Iterator[Hook]:
    yield from settings.hooks
    for scoped in (*settings.type_hooks.values(), *settings.agent_hooks.values()):
        for hooks in scoped.values():
            yield from hooks


def _is_unset(key: str) -> Callable[[Settings], bool]:
    """Whether work is merged here and `gates` does not say this."""
    return lambda settings: has_gates(settings) and key not in _given(settings)


def _given(settings: Settings) -> dict[str, object]:
    found: dict[str, object] = msgspec.json.decode(settings.raw_sections).get("gates", {})
    return found


def _has_tests_of_its_own(settings: Settings) -> bool:
    return "test" not in _given(settings) and any(
        hook.target == RUN_TESTS and (hook.metadata.get("arguments") or {}).get("command")
        for hook in _all_hooks(settings)
    )


def _has_programs_that_judge(settings: Settings) -> bool:
    return any(
        hook.kind in ("command", "script") and {GATE, DECIDE} & set(map(rule_of, hook.points))
        for hook in _all_hooks(settings)
    )


def _can_be_options(settings: Settings) -> bool:
    return any(problem.code == OPTION for problem in settings.problems)


_CHANGES = (
    _Change(
        ChangedDefault(
            "gates.without_commits",
            "0.2",
            "a task without commits was completed",
            "where its type has gates, it waits for a person, unless it is labelled review",
            "`gates: {without_commits: complete}` keeps it so",
        ),
        _is_unset("without_commits"),
    ),
    _Change(
        ChangedDefault(
            "gates.max_file",
            "0.2",
            "files of any size could be submitted",
            "a file above 5 MB is told to the agent and keeps the work back",
            "`gates: {max_file: 0}` keeps it so",
        ),
        _is_unset("max_file"),
    ),
    _Change(
        ChangedDefault(
            "gates.max_wait",
            "0.2",
            "a gate that no person decides could wait for ever",
            "after a day the work goes back to its agent",
            "`gates: {max_wait: 720h}` waits for 30 days, which is the most",
        ),
        _is_unset("max_wait"),
    ),
    _Change(
        ChangedDefault(
            "gates.base",
            "0.2",
            "work went into the branch that you had checked out",
            "it goes into the branch of the first task, whatever you check out later",
            "name the branch that you mean: `gates: {base: BRANCH}`",
        ),
        _is_unset("base"),
    ),
    _Change(
        ChangedDefault(
            "gates.test",
            "0.2",
            "the merged result was tested only by what the files of the project tell of",
            "the commands of run_tests test it, too",
            "`gates: {test: COMMAND}` names another test, `{test: none}` none",
        ),
        _has_tests_of_its_own,
    ),
    _Change(
        ChangedDefault(
            "submit",
            "0.2",
            "`hookline submit` in your own checkout committed what was not committed",
            "it takes what is committed, and names the rest",
            "commit before you submit",
        ),
        has_gates,
    ),
    _Change(
        ChangedDefault(
            "trusted files",
            "0.2",
            "work that changed hookline.yaml or what it names was merged, and then nothing ran",
            "it waits before it is merged",
            "`hookline trust --task T-12` shows the change and permits exactly that",
        ),
        has_gates,
    ),
    _Change(
        ChangedDefault(
            "task_types.TYPE.may_create",
            "0.2",
            "agents could create tasks of every type",
            "they create subtasks of their own task, of its type or of those listed",
            "list the others: `task_types: {TYPE: {may_create: [OTHER]}}`",
        ),
        lambda settings: bool(settings.sections.task_types),
    ),
    _Change(
        ChangedDefault(
            "verdicts",
            "0.2",
            "a program at a gate or stop hook that printed its verdict among other output passed",
            "it fails, and is told to print the JSON object alone",
            "print everything else to stderr",
        ),
        _has_programs_that_judge,
    ),
    _Change(
        ChangedDefault(
            "options",
            "0.2",
            "a value that begins with '-' was an option of the program that got it",
            "the hook or step fails",
            "`options: allow` at the hook or step keeps it so",
        ),
        _can_be_options,
    ),
)
