"""What an agent that fixes rejected work is told besides the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hookline.hooks.texts import told
from hookline.sessions.prompts import capped, code

if TYPE_CHECKING:
    from hookline.sessions.requests import ChecksTold

Counts = Literal["all", "committed", "conflict"]

MAX_COMMAND = 300
SHOWN = 20


def fix_opening(page: str, role: str, frozen: str) -> str:
    """What an agent that remembers nothing of its work has to know."""
    before, after = (f"{text.strip()}\n\n" if text.strip() else "" for text in (role, frozen))
    return told("fix", "opening", page=capped(page).strip(), role=before, frozen=after)


def fix_rules(branch: str, ahead: ChecksTold, counts: Counts) -> str:
    """What to do and not to do, whatever was found, and how the turn ends.

    `ahead` is what runs again, as `ChecksAhead` found it. `counts` says what of the agent's changes
    counts: all, what it committed, or what it made of a conflict.
    """
    commands, others = ahead.get("commands", [])[:SHOWN], ahead.get("others", [])[:SHOWN]
    lines = ", ".join(code(each, MAX_COMMAND) for each in commands)
    return told(
        "fix",
        "rules",
        branch=code(branch),
        commands=told("fix", "commands", lines=lines) if lines else "",
        others=told("fix", "others", lines="; ".join(others)) if others else "",
        # The prompt about a conflict says who commits.
        commit="" if counts == "conflict" else told("fix", counts),
    )
