"""What an agent is told besides what was found, when it has to fix work that was rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from hookline.flows.prompts import capped, code

if TYPE_CHECKING:
    from collections.abc import Sequence

Counts = Literal["all", "committed", "conflict"]

MAX_COMMAND = 300
SHOWN_COMMANDS = 20

_OPENING = """\
{role}You worked on this task before, in this folder:

{page}

{frozen}Your work on it cannot be merged yet:
"""
_RULES = """\
# What to do now

- Fix this in this folder. Start nothing else.
- Fix the cause. Do not weaken, skip or delete a test or a check so that it passes.
{commands}- {commit}End on the branch {branch}. Do not push it, and do not merge it into another \
branch.
- End with a short message: what was wrong and what you changed. Then the work is checked and \
submitted again; you need not promise anything.
- If you cannot fix it without a person, say what you need and end with \
`<promise>BLOCKED</promise>`.
"""
_COMMANDS = "- These run again after your turn. Run them yourself before you end: {lines}\n"
_COMMIT: dict[Counts, str] = {
    "all": "Commit if you can; what you leave uncommitted is committed for you. ",
    "committed": "Commit your changes: only what is committed counts. ",
    "conflict": "",  # the prompt about it says who commits
}


def fix_opening(page: str, role: str, frozen: str) -> str:
    """What an agent has to know that remembers nothing of its work."""
    before, after = (f"{text.strip()}\n\n" if text.strip() else "" for text in (role, frozen))
    return _OPENING.format(page=capped(page).strip(), role=before, frozen=after)


def fix_rules(branch: str, commands: Sequence[str], counts: Counts) -> str:
    """What to do and what not to do, whatever was found, and how the turn ends.

    `counts` says what of the agent's changes counts: all, what it committed, or what it made of a
    conflict.
    """
    lines = ", ".join(code(each, MAX_COMMAND) for each in commands[:SHOWN_COMMANDS])
    return _RULES.format(
        branch=code(branch),
        commands=_COMMANDS.format(lines=lines) if lines else "",
        commit=_COMMIT[counts],
    )
