"""The driver `claude-code` with the real Claude Code and a model that answers by a script."""

from __future__ import annotations

import asyncio
import json
import os
import time
from typing import TYPE_CHECKING, Any

import pytest

from hookline.config.types import Agent
from hookline.domain.turns import ModelWait, Usage
from hookline.ports.agents import ToolServer
from tests.agents.model import Call, Reply
from tests.agents.rig import SECRET, TOOLS, Desk, cancelled_once_at_work, program

if TYPE_CHECKING:
    from pathlib import Path

    from tests.agents.conftest import Script
    from tests.agents.model import ScriptedModel

DONE = Reply(text="all done")


def sit(folder: Path, model: ScriptedModel, /, **profile: Any) -> Desk:
    """A desk for Claude Code."""
    desk = Desk(folder, Agent(driver="claude-code", command=program("claude"), **profile))
    desk.env = model.claude_env(desk.home)
    return desk


def bash(line: str) -> Call:
    return Call("Bash", {"command": line, "description": "a command"})


def test_a_turn_is_told_while_it_happens_and_summed_up_at_its_end(
    tmp_path: Path, scripted: Script
) -> None:
    path = str(tmp_path / "project" / "hello.txt")
    written = Call("Write", {"file_path": path, "content": "hello\n"})
    model = scripted(
        Reply(text="I write a file. COMPLETE", calls=(written,)),
        Reply(calls=(bash("cat hello.txt; exit 3"),)),
        Reply(text="all done", usage=(1000, 50)),
    )
    desk = sit(tmp_path, model, model="sonnet")
    turn = desk.turn("say hello")
    assert desk.read("hello.txt") == "hello\n"
    assert (turn.error, turn.wait, turn.stop_reason) == (None, None, "end_turn")
    assert turn.text == "all done"
    assert turn.tools == 2
    assert (turn.usage.input_tokens, turn.usage.output_tokens) == (1200, 90)
    assert turn.usage.usd
    assert turn.usage.usd > 0
    assert desk.conversations == [turn.conversation]
    assert desk.heard("text") == [("I write a file. COMPLETE", ""), ("all done", "")]
    assert desk.heard("tool") == [("Write", "hello.txt"), ("Bash", "cat hello.txt; exit 3")]
    results = [(event.name, event.ok) for event in desk.events if event.type == "tool_result"]
    assert results == [("Write", True), ("Bash", False)]
    assert "sonnet" in model.requests[0].body["model"]


def test_a_prompt_may_be_longer_than_an_argument(tmp_path: Path, scripted: Script) -> None:
    model = scripted(DONE)
    prompt = "begin " + "x" * 200_000 + " end"
    assert sit(tmp_path, model).turn(prompt).error is None
    assert prompt in model.requests[0].newest


def test_a_resumed_conversation_knows_its_past_and_costs_only_what_is_new(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(text="noted"), Reply(text="it was 42"))
    desk = sit(tmp_path, model)
    first = desk.turn("remember 42")
    second = desk.turn("what was it?", conversation=first.conversation)
    assert second.conversation == first.conversation
    assert second.text == "it was 42"
    assert "remember 42" in model.requests[1].history
    assert (second.usage.input_tokens, second.usage.output_tokens) == (100, 20)
    assert second.usage.usd == pytest.approx(first.usage.usd)


@pytest.mark.parametrize(
    "conversation", ["5e0e6f6c-6ff0-4f4e-8f0f-0d5c7d3c1c11", "--dangerously-skip-permissions"]
)
def test_an_unknown_conversation_gives_way_to_a_new_one(
    tmp_path: Path, scripted: Script, conversation: str
) -> None:
    desk = sit(tmp_path, scripted(DONE))
    turn = desk.turn(conversation=conversation)
    assert (turn.error, turn.text) == (None, "all done")
    assert turn.conversation != conversation
    assert desk.conversations[-1] == turn.conversation
    [(notice, _)] = desk.heard("notice")
    assert notice == f"conversation {conversation} is not known here; the agent begins a new one"


@pytest.mark.parametrize("read_only", [False, True])
def test_tools_of_a_server_are_handed_over(
    tmp_path: Path, scripted: Script, read_only: bool
) -> None:
    model = scripted(Reply(calls=(Call("mcp__hookline__shout", {"text": "hey"}),)), DONE)
    desk = sit(tmp_path, model)
    turn = desk.turn(tools=TOOLS, read_only=read_only)
    assert turn.error is None
    assert f"HEY {SECRET}" in model.requests[1].newest
    assert desk.heard("tool") == [("mcp__hookline__shout", '{"text":"hey"}')]


def test_tools_that_do_not_start_are_told(tmp_path: Path, scripted: Script) -> None:
    desk = sit(tmp_path, scripted(DONE))
    assert desk.turn(tools=ToolServer(("false",), {})).error is None
    assert desk.heard("notice") == [("the agent could not start Hookline's tools", "")]


