"""How a program's end becomes a reply or a failure: what commands, scripts and functions share."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.hooks.records import Reply
from hookline.domain.text.cleaning import plain_value
from hookline.errors import HookFailure, HookTimeout
from hookline.ports.processes import CannotStart, Finished

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from hookline.hooks.kinds import Call, World
    from hookline.hooks.registry import Hook

MAX_ANSWER = 1024 * 1024
MAX_DEPTH = 100
NOT_EXECUTABLE, NOT_FOUND = 126, 127
_COULD_NOT_RUN = {NOT_EXECUTABLE: "may not be executed", NOT_FOUND: "was not found"}
_SHELL_SIGNAL = 128
# Who prints a byte order mark, a NUL or UTF-16 before the brace means a JSON answer, too.
_OBJECT_BEGINS = r"[\s\x00-\x1f\x7f\ufeff\ufffd]*\{"


async def run_program(argv: Sequence[str], hook: Hook, call: Call, world: World) -> Finished:
    """Run a program with the payload on stdin; fail if it times out or is killed."""
    env, limit = {**world.environ, **hook.env, **call.env}, call.timeout
    run = world.processes.run(
        argv, cwd=world.folder, env=env, timeout=limit, stdin=call.payload, on_start=world.on_start
    )
    return await ended(run, limit, _signal_name)


async def ended(
    run: Awaitable[Finished], limit: float, signal_name: Callable[[int], str] = "signal {}".format
) -> Finished:
    """How a program ended by itself; a failure if it did not even start, or was ended."""
    try:
        finished = await run
    except CannotStart as error:
        raise HookFailure(str(error)) from error
    if finished.timed_out:
        raise failure(f"timed out after {limit:g} s", finished, HookTimeout)
    if finished.exit_code < 0:
        raise failure(f"killed by {signal_name(-finished.exit_code)}", finished)
    return finished


def reply_of(finished: Finished) -> Reply:
    """The reply of a program; a failure if it could not run, or if its answer cannot be read."""
    check_exit(finished)
    return Reply(
        answer=printed_object(finished),
        text=finished.stdout,
        stderr=finished.stderr,
        exit_code=finished.exit_code,
        blob=finished.blob,
    )


def check_exit(finished: Finished) -> None:
    """Raise for the codes by which shells say that a program could not run."""
    code = finished.exit_code
    if code in _COULD_NOT_RUN:
        said = f"exit code {code}, a program {_COULD_NOT_RUN[code]}{_last_line(finished)}"
        raise failure(said, finished)
    # Real-time signals are left out: programs do use exit codes from 162 on.
    if 0 < code - _SHELL_SIGNAL < 32:
        name = _signal_name(code - _SHELL_SIGNAL)
        raise failure(f"exit code {code}, a program was killed by {name}", finished)


def _begins_object(text: str) -> bool:
    # Most programs print none, and the pattern is compiled at its first use.
    return "{" in text and re.match(_OBJECT_BEGINS, text) is not None


def printed_object(finished: Finished) -> dict[str, Any] | None:
    """The JSON object that a program printed; None if it printed none, or only other output."""
    if not _begins_object(finished.stdout):
        return None
    try:
        whole = whole_output(finished)
        if whole is None:
            raise ValueError("it is longer than 1 MiB, or could not be kept")
        return read_object(whole)
    except ValueError as problem:
        raise failure(f"its answer cannot be read: {problem}", finished) from problem


def failure(message: str, finished: Finished, kind: type[HookFailure] = HookFailure) -> HookFailure:
    """A failure that carries what the program had said."""
    out, err, code = finished.stdout, finished.stderr, finished.exit_code
    return kind(message, stdout=out, stderr=err, exit_code=code, blob=finished.blob)


def whole_output(finished: Finished) -> str | bytes | None:
    """The whole of stdout, when it is short enough to be an answer and still there."""
    if finished.blob is None:
        return finished.stdout
    if finished.stdout_bytes > MAX_ANSWER:
        return None
    try:
        with open(finished.blob, "rb") as file:
            return file.read()
    except OSError:  # deleted since: only the truncated text is left, which is not JSON
        return None


def json_object(text: str | bytes | None) -> dict[str, Any] | None:
    """The JSON object that a text is as a whole, else None."""
    try:
        return None if text is None else read_object(text)
    except ValueError:
        return None


def read_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object that a text is; None if it does not begin with a brace.

    A text that begins with one and is not exactly one object raises ValueError.
    """
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not _begins_object(text):
        return None
    try:
        value = msgspec.json.decode(text.strip().lstrip("\ufeff"))
    except RecursionError:
        value = None
    if not isinstance(value, dict) or _is_deeper(value, MAX_DEPTH):
        raise ValueError(f"it is nested more than {MAX_DEPTH} levels deep")
    _refuse_twins(text)
    plain: dict[str, Any] = plain_value(value)
    return plain


def _refuse_twins(text: str) -> None:
    """Refuse an object with a key that is there twice: which of its values is meant?"""
    import json  # msgspec keeps the last value, and only answers in JSON need another reader

    def unique(pairs: list[tuple[str, Any]]) -> None:
        seen = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key '{key[:80]}' is there more than once")
            seen.add(key)

    json.loads(text.strip().lstrip("\ufeff"), object_pairs_hook=unique)


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    within = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in within)


def _last_line(finished: Finished) -> str:
    lines = finished.stderr.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f": {last[:200]}" if last else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
