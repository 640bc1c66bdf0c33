"""Passing the gates of a point: all must pass, the agent fixes what one rejects, and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.forge import TOLD
from hookline.domain.moments import seconds
from hookline.domain.promises import find_promises, without_promises
from hookline.domain.repository import control_told
from hookline.domain.submissions import CONFLICT, NO_TEST, SIGNAL, GateSettings, Submission
from hookline.flows import prompts
from hookline.flows.done_means import frozen
from hookline.flows.fix_prompts import fix_opening, fix_rules
from hookline.flows.judged import gate_payload
from hookline.flows.session_state import Turn
from hookline.hooks.gate_reports import ATTEMPTS, GATES, MAX_REVIEW, REVIEW
from hookline.hooks.names import short_name

if TYPE_CHECKING:
    from hookline.domain.runs import Run
    from hookline.flows.context import Context
    from hookline.flows.fix_prompts import Counts

PINS = "gates"
# Goes up when submitting and merging ask for other effects, for the same in another order, or in
# other words: the prompts are part of what they ask for.
CODE_VERSION = "9"
BEFORE_SUBMIT, BEFORE_MERGE = "before_submit", "before_merge"
CHANGED, WORKTREE = "changed", "worktree"
# Gates that nobody wakes are asked again after this time.
LOOK_AGAIN = 60.0
MODEL_WAIT = 60.0
GIVES_UP = ("BLOCKED", "ESCALATE")


class Refused(msgspec.Struct, omit_defaults=True):
    """Why work does not get past a point: which gate said so, its words, and what was tried."""

    reason: str
    gate: str | None = None
    output: str | None = None
    attempts: list[dict[str, Any]] = []


# There never was a commit to judge; what becomes of the task then is no gate's business.
NO_WORK = Refused("there is no commit to submit")


class Gating:
    """The gates of one run, for one task's work."""

    def __init__(self, ctx: Context, run: Run) -> None:
        self.ctx = ctx
        self.work = msgspec.convert(run.input, Submission)
        self.settings = msgspec.convert(run.pins.get(PINS, {}), GateSettings)
        self.approvals: list[dict[str, Any]] = []
        self.context: dict[str, Any] = dict(run.pins.get("context", {}))
        # What gates said about the work so far, and the lines that run those of the last point.
        self.reports: list[dict[str, Any]] = list(run.pins.get("context", {}).get(GATES, ()))
        self.commands: list[str] = []
        self.tries: dict[str, int] = {}
        self.attempts: list[dict[str, Any]] = []
        self.trouble: str | None = None
        self.waiting: dict[str, float] = {}
        self.prepared: dict[str, Any] = {}
        self.had_commits = False
        # Who found the conflict that lies open in the files of the worktree, and what they said.
        self.conflict: str | None = None
        self.unresolved: str | None = None
        self.turns = self.work.turns
        self.conversation = self.work.conversation
        # The commits that passed the last point, and before_submit.
        self.judged: str | None = None
        self.submitted: str | None = run.pins.get("submitted")
        # The commits that the work has been, and at which of them the agent was told of a review.
        self.heads: list[str] = []
        self.told: dict[str, str] = dict(self.context.get(TOLD, {}))

    async def passes(self, point: str) -> Refused | None:
        """Ask the gates of a point until they pass; why they do not, in the end.

        Work that changed since it was submitted passes the gates of before_submit again first.
        """
        passed: list[str] = []
        judged: str | None = None
        while True:
            prepared = await self.prepare()
            if prepared.get("refused"):
                refused = await self._clear(prepared)
                if refused is not None:
                    return refused
                continue
            if not prepared["commits"] and (refused := self._without_commits(point)) is not None:
                return refused
            is_other = prepared["head"] != self.submitted
            if point == BEFORE_MERGE and prepared["commits"] and is_other:
                refused = await self.passes(BEFORE_SUBMIT)
                if refused is not None:
                    return refused
                continue
            if prepared["head"] != judged:
                passed = []  # what they let pass was other work
            # What the others of this point said was about other work.
            self.reports = [
                each for each in self.reports if each["point"] != point or each["hook"] in passed
            ]
            answer = await self.ctx.hook(point, self._payload(prepared), skip=passed)
            self._hear(point, answer)
            if answer["status"] in ("success", "skip", "pending"):
                asked, judged = prepared["head"], (await self.prepare())["head"]
                outdated = _outdated(answer, asked, judged)
                if outdated is None:
                    judged, refused = None, self.changed()
                    if refused is not None:
                        return refused
                    continue
                passed = [name for name in answer.get("passed", ()) if name not in outdated]
                if answer["status"] == "pending":
                    if refused := await self._waited_too_long(answer):
                        return refused
                    await self._wait(answer, judged)
                elif not outdated:
                    self._note_judged(point, asked, judged)
                    return None
                continue
            judged = None
            refused = await self._remedy(point, answer)
            if refused is not None:
                return refused

    def _hear(self, point: str, answer: dict[str, Any]) -> None:
        """Keep what gates said, for those after them and for whoever fixes the work."""
        context = answer.get("context") or {}
        self.context |= context
        if isinstance(told := context.get(TOLD), dict):
            self._note_told(told)
        # An answer in the journal of an older version has neither; one that passes has no commands.
        self.reports += ({**each, "point": point} for each in answer.get("gates", ()))
        self.commands = list(answer.get("commands", ()))

    def _note_told(self, told: dict[str, str]) -> None:
        """Keep which reviews of people the agent has heard of, for later gates as well."""
        self.context[TOLD] = self.told = {**self.told, **told}

    def _note_judged(self, point: str, asked: str | None, judged: str | None) -> None:
        """All gates of a point have let exactly this commit pass."""
        self.judged = judged
        if point == BEFORE_SUBMIT or self.submitted == asked:
            self.submitted = judged

    def changed(self) -> Refused | None:
        """Somebody changed the work while it was judged: it is judged again, so many times."""
        made = self.tries[CHANGED] = self.tries.get(CHANGED, 0) + 1
        if made <= max(self.settings.tries, 1):
            return None
        return Refused("the work changes while its gates judge it, or they change it every time")

    async def tell(self, point: str) -> None:
        """Fire a point whose hooks have nothing to decide any more; what they say is recorded."""
        await self.ctx.hook(point, self._payload(self.prepared))

    async def prepare(self) -> dict[str, Any]:
        """Commit what the agent left, or refuse; where the work stands now."""
        # Kept: once the work is merged, nothing is committed any more.
        place = self._place()
        if self.conflict is not None:
            place["answered"] = self.trouble is None
        self.prepared = dict(await self.ctx.repo("prepare", place))
        is_open = self.prepared.get("conflict")
        self.conflict = (self.conflict or WORKTREE) if is_open else None
        self.had_commits = self.had_commits or bool(self.prepared["commits"])
        if (head := self.prepared["head"]) is not None and head not in self.heads:
            self.heads.append(head)
        return self.prepared

    async def fix(
        self,
        name: str,
        prompt: str | None,
        message: str,
        *,
        conflicts: bool = False,
        review: Any = None,
    ) -> Refused | None:
        """Let the agent fix what `name` rejects, so many times; then it goes to a person.

        Work that `conflicts` with its base is merged with it before, in the files only. A `review`
        is kept for the next one.
        """
        made = self.tries.get(name, 0)
        reason = f"{short_name(name)}: {message.removeprefix(f'{name} failed: ')}"
        if not prompt:
            return self._refused(reason, name, message)
        if made >= self.settings.tries:
            broke = f"; the last one failed: {self.trouble}" if self.trouble else ""
            return self._refused(f"{reason} (attempts to fix it: {made}{broke})", name, prompt)
        self.tries[name] = made + 1
        if conflicts:
            opened = await self.ctx.repo("open_conflict", self._place())
            if not opened["open"]:
                return None
            self.conflict, self.unresolved, prompt = name, prompt, str(opened["prompt"])
        turn = await self.ctx.agent(
            f"{prompt.rstrip()}\n\n{self._what_to_do()}",
            agent=self.work.agent,
            id="remediation",
            conversation=self.conversation,
            opening=self._opening(),
            session={
                "name": f"gates-{self.work.task_id}",
                "iteration": made + 1,
                "task": self.work.task_id,
            },
            timeout=self.settings.turn_timeout,
            max_turns=self.settings.turns,
            check=False,
        )
        said = self._note_attempt({"gate": short_name(name), "message": message}, turn, review)
        if changed := turn.get("gitChanged"):
            return self._refused(control_told(changed), WORKTREE, control_told(changed))
        wait = turn.get("wait")
        if wait:
            self.tries[name] = made  # the model is to blame, not the agent
            await self._let_others_go()
            now = seconds(await self.ctx.now())
            await self.ctx.sleep(max(1.0, (wait.get("until") or now + MODEL_WAIT) - now))
        if not self.trouble and find_promises(turn.get("text") or "", GIVES_UP):
            return self._refused(f"{reason}; the agent needs a person: {said}", name, prompt)
        return None

    def _note_attempt(self, found: dict[str, str], turn: dict[str, Any], review: Any) -> str:
        """Keep what was tried, for those who judge the work next; what the agent said."""
        self.turns += 1
        self.trouble = msgspec.convert(turn, Turn).failure
        self.conversation = turn.get("conversation") or self.conversation
        said = prompts.one_line(self.trouble or without_promises(turn.get("text") or ""))
        attempt = {**found, "message": prompts.one_line(found["message"]), "agent": said}
        if isinstance(review, str):  # any hook may have something of that name
            attempt[REVIEW] = review[:MAX_REVIEW]
        self.attempts.append(attempt)
        return said

    def _without_commits(self, point: str) -> Refused | None:
        """Why work without a commit does not get past a point.

        Gates have nothing to say about it. When a merge begins, a person may have merged it.
        """
        if self.had_commits or self.prepared.get("lost"):
            seen = self.prepared.get("elsewhere")
            reason = f"no commit is left of the work{f': {seen}' if seen else ''}"
            return self._refused(reason, WORKTREE, reason)
        return NO_WORK if point == "before_submit" else None

    def _refused(self, reason: str, gate: str, output: str) -> Refused:
        return Refused(reason, short_name(gate), prompts.capped(output), self.attempts)

    async def send_back(self, refused: Refused) -> dict[str, Any]:
        """Return the work to whoever goes on with it, with what they should know."""
        if self.conflict is not None:
            kept = (await self.ctx.repo("drop_conflict", self._place()))["kept"]
            note = f"\n\nWhat was edited to resolve it is kept as {kept}." if kept else ""
            output = prompts.capped(self.unresolved or refused.output or "")
            refused = msgspec.structs.replace(refused, output=f"{output}{note}")
        found = msgspec.to_builtins(refused)
        await self.ctx.gate("send_back", {**found, "turns": self.turns})
        return {"outcome": "sent_back", "taskId": self.work.task_id, "reason": refused.reason}

    def _what_to_do(self) -> str:
        """What holds whenever an agent fixes its work, whatever was found."""
        reported = (each.get("command") for each in self.reports)
        test = self.settings.test if self.settings.test != NO_TEST else None
        commands = dict.fromkeys(line for line in (*reported, *self.commands, test) if line)
        takes_all = self.settings.uncommitted == "commit" and "uncommitted" not in self.prepared
        counts: Counts = "all" if takes_all else "committed"
        if self.conflict is not None:
            counts = "conflict"
        return fix_rules(self.work.branch, list(commands), counts)

    def _opening(self) -> str:
        """What an agent has to know that remembers nothing of its work."""
        goal = self.prepared.get("goal") or f"{self.work.task_id} in this project"
        page = self.prepared.get("task") or f"# {self.work.task_id}: {goal}"
        role = self.settings.roles.get(self.work.agent or "", "")
        # What is in conflict has to be edited, whatever it is.
        ahead = self.prepared.get("ahead", {}) if self.conflict is None else {}
        return fix_opening(page, role, frozen(ahead))

    async def _clear(self, prepared: dict[str, Any]) -> Refused | None:
        """Let the agent fix a worktree in which nothing can be committed."""
        message, prompt = prepared["refused"], prepared.get("remediationPrompt")
        if prompt:
            return await self.fix(self.conflict or WORKTREE, prompt, message)
        return self._refused(message, WORKTREE, message)

    async def _remedy(self, point: str, answer: dict[str, Any]) -> Refused | None:
        name, prompt = answer.get("hook") or point, answer.get("remediationPrompt")
        context = answer.get("context") or {}
        conflicts, review = bool(context.get(CONFLICT)), context.get(REVIEW)
        return await self.fix(
            *(name, prompt, answer.get("message", "")), conflicts=conflicts, review=review
        )

    async def _waited_too_long(self, answer: dict[str, Any]) -> Refused | None:
        """Why work goes back that waits for a gate which no person decides."""
        name, context = answer.get("hook") or "a gate", answer.get("context") or {}
        if context.get("waitsFor") == "person":
            return None
        now = seconds(await self.ctx.now())
        if name not in self.waiting:
            self.waiting = {name: now}  # the others do not wait any more
        if now - self.waiting[name] < self.settings.max_wait:
            return None
        message = answer.get("message", "")
        long = f"it waits for longer than {self.settings.max_wait:g} s (`gates.max_wait`)"
        return self._refused(f"{short_name(name)}: {long}: {message}", name, message)

    async def _wait(self, answer: dict[str, Any], head: str | None) -> None:
        """Wait for a person's decision, or until it is worth asking again."""
        pause = answer.get("retryAfter") or LOOK_AGAIN
        context = answer.get("context") or {}
        person = context.get("waitsFor") == "person"
        await self._let_others_go()
        wish = await self.ctx.signal(SIGNAL, max_age=None if person else pause)
        if isinstance(wish, dict):
            asked = {"hook": answer.get("hook"), "head": context.get("asksAbout") or head}
            decided = {**wish, **asked}
            self.approvals = [*self.approvals, decided]

    async def _let_others_go(self) -> None:
        """Called before a wait that nobody can tell the end of."""

    def _place(self) -> dict[str, Any]:
        work = self.work
        return {
            "taskId": work.task_id,
            "worktree": work.worktree,
            "branch": work.branch,
            "base": work.base,
            "uncommitted": self.settings.uncommitted,
            "maxFile": self.settings.max_file,
        }

    def _payload(self, prepared: dict[str, Any]) -> dict[str, Any]:
        """What a gate judges."""
        # What gates said comes first: none of them speaks for a person, or calls this a trial.
        extra = {**self.context, "approvals": self.approvals, "trial": False}
        extra |= {GATES: self.reports, ATTEMPTS: self.attempts}
        goal, path, commits = (prepared[name] for name in ("goal", "taskPath", "commits"))
        return gate_payload(self.work, goal, path, commits, extra)


def _outdated(answer: dict[str, Any], asked: str | None, now: str | None) -> list[str] | None:
    """The gates that let other work pass than there is `now`; None if nobody knows who did.

    The gates were asked about one commit. Only a rebase of ours may have moved it since, and those
    before it have not seen what came of it.
    """
    moved = answer.get("moved") or {"head": asked, "before": []}
    # Somebody may have put another commit in its place for a moment.
    if now is None or now != moved["head"] or not {asked, now}.issuperset(answer.get("judged", ())):
        return None
    return list(moved["before"])
