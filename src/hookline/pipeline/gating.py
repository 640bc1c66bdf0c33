"""Passing the gates of a point: the agent fixes what one rejects, until all pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.forge import TOLD
from hookline.domain.hook_names import short_name
from hookline.domain.promises import find_promises, without_promises
from hookline.domain.repository import control_told
from hookline.domain.submissions import (
    AGENT,
    BUDGET,
    CONFLICT,
    SIGNAL,
    GateSettings,
    Submission,
)
from hookline.domain.timestamps import seconds
from hookline.hooks.gate_reports import ATTEMPTS, GATES, MAX_REVIEW, REVIEW
from hookline.pipeline.fix_prompts import Counts, fix_opening, fix_rules
from hookline.pipeline.gate_payload import PointAnswer, gate_payload
from hookline.pipeline.repository.conflicts import OpenedConflict
from hookline.pipeline.repository.requests import PreparedWork
from hookline.sessions import prompts
from hookline.sessions.done_means import frozen
from hookline.sessions.state import Turn

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from hookline.domain.runs import Run
    from hookline.flows.context import Context
    from hookline.sessions.requests import ChecksTold

PINS = "gates"
# Goes up when submitting and merging ask for other effects, in another order, or with other texts:
# the prompts are part of what they ask for.
CODE_VERSION = "14"
BEFORE_SUBMIT = "before_submit"
BEFORE_MERGE = "before_merge"
CHANGED, WORKTREE = "changed", "worktree"
# Gates that wait are asked again after this time at the latest.
LOOK_AGAIN = MODEL_WAIT = 60.0
GIVES_UP = ("BLOCKED", "ESCALATE")
# How many interrupted turns about one finding do not count as attempts: an agent may kill us, too.
MOST_CUT = 10


class Rejection(msgspec.Struct, omit_defaults=True):
    """Why work does not pass a point: which gate said so, its message, and what was tried."""

    reason: str
    gate: str | None = None
    output: str | None = None
    attempts: list[dict[str, str]] = []


# There never was a commit to check; gates do not decide what happens to the task then.
NO_WORK = Rejection("there is no commit to submit")


class Gating:
    """The gates of one run, for one task's work."""

    def __init__(
        self, ctx: Context, run: Run, leave_queue: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        self.ctx = ctx
        # Called before a wait of unknown length.
        self._leave_queue = leave_queue
        self.work = msgspec.convert(run.input, Submission)
        self.settings = msgspec.convert(run.pins.get(PINS, {}), GateSettings)
        self.approvals: list[dict[str, Any]] = []
        self.context: dict[str, Any] = dict(run.pins.get("context", {}))
        # The verdicts so far, what will check the work after a fix, and what else failed.
        self.reports: list[dict[str, Any]] = list(self.context.get(GATES, ()))
        self.ahead: ChecksTold = {}
        self.commands: list[str] = []
        self.tries: dict[str, int] = {}
        self.cut: dict[str, int] = {}
        self.attempts: list[dict[str, str]] = []
        self.trouble: str | None = None
        self.waiting: dict[str, float] = {}
        self.prepared = PreparedWork(goal="")
        self.had_commits = False
        self.compared: Mapping[str, Any] = {}
        # Who found the conflict that is open in the worktree's files, and the message.
        self.conflict: str | None = None
        self.note: str | None = None
        self.unresolved: str | None = None
        self.turns, self.conversation = self.work.turns, self.work.conversation
        # The commits that passed the last point, and before_submit.
        self.judged: str | None = None
        self.submitted: str | None = run.pins.get("submitted")
        # The heads of the work so far, and at which of them the agent was told about a review.
        self.heads: list[str] = []
        self.told: dict[str, str] = dict(self.context.get(TOLD, {}))

    async def passes(self, point: str) -> Rejection | None:
        """Ask the gates of a point until they pass; None, or why the work is rejected.

        Work that changed since it was submitted passes the gates of before_submit again first.
        """
        passed: list[str] = []
        judged: str | None = None
        while True:
            prepared = await self.prepare()
            if prepared.refused:
                if (refused := await self._clear(prepared)) is not None:
                    return refused
                continue
            if not prepared.commits and (refused := self._without_commits(point)) is not None:
                return refused
            is_other = prepared.head != self.submitted
            if point == BEFORE_MERGE and prepared.commits and is_other:
                if (refused := await self.passes(BEFORE_SUBMIT)) is not None:
                    return refused
                continue
            if prepared.head != judged:
                passed = []  # they passed other work
            # The other verdicts of this point were about other work.
            self.reports = [
                each for each in self.reports if each["point"] != point or each["hook"] in passed
            ]
            said = await self.ctx.hook(point, self._payload(prepared), skip=passed)
            answer = msgspec.convert(said, PointAnswer)
            self._hear(point, answer)
            if answer.status != "failure":
                asked, judged = prepared.head, (await self.prepare()).head
                outdated = answer.outdated(asked, judged)
                if outdated is None:
                    judged = None
                    if (refused := self.changed()) is not None:
                        return refused
                    continue
                passed = [name for name in answer.passed if name not in outdated]
                if answer.status == "pending":
                    if refused := await self.waited_too_long(answer):
                        return refused
                    await self._wait(answer, judged)
                elif not outdated:
                    self._note_judged(point, asked, judged)
                    return None
                continue
            judged = None
            refused = await self.fix(
                *(answer.hook or point, answer.remediation_prompt, answer.message),
                conflicts=bool(answer.context.get(CONFLICT)),
                review=answer.context.get(REVIEW),
            )
            if refused is not None:
                return refused

    def _hear(self, point: str, answer: PointAnswer) -> None:
        """Keep what gates said, for later gates and for the agent that fixes the work."""
        self.context |= answer.context
        if isinstance(told := answer.context.get(TOLD), dict):
            self.note_told(told)
        self.reports += ({**each, "point": point} for each in answer.gates)
        self.ahead = answer.ahead or self.ahead

    def note_told(self, told: dict[str, str]) -> None:
        """Keep which reviews of people the agent was told about, for later gates as well."""
        self.context[TOLD] = self.told = {**self.told, **told}

    def _note_judged(self, point: str, asked: str | None, judged: str | None) -> None:
        """All gates of a point have passed exactly this commit."""
        self.judged = judged
        if point == BEFORE_SUBMIT or self.submitted == asked:
            self.submitted = judged

    def changed(self) -> Rejection | None:
        """The work changed while its gates ran: they run again, up to a limit."""
        made = self.tries[CHANGED] = self.tries.get(CHANGED, 0) + 1
        if made <= max(self.settings.tries, 1):
            return None
        return Rejection("the work changes while its gates check it, or they change it every time")

    async def repo(self, verb: str, args: Mapping[str, Any]) -> Any:
        """Do something to the repository; harmless when it is repeated."""
        return await self.ctx.own("repo", {**args, "verb": verb}, id=verb)

    async def gate(self, verb: str, args: Mapping[str, Any]) -> Any:
        """Do something to the store."""
        return await self.ctx.own("gate", {**args, "verb": verb}, id=verb)

    async def tell(self, point: str) -> None:
        """Fire a point whose hooks no longer decide anything; their answers are recorded."""
        await self.ctx.hook(point, {**self._payload(self.prepared), **self.compared})

    async def prepare(self) -> PreparedWork:
        """Commit what the agent left, or refuse; the state of the work now."""
        # Kept: once the work is merged, nothing is committed any more.
        place = self.place()
        if self.conflict is not None:
            place["answered"] = self.trouble is None
        found = self.prepared = msgspec.convert(await self.repo("prepare", place), PreparedWork)
        if found.conflict:
            self.conflict, self.note = self.conflict or WORKTREE, found.note or self.note
        elif found.settled:
            self.conflict = self.note = None
        self.had_commits = self.had_commits or bool(found.commits)
        self.compared = found.compared or self.compared
        if found.head is not None and found.head not in self.heads:
            self.heads.append(found.head)
        return found

    async def fix(
        self,
        name: str,
        prompt: str | None,
        message: str,
        *,
        conflicts: bool = False,
        review: Any = None,
    ) -> Rejection | None:
        """Let the agent fix what `name` rejects, up to a limit; then a person decides.

        Work that `conflicts` with its base is merged with it before, in the files only. A `review`
        is kept for the next one.
        """
        made = self.tries.get(name, 0)
        reason = f"{short_name(name)}: {message.removeprefix(f'{short_name(name)} failed: ')}"
        if not prompt:
            return self._refused(reason, name, message)
        if made >= self.settings.tries:
            broke = f"; the last one failed: {self.trouble}" if self.trouble else ""
            return self._refused(f"{reason} (attempts to fix it: {made}{broke})", name, prompt)
        self.tries[name] = made + 1
        if conflicts:
            asked = await self.repo("open_conflict", self.place())
            opened = msgspec.convert(asked, OpenedConflict)
            if not opened.open:
                return None
            self.conflict, self.unresolved, prompt = name, prompt, opened.prompt
            self.note = opened.note
        if not self.prepared.goal:  # where people merge, their objection comes first
            await self.prepare()
        turn = await self._turn(prompt, made + 1)
        said = self._note_attempt({"gate": short_name(name), "message": message}, turn, review)
        if turn.git_changed:
            told = control_told(turn.git_changed)
            return self._refused(told, WORKTREE, told)
        if turn.interrupted and self._excuses_cut(name):
            self.tries[name] = made  # a person or a kill ended it
        if turn.wait:
            self.tries[name] = made  # the model is to blame, not the agent
            await self._let_others_go()
            now = seconds(await self.ctx.now())
            await self.ctx.sleep(max(1.0, (turn.wait.until or now + MODEL_WAIT) - now))
        if not self.trouble and find_promises(turn.text, GIVES_UP):
            return self._refused(f"{reason}; the agent needs a person: {said}", name, prompt)
        return None

    async def _turn(self, prompt: str, number: int) -> Turn:
        """A turn of the agent, as soon as there is money for it and the agent can work."""
        task_id = self.work.task_id
        while True:
            found = await self.ctx.agent(
                f"{prompt.rstrip()}\n\n{self._what_to_do()}",
                agent=self.work.agent,
                id="remediation",
                conversation=self.conversation,
                opening=self._opening(),
                session={"name": f"gates-{task_id}", "iteration": number, "task": task_id},
                timeout=self.settings.turn_timeout,
                max_turns=self.settings.turns,
                check=False,
            )
            turn = msgspec.convert(found, Turn)
            if turn.unpaid is None and turn.problem is None:
                return turn
            await self._wait_for(BUDGET if turn.unpaid is not None else AGENT)

    async def _wait_for(self, signal: str) -> None:
        """Wait until a person has done what a turn needs first."""
        await self._let_others_go()
        await self.ctx.signal(signal)

    def _excuses_cut(self, name: str) -> bool:
        self.cut[name] = self.cut.get(name, 0) + 1
        return self.cut[name] <= MOST_CUT

    def _note_attempt(self, found: dict[str, str], turn: Turn, review: Any) -> str:
        """Keep what was tried, for the gates that check the work next; what the agent said."""
        self.turns += 1
        self.trouble = turn.failure
        self.conversation = turn.conversation or self.conversation
        said = prompts.one_line(self.trouble or without_promises(turn.text))
        attempt = {**found, "message": prompts.one_line(found["message"]), "agent": said}
        if isinstance(review, str):  # any hook may have a value of that name
            attempt[REVIEW] = review[:MAX_REVIEW]
        self.attempts.append(attempt)
        return said

    def _without_commits(self, point: str) -> Rejection | None:
        """Why work without a commit does not pass a point.

        Gates have nothing to say about it. When a merge begins, a person may have merged it.
        """
        if self.had_commits or self.prepared.lost:
            seen = self.prepared.elsewhere
            reason = f"no commit is left of the work{f': {seen}' if seen else ''}"
            return self._refused(reason, WORKTREE, reason)
        return NO_WORK if point == "before_submit" else None

    def _refused(self, reason: str, gate: str, output: str) -> Rejection:
        return Rejection(reason, short_name(gate), prompts.capped(output), self.attempts)

    async def send_back(self, refused: Rejection) -> dict[str, str]:
        """Send the work back, with what its next session should know."""
        if self.conflict is not None:
            kept = (await self.repo("drop_conflict", self.place()))["kept"]
            note = f"\n\nWhat was edited to resolve it is kept as {kept}." if kept else ""
            output = prompts.capped(self.unresolved or refused.output or "")
            refused = msgspec.structs.replace(refused, output=f"{output}{note}")
        found = msgspec.to_builtins(refused)
        await self.gate("send_back", {**found, "turns": self.turns})
        return {"outcome": "sent_back", "taskId": self.work.task_id, "reason": refused.reason}

    def _what_to_do(self) -> str:
        """The instructions for every fix, whatever was found."""
        commands = dict.fromkeys((*self.ahead.get("commands", ()), *self.commands))
        counts: Counts = self.settings.uncommitted
        if self.conflict is not None:
            counts = "conflict"
        elif counts == "commit" and self.prepared.uncommitted is not None:
            counts = "committed"  # on a person's own branch nothing is committed for anyone
        return fix_rules(self.work.branch, {**self.ahead, "commands": list(commands)}, counts)

    def _opening(self) -> str:
        """What an agent that remembers nothing of its work has to know."""
        goal = self.prepared.goal or f"{self.work.task_id} in this project"
        page = self.prepared.task or f"# {self.work.task_id}: {goal}"
        role = self.settings.roles.get(self.work.agent or "", "")
        onto = self.work.base if self.conflict is not None else None
        return fix_opening(page, role, frozen(self.prepared.ahead), onto)

    async def _clear(self, prepared: PreparedWork) -> Rejection | None:
        """Let the agent fix a worktree in which nothing can be committed."""
        message, prompt = prepared.refused or "", prepared.remediation_prompt
        self.ahead = prepared.ahead
        if prompt:
            name = self.conflict or WORKTREE
            return await self.fix(name, prompt, message, conflicts=prepared.conflicts)
        return self._refused(message, WORKTREE, message)

    async def waited_too_long(self, answer: PointAnswer) -> Rejection | None:
        """Why work that waits for a gate which no person decides is sent back."""
        name, message = answer.hook or "a gate", answer.message
        if answer.context.get("waitsFor") in ("person", BUDGET, AGENT):
            return None
        now = seconds(await self.ctx.now())
        if name not in self.waiting:
            self.waiting = {name: now}  # the others no longer wait
        if now - self.waiting[name] < self.settings.max_wait:
            return None
        long = f"it waits for longer than {self.settings.max_wait:g} s (`gates.max_wait`)"
        return self._refused(f"{short_name(name)}: {long}: {message}", name, message)

    async def _wait(self, answer: PointAnswer, head: str | None) -> None:
        """Wait for a person's decision, or until it is worth asking again."""
        wanted = answer.context.get("waitsFor")
        if wanted in (BUDGET, AGENT):
            await self._wait_for(wanted)
            return
        person = wanted == "person"
        await self._let_others_go()
        pause = None if person else answer.retry_after or LOOK_AGAIN
        wish = await self.ctx.signal(SIGNAL, max_age=pause)
        if isinstance(wish, dict):
            about = answer.context.get("asksAbout") or head
            self.approvals = [*self.approvals, {**wish, "hook": answer.hook, "head": about}]

    async def _let_others_go(self) -> None:
        if self._leave_queue is not None:
            await self._leave_queue()

    def place(self) -> dict[str, Any]:
        """Where the work is, as an argument of effects on the repository."""
        work = self.work
        return {
            "taskId": work.task_id,
            "worktree": work.worktree,
            "branch": work.branch,
            "base": work.base,
            "uncommitted": self.settings.uncommitted,
            "maxFile": self.settings.max_file,
            **({"note": self.note} if self.note else {}),
        }

    def _payload(self, prepared: PreparedWork) -> dict[str, Any]:
        """The work that a gate checks."""
        # What gates said comes first: none of them speaks for a person, or calls this a trial.
        extra = {**self.context, "approvals": self.approvals, "trial": False}
        extra |= {GATES: self.reports, ATTEMPTS: self.attempts}
        goal, path = prepared.goal, prepared.task_path
        return gate_payload(self.work, goal, path, prepared.commits, extra)
