"""Effects that check an agent's work: validation, and what the work is as a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline import typed
from hookline.domain.runs.model import OK, JournalEffect, Resolution, Run
from hookline.domain.sessions.validation import ValidationRule
from hookline.flows.effects import EffectKind
from hookline.flows.outcomes import CUT
from hookline.hooks.followed import followed_files, steering_files
from hookline.hooks.validation import ValidationWorld, validate
from hookline.sessions.git_control import GitControl
from hookline.sessions.turns import session_environment
from hookline.tasks.task_runs import beside
from hookline.tasks.work_record import is_excused, start_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hookline.domain.payloads import ValidationResult
    from hookline.domain.work.repository import WorkState
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.ports.store import Transaction
    from hookline.sessions.run_files import RunFiles

CHECKED = "session_checked"
# So much of a rule's command tells it from others.
LONGEST_COMMAND = 500


class CheckEffects:
    """The kinds of effects that check what agents did."""

    def __init__(self, around: Surroundings, files: RunFiles) -> None:
        self._around, self._files = around, files
        self._control = GitControl(around)

    @property
    def kinds(self) -> Mapping[str, EffectKind]:
        """The table of these kinds."""
        return {
            "validate": EffectKind(self._validate, lambda attempt: [attempt.key], _cut),
            "work": EffectKind(self._work),
        }

    async def _validate(self, attempt: Attempt) -> Resolution:
        """Run validation rules; with a base, also the changes since, and if they are stable."""
        found, _ = await self._control.watch(attempt, lambda: self._checked(attempt))
        return found

    async def _checked(self, attempt: Attempt) -> Resolution:
        around, args, run = self._around, attempt.args, attempt.run
        env = {**attempt.environment, **session_environment(args["session"])}
        rules = typed.convert(args["rules"], list[ValidationRule])
        folder, base = self._files.folder(run), args["base"]
        known = None if base else self._files.known(run)
        before = known or (await around.work.state(folder) if rules or base else None)
        self._files.forget(run)
        world = ValidationWorld(
            folder, around.processes, env, verify=lambda line: around.verify_line(line, folder)
        )
        attempt.observe("validation_started", {"rules": [rule.name for rule in rules]})
        results = await validate(rules, world, args["output"])
        value: dict[str, Any] = {"results": msgspec.to_builtins(results)}
        attempt.observe("validation_ended", value)
        if base and before is not None:
            value["work"] = await self._compared(run, base, rules, before)

        def checked(tx: Transaction) -> None:
            if results and before is not None:
                found = _checks(args["session"], before, results)
                tx.append(CHECKED, run.run_id, around.clean(found))

        return Resolution(OK, value, also=checked)

    async def _compared(
        self, run: Run, base: str, rules: Sequence[ValidationRule], before: WorkState
    ) -> dict[str, Any]:
        """What changed since the work began, and whether the rules left it as it was."""
        folder = self._files.folder(run)
        after = await self._around.work.state(folder)
        followed = [name for rule in rules if rule.follow for name in _followed(folder, rule)]
        tree = await self._files.tree(run, base, followed)
        stable = after.fingerprint == before.fingerprint
        return {**tree, **self._known(run), "stable": stable}

    async def _work(self, attempt: Attempt) -> Resolution:
        """What the work began with as a tree, and what a task's branch has changed already."""
        run, began = attempt.run, None
        if run.input.get("branch") is not None:
            with self._around.store.read() as view:
                began = start_of(view, run.input["taskId"])
        tree = await self._files.tree(run, began)
        return Resolution(OK, {**tree, "tree": began or tree.get("tree")})

    def _known(self, run: Run) -> dict[str, Any]:
        """What the store knows about the work, and git does not."""
        with self._around.store.read() as view:
            task = view.graph.find(run.input["taskId"])
            other = beside(view, run, self._around.store.now())
            return {
                "excused": task is not None and is_excused(view, task),
                "gated": run.input.get("branch") is not None,
                "beside": other.input["name"] if other is not None else None,
            }


def _followed(folder: str, rule: ValidationRule) -> list[str]:
    line = rule.command or ""
    return [*followed_files(folder, line), *steering_files(folder, line)]


def _checks(
    session: Mapping[str, Any], seen: WorkState, results: Sequence[ValidationResult]
) -> dict[str, Any]:
    """What the log keeps of a validation, also where what its programs printed is pruned."""
    found = (msgspec.to_builtins(each) for each in results)
    checks = [
        {
            "name": each["ruleName"],
            "type": each["type"],
            "command": (each["command"] or "")[:LONGEST_COMMAND] or None,
            "passed": each["passed"],
            "exitCode": each["exitCode"],
            "durationMs": each["durationMs"],
        }
        for each in found
    ]
    return {"iteration": session["iteration"], "files": seen.fingerprint, "checks": checks}


def _cut(effect: JournalEffect, asked: int) -> Resolution:
    return Resolution(OK, {**CUT, "results": []})
