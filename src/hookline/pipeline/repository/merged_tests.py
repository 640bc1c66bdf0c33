"""Tests the merged result: with `gates.test`, the `run_tests` gates, or the tests that are found.

The gate `run_tests` does it, in a checkout of the merged result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.digest import sha256
from hookline.domain.hooks.answers import GateAnswer
from hookline.domain.hooks.records import OK, Outcome
from hookline.domain.work.repository import FileChange
from hookline.domain.work.submissions import MERGE, NO_TEST, Submission
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates.checks import MERGED, MergedResult, Seen
from hookline.hooks.builtin.gates.commands import TEST_TIMEOUT, find_runner
from hookline.hooks.registry import Hook
from hookline.hooks.runners.search import TESTS, find_runners
from hookline.pipeline.repository.earlier_tests import (
    EARLIER_TESTS,
    edited_tests,
    followed_commands,
    put_back,
    with_base_tests,
)
from hookline.pipeline.repository.gate_calls import call_gate
from hookline.points import HOLDING
from hookline.sessions.point_calls import built_in_gates, overridden
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.runs.model import Run
    from hookline.domain.tasks import Task
    from hookline.domain.work.repository import Prepared
    from hookline.flows.attempt import Surroundings
    from hookline.pipeline.repository.effects import Workplace

RUN_TESTS = "run_tests"
# The name of the gate, and of the process, that tests a merged result.
KEY = "gates.test"
SUCCESS, SKIP = "success", "skip"
# What tested the results of a task's merges, by their content; kept in the store only.
TREES, KEPT_TREES = "hookline.tested-trees", 9


class MergedTest(msgspec.Struct, frozen=True):
    """What tested a merged result; `untested` says why nothing did, `failure` what failed."""

    by: list[str] = []
    untested: str | None = None
    failure: GateAnswer | None = None


def testers(around: Surroundings, work: Submission, test: str | None) -> list[Hook]:
    """The gates that test a merged result; none if the configuration says so."""
    if test == NO_TEST:
        return []
    if test is not None:
        return [_tester(test)]
    return built_in_gates(around, work, RUN_TESTS) or [_tester(None)]


def _tester(command: str | None) -> Hook:
    arguments = {} if command is None else {"arguments": {"command": command}}
    return Hook(
        name=KEY,
        points=HOLDING,
        kind="built-in",
        target=RUN_TESTS,
        layer="project",
        origin=KEY,
        timeout=TEST_TIMEOUT,
        metadata=arguments,
    )


def _is_found(hook: Hook) -> bool:
    """Whether the work's files say what to run."""
    return (hook.metadata.get("arguments") or {}).get("command") is None


