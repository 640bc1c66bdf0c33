"""What will check a session's work: stop hooks after a turn, gates once its agent calls it done.

Each check is a line that the agent is told, with the command that is run where there is one.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.sessions import Charge
from hookline.domain.submissions import GateSettings, Submission
from hookline.errors import HookFailure
from hookline.flows.gate_commands import RUNNERS, runner_line
from hookline.flows.gating import BEFORE_MERGE, BEFORE_SUBMIT, PINS
from hookline.flows.merged_tests import RUN_TESTS, testers
from hookline.flows.outward import OF_PULL_REQUESTS
from hookline.flows.prompts import code, one_line
from hookline.hooks.names import short_name
from hookline.hooks.overrides import overrides
from hookline.hooks.resolution import Worker, gatekeepers

if TYPE_CHECKING:
    from collections.abc import Iterable

    from hookline.domain.runs import Run
    from hookline.flows.effects import Surroundings
    from hookline.hooks.registry import Hook

# A list that is longer than this helps nobody.
MOST = 20
SHOWN = 300
_PLAIN = {
    "evidence": "a promise counts only if the checks passed after your last edit",
    "create_pr": "a pull request is opened for you",
    "secrets": "your changes must contain no credentials",
    "ci_status": "the CI checks of the pull request must pass",
}
_LIMITS = {"files": "changed files", "lines": "changed lines", "bytes": "bytes of changes"}


class ChecksAhead:
    """The checks of one session's work, as its configuration has them now."""

    def __init__(self, around: Surroundings, run: Run) -> None:
        self._around = around
        self._charge = msgspec.convert(run.input, Charge)
        self._settings = msgspec.convert(run.pins.get(PINS, {}), GateSettings)
        with around.store.read() as view:
            task = view.graph.find(self._charge.task_id)
            self._overridden = {each.hook for each in overrides(view, self._charge.task_id)}
        self._worker = Worker(self._charge.agent, task.type if task else None)

    async def find(self) -> dict[str, Any]:
        """Lines for `stop` hooks and for `gates` in order, and what is `frozen`."""
        stop = [line for hook in self._hooks("stop") if (line := await self._line(hook))]
        if self._charge.branch is None:
            return {"stop": stop[:MOST]}
        hooks = [*self._hooks(BEFORE_SUBMIT), *self._hooks(BEFORE_MERGE)]
        gates = [line for hook in hooks if (line := await self._line(hook))]
        return {
            "stop": stop[:MOST],
            "gates": [*gates[:MOST], *await self._merged()],
            **frozen_by(hooks, self._around),
            "uncommitted": self._settings.uncommitted,
        }

    def _hooks(self, point: str) -> list[Hook]:
        agent, task_type = self._worker
        found = self._around.standing.hooks_at(point, agent=agent, task_type=task_type)
        left_out = OF_PULL_REQUESTS if self._charge.skip_pr else frozenset()
        return [
            hook
            for hook in self._around.recorder.enabled(found)
            if hook.name not in self._overridden
            and not (hook.kind == "built-in" and hook.target in left_out)
        ]

    async def _line(self, hook: Hook) -> str | None:
        """A check in a line; None where there is nothing to tell the agent."""
        said = await self._built_in(hook) if hook.kind == "built-in" else _own(hook)
        if said is None:
            return None
        name = hook.target if hook.kind == "built-in" else short_name(hook.name)
        when = f" (only when {one_line(hook.when, SHOWN)})" if hook.when else ""
        return f"{one_line(name, SHOWN)}: {said}{when}"

    async def _built_in(self, hook: Hook) -> str | None:
        if hook.target in RUNNERS:
            return await self._tested(hook)
        if hook.target == "rebase_on_main":
            return f"your commits are rebased onto {self._charge.base}"
        if hook.target == "gatekeeper":
            return f"review of your diff against this task, by {self._reviewers(hook)}"
        if hook.target == "human":
            asked = _argument(hook, "question", None)
            return f"a person decides{f': {one_line(asked, SHOWN)}' if asked else ''}"
        if hook.target == "reviews":
            return f"people must approve the pull request ({_argument(hook, 'approvals', 1)})"
        if hook.target == "diff_limits":
            given = [(_argument(hook, name, None), what) for name, what in _LIMITS.items()]
            most = ", ".join(f"{number} {what}" for number, what in given if number is not None)
            return f"at most {most}" if most else None
        return _PLAIN.get(hook.target)

    async def _tested(self, hook: Hook) -> str:
        try:
            line = await self._command(hook)
        except HookFailure as problem:
            return f"fails now: {one_line(str(problem), SHOWN)}"
        if line is not None:
            return code(line)
        return f"the project's own {'tests' if hook.target == RUN_TESTS else 'linter'}, if any"

    async def _command(self, hook: Hook) -> str | None:
        return await runner_line(hook, str(self._charge.worktree), self._around)

    def _reviewers(self, hook: Hook) -> str:
        named = [
            each.name if each.profiles == (each.name,) else f"{each.name} ({profiles})"
            for each in gatekeepers(hook, self._worker)
            if (profiles := ", ".join(each.profiles))
        ]
        return one_line(", ".join(named) or "nobody yet", SHOWN)

    async def _merged(self) -> list[str]:
        """What tests the result of the merge; nothing where nothing does."""
        charge = self._charge
        work = Submission(
            task_id=charge.task_id,
            worktree=str(charge.worktree),
            branch=str(charge.branch),
            base=str(charge.base),
            agent=self._worker.agent,
            task_type=self._worker.task_type,
        )
        hooks = testers(self._around.standing, self._around.recorder, work, self._settings.test)
        lines: list[str] = []
        for hook in hooks:
            with suppress(HookFailure):  # the gate tells of it, or the merge
                line = await self._command(hook)
                lines += [code(line)] if line is not None else []
        return [f"merge: the merged result must pass {each}" for each in lines]


def frozen_by(hooks: Iterable[Hook], around: Surroundings) -> dict[str, Any]:
    """What gates and trust do not let an agent change."""
    return {
        "frozen": [each for hook in hooks for each in _argument(hook, "forbid", [])][:MOST],
        "trusted": around.merge_trust() is not None,
    }


def _own(hook: Hook) -> str | None:
    """A check that is not built in."""
    if hook.kind in ("command", "script", "python"):
        return code(hook.target)
    return {"http": "a web service is asked", "agent": "an agent is asked"}.get(hook.kind)


def _argument(hook: Hook, name: str, otherwise: Any) -> Any:
    if hook.kind != "built-in":
        return otherwise
    return (hook.metadata.get("arguments") or {}).get(name, otherwise)
