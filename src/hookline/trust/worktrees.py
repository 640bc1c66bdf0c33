"""Hooks that check work in another folder than the project's: with the files that were trusted.

A command runs in the worktree of a task, and so would a script that it names: the copy there,
which the agent whose work is checked could have rewritten.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from hookline.errors import Untrusted
from hookline.files import text_of
from hookline.immutable import Immutable
from hookline.project import Project
from hookline.trust.cover import command_lines, named_files
from hookline.trust.manifest import MISSING, examine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.domain.sessions.turns import AgentTurn
    from hookline.hooks.registry import Hook
    from hookline.ports.agents import Agents, TurnRequest

# What names the project's own folder from anywhere; $PWD does not.
_ROOT_NAMES = r"\{\{\s*project\s*\}\}|\$HOOKLINE_PROJECT\b|\$\{HOOKLINE_PROJECT\}"
_ELSEWHERE = "/dev/null"
_OTHER = "the task's worktree holds another"


class TrustedWorktrees(Immutable):
    """Compares files that hooks name with those of the project, before each start in a worktree."""

    project: Project

    def verify(self, hook: Hook, folder: str) -> None:
        """Raise Untrusted if a hook of the project would run something else in this folder."""
        if hook.layer == "project" and self._is_other(folder):
            for line in command_lines(hook):
                self.verify_line(line, folder)

    def verify_line(self, line: str, folder: str) -> None:
        """Raise Untrusted if a shell line of the project names another file in this folder."""
        if not self._is_other(folder):
            return
        project, there = self.project, Project(os.path.abspath(folder), folder)
        # These name the trusted file itself, wherever the line runs.
        plain = re.sub(_ROOT_NAMES, _ELSEWHERE, line).replace(f"{project.root}/", _ELSEWHERE)
        for name in sorted(_names(project, plain) | _names(there, plain)):
            trusted = examine(project, os.path.join(project.root, name)).digest
            found = examine(there, os.path.join(there.root, name)).digest
            if found != trusted:
                raise _not_trusted(name, trusted, found)

    def _is_other(self, folder: str) -> bool:
        return os.path.realpath(folder) != os.path.realpath(self.project.root)


class TrustedGatekeepers(Immutable):
    """Agents that review: one whose program was rewritten where it works is not started."""

    agents: Agents
    profiles: Mapping[str, Any]
    default: str | None
    trees: TrustedWorktrees

    async def turn(self, name: str | None, request: TurnRequest) -> AgentTurn:
        """One turn of an agent whose program is the one that was trusted."""
        profile = self.profiles.get(name or self.default or next(iter(self.profiles), ""))
        if profile is not None and request.cwd is not None:
            for line in (profile.command, *profile.args, *profile.env.values()):
                self.trees.verify_line(line or "", request.cwd)
        return await self.agents.turn(name, request)


def _names(project: Project, line: str) -> set[str]:
    """The files that a line names in a folder, whether they are there or lead elsewhere."""
    return {os.path.relpath(path, project.root) for path in named_files(project, line)}


def _not_trusted(name: str, trusted: str, found: str) -> Untrusted:
    shown = text_of(name) if name.isprintable() else ascii(name)
    if trusted == MISSING:
        return Untrusted(
            f"{shown} is in the task's worktree alone, and what checks work cannot come with it."
            f" Let the hook run a script of the project that calls {shown}; or commit {shown} in"
            " the project and run `hookline trust`"
        )
    holds = "it is gone from the task's worktree" if found == MISSING else _OTHER
    return Untrusted(
        f"{shown} is not the one that was trusted: {holds}."
        " If the task changed it, undo that there; if the project did, rebase the task's branch,"
        f' as the gate `rebase_on_main` does; or let the hook run "$HOOKLINE_PROJECT/{shown}"'
    )
