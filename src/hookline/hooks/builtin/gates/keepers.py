"""The gate of agents that review: each sees the task, the diff and what gates found so far.

Without a clear verdict the gate stays closed. No agent reviews its own work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from hookline import typed
from hookline.domain.sessions.turns import GATEKEEPER
from hookline.domain.text.display import line_of
from hookline.domain.work.repository import control_changes, control_told
from hookline.domain.work.submissions import AGENT, BUDGET
from hookline.errors import HookFailure
from hookline.hooks.builtin.gates import review_prompts
from hookline.hooks.builtin.gates.common import EarlyAnswer, passed, pause_until, refused, waiting
from hookline.hooks.calls.program import MAX_ANSWER
from hookline.hooks.calls.question import closed_object, cut, read_prompt
from hookline.hooks.framing import ends
from hookline.hooks.gates.reports import JUDGED, MAX_REVIEW, REVIEW
from hookline.hooks.gates.resolution import Authorship, gatekeeper_entries, gatekeepers, own_work
from hookline.hooks.gates.verdicts import NO_VERDICT, OWN_WORK
from hookline.hooks.kinds.agent import final_object, purpose
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from hookline.domain.hooks.answers import GateAnswer
    from hookline.hooks.builtin.gates.arguments import Gatekeeper
    from hookline.hooks.builtin.gates.common import Judging
    from hookline.hooks.gates.resolution import GatekeeperEntry, ResolvedGatekeeper

MAX_SAID = 32 * 1024
# How much of a verdict's comments is kept, to be read at the pull request.
MAX_COMMENTS, MAX_COMMENT, MAX_PATH = 50, 2000, 1000
MODEL_WAIT = 60.0
KEY = "HOOKLINE_IDEMPOTENCY_KEY"

_TEXT = {"type": "string"}
_COMMENT = closed_object(
    file={"type": ["string", "null"]},
    line={"type": ["integer", "null"]},
    blocking={"type": "boolean"},
    comment=_TEXT,
)
SCHEMA = closed_object(
    verdict={"type": "string", "enum": ["approve", "request_changes"]},
    summary=_TEXT,
    comments={"type": "array", "items": _COMMENT},
)


class ReviewComment(msgspec.Struct, frozen=True):
    """What should be changed, where, and whether it must be."""

    comment: str
    file: str | None = None
    line: int | None = None
    blocking: bool | None = None


class ReviewVerdict(msgspec.Struct, frozen=True):
    """What a gatekeeper says about the work."""

    verdict: Literal["approve", "request_changes"]
    summary: str = ""
    comments: list[str | ReviewComment] = []

    @property
    def remarks(self) -> list[ReviewComment]:
        """The comments, also those without a place."""
        return [ReviewComment(each) if isinstance(each, str) else each for each in self.comments]


class Keeper(NamedTuple):
    """A gatekeeper: its name, its agent profile, and its own prompt if it has one."""

    name: str
    profile: str
    asked: str | None

    def __str__(self) -> str:
        return self.name if self.name == self.profile else f"{self.name} (agent {self.profile})"


class _NoVerdict(NamedTuple):
    """An answer without a verdict: why, what the agent said, and in which conversation."""

    why: str
    text: str
    conversation: str | None


class _Judged(NamedTuple):
    keeper: Keeper
    verdict: ReviewVerdict

    def told(self, summary: str) -> str:
        does = "approves" if self.verdict.verdict == "approve" else "asks for changes"
        return f"{self.keeper.name} {does}: {summary}".removesuffix(": ")


async def gatekeeper(judging: Judging) -> GateAnswer:
    """Each gatekeeper is asked, one after the other; all of them must approve."""
    head = await judging.head()
    resolved = _resolved(judging)
    keepers = _keepers(judging, resolved)
    own = sorted({each.name for each in resolved} - {each.name for each in keepers})
    if not keepers:
        authors = (name for each in resolved for name in each.authors)
        told = own_work(authors, judging.hook, judging.context.task_id)
        return refused(told, None, {NO_VERDICT: True, OWN_WORK: True})
    control = await judging.repository.control_state()
    judged = [_Judged(keeper, await _ask(judging, keeper)) for keeper in keepers]
    if changed := control_changes(control, await judging.repository.control_state()):
        return refused(control_told(changed))
    after = await judging.state()
    if after.head != head:
        return refused(f"the work changed while it was reviewed, from {head} to {after.head}")
    return _combined(judged, own, head)


def _combined(judged: list[_Judged], own: list[str], head: str) -> GateAnswer:
    context: dict[str, Any] = {"gatekeepers": [_record(each) for each in judged], JUDGED: head}
    against = [each for each in judged if each.verdict.verdict != "approve"]
    if not against:
        left_out = f" (not asked about its own work: {', '.join(own)})" if own else ""
        return passed("; ".join(_in_short(each) for each in judged) + left_out, context)
    message = "; ".join(_in_short(each) for each in against)
    if not any(_wishes(each) for each in against):
        return refused(f"{message}, without saying what to change", None, context)
    who = "A colleague" if len(against) == 1 else f"{len(against)} colleagues"
    review = "\n\n".join(text for each in judged if (text := _wishes(each)))
    context[REVIEW] = ends(review, MAX_REVIEW)
    return refused(message, review_prompts.review_prompt(review, who), context)


def _record(judged: _Judged) -> dict[str, Any]:
    keeper, verdict = judged
    return {
        "name": keeper.name,
        "agent": keeper.profile,
        "verdict": verdict.verdict,
        "summary": line_of(verdict.summary, 500),
        "comments": msgspec.to_builtins([_kept(each) for each in verdict.remarks[:MAX_COMMENTS]]),
    }


def _kept(comment: ReviewComment) -> ReviewComment:
    short = line_of(comment.file, MAX_PATH) if comment.file else None
    text = cut(comment.comment.strip(), MAX_COMMENT)
    return msgspec.structs.replace(comment, comment=text, file=short)


def _in_short(judged: _Judged) -> str:
    return judged.told(line_of(judged.verdict.summary, 200))


def _wishes(judged: _Judged) -> str:
    """All that a gatekeeper said, as the author of the work reads it."""
    said = judged.verdict.summary.strip()
    lines = [f"- {line}" for each in judged.verdict.remarks if (line := comment_line(each))]
    return "\n".join([judged.told(said), *lines]) if said or lines else ""


def comment_line(comment: ReviewComment) -> str:
    """A comment behind its weight and place; nothing where it says nothing."""
    text = comment.comment.strip()
    line = "" if comment.line is None else f":{comment.line}"
    place = f"{comment.file}{line}" if comment.file else ""
    weight = "" if comment.blocking is None else "blocking" if comment.blocking else "optional"
    where = ", ".join(part for part in (weight, place) if part)
    return f"{where}: {text}" if where and text else text


# Asking one.


async def _ask(judging: Judging, keeper: Keeper) -> ReviewVerdict:
    """Ask one gatekeeper; once more, with what was wrong, where its answer is not a verdict."""
    git, folder, base = judging.repository, judging.folder, judging.context.base_branch
    diff = await git.history.diff(folder, base, review_prompts.MAX_DIFF)
    changes = await git.history.changes(folder, base)
    asked = review_prompts.question(judging, keeper.asked, changes, diff)
    said = await _answer(judging, keeper, keeper.name, prompt=asked)
    if isinstance(said, _NoVerdict):
        again = review_prompts.question_again(said.why, said.text)
        talk = {"prompt": again, "opening": asked, "conversation": said.conversation}
        said = await _answer(judging, keeper, f"{keeper.name}:again", **talk)
    if isinstance(said, _NoVerdict):
        text = line_of(said.text, 300)
        shown = f"; it said: {text}" if text else ""
        message = f"{keeper} gave no verdict: {said.why}{shown}"
        raise EarlyAnswer(refused(message, None, {NO_VERDICT: True}))
    return said


async def _answer(
    judging: Judging, keeper: Keeper, key: str, **talk: Any
) -> ReviewVerdict | _NoVerdict:
    world, env = judging.world, judging.env
    # One agent under two names is asked twice; when repeated, each gets the same key again.
    request = TurnRequest(
        env={**env, KEY: f"{env.get(KEY, '')}:{key}"},
        timeout=judging.call.timeout,
        cwd=judging.folder,
        read_only=True,
        schema=SCHEMA,
        purpose=purpose(GATEKEEPER, judging.hook, judging.call),
        on_start=world.on_start or (lambda group: None),
        **talk,
    )
    turn = await world.agents.turn(keeper.profile, request)
    if turn.unpaid is not None:
        raise EarlyAnswer(waiting(turn.unpaid.message, BUDGET, option=turn.unpaid.option))
    if turn.problem is not None:
        message = f"{keeper}: {turn.problem.told}"
        raise EarlyAnswer(waiting(message, AGENT, command=turn.problem.command))
    if turn.wait is not None:
        pause = pause_until(turn.wait.until, MODEL_WAIT)
        raise EarlyAnswer(waiting(f"{keeper}: {turn.wait.reason}", "model", pause))
    if turn.error is not None or turn.interrupted:
        why = turn.error or "its turn was interrupted"
        raise HookFailure(f"{keeper}: {why}", stdout=cut(turn.text, MAX_SAID))
    try:
        return _read(turn.text)
    except ValueError as problem:
        said = turn.text if turn.text.strip() else ""
        said = said[-MAX_SAID:] if len(said) > MAX_ANSWER else said
        return _NoVerdict(str(problem), said, turn.conversation)


def _read(text: str) -> ReviewVerdict:
    """The verdict that a text ends with; ValueError says what is wrong with it."""
    if not text.strip():
        raise ValueError("it is empty")
    if len(text) > MAX_ANSWER:
        raise ValueError("it is longer than 1 MiB")
    answer = final_object(text)
    if answer is None:
        raise ValueError("it does not end with the JSON object")
    try:
        verdict = typed.convert(answer, ReviewVerdict)
    except msgspec.ValidationError as problem:
        raise ValueError(f"its object is wrong: {problem}") from problem
    if verdict.verdict == "approve" and any(each.blocking for each in verdict.remarks):
        raise ValueError("its verdict is `approve`, and one of its comments is blocking")
    return verdict


# Who they are.


def _resolved(judging: Judging) -> tuple[ResolvedGatekeeper, ...]:
    """The agents that can review under each name, and those that cannot review their own work."""
    context = judging.context
    worker = Authorship(context.agent_name, context.task_type, judging.world.authors)
    found = gatekeepers(judging.hook, worker)
    for name in (each.name for each in found if not each.profiles and not each.authors):
        raise HookFailure(
            f"there is no gatekeeper '{name}': define an agent '{name}' or 'gatekeeper-{name}'"
        )
    return found


def _keepers(judging: Judging, resolved: tuple[ResolvedGatekeeper, ...]) -> list[Keeper]:
    """The gatekeepers to ask; the same agent under the same name counts once."""
    found = {
        (each.name, profile): Keeper(each.name, profile, _asked(judging, entry))
        for each, entry in zip(resolved, gatekeeper_entries(judging.hook), strict=True)
        for profile in each.profiles
    }
    return list(found.values())


def _asked(judging: Judging, entry: GatekeeperEntry) -> str | None:
    """The point of view of a gatekeeper; its name says nothing about it."""
    given: Gatekeeper = judging.arguments
    root = judging.world.root  # never the worktree: there the author could change it
    return read_prompt(given.prompt, entry.prompt_file, root, f"gatekeeper '{entry.name}'") or None
