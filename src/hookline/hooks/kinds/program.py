"""How a program's end becomes a reply or a failure: what commands, scripts and functions share."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.cleaning import plain_value
from hookline.domain.records import Reply
from hookline.errors import HookFailure, HookTimeout
from hookline.ports.processes import CannotStart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook
    from hookline.ports.processes import Finished

MAX_ANSWER = 1024 * 1024
NOT_EXECUTABLE, NOT_FOUND = 126, 127
_SHELL_SIGNAL = 128


async def run_program(argv: Sequence[str], hook: Hook, call: Call, world: World) -> Finished:
    """Run a program with the payload on stdin; a program without an end of its own is a failure."""
    try:
        finished = await world.processes.run(
            argv,
            cwd=world.folder,
            env={**world.environ, **hook.env, **call.env},
            timeout=call.timeout,
            stdin=call.payload,
            on_start=world.on_start,
        )
    except CannotStart as error:
        raise HookFailure(str(error)) from error
    if finished.timed_out:
        raise HookTimeout(f"no end after {call.timeout:g} s; it was killed", **_said(finished))
    if finished.exit_code < 0:
        raise failure(f"killed by {_signal_name(-finished.exit_code)}", finished)
    return finished


def reply_of(finished: Finished) -> Reply:
    """The reply of a program that ran to its end, or a failure by the codes that shells use."""
    code = finished.exit_code
    if code == NOT_EXECUTABLE:
        raise failure(
            f"exit code 126, a program may not be executed{_last_line(finished)}", finished
        )
    if code == NOT_FOUND:
        raise failure(f"exit code 127, a program was not found{_last_line(finished)}", finished)
    if _is_signal(code - _SHELL_SIGNAL):
        name = _signal_name(code - _SHELL_SIGNAL)
        raise failure(f"exit code {code}, a program was killed by {name}", finished)
    return Reply(
        answer=json_object(whole_output(finished)),
        text=finished.stdout,
        stderr=finished.stderr,
        exit_code=code,
        blob=finished.blob,
    )


def failure(message: str, finished: Finished) -> HookFailure:
    """A failure that carries what the program had said."""
    return HookFailure(message, **_said(finished))


def whole_output(finished: Finished) -> str | bytes | None:
    """The whole of stdout, when it is short enough to be an answer and still there."""
    if finished.blob is None:
        return finished.stdout
    if finished.stdout_bytes > MAX_ANSWER:
        return None
    try:
        with open(finished.blob, "rb") as file:
            return file.read()
    except OSError:  # swept away since: the capped text is all that is left, and it is no JSON
        return None


def json_object(text: str | bytes | None) -> dict[str, Any] | None:
    """The JSON object that a text is as a whole, else None."""
    if text is None:
        return None
    stripped = text.strip()
    if stripped[:1] not in ("{", b"{"):
        return None
    try:
        value = msgspec.json.decode(stripped)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return plain_value(value) if isinstance(value, dict) else None


def _said(finished: Finished) -> dict[str, Any]:
    return {
        "stdout": finished.stdout,
        "stderr": finished.stderr,
        "exit_code": finished.exit_code,
        "blob": finished.blob,
    }


def _last_line(finished: Finished) -> str:
    lines = finished.stderr.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last[:200]}" if last else ""


def _is_signal(number: int) -> bool:
    # Real-time signals are left out: programs do exit with 162 and above on their own account.
    return 0 < number < 32


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
