"""The gate of agents that judge: each sees the task and the diff, and must give a plain verdict.

Whatever is no verdict keeps the gate shut. Nobody judges their own work.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from hookline.errors import BadInput, HookFailure
from hookline.hooks.builtin.gates_common import (
    astray,
    framed,
    passed,
    pause_until,
    refused,
    standing,
    task_text,
    waiting,
)
from hookline.hooks.builtin.stop_context import one_line
from hookline.hooks.kinds.agent import final_object
from hookline.hooks.kinds.program import MAX_ANSWER
from hookline.hooks.kinds.question import MAX_PROMPT, cut
from hookline.hooks.projectfiles import read_file
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from hookline.domain.answers import GateAnswer
    from hookline.domain.turns import AgentTurn
    from hookline.hooks.builtin.gates_arguments import Gatekeeper
    from hookline.hooks.builtin.gates_common import Judging

MAX_DIFF = 128 * 1024
MAX_SAID = 32 * 1024
MODEL_WAIT = 60.0
KEY = "HOOKLINE_IDEMPOTENCY_KEY"
_OWN_PROMPT = (
    "Judge, from the point of view that the name '{name}' stands for, whether this work may be"
    " merged: does it do what the task asks for, and is it right, safe and well made?"
)

_QUESTION = """\
You are the gatekeeper '{name}'. Another agent did the task below, in the folder that you are in, \
on the branch {branch}. You decide whether its work may go into {base}. You may look at everything \
in this folder. You must not change anything: no file, no commit, no setting.

What you are asked:

{asked}

{task}

{diff}

Your answer is one JSON object by this JSON Schema:

{schema}

`approve`: the work may be merged as it is. `request_changes`: it may not, and `comments` tell its \
author what to change, each with the file and line that it is about, or null. `summary` is your \
reason in a sentence or two. When in doubt, ask for changes.

