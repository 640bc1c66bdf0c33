"""The drivers that Hookline brings keep to the contract, with programs that play their agents."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import msgspec

from hookline.domain.sessions.turns import ScriptedTurn, Usage
from hookline.testing.contracts import Agent, DriverContract
from tests.agents import fake_acp
from tests.agents.test_line_drivers import GOOD

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.testing.contracts import Behaviour

LINES = {
    "answers": "cat > prompt; printf fine",
    "fails": "echo no luck >&2; exit 3",
    "hangs": "sleep 300 & sleep 300",
}
USED = Usage(input_tokens=3, output_tokens=2)


class TestCommand(DriverContract):
    name = "command"
    resumes = False

    def profile(self, folder: Path, behaviour: Behaviour) -> Agent:
        return Agent(driver="command", command=LINES[behaviour])


class TestScripted(DriverContract):
    name = "scripted"
    usage = USED

    def profile(self, folder: Path, behaviour: Behaviour) -> Agent:
        turn = ScriptedTurn(text="fine", run=LINES[behaviour], usage=USED, repeat=True)
        (folder / "turns.json").write_bytes(msgspec.json.encode([turn]))
        return Agent(driver="scripted", script="turns.json")


class LineAgent(DriverContract):
    def profile(self, folder: Path, behaviour: Behaviour) -> Agent:
        said = shlex.quote("\n".join(json.dumps(each) for each in self.lines()))
        answers = f"cat > prompt; printf '%s\\n' {said}"
        program = folder / "agent"
        line = {**LINES, "answers": answers}[behaviour]
        program.write_text(f"#!/bin/sh\n{line}\n")
        program.chmod(0o755)
        return Agent(driver=self.name, command=str(program))

    def lines(self) -> tuple[Any, ...]:
        return GOOD[self.name]


class TestClaudeCode(LineAgent):
    name = "claude-code"
    usage = USED

    def lines(self) -> tuple[Any, ...]:
        said, result = GOOD["claude-code"]
        return said, {**result, "usage": {"input_tokens": 3, "output_tokens": 2}}


class TestCodex(LineAgent):
    name = "codex"
    usage = Usage(input_tokens=1, output_tokens=2)


class TestAcp(DriverContract):
    name = "acp"
    text = "It is done."
    usage = Usage(input_tokens=37, output_tokens=9, cached_tokens=7, usd=1.75)

    def profile(self, folder: Path, behaviour: Behaviour) -> Agent:
        words = {"answers": "resumes", "fails": "dies", "hangs": "hangs"}
        argv = (sys.executable, fake_acp.__file__, words[behaviour])
        return Agent(driver="acp", command=shlex.join(argv))

    def prompt(self, folder: Path) -> str:
        told = map(json.loads, (folder / "told.jsonl").read_text().splitlines())
        return str([each["text"] for each in told if each["method"] == "prompt"][-1])
