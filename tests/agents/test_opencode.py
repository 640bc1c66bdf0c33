"""The driver `acp` with the real OpenCode and a model that answers by a script."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.domain.sessions.turns import ModelWait
from tests.agents.model import Call, Reply, Rule
from tests.agents.rig import SECRET, TOOLS, Desk, cancelled_once_at_work, program

if TYPE_CHECKING:
    from pathlib import Path

    from hookline.domain.sessions.turns import AgentTurn
    from tests.agents.conftest import Script
    from tests.agents.model import Asked, ScriptedModel


def sit(folder: Path, model: ScriptedModel, /, **profile: Any) -> Desk:
    """A desk for OpenCode."""
    desk = Desk(folder, Agent(driver="acp", command=f"{program('opencode')} acp", **profile))
    desk.env = model.opencode_env(desk.home)
    return desk


def write(path: Path, text: str) -> Call:
    return Call("write", {"filePath": str(path), "content": text})


def shell(line: str) -> Call:
    return Call("bash", {"command": line, "description": "a command"})


ALLOWED = {"edit": "allow", "bash": "allow"}
# OpenCode itself would write the schema into a file that lacks it.
PERMISSIVE = {
    "$schema": "https://opencode.ai/config.json",
    "permission": ALLOWED,
    "agent": {"build": {"permission": ALLOWED}},
}


def tries(project: Path) -> list[Reply]:
    """What an agent that may only look tries, and its last word."""
    return [
        Reply(calls=(write(project / "a.txt", "a"), shell("touch b.txt"))),
        Reply(calls=(Call("task", _subtask("touch it")),)),
        Reply(calls=(Call("read", {"filePath": str(project / "opencode.json")}),)),
        Reply(text="I only looked"),
    ]


def only_looked(desk: Desk, turn: AgentTurn, first: Asked, files: set[str]) -> None:
    """Nothing but reading was offered, and nothing else came true."""
    assert (turn.text, turn.error) == ("I only looked", None)
    assert {path.name for path in desk.root.iterdir()} == {".git", ".hookline", *files}
    assert set(first.tools) <= {"read", "grep", "glob", "list", "lsp", "webfetch"}
    results = [(event.name, event.ok) for event in desk.events if event.type == "tool_result"]
    assert results[-1] == ("read", True)
    assert not any(ok for name, ok in results if name != "read")


@pytest.mark.torture
def test_a_conversation_with_tools_outlives_the_program_and_may_then_only_look(
    tmp_path: Path, scripted: Script
) -> None:
    """The second turn is read-only, whatever the project allows and the first one could do."""
    project = tmp_path / "project"
    hello = project / "hello.txt"
    model = scripted(
        Reply(text="I write a file. COMPLETE", calls=(write(hello, "hello\n"),)),
        Reply(calls=(shell("cat hello.txt; exit 3"),)),
        Reply(calls=(Call("hookline_shout", {"text": "over there"}),)),
        Reply(text="all done", usage=(1000, 50)),
        *tries(project),
    )
    desk = sit(tmp_path, model, model="scripted/scripted", permissions="full")
    (project / "opencode.json").write_text(json.dumps(PERMISSIVE))
    turn = desk.turn("say hello", tools=TOOLS)
    assert (turn.text, turn.error, turn.stop_reason) == ("all done", None, "end_turn")
    assert desk.read("hello.txt") == "hello\n"
    assert turn.tools == 3
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (1000, 50)
    assert f"OVER THERE {SECRET}" in model.requests[3].newest
    assert desk.heard("tool") == [
        ("write", str(hello)),
        ("bash", "cat hello.txt; exit 3"),
        ("hookline_shout", ""),
    ]
    assert desk.heard("text") == [("I write a file. COMPLETE", ""), ("all done", "")]

    desk.events.clear()
    again = desk.turn("what was it?", conversation=turn.conversation, read_only=True)
    assert again.conversation == turn.conversation
    assert desk.conversations == [turn.conversation, turn.conversation]
    assert model.requests[4].newest == "what was it?"
    assert "say hello" in model.requests[4].history
    only_looked(desk, again, model.requests[4], {"hello.txt", "opencode.json"})


@pytest.mark.torture
def test_a_read_only_agent_changes_nothing_whatever_the_project_allows(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(*tries(tmp_path / "project"))
    desk = sit(tmp_path, model, permissions="full")
    (desk.root / "opencode.json").write_text(json.dumps(PERMISSIVE))
    only_looked(desk, desk.turn(read_only=True), model.requests[0], {"opencode.json"})


def _subtask(prompt: str) -> dict[str, str]:
    return {"description": "sub", "prompt": prompt, "subagent_type": "general"}


@pytest.mark.torture
def test_an_overloaded_model_is_waited_for(tmp_path: Path, scripted: Script) -> None:
    error = {"error": {"message": "Overloaded", "type": "overloaded_error"}}
    at_once = (("retry-after-ms", "1"),)
    model = scripted(Reply(status=529, error=error, headers=at_once))
    turn = sit(tmp_path, model).turn()
    assert turn.wait == ModelWait(kind="overloaded")
    assert "Overloaded" in str(turn.error)
    assert (turn.text, turn.tools, turn.conversation is None) == ("", 0, False)


@pytest.mark.torture
def test_a_cancelled_turn_leaves_nothing_behind(tmp_path: Path, scripted: Script) -> None:
    pid_file = tmp_path / "pid"
    line = f"echo $$ > {pid_file}; exec sleep 600"
    model = scripted(Rule("", Reply(calls=(shell(line),))))
    asyncio.run(cancelled_once_at_work(sit(tmp_path, model), pid_file))
