"""Reports what the gates found on the work's pull request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.hooks.names import short_name
from hookline.domain.hooks.records import OK, Outcome
from hookline.domain.sessions.promises import without_promises
from hookline.domain.text.display import line_of
from hookline.domain.work.forge import ForgeError, Remark
from hookline.domain.work.repository import RepositoryError
from hookline.flows import journal
from hookline.hooks.builtin.gates.branch import MARK, changes_made
from hookline.hooks.gates.reports import JUDGED
from hookline.hooks.gates.verdicts import verdicts
from hookline.pipeline.repository.earlier_tests import edited_tests, followed_commands
from hookline.points import HOLDING
from hookline.project import path_here
from hookline.sessions.spending import WholeCost, cost_of, turns_of
from hookline.tasks.task_runs import runs_on

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hookline.domain.tasks import Task
    from hookline.flows.attempt import Attempt, Surroundings
    from hookline.hooks.rules import Called
    from hookline.ports.store import View
    from hookline.ports.work import Forge

GATEKEEPER = "gatekeeper"
WORDS = {"success": "passed", "failure": "failed", "skip": "skipped"}
MAX_DONE = 4000


class ForgeReports:
    """Reports to the forge what was done and found, and each gatekeeper's verdict once."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._told: dict[int, str] = {}

    async def tell(
        self, attempt: Attempt, called: Sequence[Called], answer: dict[str, Any]
    ) -> None:
        """Report after gates were asked; if the forge is not available, the next time."""
        payload, point = attempt.args["payload"], attempt.args["point"]
        known = (answer.get("context") or {}).get("pr_number")
        number = known or payload.get("extra", {}).get("pr_number")
        if point not in HOLDING or not isinstance(number, int) or self._around.forge is None:
            return
        try:
            await self._update(number, payload, called)
            await self._comment(number, attempt, called)
        except (ForgeError, RepositoryError) as problem:
            data = {"message": f"the pull request could not be updated: {problem.message}"}
            self._around.change(lambda tx: tx.append("run_log", payload["task_id"], data))

    async def _update(
        self, number: int, payload: Mapping[str, Any], called: Sequence[Called]
    ) -> None:
        changes = await self._changes(payload)
        with self._around.store.read() as view:
            text = self._page(view, view.graph.task(payload["task_id"]), called, changes)
        if self._told.get(number) == text:
            return
        forge = self._forge
        pull = await forge.pull_request(number)
        above = pull.body.partition(MARK)[0].rstrip()
        if pull.state == "open":
            await forge.update_pull_request(number, body=f"{above}\n\n{MARK}\n\n{text}")
        self._told[number] = text

    async def _changes(self, payload: Mapping[str, Any]) -> str:
        around, base = self._around, payload["base_branch"]
        folder = path_here(around.root, payload["worktree"])
        if around.repository is None:
            return ""
        history = around.repository.history
        made = await changes_made(history, folder, base, around.clean)
        with around.store.read() as view:
            commands = followed_commands(view, payload["task_id"])
        if not commands:
            return made
        edited = edited_tests(folder, commands, await history.changes(folder, base))
        lines = [f"- {each.path}: +{each.added} -{each.removed}" for each in edited]
        title = "## Edited tests\n\nChecks follow these files, and the work edits them:"
        return "\n".join([f"{made}\n\n{title}\n", *lines]) if lines else made

    def _page(self, view: View, task: Task, called: Sequence[Called], changes: str) -> str:
        done = self._last_words(view, task.id)[:MAX_DONE]
        found = list(evidence(view, task.id, called))
        cost = list(_costs(cost_of(turns_of(view, task.id))))
        parts = [
            f"## What was done\n\n{done}" if done else "",
            changes,
            "## Evidence\n\n" + "\n".join(found) if found else "",
            "## Cost\n\n" + "\n".join(cost) if cost else "",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _last_words(self, view: View, task_id: str) -> str:
        """What the agent said at the end of its last turn in which it did more than promise."""
        turns = [
            effect
            for run in runs_on(view, task_id)
            for effect in view.runs.effects(run)
            if effect.kind == "agent" and effect.resolved_seq is not None
        ]
        for turn in sorted(turns, key=lambda each: each.resolved_seq or 0, reverse=True):
            value = journal.inside(turn.value, self._around.blobs)
            text = value.get("text") if isinstance(value, dict) else None
            if said := without_promises(str(text or "")).strip():
                return said
        return ""

    async def _comment(self, number: int, attempt: Attempt, called: Sequence[Called]) -> None:
        run, effect = attempt.run, attempt.effect
        for hook, outcome in called:
            if hook.target != GATEKEEPER or outcome.status != OK:
                continue
            pull = await self._forge.pull_request(number)
            for said in outcome.answer.context.get("gatekeepers", ()):
                key = f"{run.run_id}/{run.chapter}/{effect.effect_id}/{hook.name}/{said['name']}"
                head = str(outcome.answer.context.get(JUDGED))
                text, remarks = _verdict(said, head[:12]), list(_remarks(said))
                await self._forge.comment(pull, text, key=key, head=head, remarks=remarks)

    @property
    def _forge(self) -> Forge:
        assert self._around.forge is not None
        return self._around.forge()


def evidence(view: View, task_id: str, called: Sequence[Called]) -> Iterator[str]:
    """The last verdict of each gate on the work, those just asked included."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for each in verdicts(view, task_id):
        if each.run is not None and each.hook is not None and each.point in HOLDING:
            found[each.point, each.hook] = (each.status, each.message)
    for hook, outcome in called:
        point = next((each for each in hook.points if each in HOLDING), HOLDING[0])
        found[point, hook.name] = _meaning(outcome)
    for (point, name), (status, message) in found.items():
        if status in WORDS:
            yield f"- {short_name(name)} ({point}) {WORDS[status]}: {line_of(message)}"


def _costs(cost: WholeCost) -> Iterator[str]:
    """What each agent used in each role, as far as agents report it."""
    for each in cost.roles:
        price = f", ${each.usd:.2f}" if each.usd is not None else ""
        if each.tokens or price:
            turns = "1 turn" if each.turns == 1 else f"{each.turns} turns"
            turns += f" ({each.unfinished} interrupted)" if each.unfinished else ""
            yield f"- {each.role} {each.agent}: {turns}, {each.tokens} tokens{price}"


def _meaning(outcome: Outcome) -> tuple[str, str]:
    if outcome.status == OK:
        return outcome.answer.status, outcome.answer.message
    return "failure", outcome.error or "it failed"


def _verdict(said: dict[str, Any], head: str) -> str:
    does = "approves" if said["verdict"] == "approve" else "asks for changes to"
    lines = [f"Gatekeeper {said['name']} (agent {said['agent']}) {does} {head}.", said["summary"]]
    return "\n\n".join(line for line in lines if line)


def _remarks(said: dict[str, Any]) -> Iterator[Remark]:
    """A gatekeeper's comments, each with its file and line, and whether it blocks."""
    for each in said.get("comments", ()):
        weight = {True: "blocking: ", False: "optional: "}.get(each.get("blocking"), "")
        if each["comment"]:
            path = (each.get("file") or "").removeprefix("./") or None
            yield Remark(f"{weight}{each['comment']}", path, each.get("line"))