@pytest.mark.parametrize(
    ("permissions", "read_only"), [("read", False), ("work", True), ("full", True)]
)
def test_who_may_only_look_cannot_change_anything(
    tmp_path: Path, scripted: Script, permissions: str, read_only: bool
) -> None:
    (tmp_path / "seen.txt").write_text("what it may see")
    model = scripted(
        Reply(calls=(Call("Write", {"file_path": str(tmp_path / "w"), "content": "x"}),)),
        Reply(calls=(bash(f"echo x > {tmp_path}/w"),)),
        Reply(calls=(Call("Read", {"file_path": str(tmp_path / "seen.txt")}),)),
        DONE,
    )
    desk = sit(tmp_path, model, permissions=permissions)
    # What a repository allows its agents does not count here.
    (desk.root / ".claude").mkdir()
    settings = {"permissions": {"allow": ["Bash", "Write"], "defaultMode": "acceptEdits"}}
    (desk.root / ".claude/settings.json").write_text(json.dumps(settings))
    turn = desk.turn(read_only=read_only)
    assert turn.text == "all done"
    assert not (tmp_path / "w").exists()
    assert "what it may see" in model.requests[3].newest


def test_full_permissions_as_root_name_what_is_missing(tmp_path: Path, scripted: Script) -> None:
    if os.geteuid():
        pytest.skip("only root is refused")
    model = scripted(Reply(calls=(bash("echo x > w"),)), DONE)
    refused = sit(tmp_path / "a", model, permissions="full").turn()
    assert refused.error
    assert 'IS_SANDBOX: "1"' in refused.error
    desk = sit(tmp_path / "b", model, permissions="full", env={"IS_SANDBOX": "1"})
    assert desk.turn().error is None
    assert desk.read("w") == "x\n"


def test_an_answer_is_held_to_a_schema(tmp_path: Path, scripted: Script) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    model = scripted(Reply(calls=(Call("StructuredOutput", {"ok": True}),)))
    turn = sit(tmp_path, model).turn(schema=schema, read_only=True)
    assert (turn.error, json.loads(turn.text), turn.tools) == (None, {"ok": True}, 0)


@pytest.mark.parametrize("status", [529, 503, 429])
def test_an_overloaded_model_is_to_be_waited_for(
    tmp_path: Path, scripted: Script, status: int
) -> None:
    turn = sit(tmp_path, scripted(Reply(status=status))).turn()
    assert turn.wait == ModelWait(kind="overloaded")
    assert turn.error
    assert str(status) in turn.error
    assert (turn.text, turn.usage.tokens) == ("", 0)


def test_a_usage_limit_says_until_when(tmp_path: Path, scripted: Script) -> None:
    until = int(time.time()) + 3600
    limit = "anthropic-ratelimit-unified"
    headers = (
        (f"{limit}-status", "rejected"),
        (f"{limit}-reset", str(until)),
        (f"{limit}-representative-claim", "five_hour"),
    )
    desk = sit(tmp_path, scripted(Reply(status=429, headers=headers)))
    # Only those with a subscription have such limits.
    desk.env |= {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "of-nobody"}
    turn = desk.turn()
    assert turn.wait == ModelWait(kind="usage_limit", until=float(until))
    assert turn.error
    assert "5-hour limit" in turn.error


def test_a_refused_key_is_an_error_that_says_so(tmp_path: Path, scripted: Script) -> None:
    turn = sit(tmp_path, scripted(Reply(status=401))).turn()
    assert turn.error
    assert turn.error.startswith("the model refused the agent's key (401): Invalid API key")
    assert turn.wait is None


def test_what_was_said_before_an_error_is_kept(tmp_path: Path, scripted: Script) -> None:
    model = scripted(Reply(text="I look", calls=(bash("true"),)), Reply(status=529))
    turn = sit(tmp_path, model).turn()
    assert (turn.text, turn.tools) == ("I look", 1)
    assert turn.wait == ModelWait(kind="overloaded")


def test_a_model_that_says_nothing_is_ended_by_the_deadline(
    tmp_path: Path, scripted: Script
) -> None:
    turn = sit(tmp_path, scripted(Reply(hold=True))).turn(timeout=2)
    assert turn.error == "the agent did not end within 2 s; it was killed"
    assert (turn.stop_reason, turn.wait, turn.usage) == ("timeout", None, Usage())


def test_nothing_is_left_of_a_turn_that_is_cancelled_and_it_can_be_resumed(
    tmp_path: Path, scripted: Script
) -> None:
    model = scripted(Reply(calls=(bash("echo $$ > pid; exec sleep 300"),)), DONE)
    desk = sit(tmp_path, model)
    asyncio.run(cancelled_once_at_work(desk, desk.root / "pid"))
    [conversation] = desk.conversations
    turn = desk.turn("go on", conversation=conversation)
    assert (turn.error, turn.conversation) == (None, conversation)
    assert "do it" in model.requests[-1].history
    assert "go on" in model.requests[-1].newest
