"""Testing what the base would become: by `gates.test`, the `run_tests` gates, or what is found.

The gate `run_tests` does it, in a checkout of the merged result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.digest import sha256
from hookline.domain.answers import GateAnswer
from hookline.domain.records import OK
from hookline.domain.submissions import MERGE, NO_TEST, Submission
from hookline.errors import HookFailure
from hookline.flows.judged import gate_payload
from hookline.hooks.builtin.gates_runners import TEST_RUNNERS
from hookline.hooks.builtin.test_runners import TEST_TIMEOUT, find_runner
from hookline.hooks.frames import Frame
from hookline.hooks.globs import glob_match
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.points import GATE

if TYPE_CHECKING:
    from collections.abc import Callable

    from hookline.domain.records import Outcome
    from hookline.domain.repository import Prepared
    from hookline.domain.runs import Run
    from hookline.domain.tasks import Task
    from hookline.flows.effects import Surroundings
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.standing import Standing

RUN_TESTS = "run_tests"
# Where `run_tests` may stand so that it also says what tests the merged result.
POINTS = ("before_submit", "before_merge")
SUCCESS, SKIP = "success", "skip"
# What the results of a task's merges were tested by, by their content; only the store tells.
TREES, KEPT_TREES = "hookline.tested-trees", 9


class MergedTest(msgspec.Struct, frozen=True):
    """What tested a merged result; `untested` says why nothing did, `failure` what failed."""

    by: list[str] = []
    untested: str | None = None
    failure: GateAnswer | None = None


def testers(
    standing: Standing, recorder: Recorder, work: Submission, test: str | None
) -> list[Hook]:
    """The gates that test a merged result; none where the configuration wants none."""
    if test == NO_TEST:
        return []
    if test is not None:
        return [_tester(test)]
    found: dict[bytes, Hook] = {}
    for point in POINTS:
        hooks = standing.hooks_at(point, agent=work.agent, task_type=work.task_type)
        for hook in recorder.enabled(hooks):
            if (hook.kind, hook.target) == ("built-in", RUN_TESTS):
                found.setdefault(msgspec.json.encode(hook.metadata.get("arguments")), hook)
    return list(found.values()) or [_tester(None)]


def _tester(command: str | None) -> Hook:
    arguments = {} if command is None else {"arguments": {"command": command}}
    return Hook(
        name="gates.test",
        points=POINTS,
        kind="built-in",
        target=RUN_TESTS,
        layer="project",
        origin="gates.test",
        timeout=TEST_TIMEOUT,
        metadata=arguments,
    )


def _is_found(hook: Hook) -> bool:
    """Whether the files of the work say what is run."""
    return (hook.metadata.get("arguments") or {}).get("command") is None


class MergedTests:
    """The tests of one merged result, in one checkout of it after the other."""

    def __init__(
        self, around: Surroundings, run: Run, task: Task, prepared: Prepared, key: str
    ) -> None:
        self._around = around
        self._work = msgspec.convert(run.input, Submission)
        self._task = task
        self._prepared = prepared
        self._key = key
        assert around.repository is not None
        self._repository = around.repository

    async def run_once(
        self, test: str | None, note: Callable[[dict[str, Any]], None]
    ) -> MergedTest:
        """Test the merged result, unless a merge of this task has tested the very same content."""
        name = await self._name(test)
        known = self._known()
        if name in known:
            return msgspec.convert(known[name], MergedTest)
        found = await self.run(test)
        if found.failure is None and found.by:
            note({**dict(list(known.items())[-KEPT_TREES:]), name: msgspec.to_builtins(found)})
        return found

    def _known(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        with self._around.store.read() as view:
            for run in view.runs.of_flow(MERGE):
                if run.input.get("taskId") == self._work.task_id:
                    found |= view.runs.value(run.run_id, TREES) or {}
        return found

    async def _name(self, test: str | None) -> str:
        """What decides how the tests end: the content of the result and of its base, and what
        is run."""
        hooks = testers(self._around.standing, self._around.recorder, self._work, test)
        trees = [
            await self._repository.tree_of(sha)
            for sha in (self._prepared.sha, self._prepared.base_head)
        ]
        asked = [hook.metadata.get("arguments") for hook in hooks]
        return str(sha256(msgspec.json.encode([trees, asked])).hexdigest())

    async def run(self, test: str | None) -> MergedTest:
        """Test the merged result. A HookFailure where nothing can be known."""
        hooks = testers(self._around.standing, self._around.recorder, self._work, test)
        if not hooks:
            return MergedTest(untested="`gates.test` is none")
        by: list[str] = []
        why: list[str] = []
        async with self._repository.scratch(self._prepared.sha) as folder:
            for hook in hooks:
                answer = await self._ask(hook, folder)
                if answer.status == SKIP and _is_found(hook):
                    await self._refuse_removed(hook)
                    why.append(answer.message)
                if answer.status == SUCCESS and _is_found(hook):
                    earlier = await self._replaced(answer)
                    answer = answer if earlier is None else await self._ask(earlier, folder)
                if answer.status not in (SUCCESS, SKIP):
                    return MergedTest(failure=answer)
                if answer.status == SUCCESS:
                    by.append(str(answer.context["command"]))
        return MergedTest(by, None if by else "; ".join(why))

    async def _refuse_removed(self, hook: Hook) -> None:
        """Work after which nothing is tested any more is for a person to let in."""
        async with self._repository.scratch(self._prepared.base_head) as folder:
            before = await self._call(hook, folder)
        if before.status == OK and before.answer.status == SKIP:
            return
        base = self._prepared.base
        raise HookFailure(
            f"{base} has tests, and nothing tests the merged result: the work removes them."
            " If that is right, say under `gates.test` what tests it"
        )

    async def _replaced(self, answer: GateAnswer) -> Hook | None:
        """What tested the base so far, where the work put something else in its place."""
        source, prepared = answer.context.get("source"), self._prepared
        changed = await self._repository.changed_between(prepared.base_head, prepared.sha)
        if not any(glob_match(name, pattern) for name in changed for pattern in _telling(source)):
            return None
        around = self._around
        async with self._repository.scratch(prepared.base_head) as folder:
            found = await find_runner(TEST_RUNNERS, folder, around.processes, around.environ)
        is_same = found is None or found.command == answer.context["command"]
        return None if found is None or is_same else _tester(found.command)

    async def _ask(self, hook: Hook, folder: str) -> GateAnswer:
        outcome = await self._call(hook, folder)
        if outcome.status != OK:
            raise HookFailure(f"the merged result: {outcome.error}")
        answer: GateAnswer = outcome.answer
        return answer

    async def _call(self, hook: Hook, folder: str) -> Outcome:
        prepared = self._prepared
        into = f"{prepared.base} at {prepared.base_head}"
        work = msgspec.structs.replace(self._work, worktree=folder)
        payload = gate_payload(work, self._task.goal, "", 0, {"mergedInto": into})
        # A condition is about the work; the result must pass whatever the work was.
        always = msgspec.structs.replace(hook, when=None)
        frame = Frame(POINTS[0], RULES[GATE], payload, self._key)
        return await self._around.recorder.call(always, frame, Unrecorded())


class Unrecorded:
    """The journal of the merge holds how it went."""

    def begin(self) -> None:
        """Whoever repeats the merge finds the process by its key."""

    def end(self, outcome: Outcome) -> None:
        """Nothing more."""


def _telling(source: Any) -> list[str]:
    """The files that decide that a row of the table counts, and none before it."""
    names: list[str] = []
    for row in TEST_RUNNERS:
        names += [row.file, *(line.file for line in row.lines if line.file is not None)]
        if row.file == source:
            break
    return names
