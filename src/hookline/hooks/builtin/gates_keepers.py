"""The gate of agents that judge: each sees the task, the diff and what gates found so far.

Whatever is no plain verdict keeps the gate shut. Nobody judges their own work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from hookline.domain.repository import control_changes, control_told
from hookline.domain.turns import GATEKEEPER
from hookline.errors import BadInput, HookFailure
from hookline.hooks.builtin.gates_common import (
    astray,
    passed,
    pause_until,
    refused,
    standing,
    waiting,
)
from hookline.hooks.builtin.review_prompts import (
    MAX_DIFF,
    question,
    question_again,
    review_prompt,
)
from hookline.hooks.builtin.stop_context import one_line
from hookline.hooks.framing import ends
from hookline.hooks.gate_reports import JUDGED, MAX_REVIEW, REVIEW
from hookline.hooks.kinds.agent import final_object, purpose
from hookline.hooks.kinds.program import MAX_ANSWER
from hookline.hooks.kinds.question import MAX_PROMPT, cut
from hookline.hooks.projectfiles import read_file
from hookline.hooks.verdicts import NO_VERDICT
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.domain.turns import AgentTurn
    from hookline.hooks.builtin.gates_arguments import Gatekeeper
    from hookline.hooks.builtin.gates_common import Judging

MAX_SAID = 32 * 1024
# What is kept of a verdict's comments, for those who read them at the pull request.
MAX_COMMENTS, MAX_COMMENT, MAX_PATH = 50, 2000, 1000
MODEL_WAIT = 60.0
KEY = "HOOKLINE_IDEMPOTENCY_KEY"

_TEXT = {"type": "string"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "verdict": {"type": "string", "enum": ["approve", "request_changes"]},
        "summary": _TEXT,
        "comments": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "file": {"type": ["string", "null"]},
                    "line": {"type": ["integer", "null"]},
                    "blocking": {"type": "boolean"},
                    "comment": _TEXT,
                },
                "required": ["file", "line", "blocking", "comment"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["verdict", "summary", "comments"],
    "additionalProperties": False,
}


class Comment(msgspec.Struct, frozen=True):
    """What should be changed, where, and whether it must be."""

    comment: str
    file: str | None = None
    line: int | None = None
    blocking: bool | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What a gatekeeper says about the work."""

    verdict: Literal["approve", "request_changes"]
    summary: str = ""
    comments: list[str | Comment] = []


class Keeper(NamedTuple):
    """Who judges under which name, and from which point of view, if it has one."""

    name: str
    profile: str
    asked: str | None


class _NoVerdict(NamedTuple):
    """An answer that is no verdict: why, what was said, and in which conversation."""

    why: str
    text: str
    conversation: str | None


class _Judged(NamedTuple):
    keeper: Keeper
    verdict: Verdict


async def gatekeeper(judging: Judging) -> GateAnswer:
    """Each gatekeeper is asked, one after the other; all of them must approve."""
    state = await standing(judging)
    if (answer := astray(judging, state)) is not None:
        return answer
    everybody = _keepers(judging)
    author = judging.context.agent_name
    keepers = [each for each in everybody if each.profile != author]
    own = sorted({each.name for each in everybody} - {each.name for each in keepers})
    if not keepers:
        return _no_verdict(f"nobody is left to judge: {author} would judge its own work")
    judged: list[_Judged] = []
    control = await judging.repository.control_state()
    for keeper in keepers:
        said = await _ask(judging, keeper)
        if not isinstance(said, Verdict):
            return said
        judged.append(_Judged(keeper, said))
    if changed := control_changes(control, await judging.repository.control_state()):
        return refused(control_told(changed))
    after = await standing(judging)
    if after.head != state.head:
        return refused(f"the work changed while it was judged, from {state.head} to {after.head}")
    return _combined(judged, own, state.head)


def _combined(judged: list[_Judged], own: list[str], head: str | None) -> GateAnswer:
    records = [_record(each) for each in judged]
    context: dict[str, Any] = {"gatekeepers": records, JUDGED: head}
    against = [each for each in judged if each.verdict.verdict != "approve"]
    if not against:
        left_out = f" (not asked about its own work: {', '.join(own)})" if own else ""
        return passed("; ".join(_in_short(each) for each in judged) + left_out, context)
    message = "; ".join(_in_short(each) for each in against)
    wishes = [text for each in judged if (text := _wishes(each))]
    if not any(_wishes(each) for each in against):
        return refused(f"{message}, without saying what to change", None, context)
    who = "A colleague" if len(against) == 1 else f"{len(against)} colleagues"
    review = "\n\n".join(wishes)
    context[REVIEW] = ends(review, MAX_REVIEW)
    return refused(message, review_prompt(review, who), context)


def _record(judged: _Judged) -> dict[str, Any]:
    keeper, verdict = judged
    return {
        "name": keeper.name,
        "agent": keeper.profile,
        "verdict": verdict.verdict,
        "summary": one_line(verdict.summary, 500),
        "comments": [_kept(each) for each in verdict.comments[:MAX_COMMENTS]],
    }


def _kept(comment: str | Comment) -> dict[str, Any]:
    if isinstance(comment, str):
        comment = Comment(comment)
    short = one_line(comment.file, MAX_PATH) if comment.file else None
    text = cut(comment.comment.strip(), MAX_COMMENT)
    kept: dict[str, Any] = msgspec.to_builtins(
        msgspec.structs.replace(comment, comment=text, file=short)
    )
    return kept


def _in_short(judged: _Judged) -> str:
    keeper, verdict = judged
    does = "approves" if verdict.verdict == "approve" else "asks for changes"
    said = one_line(verdict.summary, 200)
    return f"{keeper.name} {does}: {said}" if said else f"{keeper.name} {does}"


