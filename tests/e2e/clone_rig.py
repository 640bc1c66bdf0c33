"""Two clones of one project that share a store on a server, as two machines do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import Cli, eventually
from tests.e2e.crash_rig import processes_of
from tests.e2e.gate_rig import Repo
from tests.e2e.session_rig import PROMISE, Rig

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

# No text that would be found in a commit of this file.
SECRET = "ghp_" + "0aB1cD2eF3gH4iJ5kL6mN7oP8qR9sT0uV1wX"[:36]
CONTINUE = "echo '<promise>CONTINUE</promise>'"
GATES: dict[str, Any] = {"before_submit": ["rebase_on_main", "create_pr"]}


class Clones:
    """A project and a clone of it elsewhere; what the agent does is the same in both."""

    def __init__(self, first: Cli, folder: Path) -> None:
        self.first, self.second = first, Cli(folder)
        self.repo, self.rig = Repo(first), Rig(first)
        names = ("HOOKLINE_STORE", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM")
        self.second.env |= {name: first.env[name] for name in names}

    def begin(self, **sections: Any) -> None:
        """A first commit that both have, and trust."""
        everything = {"agents": {"bot": self.rig.bot}, "hooks": GATES, **sections}
        lines = "".join(f"{name}: {json.dumps(value)}\n" for name, value in everything.items())
        self.repo.begin(lines)
        self.second.root.joinpath(".hookline").rmdir()
        self.second.root.rmdir()
        self.repo.git("clone", "--quiet", str(self.repo.remote), str(self.second.root))
        # No two clones have the same settings and hooks of git.
        self.repo.git("config", "core.abbrev", "12", at=self.second.root)
        hook = self.second.root / ".git" / "hooks" / "pre-commit"
        hook.write_text(f"#!/bin/sh\ntouch {self.committed_there}\n")
        hook.chmod(0o755)
        self.second.json("trust", "--yes", quiet=False)

    @property
    def both(self) -> tuple[Cli, Cli]:
        """The project and its clone."""
        return self.first, self.second

    def place(self, cli: Cli, task: str) -> Path:
        """The worktree of a task in a clone."""
        return cli.root / ".hookline" / "worktrees" / task

    @property
    def committed_there(self) -> Path:
        """The file that a hook of git in the second clone makes."""
        return self.rig.file("committed-there")

    @staticmethod
    def name(cli: Cli) -> str:
        """What the store calls a clone: by the name that hosts have everywhere."""
        (host,) = (each["name"] for each in cli.json("hosts", "list") if each["isThis"])
        return f"{host}:{cli.root}"

    def kill_in_turn(self, task: str, turn: int, cli: Cli | None = None) -> None:
        """Let a clone's worker begin a task, and kill it in a turn that does not end."""
        self.kill((cli or self.first).start("work", "--once", "--json"), turn, task)

    def kill(
        self, process: subprocess.Popen[str], turn: int | Path, what: str = "the session"
    ) -> None:
        """Kill what advances a session, or its gates, when something hangs, or made a file."""
        begun = self.rig.file(f"turn-{turn}-began") if isinstance(turn, int) else turn

        def is_there() -> bool:
            assert process.poll() is None, process.communicate()
            return begun.exists()

        eventually(is_there, f"turn {turn} of {what}")
        process.kill()
        process.communicate()
        roots = (self.first.root, self.second.root)
        eventually(lambda: not any(map(processes_of, roots)), "the end of what it started")

    def push_aside(self, name: str, file: str | None = None) -> str:
        """Somebody else's commit for main, with a line in a file; the shell line that pushes it."""
        elsewhere = self.first.root.parent / f"clone-{name}"
        self.repo.git("clone", "--quiet", str(self.repo.remote), str(elsewhere))
        with (elsewhere / (file or name)).open("a") as opened:
            opened.write(f"{name}\n")
        self.repo.commit(name, at=elsewhere)
        return f"git -C {elsewhere} push --quiet origin main"

    def hang(self, turn: int, *before: str) -> str:
        """The script of a turn that does something and never ends."""
        return "\n".join([*before, f"touch {self.rig.file(f'turn-{turn}-began')}", "sleep 1000"])

    def close(self) -> None:
        """End what runs in the second clone; whoever made the first ends that."""
        self.second.close()


__all__ = ["CONTINUE", "PROMISE", "SECRET", "Clones"]
