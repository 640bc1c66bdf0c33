"""What an agent is told besides what was found, when it has to fix work that was rejected."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hookline.flows.prompts import capped, one_line

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_COMMAND = 300
SHOWN_COMMANDS = 20

_OPENING = """\
You worked on this task before:

{page}

Your work is in the folder that you are in, on the branch {branch}. It was submitted and rejected:
"""
_RULES = """\
# What to do now

- Fix this in the folder that you are in. Start nothing else.
- Fix the cause. Do not weaken, skip or delete a test or a check so that it passes.
{commands}- {commit} Stay on the branch {branch}. Do not push it, and do not merge it into another \
branch.
- End with a short message: what was wrong and what you changed. If you cannot fix it, say why.
"""
_COMMANDS = "- These run again after your turn. Run them yourself before you end: {lines}\n"
_COMMIT = {
    True: "Commit if you can; what you leave uncommitted is committed for you.",
    False: "Commit your changes: only what is committed counts.",
}


def fix_opening(page: str, branch: str) -> str:
    """What an agent has to know that remembers nothing of its work."""
    return _OPENING.format(page=capped(page).strip(), branch=branch)


def fix_rules(branch: str, commands: Sequence[str], *, takes_all: bool) -> str:
    """What to do and what not to do, whatever was found, and how the turn ends.

    `takes_all` says whether what the agent leaves uncommitted is committed for it.
    """
    lines = ", ".join(f"`{one_line(each, MAX_COMMAND)}`" for each in commands[:SHOWN_COMMANDS])
    return _RULES.format(
        branch=branch,
        commands=_COMMANDS.format(lines=lines) if lines else "",
        commit=_COMMIT[takes_all],
    )
