"""Why a task's work was sent back, for whoever goes on with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hookline.flows import prompts

if TYPE_CHECKING:
    from hookline.ports.store import View

SENT_BACK, STARTED = "task_needs_continuation", "task_started"
# So many earlier times are told, each in a line.
EARLIER = 5


def was_sent_back(view: View, task_id: str) -> bool:
    """Whether nobody has begun with a task since it was last sent back."""
    found = view.log.events(node_id=task_id, types=(SENT_BACK, STARTED))
    return bool(found) and found[-1].type == SENT_BACK


def story(view: View, task_id: str) -> str:
    """What was found in the work of a task when it was last sent back, and before; else nothing."""
    found = [each.data for each in view.log.events(node_id=task_id, types=(SENT_BACK,))]
    if not found:
        return ""
    *earlier, last = found
    parts = [str(last.get("reason") or "no reason was given")]
    if last.get("output"):
        parts.append(f"What {last['gate']} said:\n\n{prompts.capped(last['output']).strip()}")
    if last.get("attempts"):
        lines = "\n".join(_attempt(each) for each in last["attempts"])
        parts.append(f"What was tried before that:\n\n{lines}")
    if earlier:
        lines = "\n".join(f"- {prompts.one_line(_reason(each))}" for each in earlier[-EARLIER:])
        parts.append(f"It was sent back {len(found)} times. Before that:\n\n{lines}")
    return "\n\n".join(parts)


def _reason(data: dict[str, Any]) -> str:
    return str(data.get("reason") or "no reason was given")


def _attempt(attempt: dict[str, Any]) -> str:
    found = prompts.one_line(f"{attempt['gate']}: {attempt['message']}", 300)
    return f"- {found}\n  the agent: {attempt['agent'] or 'said nothing'}"
