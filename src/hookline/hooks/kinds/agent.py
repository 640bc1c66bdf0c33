"""A prompt to an agent profile, which may look at everything and change nothing."""

from __future__ import annotations

import re
from time import perf_counter
from typing import TYPE_CHECKING, Any

from hookline.domain.moments import iso
from hookline.domain.records import Reply
from hookline.domain.turns import HOOK, Purpose
from hookline.errors import HookFailure, HookTimeout
from hookline.hooks.kinds.program import MAX_ANSWER, json_object
from hookline.hooks.kinds.question import answer_schema, cut, question
from hookline.points import FEED, POINTS, REACT
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from hookline.domain.turns import AgentTurn, ModelWait
    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

SHOWN_OF_ANSWER = 32 * 1024
# Among other words an answer is looked for near the end: each brace there costs a try.
SEARCHED = 64 * 1024
_OPENING = re.compile(r'\{\s*["}]')
_LAST_MOMENT = 253402300799.0  # the year 9999


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Ask the agent, in a conversation of its own, and return its answer."""
    point = POINTS.get(call.point)
    rule = point.rule if point else REACT
    schema = answer_schema(rule, hook)
    # Neither a conversation nor tools: what an agent at work has is not for one that is asked.
    request = TurnRequest(
        prompt=question(hook, call, world),
        env={**world.environ, **hook.env, **call.env},
        timeout=call.timeout,
        cwd=world.folder,
        read_only=True,
        schema=schema,
        purpose=purpose(HOOK, hook, call),
        on_start=world.on_start or (lambda group: None),
    )
    start = perf_counter()
    turn = await world.agents.turn(hook.target, request)
    _check(turn, hook, call, perf_counter() - start)
    return _reply(turn, hook, rule)


def purpose(role: str, hook: Hook, call: Call) -> Purpose:
    """What a turn is for that a hook asks for."""
    return Purpose(
        role=role,
        task_id=call.values.get("task_id"),
        call=call.name,
        hook=hook.name,
        cause=call.cause,
    )


def final_object(text: str) -> dict[str, Any] | None:
    """The JSON object that a text ends with, a code fence around it or not; else None.

    Only the last thing said is an answer: what stands before may be quoted from the payload.
    """
    import json  # only agents say JSON among other words

    if (whole := json_object(text)) is not None:
        return whole
    said = text[-SEARCHED:].rstrip().rstrip("`").rstrip()
    decoder = json.JSONDecoder(parse_int=str)
    end = 0
    while said.endswith("}") and (opening := _OPENING.search(said, end)):
        start = opening.start()
        try:
            _, end = decoder.raw_decode(said, start)
        except json.JSONDecodeError as problem:
            # What was read until then belongs to this broken object, and is no answer by itself.
            end = max(problem.pos, start + 1)
        except RecursionError:
            return None
        else:
            if end == len(said):
                return json_object(said[start:])
    return None


def _check(turn: AgentTurn, hook: Hook, call: Call, seconds: float) -> None:
    """Raise unless the turn came to its end."""
    said = cut(turn.text, SHOWN_OF_ANSWER)
    if turn.wait is not None:
        raise HookFailure(f"agent {hook.target}: {_waiting(turn.wait)}", stdout=said)
    if turn.error is not None and seconds >= call.timeout:
        raise HookTimeout(f"agent {hook.target}: {turn.error}", stdout=said)
    if turn.error is not None or turn.interrupted:
        raise HookFailure(
            f"agent {hook.target}: {turn.error or 'its turn was interrupted'}", stdout=said
        )


def _waiting(wait: ModelWait) -> str:
    what = "a usage limit was reached" if wait.kind == "usage_limit" else "its model is overloaded"
    if wait.until is None or not 0 < wait.until < _LAST_MOMENT:
        return what
    return f"{what}, until {iso(wait.until)}"


def _reply(turn: AgentTurn, hook: Hook, rule: str) -> Reply:
    said = cut(turn.text, SHOWN_OF_ANSWER)
    if len(turn.text) > MAX_ANSWER:
        raise HookFailure(f"agent {hook.target}: its answer is longer than 1 MiB", stdout=said)
    answer = final_object(turn.text)
    if rule == FEED and (answer is None or "text" not in answer):
        return Reply(answer=said, text=said)
    if answer is None:
        why = "does not end with a JSON object" if said.strip() else "is empty"
        raise HookFailure(f"agent {hook.target}: its answer {why}", stdout=said)
    return Reply(answer=answer, text=said)
