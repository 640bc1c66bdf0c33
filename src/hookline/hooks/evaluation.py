"""Whether an agent's loop may end: rules run first, then both groups of stop hooks decide.

Hooks see the results of this very evaluation, and files as git sees them; what the agent says
about its files is only recorded.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from hookline import typed
from hookline.digest import sha256
from hookline.domain.payloads import AgentContext, ValidationResult
from hookline.domain.sessions.promises import find_promises
from hookline.domain.work.repository import WorkState, WorkTree
from hookline.errors import BadInput
from hookline.hooks.calls.firing import Firing, fire
from hookline.hooks.registered import STOP, both, decide
from hookline.tasks import checkpoints, loops

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.domain.hooks.answers import StopDecision
    from hookline.domain.sessions.validation import ValidationRule
    from hookline.hooks.calls.record import Recorder
    from hookline.hooks.registry import Hook
    from hookline.ports.store import Blobs, Transaction
    from hookline.ports.work import Work
    from hookline.tasks.loops import Loop, LoopFinding

MAX_FILES = 1000
MAX_TEXT = 32 * 1024
MAX_METADATA = 64 * 1024
SIGNALS: dict[str, loops.Signal] = {
    "complete": "COMPLETE",
    "continue": "CONTINUE",
    "escalate": "ESCALATE",
}


class AgentReport(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent says about its iteration."""

    agent_output: str = ""
    files_modified: tuple[str, ...] = ()
    draft_content: str | None = None
    draft_type: str | None = None


class Groups(NamedTuple):
    """The stop hooks that the project configures, and those that the agent registered."""

    configured: Sequence[Hook] = ()
    registered: Sequence[Hook] = ()


class ProjectFiles(NamedTuple):
    """The project's files as git sees them, and how they were; states are kept as blobs."""

    work: Work
    root: str
    blobs: Blobs

    async def state(self) -> WorkState:
        """The files as they are now."""
        return await self.work.state(self.root)

    async def tree(self, base: str | None = None) -> WorkTree:
        """Their content, and how it differs from a tree of before."""
        return await self.work.tree(self.root, base)

    def keep(self, state: WorkState) -> str:
        """Keep a state; the name it is known by later."""
        return self.blobs.put(msgspec.json.encode(state))

    async def since(self, kept: str | None, now: WorkState) -> list[str]:
        """The files that changed since a state that was kept."""
        if kept is None:  # a loop that an older version began
            return []
        before = typed.decode(self.blobs.get(kept), WorkState)
        return await self.work.between(self.root, before, now)


class Senses(NamedTuple):
    """How an evaluation learns what was done: by the rules, and by git."""

    validate: Callable[[Sequence[ValidationRule], str], Awaitable[list[ValidationResult]]]
    files: ProjectFiles


class LoopVerdict(NamedTuple):
    """The result of an evaluation, ready to be recorded."""

    finding: LoopFinding
    checkpoint: dict[str, Any] | None


class Evaluator:
    """Evaluates iterations of loops."""

    def __init__(self, recorder: Recorder, senses: Senses, now: Callable[[], str]) -> None:
        self._recorder, self._senses, self._now = recorder, senses, now

    async def evaluate(
        self,
        loop: Loop,
        rules: Sequence[ValidationRule],
        groups: Groups,
        report: AgentReport,
        **more: Any,
    ) -> LoopVerdict:
        """Run the rules, ask the hooks, and say what that means; `more` is shown to hooks too."""
        seen = self._senses.files
        before = await seen.state()
        results = await self._senses.validate(rules, report.agent_output)
        after = await seen.state()
        tree = await seen.tree(loop.plan.base_tree)
        files = await seen.since(loop.state, after)
        context = msgspec.to_builtins(self._context(loop, results, files, report))
        stable = tree.in_repository and before.fingerprint == after.fingerprint
        payload = {**context, **more, "work": {**msgspec.to_builtins(tree), "stable": stable}}
        decision = await self._ask(loop, groups, payload)
        finding = loops.LoopFinding(
            iteration=loop.iteration,
            signal=SIGNALS[decision.action],
            decision=_kept(decision),
            results=tuple(context["validationResults"]),
            promises=tuple(context["completionPromises"]),
            files_modified=tuple(files[:MAX_FILES]),
            files_reported=report.files_modified[:MAX_FILES],
            output=sha256(report.agent_output.encode()).hexdigest(),
            fingerprint=tree.tree,
            state=seen.keep(after),
            git_error=tree.error,
        )
        return LoopVerdict(finding, decision.checkpoint_data)

    def _context(
        self, loop: Loop, results: list[ValidationResult], files: list[str], report: AgentReport
    ) -> AgentContext:
        # That it is not done, or needs help, counts whether the loop was started with it or not.
        always = ("CONTINUE", "BLOCKED", "ESCALATE")
        wanted = tuple(dict.fromkeys((*loop.plan.completion_promises, *always)))
        return AgentContext(
            task_id=loop.task_id,
            iteration=loop.iteration,
            execution_phase=loop.plan.execution_phase,
            files_modified=tuple(files),
            validation_results=tuple(results),
            completion_promises=tuple(find_promises(report.agent_output, wanted, self._now())),
            agent_output=report.agent_output,
            draft_content=report.draft_content,
            draft_type=report.draft_type,
        )

    async def _ask(self, loop: Loop, groups: Groups, payload: dict[str, Any]) -> StopDecision:
        configured = await self._group(loop, "configured", groups.configured, payload)
        registered = await self._group(loop, "registered", groups.registered, payload)
        return both(configured, registered)

    async def _group(
        self, loop: Loop, name: str, hooks: Sequence[Hook], payload: dict[str, Any]
    ) -> StopDecision | None:
        asked = self._recorder.enabled(hooks)
        if not asked:
            return None
        call, title = os.urandom(6).hex(), f"{loop.id}/{loop.iteration} {name}"
        keys = {hook.name: f"{loop.id}:{call}:{place}" for place, hook in enumerate(asked)}
        firing = Firing(STOP, payload, loop.task_id, title, lambda hook: keys[hook.name])
        return decide(await fire(self._recorder, firing, asked))


def record(tx: Transaction, loop: Loop, verdict: LoopVerdict) -> tuple[Loop, bool]:
    """Record a verdict, and the checkpoint that a hook asked for; (the loop, whether made)."""
    finding, made = verdict.finding, False
    if verdict.checkpoint is not None:
        try:
            with tx.nested():
                checkpoints.create_from(tx, loop.task_id, verdict.checkpoint)
            made = True
        except BadInput as problem:  # the decision holds; what happened to its wish is said
            metadata = {**finding.decision["metadata"], "checkpointError": problem.message}
            decision = {**finding.decision, "metadata": metadata}
            finding = msgspec.structs.replace(finding, decision=decision)
    return loops.validated(tx, loop.id, finding), made


def _kept(decision: StopDecision) -> dict[str, Any]:
    """A decision as it is answered and recorded, within bounds."""
    size = len(msgspec.json.encode(decision.metadata))
    cut = {"truncated": True, "bytes": size}
    return {
        "hookId": decision.hook_id or "default",
        "action": decision.action,
        "reason": decision.reason[:MAX_TEXT],
        "nextPrompt": decision.next_prompt and decision.next_prompt[:MAX_TEXT],
        "metadata": decision.metadata if size <= MAX_METADATA else cut,
    }
