"""The driver `scripted`: an agent whose turns are in a JSON file, for demos and tests."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from hookline import typed
from hookline.adapters.agents.lines import run_program, timed_out
from hookline.domain.sessions.turns import AgentEvent, AgentTurn, ScriptedTurn
from hookline.errors import BadInput
from hookline.files import open_to_append, read_regular
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from hookline.ports.agents import DriverTurn, Profile, Reports

NEEDS = ("script",)
MAX_SCRIPT = 16 * 1024 * 1024


def reports(profile: Profile) -> Reports:
    """What the script says, money included."""
    return "money"


async def turn(profile: Profile, talk: DriverTurn) -> AgentTurn:
    """The next turn of the script in this run; the same one again for the same effect."""
    try:
        turns = read_script(talk.root, profile.script or "")
    except BadInput as problem:  # the file is gone or broken since the session began
        return AgentTurn(error=problem.message)
    talk = talk if talk.request.conversation else talk.afresh()
    request = talk.request
    conversation = f"{talk.name}-{request.env.get('HOOKLINE_RUN_ID', '')}"
    request.on_conversation(conversation)
    number = _number(talk)
    chosen = turns[min(number, len(turns) - 1)]
    if number >= len(turns) and not chosen.repeat:
        return AgentTurn(error=f"{profile.script} has no turn {number + 1}")
    if chosen.expect is not None and chosen.expect not in request.prompt:
        wanted = f"turn {number + 1} of {profile.script} expects {chosen.expect!r} in its prompt"
        return AgentTurn(error=f"{wanted}, not {request.prompt[:200]!r}")
    error = await _do(chosen.run, talk) if chosen.run is not None else None
    if chosen.text:
        request.on_event(AgentEvent(type="text", text=chosen.text))
    return AgentTurn(
        text=chosen.text,
        error=chosen.error or (chosen.problem.told if chosen.problem else error),
        stop_reason=chosen.stop_reason,
        conversation=conversation,
        usage=chosen.usage,
        wait=chosen.wait,
        problem=chosen.problem,
    )


def read_script(root: str, script: str) -> list[ScriptedTurn]:
    """The turns of a script of the project, or BadInput that says what is wrong with it."""
    try:
        found = msgspec.json.decode(read_regular(os.path.join(root, script), MAX_SCRIPT))
        turns = typed.convert(found, list[ScriptedTurn])
    except OSError as problem:
        raise BadInput(f"the script {script} cannot be read: {problem.strerror}") from problem
    except msgspec.ValidationError as problem:
        raise BadInput(f"the script {script} is not a list of turns: {problem}") from problem
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise BadInput(f"the script {script} is not JSON: {problem}") from problem
    if not turns:
        raise BadInput(f"the script {script} has no turns")
    return turns


def _number(talk: DriverTurn) -> int:
    """Which turn this is, by a file of the keys that were asked for: it outlives every process."""
    env = talk.request.env
    key = env.get("HOOKLINE_IDEMPOTENCY_KEY", "")
    folder = env.get("HOOKLINE_DIR") or os.path.join(talk.root, ".hookline")
    name = f"{env.get('HOOKLINE_RUN_ID', '')}-{talk.name}".replace("/", "_")
    path = os.path.join(folder, "agents", name)
    with open(open_to_append(path), "a+", encoding="utf-8") as file:
        file.seek(0)
        if f"{key}\n" not in file.readlines():
            file.write(f"{key}\n")
            file.flush()
        file.seek(0)
        # Two that ask at once may both write; the first in the file has the lower number.
        return file.readlines().index(f"{key}\n")


async def _do(line: str, talk: DriverTurn) -> str | None:
    """Carry out what the agent does in this turn; what went wrong, if anything did."""
    try:
        done = await run_program(("/bin/sh", "-c", line), talk)
    except CannotStart as problem:
        return str(problem)
    if done.timed_out:
        return timed_out(talk.request.timeout)
    if done.exit_code:
        return f"`{line}` exited {done.exit_code}: {done.stderr.strip()[-300:]}".rstrip(": ")
    return None
