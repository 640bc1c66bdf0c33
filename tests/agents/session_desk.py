"""Sessions of real agents, typed as a user types them, with a model that answers by a script."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import pytest

from tests.agents.model import Call, Reply, Rule
from tests.agents.rig import program
from tests.e2e.conftest import Cli, Result, is_running
from tests.e2e.session_rig import Ended, Rig, ended, hook

if TYPE_CHECKING:
    import subprocess

    from tests.agents.model import Asked, ScriptedModel

GOAL = "make check.sh pass"
# Agents start slowly where the machine has other things to do.
PATIENCE = 100
RIGHT, WRONG = "echo 42\n", "echo 41\n"
# What it prints cannot be found in the file itself, nor in the goal.
CHECK = """\
got=$(sh answer.sh)
[ "$got" = 42 ] && exit
echo "FAILED: the answer is $got"
exit 1
"""
FAILED = "FAILED: the answer is 41"
DONE = Reply(text="It is verified.\n<promise>COMPLETE</promise>")
TESTS = {"name": "tests_pass", "type": "command", "command": "sh check.sh"}
EVIDENCE = {"evidence": {"checks": ["tests_pass"]}}
# A process that edits the project for as long as nobody ends it, even when its group is killed.
EDITOR = "echo $$ > editor.pid; while :; do echo again >> edited; sleep 0.05; done\n"
BACKGROUND = "setsid sh editor.sh > /dev/null 2>&1 < /dev/null &"


class Worker(Protocol):
    """A real agent: how it is configured, and what its model calls its tools."""

    def profile(self) -> dict[str, Any]:
        """Its profile in hookline.yaml."""

    def environment(self, model: ScriptedModel, home: Path) -> dict[str, str]:
        """What a user would have exported."""

    def write(self, path: Path, text: str) -> Call:
        """Write a new file with its own tool."""

    def mend(self, path: Path, old: str, new: str) -> tuple[Call, ...]:
        """Change a file with its own tools, one after the other."""

    def shell(self, line: str) -> Call:
        """Run a command."""

    def tool(self, name: str, **given: Any) -> Call:
        """Use one of Hookline's tools."""

    def review(self, verdict: dict[str, Any], **more: Any) -> Reply:
        """A verdict about other work, as its model is held to give it."""


class Claude:
    """Claude Code."""

    def profile(self) -> dict[str, Any]:
        return {"driver": "claude-code", "command": program("claude")}

    def environment(self, model: ScriptedModel, home: Path) -> dict[str, str]:
        return model.claude_env(home)

    def write(self, path: Path, text: str) -> Call:
        return Call("Write", {"file_path": str(path), "content": text})

    def mend(self, path: Path, old: str, new: str) -> tuple[Call, ...]:
        edit = {"file_path": str(path), "old_string": old, "new_string": new}
        return Call("Read", {"file_path": str(path)}), Call("Edit", edit)

    def shell(self, line: str) -> Call:
        return Call("Bash", {"command": line, "description": "a command"})

    def tool(self, name: str, **given: Any) -> Call:
        return Call(f"mcp__hookline__{name}", given)

    def review(self, verdict: dict[str, Any], **more: Any) -> Reply:
        return Reply(calls=(Call("StructuredOutput", verdict),), **more)


class Codex:
    """Codex, without its sandbox, which many containers do not allow."""

    def profile(self) -> dict[str, Any]:
        return {"driver": "codex", "command": program("codex"), "permissions": "full"}

    def environment(self, model: ScriptedModel, home: Path) -> dict[str, str]:
        return model.codex_home(home)

    def write(self, path: Path, text: str) -> Call:
        return _patch(f"*** Add File: {path.name}", f"+{text.rstrip()}")

    def mend(self, path: Path, old: str, new: str) -> tuple[Call, ...]:
        lines = ("@@", f"-{old.rstrip()}", f"+{new.rstrip()}")
        return (_patch(f"*** Update File: {path.name}", *lines),)

    def shell(self, line: str) -> Call:
        return Call("exec_command", {"cmd": line})

    def tool(self, name: str, **given: Any) -> Call:
        return Call(name, given, "mcp__hookline")

    def review(self, verdict: dict[str, Any], **more: Any) -> Reply:
        return Reply(text=json.dumps(verdict), **more)


