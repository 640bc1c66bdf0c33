"""A task as a page of Markdown, for agents, gates and pull requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.domain.tasks import Task


SENT_BACK = "## Sent back"
_INDENT = "  "


def task_page(task: Task, sent_back: str = "") -> str:
    """The task with everything that its reader has to know; at last, why it was sent back."""
    title, _, rest = indented(task.goal).partition("\n")
    parts = [f"# {task.id}: {title}"]
    if rest.strip():
        parts.append(rest.strip("\n"))
    facts = {"Type": task.type or "", "Labels": ", ".join(task.labels)}
    lines = [f"- {name}: {indented(value)}" for name, value in facts.items() if value]
    if lines:
        parts.append("\n".join(lines))
    for heading, items in (("Deliverables", task.desired_deliverables), ("Notes", task.notes)):
        if items:
            parts.append(f"## {heading}\n\n" + "\n".join(f"- {indented(item)}" for item in items))
    if sent_back:
        parts.append(f"{SENT_BACK}\n\n{sent_back}")
    return "\n\n".join(parts) + "\n"


def indented(text: str) -> str:
    """A text of a task as prompts show it: no line of it can pass for a heading of theirs.

    Agents can write such texts, and every character counts that a reader may take for a line end.
    """
    first, *rest = text.strip().splitlines() or [""]
    lines = [f"{_INDENT}{line}".rstrip() for line in rest]
    return "\n".join([f"{_INDENT * first.startswith('#')}{first}", *lines])
