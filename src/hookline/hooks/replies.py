"""Reading one hook's reply under each rule: JSON answers, plain commands, functions.

A reply that cannot be read is a failure of the hook; what that means is up to the rule.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from hookline import typed
from hookline.domain.hooks.answers import Answer, FeedAnswer, GateAnswer, GuardAnswer, StopDecision
from hookline.domain.hooks.records import Action, Reply, not_a_number
from hookline.domain.timestamps import LONGEST_WAIT
from hookline.errors import HookFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hookline.hooks.registry import Hook

PENDING_EXIT = 75
DENY_EXIT = 2
# What exit code 0 of a plain command would hide: the field of a JSON object in its output, and its
# possible values, with words that mean a no to their author.
_NO = frozenset(
    "fail fails failed failing error errors errored reject rejected refuse refused deny denied"
    " block blocked invalid".split()
)
_SAYS: dict[str, tuple[str, frozenset[str]]] = {
    "gate": ("status", _NO.union(("success", "failure", "skip", "pending"))),
    "decide": ("action", _NO.union(("complete", "continue", "escalate"))),
    "guard": ("verdict", _NO.union(("deny", "defer", "ask", "modify", "allow", "none"))),
}
_ACTIONS = r'"actions"\s*:\s*\['
_STRING = r'"((?:[^"\\]|\\.)*)"'
_TEXT_FIELD = rf"{_STRING}\s*:\s*{_STRING}"

A = TypeVar("A", bound=Answer)


def read_react(reply: Reply, hook: Hook) -> tuple[Action, ...]:
    """A list of actions, or an object with `actions`; nothing means no action."""
    if reply.exit_code:
        raise _exit_failure(reply)
    answer = reply.answer
    if not answer:
        _check_reaction(reply)
        return ()
    if isinstance(answer, dict):
        if "actions" not in answer:
            # A shell line or a server may print other JSON; a hook's script may not.
            if hook.kind in ("command", "http"):
                return ()
            raise _unreadable(reply, "the answer has no `actions`")
        answer = answer["actions"]
    if not isinstance(answer, list | tuple):
        raise _unreadable(reply, f"actions must be a list, not {type(answer).__name__}")
    if reply.exit_code is None:  # a function can return any object
        try:
            answer = msgspec.to_builtins(answer, str_keys=True)
        except (TypeError, ValueError, RecursionError) as problem:
            raise _unreadable(reply, f"actions must be plain data: {problem}") from problem
    return tuple(_action(item) for item in answer)


def _action(item: Any) -> Action:
    """An action as it was given: if it is wrong, only the action fails, not the answer."""
    kind = item.get("type") if isinstance(item, dict) else None
    if not isinstance(kind, str):
        return Action("", item)
    payload = item.get("payload", {})
    why: str | msgspec.UnsetType = msgspec.UNSET
    if number := not_a_number(payload):
        why = f"the payload of {kind} contains {number}, which is not a finite number"
    elif beside := sorted(item.keys() - {"type", "payload"}):
        why = f"what {kind} is given belongs in its payload: {', '.join(beside)}"
    return Action(kind, payload, why)


def read_feed(reply: Reply, hook: Hook) -> FeedAnswer:
    """Text: what a function returned, `text` of an object, or what a program printed."""
    if isinstance(reply.answer, FeedAnswer):
        return reply.answer
    if isinstance(reply.answer, str):
        return FeedAnswer(text=reply.answer)
    if reply.exit_code is None and reply.answer is None:
        return FeedAnswer()
    if isinstance(reply.answer, dict) and "text" in reply.answer and not reply.exit_code:
        return _convert(reply, FeedAnswer)
    if reply.exit_code is None:
        raise _unreadable(reply, "expected text, or an object with `text`")
    return FeedAnswer(text=_output(reply))


def read_gate(reply: Reply, hook: Hook) -> GateAnswer:
    """An object with `status`; or exit 0 success, 75 pending, anything else failure."""
    if _is_plain(reply):
        return _plain_gate(reply, hook)
    answer = _convert(reply, GateAnswer)
    if reply.exit_code and answer.status not in ("failure", "pending"):
        raise _contradiction(reply, answer.status)
    if not 0 <= (answer.retry_after or 0) <= LONGEST_WAIT:
        raise _unreadable(reply, "`retryAfter` must be a number of seconds, at most 100 years")
    return answer


def _plain_gate(reply: Reply, hook: Hook) -> GateAnswer:
    if reply.exit_code in (0, PENDING_EXIT):
        _check_plain(reply, "gate")
    if reply.exit_code == 0:
        return GateAnswer("success", f"`{hook.target}` passed")
    if reply.exit_code == PENDING_EXIT:
        return GateAnswer("pending", _output(reply).strip()[:500])
    why = f"`{hook.target}` exited {reply.exit_code}"
    return GateAnswer("failure", why, remediation_prompt=_output(reply) or why)


def read_decide(reply: Reply, hook: Hook) -> StopDecision:
    """An object with `action`; or exit 0 complete, anything else continue with the output."""
    if _is_plain(reply):
        why = f"`{hook.target}` exited {reply.exit_code}"
        if reply.exit_code:
            return StopDecision("continue", why, _output(reply) or None)
        _check_plain(reply, "decide")
        return StopDecision("complete", why)
    answer = _convert(reply, StopDecision)
    if reply.exit_code and answer.action == "complete":
        raise _contradiction(reply, answer.action)
    return answer


def read_steer(reply: Reply, hook: Hook) -> dict[str, Any]:
    """An object, kept word for word; nothing means no answer."""
    if reply.exit_code:
        raise _exit_failure(reply)
    if reply.answer is None:
        if reply.text.strip():
            raise _unreadable(reply, "expected a JSON object on stdout")
        return {"action": "none"}
    if not isinstance(reply.answer, dict):
        raise _unreadable(reply, f"expected a JSON object, not {type(reply.answer).__name__}")
    return reply.answer


def read_guard(reply: Reply, hook: Hook) -> GuardAnswer:
    """An object with `verdict`; or exit 0 no opinion, 2 deny with stderr as the reason."""
    if reply.answer is None:
        if not reply.exit_code:
            _check_plain(reply, "guard")
            return GuardAnswer(verdict="none")
        if reply.exit_code == DENY_EXIT:
            return GuardAnswer(verdict="deny", reason=reply.stderr.strip() or "denied")
        raise _exit_failure(reply)
    answer = _convert(reply, GuardAnswer)
    if reply.exit_code and answer.verdict != "deny":
        raise _contradiction(reply, answer.verdict)
    if answer.updated_input is not None and not hook.rewrites:
        raise _unreadable(reply, "only a hook with `rewrites: true` may change the input")
    if answer.verdict == "modify" and answer.updated_input is None:
        raise _unreadable(reply, "`modify` needs `updatedInput`")
    return answer


def _is_plain(reply: Reply) -> bool:
    return reply.answer is None and reply.exit_code is not None


def _check_reaction(reply: Reply) -> None:
    """Refuse output that ends with actions but has other output before them."""
    said = reply.text.rstrip()
    start = said.rfind("\n{")
    rest = said[start if start >= 0 else said.rfind("\n") + 1 :]
    if "actions" in rest and re.search(_ACTIONS, rest):
        why = "there is other output before the JSON object; print that to stderr"
        raise _unreadable(reply, why)


def _check_plain(reply: Reply, rule: str) -> None:
    """Refuse output that contains a verdict among other output: the exit code may contradict it."""
    field, words = _SAYS[rule]
    if _holds_verdict(_whole(reply), field, words):
        why = f"it prints a JSON object with `{field}` among other output"
        remedy = "print only that object to stdout, and everything else to stderr"
        raise _unreadable(reply, f"{why}; {remedy}")


def _whole(reply: Reply) -> str:
    """The whole output of a program, as far as it was kept."""
    if reply.blob is None:
        return reply.text
    try:
        with open(reply.blob, "rb") as file:  # of a longer one the text has the end
            return f"{file.read().decode('utf-8', 'replace')}\n{reply.text}"
    except OSError:  # deleted since
        return reply.text


def _holds_verdict(text: str, field: str, words: frozenset[str]) -> bool:
    """Whether an object in a text says one of the words, at any depth and however it is spelled;
    if one is broken, whatever looks like a field after it counts."""
    try:
        for start, _, value in json_objects(text, strict=False):
            if value is None:
                fields = re.compile(_TEXT_FIELD, re.DOTALL).finditer(text, start)
                pairs = (each.groups() for each in fields)
                return any(_is_said(_decoded(k), _decoded(v), field, words) for k, v in pairs)
            if any(_is_said(*pair, field, words) for pair in _text_fields(value)):
                return True
    except RecursionError:
        return True
    return False


def _is_said(key: str, said: str, field: str, words: frozenset[str]) -> bool:
    return key.strip().lower() == field and said.strip().lower() in words


def _text_fields(value: Any) -> Iterator[tuple[str, str]]:
    """The fields of objects, at any depth, whose value is text."""
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, dict):
            yield from ((key, each) for key, each in found.items() if isinstance(each, str))
            left += found.values()
        elif isinstance(found, list):
            left += found


def _decoded(text: str) -> str:
    if "\\" not in text:
        return text
    import json  # few programs print JSON among other text

    try:
        return str(json.loads(f'"{text}"', strict=False))
    except ValueError:
        return text


def json_objects(text: str, *, strict: bool) -> Iterator[tuple[int, int, dict[str, Any] | None]]:
    """The outermost JSON objects among other text, each with its start and end.

    A broken one is None, and ends where it could not be read any further: what was read until then
    belongs to it. Too deep nesting raises RecursionError.
    """
    import json  # few programs print JSON among other text

    decoder = json.JSONDecoder(strict=strict, parse_int=str)
    end = 0
    opening_of = re.compile(r'\{\s*["}]')
    while (opening := opening_of.search(text, end)) is not None:
        start, value = opening.start(), None
        try:
            value, end = decoder.raw_decode(text, start)
        except json.JSONDecodeError as problem:
            end = max(problem.pos, start + 1)
        yield start, end, value


def _convert(reply: Reply, kind: type[A]) -> A:
    answer = reply.answer
    if isinstance(answer, kind):
        return answer
    if isinstance(answer, msgspec.Struct):
        answer = msgspec.to_builtins(answer)
    if not isinstance(answer, dict):
        raise _unreadable(reply, f"expected an object, not {type(answer).__name__}")
    try:
        return typed.convert({_camel(k): v for k, v in answer.items()}, kind)
    except msgspec.ValidationError as problem:
        raise _unreadable(reply, str(problem)) from problem


def _camel(key: Any) -> str:
    first, *rest = str(key).split("_")
    return first + "".join(word.title() for word in rest)


def _output(reply: Reply) -> str:
    """What a person would have seen: stdout, and stderr where something went wrong."""
    if reply.exit_code and reply.stderr:
        return f"{reply.text}\n{reply.stderr}" if reply.text else reply.stderr
    return reply.text or reply.stderr


def _exit_failure(reply: Reply) -> HookFailure:
    tail = reply.stderr.strip() or reply.text.strip()
    said = f": {tail.splitlines()[-1][:300]}" if tail else ""
    return _failure(reply, f"exited {reply.exit_code}{said}")


def _contradiction(reply: Reply, answer: str) -> HookFailure:
    return _failure(reply, f"answered '{answer}' but exited {reply.exit_code}")


def _unreadable(reply: Reply, why: str) -> HookFailure:
    return _failure(reply, f"its answer cannot be read: {why}")


def _failure(reply: Reply, message: str) -> HookFailure:
    return HookFailure(
        message, stdout=reply.text, stderr=reply.stderr, exit_code=reply.exit_code, blob=reply.blob
    )
