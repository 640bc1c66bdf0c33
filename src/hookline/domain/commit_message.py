"""The message of a commit that holds a task's work: the whole goal, and whose work it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

SUBJECT = 72


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
    return [f"Task: {task_id}", *([f"Agent: {agent}"] if agent else [])]


def trailers_in(message: str) -> list[str]:
    """The trailers that a message of ours ends with."""
    last = message.rstrip().rpartition("\n\n")[2].splitlines()
    return last if last and last[0].startswith("Task: ") else []


def _subject(line: str) -> str:
    if len(line) <= SUBJECT:
        return line
    cut = line[: SUBJECT - 1]
    words = cut.rpartition(" ")[0] or cut
    return f"{words.rstrip(' ,;:.')}…"
