"""A task's work in a real worktree, and the built-in gates that are asked about it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.adapters.agents.local_agents import LocalAgents
from hookline.adapters.forges.local import LocalForge
from hookline.adapters.network.http import HttpClient
from hookline.adapters.processes.process import LocalProcesses
from hookline.hooks.frames import environment
from hookline.hooks.kinds import Call, World, load_kind
from hookline.hooks.registry import Hook
from hookline.hooks.rules import RULES
from hookline.points import POINTS
from tests.integration.repository_rig import do

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hookline.config.types import Agent
    from hookline.domain.hooks.answers import GateAnswer
    from hookline.domain.work.repository import Worktree
    from hookline.ports.work import Forge
    from tests.integration.repository_rig import Place

BRANCH = "hookline/T-1"
TASK = "# Greet people\n\nSay hello to everybody.\n"


class Desk:
    """One task's worktree and the gates in front of it."""

    def __init__(self, place: Place, forge: Forge | None = None) -> None:
        self.place = place
        self.repository = place.repository()
        remote = "origin" if place.remote.exists() else None
        self.forge = forge or LocalForge(
            str(place.root / ".hookline" / "pulls"), push_remote=remote
        )
        self.agents: dict[str, Agent] = {}
        self.title = "Greet people"
        self.author = "author"
        self.task_type: str | None = None
        self.extra: dict[str, Any] = {}
        self.env: dict[str, str] = {}
        self._worktree: Worktree = do(self.repository.worktrees.open("T-1"))

    @property
    def tree(self) -> Path:
        """The worktree."""
        return Path(self._worktree.folder)

    @property
    def head(self) -> str:
        """The commit that is checked out there."""
        return self.place.git("rev-parse", "HEAD", at=self.tree)

    def work(self, name: str = "work", text: str = "done\n") -> str:
        """The task's author commits a file."""
        return self.place.commit(name, text, at=self.tree)

    def git(self, *args: str) -> str:
        """Git in the worktree."""
        return self.place.git(*args, at=self.tree)

    def ask(self, name: str, arguments: Any = None, **options: Any) -> GateAnswer:
        """The answer of one gate; what it raises is raised."""
        metadata = {} if arguments is None else {"arguments": arguments}
        hook = Hook(
            name=options.pop("hook", name),
            points=("before_submit",),
            kind="built-in",
            target=name,
            metadata={**metadata, **options.pop("metadata", {})},
            **options,
        )
        return self.run(hook)

    def run(self, hook: Hook) -> GateAnswer:
        """The answer of a gate of any kind."""
        reply = do(load_kind(hook.kind)(hook, self._call(hook), self._world()))
        answer: GateAnswer = RULES["gate"].read(reply, hook)
        assert msgspec.json.decode(msgspec.json.encode(answer), type=type(answer)) == answer
        return answer

    def _call(self, hook: Hook) -> Call:
        values = {
            "project": str(self.place.root),
            "task_title": self.title,
            "hook": hook.name,
            "idempotency_key": "key-1",
        }
        return Call(
            point="before_submit",
            payload=msgspec.json.encode(self.payload()),
            values=values,
            env={
                **environment(values, lambda name, data: name),
                "HOOKLINE_DIR": str(self.place.root / ".hookline"),
            },
            timeout=hook.timeout or POINTS["before_submit"].timeout,
        )

    def payload(self) -> dict[str, Any]:
        """What the gates are asked about."""
        page = self.tree / ".hookline" / "task.md"
        if self.tree.is_dir():
            page.parent.mkdir(exist_ok=True)
            (page.parent / ".gitignore").write_text("*\n", encoding="utf-8")
            page.write_text(TASK, encoding="utf-8")
        return {
            "task_id": "T-1",
            "task_title": self.title,
            "task_path": str(page),
            "task_type": self.task_type,
            "branch_name": BRANCH,
            "base_branch": "main",
            "worktree": str(self.tree),
            "agent_name": self.author,
            "commits_count": 1,
            "extra": self.extra,
        }

    def _world(self) -> World:
        processes = LocalProcesses(str(self.place.root / ".hookline" / "blobs"))
        folder = str(self.tree) if self.tree.is_dir() else str(self.place.root)
        return World(
            root=str(self.place.root),
            folder=folder,
            processes=processes,
            http=HttpClient(),
            agents=LocalAgents(self.agents, None, str(self.place.root), processes),
            environ={**self.place.env, **self.env},
            ask=_nobody,
            repository=self.repository,
            forge=self.forge,
            task=TASK,
        )


async def _nobody(hook: Any) -> Any:
    raise AssertionError("no gate asks another hook")


def programs(folder: Path, scripts: Mapping[str, str]) -> str:
    """A PATH with these programs before all others."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in scripts.items():
        path = folder / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"
