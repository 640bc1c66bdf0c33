"""The driver `acp` with the real OpenCode and a model that answers by a script."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.domain.turns import ModelWait
from tests.agents.model import Call, Reply, Rule
from tests.agents.rig import SECRET, TOOLS, Desk, cancelled_once_at_work, program

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel


def sit(folder: Path, model: ScriptedModel, /, **profile: Any) -> Desk:
    """A desk for OpenCode."""
    desk = Desk(folder, Agent(driver="acp", command=f"{program('opencode')} acp", **profile))
    desk.env = model.opencode_env(desk.home)
    return desk


def write(path: Path, text: str) -> Call:
    return Call("write", {"filePath": str(path), "content": text})


def shell(line: str) -> Call:
    return Call("bash", {"command": line, "description": "a command"})


def test_a_conversation_with_tools_outlives_the_program(tmp_path: Path, scripted: Script) -> None:
    hello = tmp_path / "project/hello.txt"
    model = scripted(
        Reply(text="I write a file. COMPLETE", calls=(write(hello, "hello\n"),)),
        Reply(calls=(shell("cat hello.txt; exit 3"),)),
        Reply(calls=(Call("hookline_shout", {"text": "over there"}),)),
        Reply(text="all done", usage=(1000, 50)),
        Reply(text="I remember"),
    )
    desk = sit(tmp_path, model, model="scripted/scripted")
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

    again = desk.turn("what was it?", conversation=turn.conversation)
    assert (again.text, again.error, again.tools) == ("I remember", None, 0)
    assert again.conversation == turn.conversation
    assert desk.conversations == [turn.conversation, turn.conversation]
    assert model.requests[4].newest == "what was it?"
    assert "say hello" in model.requests[4].history


def test_a_read_only_agent_changes_nothing_whatever_the_project_allows(
    tmp_path: Path, scripted: Script
) -> None:
    project = tmp_path / "project"
    model = scripted(
        Reply(calls=(write(project / "a.txt", "a"), shell("touch b.txt"))),
        Reply(calls=(Call("task", _subtask("touch it")),)),
        Reply(calls=(Call("read", {"filePath": str(project / "opencode.json")}),)),
        Reply(text="I only looked"),
    )
    desk = sit(tmp_path, model, permissions="full")
    allowed = {"edit": "allow", "bash": "allow"}
    config = {"permission": allowed, "agent": {"build": {"permission": allowed}}}
    # OpenCode itself would write the schema into a file that lacks it.
    config = {"$schema": "https://opencode.ai/config.json", **config}
    (project / "opencode.json").write_text(json.dumps(config))
    turn = desk.turn(read_only=True)
    assert (turn.text, turn.error) == ("I only looked", None)
    assert sorted(path.name for path in project.iterdir()) == [".git", ".hookline", "opencode.json"]
    assert set(model.requests[0].tools) <= {"read", "grep", "glob", "list", "lsp", "webfetch"}
    results = [(event.name, event.ok) for event in desk.events if event.type == "tool_result"]
    assert results[-1] == ("read", True)
    assert not any(ok for name, ok in results if name != "read")


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