class MergedTests:
    """Tests one merged result, gate by gate, each in its own checkout."""

    def __init__(
        self, place: Workplace, run: Run, task: Task, prepared: Prepared, key: str
    ) -> None:
        self._around, self._repository = place.around, place.repository
        self._work = typed.convert(run.input, Submission)
        self._task, self._prepared, self._key = task, prepared, key
        self._seen: Seen = "own" if place.is_yours(self._work) else "rebased"

    async def run_once(
        self, test: str | None, note: Callable[[dict[str, Any]], None]
    ) -> MergedTest:
        """Test the merged result, unless a merge of this task has tested the same content."""
        name = await self._name(test)
        known = self._known()
        if name in known:
            return typed.convert(known[name], MergedTest)
        found = await self.run(test)
        if found.failure is None and found.by:
            note({**dict(list(known.items())[-KEPT_TREES:]), name: msgspec.to_builtins(found)})
        return found

    def _known(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with self._around.store.read() as view:
            for run in runs_on(view, self._work.task_id, MERGE):
                found |= view.runs.value(run.run_id, TREES) or {}
        return found

    async def _name(self, test: str | None) -> str:
        """What the outcome depends on: the content of the result and of its base, and the tests."""
        both = (self._prepared.sha, self._prepared.base_head)
        trees = [await self._repository.tree_of(sha) for sha in both]
        hooks = testers(self._around, self._work, test)
        asked = [hook.metadata.get("arguments") for hook in hooks]
        return str(sha256(msgspec.json.encode([trees, asked])).hexdigest())

    async def run(self, test: str | None) -> MergedTest:
        """Test the merged result; HookFailure if the tests cannot run."""
        hooks = testers(self._around, self._work, test)
        if not hooks:
            return MergedTest(untested="`gates.test` is none")
        by: list[str] = []
        why: list[str] = []
        async with self._repository.scratch(self._prepared.sha, self._prepared.base_head) as folder:
            for hook in hooks:
                answer = await self._ask(hook, folder)
                if answer.status == SKIP and _is_found(hook):
                    await self._refuse_removed(hook)
                    why.append(answer.message)
                if answer.status == SUCCESS and _is_found(hook):
                    earlier = await self._replaced(answer, folder)
                    answer = answer if earlier is None else await self._ask(earlier, folder)
                if answer.status not in (SUCCESS, SKIP):
                    return MergedTest(failure=answer)
                if answer.status == SUCCESS:
                    by.append(str(answer.context["command"]))
            if (failure := await self._earlier(folder)) is not None:
                return MergedTest(failure=failure)
        return MergedTest(by, None if by else "; ".join(why))

    async def _earlier(self, folder: str) -> GateAnswer | None:
        """What fails with the base's version of tests that the work edits and rules follow."""
        prepared, around = self._prepared, self._around
        with around.store.read() as view:
            commands = followed_commands(view, self._work.task_id)
        if not commands or EARLIER_TESTS in overridden(around, self._work.task_id):
            return None
        changed = await self._repository.history.changed_between(prepared.base_head, prepared.sha)
        changes = [FileChange(name) for name in changed]
        for line in commands:
            names = [each.path for each in edited_tests(folder, [line], changes)]
            async with self._repository.scratch(prepared.base_head, prepared.base_head) as base:
                names = put_back(names, line, base, folder)
            answer = await self._ask(_tester(line), folder, "earlier") if names else None
            if answer is not None and answer.status not in (SUCCESS, SKIP):
                return with_base_tests(answer, names, prepared.base)
        return None

    async def _refuse_removed(self, hook: Hook) -> None:
        """Refuse work that removes the base's tests: only a person can accept that."""
        async with self._repository.scratch(
            self._prepared.base_head, self._prepared.base_head
        ) as folder:
            before = await self._call(hook, folder)
        if before.status == OK and before.answer.status == SKIP:
            return
        raise HookFailure(
            f"{self._prepared.base} has tests, and nothing tests the merged result: the work"
            " removes them. If that is right, say under `gates.test` what tests it"
        )

    async def _replaced(self, answer: GateAnswer, result: str) -> Hook | None:
        """What tested the base before the work replaced it."""
        around, prepared = self._around, self._prepared
        asked = find_runners(TESTS, result, around.environ.get("PATH")).asked
        changed = await self._repository.history.changed_between(prepared.base_head, prepared.sha)
        if not any(map(asked.covers, changed)):
            return None
        async with self._repository.scratch(prepared.base_head, prepared.base_head) as folder:
            found = await find_runner(TESTS, folder, around.processes, around.environ)
        is_same = found is None or found.line == answer.context["command"]
        return None if found is None or is_same else _tester(found.line)

    async def _ask(self, hook: Hook, folder: str, seen: Seen | None = None) -> GateAnswer:
        outcome = await self._call(hook, folder, seen)
        if outcome.status != OK:
            raise HookFailure(f"the merged result: {outcome.error}")
        answer: GateAnswer = outcome.answer
        return answer

    async def _call(self, hook: Hook, folder: str, seen: Seen | None = None) -> Outcome:
        prepared = self._prepared
        merged = MergedResult(prepared.base, prepared.base_head, seen or self._seen)
        work = msgspec.structs.replace(self._work, worktree=folder)
        # A condition is about the work; the result must pass in any case.
        always = msgspec.structs.replace(hook, when=None)
        goal, key = self._task.goal, self._key
        extra = {MERGED: msgspec.to_builtins(merged)}
        return await call_gate(self._around, always, work, goal, key, **extra)