def _patch(*lines: str) -> Call:
    return Call("apply_patch", "\n".join(["*** Begin Patch", *lines, "*** End Patch", ""]))


class OpenCode:
    """OpenCode, over the Agent Client Protocol."""

    def profile(self) -> dict[str, Any]:
        return {"driver": "acp", "command": f"{program('opencode')} acp"}

    def environment(self, model: ScriptedModel, home: Path) -> dict[str, str]:
        return model.opencode_env(home)

    def write(self, path: Path, text: str) -> Call:
        return Call("write", {"filePath": str(path), "content": text})

    def mend(self, path: Path, old: str, new: str) -> tuple[Call, ...]:
        edit = {"filePath": str(path), "oldString": old, "newString": new}
        return Call("read", {"filePath": str(path)}), Call("edit", edit)

    def shell(self, line: str) -> Call:
        return Call("bash", {"command": line, "description": "a command"})

    def tool(self, name: str, **given: Any) -> Call:
        return Call(f"hookline_{name}", given)

    def review(self, verdict: dict[str, Any], **more: Any) -> Reply:
        return Reply(text=json.dumps(verdict), **more)


WORKERS: dict[str, Worker] = {"claude-code": Claude(), "codex": Codex(), "opencode": OpenCode()}
# OpenCode takes seconds of a processor to start: it is not in every test of every run.
LIGHT = [
    pytest.param(name, marks=pytest.mark.torture if name == "opencode" else ()) for name in WORKERS
]


class SessionDesk(Rig):
    """A repository with a test that fails, and one agent, `it`, that is to make it pass."""

    def __init__(self, folder: Path, worker: Worker) -> None:
        super().__init__(Cli(folder))
        self.worker = worker
        self._profile = worker.profile()
        self.program = self.cli.root / "answer.sh"

    def sit_down(self, model: ScriptedModel, **sections: Any) -> None:
        """Configure the project; its agents speak to this model alone."""
        self.cli.env |= self.worker.environment(model, self.file("agent-home"))
        self.cli.put("check.sh", CHECK)
        self.cli.put("editor.sh", EDITOR)
        self.repository()
        self.configure(
            {
                "post_iteration": [hook("sh check.sh", name="tests")],
                "stop": [{"name": "proof", **EVIDENCE}],
            },
            agents={"it": self._profile},
            agent="it",
            validation=[TESTS],
            **sections,
        )

    def begin(self, *, iterations: int = 5) -> subprocess.Popen[str]:
        """A session that goes on beside the test."""
        return self.start("--agent", "it", goal=GOAL, iterations=iterations)

    def work(self, *, iterations: int = 5) -> Ended:
        """A session from its start to its end."""
        return self.run("--agent", "it", goal=GOAL, iterations=iterations)

    def mending(self) -> list[Reply]:
        """The model's answers that mend the program."""
        return [Reply(calls=(call,)) for call in self.worker.mend(self.program, WRONG, RIGHT)]

    def agents_at_work(self) -> set[tuple[int, str]]:
        """Processes of turns of this project's agents, each with the mark of its turn."""
        folder = str(self.cli.root / ".hookline")
        found = set()
        for pid in (int(name) for name in os.listdir("/proc") if name.isdigit()):
            environment = _environment(pid)
            if environment.get("HOOKLINE_DIR") == folder and is_running(pid):
                found.add((pid, environment.get("HOOKLINE_TURN", "")))
        return {(pid, turn) for pid, turn in found if turn}


def _environment(pid: int) -> dict[str, str]:
    try:
        settings = Path(f"/proc/{pid}/environ").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:  # it has ended
        return {}
    return {name: value for name, _, value in (each.partition("=") for each in settings)}


def until_end(process: subprocess.Popen[str]) -> Ended:
    """How a session that goes on beside the test ends."""
    stdout, stderr = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in stderr, stderr
    return ended(Result(process.returncode, stdout, stderr))


def script(mark: str, *replies: Reply) -> list[Rule]:
    """What the model answers in a conversation in which this was said, one after the other."""
    return [Rule(mark, reply, anywhere=True, times=1) for reply in replies]


def asked(model: ScriptedModel, mark: str) -> Asked:
    """The first request of a turn: the one whose newest words hold the mark."""
    return next(each for each in model.requests if mark in each.newest)
