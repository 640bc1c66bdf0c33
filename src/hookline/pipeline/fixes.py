"""What the agent fixes in its work, until every gate passes or its attempts are over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import msgspec

from hookline import typed
from hookline.domain.hooks.names import short_name
from hookline.domain.sessions.limits import MOST_CUT
from hookline.domain.sessions.promises import find_promises, without_promises
from hookline.domain.text.display import line_of
from hookline.domain.timestamps import seconds
from hookline.domain.work.repository import control_told
from hookline.domain.work.submissions import AGENT, BUDGET
from hookline.hooks.gates.reports import MAX_REVIEW, REVIEW
from hookline.hooks.texts import told
from hookline.hooks.told_commands import can_tell, named_command, told_inline, with_command
from hookline.pipeline.gated_work import WORKTREE
from hookline.sessions.state import Turn
from hookline.sessions.told import prompts
from hookline.sessions.told.done_means import frozen
from hookline.sessions.told.prompts import capped, code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.pipeline.gated_work import GatedWork
    from hookline.sessions.requests import ChecksTold


CHANGED = "changed"
MODEL_WAIT = 60.0
GIVES_UP = ("BLOCKED", "ESCALATE")


class Rejection(msgspec.Struct, omit_defaults=True):
    """Why work does not pass a point: which gate said so, its message, and what was tried."""

    reason: str
    gate: str | None = None
    output: str | None = None
    attempts: list[dict[str, str]] = []


class Fixes:
    """The attempts of one run to have its work fixed."""

    def __init__(self, work: GatedWork) -> None:
        self._work = work
        self.tries: dict[str, int] = {}
        self._cut: dict[str, int] = {}
        self.attempts: list[dict[str, str]] = []
        # What will check the work after a fix, and what else failed.
        self.ahead: ChecksTold = {}
        self.commands: list[str] = []
        self.turns, self.conversation = work.submission.turns, work.submission.conversation

    def changed(self) -> Rejection | None:
        """The work changed while its gates ran: they run again, up to a limit."""
        made = self.tries[CHANGED] = self.tries.get(CHANGED, 0) + 1
        if made <= max(self._work.settings.tries, 1):
            return None
        return Rejection("the work changes while its gates check it, or they change it every time")

    def refused(self, reason: str, gate: str, output: str) -> Rejection:
        """Why the work is rejected, with what was tried."""
        return Rejection(reason, short_name(gate), prompts.capped(output), self.attempts)

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
        work, made = self._work, self.tries.get(name, 0)
        reason = f"{short_name(name)}: {message.removeprefix(f'{short_name(name)} failed: ')}"
        if not prompt:
            return self.refused(reason, name, message)
        if made >= work.settings.tries:
            broke = f"; the last one failed: {work.trouble}" if work.trouble else ""
            return self.refused(f"{reason} (attempts to fix it: {made}{broke})", name, prompt)
        self.tries[name] = made + 1
        if conflicts and (prompt := await work.open_conflict(name, prompt)) is None:
            return None
        if not work.prepared.goal:  # where people merge, their objection comes first
            await work.prepare()
        turn = await self._turn(prompt, made + 1)
        said = self._note_attempt({"gate": short_name(name), "message": message}, turn, review)
        if turn.git_changed:
            told = control_told(turn.git_changed)
            return self.refused(told, WORKTREE, told)
        if turn.interrupted and self._excuses_cut(name):
            self.tries[name] = made  # a person or a kill ended it
        if turn.wait:
            self.tries[name] = made  # the model is to blame, not the agent
            await work.let_others_go()
            now = seconds(await work.ctx.now())
            await work.ctx.sleep(max(1.0, (turn.wait.until or now + MODEL_WAIT) - now))
        if not work.trouble and find_promises(turn.text, GIVES_UP):
            return self.refused(f"{reason}; the agent needs a person: {said}", name, prompt)
        return None

    async def _turn(self, prompt: str, number: int) -> Turn:
        """A turn of the agent, as soon as there is money for it and the agent can work."""
        work, submission = self._work, self._work.submission
        task_id = submission.task_id
        while True:
            found = await work.ctx.agent(
                f"{prompt.rstrip()}\n\n{self._what_to_do()}",
                agent=submission.agent,
                id="remediation",
                conversation=self.conversation,
                opening=self._opening(),
                session={"name": f"gates-{task_id}", "iteration": number, "task": task_id},
                timeout=work.settings.turn_timeout,
                max_turns=work.settings.turns,
                check=False,
            )
            turn = typed.convert(found, Turn)
            if turn.unpaid is None and turn.problem is None:
                return turn
            # A person has to do what a turn needs first.
            await work.wait_for(BUDGET if turn.unpaid is not None else AGENT)

    def _excuses_cut(self, name: str) -> bool:
        """Whether an interrupted turn does not count as an attempt."""
        self._cut[name] = self._cut.get(name, 0) + 1
        return self._cut[name] <= MOST_CUT

    def _note_attempt(self, found: dict[str, str], turn: Turn, review: Any) -> str:
        """Keep what was tried, for the gates that check the work next; what the agent said."""
        self.turns += 1
        trouble = self._work.trouble = turn.failure
        self.conversation = turn.conversation or self.conversation
        said = line_of(trouble or without_promises(turn.text))
        attempt = {**found, "message": line_of(found["message"]), "agent": said}
        if isinstance(review, str):  # any hook may have a value of that name
            attempt[REVIEW] = review[:MAX_REVIEW]
        self.attempts.append(attempt)
        return said

    def _what_to_do(self) -> str:
        """The instructions for every fix, whatever was found."""
        work = self._work
        commands = dict.fromkeys((*self.ahead.get("commands", ()), *self.commands))
        counts: Counts = work.settings.uncommitted
        if work.conflict is not None:
            counts = "conflict"
        elif counts == "commit" and work.prepared.uncommitted is not None:
            counts = "committed"  # on a person's own branch nothing is committed for anyone
        ahead: ChecksTold = {**self.ahead, "commands": list(commands)}
        return fix_rules(work.submission.branch, ahead, counts)

    def _opening(self) -> str:
        """What an agent that remembers nothing of its work has to know."""
        work, submission = self._work, self._work.submission
        goal = work.prepared.goal or f"{submission.task_id} in this project"
        page = work.prepared.task or f"# {submission.task_id}: {goal}"
        role = work.settings.roles.get(submission.agent or "", "")
        return fix_opening(page, role, frozen(work.prepared.ahead))


# What of the agent's changes counts: all, committed for it or not; all, if it is committed; what is
# committed; what it made of a conflict.
Counts = Literal["commit", "refuse", "committed", "conflict"]

SHOWN = 20


def fix_opening(page: str, role: str, frozen: str) -> str:
    """What an agent that remembers nothing of its work has to know."""
    before, after = (f"{text.strip()}\n\n" if text.strip() else "" for text in (role, frozen))
    return told("fix", "opening", page=capped(page).strip(), role=before, frozen=after)


def fix_rules(branch: str, ahead: ChecksTold, counts: Counts) -> str:
    """What to do and not to do, whatever was found, and how the turn ends.

    `ahead` is what runs again, as `ChecksAhead` found it.
    """
    commands, others = ahead.get("commands", [])[:SHOWN], ahead.get("others", [])[:SHOWN]
    return told(
        "fix",
        "rules",
        branch=code(branch),
        commands=_commands([each for each in commands if can_tell(each)]),
        others=told("fix", "others", lines="; ".join(others)) if others else "",
        # The prompt about a conflict says who commits.
        commit="" if counts == "conflict" else told("session", counts) + " ",
    )


def _commands(lines: Sequence[str]) -> str:
    """What runs again: first what a line can hold, then each block."""
    if not lines:
        return ""
    inline = ", ".join(named_command(each).name for each in lines if told_inline(each))
    lead = f"{told('fix', 'commands')} {inline}".rstrip()
    for each in lines:
        lead = lead if told_inline(each) else with_command(lead, each)
    return f"{lead}\n"
