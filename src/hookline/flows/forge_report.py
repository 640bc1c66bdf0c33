"""What the gates found, told where people look at the work: on its pull request."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from hookline.domain import sessions
from hookline.domain.forge import ForgeError, Remark
from hookline.domain.records import OK
from hookline.domain.submissions import MERGE, SUBMIT
from hookline.flows import journal, prompts
from hookline.flows.spending import cost_of, turns_of
from hookline.hooks.gate_reports import JUDGED
from hookline.hooks.names import short_name
from hookline.hooks.verdicts import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hookline.domain.records import Outcome
    from hookline.domain.runs import JournalEffect, Run
    from hookline.domain.tasks import Task
    from hookline.flows.effects import Surroundings
    from hookline.flows.spending import WholeCost
    from hookline.hooks.rules import Called
    from hookline.ports.store import Transaction, View
    from hookline.ports.work import Forge

# What stands below this line of a pull request's text is ours; what stands above it is kept.
MARK = "<!-- hookline: kept up to date from here on -->"
GATEKEEPER = "gatekeeper"
POINTS = ("before_submit", "before_merge")
WORDS = {"success": "passed", "failure": "failed", "skip": "skipped"}
MAX_DONE = 4000
_PROMISE = re.compile(r"</?promise>")


class ForgeReports:
    """Tells the forge what was done and found, and each verdict of a gatekeeper, once."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._told: dict[int, str] = {}

    async def tell(
        self, run: Run, effect: JournalEffect, called: Sequence[Called], answer: dict[str, Any]
    ) -> None:
        """After gates were asked; a forge that cannot be told now is told the next time."""
        payload, point = effect.args["payload"], effect.args["point"]
        known = (answer.get("context") or {}).get("pr_number")
        number = known or payload.get("extra", {}).get("pr_number")
        if point not in POINTS or not isinstance(number, int) or self._around.forge is None:
            return
        try:
            await self._update(number, payload["task_id"], called)
            await self._comment(number, run, effect, called)
        except ForgeError as problem:
            message = f"the pull request does not tell what was found: {problem.message}"

            def note(tx: Transaction) -> None:
                tx.append("run_log", payload["task_id"], {"message": message})

            self._around.change(note)

    async def _update(self, number: int, task_id: str, called: Sequence[Called]) -> None:
        with self._around.store.read() as view:
            text = self._page(view, view.graph.task(task_id), called)
        if self._told.get(number) == text:
            return
        forge = self._forge
        pull = await forge.pull_request(number)
        above = pull.body.partition(MARK)[0].rstrip()
        if pull.state == "open":
            await forge.update_pull_request(number, body=f"{above}\n\n{MARK}\n\n{text}")
        self._told[number] = text

    def _page(self, view: View, task: Task, called: Sequence[Called]) -> str:
        done = self._last_words(view, task.id)[:MAX_DONE]
        found = list(evidence(view, task.id, called))
        cost = list(_costs(cost_of(turns_of(view, task.id))))
        parts = [
            f"## What was done\n\n{done}" if done else "",
            "## Evidence\n\n" + "\n".join(found) if found else "",
            "## Cost\n\n" + "\n".join(cost) if cost else "",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def _last_words(self, view: View, task_id: str) -> str:
        """What the agent said at the end of its last turn on the task."""
        flows = (sessions.FLOW, SUBMIT, MERGE)
        runs = [r for flow in flows for r in view.runs.of_flow(flow)]
        turns = [
            effect
            for run in runs
            if run.input.get("taskId") == task_id
            for effect in view.runs.effects(run)
            if effect.kind == "agent" and effect.resolved_seq is not None
        ]
        for turn in sorted(turns, key=lambda each: each.resolved_seq or 0, reverse=True):
            value = journal.inside(turn.value, self._around.blobs)
            text = value.get("text") if isinstance(value, dict) else None
            if text and text.strip():
                return _PROMISE.sub("", text).strip()
        return ""

    async def _comment(
        self, number: int, run: Run, effect: JournalEffect, called: Sequence[Called]
    ) -> None:
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
    """The last word of each gate about the work, those just asked included."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    for each in verdicts(view, task_id):
        if each.run is not None and each.hook is not None and each.point in POINTS:
            found[each.point, each.hook] = (each.status, each.message)
    for hook, outcome in called:
        point = next((each for each in hook.points if each in POINTS), POINTS[0])
        found[point, hook.name] = _meaning(outcome)
    for (point, name), (status, message) in found.items():
        if status in WORDS:
            yield f"- {short_name(name)} ({point}) {WORDS[status]}: {prompts.one_line(message)}"


def _costs(cost: WholeCost) -> Iterator[str]:
    """What each agent used in each role, as far as agents tell it."""
    for each in cost.roles:
        price = f", ${each.usd:.2f}" if each.usd is not None else ""
        if each.tokens or price:
            turns = "1 turn" if each.turns == 1 else f"{each.turns} turns"
            turns += f" ({each.unfinished} cut short)" if each.unfinished else ""
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
    """What a gatekeeper found, each with its place, and whether it must be changed."""
    for each in said.get("comments", ()):
        weight = {True: "blocking: ", False: "optional: "}.get(each.get("blocking"), "")
        if each["comment"]:
            path = (each.get("file") or "").removeprefix("./") or None
            yield Remark(f"{weight}{each['comment']}", path, each.get("line"))
