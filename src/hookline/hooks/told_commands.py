"""Commands in prompts, exactly as they run: an agent that is told one runs what it reads."""

from __future__ import annotations

import re
from typing import NamedTuple

MAX_COMMAND = 1000
ELSEWHERE = "a command in hookline.yaml"
_TICKS = re.compile("`+")


class NamedCommand(NamedTuple):
    """How a sentence names a command, and the block before that sentence; empty for a short one."""

    name: str
    block: str = ""

    @property
    def begins(self) -> str:
        """The name at the beginning of a sentence."""
        return self.name[0].upper() + self.name[1:]


def can_tell(line: str) -> bool:
    """Whether a prompt shows a command: it is short enough, and repeating it promises nothing."""
    return len(line.encode("utf-8", "replace")) <= MAX_COMMAND and "<promise" not in line


def told_inline(line: str) -> bool:
    """Whether a command fits into a sentence, as a code span."""
    return can_tell(line) and "\n" not in line.strip("\n") and "`" not in line


def with_command(lead: str, line: str) -> str:
    """A sentence that ends with a command: as a code span, or as a block where that cannot be."""
    named = named_command(line)
    return f"{lead}\n{named.block.rstrip()}" if named.block else f"{lead} {named.name}"


def named_command(line: str, elsewhere: str = ELSEWHERE) -> NamedCommand:
    """A command of which a sentence says something; what cannot be shown is `elsewhere`."""
    if not can_tell(line):
        return NamedCommand(elsewhere)
    shown = line.strip("\n")
    if told_inline(line):
        return NamedCommand(f"`{shown}`")
    longest = max((len(each) for each in _TICKS.findall(shown)), default=0)
    fence = "`" * max(3, longest + 1)
    return NamedCommand("this command", f"{fence}sh\n{shown}\n{fence}\n\n")
