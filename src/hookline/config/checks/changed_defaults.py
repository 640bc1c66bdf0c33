"""Defaults that changed since a version: `hookline check` names those that touch a project.

Who trusted a configuration meant what it did then. So they are named until it is trusted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from hookline import typed
from hookline.config.checks.unguarded import RUN_TESTS, has_gates
from hookline.hooks.kinds import PROGRAM, declares
from hookline.hooks.language.templates import OPTION
from hookline.points import DECIDE, GATE, rule_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.config.settings import Settings


class ChangedDefault(msgspec.Struct, frozen=True):
    """What was so without being said, what is so now, and what to do about it."""

    name: str
    since: str
    was: str
    now: str
    remedy: str


class _GatesGiven(msgspec.Struct):
    """What the configuration says itself under `gates:`."""

    gates: dict[str, object] = {}


class _Change(NamedTuple):
    touches: Callable[[Settings], bool]
    name: str
    was: str
    now: str
    remedy: str
    since: str = "0.2"

    @property
    def told(self) -> ChangedDefault:
        return ChangedDefault(self.name, self.since, self.was, self.now, self.remedy)


def changed_defaults(settings: Settings, version: str) -> list[ChangedDefault]:
    """Those that a configuration relied on under an older version, such as 0.1."""
    return [
        change.told
        for change in _CHANGES
        if _numbers(version) < _numbers(change.since) and change.touches(settings)
    ]


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:2])


def _is_unset(key: str) -> Callable[[Settings], bool]:
    """Whether work is merged here and `gates` does not say this."""
    return lambda settings: has_gates(settings) and key not in _given(settings)


def _given(settings: Settings) -> dict[str, object]:
    return typed.decode(settings.raw_sections, _GatesGiven).gates


def _has_tests_of_its_own(settings: Settings) -> bool:
    return "test" not in _given(settings) and any(
        hook.target == RUN_TESTS and (hook.metadata.get("arguments") or {}).get("command")
        for hook in settings.all_hooks
    )


def _has_programs_that_judge(settings: Settings) -> bool:
    return any(
        declares(hook.kind, "SPEAKS_AS") == PROGRAM
        and {GATE, DECIDE} & set(map(rule_of, hook.points))
        for hook in settings.all_hooks
    )


_CHANGES = (
    _Change(
        lambda settings: "stop" not in settings.points,
        "hooks.stop",
        "without stop hooks a promise, or passing checks alone, completed a session",
        "a session completes on a promise, if no check fails and, in git, a file has changed",
        "`hooks: {stop: [default]}` keeps the old behaviour",
    ),
    _Change(
        _is_unset("without_commits"),
        "gates.without_commits",
        "a task without commits was completed",
        "where its type has gates, it waits for a person, unless it is labelled review",
        "`gates: {without_commits: complete}` keeps the old behaviour",
    ),
    _Change(
        _is_unset("max_file"),
        "gates.max_file",
        "files of any size could be submitted",
        "a file above 5 MB is reported to the agent and stops the submission",
        "`gates: {max_file: 0}` keeps the old behaviour",
    ),
    _Change(
        _is_unset("max_wait"),
        "gates.max_wait",
        "a gate that no person decides could wait forever",
        "after a day the work goes back to its agent",
        "`gates: {max_wait: 720h}` waits for 30 days, the maximum",
    ),
    _Change(
        _is_unset("base"),
        "gates.base",
        "work went into the branch that you had checked out",
        "it goes into the branch of the first task, whatever you check out later",
        "to use another branch, set `gates: {base: BRANCH}`",
    ),
    _Change(
        _has_tests_of_its_own,
        "gates.test",
        "only the test command found in the project's files tested the merged result",
        "the commands of run_tests also test it",
        "`gates: {test: COMMAND}` sets another test, `{test: none}` turns it off",
    ),
    _Change(
        has_gates,
        "submit",
        "`hookline submit` in your own checkout committed your uncommitted changes",
        "it submits only what is committed, and lists the rest",
        "commit before you submit",
    ),
    _Change(
        has_gates,
        "trusted files",
        "work that changed hookline.yaml or files it names was merged, and hooks stopped running",
        "it waits for your approval before it is merged",
        "`hookline trust --task T-12` shows the change and trusts exactly that",
    ),
    _Change(
        lambda settings: bool(settings.sections.task_types),
        "task_types.TYPE.may_create",
        "agents could create tasks of every type",
        "they can only create subtasks of their own task, of its type or of a listed type",
        "list the others: `task_types: {TYPE: {may_create: [OTHER]}}`",
    ),
    _Change(
        _has_programs_that_judge,
        "verdicts",
        "a program at a gate or stop hook that printed its verdict among other output passed",
        "it fails, and the error says to print only the JSON object",
        "print everything else to stderr",
    ),
    _Change(
        lambda settings: any(problem.code == OPTION for problem in settings.problems),
        "options",
        "a program could read a value that begins with '-' as an option",
        "the hook or step fails",
        "`options: allow` at the hook or step keeps the old behaviour",
    ),
)