def _wishes(judged: _Judged) -> str:
    """All that a gatekeeper said, as the author of the work reads it."""
    keeper, verdict = judged
    said = verdict.summary.strip()
    lines = [line for each in verdict.comments if (line := _line(each))]
    if not said and not lines:
        return ""
    does = "approves" if verdict.verdict == "approve" else "asks for changes"
    return "\n".join([f"{keeper.name} {does}: {said}".removesuffix(": "), *lines])


def _line(comment: str | Comment) -> str:
    line = comment_line(Comment(comment) if isinstance(comment, str) else comment)
    return f"- {line}" if line else ""


def comment_line(comment: Comment) -> str:
    """A comment behind its weight and place; nothing where it says nothing."""
    text = comment.comment.strip()
    place = comment.file or ""
    if place and comment.line is not None:
        place = f"{place}:{comment.line}"
    weight = "" if comment.blocking is None else "blocking" if comment.blocking else "optional"
    where = ", ".join(part for part in (weight, place) if part)
    return f"{where}: {text}" if where and text else text


# Asking one.


async def _ask(judging: Judging, keeper: Keeper) -> Verdict | GateAnswer:
    """Ask one gatekeeper; once more, with what was wrong, where its answer is no verdict."""
    git, folder, base = judging.repository, judging.folder, judging.context.base_branch
    diff = await git.diff(folder, base, MAX_DIFF)
    asked = question(judging, keeper.asked, await git.changes(folder, base), diff)
    said = await _answer(judging, keeper, keeper.name, prompt=asked)
    if isinstance(said, _NoVerdict):
        again = question_again(said.why, said.text)
        talk = {"prompt": again, "opening": asked, "conversation": said.conversation}
        said = await _answer(judging, keeper, f"{keeper.name}:again", **talk)
    if isinstance(said, _NoVerdict):
        who, text = _who(keeper), one_line(said.text, 300)
        shown = f"; it said: {text}" if text else ""
        return _no_verdict(f"{who} gave no verdict: {said.why}{shown}")
    return said


def _no_verdict(message: str) -> GateAnswer:
    return refused(message, None, {NO_VERDICT: True})


async def _answer(
    judging: Judging, keeper: Keeper, key: str, **talk: Any
) -> Verdict | GateAnswer | _NoVerdict:
    world, env = judging.world, judging.env
    # One agent under two names is asked twice, and both times by the same words when repeated.
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
    who = _who(keeper)
    if turn.wait is not None:
        pause = pause_until(turn.wait.until, MODEL_WAIT)
        return waiting(f"{who}: its model takes no more for now", "model", pause)
    if turn.error is not None or turn.interrupted:
        why = turn.error or "its turn was interrupted"
        raise HookFailure(f"{who}: {why}", stdout=cut(turn.text, MAX_SAID))
    return _read(turn)


def _who(keeper: Keeper) -> str:
    if keeper.name == keeper.profile:
        return keeper.name
    return f"{keeper.name} (agent {keeper.profile})"


def _read(turn: AgentTurn) -> Verdict | _NoVerdict:
    """The verdict that a turn ends with, or what is wrong with its answer."""
    text = turn.text
    if not text.strip():
        return _NoVerdict("it is empty", "", turn.conversation)
    if len(text) > MAX_ANSWER:
        return _NoVerdict("it is longer than 1 MiB", text[-MAX_SAID:], turn.conversation)
    answer = final_object(text)
    if answer is None:
        why = "it does not end with the object that was asked for"
        return _NoVerdict(why, text, turn.conversation)
    try:
        verdict = msgspec.convert(answer, Verdict)
    except msgspec.ValidationError as problem:
        return _NoVerdict(f"its object is wrong: {problem}", text, turn.conversation)
    if verdict.verdict == "approve" and any(_blocks(each) for each in verdict.comments):
        why = "its verdict is `approve`, and one of its comments is blocking"
        return _NoVerdict(why, text, turn.conversation)
    return verdict


def _blocks(comment: str | Comment) -> bool:
    return isinstance(comment, Comment) and comment.blocking is True


# Who they are.


def _keepers(judging: Judging) -> list[Keeper]:
    """Who is asked, as the configuration resolved the names; else the profiles of those names."""
    given: Gatekeeper = judging.arguments
    bare = [{"name": name, "profile": name} for name in given.names]
    resolved = judging.hook.metadata.get("gatekeepers", bare)
    found = [keeper for entry in resolved for keeper in _keepers_of(judging, entry)]
    # The same agent under the same name is one gatekeeper.
    return list({(each.name, each.profile): each for each in found}.values())


def _keepers_of(judging: Judging, entry: dict[str, Any]) -> list[Keeper]:
    name = str(entry["name"])
    if entry.get("profile") is not None:
        profiles = [entry["profile"]]
    else:
        profiles = entry.get("byType", {}).get(judging.context.task_type, [])
    if not profiles:
        raise HookFailure(
            f"nobody can be gatekeeper '{name}': define an agent '{name}' or 'gatekeeper-{name}'"
        )
    asked = _asked(judging, name, entry)
    return [Keeper(name, str(profile), asked) for profile in profiles]


def _asked(judging: Judging, name: str, entry: dict[str, Any]) -> str | None:
    """The point of view of a gatekeeper; its name says nothing about it."""
    given: Gatekeeper = judging.arguments
    prompt = given.prompt or entry.get("prompt")
    if prompt is None and (path := entry.get("promptFile")) is not None:
        root = judging.world.root  # never the worktree: there the author could change it
        try:
            prompt = read_file(root, os.fspath(path), MAX_PROMPT).decode("utf-8", "replace")
        except BadInput as problem:
            raise HookFailure(f"the prompt of gatekeeper '{name}': {problem.message}") from problem
    return str(prompt or "").strip() or None
