"""A task as a page of Markdown, for agents, gates and pull requests, and as a commit message."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

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


SUBJECT = 72
_TASK = "Task: "


def commit_message(goal: str, trailers: Iterable[str] = ()) -> str:
    """A subject that ends at a word, the goal where the subject is not all of it, trailers."""
    goal = goal.strip()
    first, _, rest = goal.partition("\n")
    subject = _subject(" ".join(first.split()))
    body = rest.strip() if subject == " ".join(first.split()) else goal
    parts = (subject, body, "\n".join(dict.fromkeys(trailers)))
    return "\n\n".join(part for part in parts if part) + "\n"


def trailers_of(task_id: str, agent: str | None) -> list[str]:
    """Whose work it is, for the history of the repository."""
    return [f"{_TASK}{task_id}", *([f"Agent: {agent}"] if agent else [])]


def trailers_in(message: str) -> list[str]:
    """The trailers that our commit messages end with."""
    last = message.rstrip().rpartition("\n\n")[2].splitlines()
    return last if last and last[0].startswith(_TASK) else []


def task_in(message: str) -> str | None:
    """The task that a commit says it is of: what we write is below what its author wrote."""
    last = message.rstrip().rpartition("\n\n")[2].splitlines()
    return next((line[len(_TASK) :] for line in reversed(last) if line.startswith(_TASK)), None)


def _subject(line: str) -> str:
    if len(line) <= SUBJECT:
        return line
    cut = line[: SUBJECT - 1]
    words = cut.rpartition(" ")[0] or cut
    return f"{words.rstrip(' ,;:.')}…"
