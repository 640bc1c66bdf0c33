"""Why a task's work was sent back, for the session that continues it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.domain.text.display import line_of
from hookline.hooks.framing import framed
from hookline.sessions.told import prompts

if TYPE_CHECKING:
    from hookline.ports.store import View

SENT_BACK, STARTED = "task_needs_continuation", "task_started"
BLOCKED = "task_blocked"
# How many earlier times are listed, one line each.
EARLIER = 5


def was_sent_back(view: View, task_id: str) -> bool:
    """Whether no one has started a task since it was last sent back."""
    found = view.log.events(node_id=task_id, types=(SENT_BACK, STARTED))
    return bool(found) and found[-1].type == SENT_BACK


def asked(view: View, task_id: str) -> str:
    """What a person was asked when a task was blocked, if it was not started since."""
    found = view.log.events(node_id=task_id, types=(BLOCKED, SENT_BACK, STARTED))
    if not found or found[-1].type != BLOCKED:
        return ""
    return framed("Why it stopped", str(found[-1].data.get("reason") or ""))


def story(view: View, task_id: str) -> str:
    """Why a task's work was sent back, the last time and before; empty if it never was."""
    found = [each.data for each in view.log.events(node_id=task_id, types=(SENT_BACK,))]
    if not found:
        return ""
    *earlier, last = found
    record = [f"It was sent back: {_reason(last)}"]
    record += [_attempt(each, _reason(last)) for each in last.get("attempts") or ()]
    record += [f"Before that: {line_of(_reason(each))}" for each in earlier[-EARLIER:]]
    told = framed("What happened", "\n".join(record))
    # Text for an agent, in which the words of others are already framed.
    output = str(last.get("output") or "").strip()
    is_new = output and output not in _reason(last)
    return f"{prompts.capped(output)}\n\n{told}" if is_new else told


def _reason(data: dict[str, Any]) -> str:
    return str(data.get("reason") or "no reason was given")


def _attempt(attempt: dict[str, Any], reason: str) -> str:
    found = line_of(f"{attempt['gate']}: {attempt['message']}", 300)
    about = "" if found in reason else f" ({found})"
    said = f"said: {attempt['agent']}" if attempt["agent"] else "said nothing."
    return f"An attempt to fix it{about}. Its author {said}"