Give exactly one such object. It must be the last thing that you say, with nothing after it.
"""

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
                    "comment": _TEXT,
                },
                "required": ["file", "line", "comment"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["verdict", "summary", "comments"],
    "additionalProperties": False,
}


class Comment(msgspec.Struct, frozen=True):
    """What should be changed, and where."""

    comment: str
    file: str | None = None
    line: int | None = None


class Verdict(msgspec.Struct, frozen=True):
    """What a gatekeeper says about the work."""

    verdict: Literal["approve", "request_changes"]
    summary: str = ""
    comments: list[str | Comment] = []


class Keeper(NamedTuple):
    """Who judges under which name, and what they are asked."""

    name: str
    profile: str
    asked: str


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
        return refused(f"nobody is left to judge: {author} would judge its own work")
    judged: list[_Judged] = []
    for keeper in keepers:
        said = await _ask(judging, keeper)
        if not isinstance(said, Verdict):
            return said
        judged.append(_Judged(keeper, said))
    after = await standing(judging)
    if after.head != state.head:
        return refused(f"the work changed while it was judged, from {state.head} to {after.head}")
    return _combined(judged, own, state.head)


def _combined(judged: list[_Judged], own: list[str], head: str | None) -> GateAnswer:
    context = {"gatekeepers": [_record(each) for each in judged], "judgedHead": head}
    against = [each for each in judged if each.verdict.verdict != "approve"]
    if not against:
        left_out = f" (not asked about its own work: {', '.join(own)})" if own else ""
        return passed("; ".join(_in_short(each) for each in judged) + left_out, context)
    message = "; ".join(_in_short(each) for each in against)
    wishes = [text for each in judged if (text := _wishes(each))]
    if not any(_wishes(each) for each in against):
        return refused(f"{message}, without saying what to change", None, context)
    prompt = (
        "The gatekeepers of your work ask for changes. Make those that are right and commit; where"
        " you find one wrong, say why.\n\n" + framed("What they say", "\n\n".join(wishes))
    )
    return refused(message, prompt, context)


def _record(judged: _Judged) -> dict[str, Any]:
    keeper, verdict = judged
    return {
        "name": keeper.name,
        "agent": keeper.profile,
        "verdict": verdict.verdict,
        "summary": one_line(verdict.summary, 500),
    }


def _in_short(judged: _Judged) -> str:
    keeper, verdict = judged
    does = "approves" if verdict.verdict == "approve" else "asks for changes"
    said = one_line(verdict.summary, 200)
    return f"{keeper.name} {does}: {said}" if said else f"{keeper.name} {does}"


def _wishes(judged: _Judged) -> str:
    """All that a gatekeeper said, as its author reads it."""
    keeper, verdict = judged
    lines = [verdict.summary.strip(), *(_line(each) for each in verdict.comments)]
    said = "\n".join(line for line in lines if line)
    return f"{keeper.name} ({verdict.verdict}):\n{said}" if said else ""


def _line(comment: str | Comment) -> str:
    if isinstance(comment, str):
        return f"- {comment.strip()}" if comment.strip() else ""
    place = comment.file or ""
    if place and comment.line is not None:
        place = f"{place}:{comment.line}"
    return f"- {place}: {comment.comment.strip()}" if place else f"- {comment.comment.strip()}"


# Asking one.


async def _ask(judging: Judging, keeper: Keeper) -> Verdict | GateAnswer:
    """Ask one gatekeeper; once more where it gives no verdict."""
    question = await _question(judging, keeper)
    said = await _answer(judging, keeper, question, keeper.name)
    if isinstance(said, Verdict) or said.status != "failure":
        return said
    before = framed("What became of your answer when you were asked before", said.message)
    return await _answer(judging, keeper, f"{question}\n{before}\n", f"{keeper.name}:again")


async def _answer(
    judging: Judging, keeper: Keeper, question: str, key: str
) -> Verdict | GateAnswer:
    world, env = judging.world, judging.env
    # One agent under two names is asked twice, and both times by the same words when repeated.
    request = TurnRequest(
        prompt=question,
        env={**env, KEY: f"{env.get(KEY, '')}:{key}"},
        timeout=judging.call.timeout,
        cwd=judging.folder,
        read_only=True,
        schema=SCHEMA,
        on_start=world.on_start or (lambda group: None),
    )
    turn = await world.agents.turn(keeper.profile, request)
    who = f"gatekeeper {keeper.name} (agent {keeper.profile})"
    if turn.wait is not None:
        pause = pause_until(turn.wait.until, MODEL_WAIT)
        return waiting(f"{who}: its model takes no more for now", "model", pause)
    if turn.error is not None or turn.interrupted:
        why = turn.error or "its turn was interrupted"
        raise HookFailure(f"{who}: {why}", stdout=cut(turn.text, MAX_SAID))
    return _read(turn, who)


def _read(turn: AgentTurn, who: str) -> Verdict | GateAnswer:
    said = one_line(turn.text, 300)
    if not said:
        return refused(f"{who} answered nothing, so the gate stays shut")
    answer = final_object(turn.text) if len(turn.text) <= MAX_ANSWER else None
    if answer is None:
        return refused(f"{who} gave no verdict, so the gate stays shut; it said: {said}")
    try:
        return msgspec.convert(answer, Verdict)
    except msgspec.ValidationError as problem:
        return refused(f"{who} gave no verdict that is known ({problem}); it said: {said}")


async def _question(judging: Judging, keeper: Keeper) -> str:
    context = judging.context
    diff = await judging.repository.diff(judging.folder, context.base_branch, MAX_DIFF)
    return _QUESTION.format(
        name=keeper.name,
        branch=context.branch_name,
        base=context.base_branch,
        asked=keeper.asked,
        task=framed("The task", task_text(judging)),
        diff=framed("The diff of the work", diff, 4 * MAX_DIFF),
        schema=msgspec.json.encode(SCHEMA).decode(),
    )


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


def _asked(judging: Judging, name: str, entry: dict[str, Any]) -> str:
    given: Gatekeeper = judging.arguments
    prompt = given.prompt or entry.get("prompt")
    if prompt is None and (path := entry.get("promptFile")) is not None:
        root = judging.world.root  # never the worktree: there the author could change it
        try:
            prompt = read_file(root, os.fspath(path), MAX_PROMPT).decode("utf-8", "replace")
        except BadInput as problem:
            raise HookFailure(f"the prompt of gatekeeper '{name}': {problem.message}") from problem
    return str(prompt or "").strip() or _OWN_PROMPT.format(name=name)
