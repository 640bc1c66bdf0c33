"""What will check a session's work: stop hooks after a turn, gates once its agent calls it done.

Each check is told in a line, or with a block where it runs a command of several lines.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from hookline.domain.hooks.names import short_name
from hookline.domain.text.display import line_of
from hookline.domain.work.submissions import OF_PULL_REQUESTS, Submission
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates.commands import RUNNERS, runner_line
from hookline.hooks.gates.reports import command_of
from hookline.hooks.gates.resolution import Authorship, gatekeepers
from hookline.hooks.kinds import declares
from hookline.hooks.told_commands import (
    ELSEWHERE,
    can_tell,
    named_command,
    told_inline,
    with_command,
)
from hookline.pipeline.gated_work import BEFORE_MERGE, BEFORE_SUBMIT, settings_of, work_input
from hookline.pipeline.repository.merged_tests import RUN_TESTS, testers
from hookline.project import path_here
from hookline.sessions.point_calls import hooks_at, overridden
from hookline.sessions.spending import authors
from hookline.sessions.told.done_means import CHECKED, EVIDENCE
from hookline.tasks.work_record import is_excused

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hookline.domain.runs.model import Run
    from hookline.flows.attempt import Surroundings
    from hookline.hooks.registry import Hook
    from hookline.sessions.requests import ChecksTold

# Longer lists do not help.
MOST = 20
SHOWN = 300
_PLAIN = {
    "rebase_on_main": "done for you, except conflicts",
    "create_pr": "done for you",
    "secrets": "no credentials",
    "ci_status": "CI must pass",
}
_LIMITS = ("files", "lines", "bytes")


# These do something to the work, and reject nothing that is wrong with it.
_STEPS = ("rebase_on_main", "create_pr")


class _Check(NamedTuple):
    """A check, what it does, and the command with which the agent can run it."""

    name: str
    said: str
    command: str | None = None

    @property
    def line(self) -> str:
        lead = f"{self.name}: {self.said}".rstrip()
        return with_command(lead, self.command) if self.command else lead


class ChecksAhead:
    """The checks of one task's work, as its configuration has them now.

    Those `of_parts` are told without the values of variables, which differ from task to task.
    """

    def __init__(self, around: Surroundings, run: Run, *, of_parts: bool = False) -> None:
        self._around = around
        self._given = given = work_input(run)
        self._folder = path_here(around.root, given.worktree or "")
        self._settings = settings_of(run)
        self._overridden = overridden(around, given.task_id)
        with around.store.read() as view:
            task, before = view.graph.find(given.task_id), authors(view, given.task_id)
            excused = task is not None and is_excused(view, task)
        self._expects_changes = not excused
        self._worker = Authorship(given.agent, task.type if task else None, before)
        self._values: dict[str, str] = (
            {}
            if of_parts
            else {
                "task_id": given.task_id,
                "task_type": self._worker.task_type or "",
                "agent": given.agent or "",
                "branch": given.branch or "",
                "base_branch": given.base or "",
                "worktree": self._folder if given.worktree else "",
                "project": around.root,
            }
        )

    async def find(self) -> ChecksTold:
        """Lines for `stop` hooks and for `gates` in order, and what is `frozen`.

        `commands` are those of the gates that the agent can run, `others` the gates that it cannot.
        """
        hooks = self._hooks("stop")
        stop = await self._checks(hooks)
        found: ChecksTold = {"stop": [each.line for each in stop]}
        if proofs := {hook.target for hook in hooks} & {CHECKED, EVIDENCE}:
            found["proof"] = EVIDENCE if EVIDENCE in proofs else CHECKED
            is_judged_later = found["proof"] == CHECKED and self._given.branch is not None
            found["changes"] = self._expects_changes and not is_judged_later
        if self._given.branch is None:
            runnable = any(each.command for each in stop)
            return {**found, "runnable": runnable, **frozen_by((), self._around)}
        hooks = [*self._hooks(BEFORE_SUBMIT), *self._hooks(BEFORE_MERGE)]
        gates = [*await self._checks(hooks), *await self._merged()]
        others = [each for each in gates if not each.command and each.name not in _STEPS]
        return {
            **found,
            "gates": [each.line for each in gates],
            "commands": list(dict.fromkeys(each.command for each in gates if each.command)),
            "others": [f"{each.name} ({each.said})" for each in others],
            "runnable": any(each.command for each in (*stop, *gates)),
            **frozen_by(hooks, self._around),
            "uncommitted": self._settings.uncommitted,
        }

    def _hooks(self, point: str) -> list[Hook]:
        found = hooks_at(self._around, point, self._worker.agent, self._worker.task_type)
        left_out = OF_PULL_REQUESTS if self._given.skip_pr else frozenset()
        wanted = (hook for hook in found if hook.target not in left_out)
        return [hook for hook in wanted if hook.name not in self._overridden]

    async def _checks(self, hooks: Sequence[Hook]) -> list[_Check]:
        found = [await self._check(hook) for hook in hooks]
        return [check for check in found if check is not None][:MOST]

    async def _check(self, hook: Hook) -> _Check | None:
        """A check as it is told; None where there is nothing to tell the agent."""
        is_built_in = hook.kind == "built-in"
        command: str | None = None
        said: str | None
        try:
            command = self._runnable(hook, await self._found(hook))
        except HookFailure as problem:
            said = f"fails now: {line_of(str(problem), SHOWN)}"
        else:
            told = self._built_in(hook) if is_built_in else _own(hook)
            said = "" if command else told
        if said is None:
            return None
        name = line_of(hook.target if is_built_in else short_name(hook.name), SHOWN)
        when = f"only when {line_of(hook.when, SHOWN)}" if hook.when else ""
        if command:
            return _Check(f"{name} ({when})" if when else name, "", command)
        return _Check(name, f"{said} ({when})" if when else said)

    def _runnable(self, hook: Hook, found: str | None) -> str | None:
        """The command of a gate, where the agent can run it and is shown all of it."""
        command = command_of(hook, self._values, found)
        return command if command is not None and can_tell(command) else None

    async def _found(self, hook: Hook) -> str | None:
        """The line of a gate that finds its command."""
        if hook.kind != "built-in" or hook.target not in RUNNERS:
            return None
        around = self._around
        return await runner_line(hook, self._folder, around.processes, around.environ)

    def _built_in(self, hook: Hook) -> str | None:
        if hook.target in RUNNERS:
            if (line := _argument(hook, "command", None)) is not None:
                return _only_there(line)
            return f"the project's own {'tests' if hook.target == RUN_TESTS else 'linter'}, if any"
        if hook.target == "gatekeeper":
            return f"review by {self._reviewers(hook)}"
        if hook.target == "human":
            asked = _argument(hook, "question", None)
            return f"a person decides{f': {line_of(asked, SHOWN)}' if asked else ''}"
        if hook.target == "reviews":
            count = _argument(hook, "approvals", 1)
            return f"{'a person' if count == 1 else f'{count} people'} must approve"
        if hook.target == "diff_limits":
            given = [(_argument(hook, name, None), name) for name in _LIMITS]
            most = ", ".join(f"{number} {what}" for number, what in given if number is not None)
            return f"at most {most}" if most else None
        return _PLAIN.get(hook.target)

    def _reviewers(self, hook: Hook) -> str:
        named = [
            each.name if each.profiles == (each.name,) else f"{each.name} ({profiles})"
            for each in gatekeepers(hook, self._worker)
            if (profiles := ", ".join(each.profiles))
        ]
        return line_of(", ".join(named) or "nobody yet", SHOWN)

    async def _merged(self) -> list[_Check]:
        """What tests the result of the merge; nothing where nothing does."""
        given = self._given
        work = Submission(
            task_id=given.task_id,
            worktree=str(given.worktree),
            branch=str(given.branch),
            base=str(given.base),
            agent=self._worker.agent,
            task_type=self._worker.task_type,
        )
        found: list[_Check] = []
        for hook in testers(self._around, work, self._settings.test):
            with suppress(HookFailure):  # the gate tells about it, or the merge
                line = await self._found(hook)
                command = self._runnable(hook, line)
                if line is not None:
                    said = "" if command else f" {self._built_in(hook)}"
                    found.append(_Check("merge", f"the merged result must pass{said}", command))
        return found


def frozen_by(hooks: Iterable[Hook], around: Surroundings) -> ChecksTold:
    """What gates and trust forbid an agent to change."""
    forbidden = [each for hook in hooks for each in _argument(hook, "forbid", [])]
    told: ChecksTold = {"frozen": forbidden[:MOST], "trusted": around.merge_trust() is not None}
    return {**told, "files": around.frozen()[:MOST]}


def _own(hook: Hook) -> str:
    """A check that is not built in, and that the agent cannot run."""
    if hook.kind == "command":
        return _only_there(hook.target)
    return str(declares(hook.kind, "TOLD_AS", "a check of the project is asked"))


def _only_there(line: str) -> str:
    """A command that the agent is not told to run."""
    if not can_tell(line):
        return ELSEWHERE
    shown = named_command(line).name if told_inline(line) else ELSEWHERE
    return f"{shown}, which only the gate can run"


def _argument(hook: Hook, name: str, otherwise: Any) -> Any:
    if hook.kind != "built-in":
        return otherwise
    return (hook.metadata.get("arguments") or {}).get(name, otherwise)
