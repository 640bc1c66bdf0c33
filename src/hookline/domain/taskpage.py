"""A task as a page of Markdown, for agents, gates and pull requests."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hookline.domain.tasks import Task


SENT_BACK = "## Sent back"
_HEADING = re.compile(f"^{SENT_BACK}", re.MULTILINE)


def task_page(task: Task, sent_back: str = "") -> str:
    """The task with everything that its reader has to know; at last, why it was sent back."""
    title, _, rest = task.goal.strip().partition("\n")
    parts = [f"# {task.id}: {title}"]
    if rest.strip():
        parts.append(rest.strip())
    facts = {"Type": task.type or "", "Labels": ", ".join(task.labels)}
    lines = [f"- {name}: {value}" for name, value in facts.items() if value]
    if lines:
        parts.append("\n".join(lines))
    for heading, items in (("Deliverables", task.desired_deliverables), ("Notes", task.notes)):
        if items:
            parts.append(f"## {heading}\n\n" + "\n".join(f"- {item}" for item in items))
    # Indented, no line of a task passes for the heading below which it ends.
    page = _HEADING.sub(f" {SENT_BACK}", "\n\n".join(parts))
    return "\n\n".join([page, f"{SENT_BACK}\n\n{sent_back}"] if sent_back else [page]) + "\n"


def without_story(page: str) -> str:
    """What a task asks for, without why it was sent back."""
    return page.partition(f"\n{SENT_BACK}\n")[0].strip()
