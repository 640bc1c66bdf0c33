"""A prompt to an agent profile, which may look at everything and change nothing."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta

from hookline.domain.hooks.records import Reply
from hookline.domain.sessions.turns import HOOK, Purpose
from hookline.domain.timestamps import iso
from hookline.domain.work.submissions import AGENT, BUDGET
from hookline.errors import HookFailure, HookTimeout, did_you_mean
from hookline.hooks.calls.program import MAX_ANSWER, json_object
from hookline.hooks.calls.question import answer_schema, cut, question
from hookline.hooks.gates.resolution import own_work
from hookline.hooks.kinds import REVIEWER, Fault, Reading
from hookline.hooks.registry import NEVER, NOTHING
from hookline.hooks.replies import json_objects
from hookline.points import FEED, GATE, HOLDING, rule_of
from hookline.ports.agents import TurnRequest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.domain.sessions.turns import AgentTurn, ModelWait
    from hookline.hooks.kinds import Call, World, Written
    from hookline.hooks.registry import Hook

VALUE = Annotated[str, Meta(min_length=1, description="An agent profile to ask.")]
RUNS = NOTHING
CLEANS = KEEPS_TIME = True
TOLD_AS = "an agent is asked"
SPEAKS_AS = REVIEWER
SHOWN_OF_ANSWER = 32 * 1024
# Among other words an answer is looked for near the end: each brace there costs a try.
SEARCHED = 64 * 1024
_LAST_MOMENT = 253402300799.0  # the year 9999


def read(written: Written) -> Reading:
    """The profile must be there, and a prompt, in the hook or in the profile."""
    name, metadata = written.value, {}
    profile = written.agents.get(name)
    if written.prompt is not None:
        metadata["prompt"] = written.prompt
    elif profile is not None and profile.prompt is not None:
        metadata["promptFile"] = profile.prompt
    return Reading(name, name, metadata, _faults(name, written, has_prompt=bool(metadata)))


def _faults(name: str, written: Written, *, has_prompt: bool) -> Iterator[Fault]:
    if name not in written.agents:
        help = did_you_mean(name, written.agents, "profiles are listed under `agents:`")
        yield Fault("unknown-agent", f"no agent is called '{name}'", help, NEVER)
    elif not has_prompt:
        help = f'such as {{agent: {name}, prompt: "Is it done?"}}'
        yield Fault("missing-key", "an agent hook needs 'prompt', here or in its profile", help)


async def run(hook: Hook, call: Call, world: World) -> Reply:
    """Ask the agent, in a new conversation, and return its answer."""
    rule = rule_of(call.point)
    if call.point in HOLDING and hook.target in world.authors:
        raise HookFailure(own_work([hook.target], hook, call.values["task_id"]))
    schema = answer_schema(rule, hook)
    # Neither a conversation nor tools: a hook does not get what an agent at work has.
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
    if turn.unpaid is not None and rule == GATE:
        told = {"status": "pending", "context": {"waitsFor": BUDGET, "option": turn.unpaid.option}}
        return Reply(answer={**told, "message": turn.unpaid.message})
    if turn.problem is not None and rule == GATE:
        told = {"status": "pending", "message": turn.problem.told}
        context = {"waitsFor": AGENT, "command": turn.problem.command}
        return Reply(answer={**told, "context": context})
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

    Only the last object is an answer: what comes before may be quoted from the payload.
    """
    if (whole := json_object(text)) is not None:
        return whole
    said = text[-SEARCHED:].rstrip().rstrip("`").rstrip()
    if not said.endswith("}"):
        return None
    try:
        for start, end, value in json_objects(said, strict=True):
            if value is not None and end == len(said):
                return json_object(said[start:])
    except RecursionError:
        pass
    return None


def _check(turn: AgentTurn, hook: Hook, call: Call, seconds: float) -> None:
    """Raise unless the turn was finished."""
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
    what = (
        "a usage limit was reached" if wait.kind == "usage_limit" else f"its model is {wait.kind}"
    )
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
