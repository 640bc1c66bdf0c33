"""What an agent that fixes rejected work is told besides the findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hookline.hooks.texts import told
from hookline.hooks.told_commands import can_tell, named_command, told_inline, with_command
from hookline.sessions.prompts import capped, code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hookline.sessions.requests import ChecksTold

# What of the agent's changes counts: all, committed for it or not; all, if it is committed; what is
# committed; what it made of a conflict.
Counts = Literal["commit", "refuse", "committed", "conflict"]

SHOWN = 20


def fix_opening(page: str, role: str, frozen: str) -> str:
    """What an agent that remembers nothing of its work has to know."""
    before, after = (f"{text.strip()}\n\n" if text.strip() else "" for text in (role, frozen))
    return told("fix", "opening", page=capped(page).strip(), role=before, frozen=after)


def fix_rules(branch: str, ahead: ChecksTold, counts: Counts) -> str:
    """What to do and not to do, whatever was found, and how the turn ends.

    `ahead` is what runs again, as `ChecksAhead` found it.
    """
    commands, others = ahead.get("commands", [])[:SHOWN], ahead.get("others", [])[:SHOWN]
    return told(
        "fix",
        "rules",
        branch=code(branch),
        commands=_commands([each for each in commands if can_tell(each)]),
        others=told("fix", "others", lines="; ".join(others)) if others else "",
        # The prompt about a conflict says who commits.
        commit="" if counts == "conflict" else told("session", counts) + " ",
    )


def _commands(lines: Sequence[str]) -> str:
    """What runs again: first what a line can hold, then each block."""
    if not lines:
        return ""
    inline = ", ".join(named_command(each).name for each in lines if told_inline(each))
    lead = f"{told('fix', 'commands')} {inline}".rstrip()
    for each in lines:
        lead = lead if told_inline(each) else with_command(lead, each)
    return f"{lead}\n"
